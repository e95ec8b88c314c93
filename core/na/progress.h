/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress: polling the plugins of a context, spinning for a while, and
 * sleeping in the kernel without losing a wake-up. HG and NA contexts use it.
 *
 * Of the threads that wait on one context, one is the leader: it polls, and
 * only it sleeps. The others wait for it on a condition variable. Before the
 * leader sleeps, it announces that in `sleeping`, arms every plugin, and checks
 * the completion queue. A thread that adds to the queue from outside reads
 * `sleeping` afterwards. Both use a read-modify-write, so at least one sees the
 * other. A poll disarms the plugins, so a thread that polls while another
 * sleeps arms them again.
 */
#ifndef NA_PROGRESS_H
#define NA_PROGRESS_H

#include "na/context.h"
#include "na/progress_state.h"
#include "na_types.h"

#include <stdbool.h>
#include <stdint.h>

struct na_op;

na_return_t na_progress_init(struct na_progress *progress,
    struct na_context *context, struct base_completion_queue *queue);
void na_progress_finish(struct na_progress *progress);

/* Adds the events of another context. */
na_return_t na_progress_add(
    struct na_progress *progress, struct na_context *context);

/* Polls; if the queue is empty, waits up to timeout_ms for an entry. SUCCESS:
 * the queue has an entry; TIMEOUT; an error only if a context is dead and the
 * queue is empty. [any thread] */
na_return_t na_progress_wait(struct na_progress *progress, unsigned timeout_ms);

/* Polls once without waiting; also ends what na_progress_try_wait began.
 * SUCCESS also if the queue is empty; an error as of na_progress_wait. [any
 * thread] */
na_return_t na_progress_poll(struct na_progress *progress);

/* Wakes a sleeper: a thread outside of progress has added to the queue, or a
 * plugin must be polled. [any thread] */
void na_progress_notify(struct na_progress *progress);

/* Returns whether the next na_progress_caller_runs wakes the leader, if that sleeps
 * on the caller's processor. */
static inline bool
na_progress_wakes_early(const struct na_context *context)
{
    return atomic_load_explicit(&context->wakes_early, memory_order_relaxed);
}

/* Wakes the leader if it sleeps on this processor, unless another thread has done so.
 */
void na_progress_wake_early(struct na_context *context);

/* The calling thread uses an answer, or is about to send a request that will be
 * answered: wakes the leader if that sleeps on this processor without having spun.
 * Only the first caller in each sleep does, and none before another event has arrived. Otherwise the
 * answer would wake the leader, and the thread that the leader wakes in turn would
 * preempt it: a thread that is seldom runnable while others run gets little credit
 * from the scheduler. A leader on another processor is not preempted by this
 * thread, and to wake it costs an interrupt. [any thread] */
static inline void
na_progress_caller_runs(struct na_context *context)
{
    /* A sleeper that this misses gets its answer all the same. */
    if (__builtin_expect(na_progress_wakes_early(context), 0))
        na_progress_wake_early(context);
}

/* Asks a plugin to cancel an operation. [any thread] */
na_return_t na_progress_cancel(
    struct na_progress *progress, struct na_context *context, struct na_op *op);

/* The timer. expire is called, in progress and under its lock, once `when` has
 * passed (base/time.h; BASE_TIME_NEVER: not set), and at each poll until
 * another time is set. The caller serializes setting it. An earlier time wakes
 * a sleeper. */
void na_progress_timer_init(struct na_progress *progress,
    void (*expire)(void *arg, uint64_t now), void *arg);
void na_progress_timer_set(struct na_progress *progress, uint64_t when);

/* Sets the function that every poll of a dead context calls, in progress and
 * under its lock: it completes the context's pending operations, except those
 * of the NA interface. */
void na_progress_fail_init(struct na_progress *progress,
    void (*fail)(void *arg, struct na_context *context), void *arg);

/* Take and release the lock of progress. */
void na_progress_acquire(struct na_progress *progress);
void na_progress_release(struct na_progress *progress);

/* Returns a descriptor for an external event loop, owned by progress; -1 on
 * failure. */
int na_progress_fd(struct na_progress *progress);

/* Returns true if the loop may sleep on the descriptor; false: make progress
 * first. */
bool na_progress_try_wait(struct na_progress *progress);

#endif /* NA_PROGRESS_H */
