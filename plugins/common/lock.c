/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow paths of a lock. */
#include <sched.h>
#include <time.h>

#include "common/lock.h"

#define SPINS 400  /* some microseconds: a short poll, or a system call */
#define YIELDS 100 /* then the holder is not running, or copies much */
#define SLEEP_NS 50000
#define COURTESY 200 /* looks at whether somebody waits, before going on */

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
tp_lock_wait(struct tp_lock *lock)
{
    atomic_fetch_add_explicit(&lock->waiting, 1, memory_order_relaxed);
    for (uint32_t i = 0; !tp_lock_try(lock); i++) {
        if (i < SPINS)
            relax();
        else if (i < SPINS + YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
    }
    atomic_fetch_sub_explicit(&lock->waiting, 1, memory_order_relaxed);
}

void
tp_lock_yield(struct tp_lock *lock)
{
    for (uint32_t i = 0; i < COURTESY; i++) {
        if (atomic_load_explicit(&lock->waiting, memory_order_relaxed) == 0 ||
            atomic_load_explicit(&lock->held, memory_order_relaxed) != 0)
            return;
        relax();
    }
    sched_yield();
}
