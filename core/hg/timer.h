/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timers of a context: a heap, the earliest first. Progress calls for what
 * is due (na/progress.h). A timer is set for one use of its owner, so that one
 * that is set too late does nothing to the next use.
 */
#ifndef HG_TIMER_H
#define HG_TIMER_H

#include "base/lock.h"
#include "mercury_types.h"

#include <stdbool.h>
#include <stdint.h>

struct na_progress;

/* Embedded in its owner; zeroed at first. Under the lock of the heap. */
struct hg_timer {
    uint64_t due; /* base/time.h */
    uint32_t at;  /* index in the heap plus one; 0: not set */
    uint32_t use; /* of the owner that it is set for */
    bool again;   /* the owner's: false when the timer is set */
};

/* Implemented by the owners of timers. The first two are called under the lock
 * of the heap and may neither set nor stop a timer. */
struct hg_timer_calls {
    /* The timer is due. Returns when to call again, or BASE_TIME_NEVER. In
     * progress. */
    uint64_t (*expired)(struct hg_timer *timer, uint64_t now);

    /* Whether the owner is still in that use. */
    bool (*is_current)(struct hg_timer *timer, uint32_t use);

    /* The time that hg_timers_retry has set is up. In progress, without the
     * lock. */
    void (*retry)(void *arg);
};

struct hg_timers {
    struct base_lock lock;
    uint32_t count;
    uint32_t capacity;
    struct hg_timer **heap;
    uint64_t retry_due;
    struct na_progress *progress;
    const struct hg_timer_calls *calls;
    void *arg; /* of retry */
};

/* single: one thread at a time uses the context. calls: constant. */
void hg_timers_init(struct hg_timers *timers, struct na_progress *progress,
    bool single, const struct hg_timer_calls *calls, void *arg);
void hg_timers_finish(struct hg_timers *timers);

/* Sets a timer for one use of its owner, in place of what was set before. Does
 * nothing if that use is over and the next one has begun. NOMEM.
 * [any thread] */
hg_return_t hg_timer_start(struct hg_timers *timers, struct hg_timer *timer,
    uint32_t use, uint64_t due);

/* Once it has returned `expired` is not running for this timer, and will not be
 * called for it. [any thread] */
void hg_timer_stop(struct hg_timers *timers, struct hg_timer *timer);

/* Calls `retry` in some 10 ms. [any thread] */
void hg_timers_retry(struct hg_timers *timers);

#endif /* HG_TIMER_H */
