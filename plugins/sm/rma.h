/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote memory access: the kernel copies between the two processes, small
 * transfers at once, large ones slice by slice in polls. */
#ifndef SM_RMA_H
#define SM_RMA_H

#include "context.h"

/* Functions of the ABI. */
typedef int32_t sm_rma_fn(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);
sm_rma_fn sm_put, sm_get;

/* Whether the kernel lets a process as this one copy from and to another of its
 * user: 0, or the errno of its refusal. */
int sm_rma_permitted(void);

/* Bytes of a short slice, some 0.1 ms. */
#define SM_RMA_SLICE (UINT64_C(1) << 20)

/* Copies some of the context's burst. If most is not 0 but at least SM_RMA_SLICE,
 * copies most or all of the burst, and then a slice of the queue: up to SM_RMA_SLICE
 * bytes, or up to most of one long operation that this side copies alone if there was
 * no burst. Returns how many bytes of the queue. If the context has neither, and most
 * is not 0, does that for another one. */
uint64_t sm_rma_advance(na_plugin_ctx *ctx, uint64_t most);

/* Whether a poll would find a slice to do. [progress] */
bool sm_rma_pending(na_plugin_ctx *ctx);

/* Takes an operation out of its context's queue: true; or, if a slice of it is
 * being done, makes that the last one: false. */
bool sm_rma_withdraw(na_plugin_ctx *ctx, struct sm_op *op);

/* Empties a context's queue without events, and waits for a slice that is being
 * done. */
void sm_rma_abandon(na_plugin_ctx *ctx);

#endif /* SM_RMA_H */
