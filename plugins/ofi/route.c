/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints of peers: found, learned, given up. */
#include "route.h"
#include "endpoints.h"
#include "liveness.h"
#include "reject.h"
#include "work.h"

static struct ofi_peer *
other_of(struct tp_link *link)
{
    return TP_OBJECT(link, struct ofi_peer, other);
}

struct ofi_peer *
ofi_route_find(struct ofi_endpoint *ep, na_plugin_addr *addr, uint32_t context)
{
    if (addr->self)
        return ep->self;
    struct ofi_peer *peer =
        context != 0 ? ofi_peer_find(ep, &addr->name, (uint8_t) context) : NULL;
    if (peer != NULL && peer->name != NULL && !peer->stale) {
        peer->used = true;
        return peer;
    }
    return ofi_peer_get(ep, &addr->name, 0);
}

/* Stores the name of an endpoint other than the first, as sent by the class
 * with this number. */
static void
set_name(struct ofi_endpoint *ep, struct ofi_peer *peer,
    const struct ofi_name *name, uint64_t number)
{
    if (number == peer->forgotten)
        return;
    if (peer->name != NULL && ofi_name_equal(peer->name, name)) {
        peer->stale = false;
        return;
    }
    /* libfabric has messages for the previous one: the name will be sent again */
    if (peer->flying.head != NULL)
        return;
    if (peer->name != NULL) {
        ofi_liveness_lose(ep, peer, NA_PLUGIN_E_HOSTUNREACH,
            "its context has another endpoint now");
        ofi_peer_unknow(ep, peer);
    }
    if (peer->number != 0 && peer->number != number) {
        peer->forgotten = peer->number;
        ep->cls->upcalls->forget(ep, peer);
    }
    peer->number = number;
    ofi_peer_set_name(peer, name);
    peer->stale = false;
    ep->connects = ep->due = true;
}

struct ofi_peer *
ofi_route_sender(struct ofi_endpoint *ep, const struct ofi_name *name,
    const struct ofi_header *header, const struct ofi_name *end)
{
    struct ofi_peer *from =
        ofi_peer_get(ep, name, end != NULL ? header->source_ctx : 0);

    if (from != NULL && end != NULL && !from->addr->self)
        set_name(ep, from, end, header->source);
    return from;
}

void
ofi_route_learn(struct ofi_endpoint *ep, const struct ofi_message *message)
{
    struct ofi_header header = message->header;
    struct ofi_name end = {.length = message->length};

    if (message->from->context != 0 || header.tag == 0 ||
        header.tag >= OFI_CONTEXTS ||
        !ofi_name_check(ep->cls->trait, message->data, message->length) ||
        (ep->cls->trait->format == OFI_FORMAT_IP &&
            message->length != ep->own_name.length)) {
        ofi_reject(ep, "malformed name of an endpoint");
        return;
    }
    memcpy(end.bytes, message->data, end.length);
    header.source_ctx = (uint8_t) header.tag;
    ofi_route_sender(ep, &message->from->addr->name, &header, &end);
}

void
ofi_route_replaced(struct ofi_endpoint *ep, struct ofi_peer *first)
{
    for (struct tp_link *link = ep->others.head; link != NULL;
         link = link->next) {
        struct ofi_peer *peer = other_of(link);
        if (peer->addr != first->addr || peer->number != first->number)
            continue;
        ofi_liveness_lose(ep, peer, NA_PLUGIN_E_HOSTUNREACH,
            "another class is at its address now");
        ep->cls->upcalls->forget(ep, peer);
    }
}

void
ofi_route_detour(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    if (peer->context == 0 || peer->queue.head == NULL)
        return;
    struct ofi_peer *first = ofi_peer_get(ep, &peer->addr->name, 0);
    if (first == NULL || ofi_peer_reach(ep, first) != NA_PLUGIN_OK)
        return;
    while (peer->queue.head != NULL) {
        struct ofi_tx *tx =
            TP_OBJECT(tp_list_pop(&peer->queue), struct ofi_tx, link);
        tp_list_append(&first->queue, &tx->link);
        tx->peer = first;
        first->refs++;
        peer->refs--;
    }
    ofi_peer_stuck(ep, first);
}

static void
forget(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    ofi_liveness_lose(
        ep, peer, NA_PLUGIN_E_HOSTUNREACH, "it was to be forgotten");
    ep->cls->upcalls->forget(ep, peer);
}

/* The first one last, as messages to others may be turned to it. */
static void
forget_all(struct ofi_endpoint *ep, void *arg)
{
    const na_plugin_addr *addr = arg;

    tp_mutex_take(&ep->lock);
    for (struct tp_link *link = ep->others.head; link != NULL;
         link = link->next)
        if (other_of(link)->addr == addr)
            forget(ep, other_of(link));
    struct ofi_peer *first = ofi_peer_find(ep, &addr->name, 0);
    if (first != NULL)
        forget(ep, first);
    tp_mutex_drop(&ep->lock);
}

void
ofi_addr_forget(na_plugin_class *cls, na_plugin_addr *addr)
{
    if (!addr->self)
        ofi_endpoints_each(cls, forget_all, addr);
}
