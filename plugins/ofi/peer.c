/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of peers, and their entries in libfabric's address vector. */
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "probe.h"
#include "quirk.h"

#define KEPT 1024U /* from then on each new one costs looks at the oldest */
#define LOOKS 4U

static uint64_t
key_of(uint64_t hash, uint8_t context)
{
    return hash ^ context * UINT64_C(0x9E3779B97F4A7C15);
}

static inline struct ofi_peer *
find(const struct ofi_endpoint *ep, const struct ofi_name *name,
    uint8_t context, uint64_t key)
{
    const struct tp_list *bucket = tp_table_bucket(&ep->peers, NULL, key);

    for (struct tp_link *link = bucket->head; link != NULL; link = link->next) {
        struct ofi_peer *peer = TP_OBJECT(link, struct ofi_peer, keyed.link);
        if (peer->keyed.key == key && peer->context == context &&
            ofi_name_equal(&peer->addr->name, name))
            return peer;
    }
    return NULL;
}

struct ofi_peer *
ofi_peer_find(
    const struct ofi_endpoint *ep, const struct ofi_name *name, uint8_t context)
{
    return find(ep, name, context,
        key_of(tp_addr_hash(name->bytes, name->length), context));
}

static __attribute__((noinline)) struct ofi_peer *
make(struct ofi_endpoint *ep, const struct ofi_name *name, uint8_t context,
    uint64_t key)
{
    struct ofi_peer *peer = calloc(
        1, sizeof(*peer) + (context != 0 ? sizeof(peer->own_name[0]) : 0));

    if (peer == NULL)
        return NULL;
    peer->addr = ofi_addr_get(ep->cls, name);
    if (peer->addr == NULL) {
        free(peer);
        return NULL;
    }
    peer->keyed.key = key;
    peer->context = context;
    peer->fi_addr = FI_ADDR_NOTAVAIL;
    peer->probe_fd = -1;
    tp_table_insert(&ep->peers, &peer->keyed);
    tp_list_append(&ep->by_age, &peer->by_age);
    if (context != 0)
        tp_list_append(&ep->others, &peer->other);
    else
        peer->name = &peer->addr->name;
    if (context == 0 && ofi_is_first(ep))
        peer->addr->first = peer;
    if (ep->peers.count > KEPT)
        ep->looks += LOOKS;
    return peer;
}

struct ofi_peer *
ofi_peer_get(
    struct ofi_endpoint *ep, const struct ofi_name *name, uint8_t context)
{
    uint64_t key = key_of(tp_addr_hash(name->bytes, name->length), context);
    struct ofi_peer *peer = find(ep, name, context, key);

    if (__builtin_expect(peer == NULL, 0))
        return make(ep, name, context, key);
    peer->used = true;
    return peer;
}

bool
ofi_peer_is_known(const struct ofi_endpoint *ep, const struct ofi_name *name)
{
    for (struct tp_link *link = ep->others.head; link != NULL;
         link = link->next) {
        const struct ofi_peer *peer = TP_OBJECT(link, struct ofi_peer, other);
        if (peer->name != NULL && ofi_name_equal(peer->name, name))
            return true;
    }
    return ofi_peer_find(ep, name, 0) != NULL;
}

void
ofi_peer_set_name(struct ofi_peer *peer, const struct ofi_name *name)
{
    if (peer->context == 0)
        return;
    peer->own_name[0] = *name;
    peer->name = &peer->own_name[0];
}

void
ofi_peer_print(const struct ofi_peer *peer, const struct ofi_trait *trait,
    char text[OFI_TEXT_MAX])
{
    ofi_name_print(
        trait, peer->name != NULL ? peer->name : &peer->addr->name, text);
}

static void
destroy(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    for (uint32_t i = 0; i < OFI_SENDERS; i++)
        if (ep->senders[i] == peer)
            ep->senders[i] = NULL;
    tp_table_remove(&ep->peers, &peer->keyed);
    tp_list_remove(&ep->by_age, &peer->by_age);
    ofi_peer_unknow(ep, peer);
    OFI_QUIRKS_CALL(ep, peer_freed, ep, peer);
    if (peer->context != 0)
        tp_list_remove(&ep->others, &peer->other);
    else if (ofi_is_first(ep))
        peer->addr->first = NULL;
    ofi_addr_release(ep->cls, peer->addr);
    free(peer);
}

/* What was heard of a peer is kept while the core has its address. */
static bool
is_needed(const struct ofi_endpoint *ep, const struct ofi_peer *peer)
{
    return peer->refs != 0 || peer->is_active || peer->used ||
           (ofi_is_first(ep) && peer->context == 0 &&
               atomic_load_explicit(
                   &peer->addr->addr.refs, memory_order_relaxed) != 1);
}

void
ofi_peer_evict(struct ofi_endpoint *ep)
{
    for (; ep->looks != 0 && ep->by_age.head != NULL; ep->looks--) {
        struct ofi_peer *oldest = ofi_peer_by_age(ep->by_age.head);
        if (!is_needed(ep, oldest)) {
            destroy(ep, oldest);
            continue;
        }
        oldest->used = false;
        tp_list_remove(&ep->by_age, &oldest->by_age);
        tp_list_append(&ep->by_age, &oldest->by_age);
    }
}

void
ofi_peer_fini(struct ofi_endpoint *ep)
{
    while (ep->by_age.head != NULL)
        destroy(ep, ofi_peer_by_age(ep->by_age.head));
    tp_table_fini(&ep->peers);
}

int32_t
ofi_peer_insert(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    uint64_t raw[OFI_RAW_MAX / 8];
    fi_addr_t addr = FI_ADDR_NOTAVAIL;

    if (peer->closed)
        return NA_PLUGIN_E_HOSTUNREACH;
    if (peer->name == NULL || !ofi_quirk_reach(ep, peer))
        return NA_PLUGIN_E_HOSTUNREACH;
    ofi_name_to_raw(ep->cls->trait, peer->name, raw);
    int ret = fi_av_insert(ep->av, raw, 1, &addr, 0, NULL);
    if (ret != 1 || addr == FI_ADDR_NOTAVAIL) {
        char text[OFI_TEXT_MAX];
        ofi_peer_print(peer, ep->cls->trait, text);
        TP_LOG(ep->cls->host, ERROR, "%s: libfabric refuses this address: %s",
            text, ret < 0 ? ofi_library.strerror(-ret) : "no reason given");
        return NA_PLUGIN_E_HOSTUNREACH;
    }
    peer->fi_addr = addr;
    return NA_PLUGIN_OK;
}

void
ofi_peer_activate(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    if (peer->suspect) {
        ep->polls = OFI_PEER_POLLS;
        ep->look_ns = 0;
    }
    if (peer->is_active)
        return;
    peer->is_active = true;
    peer->pinged_ns = peer->heard_ns = 0;
    tp_list_append(&ep->active, &peer->active);
}

void
ofi_peer_unstick(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    if (peer->stuck_ns == 0)
        return;
    peer->stuck_ns = 0;
    ep->stuck--;
    ofi_probe_end(peer);
}

void
ofi_peer_deactivate(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    if (!peer->is_active)
        return;
    ofi_probe_end(peer);
    ofi_peer_unstick(ep, peer);
    peer->is_active = false;
    tp_list_remove(&ep->active, &peer->active);
}

void
ofi_peer_stuck(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    ofi_peer_activate(ep, peer);
    if (peer->stuck_ns != 0)
        return;
    peer->stuck_ns = tp_now();
    ep->stuck++;
    if (ep->look_ns > peer->stuck_ns + OFI_PEER_LOOK_NS)
        ep->look_ns = peer->stuck_ns + OFI_PEER_LOOK_NS;
}

void
ofi_peer_moved(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    if (peer->stuck_ns == 0)
        return;
    if (peer->queue.head != NULL || peer->blocked)
        peer->stuck_ns = tp_now();
    else
        ofi_peer_unstick(ep, peer);
}

void
ofi_peer_unknow(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    ofi_peer_deactivate(ep, peer);
    if (peer->fi_addr != FI_ADDR_NOTAVAIL && ep->av != NULL &&
        !ep->keeps_addresses)
        fi_av_remove(ep->av, &peer->fi_addr, 1, 0);
    peer->fi_addr = FI_ADDR_NOTAVAIL;
}
