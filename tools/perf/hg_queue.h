/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of requests from the progress thread to the threads that
 * respond. */
#ifndef PERF_HG_QUEUE_H
#define PERF_HG_QUEUE_H

#include <mercury.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct perf_hg_queue {
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t filled;
    hg_handle_t *handles; /* a ring; NULL: not initialized */
    uint32_t room;
    uint32_t first;
    uint32_t count;
};

/* false: out of memory. */
bool perf_hg_queue_init(struct perf_hg_queue *queue, uint32_t room);

/* Destroys the remaining requests and the queue. */
void perf_hg_queue_finish(struct perf_hg_queue *queue);

/* false: the queue is full. */
bool perf_hg_queue_put(struct perf_hg_queue *queue, hg_handle_t handle);

/* Waits up to timeout_ms for a request. HG_HANDLE_NULL: timeout. */
hg_handle_t perf_hg_queue_take(
    struct perf_hg_queue *queue, unsigned int timeout_ms);

#endif /* PERF_HG_QUEUE_H */
