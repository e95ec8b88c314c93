/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a provider cannot say that a put has arrived, a byte is got behind it:
 * of memory that each class has for that, as the put's own may not permit it. */
#ifndef OFI_FENCE_H
#define OFI_FENCE_H

#include "memory.h"

/* With class.delivery nothing is needed. A code, with a line. */
int32_t ofi_fence_init(struct ofi_endpoint *ep);
void ofi_fence_fini(struct ofi_endpoint *ep);

/* What peers may get of this class; length 0 without. */
struct ofi_segment ofi_fence_offer(const struct ofi_endpoint *ep);

/* Where a peer's byte goes, and its descriptor. */
void *ofi_fence_here(const struct ofi_endpoint *ep, void **desc_p);

#endif /* OFI_FENCE_H */
