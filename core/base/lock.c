/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for locks and signals, by futex. */
#include "base/lock.h"

#include "base/time.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Spins before sleeping in the kernel: locks are held for some hundred
 * instructions. */
#define SPINS 100
/* Where a thread cannot fence others it waits so long: by then their writes are
 * seen. */
#define UNFENCED_NS 1000000

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

/* Makes every other thread of this process do what a full fence does. Returns
 * false if the kernel has no such call, or forbids it. */
static bool
fence_others(void)
{
    static _Atomic bool registered;

    if (!atomic_load_explicit(&registered, memory_order_relaxed)) {
        if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
                0, 0) != 0)
            return false;
        atomic_store_explicit(&registered, true, memory_order_relaxed);
    }
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/* Before the first wait for a lock: from now on its releases check for waiting
 * threads. A release that is under way either sees that too, or its write precedes
 * the fence, and this thread sees the lock free. */
static void
contend(struct base_lock *lock)
{
    if (atomic_load_explicit(&lock->contended, memory_order_relaxed))
        return;
    atomic_store_explicit(&lock->contended, true, memory_order_relaxed);
    if (!fence_others())
        nanosleep(&(struct timespec){.tv_nsec = UNFENCED_NS}, NULL);
}

void
base_lock_wait(struct base_lock *lock)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&lock->held, memory_order_relaxed) == 0 &&
            base_lock_try(lock))
            return;
        relax();
    }
    contend(lock);
    /* The lock is left waited for, since this thread cannot know whether others
     * wait as well. */
    for (;;) {
        atomic_store_explicit(&lock->waited_for, 1, memory_order_relaxed);
        /* Pairs with the fence in base_lock_wake. */
        atomic_thread_fence(memory_order_seq_cst);
        if (base_lock_try(lock))
            return;
        futex(&lock->waited_for, FUTEX_WAIT, 1, NULL);
    }
}

void
base_lock_wake(struct base_lock *lock)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&lock->waited_for, memory_order_relaxed) == 0)
        return;
    atomic_store_explicit(&lock->waited_for, 0, memory_order_relaxed);
    futex(&lock->waited_for, FUTEX_WAKE, 1, NULL);
}

void
base_lock_acquire(struct base_lock *lock)
{
    base_lock_enter(lock);
}

void
base_lock_release(struct base_lock *lock)
{
    base_lock_exit(lock);
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
