/* SPDX-License-Identifier: BSD-3-Clause */
/* Waking contexts. */
#ifndef OFI_WAKE_H
#define OFI_WAKE_H

#include "types.h"

/* The descriptors of a context. NOMEM. */
int32_t ofi_wake_init(na_plugin_ctx *ctx);
void ofi_wake_fini(na_plugin_ctx *ctx);

/* There is something for a context that sleeps. [lock] */
void ofi_wake_rouse(na_plugin_ctx *ctx);

/* At the begin of a poll. [lock] */
void ofi_wake_disarm(na_plugin_ctx *ctx);

#endif /* OFI_WAKE_H */
