/* SPDX-License-Identifier: BSD-3-Clause */
/* Condition variables: those of POSIX, with timeouts by the monotonic clock. */
#ifndef MERCURY_THREAD_CONDITION_H
#define MERCURY_THREAD_CONDITION_H

#include "mercury_thread_mutex.h"

typedef pthread_cond_t hg_thread_cond_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Returns HG_UTIL_SUCCESS, or HG_UTIL_FAIL: short of a resource. */
HG_UTIL_PUBLIC int hg_thread_cond_init(hg_thread_cond_t *cond);

/* Waits for a wake-up for at most timeout ms, with mutex held, which is held
 * again when it returns: HG_UTIL_SUCCESS, or HG_UTIL_FAIL: none came in time.
 * cond was made by hg_thread_cond_init. */
HG_UTIL_PUBLIC int hg_thread_cond_timedwait(
    hg_thread_cond_t *cond, hg_thread_mutex_t *mutex, unsigned int timeout);

#ifdef __cplusplus
}
#endif

static HG_UTIL_INLINE int
hg_thread_cond_destroy(hg_thread_cond_t *cond)
{
    return pthread_cond_destroy(cond) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

/* Wakes one thread that waits. */
static HG_UTIL_INLINE int
hg_thread_cond_signal(hg_thread_cond_t *cond)
{
    return pthread_cond_signal(cond) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

/* Wakes all threads that wait. */
static HG_UTIL_INLINE int
hg_thread_cond_broadcast(hg_thread_cond_t *cond)
{
    return pthread_cond_broadcast(cond) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

/* Waits for a wake-up, with mutex held, which is held again when it returns.
 * It may return without one. */
static HG_UTIL_INLINE int
hg_thread_cond_wait(hg_thread_cond_t *cond, hg_thread_mutex_t *mutex)
{
    return pthread_cond_wait(cond, mutex) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

#endif /* MERCURY_THREAD_CONDITION_H */
