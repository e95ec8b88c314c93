/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages: at once from the caller's buffer if UCX takes them so, else
 * by a copy that UCX may keep. Every function wants the lock held. */
#ifndef UCX_PARCEL_H
#define UCX_PARCEL_H

#include "ucx.h"

/* Sends if UCX takes it without keeping anything. AGAIN: it does not. An error
 * of the endpoint fails the connection. */
int32_t ucx_parcel_now(struct ucx_conn *conn, const union ucx_header *header,
    uint32_t header_length, const void *data, uint32_t length);

/* A parcel with room for length bytes of data; NULL: no memory. */
struct ucx_parcel *ucx_parcel_make(na_plugin_class *cls, uint32_t length);

void ucx_parcel_free(na_plugin_class *cls, struct ucx_parcel *parcel);

/* Hands it to UCX; it is UCX's until that gives it back. */
void ucx_parcel_send(struct ucx_conn *conn, struct ucx_parcel *parcel,
    uint32_t header_length, uint32_t flags);

/* Sends in one way or the other. NOMEM. */
int32_t ucx_parcel_post(struct ucx_conn *conn, const union ucx_header *header,
    uint32_t header_length, const void *data, uint32_t length);

/* Frees the spare ones. */
void ucx_parcel_fini(na_plugin_class *cls);

#endif /* UCX_PARCEL_H */
