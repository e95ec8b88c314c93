/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of connections: one UCX endpoint each. Every function wants the lock
 * held. */
#ifndef UCX_CONN_H
#define UCX_CONN_H

#include "ucx.h"

/* Calls an address; *conn_p is then addr->call. HOSTUNREACH, NOMEM, logged. */
int32_t ucx_conn_call(
    na_plugin_class *cls, na_plugin_addr *addr, struct ucx_conn **conn_p);

/* UCX's listener reports a caller. */
void ucx_conn_on_request(ucp_conn_request_h request, void *arg);

/* The connection that a message names by its token, NULL if there is none. */
struct ucx_conn *ucx_conn_find(const na_plugin_class *cls, uint64_t token);

/* The one with this endpoint that has not said hello yet, NULL likewise. */
struct ucx_conn *ucx_conn_find_called(const na_plugin_class *cls, ucp_ep_h ep);

/* Both sides have said hello. */
void ucx_conn_up(struct ucx_conn *conn);

/* It is to end with this code, as soon as UCX has returned. */
void ucx_conn_fail(struct ucx_conn *conn, int32_t error);

/* The same, with the code of UCX's status, which is said. */
void ucx_conn_lost(struct ucx_conn *conn, ucs_status_t status);

/* The same, because of what the peer sent. */
void ucx_conn_break(struct ucx_conn *conn, const char *why);

/* Ends those that have failed, retires, returns room, gives up on time. */
void ucx_conn_work(na_plugin_class *cls);

/* Gives up on those whose time is over. */
void ucx_conn_expire(na_plugin_class *cls);

/* Ends all connections with an address or its peer, and receives from it. */
void ucx_conn_forget(na_plugin_class *cls, na_plugin_addr *addr);

/* The peer gets room back for this many bytes. */
void ucx_conn_owe(struct ucx_conn *conn, uint64_t bytes);

/* Something on it has to be looked at when UCX has returned. */
void ucx_conn_touch(struct ucx_conn *conn);

/* The peer's last message by it; answered: it has heard ours. */
void ucx_conn_bye(struct ucx_conn *conn, bool answered);

/* UCX may have opened descriptors for a connection, and may do so again: they are
 * marked, now or soon. */
void ucx_conn_mark(na_plugin_class *cls, bool again);

/* What a status of UCX means for an operation. */
int32_t ucx_conn_code(ucs_status_t status);

#endif /* UCX_CONN_H */
