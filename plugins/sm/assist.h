/* SPDX-License-Identifier: BSD-3-Clause */
/* Large puts and gets that the owner of the memory helps with: the initiator's
 * end. */
#ifndef SM_ASSIST_H
#define SM_ASSIST_H

#include "conn.h"
#include "context.h"
#include "move.h"
#include "registration.h"

#define SM_ASSIST_LEAST                                                        \
    (UINT64_C(128) << 10) /* bytes that an owner helps with */

/* The same for this memory: more if it can be mapped, since the initiator then
 * copies without a system call, mostly within its processor's caches. */
static inline uint64_t
sm_assist_least(const na_plugin_mem *remote)
{
    return remote->shared != 0 ? UINT64_C(2) * SM_RANGE_PIECE : SM_ASSIST_LEAST;
}

/* Whether the peer helps with operations like this one. [conn->lock] */
static inline bool
sm_assist_offered(const struct sm_conn *conn, const struct sm_op *op)
{
    return !conn->unassisted &&
           (op->kind == SM_OP_PUT ? conn->assists_puts : conn->assists);
}

/* Asks the owner to copy its share of the operation's next range; false: it would
 * not, sleeps, or helps another one. [rma_lock, conn->lock] */
bool sm_assist_begin(
    na_plugin_ctx *ctx, struct sm_op *op, struct sm_conn *conn);

/* Does a slice of the initiator's share of ctx->range, of up to length bytes or one
 * piece: OK; AGAIN, if the owner has not copied all of its own; or an error.
 * ctx->range.op is NULL when the range has been copied. [rma_lock] */
int32_t sm_assist_slice(
    na_plugin_ctx *ctx, struct sm_target *target, uint64_t length);

/* Ends the range, so that the owner takes no more pieces; false: it may still be
 * copying one. [rma_lock] */
bool sm_assist_stop(na_plugin_ctx *ctx);

/* The same, and waits for it, before the context is destroyed; no other range
 * begins. A peer that is stopped holds it up until it goes on or ends. */
void sm_assist_await(na_plugin_ctx *ctx);

/* The connection of a range ends: takes over its socket. [progress, conn->lock] */
void sm_assist_lose(na_plugin_class *cls, struct sm_conn *conn);

#endif /* SM_ASSIST_H */
