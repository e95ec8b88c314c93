/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and addresses: a numeric name stands in a table, so that equal names are
 * one object; no connection is made for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "common/host.h"

/* Forms of a serialized address. */
#define SERIAL_PLACE 1U  /* where the class listens, */
#define SERIAL_NUMBER 2U /* or its number */

na_plugin_addr *
ucx_addr_make(na_plugin_class *cls, const char *name)
{
    na_plugin_addr *addr = calloc(1, sizeof(*addr));
    if (addr == NULL)
        return NULL;
    tp_addr_enter(&cls->names, &addr->addr, NULL, 0);
    snprintf(addr->name, sizeof(addr->name), "%s", name);
    cls->addrs++;
    return addr;
}

na_plugin_addr *
ucx_addr_get(na_plugin_class *cls, const char *name,
    const struct sockaddr_storage *where, socklen_t length)
{
    struct tp_addr *found = tp_addr_find(&cls->names, NULL, name, strlen(name));

    if (found != NULL) {
        tp_addr_hold(found, false);
        return TP_OBJECT(found, na_plugin_addr, addr);
    }
    na_plugin_addr *addr = ucx_addr_make(cls, name);
    if (addr == NULL)
        return NULL;
    memcpy(&addr->where, where, length);
    addr->where_length = length;
    tp_addr_enter(&cls->names, &addr->addr, addr->name, strlen(addr->name));
    return addr;
}

void
ucx_addr_release(na_plugin_class *cls, na_plugin_addr *addr)
{
    if (!tp_addr_release(&cls->names, &addr->addr))
        return;
    if (addr->peer != NULL)
        ucx_peer_part(cls, addr);
    cls->addrs--;
    free(addr);
}

int32_t
ucx_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p)
{
    ucx_addr_hold(cls->self);
    *addr_p = cls->self;
    return NA_PLUGIN_OK;
}

/* From a socket address to the object. */
static int32_t
get(na_plugin_class *cls, const struct tp_place *where, na_plugin_addr **addr_p)
{
    char name[UCX_NAME_MAX + 1];
    size_t front = strlen(cls->protocol);

    memcpy(name, cls->protocol, front);
    memcpy(name + front, "://", 3);
    if (!tp_host_text(
            &where->address, name + front + 3, sizeof(name) - front - 3)) {
        TP_LOG(cls->host, ERROR, "the address has no numeric form");
        return NA_PLUGIN_E_INVALID_ARG;
    }
    tp_mutex_take(&cls->lock);
    na_plugin_addr *addr =
        ucx_addr_get(cls, name, &where->address, where->length);
    tp_mutex_drop(&cls->lock);
    if (addr == NULL)
        return NA_PLUGIN_E_NOMEM;
    *addr_p = addr;
    return NA_PLUGIN_OK;
}

int32_t
ucx_addr_lookup(na_plugin_class *cls, const char *name, na_plugin_addr **addr_p)
{
    const char *rest;
    struct tp_place where;

    int32_t ret = tp_addr_rest(cls->host, name, cls->protocol, &rest);
    if (ret == NA_PLUGIN_OK)
        ret = tp_host_parse(
            cls->host, rest, strlen(rest), AF_UNSPEC, true, &where);
    return ret == NA_PLUGIN_OK ? get(cls, &where, addr_p) : ret;
}

void
ucx_addr_dup(na_plugin_class *cls, na_plugin_addr *addr)
{
    ucx_addr_hold(addr);
}

void
ucx_addr_free(na_plugin_class *cls, na_plugin_addr *addr)
{
    if (tp_addr_release_shared(&addr->addr))
        return;
    tp_mutex_take(&cls->lock);
    ucx_addr_release(cls, addr);
    tp_mutex_drop(&cls->lock);
}

int32_t
ucx_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b)
{
    if (a == b)
        return 1;
    tp_mutex_take(&cls->lock);
    bool equal = a->peer != NULL && a->peer == b->peer;
    tp_mutex_drop(&cls->lock);
    return equal;
}

uint64_t
ucx_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr)
{
    tp_mutex_take(&cls->lock);
    uint64_t hash = addr->peer != NULL        ? ucx_peer_number(addr->peer)
                    : addr->addr.name != NULL ? addr->addr.keyed.key
                                              : (uint64_t) (uintptr_t) addr;
    tp_mutex_drop(&cls->lock);
    return hash;
}

/* An address of a class that does not listen. */
static int32_t
refuse_string(na_plugin_class *cls)
{
    TP_LOG(cls->host, INFO,
        "the peer does not listen: it has no address that others could use");
    return NA_PLUGIN_E_OPNOTSUPPORTED;
}

int32_t
ucx_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p)
{
    if (addr->name[0] == '\0')
        return refuse_string(cls);
    return tp_addr_to_string(
        cls->protocol, strstr(addr->name, "://") + 3, buffer, size_p);
}

/* The number of the class that an address leads to; 0: not known (now). */
static uint64_t
number_of(na_plugin_class *cls, const na_plugin_addr *addr)
{
    if (addr == cls->self)
        return cls->number;
    tp_mutex_take(&cls->lock);
    uint64_t number = addr->peer != NULL ? ucx_peer_number(addr->peer) : 0;
    tp_mutex_drop(&cls->lock);
    return number;
}

/* A place if the class listens; else its number, which whoever it is connected
 * with knows. */
int32_t
ucx_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p)
{
    if (addr->name[0] != '\0') {
        const char *place = strstr(addr->name, "://") + 3;
        return tp_addr_serialize(
            SERIAL_PLACE, place, strlen(place), buffer, size_p);
    }
    uint64_t number = number_of(cls, addr);
    if (number == 0)
        return refuse_string(cls);
    return tp_addr_serialize(
        SERIAL_NUMBER, &number, sizeof(number), buffer, size_p);
}

/* The address of a class that is connected with this one, or is it. */
static int32_t
get_by_number(
    na_plugin_class *cls, const unsigned char *bytes, na_plugin_addr **addr_p)
{
    na_plugin_addr *addr = NULL;
    uint64_t number;

    memcpy(&number, bytes, sizeof(number));
    tp_mutex_take(&cls->lock);
    if (number == cls->number)
        addr = cls->self;
    else if (number != 0)
        addr = ucx_peer_addr(cls, number);
    if (addr != NULL)
        ucx_addr_hold(addr);
    tp_mutex_drop(&cls->lock);
    if (addr == NULL) {
        TP_LOG(cls->host, INFO,
            "serialized address of a class that neither listens nor is "
            "connected");
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    }
    *addr_p = addr;
    return NA_PLUGIN_OK;
}

int32_t
ucx_addr_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_addr **addr_p)
{
    const unsigned char *content;
    struct tp_place where;
    size_t bytes;
    uint8_t form;

    int32_t ret = tp_addr_deserialize(
        cls->host, SERIAL_NUMBER, buffer, length, &form, &content, &bytes);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (form == SERIAL_NUMBER && bytes != sizeof(uint64_t)) {
        TP_LOG(cls->host, WARNING, "serialized number of %zu bytes", bytes);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (form == SERIAL_NUMBER)
        return get_by_number(cls, content, addr_p);
    ret = tp_host_parse(
        cls->host, (const char *) content, bytes, AF_UNSPEC, false, &where);
    return ret == NA_PLUGIN_OK ? get(cls, &where, addr_p) : ret;
}
