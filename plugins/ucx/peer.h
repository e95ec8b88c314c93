/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers: classes by their number, with the addresses that lead to them and the
 * connections to them. Every function wants the lock held. */
#ifndef UCX_PEER_H
#define UCX_PEER_H

#include "ucx.h"

/* The peer of this number, found or made, one reference; NULL: no memory. */
struct ucx_peer *ucx_peer_get(na_plugin_class *cls, uint64_t number);

/* How the peer of a number is reported; no reference. NULL: it is not connected
 * with this class. */
na_plugin_addr *ucx_peer_addr(na_plugin_class *cls, uint64_t number);

void ucx_peer_release(na_plugin_class *cls, struct ucx_peer *peer);

/* An address turns out to lead to a peer: receives posted for it are posted for
 * the peer. */
void ucx_peer_join(
    na_plugin_class *cls, na_plugin_addr *addr, struct ucx_peer *peer);

/* An address leads to its peer no longer. */
void ucx_peer_part(na_plugin_class *cls, na_plugin_addr *addr);

/* A connection has come up, or goes. With the last one the addresses that can be
 * called part from the peer: somebody else may answer there next. */
void ucx_peer_add(struct ucx_peer *peer, struct ucx_conn *conn);
void ucx_peer_remove(
    na_plugin_class *cls, struct ucx_peer *peer, struct ucx_conn *conn);

/* Chooses among its connections the one to send by, as the peer does too. */
void ucx_peer_choose(na_plugin_class *cls, struct ucx_peer *peer);

/* Frees the table, and what is left in it. */
void ucx_peer_fini(na_plugin_class *cls);

static inline uint64_t
ucx_peer_number(const struct ucx_peer *peer)
{
    return peer->link.key;
}

static inline struct ucx_conn *
ucx_conn_of_link(struct ucx_link *link)
{
    return (struct ucx_conn *) ((char *) link -
                                offsetof(struct ucx_conn, of_peer_link));
}

#endif /* UCX_PEER_H */
