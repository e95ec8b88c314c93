/* SPDX-License-Identifier: BSD-3-Clause */
/* The core's addresses: a peer's class, by the name of its first endpoint; and
 * what an endpoint of this class stores about an endpoint of a peer. */
#ifndef OFI_ADDRESS_H
#define OFI_ADDRESS_H

#include <rdma/fabric.h>

#include "common/address.h"
#include "name.h"

struct na_plugin_addr {
    struct tp_addr addr;  /* in class.addrs */
    struct ofi_name name; /* constant */
    bool self;            /* constant: this class */
    _Atomic bool known;   /* some class was heard of there */
    _Atomic uint64_t
        forgotten;          /* number of the class before the present one, as
                                   first has it */
    struct ofi_peer *first; /* the first endpoint's peer for the peer's first
                                   one, NULL: none; its lock */
};

/* A peer stays while it is referred to, or something is pending, and a while longer;
 * only ofi_peer_evict frees it. All under the endpoint's lock. */
struct ofi_peer {
    struct tp_keyed keyed; /* in endpoint.peers, by name and context */
    struct tp_link by_age; /* in endpoint.by_age */
    struct tp_link other;  /* in endpoint.others, if context is not 0 */
    na_plugin_addr *addr;  /* constant: the peer; one reference */
    uint32_t refs;
    uint8_t context; /* constant: which of the peer's endpoints */
    bool used;       /* since it was last considered for eviction */

    const struct ofi_name *name; /* of the endpoint, NULL: not known */
    fi_addr_t fi_addr;           /* FI_ADDR_NOTAVAIL: not in the AV */
    uint64_t number;    /* of the class that is there, 0: not heard of */
    uint64_t forgotten; /* of the one before: not listened to any more */

    struct tp_list queue;    /* messages that libfabric would not take */
    struct tp_list receives; /* expected from it */
    struct tp_list jobs;     /* puts and gets */
    struct tp_list flying;   /* messages that libfabric has */
    uint32_t injected;       /* messages behind the last one of those */
    bool blocked;            /* a job waits for libfabric */
    bool serialized;         /* jobs one at a time */
    bool closed;             /* by this process: its memory must not be used */
    bool stale;              /* it is closed: the first endpoint is used */
    bool connected;          /* libfabric has taken a message for it */
    bool is_active;          /* in endpoint.active: */
    struct tp_link active;
    uint64_t stuck_ns; /* since when it takes nothing, 0: it does */

    bool heard; /* since heard_ns */
    uint64_t heard_ns;
    uint64_t pinged_ns;
    uint32_t unanswered; /* pings */
    uint32_t asked;      /* number of the ping that barrier.c waits for */
    uint32_t answered;   /* number of the last ping that it answered */
    uint32_t pinged;     /* number of the last ping from it */
    bool here;           /* a class of this process */
    bool warned;         /* of that it may not be Talaria's */
    bool absence_logged; /* reset by a message from it */
    bool suspect;        /* a probe failed, and nothing was heard of it since */
    int probe_fd;        /* its socket, -1 without */
    uint64_t probed_ns;  /* when the last look began whether anybody listens */
    uint64_t probe_end_ns; /* when the one under way has failed */

    void *gate; /* what the endpoint's gate keeps of it */

    struct ofi_name own_name[]; /* if context is not 0 */
};

/* Something is pending in either direction. */
static inline bool
ofi_peer_is_wanted(const struct ofi_peer *peer)
{
    return peer->receives.head != NULL || peer->jobs.head != NULL ||
           peer->queue.head != NULL || peer->flying.head != NULL;
}

static inline struct ofi_peer *
ofi_peer_by_age(struct tp_link *link)
{
    return TP_OBJECT(link, struct ofi_peer, by_age);
}

/* The address with this name, one reference; NULL: no memory. [any thread] */
na_plugin_addr *ofi_addr_get(na_plugin_class *cls, const struct ofi_name *name);

/* One reference more, of an address that is held; one less. [any thread] */
static inline void
ofi_addr_hold(na_plugin_addr *addr)
{
    tp_addr_hold(&addr->addr, false);
}
void ofi_addr_release(na_plugin_class *cls, na_plugin_addr *addr);

/* Frees all that are left; how many. */
uint32_t ofi_addr_fini(na_plugin_class *cls);

/* The ABI's operations; that to forget a peer is in route.h. */
int32_t ofi_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p);
int32_t ofi_addr_lookup(
    na_plugin_class *cls, const char *text, na_plugin_addr **addr_p);
void ofi_addr_dup(na_plugin_class *cls, na_plugin_addr *addr);
int32_t ofi_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b);
uint64_t ofi_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr);
int32_t ofi_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p);
int32_t ofi_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p);
int32_t ofi_addr_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_addr **addr_p);

#endif /* OFI_ADDRESS_H */
