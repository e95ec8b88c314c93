/* SPDX-License-Identifier: BSD-3-Clause */
/* Bursts: puts and gets that follow each other without a poll between them. A call
 * of the kernel costs as much as copying some 8 KiB, so the next poll copies
 * several of them by one. */
#ifndef SM_BURST_H
#define SM_BURST_H

#include "context.h"

/* Leaves an operation, whose connection is up, to the next poll. */
void sm_burst_add(na_plugin_ctx *ctx, struct sm_op *op);

/* Copies operations of a context's burst: up to about a MiB, or by one call of the
 * kernel. Those that cannot be copied so go to its queue. False: there were none to
 * copy. [rma_lock] */
bool sm_burst_copy(na_plugin_ctx *ctx, bool once);

/* Takes an operation out of the burst, if it is not being copied; whether it was
 * taken. [ctx->lock] */
bool sm_burst_withdraw(na_plugin_ctx *ctx, struct sm_op *op);

/* Empties the burst without events. [rma_lock, ctx->lock] */
void sm_burst_abandon(na_plugin_ctx *ctx);

#endif /* SM_BURST_H */
