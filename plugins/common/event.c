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
