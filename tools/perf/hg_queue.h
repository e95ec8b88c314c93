/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that the progress thread has received, for the threads that answer
 * them. */
#ifndef PERF_HG_QUEUE_H
#define PERF_HG_QUEUE_H

#include <mercury.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct perf_hg_queue {
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t filled;
    hg_handle_t *handles; /* a ring; NULL: there is no queue */
    uint32_t room;
    uint32_t first;
    uint32_t count;
};

/* false: out of memory, and there is no queue. */
bool perf_hg_queue_init(struct perf_hg_queue *queue, uint32_t room);

/* Destroys what is left in it. */
void perf_hg_queue_finish(struct perf_hg_queue *queue);

/* false: it is full. */
bool perf_hg_queue_put(struct perf_hg_queue *queue, hg_handle_t handle);

/* Waits up to so many ms for a request; HG_HANDLE_NULL: none came. */
hg_handle_t perf_hg_queue_take(
    struct perf_hg_queue *queue, unsigned int timeout_ms);

#endif /* PERF_HG_QUEUE_H */
