/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for locks and signals, by futex. */
#include "base/lock.h"

#include "base/time.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Spins before sleeping in the kernel: locks are held for some hundred
 * instructions. */
#define SPINS 100

static long
futex(_Atomic uint32_t *word, int op, uint32_t value,
    const struct timespec *timeout)
{
    return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, timeout,
        NULL, FUTEX_BITSET_MATCH_ANY);
}

/* Lets the other hardware thread of the processor run. */
static void
relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void
base_lock_wait(struct base_lock *lock)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&lock->state, memory_order_relaxed) ==
                BASE_LOCK_FREE &&
            base_lock_try(lock))
            return;
        relax();
    }
    /* This thread cannot know whether others wait, so it marks the lock as
     * waited for. Acquire pairs with the release in base_lock_release. */
    while (atomic_exchange_explicit(&lock->state, BASE_LOCK_WAITED_FOR,
               memory_order_acquire) != BASE_LOCK_FREE)
        futex(&lock->state, FUTEX_WAIT, BASE_LOCK_WAITED_FOR, NULL);
}

void
base_lock_wake(struct base_lock *lock)
{
    futex(&lock->state, FUTEX_WAKE, 1, NULL);
}

bool
base_signal_wait(
    struct base_signal *signal, struct base_lock *lock, uint64_t deadline)
{
    struct timespec until = base_time_spec(deadline);
    uint32_t count;
    long ret;

    /* Both are changed under the lock only. */
    count = atomic_load_explicit(&signal->count, memory_order_relaxed);
    signal->waiters++;
    base_lock_release(lock);
    /* The timeout is absolute and monotonic. */
    ret = futex(&signal->count, FUTEX_WAIT_BITSET, count, &until);
    ret = ret < 0 && errno == ETIMEDOUT ? -1 : 0;
    base_lock_acquire(lock);
    signal->waiters--;
    return ret == 0;
}

static void
wake(struct base_signal *signal, uint32_t most)
{
    if (signal->waiters == 0)
        return;
    atomic_fetch_add_explicit(&signal->count, 1, memory_order_relaxed);
    futex(&signal->count, FUTEX_WAKE, most, NULL);
}

void
base_signal_all(struct base_signal *signal)
{
    wake(signal, INT_MAX);
}

void
base_signal_one(struct base_signal *signal)
{
    wake(signal, 1);
}
