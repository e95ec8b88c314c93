/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pauses in the yields of a thread that polls in vain, so that the scheduler moves
 * the threads that share its processor to an idle one.
 *
 * A thread that is woken on a processor whose thread yields runs soon, and so
 * stays there, even if other processors are idle; the threads that it
 * exchanges calls with are woken across processors each time, which takes longer
 * than to switch between threads of one processor. Without yields it waits, and
 * an idle processor takes it over.
 *
 * There is a pause only if other threads run during yields, if the thread may use
 * several processors, and if no more events arrive between two of its yields than
 * it may use processors: with more calls at a time none is idle for long. If events
 * are not more frequent afterwards by a half, the next pause is put off.
 */
#ifndef NA_PAUSE_H
#define NA_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

struct na_pause {
    uint64_t start_ns;    /* when the window of counting began; 0: none yet */
    uint64_t until_ns;    /* end of the last pause */
    uint64_t period_ns;   /* least time between pauses */
    uint64_t event_ns;    /* mean time between events before the last pause */
    uint32_t events;      /* of all polls when the window began */
    uint32_t last_events; /* of all polls at the last call */
    uint32_t burst;       /* of the window: most events between two calls */
    bool shared;          /* argument of the first call of the window */
    bool judging;         /* the window is the first one after a pause */
};

void na_pause_init(struct na_pause *pause);

/* A thread wants to yield: returns whether it may not, in a pause. events: of all
 * polls so far. shared: na_yield_is_shared. now: base/time.h. Called under the
 * lock of progress. */
bool na_pause_lasts(
    struct na_pause *pause, uint32_t events, bool shared, uint64_t now);

#endif /* NA_PAUSE_H */
