/* SPDX-License-Identifier: BSD-3-Clause */
/* The descriptor that shows completions of the class. */
#ifndef OFI_WAITSET_H
#define OFI_WAITSET_H

#include "types.h"

/* Opens the class's completion queue with the first kind of wait object that can
 * be slept on; without one, if there is none or none is wanted. What libfabric
 * returns. */
int ofi_waitset_open(struct ofi_endpoint *ep, bool wanted);

/* Whether there is nothing to read, so that the descriptor tells of whatever
 * comes. [lock] */
bool ofi_waitset_try(struct ofi_endpoint *ep);

/* When the queue is closed. */
void ofi_waitset_close(struct ofi_endpoint *ep);

#endif /* OFI_WAITSET_H */
