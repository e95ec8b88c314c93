/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers. When both sides have called each other, both come to the same choice
 * of the connection that stays: the caller's number decides, then who came
 * first. */
#include <stdlib.h>

#include "address.h"
#include "conn.h"
#include "context.h"
#include "match.h"
#include "peer.h"
#include "send.h"

struct ucx_peer *
ucx_peer_get(na_plugin_class *cls, uint64_t number)
{
    struct ucx_link *link = ucx_table_find(&cls->peers, NULL, number);
    struct ucx_peer *peer = (struct ucx_peer *) link;

    if (peer != NULL) {
        peer->refs++;
        return peer;
    }
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL)
        return NULL;
    peer->refs = 1;
    peer->link.key = number;
    ucx_table_insert(&cls->peers, &peer->link);
    return peer;
}

na_plugin_addr *
ucx_peer_addr(na_plugin_class *cls, uint64_t number)
{
    struct ucx_peer *peer =
        (struct ucx_peer *) ucx_table_find(&cls->peers, NULL, number);

    return peer != NULL && peer->conns.head != NULL ? peer->addr : NULL;
}

void
ucx_peer_release(na_plugin_class *cls, struct ucx_peer *peer)
{
    if (--peer->refs != 0)
        return;
    ucx_table_remove(&cls->peers, &peer->link);
    free(peer);
}

/* Receives posted for one go under the other; those whose message is there
 * already end. */
static void
repost(na_plugin_class *cls, const void *from, const void *to)
{
    for (uint32_t i = 0; i < UCX_CONTEXTS; i++)
        if (cls->contexts[i] != NULL)
            ucx_match_rename(cls->contexts[i], from, to);
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
    repost(cls, addr, peer);
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
    ucx_list_append(&peer->conns, &conn->of_peer_link);
}

void
ucx_peer_remove(
    na_plugin_class *cls, struct ucx_peer *peer, struct ucx_conn *conn)
{
    ucx_list_remove(&peer->conns, &conn->of_peer_link);
    if (peer->main == conn)
        peer->main = NULL;
    if (peer->conns.head != NULL) {
        ucx_peer_choose(cls, peer);
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
ucx_peer_choose(na_plugin_class *cls, struct ucx_peer *peer)
{
    struct ucx_conn *best = NULL;

    for (struct ucx_link *link = peer->conns.head; link != NULL;
         link = link->next) {
        struct ucx_conn *conn = ucx_conn_of_link(link);
        if (conn->bye_sent == UCX_BYE_NONE && !conn->bye_heard &&
            !conn->failed && (best == NULL || better(conn, best)))
            best = conn;
    }
    peer->main = best;
    for (struct ucx_link *link = peer->conns.head; link != NULL;
         link = link->next) {
        struct ucx_conn *conn = ucx_conn_of_link(link);
        if (conn == best)
            continue;
        conn->retiring = true;
        ucx_conn_touch(conn);
        if (best != NULL)
            ucx_send_move(cls, conn, best);
    }
}

void
ucx_peer_fini(na_plugin_class *cls)
{
    struct ucx_list list = {NULL, NULL};
    struct ucx_link *link;

    ucx_table_take_all(&cls->peers, NULL, &list);
    while ((link = ucx_list_pop(&list)) != NULL)
        free(link);
    ucx_table_fini(&cls->peers);
}
