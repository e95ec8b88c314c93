/* SPDX-License-Identifier: BSD-3-Clause */
/* What class.upcalls leads to. */
#ifndef OFI_UPCALLS_H
#define OFI_UPCALLS_H

#include "liveness.h"

extern const struct ofi_upcalls ofi_upcalls;

#endif /* OFI_UPCALLS_H */
