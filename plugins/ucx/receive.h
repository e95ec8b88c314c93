/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving: what UCX calls when a message has come, and posting receives. */
#ifndef UCX_RECEIVE_H
#define UCX_RECEIVE_H

#include "ucx.h"

/* UCX's callback; arg is the class. [lock] */
ucs_status_t ucx_receive(void *arg, const void *header, size_t header_length,
    void *data, size_t length, const ucp_am_recv_param_t *param);

/* The operations of the table. */
int32_t ucx_recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags);
int32_t ucx_recv_expected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);

#endif /* UCX_RECEIVE_H */
