/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in a table, and their codec. */
#include <inttypes.h>
#include <string.h>

#include "common/address.h"
#include "common/log.h"
#include "common/report.h"

#define FRONT 2U /* bytes before a serialized content: form, length */

static _Atomic uint64_t refused; /* bytes of peers, for their log lines */

uint64_t
tp_addr_hash(const void *name, size_t length)
{
    const unsigned char *byte = name;
    uint64_t hash = length;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001B3);
    return hash ^ hash >> 32;
}

struct tp_addr *
tp_addr_find(const struct tp_table *table, const void *owner, const void *name,
    size_t length)
{
    uint64_t hash = tp_addr_hash(name, length);
    const struct tp_list *bucket = tp_table_bucket(table, owner, hash);

    for (struct tp_link *link = bucket->head; link != NULL; link = link->next) {
        struct tp_addr *addr = TP_OBJECT(link, struct tp_addr, keyed.link);
        if (addr->keyed.key == hash && addr->keyed.owner == owner &&
            addr->length == length && memcmp(addr->name, name, length) == 0)
            return addr;
    }
    return NULL;
}

void
tp_addr_enter(struct tp_table *table, struct tp_addr *addr, const void *name,
    size_t length)
{
    atomic_init(&addr->refs, 1);
    addr->name = name;
    addr->length = (uint32_t) length;
    if (name == NULL)
        return;
    addr->keyed.key = tp_addr_hash(name, length);
    tp_table_insert(table, &addr->keyed);
}

bool
tp_addr_release(struct tp_table *table, struct tp_addr *addr)
{
    /* acq_rel: pairs with the other releases; what they did is over */
    if (atomic_fetch_sub_explicit(&addr->refs, 1, memory_order_acq_rel) != 1)
        return false;
    if (addr->name != NULL)
        tp_table_remove(table, &addr->keyed);
    return true;
}

int32_t
tp_addr_rest(const na_plugin_host *host, const char *text, const char *scheme,
    const char **rest_p)
{
    const char *rest = strstr(text, "://");

    if (rest == NULL) {
        TP_LOG(host, ERROR, "address \"%.120s\" has no protocol://", text);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    size_t length = (size_t) (rest - text);
    if (length != strlen(scheme) || memcmp(text, scheme, length) != 0) {
        TP_LOG(host, ERROR,
            "address \"%.120s\" is of another protocol; this class speaks %s",
            text, scheme);
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    *rest_p = rest + 3;
    return NA_PLUGIN_OK;
}

int32_t
tp_size_out(const void *buffer, uint64_t *size_p, uint64_t need)
{
    uint64_t room = *size_p;

    *size_p = need;
    return buffer == NULL || room >= need ? NA_PLUGIN_OK : NA_PLUGIN_E_OVERFLOW;
}

int32_t
tp_addr_to_string(
    const char *scheme, const char *name, char *buffer, uint64_t *size_p)
{
    size_t front = strlen(scheme), length = strlen(name);

    int32_t ret = tp_size_out(buffer, size_p, front + 3 + length + 1);
    if (ret != NA_PLUGIN_OK || buffer == NULL)
        return ret;
    memcpy(buffer, scheme, front);
    memcpy(buffer + front, "://", 3);
    memcpy(buffer + front + 3, name, length + 1);
    return NA_PLUGIN_OK;
}

int32_t
tp_addr_serialize(uint8_t form, const void *content, size_t length,
    void *buffer, uint64_t *size_p)
{
    unsigned char *bytes = buffer;

    if (length > UINT8_MAX)
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    int32_t ret = tp_size_out(buffer, size_p, FRONT + length);
    if (ret != NA_PLUGIN_OK || buffer == NULL)
        return ret;
    bytes[0] = form;
    bytes[1] = (unsigned char) length;
    memcpy(bytes + FRONT, content, length);
    return NA_PLUGIN_OK;
}

int32_t
tp_addr_deserialize(const na_plugin_host *host, uint8_t forms,
    const void *buffer, uint64_t length, uint8_t *form_p,
    const unsigned char **content_p, size_t *length_p)
{
    const unsigned char *bytes = buffer;

    if (length >= FRONT && (bytes[0] == 0 || bytes[0] > forms)) {
        TP_LOG_THINNED(host, WARNING, tp_count_shared(&refused, 1),
            "serialized address of version %u; the latest known is %u",
            bytes[0], forms);
        return NA_PLUGIN_E_PROTOCOL_ERROR;
    }
    if (length < FRONT || bytes[1] == 0 || bytes[1] > length - FRONT) {
        TP_LOG_THINNED(host, WARNING, tp_count_shared(&refused, 1),
            "malformed serialized address of %" PRIu64 " bytes", length);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    *form_p = bytes[0];
    *content_p = bytes + FRONT;
    *length_p = bytes[1];
    return NA_PLUGIN_OK;
}
