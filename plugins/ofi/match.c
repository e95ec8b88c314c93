/* SPDX-License-Identifier: BSD-3-Clause */
/* Matching. What comes before its receive is copied; beyond a bound it stays
 * where it came into, and when all of these are taken, peers wait. */
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "context.h"
#include "inbox.h"
#include "lane.h"
#include "match.h"
#include "peer.h"
#include "receive.h"
#include "route.h"
#include "wait.h"

#define EARLY_MESSAGES 256U
#define EARLY_BYTES (256U << 10)

static uint64_t
key_of(uint32_t source_ctx, uint32_t tag)
{
    return (uint64_t) source_ctx << 32 | tag;
}

static void
forget_kept(na_plugin_class *cls, struct ofi_kept *kept)
{
    ofi_addr_drop(cls, kept->from);
    if (kept->rx != NULL)
        ofi_rx_forget(cls, kept);
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
    kept->keyed.peer = message->from->of;
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
    ofi_table_remove(&ctx->kept, &kept->keyed);
    ofi_list_remove(&ctx->early, &kept->by_age);
    ctx->early_bytes -= kept->length;
}

/* Keeps one that has no receive yet; the oldest give way. */
static void
early_keep(na_plugin_ctx *ctx, const struct ofi_message *message)
{
    na_plugin_class *cls = ctx->cls;

    while (ctx->early.head != NULL &&
           (ctx->kept.count >= EARLY_MESSAGES ||
               ctx->early_bytes + message->length > EARLY_BYTES)) {
        struct ofi_kept *oldest =
            OFI_OBJECT(ctx->early.head, struct ofi_kept, by_age);
        early_remove(ctx, oldest);
        forget_kept(cls, oldest);
        cls->counters.dropped_expected++;
    }
    struct ofi_kept *kept = copy_message(message);
    if (kept == NULL) {
        ofi_rx_lose(cls, message->length);
        return;
    }
    describe_kept(kept, message);
    ofi_table_insert(&ctx->kept, &kept->keyed);
    ofi_list_append(&ctx->early, &kept->by_age);
    ctx->early_bytes += kept->length;
}

/* Ends an expected receive. */
static void
end_expected(na_plugin_ctx *ctx, struct ofi_op *op, const unsigned char *data,
    uint32_t length)
{
    if (length > op->length) {
        ofi_ctx_end(ctx, op, NA_PLUGIN_E_MSGSIZE);
        return;
    }
    if (length != 0)
        memcpy(op->buffer, data, length);
    ofi_ctx_emit(ctx, &(na_plugin_event){.op = op,
                          .buffer = op->buffer,
                          .length = length,
                          .tag = op->tag,
                          .flags = NA_PLUGIN_EVENT_MESSAGE});
}

/* Takes an expected receive from the list of its source. */
static void
unlist(na_plugin_class *cls, struct ofi_op *op)
{
    ofi_list_remove(&op->source->receives, &op->by_peer);
    ofi_route_end(cls, op->source);
}

static void
deliver_expected(na_plugin_ctx *ctx, const struct ofi_message *message)
{
    struct ofi_keyed *keyed = ofi_table_find(&ctx->posted, message->from->of,
        key_of(message->header.source_ctx, message->header.tag));

    if (keyed == NULL) {
        early_keep(ctx, message);
        return;
    }
    struct ofi_op *op = OFI_OBJECT(keyed, struct ofi_op, keyed);
    ofi_table_remove(&ctx->posted, keyed);
    unlist(ctx->cls, op);
    end_expected(ctx, op, message->data, message->length);
}

/* Gives it what has come already, or waits for it. */
static int32_t
post_expected(na_plugin_ctx *ctx, struct ofi_op *op, na_plugin_addr *peer,
    uint32_t peer_ctx)
{
    na_plugin_class *cls = ctx->cls;
    struct ofi_keyed *keyed = ofi_table_find(&ctx->kept, peer, op->keyed.key);

    if (keyed != NULL) {
        struct ofi_kept *kept = OFI_OBJECT(keyed, struct ofi_kept, keyed);
        early_remove(ctx, kept);
        end_expected(ctx, op, kept->data, kept->length);
        forget_kept(cls, kept);
        return NA_PLUGIN_PENDING;
    }
    op->source = ofi_route_begin(cls, peer, peer_ctx);
    if (op->source == NULL) {
        ctx->promised--;
        return NA_PLUGIN_E_NOMEM;
    }
    op->state = OFI_OP_POSTED;
    ofi_table_insert(&ctx->posted, &op->keyed);
    ofi_list_append(&op->source->receives, &op->by_peer);
    if (!op->source->self)
        ofi_peer_activate(cls, op->source);
    return NA_PLUGIN_PENDING;
}

int32_t
ofi_recv_expected(na_plugin_ctx *ctx, void *operation, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    na_plugin_class *cls = ctx->cls;
    struct ofi_op *op = operation;

    (void) buffer_data;
    if (tag > OFI_TAG_MAX || peer_ctx >= OFI_CONTEXTS)
        return NA_PLUGIN_E_INVALID_ARG;

    ofi_lock_take(&cls->lock);
    int32_t ret = ofi_ctx_promise(ctx);
    if (ret == NA_PLUGIN_OK) {
        op->kind = OFI_OP_RECV_EXPECTED;
        op->ctx = ctx;
        op->buffer = buffer;
        op->length = length;
        op->tag = (uint32_t) tag;
        op->keyed.peer = peer;
        op->keyed.key = key_of(peer_ctx, (uint32_t) tag);
        ret = post_expected(ctx, op, peer, peer_ctx);
    }
    ofi_lock_drop(&cls->lock);
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
        used >= op->length || op->length - used < ctx->cls->max_unexpected;
    na_plugin_event event = {.op = op,
        .buffer = (unsigned char *) op->buffer + op->used,
        .length = message->length,
        .source = message->from->of,
        .tag = message->header.tag,
        .flags = NA_PLUGIN_EVENT_MESSAGE};

    if (message->length != 0)
        memcpy(event.buffer, message->data, message->length);
    if (last) {
        ofi_list_remove(&ctx->recvs, &op->keyed.link);
        ofi_ctx_emit(ctx, &event);
    } else {
        event.flags |= NA_PLUGIN_EVENT_MORE;
        if (!ofi_ctx_emit_more(ctx, &event))
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
    struct ofi_op *op = OFI_OBJECT(ctx->recvs.head, struct ofi_op, keyed.link);
    if (op->kind == OFI_OP_RECV_MULTI)
        return fill_multi(ctx, op, message);

    ofi_list_remove(&ctx->recvs, &op->keyed.link);
    if (message->length > op->length) {
        ofi_ctx_end(ctx, op, NA_PLUGIN_E_MSGSIZE);
        return true;
    }
    if (message->length != 0)
        memcpy(op->buffer, message->data, message->length);
    ofi_addr_hold(message->from->of);
    ofi_ctx_emit(ctx, &(na_plugin_event){.op = op,
                          .buffer = op->buffer,
                          .length = message->length,
                          .source = message->from->of,
                          .tag = message->header.tag,
                          .flags = NA_PLUGIN_EVENT_MESSAGE});
    return true;
}

static bool
has_room(const na_plugin_class *cls, uint64_t length)
{
    return cls->kept_bytes + length + sizeof(struct ofi_kept) <=
           cls->queue_limit;
}

bool
ofi_match_has_room(const na_plugin_class *cls, uint32_t id, uint64_t length)
{
    const na_plugin_ctx *ctx = cls->contexts[id];

    return ctx == NULL || has_room(cls, length) ||
           (ctx->queue.head == NULL && ctx->recvs.head != NULL);
}

static bool
queue_copy(na_plugin_ctx *ctx, const struct ofi_message *message)
{
    struct ofi_kept *kept = NULL;

    if (has_room(ctx->cls, message->length))
        kept = copy_message(message);
    if (kept == NULL)
        return false;
    describe_kept(kept, message);
    ofi_list_append(&ctx->queue, &kept->keyed.link);
    ctx->cls->kept_bytes += kept->length + sizeof(*kept);
    ctx->cls->counters.kept_unexpected++;
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
        ofi_rx_lose(ctx->cls, message->length);
        return false;
    }

    struct ofi_kept *kept = ofi_rx_keep(ctx->cls, message->rx);
    kept->data = message->data;
    describe_kept(kept, message);
    ofi_list_append(&ctx->queue, &kept->keyed.link);
    ctx->cls->counters.kept_unexpected++;
    return true;
}

/* Gives a message to oneself to its context. DONE; AGAIN: there is no room. */
static int32_t
give_self(na_plugin_class *cls, const struct ofi_message *message)
{
    na_plugin_ctx *target = cls->contexts[message->header.target_ctx];

    if (target == NULL && cls->main->apart)
        return ofi_lane_pass(cls, message);
    if (target == NULL) {
        cls->counters.strayed++;
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
is_behind(const na_plugin_class *cls, const struct ofi_header *header,
    const struct ofi_link *end)
{
    struct ofi_link *link = cls->held.head;

    if (header->kind == OFI_HEADER_EXPECTED)
        return false;
    for (; link != end; link = link->next) {
        const struct ofi_op *op = OFI_OBJECT(link, struct ofi_op, keyed.link);
        if (op->own_kind == OFI_HEADER_UNEXPECTED &&
            op->peer_ctx == header->target_ctx)
            return true;
    }
    return false;
}

/* Sends to oneself that waited for room; in order for each context. */
void
ofi_match_retry(na_plugin_class *cls)
{
    struct ofi_link *next = NULL;

    for (struct ofi_link *link = cls->held.head; link != NULL; link = next) {
        struct ofi_op *op = OFI_OBJECT(link, struct ofi_op, keyed.link);
        const struct ofi_message message = {.header = {.kind = op->own_kind,
                                                .source_ctx = op->own_ctx,
                                                .target_ctx = op->peer_ctx,
                                                .tag = op->tag},
            .from = cls->self,
            .data = op->buffer,
            .length = (uint32_t) op->length};
        next = link->next;
        if (!is_behind(cls, &message.header, link) &&
            give_self(cls, &message) == NA_PLUGIN_DONE) {
            ofi_list_remove(&cls->held, &op->keyed.link);
            ofi_ctx_end(op->ctx, op, NA_PLUGIN_OK);
        } else if (!cls->main->apart)
            return; /* so is it for those behind it */
    }
}

/* Queued messages to receives that have come. */
static void
serve_queue(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;

    while (ctx->queue.head != NULL) {
        struct ofi_kept *kept =
            OFI_OBJECT(ctx->queue.head, struct ofi_kept, keyed.link);
        const struct ofi_message message = {.header = {.tag = kept->tag},
            .from = kept->from,
            .data = kept->data,
            .length = kept->length};
        if (!take_unexpected(ctx, &message))
            break;
        ofi_list_remove(&ctx->queue, &kept->keyed.link);
        if (kept->rx == NULL)
            cls->kept_bytes -= kept->length + sizeof(*kept);
        forget_kept(cls, kept);
    }
    ofi_match_retry(cls);
}

static int32_t
post_unexpected(
    na_plugin_ctx *ctx, struct ofi_op *op, void *buffer, uint64_t length)
{
    na_plugin_class *cls = ctx->cls;

    ofi_lock_take(&cls->lock);
    int32_t ret = ofi_ctx_promise(ctx);
    if (ret == NA_PLUGIN_OK) {
        op->state = OFI_OP_POSTED;
        op->ctx = ctx;
        op->buffer = buffer;
        op->length = length;
        op->used = 0;
        ofi_list_append(&ctx->recvs, &op->keyed.link);
        if (ctx->queue.head != NULL || cls->held.head != NULL)
            serve_queue(ctx);
        /* what waits for room is for the next poll */
        if (ctx->armed && cls->main->apart && !ofi_inbox_is_empty(cls))
            ofi_wait_rouse(ctx);
    }
    ofi_lock_drop(&cls->lock);
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
    if (length < ctx->cls->max_unexpected)
        return NA_PLUGIN_E_INVALID_ARG;
    op->kind = OFI_OP_RECV_MULTI;
    return post_unexpected(ctx, op, buffer, length);
}

/* BOTH */

bool
ofi_match_deliver(na_plugin_class *cls, const struct ofi_message *message)
{
    na_plugin_ctx *ctx = cls->contexts[message->header.target_ctx];

    if (ctx == NULL && ofi_lane_is_of(cls, message->header.target_ctx))
        return ofi_lane_forward(cls, message);
    if (ctx == NULL) {
        cls->counters.strayed++;
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
    na_plugin_class *cls = ctx->cls;
    const struct ofi_message message = {.header = *header,
        .from = cls->self,
        .data = buffer,
        .length = (uint32_t) length};

    cls->counters.to_self++;
    if (!is_behind(cls, header, NULL) &&
        give_self(cls, &message) == NA_PLUGIN_DONE)
        return NA_PLUGIN_DONE;
    if (cls->no_retry)
        return NA_PLUGIN_E_AGAIN;
    int32_t ret = ofi_ctx_promise(ctx);
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
    ofi_list_append(&cls->held, &op->keyed.link);
    return NA_PLUGIN_PENDING;
}

void
ofi_match_cancel(na_plugin_ctx *ctx, struct ofi_op *op, int32_t status)
{
    switch (op->kind) {
    case OFI_OP_RECV_UNEXPECTED:
    case OFI_OP_RECV_MULTI:
        ofi_list_remove(&ctx->recvs, &op->keyed.link);
        break;
    case OFI_OP_RECV_EXPECTED:
        ofi_table_remove(&ctx->posted, &op->keyed);
        unlist(ctx->cls, op);
        break;
    default:
        ofi_list_remove(&ctx->cls->held, &op->keyed.link);
        break;
    }
    ofi_ctx_end(ctx, op, status);
}

void
ofi_match_lose(na_plugin_addr *peer, int32_t status)
{
    while (peer->receives.head != NULL) {
        struct ofi_op *op =
            OFI_OBJECT(peer->receives.head, struct ofi_op, by_peer);
        ofi_match_cancel(op->ctx, op, status);
    }
}

void
ofi_match_forget(na_plugin_class *cls, const na_plugin_addr *from)
{
    for (uint32_t i = 0; i < OFI_CONTEXTS; i++) {
        na_plugin_ctx *ctx = cls->contexts[i];
        struct ofi_link *next = NULL;
        for (struct ofi_link *link = ctx != NULL ? ctx->early.head : NULL;
             link != NULL; link = next) {
            struct ofi_kept *kept = OFI_OBJECT(link, struct ofi_kept, by_age);
            next = link->next;
            if (kept->from != from)
                continue;
            early_remove(ctx, kept);
            forget_kept(cls, kept);
            cls->counters.dropped_expected++;
        }
    }
}

void
ofi_match_abandon(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    struct ofi_link *next = NULL;

    while (ctx->recvs.head != NULL)
        ofi_match_cancel(ctx,
            OFI_OBJECT(ctx->recvs.head, struct ofi_op, keyed.link),
            NA_PLUGIN_E_CANCELED);
    for (size_t i = 0; i < (size_t) 1 << (64 - ctx->posted.shift); i++)
        while (ctx->posted.buckets[i].head != NULL)
            ofi_match_cancel(ctx,
                OFI_OBJECT(
                    ctx->posted.buckets[i].head, struct ofi_op, keyed.link),
                NA_PLUGIN_E_CANCELED);
    for (struct ofi_link *link = cls->held.head; link != NULL; link = next) {
        struct ofi_op *op = OFI_OBJECT(link, struct ofi_op, keyed.link);
        next = link->next;
        if (op->ctx == ctx)
            ofi_match_cancel(ctx, op, NA_PLUGIN_E_CANCELED);
    }
    while (ctx->queue.head != NULL) {
        struct ofi_kept *kept =
            OFI_OBJECT(ofi_list_pop(&ctx->queue), struct ofi_kept, keyed.link);
        if (kept->rx == NULL)
            cls->kept_bytes -= kept->length + sizeof(*kept);
        forget_kept(cls, kept);
    }
    while (ctx->early.head != NULL) {
        struct ofi_kept *kept =
            OFI_OBJECT(ctx->early.head, struct ofi_kept, by_age);
        early_remove(ctx, kept);
        forget_kept(cls, kept);
    }
}
