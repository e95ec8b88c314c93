/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints in shared memory that cannot be closed yet. A peer that takes an
 * introduction or a transfer from its queue looks for the sender's memory,
 * and crashes when that endpoint has been closed meanwhile (1.17:
 * smr_progress_connreq, smr_progress_iov). So it is closed when its peers have
 * answered a ping sent behind all of that, or are dead; what they have not
 * answered at the end of the class stays as long as the process. */
#include <sched.h>
#include <stdlib.h>

#include "../barrier.h"
#include "../liveness.h"
#include "../ofi.h"
#include "../queue.h"
#include "../quirk.h"
#include "common/system.h"

#define PATIENCE_NS TP_SECOND
#define LOOK_NS (20 * TP_MS) /* between two looks whether one can be closed */

struct endpoint {
    struct endpoint *next;
    struct fid_ep *fep;
};

struct deferred {
    struct endpoint *endpoints;
    uint64_t looked_ns;
};

/* What stays of a class. Nothing is done with it any more. */
struct leaked {
    struct leaked *next;
    struct endpoint *endpoints;
    struct fid_ep *fep;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_domain *domain;
    struct fid_fabric *fabric;
};
static struct leaked *_Atomic all_leaked;

extern const struct ofi_quirk ofi_quirk_shm_deferred_close;

static struct deferred *
data_of(const struct ofi_endpoint *ep)
{
    return ofi_quirk_data(ep, &ofi_quirk_shm_deferred_close);
}

/* A peer's address stays while a kept endpoint may look at its memory. */
static void
set_endpoints(struct ofi_endpoint *ep, struct endpoint *endpoints)
{
    data_of(ep)->endpoints = endpoints;
    ep->keeps_addresses = endpoints != NULL;
}

static void
close_all(struct ofi_endpoint *ep)
{
    struct endpoint *one = NULL;

    while ((one = data_of(ep)->endpoints) != NULL) {
        set_endpoints(ep, one->next);
        OFI_QUIRKS_CALL(ep, endpoint_closing, ep, one->fep);
        fi_close(&one->fep->fid);
        free(one);
    }
}

static bool
work(struct ofi_endpoint *ep, bool rare)
{
    struct deferred *deferred = data_of(ep);

    if (deferred->endpoints == NULL)
        return false;
    uint64_t now = tp_now();
    if (now - deferred->looked_ns < LOOK_NS)
        return true;
    deferred->looked_ns = now;
    if (ofi_barrier_passed(ep, true))
        close_all(ep);
    return deferred->endpoints != NULL;
}

/* Waits, for at most a second, until peers have received everything submitted. */
static bool
settle(struct ofi_endpoint *ep, bool rma)
{
    uint64_t end = tp_now() + PATIENCE_NS;
    bool all = false;

    if (ep->self == NULL)
        return true;
    rma = rma || data_of(ep)->endpoints != NULL;
    tp_mutex_take(&ep->lock);
    ofi_barrier_begin(ep, false);
    while (!(all = ofi_barrier_passed(ep, rma)) && tp_now() < end) {
        if (ofi_queue_step(ep) == 0) {
            tp_mutex_drop(&ep->lock);
            sched_yield();
            tp_mutex_take(&ep->lock);
        }
        if (ep->stuck != 0)
            ofi_liveness_retry(ep);
    }
    tp_mutex_drop(&ep->lock);
    return all;
}

/* Without memory to note it in, an endpoint is never closed. */
static bool
defer_close(struct ofi_endpoint *ep, struct fid_ep *fep, bool settled)
{
    if (settled)
        return false;
    struct endpoint *one = malloc(sizeof(*one));
    if (one == NULL)
        return true;
    *one = (struct endpoint){.next = data_of(ep)->endpoints, .fep = fep};
    set_endpoints(ep, one);
    ep->due = true;
    ofi_barrier_begin(ep, true);
    return true;
}

/* Leaves all objects of an endpoint open until the process ends. They are listed
 * so that a leak checker finds them; without memory for that they just stay. */
static void
leak(struct ofi_endpoint *ep)
{
    struct leaked *leaked = malloc(sizeof(*leaked));

    if (leaked != NULL) {
        *leaked = (struct leaked){.endpoints = data_of(ep)->endpoints,
            .fep = ep->fep,
            .cq = ep->cq,
            .av = ep->av,
            .domain = ep->domain,
            .fabric = ep->fabric};
        leaked->next = atomic_load_explicit(&all_leaked, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&all_leaked,
            &leaked->next, leaked, memory_order_relaxed, memory_order_relaxed))
            ;
    }
    for (struct endpoint *one = data_of(ep)->endpoints; one != NULL;
         one = one->next)
        OFI_QUIRKS_CALL(ep, endpoint_closing, ep, one->fep);
    if (ep->fep != NULL)
        OFI_QUIRKS_CALL(ep, endpoint_closing, ep, ep->fep);
    data_of(ep)->endpoints = NULL;
    ep->fep = NULL;
    ep->cq = NULL;
    ep->av = NULL;
    ep->domain = NULL;
    ep->fabric = NULL;
}

static void
closing(struct ofi_endpoint *ep, bool settled)
{
    if (settled) {
        close_all(ep);
        return;
    }
    TP_LOG(ep->cls->host, INFO,
        "endpoints stay open until this process ends: peers have not taken all "
        "messages");
    leak(ep);
}

const struct ofi_quirk ofi_quirk_shm_deferred_close = {.provider = "shm",
    .data_size = sizeof(struct deferred),
    .settle = settle,
    .closing = closing,
    .defer_close = defer_close,
    .work = work};
