/* SPDX-License-Identifier: BSD-3-Clause */
/* Put and get: operations of the table. */
#ifndef UCX_RMA_H
#define UCX_RMA_H

#include "na_plugin.h"

int32_t ucx_put(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);
int32_t ucx_get(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);

#endif /* UCX_RMA_H */
