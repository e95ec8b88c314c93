/* SPDX-License-Identifier: BSD-3-Clause */
/* Matching, by the engine of plugins/common. Unexpected messages are copied as far
 * as a bound goes; beyond it they stay in the buffers that they arrived in, and
 * when all of these are taken, peers wait. */
#include <stdlib.h>

#include "address.h"
#include "cross.h"
#include "endpoints.h"
#include "liveness.h"
#include "match.h"
#include "op.h"
#include "peer.h"
#include "receive.h"
#include "reject.h"
#include "route.h"
#include "work.h"

/* In place of a kept message: it is an expected one, of the peer that the other bits
 * point to. Else they are the buffer that it is in, 0 of a copy. */
#define SENDER 1U

static struct tp_message
describe(const struct ofi_message *message)
{
    bool expected = message->header.kind == OFI_HEADER_EXPECTED;

    return (struct tp_message){.owner = message->from->addr,
        .key = tp_match_key(message->header.source_ctx, message->header.tag),
        .from = message->from->addr,
        .data = message->data,
        .length = message->length,
        .tag = message->header.tag,
        .place = expected ? (uintptr_t) message->from | SENDER : 0};
}

static struct ofi_peer *
sender_of(const struct tp_kept *kept)
{
    return (kept->place & SENDER) != 0
               ? (struct ofi_peer *) (uintptr_t) (kept->place - SENDER)
               : NULL;
}

/* Keeps a message: what forget gives back. */
static void
hold(const struct ofi_message *message)
{
    ofi_addr_hold(message->from->addr);
    if (message->header.kind == OFI_HEADER_EXPECTED)
        message->from->refs++;
}

static void
forget(void *arg, struct tp_kept *kept, bool dropped)
{
    struct ofi_endpoint *ep = ((na_plugin_ctx *) arg)->ep;
    struct ofi_peer *sender = sender_of(kept);

    ep->counters.dropped_expected += dropped;
    ofi_addr_release(ep->cls, kept->from);
    if (sender != NULL)
        sender->refs--;
    if (sender == NULL && kept->place != 0)
        ofi_rx_forget(ep, kept);
    else
        free(kept);
}

int32_t
ofi_match_init(na_plugin_ctx *ctx)
{
    ctx->match.quota = &ctx->ep->quota;
    ctx->match.forget = forget;
    ctx->match.arg = ctx;
    return tp_match_init(&ctx->match);
}

static void
fill(struct ofi_op *op, const void *data, uint32_t length, uint32_t tag,
    na_plugin_addr *source)
{
    na_plugin_event event;

    if (tp_match_fill(&op->recv, data, length, tag, op, source, &event) &&
        source != NULL)
        ofi_addr_hold(source);
    ofi_op_end(op, &event);
}

/* EXPECTED MESSAGES */

/* Takes an expected receive from the list of its peer. */
static void
unlist(struct ofi_op *op)
{
    tp_list_remove(&op->peer->receives, &op->by_peer);
    op->peer->refs--;
}

static void
deliver_expected(na_plugin_ctx *ctx, const struct ofi_message *message)
{
    const struct tp_message arrived = describe(message);
    struct tp_recv *recv;
    enum tp_outcome outcome =
        tp_match_deliver(&ctx->match, &arrived, false, &recv);

    if (recv != NULL) {
        struct ofi_op *op = TP_OBJECT(recv, struct ofi_op, recv);
        unlist(op);
        fill(op, message->data, message->length, op->tag, NULL);
    } else if (outcome == TP_KEPT)
        hold(message);
    else
        ofi_reject_lost(ctx->ep, message->length);
}

/* Gives it what is there already, or waits for it. */
static int32_t
post_expected(na_plugin_ctx *ctx, struct ofi_op *op, na_plugin_addr *addr,
    uint32_t peer_ctx)
{
    struct tp_kept *kept = tp_match_post_expected(&ctx->match, &op->recv);

    if (kept != NULL) {
        fill(op, kept->data, kept->length, op->tag, NULL);
        forget(ctx, kept, false);
        return NA_PLUGIN_PENDING;
    }
    struct ofi_peer *peer = ofi_route_to(ctx->ep, addr, peer_ctx);
    if (peer == NULL) {
        tp_match_unpost(&ctx->match, &op->recv, false);
        ofi_op_unpost(op);
        return NA_PLUGIN_E_NOMEM;
    }
    op->peer = peer;
    peer->refs++;
    tp_list_append(&peer->receives, &op->by_peer);
    if (!addr->self)
        ofi_peer_activate(ctx->ep, peer);
    return NA_PLUGIN_PENDING;
}

int32_t
ofi_recv_expected(na_plugin_ctx *ctx, void *operation, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    struct ofi_endpoint *ep = ctx->ep;
    struct ofi_op *op = operation;
    int32_t ret = NA_PLUGIN_E_NOMEM;

    if (__builtin_expect(tag > OFI_TAG_MAX || peer_ctx >= OFI_CONTEXTS, 0))
        return tp_match_refuse(
            ep->cls->host, 0, 0, peer_ctx, OFI_CONTEXTS, tag);
    tp_mutex_take(&ep->lock);
    if (ofi_op_post(ctx, op, OFI_OP_RECV_EXPECTED)) {
        op->recv.buffer = buffer;
        op->recv.length = length;
        op->recv.keyed.owner = peer;
        op->recv.keyed.key = tp_match_key(peer_ctx, (uint32_t) tag);
        op->tag = (uint32_t) tag;
        ret = post_expected(ctx, op, peer, peer_ctx);
    }
    tp_mutex_drop(&ep->lock);
    return ret;
}

/* UNEXPECTED MESSAGES */

/* Puts a message behind those that a multi-receive has. False: no memory for its
 * event. */
static bool
fill_multi(na_plugin_ctx *ctx, struct ofi_op *op, const void *data,
    uint32_t length, uint32_t tag, na_plugin_addr *source)
{
    uint64_t used = (op->used + length + 7) & ~UINT64_C(7);
    bool last = used >= op->recv.length ||
                op->recv.length - used < ctx->ep->cls->max_unexpected;
    na_plugin_event event = {.op = op,
        .buffer = (unsigned char *) op->recv.buffer + op->used,
        .length = length,
        .source = source,
        .tag = tag,
        .flags = NA_PLUGIN_EVENT_MESSAGE | (last ? 0U : NA_PLUGIN_EVENT_MORE)};

    if (length != 0)
        memcpy(event.buffer, data, length);
    if (last) {
        tp_list_remove(&ctx->match.recvs, &op->recv.keyed.link);
        ofi_op_end(op, &event);
    } else {
        if (!tp_events_emit_more(&ctx->events, &event))
            return false;
        op->used = used;
        if (ctx->armed)
            tp_wake_set(&ctx->wake);
    }
    ofi_addr_hold(source);
    return true;
}

/* Gives a message to the oldest receive. False: no receive is posted, or no
 * memory for the event. */
static inline bool
take_unexpected(na_plugin_ctx *ctx, const void *data, uint32_t length,
    uint32_t tag, na_plugin_addr *source)
{
    struct tp_link *link = ctx->match.recvs.head;

    if (link == NULL)
        return false;
    struct ofi_op *op = ofi_op_of(link);
    if (op->kind == OFI_OP_RECV_MULTI)
        return fill_multi(ctx, op, data, length, tag, source);
    tp_list_drop_head(&ctx->match.recvs);
    fill(op, data, length, tag, source);
    return true;
}

static enum tp_outcome
queue_copy(na_plugin_ctx *ctx, const struct ofi_message *message)
{
    const struct tp_message arrived = describe(message);
    enum tp_outcome outcome = tp_match_queue(&ctx->match, &arrived);

    if (outcome == TP_KEPT) {
        hold(message);
        ctx->ep->counters.kept_unexpected++;
    }
    return outcome;
}

static inline enum tp_outcome
deliver_unexpected(na_plugin_ctx *ctx, const struct ofi_message *message)
{
    if (ctx->match.queue.head == NULL &&
        take_unexpected(ctx, message->data, message->length,
            message->header.tag, message->from->addr))
        return TP_MATCHED;
    return queue_copy(ctx, message);
}

/* There is no room for a copy. True: it is left in its buffer. */
static bool
leave(na_plugin_ctx *ctx, const struct ofi_message *message)
{
    const struct tp_message arrived = describe(message);

    if (message->rx == NULL) { /* passed on: there was room, but no memory */
        ofi_reject_lost(ctx->ep, message->length);
        return false;
    }
    struct tp_kept *kept = ofi_rx_keep(ctx->ep, message->rx);
    kept->data = message->data;
    kept->length = message->length;
    tp_match_append(&ctx->match, kept, &arrived);
    hold(message);
    ctx->ep->counters.kept_unexpected++;
    return true;
}

/* MESSAGES TO ONESELF */

/* Gives one to its context. False: there is no room. */
static bool
give_self(struct ofi_endpoint *ep, const struct ofi_message *message)
{
    na_plugin_ctx *target = ep->contexts[message->header.target_ctx];

    if (target == NULL && ep->cls->multi_endpoint)
        return ep->cls->upcalls->pass(ep, message);
    if (target == NULL) {
        ep->counters.strayed++;
        return true;
    }
    if (message->header.kind == OFI_HEADER_EXPECTED) {
        deliver_expected(target, message);
        return true;
    }
    return deliver_unexpected(target, message) <= TP_KEPT;
}

/* Whether an unexpected message waits for room before this one, which would be
 * the next of its context; end: its place in the list, NULL if it has none. An
 * expected one waits for none of these: they may wait for it. */
static bool
is_behind(const struct ofi_endpoint *ep, const struct ofi_header *header,
    const struct tp_link *end)
{
    struct tp_link *link = ep->held.head;

    if (header->kind == OFI_HEADER_EXPECTED)
        return false;
    for (; link != end; link = link->next) {
        const struct ofi_op *op = ofi_op_of(link);
        if (op->own_kind == OFI_HEADER_UNEXPECTED &&
            op->peer_ctx == header->target_ctx)
            return true;
    }
    return false;
}

/* Sends to oneself that waited for room; in order for each context. */
void
ofi_match_retry(struct ofi_endpoint *ep)
{
    struct tp_link *next = NULL;

    for (struct tp_link *link = ep->held.head; link != NULL; link = next) {
        struct ofi_op *op = ofi_op_of(link);
        const struct ofi_message message = {.header = {.kind = op->own_kind,
                                                .source_ctx = op->own_ctx,
                                                .target_ctx = op->peer_ctx,
                                                .tag = op->tag},
            .from = ep->self,
            .data = op->recv.buffer,
            .length = (uint32_t) op->recv.length};
        next = link->next;
        if (!is_behind(ep, &message.header, link) && give_self(ep, &message)) {
            tp_list_remove(&ep->held, link);
            ofi_op_finish(op, NA_PLUGIN_OK);
        } else if (!ep->cls->multi_endpoint)
            return; /* so is it for those behind it */
    }
}

/* Queued messages to receives. */
static void
serve_queue(na_plugin_ctx *ctx)
{
    struct tp_match *match = &ctx->match;

    while (match->queue.head != NULL && match->recvs.head != NULL) {
        struct tp_kept *kept =
            TP_OBJECT(match->queue.head, struct tp_kept, keyed.link);
        if (!take_unexpected(
                ctx, kept->data, kept->length, kept->tag, kept->from))
            break;
        tp_list_drop_head(&match->queue);
        if (kept->place == 0)
            match->quota->used -= tp_match_cost(kept->length);
        forget(ctx, kept, false);
    }
    ofi_match_retry(ctx->ep);
}

static int32_t
post_unexpected(na_plugin_ctx *ctx, struct ofi_op *op, enum ofi_kind kind,
    void *buffer, uint64_t length)
{
    struct ofi_endpoint *ep = ctx->ep;
    int32_t ret = NA_PLUGIN_E_NOMEM;

    tp_mutex_take(&ep->lock);
    if (ofi_op_post(ctx, op, kind)) {
        op->recv.buffer = buffer;
        op->recv.length = length;
        op->used = 0;
        tp_list_append(&ctx->match.recvs, &op->recv.keyed.link);
        if (ctx->match.queue.head != NULL || ep->held.head != NULL)
            serve_queue(ctx);
        /* what waits for room is for the next poll */
        if (ctx->armed && ep->cls->multi_endpoint && !ofi_cross_is_empty(ep))
            tp_wake_set(&ctx->wake);
        ret = NA_PLUGIN_PENDING;
    }
    tp_mutex_drop(&ep->lock);
    return ret;
}

int32_t
ofi_recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer, uint64_t length,
    void *buffer_data, uint32_t flags)
{
    return post_unexpected(ctx, op, OFI_OP_RECV_UNEXPECTED, buffer, length);
}

int32_t
ofi_recv_multi(na_plugin_ctx *ctx, void *op, void *buffer, uint64_t length,
    void *buffer_data, uint32_t flags)
{
    return length < ctx->ep->cls->max_unexpected
               ? NA_PLUGIN_E_INVALID_ARG
               : post_unexpected(ctx, op, OFI_OP_RECV_MULTI, buffer, length);
}

/* BOTH */

bool
ofi_match_deliver(struct ofi_endpoint *ep, const struct ofi_message *message)
{
    na_plugin_ctx *ctx = ep->contexts[message->header.target_ctx];

    if (ctx == NULL && ofi_is_first(ep) &&
        ofi_endpoint_of(ep->cls, message->header.target_ctx) != NULL)
        return ep->cls->upcalls->forward(ep, message);
    if (ctx == NULL) {
        ep->counters.strayed++;
        return false;
    }
    if (message->header.kind == OFI_HEADER_UNEXPECTED)
        return deliver_unexpected(ctx, message) > TP_KEPT &&
               leave(ctx, message);
    deliver_expected(ctx, message);
    return false;
}

int32_t
ofi_match_self(na_plugin_ctx *ctx, struct ofi_op *op, const void *buffer,
    uint64_t length, const struct ofi_header *header)
{
    struct ofi_endpoint *ep = ctx->ep;
    const struct ofi_message message = {.header = *header,
        .from = ep->self,
        .data = buffer,
        .length = (uint32_t) length};

    ep->counters.to_self++;
    if (!is_behind(ep, header, NULL) && give_self(ep, &message))
        return NA_PLUGIN_DONE;
    if (ep->cls->no_retry)
        return NA_PLUGIN_E_AGAIN;
    if (!ofi_op_post(ctx, op, OFI_OP_SEND_SELF))
        return NA_PLUGIN_E_NOMEM;
    op->recv.buffer = (void *) (uintptr_t) buffer; /* it is only read */
    op->recv.length = length;
    op->own_kind = header->kind;
    op->own_ctx = header->source_ctx;
    op->peer_ctx = header->target_ctx;
    op->tag = header->tag;
    tp_list_append(&ep->held, &op->recv.keyed.link);
    return NA_PLUGIN_PENDING;
}

void
ofi_match_cancel(struct ofi_op *op, int32_t status)
{
    struct ofi_endpoint *ep = op->ctx->ep;

    if (op->kind == OFI_OP_SEND_SELF)
        tp_list_remove(&ep->held, &op->recv.keyed.link);
    else
        tp_match_unpost(
            &op->ctx->match, &op->recv, op->kind != OFI_OP_RECV_EXPECTED);
    if (op->kind == OFI_OP_RECV_EXPECTED)
        unlist(op);
    ofi_op_finish(op, status);
}

void
ofi_match_lose(struct ofi_peer *peer, int32_t status)
{
    while (peer->receives.head != NULL)
        ofi_match_cancel(
            TP_OBJECT(peer->receives.head, struct ofi_op, by_peer), status);
}

static void
forget_early(na_plugin_ctx *ctx, const struct ofi_peer *from)
{
    struct tp_match *match = &ctx->match;
    struct tp_link *next;

    for (struct tp_link *link = match->by_age.head; link != NULL; link = next) {
        struct tp_kept *kept = TP_OBJECT(link, struct tp_kept, by_age);
        next = link->next;
        if (sender_of(kept) != from)
            continue;
        tp_table_remove(&match->early, &kept->keyed);
        tp_list_remove(&match->by_age, link);
        match->early_bytes -= kept->length;
        forget(ctx, kept, true);
    }
}

void
ofi_match_forget(struct ofi_endpoint *ep, const struct ofi_peer *from)
{
    for (uint32_t i = 0; i < OFI_CONTEXTS; i++)
        if (ep->contexts[i] != NULL)
            forget_early(ep->contexts[i], from);
}

void
ofi_match_fini(na_plugin_ctx *ctx)
{
    struct ofi_endpoint *ep = ctx->ep;
    struct tp_list posted = {NULL, NULL};
    struct tp_link *link, *next;

    tp_match_take_all(&ctx->match, NULL, &posted);
    while ((link = tp_list_pop(&posted)) != NULL)
        unlist(ofi_op_of(link));
    for (link = ep->held.head; link != NULL; link = next) {
        next = link->next;
        if (ofi_op_of(link)->ctx == ctx)
            tp_list_remove(&ep->held, link);
    }
    tp_match_fini(&ctx->match);
}
