/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of a peer's endpoints is used. Messages go to the endpoint of the context
 * that they are for, once a message from there, or from the peer's first one,
 * has said which it is; before that to the first one. All under the lock. */
#ifndef OFI_ROUTE_H
#define OFI_ROUTE_H

#include "address.h"
#include "message.h"

/* For messages of the core's from or to context `at` of a peer, which may be
 * this class. NULL: no memory. ofi_route_end gives it back. */
na_plugin_addr *ofi_route_find(
    struct ofi_endpoint *ep, na_plugin_addr *peer, uint32_t at);

static inline na_plugin_addr *
ofi_route_begin(struct ofi_endpoint *ep, na_plugin_addr *peer, uint32_t at)
{
    if (__builtin_expect(ofi_is_first(ep) && ep->ends.head == NULL, 1))
        return peer;
    return ofi_route_find(ep, peer, at);
}

static inline void
ofi_route_end(struct ofi_endpoint *ep, na_plugin_addr *route)
{
    if (__builtin_expect(route->of != route, 0))
        ofi_addr_drop(ep, route);
}

/* Whom a message comes from: a class of this name; if end is not NULL, from its
 * endpoint of that name, which is that of the context that the header says. One
 * reference; NULL: no memory. */
na_plugin_addr *ofi_route_sender(struct ofi_endpoint *ep,
    const struct ofi_name *name, const struct ofi_header *header,
    const struct ofi_name *end);

/* A peer says the name of one of its endpoints. */
void ofi_route_learn(
    struct ofi_endpoint *ep, const struct ofi_message *message);

/* At a peer's first endpoint there is another class than first->number: its other
 * ones are lost as well. */
void ofi_route_replaced(struct ofi_endpoint *ep, na_plugin_addr *first);

/* Nobody is at an endpoint: what has not been handed over goes to the first
 * one, unless it is that. */
void ofi_route_detour(struct ofi_endpoint *ep, na_plugin_addr *peer);

/* Ends all that is pending with a peer, at all its endpoints. Takes the lock
 * itself. */
void ofi_route_forget(struct ofi_endpoint *ep, void *peer);

#endif /* OFI_ROUTE_H */
