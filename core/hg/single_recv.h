/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving each request in the buffer of its handle, which is posted again
 * when its last reference was dropped. */
#ifndef HG_SINGLE_RECV_H
#define HG_SINGLE_RECV_H

#include "hg/refill.h"

extern const struct hg_receiver hg_single_receiver;

/* The function `released` of a side: the handle receives again. [any thread] */
void hg_single_released(struct hg_handle *handle);

/* A receive has completed with a message. Returns whether it was the last one
 * posted: then the caller requests more. In progress. */
static inline bool
hg_single_taken(struct hg_port *port)
{
    uint32_t taken =
        atomic_load_explicit(&port->taken, memory_order_relaxed) + 1;

    atomic_store_explicit(&port->taken, taken, memory_order_relaxed);
    return __builtin_expect(
        taken == atomic_load_explicit(&port->posted, memory_order_relaxed), 0);
}

#endif /* HG_SINGLE_RECV_H */
