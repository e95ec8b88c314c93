/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts, and the results that wait for their polls. */
#ifndef UCX_CONTEXT_H
#define UCX_CONTEXT_H

#include "ucx.h"
#include "wait.h"

int32_t ucx_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p);
void ucx_ctx_destroy(na_plugin_ctx *ctx);

/* An operation has ended, and op->result says how. [lock] */
static inline void
ucx_ctx_ready(struct ucx_op *op)
{
    na_plugin_ctx *ctx = op->ctx;

    ucx_op_set(op, UCX_OP_READY);
    ucx_list_append(&ctx->ready, &op->link);
    ctx->ready_count++;
    if (__builtin_expect(ctx->armed, 0))
        ucx_wait_rouse(ctx);
}

/* The same with nothing to report but the status. [lock] */
static inline void
ucx_ctx_finish(struct ucx_op *op, int32_t status)
{
    op->result = (na_plugin_event){
        .op = ucx_op_name(op->ctx->cls, op), .status = status};
    ucx_ctx_ready(op);
}

#endif /* UCX_CONTEXT_H */
