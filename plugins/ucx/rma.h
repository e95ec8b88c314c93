/* SPDX-License-Identifier: BSD-3-Clause */
/* Put and get: which way they go, and those that UCX does. */
#ifndef UCX_RMA_H
#define UCX_RMA_H

#include "ucx.h"

/* Takes a put or get away that waits, or whose answers do. False: UCX has it.
 * [lock] */
bool ucx_rma_withdraw(na_plugin_class *cls, struct ucx_op *op);

/* Ends those of a context that UCX has. [lock] */
void ucx_rma_end_flights(na_plugin_ctx *ctx);

/* The operations of the table. */
int32_t ucx_put(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);
int32_t ucx_get(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);

#endif /* UCX_RMA_H */
