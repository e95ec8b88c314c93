/* SPDX-License-Identifier: BSD-3-Clause */
/* Matching: a queue for unexpected messages, hash tables by peer, context and
 * tag for expected ones. What comes first waits, within bounds. */
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "match.h"

#define EARLY_MESSAGES 256U
#define EARLY_BYTES (256U << 10)

int32_t
sm_match_init(na_plugin_ctx *ctx)
{
    if (sm_table_init(&ctx->posted) != NA_PLUGIN_OK)
        return NA_PLUGIN_E_NOMEM;
    if (sm_table_init(&ctx->early) != NA_PLUGIN_OK) {
        sm_table_fini(&ctx->posted);
        return NA_PLUGIN_E_NOMEM;
    }
    return NA_PLUGIN_OK;
}

static void
kept_free(na_plugin_class *cls, struct sm_kept *kept)
{
    sm_addr_release(cls, kept->from);
    free(kept);
}

/* Copies a message to keep it. */
static struct sm_kept *
kept_make(na_plugin_class *cls, const struct sm_message *message)
{
    struct sm_kept *kept =
        malloc(sizeof(*kept) + sm_ring_length(message->word));
    if (kept == NULL)
        return NULL;

    sm_addr_hold(cls, message->from);
    kept->from = message->from;
    kept->length = sm_ring_length(message->word);
    kept->tag = message->tag;
    kept->link.peer = message->from;
    kept->link.key = sm_match_key(sm_ring_source(message->word), message->tag);
    if (sm_ring_length(message->word) != 0)
        memcpy(kept->data, message->data, sm_ring_length(message->word));
    return kept;
}

/* A kept expected message has left its table: also out of the order of age. */
static void
early_removed(na_plugin_ctx *ctx, struct sm_kept *kept)
{
    if (kept->older != NULL)
        kept->older->newer = kept->newer;
    else
        ctx->oldest = kept->newer;
    if (kept->newer != NULL)
        kept->newer->older = kept->older;
    else
        ctx->newest = kept->older;
    ctx->early_bytes -= kept->length;
}

static void
early_free(na_plugin_ctx *ctx, struct sm_kept *kept)
{
    sm_table_remove(&ctx->early, &kept->link);
    early_removed(ctx, kept);
    kept_free(ctx->cls, kept);
}

/* Keeps an expected message that has no receive yet; the oldest give way. */
static enum sm_fate
early_keep(na_plugin_ctx *ctx, const struct sm_message *message)
{
    while (
        ctx->oldest != NULL &&
        (ctx->early.count >= EARLY_MESSAGES ||
            ctx->early_bytes + sm_ring_length(message->word) > EARLY_BYTES)) {
        early_free(ctx, ctx->oldest);
        sm_count_shared(&ctx->cls->counters.dropped, 1);
    }

    struct sm_kept *kept = kept_make(ctx->cls, message);
    if (kept == NULL) {
        sm_count_shared(&ctx->cls->counters.dropped, 1);
        return SM_FATE_LOST;
    }
    sm_table_insert(&ctx->early, &kept->link);
    kept->newer = NULL;
    kept->older = ctx->newest;
    if (ctx->newest != NULL)
        ctx->newest->newer = kept;
    else
        ctx->oldest = kept;
    ctx->newest = kept;
    ctx->early_bytes += kept->length;
    return SM_FATE_KEPT;
}

bool
sm_match_has_room(const na_plugin_ctx *ctx, uint32_t length)
{
    return ctx->queue.head == NULL ||
           ctx->queue_bytes + length <= ctx->cls->queue_limit;
}

/* Queues an unexpected message. Without memory for it the sender is held back
 * as if there were no room. */
static enum sm_fate
queue_keep(na_plugin_ctx *ctx, const struct sm_message *message)
{
    if (!message->insist &&
        !sm_match_has_room(ctx, sm_ring_length(message->word)))
        return SM_FATE_BLOCKED;

    struct sm_kept *kept = kept_make(ctx->cls, message);
    if (kept == NULL)
        return message->insist ? SM_FATE_LOST : SM_FATE_BLOCKED;
    sm_list_append(&ctx->queue, &kept->link);
    ctx->queue_bytes += kept->length + sizeof(*kept);
    sm_count_shared(&ctx->cls->counters.queued, 1);
    return SM_FATE_KEPT;
}

/* Ends a receive with a message, or with an error if that is too long for it;
 * whose it is goes to the event. */
static void
end_recv(na_plugin_ctx *ctx, struct sm_op *op, const void *data,
    uint32_t length, uint32_t tag, na_plugin_addr *source,
    na_plugin_event *event)
{
    if (length <= op->length) {
        if (source != NULL)
            sm_addr_hold(ctx->cls, source);
        sm_match_end(op, length, tag, source, event);
        sm_ring_copy(op->buffer, data, length);
        return;
    }
    TP_LOG(ctx->cls->host, INFO, "message of %u bytes for a receive of %u",
        (unsigned) length, (unsigned) op->length);
    sm_op_set(op, SM_OP_IDLE);
    *event = (na_plugin_event){.op = op, .status = NA_PLUGIN_E_MSGSIZE};
}

enum sm_fate
sm_match_message(na_plugin_ctx *ctx, const struct sm_message *message,
    na_plugin_event *event)
{
    uint64_t word = message->word;
    bool unexpected = sm_ring_kind(word) == SM_RING_UNEXPECTED;
    struct sm_link *link =
        unexpected ? sm_list_pop(&ctx->recvs)
                   : sm_table_take(&ctx->posted, message->from,
                         sm_match_key(sm_ring_source(word), message->tag));
    if (link == NULL)
        return unexpected ? queue_keep(ctx, message) : early_keep(ctx, message);
    end_recv(ctx, (struct sm_op *) link, message->data, sm_ring_length(word),
        message->tag, unexpected ? message->from : NULL, event);
    return SM_FATE_MATCHED;
}

bool
sm_match_take_queued(na_plugin_ctx *ctx, struct sm_op *op)
{
    struct sm_kept *kept = (struct sm_kept *) sm_list_pop(&ctx->queue);
    if (kept == NULL)
        return false;
    ctx->queue_bytes -= kept->length + sizeof(*kept);
    end_recv(
        ctx, op, kept->data, kept->length, kept->tag, kept->from, &op->result);
    kept_free(ctx->cls, kept);
    return true;
}

bool
sm_match_take_early(na_plugin_ctx *ctx, struct sm_op *op)
{
    struct sm_kept *kept = (struct sm_kept *) sm_table_take(
        &ctx->early, op->link.peer, op->link.key);
    if (kept == NULL)
        return false;
    early_removed(ctx, kept);
    end_recv(ctx, op, kept->data, kept->length, kept->tag, NULL, &op->result);
    kept_free(ctx->cls, kept);
    return true;
}

void
sm_match_unpost(na_plugin_ctx *ctx, struct sm_op *op)
{
    if (op->kind == SM_OP_RECV_EXPECTED)
        sm_table_remove(&ctx->posted, &op->link);
    else
        sm_list_remove(&ctx->recvs, &op->link);
}

void
sm_match_take_peer(
    na_plugin_ctx *ctx, const na_plugin_addr *peer, struct sm_list *list)
{
    for (size_t i = 0; i < sm_table_buckets(&ctx->posted); i++) {
        struct sm_link *next;
        for (struct sm_link *link = ctx->posted.buckets[i].head; link != NULL;
             link = next) {
            next = link->next;
            if (link->peer == peer) {
                sm_table_remove(&ctx->posted, link);
                sm_op_set((struct sm_op *) link, SM_OP_READY);
                sm_list_append(list, link);
            }
        }
    }
}

void
sm_match_rename(na_plugin_ctx *ctx, const na_plugin_addr *from,
    const na_plugin_addr *to, struct sm_list *list)
{
    struct sm_list renamed = {NULL, NULL};
    struct sm_link *link;

    sm_match_take_peer(ctx, from, &renamed);
    while ((link = sm_list_pop(&renamed)) != NULL) {
        link->peer = to;
        if (sm_match_take_early(ctx, (struct sm_op *) link))
            sm_list_append(list, link);
        else
            sm_match_post_expected(ctx, (struct sm_op *) link);
    }
}

void
sm_match_drop_peer(na_plugin_ctx *ctx, const na_plugin_addr *peer)
{
    struct sm_kept *newer;
    for (struct sm_kept *kept = ctx->oldest; kept != NULL; kept = newer) {
        newer = kept->newer;
        if (kept->from == peer) {
            early_free(ctx, kept);
            sm_count_shared(&ctx->cls->counters.dropped, 1);
        }
    }
}

void
sm_match_fini(na_plugin_ctx *ctx)
{
    struct sm_kept *kept;

    while ((kept = (struct sm_kept *) sm_list_pop(&ctx->queue)) != NULL)
        kept_free(ctx->cls, kept);
    while (ctx->oldest != NULL)
        early_free(ctx, ctx->oldest);
    sm_table_fini(&ctx->early);
    sm_table_fini(&ctx->posted);
    ctx->queue_bytes = 0;
    ctx->recvs = (struct sm_list){NULL, NULL};
}
