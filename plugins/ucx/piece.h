/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets by messages: cut into pieces, each of which the owner of the
 * memory checks, does, and answers. Every function wants the lock held. */
#ifndef UCX_PIECE_H
#define UCX_PIECE_H

#include "ucx.h"

/* Takes a put or get on, whose connection is set: PENDING. */
int32_t ucx_piece_submit(struct ucx_op *op);

/* Sends pieces that there is room for. */
void ucx_piece_push(struct ucx_conn *conn);

/* GET, DATA, PUT or DONE has come. */
void ucx_piece_take(struct ucx_conn *conn, const struct ucx_piece *piece,
    const void *data, size_t length);

/* Takes one out of its lists, wherever it stands. */
void ucx_piece_withdraw(na_plugin_class *cls, struct ucx_op *op);

/* Ends all of a connection. */
void ucx_piece_abandon(struct ucx_conn *conn, int32_t error);

#endif /* UCX_PIECE_H */
