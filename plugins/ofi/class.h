/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing classes and their contexts. */
#ifndef OFI_CLASS_H
#define OFI_CLASS_H

#include "info.h"
#include "types.h"

/* A class for what was chosen, which it takes over. A code, with a line at level
 * ERROR. */
int32_t ofi_class_new(const na_plugin_host *host,
    const na_plugin_open_info *info, const struct ofi_choice *choice,
    na_plugin_class **cls_p);

/* Frees a class with its contexts and endpoints, also one that could not be
 * finished. */
void ofi_class_destroy(na_plugin_class *cls);

/* Context number id, with its endpoint if contexts have their own. A code, with a
 * line at level ERROR. */
int32_t ofi_class_create_context(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p);
void ofi_ctx_destroy(na_plugin_ctx *ctx);

#endif /* OFI_CLASS_H */
