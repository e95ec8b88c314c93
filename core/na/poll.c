/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress, trigger and cancel of the NA interface. */
#include "na.h"

#include "na/context.h"
#include "na/op_id.h"
#include "na/progress.h"

static bool
valid(const na_class_t *na_class, const na_context_t *context)
{
    return na_class && context && context->na_class == na_class;
}

int
NA_Poll_get_fd(na_class_t *na_class, na_context_t *context)
{
    return valid(na_class, context) ? na_progress_fd(context->progress) : -1;
}

bool
NA_Poll_try_wait(na_class_t *na_class, na_context_t *context)
{
    return valid(na_class, context) && na_progress_try_wait(context->progress);
}

na_return_t
NA_Poll(na_class_t *na_class, na_context_t *context, unsigned int *count_p)
{
    na_return_t ret;

    if (!valid(na_class, context))
        return NA_INVALID_ARG;
    ret = na_progress_poll(context->progress);
    if (ret == NA_SUCCESS && count_p)
        *count_p = base_completion_count(&context->completions);
    return ret;
}

na_return_t
NA_Poll_wait(na_class_t *na_class, na_context_t *context,
    unsigned int timeout_ms, unsigned *count_p)
{
    na_return_t ret;

    if (!valid(na_class, context))
        return NA_INVALID_ARG;
    ret = na_progress_wait(context->progress, timeout_ms);
    if (ret == NA_SUCCESS && count_p)
        *count_p = base_completion_count(&context->completions);
    return ret;
}

na_return_t
NA_Progress(
    na_class_t *na_class, na_context_t *context, unsigned int timeout_ms)
{
    return NA_Poll_wait(na_class, context, timeout_ms, NULL);
}

na_return_t
NA_Trigger(
    na_context_t *context, unsigned int max_count, unsigned int *actual_count)
{
    uint32_t count;

    if (!context)
        return NA_INVALID_ARG;
    count = base_completion_trigger(&context->completions, 0, max_count);
    if (actual_count)
        *actual_count = count;
    return NA_SUCCESS;
}

na_return_t
NA_Cancel(na_class_t *na_class, na_context_t *context, na_op_id_t *op_id)
{
    if (!valid(na_class, context) || !op_id)
        return NA_INVALID_ARG;
    /* Acquire pairs with the release in finish (op_id.c). */
    if (atomic_load_explicit(&op_id->state, memory_order_acquire) !=
        NA_OP_PENDING)
        return NA_SUCCESS;
    return na_progress_cancel(context->progress, context, op_id->op);
}
