/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool of threads: one queue, one condition variable. */
#include "mercury_thread_pool.h"

#include <stdlib.h>

/* Runs what is posted, until the pool is shut down and the queue empty. */
static HG_THREAD_RETURN_TYPE
work(void *arg)
{
    hg_thread_pool_t *pool = arg;

    hg_thread_mutex_lock(&pool->mutex);
    for (;;) {
        struct hg_thread_work *next = STAILQ_FIRST(&pool->queue);

        if (next) {
            STAILQ_REMOVE_HEAD(&pool->queue, entry);
            hg_thread_mutex_unlock(&pool->mutex);
            (void) next->func(next->args);
            hg_thread_mutex_lock(&pool->mutex);
        } else if (pool->shutdown) {
            break;
        } else {
            (void) hg_thread_cond_wait(&pool->cond, &pool->mutex);
        }
    }
    hg_thread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Of a pool with so many threads running. */
static void
shut_down(hg_thread_pool_t *pool)
{
    hg_thread_mutex_lock(&pool->mutex);
    pool->shutdown = true;
    (void) hg_thread_cond_broadcast(&pool->cond);
    hg_thread_mutex_unlock(&pool->mutex);
    for (unsigned int i = 0; i < pool->thread_count; i++)
        (void) hg_thread_join(pool->threads[i]);
    (void) hg_thread_cond_destroy(&pool->cond);
    (void) hg_thread_mutex_destroy(&pool->mutex);
    free(pool->threads);
    free(pool);
}

static hg_thread_pool_t *
allocate(unsigned int thread_count)
{
    hg_thread_pool_t *pool = calloc(1, sizeof *pool);

    if (!pool)
        return NULL;
    pool->threads = calloc(thread_count, sizeof *pool->threads);
    if (!pool->threads)
        goto free_pool;
    STAILQ_INIT(&pool->queue);
    if (hg_thread_mutex_init(&pool->mutex) != HG_UTIL_SUCCESS)
        goto free_threads;
    if (hg_thread_cond_init(&pool->cond) != HG_UTIL_SUCCESS)
        goto destroy_mutex;
    return pool;

destroy_mutex:
    (void) hg_thread_mutex_destroy(&pool->mutex);
free_threads:
    free(pool->threads);
free_pool:
    free(pool);
    return NULL;
}

int
hg_thread_pool_init(unsigned int thread_count, hg_thread_pool_t **pool_p)
{
    hg_thread_pool_t *pool;

    if (thread_count == 0 || !pool_p)
        return HG_UTIL_FAIL;
    pool = allocate(thread_count);
    if (!pool)
        return HG_UTIL_FAIL;
    while (pool->thread_count < thread_count) {
        if (hg_thread_create(&pool->threads[pool->thread_count], work, pool) !=
            HG_UTIL_SUCCESS) {
            shut_down(pool);
            return HG_UTIL_FAIL;
        }
        pool->thread_count++;
    }
    *pool_p = pool;
    return HG_UTIL_SUCCESS;
}

int
hg_thread_pool_destroy(hg_thread_pool_t *pool)
{
    if (pool)
        shut_down(pool);
    return HG_UTIL_SUCCESS;
}

int
hg_thread_pool_post(hg_thread_pool_t *pool, struct hg_thread_work *posted)
{
    if (!pool || !posted || !posted->func)
        return HG_UTIL_FAIL;
    hg_thread_mutex_lock(&pool->mutex);
    STAILQ_INSERT_TAIL(&pool->queue, posted, entry);
    (void) hg_thread_cond_signal(&pool->cond);
    hg_thread_mutex_unlock(&pool->mutex);
    return HG_UTIL_SUCCESS;
}
