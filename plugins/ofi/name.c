/* SPDX-License-Identifier: BSD-3-Clause */
/* Three forms of an endpoint's name, and the ways between them. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "name.h"

/* An IP address on its way: address, port (both in network order), and for
 * IPv6 the scope, which means something on its own host only. */
#define IPV4_BYTES 6U
#define IPV6_BYTES 22U

static size_t
bytes_of_sockaddr(const struct sockaddr_storage *address, uint8_t *bytes)
{
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const void *) address;
        memcpy(bytes, &in->sin_addr, 4);
        memcpy(bytes + 4, &in->sin_port, 2);
        return IPV4_BYTES;
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
    if (name->length == IPV4_BYTES) {
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

void
ofi_name_set_port(struct sockaddr *address, uint16_t port)
{
    if (address->sa_family == AF_INET)
        ((struct sockaddr_in *) (void *) address)->sin_port = htons(port);
    else
        ((struct sockaddr_in6 *) (void *) address)->sin6_port = htons(port);
}

bool
ofi_name_check(
    const struct ofi_trait *trait, const uint8_t *bytes, size_t length)
{
    if (length == 0 || length > OFI_NAME_MAX)
        return false;
    if (trait->format == OFI_FORMAT_IP)
        return (length == IPV4_BYTES && (bytes[4] | bytes[5]) != 0) ||
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

uint32_t
ofi_name_hash(const struct ofi_name *name)
{
    uint32_t hash = 2166136261U;
    for (uint32_t i = 0; i < name->length; i++)
        hash = (hash ^ name->bytes[i]) * 16777619U;
    return hash ^ hash >> 15;
}

void
ofi_name_print(const struct ofi_trait *trait, const struct ofi_name *name,
    char text[OFI_TEXT_MAX])
{
    if (trait->format == OFI_FORMAT_IP) {
        struct sockaddr_storage address;
        char host[NI_MAXHOST], port[NI_MAXSERV];
        socklen_t length = ofi_name_sockaddr(name, &address);
        if (getnameinfo((const void *) &address, length, host, sizeof(host),
                port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
            host[0] = port[0] = '\0';
        snprintf(text, OFI_TEXT_MAX,
            address.ss_family == AF_INET6 ? "[%.200s]:%.20s" : "%.200s:%.20s",
            host, port);
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
    TP_LOG(host, ERROR, "\"%.200s\" is no address: %s", text, why);
    return NA_PLUGIN_E_INVALID_ARG;
}

/* Splits "host:port", "[host]:port"; a device before a slash is dropped. */
static const char *
split_host(const char *text, char host[NI_MAXHOST], const char **port_p)
{
    const char *slash = strrchr(text, '/');
    const char *begin = slash != NULL ? slash + 1 : text;
    const char *end, *colon;

    if (*begin == '[') {
        begin++;
        end = strchr(begin, ']');
        if (end == NULL)
            return "a bracket is not closed";
        colon = end + 1;
    } else {
        end = colon = strrchr(begin, ':');
        if (end != NULL && strchr(begin, ':') != end)
            return "an IPv6 address stands in brackets";
    }
    if (end == NULL || *colon != ':')
        return "a port is missing";
    if (end == begin || (size_t) (end - begin) >= NI_MAXHOST)
        return "a host is missing, or too long";
    memcpy(host, begin, (size_t) (end - begin));
    host[end - begin] = '\0';
    *port_p = colon + 1;
    return NULL;
}

static int32_t
parse_ip(const na_plugin_host *log, const char *text, int family,
    struct ofi_name *name_p)
{
    char host[NI_MAXHOST];
    const char *port_text = NULL;
    const char *why = split_host(text, host, &port_text);
    if (why != NULL)
        return refuse(log, text, why);

    char *end = NULL;
    errno = 0;
    unsigned long port = strtoul(port_text, &end, 10);
    if (!isdigit((unsigned char) *port_text) || *end != '\0' || errno != 0 ||
        port == 0 || port > UINT16_MAX)
        return refuse(log, text, "its port is not a number from 1 to 65535");

    struct addrinfo *found = NULL;
    struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM};
    int ret = getaddrinfo(host, port_text, &hints, &found);
    if (ret != 0 && family != AF_UNSPEC) {
        hints.ai_family = AF_UNSPEC;
        ret = getaddrinfo(host, port_text, &hints, &found);
    }
    if (ret != 0) {
        TP_LOG(log, ERROR, "host \"%.200s\": %s", host, gai_strerror(ret));
        return NA_PLUGIN_E_NOENTRY;
    }
    struct sockaddr_storage address = {0};
    memcpy(&address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    memset(name_p, 0, sizeof(*name_p));
    name_p->length = (uint32_t) bytes_of_sockaddr(&address, name_p->bytes);
    return NA_PLUGIN_OK;
}

static int
digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int32_t
parse_bytes(
    const na_plugin_host *log, const char *text, struct ofi_name *name_p)
{
    struct ofi_name name = {0};

    for (; *text != '\0'; text += 2) {
        int high = digit_of(text[0]);
        int low = high >= 0 ? digit_of(text[1]) : -1;
        if (low < 0 || name.length == OFI_NAME_MAX)
            return refuse(log, text, "bytes in hexadecimal are wanted");
        name.bytes[name.length++] = (uint8_t) (high << 4 | low);
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
            host, text, "it is empty, too long, or has strange signs");
    memset(name_p, 0, sizeof(*name_p));
    memcpy(name_p->bytes, text, length);
    name_p->length = (uint32_t) length;
    return NA_PLUGIN_OK;
}
