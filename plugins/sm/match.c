/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives that end, and messages that are kept. */
#include <stdlib.h>

#include "address.h"
#include "match.h"
#include "ring.h"

/* A kept message has been received, or never will be. */
static void
forget(void *arg, struct tp_kept *kept, bool dropped)
{
    na_plugin_class *cls = ((na_plugin_ctx *) arg)->cls;

    if (dropped)
        tp_count_shared(&cls->counters.dropped, 1);
    sm_addr_free(cls, kept->from);
    free(kept);
}

int32_t
sm_match_init(na_plugin_ctx *ctx)
{
    ctx->quota = (struct tp_quota){.limit = ctx->cls->queue_limit};
    ctx->match.quota = &ctx->quota;
    ctx->match.forget = forget;
    ctx->match.arg = ctx;
    return tp_match_init(&ctx->match);
}

/* Ends a receive with a message, or with an error if that is too long for it. */
static void
fill(na_plugin_ctx *ctx, struct sm_op *op, const void *data, uint32_t length,
    uint32_t tag, na_plugin_addr *source, na_plugin_event *event)
{
    if (length <= op->recv.length) {
        if (source != NULL)
            sm_addr_hold(ctx->cls, source);
        sm_match_end(op, length, tag, source, event);
        sm_ring_copy(op->recv.buffer, data, length);
        return;
    }
    const na_plugin_addr *from = source != NULL ? source : op->recv.keyed.owner;
    TP_LOG_THINNED(ctx->cls->host, INFO,
        tp_count_shared(&ctx->cls->counters.too_long, 1),
        "%s, context %u: message of %u bytes too long for a receive of %u",
        from->name, (unsigned) ctx->id, (unsigned) length,
        (unsigned) op->recv.length);
    sm_op_set(op, SM_OP_IDLE);
    *event = (na_plugin_event){.op = op, .status = NA_PLUGIN_E_MSGSIZE};
}

enum tp_outcome
sm_match_message(na_plugin_ctx *ctx, const struct tp_message *message,
    bool unexpected, na_plugin_event *event)
{
    struct sm_counters *counters = &ctx->cls->counters;
    struct tp_recv *recv;

    enum tp_outcome outcome =
        tp_match_deliver(&ctx->match, message, unexpected, &recv);
    if (recv != NULL) {
        struct sm_op *op = sm_op_of(&recv->keyed.link);
        fill(ctx, op, message->data, message->length, message->tag,
            unexpected ? message->from : NULL,
            event != NULL ? event : &op->result);
        if (event == NULL)
            sm_ctx_ready(ctx, op);
        return TP_MATCHED;
    }
    if (outcome == TP_KEPT)
        sm_addr_hold(ctx->cls, message->from);
    if (outcome == TP_KEPT && unexpected)
        tp_count_shared(&counters->queued, 1);
    if (outcome == TP_NO_MEMORY && !unexpected)
        tp_count_shared(&counters->dropped, 1);
    /* without memory the sender is held back as if there were no room */
    if (outcome == TP_NO_MEMORY && unexpected && message->place == 0)
        return TP_FULL;
    return outcome;
}

/* Ends a receive with a kept message, NULL if there is none; whether it did. */
static bool
fill_kept(na_plugin_ctx *ctx, struct sm_op *op, struct tp_kept *kept,
    na_plugin_addr *source)
{
    if (kept == NULL)
        return false;
    fill(ctx, op, kept->data, kept->length, kept->tag, source, &op->result);
    forget(ctx, kept, false);
    return true;
}

bool
sm_match_take_queued(na_plugin_ctx *ctx, struct sm_op *op)
{
    struct tp_kept *kept = tp_match_take_queued(&ctx->match);

    return fill_kept(ctx, op, kept, kept != NULL ? kept->from : NULL);
}

bool
sm_match_take_early(na_plugin_ctx *ctx, struct sm_op *op)
{
    return fill_kept(
        ctx, op, tp_match_take_early(&ctx->match, &op->recv), NULL);
}

void
sm_match_end_peer(
    na_plugin_class *cls, const na_plugin_addr *peer, int32_t status, bool drop)
{
    na_plugin_ctx *ctx;

    for (uint32_t i = 0; (ctx = sm_class_next(cls, &i)) != NULL;) {
        struct tp_list list = {NULL, NULL};
        tp_lock_take(&ctx->lock);
        if (ctx->alive)
            tp_match_take_all(&ctx->match, peer, &list);
        if (ctx->alive && drop)
            tp_match_drop_owner(&ctx->match, peer);
        for (struct tp_link *link = list.head; link != NULL; link = link->next)
            sm_op_set(sm_op_of(link), SM_OP_READY);
        tp_lock_drop(&ctx->lock);
        sm_ctx_finish_all(&list, status);
    }
}

void
sm_match_rename(
    na_plugin_class *cls, const na_plugin_addr *from, const na_plugin_addr *to)
{
    na_plugin_ctx *ctx;

    for (uint32_t i = 0; (ctx = sm_class_next(cls, &i)) != NULL;) {
        struct tp_list renamed = {NULL, NULL};
        struct tp_link *link;
        tp_lock_take(&ctx->lock);
        if (ctx->alive)
            tp_match_take_all(&ctx->match, from, &renamed);
        while ((link = tp_list_pop(&renamed)) != NULL) {
            struct sm_op *op = sm_op_of(link);
            op->recv.keyed.owner = to;
            if (sm_match_take_early(ctx, op))
                sm_ctx_ready(ctx, op);
            else
                sm_match_post_expected(ctx, op);
        }
        tp_lock_drop(&ctx->lock);
    }
}
