/* SPDX-License-Identifier: BSD-3-Clause */
/* From buffers to contexts. All under the class's lock. */
#ifndef OFI_DISPATCH_H
#define OFI_DISPATCH_H

#include "header.h"
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
void ofi_dispatch_cross(struct ofi_endpoint *ep);

/* A message for another endpoint has arrived at the first one: passes it on, and
 * tells its sender of that. True: its rx is still in use. */
bool ofi_forward(struct ofi_endpoint *first, const struct ofi_message *message);

/* Tries again what could not be passed on. */
void ofi_forward_retry(struct ofi_endpoint *first);

/* A message to oneself, for a context of another endpoint. False: there is no room
 * for it. */
bool ofi_forward_own(
    struct ofi_endpoint *ep, const struct ofi_message *message);

#endif /* OFI_DISPATCH_H */
