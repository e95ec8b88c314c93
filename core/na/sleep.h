/*
 * The sleeping part of progress: announcing a sleeper, arming the plugins,
 * sleeping, and waking the sleeper. Private to progress.c and event_fd.c;
 * progress.h explains how no wake-up is lost.
 */
#ifndef NA_SLEEP_H
#define NA_SLEEP_H

#include "na/progress_state.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Time to spin before sleeping, in nanoseconds. Longer than waking a process
 * takes: a shorter spin lets one delay make both peers sleep again and again.
 */
#define NA_SLEEP_SPIN_NS 50000U

/* The first pause if a plugin has no descriptor to wait on, in nanoseconds. */
#define NA_SLEEP_NAP_MIN_NS 10000U

/* Acquires the lock, and tells a spinning leader that a thread waits for it. */
void na_progress_contend(struct na_progress *progress);

static inline void
na_progress_enter(struct na_progress *progress)
{
    if (__builtin_expect(!base_lock_try(&progress->lock), 0))
        na_progress_contend(progress);
}

static inline bool
na_progress_is_filled(const struct na_progress *progress)
{
    return base_completion_count(progress->queue) > 0;
}

/* Returns when the timer is due, or BASE_TIME_NEVER. */
static inline uint64_t
na_progress_timer(const struct na_progress *progress)
{
    return atomic_load_explicit(&progress->timer, memory_order_relaxed);
}

static inline uint32_t
na_progress_sleepers(const struct na_progress *progress)
{
    return atomic_load_explicit(&progress->sleeping, memory_order_relaxed);
}

/* Announces a sleeper, NA_PROGRESS_LEADER or NA_PROGRESS_OUTSIDE. */
static inline void
na_sleep_announce(struct na_progress *progress, uint32_t sleeper)
{
    /* Pairs with na_progress_notify. */
    atomic_fetch_or_explicit(
        &progress->sleeping, sleeper, memory_order_acq_rel);
}

/* Ends the announcement. */
static inline void
na_sleep_over(struct na_progress *progress, uint32_t sleeper)
{
    atomic_fetch_and_explicit(
        &progress->sleeping, ~sleeper, memory_order_relaxed);
}

/* Makes the descriptor on which sleepers wait readable. */
void na_sleep_wake(struct na_progress *progress);
/* Makes it unreadable again. */
void na_sleep_drain(struct na_progress *progress);

/* Sets whether the next na_progress_caller_runs, of any of the transports, wakes
 * the leader. */
void na_sleep_wakes_early(struct na_progress *progress, bool wakes_early);

/* Arms every plugin. Returns false if the caller must poll again. *sleep_ns_p:
 * maximum time to sleep. The lock is held, here and below. */
bool na_sleep_arm(struct na_progress *progress, uint64_t *sleep_ns_p);

/* Arms the plugins again after a thread other than the sleeper has polled. */
void na_sleep_arm_again(struct na_progress *progress);

/* Sleeps as the leader until something may have happened, or the deadline; not
 * if something has happened already. Releases the lock meanwhile. */
void na_sleep_try(struct na_progress *progress, uint64_t deadline);

/* Makes the descriptor of an external event loop readable after ns nanoseconds;
 * UINT64_MAX: never. */
void na_sleep_set_timer(struct na_progress *progress, uint64_t ns);

/* Ends what na_progress_try_wait began. */
void na_sleep_end_outside(struct na_progress *progress);

#endif /* NA_SLEEP_H */
