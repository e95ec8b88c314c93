/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What hg_addr_t points to: a peer, and the class that reaches it. A program
 * looks up separate ones, with a reference count; others are embedded in a
 * handle or descriptor, which owns them.
 */
#ifndef NA_PEER_H
#define NA_PEER_H

#include "mercury_types.h"
#include "na/call.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The string of a peer with two addresses, as given. */
struct na_peer_name {
    _Atomic uint32_t refs;
    char text[];
};

struct hg_addr {
    struct na_class *na_class;
    na_plugin_addr *addr; /* one reference */
    struct na_peer_name
        *name;            /* one reference; NULL: the plugin makes the string */
    _Atomic int32_t refs; /* unless embedded */
    bool embedded;
    bool self; /* known to be the class itself */
};

/* Copies a string, with one reference; NULL: no memory. */
struct na_peer_name *na_peer_name_create(const char *text);
void na_peer_name_release(struct na_peer_name *name);

static inline struct na_peer_name *
na_peer_name_hold(struct na_peer_name *name)
{
    if (name)
        atomic_fetch_add_explicit(&name->refs, 1, memory_order_relaxed);
    return name;
}

/* Releases and clears an embedded peer, which has no name unless `named`. */
static inline __attribute__((always_inline)) void
na_peer_release_some(struct hg_addr *peer, const bool named)
{
    if (!peer->addr)
        return;
    na_addr_free(peer->na_class, peer->addr);
    peer->addr = NULL;
    if (named && __builtin_expect(peer->name != NULL, 0))
        na_peer_name_release(peer->name);
}

static inline void
na_peer_release(struct hg_addr *peer)
{
    na_peer_release_some(peer, true);
}

/* Sets an embedded, cleared peer, and takes over the reference. */
static inline void
na_peer_set(
    struct hg_addr *peer, struct na_class *na_class, na_plugin_addr *addr)
{
    peer->na_class = na_class;
    peer->addr = addr;
    peer->name = NULL;
    peer->embedded = true;
    peer->self = false;
}

/* Copies a peer to an embedded, cleared one. */
static inline void
na_peer_copy(struct hg_addr *peer, const struct hg_addr *from)
{
    na_addr_dup(from->na_class, from->addr);
    na_peer_set(peer, from->na_class, from->addr);
    peer->self = from->self;
    peer->name = na_peer_name_hold(from->name);
}

#endif /* NA_PEER_H */
