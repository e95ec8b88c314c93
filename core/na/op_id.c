/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating, completing and destroying operations of the NA interface. */
#include "na/op_id.h"

#include "na.h"
#include "na/addr.h"
#include "na/call.h"
#include "na/context.h"
#include "na/progress.h"
#include "na/violation.h"

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
    base_lock_acquire(&na_class->ops_lock);
    LIST_INSERT_HEAD(&na_class->op_ids, op_id, next);
    base_lock_release(&na_class->ops_lock);
    return op_id;
}

/* Frees an op_id that is not on the class's list any more. */
static void
op_id_release(struct na_op_id *op_id)
{
    struct na_class *na_class = op_id->na_class;

    if (op_id->free_buffer)
        na_class->ops.buf_free(na_class->plugin_class,
            (void *) (uintptr_t) op_id->buffer, op_id->buffer_data);
    free(op_id);
}

static void
op_id_free(struct na_op_id *op_id)
{
    base_lock_acquire(&op_id->na_class->ops_lock);
    LIST_REMOVE(op_id, next);
    base_lock_release(&op_id->na_class->ops_lock);
    op_id_release(op_id);
}

void
NA_Op_destroy(na_class_t *na_class, na_op_id_t *op_id)
{
    int pending = NA_OP_PENDING;

    if (!op_id)
        return;
    /* Acquire and release pair with those in finish: the second one frees. */
    if (atomic_compare_exchange_strong_explicit(&op_id->state, &pending,
            NA_OP_DESTROYED, memory_order_acq_rel, memory_order_acquire)) {
        LOG_WARNING(NA, "operation destroyed while pending: freed when it "
                        "completes, or with its context");
        return;
    }
    if (op_id->orphan_of) {
        /* The plugin may still write to it. */
        atomic_store_explicit(
            &op_id->state, NA_OP_DESTROYED, memory_order_relaxed);
        return;
    }
    op_id_free(op_id);
}

na_return_t
na_op_id_begin(struct na_op_id *op_id, struct na_context *context,
    na_cb_type_t type, na_cb_t callback, void *arg)
{
    int idle = NA_OP_IDLE;

    if (op_id->na_class != context->na_class)
        return NA_INVALID_ARG;
    if (na_context_is_dead(context) || op_id->orphan_of)
        return NA_IO_ERROR;
    /* Acquire pairs with the release in finish. */
    if (!atomic_compare_exchange_strong_explicit(&op_id->state, &idle,
            NA_OP_PENDING, memory_order_acquire, memory_order_relaxed))
        return NA_BUSY;
    op_id->type = type;
    op_id->callback = callback;
    op_id->arg = arg;
    atomic_store_explicit(&op_id->reported, false, memory_order_relaxed);
    /* Release pairs with the acquire in na_op_ids_fail. */
    atomic_store_explicit(&op_id->context, context, memory_order_release);
    atomic_fetch_add_explicit(&context->pending, 1, memory_order_relaxed);
    return NA_SUCCESS;
}

na_return_t
na_op_id_begin_message(struct na_op_id *op_id, struct na_context *context,
    na_cb_type_t type, na_cb_t callback, void *arg, const void *buffer,
    uint64_t room)
{
    na_return_t ret = na_op_id_begin(op_id, context, type, callback, arg);

    if (ret == NA_SUCCESS) {
        op_id->buffer = buffer;
        op_id->room = room;
    }
    return ret;
}

/* The user can reuse the operation from now on, also in its callback. */
static void
finish(struct na_op_id *op_id)
{
    int pending = NA_OP_PENDING;

    atomic_store_explicit(&op_id->context, NULL, memory_order_relaxed);
    /* Release pairs with the acquire in na_op_id_begin; see NA_Op_destroy. */
    if (!atomic_compare_exchange_strong_explicit(&op_id->state, &pending,
            NA_OP_IDLE, memory_order_acq_rel, memory_order_acquire) &&
        !op_id->orphan_of)
        op_id_free(op_id);
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
    struct na_context *context =
        atomic_load_explicit(&op_id->context, memory_order_relaxed);
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
        na_addr_free(na_class, source);
    if (callback)
        callback(&info);
    if (last)
        /* Release pairs with the acquire in NA_Context_destroy. */
        atomic_fetch_sub_explicit(&context->pending, 1, memory_order_release);
}

static void
result_push(struct na_context *context, struct na_op_id *op_id,
    struct na_result *result, const na_plugin_event *event, na_return_t ret)
{
    result->completion.run = result_run;
    result->op_id = op_id;
    result->ret = ret;
    result->event = *event;
    if (ret != NA_SUCCESS && event->source) {
        na_addr_free(context->na_class, event->source);
        result->event.source = NULL;
    }
    base_completion_push(&result->completion, &context->completions);
}

/* Returns true if the completion was queued before. */
static bool
report(struct na_op_id *op_id)
{
    return atomic_exchange_explicit(
        &op_id->reported, true, memory_order_relaxed);
}

static bool
receives(const struct na_op_id *op_id)
{
    return op_id->type == NA_CB_RECV_UNEXPECTED ||
           op_id->type == NA_CB_MULTI_RECV_UNEXPECTED ||
           op_id->type == NA_CB_RECV_EXPECTED;
}

/* Returns the code of an event after checking it. */
static na_return_t
event_code(struct na_op_id *op_id, struct na_context *context,
    const na_plugin_event *event)
{
    na_return_t ret;

    if (!receives(op_id))
        return na_event_code(context, event);
    if (op_id->type == NA_CB_MULTI_RECV_UNEXPECTED)
        return na_event_multi(context, event, op_id->buffer, op_id->room);
    ret = na_event_message(context, event, op_id->room);
    if (ret == NA_SUCCESS && op_id->type == NA_CB_RECV_UNEXPECTED &&
        (!event->source || event->tag > op_id->na_class->opened.max_tag))
        ret = na_event_wrong_origin(context, event);
    return ret;
}

static void
op_id_event(struct na_op *op, const na_plugin_event *event)
{
    struct na_op_id *op_id = op->owner;
    struct na_context *context =
        atomic_load_explicit(&op_id->context, memory_order_relaxed);
    struct na_result *result;
    na_return_t ret;

    if (!context)
        return; /* it is not pending */
    ret = event_code(op_id, context, event);
    if (!(event->flags & NA_PLUGIN_EVENT_MORE) || na_context_is_dead(context)) {
        if (!report(op_id))
            result_push(context, op_id, &op_id->last, event, ret);
        return;
    }
    result = malloc(sizeof *result);
    if (result) {
        result_push(context, op_id, result, event, ret);
        return;
    }
    LOG_ERROR(NA, "out of memory: message of %llu bytes dropped",
        (unsigned long long) event->length);
    if (event->source)
        na_addr_free(op_id->na_class, event->source);
}

na_return_t
na_op_id_submitted(struct na_op_id *op_id, struct na_context *context,
    const char *entry, int32_t code)
{
    na_return_t ret;

    if (code == NA_PLUGIN_PENDING)
        return NA_SUCCESS;
    if (code == NA_PLUGIN_DONE && !receives(op_id)) {
        na_plugin_event event = {.op = op_id->op->part};

        if (!report(op_id))
            result_push(context, op_id, &op_id->last, &event, NA_SUCCESS);
        na_progress_notify(context->progress);
        return NA_SUCCESS;
    }
    ret = na_submission_failed(context, entry, code);
    if (report(op_id))
        return NA_SUCCESS; /* its callback reports the dead context */
    atomic_fetch_sub_explicit(&context->pending, 1, memory_order_relaxed);
    finish(op_id);
    return ret;
}

void
na_op_ids_fail(struct na_context *context)
{
    struct na_class *na_class = context->na_class;
    struct na_op_id *op_id;

    base_lock_acquire(&na_class->ops_lock);
    LIST_FOREACH (op_id, &na_class->op_ids, next) {
        na_plugin_event event = {.op = op_id->op->part};

        /* Acquire pairs with the release in na_op_id_begin. */
        if (atomic_load_explicit(&op_id->context, memory_order_acquire) !=
                context ||
            report(op_id))
            continue;
        op_id->orphan_of = context;
        result_push(context, op_id, &op_id->last, &event, NA_IO_ERROR);
    }
    base_lock_release(&na_class->ops_lock);
}

/* Returns whether an op_id was destroyed while the plugin uses it. Called under
 * ops_lock. */
static bool
is_kept(const struct na_op_id *op_id)
{
    return atomic_load_explicit(&op_id->state, memory_order_acquire) ==
               NA_OP_DESTROYED &&
           (op_id->orphan_of ||
               atomic_load_explicit(&op_id->context, memory_order_acquire));
}

bool
na_op_ids_keep_buffer(
    struct na_class *na_class, const void *buffer, void *buffer_data)
{
    struct na_op_id *op_id;

    base_lock_acquire(&na_class->ops_lock);
    LIST_FOREACH (op_id, &na_class->op_ids, next)
        if (op_id->buffer == buffer && is_kept(op_id)) {
            op_id->buffer_data = buffer_data;
            op_id->free_buffer = true;
            break;
        }
    base_lock_release(&na_class->ops_lock);
    return op_id;
}

uint32_t
na_op_ids_destroyed(struct na_context *context)
{
    struct na_class *na_class = context->na_class;
    struct na_op_id *op_id;
    uint32_t count = 0;

    base_lock_acquire(&na_class->ops_lock);
    LIST_FOREACH (op_id, &na_class->op_ids, next)
        if (is_kept(op_id) &&
            atomic_load_explicit(&op_id->context, memory_order_relaxed) ==
                context &&
            !atomic_load_explicit(&op_id->reported, memory_order_relaxed))
            count++;
    base_lock_release(&na_class->ops_lock);
    return count;
}

void
na_op_ids_free_destroyed(struct na_context *context)
{
    struct na_class *na_class = context->na_class;
    struct na_op_id *op_id, *next;
    LIST_HEAD(, na_op_id) kept = LIST_HEAD_INITIALIZER(kept);

    base_lock_acquire(&na_class->ops_lock);
    for (op_id = LIST_FIRST(&na_class->op_ids); op_id; op_id = next) {
        next = LIST_NEXT(op_id, next);
        if (op_id->orphan_of != context && atomic_load_explicit(&op_id->context,
                                               memory_order_relaxed) != context)
            continue;
        if (is_kept(op_id)) {
            LIST_REMOVE(op_id, next);
            LIST_INSERT_HEAD(&kept, op_id, next);
        }
        op_id->orphan_of = NULL;
    }
    base_lock_release(&na_class->ops_lock);
    for (op_id = LIST_FIRST(&kept); op_id; op_id = next) {
        next = LIST_NEXT(op_id, next);
        op_id_release(op_id);
    }
}
