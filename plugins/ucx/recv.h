/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives, the messages that wait for them, and messages to oneself. Every
 * function wants the lock held. */
#ifndef UCX_RECV_H
#define UCX_RECV_H

#include "conn.h"
#include "op.h"

int32_t ucx_recv_init(na_plugin_ctx *ctx);

/* Frees what has been kept; sends of this class to the context end. */
void ucx_recv_fini(na_plugin_ctx *ctx);

/* Delivers a message, or keeps it; conn: NULL of oneself. False: there is no
 * memory to keep it. */
bool ucx_recv_deliver(na_plugin_ctx *ctx, struct tp_message *message,
    bool unexpected, struct ucx_conn *conn);

/* Posts a receive whose ctx, kind, and if it is expected owner and key are set, or
 * ends it with a message that is there. */
void ucx_recv_post(struct ucx_op *op);

/* Takes a posted receive, or a held send to oneself, away. */
void ucx_recv_withdraw(struct ucx_op *op);

/* Of all contexts: ends the receives from an owner and drops what was kept of its
 * expected messages; posts those of an address anew for its peer. */
void ucx_recv_drop(na_plugin_class *cls, const void *owner, int32_t status);
void ucx_recv_rename(na_plugin_class *cls, const void *from, const void *to);

/* Sends to a context of this class. */
int32_t ucx_recv_self(na_plugin_ctx *ctx, struct ucx_op *op, const void *buffer,
    uint32_t length, uint32_t to, uint32_t tag, bool unexpected);

#endif /* UCX_RECV_H */
