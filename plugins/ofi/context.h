/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts, and the events that wait in them for a poll. */
#ifndef OFI_CONTEXT_H
#define OFI_CONTEXT_H

#include "ofi.h"

int32_t ofi_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p);
void ofi_ctx_destroy(na_plugin_ctx *ctx);

/* Makes sure that there will be room for one more final event. NOMEM. Each
 * operation that becomes pending promises one; ofi_ctx_end keeps it. */
int32_t ofi_ctx_promise(na_plugin_ctx *ctx);

/* Ends a pending operation with an error or without a message. It is not in
 * any list any more. */
void ofi_ctx_end(na_plugin_ctx *ctx, struct ofi_op *op, int32_t status);

/* The same with a whole event, whose op is filled in. */
void ofi_ctx_emit(na_plugin_ctx *ctx, const na_plugin_event *event);

/* An event after which the operation goes on. False: there is no room. */
bool ofi_ctx_emit_more(na_plugin_ctx *ctx, const na_plugin_event *event);

/* Moves events out. How many. */
uint32_t ofi_ctx_take(
    na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);

#endif /* OFI_CONTEXT_H */
