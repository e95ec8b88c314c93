/* SPDX-License-Identifier: BSD-3-Clause */
/* Poll: messages out of the rings, events out of the ready list. */
#ifndef SM_PROGRESS_H
#define SM_PROGRESS_H

#include "context.h"

/* Function of the ABI; and for a class that has one thread at once. */
int32_t sm_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);
int32_t sm_poll_single(
    na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);

#endif /* SM_PROGRESS_H */
