/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What hg_addr_t points to: a peer, and the class that reaches it. It stands
 * alone, counted, when a program looked it up; or it lies in the handle or
 * descriptor that it belongs to, and is then borrowed from that.
 */
#ifndef NA_PEER_H
#define NA_PEER_H

#include "mercury_types.h"
#include "na/class.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct hg_addr {
    struct na_class *na_class;
    na_plugin_addr *addr; /* one reference */
    _Atomic int32_t refs; /* of one that stands alone */
    bool embedded;
    bool self; /* the class's own, as far as was known */
};

/* Empties an embedded peer. */
static inline void
na_peer_release(struct hg_addr *peer)
{
    if (!peer->addr)
        return;
    peer->na_class->ops.addr_free(peer->na_class->plugin_class, peer->addr);
    peer->addr = NULL;
}

/* Sets an embedded, empty peer; takes over the reference. */
static inline void
na_peer_set(
    struct hg_addr *peer, struct na_class *na_class, na_plugin_addr *addr)
{
    peer->na_class = na_class;
    peer->addr = addr;
    peer->embedded = true;
    peer->self = false;
}

/* Sets an embedded, empty peer to the same as another. */
static inline void
na_peer_copy(struct hg_addr *peer, const struct hg_addr *from)
{
    from->na_class->ops.addr_dup(from->na_class->plugin_class, from->addr);
    na_peer_set(peer, from->na_class, from->addr);
    peer->self = from->self;
}

#endif /* NA_PEER_H */
