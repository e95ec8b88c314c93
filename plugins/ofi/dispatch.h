/* SPDX-License-Identifier: BSD-3-Clause */
/* From buffers to contexts. All under the class's lock. */
#ifndef OFI_DISPATCH_H
#define OFI_DISPATCH_H

#include "work.h"

/* A buffer has been filled, or its receive has failed; one for many messages. */
void ofi_dispatch_one(struct ofi_endpoint *ep, struct ofi_work *work,
    const struct fi_cq_data_entry *entry, int error);
void ofi_dispatch_many(struct ofi_endpoint *ep, struct ofi_work *work,
    const struct fi_cq_data_entry *entry, int error);

/* Delivers one of the messages in rx. */
void ofi_dispatch(struct ofi_endpoint *ep, struct ofi_rx *rx,
    const unsigned char *data, uint64_t length);

/* Delivers to the class's context what others have left for it, as far as there is
 * room. */
void ofi_dispatch_inbox(struct ofi_endpoint *ep);

#endif /* OFI_DISPATCH_H */
