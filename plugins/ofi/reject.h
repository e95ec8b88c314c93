/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that are dropped. [lock] */
#ifndef OFI_REJECT_H
#define OFI_REJECT_H

#include "types.h"

/* Counts what is no message of this plugin's. */
void ofi_reject(struct ofi_endpoint *ep, const char *why);

/* Counts a message that there was no memory for. */
void ofi_reject_lost(struct ofi_endpoint *ep, uint64_t length);

/* Drops a message whose header is not one of this plugin's. [lock] */
void ofi_foreign_reject(
    struct ofi_endpoint *ep, const unsigned char *data, uint64_t length);

/* A peer does not answer. Says once for each what it may be, if it never has
 * answered; seconds: for how long. [lock] */
void ofi_foreign_suspect(
    struct ofi_endpoint *ep, struct ofi_peer *peer, uint64_t seconds);

#endif /* OFI_REJECT_H */
