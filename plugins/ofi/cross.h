/* SPDX-License-Identifier: BSD-3-Clause */
/* The cross-endpoint queue: messages that arrived at one endpoint of a class and are
 * for a context of another. */
#ifndef OFI_CROSS_H
#define OFI_CROSS_H

#include "header.h"

struct ofi_cross_message {
    struct tp_link link;
    struct ofi_header header;
    na_plugin_addr *from; /* one reference */
    struct ofi_name name; /* of the sender's endpoint, length 0: the first */
    uint32_t length;
    unsigned char data[];
};

/* Appends a copy of a message to the queue of an endpoint. False: there is no room,
 * or no memory. [lock of the endpoint whose message.from is] */
bool ofi_cross_append(
    struct ofi_endpoint *ep, const struct ofi_message *message);

/* Removes the first that there is room for, or returns NULL; frees it. [lock] */
struct ofi_cross_message *ofi_cross_take(struct ofi_endpoint *ep);
void ofi_cross_free(struct ofi_endpoint *ep, struct ofi_cross_message *message);

/* Drops and counts all, for a context that is being destroyed. [lock] */
void ofi_cross_clear(struct ofi_endpoint *ep);

/* What is appended wakes a context from now on; false: there is something to
 * deliver already. A context that is polled is not armed any more. [lock] */
bool ofi_cross_arm(na_plugin_ctx *ctx);
void ofi_cross_disarm(na_plugin_ctx *ctx);

static inline bool
ofi_cross_is_empty(const struct ofi_endpoint *ep)
{
    /* relaxed: what is missed now is seen by the next poll, or wakes */
    return atomic_load_explicit(&ep->cross.count, memory_order_relaxed) == 0;
}

#endif /* OFI_CROSS_H */
