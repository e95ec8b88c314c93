/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers: classes by their number, once a connection has told it, with the
 * addresses that lead to them and the connections to them. An address is a name;
 * several may lead to one peer. The lock is held, except for ucx_peers_fini. */
#ifndef UCX_PEER_H
#define UCX_PEER_H

#include "common/address.h"
#include "conn.h"

struct ucx_peer {
    struct tp_keyed keyed; /* in class.peers, by number */
    uint32_t refs;         /* addresses and connections */
    struct ucx_conn *main; /* what is sent by; NULL: none */
    struct tp_list conns;  /* all that are up */
    na_plugin_addr *addr;  /* how it is reported, one of addrs; NULL: none */
    na_plugin_addr *addrs; /* all that lead to it, without references */
    uint64_t process;      /* as its hello says */
};

struct na_plugin_addr {
    struct tp_addr addr;       /* in class.names, if it is to be found */
    struct ucx_peer *peer;     /* one reference; NULL: not known (now) */
    na_plugin_addr *peer_next; /* in peer.addrs */
    struct ucx_conn *call;     /* a connection being made to it, NULL: none */
    struct sockaddr_storage where;
    socklen_t where_length; /* 0: it cannot be called */
    bool told;              /* called without an answer since the last one */
    bool known;             /* a peer was connected by this address */
    char name[UCX_NAME_MAX + 1]; /* "" if it has no string */
};

/* The peer of this number, found or made, one reference; NULL: no memory. */
struct ucx_peer *ucx_peer_get(na_plugin_class *cls, uint64_t number);

/* How the peer of a number is reported; no reference. NULL: it is not connected
 * with this class. */
na_plugin_addr *ucx_peer_addr(na_plugin_class *cls, uint64_t number);

void ucx_peer_release(na_plugin_class *cls, struct ucx_peer *peer);

/* An address turns out to lead to a peer. Receives that were posted for it are
 * the caller's to rename. */
void ucx_peer_join(
    na_plugin_class *cls, na_plugin_addr *addr, struct ucx_peer *peer);

/* An address does not lead to its peer any more. */
void ucx_peer_part(na_plugin_class *cls, na_plugin_addr *addr);

/* A connection has come up, or is down. With the last one the addresses that can
 * be called are parted from the peer: another class may answer there next. */
void ucx_peer_add(struct ucx_peer *peer, struct ucx_conn *conn);
void ucx_peer_remove(
    na_plugin_class *cls, struct ucx_peer *peer, struct ucx_conn *conn);

/* Chooses among its connections the one to send by, as the peer does too; the
 * others retire. */
void ucx_peer_choose(struct ucx_peer *peer);

/* Fails all its connections. */
void ucx_peer_fail(struct ucx_peer *peer, int32_t error);

/* Frees the table of a class that is closed, with the peers that are left in it
 * since the core still has addresses of them. */
void ucx_peers_fini(na_plugin_class *cls);

static inline uint64_t
ucx_peer_number(const struct ucx_peer *peer)
{
    return peer->keyed.key;
}

#endif /* UCX_PEER_H */
