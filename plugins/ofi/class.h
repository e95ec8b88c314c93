/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing classes, and lanes of them (see lane.h). */
#ifndef OFI_CLASS_H
#define OFI_CLASS_H

#include "info.h"
#include "ofi.h"

/* A class for what was chosen, which it takes over. A code, with a line at level
 * ERROR. */
int32_t ofi_class_new(const na_plugin_host *host,
    const na_plugin_open_info *info, const struct ofi_choice *choice,
    na_plugin_class **cls_p);

/* The lane of a context, likewise. */
int32_t ofi_class_lane(
    na_plugin_class *main, uint32_t id, na_plugin_class **lane_p);

/* Frees a class with its contexts, also one that could not be finished. */
void ofi_class_destroy(na_plugin_class *cls);

#endif /* OFI_CLASS_H */
