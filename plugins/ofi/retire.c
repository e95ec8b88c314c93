/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints that go before their class, where that is not simple.
 *
 * A peer of libfabric's shm that takes an introduction or a transfer from its
 * queue looks for the memory of who sent it, and crashes when that endpoint has
 * been closed meanwhile (1.17: smr_progress_connreq, smr_progress_iov). So it is
 * closed when its peers have answered a ping that came behind all of that, or
 * are dead.
 *
 * An endpoint of the layer rxm enters its own queue into the wait object of the
 * class's, and does not take it out when it is closed (up to 2.6:
 * rxm_ep_wait_fd_add): fi_trywait would ask what has been freed. What it has under
 * way when it is closed is another matter, see sever.c. */
#include <sched.h>
#include <stdlib.h>

#include "address.h"
#include "fork.h"
#include "peer.h"
#include "progress.h"
#include "receive.h"
#include "retire.h"
#include "send.h"
#include "stale.h"

#define PATIENCE_NS OFI_SECOND
#define LOOK_NS (20 * OFI_MS) /* between two looks whether one can be closed */

struct ofi_retired {
    struct ofi_retired *next;
    struct fid_ep *ep;
};

/* What stays of a class. Nothing is done with it any more. */
struct remains {
    struct remains *next;
    struct ofi_retired *endpoints;
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_domain *domain;
    struct fid_fabric *fabric;
};
static struct remains *_Atomic all_remains;

/* Of the same process: ofi_fork_settle sees to these. */
static bool
is_asked(const na_plugin_addr *peer)
{
    return !peer->self && !peer->gone && !peer->here &&
           peer->fi_addr != FI_ADDR_NOTAVAIL;
}

/* Whether a peer has answered, or is dead; it is asked if it was not yet. When
 * no endpoint for puts and gets is concerned, there is nothing to ask of one for
 * which libfabric has taken a message, which it does when that is introduced. */
static bool
has_taken_all(na_plugin_class *cls, na_plugin_addr *peer, bool rma)
{
    if (!rma && peer->met && peer->flying.head == NULL)
        return true;
    /* the dead may hold a lock that sending to them takes */
    if (ofi_peer_present(cls, peer) != NA_PLUGIN_OK)
        return true;
    if (peer->asked == 0)
        peer->asked = ofi_send_ask(cls, peer);
    return peer->asked != 0 && (int32_t) (peer->answered - peer->asked) >= 0;
}

static bool
all_have(na_plugin_class *cls, bool rma)
{
    bool all = true;

    for (uint32_t i = 0; i < cls->names_size; i++)
        for (na_plugin_addr *peer = cls->names[i]; peer != NULL;
             peer = peer->next)
            if (is_asked(peer) && !has_taken_all(cls, peer, rma))
                all = false;
    return all;
}

/* Those of the same process as well, which nobody settles with. */
void
ofi_retire_ask(na_plugin_class *cls)
{
    for (uint32_t i = 0; i < cls->names_size; i++)
        for (na_plugin_addr *peer = cls->names[i]; peer != NULL;
             peer = peer->next) {
            peer->asked = 0;
            peer->here = false;
        }
}

bool
ofi_retire_answered(na_plugin_class *cls)
{
    return all_have(cls, true);
}

static void
close_retired(na_plugin_class *cls)
{
    while (cls->retired != NULL) {
        struct ofi_retired *retired = cls->retired;
        cls->retired = retired->next;
        ofi_stale_unmark(cls, retired->ep);
        fi_close(&retired->ep->fid);
        free(retired);
    }
}

void
ofi_retire_work(na_plugin_class *cls)
{
    if (!(cls->trait->flags & OFI_TRAIT_NODE))
        return;
    uint64_t now = ofi_peer_now();
    if (now - cls->retired_ns < LOOK_NS)
        return;
    cls->retired_ns = now;
    if (all_have(cls, true))
        close_retired(cls);
}

bool
ofi_retire_settle(na_plugin_class *cls, bool rma)
{
    if (!(cls->trait->flags & OFI_TRAIT_NODE) || cls->self == NULL)
        return true;
    uint64_t end = ofi_peer_now() + PATIENCE_NS;
    bool all = false;

    ofi_fork_settle(cls);
    ofi_lock_take(&cls->lock);
    for (uint32_t i = 0; i < cls->names_size; i++)
        for (na_plugin_addr *peer = cls->names[i]; peer != NULL;
             peer = peer->next)
            peer->asked = 0;
    while (!(all = all_have(cls, rma)) && ofi_peer_now() < end) {
        if (ofi_progress_read(cls) == 0) {
            ofi_lock_drop(&cls->lock);
            sched_yield();
            ofi_lock_take(&cls->lock);
        }
        if (cls->unposted.head != NULL)
            ofi_rx_retry(cls);
        if (cls->stuck != 0)
            ofi_send_retry(cls);
    }
    ofi_lock_drop(&cls->lock);
    return all;
}

void
ofi_retire_endpoint(na_plugin_class *cls, struct fid_ep *ep, bool settled)
{
    if (settled) {
        if (cls->can_wait && (cls->trait->flags & OFI_TRAIT_WAIT_KEEPS) != 0)
            cls->naps = true;
        ofi_stale_unmark(cls, ep);
        fi_close(&ep->fid);
        return;
    }
    struct ofi_retired *retired = malloc(sizeof(*retired));
    cls->lingers = true;
    if (retired == NULL)
        return;
    *retired = (struct ofi_retired){.next = cls->retired, .ep = ep};
    cls->retired = retired;
    ofi_retire_ask(cls);
}

void
ofi_retire_class(na_plugin_class *cls, bool settled)
{
    if (settled) {
        close_retired(cls);
        return;
    }
    struct remains *remains = malloc(sizeof(*remains));
    if (remains != NULL) {
        *remains = (struct remains){.endpoints = cls->retired,
            .ep = cls->ep,
            .cq = cls->cq,
            .av = cls->av,
            .domain = cls->domain,
            .fabric = cls->fabric};
        remains->next =
            atomic_load_explicit(&all_remains, memory_order_relaxed);
        while (
            !atomic_compare_exchange_weak_explicit(&all_remains, &remains->next,
                remains, memory_order_relaxed, memory_order_relaxed))
            ;
    }
    OFI_LOG(cls->host, INFO,
        "peers have not taken all that was sent to them: the endpoints stay "
        "until this process ends");
    ofi_stale_unmark_all(cls);
    cls->lingers = true;
    cls->retired = NULL;
    cls->ep = NULL;
    cls->cq = NULL;
    cls->av = NULL;
    cls->domain = NULL;
    cls->fabric = NULL;
}
