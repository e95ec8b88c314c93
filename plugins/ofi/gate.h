/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether libfabric may be called on memory that processes share. A quirk may
 * hold back calls that would wait for another process, and those that would find
 * nothing. */
#ifndef OFI_GATE_H
#define OFI_GATE_H

#include "ofi.h"

/* All [lock]. At most one of an endpoint, in the quirk's data. */
struct ofi_gate {
    /* Before libfabric is called on what this endpoint shares with others (NULL),
     * or on what a peer's does. False: not now. */
    bool (*enter)(
        struct ofi_gate *gate, struct ofi_endpoint *ep, struct ofi_peer *peer);
    /* After that call. */
    void (*leave)(struct ofi_gate *gate);
    /* Whether nothing has arrived since completions were read in vain. */
    bool (*quiet)(struct ofi_gate *gate);
    bool pending; /* completions may be there; set by any call */
};

static inline bool
ofi_gate_enter(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    if (__builtin_expect(ep->gate == NULL, 1))
        return true;
    ep->gate->pending = true;
    return ep->gate->enter(ep->gate, ep, peer);
}

static inline void
ofi_gate_leave(struct ofi_endpoint *ep)
{
    if (__builtin_expect(ep->gate != NULL, 0))
        ep->gate->leave(ep->gate);
}

/* The same for completions: whether to read them, and whether there were some. */
static inline bool
ofi_gate_enter_read(struct ofi_endpoint *ep)
{
    return __builtin_expect(ep->gate == NULL, 1) ||
           ((ep->gate->pending || !ep->gate->quiet(ep->gate)) &&
               ep->gate->enter(ep->gate, ep, NULL));
}

static inline void
ofi_gate_leave_read(struct ofi_endpoint *ep, bool found)
{
    if (__builtin_expect(ep->gate == NULL, 1))
        return;
    ep->gate->leave(ep->gate);
    ep->gate->pending = found;
}

#endif /* OFI_GATE_H */
