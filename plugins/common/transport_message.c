/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages. Each peer has credit for the unexpected ones that it may have waiting
 * in our queue; what is beyond waits with the sender, who can still cancel it. */
#include <stdlib.h>

#include "common/transport_private.h"

/* Gives credit back, in portions. */
static void
credit(struct tp_channel *channel, uint64_t bytes)
{
    channel->owed += bytes;
    if (channel->owed < channel->transport->window / 2)
        return;
    struct tp_packet *packet = tp_packet_new(TP_FRAME_CREDIT, 0);
    if (packet == NULL)
        return; /* with the next one */
    packet->frame.tag = (uint32_t) channel->owed;
    channel->taken -= channel->owed;
    channel->owed = 0;
    tp_packet_move(packet, &channel->out);
    tp_channel_flush(channel);
}

/* A kept message that has found its receive, or is dropped. */
void
tp_message_forget(void *arg, struct tp_kept *kept, bool dropped)
{
    struct tp_transport *transport = arg;
    struct tp_channel *channel =
        kept->place != 0 ? tp_channel_find(transport, kept->place) : NULL;

    if (channel != NULL)
        credit(channel, tp_match_cost(kept->length));
    tp_peer_put(transport, kept->from);
    free(kept);
}

/* Fills a receive; an unexpected one is told from. */
static void
finish(na_plugin_ctx *ctx, struct tp_recv *recv, const void *data,
    uint32_t length, uint32_t tag, na_plugin_addr *from)
{
    struct tp_op *op = TP_OBJECT(recv, struct tp_op, recv);
    na_plugin_addr *source = op->kind == TP_OP_RECV_UNEXPECTED ? from : NULL;
    na_plugin_event event;

    if (tp_match_fill(recv, data, length, tag, op, source, &event) &&
        source != NULL)
        tp_addr_hold(&tp_peer_of(source)->addr, false);
    tp_count(&ctx->transport->received, 1);
    tp_op_report(op, &event);
}

/* Whether it is no longer than agreed, and the sender has credit for it. */
static bool
is_allowed(const struct tp_channel *channel, const struct tp_frame *frame)
{
    const struct tp_transport *transport = channel->transport;

    if (frame->kind == TP_FRAME_EXPECTED)
        return frame->length <= transport->max_expected;
    return frame->length <= transport->max_unexpected &&
           (channel->taken == 0 ||
               channel->taken + tp_match_cost(frame->length) <=
                   transport->window);
}

/* For a context that is not there: it is lost. */
static void
stray(const struct tp_channel *channel, const struct tp_frame *frame)
{
    struct tp_transport *transport = channel->transport;

    TP_LOG_THINNED(transport->host, INFO, tp_count(&transport->strayed, 1),
        "message from %s for context %u, which is not there, dropped",
        channel->name, frame->to);
}

bool
tp_message_arrived(
    struct tp_channel *channel, const struct tp_frame *frame, const void *data)
{
    na_plugin_ctx *ctx = channel->transport->contexts[frame->to];
    bool unexpected = frame->kind == TP_FRAME_UNEXPECTED;
    uint64_t cost = unexpected ? tp_match_cost(frame->length) : 0;
    struct tp_message message = {.owner = channel->peer,
        .key = tp_match_key(frame->from, frame->tag),
        .from = channel->peer,
        .data = data,
        .length = frame->length,
        .tag = frame->tag,
        .place = unexpected ? channel->keyed.key : 0};
    struct tp_recv *recv = NULL;
    enum tp_outcome outcome = TP_NO_MEMORY;

    if (!is_allowed(channel, frame))
        return false;
    channel->taken += cost;
    if (ctx != NULL)
        outcome = tp_match_deliver(&ctx->match, &message, unexpected, &recv);
    else
        stray(channel, frame);
    if (outcome == TP_KEPT) {
        tp_addr_hold(&tp_peer_of(channel->peer)->addr, false);
        return true;
    }
    if (recv != NULL)
        finish(ctx, recv, data, frame->length, frame->tag, channel->peer);
    else if (ctx != NULL && unexpected)
        return false; /* no memory: the peer learns that it is lost */
    if (unexpected)
        credit(channel, cost);
    return true;
}

bool
tp_message_credited(
    struct tp_channel *channel, const struct tp_frame *frame, const void *data)
{
    if (frame->length != 0)
        return false;
    channel->used -= frame->tag < channel->used ? frame->tag : channel->used;
    tp_channel_release(channel);
    return true;
}

static int32_t
send_message(na_plugin_ctx *ctx, struct tp_op *op, enum tp_frame_kind kind,
    const void *buffer, uint64_t length, na_plugin_addr *peer,
    uint32_t peer_ctx, uint64_t tag)
{
    struct tp_transport *transport = ctx->transport;
    uint32_t longest = kind == TP_FRAME_UNEXPECTED ? transport->max_unexpected
                                                   : transport->max_expected;
    struct tp_channel *channel;

    if (length > longest || tag > UINT32_MAX ||
        peer_ctx >= NA_PLUGIN_CONTEXTS_MAX)
        return tp_match_refuse(transport->host, length, longest, peer_ctx,
            NA_PLUGIN_CONTEXTS_MAX, tag);
    tp_mutex_take(transport->lock);
    int32_t ret = tp_channel_get(transport, peer, &channel);
    if (ret == NA_PLUGIN_OK && !tp_op_begin(op, ctx, TP_OP_SEND, &channel->ops))
        ret = NA_PLUGIN_E_NOMEM;
    if (ret == NA_PLUGIN_OK) {
        op->channel = channel;
        op->packet = (struct tp_packet){.op = op,
            .frame = {.length = (uint32_t) length,
                .kind = (uint8_t) kind,
                .to = (uint8_t) peer_ctx,
                .from = (uint8_t) ctx->id,
                .tag = (uint32_t) tag},
            .data = buffer};
        tp_packet_move(&op->packet,
            kind == TP_FRAME_UNEXPECTED ? &channel->held : &channel->out);
        tp_count(&transport->sent, 1);
        tp_channel_release(channel);
        ret = tp_op_submitted(op);
    }
    tp_mutex_drop(transport->lock);
    return ret;
}

int32_t
tp_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    return send_message(
        ctx, op, TP_FRAME_UNEXPECTED, buffer, length, peer, peer_ctx, tag);
}

int32_t
tp_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    return send_message(
        ctx, op, TP_FRAME_EXPECTED, buffer, length, peer, peer_ctx, tag);
}

/* The message that a receive found waiting. */
static void
finish_kept(na_plugin_ctx *ctx, struct tp_op *op, struct tp_kept *kept)
{
    finish(ctx, &op->recv, kept->data, kept->length, kept->tag, kept->from);
    tp_message_forget(ctx->transport, kept, false);
}

int32_t
tp_recv_unexpected(na_plugin_ctx *ctx, void *arg, void *buffer, uint64_t length,
    void *buffer_data, uint32_t flags)
{
    struct tp_op *op = arg;
    int32_t ret = NA_PLUGIN_E_NOMEM;

    tp_mutex_take(ctx->transport->lock);
    if (tp_op_begin(op, ctx, TP_OP_RECV_UNEXPECTED, NULL)) {
        op->recv = (struct tp_recv){.buffer = buffer, .length = length};
        struct tp_kept *kept = tp_match_post_unexpected(&ctx->match, &op->recv);
        op->submitting = false;
        if (kept != NULL)
            finish_kept(ctx, op, kept);
        ret = NA_PLUGIN_PENDING;
    }
    tp_mutex_drop(ctx->transport->lock);
    return ret;
}

/* It connects to the peer, so that its death is noticed. */
int32_t
tp_recv_expected(na_plugin_ctx *ctx, void *arg, void *buffer, uint64_t length,
    void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t flags)
{
    struct tp_transport *transport = ctx->transport;
    struct tp_op *op = arg;
    struct tp_channel *channel;
    int32_t ret = NA_PLUGIN_E_NOMEM;

    if (tag > UINT32_MAX || peer_ctx >= NA_PLUGIN_CONTEXTS_MAX)
        return tp_match_refuse(
            transport->host, 0, 0, peer_ctx, NA_PLUGIN_CONTEXTS_MAX, tag);
    tp_mutex_take(transport->lock);
    if (tp_op_begin(op, ctx, TP_OP_RECV_EXPECTED, &tp_peer_of(peer)->recvs)) {
        op->recv =
            (struct tp_recv){.keyed = {.owner = peer,
                                 .key = tp_match_key(peer_ctx, (uint32_t) tag)},
                .buffer = buffer,
                .length = length};
        struct tp_kept *kept = tp_match_post_expected(&ctx->match, &op->recv);
        ret = kept == NULL ? tp_channel_get(transport, peer, &channel)
                           : NA_PLUGIN_OK;
        if (ret != NA_PLUGIN_OK && op->submitting) {
            tp_match_unpost(&ctx->match, &op->recv, false);
            tp_op_end(op, ret);
        }
        ret = tp_op_submitted(op);
        if (kept != NULL)
            finish_kept(ctx, op, kept);
    }
    tp_mutex_drop(transport->lock);
    return ret;
}
