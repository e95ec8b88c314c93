/* SPDX-License-Identifier: BSD-3-Clause */
/* A put or get is a job, cut into fragments at the borders of segments and at
 * what a provider takes at once. */
#include <string.h>

#include "address.h"
#include "common/system.h"
#include "fabric.h"
#include "gate.h"
#include "library.h"
#include "liveness.h"
#include "mem.h"
#include "ofi.h"
#include "op.h"
#include "peer.h"
#include "pool.h"
#include "quirk.h"
#include "rma.h"
#include "route.h"
#include "send.h"
#include "work.h"

#define PAUSE_NS TP_MS /* before a job is begun again; doubled each time */

static void
end_job(struct ofi_endpoint *ep, struct ofi_job *job)
{
    struct ofi_peer *peer = job->peer;

    if (job->op != NULL) {
        tp_list_remove(&job->ctx->jobs, &job->by_ctx);
        tp_list_remove(
            peer->addr->self ? &ep->copying : &peer->jobs, &job->by_peer);
        ofi_op_finish(job->op, job->status);
    }
    tp_list_append(&ep->spare_jobs, &job->by_ctx);
    peer->refs--;
}

/* Where a fragment is while libfabric has it. */
static struct tp_list *
list_of(struct ofi_endpoint *ep, const struct ofi_fragment *fragment)
{
    return fragment->job->op != NULL ? &fragment->job->ctx->flying
                                     : &ep->orphans;
}

/* Hands a fragment to libfabric. What it returns, positive. */
static int
submit(struct ofi_endpoint *ep, struct ofi_job *job,
    struct ofi_fragment *fragment, const struct iovec *iov,
    const struct fi_rma_iov *rma_iov, void *desc)
{
    bool put = job->put && !job->verifying;
    bool waits = ep->cls->delivery && (!ep->cls->conduct.deliver_last ||
                                          iov->iov_len == job->walk.left);
    const struct fi_msg_rma message = {.msg_iov = iov,
        .desc = &desc,
        .iov_count = 1,
        .addr = job->peer->fi_addr,
        .rma_iov = rma_iov,
        .rma_iov_count = 1,
        .context = &fragment->work.fi};
    fragment->at_once = !put || !waits;
    if (!ofi_gate_enter(ep, job->peer))
        return FI_EAGAIN;
    ssize_t ret = put ? fi_writemsg(job->ctx->rma_ep, &message,
                            FI_COMPLETION | (waits ? FI_DELIVERY_COMPLETE : 0))
                      : fi_readmsg(job->ctx->rma_ep, &message, FI_COMPLETION);
    ofi_gate_leave(ep);

    return (int) -ret;
}

/* The byte behind a put, see mem.h. */
static int
submit_readback(
    struct ofi_endpoint *ep, struct ofi_job *job, struct ofi_fragment *fragment)
{
    void *desc = NULL;
    const struct iovec iov = {
        .iov_base = ofi_readback_here(ep, &desc), .iov_len = 1};
    const struct fi_rma_iov rma_iov = {.addr = job->remote->read_address,
        .len = 1,
        .key = job->remote->read_key};
    int error = submit(ep, job, fragment, &iov, &rma_iov, desc);

    if (error == 0)
        job->walk.left = 0;
    return error;
}

/* The next piece of a job's memory. */
static int
submit_piece(
    struct ofi_endpoint *ep, struct ofi_job *job, struct ofi_fragment *fragment)
{
    const na_plugin_mem *local = job->local, *remote = job->remote;
    uint64_t most = job->put ? UINT64_MAX : ep->cls->conduct.get_max;
    struct tp_walk next = job->walk;
    struct tp_part part;

    tp_walk_next(&next, &part);
    uint64_t length = ofi_least(part.length, ofi_least(most, ep->fragment_max));
    next.near_offset -= part.length - length;
    next.far_offset -= part.length - length;
    next.left += part.length - length;
    const struct iovec iov = {.iov_base = part.here, .iov_len = length};
    const struct fi_rma_iov rma_iov = {.addr = part.there,
        .len = length,
        .key = remote->keys[part.far - remote->segments].key};
    /* of another domain it would be of no use */
    void *desc = ofi_is_first(ep) || ep->shares
                     ? fi_mr_desc(local->keys[next.near - local->segments].mr)
                     : NULL;
    int error = submit(ep, job, fragment, &iov, &rma_iov, desc);

    if (error == 0)
        job->walk = next;
    return error;
}

static void done(struct ofi_endpoint *ep, struct ofi_work *work,
    const struct fi_cq_data_entry *entry, int error);

/* The next fragment of a job. */
static int
next_fragment(struct ofi_endpoint *ep, struct ofi_job *job)
{
    if (!ofi_quirk_rma_permitted(ep, job->peer, job->remote))
        return FI_EKEYREJECTED;
    struct ofi_fragment *fragment = ofi_pool_fragment(ep);
    if (fragment == NULL)
        return FI_ENOMEM;
    fragment->job = job;
    fragment->work.done = done;
    int error = job->verifying ? submit_readback(ep, job, fragment)
                               : submit_piece(ep, job, fragment);
    if (error != 0) {
        tp_list_append(&ep->spare_fragments, &fragment->link);
        return error;
    }
    fragment->serial = ++ep->counters.fragments;
    tp_list_append(list_of(ep, fragment), &fragment->link);
    OFI_QUIRKS_CALL(ep, rma_submitted, ep, fragment);
    job->flying++;
    return 0;
}

/* A connection breaks when its peer dies, but also when another's put or get is
 * refused by the owner of the memory. Then all is done once more, one job at a
 * time, so that the one that is refused fails alone. A dead peer is detected before the
 * second attempt ends. */
static void
begin_again(struct ofi_job *job)
{
    job->broken = false;
    job->verifying = false;
    job->pause_ns = tp_now() + (PAUSE_NS << job->repeats++);
    job->status = NA_PLUGIN_OK;
    job->walk = job->begin;
}

/* Goes on with a job, which may end. */
static void
advance(struct ofi_endpoint *ep, struct ofi_job *job)
{
    struct ofi_peer *peer = job->peer;
    uint32_t most = ep->cls->conduct.rma_in_flight;

    if (job->broken && job->flying == 0 &&
        job->repeats < ep->cls->conduct.rma_repeats) {
        begin_again(job);
        peer->serialized = true;
        peer->blocked = true;
        ofi_peer_stuck(ep, peer);
        return;
    }
    if (job->pause_ns != 0 && job->pause_ns > tp_now()) {
        peer->blocked = true;
        return;
    }
    job->pause_ns = 0;
    if (job->walk.left == 0 && job->flying == 0 &&
        job->status == NA_PLUGIN_OK && job->put && !ep->cls->delivery &&
        !job->verifying && job->remote->read_back) {
        job->verifying = true;
        job->walk.left = 1;
    }
    while (job->walk.left != 0 && job->flying < most) {
        int error = next_fragment(ep, job);
        if (error == FI_EAGAIN) {
            peer->blocked = true;
            ofi_peer_stuck(ep, peer);
            return;
        }
        if (error != 0) {
            job->status = ofi_error_code(error);
            job->walk.left = 0;
        }
    }
    if (job->walk.left == 0 && job->flying == 0)
        end_job(ep, job);
}

static bool
is_flying(const struct ofi_peer *peer)
{
    for (struct tp_link *link = peer->jobs.head; link != NULL;
         link = link->next)
        if (TP_OBJECT(link, struct ofi_job, by_peer)->flying != 0)
            return true;
    return false;
}

static bool
has_begun_again(const struct ofi_peer *peer)
{
    for (struct tp_link *link = peer->jobs.head; link != NULL;
         link = link->next)
        if (TP_OBJECT(link, struct ofi_job, by_peer)->repeats != 0)
            return true;
    return false;
}

void
ofi_rma_retry(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    struct tp_link *next = NULL;

    peer->blocked = false;
    for (struct tp_link *link = peer->jobs.head; link != NULL; link = next) {
        struct ofi_job *job = TP_OBJECT(link, struct ofi_job, by_peer);
        next = link->next;
        if (job->flying == 0 && peer->serialized && is_flying(peer)) {
            peer->blocked = true;
            break;
        }
        advance(ep, job);
        ep->counters.eagain_retries++;
    }
    peer->serialized = peer->serialized && has_begun_again(peer);
    if (!peer->blocked)
        ofi_peer_moved(ep, peer);
}

/* libfabric is done with one fragment. */
static void
done(struct ofi_endpoint *ep, struct ofi_work *work,
    const struct fi_cq_data_entry *entry, int error)
{
    struct ofi_fragment *fragment = TP_OBJECT(work, struct ofi_fragment, work);
    struct ofi_job *job = fragment->job;
    struct ofi_peer *peer = job->peer;

    tp_list_remove(list_of(ep, fragment), &fragment->link);
    tp_list_append(&ep->spare_fragments, &fragment->link);
    /* Whether it is the peer that is lost, or this connection only. A ping that
     * fails at once ends all jobs of the peer that have nothing flying: not yet
     * this one. Within a node a probe shows it at once; a ping would wait for a
     * lock that a dead peer may hold. */
    if (error != 0 && job->op != NULL) {
        if (ep->cls->conduct.probe == OFI_PROBE_LOCAL)
            ofi_liveness_probe(ep, peer, tp_now());
        else
            ofi_send_ping(ep, peer);
    }
    job->flying--;
    if (error != 0) {
        ep->counters.completion_errors++;
        if (job->status == NA_PLUGIN_OK) {
            job->status = ofi_error_code(error);
            job->broken = ofi_error_is_loss(error) && job->op != NULL;
        }
        job->walk.left = 0;
    }
    if (job->op == NULL ? job->flying == 0 : !peer->serialized || error != 0)
        advance(ep, job);
    else if (job->op != NULL) {
        /* the next retry submits it */
        peer->blocked = true;
        ofi_peer_stuck(ep, peer);
    }
}

void
ofi_rma_forget(
    struct ofi_endpoint *ep, struct ofi_fragment *fragment, int32_t status)
{
    struct ofi_job *job = fragment->job;

    tp_list_remove(list_of(ep, fragment), &fragment->link);
    tp_list_append(&ep->spare_fragments, &fragment->link);
    if (job->status == NA_PLUGIN_OK && status != NA_PLUGIN_OK) {
        job->status = status;
        job->walk.left = 0;
    }
    if (--job->flying != 0)
        return;
    if (job->status != NA_PLUGIN_OK) {
        end_job(ep, job);
        return;
    }
    job->walk = job->begin;
    job->peer->blocked = true;
    ofi_peer_stuck(ep, job->peer);
}

/* SUBMISSION */

/* Memory of the class that was there before. */
static bool
is_forgotten(const na_plugin_mem *remote, uint64_t number)
{
    return number != 0 && remote->mem.owner == number;
}

static int32_t
check(const struct ofi_job *order, const na_plugin_addr *addr)
{
    const na_plugin_mem *local = order->local, *remote = order->remote;
    uint32_t here = order->put ? NA_PLUGIN_MEM_READ : NA_PLUGIN_MEM_WRITE;
    uint32_t there = order->put ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ;
    uint64_t forgotten =
        atomic_load_explicit(&addr->forgotten, memory_order_relaxed);

    if (!local->own)
        return NA_PLUGIN_E_INVALID_ARG;
    int32_t ret = tp_mem_permits(
        &local->mem, order->walk.near_offset, order->walk.left, here);
    int32_t other = tp_mem_permits(
        &remote->mem, order->walk.far_offset, order->walk.left, there);
    if (ret != NA_PLUGIN_E_INVALID_ARG && other != NA_PLUGIN_OK)
        ret = other;
    if (ret == NA_PLUGIN_OK && is_forgotten(remote, forgotten))
        ret = NA_PLUGIN_E_HOSTUNREACH;
    return ret;
}

static int32_t
open_endpoint(na_plugin_ctx *ctx)
{
    int32_t ret = NA_PLUGIN_OK;

    return ofi_quirk_open_rma(ctx->ep, &ctx->rma_ep, &ret)
               ? ret
               : ofi_fabric_rma_endpoint(ctx->ep, &ctx->rma_ep);
}

static int32_t
begin(na_plugin_ctx *ctx, struct ofi_op *op, const struct ofi_job *order,
    struct ofi_peer *peer)
{
    struct ofi_endpoint *ep = ctx->ep;
    int32_t ret = NA_PLUGIN_OK;

    if (!peer->addr->self) {
        ret = is_forgotten(order->remote, peer->forgotten)
                  ? NA_PLUGIN_E_HOSTUNREACH
                  : ofi_peer_reach(ep, peer);
        if (ret == NA_PLUGIN_OK)
            ret = ofi_liveness_present(ep, peer);
        if (ret == NA_PLUGIN_OK && ctx->rma_ep == NULL)
            ret = open_endpoint(ctx);
        ep->connects = ep->due = true;
    }
    if (ret == NA_PLUGIN_OK && !ofi_op_post(ctx, op, OFI_OP_RMA))
        ret = NA_PLUGIN_E_NOMEM;
    if (ret != NA_PLUGIN_OK)
        return ret;
    struct ofi_job *job = ofi_pool_job(ep);
    if (job == NULL) {
        ofi_op_unpost(op);
        return NA_PLUGIN_E_NOMEM;
    }
    *job = *order;
    job->ctx = ctx;
    job->op = op;
    job->peer = peer;
    peer->refs++;
    op->job = job;
    tp_list_append(&ctx->jobs, &job->by_ctx);
    if (peer->addr->self) {
        tp_list_append(&ep->copying, &job->by_peer);
        if (ctx->armed)
            tp_wake_set(&ctx->wake);
        return NA_PLUGIN_PENDING;
    }
    tp_list_append(&peer->jobs, &job->by_peer);
    ofi_peer_activate(ep, peer);
    if (peer->serialized) {
        peer->blocked = true;
        ofi_peer_stuck(ep, peer);
    } else
        advance(ep, job);
    if (ctx->armed)
        tp_wake_set(&ctx->wake);
    return NA_PLUGIN_PENDING;
}

static int32_t
transfer(na_plugin_ctx *ctx, struct ofi_op *op, struct ofi_job *order,
    na_plugin_addr *addr)
{
    struct ofi_endpoint *ep = ctx->ep;

    order->walk.near = order->local->segments;
    order->walk.far = order->remote->segments;
    order->begin = order->walk;
    int32_t ret = check(order, addr);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (order->walk.left == 0)
        return NA_PLUGIN_DONE;
    tp_mutex_take(&ep->lock);
    if (order->put)
        ep->counters.put_bytes += order->walk.left;
    else
        ep->counters.get_bytes += order->walk.left;
    /* the memory of a class belongs to its first endpoint */
    struct ofi_peer *peer = ofi_route_to(ep, addr, 0);
    ret = peer != NULL ? begin(ctx, op, order, peer) : NA_PLUGIN_E_NOMEM;
    tp_mutex_drop(&ep->lock);
    return ret;
}

#define TRANSFER(name, is_put)                                                 \
    int32_t name(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,           \
        uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,  \
        uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx,              \
        uint32_t flags)                                                        \
    {                                                                          \
        struct ofi_job order = {.local = local,                                \
            .remote = remote,                                                  \
            .walk = {.near_offset = local_offset,                              \
                .far_offset = remote_offset,                                   \
                .left = length},                                               \
            .put = is_put};                                                    \
                                                                               \
        return transfer(ctx, op, &order, peer);                                \
    }

TRANSFER(ofi_rma_put, true)
TRANSFER(ofi_rma_get, false)

/* ENDS */

/* Nothing more of a job is begun. */
static void
stop(struct ofi_endpoint *ep, struct ofi_job *job, int32_t status)
{
    if (job->walk.left == 0 && status == NA_PLUGIN_E_CANCELED)
        return;
    job->walk.left = 0;
    job->broken = false;
    if (job->status == NA_PLUGIN_OK)
        job->status = status;
    if (job->flying == 0)
        end_job(ep, job);
}

void
ofi_rma_cancel(struct ofi_endpoint *ep, struct ofi_op *op)
{
    stop(ep, op->job, NA_PLUGIN_E_CANCELED);
}

void
ofi_rma_lose(struct ofi_endpoint *ep, struct ofi_peer *peer, int32_t status)
{
    struct tp_link *next = NULL;

    peer->blocked = false;
    for (struct tp_link *link = peer->jobs.head; link != NULL; link = next) {
        next = link->next;
        stop(ep, TP_OBJECT(link, struct ofi_job, by_peer), status);
    }
    if (peer->jobs.head != NULL)
        OFI_QUIRKS_CALL(ep, peer_lost, ep);
}

/* Those of a context that is being destroyed: whether libfabric still has some. */
static bool
orphan(na_plugin_ctx *ctx)
{
    struct ofi_endpoint *ep = ctx->ep;
    struct tp_link *link = NULL;
    bool flying = false;

    while ((link = tp_list_pop(&ctx->flying)) != NULL)
        tp_list_append(&ep->orphans, link);
    while (ctx->jobs.head != NULL) {
        struct ofi_job *job = TP_OBJECT(ctx->jobs.head, struct ofi_job, by_ctx);
        job->walk.left = 0;
        job->broken = false;
        job->status = NA_PLUGIN_E_CANCELED;
        if (job->flying == 0) {
            end_job(ep, job);
            continue;
        }
        flying = true;
        tp_list_remove(&ctx->jobs, &job->by_ctx);
        tp_list_remove(&job->peer->jobs, &job->by_peer);
        ctx->events.promised--;
        job->op = NULL;
    }
    return flying;
}

void
ofi_rma_abandon(na_plugin_ctx *ctx, bool settled)
{
    struct ofi_endpoint *ep = ctx->ep;
    bool flying = orphan(ctx);

    if (flying)
        OFI_QUIRKS_CALL(ep, abort_rma, ep, ctx->rma_ep);
    if (ctx->rma_ep != NULL)
        ofi_quirk_close_endpoint(ep, ctx->rma_ep, settled);
    ctx->rma_ep = NULL;
}

/* TO ONESELF: copied, a slice in each poll */

#define SLICE (1U << 20)

static void
copy_slice(struct ofi_job *job, const na_plugin_mem *own)
{
    uint64_t slice = ofi_least(job->walk.left, SLICE);
    struct tp_walk walk = job->walk;
    struct tp_part part;

    walk.far = own->segments;
    walk.left = slice;
    while (tp_walk_next(&walk, &part)) {
        void *there = (void *) (uintptr_t) part.there;
        memmove(job->put ? there : part.here, job->put ? part.here : there,
            part.length);
    }
    job->walk.near_offset += slice;
    job->walk.far_offset += slice;
    job->walk.left -= slice;
}

void
ofi_rma_copy(struct ofi_endpoint *ep)
{
    struct ofi_job *job = TP_OBJECT(ep->copying.head, struct ofi_job, by_peer);

    /* held during the slice: what is copied stays registered */
    tp_mutex_take(&ep->cls->memory_lock);
    const na_plugin_mem *own = ofi_mem_own(ep->cls, job->remote);
    if (own != NULL)
        copy_slice(job, own);
    else {
        job->status = NA_PLUGIN_E_PERMISSION;
        job->walk.left = 0;
    }
    tp_mutex_drop(&ep->cls->memory_lock);
    if (job->walk.left == 0)
        end_job(ep, job);
}
