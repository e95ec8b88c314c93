/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of names, and addresses as text and bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "address.h"
#include "lane.h"
#include "name.h"
#include "peer.h"
#include "route.h"
#include "valid.h"

#define NAMES_FIRST 64U
#define IDLE_MAX 1024U /* addresses without a reference that are kept */
#define EVICT 4U       /* of those that are too many, how many are looked at */
#define SCHEME_MAX 64U
#define BYTES_VERSION 1U

/* The table doubles when it is full, if there is memory. */
static void
grow(na_plugin_class *cls)
{
    uint32_t size = cls->names_size == 0 ? NAMES_FIRST : cls->names_size * 2;
    na_plugin_addr **names = calloc(size, sizeof(na_plugin_addr *));
    if (names == NULL)
        return;

    for (uint32_t i = 0; i < cls->names_size; i++)
        while (cls->names[i] != NULL) {
            na_plugin_addr *addr = cls->names[i];
            cls->names[i] = addr->next;
            addr->next = names[addr->hash & (size - 1)];
            names[addr->hash & (size - 1)] = addr;
        }
    free(cls->names);
    cls->names = names;
    cls->names_size = size;
}

/* Nobody refers to it. */
static void
become_idle(na_plugin_class *cls, na_plugin_addr *addr)
{
    if (addr->is_idle) /* it was, and somebody held it nevertheless */
        return;
    addr->is_idle = true;
    ofi_list_append(&cls->idle, &addr->idle);
    cls->idle_count++;
}

static void evict(na_plugin_class *cls);

/* Gives back what an object of this class has of the core's. */
static void
drop_whole(na_plugin_class *cls, na_plugin_addr *addr)
{
    if (addr->of == addr)
        return;
    if (cls->main != cls)
        ofi_lock_take(&cls->main->lock);
    if (atomic_fetch_sub_explicit(&addr->of->refs, 1, memory_order_relaxed) ==
        1)
        become_idle(cls->main, addr->of);
    if (cls->main != cls) {
        evict(cls->main);
        ofi_lock_drop(&cls->main->lock);
    }
}

static void
destroy(na_plugin_class *cls, na_plugin_addr *addr)
{
    na_plugin_addr **link = &cls->names[addr->hash & (cls->names_size - 1)];

    while (*link != addr)
        link = &(*link)->next;
    *link = addr->next;
    cls->names_count--;
    if (addr->is_idle) {
        ofi_list_remove(&cls->idle, &addr->idle);
        cls->idle_count--;
    }
    ofi_peer_unknow(cls, addr);
    ofi_valid_leave(addr);
    if (addr->at != 0 && addr->end != NULL) {
        ofi_list_remove(&cls->ends, &addr->by_end);
        free(addr->end);
    }
    drop_whole(cls, addr);
    free(addr);
}

/* One more is idle. They are kept for a while, as they may come again with the
 * next message; one that goes may make another idle, which it was a part of. */
static void
evict(na_plugin_class *cls)
{
    for (uint32_t i = 0; i < EVICT && cls->idle_count > IDLE_MAX; i++) {
        na_plugin_addr *oldest =
            OFI_OBJECT(cls->idle.head, na_plugin_addr, idle);
        if (!oldest->is_active &&
            atomic_load_explicit(&oldest->refs, memory_order_relaxed) == 0) {
            destroy(cls, oldest);
            continue;
        }
        /* ofi_peer_look will see that nothing of it is pending any more */
        ofi_list_remove(&cls->idle, &oldest->idle);
        ofi_list_append(&cls->idle, &oldest->idle);
    }
}

/* Looks for one; one reference, if it is there. */
static inline na_plugin_addr *
find(na_plugin_class *cls, const struct ofi_name *name, uint8_t at,
    uint32_t hash)
{
    na_plugin_addr *addr = NULL;

    if (cls->names_size == 0)
        return NULL;
    for (addr = cls->names[hash & (cls->names_size - 1)]; addr != NULL;
         addr = addr->next)
        if (addr->hash == hash && addr->at == at &&
            ofi_name_equal(&addr->name, name))
            break;
    if (addr == NULL)
        return NULL;
    ofi_addr_hold(addr);
    if (addr->is_idle) {
        ofi_list_remove(&cls->idle, &addr->idle);
        addr->is_idle = false;
        cls->idle_count--;
    }
    return addr;
}

static na_plugin_addr *
make(na_plugin_class *cls, const struct ofi_name *name, uint8_t at,
    uint32_t hash)
{
    if (cls->names_count >= cls->names_size)
        grow(cls);
    if (cls->names_size == 0)
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
    addr->knock = -1;
    addr->next = cls->names[hash & (cls->names_size - 1)];
    cls->names[hash & (cls->names_size - 1)] = addr;
    cls->names_count++;
    return addr;
}

static uint32_t
hash_of(uint32_t hash, uint8_t at)
{
    return hash ^ at * UINT32_C(0x9E3779B1);
}

na_plugin_addr *
ofi_addr_get(na_plugin_class *cls, const struct ofi_name *name)
{
    uint32_t hash = ofi_name_hash(name);
    na_plugin_addr *addr = find(cls, name, 0, hash);

    return addr != NULL ? addr : make(cls, name, 0, hash);
}

/* What the core has of a peer; one reference. */
static na_plugin_addr *
get_whole(na_plugin_class *cls, const struct ofi_name *name)
{
    if (cls->main == cls)
        return ofi_addr_get(cls, name);
    ofi_lock_take(&cls->main->lock);
    na_plugin_addr *addr = ofi_addr_get(cls->main, name);
    ofi_lock_drop(&cls->main->lock);
    return addr;
}

na_plugin_addr *
ofi_addr_get_part(na_plugin_class *cls, const struct ofi_name *name, uint8_t at)
{
    uint32_t hash = hash_of(ofi_name_hash(name), at);
    na_plugin_addr *addr = find(cls, name, at, hash);

    if (addr != NULL || (cls->main == cls && at == 0))
        return addr != NULL ? addr : make(cls, name, at, hash);
    na_plugin_addr *whole = get_whole(cls, name);
    if (whole == NULL)
        return NULL;
    addr = make(cls, name, at, hash);
    if (addr != NULL)
        addr->of = whole;
    else if (cls->main == cls)
        ofi_addr_drop(cls, whole);
    else
        ofi_addr_free(cls->main, whole);
    return addr;
}

na_plugin_addr *
ofi_addr_find_part(na_plugin_class *cls, na_plugin_addr *whole, uint8_t at)
{
    uint32_t hash = hash_of(ofi_name_hash(&whole->name), at);

    return find(cls, &whole->name, at, hash);
}

na_plugin_addr *
ofi_addr_self_new(na_plugin_class *cls)
{
    na_plugin_addr *self =
        ofi_addr_get_part(cls, &cls->main->own_name, (uint8_t) cls->lane);

    if (self != NULL && !ofi_addr_set_end(cls, self, &cls->own_name)) {
        ofi_addr_drop(cls, self);
        self = NULL;
    }
    if (self != NULL)
        self->self = true;
    return self;
}

bool
ofi_addr_set_end(
    na_plugin_class *cls, na_plugin_addr *addr, const struct ofi_name *end)
{
    if (addr->at == 0)
        return true;
    if (addr->end == NULL) {
        addr->end = malloc(sizeof(*addr->end));
        if (addr->end == NULL)
            return false;
        ofi_list_append(&cls->ends, &addr->by_end);
    }
    *addr->end = *end;
    return true;
}

void
ofi_addr_drop(na_plugin_class *cls, na_plugin_addr *addr)
{
    /* relaxed: the last one is always dropped under the lock */
    if (atomic_fetch_sub_explicit(&addr->refs, 1, memory_order_relaxed) == 1) {
        become_idle(cls, addr);
        evict(cls);
    }
}

/* How many refer to an address on behalf of the program: not the messages that
 * libfabric had when it was closed. */
static uint32_t
references(na_plugin_addr *addr)
{
    uint32_t refs = atomic_load_explicit(&addr->refs, memory_order_relaxed);

    for (struct ofi_link *link = addr->flying.head; link != NULL;
         link = link->next)
        refs--;
    return refs;
}

/* The parts come before what they are parts of. */
static void
destroy_parts(na_plugin_class *cls)
{
    for (uint32_t i = 0; i < cls->names_size; i++)
        for (na_plugin_addr *addr = cls->names[i], *next; addr != NULL;
             addr = next) {
            next = addr->next;
            if (addr->of != addr)
                destroy(cls, addr);
        }
}

uint32_t
ofi_addr_fini(na_plugin_class *cls)
{
    uint32_t left = 0;

    destroy_parts(cls);
    for (uint32_t i = 0; i < cls->names_size; i++)
        while (cls->names[i] != NULL) {
            left += references(cls->names[i]) != 0;
            destroy(cls, cls->names[i]);
        }
    free(cls->names);
    cls->names = NULL;
    cls->names_size = 0;
    return left;
}

int32_t
ofi_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p)
{
    ofi_addr_hold(cls->self);
    *addr_p = cls->self;
    return NA_PLUGIN_OK;
}

/* "scheme://rest" */
static int32_t
check_scheme(na_plugin_class *cls, const char *text, const char **rest_p)
{
    const char *colon = strstr(text, "://");
    char scheme[SCHEME_MAX];
    size_t length = colon != NULL ? (size_t) (colon - text) : 0;

    if (length == 0 || length >= sizeof(scheme)) {
        OFI_LOG(cls->host, ERROR,
            "\"%.200s\" is no address: it is not like %s://…", text,
            cls->trait->scheme);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    memcpy(scheme, text, length);
    scheme[length] = '\0';
    if (!ofi_provider_speaks(cls->trait, scheme)) {
        OFI_LOG(cls->host, ERROR,
            "\"%.200s\" is not one of this class's peers: it speaks %s, by "
            "libfabric's provider %s, and not %s",
            text, cls->trait->scheme, cls->trait->provider, scheme);
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    *rest_p = colon + 3;
    return NA_PLUGIN_OK;
}

static int32_t
from_name(
    na_plugin_class *cls, const struct ofi_name *name, na_plugin_addr **addr_p)
{
    ofi_lock_take(&cls->lock);
    na_plugin_addr *addr = ofi_addr_get(cls, name);
    ofi_lock_drop(&cls->lock);
    if (addr == NULL) {
        OFI_LOG(cls->host, ERROR, "no memory for an address");
        return NA_PLUGIN_E_NOMEM;
    }
    *addr_p = addr;
    return NA_PLUGIN_OK;
}

/* An endpoint reaches addresses of its own family only. */
static bool
same_family(const na_plugin_class *cls, const struct ofi_name *name)
{
    return cls->trait->format != OFI_FORMAT_IP ||
           name->length == cls->self->name.length;
}

int32_t
ofi_addr_lookup(na_plugin_class *cls, const char *text, na_plugin_addr **addr_p)
{
    const char *rest = NULL;
    struct ofi_name name;

    int32_t ret = check_scheme(cls, text, &rest);
    if (ret != NA_PLUGIN_OK)
        return ret;
    int family = cls->trait->format != OFI_FORMAT_IP ? AF_UNSPEC
                 : cls->self->name.length == 6       ? AF_INET
                                                     : AF_INET6;
    ret = ofi_name_parse(cls->host, cls->trait, rest, family, &name);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (!same_family(cls, &name)) {
        OFI_LOG(cls->host, ERROR,
            "\"%.200s\" is an address of %s, and this class was opened at one "
            "of %s",
            text, family == AF_INET ? "IPv6" : "IPv4",
            family == AF_INET ? "IPv4" : "IPv6");
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    return from_name(cls, &name, addr_p);
}

void
ofi_addr_dup(na_plugin_class *cls, na_plugin_addr *addr)
{
    (void) cls;
    ofi_addr_hold(addr);
}

void
ofi_addr_free(na_plugin_class *cls, na_plugin_addr *addr)
{
    uint32_t refs = atomic_load_explicit(&addr->refs, memory_order_relaxed);

    while (refs > 1)
        /* release: what was done with the address comes before its end, which
         * the lock orders */
        if (atomic_compare_exchange_weak_explicit(&addr->refs, &refs, refs - 1,
                memory_order_release, memory_order_relaxed))
            return;
    ofi_lock_take(&cls->lock);
    ofi_addr_drop(cls, addr);
    ofi_lock_drop(&cls->lock);
}

int32_t
ofi_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b)
{
    (void) cls;
    return a == b;
}

uint64_t
ofi_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr)
{
    (void) cls;
    return addr->hash;
}

int32_t
ofi_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p)
{
    char name[OFI_TEXT_MAX], text[OFI_TEXT_MAX + SCHEME_MAX + 8];
    uint64_t room = *size_p;

    ofi_name_print(cls->trait, &addr->name, name);
    int length =
        snprintf(text, sizeof(text), "%.64s://%s", cls->trait->scheme, name);
    *size_p = (uint64_t) length + 1;
    if (buffer == NULL)
        return NA_PLUGIN_OK;
    if (room < *size_p)
        return NA_PLUGIN_E_OVERFLOW;
    memcpy(buffer, text, *size_p);
    return NA_PLUGIN_OK;
}

/* As bytes: version, length of the scheme, length of the name (1 each), scheme,
 * name. */
int32_t
ofi_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p)
{
    size_t scheme = strlen(cls->trait->scheme);
    uint64_t room = *size_p;
    uint8_t *bytes = buffer;

    *size_p = 3 + scheme + addr->name.length;
    if (buffer == NULL)
        return NA_PLUGIN_OK;
    if (room < *size_p)
        return NA_PLUGIN_E_OVERFLOW;
    bytes[0] = BYTES_VERSION;
    bytes[1] = (uint8_t) scheme;
    bytes[2] = (uint8_t) addr->name.length;
    memcpy(bytes + 3, cls->trait->scheme, scheme);
    memcpy(bytes + 3 + scheme, addr->name.bytes, addr->name.length);
    return NA_PLUGIN_OK;
}

int32_t
ofi_addr_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_addr **addr_p)
{
    const uint8_t *bytes = buffer;
    char scheme[UINT8_MAX + 1];
    struct ofi_name name = {0};

    if (length < 3 || length < (uint64_t) 3 + bytes[1] + bytes[2]) {
        OFI_LOG(cls->host, DEBUG, "the bytes of an address are cut short");
        return NA_PLUGIN_E_OVERFLOW;
    }
    memcpy(scheme, bytes + 3, bytes[1]);
    scheme[bytes[1]] = '\0';
    const uint8_t *rest = bytes + 3 + bytes[1];
    if (bytes[0] != BYTES_VERSION || !ofi_provider_speaks(cls->trait, scheme) ||
        !ofi_name_check(cls->trait, rest, bytes[2]) ||
        (cls->trait->format == OFI_FORMAT_IP &&
            bytes[2] != cls->self->name.length)) {
        OFI_LOG(cls->host, DEBUG,
            "the bytes of an address, version %u, protocol \"%.40s\", are not "
            "of version %u and protocol %s",
            bytes[0], scheme, BYTES_VERSION, cls->trait->scheme);
        return NA_PLUGIN_E_PROTOCOL_ERROR;
    }
    name.length = bytes[2];
    memcpy(name.bytes, rest, name.length);
    return from_name(cls, &name, addr_p);
}

void
ofi_addr_forget(na_plugin_class *cls, na_plugin_addr *addr)
{
    if (addr->self)
        return;
    ofi_lane_each(cls, ofi_route_forget, addr);
}
