/* SPDX-License-Identifier: BSD-3-Clause */
/* Records out of a ring, in the general case: any kind, any context, with a
 * receive or without, with room for its event or not. */
#include "deliver.h"
#include "emulated_rma.h"
#include "match.h"

/* A message for a context that this class does not have. */
static void
log_no_context(na_plugin_class *cls, const struct sm_conn *conn, uint32_t id)
{
    TP_LOG_THINNED(cls->host, INFO, tp_count(&cls->counters.no_context, 1),
        "%s, context %u: message dropped, there is no such context",
        sm_conn_name(conn), (unsigned) id);
}

/* Delivers to a context that is not the poller's, or for whose event the batch
 * has no room: into the ready list. */
static enum tp_outcome
deliver_elsewhere(na_plugin_ctx *ctx, const struct sm_conn *conn,
    const struct tp_message *message, bool unexpected, struct sm_batch *batch)
{
    enum tp_outcome outcome = TP_NO_MEMORY;
    bool own = ctx == batch->ctx;

    if (own)
        sm_batch_lock(batch);
    else
        tp_lock_take(&ctx->lock);
    bool alive = ctx->alive;
    if (alive)
        outcome = sm_match_message(ctx, message, unexpected, NULL);
    if (!own)
        tp_lock_drop(&ctx->lock);
    if (!alive)
        log_no_context(ctx->cls, conn, ctx->id);
    return outcome;
}

/* A record of a put or get; false if it is invalid. */
static bool
take_rma(na_plugin_class *cls, struct sm_conn *conn, uint64_t word)
{
    struct sm_ring_rx *rx = &conn->rx;
    const char *wrong = sm_emulated_take(
        cls, conn, rx->record + SM_RING_HEADER, sm_ring_length(word));

    if (wrong != NULL) {
        sm_conn_break(cls, conn, wrong);
        return false;
    }
    conn->blocked = NULL;
    if (sm_ring_advance(rx, sm_ring_length(word)))
        sm_conn_wake_peer(cls, conn);
    cls->rma_records++;
    return true;
}

bool
sm_deliver_next(na_plugin_class *cls, struct sm_conn *conn,
    struct sm_batch *batch, uint64_t word, bool force)
{
    struct sm_ring_rx *rx = &conn->rx;

    if (!sm_ring_valid(rx, word)) {
        sm_conn_break(cls, conn, "invalid record in its ring");
        return false;
    }
    if (sm_ring_kind(word) == SM_RING_RMA) {
        sm_batch_unlock(batch);
        return take_rma(cls, conn, word);
    }

    na_plugin_ctx *ctx = sm_class_context(cls, sm_ring_target(word));
    bool unexpected = sm_ring_kind(word) == SM_RING_UNEXPECTED;
    uint32_t tag = sm_ring_tag(rx->record);
    struct tp_message message = {
        .owner = conn->peer,
        .key = tp_match_key(sm_ring_source(word), tag),
        .from = conn->peer,
        .data = rx->record + SM_RING_HEADER,
        .length = sm_ring_length(word),
        .tag = tag,
        .place = force,
    };
    enum tp_outcome outcome = TP_NO_MEMORY;
    if (ctx == NULL)
        log_no_context(cls, conn, sm_ring_target(word));
    else if (ctx != batch->ctx || batch->next == batch->end)
        outcome = deliver_elsewhere(ctx, conn, &message, unexpected, batch);
    else {
        sm_batch_lock(batch);
        outcome = sm_match_message(ctx, &message, unexpected, batch->next);
        batch->next += outcome == TP_MATCHED;
    }
    conn->blocked = outcome == TP_FULL ? ctx : NULL;
    if (outcome == TP_FULL)
        return false;
    if (sm_ring_advance(rx, message.length))
        sm_conn_wake_peer(cls, conn);
    cls->received++;
    return true;
}

void
sm_deliver_all(na_plugin_class *cls, struct sm_conn *conn)
{
    struct sm_batch batch = {.ctx = NULL};
    /* a ring holds no more records than lines: a peer that goes on writing does
     * not keep this class busy for ever */
    uint32_t left = conn->rx.capacity / SM_RING_LINE;
    uint64_t word;

    while (left-- != 0 && (word = sm_ring_peek(&conn->rx)) != 0 &&
           sm_deliver_next(cls, conn, &batch, word, true))
        ;
}

bool
sm_deliver_waits(na_plugin_class *cls, struct sm_conn *conn)
{
    uint64_t word = sm_ring_look(&conn->rx);
    if (word == 0)
        return false;

    na_plugin_ctx *ctx = sm_class_context(cls, sm_ring_target(word));
    if (conn->blocked == NULL || conn->blocked != ctx)
        return true;
    tp_lock_take(&ctx->lock);
    bool room =
        !ctx->alive || tp_match_has_room(&ctx->match, sm_ring_length(word));
    tp_lock_drop(&ctx->lock);
    return room;
}
