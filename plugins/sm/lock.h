/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's one kind of lock: a word, for sections of some tens of
 * instructions, that costs nothing when the caller has promised a single
 * thread. README.md lists the locks and their order. */
#ifndef SM_LOCK_H
#define SM_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sm_lock {
    _Atomic uint32_t held;
    uint32_t off; /* one thread only: taking it does nothing */
};

/* Waits for a lock that another thread holds: spins, then yields, then naps,
 * so that a preempted holder, of whatever priority, gets to run. */
void sm_lock_wait(struct sm_lock *lock);

static inline void
sm_lock_init(struct sm_lock *lock, bool off)
{
    atomic_init(&lock->held, 0);
    lock->off = off;
}

/* Takes the lock if that is possible at once; says whether it did. */
static inline bool
sm_lock_try(struct sm_lock *lock)
{
    if (lock->off)
        return true;
    /* acquire: pairs with the release in sm_lock_drop */
    return atomic_load_explicit(&lock->held, memory_order_relaxed) == 0 &&
           atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) == 0;
}

static inline void
sm_lock_take(struct sm_lock *lock)
{
    if (lock->off)
        return;
    /* acquire: pairs with the release in sm_lock_drop */
    if (__builtin_expect(
            atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) != 0,
            0))
        sm_lock_wait(lock);
}

static inline void
sm_lock_drop(struct sm_lock *lock)
{
    /* release: pairs with the acquire in sm_lock_take and sm_lock_try */
    if (!lock->off)
        atomic_store_explicit(&lock->held, 0, memory_order_release);
}

/* The same where it is known at compile time whether there is but one thread:
 * on the path of a message. */
static inline __attribute__((always_inline)) bool
sm_lock_try_fast(struct sm_lock *lock, const bool single)
{
    /* acquire: pairs with the release in sm_lock_drop */
    return single ||
           atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) == 0;
}

static inline __attribute__((always_inline)) void
sm_lock_take_fast(struct sm_lock *lock, const bool single)
{
    if (__builtin_expect(!sm_lock_try_fast(lock, single), 0))
        sm_lock_wait(lock);
}

static inline __attribute__((always_inline)) void
sm_lock_drop_fast(struct sm_lock *lock, const bool single)
{
    /* release: pairs with the acquire in sm_lock_take and sm_lock_try */
    if (!single)
        atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif /* SM_LOCK_H */
