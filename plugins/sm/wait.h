/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping in the kernel: na.wait/1. */
#ifndef SM_WAIT_H
#define SM_WAIT_H

#include "context.h"

/* The extension. */
extern const na_plugin_wait sm_wait;

/* The descriptors of a context, none under NO_BLOCK. NOMEM. */
int32_t sm_wait_init(na_plugin_ctx *ctx);

/* Closes them. [progress] */
void sm_wait_fini(na_plugin_ctx *ctx);

/* Undoes what arm did, as a poll begins. */
void sm_wait_disarm(na_plugin_ctx *ctx);

#endif /* SM_WAIT_H */
