/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lock for sections that enter a library or the kernel, or that copy much. A
 * thread that waits spins for some microseconds and then sleeps in the kernel:
 * where threads share processors, a holder that was preempted goes on the sooner
 * the fewer threads spin or yield. Not recursive, not fair. Costs nothing where
 * the caller has promised a single thread.
 */
#ifndef TP_MUTEX_H
#define TP_MUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum tp_mutex_state {
    TP_MUTEX_FREE,
    TP_MUTEX_HELD,
    TP_MUTEX_AWAITED, /* held, and threads may sleep until it is free */
};

struct tp_mutex {
    _Atomic uint32_t state;    /* enum tp_mutex_state; a futex */
    _Atomic uint16_t spinning; /* threads that spin for it now */
    bool off;                  /* one thread only: taking it does nothing */
};

/* Waits for a mutex that another thread holds, and takes it. */
void tp_mutex_wait(struct tp_mutex *mutex);

/* Wakes a thread that sleeps in tp_mutex_wait, if there is one. */
void tp_mutex_wake(struct tp_mutex *mutex);

/* The slow path of tp_mutex_try_politely. */
bool tp_mutex_try_after_others(struct tp_mutex *mutex);

static inline void
tp_mutex_init(struct tp_mutex *mutex, bool off)
{
    atomic_init(&mutex->state, TP_MUTEX_FREE);
    atomic_init(&mutex->spinning, 0);
    mutex->off = off;
}

/* Takes the mutex if it is free. Returns whether it did. */
static inline bool
tp_mutex_try(struct tp_mutex *mutex)
{
    uint32_t state = TP_MUTEX_FREE;

    /* acquire: pairs with the release in tp_mutex_drop */
    return mutex->off ||
           atomic_compare_exchange_strong_explicit(&mutex->state, &state,
               TP_MUTEX_HELD, memory_order_acquire, memory_order_relaxed);
}

static inline void
tp_mutex_take(struct tp_mutex *mutex)
{
    if (__builtin_expect(!tp_mutex_try(mutex), 0))
        tp_mutex_wait(mutex);
}

static inline void
tp_mutex_drop(struct tp_mutex *mutex)
{
    /* release: pairs with the acquire of the next thread that takes it */
    if (!mutex->off &&
        __builtin_expect(atomic_exchange_explicit(&mutex->state, TP_MUTEX_FREE,
                             memory_order_release) == TP_MUTEX_AWAITED,
            0))
        tp_mutex_wake(mutex);
}

/* For a poll, which is called in a loop: lets threads that spin for the mutex go
 * first, and tries to take it for some microseconds. Returns whether it did; if
 * not, the poll finds nothing this time. */
static inline bool
tp_mutex_try_politely(struct tp_mutex *mutex)
{
    if (__builtin_expect(
            atomic_load_explicit(&mutex->spinning, memory_order_relaxed) == 0 &&
                tp_mutex_try(mutex),
            1))
        return true;
    return tp_mutex_try_after_others(mutex);
}

#endif /* TP_MUTEX_H */
