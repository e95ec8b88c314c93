/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A caller is a loop that leaves progress to another thread: it starts its
 * operations and waits on a condition for those that have ended, as programs do
 * that have a thread for progress.
 */
#ifndef PERF_CALLER_H
#define PERF_CALLER_H

#include <pthread.h>

#include "perf/loop.h"

struct perf_caller {
    pthread_mutex_t lock; /* guards: */
    pthread_cond_t changed;
    struct perf_op *first; /* that has ended */
    struct perf_op **last;
    bool aborted;
};

void perf_caller_init(struct perf_caller *caller);
void perf_caller_finish(struct perf_caller *caller);

/* Waits for so many operations of the loop, which are under way, until each has
 * ended and none starts again, or until they were given up. */
void perf_caller_run(struct perf_loop *loop, uint32_t count);

/* The progress thread: no operation of the caller will end any more. */
void perf_caller_abort(struct perf_caller *caller);

#endif /* PERF_CALLER_H */
