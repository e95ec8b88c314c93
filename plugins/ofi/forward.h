/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages passed on between the endpoints of a class. [lock] */
#ifndef OFI_FORWARD_H
#define OFI_FORWARD_H

#include "message.h"

/* A message for another endpoint has arrived at the first one: passes it on, and
 * tells its sender of that. True: its rx is still in use. */
bool ofi_forward(struct ofi_endpoint *first, const struct ofi_message *message);

/* Tries again what could not be passed on. */
void ofi_forward_retry(struct ofi_endpoint *first);

/* A message to oneself, for a context of another endpoint. False: there is no room
 * for it. */
bool ofi_forward_own(
    struct ofi_endpoint *ep, const struct ofi_message *message);

#endif /* OFI_FORWARD_H */
