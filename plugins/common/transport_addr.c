/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: names of peers, each of which is one object. */
#include <stdlib.h>
#include <string.h>

#include "common/transport_private.h"

#define FORM 1U /* of the bytes of a serialized one: its name */

na_plugin_addr *
tp_peer_new(const struct tp_transport *transport)
{
    return calloc(1, transport->carrier->addr_size);
}

na_plugin_addr *
tp_peer_enter(struct tp_transport *transport, na_plugin_addr *addr)
{
    struct tp_peer *peer = tp_peer_of(addr);
    size_t length = strlen(peer->name);
    struct tp_addr *found =
        tp_addr_find(&transport->addrs, NULL, peer->name, length);

    if (found == NULL) {
        tp_addr_enter(&transport->addrs, &peer->addr, peer->name, length);
        return addr;
    }
    free(addr);
    tp_addr_hold(found, false);
    return (na_plugin_addr *) (void *) TP_OBJECT(found, struct tp_peer, addr);
}

void
tp_peer_put(struct tp_transport *transport, na_plugin_addr *addr)
{
    if (tp_addr_release(&transport->addrs, &tp_peer_of(addr)->addr))
        free(addr);
}

int32_t
tp_peer_self(na_plugin_class *cls, na_plugin_addr **addr_p)
{
    na_plugin_addr *self = tp_transport_of(cls)->self;

    tp_addr_hold(&tp_peer_of(self)->addr, false);
    *addr_p = self;
    return NA_PLUGIN_OK;
}

/* From a user's text (a name may be resolved, which takes its time, and the lock is
 * not held), or from a peer's. */
static int32_t
from_text(na_plugin_class *cls, const char *text, size_t length, bool resolve,
    na_plugin_addr **addr_p)
{
    struct tp_transport *transport = tp_transport_of(cls);
    na_plugin_addr *addr = tp_peer_new(transport);

    if (addr == NULL)
        return NA_PLUGIN_E_NOMEM;
    int32_t ret =
        transport->carrier->addr_parse(cls, text, length, resolve, addr);
    if (ret != NA_PLUGIN_OK) {
        free(addr);
        return ret;
    }
    tp_mutex_take(transport->lock);
    *addr_p = tp_peer_enter(transport, addr);
    tp_mutex_drop(transport->lock);
    return NA_PLUGIN_OK;
}

int32_t
tp_peer_lookup(na_plugin_class *cls, const char *name, na_plugin_addr **addr_p)
{
    const struct tp_transport *transport = tp_transport_of(cls);
    const char *rest;

    int32_t ret = tp_addr_rest(
        transport->host, name, transport->carrier->protocol, &rest);
    return ret == NA_PLUGIN_OK
               ? from_text(cls, rest, strlen(rest), true, addr_p)
               : ret;
}

void
tp_peer_dup(na_plugin_class *cls, na_plugin_addr *addr)
{
    tp_addr_hold(&tp_peer_of(addr)->addr, false);
}

void
tp_peer_free(na_plugin_class *cls, na_plugin_addr *addr)
{
    struct tp_transport *transport = tp_transport_of(cls);

    if (tp_addr_release_shared(&tp_peer_of(addr)->addr))
        return;
    tp_mutex_take(transport->lock);
    tp_peer_put(transport, addr);
    tp_mutex_drop(transport->lock);
}

int32_t
tp_peer_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b)
{
    return a == b;
}

static const struct tp_peer *
constant_peer(const na_plugin_addr *addr)
{
    return (const struct tp_peer *) (const void *) addr;
}

uint64_t
tp_peer_hash(na_plugin_class *cls, const na_plugin_addr *addr)
{
    return constant_peer(addr)->addr.keyed.key;
}

int32_t
tp_peer_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p)
{
    return tp_addr_to_string(tp_transport_of(cls)->carrier->protocol,
        constant_peer(addr)->name, buffer, size_p);
}

int32_t
tp_peer_to_bytes(na_plugin_class *cls, const na_plugin_addr *addr, void *buffer,
    uint64_t *size_p)
{
    const char *name = constant_peer(addr)->name;

    return tp_addr_serialize(FORM, name, strlen(name), buffer, size_p);
}

int32_t
tp_peer_from_bytes(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_addr **addr_p)
{
    const unsigned char *text;
    size_t size;
    uint8_t form;

    int32_t ret = tp_addr_deserialize(
        tp_transport_of(cls)->host, FORM, buffer, length, &form, &text, &size);
    return ret == NA_PLUGIN_OK
               ? from_text(cls, (const char *) text, size, false, addr_p)
               : ret;
}
