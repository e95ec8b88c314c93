/* SPDX-License-Identifier: BSD-3-Clause */
/* Host part, subnet and address format against what libfabric lists. */
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#include "common/log.h"
#include "source.h"

static int
family_of(uint32_t addr_format)
{
    if (addr_format == NA_PLUGIN_ADDR_IPV4)
        return AF_INET;
    return addr_format == NA_PLUGIN_ADDR_IPV6 ? AF_INET6 : AF_UNSPEC;
}

static void
add_address(struct ofi_source *source, const struct sockaddr *address)
{
    if (source->count == OFI_SOURCE_ADDRESSES)
        return;
    memcpy(&source->addresses[source->count++], address,
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
read_interface(struct ofi_source *source, const char *name)
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
            add_address(source, one->ifa_addr);
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
read_host(const na_plugin_host *log, struct ofi_source *source)
{
    struct addrinfo *found = NULL;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int ret = getaddrinfo(source->host, NULL, &hints, &found);

    if (ret != 0) {
        TP_LOG(log, ERROR,
            "\"%.200s\" is neither an interface, nor a device, nor a host that "
            "can be resolved (%s)",
            source->host, gai_strerror(ret));
        return NA_PLUGIN_E_ADDRNOTAVAIL;
    }
    for (struct addrinfo *one = found; one != NULL; one = one->ai_next) {
        if (!is_ip(one->ai_addr))
            continue;
        if (tp_host_is_any(one->ai_addr)) {
            source->family = one->ai_addr->sa_family;
            source->host = NULL;
            source->count = 0;
            break;
        }
        add_address(source, one->ai_addr);
    }
    freeaddrinfo(found);
    return NA_PLUGIN_OK;
}

int32_t
ofi_source_read(const na_plugin_host *log, const struct ofi_trait *trait,
    const na_plugin_open_info *wanted, const struct fi_info *infos,
    struct ofi_source *source)
{
    memset(source, 0, sizeof(*source));
    source->device = wanted->device;
    source->host =
        wanted->host != NULL && wanted->host[0] != '\0' ? wanted->host : NULL;
    source->family = family_of(wanted->addr_format);
    if (trait->format == OFI_FORMAT_STRING) {
        source->host = source->device = NULL;
        return NA_PLUGIN_OK;
    }
    if (wanted->ip_subnet != NULL &&
        !tp_subnet_parse(wanted->ip_subnet, &source->subnet)) {
        TP_LOG(log, ERROR,
            "subnet \"%.100s\": expected is one like 10.1.0.0/16 or fd00::/8",
            wanted->ip_subnet);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (source->host == NULL)
        return NA_PLUGIN_OK;
    if (is_domain(infos, source->host)) {
        source->is_device = true;
        return NA_PLUGIN_OK;
    }
    if (trait->format == OFI_FORMAT_IP) {
        source->is_device = read_interface(source, source->host);
        return source->is_device ? NA_PLUGIN_OK : read_host(log, source);
    }
    source->is_device = true;
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
host_fits(const struct ofi_source *source, const struct fi_info *info)
{
    if (source->host == NULL)
        return true;
    if (source->is_device && device_fits(source->host, info))
        return true;
    if (!is_ip(info->src_addr))
        return false;
    for (uint32_t i = 0; i < source->count; i++)
        if (tp_host_equal(&source->addresses[i], info->src_addr))
            return true;
    return false;
}

uint32_t
ofi_source_fits(const struct ofi_trait *trait, const struct ofi_source *source,
    const struct fi_info *info)
{
    uint32_t score = 1;

    if (source->device != NULL && !device_fits(source->device, info))
        return 0;
    if (!host_fits(source, info))
        return 0;
    if (trait->format != OFI_FORMAT_IP)
        return score;
    if (!is_ip(info->src_addr))
        return 0;

    const struct sockaddr *address = info->src_addr;
    if (tp_subnet_has(&source->subnet, address))
        score += 32;
    if (source->family != AF_UNSPEC && address->sa_family == source->family)
        score += 16;
    if (!tp_host_is_link_local(address))
        score += 8;
    if (!tp_host_is_loopback(address))
        score += 4;
    if (address->sa_family == AF_INET)
        score += 1;
    return score;
}
