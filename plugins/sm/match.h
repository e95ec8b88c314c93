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

/* The same for one that has no receive. */
enum sm_fate sm_match_keep(
    na_plugin_ctx *ctx, const struct sm_message *message);

/* Whether an unexpected message of length would find room in the queue. */
bool sm_match_has_room(const na_plugin_ctx *ctx, uint32_t length);

/* Gives op the oldest queued unexpected message, if there is one: true, and its
 * result is written. Else op is appended to the posted ones. */
bool sm_match_recv_unexpected(na_plugin_ctx *ctx, struct sm_op *op);

/* The same for an expected message, whose peer and key stand in op's link: true
 * if it has come already. Does not post op. */
bool sm_match_take_early(na_plugin_ctx *ctx, struct sm_op *op);

/* Posts a receive for an expected message. */
void sm_match_post(na_plugin_ctx *ctx, struct sm_op *op);

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

/* Takes the receive for a message out of its list or table, NULL without. */
static inline struct sm_op *
sm_match_take(
    na_plugin_ctx *ctx, const na_plugin_addr *from, uint64_t word, uint32_t tag)
{
    if (sm_ring_kind(word) == SM_RING_UNEXPECTED)
        return (struct sm_op *) sm_list_pop(&ctx->recvs);
    return (struct sm_op *) sm_table_take(
        &ctx->posted, from, sm_match_key(sm_ring_source(word), tag));
}

/* Fills a receive, and its final event. */
static inline void
sm_match_fill(struct sm_op *op, const void *data, uint32_t length, uint32_t tag,
    na_plugin_addr *source, na_plugin_event *event)
{
    event->op = op;
    if (__builtin_expect(length > op->length, 0)) {
        *event = (na_plugin_event){.op = op, .status = NA_PLUGIN_E_MSGSIZE};
        return;
    }
    event->buffer = op->buffer;
    event->length = length;
    event->source = source;
    event->tag = tag;
    event->status = NA_PLUGIN_OK;
    event->flags = NA_PLUGIN_EVENT_MESSAGE;
    sm_ring_copy(op->buffer, data, length);
}

/* The sender, with a reference for the event, if op is to report it. */
static inline na_plugin_addr *
sm_match_source(na_plugin_class *cls, const struct sm_op *op,
    na_plugin_addr *from, uint64_t word)
{
    if (sm_ring_kind(word) != SM_RING_UNEXPECTED ||
        sm_ring_length(word) > op->length)
        return NULL;
    sm_addr_hold(cls, from);
    return from;
}

#endif /* SM_MATCH_H */
