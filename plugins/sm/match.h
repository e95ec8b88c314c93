/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and receives of a context: tp_match with this plugin's operations and
 * events. Functions of a context want its lock held. */
#ifndef SM_MATCH_H
#define SM_MATCH_H

#include "context.h"

/* NOMEM. */
int32_t sm_match_init(na_plugin_ctx *ctx);

/* Delivers a message, owner and from being the unique name's address; place: not
 * 0 to queue it whatever the quota. TP_MATCHED: event is the receive's final event,
 * the operation idle; or, if event is NULL, it is in the ready list. TP_FULL: leave
 * it where it is. */
enum tp_outcome sm_match_message(na_plugin_ctx *ctx,
    const struct tp_message *message, bool unexpected, na_plugin_event *event);

/* Gives op the message that is there for it already, if there is one: true, and
 * its result is written. Expected: owner and key are filled in. */
bool sm_match_take_queued(na_plugin_ctx *ctx, struct sm_op *op);
bool sm_match_take_early(na_plugin_ctx *ctx, struct sm_op *op);

/* In all contexts, taking their locks: ends the receives from a peer; drop: what
 * was kept of it too. [progress] */
void sm_match_end_peer(na_plugin_class *cls, const na_plugin_addr *peer,
    int32_t status, bool drop);

/* In all contexts likewise: receives posted for an alias of a peer become ones for
 * its unique name. [progress] */
void sm_match_rename(
    na_plugin_class *cls, const na_plugin_addr *from, const na_plugin_addr *to);

/* Posts a receive for an unexpected message. */
static inline void
sm_match_post_unexpected(na_plugin_ctx *ctx, struct sm_op *op)
{
    sm_op_set(op, SM_OP_POSTED);
    tp_list_append(&ctx->match.recvs, &op->recv.keyed.link);
}

/* The same for an expected one, owner and key filled in. */
static inline void
sm_match_post_expected(na_plugin_ctx *ctx, struct sm_op *op)
{
    sm_op_set(op, SM_OP_POSTED);
    tp_match_add_posted(&ctx->match, &op->recv.keyed);
}

/* Ends a receive that is long enough; its final event. source: what the event
 * says, a reference included. */
static inline __attribute__((always_inline)) void
sm_match_end(struct sm_op *op, uint32_t length, uint32_t tag,
    na_plugin_addr *source, na_plugin_event *event)
{
    event->op = op;
    event->status = NA_PLUGIN_OK;
    /* Between them: gcc would collect the stores in registers first. */
    sm_op_set(op, SM_OP_IDLE);
    event->buffer = op->recv.buffer;
    event->length = length;
    event->source = source;
    event->tag = tag;
    event->flags = NA_PLUGIN_EVENT_MESSAGE;
}

#endif /* SM_MATCH_H */
