/* SPDX-License-Identifier: BSD-3-Clause */
/* A message is copied, and its send is over, unless the peer's window is full or
 * MPI has many already: then the operation waits, with the caller's buffer. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "message.h"
#include "op.h"
#include "peer.h"

/* A kept message has been received, or never will be. */
static void
forget(void *arg, struct tp_kept *kept, bool dropped)
{
    const na_plugin_ctx *ctx = arg;

    if (kept->place != 0) {
        kept->from->kept[ctx->id]--;
        nampi_peer_owe(kept->from, ctx->id);
    }
    if (dropped)
        tp_count(&ctx->cls->counters.dropped, 1);
    nampi_peer_release(kept->from);
    free(kept);
}

int32_t
nampi_recv_init(na_plugin_ctx *ctx)
{
    ctx->match.quota = &ctx->quota;
    ctx->match.forget = forget;
    ctx->match.arg = ctx;
    return tp_match_init(&ctx->match);
}

void
nampi_recv_fini(na_plugin_ctx *ctx)
{
    tp_match_fini(&ctx->match);
}

/* Copies a message to MPI. NOMEM, HOSTUNREACH. */
static int32_t
submit(na_plugin_addr *peer, const struct nampi_op *op, uint32_t from_ctx,
    const void *buffer, uint32_t length)
{
    struct nampi_send *send = nampi_send_new(length);

    if (send == NULL)
        return NA_PLUGIN_E_NOMEM;
    send->head.kind = op->kind;
    send->head.from_ctx = (uint8_t) from_ctx;
    send->head.to_ctx = op->peer_ctx;
    send->head.value = op->tag;
    if (length != 0)
        memcpy(send->data, buffer, length);
    if (op->kind == NAMPI_UNEXPECTED)
        peer->used[op->peer_ctx]++;
    return nampi_send_to(peer, send);
}

static void
submit_waiting(struct nampi_op *op)
{
    int32_t ret = submit(
        op->peer, op, op->ctx->id, op->recv.buffer, (uint32_t) op->recv.length);

    nampi_op_end(op, ret);
}

static bool
has_credit(const na_plugin_addr *peer, uint32_t ctx)
{
    return peer->used[ctx] < NAMPI_WINDOW;
}

/* Whether MPI may have more messages to a peer. */
static bool
is_open(const na_plugin_addr *peer)
{
    return peer->life != 0 && peer->sending < NAMPI_SENDS;
}

static bool
lacks_credit(const struct nampi_op *op)
{
    return op->kind == NAMPI_UNEXPECTED && !has_credit(op->peer, op->peer_ctx);
}

/* An operation in peer->waiting waits for something else. */
static void
await_credit(struct nampi_op *op)
{
    tp_list_remove(&op->peer->waiting, &op->queued);
    tp_list_append(&op->peer->uncredited, &op->queued);
    op->state = NAMPI_WAITS_CREDIT;
}

void
nampi_message_advance(na_plugin_addr *peer)
{
    while (peer->waiting.head != NULL && is_open(peer)) {
        struct nampi_op *op = nampi_op_of_queued(peer->waiting.head);
        if (lacks_credit(op))
            await_credit(op);
        else
            submit_waiting(op);
    }
}

void
nampi_message_credit(na_plugin_addr *peer, uint32_t ctx)
{
    struct tp_link *next;

    for (struct tp_link *link = peer->uncredited.head;
         link != NULL && has_credit(peer, ctx); link = next) {
        struct nampi_op *op = nampi_op_of_queued(link);
        next = link->next;
        if (op->peer_ctx == ctx)
            submit_waiting(op);
    }
}

void
nampi_message_lose(na_plugin_addr *peer, int32_t status)
{
    na_plugin_class *cls = peer->cls;
    struct tp_link *link;

    while ((link = peer->waiting.head) != NULL ||
           (link = peer->uncredited.head) != NULL)
        nampi_op_end(nampi_op_of_queued(link), status);
    for (uint32_t i = 0; i < NAMPI_CONTEXTS; i++) {
        struct tp_list list = {NULL, NULL};
        if (cls->contexts[i] == NULL)
            continue;
        tp_table_take_all(&cls->contexts[i]->match.posted, peer, &list);
        while ((link = tp_list_pop(&list)) != NULL) {
            struct nampi_op *op =
                TP_OBJECT(tp_recv_of(link), struct nampi_op, recv);
            const na_plugin_event event = {.op = op, .status = status};
            nampi_op_report(op, &event);
        }
        tp_match_drop_owner(&cls->contexts[i]->match, peer);
    }
}

/* Waits in a list of the peer. */
static int32_t
wait_for_peer(struct nampi_op *op, na_plugin_ctx *ctx, const void *buffer,
    uint64_t length)
{
    if (!nampi_op_begin(ctx, op))
        return NA_PLUGIN_E_NOMEM;
    op->recv.buffer = (void *) (uintptr_t) buffer;
    op->recv.length = length;
    op->state = NAMPI_WAITS;
    tp_list_append(&op->peer->waiting, &op->queued);
    tp_list_append(&ctx->pending, &op->pending);
    tp_count(&ctx->cls->counters.waited, 1);
    if (op->peer->life == 0)
        nampi_peer_contact(op->peer);
    else if (lacks_credit(op))
        await_credit(op);
    return NA_PLUGIN_PENDING;
}

static int32_t
submit_or_wait(na_plugin_ctx *ctx, struct nampi_op *op, const void *buffer,
    uint32_t length)
{
    na_plugin_addr *peer = op->peer;

    if (!is_open(peer) || peer->waiting.head != NULL || lacks_credit(op))
        return wait_for_peer(op, ctx, buffer, length);
    int32_t ret = submit(peer, op, ctx->id, buffer, length);
    return ret == NA_PLUGIN_OK ? NA_PLUGIN_DONE : ret;
}

/* Whether what a submission says is within the limits. */
static int32_t
check(const na_plugin_class *cls, uint32_t peer_ctx, uint64_t tag)
{
    if (peer_ctx < NAMPI_CONTEXTS && tag <= UINT32_MAX)
        return NA_PLUGIN_OK;
    TP_LOG(cls->host, ERROR,
        "context %" PRIu32 " of at most %u, tag %" PRIu64
        " of at most %" PRIu32,
        peer_ctx, NAMPI_CONTEXTS - 1, tag, UINT32_MAX);
    return NA_PLUGIN_E_INVALID_ARG;
}

static int32_t
send_message(na_plugin_ctx *ctx, struct nampi_op *op, uint8_t kind,
    const void *buffer, uint64_t length, na_plugin_addr *peer,
    uint32_t peer_ctx, uint64_t tag)
{
    const na_plugin_class *cls = ctx->cls;
    uint32_t most =
        kind == NAMPI_UNEXPECTED ? cls->max_unexpected : cls->max_expected;

    int32_t ret = check(cls, peer_ctx, tag);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (length > most) {
        TP_LOG(cls->host, ERROR,
            "message of %" PRIu64 " bytes; at most %" PRIu32, length, most);
        return NA_PLUGIN_E_MSGSIZE;
    }
    tp_lock_take(&nampi_lock);
    op->kind = kind;
    op->peer = peer;
    op->peer_ctx = (uint8_t) peer_ctx;
    op->tag = (uint32_t) tag;
    ret = submit_or_wait(ctx, op, buffer, (uint32_t) length);
    tp_lock_drop(&nampi_lock);
    return ret;
}

int32_t
nampi_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    return send_message(
        ctx, op, NAMPI_UNEXPECTED, buffer, length, peer, peer_ctx, tag);
}

int32_t
nampi_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    return send_message(
        ctx, op, NAMPI_EXPECTED, buffer, length, peer, peer_ctx, tag);
}

/* Posts a receive, or fills it from a message that is here. */
static void
post(struct nampi_op *op, na_plugin_ctx *ctx, bool unexpected)
{
    struct tp_kept *kept =
        unexpected ? tp_match_post_unexpected(&ctx->match, &op->recv)
                   : tp_match_post_expected(&ctx->match, &op->recv);

    op->state =
        unexpected ? NAMPI_RECEIVES_UNEXPECTED : NAMPI_RECEIVES_EXPECTED;
    if (kept == NULL)
        return;
    nampi_op_fill(op, kept->data, kept->length, kept->tag,
        unexpected ? kept->from : NULL);
    forget(ctx, kept, false);
}

static int32_t
receive(na_plugin_ctx *ctx, struct nampi_op *op, void *buffer, uint64_t length,
    na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag)
{
    int32_t ret = NA_PLUGIN_E_NOMEM;

    tp_lock_take(&nampi_lock);
    if (!nampi_op_begin(ctx, op))
        goto drop_lock;
    ret = NA_PLUGIN_PENDING;
    op->peer = peer;
    op->recv.buffer = buffer;
    op->recv.length = length;
    op->recv.keyed.owner = peer;
    op->recv.keyed.key = tp_match_key(peer_ctx, (uint32_t) tag);
    post(op, ctx, peer == NULL);
    /* Nobody says farewell to strangers. */
    if (peer != NULL)
        nampi_peer_contact(peer);
drop_lock:
    tp_lock_drop(&nampi_lock);
    return ret;
}

int32_t
nampi_recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags)
{
    return receive(ctx, op, buffer, length, NULL, 0, 0);
}

int32_t
nampi_recv_expected(na_plugin_ctx *ctx, void *op, void *buffer, uint64_t length,
    void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t flags)
{
    int32_t ret = check(ctx->cls, peer_ctx, tag);

    return ret == NA_PLUGIN_OK
               ? receive(ctx, op, buffer, length, peer, peer_ctx, tag)
               : ret;
}

static void
deliver(na_plugin_ctx *ctx, na_plugin_addr *peer, struct tp_message *message,
    bool unexpected)
{
    struct tp_recv *recv;

    enum tp_outcome outcome =
        tp_match_deliver(&ctx->match, message, unexpected, &recv);
    if (recv != NULL) {
        nampi_op_fill(TP_OBJECT(recv, struct nampi_op, recv), message->data,
            message->length, message->tag, unexpected ? peer : NULL);
    } else if (outcome == TP_KEPT) {
        tp_addr_hold(&peer->addr, false);
        if (unexpected) {
            peer->kept[ctx->id]++;
            tp_count(&ctx->cls->counters.queued, 1);
            return;
        }
    } else {
        TP_LOG(ctx->cls->host, WARNING, "no memory: a message is lost");
        tp_count(&ctx->cls->counters.dropped, 1);
    }
    if (unexpected)
        nampi_peer_owe(peer, ctx->id);
}

void
nampi_message_take(na_plugin_addr *peer, const struct nampi_wire *head,
    const unsigned char *data)
{
    na_plugin_class *cls = peer->cls;
    na_plugin_ctx *ctx = cls->contexts[head->to_ctx];
    bool unexpected = head->kind == NAMPI_UNEXPECTED;
    struct tp_message message = {.owner = peer,
        .key = tp_match_key(head->from_ctx, head->value),
        .from = peer,
        .data = data,
        .length = head->length,
        .tag = head->value,
        .place = unexpected ? 1 : 0};

    if (ctx == NULL) {
        tp_count(&cls->counters.strayed, 1);
        TP_LOG(cls->host, INFO,
            "rank %u writes to context %u, which is not there",
            (unsigned) peer->name.rank, head->to_ctx);
        if (unexpected)
            nampi_peer_owe(peer, head->to_ctx);
    } else if (unexpected && peer->kept[ctx->id] >= 4 * NAMPI_WINDOW) {
        tp_count(&cls->counters.malformed, 1);
        TP_LOG(cls->host, INFO, "rank %u exceeds its window: message dropped",
            (unsigned) peer->name.rank);
    } else {
        deliver(ctx, peer, &message, unexpected);
    }
}
