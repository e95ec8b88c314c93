/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads: those of POSIX. hg_cpu_set_t is there only where <sched.h> has
 * cpu_set_t, which takes _GNU_SOURCE. */
#ifndef MERCURY_THREAD_H
#define MERCURY_THREAD_H

#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "mercury_util_config.h"

#include <pthread.h>
#include <sched.h>

typedef pthread_t hg_thread_t;
typedef void *hg_thread_ret_t;
typedef void *(*hg_thread_func_t)(void *);
typedef pthread_key_t hg_thread_key_t;
#ifdef CPU_SETSIZE
typedef cpu_set_t hg_cpu_set_t;
#endif

/* How a thread's function begins:
 *     static HG_THREAD_RETURN_TYPE run(void *arg) */
#define HG_THREAD_RETURN_TYPE hg_thread_ret_t

#ifdef __cplusplus
extern "C" {
#endif

/* Makes *thread name no thread. */
HG_UTIL_PUBLIC void hg_thread_init(hg_thread_t *thread);

/* Starts a thread, to be joined, in f(data). Returns HG_UTIL_SUCCESS, or
 * HG_UTIL_FAIL: short of a resource. */
HG_UTIL_PUBLIC int hg_thread_create(
    hg_thread_t *thread, hg_thread_func_t f, void *data);

/* Ends the calling thread. */
HG_UTIL_PUBLIC void hg_thread_exit(hg_thread_ret_t ret);

/* Waits until a thread has ended, once a thread. Returns HG_UTIL_SUCCESS, or
 * HG_UTIL_FAIL: the caller itself. */
HG_UTIL_PUBLIC int hg_thread_join(hg_thread_t thread);

/* Asks a thread to end where POSIX lets it be cancelled. */
HG_UTIL_PUBLIC int hg_thread_cancel(hg_thread_t thread);

/* Lets other threads have the processor. */
HG_UTIL_PUBLIC int hg_thread_yield(void);

/* Makes a key by which each thread keeps a pointer of its own, NULL at first. */
HG_UTIL_PUBLIC int hg_thread_key_create(hg_thread_key_t *key);

/* Frees a key; the pointers stay the caller's. */
HG_UTIL_PUBLIC int hg_thread_key_delete(hg_thread_key_t key);

#ifdef CPU_SETSIZE
/* The processors that a thread may run on. */
HG_UTIL_PUBLIC int hg_thread_getaffinity(
    hg_thread_t thread, hg_cpu_set_t *cpu_mask);

/* Restricts a thread to processors. */
HG_UTIL_PUBLIC int hg_thread_setaffinity(
    hg_thread_t thread, const hg_cpu_set_t *cpu_mask);
#endif

#ifdef __cplusplus
}
#endif

static HG_UTIL_INLINE hg_thread_t
hg_thread_self(void)
{
    return pthread_self();
}

/* Returns non-zero if both are the same thread. */
static HG_UTIL_INLINE int
hg_thread_equal(hg_thread_t t1, hg_thread_t t2)
{
    return pthread_equal(t1, t2);
}

static HG_UTIL_INLINE void *
hg_thread_getspecific(hg_thread_key_t key)
{
    return pthread_getspecific(key);
}

static HG_UTIL_INLINE int
hg_thread_setspecific(hg_thread_key_t key, const void *value)
{
    return pthread_setspecific(key, value) ? HG_UTIL_FAIL : HG_UTIL_SUCCESS;
}

#endif /* MERCURY_THREAD_H */
