/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages to oneself: from the sender's buffer to the receive, without a
 * ring. */
#ifndef SM_SELF_H
#define SM_SELF_H

#include "context.h"

/* Sends a message to a context of this class, as the submissions of the ABI do.
 * word, tag: as of a record. [any thread] */
int32_t sm_self_send(na_plugin_ctx *ctx, struct sm_op *op, const void *buffer,
    uint64_t word, uint32_t tag);

/* There may be room for the sends that this context holds: the next poll of any
 * context delivers them. [ctx->lock] */
void sm_self_ask(na_plugin_ctx *ctx);

/* Delivers them. [progress] */
void sm_self_refill(na_plugin_class *cls);

#endif /* SM_SELF_H */
