/* SPDX-License-Identifier: BSD-3-Clause */
/* What connections have reported: progress alone consumes it, when UCX has
 * returned. Every function wants the lock held. */
#ifndef UCX_WORK_H
#define UCX_WORK_H

#include "peer.h"

/* Ends connections that are down; drains, answers, returns credits and closes
 * those that were touched; frees those that UCX has given back. */
void ucx_work(na_plugin_class *cls);

/* Gives up on those whose time is over. */
void ucx_work_expire(na_plugin_class *cls);

/* The connection to send to an address by, made if need be. HOSTUNREACH,
 * NOMEM. */
int32_t ucx_work_make_route(
    na_plugin_class *cls, na_plugin_addr *addr, struct ucx_conn **conn_p);
static inline int32_t
ucx_work_route(
    na_plugin_class *cls, na_plugin_addr *addr, struct ucx_conn **conn_p)
{
    struct ucx_conn *conn = addr->peer != NULL ? addr->peer->main : NULL;

    if (__builtin_expect(conn == NULL || conn->failed, 0))
        return ucx_work_make_route(cls, addr, conn_p);
    *conn_p = conn;
    return NA_PLUGIN_OK;
}

/* Ends all connections with an address or its peer, and receives from it: an
 * operation of the table. [any thread, takes the lock] */
void ucx_addr_forget(na_plugin_class *cls, na_plugin_addr *addr);

#endif /* UCX_WORK_H */
