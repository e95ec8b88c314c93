/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating and destroying contexts. */
#include "na/context.h"

#include "na.h"
#include "na/op.h"
#include "na/op_id.h"
#include "na/progress.h"
#include "na/violation.h"

#include "base/log.h"

#include <fcntl.h>
#include <stdlib.h>

na_context_t *
NA_Context_create(na_class_t *na_class)
{
    return NA_Context_create_id(na_class, 0);
}

/* Gets the descriptor to wait on; false: the plugin returned an invalid one. */
static bool
find_wait_fd(struct na_context *context)
{
    const struct na_class *na_class = context->na_class;

    context->wait_fd = -1;
    if (!na_class->wait)
        return true;
    context->wait_fd = na_class->wait->fd(context->plugin_ctx);
    if (context->wait_fd >= 0 && fcntl(context->wait_fd, F_GETFD) >= 0)
        return true;
    na_violation(na_class,
        "fd of " NA_PLUGIN_WAIT_ID
        " returned %d, which is not an open descriptor",
        context->wait_fd);
    return false;
}

/* Called under the setup lock. */
static na_return_t
context_open(struct na_context *context)
{
    struct na_class *na_class = context->na_class;
    int32_t code = na_class->ops.ctx_create(
        na_class->plugin_class, context->id, context, &context->plugin_ctx);

    if (code != NA_PLUGIN_OK)
        return na_result(na_class, "ctx_create", code);
    if (!context->plugin_ctx) {
        na_violation(na_class, "ctx_create returned OK and no context");
        return NA_PROTOCOL_ERROR;
    }
    if (!find_wait_fd(context)) {
        na_class->ops.ctx_destroy(context->plugin_ctx);
        return NA_PROTOCOL_ERROR;
    }
    atomic_fetch_add_explicit(
        &na_class->context_count, 1, memory_order_relaxed);
    return NA_SUCCESS;
}

na_context_t *
NA_Context_create_id(na_class_t *na_class, uint8_t id)
{
    struct na_context *context;
    na_return_t ret;

    if (!na_class) {
        LOG_ERROR(NA, "no class");
        return NULL;
    }
    if (id >= na_class->max_contexts) {
        LOG_ERROR(NA, "context %u of %s+%s: max_contexts is %u", id,
            na_class->plugin->name, na_class->protocol, na_class->max_contexts);
        return NULL;
    }
    context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    context->na_class = na_class;
    context->id = id;
    atomic_init(&context->ops, &na_class->ops);
    atomic_init(&context->dead, NA_SUCCESS);
    atomic_init(&context->pending, 0);
    base_completion_queue_init(&context->completions, na_class->single_context);
    context->fail = na_op_ids_fail;
    context->own_progress = calloc(1, sizeof *context->own_progress);
    if (!context->own_progress)
        goto free_context;
    context->progress = context->own_progress;
    ret = na_progress_init(context->progress, context, &context->completions);
    if (ret != NA_SUCCESS)
        goto free_progress;
    base_lock_acquire(&na_class->setup_lock);
    ret = context_open(context);
    base_lock_release(&na_class->setup_lock);
    if (ret != NA_SUCCESS)
        goto finish_progress;
    return context;

finish_progress:
    na_progress_finish(context->progress);
free_progress:
    free(context->own_progress);
free_context:
    free(context);
    return NULL;
}

na_return_t
NA_Context_destroy(na_class_t *na_class, na_context_t *context)
{
    uint32_t pending, untriggered;

    if (!context)
        return NA_SUCCESS;
    if (!na_class || context->na_class != na_class)
        return NA_INVALID_ARG;
    /* Acquire pairs with the release in result_run. */
    pending = atomic_load_explicit(&context->pending, memory_order_acquire) -
              na_op_ids_destroyed(context);
    untriggered = base_completion_count(&context->completions);
    if (pending > 0 || untriggered > 0) {
        LOG_ERROR(NA,
            "context %u of %s+%s still has %u operations, %u of them complete "
            "and not triggered",
            context->id, na_class->plugin->name, na_class->protocol, pending,
            untriggered);
        return NA_BUSY;
    }
    base_lock_acquire(&na_class->setup_lock);
    na_class->ops.ctx_destroy(context->plugin_ctx);
    base_lock_release(&na_class->setup_lock);
    na_op_ids_free_destroyed(context);
    na_progress_finish(context->own_progress);
    free(context->own_progress);
    free(context);
    atomic_fetch_sub_explicit(
        &na_class->context_count, 1, memory_order_relaxed);
    return NA_SUCCESS;
}

unsigned int
NA_Context_get_completion_count(const na_context_t *context)
{
    return context ? base_completion_count(&context->completions) : 0;
}
