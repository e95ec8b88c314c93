/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages: sending, and posting receives. */
#ifndef SM_MESSAGE_H
#define SM_MESSAGE_H

#include "context.h"

/* Functions of the ABI. */
typedef int32_t sm_send_fn(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
typedef int32_t sm_recv_fn(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags);
typedef int32_t sm_recv_expected_fn(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);

sm_send_fn sm_send_unexpected, sm_send_expected;
sm_recv_fn sm_recv_unexpected;
sm_recv_expected_fn sm_recv_expected;

/* The same for a class that has one thread. */
sm_send_fn sm_send_unexpected_single, sm_send_expected_single;
sm_recv_fn sm_recv_unexpected_single;
sm_recv_expected_fn sm_recv_expected_single;

/* Sends of a class that demotes lines. */
sm_send_fn sm_send_unexpected_demoting, sm_send_expected_demoting;
sm_send_fn sm_send_unexpected_single_demoting, sm_send_expected_single_demoting;

#endif /* SM_MESSAGE_H */
