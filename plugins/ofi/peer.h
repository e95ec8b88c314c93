/* SPDX-License-Identifier: BSD-3-Clause */
/* The peers of an endpoint, and their entries in libfabric's address vector.
 * All under the endpoint's lock. */
#ifndef OFI_PEER_H
#define OFI_PEER_H

#include "address.h"
#include "ofi.h"

#define OFI_PEER_POLLS 64U /* between two looks at the clock */
#define OFI_PEER_LOOK_NS                                                       \
    (20 * TP_MS) /* between two looks, while sends are stuck */

/* That of a name and context, made if need be; NULL: no memory. No reference. */
struct ofi_peer *ofi_peer_get(
    struct ofi_endpoint *ep, const struct ofi_name *name, uint8_t context);

/* The same if there is one; otherwise NULL. */
struct ofi_peer *ofi_peer_find(const struct ofi_endpoint *ep,
    const struct ofi_name *name, uint8_t context);

/* Whether an endpoint of this name is known. */
bool ofi_peer_is_known(
    const struct ofi_endpoint *ep, const struct ofi_name *name);

/* The name of its endpoint, when libfabric does not have it. */
void ofi_peer_set_name(struct ofi_peer *peer, const struct ofi_name *name);

/* Its name as text, for the log. */
void ofi_peer_print(const struct ofi_peer *peer, const struct ofi_trait *trait,
    char text[OFI_TEXT_MAX]);

/* Frees some of the oldest, if there are many and they are not needed: at most four
 * for each that was made. Pointers without a reference are valid until then. */
void ofi_peer_evict(struct ofi_endpoint *ep);

/* Frees all, when the endpoint is closed. */
void ofi_peer_fini(struct ofi_endpoint *ep);

/* Tells libfabric of it, once. A code. */
int32_t ofi_peer_insert(struct ofi_endpoint *ep, struct ofi_peer *peer);
static inline int32_t
ofi_peer_reach(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    if (__builtin_expect(peer->fi_addr != FI_ADDR_NOTAVAIL && !peer->closed, 1))
        return NA_PLUGIN_OK;
    return ofi_peer_insert(ep, peer);
}

/* Something is pending: liveness.c will look at it; nothing is any more. */
void ofi_peer_activate(struct ofi_endpoint *ep, struct ofi_peer *peer);
void ofi_peer_deactivate(struct ofi_endpoint *ep, struct ofi_peer *peer);

/* libfabric takes nothing for it at the moment; takes something again; nothing is
 * to be taken. */
void ofi_peer_stuck(struct ofi_endpoint *ep, struct ofi_peer *peer);
void ofi_peer_moved(struct ofi_endpoint *ep, struct ofi_peer *peer);
void ofi_peer_unstick(struct ofi_endpoint *ep, struct ofi_peer *peer);

/* libfabric forgets it, when nothing is pending. */
void ofi_peer_unknow(struct ofi_endpoint *ep, struct ofi_peer *peer);

#endif /* OFI_PEER_H */
