/* SPDX-License-Identifier: BSD-3-Clause */
/* Several classes over shm in one process. Within a process libfabric uses the
 * memory of a peer's endpoint directly, also after that was closed: it finds it by
 * its name (smr_map_to_region). So the process's other classes drop a class before
 * it is closed, and refuse its name from then on. */
#include <stdlib.h>

#include "../address.h"
#include "../endpoints.h"
#include "../liveness.h"
#include "../ofi.h"
#include "../peer.h"
#include "../queue.h"
#include "../quirk.h"
#include "../work.h"

/* The process's other classes take this one's lock when they are closed. And a put
 * with FI_DELIVERY_COMPLETE lets no other begin: the last one of a job is enough,
 * as they are done in order. */
static void
adjust(const struct ofi_trait *trait, struct ofi_conduct *conduct)
{
    conduct->needs_locks = true;
    conduct->one_endpoint = true;
    conduct->deliver_last = true;
}

/* Names of classes that were closed here. libfabric takes such a name for that of
 * memory that is there still, also in a forked child. None is given twice. */
struct closed {
    struct closed *next;
    struct ofi_name name;
};
static struct closed *_Atomic closed;

/* [the lock of the process's classes] */
static void
remember(const struct ofi_name *name)
{
    struct closed *one = malloc(sizeof(*one));

    if (one == NULL)
        return;
    one->name = *name;
    one->next = atomic_load_explicit(&closed, memory_order_relaxed);
    /* release: pairs with reach */
    atomic_store_explicit(&closed, one, memory_order_release);
}

static bool
reach(struct ofi_endpoint *ep, const struct ofi_peer *peer)
{
    /* acquire: pairs with remember */
    const struct closed *one =
        atomic_load_explicit(&closed, memory_order_acquire);

    while (one != NULL && !ofi_name_equal(&one->name, peer->name))
        one = one->next;
    return one == NULL;
}

/* Drops a class that is about to be closed. Its index in the address vector is
 * not reused: another peer would get its remaining messages. False: libfabric
 * will touch its memory. */
static bool
drop(struct ofi_endpoint *ep, const struct ofi_endpoint *leaving)
{
    bool free_of_it = true;

    tp_mutex_take(&ep->lock);
    ofi_queue_drain(ep);
    struct ofi_peer *peer = ofi_peer_find(ep, leaving->self->name, 0);
    if (peer != NULL) {
        free_of_it = peer->flying.head == NULL;
        for (struct tp_link *link = peer->jobs.head; link != NULL;
             link = link->next)
            if (TP_OBJECT(link, struct ofi_job, by_peer)->flying != 0)
                free_of_it = false;
        ofi_liveness_lose(ep, peer, NA_PLUGIN_E_HOSTUNREACH, "it was closed");
        peer->closed = true;
    }
    tp_mutex_drop(&ep->lock);
    return free_of_it;
}

static bool
leaving(struct ofi_endpoint *ep)
{
    bool settled = true;

    if (ep->self == NULL)
        return true;
    pthread_mutex_lock(&ofi_endpoints.lock);
    remember(ep->self->name);
    for (struct ofi_endpoint *one = ofi_endpoints.first; one != NULL;
         one = one->next)
        if (one->cls->trait == ep->cls->trait && !drop(one, ep))
            settled = false;
    pthread_mutex_unlock(&ofi_endpoints.lock);
    return settled;
}

/* Lets the process's other classes take what was sent to them, and marks them
 * among the peers, whose answers are not waited for. */
static bool
settle(struct ofi_endpoint *ep, bool rma)
{
    if (ep->self == NULL)
        return true;
    pthread_mutex_lock(&ofi_endpoints.lock);
    for (struct ofi_endpoint *one = ofi_endpoints.first; one != NULL;
         one = one->next) {
        if (one == ep || one->cls->trait != ep->cls->trait)
            continue;
        tp_mutex_take(&one->lock);
        ofi_queue_drain(one);
        tp_mutex_drop(&one->lock);
        tp_mutex_take(&ep->lock);
        struct ofi_peer *peer = ofi_peer_find(ep, one->self->name, 0);
        if (peer != NULL)
            peer->here = true;
        tp_mutex_drop(&ep->lock);
    }
    pthread_mutex_unlock(&ofi_endpoints.lock);
    return true;
}

const struct ofi_quirk ofi_quirk_shm_process = {.provider = "shm",
    .adjust = adjust,
    .settle = settle,
    .leaving = leaving,
    .reach = reach};
