/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress, trigger and cancel. */
#include "hg/context.h"
#include "hg/refill.h"

#include "base/error.h"
#include "base/log.h"
#include "base/time.h"
#include "hg/handle.h"
#include "na.h"

/* Posts more receives when all are in use. Not in progress, since creating
 * handles runs the user's callback. */
static __attribute__((noinline)) void
refill(struct hg_context *context)
{
    if (atomic_exchange_explicit(
            &context->out_of_receives, false, memory_order_relaxed) &&
        atomic_load_explicit(&context->accepting, memory_order_relaxed))
        hg_refill_run(context);
}

static inline bool
out_of_receives(struct hg_context *context)
{
    return __builtin_expect(
        atomic_load_explicit(&context->out_of_receives, memory_order_relaxed),
        0);
}

hg_return_t
HG_Progress(hg_context_t *context, unsigned int timeout)
{
    if (!context)
        return HG_INVALID_ARG;
    if (out_of_receives(context))
        refill(context);
    return (hg_return_t) na_progress_wait(context->progress, timeout);
}

/* The slow path of HG_Trigger: waits for the first entry, runs several entries,
 * or none. */
static __attribute__((noinline)) hg_return_t
trigger(hg_context_t *context, unsigned int timeout, unsigned int max_count,
    unsigned int *actual_count_p)
{
    uint32_t count = base_completion_trigger(&context->bulk.completions,
        timeout > 0 ? base_time_deadline(timeout) : 0, max_count);

    if (actual_count_p)
        *actual_count_p = count;
    return count > 0 || max_count == 0 ? HG_SUCCESS : HG_TIMEOUT;
}

/* The slow paths of HG_Trigger after it has taken the lock of the queue. */
static __attribute__((noinline, cold)) hg_return_t
trigger_locked(hg_context_t *context, unsigned int timeout,
    unsigned int max_count, unsigned int *actual_count_p)
{
    base_lock_release(&context->bulk.completions.lock);
    return trigger(context, timeout, max_count, actual_count_p);
}

static __attribute__((noinline, cold)) hg_return_t
wake_and_run(hg_context_t *context, struct base_completion *completion)
{
    base_lock_wake(&context->bulk.completions.lock);
    completion->run(completion);
    return HG_SUCCESS;
}

/* Uses nothing after the callback, and calls no function before it on the
 * common path, so that it saves no registers. */
hg_return_t
HG_Trigger(hg_context_t *context, unsigned int timeout, unsigned int max_count,
    unsigned int *actual_count_p)
{
    struct base_completion_queue *queue;
    struct base_completion *completion;
    uint32_t count;

    if (!context)
        return HG_INVALID_ARG;
    queue = &context->bulk.completions;
    count = base_completion_word(queue);
    if (max_count != 1 || count == 0 || count == BASE_COMPLETION_WAITED)
        return trigger(context, timeout, max_count, actual_count_p);
    if (queue->lock.single) {
        completion = base_completion_remove_single(queue);
        if (actual_count_p)
            *actual_count_p = 1;
        completion->run(completion);
        return HG_SUCCESS;
    }
    if (__builtin_expect(!base_lock_try_used(&queue->lock), 0))
        return trigger(context, timeout, max_count, actual_count_p);
    count = base_completion_count_locked(queue);
    if (__builtin_expect(count == 0, 0))
        return trigger_locked(context, timeout, max_count, actual_count_p);
    completion = base_completion_remove_of(queue, count);
    if (actual_count_p)
        *actual_count_p = 1;
    if (__builtin_expect(!base_lock_leave_used(&queue->lock), 0))
        return wake_and_run(context, completion);
    completion->run(completion);
    return HG_SUCCESS;
}

__attribute__((cold)) int
HG_Event_get_wait_fd(const hg_context_t *context)
{
    return context ? na_progress_fd(hg_context_na(context)->progress) : -1;
}

bool
HG_Event_ready(hg_context_t *context)
{
    return context &&
           (out_of_receives(context) ||
               !na_progress_try_wait(hg_context_na(context)->progress));
}

hg_return_t
HG_Event_progress(hg_context_t *context, unsigned int *count_p)
{
    na_return_t ret;

    if (!context)
        return HG_INVALID_ARG;
    if (out_of_receives(context))
        refill(context);
    ret = na_progress_poll(hg_context_na(context)->progress);
    if (ret == NA_SUCCESS && count_p)
        *count_p = base_completion_count(&context->bulk.completions);
    return (hg_return_t) ret;
}

hg_return_t
HG_Event_trigger(
    hg_context_t *context, unsigned int max_count, unsigned int *actual_count_p)
{
    uint32_t count;

    if (!context)
        return HG_INVALID_ARG;
    count = base_completion_trigger(&context->bulk.completions, 0, max_count);
    if (actual_count_p)
        *actual_count_p = count;
    return HG_SUCCESS;
}

hg_return_t
HG_Cancel(hg_handle_t handle)
{
    struct na_progress *progress;

    if (!handle)
        return HG_INVALID_ARG;
    progress = hg_context_na(handle->context)->progress;
    na_progress_acquire(progress);
    hg_handle_end(handle);
    na_progress_release(progress);
    return HG_SUCCESS;
}
