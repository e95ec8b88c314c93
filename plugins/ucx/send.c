/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending. A message goes out at once, or as a copy that UCX keeps; when the
 * peer has no room, or UCX has too much already, the operation waits. */
#include <inttypes.h>
#include <string.h>

#include "address.h"
#include "conn.h"
#include "context.h"
#include "parcel.h"
#include "self.h"
#include "send.h"

#define PARCEL_BYTES (1U << 20) /* of a connection that UCX is sending */

int32_t
ucx_send_conn(
    na_plugin_class *cls, na_plugin_addr *addr, struct ucx_conn **conn_p)
{
    struct ucx_conn *conn = addr->peer != NULL ? addr->peer->main : NULL;

    if (conn == NULL)
        conn = addr->call;
    if (conn != NULL && conn->failed) {
        /* its end, and what depends on it, before the successor's beginning */
        ucx_conn_work(cls);
        conn = addr->peer != NULL ? addr->peer->main : NULL;
        if (conn == NULL)
            conn = addr->call;
    }
    if (conn == NULL && addr->where_length == 0) {
        UCX_LOG(cls->host, INFO, "a peer that does not listen is gone");
        return NA_PLUGIN_E_HOSTUNREACH;
    }
    if (conn == NULL)
        return ucx_conn_call(cls, addr, conn_p);
    *conn_p = conn;
    return NA_PLUGIN_OK;
}

/* Whether a message may go out by a connection now. */
static inline bool
has_room(const struct ucx_conn *conn, uint64_t length, bool unexpected)
{
    if (conn->state != UCX_CONN_UP || conn->failed ||
        conn->parcel_bytes >= PARCEL_BYTES)
        return false;
    return !unexpected || conn->used == 0 ||
           conn->used + ucx_cost(length) <= conn->window;
}

/* Sends a message that there is room for. NOMEM. */
static inline int32_t
go(struct ucx_conn *conn, const void *buffer, uint32_t length, uint32_t from,
    uint32_t to, uint32_t tag, bool unexpected)
{
    union ucx_header header = {
        .head = {.token = conn->peer_token,
            .tag = tag,
            .kind = unexpected ? UCX_UNEXPECTED : UCX_EXPECTED,
            .from = (uint8_t) from,
            .to = (uint8_t) to}};
    na_plugin_class *cls = conn->cls;
    int32_t ret = NA_PLUGIN_E_AGAIN;

    if (conn->parcels.head == NULL)
        ret =
            ucx_parcel_now(conn, &header, sizeof(header.head), buffer, length);
    if (ret == NA_PLUGIN_E_AGAIN) {
        ret =
            ucx_parcel_post(conn, &header, sizeof(header.head), buffer, length);
        ucx_count(&cls->counters.copied, 1);
    }
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (unexpected)
        conn->used += ucx_cost(length);
    conn->unheard = true;
    ucx_count(&cls->counters.sent, 1);
    return NA_PLUGIN_OK;
}

static void
enqueue(na_plugin_ctx *ctx, struct ucx_conn *conn, struct ucx_op *op)
{
    na_plugin_class *cls = ctx->cls;

    op->ctx = ctx;
    op->conn = conn;
    op->deadline_ns = cls->send_ns == 0
                          ? UINT64_MAX
                          : ucx_deadline(cls, ucx_now() + cls->send_ns);
    ucx_op_set(op, UCX_OP_POSTED);
    ucx_list_append(&conn->queue, &op->link);
    cls->stirred = true;
    if (conn->state == UCX_CONN_UP)
        ucx_count(&cls->counters.stalls, 1);
}

void
ucx_send_withdraw(struct ucx_op *op)
{
    ucx_list_remove(&op->conn->queue, &op->link);
}

void
ucx_send_drain(struct ucx_conn *conn)
{
    struct ucx_link *link;

    while ((link = conn->queue.head) != NULL) {
        struct ucx_op *op = (struct ucx_op *) link;
        bool unexpected = op->unexpected;
        if (!has_room(conn, op->length, unexpected))
            return;
        ucx_send_withdraw(op);
        ucx_ctx_finish(op, go(conn, op->buffer, (uint32_t) op->length,
                               op->ctx->id, op->peer_ctx, op->tag, unexpected));
    }
}

void
ucx_send_move(na_plugin_class *cls, struct ucx_conn *from, struct ucx_conn *to)
{
    struct ucx_link *link;

    while ((link = ucx_list_pop(&from->queue)) != NULL) {
        ((struct ucx_op *) link)->conn = to;
        ucx_list_append(&to->queue, link);
    }
    /* what has been begun stays where its answers come */
    struct ucx_link *next;
    for (link = from->rma.head; link != NULL; link = next) {
        struct ucx_op *op = (struct ucx_op *) link;
        next = link->next;
        if (op->rma.asked != 0)
            continue;
        ucx_list_remove(&from->rma, link);
        op->conn = to;
        ucx_list_append(&to->rma, link);
    }
    ucx_conn_touch(to);
}

uint64_t
ucx_send_expire(na_plugin_class *cls, struct ucx_conn *conn)
{
    struct ucx_link *link;

    while ((link = conn->queue.head) != NULL) {
        struct ucx_op *op = (struct ucx_op *) link;
        if (op->deadline_ns > cls->now_ns)
            return op->deadline_ns;
        ucx_send_withdraw(op);
        UCX_LOG(cls->host, WARNING,
            "a send to %s has waited for room for %" PRIu64 " s",
            conn->peer_name, cls->send_ns / 1000000000);
        ucx_ctx_finish(op, NA_PLUGIN_E_TIMEOUT);
    }
    return UINT64_MAX;
}

/* A send that cannot be. */
static __attribute__((noinline)) int32_t
refuse_send(na_plugin_class *cls, uint64_t length, uint32_t longest,
    uint32_t peer_ctx, uint64_t tag)
{
    if (length > longest) {
        UCX_LOG(cls->host, ERROR,
            "message of %" PRIu64 " bytes; the longest is %" PRIu32, length,
            longest);
        return NA_PLUGIN_E_MSGSIZE;
    }
    UCX_LOG(cls->host, ERROR,
        "message with tag %" PRIu64 " to context %" PRIu32
        "; the highest are %u and %u",
        tag, peer_ctx, UCX_TAG_MAX, UCX_CONTEXTS - 1);
    return NA_PLUGIN_E_INVALID_ARG;
}

static int32_t
submit(na_plugin_ctx *ctx, struct ucx_op *op, const void *buffer,
    uint32_t length, na_plugin_addr *addr, uint32_t to, uint32_t tag,
    bool unexpected)
{
    struct ucx_conn *conn;

    if (addr == ctx->cls->self)
        return ucx_self_send(ctx, op, buffer, length, to, tag, unexpected);
    int32_t ret = ucx_send_conn(ctx->cls, addr, &conn);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (conn->queue.head == NULL && has_room(conn, length, unexpected)) {
        ret = go(conn, buffer, length, ctx->id, to, tag, unexpected);
        return ret == NA_PLUGIN_OK ? NA_PLUGIN_DONE : ret;
    }
    op->kind = UCX_OP_SEND;
    op->unexpected = unexpected;
    op->buffer = (void *) (uintptr_t) buffer;
    op->length = length;
    op->peer_ctx = (uint8_t) to;
    op->tag = tag;
    enqueue(ctx, conn, op);
    return NA_PLUGIN_PENDING;
}

static inline int32_t
send_message(na_plugin_ctx *ctx, void *op, const void *buffer, uint64_t length,
    uint32_t longest, na_plugin_addr *addr, uint32_t to, uint64_t tag,
    uint32_t flags, bool unexpected)
{
    na_plugin_class *cls = ctx->cls;

    if (__builtin_expect(
            length > longest || to >= UCX_CONTEXTS || tag > UCX_TAG_MAX, 0))
        return refuse_send(cls, length, longest, to, tag);
    ucx_lock_take(&cls->lock);
    int32_t ret = submit(ctx, ucx_op_of(cls, op), buffer, (uint32_t) length,
        addr, to, (uint32_t) tag, unexpected);
    ucx_wait_settle(cls);
    ucx_lock_drop(&cls->lock);
    return ret;
}

int32_t
ucx_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    return send_message(ctx, op, buffer, length, ctx->cls->max_unexpected, peer,
        peer_ctx, tag, flags, true);
}

int32_t
ucx_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    return send_message(ctx, op, buffer, length, ctx->cls->max_expected, peer,
        peer_ctx, tag, flags, false);
}
