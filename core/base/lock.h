/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lock that is not used in classes opened for a single thread, and a signal
 * to wait for under it. Taking a free lock is one atomic operation; releasing it
 * is a load and a store, or one atomic operation after threads have had to wait
 * for it. Both are inline where a call does it, and with pthread_mutex_t were a
 * tenth of its instructions. As with that, a release does not touch the lock once
 * another thread can take it: who takes it next may free its memory.
 *
 * All locks of the core, outermost first. A thread takes them in this order
 * only, and holds none while user code runs:
 *
 *   0. talaria_request_class     hg/request.c    threads in progress; not held in calls
 *   1. na_progress.lock          na/progress.c   serializes poll, arm, cancel
 *   2. hg_context.timers         hg/timer.c      deadlines, cancelled calls
 *   3. bulk_op table             bulk/op_table.c transfers by id
 *   4. bulk_op.lock              bulk/transfer.c pieces of a transfer
 *   5. hg_context.pool_lock      hg/handle.c     free and posted handles
 *   6. hg_context.loopback_lock  hg/loopback.c   awaited responses
 *   7. hg_registry.lock          hg/registry.c   adding and removing RPCs
 *   8. bulk_owned.lock           bulk/owned.c    serialized descriptors
 *   9. bulk_context.lock         bulk/op.c       free transfers
 *  10. na_class.ops_lock         na/op_id.c      op ids of the NA interface
 *  11. base_completion_queue     base/completion.c
 *  12. plugin registry           plugin/…        opened plugins, search paths
 *  13. classes with statistics   hg/stats.c
 *  14. the log's outlets         base/log.c
 *
 * A plugin's locks are between 5 and 14: no function of a plugin, except for
 * the log, is called while a lock below 5 is held.
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { BASE_LOCK_FREE, BASE_LOCK_HELD, BASE_LOCK_WAITED_FOR };

struct base_lock {
    _Atomic uint32_t state; /* a futex, waited for while it is WAITED_FOR */
    _Atomic bool contended; /* a thread had to wait, ever */
    bool single;            /* one thread only: nothing to lock */
};

/* Threads that wait, with a lock, for a change by other threads. */
struct base_signal {
    _Atomic uint32_t count; /* signals so far */
    uint32_t waiters;       /* under the lock */
};

static inline void
base_lock_init(struct base_lock *lock, bool single)
{
    atomic_init(&lock->state, BASE_LOCK_FREE);
    atomic_init(&lock->contended, false);
    lock->single = single;
}

/* The slow paths. base_lock_wait takes a lock that another thread has, after an
 * exchange that has replaced `state`; base_lock_wake releases one that others may
 * wait for. */
void base_lock_wait(struct base_lock *lock, uint32_t state);
void base_lock_wake(struct base_lock *lock);

/* base_lock_try of a lock that is used. */
static inline bool
base_lock_try_used(struct base_lock *lock)
{
    uint32_t state = BASE_LOCK_FREE;

    /* Acquire pairs with the releases in base_lock_leave_used and
     * base_lock_wake. */
    return atomic_compare_exchange_strong_explicit(&lock->state, &state,
        BASE_LOCK_HELD, memory_order_acquire, memory_order_relaxed);
}

/* Takes the lock if it is free. */
static inline bool
base_lock_try(struct base_lock *lock)
{
    return lock->single || base_lock_try_used(lock);
}

/* base_lock_leave of a lock that is used. No read-modify-write: the first thread
 * that ever waits for the lock may begin to wait between the load and the store,
 * and is not woken then. It takes care of that, in base_lock_wait. */
static inline bool
base_lock_leave_used(struct base_lock *lock)
{
    if (atomic_load_explicit(&lock->contended, memory_order_relaxed))
        return false;
    /* Release pairs with the acquires of the next thread that takes the lock.
     */
    atomic_store_explicit(&lock->state, BASE_LOCK_FREE, memory_order_release);
    return true;
}

/* Releases the lock if no thread has ever waited for it, as far as this one sees.
 * Otherwise it returns false, and the caller releases it by base_lock_wake. */
static inline bool
base_lock_leave(struct base_lock *lock)
{
    return lock->single || base_lock_leave_used(lock);
}

void base_lock_acquire(struct base_lock *lock);
void base_lock_release(struct base_lock *lock);

/* The same inline, for the path of a call. */
static inline void
base_lock_enter(struct base_lock *lock)
{
    uint32_t state;

    if (lock->single)
        return;
    /* A processor needs less time for this than to compare and swap. Acquire as
     * in base_lock_try_used. */
    state = atomic_exchange_explicit(
        &lock->state, BASE_LOCK_HELD, memory_order_acquire);
    if (__builtin_expect(state != BASE_LOCK_FREE, 0))
        base_lock_wait(lock, state);
}

static inline void
base_lock_exit(struct base_lock *lock)
{
    if (__builtin_expect(!base_lock_leave(lock), 0))
        base_lock_wake(lock);
}

static inline void
base_signal_init(struct base_signal *signal)
{
    atomic_init(&signal->count, 0);
    signal->waiters = 0;
}

/* Releases the lock, waits for a signal, and takes the lock again. Returns
 * false after the deadline (base/time.h). May return early. */
bool base_signal_wait(
    struct base_signal *signal, struct base_lock *lock, uint64_t deadline);

/* Wakes all waiting threads. The lock is held. */
void base_signal_all(struct base_signal *signal);
/* Wakes one waiting thread. The lock is held. */
void base_signal_one(struct base_signal *signal);

#endif /* BASE_LOCK_H */
