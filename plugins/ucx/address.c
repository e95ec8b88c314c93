/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and addresses: a numeric name stands in a table, so that equal names are
 * one object; nobody is called for it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "peer.h"
#include "where.h"

#define TABLE_BITS 4     /* of an empty table */
#define SERIAL_PLACE 1U  /* forms: where the class listens, */
#define SERIAL_NUMBER 2U /* or its number */
#define SERIAL_HEADER 2U /* form, length of what follows */

static uint32_t
hash_name(const char *name)
{
    uint64_t hash = 7;
    for (; *name; name++)
        hash = (hash ^ (unsigned char) *name) * UINT64_C(0x100000001B3);
    return (uint32_t) ((hash * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

int32_t
ucx_addr_init(na_plugin_class *cls)
{
    cls->names_bits = TABLE_BITS;
    cls->names = calloc((size_t) 1 << TABLE_BITS, sizeof(*cls->names));
    if (cls->names == NULL)
        return NA_PLUGIN_E_NOMEM;
    return ucx_table_init(&cls->peers);
}

uint32_t
ucx_addr_fini(na_plugin_class *cls)
{
    uint32_t left = cls->addrs;

    free(cls->names);
    if (cls->peers.buckets != NULL)
        ucx_peer_fini(cls);
    return left;
}

/* Doubles the table; without memory for it, it stays as it is. */
static void
grow(na_plugin_class *cls)
{
    uint32_t bits = cls->names_bits + 1;
    na_plugin_addr **names = calloc((size_t) 1 << bits, sizeof(*names));
    if (names == NULL)
        return;

    for (size_t i = 0; i >> cls->names_bits == 0; i++) {
        while (cls->names[i] != NULL) {
            na_plugin_addr *addr = cls->names[i];
            cls->names[i] = addr->next;
            addr->next = names[addr->hash >> (32 - bits)];
            names[addr->hash >> (32 - bits)] = addr;
        }
    }
    free(cls->names);
    cls->names = names;
    cls->names_bits = bits;
}

na_plugin_addr *
ucx_addr_make(na_plugin_class *cls, const char *name)
{
    na_plugin_addr *addr = calloc(1, sizeof(*addr));
    if (addr == NULL)
        return NULL;
    atomic_init(&addr->refs, 1);
    snprintf(addr->name, sizeof(addr->name), "%s", name);
    cls->addrs++;
    return addr;
}

na_plugin_addr *
ucx_addr_get(na_plugin_class *cls, const char *name,
    const struct sockaddr_storage *where, socklen_t length)
{
    uint32_t hash = hash_name(name);
    na_plugin_addr *addr = cls->names[hash >> (32 - cls->names_bits)];

    while (
        addr != NULL && (addr->hash != hash || strcmp(addr->name, name) != 0))
        addr = addr->next;
    if (addr != NULL) {
        ucx_addr_hold(addr);
        return addr;
    }
    addr = ucx_addr_make(cls, name);
    if (addr == NULL)
        return NULL;
    addr->hash = hash;
    addr->named = true;
    memcpy(&addr->where, where, length);
    addr->where_length = length;
    if (cls->names_count >> cls->names_bits != 0 && cls->names_bits < 30)
        grow(cls);
    na_plugin_addr **bucket = &cls->names[hash >> (32 - cls->names_bits)];
    addr->next = *bucket;
    *bucket = addr;
    cls->names_count++;
    return addr;
}

void
ucx_addr_release(na_plugin_class *cls, na_plugin_addr *addr)
{
    /* acq_rel: pairs with itself; what others did with it is over */
    if (atomic_fetch_sub_explicit(&addr->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (addr->named) {
        na_plugin_addr **link =
            &cls->names[addr->hash >> (32 - cls->names_bits)];
        while (*link != addr)
            link = &(*link)->next;
        *link = addr->next;
        cls->names_count--;
    }
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
get(na_plugin_class *cls, const struct ucx_where *where,
    na_plugin_addr **addr_p)
{
    char name[UCX_NAME_MAX + 1];
    size_t front = strlen(cls->protocol);

    memcpy(name, cls->protocol, front);
    memcpy(name + front, "://", 3);
    if (!ucx_where_text(
            &where->address, name + front + 3, sizeof(name) - front - 3)) {
        UCX_LOG(cls->host, ERROR, "the address has no numeric form");
        return NA_PLUGIN_E_INVALID_ARG;
    }
    ucx_lock_take(&cls->lock);
    na_plugin_addr *addr =
        ucx_addr_get(cls, name, &where->address, where->length);
    ucx_lock_drop(&cls->lock);
    if (addr == NULL)
        return NA_PLUGIN_E_NOMEM;
    *addr_p = addr;
    return NA_PLUGIN_OK;
}

int32_t
ucx_addr_lookup(na_plugin_class *cls, const char *name, na_plugin_addr **addr_p)
{
    const char *rest = strstr(name, "://");
    struct ucx_where where;

    if (rest == NULL) {
        UCX_LOG(
            cls->host, ERROR, "address \"%.120s\" has no protocol://", name);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if ((size_t) (rest - name) != strlen(cls->protocol) ||
        memcmp(name, cls->protocol, strlen(cls->protocol)) != 0) {
        UCX_LOG(cls->host, ERROR,
            "address \"%.120s\" is of another protocol; this class speaks %s",
            name, cls->protocol);
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    int32_t ret =
        ucx_where_parse(cls->host, rest + 3, strlen(rest + 3), true, &where);
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
    uint32_t refs = atomic_load_explicit(&addr->refs, memory_order_relaxed);

    while (refs > 1) {
        /* release: pairs with the acquire of the last one */
        if (atomic_compare_exchange_weak_explicit(&addr->refs, &refs, refs - 1,
                memory_order_release, memory_order_relaxed))
            return;
    }
    ucx_lock_take(&cls->lock);
    ucx_addr_release(cls, addr);
    ucx_lock_drop(&cls->lock);
}

int32_t
ucx_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b)
{
    if (a == b)
        return 1;
    ucx_lock_take(&cls->lock);
    bool equal = a->peer != NULL && a->peer == b->peer;
    ucx_lock_drop(&cls->lock);
    return equal;
}

uint64_t
ucx_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr)
{
    ucx_lock_take(&cls->lock);
    uint64_t hash = addr->peer != NULL ? ucx_peer_number(addr->peer)
                    : addr->named      ? addr->hash
                                       : (uint64_t) (uintptr_t) addr;
    ucx_lock_drop(&cls->lock);
    return hash;
}

int32_t
ucx_settle_size(const void *buffer, uint64_t *size_p, uint64_t need)
{
    uint64_t room = *size_p;
    *size_p = need;
    return buffer == NULL || room >= need ? NA_PLUGIN_OK : NA_PLUGIN_E_OVERFLOW;
}

/* An address of a class that does not listen. */
static int32_t
refuse_string(na_plugin_class *cls)
{
    UCX_LOG(cls->host, INFO,
        "a class that does not listen has no address that others could use");
    return NA_PLUGIN_E_OPNOTSUPPORTED;
}

int32_t
ucx_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p)
{
    size_t length = strlen(addr->name);
    if (length == 0)
        return refuse_string(cls);
    int32_t ret = ucx_settle_size(buffer, size_p, length + 1);
    if (ret == NA_PLUGIN_OK && buffer != NULL)
        memcpy(buffer, addr->name, length + 1);
    return ret;
}

/* The part behind "protocol://". */
static const char *
place(const na_plugin_addr *addr)
{
    return strstr(addr->name, "://") + 3;
}

/* The number of the class that an address leads to; 0: not known (now). */
static uint64_t
number_of(na_plugin_class *cls, const na_plugin_addr *addr)
{
    if (addr == cls->self)
        return cls->number;
    ucx_lock_take(&cls->lock);
    uint64_t number = addr->peer != NULL ? ucx_peer_number(addr->peer) : 0;
    ucx_lock_drop(&cls->lock);
    return number;
}

/* A place if the class listens; else its number, which whoever it is connected
 * with knows. */
int32_t
ucx_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p)
{
    bool placed = addr->name[0] != '\0';
    uint64_t number = placed ? 0 : number_of(cls, addr);
    const void *content = placed ? (const void *) place(addr) : &number;
    size_t length = placed ? strlen(place(addr)) : sizeof(number);

    if (!placed && number == 0)
        return refuse_string(cls);
    int32_t ret = ucx_settle_size(buffer, size_p, SERIAL_HEADER + length);
    if (ret != NA_PLUGIN_OK || buffer == NULL)
        return ret;
    unsigned char *bytes = buffer;
    bytes[0] = placed ? SERIAL_PLACE : SERIAL_NUMBER;
    bytes[1] = (unsigned char) length;
    memcpy(bytes + SERIAL_HEADER, content, length);
    return NA_PLUGIN_OK;
}

/* The address of a class that is connected with this one, or is it. */
static int32_t
get_by_number(
    na_plugin_class *cls, const unsigned char *bytes, na_plugin_addr **addr_p)
{
    na_plugin_addr *addr = NULL;
    uint64_t number;

    memcpy(&number, bytes, sizeof(number));
    ucx_lock_take(&cls->lock);
    if (number == cls->number)
        addr = cls->self;
    else if (number != 0)
        addr = ucx_peer_addr(cls, number);
    if (addr != NULL)
        ucx_addr_hold(addr);
    ucx_lock_drop(&cls->lock);
    if (addr == NULL) {
        UCX_LOG(cls->host, INFO,
            "an address of a class that does not listen, nor is connected");
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    }
    *addr_p = addr;
    return NA_PLUGIN_OK;
}

int32_t
ucx_addr_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_addr **addr_p)
{
    const unsigned char *bytes = buffer;
    struct ucx_where where;

    if (length >= SERIAL_HEADER && bytes[0] != SERIAL_PLACE &&
        bytes[0] != SERIAL_NUMBER) {
        UCX_LOG(cls->host, WARNING,
            "serialized address of form %u; known are %u and %u", bytes[0],
            SERIAL_PLACE, SERIAL_NUMBER);
        return NA_PLUGIN_E_PROTOCOL_ERROR;
    }
    if (length < SERIAL_HEADER || bytes[1] == 0 ||
        bytes[1] > length - SERIAL_HEADER ||
        (bytes[0] == SERIAL_NUMBER && bytes[1] != sizeof(uint64_t))) {
        UCX_LOG(cls->host, WARNING,
            "%" PRIu64 " bytes are no serialized address", length);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (bytes[0] == SERIAL_NUMBER)
        return get_by_number(cls, bytes + SERIAL_HEADER, addr_p);
    int32_t ret = ucx_where_parse(cls->host,
        (const char *) bytes + SERIAL_HEADER, bytes[1], false, &where);
    return ret == NA_PLUGIN_OK ? get(cls, &where, addr_p) : ret;
}
