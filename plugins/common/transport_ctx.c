/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts: polling, sleeping and canceling. */
#include <stdlib.h>
#include <time.h>

#include "common/transport_private.h"

int32_t
tp_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    struct tp_transport *transport = tp_transport_of(cls);

    if (id >= transport->carrier->offer.max_contexts)
        return NA_PLUGIN_E_OVERFLOW;
    if (transport->contexts[id] != NULL)
        return NA_PLUGIN_E_EXIST;
    na_plugin_ctx *ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL)
        return NA_PLUGIN_E_NOMEM;
    ctx->transport = transport;
    ctx->core_ctx = core_ctx;
    ctx->id = id;
    ctx->match.quota = &ctx->quota;
    ctx->match.forget = tp_message_forget;
    ctx->match.arg = transport;
    ctx->wake = TP_WAKE_NONE;
    if ((transport->may_sleep && transport->descriptor >= 0 &&
            tp_wake_init(&ctx->wake, &transport->descriptor, 1) !=
                NA_PLUGIN_OK) ||
        tp_match_init(&ctx->match) != NA_PLUGIN_OK) {
        tp_wake_fini(&ctx->wake);
        free(ctx);
        return NA_PLUGIN_E_NOMEM;
    }
    tp_mutex_take(transport->lock);
    transport->contexts[id] = ctx;
    tp_mutex_drop(transport->lock);
    *ctx_p = ctx;
    return NA_PLUGIN_OK;
}

/* Whether a send or transfer was ended; false: no memory for a packet that was
 * sent in part. */
static bool
cancel_outgoing(struct tp_op *op)
{
    struct tp_channel *channel = op->channel;
    struct tp_packet *packet = &op->packet;
    bool begun = packet->list != NULL && packet->sent != 0;
    bool is_send = op->kind == TP_OP_SEND;

    if (begun && !tp_packet_detach(packet))
        return false;
    if (!is_send) {
        tp_rma_cancel(op);
    } else if (!begun) {
        if (packet->list == &channel->out &&
            packet->frame.kind == TP_FRAME_UNEXPECTED)
            channel->used -= tp_match_cost(packet->frame.length);
        tp_packet_move(packet, NULL);
    }
    tp_op_end(op, begun && is_send ? NA_PLUGIN_OK : NA_PLUGIN_E_CANCELED);
    tp_channel_release(channel);
    return true;
}

static bool
cancel_op(struct tp_op *op)
{
    bool unexpected = op->kind == TP_OP_RECV_UNEXPECTED;

    if (!unexpected && op->kind != TP_OP_RECV_EXPECTED)
        return cancel_outgoing(op);
    tp_match_unpost(&op->ctx->match, &op->recv, unexpected);
    tp_op_end(op, NA_PLUGIN_E_CANCELED);
    return true;
}

int32_t
tp_ctx_cancel(na_plugin_ctx *ctx, void *arg)
{
    struct tp_op *op = arg;

    tp_mutex_take(ctx->transport->lock);
    if (op->kind != TP_OP_IDLE)
        cancel_op(op);
    tp_mutex_drop(ctx->transport->lock);
    return NA_PLUGIN_OK;
}

/* Whether peers' hosts have all that is sent. */
static bool
flush_all(struct tp_transport *transport)
{
    const struct tp_carrier *carrier = transport->carrier;

    for (struct tp_link *link = transport->channels.head; link != NULL;
         link = link->next) {
        struct tp_channel *channel = tp_channel_of(link);
        carrier->flush(channel);
        if (channel->open &&
            (channel->out.head != NULL ||
                (carrier->is_out != NULL && !carrier->is_out(channel))))
            return false;
    }
    return true;
}

/* Waits for at most a second until everything has gone out. */
static void
drain(struct tp_transport *transport)
{
    uint64_t limit = tp_now() + TP_SECOND;

    while (!flush_all(transport) && tp_now() < limit) {
        if (transport->descriptor < 0)
            transport->carrier->advance(tp_class_of(transport));
        tp_mutex_drop(transport->lock);
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        tp_mutex_take(transport->lock);
    }
}

void
tp_ctx_destroy(na_plugin_ctx *ctx)
{
    struct tp_transport *transport = ctx->transport;
    na_plugin_event event;

    tp_mutex_take(transport->lock);
    ctx->polling = true;                 /* it need not be woken */
    transport->contexts[ctx->id] = NULL; /* nothing is delivered any more */
    while (ctx->pending.head != NULL) {
        struct tp_op *op = TP_OBJECT(ctx->pending.head, struct tp_op, pending);
        if (!cancel_op(op))
            tp_channel_end(op->channel, NA_PLUGIN_E_NOMEM);
    }
    drain(transport);
    while (tp_events_take(&ctx->events, &event, 1) == 1)
        if (event.source != NULL)
            tp_peer_put(transport, event.source);
    tp_match_fini(&ctx->match);
    tp_mutex_drop(transport->lock);
    tp_events_fini(&ctx->events);
    tp_wake_fini(&ctx->wake);
    free(ctx);
}

/* Ends channels whose peer has not said hello in time. */
static void
expire(struct tp_transport *transport)
{
    uint64_t now = transport->opening.head != NULL ? tp_now() : 0;

    while (transport->opening.head != NULL) {
        struct tp_channel *channel =
            TP_OBJECT(transport->opening.head, struct tp_channel, opening);
        if (channel->deadline > now)
            return;
        TP_LOG_THINNED(transport->host, INFO, tp_count(&transport->silent, 1),
            "%s does not answer",
            channel->name[0] != '\0' ? channel->name : "an unknown peer");
        tp_channel_end(channel, NA_PLUGIN_E_HOSTUNREACH);
    }
}

int32_t
tp_ctx_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    struct tp_transport *transport = ctx->transport;
    int32_t ret = NA_PLUGIN_OK;

    if (ctx->armed)
        tp_mutex_take(transport->lock);
    else if (!tp_mutex_try_politely(transport->lock))
        return 0;
    ctx->armed = false;
    ctx->polling = true;
    tp_wake_clear(&ctx->wake);
    if (ctx->events.count < max) {
        ret = transport->carrier->advance(tp_class_of(transport));
        expire(transport);
    }
    ctx->polling = false;
    uint32_t count = tp_events_take(&ctx->events, events, max);
    tp_mutex_drop(transport->lock);
    return count != 0 || ret == NA_PLUGIN_OK ? (int32_t) count : ret;
}

static int32_t
wait_fd(na_plugin_ctx *ctx)
{
    return ctx->wake.fd;
}

/* When poll has something to do though no descriptor tells. */
static uint64_t
due(const struct tp_transport *transport)
{
    uint64_t at = transport->due != 0 ? transport->due : UINT64_MAX;

    if (transport->opening.head == NULL)
        return at;
    const struct tp_channel *channel =
        TP_OBJECT(transport->opening.head, const struct tp_channel, opening);
    return channel->deadline < at ? channel->deadline : at;
}

/* The descriptor is readable whenever there is work: nothing is to be enabled. */
static int32_t
wait_arm(na_plugin_ctx *ctx, uint64_t *sleep_ns_p)
{
    int32_t ret = NA_PLUGIN_DONE;

    tp_mutex_take(ctx->transport->lock);
    if (ctx->events.count == 0) {
        uint64_t at = due(ctx->transport);
        uint64_t now = at != UINT64_MAX ? tp_now() : 0;
        *sleep_ns_p = at == UINT64_MAX ? at : at > now ? at - now : 0;
        ctx->armed = true;
        ret = NA_PLUGIN_OK;
    }
    tp_mutex_drop(ctx->transport->lock);
    return ret;
}

const na_plugin_wait tp_ctx_wait = {
    .size = sizeof(na_plugin_wait), .fd = wait_fd, .arm = wait_arm};
