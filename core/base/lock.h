/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lock that is not used in classes opened for a single thread, and a signal
 * to wait for under it. Taking a free lock is one exchange, releasing it a store
 * and a load; they are inline where a call does it, and with pthread_mutex_t were
 * a tenth of its instructions.
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

struct base_lock {
    _Atomic uint32_t held;
    /* A futex: 1 if threads may wait in the kernel. 0 ends such waits. */
    _Atomic uint32_t waited_for;
    _Atomic bool contended; /* it was 1, ever */
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
    atomic_init(&lock->held, 0);
    atomic_init(&lock->waited_for, 0);
    atomic_init(&lock->contended, false);
    lock->single = single;
}

/* The slow paths: another thread has the lock, or may wait for it. */
void base_lock_wait(struct base_lock *lock);
void base_lock_wake(struct base_lock *lock);

/* base_lock_try of a lock that is used. */
static inline bool
base_lock_try_used(struct base_lock *lock)
{
    /* Acquire pairs with the release in base_lock_leave_used. */
    return atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) == 0;
}

/* Takes the lock if it is free. */
static inline bool
base_lock_try(struct base_lock *lock)
{
    return lock->single || base_lock_try_used(lock);
}

/* base_lock_leave of a lock that is used. No read-modify-write: the processor may
 * look at `contended` before others see what it has written, and so miss a thread
 * that begins to wait. That thread takes care of it, in base_lock_wait. */
static inline bool
base_lock_leave_used(struct base_lock *lock)
{
    /* Release pairs with the acquires of the next thread that takes the lock.
     */
    atomic_store_explicit(&lock->held, 0, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    return atomic_load_explicit(&lock->contended, memory_order_relaxed);
}

/* Releases the lock. Returns whether the caller has to call base_lock_wake. */
static inline bool
base_lock_leave(struct base_lock *lock)
{
    return !lock->single && base_lock_leave_used(lock);
}

void base_lock_acquire(struct base_lock *lock);
void base_lock_release(struct base_lock *lock);

/* The same inline, for the path of a call. */
static inline void
base_lock_enter(struct base_lock *lock)
{
    if (__builtin_expect(!base_lock_try(lock), 0))
        base_lock_wait(lock);
}

static inline void
base_lock_exit(struct base_lock *lock)
{
    if (__builtin_expect(base_lock_leave(lock), 0))
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
