/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of a context: operations that have ended, puts and gets for polls. */
#include "context.h"

void
sm_ctx_wake(na_plugin_ctx *ctx)
{
    if (atomic_load_explicit(&ctx->armed, memory_order_relaxed))
        tp_wake_set(&ctx->wake);
}

void
sm_ctx_queue(na_plugin_ctx *ctx, struct sm_op *op)
{
    op->ctx = ctx;
    sm_op_set(op, SM_OP_POSTED);
    tp_list_append(&ctx->rma, &op->recv.keyed.link);
    sm_pending_add(ctx->cls);
    sm_ctx_wake(ctx);
}

void
sm_ctx_ready(na_plugin_ctx *ctx, struct sm_op *op)
{
    sm_op_set(op, SM_OP_READY);
    tp_list_append(&ctx->ready, &op->recv.keyed.link);
    atomic_fetch_add_explicit(&ctx->pending, 1, memory_order_relaxed);
    sm_ctx_wake(ctx);
}

void
sm_ctx_finish(struct sm_op *op, int32_t status)
{
    na_plugin_ctx *ctx = op->ctx;

    tp_lock_take(&ctx->lock);
    op->result = (na_plugin_event){.op = op, .status = status};
    sm_ctx_ready(ctx, op);
    tp_lock_drop(&ctx->lock);
}

void
sm_ctx_finish_all(struct tp_list *list, int32_t status)
{
    struct tp_link *link;

    while ((link = tp_list_pop(list)) != NULL)
        sm_ctx_finish(sm_op_of(link), status);
}

void
sm_ctx_remove_ops(const na_plugin_ctx *ctx, struct tp_list *list)
{
    struct tp_link *next;

    for (struct tp_link *link = list->head; link != NULL; link = next) {
        next = link->next;
        if (sm_op_of(link)->ctx == ctx)
            tp_list_remove(list, link);
    }
}

uint32_t
sm_ctx_take_ready(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    uint32_t count = 0;

    tp_lock_take(&ctx->lock);
    while (count < max && ctx->ready.head != NULL) {
        struct sm_op *op = sm_op_of(ctx->ready.head);
        tp_list_drop_head(&ctx->ready);
        events[count++] = op->result;
        sm_op_set(op, SM_OP_IDLE);
    }
    atomic_fetch_sub_explicit(&ctx->pending, count, memory_order_relaxed);
    tp_lock_drop(&ctx->lock);
    return count;
}
