/* SPDX-License-Identifier: BSD-3-Clause */
/* Spin locks: those of POSIX, between the threads of one process. */
#ifndef MERCURY_THREAD_SPIN_H
#define MERCURY_THREAD_SPIN_H

#include "mercury_util_config.h"

#include <pthread.h>

typedef pthread_spinlock_t hg_thread_spin_t;

/* Returns HG_UTIL_SUCCESS, or HG_UTIL_FAIL: short of a resource. */
static HG_UTIL_INLINE int
hg_thread_spin_init(hg_thread_spin_t *lock)
{
    return pthread_spin_init(lock, PTHREAD_PROCESS_PRIVATE) ? HG_UTIL_FAIL
                                                            : HG_UTIL_SUCCESS;
}

static HG_UTIL_INLINE int
hg_thread_spin_destroy(hg_thread_spin_t *lock)
{
    return pthread_spin_destroy(lock) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

static HG_UTIL_INLINE void
hg_thread_spin_lock(hg_thread_spin_t *lock)
{
    (void) pthread_spin_lock(lock);
}

/* Returns HG_UTIL_SUCCESS with the lock held, or HG_UTIL_FAIL. */
static HG_UTIL_INLINE int
hg_thread_spin_try_lock(hg_thread_spin_t *lock)
{
    return pthread_spin_trylock(lock) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

static HG_UTIL_INLINE void
hg_thread_spin_unlock(hg_thread_spin_t *lock)
{
    (void) pthread_spin_unlock(lock);
}

#endif /* MERCURY_THREAD_SPIN_H */
