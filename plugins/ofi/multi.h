/* SPDX-License-Identifier: BSD-3-Clause */
/* FI_MULTI_RECV: a buffer takes messages one behind the other, and is posted
 * again once libfabric has released it and nothing is left in it. */
#ifndef OFI_MULTI_H
#define OFI_MULTI_H

#include "common/match.h"
#include "types.h"

/* Whether the class receives so. Its endpoint is enabled: some providers crash before. */
void ofi_multi_choose(struct ofi_endpoint *ep);

/* How many buffers, and bytes of each. */
uint32_t ofi_multi_size(const struct ofi_endpoint *ep, size_t *bytes_p);

void ofi_multi_fini(struct ofi_endpoint *ep);

/* The rest under the lock. */

/* What libfabric says of it: 0 or negative. */
ssize_t ofi_multi_post(struct ofi_endpoint *ep, struct ofi_rx *rx);

/* Before so many completions are read: messages may be left where they are.
 * False: no memory for that. */
bool ofi_multi_prepare(struct ofi_endpoint *ep, uint32_t completions);

struct tp_kept *ofi_multi_keep(struct ofi_endpoint *ep, struct ofi_rx *rx);
/* True: its rx may be posted again. */
bool ofi_multi_forget(struct ofi_endpoint *ep, struct tp_kept *kept);

#endif /* OFI_MULTI_H */
