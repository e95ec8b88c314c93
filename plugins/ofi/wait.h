/* SPDX-License-Identifier: BSD-3-Clause */
/* na.wait/1. */
#ifndef OFI_WAIT_H
#define OFI_WAIT_H

#include "ofi.h"

extern const na_plugin_wait ofi_wait;

/* The descriptors of a context. NOMEM. */
int32_t ofi_wait_init(na_plugin_ctx *ctx);
void ofi_wait_fini(na_plugin_ctx *ctx);

/* There is something for a context that sleeps. [lock] */
void ofi_wait_rouse(na_plugin_ctx *ctx);

/* At the begin of a poll. [lock] */
void ofi_wait_disarm(na_plugin_ctx *ctx);

#endif /* OFI_WAIT_H */
