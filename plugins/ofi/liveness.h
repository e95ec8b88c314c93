/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether peers are alive. All under the endpoint's lock. */
#ifndef OFI_LIVENESS_H
#define OFI_LIVENESS_H

#include "header.h"
#include "peer.h"

/* What liveness, and other layers below messages and transfers, call in these
 * when it finds something out. */
struct ofi_upcalls {
    /* Ends all that is pending to or from a peer. */
    void (*end)(struct ofi_endpoint *ep, struct ofi_peer *peer, int32_t status);
    /* Offers libfabric again what it would not take for a peer. */
    void (*retry)(struct ofi_endpoint *ep, struct ofi_peer *peer);
    /* Drops expected messages of a peer's that have no receive. */
    void (*forget)(struct ofi_endpoint *ep, const struct ofi_peer *peer);
    /* A peer's endpoint is closed: see ofi_route_detour. */
    void (*detour)(struct ofi_endpoint *ep, struct ofi_peer *peer);
    /* Another class is there: see ofi_route_replaced. */
    void (*replaced)(struct ofi_endpoint *ep, struct ofi_peer *peer);
    void (*ping)(struct ofi_endpoint *ep, struct ofi_peer *peer);
    /* Messages for another endpoint of the class: see forward.h. */
    bool (*forward)(struct ofi_endpoint *ep, const struct ofi_message *message);
    bool (*pass)(struct ofi_endpoint *ep, const struct ofi_message *message);
};

/* Whether a peer is there still, where it can be seen at once: within a node.
 * All that is pending with one that is not ends. A code. */
int32_t ofi_liveness_look_present(
    struct ofi_endpoint *ep, struct ofi_peer *peer);
static inline int32_t
ofi_liveness_present(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    return __builtin_expect(ep->cls->conduct.probe != OFI_PROBE_LOCAL, 1)
               ? NA_PLUGIN_OK
               : ofi_liveness_look_present(ep, peer);
}

/* A message of its class number `number` has arrived. False: that class has been
 * replaced; the message is to be dropped. */
bool ofi_liveness_heard(
    struct ofi_endpoint *ep, struct ofi_peer *peer, uint64_t number);

/* Begins to find out whether it is there, unless that is under way. */
void ofi_liveness_probe(
    struct ofi_endpoint *ep, struct ofi_peer *peer, uint64_t now);

/* Ends all that is pending to or from it. */
void ofi_liveness_lose(struct ofi_endpoint *ep, struct ofi_peer *peer,
    int32_t status, const char *why);

/* A message or a fragment to it failed with this error of libfabric's. */
void ofi_liveness_failed(
    struct ofi_endpoint *ep, struct ofi_peer *peer, int error);

/* Retries what is stuck. */
void ofi_liveness_retry(struct ofi_endpoint *ep);

/* The same, at every poll; and, when it is time, looks for silent peers. */
void ofi_liveness_look(struct ofi_endpoint *ep);
static inline void
ofi_liveness_work(struct ofi_endpoint *ep)
{
    if (ep->stuck == 0 &&
        (ep->active.head == NULL || ++ep->polls < OFI_PEER_POLLS))
        return;
    ofi_liveness_look(ep);
}

/* When ofi_liveness_work has to be called again, in ns from now; UINT64_MAX: never. */
uint64_t ofi_liveness_sleep(struct ofi_endpoint *ep);

#endif /* OFI_LIVENESS_H */
