/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, and puts and gets by messages. The functions of the ABI take
 * nampi_lock, all others are called under it. */
#ifndef NAMPI_RMA_H
#define NAMPI_RMA_H

#include "class.h"

/* Begins chunks of transfers as far as the peer's window has room. */
void nampi_rma_advance(na_plugin_addr *peer);

/* An answer of the peer, at the origin; a chunk of it, at the target. */
void nampi_rma_take(na_plugin_addr *peer, const struct nampi_wire *head,
    const unsigned char *data);
void nampi_target_take(na_plugin_addr *peer, const struct nampi_wire *head,
    const unsigned char *data);

/* Ends transfers with a peer. */
void nampi_rma_lose(na_plugin_addr *peer, int32_t status);

int32_t nampi_put(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);
int32_t nampi_get(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);

int32_t nampi_mem_register(na_plugin_class *cls, const na_plugin_mem_info *info,
    na_plugin_mem **mem_p);
void nampi_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem);
int32_t nampi_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem,
    void *buffer, uint64_t *size_p);
int32_t nampi_mem_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_mem **mem_p);
void nampi_mem_remote_free(na_plugin_class *cls, na_plugin_mem *mem);

#endif /* NAMPI_RMA_H */
