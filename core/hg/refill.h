/* SPDX-License-Identifier: BSD-3-Clause */
/* The number of receives that a port posts for requests. More are posted when
 * all are in use, as long as their handles use no more memory than hold.h
 * allows for payloads; beyond that requests wait in the transport until a
 * handle is free. After a burst the buffers of unused handles are freed. */
#ifndef HG_REFILL_H
#define HG_REFILL_H

#include "hg/handle.h"

/* Receives that remain posted even without load, so that the next burst of that
 * size allocates nothing. */
#define HG_REFILL_KEEP 4096U

/* Returns whether a port has enough receives posted, so that a free handle need
 * not be posted. */
static inline bool
hg_refill_enough(const struct hg_port *port)
{
    /* Each receive needs a handle with buffers. Most ports never have as many. */
    return __builtin_expect(atomic_load_explicit(&port->loaded,
                                memory_order_relaxed) > HG_REFILL_KEEP,
               0) &&
           atomic_load_explicit(&port->posted, memory_order_relaxed) -
                   atomic_load_explicit(&port->taken, memory_order_relaxed) >=
               HG_REFILL_KEEP;
}

/* Frees the buffers of an unused handle of a target, and keeps the handle for
 * later. [any thread] */
void hg_refill_spare(struct hg_handle *handle);

/* Posts `count` more receives. On an error, NOMEM or one of the plugin, the
 * missing ones are requested again. Must not be called in progress, since
 * creating handles runs the program's callback. */
hg_return_t hg_refill_post(
    struct hg_port *port, struct hg_context *context, uint32_t count);

/* Requests more receives for a port, because all are in use. */
void hg_refill_request(struct hg_context *context, struct hg_port *port);
/* Posts the requested receives of all ports. Must not be called in progress. */
void hg_refill_run(struct hg_context *context);

/* Logs that a receive could not be posted. */
void hg_refill_log(hg_return_t ret);

#endif /* HG_REFILL_H */
