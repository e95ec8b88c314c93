/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations complete in the progress thread and continue in their caller's. */
#include "perf/caller.h"

void
perf_caller_init(struct perf_caller *caller)
{
    pthread_mutex_init(&caller->lock, NULL);
    pthread_cond_init(&caller->changed, NULL);
    caller->first = NULL;
    caller->last = &caller->first;
    caller->aborted = false;
}

void
perf_caller_finish(struct perf_caller *caller)
{
    pthread_cond_destroy(&caller->changed);
    pthread_mutex_destroy(&caller->lock);
}

void
perf_caller_complete(struct perf_op *op, bool failed)
{
    struct perf_caller *caller = op->caller;

    op->failed = failed;
    op->next = NULL;
    pthread_mutex_lock(&caller->lock);
    *caller->last = op;
    caller->last = &op->next;
    pthread_cond_signal(&caller->changed);
    pthread_mutex_unlock(&caller->lock);
}

void
perf_caller_abort(struct perf_caller *caller)
{
    pthread_mutex_lock(&caller->lock);
    caller->aborted = true;
    pthread_cond_signal(&caller->changed);
    pthread_mutex_unlock(&caller->lock);
}

/* Returns the next completed operation, or NULL: aborted. */
static struct perf_op *
take(struct perf_caller *caller)
{
    struct perf_op *op;

    pthread_mutex_lock(&caller->lock);
    while (!caller->first && !caller->aborted)
        pthread_cond_wait(&caller->changed, &caller->lock);
    op = caller->first;
    if (op) {
        caller->first = op->next;
        if (!caller->first)
            caller->last = &caller->first;
    }
    pthread_mutex_unlock(&caller->lock);
    return op;
}

void
perf_caller_run(struct perf_loop *loop, uint32_t count)
{
    while (count > 0) {
        struct perf_op *op = take(loop->caller);

        if (!op)
            return;
        if (op->failed) {
            perf_loop_abort(loop);
            count--;
        } else if (perf_loop_repeat(op)) {
            loop->origin->ops->start(op);
        } else {
            count--;
        }
    }
}
