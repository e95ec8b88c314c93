/* SPDX-License-Identifier: BSD-3-Clause */
/* The timers of a context: a heap with the earliest first. Progress runs those
 * that are due (na/progress.h). A timer is set for one use of its owner, so
 * that it does not affect the next use if it is set too late. */
#ifndef HG_TIMER_H
#define HG_TIMER_H

#include "base/lock.h"
#include "mercury_types.h"

#include <stdbool.h>
#include <stdint.h>

struct na_progress;

/* Embedded in its owner; initially zero. Protected by the lock of the heap. */
struct hg_timer {
    uint64_t due;            /* see base/time.h */
    uint32_t index_plus_one; /* in the heap; 0: not set */
    uint32_t use;            /* use of the owner it is set for */
    bool again;              /* for the owner: cleared when the timer is set */
};

/* Implemented by the owners of timers. The first two are called under the lock
 * of the heap and must not set or stop a timer. */
struct hg_timer_calls {
    /* The timer is due. Returns when to call again, or BASE_TIME_NEVER. In
     * progress. */
    uint64_t (*expired)(struct hg_timer *timer, uint64_t now);

    /* Returns whether `use` is the owner's current use. */
    bool (*is_current)(struct hg_timer *timer, uint32_t use);

    /* The time set by hg_timers_retry has passed. In progress, without the
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

/* Sets a timer for one use of its owner, and replaces an earlier setting. Does
 * nothing if a later use has begun. NOMEM. [any thread] */
hg_return_t hg_timer_start(struct hg_timers *timers, struct hg_timer *timer,
    uint32_t use, uint64_t due);

/* Stops a timer. When it returns, `expired` is not running for this timer and
 * will not be called. [any thread] */
void hg_timer_stop(struct hg_timers *timers, struct hg_timer *timer);

/* Calls `retry` in some 10 ms. [any thread] */
void hg_timers_retry(struct hg_timers *timers);

#endif /* HG_TIMER_H */
