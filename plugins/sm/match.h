/* SPDX-License-Identifier: BSD-3-Clause */
/* Bringing messages and receives of a context together, and keeping what has
 * come first. Every function wants the context's lock held. */
#ifndef SM_MATCH_H
#define SM_MATCH_H

#include "address.h"
#include "sm.h"
#include "table.h"

/* A message that has arrived: in a ring, or in the buffer of a sender of this
 * class. */
struct sm_message {
    na_plugin_addr *from; /* the unique name's address */
    const void *data;
    uint64_t word; /* as of a record */
    uint32_t tag;
    bool insist; /* queue it whatever the bound: its sender is no more */
};

/* What became of it. */
enum sm_fate {
    SM_FATE_MATCHED, /* in its receive, whose event has been written */
    SM_FATE_KEPT,    /* copied */
    SM_FATE_BLOCKED, /* the queue is full: leave it where it is */
    SM_FATE_LOST,    /* no memory, or no room of this kind */
};

/* The tables. NOMEM. */
int32_t sm_match_init(na_plugin_ctx *ctx);

/* Frees them, and what has been kept. */
void sm_match_fini(na_plugin_ctx *ctx);

/* Delivers a message. MATCHED: *event_p is the receive's final event, the
 * operation idle. */
enum sm_fate sm_match_message(na_plugin_ctx *ctx,
    const struct sm_message *message, na_plugin_event *event_p);

/* Whether an unexpected message of length would find room in the queue. */
bool sm_match_has_room(const na_plugin_ctx *ctx, uint32_t length);

/* Gives op the oldest queued unexpected message, if there is one: true, and its
 * result is written. */
bool sm_match_take_queued(na_plugin_ctx *ctx, struct sm_op *op);

/* The same for an expected message, whose peer and key stand in op's link. */
bool sm_match_take_early(na_plugin_ctx *ctx, struct sm_op *op);

/* Takes a posted receive, of either kind, away. */
void sm_match_unpost(na_plugin_ctx *ctx, struct sm_op *op);

/* Takes all receives from a peer away, into list. */
void sm_match_take_peer(
    na_plugin_ctx *ctx, const na_plugin_addr *peer, struct sm_list *list);

/* Receives posted for one address of a peer go under its other one; those whose
 * message is there already go into list, their results written. */
void sm_match_rename(na_plugin_ctx *ctx, const na_plugin_addr *from,
    const na_plugin_addr *to, struct sm_list *list);

/* Forgets the kept expected messages of a peer. */
void sm_match_drop_peer(na_plugin_ctx *ctx, const na_plugin_addr *peer);

/* What an expected message is matched by besides its peer. */
static inline uint64_t
sm_match_key(uint32_t source, uint32_t tag)
{
    return (uint64_t) source << 32 | tag;
}

/* Posts a receive for an unexpected message. */
static inline void
sm_match_post_unexpected(na_plugin_ctx *ctx, struct sm_op *op)
{
    sm_op_set(op, SM_OP_POSTED);
    sm_list_append(&ctx->recvs, &op->link);
}

/* The same for an expected one, whose peer and key stand in op's link. */
static inline void
sm_match_post_expected(na_plugin_ctx *ctx, struct sm_op *op)
{
    sm_op_set(op, SM_OP_POSTED);
    sm_table_insert(&ctx->posted, &op->link);
}

/* Ends a receive that is long enough; its final event. source: what the event
 * says, a reference included. */
static inline __attribute__((always_inline)) void
sm_match_end(struct sm_op *op, uint32_t length, uint32_t tag,
    na_plugin_addr *source, na_plugin_event *event)
{
    sm_op_set(op, SM_OP_IDLE);
    event->op = op;
    event->buffer = op->buffer;
    event->length = length;
    event->source = source;
    event->tag = tag;
    event->status = NA_PLUGIN_OK;
    event->flags = NA_PLUGIN_EVENT_MESSAGE;
}

#endif /* SM_MATCH_H */
