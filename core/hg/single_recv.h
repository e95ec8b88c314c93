/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving each request in the buffer of its handle, which is posted again
 * when its last reference was dropped. */
#ifndef HG_SINGLE_RECV_H
#define HG_SINGLE_RECV_H

#include "hg/refill.h"

extern const struct hg_receiver hg_single_receiver;

/* The function `released` of a side: the handle receives again. [any thread] */
void hg_single_released(struct hg_handle *handle);

/* A receive has completed with a message; requests more if it was the last one
 * posted. In progress. */
static inline void
hg_single_taken(struct hg_context *context, struct hg_port *port)
{
    uint32_t taken =
        atomic_load_explicit(&port->taken, memory_order_relaxed) + 1;

    atomic_store_explicit(&port->taken, taken, memory_order_relaxed);
    if (__builtin_expect(
            taken == atomic_load_explicit(&port->posted, memory_order_relaxed),
            0))
        hg_refill_request(context, port);
}

#endif /* HG_SINGLE_RECV_H */
