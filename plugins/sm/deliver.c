/* SPDX-License-Identifier: BSD-3-Clause */
/* Records out of a ring, in the general case: any kind, any context, with a
 * receive or without, with room for its event or not. */
#include "deliver.h"
#include "conn.h"
#include "help.h"
#include "match.h"
#include "ready.h"
#include "wake.h"

/* A message for a context that this class does not have. */
static enum sm_fate
stray(na_plugin_class *cls, const struct sm_message *message)
{
    TP_LOG(cls->host, INFO, "message from %s to a context that is not there",
        message->from->name);
    sm_count(&cls->counters.strayed, 1);
    return SM_FATE_LOST;
}

/* Delivers to a context that is not the poller's, or for whose event the batch
 * has no room: into the ready list. */
static enum sm_fate
deliver_elsewhere(na_plugin_ctx *ctx, const struct sm_message *message,
    struct sm_batch *batch)
{
    na_plugin_event event;
    enum sm_fate fate = SM_FATE_LOST;
    bool own = ctx == batch->ctx;

    if (own)
        sm_batch_lock(batch);
    else
        tp_lock_take(&ctx->lock);
    bool alive = ctx->alive;
    if (alive)
        fate = sm_match_message(ctx, message, &event);
    if (fate == SM_FATE_MATCHED) {
        struct sm_op *op = event.op;
        op->result = event;
        sm_ctx_ready(ctx, op);
    }
    if (!own)
        tp_lock_drop(&ctx->lock);
    return alive ? fate : stray(ctx->cls, message);
}

/* A record of a put or get. */
static enum sm_taken
take_help(na_plugin_class *cls, struct sm_conn *conn, uint64_t word)
{
    struct sm_ring_rx *rx = &conn->rx;
    const char *wrong = sm_help_take(
        cls, conn, rx->record + SM_RING_HEADER, sm_ring_length(word));

    if (wrong != NULL) {
        sm_conn_break(cls, conn, wrong);
        return SM_BROKEN;
    }
    conn->blocked = NULL;
    if (sm_ring_advance(rx, sm_ring_length(word)))
        sm_wake_peer(cls, conn);
    return SM_TAKEN;
}

enum sm_taken
sm_deliver_next(na_plugin_class *cls, struct sm_conn *conn,
    struct sm_batch *batch, uint64_t word, bool insist)
{
    struct sm_ring_rx *rx = &conn->rx;
    if (!sm_ring_valid(rx, word)) {
        sm_batch_unlock(batch);
        sm_conn_break(cls, conn, "a record in its ring cannot be");
        return SM_BROKEN;
    }

    if (sm_ring_kind(word) == SM_RING_HELP) {
        sm_batch_unlock(batch);
        return take_help(cls, conn, word);
    }

    na_plugin_ctx *ctx = sm_class_context(cls, sm_ring_target(word));
    struct sm_message message = {
        .from = conn->peer,
        .data = rx->record + SM_RING_HEADER,
        .word = word,
        .tag = sm_ring_tag(rx->record),
        .insist = insist,
    };
    enum sm_fate fate = SM_FATE_LOST;
    if (ctx == NULL)
        stray(cls, &message);
    else if (ctx != batch->ctx || batch->next == batch->end)
        fate = deliver_elsewhere(ctx, &message, batch);
    else {
        sm_batch_lock(batch);
        fate = sm_match_message(ctx, &message, batch->next);
        batch->next += fate == SM_FATE_MATCHED;
    }
    conn->blocked = fate == SM_FATE_BLOCKED ? ctx : NULL;
    if (fate == SM_FATE_BLOCKED)
        return SM_HELD_BACK;
    if (sm_ring_advance(rx, sm_ring_length(word)))
        sm_wake_peer(cls, conn);
    cls->received++;
    return SM_TAKEN;
}

bool
sm_deliver_all(
    na_plugin_class *cls, struct sm_conn *conn, struct sm_batch *batch)
{
    /* a ring holds no more records than lines: a neighbour that goes on
     * writing is not listened to for ever */
    uint32_t left = conn->rx.capacity / SM_RING_LINE;
    enum sm_taken outcome = SM_TAKEN;
    uint64_t word;

    while (left-- != 0 && outcome == SM_TAKEN &&
           (word = sm_ring_peek(&conn->rx)) != 0)
        outcome = sm_deliver_next(cls, conn, batch, word, true);
    sm_batch_unlock(batch);
    return outcome != SM_BROKEN;
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
    bool room = !ctx->alive || sm_match_has_room(ctx, sm_ring_length(word));
    tp_lock_drop(&ctx->lock);
    return room;
}
