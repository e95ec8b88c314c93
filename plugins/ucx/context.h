/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of contexts: operations of the table. */
#ifndef UCX_CONTEXT_H
#define UCX_CONTEXT_H

#include "class.h"

int32_t ucx_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p);
void ucx_ctx_destroy(na_plugin_ctx *ctx);

#endif /* UCX_CONTEXT_H */
