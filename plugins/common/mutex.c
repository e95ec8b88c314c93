/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow paths of a mutex. */
#include "common/mutex.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/relax.h"

/* Some microseconds: a short poll. A section that takes longer is in a system
 * call, or its thread was preempted. */
#define SPINS 100

/* A thread that spins takes a free mutex sooner than in so many looks, unless it
 * was preempted. */
#define COURTESY 200

/* Tries for some microseconds, to set the state given. Returns whether the mutex
 * was taken. */
static bool
spin(struct tp_mutex *mutex, enum tp_mutex_state taken)
{
    bool done = false;

    atomic_fetch_add_explicit(&mutex->spinning, 1, memory_order_relaxed);
    for (uint32_t i = 0; !done && i < SPINS; i++) {
        uint32_t state =
            atomic_load_explicit(&mutex->state, memory_order_relaxed);
        /* acquire: pairs with the release in tp_mutex_drop */
        done = state == TP_MUTEX_FREE &&
               atomic_compare_exchange_strong_explicit(&mutex->state, &state,
                   taken, memory_order_acquire, memory_order_relaxed);
        if (!done)
            tp_relax();
    }
    atomic_fetch_sub_explicit(&mutex->spinning, 1, memory_order_relaxed);
    return done;
}

static void
futex(struct tp_mutex *mutex, int op, uint32_t value)
{
    syscall(SYS_futex, &mutex->state, op | FUTEX_PRIVATE_FLAG, value, NULL);
}

void
tp_mutex_wait(struct tp_mutex *mutex)
{
    if (spin(mutex, TP_MUTEX_HELD))
        return;
    /* This thread cannot know whether others sleep as well, so it takes the mutex
     * as an awaited one. acquire: as above */
    do {
        if (atomic_exchange_explicit(&mutex->state, TP_MUTEX_AWAITED,
                memory_order_acquire) == TP_MUTEX_FREE)
            return;
        futex(mutex, FUTEX_WAIT, TP_MUTEX_AWAITED);
    } while (!spin(mutex, TP_MUTEX_AWAITED));
}

void
tp_mutex_wake(struct tp_mutex *mutex)
{
    futex(mutex, FUTEX_WAKE, 1);
}

bool
tp_mutex_try_after_others(struct tp_mutex *mutex)
{
    for (uint32_t i = 0; i < COURTESY; i++) {
        if (atomic_load_explicit(&mutex->spinning, memory_order_relaxed) == 0 ||
            atomic_load_explicit(&mutex->state, memory_order_relaxed) !=
                TP_MUTEX_FREE)
            break;
        tp_relax();
    }
    return spin(mutex, TP_MUTEX_HELD);
}
