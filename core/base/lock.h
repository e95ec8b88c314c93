/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lock that a class opened for a single thread leaves alone, and a signal to
 * wait for under it. Taking a free one is one compare-and-swap, inline, giving
 * it back one exchange: the path of a call takes and gives back half a dozen,
 * which pthread_mutex_t made a tenth of its instructions.
 *
 * Every lock of the core, outermost first; a thread takes them in this order
 * only, and none of them is held while user code runs:
 *
 *   0. talaria_request_class     hg/request.c    who progresses; in no call held
 *   1. na_progress.lock          na/progress.c   serializes poll, arm, cancel
 *   2. hg_context.timers         hg/timer.c      deadlines, ends that were asked
 *   3. bulk_op table             bulk/op_table.c which transfer an id names
 *   4. bulk_op.lock              bulk/transfer.c pieces of a transfer
 *   5. hg_context.pool_lock      hg/handle.c     free and posted handles
 *   6. hg_context.loopback_lock  hg/loopback.c   which answer is awaited
 *   7. hg_registry.lock          hg/registry.c   adding and removing RPCs
 *   8. bulk_owned.lock           bulk/owned.c    descriptors that went out
 *   9. bulk_context.lock         bulk/op.c       free transfers
 *  10. na_class.ops_lock         na/op_id.c      op ids of the NA interface
 *  11. base_completion_queue     base/completion.c
 *  12. plugin registry           plugin/…        opened plugins, search paths
 *  13. classes with statistics   hg/stats.c
 *  14. the log's outlets         base/log.c
 *
 * A plugin's own locks lie between 5 and 14: no function of a plugin is called
 * with a lock below 5 held, but for the log.
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { BASE_LOCK_FREE, BASE_LOCK_HELD, BASE_LOCK_WAITED_FOR };

struct base_lock {
    _Atomic uint32_t state;
    bool single; /* one thread only: nothing to lock */
};

/* Threads that wait, under a lock, for what others do under it. */
struct base_signal {
    _Atomic uint32_t count; /* signals so far */
    uint32_t waiters;       /* under the lock */
};

static inline void
base_lock_init(struct base_lock *lock, bool single)
{
    atomic_init(&lock->state, BASE_LOCK_FREE);
    lock->single = single;
}

/* The ways when somebody else has the lock, or waits for it. */
void base_lock_wait(struct base_lock *lock);
void base_lock_wake(struct base_lock *lock);

/* Takes the lock if it is free. */
static inline bool
base_lock_try(struct base_lock *lock)
{
    uint32_t state = BASE_LOCK_FREE;

    /* Acquire pairs with the release in base_lock_release. */
    return lock->single ||
           atomic_compare_exchange_strong_explicit(&lock->state, &state,
               BASE_LOCK_HELD, memory_order_acquire, memory_order_relaxed);
}

static inline void
base_lock_acquire(struct base_lock *lock)
{
    if (__builtin_expect(!base_lock_try(lock), 0))
        base_lock_wait(lock);
}

static inline void
base_lock_release(struct base_lock *lock)
{
    if (lock->single)
        return;
    /* Release pairs with the acquires of who takes the lock next. */
    if (__builtin_expect(atomic_exchange_explicit(&lock->state, BASE_LOCK_FREE,
                             memory_order_release) == BASE_LOCK_WAITED_FOR,
            0))
        base_lock_wake(lock);
}

static inline void
base_signal_init(struct base_signal *signal)
{
    atomic_init(&signal->count, 0);
    signal->waiters = 0;
}

/* Gives the lock back, waits for a signal, takes the lock again. false: the
 * deadline (base/time.h) passed. May return early. */
bool base_signal_wait(
    struct base_signal *signal, struct base_lock *lock, uint64_t deadline);

/* Wakes all who wait, or one of them. The lock is held. */
void base_signal_all(struct base_signal *signal);
void base_signal_one(struct base_signal *signal);

#endif /* BASE_LOCK_H */
