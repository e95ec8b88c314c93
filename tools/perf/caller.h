/* SPDX-License-Identifier: BSD-3-Clause */
/* A caller is a loop without progress of its own: it starts its operations and
 * waits on a condition until the progress thread has completed them. */
#ifndef PERF_CALLER_H
#define PERF_CALLER_H

#include <pthread.h>

#include "perf/loop.h"

struct perf_caller {
    pthread_mutex_t lock; /* guards: */
    pthread_cond_t changed;
    struct perf_op *first; /* completed */
    struct perf_op **last;
    bool aborted;
};

void perf_caller_init(struct perf_caller *caller);
void perf_caller_finish(struct perf_caller *caller);

/* Runs until `count` operations of the loop, which are in flight, have
 * completed and none starts again, or until it is aborted. */
void perf_caller_run(struct perf_loop *loop, uint32_t count);

/* Called by the progress thread: no operation of the caller will complete any
 * more. */
void perf_caller_abort(struct perf_caller *caller);

#endif /* PERF_CALLER_H */
