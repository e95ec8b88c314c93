/* SPDX-License-Identifier: BSD-3-Clause */
/* Host part, subnet and address format against what libfabric lists. */
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
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
        if (tp_host_is_any(one->ai_addr)) {
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
    if (wanted->ip_subnet != NULL &&
        !tp_subnet_parse(wanted->ip_subnet, &where->subnet)) {
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
        if (tp_host_equal(&where->addresses[i], info->src_addr))
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
    if (tp_subnet_has(&where->subnet, address))
        score += 32;
    if (where->family != AF_UNSPEC && address->sa_family == where->family)
        score += 16;
    if (!tp_host_is_link_local(address))
        score += 8;
    if (!tp_host_is_loopback(address))
        score += 4;
    if (address->sa_family == AF_INET)
        score += 1;
    return score;
}
