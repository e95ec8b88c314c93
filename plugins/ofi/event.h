/* SPDX-License-Identifier: BSD-3-Clause */
/* The events of a context. All under the class's lock. */
#ifndef OFI_EVENT_H
#define OFI_EVENT_H

#include "types.h"

/* Room for the first ones. False: no memory. */
bool ofi_events_init(na_plugin_ctx *ctx);

/* Makes sure that there will be room for one more final event. NOMEM. Each
 * operation that becomes pending promises one; ofi_event_end keeps it. */
int32_t ofi_event_promise(na_plugin_ctx *ctx);

/* Ends a pending operation with an error or without a message. It is not in
 * any list any more. */
void ofi_event_end(na_plugin_ctx *ctx, struct ofi_op *op, int32_t status);

/* The same with a whole event, whose op is filled in. */
void ofi_event_emit(na_plugin_ctx *ctx, const na_plugin_event *event);

/* An event after which the operation goes on. False: there is no room. */
bool ofi_event_emit_more(na_plugin_ctx *ctx, const na_plugin_event *event);

/* Moves events out. How many. */
uint32_t ofi_event_take(
    na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);

#endif /* OFI_EVENT_H */
