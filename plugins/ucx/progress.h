/* SPDX-License-Identifier: BSD-3-Clause */
/* Poll and cancel. */
#ifndef UCX_PROGRESS_H
#define UCX_PROGRESS_H

#include "class.h"

/* Works until UCX has sent all buffers, at most so long. [lock] */
void ucx_progress_flush(na_plugin_class *cls, uint64_t most_ns);

/* One round of work, without events: as much as UCX does in a call. [lock] */
void ucx_progress_once(na_plugin_class *cls);

/* The operations of the table. */
int32_t ucx_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);
int32_t ucx_cancel(na_plugin_ctx *ctx, void *op);

#endif /* UCX_PROGRESS_H */
