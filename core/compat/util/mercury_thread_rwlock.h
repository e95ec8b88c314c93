/* SPDX-License-Identifier: BSD-3-Clause */
/* Read-write locks: those of POSIX. */
#ifndef MERCURY_THREAD_RWLOCK_H
#define MERCURY_THREAD_RWLOCK_H

#include "mercury_util_config.h"

#include <pthread.h>

typedef pthread_rwlock_t hg_thread_rwlock_t;

/* Returns HG_UTIL_SUCCESS, or HG_UTIL_FAIL: short of a resource. */
static HG_UTIL_INLINE int
hg_thread_rwlock_init(hg_thread_rwlock_t *rwlock)
{
    return pthread_rwlock_init(rwlock, NULL) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

static HG_UTIL_INLINE int
hg_thread_rwlock_destroy(hg_thread_rwlock_t *rwlock)
{
    return pthread_rwlock_destroy(rwlock) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

static HG_UTIL_INLINE void
hg_thread_rwlock_rdlock(hg_thread_rwlock_t *rwlock)
{
    (void) pthread_rwlock_rdlock(rwlock);
}

/* Returns HG_UTIL_SUCCESS with the lock held, or HG_UTIL_FAIL. */
static HG_UTIL_INLINE int
hg_thread_rwlock_try_rdlock(hg_thread_rwlock_t *rwlock)
{
    return pthread_rwlock_tryrdlock(rwlock) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

static HG_UTIL_INLINE void
hg_thread_rwlock_release_rdlock(hg_thread_rwlock_t *rwlock)
{
    (void) pthread_rwlock_unlock(rwlock);
}

static HG_UTIL_INLINE void
hg_thread_rwlock_wrlock(hg_thread_rwlock_t *rwlock)
{
    (void) pthread_rwlock_wrlock(rwlock);
}

/* Returns HG_UTIL_SUCCESS with the lock held, or HG_UTIL_FAIL. */
static HG_UTIL_INLINE int
hg_thread_rwlock_try_wrlock(hg_thread_rwlock_t *rwlock)
{
    return pthread_rwlock_trywrlock(rwlock) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

static HG_UTIL_INLINE void
hg_thread_rwlock_release_wrlock(hg_thread_rwlock_t *rwlock)
{
    (void) pthread_rwlock_unlock(rwlock);
}

#endif /* MERCURY_THREAD_RWLOCK_H */
