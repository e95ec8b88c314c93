/* SPDX-License-Identifier: BSD-3-Clause */
/* The host part of an info string: which of a machine's addresses and devices
 * it means. */
#ifndef OFI_SOURCE_H
#define OFI_SOURCE_H

#include <rdma/fabric.h>

#include "common/host.h"
#include "provider.h"
#include "types.h"

#define OFI_SOURCE_ADDRESSES 32U

struct ofi_source {
    const char *device; /* name of a domain, or of an interface; NULL: any */
    const char *host;   /* as the user wrote it, NULL: any */
    struct sockaddr_storage addresses[OFI_SOURCE_ADDRESSES]; /* any of these */
    uint32_t count;
    bool is_device; /* host is an interface or domain, not an address */
    int family;     /* preferred, or AF_UNSPEC */
    struct tp_subnet subnet; /* preferred, family 0: none */
};

/* Reads host, device, ip_subnet, addr_format. Resolves names, which may block.
 * INVALID_ARG, ADDRNOTAVAIL, with a line at level ERROR. */
int32_t ofi_source_read(const na_plugin_host *log,
    const struct ofi_trait *trait, const na_plugin_open_info *wanted,
    const struct fi_info *infos, struct ofi_source *source);

/* How well an info fits: 0 not at all. */
uint32_t ofi_source_fits(const struct ofi_trait *trait,
    const struct ofi_source *source, const struct fi_info *info);

#endif /* OFI_SOURCE_H */
