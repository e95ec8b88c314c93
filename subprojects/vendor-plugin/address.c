/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: where a class listens. Equal ones are one object. */
#include <stdlib.h>
#include <string.h>

#include "tcp.h"

#define FORM 1U /* of the bytes of a serialized one */

na_plugin_addr *
tcp_addr_get(na_plugin_class *cls, const struct tp_place *place)
{
    char name[sizeof(cls->self->name)];

    if (!tp_host_text(&place->address, name, sizeof(name)))
        return NULL;
    struct tp_addr *found = tp_addr_find(&cls->addrs, NULL, name, strlen(name));
    if (found != NULL) {
        tp_addr_hold(found, false);
        return TP_OBJECT(found, na_plugin_addr, base);
    }
    na_plugin_addr *addr = calloc(1, sizeof(*addr));
    if (addr == NULL)
        return NULL;
    memcpy(addr->name, name, sizeof(name));
    addr->place = *place;
    tp_addr_enter(&cls->addrs, &addr->base, addr->name, strlen(name));
    return addr;
}

void
tcp_addr_put(na_plugin_class *cls, na_plugin_addr *addr)
{
    if (tp_addr_release(&cls->addrs, &addr->base))
        free(addr);
}

static int32_t
addr_self(na_plugin_class *cls, na_plugin_addr **addr_p)
{
    tp_addr_hold(&cls->self->base, false);
    *addr_p = cls->self;
    return NA_PLUGIN_OK;
}

/* From "host:port" of a user (a name may be resolved, which takes its time, and
 * the lock is not held), or of a peer's. */
static int32_t
from_text(na_plugin_class *cls, const char *text, size_t length, bool resolve,
    na_plugin_addr **addr_p)
{
    struct tp_place place;

    int32_t ret =
        tp_host_parse(cls->host, text, length, cls->family, resolve, &place);
    if (ret != NA_PLUGIN_OK)
        return ret;
    tp_lock_take(&cls->lock);
    na_plugin_addr *addr = tcp_addr_get(cls, &place);
    tp_lock_drop(&cls->lock);
    if (addr == NULL)
        return NA_PLUGIN_E_NOMEM;
    *addr_p = addr;
    return NA_PLUGIN_OK;
}

static int32_t
addr_lookup(na_plugin_class *cls, const char *name, na_plugin_addr **addr_p)
{
    const char *rest;

    int32_t ret = tp_addr_rest(cls->host, name, TCP_PROTOCOL, &rest);
    return ret == NA_PLUGIN_OK
               ? from_text(cls, rest, strlen(rest), true, addr_p)
               : ret;
}

static void
addr_dup(na_plugin_class *cls, na_plugin_addr *addr)
{
    tp_addr_hold(&addr->base, false);
}

static void
addr_free(na_plugin_class *cls, na_plugin_addr *addr)
{
    if (tp_addr_release_shared(&addr->base))
        return;
    tp_lock_take(&cls->lock);
    tcp_addr_put(cls, addr);
    tp_lock_drop(&cls->lock);
}

static int32_t
addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b)
{
    return a == b;
}

static uint64_t
addr_hash(na_plugin_class *cls, const na_plugin_addr *addr)
{
    return addr->base.keyed.key;
}

static int32_t
addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr, char *buffer,
    uint64_t *size_p)
{
    return tp_addr_to_string(TCP_PROTOCOL, addr->name, buffer, size_p);
}

static int32_t
addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr, void *buffer,
    uint64_t *size_p)
{
    return tp_addr_serialize(
        FORM, addr->name, strlen(addr->name), buffer, size_p);
}

static int32_t
addr_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_addr **addr_p)
{
    const unsigned char *text;
    size_t size;
    uint8_t form;

    int32_t ret = tp_addr_deserialize(
        cls->host, FORM, buffer, length, &form, &text, &size);
    return ret == NA_PLUGIN_OK
               ? from_text(cls, (const char *) text, size, false, addr_p)
               : ret;
}

static void
addr_forget(na_plugin_class *cls, na_plugin_addr *addr)
{
    struct tp_link *next;

    tp_lock_take(&cls->lock);
    for (struct tp_link *link = cls->conns.head; link != NULL; link = next) {
        struct tcp_conn *conn = TP_OBJECT(link, struct tcp_conn, link);
        next = link->next;
        if (conn->peer == addr)
            tcp_conn_end(conn, NA_PLUGIN_E_HOSTUNREACH);
    }
    tp_lock_drop(&cls->lock);
}

void
tcp_address_ops(na_plugin_ops *ops)
{
    ops->addr_self = addr_self;
    ops->addr_lookup = addr_lookup;
    ops->addr_dup = addr_dup;
    ops->addr_free = addr_free;
    ops->addr_equal = addr_equal;
    ops->addr_hash = addr_hash;
    ops->addr_to_string = addr_to_string;
    ops->addr_serialize = addr_serialize;
    ops->addr_deserialize = addr_deserialize;
    ops->addr_forget = addr_forget;
}
