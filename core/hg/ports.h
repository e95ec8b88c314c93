/* SPDX-License-Identifier: BSD-3-Clause */
/* What a context receives through all of its ports. */
#ifndef HG_PORTS_H
#define HG_PORTS_H

#include "hg/context.h"

/* Posts again what could not be posted. The lock of progress is held. */
void hg_ports_retry(struct hg_context *context);

/* Receives nothing from now on: asks for the end of all receives, and of fetches of
 * arguments. Takes the lock of progress. */
void hg_ports_unpost(struct hg_context *context);

/* Receives that a transport has; a dead one has none. [any thread] */
uint32_t hg_ports_posted(struct hg_context *context);

#endif /* HG_PORTS_H */
