/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets. */
#ifndef OFI_RMA_H
#define OFI_RMA_H

#include "types.h"

/* The operations of the ABI. */
int32_t ofi_rma_put(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);
int32_t ofi_rma_get(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags);

/* The rest under the lock. */

/* Goes on with what libfabric would not take. */
void ofi_rma_retry(struct ofi_endpoint *ep, struct ofi_peer *peer);

/* libfabric will never be done with one: its job ends with this status, or is
 * done once more from its beginning. */
void ofi_rma_forget(
    struct ofi_endpoint *ep, struct ofi_fragment *fragment, int32_t status);

/* A slice of a transfer to oneself. */
void ofi_rma_copy(struct ofi_endpoint *ep);

/* Ends what has not begun; what has ends with its fragments. */
void ofi_rma_cancel(struct ofi_endpoint *ep, struct ofi_op *op);
void ofi_rma_lose(
    struct ofi_endpoint *ep, struct ofi_peer *peer, int32_t status);

/* Takes the memory of a context's puts and gets back from libfabric. */
void ofi_rma_abandon(na_plugin_ctx *ctx, bool settled);

#endif /* OFI_RMA_H */
