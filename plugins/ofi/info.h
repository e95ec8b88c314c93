/* SPDX-License-Identifier: BSD-3-Clause */
/* What libfabric has here, and which of it a class gets. */
#ifndef OFI_INFO_H
#define OFI_INFO_H

#include "provider.h"
#include "types.h"

struct ofi_choice {
    const struct ofi_trait *trait;
    struct ofi_trait other; /* trait, of a provider that the table lacks */
    struct fi_info *info;   /* owned by the caller; fi_freeinfo() */
    char why[OFI_WHY];      /* it is this device */
};

/* Chooses for a class. PROTONOSUPPORT, NODEV, ADDRNOTAVAIL, INVALID_ARG, NOMEM,
 * each with a line at level ERROR that lists what is available. */
int32_t ofi_info_choose(const na_plugin_host *host,
    const na_plugin_open_info *wanted, struct ofi_choice *choice);

/* Whether a put's completion can mean that the data has arrived. */
bool ofi_info_has_delivery(const struct ofi_trait *trait);

/* The plugin's info. */
int32_t ofi_info_list(const na_plugin_host *host, const char *protocol,
    void *arg, void (*found)(void *arg, const na_plugin_device *device));

#endif /* OFI_INFO_H */
