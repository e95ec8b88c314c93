/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages: sends, receives, and what arrives. The functions of the ABI take
 * nampi_lock, all others are called under it. */
#ifndef NAMPI_MESSAGE_H
#define NAMPI_MESSAGE_H

#include "class.h"

int32_t nampi_recv_init(na_plugin_ctx *ctx);
void nampi_recv_fini(na_plugin_ctx *ctx);

/* Brings a message to its context. */
void nampi_message_take(na_plugin_addr *peer, const struct nampi_wire *head,
    const unsigned char *data);

/* Sends what has waited for MPI; for room in a context of the peer. */
void nampi_message_advance(na_plugin_addr *peer);
void nampi_message_credit(na_plugin_addr *peer, uint32_t ctx);

/* Ends waiting sends to a peer, and expected receives from it. */
void nampi_message_lose(na_plugin_addr *peer, int32_t status);

int32_t nampi_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t nampi_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t nampi_recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags);
int32_t nampi_recv_expected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);

#endif /* NAMPI_MESSAGE_H */
