/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages on their way out: the plugin's copies, so that no device ever looks
 * into a buffer of the core's. */
#ifndef OFI_SEND_H
#define OFI_SEND_H

#include "types.h"

/* The operations of the ABI. */
int32_t ofi_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t ofi_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);

/* The rest under the lock. */

/* Asks a peer for a sign of life; answers one. */
void ofi_send_ping(struct ofi_endpoint *ep, struct ofi_peer *peer);
/* One whose number comes back with the pong: that number, 0 if it could not be
 * sent. */
uint32_t ofi_send_ask(struct ofi_endpoint *ep, struct ofi_peer *peer);
void ofi_send_pong(struct ofi_endpoint *ep, struct ofi_peer *peer);

/* Tells a peer of another endpoint of the class. */
void ofi_send_endpoint(struct ofi_endpoint *ep, struct ofi_peer *peer,
    const struct ofi_endpoint *other);

/* One that means nothing, and is counted in endpoint.flushes until it has left. False:
 * it could not be sent. */
bool ofi_send_flush(struct ofi_endpoint *ep, struct ofi_peer *peer);

/* Offers libfabric again what it would not take for a peer. */
void ofi_send_retry(struct ofi_endpoint *ep, struct ofi_peer *peer);

/* Ends all to a peer. */
void ofi_send_lose(
    struct ofi_endpoint *ep, struct ofi_peer *peer, int32_t status);

/* Ends an operation that libfabric does not have yet; one that it has stays. */
void ofi_send_cancel(na_plugin_ctx *ctx, struct ofi_op *op);

/* Drops what the context's operations have not submitted, and forgets the
 * operations. */
void ofi_send_abandon(na_plugin_ctx *ctx);

#endif /* OFI_SEND_H */
