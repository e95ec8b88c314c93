/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing the endpoints of a class. */
#ifndef OFI_ENDPOINT_H
#define OFI_ENDPOINT_H

#include "types.h"

/* Make an endpoint, which gets its context later. The first one of a class has
 * number 0 and consumes info, also if it fails; what was made is in cls->first
 * then, for ofi_class_destroy. A code, with a line at level ERROR. */
int32_t ofi_endpoint_new_first(na_plugin_class *cls, struct fi_info *info);
int32_t ofi_endpoint_new(
    na_plugin_class *cls, uint32_t index, struct ofi_endpoint **ep_p);

/* Frees one with its contexts, also one that could not be finished. With the first
 * one, the class's registrations go. */
void ofi_endpoint_destroy(struct ofi_endpoint *ep);

#endif /* OFI_ENDPOINT_H */
