/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of requests with a condition variable. */
#include "perf/hg_queue.h"

#include <stdlib.h>
#include <time.h>

#include "perf/clock.h"

bool
perf_hg_queue_init(struct perf_hg_queue *queue, uint32_t room)
{
    pthread_condattr_t monotonic;

    *queue = (struct perf_hg_queue){.room = room};
    queue->handles = calloc(room, sizeof *queue->handles);
    if (!queue->handles)
        return false;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&queue->filled, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return true;
}

void
perf_hg_queue_finish(struct perf_hg_queue *queue)
{
    if (!queue->handles)
        return;
    for (; queue->count > 0; queue->count--) {
        HG_Destroy(queue->handles[queue->first]);
        queue->first = (queue->first + 1) % queue->room;
    }
    pthread_cond_destroy(&queue->filled);
    pthread_mutex_destroy(&queue->lock);
    free(queue->handles);
    queue->handles = NULL;
}

bool
perf_hg_queue_put(struct perf_hg_queue *queue, hg_handle_t handle)
{
    bool fits;

    pthread_mutex_lock(&queue->lock);
    fits = queue->count < queue->room;
    if (fits) {
        queue->handles[(queue->first + queue->count++) % queue->room] = handle;
        pthread_cond_signal(&queue->filled);
    }
    pthread_mutex_unlock(&queue->lock);
    return fits;
}

hg_handle_t
perf_hg_queue_take(struct perf_hg_queue *queue, unsigned int timeout_ms)
{
    uint64_t until_ns = perf_clock_now() + timeout_ms * PERF_MS_NS;
    const struct timespec until = {
        .tv_sec = (time_t) (until_ns / PERF_SECOND_NS),
        .tv_nsec = (long) (until_ns % PERF_SECOND_NS)};
    hg_handle_t handle = HG_HANDLE_NULL;
    int error = 0;

    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && error == 0)
        error = pthread_cond_timedwait(&queue->filled, &queue->lock, &until);
    if (queue->count > 0) {
        handle = queue->handles[queue->first];
        queue->first = (queue->first + 1) % queue->room;
        queue->count--;
    }
    pthread_mutex_unlock(&queue->lock);
    return handle;
}
