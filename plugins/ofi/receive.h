/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffers that all messages arrive in: for one message each, or, with
 * FI_MULTI_RECV, for messages one behind the other; such a one is posted again
 * once libfabric has released it and nothing is left in it. */
#ifndef OFI_RECEIVE_H
#define OFI_RECEIVE_H

#include "work.h"

/* Allocates and posts them; what takes their completions, for one message a buffer
 * or many. The endpoint is enabled: some providers crash before. A code, with a
 * line at level ERROR. */
int32_t ofi_rx_init(
    struct ofi_endpoint *ep, ofi_work_done *one, ofi_work_done *many);

/* When the endpoint is closed. */
void ofi_rx_fini(struct ofi_endpoint *ep);

/* Bytes of a buffer for many messages. */
size_t ofi_rx_multi_bytes(const struct ofi_endpoint *ep);

/* The rest under the lock. */

/* Gives one (back) to libfabric. */
void ofi_rx_post(struct ofi_endpoint *ep, struct ofi_rx *rx);

/* The same for those that libfabric did not take. */
void ofi_rx_retry(struct ofi_endpoint *ep);

/* Before so many completions are read: messages may be left where they are.
 * False: no memory for that. */
bool ofi_rx_prepare(struct ofi_endpoint *ep, uint32_t completions);

/* For the message that is being delivered: it is left in its buffer, until it
 * is forgotten. */
struct tp_kept *ofi_rx_keep(struct ofi_endpoint *ep, struct ofi_rx *rx);
void ofi_rx_forget(struct ofi_endpoint *ep, struct tp_kept *kept);

#endif /* OFI_RECEIVE_H */
