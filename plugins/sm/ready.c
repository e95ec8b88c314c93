/* SPDX-License-Identifier: BSD-3-Clause */
/* The ready list of a context: operations that have ended. */
#include "ready.h"
#include "wake.h"

void
sm_ctx_ready(na_plugin_ctx *ctx, struct sm_op *op)
{
    sm_op_set(op, SM_OP_READY);
    sm_list_append(&ctx->ready, &op->link);
    atomic_fetch_add_explicit(&ctx->notices, 1, memory_order_relaxed);
    sm_wake_ctx(ctx);
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
sm_ctx_finish_all(struct sm_list *list, int32_t status)
{
    struct sm_link *link;
    while ((link = sm_list_pop(list)) != NULL)
        sm_ctx_finish((struct sm_op *) link, status);
}

uint32_t
sm_ctx_take_ready(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    uint32_t count = 0;

    tp_lock_take(&ctx->lock);
    while (count < max) {
        struct sm_op *op = (struct sm_op *) sm_list_pop(&ctx->ready);
        if (op == NULL)
            break;
        events[count++] = op->result;
        sm_op_set(op, SM_OP_IDLE);
    }
    atomic_fetch_sub_explicit(&ctx->notices, count, memory_order_relaxed);
    tp_lock_drop(&ctx->lock);
    return count;
}
