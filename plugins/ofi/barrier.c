/* SPDX-License-Identifier: BSD-3-Clause */
/* Pings that all peers have to answer. */
#include <sched.h>

#include "barrier.h"
#include "common/system.h"
#include "liveness.h"
#include "ofi.h"
#include "peer.h"
#include "queue.h"
#include "send.h"

#define FLUSH_NS TP_SECOND

/* Peers of the same process are progressed by the class that waits. */
static bool
is_asked(const struct ofi_peer *peer)
{
    return !peer->addr->self && !peer->closed && !peer->here &&
           peer->fi_addr != FI_ADDR_NOTAVAIL;
}

/* Whether a peer has answered, or is dead; it is asked if it was not yet. */
static bool
has_taken_all(struct ofi_endpoint *ep, struct ofi_peer *peer, bool rma)
{
    if (!rma && peer->connected && peer->flying.head == NULL)
        return true;
    /* a dead peer may hold a lock that sending to it takes */
    if (ofi_liveness_present(ep, peer) != NA_PLUGIN_OK)
        return true;
    if (peer->asked == 0)
        peer->asked = ofi_send_ask(ep, peer);
    return peer->asked != 0 && (int32_t) (peer->answered - peer->asked) >= 0;
}

bool
ofi_barrier_passed(struct ofi_endpoint *ep, bool rma)
{
    bool all = true;

    for (struct tp_link *link = ep->by_age.head; link != NULL;
         link = link->next) {
        struct ofi_peer *peer = ofi_peer_by_age(link);
        if (is_asked(peer) && !has_taken_all(ep, peer, rma))
            all = false;
    }
    return all;
}

void
ofi_barrier_begin(struct ofi_endpoint *ep, bool all)
{
    for (struct tp_link *link = ep->by_age.head; link != NULL;
         link = link->next) {
        struct ofi_peer *peer = ofi_peer_by_age(link);
        peer->asked = 0;
        peer->here = peer->here && !all;
    }
}

void
ofi_barrier_flush(struct ofi_endpoint *ep)
{
    uint64_t end = tp_now() + FLUSH_NS;

    /* stuck, to be probed: some providers go on connecting to dead peers */
    for (struct tp_link *link = ep->by_age.head; link != NULL;
         link = link->next) {
        struct ofi_peer *peer = ofi_peer_by_age(link);
        if (peer->injected != 0 && !peer->closed && ofi_send_flush(ep, peer))
            ofi_peer_stuck(ep, peer);
    }
    while (ep->flushes != 0 && tp_now() < end) {
        if (ofi_queue_read(ep) == 0)
            sched_yield();
        ofi_liveness_work(ep);
    }
    for (struct tp_link *link = ep->by_age.head; link != NULL;
         link = link->next) {
        struct ofi_peer *peer = ofi_peer_by_age(link);
        ofi_peer_moved(ep, peer);
    }
}
