/* SPDX-License-Identifier: BSD-3-Clause */
/* poll, cancel and na.wait/1: from libfabric's completions to events. */
#ifndef OFI_PROGRESS_H
#define OFI_PROGRESS_H

#include "types.h"

int32_t ofi_progress_poll(
    na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);
int32_t ofi_progress_cancel(na_plugin_ctx *ctx, void *op);

extern const na_plugin_wait ofi_wait;

#endif /* OFI_PROGRESS_H */
