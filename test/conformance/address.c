/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of the wire plugin: names, with one object per name in a class. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

#define SERIAL_MAGIC 0x57U

bool
wire_name_valid(const char *name, size_t length)
{
    if (length == 0 || length > WIRE_NAME_MAX)
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (!letter && !(c >= '0' && c <= '9') && c != '.' && c != '_' &&
            c != '-')
            return false;
    }
    return true;
}

na_plugin_addr *
wire_addr_get(na_plugin_class *cls, const char *name, size_t length)
{
    na_plugin_addr *addr;

    TAILQ_FOREACH (addr, &cls->addrs, next)
        if (strlen(addr->name) == length &&
            memcmp(addr->name, name, length) == 0)
            break;
    if (!addr) {
        addr = calloc(1, sizeof *addr);
        if (!addr)
            return NULL;
        memcpy(addr->name, name, length);
        TAILQ_INSERT_TAIL(&cls->addrs, addr, next);
    }
    addr->refs++;
    return addr;
}

void
wire_addr_put(na_plugin_class *cls, na_plugin_addr *addr)
{
    if (--addr->refs > 0)
        return;
    TAILQ_REMOVE(&cls->addrs, addr, next);
    free(addr);
}

int32_t
wire_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p)
{
    wire_addr_dup(cls, cls->self);
    *addr_p = cls->self;
    return NA_PLUGIN_OK;
}

/* Returns the address for a valid name, or an error. */
static int32_t
look_up(na_plugin_class *cls, const char *name, size_t length,
    na_plugin_addr **addr_p)
{
    na_plugin_addr *addr;

    pthread_mutex_lock(&cls->lock);
    addr = wire_addr_get(cls, name, length);
    pthread_mutex_unlock(&cls->lock);
    if (!addr)
        return NA_PLUGIN_E_NOMEM;
    *addr_p = addr;
    return NA_PLUGIN_OK;
}

int32_t
wire_addr_lookup(
    na_plugin_class *cls, const char *name, na_plugin_addr **addr_p)
{
    const char *rest = strstr(name, "://");
    size_t protocol = strlen(cls->protocol);

    if (wire_breaks(cls, WIRE_lookup_takes_all) &&
        (!rest || !wire_name_valid(rest + 3, strlen(rest + 3))))
        return look_up(cls, "nobody", 6, addr_p);
    if (wire_breaks(cls, WIRE_output_on_error))
        *addr_p = NULL;
    if (!rest) {
        WIRE_LOG(cls->host, ERROR, "\"%.100s\" has no protocol://", name);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if ((size_t) (rest - name) != protocol ||
        strncmp(name, cls->protocol, protocol) != 0) {
        WIRE_LOG(cls->host, ERROR,
            "\"%.100s\": the protocol of this class is %s", name,
            cls->protocol);
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    rest += 3;
    if (!wire_name_valid(rest, strlen(rest))) {
        WIRE_LOG(cls->host, ERROR,
            "\"%.100s\" is no name: 1 to %u of A-Z a-z 0-9 . _ -", rest,
            WIRE_NAME_MAX);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    return look_up(cls, rest, strlen(rest), addr_p);
}

void
wire_addr_dup(na_plugin_class *cls, na_plugin_addr *addr)
{
    pthread_mutex_lock(&cls->lock);
    addr->refs++;
    pthread_mutex_unlock(&cls->lock);
}

void
wire_addr_free(na_plugin_class *cls, na_plugin_addr *addr)
{
    pthread_mutex_lock(&cls->lock);
    wire_addr_put(cls, addr);
    pthread_mutex_unlock(&cls->lock);
}

int32_t
wire_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b)
{
    return a == b || wire_breaks(cls, WIRE_equal_always);
}

uint64_t
wire_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr)
{
    static _Atomic uint32_t calls;

    if (wire_breaks(cls, WIRE_hash_differs))
        return ++calls;
    return wire_breaks(cls, WIRE_equal_always) ? 0 : (uintptr_t) addr;
}

int32_t
wire_size_settle(const void *buffer, uint64_t *size_p, uint64_t need)
{
    uint64_t room = *size_p;

    *size_p = need;
    return !buffer || room >= need ? NA_PLUGIN_OK : NA_PLUGIN_E_OVERFLOW;
}

int32_t
wire_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p)
{
    uint64_t need = strlen(cls->protocol) + 3 + strlen(addr->name) + 1;
    uint64_t room = *size_p;
    int32_t code = wire_size_settle(
        buffer, size_p, need - wire_breaks(cls, WIRE_to_string_size));

    if (code != NA_PLUGIN_OK && wire_breaks(cls, WIRE_size_untouched))
        *size_p = room;
    need = need < room ? need : room;

    if (code == NA_PLUGIN_OK && buffer)
        snprintf(buffer, need, "%s://%s", cls->protocol, addr->name);
    return code;
}

/* Serialized: a magic byte, length and bytes of the protocol, then of the
 * name. */
int32_t
wire_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p)
{
    size_t protocol = strlen(cls->protocol), name = strlen(addr->name);
    int32_t code = wire_size_settle(buffer, size_p, 3 + protocol + name);
    unsigned char *bytes = buffer;

    if (code != NA_PLUGIN_OK || !buffer)
        return code;
    bytes[0] = SERIAL_MAGIC;
    bytes[1] = (unsigned char) protocol;
    bytes[2] = (unsigned char) name;
    memcpy(bytes + 3, cls->protocol, protocol);
    memcpy(bytes + 3 + protocol, addr->name, name);
    return NA_PLUGIN_OK;
}

int32_t
wire_addr_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_addr **addr_p)
{
    const unsigned char *bytes = buffer;
    size_t protocol = strlen(cls->protocol);
    const char *name = (const char *) bytes + 3 + protocol;

    if (wire_breaks(cls, WIRE_deserialize_overreads))
        length = UINT64_MAX;
    if (wire_breaks(cls, WIRE_output_on_error))
        *addr_p = NULL;
    if (length < 3 || bytes[0] != SERIAL_MAGIC || bytes[1] != protocol ||
        length - 3 < (uint64_t) bytes[1] + bytes[2] ||
        memcmp(bytes + 3, cls->protocol, protocol) != 0 ||
        !wire_name_valid(name, bytes[2])) {
        WIRE_LOG(cls->host, WARNING, "%llu bytes are no serialized address",
            (unsigned long long) length);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    return look_up(cls, name, bytes[2], addr_p);
}

void
wire_addr_forget(na_plugin_class *cls, na_plugin_addr *addr)
{
    struct wire_conn *conn, *after;

    if (wire_breaks(cls, WIRE_forget_does_nothing))
        return;
    pthread_mutex_lock(&cls->lock);
    cls->violation.forgetting = true;
    for (conn = TAILQ_FIRST(&cls->conns); conn; conn = after) {
        after = TAILQ_NEXT(conn, next);
        if (conn->peer == addr)
            wire_conn_end(conn, NA_PLUGIN_E_HOSTUNREACH);
    }
    cls->violation.forgetting = false;
    wire_messages_forget(cls, addr);
    pthread_mutex_unlock(&cls->lock);
}
