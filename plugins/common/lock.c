/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow paths of a lock. */
#include <sched.h>
#include <time.h>

#include "common/lock.h"
#include "common/relax.h"

#define SPINS 400  /* some microseconds: a short poll, or a system call */
#define YIELDS 100 /* then the holder is not running, or copies much */
#define SLEEP_NS 50000

void
tp_lock_wait(struct tp_lock *lock)
{
    for (uint32_t i = 0; !tp_lock_try(lock); i++) {
        if (i < SPINS)
            tp_relax();
        else if (i < SPINS + YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
    }
}
