/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path of the lock. */
#include <sched.h>
#include <time.h>

#include "lock.h"

#define SPINS 500 /* some microseconds: a system call of the holder's */
#define YIELDS 100
#define NAP_NS 50000

static void
relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

void
ofi_lock_wait(struct ofi_lock *lock)
{
    atomic_fetch_add_explicit(&lock->waiting, 1, memory_order_relaxed);
    for (uint32_t i = 0; !ofi_lock_try(lock); i++) {
        if (i < SPINS)
            relax();
        else if (i < SPINS + YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    atomic_fetch_sub_explicit(&lock->waiting, 1, memory_order_relaxed);
}
