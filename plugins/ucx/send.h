/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending by a connection: at once, or from its queue, in order. Every function
 * wants the lock held. */
#ifndef UCX_SEND_H
#define UCX_SEND_H

#include "conn.h"
#include "op.h"

/* Sends a message, or queues it: DONE, PENDING, NOMEM. */
int32_t ucx_send_submit(na_plugin_ctx *ctx, struct ucx_op *op,
    struct ucx_conn *conn, const void *buffer, uint32_t length, uint32_t to,
    uint32_t tag, bool unexpected);

/* Sends what there is room for now. */
void ucx_send_drain(struct ucx_conn *conn);

/* What waits for one connection waits for another. */
void ucx_send_move(struct ucx_conn *from, struct ucx_conn *to);

/* Takes a waiting send out of its queue. */
void ucx_send_withdraw(struct ucx_op *op);

/* Ends sends whose time is over. */
void ucx_send_expire(na_plugin_class *cls, struct ucx_conn *conn);

#endif /* UCX_SEND_H */
