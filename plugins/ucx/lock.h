/* SPDX-License-Identifier: BSD-3-Clause */
/* The class's one lock: held around every call of UCX and in its callbacks, off
 * when the caller has promised a single thread. A word that spins, then yields,
 * then naps; who polls in a loop lets others in who wait. */
#ifndef UCX_LOCK_H
#define UCX_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ucx_lock {
    _Atomic uint32_t held;
    _Atomic uint32_t waiting; /* threads in ucx_lock_wait */
    uint32_t off;             /* one thread only: taking it does nothing */
};

/* Waits for a lock that another thread holds. */
void ucx_lock_wait(struct ucx_lock *lock);

/* Before a poll takes the lock again: gives those who wait a chance. */
void ucx_lock_yield(struct ucx_lock *lock);

static inline void
ucx_lock_init(struct ucx_lock *lock, bool off)
{
    atomic_init(&lock->held, 0);
    atomic_init(&lock->waiting, 0);
    lock->off = off;
}

static inline bool
ucx_lock_try(struct ucx_lock *lock)
{
    /* acquire: pairs with the release in ucx_lock_drop */
    return lock->off ||
           atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) == 0;
}

static inline void
ucx_lock_take(struct ucx_lock *lock)
{
    if (__builtin_expect(!ucx_lock_try(lock), 0))
        ucx_lock_wait(lock);
}

static inline void
ucx_lock_drop(struct ucx_lock *lock)
{
    /* release: pairs with the acquire in ucx_lock_try */
    if (!lock->off)
        atomic_store_explicit(&lock->held, 0, memory_order_release);
}

/* As ucx_lock_take, from a loop that takes it again and again. */
static inline void
ucx_lock_take_politely(struct ucx_lock *lock)
{
    if (__builtin_expect(
            atomic_load_explicit(&lock->waiting, memory_order_relaxed) != 0, 0))
        ucx_lock_yield(lock);
    ucx_lock_take(lock);
}

#endif /* UCX_LOCK_H */
