/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages. Each peer has credit for the unexpected ones that it may have waiting
 * in our queue; what is beyond waits with the sender, who can still cancel it. */
#include <inttypes.h>
#include <stdlib.h>

#include "tcp.h"

/* Gives credit back, in portions. */
static void
credit(struct tcp_conn *conn, uint64_t bytes)
{
    conn->owed += bytes;
    if (conn->owed < conn->cls->window / 2)
        return;
    struct tcp_packet *packet = tcp_packet_new(TCP_CREDIT, 0);
    if (packet == NULL)
        return; /* with the next one */
    packet->frame.tag = (uint32_t) conn->owed;
    conn->taken -= conn->owed;
    conn->owed = 0;
    tcp_packet_move(packet, &conn->out);
    tcp_flush(conn);
}

/* A kept message that has found its receive, or is dropped. */
void
tcp_message_forget(void *arg, struct tp_kept *kept, bool dropped)
{
    na_plugin_class *cls = arg;
    struct tp_keyed *keyed =
        kept->place != 0 ? tp_table_find(&cls->numbers, NULL, kept->place)
                         : NULL;

    if (keyed != NULL)
        credit(TP_OBJECT(keyed, struct tcp_conn, keyed),
            tp_match_cost(kept->length));
    tcp_addr_put(cls, kept->from);
    free(kept);
}

/* Fills a receive; an unexpected one is told from. */
static void
finish(struct tp_recv *recv, const void *data, uint32_t length, uint32_t tag,
    na_plugin_addr *from)
{
    struct tcp_op *op = TP_OBJECT(recv, struct tcp_op, recv);
    na_plugin_addr *source = op->kind == TCP_OP_RECV_UNEXPECTED ? from : NULL;
    na_plugin_event event;

    if (tp_match_fill(recv, data, length, tag, op, source, &event) &&
        source != NULL)
        tp_addr_hold(&source->base, false);
    tp_count(&op->ctx->cls->received, 1);
    tcp_op_report(op, &event);
}

bool
tcp_message_arrived(
    struct tcp_conn *conn, const struct tcp_frame *frame, const void *data)
{
    na_plugin_class *cls = conn->cls;
    na_plugin_ctx *ctx = cls->contexts[frame->to];
    bool unexpected = frame->kind == TCP_UNEXPECTED;
    uint64_t cost = unexpected ? tp_match_cost(frame->length) : 0;
    struct tp_message message = {.owner = conn->peer,
        .key = tp_match_key(frame->from, frame->tag),
        .from = conn->peer,
        .data = data,
        .length = frame->length,
        .tag = frame->tag,
        .place = unexpected ? conn->keyed.key : 0};
    struct tp_recv *recv = NULL;

    if (frame->length >
            (unexpected ? cls->max_unexpected : cls->max_expected) ||
        (unexpected && conn->taken != 0 && conn->taken + cost > cls->window))
        return false;
    conn->taken += cost;
    enum tp_outcome outcome = TP_NO_MEMORY;
    if (ctx != NULL)
        outcome = tp_match_deliver(&ctx->match, &message, unexpected, &recv);
    else
        TP_LOG(cls->host, INFO,
            "message from %s for context %u, which is not "
            "there, dropped",
            conn->peer->name, frame->to);
    if (outcome == TP_KEPT) {
        tp_addr_hold(&conn->peer->base, false);
        return true;
    }
    if (recv != NULL)
        finish(recv, data, frame->length, frame->tag, conn->peer);
    else if (ctx != NULL && unexpected)
        return false; /* no memory: the peer learns that it is lost */
    if (unexpected)
        credit(conn, cost);
    return true;
}

void
tcp_message_release(struct tcp_conn *conn)
{
    while (conn->open && conn->held.head != NULL) {
        struct tcp_packet *packet =
            TP_OBJECT(conn->held.head, struct tcp_packet, link);
        uint64_t cost = tp_match_cost(packet->length);
        if (conn->used != 0 && conn->used + cost > conn->window)
            break;
        conn->used += cost;
        tcp_packet_move(packet, &conn->out);
    }
    tcp_flush(conn);
}

static int32_t
send_message(na_plugin_ctx *ctx, void *arg, enum tcp_kind kind,
    const void *buffer, uint64_t length, na_plugin_addr *peer,
    uint32_t peer_ctx, uint64_t tag)
{
    na_plugin_class *cls = ctx->cls;
    struct tcp_op *op = arg;
    struct tcp_conn *conn;

    if (length >
        (kind == TCP_UNEXPECTED ? cls->max_unexpected : cls->max_expected))
        return NA_PLUGIN_E_MSGSIZE;
    if (tag > UINT32_MAX || peer_ctx >= NA_PLUGIN_CONTEXTS_MAX)
        return NA_PLUGIN_E_INVALID_ARG;
    tp_lock_take(&cls->lock);
    int32_t ret = tcp_conn_get(cls, peer, &conn);
    if (ret == NA_PLUGIN_OK && !tcp_op_begin(op, ctx, TCP_OP_SEND, &conn->ops))
        ret = NA_PLUGIN_E_NOMEM;
    if (ret == NA_PLUGIN_OK) {
        op->conn = conn;
        op->packet = (struct tcp_packet){.op = op,
            .frame = {.length = (uint32_t) length,
                .kind = (uint8_t) kind,
                .to = (uint8_t) peer_ctx,
                .from = (uint8_t) ctx->id,
                .tag = (uint32_t) tag},
            .data = buffer,
            .length = (uint32_t) length};
        tcp_packet_move(
            &op->packet, kind == TCP_UNEXPECTED ? &conn->held : &conn->out);
        tp_count(&cls->sent, 1);
        tcp_message_release(conn);
        ret = tcp_op_submitted(op);
    }
    tp_lock_drop(&cls->lock);
    return ret;
}

static int32_t
send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    return send_message(
        ctx, op, TCP_UNEXPECTED, buffer, length, peer, peer_ctx, tag);
}

static int32_t
send_expected(na_plugin_ctx *ctx, void *op, const void *buffer, uint64_t length,
    void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t flags)
{
    return send_message(
        ctx, op, TCP_EXPECTED, buffer, length, peer, peer_ctx, tag);
}

/* The message that a receive found waiting. */
static void
finish_kept(na_plugin_ctx *ctx, struct tcp_op *op, struct tp_kept *kept)
{
    finish(&op->recv, kept->data, kept->length, kept->tag, kept->from);
    tcp_message_forget(ctx->cls, kept, false);
}

static int32_t
recv_unexpected(na_plugin_ctx *ctx, void *arg, void *buffer, uint64_t length,
    void *buffer_data, uint32_t flags)
{
    struct tcp_op *op = arg;
    int32_t ret = NA_PLUGIN_E_NOMEM;

    tp_lock_take(&ctx->cls->lock);
    if (tcp_op_begin(op, ctx, TCP_OP_RECV_UNEXPECTED, NULL)) {
        op->recv = (struct tp_recv){.buffer = buffer, .length = length};
        struct tp_kept *kept = tp_match_post_unexpected(&ctx->match, &op->recv);
        op->submitting = false;
        if (kept != NULL)
            finish_kept(ctx, op, kept);
        ret = NA_PLUGIN_PENDING;
    }
    tp_lock_drop(&ctx->cls->lock);
    return ret;
}

/* It connects to the peer, so that its death is noticed. */
static int32_t
recv_expected(na_plugin_ctx *ctx, void *arg, void *buffer, uint64_t length,
    void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t flags)
{
    struct tcp_op *op = arg;
    struct tp_kept *kept;
    struct tcp_conn *conn;
    int32_t ret = NA_PLUGIN_E_NOMEM;

    if (tag > UINT32_MAX)
        return NA_PLUGIN_E_INVALID_ARG;
    tp_lock_take(&ctx->cls->lock);
    if (tcp_op_begin(op, ctx, TCP_OP_RECV_EXPECTED, &peer->recvs)) {
        op->recv =
            (struct tp_recv){.keyed = {.owner = peer,
                                 .key = tp_match_key(peer_ctx, (uint32_t) tag)},
                .buffer = buffer,
                .length = length};
        kept = tp_match_post_expected(&ctx->match, &op->recv);
        ret = kept == NULL ? tcp_conn_get(ctx->cls, peer, &conn) : NA_PLUGIN_OK;
        if (ret != NA_PLUGIN_OK && op->submitting) {
            tp_match_unpost(&ctx->match, &op->recv, false);
            tcp_op_end(op, ret);
        }
        ret = tcp_op_submitted(op);
        if (kept != NULL)
            finish_kept(ctx, op, kept);
    }
    tp_lock_drop(&ctx->cls->lock);
    return ret;
}

void
tcp_message_ops(na_plugin_ops *ops)
{
    ops->send_unexpected = send_unexpected;
    ops->recv_unexpected = recv_unexpected;
    ops->send_expected = send_expected;
    ops->recv_expected = recv_expected;
}
