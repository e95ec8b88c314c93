/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets that libfabric's shm never ends, or ends without naming the
 * operation.
 *
 * shm 1.17 does a put or get at once, by process_vm_writev and
 * process_vm_readv, where it may, and reports a failure by an error without a
 * context (smr_rma_fast). Others wait for the owner's answer, in order for each
 * endpoint (smr_progress_resp): operations that a dead owner has not answered
 * block all that follow. */
#include "../barrier.h"
#include "../fabric.h"
#include "../ofi.h"
#include "../op.h"
#include "../peer.h"
#include "../queue.h"
#include "../quirk.h"
#include "../rma.h"
#include "../work.h"

struct stuck_rma {
    bool wanted;           /* work has something to do */
    uint64_t asked_serial; /* of the last fragment before peers were asked */
};

extern const struct ofi_quirk ofi_quirk_shm_stuck_rma;

static struct stuck_rma *
data_of(const struct ofi_endpoint *ep)
{
    return ofi_quirk_data(ep, &ofi_quirk_shm_stuck_rma);
}

static void
want(struct ofi_endpoint *ep)
{
    data_of(ep)->wanted = true;
    ep->due = true;
}

/* Either the registration is seen to be removed here, or its owner finds this
 * fragment in its queue before it deregisters. */
static void
rma_submitted(struct ofi_endpoint *ep, struct ofi_fragment *fragment)
{
    const struct ofi_job *job = fragment->job;

    fragment->stale_target = false;
    /* pairs with the owner's removal */
    atomic_thread_fence(memory_order_seq_cst);
    if (ofi_quirk_rma_permitted(ep, job->peer, job->remote))
        return;
    fragment->stale_target = true;
    want(ep);
}

static bool
is_dead(const struct ofi_peer *peer)
{
    return peer->suspect || peer->closed;
}

static struct ofi_fragment *
first_of(const struct tp_list *list)
{
    return list->head != NULL ? TP_OBJECT(list->head, struct ofi_fragment, link)
                              : NULL;
}

/* Its jobs end, or begin again. With settled false, some peers have not
 * processed all of them: their queues contain puts that are repeated now, and
 * their answers are ignored, since the first operation has none. */
static void
replace(na_plugin_ctx *ctx, bool settled)
{
    struct ofi_endpoint *ep = ctx->ep;
    struct fid_ep *fep = NULL;
    struct ofi_fragment *fragment = NULL;

    int32_t ret = ofi_fabric_rma_endpoint(ep, &fep);
    ofi_quirk_close_endpoint(ep, ctx->rma_ep, settled);
    ctx->rma_ep = fep;
    while ((fragment = first_of(&ctx->flying)) != NULL)
        ofi_rma_forget(ep, fragment, ret);
}

static bool
has_lost(const struct tp_list *list)
{
    for (struct tp_link *link = list->head; link != NULL; link = link->next) {
        const struct ofi_fragment *one =
            TP_OBJECT(link, struct ofi_fragment, link);
        if (one->stale_target || is_dead(one->job->peer))
            return true;
    }
    return false;
}

/* Replaces endpoints whose first fragment is for a dead peer. The number of the
 * newest one that is a first one, and of a stale target; 0: none. */
static uint64_t
replace_dead(struct ofi_endpoint *ep)
{
    uint64_t newest = 0;

    data_of(ep)->wanted = false;
    for (uint32_t i = 0; i < OFI_CONTEXTS; i++) {
        na_plugin_ctx *ctx = ep->contexts[i];
        const struct ofi_fragment *first =
            ctx != NULL ? first_of(&ctx->flying) : NULL;
        if (first == NULL)
            continue;
        if (is_dead(first->job->peer)) {
            replace(ctx, false);
            continue;
        }
        /* what the living have before them is ended by those */
        if (has_lost(&ctx->flying))
            want(ep);
        if (first->stale_target && first->serial > newest)
            newest = first->serial;
    }
    return newest;
}

static void
replace_doubtful(struct ofi_endpoint *ep)
{
    uint64_t asked_serial = data_of(ep)->asked_serial;

    for (uint32_t i = 0; i < OFI_CONTEXTS; i++) {
        na_plugin_ctx *ctx = ep->contexts[i];
        const struct ofi_fragment *first =
            ctx != NULL ? first_of(&ctx->flying) : NULL;
        if (first != NULL && first->stale_target &&
            first->serial <= asked_serial)
            replace(ctx, true);
    }
}

/* Ends fragments for dead peers, and those that were refused: the endpoints
 * that wait for them are replaced. A peer that has answered a ping sent after a
 * fragment has answered the fragment too, or dropped it. */
static bool
work(struct ofi_endpoint *ep, bool rare)
{
    struct stuck_rma *stuck = data_of(ep);

    if (!stuck->wanted)
        return false;
    ofi_queue_drain(ep);
    uint64_t newest = replace_dead(ep);
    if (newest == 0)
        return stuck->wanted;
    if (newest > stuck->asked_serial) {
        stuck->asked_serial = ep->counters.fragments;
        ofi_barrier_begin(ep, true);
    }
    if (ofi_barrier_passed(ep, true)) {
        ofi_queue_drain(ep);
        replace_doubtful(ep);
    }
    return stuck->wanted;
}

/* The older one of those that are done at once. */
static struct ofi_fragment *
oldest_in(const struct tp_list *list, struct ofi_fragment *oldest)
{
    for (struct tp_link *link = list->head; link != NULL; link = link->next) {
        struct ofi_fragment *one = TP_OBJECT(link, struct ofi_fragment, link);
        if (one->at_once && (oldest == NULL || one->serial < oldest->serial))
            oldest = one;
    }
    return oldest;
}

/* The oldest of those that are done at once: what became of others before it has
 * been read. At the owner, errors are about gets and puts of others. */
static struct ofi_fragment *
rma_failed(struct ofi_endpoint *ep, uint64_t flags)
{
    struct ofi_fragment *oldest = NULL;

    if ((flags & FI_RMA) != 0)
        return NULL;
    for (uint32_t i = 0; i < OFI_CONTEXTS; i++)
        if (ep->contexts[i] != NULL)
            oldest = oldest_in(&ep->contexts[i]->flying, oldest);
    return oldest_in(&ep->orphans, oldest);
}

const struct ofi_quirk ofi_quirk_shm_stuck_rma = {.provider = "shm",
    .data_size = sizeof(struct stuck_rma),
    .peer_lost = want,
    .rma_submitted = rma_submitted,
    .rma_failed = rma_failed,
    .work = work};
