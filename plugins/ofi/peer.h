/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers: what an endpoint of this class knows of an endpoint of a peer. All under
 * the endpoint's lock. */
#ifndef OFI_PEER_H
#define OFI_PEER_H

#include "address.h"
#include "ofi.h"

#define OFI_PEER_POLLS 64U /* between two looks at the clock */
#define OFI_PEER_LOOK_NS                                                       \
    (20 * TP_MS) /* between two looks, while sends are stuck */

/* It stays while it is referred to, or something is pending, and a while longer;
 * only ofi_peer_evict frees it. */
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
    bool stale;     /* nobody was at its name: the first endpoint is used */
    bool connected; /* libfabric has taken a message for it */
    bool is_active; /* in endpoint.active: */
    struct tp_link active;
    uint64_t stuck_ns; /* since when it takes nothing, 0: it does */

    bool heard; /* since heard_ns */
    uint64_t heard_ns;
    uint64_t pinged_ns;
    uint32_t unanswered; /* pings */
    uint32_t asked;      /* number of the ping that barrier.c waits for */
    uint32_t answered;   /* number of the last ping that it answered */
    uint32_t pinged;     /* number of the last ping that came from it */
    bool here;           /* a class of this process */
    bool warned;         /* of that it may not be Talaria's */
    bool suspect;       /* nobody listened, and nothing was heard of it since */
    int probe_fd;       /* its socket, -1 without */
    uint64_t probed_ns; /* when the last look began whether anybody listens */

    struct ofi_name own_name[]; /* if context is not 0 */
};

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

/* Frees some of the oldest, if there are many and nobody needs them: at most four
 * for each that was made. Pointers without a reference are valid until then. */
void ofi_peer_evict(struct ofi_endpoint *ep);

/* Frees all, when the endpoint is closed. */
void ofi_peer_fini(struct ofi_endpoint *ep);

/* Tells libfabric of it, once. A code. */
int32_t ofi_peer_reach(struct ofi_endpoint *ep, struct ofi_peer *peer);

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

#endif /* OFI_PEER_H */
