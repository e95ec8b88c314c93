/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that are dropped. [lock] */
#ifndef OFI_REJECT_H
#define OFI_REJECT_H

#include "types.h"

/* Counts what is no message of this plugin's. */
void ofi_reject(struct ofi_endpoint *ep, const char *why);

/* Counts a message that there was no memory for. */
void ofi_reject_lost(struct ofi_endpoint *ep, uint64_t length);

#endif /* OFI_REJECT_H */
