/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers. When both sides have called each other, both come to the same choice
 * of the connection that stays: the caller's number decides, then who came
 * first. */
#include <stdlib.h>

#include "peer.h"

static struct ucx_conn *
conn_of(struct tp_link *link)
{
    return TP_OBJECT(link, struct ucx_conn, by_peer);
}

static struct ucx_peer *
find(const na_plugin_class *cls, uint64_t number)
{
    struct tp_keyed *keyed = tp_table_find(&cls->peers, NULL, number);

    return keyed != NULL ? TP_OBJECT(keyed, struct ucx_peer, keyed) : NULL;
}

struct ucx_peer *
ucx_peer_get(na_plugin_class *cls, uint64_t number)
{
    struct ucx_peer *peer = find(cls, number);

    if (peer != NULL) {
        peer->refs++;
        return peer;
    }
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL)
        return NULL;
    peer->refs = 1;
    peer->keyed.key = number;
    tp_table_insert(&cls->peers, &peer->keyed);
    return peer;
}

na_plugin_addr *
ucx_peer_addr(na_plugin_class *cls, uint64_t number)
{
    struct ucx_peer *peer = find(cls, number);

    return peer != NULL && peer->conns.head != NULL ? peer->addr : NULL;
}

void
ucx_peer_release(na_plugin_class *cls, struct ucx_peer *peer)
{
    if (--peer->refs != 0)
        return;
    tp_table_remove(&cls->peers, &peer->keyed);
    free(peer);
}

void
ucx_peer_join(na_plugin_class *cls, na_plugin_addr *addr, struct ucx_peer *peer)
{
    if (addr->peer == peer)
        return;
    if (addr->peer != NULL)
        ucx_peer_part(cls, addr);
    peer->refs++;
    addr->peer = peer;
    addr->peer_next = peer->addrs;
    peer->addrs = addr;
    if (peer->addr == NULL)
        peer->addr = addr;
}

void
ucx_peer_part(na_plugin_class *cls, na_plugin_addr *addr)
{
    struct ucx_peer *peer = addr->peer;
    na_plugin_addr **link = &peer->addrs;

    while (*link != addr)
        link = &(*link)->peer_next;
    *link = addr->peer_next;
    if (peer->addr == addr)
        peer->addr = peer->addrs;
    addr->peer = NULL;
    ucx_peer_release(cls, peer);
}

void
ucx_peer_add(struct ucx_peer *peer, struct ucx_conn *conn)
{
    tp_list_append(&peer->conns, &conn->by_peer);
}

void
ucx_peer_remove(
    na_plugin_class *cls, struct ucx_peer *peer, struct ucx_conn *conn)
{
    tp_list_remove(&peer->conns, &conn->by_peer);
    if (peer->main == conn)
        peer->main = NULL;
    if (peer->conns.head != NULL) {
        ucx_peer_choose(peer);
        return;
    }
    peer->refs++;
    na_plugin_addr *next;
    for (na_plugin_addr *addr = peer->addrs; addr != NULL; addr = next) {
        next = addr->peer_next;
        if (addr->where_length != 0)
            ucx_peer_part(cls, addr);
    }
    ucx_peer_release(cls, peer);
}

/* Whether a is the one that stays, rather than b. */
static bool
better(const struct ucx_conn *a, const struct ucx_conn *b)
{
    uint64_t number = a->cls->number;

    if (a->ours != b->ours)
        return a->ours == (number > ucx_peer_number(a->peer));
    return a->serial < b->serial;
}

void
ucx_peer_choose(struct ucx_peer *peer)
{
    struct ucx_conn *best = NULL;

    for (struct tp_link *link = peer->conns.head; link != NULL;
         link = link->next) {
        struct ucx_conn *conn = conn_of(link);
        if (conn->close_sent == UCX_CLOSE_NONE && !conn->close_heard &&
            !conn->failed && (best == NULL || better(conn, best)))
            best = conn;
    }
    peer->main = best;
    for (struct tp_link *link = peer->conns.head; link != NULL;
         link = link->next) {
        struct ucx_conn *conn = conn_of(link);
        if (conn == best)
            continue;
        conn->retiring = true;
        ucx_conn_touch(conn);
    }
}

void
ucx_peer_fail(struct ucx_peer *peer, int32_t error)
{
    for (struct tp_link *link = peer->conns.head; link != NULL;
         link = link->next)
        ucx_conn_fail(conn_of(link), error);
}

void
ucx_peers_fini(na_plugin_class *cls)
{
    tp_table_free(&cls->peers, NULL, NULL);
}
