/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of events that wait for a poll. A pending operation promises its final
 * event when it is submitted, so that ending it never fails. The caller locks. */
#ifndef TP_EVENT_H
#define TP_EVENT_H

#include <stdbool.h>

#include "na_plugin.h"

struct tp_events {
    na_plugin_event *ring;
    uint32_t size; /* 0, or a power of two */
    uint32_t first;
    uint32_t count;
    uint32_t promised; /* final events still to come */
};

/* Makes room for more events beside those promised; false: no memory. A zeroed
 * ring is empty. */
bool tp_events_grow(struct tp_events *events, uint32_t more);

/* Frees the ring; what is in it is the caller's to look at before. */
void tp_events_fini(struct tp_events *events);

/* Moves up to max events out; how many. */
static inline uint32_t
tp_events_take(struct tp_events *events, na_plugin_event *out, uint32_t max)
{
    uint32_t count = events->count < max ? events->count : max;
    uint32_t mask = events->size - 1;
    uint32_t first = events->first;

    if (count == 0)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        out[i] = events->ring[(first + i) & mask];
    events->first = (first + count) & mask;
    events->count -= count;
    return count;
}

static inline bool
tp_events_room(struct tp_events *events, uint32_t more)
{
    return __builtin_expect(
               events->count + events->promised + more <= events->size, 1) ||
           tp_events_grow(events, more);
}

/* Keeps room for one final event. False: no memory. */
static inline bool
tp_events_promise(struct tp_events *events)
{
    bool room = tp_events_room(events, 1);

    events->promised += room;
    return room;
}

static inline void
tp_events_append(struct tp_events *events, const na_plugin_event *event)
{
    events->ring[(events->first + events->count++) & (events->size - 1)] =
        *event;
}

/* A promised event. */
static inline void
tp_events_emit(struct tp_events *events, const na_plugin_event *event)
{
    events->promised--;
    tp_events_append(events, event);
}

/* An event after which the operation goes on. False: no memory. */
static inline bool
tp_events_emit_more(struct tp_events *events, const na_plugin_event *event)
{
    bool room = tp_events_room(events, 1);

    if (room)
        tp_events_append(events, event);
    return room;
}

#endif /* TP_EVENT_H */
