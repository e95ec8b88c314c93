/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of names. */
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "ofi.h"
#include "peer.h"
#include "quirk.h"

#define NAMES_FIRST 64U
#define IDLE_MAX 1024U /* addresses without a reference that are kept */
#define EVICT 4U       /* of those that are too many, how many are looked at */

/* The table doubles when it is full, if there is memory. */
static void
grow(struct ofi_endpoint *ep)
{
    uint32_t size = ep->names_size == 0 ? NAMES_FIRST : ep->names_size * 2;
    na_plugin_addr **names = calloc(size, sizeof(na_plugin_addr *));
    if (names == NULL)
        return;

    for (uint32_t i = 0; i < ep->names_size; i++)
        while (ep->names[i] != NULL) {
            na_plugin_addr *addr = ep->names[i];
            ep->names[i] = addr->next;
            addr->next = names[addr->hash & (size - 1)];
            names[addr->hash & (size - 1)] = addr;
        }
    free(ep->names);
    ep->names = names;
    ep->names_size = size;
}

/* Nobody refers to it. */
static void
become_idle(struct ofi_endpoint *ep, na_plugin_addr *addr)
{
    if (addr->is_idle) /* it was, and somebody held it nevertheless */
        return;
    addr->is_idle = true;
    tp_list_append(&ep->idle, &addr->idle);
    ep->idle_count++;
}

static void evict(struct ofi_endpoint *ep);

/* Gives back what an object of this class has of the core's. */
static void
drop_whole(struct ofi_endpoint *ep, na_plugin_addr *addr)
{
    if (addr->of == addr)
        return;
    if (!ofi_is_first(ep))
        tp_lock_take(&ep->cls->first->lock);
    if (atomic_fetch_sub_explicit(&addr->of->refs, 1, memory_order_relaxed) ==
        1)
        become_idle(ep->cls->first, addr->of);
    if (!ofi_is_first(ep)) {
        evict(ep->cls->first);
        tp_lock_drop(&ep->cls->first->lock);
    }
}

static void
destroy(struct ofi_endpoint *ep, na_plugin_addr *addr)
{
    na_plugin_addr **link = &ep->names[addr->hash & (ep->names_size - 1)];

    while (*link != addr)
        link = &(*link)->next;
    *link = addr->next;
    ep->names_count--;
    if (addr->is_idle) {
        tp_list_remove(&ep->idle, &addr->idle);
        ep->idle_count--;
    }
    ofi_peer_unknow(ep, addr);
    OFI_QUIRKS_CALL(ep, peer_freed, ep, addr);
    if (addr->at != 0 && addr->end != NULL) {
        tp_list_remove(&ep->ends, &addr->by_end);
        free(addr->end);
    }
    drop_whole(ep, addr);
    free(addr);
}

/* One more is idle. They are kept for a while, as they may come again with the
 * next message; one that goes may make another idle, which it was a part of. */
static void
evict(struct ofi_endpoint *ep)
{
    for (uint32_t i = 0; i < EVICT && ep->idle_count > IDLE_MAX; i++) {
        na_plugin_addr *oldest = TP_OBJECT(ep->idle.head, na_plugin_addr, idle);
        if (!oldest->is_active &&
            atomic_load_explicit(&oldest->refs, memory_order_relaxed) == 0) {
            destroy(ep, oldest);
            continue;
        }
        /* ofi_peer_look will see that nothing of it is pending any more */
        tp_list_remove(&ep->idle, &oldest->idle);
        tp_list_append(&ep->idle, &oldest->idle);
    }
}

/* Looks for one; one reference, if it is there. */
static inline na_plugin_addr *
find(struct ofi_endpoint *ep, const struct ofi_name *name, uint8_t at,
    uint32_t hash)
{
    na_plugin_addr *addr = NULL;

    if (ep->names_size == 0)
        return NULL;
    for (addr = ep->names[hash & (ep->names_size - 1)]; addr != NULL;
         addr = addr->next)
        if (addr->hash == hash && addr->at == at &&
            ofi_name_equal(&addr->name, name))
            break;
    if (addr == NULL)
        return NULL;
    ofi_addr_hold(addr);
    if (addr->is_idle) {
        tp_list_remove(&ep->idle, &addr->idle);
        addr->is_idle = false;
        ep->idle_count--;
    }
    return addr;
}

static na_plugin_addr *
make(struct ofi_endpoint *ep, const struct ofi_name *name, uint8_t at,
    uint32_t hash)
{
    if (ep->names_count >= ep->names_size)
        grow(ep);
    if (ep->names_size == 0)
        return NULL;
    na_plugin_addr *addr = calloc(1, sizeof(*addr));
    if (addr == NULL)
        return NULL;
    atomic_init(&addr->refs, 1);
    addr->hash = hash;
    addr->name = *name;
    addr->at = at;
    addr->of = addr;
    addr->end = at == 0 ? &addr->name : NULL;
    addr->fi_addr = FI_ADDR_NOTAVAIL;
    addr->probe_fd = -1;
    addr->next = ep->names[hash & (ep->names_size - 1)];
    ep->names[hash & (ep->names_size - 1)] = addr;
    ep->names_count++;
    return addr;
}

static uint32_t
hash_of(uint32_t hash, uint8_t at)
{
    return hash ^ at * UINT32_C(0x9E3779B1);
}

na_plugin_addr *
ofi_addr_get(struct ofi_endpoint *ep, const struct ofi_name *name)
{
    uint32_t hash = ofi_name_hash(name);
    na_plugin_addr *addr = find(ep, name, 0, hash);

    return addr != NULL ? addr : make(ep, name, 0, hash);
}

/* What the core has of a peer; one reference. */
static na_plugin_addr *
get_whole(struct ofi_endpoint *ep, const struct ofi_name *name)
{
    if (ofi_is_first(ep))
        return ofi_addr_get(ep, name);
    tp_lock_take(&ep->cls->first->lock);
    na_plugin_addr *addr = ofi_addr_get(ep->cls->first, name);
    tp_lock_drop(&ep->cls->first->lock);
    return addr;
}

na_plugin_addr *
ofi_addr_get_part(
    struct ofi_endpoint *ep, const struct ofi_name *name, uint8_t at)
{
    uint32_t hash = hash_of(ofi_name_hash(name), at);
    na_plugin_addr *addr = find(ep, name, at, hash);

    if (addr != NULL || (ofi_is_first(ep) && at == 0))
        return addr != NULL ? addr : make(ep, name, at, hash);
    na_plugin_addr *whole = get_whole(ep, name);
    if (whole == NULL)
        return NULL;
    addr = make(ep, name, at, hash);
    if (addr != NULL)
        addr->of = whole;
    else if (ofi_is_first(ep))
        ofi_addr_drop(ep, whole);
    else
        ofi_addr_release(ep->cls->first, whole);
    return addr;
}

na_plugin_addr *
ofi_addr_find_part(struct ofi_endpoint *ep, na_plugin_addr *whole, uint8_t at)
{
    uint32_t hash = hash_of(ofi_name_hash(&whole->name), at);

    return find(ep, &whole->name, at, hash);
}

na_plugin_addr *
ofi_addr_peek(const struct ofi_endpoint *ep, const struct ofi_name *name)
{
    uint32_t hash = ofi_name_hash(name);
    na_plugin_addr *addr =
        ep->names_size == 0 ? NULL : ep->names[hash & (ep->names_size - 1)];

    while (
        addr != NULL && (addr->at != 0 || !ofi_name_equal(&addr->name, name)))
        addr = addr->next;
    return addr;
}

bool
ofi_addr_is_known(const struct ofi_endpoint *ep, const struct ofi_name *name)
{
    for (struct tp_link *link = ep->ends.head; link != NULL; link = link->next)
        if (ofi_name_equal(TP_OBJECT(link, na_plugin_addr, by_end)->end, name))
            return true;
    return ofi_addr_peek(ep, name) != NULL;
}

na_plugin_addr *
ofi_addr_self_new(struct ofi_endpoint *ep)
{
    na_plugin_addr *self =
        ofi_addr_get_part(ep, &ep->cls->first->own_name, (uint8_t) ep->index);

    if (self != NULL && !ofi_addr_set_end(ep, self, &ep->own_name)) {
        ofi_addr_drop(ep, self);
        self = NULL;
    }
    if (self != NULL)
        self->self = true;
    return self;
}

bool
ofi_addr_set_end(
    struct ofi_endpoint *ep, na_plugin_addr *addr, const struct ofi_name *end)
{
    if (addr->at == 0)
        return true;
    if (addr->end == NULL) {
        addr->end = malloc(sizeof(*addr->end));
        if (addr->end == NULL)
            return false;
        tp_list_append(&ep->ends, &addr->by_end);
    }
    *addr->end = *end;
    return true;
}

void
ofi_addr_drop(struct ofi_endpoint *ep, na_plugin_addr *addr)
{
    /* relaxed: the last one is always dropped under the lock */
    if (atomic_fetch_sub_explicit(&addr->refs, 1, memory_order_relaxed) == 1) {
        become_idle(ep, addr);
        evict(ep);
    }
}

/* How many refer to an address on behalf of the program: not the messages that
 * libfabric had when it was closed. */
static uint32_t
references(na_plugin_addr *addr)
{
    uint32_t refs = atomic_load_explicit(&addr->refs, memory_order_relaxed);

    for (struct tp_link *link = addr->flying.head; link != NULL;
         link = link->next)
        refs--;
    return refs;
}

/* The parts come before what they are parts of. */
static void
destroy_parts(struct ofi_endpoint *ep)
{
    for (uint32_t i = 0; i < ep->names_size; i++)
        for (na_plugin_addr *addr = ep->names[i], *next; addr != NULL;
             addr = next) {
            next = addr->next;
            if (addr->of != addr)
                destroy(ep, addr);
        }
}

uint32_t
ofi_addr_fini(struct ofi_endpoint *ep)
{
    uint32_t left = 0;

    destroy_parts(ep);
    for (uint32_t i = 0; i < ep->names_size; i++)
        while (ep->names[i] != NULL) {
            left += references(ep->names[i]) != 0;
            destroy(ep, ep->names[i]);
        }
    free(ep->names);
    ep->names = NULL;
    ep->names_size = 0;
    return left;
}

void
ofi_addr_release(struct ofi_endpoint *ep, na_plugin_addr *addr)
{
    uint32_t refs = atomic_load_explicit(&addr->refs, memory_order_relaxed);

    while (refs > 1)
        /* release: what was done with the address comes before its end, which
         * the lock orders */
        if (atomic_compare_exchange_weak_explicit(&addr->refs, &refs, refs - 1,
                memory_order_release, memory_order_relaxed))
            return;
    tp_lock_take(&ep->lock);
    ofi_addr_drop(ep, addr);
    tp_lock_drop(&ep->lock);
}

void
ofi_addr_drop_source(struct ofi_endpoint *ep, na_plugin_addr *addr)
{
    if (ofi_is_first(ep))
        ofi_addr_drop(ep, addr);
    else
        ofi_addr_release(ep->cls->first, addr);
}
