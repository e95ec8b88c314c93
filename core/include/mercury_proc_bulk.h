/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk descriptors in the input and output of RPCs. */
#ifndef MERCURY_PROC_BULK_H
#define MERCURY_PROC_BULK_H

#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Encodes, decodes or frees a bulk descriptor.
 *
 * proc: the argument of the proc callback.
 * data: an hg_bulk_t *; HG_BULK_NULL arrives as HG_BULK_NULL. The caller owns a
 *       decoded descriptor until the HG_FREE pass, which frees it and sets it
 *       to HG_BULK_NULL. Set on success only.
 *
 * Returns HG_SUCCESS; HG_OVERFLOW: the message ends before the descriptor
 * does; HG_PROTOCOL_ERROR: malformed descriptor; HG_NOMEM. One thread at
 * a time may use a proc. Doesn't block. */
HG_PUBLIC hg_return_t hg_proc_hg_bulk_t(hg_proc_t proc, void *data);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_PROC_BULK_H */
