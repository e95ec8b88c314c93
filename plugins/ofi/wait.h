/* SPDX-License-Identifier: BSD-3-Clause */
/* na.wait/1. */
#ifndef OFI_WAIT_H
#define OFI_WAIT_H

#include "types.h"

/* At the begin of a poll. [lock] */
void ofi_wait_disarm(na_plugin_ctx *ctx);

extern const na_plugin_wait ofi_wait;

#endif /* OFI_WAIT_H */
