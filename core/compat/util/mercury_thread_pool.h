/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool of threads that run what is posted, in the order of posting. */
#ifndef MERCURY_THREAD_POOL_H
#define MERCURY_THREAD_POOL_H

#include "mercury_queue.h"
#include "mercury_thread.h"
#include "mercury_thread_condition.h"

/* One piece of work: the caller's, and the pool's from being posted until func
 * is called, which may free or post it again. */
struct hg_thread_work {
    hg_thread_func_t func;
    void *args;
    STAILQ_ENTRY(hg_thread_work) entry; /* the pool's */
};

/* Its members are the pool's. */
typedef struct hg_thread_pool {
    hg_thread_mutex_t mutex;
    hg_thread_cond_t cond;
    STAILQ_HEAD(, hg_thread_work) queue;
    hg_thread_t *threads;
    unsigned int thread_count;
    bool shutdown;
} hg_thread_pool_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Starts a pool of thread_count threads, *pool_p, which hg_thread_pool_destroy
 * ends. Returns HG_UTIL_SUCCESS, or HG_UTIL_FAIL: no threads, or short of a
 * resource. */
HG_UTIL_PUBLIC int hg_thread_pool_init(
    unsigned int thread_count, hg_thread_pool_t **pool_p);

/* Runs what has been posted, then ends the threads and frees the pool. Not from
 * a thread of the pool. NULL does nothing. Blocks. */
HG_UTIL_PUBLIC int hg_thread_pool_destroy(hg_thread_pool_t *pool);

/* Has work->func(work->args) run by a thread of the pool. Returns
 * HG_UTIL_SUCCESS, or HG_UTIL_FAIL: no pool, work or function. [any thread] */
HG_UTIL_PUBLIC int hg_thread_pool_post(
    hg_thread_pool_t *pool, struct hg_thread_work *work);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_THREAD_POOL_H */
