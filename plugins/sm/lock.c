/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path of a lock. */
#include <sched.h>
#include <time.h>

#include "lock.h"

#define SPINS 200  /* about the length of the longest common section */
#define YIELDS 100 /* then the holder is not running, or of lower priority */
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
sm_lock_wait(struct sm_lock *lock)
{
    for (uint32_t i = 0;; i++) {
        if (sm_lock_try(lock))
            return;
        if (i < SPINS)
            relax();
        else if (i < SPINS + YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}
