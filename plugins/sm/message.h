/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages: their buffers, sending and posting receives. */
#ifndef SM_MESSAGE_H
#define SM_MESSAGE_H

#include "sm.h"

/* Functions of the ABI. */
int32_t sm_buf_alloc(na_plugin_class *cls, uint64_t length, uint32_t kinds,
    void **buffer_p, void **buffer_data_p);
void sm_buf_free(na_plugin_class *cls, void *buffer, void *buffer_data);
int32_t sm_buf_init(
    na_plugin_class *cls, void *buffer, uint64_t length, uint32_t kind);
int32_t sm_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t sm_recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags);
int32_t sm_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t sm_recv_expected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);

/* The same for a class that has one thread at once. */
int32_t sm_send_unexpected_single(na_plugin_ctx *ctx, void *op,
    const void *buffer, uint64_t length, void *buffer_data,
    na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag, uint32_t flags);
int32_t sm_recv_unexpected_single(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags);
int32_t sm_send_expected_single(na_plugin_ctx *ctx, void *op,
    const void *buffer, uint64_t length, void *buffer_data,
    na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag, uint32_t flags);
int32_t sm_recv_expected_single(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);

#endif /* SM_MESSAGE_H */
