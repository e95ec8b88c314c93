/* SPDX-License-Identifier: BSD-3-Clause */
/* From a device to its network addresses. */
#include "common/device.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes the addresses of an interface, after a space unless it is the first.
 */
static void
write_interface(FILE *stream, const struct ifaddrs *list, const char *name)
{
    for (; list; list = list->ifa_next) {
        char text[INET6_ADDRSTRLEN];
        const void *address;

        if (!list->ifa_addr || strcmp(list->ifa_name, name) != 0)
            continue;
        if (list->ifa_addr->sa_family == AF_INET)
            address =
                &((const struct sockaddr_in *) (const void *) list->ifa_addr)
                     ->sin_addr;
        else if (list->ifa_addr->sa_family == AF_INET6)
            address =
                &((const struct sockaddr_in6 *) (const void *) list->ifa_addr)
                     ->sin6_addr;
        else
            continue;
        if (inet_ntop(list->ifa_addr->sa_family, address, text, sizeof text))
            fprintf(stream, "%s%s", ftell(stream) > 0 ? " " : "", text);
    }
}

/* Interfaces of an RDMA device; its port is after a colon. */
static void
write_rdma(FILE *stream, const struct ifaddrs *list, const char *device)
{
    char path[PATH_MAX];
    DIR *folder;

    snprintf(path, sizeof path, "/sys/class/infiniband/%.*s/device/net",
        (int) strcspn(device, ":"), device);
    folder = opendir(path);
    if (!folder)
        return;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            write_interface(stream, list, entry->d_name);
    closedir(folder);
}

char *
device_addresses(const char *device)
{
    struct ifaddrs *list = NULL;
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    if (!stream)
        return NULL;
    if (device && !strchr(device, '/') && *device != '.' &&
        getifaddrs(&list) == 0) {
        write_interface(stream, list, device);
        if (ftell(stream) == 0)
            write_rdma(stream, list, device);
        freeifaddrs(list);
    }
    fclose(stream);
    return text;
}
