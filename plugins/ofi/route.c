/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints of peers: found, learned, given up. */
#include <string.h>

#include "match.h"
#include "name.h"
#include "peer.h"
#include "receive.h"
#include "route.h"

/* The peer's first endpoint; one reference, unless it is the core's object. */
static na_plugin_addr *
first_of(na_plugin_class *cls, na_plugin_addr *peer)
{
    return cls->main == cls ? peer->of : ofi_addr_get_part(cls, &peer->name, 0);
}

na_plugin_addr *
ofi_route_find(na_plugin_class *cls, na_plugin_addr *peer, uint32_t at)
{
    if (peer->self) {
        if (cls->main == cls)
            return peer;
        ofi_addr_hold(cls->self);
        return cls->self;
    }
    na_plugin_addr *part =
        at == 0 ? NULL : ofi_addr_find_part(cls, peer, (uint8_t) at);
    if (part == NULL)
        return first_of(cls, peer);
    if (part->end != NULL && !part->stale)
        return part;
    ofi_addr_drop(cls, part);
    return first_of(cls, peer);
}

/* An endpoint that is not a class's first one has this name; so says the class
 * with this number. */
static void
set_end(na_plugin_class *cls, na_plugin_addr *part, const struct ofi_name *end,
    uint64_t number)
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
        ofi_peer_lose(cls, part, NA_PLUGIN_E_HOSTUNREACH,
            "its context has another endpoint now");
        ofi_peer_unknow(cls, part);
    }
    if (part->number != 0 && part->number != number) {
        atomic_store_explicit(
            &part->forgotten, part->number, memory_order_relaxed);
        ofi_match_forget(cls, part);
    }
    part->number = number;
    part->stale = !ofi_addr_set_end(cls, part, end);
    cls->scan_due = true;
}

na_plugin_addr *
ofi_route_sender(na_plugin_class *cls, const struct ofi_name *name,
    const struct ofi_header *header, const struct ofi_name *end)
{
    na_plugin_addr *from =
        ofi_addr_get_part(cls, name, end != NULL ? header->source_ctx : 0);

    if (from != NULL && end != NULL && !from->of->self)
        set_end(cls, from, end, header->source);
    return from;
}

void
ofi_route_learn(na_plugin_class *cls, const struct ofi_message *message)
{
    struct ofi_header header = message->header;
    struct ofi_name end = {.length = message->length};

    if (message->from->at != 0 || header.tag == 0 ||
        header.tag >= OFI_CONTEXTS ||
        !ofi_name_check(cls->trait, message->data, message->length) ||
        (cls->trait->format == OFI_FORMAT_IP &&
            message->length != cls->own_name.length)) {
        ofi_rx_reject(cls, "it names an endpoint that can't be");
        return;
    }
    memcpy(end.bytes, message->data, end.length);
    header.source_ctx = (uint8_t) header.tag;
    na_plugin_addr *part =
        ofi_route_sender(cls, &message->from->name, &header, &end);
    if (part != NULL)
        ofi_addr_drop(cls, part);
}

void
ofi_route_replaced(na_plugin_class *cls, na_plugin_addr *first)
{
    for (uint32_t at = 1; cls->ends.head != NULL && at < OFI_CONTEXTS; at++) {
        na_plugin_addr *part = ofi_addr_find_part(cls, first, (uint8_t) at);
        if (part == NULL)
            continue;
        if (part->number == first->number) {
            ofi_peer_lose(cls, part, NA_PLUGIN_E_HOSTUNREACH,
                "another class is at its address now");
            ofi_match_forget(cls, part);
        }
        ofi_addr_drop(cls, part);
    }
}

void
ofi_route_detour(na_plugin_class *cls, na_plugin_addr *peer)
{
    if (peer->at == 0 || peer->queue.head == NULL)
        return;
    na_plugin_addr *first = first_of(cls, peer);
    if (first == NULL)
        return;
    ofi_addr_hold(peer);
    if (ofi_peer_reach(cls, first) == NA_PLUGIN_OK) {
        while (peer->queue.head != NULL) {
            struct ofi_tx *tx =
                OFI_OBJECT(ofi_list_pop(&peer->queue), struct ofi_tx, link);
            ofi_addr_hold(first);
            ofi_list_append(&first->queue, &tx->link);
            tx->peer = first;
            ofi_addr_drop(cls, peer);
        }
        ofi_peer_stuck(cls, first);
    }
    ofi_addr_drop(cls, peer);
    ofi_route_end(cls, first);
}

void
ofi_route_forget(na_plugin_class *cls, void *arg)
{
    static const char why[] = "it was to be forgotten";
    na_plugin_addr *peer = arg;

    ofi_lock_take(&cls->lock);
    /* the first one last, as messages to others may be turned to it */
    for (uint32_t at = OFI_CONTEXTS; at-- > 0;) {
        if (at != 0 && cls->ends.head == NULL)
            continue;
        na_plugin_addr *part = ofi_addr_find_part(cls, peer, (uint8_t) at);
        if (part == NULL)
            continue;
        ofi_peer_lose(cls, part, NA_PLUGIN_E_HOSTUNREACH, why);
        ofi_match_forget(cls, part);
        ofi_addr_drop(cls, part);
    }
    ofi_lock_drop(&cls->lock);
}
