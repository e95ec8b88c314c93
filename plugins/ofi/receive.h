/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffers that all messages come into. */
#ifndef OFI_RECEIVE_H
#define OFI_RECEIVE_H

#include "common/match.h"
#include "work.h"

/* Allocates and posts them; what takes their completions, for one message a buffer
 * or many. A code, with a line at level ERROR. */
int32_t ofi_rx_init(
    struct ofi_endpoint *ep, ofi_work_done *one, ofi_work_done *many);

/* When the endpoint is closed. */
void ofi_rx_fini(struct ofi_endpoint *ep);

/* Gives one (back) to libfabric. [lock] */
void ofi_rx_post(struct ofi_endpoint *ep, struct ofi_rx *rx);

/* For the message that is being delivered: it is left in its buffer, until it
 * is forgotten. [lock] */
struct tp_kept *ofi_rx_keep(struct ofi_endpoint *ep, struct ofi_rx *rx);
void ofi_rx_forget(struct ofi_endpoint *ep, struct tp_kept *kept);

/* The same for those that libfabric did not take. [lock] */
void ofi_rx_retry(struct ofi_endpoint *ep);

#endif /* OFI_RECEIVE_H */
