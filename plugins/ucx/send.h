/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending: at once, or from the connection's queue, in order. */
#ifndef UCX_SEND_H
#define UCX_SEND_H

#include "ucx.h"

/* The connection to send to an address by, called if need be. HOSTUNREACH,
 * NOMEM. [lock] */
int32_t ucx_send_conn(
    na_plugin_class *cls, na_plugin_addr *addr, struct ucx_conn **conn_p);

/* Sends what there is room for now. [lock] */
void ucx_send_drain(struct ucx_conn *conn);

/* What waits for one connection waits for another. [lock] */
void ucx_send_move(
    na_plugin_class *cls, struct ucx_conn *from, struct ucx_conn *to);

/* Takes a waiting send out of its queue. [lock] */
void ucx_send_withdraw(struct ucx_op *op);

/* Ends sends whose time is over; when the next is. [lock] */
uint64_t ucx_send_expire(na_plugin_class *cls, struct ucx_conn *conn);

/* The operations of the table. */
int32_t ucx_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);
int32_t ucx_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags);

#endif /* UCX_SEND_H */
