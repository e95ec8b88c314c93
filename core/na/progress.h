/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress: polling the plugins of a context, spinning for a while, sleeping
 * in the kernel without losing a wake-up. HG contexts and NA contexts both
 * stand on it.
 *
 * Of the threads that wait on one context one leads: it polls, and it alone
 * sleeps. The others wait for it on a condition. Before the leader sleeps it
 * announces that (sleeping), arms every plugin, and looks at the completion
 * queue. Whoever fills the queue from outside looks at sleeping afterwards;
 * both do so by a read-modify-write, and so one of them sees the other. Whoever polls
 * while somebody sleeps has disarmed the plugins and arms them again.
 */
#ifndef NA_PROGRESS_H
#define NA_PROGRESS_H

#include "na/progress_state.h"
#include "na_types.h"

#include <stdbool.h>
#include <stdint.h>

struct na_op;

na_return_t na_progress_init(struct na_progress *progress,
    struct na_context *context, struct base_completion_queue *queue);
void na_progress_finish(struct na_progress *progress);

/* Makes another context's events come through this one too. */
na_return_t na_progress_add(
    struct na_progress *progress, struct na_context *context);

/* Polls; when the queue is empty then, waits up to timeout_ms for it to fill.
 * SUCCESS: there is something in the queue; TIMEOUT; an error only when a
 * context of the plugin is dead and nothing is in the queue. [any thread] */
na_return_t na_progress_wait(struct na_progress *progress, unsigned timeout_ms);

/* Polls once, without waiting; also ends what na_progress_try_wait began.
 * SUCCESS whether or not there is something in the queue; an error as above.
 * [any thread] */
na_return_t na_progress_poll(struct na_progress *progress);

/* Something was put on the queue, or must be polled, by a thread that is not
 * in progress. [any thread] */
void na_progress_notify(struct na_progress *progress);

/* Asks a plugin to end an operation. [any thread] */
na_return_t na_progress_cancel(
    struct na_progress *progress, struct na_context *context, struct na_op *op);

/* The one timer: expire is called, in progress and under its lock, once it is
 * past `when` (base/time.h; BASE_TIME_NEVER: not set), until it sets another
 * time. Setting is serialized by the caller; a sleeper is roused for it. */
void na_progress_timer_init(struct na_progress *progress,
    void (*expire)(void *arg, uint64_t now), void *arg);
void na_progress_timer_set(struct na_progress *progress, uint64_t when);

/* fail is called by every poll of a dead context, in progress and under its
 * lock: it completes what is pending on the context, but for operations of the
 * NA interface. */
void na_progress_fail_init(struct na_progress *progress,
    void (*fail)(void *arg, struct na_context *context), void *arg);

/* The lock, for who has more to do under it than one cancel. */
void na_progress_acquire(struct na_progress *progress);
void na_progress_release(struct na_progress *progress);

/* A descriptor for an outside loop, the progress's own; -1 on failure. */
int na_progress_fd(struct na_progress *progress);

/* true: the loop may sleep on it. false: progress first. */
bool na_progress_try_wait(struct na_progress *progress);

#endif /* NA_PROGRESS_H */
