/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of a peer's endpoints is used. Messages go to the endpoint of the
 * context that they are for, once a message from it, or from the peer's first
 * one, has given its name; before that to the first one. All under the lock. */
#ifndef OFI_ROUTE_H
#define OFI_ROUTE_H

#include "header.h"
#include "peer.h"

/* For messages of the core's from or to a context of a peer, which may be this
 * class. NULL: no memory. No reference. */
struct ofi_peer *ofi_route_find(
    struct ofi_endpoint *ep, na_plugin_addr *addr, uint32_t context);

static inline struct ofi_peer *
ofi_route_to(struct ofi_endpoint *ep, na_plugin_addr *addr, uint32_t context)
{
    if (__builtin_expect(
            ofi_is_first(ep) && ep->others.head == NULL && addr->first != NULL,
            1))
        return addr->first;
    return ofi_route_find(ep, addr, context);
}

/* The sender of a message: a class of this name; if end is not NULL, its
 * endpoint of that name, which is that of the context in the header. NULL: no
 * memory. */
struct ofi_peer *ofi_route_sender(struct ofi_endpoint *ep,
    const struct ofi_name *name, const struct ofi_header *header,
    const struct ofi_name *end);

/* A peer sends the name of one of its endpoints. */
void ofi_route_learn(
    struct ofi_endpoint *ep, const struct ofi_message *message);

/* At a peer's first endpoint there is another class than first->number: its other
 * ones are lost as well. */
void ofi_route_replaced(struct ofi_endpoint *ep, struct ofi_peer *first);

/* An endpoint is closed: what libfabric does not have yet is sent to the first
 * one, unless it is that. */
void ofi_route_detour(struct ofi_endpoint *ep, struct ofi_peer *peer);

/* The ABI's operation: ends all that is pending with a peer, at all endpoints.
 * Takes the locks itself. */
void ofi_addr_forget(na_plugin_class *cls, na_plugin_addr *addr);

#endif /* OFI_ROUTE_H */
