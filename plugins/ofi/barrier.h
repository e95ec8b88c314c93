/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether all peers have received everything submitted for them: they have
 * answered a ping behind it, or are dead. [lock] */
#ifndef OFI_BARRIER_H
#define OFI_BARRIER_H

#include "types.h"

/* Asks anew, at the next call of ofi_barrier_passed; with all set, also those
 * that are known to be of this process. */
void ofi_barrier_begin(struct ofi_endpoint *ep, bool all);

/* Without rma, only messages matter: libfabric has introduced an endpoint to a
 * peer as soon as it has taken one. */
bool ofi_barrier_passed(struct ofi_endpoint *ep, bool rma);

/* Lets out what was injected, before the last context is closed; for at most a
 * second. */
void ofi_barrier_flush(struct ofi_endpoint *ep);

#endif /* OFI_BARRIER_H */
