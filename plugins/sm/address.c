/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and addresses: an address is a name in a table, so that equal names are
 * one object; whom the name reaches is the business of connections. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"

#define TABLE_BITS 4 /* of an empty table */
#define SERIAL_VERSION 1
#define SERIAL_HEADER 2 /* version, length */

static const char prefix[] = SM_PROTOCOL "://";

bool
sm_name_valid(const char *name, size_t length, size_t most)
{
    if (length == 0 || length > most)
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9') && c != '.' && c != '_' &&
            c != '+' && c != '-')
            return false;
    }
    return true;
}

/* Steps back over the decimal number that ends at end, at least one digit. */
static const char *
number_before(const char *name, const char *end)
{
    const char *start = end;
    while (start > name && start[-1] >= '0' && start[-1] <= '9')
        start--;
    return start == end ? NULL : start;
}

uint32_t
sm_name_process(const char *name)
{
    const char *number = number_before(name, name + strlen(name));
    if (number == NULL || number == name || number[-1] != '-')
        return 0;

    const char *pid = number_before(name, number - 1);
    if (pid == NULL || *pid == '0' || (pid != name && pid[-1] != '-'))
        return 0;

    unsigned long value = strtoul(pid, NULL, 10);
    return value <= INT32_MAX ? (uint32_t) value : 0;
}

static uint32_t
hash_name(const char *name, size_t length)
{
    uint64_t hash = length;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char) name[i]) * UINT64_C(0x100000001B3);
    return (uint32_t) ((hash * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

int32_t
sm_addr_init(na_plugin_class *cls)
{
    tp_lock_init(&cls->names, cls->single);
    cls->table_bits = TABLE_BITS;
    cls->table = calloc((size_t) 1 << TABLE_BITS, sizeof(*cls->table));
    return cls->table != NULL ? NA_PLUGIN_OK : NA_PLUGIN_E_NOMEM;
}

uint32_t
sm_addr_fini(na_plugin_class *cls)
{
    uint32_t left = cls->table_count;

    for (size_t i = 0; cls->table != NULL && i >> cls->table_bits == 0; i++) {
        while (cls->table[i] != NULL) {
            na_plugin_addr *addr = cls->table[i];
            cls->table[i] = addr->next;
            free(addr);
        }
    }
    free(cls->table);
    cls->table = NULL;
    cls->table_count = 0;
    return left;
}

/* Doubles the table; without memory for it, it stays as it is. */
static void
grow(na_plugin_class *cls)
{
    uint32_t bits = cls->table_bits + 1;
    na_plugin_addr **table = calloc((size_t) 1 << bits, sizeof(*table));
    if (table == NULL)
        return;

    for (size_t i = 0; i >> cls->table_bits == 0; i++) {
        while (cls->table[i] != NULL) {
            na_plugin_addr *addr = cls->table[i];
            cls->table[i] = addr->next;
            addr->next = table[addr->hash >> (32 - bits)];
            table[addr->hash >> (32 - bits)] = addr;
        }
    }
    free(cls->table);
    cls->table = table;
    cls->table_bits = bits;
}

/* Finds or makes the address of a name. [names] */
static na_plugin_addr *
intern(na_plugin_class *cls, const char *name, size_t length)
{
    uint32_t hash = hash_name(name, length);
    na_plugin_addr *addr = cls->table[hash >> (32 - cls->table_bits)];

    while (addr != NULL && (addr->hash != hash || addr->length != length ||
                               memcmp(addr->name, name, length) != 0))
        addr = addr->next;
    if (addr != NULL) {
        sm_addr_hold(cls, addr);
        return addr;
    }

    addr = calloc(1, sizeof(*addr) + length + 1);
    if (addr == NULL)
        return NULL;
    atomic_init(&addr->conn, NULL);
    atomic_init(&addr->unique, addr);
    atomic_init(&addr->refs, 1);
    addr->hash = hash;
    addr->length = (uint32_t) length;
    memcpy(addr->name, name, length);

    if (cls->table_count >> cls->table_bits != 0 && cls->table_bits < 30)
        grow(cls);
    na_plugin_addr **bucket = &cls->table[hash >> (32 - cls->table_bits)];
    addr->next = *bucket;
    *bucket = addr;
    cls->table_count++;
    return addr;
}

int32_t
sm_addr_get(na_plugin_class *cls, const char *name, size_t length,
    na_plugin_addr **addr_p)
{
    if (cls->self != NULL && strlen(cls->alias) == length &&
        memcmp(cls->alias, name, length) == 0) {
        sm_addr_hold(cls, cls->self);
        *addr_p = cls->self;
        return NA_PLUGIN_OK;
    }

    tp_lock_take(&cls->names);
    na_plugin_addr *addr = intern(cls, name, length);
    tp_lock_drop(&cls->names);
    if (addr == NULL)
        return NA_PLUGIN_E_NOMEM;
    *addr_p = addr;
    return NA_PLUGIN_OK;
}

void
sm_addr_unite(
    na_plugin_class *cls, na_plugin_addr *addr, na_plugin_addr *unique)
{
    na_plugin_addr *before = sm_addr_unique(addr);
    if (before == unique)
        return;
    if (unique != addr)
        sm_addr_hold(cls, unique);
    /* release: pairs with the acquire in sm_addr_unique */
    atomic_store_explicit(&addr->unique, unique, memory_order_release);
    if (before != addr)
        sm_addr_release(cls, before);
}

/* The last reference, unless a lookup finds the address first. */
static void
release_last(na_plugin_class *cls, na_plugin_addr *addr)
{
    tp_lock_take(&cls->names);
    /* acq_rel: pairs with the other releases; what they did is over */
    bool last =
        atomic_fetch_sub_explicit(&addr->refs, 1, memory_order_acq_rel) == 1;
    if (last) {
        na_plugin_addr **link =
            &cls->table[addr->hash >> (32 - cls->table_bits)];
        while (*link != addr)
            link = &(*link)->next;
        *link = addr->next;
        cls->table_count--;
    }
    tp_lock_drop(&cls->names);
    if (!last)
        return;

    na_plugin_addr *unique = sm_addr_unique(addr);
    free(addr);
    if (unique != addr)
        sm_addr_release(cls, unique);
}

void
sm_addr_release(na_plugin_class *cls, na_plugin_addr *addr)
{
    uint32_t refs = atomic_load_explicit(&addr->refs, memory_order_relaxed);

    if (cls->single && refs > 1) {
        atomic_store_explicit(&addr->refs, refs - 1, memory_order_relaxed);
        return;
    }
    while (refs > 1) {
        /* release: pairs with the acquire in release_last */
        if (atomic_compare_exchange_weak_explicit(&addr->refs, &refs, refs - 1,
                memory_order_release, memory_order_relaxed))
            return;
    }
    release_last(cls, addr);
}

int32_t
sm_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p)
{
    sm_addr_hold(cls, cls->self);
    *addr_p = cls->self;
    return NA_PLUGIN_OK;
}

int32_t
sm_addr_lookup(na_plugin_class *cls, const char *name, na_plugin_addr **addr_p)
{
    const char *rest = strstr(name, "://");
    if (rest == NULL) {
        TP_LOG(cls->host, ERROR, "address \"%.120s\" has no protocol://", name);
        return NA_PLUGIN_E_INVALID_ARG;
    }

    if (strncmp(name, prefix, strlen(prefix)) != 0) {
        TP_LOG(cls->host, ERROR,
            "address \"%.120s\" is of another protocol; this class speaks %s",
            name, SM_PROTOCOL);
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }

    rest += 3;
    if (!sm_name_valid(rest, strlen(rest), SM_NAME_MAX)) {
        TP_LOG(cls->host, ERROR,
            "\"%.120s\" is no name: 1 to %u of A-Z a-z 0-9 . _ + -", rest,
            SM_NAME_MAX);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    return sm_addr_get(cls, rest, strlen(rest), addr_p);
}

void
sm_addr_dup(na_plugin_class *cls, na_plugin_addr *addr)
{
    sm_addr_hold(cls, addr);
}

void
sm_addr_free(na_plugin_class *cls, na_plugin_addr *addr)
{
    sm_addr_release(cls, addr);
}

int32_t
sm_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b)
{
    return a == b || sm_addr_unique(a) == sm_addr_unique(b);
}

uint64_t
sm_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr)
{
    return sm_addr_unique(addr)->hash;
}

/* Settles how many bytes go out: OK with room for them, or with no buffer. */
static int32_t
settle_size(const void *buffer, uint64_t *size_p, uint64_t need)
{
    uint64_t room = *size_p;
    *size_p = need;
    return buffer == NULL || room >= need ? NA_PLUGIN_OK : NA_PLUGIN_E_OVERFLOW;
}

int32_t
sm_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p)
{
    size_t front = strlen(prefix);
    int32_t ret = settle_size(buffer, size_p, front + addr->length + 1);
    if (ret != NA_PLUGIN_OK || buffer == NULL)
        return ret;
    memcpy(buffer, prefix, front);
    memcpy(buffer + front, addr->name, addr->length + 1);
    return NA_PLUGIN_OK;
}

int32_t
sm_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p)
{
    int32_t ret = settle_size(buffer, size_p, SERIAL_HEADER + addr->length);
    if (ret != NA_PLUGIN_OK || buffer == NULL)
        return ret;
    unsigned char *bytes = buffer;
    bytes[0] = SERIAL_VERSION;
    bytes[1] = (unsigned char) addr->length;
    memcpy(bytes + SERIAL_HEADER, addr->name, addr->length);
    return NA_PLUGIN_OK;
}

int32_t
sm_addr_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_addr **addr_p)
{
    const unsigned char *bytes = buffer;
    const char *name = (const char *) bytes + SERIAL_HEADER;

    if (length >= SERIAL_HEADER && bytes[0] != SERIAL_VERSION) {
        TP_LOG(cls->host, WARNING,
            "serialized address of version %u; known is %d", bytes[0],
            SERIAL_VERSION);
        return NA_PLUGIN_E_PROTOCOL_ERROR;
    }
    if (length < SERIAL_HEADER || bytes[1] > length - SERIAL_HEADER ||
        !sm_name_valid(name, bytes[1], SM_NAME_MAX)) {
        TP_LOG(cls->host, WARNING,
            "%" PRIu64 " bytes are no serialized address", length);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    return sm_addr_get(cls, name, bytes[1], addr_p);
}
