/* SPDX-License-Identifier: BSD-3-Clause */
/* A lock of one word for short sections. It spins, then yields, then sleeps, so
 * that a preempted holder, of whatever priority, gets to run; it costs nothing
 * where the caller has promised a single thread. Not recursive, not fair. */
#ifndef TP_LOCK_H
#define TP_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tp_lock {
    _Atomic uint32_t held;
    bool off; /* one thread only: taking it does nothing */
};

/* Waits for a lock that another thread holds, and takes it. */
void tp_lock_wait(struct tp_lock *lock);

static inline void
tp_lock_init(struct tp_lock *lock, bool off)
{
    atomic_init(&lock->held, 0);
    lock->off = off;
}

/* Takes the lock if nobody holds it; says whether it did. */
static inline bool
tp_lock_try(struct tp_lock *lock)
{
    if (lock->off)
        return true;
    /* acquire: pairs with the release in tp_lock_drop */
    return atomic_load_explicit(&lock->held, memory_order_relaxed) == 0 &&
           atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) == 0;
}

/* As tp_lock_try, for the path of a message: `single` is a constant there, and
 * without other threads the lock costs nothing. */
static inline __attribute__((always_inline)) bool
tp_lock_try_fast(struct tp_lock *lock, const bool single)
{
    /* acquire: pairs with the release in tp_lock_drop */
    return single ||
           atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) == 0;
}

static inline __attribute__((always_inline)) void
tp_lock_take_fast(struct tp_lock *lock, const bool single)
{
    if (__builtin_expect(!tp_lock_try_fast(lock, single), 0))
        tp_lock_wait(lock);
}

static inline __attribute__((always_inline)) void
tp_lock_drop_fast(struct tp_lock *lock, const bool single)
{
    /* release: pairs with the acquire in tp_lock_take and tp_lock_try */
    if (!single)
        atomic_store_explicit(&lock->held, 0, memory_order_release);
}

static inline void
tp_lock_take(struct tp_lock *lock)
{
    tp_lock_take_fast(lock, lock->off);
}

static inline void
tp_lock_drop(struct tp_lock *lock)
{
    tp_lock_drop_fast(lock, lock->off);
}

#endif /* TP_LOCK_H */
