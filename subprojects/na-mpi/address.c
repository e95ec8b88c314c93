/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses as the ABI has them: "static://rank:number". */
#include <stdio.h>

#include "engine.h"
#include "peer.h"

#define FORM 1U /* of serialized addresses: rank (4), number (4) */

int32_t
nampi_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p)
{
    tp_addr_hold(&cls->self->addr, false);
    *addr_p = cls->self;
    return NA_PLUGIN_OK;
}

/* A number of digits alone; *text_p: what follows. */
static bool
parse(const char **text_p, uint32_t least, uint32_t most, uint32_t *value_p)
{
    const char *text = *text_p;
    uint64_t value = 0;

    for (; *text >= '0' && *text <= '9' && value <= most; text++)
        value = value * 10 + (uint64_t) (*text - '0');
    if (text == *text_p || value < least || value > most)
        return false;
    *value_p = (uint32_t) value;
    *text_p = text;
    return true;
}

static int32_t
get(na_plugin_class *cls, uint32_t rank, uint32_t number,
    na_plugin_addr **addr_p)
{
    tp_lock_take(&nampi_lock);
    int32_t ret = nampi_peer_get(cls, rank, number, addr_p);
    tp_lock_drop(&nampi_lock);
    return ret;
}

int32_t
nampi_addr_lookup(
    na_plugin_class *cls, const char *name, na_plugin_addr **addr_p)
{
    uint32_t most = (uint32_t) cls->engine->size - 1, rank, number = 1;
    const char *rest;

    int32_t ret = tp_addr_rest(cls->host, name, cls->protocol, &rest);
    if (ret != NA_PLUGIN_OK)
        return ret;
    bool good = parse(&rest, 0, most, &rank);
    if (good && *rest == ':') {
        rest++;
        good = parse(&rest, 1, NAMPI_CLASSES, &number);
    }
    if (!good || *rest != '\0') {
        TP_LOG(cls->host, ERROR,
            "address \"%.100s\": needed is %s://RANK:NUMBER, with a rank up "
            "to %u and a number from 1 to %u",
            name, cls->protocol, (unsigned) most, NAMPI_CLASSES);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    return get(cls, rank, number, addr_p);
}

void
nampi_addr_dup(na_plugin_class *cls, na_plugin_addr *addr)
{
    tp_addr_hold(&addr->addr, false);
}

void
nampi_addr_free(na_plugin_class *cls, na_plugin_addr *addr)
{
    if (tp_addr_release_shared(&addr->addr))
        return;
    tp_lock_take(&nampi_lock);
    nampi_peer_release(addr);
    tp_lock_drop(&nampi_lock);
}

int32_t
nampi_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b)
{
    return a == b;
}

uint64_t
nampi_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr)
{
    return addr->addr.keyed.key;
}

int32_t
nampi_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p)
{
    char name[32];

    snprintf(name, sizeof(name), "%u:%u", (unsigned) addr->name.rank,
        (unsigned) addr->name.number);
    return tp_addr_to_string(cls->protocol, name, buffer, size_p);
}

int32_t
nampi_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p)
{
    unsigned char bytes[8];

    tp_pack(tp_pack(bytes, addr->name.rank, 4), addr->name.number, 4);
    return tp_addr_serialize(FORM, bytes, sizeof(bytes), buffer, size_p);
}

int32_t
nampi_addr_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_addr **addr_p)
{
    const unsigned char *bytes;
    uint8_t form;
    size_t size;

    int32_t ret = tp_addr_deserialize(
        cls->host, FORM, buffer, length, &form, &bytes, &size);
    if (ret != NA_PLUGIN_OK)
        return ret;
    uint64_t rank = size >= 8 ? tp_unpack(bytes, 4) : UINT64_MAX;
    uint64_t number = size >= 8 ? tp_unpack(bytes + 4, 4) : 0;
    if (rank >= (uint64_t) cls->engine->size || number == 0 ||
        number > NAMPI_CLASSES) {
        TP_LOG(cls->host, WARNING,
            "a serialized address names no rank of this job");
        return NA_PLUGIN_E_INVALID_ARG;
    }
    return get(cls, (uint32_t) rank, (uint32_t) number, addr_p);
}

void
nampi_addr_forget(na_plugin_class *cls, na_plugin_addr *addr)
{
    tp_lock_take(&nampi_lock);
    if (addr->met) {
        if (addr != cls->self)
            nampi_peer_say(addr, NAMPI_BYE, 0, 0);
        nampi_peer_lose(addr);
    }
    tp_lock_drop(&nampi_lock);
}
