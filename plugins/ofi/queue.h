/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the class's queue of completions. */
#ifndef OFI_QUEUE_H
#define OFI_QUEUE_H

#include "types.h"

/* Reads one batch of completions. How many. [lock] */
uint32_t ofi_queue_read(struct ofi_endpoint *ep);

/* The same, and posts receives again that libfabric did not take. [lock] */
uint32_t ofi_queue_step(struct ofi_endpoint *ep);

/* Reads all that is there, within bounds. [lock] */
void ofi_queue_drain(struct ofi_endpoint *ep);

#endif /* OFI_QUEUE_H */
