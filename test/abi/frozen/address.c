/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: one object for each name that a class knows. */
#include "frozen.h"

#define SCHEME FROZEN_PROTOCOL "://"

int
frozen_name_is_valid(const char *name)
{
    uint64_t length = 0;

    for (; name[length] != '\0'; length++) {
        char c = name[length];
        int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        int other = (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
        if ((!letter && !other) || length + 1 >= NAME_SIZE)
            return 0;
    }
    return length > 0;
}

na_plugin_addr *
frozen_addr(na_plugin_class *cls, const char *name)
{
    na_plugin_addr *addr = cls->addrs;

    while (addr != NULL && !sys_equal(addr->name, name))
        addr = addr->next;
    if (addr == NULL) {
        addr = sys_alloc(sizeof(*addr), 0);
        if (addr == NULL)
            return NULL;
        sys_append(addr->name, sizeof(addr->name), name);
        addr->next = cls->addrs;
        cls->addrs = addr;
    }
    addr->references++;
    return addr;
}

void
frozen_addr_dup(na_plugin_class *cls, na_plugin_addr *addr)
{
    sys_lock(&cls->lock);
    addr->references++;
    sys_unlock(&cls->lock);
}

void
frozen_addr_free(na_plugin_class *cls, na_plugin_addr *addr)
{
    sys_lock(&cls->lock);
    if (--addr->references == 0) {
        na_plugin_addr **at = &cls->addrs;
        while (*at != addr)
            at = &(*at)->next;
        *at = addr->next;
        sys_free(addr, 0);
    }
    sys_unlock(&cls->lock);
}

int32_t
frozen_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p)
{
    frozen_addr_dup(cls, cls->self);
    *addr_p = cls->self;
    return NA_PLUGIN_OK;
}

static int32_t
lookup(na_plugin_class *cls, const char *name, na_plugin_addr **addr_p)
{
    if (!frozen_name_is_valid(name)) {
        frozen_log(cls->host, NA_PLUGIN_LOG_ERROR, __LINE__,
            "no name of a class: ", name);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    sys_lock(&cls->lock);
    na_plugin_addr *addr = frozen_addr(cls, name);
    sys_unlock(&cls->lock);
    if (addr == NULL)
        return NA_PLUGIN_E_NOMEM;
    *addr_p = addr;
    return NA_PLUGIN_OK;
}

int32_t
frozen_addr_lookup(
    na_plugin_class *cls, const char *name, na_plugin_addr **addr_p)
{
    static const char scheme[] = SCHEME;
    uint64_t at = 0;
    int other = 0;

    while (scheme[at] != '\0' && name[at] == scheme[at])
        at++;
    if (scheme[at] == '\0')
        return lookup(cls, name + at, addr_p);
    for (at = 0; name[at] != '\0' && !other; at++)
        other = name[at] == ':' && name[at + 1] == '/' && name[at + 2] == '/';
    frozen_log(cls->host, NA_PLUGIN_LOG_ERROR, __LINE__,
        "no address of " FROZEN_PROTOCOL ": ", name);
    return other ? NA_PLUGIN_E_PROTONOSUPPORT : NA_PLUGIN_E_INVALID_ARG;
}

int32_t
frozen_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b)
{
    (void) cls;
    return a == b;
}

uint64_t
frozen_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr)
{
    uint64_t hash = 14695981039346656037U;

    (void) cls;
    for (const char *at = addr->name; *at != '\0'; at++)
        hash = (hash ^ (unsigned char) *at) * 1099511628211U;
    return hash;
}

int32_t
frozen_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p)
{
    uint64_t room = *size_p;

    (void) cls;
    *size_p = sizeof(SCHEME) + sys_length(addr->name);
    if (buffer == NULL)
        return NA_PLUGIN_OK;
    if (room < *size_p)
        return NA_PLUGIN_E_OVERFLOW;
    buffer[0] = '\0';
    sys_append(buffer, room, SCHEME);
    sys_append(buffer, room, addr->name);
    return NA_PLUGIN_OK;
}

/* The name, in a field of constant length. */
int32_t
frozen_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p)
{
    uint64_t room = *size_p;

    (void) cls;
    *size_p = NAME_SIZE;
    if (buffer == NULL)
        return NA_PLUGIN_OK;
    if (room < NAME_SIZE)
        return NA_PLUGIN_E_OVERFLOW;
    sys_copy(buffer, addr->name, NAME_SIZE);
    return NA_PLUGIN_OK;
}

int32_t
frozen_addr_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_addr **addr_p)
{
    char name[NAME_SIZE];

    if (length < NAME_SIZE)
        return NA_PLUGIN_E_OVERFLOW;
    sys_copy(name, buffer, NAME_SIZE);
    if (name[NAME_SIZE - 1] != '\0')
        return NA_PLUGIN_E_PROTOCOL_ERROR;
    return lookup(cls, name, addr_p);
}
