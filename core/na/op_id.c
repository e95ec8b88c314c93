/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of an operation of the NA interface. */
#include "na/op_id.h"

#include "na.h"
#include "na/addr.h"
#include "na/context.h"

#include "base/log.h"

#include <stdlib.h>

static void op_id_event(struct na_op *op, const na_plugin_event *event);

na_op_id_t *
NA_Op_create(na_class_t *na_class, unsigned long flags)
{
    size_t size = sizeof(struct na_op_id), offset;
    struct na_op_id *op_id;

    if (!na_class || flags & ~(unsigned long) NA_OP_MULTI)
        return NULL;
    offset = na_op_layout(na_class, &size);
    op_id = na_op_block_alloc(size);
    if (!op_id)
        return NULL;
    op_id->na_class = na_class;
    op_id->multi = flags & NA_OP_MULTI;
    atomic_init(&op_id->state, NA_OP_IDLE);
    op_id->op = (struct na_op *) ((char *) op_id + offset);
    op_id->op->complete = op_id_event;
    op_id->op->owner = op_id;
    return op_id;
}

void
NA_Op_destroy(na_class_t *na_class, na_op_id_t *op_id)
{
    int pending = NA_OP_PENDING;

    if (!op_id)
        return;
    /* Acquire and release pair with those in finish: who comes second frees. */
    if (atomic_compare_exchange_strong_explicit(&op_id->state, &pending,
            NA_OP_DESTROYED, memory_order_acq_rel, memory_order_acquire)) {
        LOG_ERROR(NA, "operation destroyed while pending: it is freed when "
                      "it has ended");
        return;
    }
    free(op_id);
}

na_return_t
na_op_id_begin(struct na_op_id *op_id, struct na_context *context,
    na_cb_type_t type, na_cb_t callback, void *arg)
{
    int idle = NA_OP_IDLE;

    if (op_id->na_class != context->na_class)
        return NA_INVALID_ARG;
    /* Acquire pairs with the release in finish. */
    if (!atomic_compare_exchange_strong_explicit(&op_id->state, &idle,
            NA_OP_PENDING, memory_order_acquire, memory_order_relaxed))
        return NA_BUSY;
    op_id->context = context;
    op_id->type = type;
    op_id->callback = callback;
    op_id->arg = arg;
    atomic_fetch_add_explicit(&context->pending, 1, memory_order_relaxed);
    return NA_SUCCESS;
}

/* The operation is the user's again, also inside its callback. */
static void
finish(struct na_op_id *op_id)
{
    int pending = NA_OP_PENDING;

    /* Release pairs with the acquire in na_op_id_begin; see NA_Op_destroy. */
    if (!atomic_compare_exchange_strong_explicit(&op_id->state, &pending,
            NA_OP_IDLE, memory_order_acq_rel, memory_order_acquire))
        free(op_id);
}

static void
fill_message_info(
    struct na_cb_info *info, const struct na_result *result, bool last)
{
    const na_plugin_event *event = &result->event;

    switch (info->type) {
    case NA_CB_RECV_UNEXPECTED:
        info->info.recv_unexpected = (struct na_cb_info_recv_unexpected){
            .actual_buf_size = event->length,
            .source = na_addr_public(event->source),
            .tag = (na_tag_t) event->tag};
        break;
    case NA_CB_MULTI_RECV_UNEXPECTED:
        info->info.multi_recv_unexpected =
            (struct na_cb_info_multi_recv_unexpected){
                .actual_buf_size = event->length,
                .source = na_addr_public(event->source),
                .tag = (na_tag_t) event->tag,
                .actual_buf = event->buffer,
                .last = last};
        break;
    case NA_CB_RECV_EXPECTED:
        info->info.recv_expected.actual_buf_size = event->length;
        break;
    default:
        break;
    }
}

static void
result_run(struct base_completion *completion)
{
    struct na_result *result = (struct na_result *) completion;
    struct na_op_id *op_id = result->op_id;
    struct na_class *na_class = op_id->na_class;
    struct na_context *context = op_id->context;
    na_plugin_addr *source = result->event.source;
    bool last = result == &op_id->last;
    na_cb_t callback = op_id->callback;
    struct na_cb_info info = {
        .arg = op_id->arg, .type = op_id->type, .ret = result->ret};

    fill_message_info(&info, result, last);
    if (last)
        finish(op_id);
    else
        free(result);
    if (source && callback)
        na_addr_given(na_class);
    else if (source)
        na_class->ops.addr_free(na_class->plugin_class, source);
    if (callback)
        callback(&info);
    if (last)
        /* Release pairs with the acquire in NA_Context_destroy. */
        atomic_fetch_sub_explicit(&context->pending, 1, memory_order_release);
}

static void
result_push(struct na_op_id *op_id, struct na_result *result,
    const na_plugin_event *event)
{
    result->completion.run = result_run;
    result->op_id = op_id;
    result->ret = na_code(event->status);
    result->event = *event;
    base_completion_push(&op_id->context->completions, &result->completion);
}

static void
op_id_event(struct na_op *op, const na_plugin_event *event)
{
    struct na_op_id *op_id = op->owner;
    struct na_result *result;

    if (!(event->flags & NA_PLUGIN_EVENT_MORE)) {
        result_push(op_id, &op_id->last, event);
        return;
    }
    result = malloc(sizeof *result);
    if (result) {
        result_push(op_id, result, event);
        return;
    }
    LOG_ERROR(NA, "out of memory: a message of %llu bytes is lost",
        (unsigned long long) event->length);
    if (event->source)
        op_id->na_class->ops.addr_free(
            op_id->na_class->plugin_class, event->source);
}

na_return_t
na_op_id_submitted(
    struct na_op_id *op_id, struct na_context *context, int32_t code)
{
    if (code == NA_PLUGIN_PENDING)
        return NA_SUCCESS;
    if (code == NA_PLUGIN_DONE) {
        na_plugin_event event = {.op = na_op_part(op_id->op)};

        result_push(op_id, &op_id->last, &event);
        na_progress_notify(context->progress);
        return NA_SUCCESS;
    }
    atomic_fetch_sub_explicit(&context->pending, 1, memory_order_relaxed);
    finish(op_id);
    return na_code(code);
}
