/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses as the core has them: one object for each name, text, bytes. */
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "ofi.h"

#define SCHEME_MAX 64U
#define BYTES_VERSION 1U

na_plugin_addr *
ofi_addr_get(na_plugin_class *cls, const struct ofi_name *name)
{
    na_plugin_addr *addr = NULL;

    tp_lock_take(&cls->addrs_lock);
    struct tp_addr *found =
        tp_addr_find(&cls->addrs, NULL, name->bytes, name->length);
    if (found != NULL) {
        addr = TP_OBJECT(found, na_plugin_addr, addr);
        ofi_addr_hold(addr);
    } else if ((addr = calloc(1, sizeof(*addr))) != NULL) {
        addr->name = *name;
        tp_addr_enter(
            &cls->addrs, &addr->addr, addr->name.bytes, addr->name.length);
    }
    tp_lock_drop(&cls->addrs_lock);
    return addr;
}

void
ofi_addr_release(na_plugin_class *cls, na_plugin_addr *addr)
{
    if (tp_addr_release_shared(&addr->addr))
        return;
    tp_lock_take(&cls->addrs_lock);
    bool last = tp_addr_release(&cls->addrs, &addr->addr);
    tp_lock_drop(&cls->addrs_lock);
    if (last)
        free(addr);
}

uint32_t
ofi_addr_fini(na_plugin_class *cls)
{
    return tp_table_free(&cls->addrs, NULL, NULL);
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
        TP_LOG(cls->host, ERROR, "address \"%.200s\": %s://… is expected", text,
            cls->trait->scheme);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    memcpy(scheme, text, length);
    scheme[length] = '\0';
    if (!ofi_provider_speaks(cls->trait, scheme)) {
        TP_LOG(cls->host, ERROR,
            "address \"%.200s\": this class speaks %s, by libfabric's provider "
            "%s, not %s",
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
    na_plugin_addr *addr = ofi_addr_get(cls, name);

    if (addr == NULL) {
        TP_LOG(cls->host, ERROR, "out of memory for an address");
        return NA_PLUGIN_E_NOMEM;
    }
    *addr_p = addr;
    return NA_PLUGIN_OK;
}

/* An endpoint reaches addresses of its own family only. */
static bool
same_family(const na_plugin_class *cls, size_t length)
{
    return cls->trait->format != OFI_FORMAT_IP ||
           length == cls->self->name.length;
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
    if (!same_family(cls, name.length)) {
        TP_LOG(cls->host, ERROR,
            "address \"%.200s\": it is of %s, and this class was opened at one "
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
    ofi_addr_hold(addr);
}

int32_t
ofi_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b)
{
    return a == b;
}

uint64_t
ofi_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr)
{
    return addr->addr.keyed.key;
}

int32_t
ofi_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p)
{
    char text[OFI_TEXT_MAX];

    ofi_name_print(cls->trait, &addr->name, text);
    return tp_addr_to_string(cls->trait->scheme, text, buffer, size_p);
}

/* As bytes: version, length of the scheme, length of the name (1 each), scheme,
 * name. */
int32_t
ofi_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p)
{
    size_t scheme = strlen(cls->trait->scheme);
    uint8_t *bytes = buffer;

    int32_t ret = tp_size_out(buffer, size_p, 3 + scheme + addr->name.length);
    if (ret != NA_PLUGIN_OK || buffer == NULL)
        return ret;
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
        TP_LOG(cls->host, DEBUG, "serialized address is cut short");
        return NA_PLUGIN_E_OVERFLOW;
    }
    memcpy(scheme, bytes + 3, bytes[1]);
    scheme[bytes[1]] = '\0';
    const uint8_t *rest = bytes + 3 + bytes[1];
    if (bytes[0] != BYTES_VERSION || !ofi_provider_speaks(cls->trait, scheme) ||
        !ofi_name_check(cls->trait, rest, bytes[2]) ||
        !same_family(cls, bytes[2])) {
        TP_LOG(cls->host, DEBUG,
            "serialized address of version %u, protocol \"%.40s\"; expected "
            "are version %u and protocol %s",
            bytes[0], scheme, BYTES_VERSION, cls->trait->scheme);
        return NA_PLUGIN_E_PROTOCOL_ERROR;
    }
    name.length = bytes[2];
    memcpy(name.bytes, rest, name.length);
    return from_name(cls, &name, addr_p);
}
