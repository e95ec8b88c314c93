/* SPDX-License-Identifier: BSD-3-Clause */
/* The class's lock: a word, that costs nothing when the caller has promised a
 * single thread. Whoever polls without end lets those pass who wait. */
#ifndef OFI_LOCK_H
#define OFI_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ofi_lock {
    _Atomic uint32_t held;
    _Atomic uint32_t waiting; /* threads in ofi_lock_wait */
    uint32_t off;             /* one thread only: taking it does nothing */
};

/* Waits for a lock that another thread holds: spins, then yields, then naps,
 * so that a preempted holder, of whatever priority, gets to run. */
void ofi_lock_wait(struct ofi_lock *lock);

static inline void
ofi_lock_init(struct ofi_lock *lock, bool off)
{
    atomic_init(&lock->held, 0);
    atomic_init(&lock->waiting, 0);
    lock->off = off;
}

/* Takes the lock if that is possible at once; says whether it did. */
static inline bool
ofi_lock_try(struct ofi_lock *lock)
{
    if (lock->off)
        return true;
    /* acquire: pairs with the release in ofi_lock_drop */
    return atomic_load_explicit(&lock->held, memory_order_relaxed) == 0 &&
           atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) == 0;
}

static inline void
ofi_lock_take(struct ofi_lock *lock)
{
    if (lock->off)
        return;
    /* acquire: pairs with the release in ofi_lock_drop */
    if (__builtin_expect(
            atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) != 0,
            0))
        ofi_lock_wait(lock);
}

static inline void
ofi_lock_drop(struct ofi_lock *lock)
{
    /* release: pairs with the acquire in ofi_lock_take and ofi_lock_try */
    if (!lock->off)
        atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif /* OFI_LOCK_H */
