/* SPDX-License-Identifier: BSD-3-Clause */
/* Poll: messages out of the rings, events out of the ready list. */
#ifndef SM_PROGRESS_H
#define SM_PROGRESS_H

#include "context.h"

/* Function of the ABI; for a class that has one thread at once; and for one with
 * more that demotes lines, those of the context's last sends in each poll. */
int32_t sm_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);
int32_t sm_poll_single(
    na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);
int32_t sm_poll_demoting(
    na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);

#endif /* SM_PROGRESS_H */
