/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts. */
#ifndef OFI_CONTEXT_H
#define OFI_CONTEXT_H

#include "types.h"

/* A context of an endpoint. A code, with a line. */
int32_t ofi_ctx_create(struct ofi_endpoint *ep, uint32_t id, void *core_ctx,
    na_plugin_ctx **ctx_p);
void ofi_ctx_destroy(na_plugin_ctx *ctx);

#endif /* OFI_CONTEXT_H */
