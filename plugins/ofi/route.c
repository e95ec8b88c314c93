/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints of peers: found, learned, given up. */
#include <string.h>

#include "liveness.h"
#include "peer.h"
#include "reject.h"
#include "route.h"

/* The peer's first endpoint; one reference, unless it is the core's object. */
static na_plugin_addr *
first_of(struct ofi_endpoint *ep, na_plugin_addr *peer)
{
    return ofi_is_first(ep) ? peer->of : ofi_addr_get_part(ep, &peer->name, 0);
}

na_plugin_addr *
ofi_route_find(struct ofi_endpoint *ep, na_plugin_addr *peer, uint32_t at)
{
    if (peer->self) {
        if (ofi_is_first(ep))
            return peer;
        ofi_addr_hold(ep->self);
        return ep->self;
    }
    na_plugin_addr *part =
        at == 0 ? NULL : ofi_addr_find_part(ep, peer, (uint8_t) at);
    if (part == NULL)
        return first_of(ep, peer);
    if (part->end != NULL && !part->stale)
        return part;
    ofi_addr_drop(ep, part);
    return first_of(ep, peer);
}

/* An endpoint that is not a class's first one has this name; so says the class
 * with this number. */
static void
set_end(struct ofi_endpoint *ep, na_plugin_addr *part,
    const struct ofi_name *end, uint64_t number)
{
    if (number == atomic_load_explicit(&part->forgotten, memory_order_relaxed))
        return;
    if (part->end != NULL && ofi_name_equal(part->end, end)) {
        part->stale = false;
        return;
    }
    /* libfabric has something for the one before: it will be said again */
    if (part->flying.head != NULL)
        return;
    if (part->end != NULL) {
        ofi_liveness_lose(ep, part, NA_PLUGIN_E_HOSTUNREACH,
            "its context has another endpoint now");
        ofi_peer_unknow(ep, part);
    }
    if (part->number != 0 && part->number != number) {
        atomic_store_explicit(
            &part->forgotten, part->number, memory_order_relaxed);
        ep->cls->upcalls->forget(ep, part);
    }
    part->number = number;
    part->stale = !ofi_addr_set_end(ep, part, end);
    ep->connects = ep->due = true;
}

na_plugin_addr *
ofi_route_sender(struct ofi_endpoint *ep, const struct ofi_name *name,
    const struct ofi_header *header, const struct ofi_name *end)
{
    na_plugin_addr *from =
        ofi_addr_get_part(ep, name, end != NULL ? header->source_ctx : 0);

    if (from != NULL && end != NULL && !from->of->self)
        set_end(ep, from, end, header->source);
    return from;
}

void
ofi_route_learn(struct ofi_endpoint *ep, const struct ofi_message *message)
{
    struct ofi_header header = message->header;
    struct ofi_name end = {.length = message->length};

    if (message->from->at != 0 || header.tag == 0 ||
        header.tag >= OFI_CONTEXTS ||
        !ofi_name_check(ep->cls->trait, message->data, message->length) ||
        (ep->cls->trait->format == OFI_FORMAT_IP &&
            message->length != ep->own_name.length)) {
        ofi_reject(ep, "it names an endpoint that can't be");
        return;
    }
    memcpy(end.bytes, message->data, end.length);
    header.source_ctx = (uint8_t) header.tag;
    na_plugin_addr *part =
        ofi_route_sender(ep, &message->from->name, &header, &end);
    if (part != NULL)
        ofi_addr_drop(ep, part);
}

void
ofi_route_replaced(struct ofi_endpoint *ep, na_plugin_addr *first)
{
    for (uint32_t at = 1; ep->ends.head != NULL && at < OFI_CONTEXTS; at++) {
        na_plugin_addr *part = ofi_addr_find_part(ep, first, (uint8_t) at);
        if (part == NULL)
            continue;
        if (part->number == first->number) {
            ofi_liveness_lose(ep, part, NA_PLUGIN_E_HOSTUNREACH,
                "another class is at its address now");
            ep->cls->upcalls->forget(ep, part);
        }
        ofi_addr_drop(ep, part);
    }
}

void
ofi_route_detour(struct ofi_endpoint *ep, na_plugin_addr *peer)
{
    if (peer->at == 0 || peer->queue.head == NULL)
        return;
    na_plugin_addr *first = first_of(ep, peer);
    if (first == NULL)
        return;
    ofi_addr_hold(peer);
    if (ofi_peer_reach(ep, first) == NA_PLUGIN_OK) {
        while (peer->queue.head != NULL) {
            struct ofi_tx *tx =
                TP_OBJECT(tp_list_pop(&peer->queue), struct ofi_tx, link);
            ofi_addr_hold(first);
            tp_list_append(&first->queue, &tx->link);
            tx->peer = first;
            ofi_addr_drop(ep, peer);
        }
        ofi_peer_stuck(ep, first);
    }
    ofi_addr_drop(ep, peer);
    ofi_route_end(ep, first);
}

void
ofi_route_forget(struct ofi_endpoint *ep, void *arg)
{
    static const char why[] = "it was to be forgotten";
    na_plugin_addr *peer = arg;

    tp_lock_take(&ep->lock);
    /* the first one last, as messages to others may be turned to it */
    for (uint32_t at = OFI_CONTEXTS; at-- > 0;) {
        if (at != 0 && ep->ends.head == NULL)
            continue;
        na_plugin_addr *part = ofi_addr_find_part(ep, peer, (uint8_t) at);
        if (part == NULL)
            continue;
        ofi_liveness_lose(ep, part, NA_PLUGIN_E_HOSTUNREACH, why);
        ep->cls->upcalls->forget(ep, part);
        ofi_addr_drop(ep, part);
    }
    tp_lock_drop(&ep->lock);
}
