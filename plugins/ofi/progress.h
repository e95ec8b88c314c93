/* SPDX-License-Identifier: BSD-3-Clause */
/* poll and cancel: from libfabric's completions to events. */
#ifndef OFI_PROGRESS_H
#define OFI_PROGRESS_H

#include "types.h"

int32_t ofi_progress_poll(
    na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);
int32_t ofi_progress_cancel(na_plugin_ctx *ctx, void *op);

/* Reads completions, and does what else is due. [lock] */
void ofi_progress_advance(struct ofi_endpoint *ep);

/* For how many ns nothing is due; 0: it is now. [lock] */
uint64_t ofi_progress_sleep(struct ofi_endpoint *ep);

#endif /* OFI_PROGRESS_H */
