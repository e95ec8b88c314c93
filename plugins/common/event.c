/* SPDX-License-Identifier: BSD-3-Clause */
/* Growing and emptying a ring of events. */
#include <stdlib.h>

#include "common/event.h"

#define FIRST 64U

bool
tp_events_grow(struct tp_events *events, uint32_t more)
{
    uint32_t needed = events->count + events->promised + more;
    uint32_t size = events->size == 0 ? FIRST : events->size;

    while (size < needed)
        size *= 2;
    if (size == events->size)
        return true;
    na_plugin_event *ring = malloc((size_t) size * sizeof(*ring));
    if (ring == NULL)
        return false;
    uint32_t count = events->count;
    tp_events_take(events, ring, count);
    free(events->ring);
    events->ring = ring;
    events->size = size;
    events->first = 0;
    events->count = count;
    return true;
}

void
tp_events_fini(struct tp_events *events)
{
    free(events->ring);
    *events = (struct tp_events){0};
}

uint32_t
tp_events_take(struct tp_events *events, na_plugin_event *out, uint32_t max)
{
    uint32_t count = events->count < max ? events->count : max;
    uint32_t mask = events->size - 1;

    for (uint32_t i = 0; i < count; i++)
        out[i] = events->ring[(events->first + i) & mask];
    events->first = (events->first + count) & mask;
    events->count -= count;
    return count;
}
