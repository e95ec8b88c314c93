/* SPDX-License-Identifier: BSD-3-Clause */
/* Submitting messages: checked, then by a connection, or within this class. */
#include "message.h"
#include "recv.h"
#include "send.h"
#include "wait.h"
#include "work.h"

static inline int32_t
send_message(na_plugin_ctx *ctx, void *name, const void *buffer,
    uint64_t length, uint32_t longest, na_plugin_addr *addr, uint32_t to,
    uint64_t tag, bool unexpected)
{
    na_plugin_class *cls = ctx->cls;
    struct ucx_op *op = ucx_op_of(cls, name);
    struct ucx_conn *conn;
    int32_t ret;

    if (__builtin_expect(
            length > longest || to >= UCX_CONTEXTS || tag > UCX_TAG_MAX, 0))
        return tp_match_refuse(
            cls->host, length, longest, to, UCX_CONTEXTS, tag);
    tp_mutex_take(&cls->lock);
    if (addr == cls->self) {
        ret = ucx_recv_self(
            ctx, op, buffer, (uint32_t) length, to, (uint32_t) tag, unexpected);
    } else {
        ret = ucx_work_route(cls, addr, &conn);
        if (ret == NA_PLUGIN_OK)
            ret = ucx_send_submit(ctx, op, conn, buffer, (uint32_t) length, to,
                (uint32_t) tag, unexpected);
    }
    ucx_wait_settle(cls);
    tp_mutex_drop(&cls->lock);
    return ret;
}

#define SEND(name, longest, unexpected)                                        \
    int32_t name(na_plugin_ctx *ctx, void *op, const void *buffer,             \
        uint64_t length, void *buffer_data, na_plugin_addr *peer,              \
        uint32_t peer_ctx, uint64_t tag, uint32_t flags)                       \
    {                                                                          \
        return send_message(ctx, op, buffer, length, ctx->cls->longest, peer,  \
            peer_ctx, tag, unexpected);                                        \
    }

SEND(ucx_send_unexpected, max_unexpected, true)
SEND(ucx_send_expected, max_expected, false)

/* Posts a receive. [lock] */
static inline int32_t
post(na_plugin_ctx *ctx, struct ucx_op *op, enum ucx_kind kind, void *buffer,
    uint64_t length)
{
    if (!ucx_op_post(ctx, op, kind))
        return NA_PLUGIN_E_NOMEM;
    op->recv.buffer = buffer;
    op->recv.length = length;
    ucx_recv_post(op);
    return NA_PLUGIN_PENDING;
}

int32_t
ucx_recv_unexpected(na_plugin_ctx *ctx, void *name, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags)
{
    na_plugin_class *cls = ctx->cls;

    tp_mutex_take(&cls->lock);
    int32_t ret =
        post(ctx, ucx_op_of(cls, name), UCX_OP_RECV_UNEXPECTED, buffer, length);
    ucx_wait_settle(cls);
    tp_mutex_drop(&cls->lock);
    return ret;
}

int32_t
ucx_recv_expected(na_plugin_ctx *ctx, void *name, void *buffer, uint64_t length,
    void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t flags)
{
    na_plugin_class *cls = ctx->cls;
    struct ucx_op *op = ucx_op_of(cls, name);
    struct ucx_conn *conn;

    if (__builtin_expect(peer_ctx >= UCX_CONTEXTS || tag > UCX_TAG_MAX, 0))
        return tp_match_refuse(cls->host, 0, 0, peer_ctx, UCX_CONTEXTS, tag);
    tp_mutex_take(&cls->lock);
    /* only a connection tells whether the peer lives */
    int32_t ret =
        peer == cls->self ? NA_PLUGIN_OK : ucx_work_route(cls, peer, &conn);
    if (ret == NA_PLUGIN_OK) {
        op->recv.keyed.owner =
            peer->peer != NULL ? (const void *) peer->peer : peer;
        op->recv.keyed.key = tp_match_key(peer_ctx, (uint32_t) tag);
        ret = post(ctx, op, UCX_OP_RECV_EXPECTED, buffer, length);
    }
    ucx_wait_settle(cls);
    tp_mutex_drop(&cls->lock);
    return ret;
}
