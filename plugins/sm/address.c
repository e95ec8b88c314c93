/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and addresses: an address is a name in a table, so that equal names are
 * one object. Nobody is called for it. */
#include <stdlib.h>
#include <string.h>

#include "address.h"

#define SERIAL_NAME 1U /* form of a serialized address */

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

uint32_t
sm_addr_fini(na_plugin_class *cls)
{
    return tp_table_free(&cls->names, NULL, NULL);
}

/* Finds or makes the address of a name. [name_lock] */
static na_plugin_addr *
intern(na_plugin_class *cls, const char *name, size_t length)
{
    struct tp_addr *found = tp_addr_find(&cls->names, NULL, name, length);

    if (found != NULL) {
        tp_addr_hold(found, cls->single);
        return TP_OBJECT(found, na_plugin_addr, addr);
    }
    /* a message needs the first line of it alone */
    na_plugin_addr *addr = tp_alloc_lines(sizeof(*addr) + length + 1);
    if (addr == NULL)
        return NULL;
    atomic_init(&addr->unique, addr);
    memcpy(addr->name, name, length);
    tp_addr_enter(&cls->names, &addr->addr, addr->name, length);
    return addr;
}

int32_t
sm_addr_get(na_plugin_class *cls, const char *name, size_t length,
    na_plugin_addr **addr_p)
{
    if (cls->self != NULL && strlen(cls->short_name) == length &&
        memcmp(cls->short_name, name, length) == 0)
        return sm_addr_self(cls, addr_p);

    tp_lock_take(&cls->name_lock);
    na_plugin_addr *addr = intern(cls, name, length);
    tp_lock_drop(&cls->name_lock);
    if (addr == NULL)
        return NA_PLUGIN_E_NOMEM;
    *addr_p = addr;
    return NA_PLUGIN_OK;
}

void
sm_addr_alias(
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
        sm_addr_free(cls, before);
}

/* The last reference, unless a lookup finds the address first. Out of line, so that
 * the others save no registers. */
static __attribute__((noinline)) void
release_last(na_plugin_class *cls, na_plugin_addr *addr)
{
    tp_lock_take(&cls->name_lock);
    bool last = tp_addr_release(&cls->names, &addr->addr);
    tp_lock_drop(&cls->name_lock);
    if (!last)
        return;

    na_plugin_addr *unique = sm_addr_unique(addr);
    free(addr);
    if (unique != addr)
        sm_addr_free(cls, unique);
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
    const char *rest;

    int32_t ret = tp_addr_rest(cls->host, name, SM_PROTOCOL, &rest);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (!sm_name_valid(rest, strlen(rest), SM_NAME_MAX)) {
        TP_LOG(cls->host, ERROR,
            "invalid name \"%.120s\": not 1 to %u of A-Z a-z 0-9 . _ + -", rest,
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
    if (cls->single)
        sm_addr_free_single(cls, addr);
    else if (!tp_addr_release_shared(&addr->addr))
        release_last(cls, addr);
}

void
sm_addr_free_single(na_plugin_class *cls, na_plugin_addr *addr)
{
    if (__builtin_expect(!tp_addr_release_single(&addr->addr), 0))
        release_last(cls, addr);
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
    return sm_addr_unique(addr)->addr.keyed.key;
}

int32_t
sm_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p)
{
    return tp_addr_to_string(SM_PROTOCOL, addr->name, buffer, size_p);
}

int32_t
sm_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p)
{
    return tp_addr_serialize(
        SERIAL_NAME, addr->name, addr->addr.length, buffer, size_p);
}

int32_t
sm_addr_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_addr **addr_p)
{
    const unsigned char *name;
    size_t bytes;
    uint8_t form;

    int32_t ret = tp_addr_deserialize(
        cls->host, SERIAL_NAME, buffer, length, &form, &name, &bytes);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (!sm_name_valid((const char *) name, bytes, SM_NAME_MAX)) {
        TP_LOG(cls->host, WARNING, "invalid name in a serialized address");
        return NA_PLUGIN_E_INVALID_ARG;
    }
    return sm_addr_get(cls, (const char *) name, bytes, addr_p);
}
