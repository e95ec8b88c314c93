/* SPDX-License-Identifier: BSD-3-Clause */
/* Matching. What comes before its receive is copied; beyond a bound it stays
 * where it came into, and when all of these are taken, peers wait. */
#include <stdlib.h>
#include <string.h>

#include "addr.h"
#include "address.h"
#include "ctx.h"
#include "endpoints.h"
#include "event.h"
#include "inbox.h"
#include "liveness.h"
#include "match.h"
#include "op.h"
#include "peer.h"
#include "receive.h"
#include "reject.h"
#include "route.h"
#include "rx.h"
#include "wake.h"

#define EARLY_MESSAGES 256U
#define EARLY_BYTES (256U << 10)

static uint64_t
key_of(uint32_t source_ctx, uint32_t tag)
{
    return (uint64_t) source_ctx << 32 | tag;
}

static void
forget_kept(struct ofi_endpoint *ep, struct ofi_kept *kept)
{
    ofi_addr_drop(ep, kept->from);
    if (kept->rx != NULL)
        ofi_rx_forget(ep, kept);
    else
        free(kept);
}

/* Copies a message; NULL: no memory. */
static struct ofi_kept *
copy_message(const struct ofi_message *message)
{
    struct ofi_kept *kept = malloc(sizeof(*kept) + message->length);
    unsigned char *data = (unsigned char *) (kept + 1);

    if (kept == NULL)
        return NULL;
    if (message->length != 0)
        memcpy(data, message->data, message->length);
    kept->data = data;
    kept->rx = NULL;
    return kept;
}

static void
describe_kept(struct ofi_kept *kept, const struct ofi_message *message)
{
    kept->keyed.owner = message->from->of;
    kept->keyed.key = key_of(message->header.source_ctx, message->header.tag);
    kept->from = message->from;
    ofi_addr_hold(kept->from);
    kept->length = message->length;
    kept->tag = message->header.tag;
    kept->source_ctx = message->header.source_ctx;
}

/* EXPECTED MESSAGES */

static void
early_remove(na_plugin_ctx *ctx, struct ofi_kept *kept)
{
    tp_table_remove(&ctx->kept, &kept->keyed);
    tp_list_remove(&ctx->early, &kept->by_age);
    ctx->early_bytes -= kept->length;
}

/* Keeps one that has no receive yet; the oldest give way. */
static void
early_keep(na_plugin_ctx *ctx, const struct ofi_message *message)
{
    struct ofi_endpoint *ep = ctx->ep;

    while (ctx->early.head != NULL &&
           (ctx->kept.count >= EARLY_MESSAGES ||
               ctx->early_bytes + message->length > EARLY_BYTES)) {
        struct ofi_kept *oldest =
            TP_OBJECT(ctx->early.head, struct ofi_kept, by_age);
        early_remove(ctx, oldest);
        forget_kept(ep, oldest);
        ep->counters.dropped_expected++;
    }
    struct ofi_kept *kept = copy_message(message);
    if (kept == NULL) {
        ofi_reject_lost(ep, message->length);
        return;
    }
    describe_kept(kept, message);
    tp_table_insert(&ctx->kept, &kept->keyed);
    tp_list_append(&ctx->early, &kept->by_age);
    ctx->early_bytes += kept->length;
}

/* Ends an expected receive. */
static void
end_expected(na_plugin_ctx *ctx, struct ofi_op *op, const unsigned char *data,
    uint32_t length)
{
    if (length > op->length) {
        ofi_event_end(ctx, op, NA_PLUGIN_E_MSGSIZE);
        return;
    }
    if (length != 0)
        memcpy(op->buffer, data, length);
    ofi_event_emit(ctx, &(na_plugin_event){.op = op,
                            .buffer = op->buffer,
                            .length = length,
                            .tag = op->tag,
                            .flags = NA_PLUGIN_EVENT_MESSAGE});
}

/* Takes an expected receive from the list of its source. */
static void
unlist(struct ofi_endpoint *ep, struct ofi_op *op)
{
    tp_list_remove(&op->source->receives, &op->by_peer);
    ofi_route_end(ep, op->source);
}

static void
deliver_expected(na_plugin_ctx *ctx, const struct ofi_message *message)
{
    struct tp_keyed *keyed = tp_table_find(&ctx->posted, message->from->of,
        key_of(message->header.source_ctx, message->header.tag));

    if (keyed == NULL) {
        early_keep(ctx, message);
        return;
    }
    struct ofi_op *op = TP_OBJECT(keyed, struct ofi_op, keyed);
    tp_table_remove(&ctx->posted, keyed);
    unlist(ctx->ep, op);
    end_expected(ctx, op, message->data, message->length);
}

/* Gives it what has come already, or waits for it. */
static int32_t
post_expected(na_plugin_ctx *ctx, struct ofi_op *op, na_plugin_addr *peer,
    uint32_t peer_ctx)
{
    struct ofi_endpoint *ep = ctx->ep;
    struct tp_keyed *keyed = tp_table_find(&ctx->kept, peer, op->keyed.key);

    if (keyed != NULL) {
        struct ofi_kept *kept = TP_OBJECT(keyed, struct ofi_kept, keyed);
        early_remove(ctx, kept);
        end_expected(ctx, op, kept->data, kept->length);
        forget_kept(ep, kept);
        return NA_PLUGIN_PENDING;
    }
    op->source = ofi_route_begin(ep, peer, peer_ctx);
    if (op->source == NULL) {
        ctx->promised--;
        return NA_PLUGIN_E_NOMEM;
    }
    op->state = OFI_OP_POSTED;
    tp_table_insert(&ctx->posted, &op->keyed);
    tp_list_append(&op->source->receives, &op->by_peer);
    if (!op->source->self)
        ofi_peer_activate(ep, op->source);
    return NA_PLUGIN_PENDING;
}

int32_t
ofi_recv_expected(na_plugin_ctx *ctx, void *operation, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    struct ofi_endpoint *ep = ctx->ep;
    struct ofi_op *op = operation;

    (void) buffer_data;
    if (tag > OFI_TAG_MAX || peer_ctx >= OFI_CONTEXTS)
        return NA_PLUGIN_E_INVALID_ARG;

    tp_lock_take(&ep->lock);
    int32_t ret = ofi_event_promise(ctx);
    if (ret == NA_PLUGIN_OK) {
        op->kind = OFI_OP_RECV_EXPECTED;
        op->ctx = ctx;
        op->buffer = buffer;
        op->length = length;
        op->tag = (uint32_t) tag;
        op->keyed.owner = peer;
        op->keyed.key = key_of(peer_ctx, (uint32_t) tag);
        ret = post_expected(ctx, op, peer, peer_ctx);
    }
    tp_lock_drop(&ep->lock);
    return ret;
}

/* UNEXPECTED MESSAGES */

/* Puts a message behind those that a multi-receive has. False: no room for its
 * event. */
static bool
fill_multi(
    na_plugin_ctx *ctx, struct ofi_op *op, const struct ofi_message *message)
{
    uint64_t used = (op->used + message->length + 7) & ~UINT64_C(7);
    bool last =
        used >= op->length || op->length - used < ctx->ep->cls->max_unexpected;
    na_plugin_event event = {.op = op,
        .buffer = (unsigned char *) op->buffer + op->used,
        .length = message->length,
        .source = message->from->of,
        .tag = message->header.tag,
        .flags = NA_PLUGIN_EVENT_MESSAGE};

    if (message->length != 0)
        memcpy(event.buffer, message->data, message->length);
    if (last) {
        tp_list_remove(&ctx->recvs, &op->keyed.link);
        ofi_event_emit(ctx, &event);
    } else {
        event.flags |= NA_PLUGIN_EVENT_MORE;
        if (!ofi_event_emit_more(ctx, &event))
            return false;
        op->used = used;
    }
    ofi_addr_hold(message->from->of);
    return true;
}

/* Gives a message to the first receive. False: there is none. */
static bool
take_unexpected(na_plugin_ctx *ctx, const struct ofi_message *message)
{
    if (ctx->recvs.head == NULL)
        return false;
    struct ofi_op *op = TP_OBJECT(ctx->recvs.head, struct ofi_op, keyed.link);
    if (op->kind == OFI_OP_RECV_MULTI)
        return fill_multi(ctx, op, message);

    tp_list_remove(&ctx->recvs, &op->keyed.link);
    if (message->length > op->length) {
        ofi_event_end(ctx, op, NA_PLUGIN_E_MSGSIZE);
        return true;
    }
    if (message->length != 0)
        memcpy(op->buffer, message->data, message->length);
    ofi_addr_hold(message->from->of);
    ofi_event_emit(ctx, &(na_plugin_event){.op = op,
                            .buffer = op->buffer,
                            .length = message->length,
                            .source = message->from->of,
                            .tag = message->header.tag,
                            .flags = NA_PLUGIN_EVENT_MESSAGE});
    return true;
}

static bool
queue_copy(na_plugin_ctx *ctx, const struct ofi_message *message)
{
    struct ofi_kept *kept = NULL;

    if (ofi_queue_has_room(ctx->ep, message->length))
        kept = copy_message(message);
    if (kept == NULL)
        return false;
    describe_kept(kept, message);
    tp_list_append(&ctx->queue, &kept->keyed.link);
    ctx->ep->kept_bytes += kept->length + sizeof(*kept);
    ctx->ep->counters.kept_unexpected++;
    return true;
}

/* True: its rx stays in use. */
static bool
deliver_unexpected(na_plugin_ctx *ctx, const struct ofi_message *message)
{
    if ((ctx->queue.head == NULL && take_unexpected(ctx, message)) ||
        queue_copy(ctx, message))
        return false;
    if (message->rx == NULL) { /* there was room, but no memory */
        ofi_reject_lost(ctx->ep, message->length);
        return false;
    }

    struct ofi_kept *kept = ofi_rx_keep(ctx->ep, message->rx);
    kept->data = message->data;
    describe_kept(kept, message);
    tp_list_append(&ctx->queue, &kept->keyed.link);
    ctx->ep->counters.kept_unexpected++;
    return true;
}

/* Gives a message to oneself to its context. DONE; AGAIN: there is no room. */
static int32_t
give_self(struct ofi_endpoint *ep, const struct ofi_message *message)
{
    na_plugin_ctx *target = ep->contexts[message->header.target_ctx];

    if (target == NULL && ep->cls->first->cls->apart)
        return ep->cls->upcalls->pass(ep, message);
    if (target == NULL) {
        ep->counters.strayed++;
        return NA_PLUGIN_DONE;
    }
    if (message->header.kind == OFI_HEADER_EXPECTED) {
        deliver_expected(target, message);
        return NA_PLUGIN_DONE;
    }
    if ((target->queue.head == NULL && take_unexpected(target, message)) ||
        queue_copy(target, message))
        return NA_PLUGIN_DONE;
    return NA_PLUGIN_E_AGAIN;
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
        const struct ofi_op *op = TP_OBJECT(link, struct ofi_op, keyed.link);
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
        struct ofi_op *op = TP_OBJECT(link, struct ofi_op, keyed.link);
        const struct ofi_message message = {.header = {.kind = op->own_kind,
                                                .source_ctx = op->own_ctx,
                                                .target_ctx = op->peer_ctx,
                                                .tag = op->tag},
            .from = ep->self,
            .data = op->buffer,
            .length = (uint32_t) op->length};
        next = link->next;
        if (!is_behind(ep, &message.header, link) &&
            give_self(ep, &message) == NA_PLUGIN_DONE) {
            tp_list_remove(&ep->held, &op->keyed.link);
            ofi_event_end(op->ctx, op, NA_PLUGIN_OK);
        } else if (!ep->cls->first->cls->apart)
            return; /* so is it for those behind it */
    }
}

/* Queued messages to receives that have come. */
static void
serve_queue(na_plugin_ctx *ctx)
{
    struct ofi_endpoint *ep = ctx->ep;

    while (ctx->queue.head != NULL) {
        struct ofi_kept *kept =
            TP_OBJECT(ctx->queue.head, struct ofi_kept, keyed.link);
        const struct ofi_message message = {.header = {.tag = kept->tag},
            .from = kept->from,
            .data = kept->data,
            .length = kept->length};
        if (!take_unexpected(ctx, &message))
            break;
        tp_list_remove(&ctx->queue, &kept->keyed.link);
        if (kept->rx == NULL)
            ep->kept_bytes -= kept->length + sizeof(*kept);
        forget_kept(ep, kept);
    }
    ofi_match_retry(ep);
}

static int32_t
post_unexpected(
    na_plugin_ctx *ctx, struct ofi_op *op, void *buffer, uint64_t length)
{
    struct ofi_endpoint *ep = ctx->ep;

    tp_lock_take(&ep->lock);
    int32_t ret = ofi_event_promise(ctx);
    if (ret == NA_PLUGIN_OK) {
        op->state = OFI_OP_POSTED;
        op->ctx = ctx;
        op->buffer = buffer;
        op->length = length;
        op->used = 0;
        tp_list_append(&ctx->recvs, &op->keyed.link);
        if (ctx->queue.head != NULL || ep->held.head != NULL)
            serve_queue(ctx);
        /* what waits for room is for the next poll */
        if (ctx->armed && ep->cls->first->cls->apart && !ofi_inbox_is_empty(ep))
            ofi_wake_rouse(ctx);
    }
    tp_lock_drop(&ep->lock);
    return ret;
}

int32_t
ofi_recv_unexpected(na_plugin_ctx *ctx, void *operation, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags)
{
    struct ofi_op *op = operation;

    (void) buffer_data;
    op->kind = OFI_OP_RECV_UNEXPECTED;
    return post_unexpected(ctx, op, buffer, length);
}

int32_t
ofi_recv_multi(na_plugin_ctx *ctx, void *operation, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags)
{
    struct ofi_op *op = operation;

    (void) buffer_data;
    if (length < ctx->ep->cls->max_unexpected)
        return NA_PLUGIN_E_INVALID_ARG;
    op->kind = OFI_OP_RECV_MULTI;
    return post_unexpected(ctx, op, buffer, length);
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
        return deliver_unexpected(ctx, message);
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
    if (!is_behind(ep, header, NULL) &&
        give_self(ep, &message) == NA_PLUGIN_DONE)
        return NA_PLUGIN_DONE;
    if (ep->cls->no_retry)
        return NA_PLUGIN_E_AGAIN;
    int32_t ret = ofi_event_promise(ctx);
    if (ret != NA_PLUGIN_OK)
        return ret;
    op->kind = OFI_OP_SEND_SELF;
    op->state = OFI_OP_POSTED;
    op->ctx = ctx;
    op->buffer = (void *) (uintptr_t) buffer; /* it is only read */
    op->length = length;
    op->own_kind = header->kind;
    op->own_ctx = header->source_ctx;
    op->peer_ctx = header->target_ctx;
    op->tag = header->tag;
    tp_list_append(&ep->held, &op->keyed.link);
    return NA_PLUGIN_PENDING;
}

void
ofi_match_cancel(na_plugin_ctx *ctx, struct ofi_op *op, int32_t status)
{
    switch (op->kind) {
    case OFI_OP_RECV_UNEXPECTED:
    case OFI_OP_RECV_MULTI:
        tp_list_remove(&ctx->recvs, &op->keyed.link);
        break;
    case OFI_OP_RECV_EXPECTED:
        tp_table_remove(&ctx->posted, &op->keyed);
        unlist(ctx->ep, op);
        break;
    default:
        tp_list_remove(&ctx->ep->held, &op->keyed.link);
        break;
    }
    ofi_event_end(ctx, op, status);
}

void
ofi_match_lose(na_plugin_addr *peer, int32_t status)
{
    while (peer->receives.head != NULL) {
        struct ofi_op *op =
            TP_OBJECT(peer->receives.head, struct ofi_op, by_peer);
        ofi_match_cancel(op->ctx, op, status);
    }
}

void
ofi_match_forget(struct ofi_endpoint *ep, const na_plugin_addr *from)
{
    for (uint32_t i = 0; i < OFI_CONTEXTS; i++) {
        na_plugin_ctx *ctx = ep->contexts[i];
        struct tp_link *next = NULL;
        for (struct tp_link *link = ctx != NULL ? ctx->early.head : NULL;
             link != NULL; link = next) {
            struct ofi_kept *kept = TP_OBJECT(link, struct ofi_kept, by_age);
            next = link->next;
            if (kept->from != from)
                continue;
            early_remove(ctx, kept);
            forget_kept(ep, kept);
            ep->counters.dropped_expected++;
        }
    }
}

void
ofi_match_abandon(na_plugin_ctx *ctx)
{
    struct ofi_endpoint *ep = ctx->ep;
    struct tp_link *next = NULL;

    while (ctx->recvs.head != NULL)
        ofi_match_cancel(ctx,
            TP_OBJECT(ctx->recvs.head, struct ofi_op, keyed.link),
            NA_PLUGIN_E_CANCELED);
    for (size_t i = 0; i < (size_t) 1 << (64 - ctx->posted.shift); i++)
        while (ctx->posted.buckets[i].head != NULL)
            ofi_match_cancel(ctx,
                TP_OBJECT(
                    ctx->posted.buckets[i].head, struct ofi_op, keyed.link),
                NA_PLUGIN_E_CANCELED);
    for (struct tp_link *link = ep->held.head; link != NULL; link = next) {
        struct ofi_op *op = TP_OBJECT(link, struct ofi_op, keyed.link);
        next = link->next;
        if (op->ctx == ctx)
            ofi_match_cancel(ctx, op, NA_PLUGIN_E_CANCELED);
    }
    while (ctx->queue.head != NULL) {
        struct ofi_kept *kept =
            TP_OBJECT(tp_list_pop(&ctx->queue), struct ofi_kept, keyed.link);
        if (kept->rx == NULL)
            ep->kept_bytes -= kept->length + sizeof(*kept);
        forget_kept(ep, kept);
    }
    while (ctx->early.head != NULL) {
        struct ofi_kept *kept =
            TP_OBJECT(ctx->early.head, struct ofi_kept, by_age);
        early_remove(ctx, kept);
        forget_kept(ep, kept);
    }
}
