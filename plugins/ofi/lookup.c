/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses as the core has them: text, bytes, references. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "addr.h"
#include "address.h"
#include "endpoints.h"
#include "lookup.h"
#include "ofi.h"
#include "route.h"

#define SCHEME_MAX 64U
#define BYTES_VERSION 1U

int32_t
ofi_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p)
{
    ofi_addr_hold(cls->first->self);
    *addr_p = cls->first->self;
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
        TP_LOG(cls->host, ERROR,
            "\"%.200s\" is no address: it is not like %s://…", text,
            cls->trait->scheme);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    memcpy(scheme, text, length);
    scheme[length] = '\0';
    if (!ofi_provider_speaks(cls->trait, scheme)) {
        TP_LOG(cls->host, ERROR,
            "address \"%.200s\" is not one of this class's peers: it speaks "
            "%s, by libfabric's provider %s, and not %s",
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
    tp_lock_take(&cls->first->lock);
    na_plugin_addr *addr = ofi_addr_get(cls->first, name);
    tp_lock_drop(&cls->first->lock);
    if (addr == NULL) {
        TP_LOG(cls->host, ERROR, "no memory for an address");
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
           name->length == cls->first->self->name.length;
}

int32_t
ofi_addr_lookup(na_plugin_class *cls, const char *text, na_plugin_addr **addr_p)
{
    const char *rest = NULL;
    struct ofi_name name;

    int32_t ret = check_scheme(cls, text, &rest);
    if (ret != NA_PLUGIN_OK)
        return ret;
    int family = cls->trait->format != OFI_FORMAT_IP  ? AF_UNSPEC
                 : cls->first->self->name.length == 6 ? AF_INET
                                                      : AF_INET6;
    ret = ofi_name_parse(cls->host, cls->trait, rest, family, &name);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (!same_family(cls, &name)) {
        TP_LOG(cls->host, ERROR,
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
        TP_LOG(cls->host, DEBUG, "the bytes of an address are cut short");
        return NA_PLUGIN_E_OVERFLOW;
    }
    memcpy(scheme, bytes + 3, bytes[1]);
    scheme[bytes[1]] = '\0';
    const uint8_t *rest = bytes + 3 + bytes[1];
    if (bytes[0] != BYTES_VERSION || !ofi_provider_speaks(cls->trait, scheme) ||
        !ofi_name_check(cls->trait, rest, bytes[2]) ||
        (cls->trait->format == OFI_FORMAT_IP &&
            bytes[2] != cls->first->self->name.length)) {
        TP_LOG(cls->host, DEBUG,
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
    ofi_endpoints_each(cls, ofi_route_forget, addr);
}

void
ofi_addr_free(na_plugin_class *cls, na_plugin_addr *addr)
{
    ofi_addr_release(cls->first, addr);
}
