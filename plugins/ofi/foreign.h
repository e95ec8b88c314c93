/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that are none of Talaria's: other libraries use libfabric too, above all
 * Mercury, and other programs have ports. They cannot be answered in their
 * language; the log says what they are. */
#ifndef OFI_FOREIGN_H
#define OFI_FOREIGN_H

#include "types.h"

/* Drops a message whose header is not one of this plugin's. [lock] */
void ofi_foreign_reject(
    struct ofi_endpoint *ep, const unsigned char *data, uint64_t length);

/* A peer does not answer. Says once for each what it may be, if it never has
 * answered; seconds: for how long. [lock] */
void ofi_foreign_suspect(
    struct ofi_endpoint *ep, na_plugin_addr *peer, uint64_t seconds);

#endif /* OFI_FOREIGN_H */
