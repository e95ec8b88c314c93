/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts, interfaces and ports, by the C library's resolver and its list of
 * interfaces. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "where.h"

#define HOST_MAX 255U

static socklen_t
length_of(int family)
{
    return family == AF_INET6 ? sizeof(struct sockaddr_in6)
                              : sizeof(struct sockaddr_in);
}

/* The bytes of the host's part of an address. */
static const unsigned char *
host_bytes(const struct sockaddr_storage *address, size_t *length_p)
{
    if (address->ss_family == AF_INET6) {
        *length_p = 16;
        return ((const struct sockaddr_in6 *) address)->sin6_addr.s6_addr;
    }
    *length_p = 4;
    return (const unsigned char *) &((const struct sockaddr_in *) address)
        ->sin_addr;
}

static void
set_port(struct sockaddr_storage *address, uint32_t port)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *) address)->sin6_port = htons((uint16_t) port);
    else
        ((struct sockaddr_in *) address)->sin_port = htons((uint16_t) port);
}

uint32_t
ucx_where_port(const struct sockaddr_storage *address)
{
    return ntohs(address->ss_family == AF_INET6
                     ? ((const struct sockaddr_in6 *) address)->sin6_port
                     : ((const struct sockaddr_in *) address)->sin_port);
}

bool
ucx_where_text(const struct sockaddr_storage *address, char *text, size_t room)
{
    char host[HOST_MAX + 1];
    bool six = address->ss_family == AF_INET6;

    if (getnameinfo((const struct sockaddr *) address,
            length_of(address->ss_family), host, sizeof(host), NULL, 0,
            NI_NUMERICHOST) != 0)
        return false;
    int n = snprintf(text, room, six ? "[%s]:%" PRIu32 : "%s:%" PRIu32, host,
        ucx_where_port(address));
    return n > 0 && (size_t) n < room;
}

/* A subnet "10.1.0.0/16" as bytes and bits; false if it is none. */
static bool
parse_subnet(const char *text, int *family_p, unsigned char bytes[16],
    unsigned long *bits_p)
{
    char host[INET6_ADDRSTRLEN];
    const char *slash = strchr(text, '/');
    size_t length = slash != NULL ? (size_t) (slash - text) : strlen(text);
    char *end = NULL;

    if (length >= sizeof(host))
        return false;
    memcpy(host, text, length);
    host[length] = '\0';
    *family_p = strchr(host, ':') != NULL ? AF_INET6 : AF_INET;
    if (inet_pton(*family_p, host, bytes) != 1)
        return false;
    unsigned long most = *family_p == AF_INET6 ? 128 : 32;
    *bits_p = most;
    if (slash == NULL)
        return true;
    *bits_p = strtoul(slash + 1, &end, 10);
    return end != slash + 1 && *end == '\0' && *bits_p <= most;
}

static bool
in_subnet(const struct sockaddr_storage *address, int family,
    const unsigned char *bytes, unsigned long bits)
{
    size_t length;
    const unsigned char *own = host_bytes(address, &length);

    if (address->ss_family != family || memcmp(own, bytes, bits / 8) != 0)
        return false;
    unsigned char mask = (unsigned char) (0xFF00U >> (bits % 8));
    return bits % 8 == 0 || ((own[bits / 8] ^ bytes[bits / 8]) & mask) == 0;
}

/* An interface's address that can be used: not of a link only, which would need
 * a scope. */
static bool
usable(const struct ifaddrs *interface)
{
    const struct sockaddr *address = interface->ifa_addr;

    if (address == NULL || (interface->ifa_flags & IFF_UP) == 0)
        return false;
    if (address->sa_family == AF_INET)
        return true;
    return address->sa_family == AF_INET6 &&
           !IN6_IS_ADDR_LINKLOCAL(
               &((const struct sockaddr_in6 *) address)->sin6_addr);
}

/* What is looked for among the interfaces. */
struct wish {
    const char *name; /* NULL: any */
    int family;       /* preferred */
    const char *subnet;
    int subnet_family;
    unsigned char subnet_bytes[16];
    unsigned long subnet_bits;
};

/* How well an interface's address fits; 0: not at all. */
static int
fitness(const struct wish *wish, const struct ifaddrs *interface)
{
    if (!usable(interface) ||
        (wish->name != NULL && strcmp(wish->name, interface->ifa_name) != 0))
        return 0;
    int points = 1;
    const struct sockaddr_storage *address = (const void *) interface->ifa_addr;
    if ((interface->ifa_flags & IFF_LOOPBACK) == 0)
        points += 4;
    if (address->ss_family ==
        (wish->family == AF_UNSPEC ? AF_INET : wish->family))
        points += 2;
    if (wish->subnet != NULL && in_subnet(address, wish->subnet_family,
                                    wish->subnet_bytes, wish->subnet_bits))
        points += 8;
    return points;
}

static bool
choose(const struct wish *wish, struct ucx_where *where)
{
    struct ifaddrs *list;
    int best = 0;

    if (getifaddrs(&list) != 0)
        return false;
    for (struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        int points = fitness(wish, i);
        if (points > best) {
            best = points;
            where->length = length_of(i->ifa_addr->sa_family);
            memset(&where->address, 0, sizeof(where->address));
            memcpy(&where->address, i->ifa_addr, where->length);
        }
    }
    freeifaddrs(list);
    return best != 0;
}

/* Names to an address; a code of getaddrinfo. */
static int
resolve_host(const char *name, int family, bool names, struct ucx_where *where)
{
    struct addrinfo hints = {.ai_family = family,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = names ? 0 : AI_NUMERICHOST};
    struct addrinfo *list = NULL;
    int error = getaddrinfo(name, NULL, &hints, &list);

    if (error != 0 && names && family != AF_UNSPEC) {
        hints.ai_family = AF_UNSPEC;
        error = getaddrinfo(name, NULL, &hints, &list);
    }
    if (error != 0)
        return error;
    memset(&where->address, 0, sizeof(where->address));
    where->length = length_of(list->ai_family);
    memcpy(&where->address, list->ai_addr, where->length);
    freeaddrinfo(list);
    return 0;
}

/* Whether it is one for multicast or broadcast, where the system would let us
 * listen, and nobody could call. */
static bool
of_many(const struct sockaddr_storage *address)
{
    size_t length;
    const unsigned char *bytes = host_bytes(address, &length);

    return length == 4 ? bytes[0] >= 224 : bytes[0] == 0xff;
}

int32_t
ucx_where_own(const na_plugin_host *host, const char *name, uint32_t port,
    int family, const char *subnet, struct ucx_where *where_p)
{
    struct wish wish = {.name = name, .family = family, .subnet = subnet};
    struct ucx_where where;

    if (subnet != NULL && !parse_subnet(subnet, &wish.subnet_family,
                              wish.subnet_bytes, &wish.subnet_bits)) {
        TP_LOG(
            host, ERROR, "\"%.60s\" is no subnet, as 10.1.0.0/16 is", subnet);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (port > UINT16_MAX) {
        TP_LOG(host, ERROR, "port %" PRIu32 "; the highest is 65535", port);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (name == NULL) {
        if (!choose(&wish, &where)) {
            TP_LOG(host, ERROR, "no network interface with an IP address");
            return NA_PLUGIN_E_NODEV;
        }
    } else if (resolve_host(name, AF_UNSPEC, false, &where) != 0 &&
               !choose(&wish, &where)) {
        int error = if_nametoindex(name) != 0
                        ? EAI_SYSTEM
                        : resolve_host(name, family, true, &where);
        if (error == EAI_SYSTEM) {
            TP_LOG(host, ERROR,
                "interface \"%.60s\" has no IP address, or is down", name);
            return NA_PLUGIN_E_NODEV;
        }
        if (error != 0) {
            TP_LOG(host, ERROR,
                "\"%.120s\" is no address, interface or host here: %s", name,
                gai_strerror(error));
            return NA_PLUGIN_E_ADDRNOTAVAIL;
        }
    }
    if (of_many(&where.address)) {
        TP_LOG(host, ERROR,
            "\"%.120s\" is an address of many hosts, not of one", name);
        return NA_PLUGIN_E_ADDRNOTAVAIL;
    }
    set_port(&where.address, port);
    *where_p = where;
    return NA_PLUGIN_OK;
}

void
ucx_where_reach(struct ucx_where *where, const char *subnet)
{
    static const unsigned char none[16];
    struct wish wish = {.subnet = subnet, .family = where->address.ss_family};
    struct ucx_where other;
    size_t length;

    const unsigned char *own = host_bytes(&where->address, &length);
    if (memcmp(own, none, length) != 0)
        return;
    if (subnet != NULL)
        parse_subnet(
            subnet, &wish.subnet_family, wish.subnet_bytes, &wish.subnet_bits);
    if (!choose(&wish, &other) ||
        other.address.ss_family != where->address.ss_family)
        return;
    set_port(&other.address, ucx_where_port(&where->address));
    *where = other;
}

/* Splits "host:port" or "[host]:port"; false if it is neither. */
static bool
split(
    const char *text, size_t length, char host[HOST_MAX + 1], uint32_t *port_p)
{
    const char *end = text + length;
    const char *from = text;
    const char *to;

    if (length > 0 && *text == '[') {
        from = text + 1;
        to = memchr(text, ']', length);
        if (to == NULL || to + 1 == end || to[1] != ':')
            return false;
    } else {
        to = memchr(text, ':', length);
        if (to == NULL)
            return false;
    }
    size_t size = (size_t) (to - from);
    const char *digits = *text == '[' ? to + 2 : to + 1;
    if (size == 0 || size > HOST_MAX || digits == end || end - digits > 5)
        return false;
    uint32_t port = 0;
    for (; digits < end; digits++) {
        if (*digits < '0' || *digits > '9')
            return false;
        port = port * 10 + (uint32_t) (*digits - '0');
    }
    if (port == 0 || port > UINT16_MAX || memchr(from, '\0', size) != NULL)
        return false;
    memcpy(host, from, size);
    host[size] = '\0';
    *port_p = port;
    return true;
}

int32_t
ucx_where_parse(const na_plugin_host *host, const char *text, size_t length,
    bool resolve, struct ucx_where *where_p)
{
    char name[HOST_MAX + 1];
    struct ucx_where where;
    uint32_t port;

    if (!split(text, length, name, &port)) {
        TP_LOG(host, ERROR,
            "\"%.*s\" is not host:port or [address]:port, with a port from 1 "
            "to 65535",
            (int) (length < 120 ? length : 120), text);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    int error = resolve_host(name, AF_UNSPEC, resolve, &where);
    if (error != 0) {
        TP_LOG(host, ERROR, "host \"%.120s\": %s", name, gai_strerror(error));
        return resolve ? NA_PLUGIN_E_NOENTRY : NA_PLUGIN_E_INVALID_ARG;
    }
    set_port(&where.address, port);
    *where_p = where;
    return NA_PLUGIN_OK;
}

static bool
equal_hosts(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    size_t length;
    size_t other;
    const unsigned char *bytes = host_bytes(a, &length);
    const unsigned char *bytes_b = host_bytes(b, &other);

    return length == other && memcmp(bytes, bytes_b, length) == 0;
}

/* Whether an address is one of this host's. */
static bool
local(const struct sockaddr_storage *address)
{
    struct ifaddrs *list;
    bool found = false;
    size_t length;

    if (address->ss_family == AF_INET && *host_bytes(address, &length) == 127)
        return true;
    if (getifaddrs(&list) != 0)
        return false;
    for (struct ifaddrs *i = list; i != NULL && !found; i = i->ifa_next)
        found = i->ifa_addr != NULL &&
                i->ifa_addr->sa_family == address->ss_family &&
                equal_hosts(address, (const void *) i->ifa_addr);
    freeifaddrs(list);
    return found;
}

bool
ucx_where_same_host(
    const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    return equal_hosts(a, b) || (local(a) && local(b));
}

bool
ucx_where_interface(const char *name)
{
    struct ucx_where where;
    struct wish wish = {.name = name};

    return choose(&wish, &where);
}

bool
ucx_where_loopback(const struct sockaddr_storage *address)
{
    static const unsigned char six[16] = {[15] = 1};
    size_t length;
    const unsigned char *bytes = host_bytes(address, &length);

    return length == 4 ? bytes[0] == 127 : memcmp(bytes, six, sizeof(six)) == 0;
}

bool
ucx_where_loopback_interface(const char *wanted, char *name, size_t room)
{
    struct ifaddrs *list;
    bool found = false;

    if (getifaddrs(&list) != 0)
        return false;
    for (struct ifaddrs *i = list; i != NULL && !found; i = i->ifa_next) {
        found = (i->ifa_flags & IFF_LOOPBACK) != 0 &&
                (i->ifa_flags & IFF_UP) != 0 && strlen(i->ifa_name) < room &&
                (wanted == NULL || strcmp(i->ifa_name, wanted) == 0);
        if (found)
            snprintf(name, room, "%s", i->ifa_name);
    }
    freeifaddrs(list);
    return found;
}

void
ucx_where_list(
    void *arg, void (*found)(void *arg, const char *name, const char *address))
{
    struct ifaddrs *list;

    if (getifaddrs(&list) != 0)
        return;
    for (struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        char text[HOST_MAX + 1];
        if (usable(i) &&
            getnameinfo(i->ifa_addr, length_of(i->ifa_addr->sa_family), text,
                sizeof(text), NULL, 0, NI_NUMERICHOST) == 0)
            found(arg, i->ifa_name, text);
    }
    freeifaddrs(list);
}
