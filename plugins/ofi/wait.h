/* SPDX-License-Identifier: BSD-3-Clause */
/* na.wait/1. */
#ifndef OFI_WAIT_H
#define OFI_WAIT_H

#include "types.h"

extern const na_plugin_wait ofi_wait;

#endif /* OFI_WAIT_H */
