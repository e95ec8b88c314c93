/* SPDX-License-Identifier: BSD-3-Clause */
/* Three forms of an endpoint's name, and the ways between them. */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "common/host.h"
#include "name.h"

/* An IP address on its way: address, port (both in network order), and for
 * IPv6 the scope, which means something on its own host only. */
#define IPV6_BYTES 22U

static size_t
bytes_of_sockaddr(const struct sockaddr_storage *address, uint8_t *bytes)
{
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const void *) address;
        memcpy(bytes, &in->sin_addr, 4);
        memcpy(bytes + 4, &in->sin_port, 2);
        return OFI_NAME_IPV4;
    }
    if (address->ss_family != AF_INET6)
        return 0;
    const struct sockaddr_in6 *in6 = (const void *) address;
    uint32_t scope =
        IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) ? htonl(in6->sin6_scope_id) : 0;
    memcpy(bytes, &in6->sin6_addr, 16);
    memcpy(bytes + 16, &in6->sin6_port, 2);
    memcpy(bytes + 18, &scope, 4);
    return IPV6_BYTES;
}

socklen_t
ofi_name_sockaddr(const struct ofi_name *name, struct sockaddr_storage *address)
{
    memset(address, 0, sizeof(*address));
    if (name->length == OFI_NAME_IPV4) {
        struct sockaddr_in *in = (void *) address;
        in->sin_family = AF_INET;
        memcpy(&in->sin_addr, name->bytes, 4);
        memcpy(&in->sin_port, name->bytes + 4, 2);
        return sizeof(*in);
    }
    struct sockaddr_in6 *in6 = (void *) address;
    uint32_t scope;
    in6->sin6_family = AF_INET6;
    memcpy(&in6->sin6_addr, name->bytes, 16);
    memcpy(&in6->sin6_port, name->bytes + 16, 2);
    memcpy(&scope, name->bytes + 18, 4);
    in6->sin6_scope_id = ntohl(scope);
    return sizeof(*in6);
}

bool
ofi_name_check(
    const struct ofi_trait *trait, const uint8_t *bytes, size_t length)
{
    if (length == 0 || length > OFI_NAME_MAX)
        return false;
    if (trait->format == OFI_FORMAT_IP)
        return (length == OFI_NAME_IPV4 && (bytes[4] | bytes[5]) != 0) ||
               (length == IPV6_BYTES && (bytes[16] | bytes[17]) != 0);
    if (trait->format == OFI_FORMAT_STRING)
        for (size_t i = 0; i < length; i++)
            if (bytes[i] <= ' ' || bytes[i] > '~')
                return false;
    return true;
}

bool
ofi_name_from_raw(const struct ofi_trait *trait, const void *raw, size_t length,
    struct ofi_name *name)
{
    memset(name, 0, sizeof(*name));
    if (trait->format == OFI_FORMAT_IP) {
        struct sockaddr_storage address = {0};
        memcpy(
            &address, raw, length < sizeof(address) ? length : sizeof(address));
        name->length = (uint32_t) bytes_of_sockaddr(&address, name->bytes);
    } else {
        if (trait->format == OFI_FORMAT_STRING)
            length = strnlen(raw, length);
        if (length > OFI_NAME_MAX)
            return false;
        memcpy(name->bytes, raw, length);
        name->length = (uint32_t) length;
    }
    return ofi_name_check(trait, name->bytes, name->length);
}

bool
ofi_name_of_socket(const struct ofi_trait *trait, int fd,
    int (*end)(int fd, struct sockaddr *address, socklen_t *length),
    struct ofi_name *name)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);

    return end(fd, (void *) &address, &length) == 0 &&
           ofi_name_from_raw(trait, &address, length, name);
}

size_t
ofi_name_to_raw(
    const struct ofi_trait *trait, const struct ofi_name *name, void *raw)
{
    memset(raw, 0, OFI_RAW_MAX);
    if (trait->format == OFI_FORMAT_IP) {
        struct sockaddr_storage address;
        socklen_t length = ofi_name_sockaddr(name, &address);
        memcpy(raw, &address, length);
        return length;
    }
    memcpy(raw, name->bytes, name->length);
    return name->length + (trait->format == OFI_FORMAT_STRING ? 1 : 0);
}

bool
ofi_name_equal(const struct ofi_name *a, const struct ofi_name *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

void
ofi_name_print(const struct ofi_trait *trait, const struct ofi_name *name,
    char text[OFI_TEXT_MAX])
{
    if (trait->format == OFI_FORMAT_IP) {
        struct sockaddr_storage address;
        ofi_name_sockaddr(name, &address);
        if (!tp_host_text(&address, text, OFI_TEXT_MAX))
            text[0] = '\0';
        return;
    }
    if (trait->format == OFI_FORMAT_STRING) {
        snprintf(text, OFI_TEXT_MAX, "%.*s", (int) name->length,
            (const char *) name->bytes);
        return;
    }
    for (uint32_t i = 0; i < name->length; i++)
        snprintf(text + (size_t) 2 * i, 3, "%02x", name->bytes[i]);
}

static int32_t
refuse(const na_plugin_host *host, const char *text, const char *why)
{
    TP_LOG(host, ERROR, "address \"%.200s\": %s", text, why);
    return NA_PLUGIN_E_INVALID_ARG;
}

/* A device before a slash is dropped. */
static int32_t
parse_ip(const na_plugin_host *log, const char *text, int family,
    struct ofi_name *name_p)
{
    const char *slash = strrchr(text, '/');
    struct tp_place place;

    if (slash != NULL)
        text = slash + 1;
    int32_t ret = tp_host_parse(log, text, strlen(text), family, true, &place);
    if (ret != NA_PLUGIN_OK)
        return ret;
    memset(name_p, 0, sizeof(*name_p));
    name_p->length =
        (uint32_t) bytes_of_sockaddr(&place.address, name_p->bytes);
    return NA_PLUGIN_OK;
}

static int32_t
parse_bytes(
    const na_plugin_host *log, const char *text, struct ofi_name *name_p)
{
    static const char digits[] = "0123456789abcdef";
    struct ofi_name name = {0};

    for (; *text != '\0'; text += 2) {
        const char *high = strchr(digits, text[0]);
        const char *low = text[1] != '\0' ? strchr(digits, text[1]) : NULL;
        if (high == NULL || low == NULL || name.length == OFI_NAME_MAX)
            return refuse(log, text, "bytes in hexadecimal are expected");
        name.bytes[name.length++] =
            (uint8_t) ((high - digits) << 4 | (low - digits));
    }
    if (name.length == 0)
        return refuse(log, text, "it is empty");
    *name_p = name;
    return NA_PLUGIN_OK;
}

int32_t
ofi_name_parse(const na_plugin_host *host, const struct ofi_trait *trait,
    const char *text, int family, struct ofi_name *name_p)
{
    if (trait->format == OFI_FORMAT_IP)
        return parse_ip(host, text, family, name_p);
    if (trait->format == OFI_FORMAT_BYTES)
        return parse_bytes(host, text, name_p);
    size_t length = strlen(text);
    if (!ofi_name_check(trait, (const uint8_t *) text, length))
        return refuse(
            host, text, "it is empty, too long, or has invalid characters");
    memset(name_p, 0, sizeof(*name_p));
    memcpy(name_p->bytes, text, length);
    name_p->length = (uint32_t) length;
    return NA_PLUGIN_OK;
}
