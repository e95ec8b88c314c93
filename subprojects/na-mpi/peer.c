/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer is known from the first message to it, or from it, until it says
 * farewell; the windows of either side hold as long. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "message.h"
#include "peer.h"
#include "rma.h"

#define AGAIN_NS (10 * TP_MS) /* until a peer that is absent is asked again */

na_plugin_addr *
nampi_peer_find(const na_plugin_class *cls, uint32_t rank, uint32_t number)
{
    const uint32_t name[] = {rank, number};
    struct tp_addr *addr = tp_addr_find(&cls->peers, NULL, name, sizeof(name));

    return addr != NULL ? TP_OBJECT(addr, na_plugin_addr, addr) : NULL;
}

int32_t
nampi_peer_get(na_plugin_class *cls, uint32_t rank, uint32_t number,
    na_plugin_addr **peer_p)
{
    na_plugin_addr *peer = nampi_peer_find(cls, rank, number);

    if (peer != NULL) {
        tp_addr_hold(&peer->addr, false);
        *peer_p = peer;
        return NA_PLUGIN_OK;
    }
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL)
        return NA_PLUGIN_E_NOMEM;
    peer->cls = cls;
    peer->name.rank = rank;
    peer->name.number = number;
    tp_addr_enter(&cls->peers, &peer->addr, &peer->name, sizeof(peer->name));
    *peer_p = peer;
    return NA_PLUGIN_OK;
}

void
nampi_peer_release(na_plugin_addr *peer)
{
    if (tp_addr_release(&peer->cls->peers, &peer->addr))
        free(peer);
}

static void
end_silence(na_plugin_addr *peer)
{
    if (peer->silent)
        tp_list_remove(&peer->cls->silent, &peer->silence);
    peer->silent = false;
}

void
nampi_peer_meet(na_plugin_addr *peer)
{
    if (peer->met)
        return;
    peer->met = true;
    peer->cls->known = true;
    tp_addr_hold(&peer->addr, false);
    tp_list_append(&peer->cls->met, &peer->meeting);
}

void
nampi_peer_contact(na_plugin_addr *peer)
{
    if (peer->life != 0 || peer->silent)
        return;
    nampi_peer_meet(peer);
    peer->silent = true;
    peer->since_ns = tp_now();
    tp_list_append(&peer->cls->silent, &peer->silence);
    peer->again_ns = 0;
    /* Without memory for it the next poll says it. */
    if (nampi_peer_say(peer, NAMPI_CREDIT, 0, 0) != NA_PLUGIN_OK)
        peer->again_ns = peer->since_ns;
}

void
nampi_peer_heard(na_plugin_addr *peer)
{
    bool first = peer->silent;

    end_silence(peer);
    nampi_peer_meet(peer);
    if (!peer->greeted)
        peer->greeted =
            nampi_peer_say(peer, NAMPI_CREDIT, 0, 0) == NA_PLUGIN_OK;
    if (first)
        nampi_peer_advance(peer);
}

int32_t
nampi_peer_say(
    na_plugin_addr *peer, enum nampi_kind kind, uint32_t ctx, uint32_t value)
{
    struct nampi_send *send = nampi_send_new(0);

    if (send == NULL)
        return NA_PLUGIN_E_NOMEM;
    send->head.kind = (uint8_t) kind;
    send->head.from_ctx = (uint8_t) ctx;
    send->head.value = value;
    return nampi_send_to(peer, send);
}

void
nampi_peer_lose(na_plugin_addr *peer)
{
    tp_addr_hold(&peer->addr, false);
    end_silence(peer);
    tp_count(&peer->cls->counters.lost, 1);
    peer->life = 0;
    peer->greeted = false;
    peer->chunks = 0;
    memset(peer->used, 0, sizeof(peer->used));
    memset(peer->owed, 0, sizeof(peer->owed));
    nampi_message_lose(peer, NA_PLUGIN_E_HOSTUNREACH);
    nampi_rma_lose(peer, NA_PLUGIN_E_HOSTUNREACH);
    if (peer->met) {
        peer->met = false;
        tp_list_remove(&peer->cls->met, &peer->meeting);
        nampi_peer_release(peer);
    }
    nampi_peer_release(peer);
}

void
nampi_peers_expire(na_plugin_class *cls)
{
    uint64_t now_ns = tp_now();
    struct tp_link *next;

    for (struct tp_link *link = cls->silent.head; link != NULL; link = next) {
        na_plugin_addr *peer = TP_OBJECT(link, na_plugin_addr, silence);
        next = link->next;
        if (now_ns - peer->since_ns >= cls->contact_timeout_ns) {
            TP_LOG(cls->host, WARNING,
                "rank %u has no class %u, or does not poll it, for "
                "mpi.contact_timeout",
                (unsigned) peer->name.rank, (unsigned) peer->name.number);
            nampi_peer_lose(peer);
        } else if (peer->again_ns != 0 && now_ns >= peer->again_ns &&
                   nampi_peer_say(peer, NAMPI_CREDIT, 0, 0) == NA_PLUGIN_OK) {
            peer->again_ns = 0;
        }
    }
}

void
nampi_peer_absent(na_plugin_addr *peer)
{
    if (peer->silent)
        peer->again_ns = tp_now() + AGAIN_NS;
    else
        nampi_peer_lose(peer);
}

void
nampi_peer_advance(na_plugin_addr *peer)
{
    nampi_message_advance(peer);
    nampi_rma_advance(peer);
}

void
nampi_peer_credit(na_plugin_addr *peer, uint32_t ctx, uint8_t count)
{
    uint8_t *used = &peer->used[ctx];

    /* Less is under way if the peer was lost meanwhile. */
    *used = (uint8_t) (*used > count ? *used - count : 0);
    if (count != 0)
        nampi_message_credit(peer, ctx);
}

void
nampi_peer_owe(na_plugin_addr *peer, uint32_t ctx)
{
    if (peer->life == 0)
        return;
    peer->owed[ctx]++;
    /* Without memory for it the next one says it. */
    if (peer->owed[ctx] >= NAMPI_WINDOW / 2 &&
        nampi_peer_say(peer, NAMPI_CREDIT, ctx,
            peer->owed[ctx] <= NAMPI_WINDOW ? peer->owed[ctx] : NAMPI_WINDOW) ==
            NA_PLUGIN_OK)
        peer->owed[ctx] = 0;
}

void
nampi_peers_say_bye(na_plugin_class *cls)
{
    for (struct tp_link *link = cls->met.head; link != NULL;
         link = link->next) {
        na_plugin_addr *peer = TP_OBJECT(link, na_plugin_addr, meeting);
        if (peer != cls->self)
            nampi_peer_say(peer, NAMPI_BYE, 0, 0);
    }
}

void
nampi_peers_free(na_plugin_class *cls)
{
    struct tp_list list = {NULL, NULL};
    struct tp_link *link;

    tp_table_take_all(&cls->peers, NULL, &list);
    while ((link = tp_list_pop(&list)) != NULL)
        free(TP_OBJECT(link, na_plugin_addr, addr.keyed.link));
    tp_table_fini(&cls->peers);
}
