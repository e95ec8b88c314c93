/* SPDX-License-Identifier: BSD-3-Clause */
/* Mutexes: those of POSIX. Not recursive. */
#ifndef MERCURY_THREAD_MUTEX_H
#define MERCURY_THREAD_MUTEX_H

#include "mercury_util_config.h"

#include <pthread.h>

typedef pthread_mutex_t hg_thread_mutex_t;

#define HG_THREAD_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER

/* Returns HG_UTIL_SUCCESS, or HG_UTIL_FAIL: short of a resource. */
static HG_UTIL_INLINE int
hg_thread_mutex_init(hg_thread_mutex_t *mutex)
{
    return pthread_mutex_init(mutex, NULL) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

/* For locks that are held shortly. */
static HG_UTIL_INLINE int
hg_thread_mutex_init_fast(hg_thread_mutex_t *mutex)
{
    return hg_thread_mutex_init(mutex);
}

/* Returns HG_UTIL_SUCCESS, or HG_UTIL_FAIL: it is held. */
static HG_UTIL_INLINE int
hg_thread_mutex_destroy(hg_thread_mutex_t *mutex)
{
    return pthread_mutex_destroy(mutex) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

static HG_UTIL_INLINE void
hg_thread_mutex_lock(hg_thread_mutex_t *mutex)
{
    (void) pthread_mutex_lock(mutex);
}

/* Returns HG_UTIL_SUCCESS with the mutex held, or HG_UTIL_FAIL. */
static HG_UTIL_INLINE int
hg_thread_mutex_try_lock(hg_thread_mutex_t *mutex)
{
    return pthread_mutex_trylock(mutex) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

static HG_UTIL_INLINE void
hg_thread_mutex_unlock(hg_thread_mutex_t *mutex)
{
    (void) pthread_mutex_unlock(mutex);
}

#endif /* MERCURY_THREAD_MUTEX_H */
