/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of contexts. */
#ifndef SM_CONTEXT_H
#define SM_CONTEXT_H

#include "sm.h"

/* Functions of the ABI. */
int32_t sm_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p);
void sm_ctx_destroy(na_plugin_ctx *ctx);

#endif /* SM_CONTEXT_H */
