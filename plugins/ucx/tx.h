/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages: at once from the caller's buffer if UCX takes them so, else
 * by a copy that UCX may keep. Every function wants the lock held. */
#ifndef UCX_TX_H
#define UCX_TX_H

#include "conn.h"

/* What UCX is sending: a header and a copy of the data, the plugin's own, so
 * that no operation has to wait for UCX to let go of a buffer. */
struct ucx_tx {
    struct tp_link link;   /* in class.spare_*, or in conn.txs */
    struct ucx_conn *conn; /* NULL: it came back while being handed over */
    uint32_t length;       /* of data */
    uint32_t room;         /* of data, as allocated */
    bool answer;           /* of a peer's get or put */
    union ucx_header header;
    alignas(64) unsigned char data[];
};

/* Sends if UCX takes it without keeping anything. AGAIN: it does not. An error
 * of the endpoint fails the connection. */
int32_t ucx_tx_now(struct ucx_conn *conn, const union ucx_header *header,
    uint32_t header_length, const void *data, uint32_t length);

/* A buffer with room for length bytes of data; NULL: no memory. */
struct ucx_tx *ucx_tx_make(na_plugin_class *cls, uint32_t length);

/* Hands it to UCX; it is UCX's until that gives it back. */
void ucx_tx_send(struct ucx_conn *conn, struct ucx_tx *tx,
    uint32_t header_length, uint32_t flags);

/* Sends in one way or the other. NOMEM. */
int32_t ucx_tx_post(struct ucx_conn *conn, const union ucx_header *header,
    uint32_t header_length, const void *data, uint32_t length);

/* Frees the spare ones. */
void ucx_tx_fini(na_plugin_class *cls);

#endif /* UCX_TX_H */
