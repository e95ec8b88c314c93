/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives of all ports of a context. */
#ifndef HG_PORTS_H
#define HG_PORTS_H

#include "hg/context.h"

/* Posts again what could not be posted. The progress lock is held. */
void hg_ports_retry(struct hg_context *context);

/* Stops receiving: cancels all receives, and fetches of input. Takes the
 * progress lock. */
void hg_ports_unpost(struct hg_context *context);

/* Returns the number of receives that transports have. A dead port has none.
 * [any thread] */
uint32_t hg_ports_posted(struct hg_context *context);

#endif /* HG_PORTS_H */
