/* SPDX-License-Identifier: BSD-3-Clause */
/* Host part, subnet and address format against what libfabric lists. */
#include <arpa/inet.h>
#include <ctype.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "where.h"

static int
family_of(uint32_t addr_format)
{
    if (addr_format == NA_PLUGIN_ADDR_IPV4)
        return AF_INET;
    return addr_format == NA_PLUGIN_ADDR_IPV6 ? AF_INET6 : AF_UNSPEC;
}

/* The address bytes of a socket address, and how many. */
static const uint8_t *
bytes_of(const struct sockaddr *address, uint32_t *count_p)
{
    if (address->sa_family == AF_INET) {
        *count_p = 4;
        return (const void *) &(
            (const struct sockaddr_in *) (const void *) address)
            ->sin_addr;
    }
    *count_p = 16;
    return (const void *) &(
        (const struct sockaddr_in6 *) (const void *) address)
        ->sin6_addr;
}

static bool
same_bits(const struct sockaddr *a, const struct sockaddr *b, uint32_t bits)
{
    uint32_t count;
    const uint8_t *left, *right;

    if (a->sa_family != b->sa_family)
        return false;
    left = bytes_of(a, &count);
    right = bytes_of(b, &count);
    if (memcmp(left, right, bits / 8) != 0)
        return false;
    uint8_t mask = (uint8_t) (0xFF00U >> bits % 8);
    return bits % 8 == 0 || ((left[bits / 8] ^ right[bits / 8]) & mask) == 0;
}

static bool
same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    return same_bits(a, b, a->sa_family == AF_INET ? 32 : 128);
}

static bool
is_any(const struct sockaddr *address)
{
    static const uint8_t zeros[16];
    uint32_t count;
    const uint8_t *bytes = bytes_of(address, &count);
    return memcmp(bytes, zeros, count) == 0;
}

static bool
is_loopback(const struct sockaddr *address)
{
    uint32_t count;
    const uint8_t *bytes = bytes_of(address, &count);
    return count == 4 ? bytes[0] == 127
                      : IN6_IS_ADDR_LOOPBACK(
                            (const struct in6_addr *) (const void *) bytes);
}

static bool
is_link_local(const struct sockaddr *address)
{
    uint32_t count;
    const uint8_t *bytes = bytes_of(address, &count);
    return count == 16 && bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80;
}

static void
add_address(struct ofi_where *where, const struct sockaddr *address)
{
    if (where->count == OFI_WHERE_ADDRESSES)
        return;
    memcpy(&where->addresses[where->count++], address,
        address->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                      : sizeof(struct sockaddr_in6));
}

static bool
is_ip(const struct sockaddr *address)
{
    return address != NULL &&
           (address->sa_family == AF_INET || address->sa_family == AF_INET6);
}

/* The addresses of an interface. */
static bool
read_interface(struct ofi_where *where, const char *name)
{
    struct ifaddrs *list = NULL;
    bool known = false;

    if (getifaddrs(&list) != 0)
        return false;
    for (struct ifaddrs *one = list; one != NULL; one = one->ifa_next) {
        if (strcmp(one->ifa_name, name) != 0)
            continue;
        known = true;
        if (is_ip(one->ifa_addr))
            add_address(where, one->ifa_addr);
    }
    freeifaddrs(list);
    return known;
}

static bool
is_domain(const struct fi_info *infos, const char *name)
{
    for (; infos != NULL; infos = infos->next)
        if (infos->domain_attr->name != NULL &&
            strcmp(infos->domain_attr->name, name) == 0)
            return true;
    return false;
}

/* "10.1.0.0/16" */
static bool
read_subnet(struct ofi_where *where, const char *text)
{
    char address[INET6_ADDRSTRLEN];
    const char *slash = strchr(text, '/');
    size_t length = slash != NULL ? (size_t) (slash - text) : strlen(text);
    struct sockaddr_in *in = (void *) &where->subnet;
    struct sockaddr_in6 *in6 = (void *) &where->subnet;
    uint32_t most;

    if (length >= sizeof(address))
        return false;
    memcpy(address, text, length);
    address[length] = '\0';
    if (inet_pton(AF_INET, address, &in->sin_addr) == 1) {
        in->sin_family = AF_INET;
        most = 32;
    } else if (inet_pton(AF_INET6, address, &in6->sin6_addr) == 1) {
        in6->sin6_family = AF_INET6;
        most = 128;
    } else
        return false;
    where->subnet_bits = most;
    if (slash == NULL)
        return true;
    char *end = NULL;
    unsigned long bits = strtoul(slash + 1, &end, 10);
    if (!isdigit((unsigned char) slash[1]) || *end != '\0' || bits > most)
        return false;
    where->subnet_bits = (uint32_t) bits;
    return true;
}

/* A host's name, or an address as text. */
static int32_t
read_host(const na_plugin_host *log, struct ofi_where *where)
{
    struct addrinfo *found = NULL;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int ret = getaddrinfo(where->host, NULL, &hints, &found);

    if (ret != 0) {
        TP_LOG(log, ERROR,
            "\"%.200s\" is neither an interface, nor a device, nor a host "
            "that can be resolved (%s)",
            where->host, gai_strerror(ret));
        return NA_PLUGIN_E_ADDRNOTAVAIL;
    }
    for (struct addrinfo *one = found; one != NULL; one = one->ai_next) {
        if (!is_ip(one->ai_addr))
            continue;
        if (is_any(one->ai_addr)) {
            where->family = one->ai_addr->sa_family;
            where->host = NULL;
            where->count = 0;
            break;
        }
        add_address(where, one->ai_addr);
    }
    freeaddrinfo(found);
    return NA_PLUGIN_OK;
}

int32_t
ofi_where_read(const na_plugin_host *log, const struct ofi_trait *trait,
    const na_plugin_open_info *wanted, const struct fi_info *infos,
    struct ofi_where *where)
{
    memset(where, 0, sizeof(*where));
    where->device = wanted->device;
    where->host =
        wanted->host != NULL && wanted->host[0] != '\0' ? wanted->host : NULL;
    where->family = family_of(wanted->addr_format);
    if (trait->format == OFI_FORMAT_STRING) {
        where->host = where->device = NULL;
        return NA_PLUGIN_OK;
    }
    if (wanted->ip_subnet != NULL && !read_subnet(where, wanted->ip_subnet)) {
        TP_LOG(log, ERROR,
            "subnet \"%.100s\" is not like 10.1.0.0/16 or fd00::/8",
            wanted->ip_subnet);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (where->host == NULL)
        return NA_PLUGIN_OK;
    if (is_domain(infos, where->host)) {
        where->is_device = true;
        return NA_PLUGIN_OK;
    }
    if (trait->format == OFI_FORMAT_IP) {
        where->is_device = read_interface(where, where->host);
        return where->is_device ? NA_PLUGIN_OK : read_host(log, where);
    }
    where->is_device = true;
    return NA_PLUGIN_OK;
}

static bool
device_fits(const char *device, const struct fi_info *info)
{
    if (info->domain_attr->name != NULL &&
        strcmp(info->domain_attr->name, device) == 0)
        return true;
    return info->nic != NULL && info->nic->device_attr != NULL &&
           info->nic->device_attr->name != NULL &&
           strcmp(info->nic->device_attr->name, device) == 0;
}

static bool
host_fits(const struct ofi_where *where, const struct fi_info *info)
{
    if (where->host == NULL)
        return true;
    if (where->is_device && device_fits(where->host, info))
        return true;
    if (!is_ip(info->src_addr))
        return false;
    for (uint32_t i = 0; i < where->count; i++)
        if (same_address(
                (const struct sockaddr *) &where->addresses[i], info->src_addr))
            return true;
    return false;
}

uint32_t
ofi_where_fits(const struct ofi_trait *trait, const struct ofi_where *where,
    const struct fi_info *info)
{
    uint32_t score = 1;

    if (where->device != NULL && !device_fits(where->device, info))
        return 0;
    if (!host_fits(where, info))
        return 0;
    if (trait->format != OFI_FORMAT_IP)
        return score;
    if (!is_ip(info->src_addr))
        return 0;

    const struct sockaddr *address = info->src_addr;
    if (where->subnet.ss_family != 0 &&
        same_bits(address, (const struct sockaddr *) &where->subnet,
            where->subnet_bits))
        score += 32;
    if (where->family != AF_UNSPEC && address->sa_family == where->family)
        score += 16;
    if (!is_link_local(address))
        score += 8;
    if (!is_loopback(address))
        score += 4;
    if (address->sa_family == AF_INET)
        score += 1;
    return score;
}
