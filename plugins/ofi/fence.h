/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a provider cannot say that a put has arrived, a byte is got behind it:
 * of memory that each class has for that, as the put's own may not permit it. */
#ifndef OFI_FENCE_H
#define OFI_FENCE_H

#include "ofi.h"

/* With class.delivery nothing is needed. A code, with a line. */
int32_t ofi_fence_init(na_plugin_class *cls);
void ofi_fence_fini(na_plugin_class *cls);

/* What peers may get of this class; length 0 without. */
struct ofi_segment ofi_fence_offer(const na_plugin_class *cls);

/* Where a peer's byte goes, and its descriptor. */
void *ofi_fence_here(const na_plugin_class *cls, void **desc_p);

#endif /* OFI_FENCE_H */
