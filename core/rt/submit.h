/* SPDX-License-Identifier: BSD-3-Clause */
/* Submissions to a transport: the only callers of a plugin's operations above
 * na. They return the plugin's result: NA_PLUGIN_PENDING, NA_PLUGIN_DONE, or an
 * error for na_submission_failed. [any thread] */
#ifndef RT_SUBMIT_H
#define RT_SUBMIT_H

#include "na/context.h"
#include "na/op.h"

/* The operations of a context. To be read into a variable before the arguments
 * of a submission: the compiler keeps values read before an atomic load in
 * registers, and a submission has none to spare. */
struct rt_endpoint {
    const na_plugin_ops *ops;
    na_plugin_ctx *ctx;
};

static inline struct rt_endpoint
rt_endpoint(const struct na_context *context)
{
    return (struct rt_endpoint){na_context_ops(context), context->plugin_ctx};
}

static inline int32_t
rt_send_unexpected(struct rt_endpoint at, struct na_op *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag)
{
    return at.ops->send_unexpected(
        at.ctx, op->part, buffer, length, buffer_data, peer, peer_ctx, tag, 0);
}

static inline int32_t
rt_recv_unexpected(struct rt_endpoint at, struct na_op *op, void *buffer,
    uint64_t length, void *buffer_data)
{
    return at.ops->recv_unexpected(
        at.ctx, op->part, buffer, length, buffer_data, 0);
}

/* For a class with na.multi_recv/1. The caller checks for a dead context. */
static inline int32_t
rt_recv_multi(const struct na_context *context, struct na_op *op, void *buffer,
    uint64_t length, void *buffer_data)
{
    return context->na_class->multi_recv->recv_multi(
        context->plugin_ctx, op->part, buffer, length, buffer_data, 0);
}

static inline int32_t
rt_send_expected(struct rt_endpoint at, struct na_op *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag)
{
    return at.ops->send_expected(
        at.ctx, op->part, buffer, length, buffer_data, peer, peer_ctx, tag, 0);
}

static inline int32_t
rt_recv_expected(struct rt_endpoint at, struct na_op *op, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag)
{
    return at.ops->recv_expected(
        at.ctx, op->part, buffer, length, buffer_data, peer, peer_ctx, tag, 0);
}

static inline int32_t
rt_put(struct rt_endpoint at, struct na_op *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx)
{
    return at.ops->put(at.ctx, op->part, local, local_offset, remote,
        remote_offset, length, peer, peer_ctx, 0);
}

static inline int32_t
rt_get(struct rt_endpoint at, struct na_op *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx)
{
    return at.ops->get(at.ctx, op->part, local, local_offset, remote,
        remote_offset, length, peer, peer_ctx, 0);
}

/* The progress lock is held. */
static inline void
rt_cancel(const struct na_context *context, struct na_op *op)
{
    na_context_ops(context)->cancel(context->plugin_ctx, op->part);
}

#endif /* RT_SUBMIT_H */
