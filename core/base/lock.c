/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for locks and signals, by futex. */
#include "base/lock.h"

#include "base/relax.h"
#include "base/time.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Spins before sleeping in the kernel: locks are held for some hundred
 * instructions. */
#define SPINS 100
/* How often the first thread that waits looks at the lock. */
#define FIRST_WAIT_NS 1000000

static long
futex(_Atomic uint32_t *word, int op, uint32_t value,
    const struct timespec *timeout)
{
    return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, timeout,
        NULL, FUTEX_BITSET_MATCH_ANY);
}

/* Marks the lock, so that its releases look for waiting threads from now on.
 * Returns true to the first thread that does. */
static bool
contend(struct base_lock *lock)
{
    return !atomic_load_explicit(&lock->contended, memory_order_relaxed) &&
           !atomic_exchange_explicit(
               &lock->contended, true, memory_order_relaxed);
}

/* Takes the lock as one that is waited for. Returns false if another thread has
 * it. */
static bool
take_waited_for(struct base_lock *lock)
{
    /* Acquire as in base_lock_try_used. Release, so that a holder that sees this
     * state sees the mark as well. */
    return atomic_exchange_explicit(&lock->state, BASE_LOCK_WAITED_FOR,
               memory_order_acq_rel) == BASE_LOCK_FREE;
}

/* A release may look at the mark before the first thread has set it, and wakes no
 * thread then. Therefore that thread sleeps for a limited time only. When it has
 * had the lock it wakes the next one, and every later holder sees the mark. */
void
base_lock_wait(struct base_lock *lock, uint32_t state)
{
    const struct timespec limit = {.tv_nsec = FIRST_WAIT_NS};
    bool first;

    /* The exchange has hidden from the holder that threads wait. If it has
     * released the lock meanwhile and woken none, this thread gets the lock now,
     * and its release wakes them. */
    if (state == BASE_LOCK_WAITED_FOR && take_waited_for(lock))
        return;
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&lock->state, memory_order_relaxed) ==
                BASE_LOCK_FREE &&
            base_lock_try(lock))
            return;
        base_relax();
    }
    first = contend(lock);
    /* This thread cannot know whether others wait as well. */
    while (!take_waited_for(lock))
        futex(&lock->state, FUTEX_WAIT, BASE_LOCK_WAITED_FOR,
            first ? &limit : NULL);
}

void
base_lock_wake(struct base_lock *lock)
{
    /* The kernel looks at the address alone, which may be free memory by now, or
     * another futex: its threads check what they wait for. */
    if (atomic_exchange_explicit(&lock->state, BASE_LOCK_FREE,
            memory_order_release) == BASE_LOCK_WAITED_FOR)
        futex(&lock->state, FUTEX_WAKE, 1, NULL);
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
