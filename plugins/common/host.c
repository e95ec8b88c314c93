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

#include "common/host.h"
#include "common/log.h"
#include "common/report.h"

#define HOST_MAX 255U

static socklen_t
length_of(int family)
{
    return family == AF_INET6 ? sizeof(struct sockaddr_in6)
                              : sizeof(struct sockaddr_in);
}

/* The bytes of the host's part of an address. */
static const unsigned char *
host_bytes(const void *address, size_t *length_p)
{
    if (((const struct sockaddr *) address)->sa_family == AF_INET6) {
        *length_p = 16;
        return ((const struct sockaddr_in6 *) address)->sin6_addr.s6_addr;
    }
    *length_p = 4;
    return (const unsigned char *) &((const struct sockaddr_in *) address)
        ->sin_addr;
}

void
tp_host_set_port(struct sockaddr_storage *address, uint32_t port)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *) address)->sin6_port = htons((uint16_t) port);
    else
        ((struct sockaddr_in *) address)->sin_port = htons((uint16_t) port);
}

uint32_t
tp_host_port(const struct sockaddr_storage *address)
{
    return ntohs(address->ss_family == AF_INET6
                     ? ((const struct sockaddr_in6 *) address)->sin6_port
                     : ((const struct sockaddr_in *) address)->sin_port);
}

bool
tp_host_text(const struct sockaddr_storage *address, char *text, size_t room)
{
    char host[HOST_MAX + 1];
    bool six = address->ss_family == AF_INET6;

    if (getnameinfo((const struct sockaddr *) address,
            length_of(address->ss_family), host, sizeof(host), NULL, 0,
            NI_NUMERICHOST) != 0)
        return false;
    int n = snprintf(text, room, six ? "[%s]:%" PRIu32 : "%s:%" PRIu32, host,
        tp_host_port(address));
    return n > 0 && (size_t) n < room;
}

bool
tp_subnet_parse(const char *text, struct tp_subnet *subnet)
{
    char host[INET6_ADDRSTRLEN];
    const char *slash = strchr(text, '/');
    size_t length = slash != NULL ? (size_t) (slash - text) : strlen(text);
    char *end = NULL;

    if (length >= sizeof(host))
        return false;
    memcpy(host, text, length);
    host[length] = '\0';
    subnet->family = strchr(host, ':') != NULL ? AF_INET6 : AF_INET;
    if (inet_pton(subnet->family, host, subnet->bytes) != 1)
        return false;
    unsigned long most = subnet->family == AF_INET6 ? 128 : 32;
    subnet->bits = most;
    if (slash == NULL)
        return true;
    subnet->bits = strtoul(slash + 1, &end, 10);
    return slash[1] >= '0' && slash[1] <= '9' && *end == '\0' &&
           subnet->bits <= most;
}

bool
tp_subnet_has(const struct tp_subnet *subnet, const void *address)
{
    size_t length;
    const unsigned char *own = host_bytes(address, &length);
    unsigned long bits = subnet->bits;

    if (((const struct sockaddr *) address)->sa_family != subnet->family ||
        memcmp(own, subnet->bytes, bits / 8) != 0)
        return false;
    unsigned char mask = (unsigned char) (0xFF00U >> (bits % 8));
    return bits % 8 == 0 ||
           ((own[bits / 8] ^ subnet->bytes[bits / 8]) & mask) == 0;
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
    return address->sa_family == AF_INET6 && !tp_host_is_link_local(address);
}

/* What is looked for among the interfaces. */
struct wish {
    const char *name;        /* NULL: any */
    int family;              /* preferred */
    struct tp_subnet subnet; /* preferred, family 0: none */
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
    if (tp_subnet_has(&wish->subnet, address))
        points += 8;
    return points;
}

static bool
choose(const struct wish *wish, struct tp_place *place)
{
    struct ifaddrs *list;
    int best = 0;

    if (getifaddrs(&list) != 0)
        return false;
    for (struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        int points = fitness(wish, i);
        if (points > best) {
            best = points;
            place->length = length_of(i->ifa_addr->sa_family);
            memset(&place->address, 0, sizeof(place->address));
            memcpy(&place->address, i->ifa_addr, place->length);
        }
    }
    freeifaddrs(list);
    return best != 0;
}

/* Names to an address; a code of getaddrinfo. */
static int
resolve_host(const char *name, int family, bool names, struct tp_place *place)
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
    memset(&place->address, 0, sizeof(place->address));
    place->length = length_of(list->ai_family);
    memcpy(&place->address, list->ai_addr, place->length);
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
tp_host_own(const na_plugin_host *host, const char *name, uint32_t port,
    int family, const char *subnet, struct tp_place *place_p)
{
    struct wish wish = {.name = name, .family = family};
    struct tp_place place;

    if (subnet != NULL && !tp_subnet_parse(subnet, &wish.subnet)) {
        TP_LOG(
            host, ERROR, "\"%.60s\" is no subnet, as 10.1.0.0/16 is", subnet);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (port > UINT16_MAX) {
        TP_LOG(host, ERROR, "port %" PRIu32 "; the highest is 65535", port);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (name == NULL) {
        if (!choose(&wish, &place)) {
            TP_LOG(host, ERROR, "no network interface with an IP address");
            return NA_PLUGIN_E_NODEV;
        }
    } else if (resolve_host(name, AF_UNSPEC, false, &place) != 0 &&
               !choose(&wish, &place)) {
        int error = if_nametoindex(name) != 0
                        ? EAI_SYSTEM
                        : resolve_host(name, family, true, &place);
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
    if (of_many(&place.address)) {
        TP_LOG(host, ERROR,
            "\"%.120s\" is an address of many hosts, not of one", name);
        return NA_PLUGIN_E_ADDRNOTAVAIL;
    }
    tp_host_set_port(&place.address, port);
    *place_p = place;
    return NA_PLUGIN_OK;
}

void
tp_host_reach(struct tp_place *place, const char *subnet)
{
    struct wish wish = {.family = place->address.ss_family};
    struct tp_place other;

    if (!tp_host_is_any(&place->address) ||
        (subnet != NULL && !tp_subnet_parse(subnet, &wish.subnet)))
        return;
    if (!choose(&wish, &other) ||
        other.address.ss_family != place->address.ss_family)
        return;
    tp_host_set_port(&other.address, tp_host_port(&place->address));
    *place = other;
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

/* Of a user at level ERROR; of a peer, which may send many, thinned. */
static void
log_refused(const na_plugin_host *host, bool of_user, const char *text,
    size_t length, const char *why)
{
    static _Atomic uint64_t refused;
    int shown = (int) (length < 120 ? length : 120);

    if (of_user)
        TP_LOG(host, ERROR, "\"%.*s\" %s", shown, text, why);
    else
        TP_LOG_THINNED(host, WARNING, tp_count_shared(&refused, 1),
            "address of a peer \"%.*s\" %s", shown, text, why);
}

int32_t
tp_host_parse(const na_plugin_host *host, const char *text, size_t length,
    int family, bool resolve, struct tp_place *place_p)
{
    char name[HOST_MAX + 1];
    struct tp_place place;
    uint32_t port;

    if (!split(text, length, name, &port)) {
        log_refused(host, resolve, text, length,
            "is not host:port or [address]:port, with a port from 1 to 65535");
        return NA_PLUGIN_E_INVALID_ARG;
    }
    int error = resolve_host(name, family, resolve, &place);
    if (error != 0) {
        log_refused(host, resolve, name, strlen(name), gai_strerror(error));
        return resolve ? NA_PLUGIN_E_NOENTRY : NA_PLUGIN_E_INVALID_ARG;
    }
    tp_host_set_port(&place.address, port);
    *place_p = place;
    return NA_PLUGIN_OK;
}

bool
tp_host_equal(const void *a, const void *b)
{
    size_t length;
    size_t other;
    const unsigned char *bytes = host_bytes(a, &length);
    const unsigned char *bytes_b = host_bytes(b, &other);

    return length == other && memcmp(bytes, bytes_b, length) == 0;
}

bool
tp_host_is_local(const struct sockaddr_storage *address)
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
                tp_host_equal(address, i->ifa_addr);
    freeifaddrs(list);
    return found;
}

bool
tp_host_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    return tp_host_equal(a, b) || (tp_host_is_local(a) && tp_host_is_local(b));
}

bool
tp_host_interface(const char *name)
{
    struct tp_place place;
    struct wish wish = {.name = name};

    return choose(&wish, &place);
}

bool
tp_host_is_any(const void *address)
{
    static const unsigned char none[16];
    size_t length;
    const unsigned char *bytes = host_bytes(address, &length);

    return memcmp(bytes, none, length) == 0;
}

bool
tp_host_is_link_local(const void *address)
{
    size_t length;
    const unsigned char *bytes = host_bytes(address, &length);

    return length == 16 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

bool
tp_host_is_loopback(const void *address)
{
    static const unsigned char six[16] = {[15] = 1};
    size_t length;
    const unsigned char *bytes = host_bytes(address, &length);

    return length == 4 ? bytes[0] == 127 : memcmp(bytes, six, sizeof(six)) == 0;
}

bool
tp_host_loopback_interface(const char *wanted, char *name, size_t room)
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
tp_host_list(
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

struct devices {
    const char *protocol;
    void *arg;
    void (*found)(void *arg, const na_plugin_device *device);
};

static void
device_found(void *arg, const char *name, const char *address)
{
    const struct devices *devices = arg;
    const na_plugin_device device = {.size = sizeof(device),
        .protocol = devices->protocol,
        .name = name,
        .detail = address};

    devices->found(devices->arg, &device);
}

int32_t
tp_host_devices(const char *spoken, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    struct devices devices = {spoken, arg, found};

    if (protocol != NULL && strcmp(protocol, spoken) != 0)
        return NA_PLUGIN_E_PROTONOSUPPORT;
    tp_host_list(&devices, device_found);
    return NA_PLUGIN_OK;
}
