/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and receives brought together: a queue for unexpected ones, tables by
 * peer, context and tag for expected ones. */
#ifndef OFI_MATCH_H
#define OFI_MATCH_H

#include "header.h"

/* The operations of the ABI. */
int32_t ofi_recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags);
int32_t ofi_recv_expected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t ofi_recv_multi(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags);

/* The rest under the lock. */

/* Brings it to its receive, or keeps it. True: its rx is still in use. */
bool ofi_match_deliver(
    struct ofi_endpoint *ep, const struct ofi_message *message);

/* Tries again what the class sends to itself and there was no room for. */
void ofi_match_retry(struct ofi_endpoint *ep);

/* A message to oneself: a submission. */
int32_t ofi_match_self(na_plugin_ctx *ctx, struct ofi_op *op,
    const void *buffer, uint64_t length, const struct ofi_header *header);

/* Ends a receive, or a send to oneself, that is posted. */
void ofi_match_cancel(struct ofi_op *op, int32_t status);

/* Ends the receives from a peer. */
void ofi_match_lose(struct ofi_peer *peer, int32_t status);

/* Drops the expected messages of an endpoint whose class is another one now, or is
 * to be forgotten: none of them answers what is sent from now on. */
void ofi_match_forget(struct ofi_endpoint *ep, const struct ofi_peer *from);

/* Of a context; the core ends its receives. */
int32_t ofi_match_init(na_plugin_ctx *ctx);
void ofi_match_fini(na_plugin_ctx *ctx);

#endif /* OFI_MATCH_H */
