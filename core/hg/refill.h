/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many receives a port has for requests. There are more when all are taken,
 * as long as their handles take no more memory than hold.h grants to all payloads
 * together; beyond that requests wait in the transport until a handle is free
 * again. After a flood the buffers of handles that nobody needs are freed.
 */
#ifndef HG_REFILL_H
#define HG_REFILL_H

#include "hg/handle.h"

/* Receives that stay posted however few requests there are: a service that had
 * that many at once allocates nothing for the next ones. */
#define HG_REFILL_KEEP 4096U

/* Whether a port has enough receives posted, so that a handle that is free again
 * need not be. */
static inline bool
hg_refill_enough(const struct hg_port *port)
{
    return atomic_load_explicit(&port->posted, memory_order_relaxed) -
               atomic_load_explicit(&port->taken, memory_order_relaxed) >=
           HG_REFILL_KEEP;
}

/* Frees the buffers of a target's handle that nobody uses, and keeps it for
 * the next refill. [any thread] */
void hg_refill_spare(struct hg_handle *handle);

/* Posts count more receives. NOMEM and what the plugin says; what is missing then
 * is asked for again. Not in progress, since making handles runs the program's
 * callback. */
hg_return_t hg_refill_post(
    struct hg_port *port, struct hg_context *context, uint32_t count);

/* Notes that all receives of a port are taken; posts more for the ports of which
 * that was noted, not in progress. */
void hg_refill_request(struct hg_context *context, struct hg_port *port);
void hg_refill_run(struct hg_context *context);

/* A receive could not be posted. */
void hg_refill_log(hg_return_t ret);

#endif /* HG_REFILL_H */
