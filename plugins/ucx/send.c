/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending. A message goes out at once, or as a copy that UCX keeps; when the
 * peer has no room, or UCX has too much already, the operation waits. */
#include <inttypes.h>

#include "send.h"
#include "tx.h"

#define TX_BYTES (1U << 20) /* of a connection that UCX is sending */

/* Whether a message may go out by a connection now. */
static inline bool
has_room(const struct ucx_conn *conn, uint64_t length, bool unexpected)
{
    if (conn->state != UCX_CONN_UP || conn->failed ||
        conn->tx_bytes >= TX_BYTES)
        return false;
    return !unexpected || conn->used == 0 ||
           conn->used + ucx_cost(length) <= conn->window;
}

/* Sends a message that there is room for. NOMEM. */
static inline int32_t
send_now(struct ucx_conn *conn, const void *buffer, uint32_t length,
    uint32_t from, uint32_t to, uint32_t tag, bool unexpected)
{
    union ucx_header header = {
        .head = {.token = conn->peer_token,
            .tag = tag,
            .kind = unexpected ? UCX_UNEXPECTED : UCX_EXPECTED,
            .from = (uint8_t) from,
            .to = (uint8_t) to}};
    na_plugin_class *cls = conn->cls;
    int32_t ret = NA_PLUGIN_E_AGAIN;

    if (conn->txs.head == NULL)
        ret = ucx_tx_now(conn, &header, sizeof(header.head), buffer, length);
    if (ret == NA_PLUGIN_E_AGAIN) {
        ret = ucx_tx_post(conn, &header, sizeof(header.head), buffer, length);
        tp_count(&cls->counters.copied, 1);
    }
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (unexpected)
        conn->used += ucx_cost(length);
    ucx_conn_sent(conn);
    tp_count(&cls->counters.sent, 1);
    return NA_PLUGIN_OK;
}

/* The operation waits for room. */
static __attribute__((noinline)) int32_t
queue(na_plugin_ctx *ctx, struct ucx_op *op, struct ucx_conn *conn,
    const void *buffer, uint32_t length, uint32_t to, uint32_t tag,
    bool unexpected)
{
    na_plugin_class *cls = ctx->cls;

    if (!ucx_op_post(ctx, op, UCX_OP_SEND))
        return NA_PLUGIN_E_NOMEM;
    op->unexpected = unexpected;
    op->recv.buffer = (void *) (uintptr_t) buffer;
    op->recv.length = length;
    op->peer_ctx = (uint8_t) to;
    op->tag = tag;
    op->conn = conn;
    op->deadline_ns = cls->send_ns == 0
                          ? UINT64_MAX
                          : ucx_deadline(cls, tp_now() + cls->send_ns);
    tp_list_append(&conn->queue, &op->recv.keyed.link);
    cls->wake_due = true;
    if (conn->state == UCX_CONN_UP)
        tp_count(&cls->counters.stalls, 1);
    return NA_PLUGIN_PENDING;
}

int32_t
ucx_send_submit(na_plugin_ctx *ctx, struct ucx_op *op, struct ucx_conn *conn,
    const void *buffer, uint32_t length, uint32_t to, uint32_t tag,
    bool unexpected)
{
    if (__builtin_expect(
            conn->queue.head != NULL || !has_room(conn, length, unexpected), 0))
        return queue(ctx, op, conn, buffer, length, to, tag, unexpected);
    int32_t ret = send_now(conn, buffer, length, ctx->id, to, tag, unexpected);
    return ret == NA_PLUGIN_OK ? NA_PLUGIN_DONE : ret;
}

void
ucx_send_withdraw(struct ucx_op *op)
{
    tp_list_remove(&op->conn->queue, &op->recv.keyed.link);
}

void
ucx_send_drain(struct ucx_conn *conn)
{
    while (conn->queue.head != NULL) {
        struct ucx_op *op = ucx_op_of_link(conn->queue.head);
        bool unexpected = op->unexpected;
        if (!has_room(conn, op->recv.length, unexpected))
            return;
        ucx_send_withdraw(op);
        ucx_op_finish(
            op, send_now(conn, op->recv.buffer, (uint32_t) op->recv.length,
                    op->ctx->id, op->peer_ctx, op->tag, unexpected));
    }
}

void
ucx_send_move(struct ucx_conn *from, struct ucx_conn *to)
{
    struct tp_link *link, *next;

    while ((link = tp_list_pop(&from->queue)) != NULL) {
        ucx_op_of_link(link)->conn = to;
        tp_list_append(&to->queue, link);
    }
    /* what has been begun stays where its answers come */
    for (link = from->rma.head; link != NULL; link = next) {
        struct ucx_op *op = ucx_op_of_link(link);
        next = link->next;
        if (op->rma.asked != 0)
            continue;
        tp_list_remove(&from->rma, link);
        op->conn = to;
        tp_list_append(&to->rma, link);
    }
    ucx_conn_touch(to);
}

void
ucx_send_expire(na_plugin_class *cls, struct ucx_conn *conn)
{
    while (conn->queue.head != NULL) {
        struct ucx_op *op = ucx_op_of_link(conn->queue.head);
        if (op->deadline_ns > cls->now_ns)
            return;
        ucx_send_withdraw(op);
        TP_LOG(cls->host, WARNING,
            "%s: send timed out: no room for %" PRIu64 " s", conn->peer_name,
            cls->send_ns / 1000000000);
        ucx_op_finish(op, NA_PLUGIN_E_TIMEOUT);
    }
}
