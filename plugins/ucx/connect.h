/* SPDX-License-Identifier: BSD-3-Clause */
/* Making connections: the endpoint, our hello, and that it is up. Every function
 * wants the lock held. */
#ifndef UCX_CONNECT_H
#define UCX_CONNECT_H

#include "peer.h"

/* Calls an address; *conn_p is then addr->call. HOSTUNREACH, NOMEM, logged. */
int32_t ucx_connect(
    na_plugin_class *cls, na_plugin_addr *addr, struct ucx_conn **conn_p);

/* UCX's listener reports a caller. */
void ucx_connect_on_request(ucp_conn_request_h request, void *arg);

/* Says hello, or with a status other than OK a refusal. NOMEM. */
int32_t ucx_connect_hello(struct ucx_conn *conn, int32_t status);

/* Both sides have said hello. */
void ucx_connect_up(struct ucx_conn *conn);

#endif /* UCX_CONNECT_H */
