/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets by messages: cut into fragments, each of which the owner of the
 * memory checks, does, and answers. Every function wants the lock held. */
#ifndef UCX_FRAGMENT_H
#define UCX_FRAGMENT_H

#include "conn.h"
#include "op.h"

/* Takes a put or get on, which is posted and whose connection is set: PENDING. */
int32_t ucx_fragment_submit(struct ucx_op *op);

/* Sends fragments that there is room for. */
void ucx_fragment_push(struct ucx_conn *conn);

/* GET, DATA, PUT or DONE has come. */
void ucx_fragment_take(struct ucx_conn *conn,
    const struct ucx_fragment *fragment, const void *data, size_t length);

/* Takes one out of its lists, wherever it stands. */
void ucx_fragment_withdraw(struct ucx_op *op);

/* Ends all of a connection. */
void ucx_fragment_abandon(struct ucx_conn *conn, int32_t error);

#endif /* UCX_FRAGMENT_H */
