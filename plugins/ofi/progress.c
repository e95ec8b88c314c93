/* SPDX-License-Identifier: BSD-3-Clause */
/* One queue of completions serves the contexts of an endpoint; a poll of one
 * polls for all of them. */
#include <string.h>
#include <sys/epoll.h>

#include "common/system.h"
#include "cross.h"
#include "dispatch.h"
#include "endpoints.h"
#include "fabric.h"
#include "liveness.h"
#include "match.h"
#include "ofi.h"
#include "op.h"
#include "peer.h"
#include "progress.h"
#include "queue.h"
#include "quirk.h"
#include "receive.h"
#include "rma.h"
#include "send.h"

#define ROUNDS 4U /* batches of a poll that bring nothing to report */
#define TURNS 8U  /* polls of an endpoint between two of the first one */

/* What there is between the endpoints of a class. */
static void
exchange(struct ofi_endpoint *ep)
{
    if (!ofi_cross_is_empty(ep))
        ofi_dispatch_cross(ep);
    if (ep->detained.head != NULL)
        ofi_forward_retry(ep);
    if (ep->held.head != NULL)
        ofi_match_retry(ep);
}

/* Reads completions, and does what else is due. [lock] */
static inline void
advance(struct ofi_endpoint *ep, const na_plugin_ctx *ctx)
{
    if (__builtin_expect(ep->cls->multi_endpoint, 0))
        exchange(ep);
    for (uint32_t i = 0; (ctx == NULL || ctx->events.count == 0) && i < ROUNDS;
         i++)
        if (ofi_queue_read(ep) == 0)
            break;
    if (ep->unposted.head != NULL)
        ofi_rx_retry(ep);
    if (ep->copying.head != NULL)
        ofi_rma_copy(ep);
    if (__builtin_expect(ep->looks != 0, 0))
        ofi_peer_evict(ep);
    if (ep->due || ++ep->quirk_polls >= OFI_QUIRK_RARE)
        ofi_quirk_work(ep);
    ofi_liveness_work(ep);
}

/* For how many ns nothing is due; 0: it is now. [lock] */
static uint64_t
time_to_sleep(struct ofi_endpoint *ep)
{
    uint64_t sleep_ns =
        ofi_least(ofi_liveness_sleep(ep), ofi_quirk_sleep_limit(ep));
    bool soon = ep->detained.head != NULL ||
                (ep->held.head != NULL && ep->cls->multi_endpoint);

    return (soon || ep->naps) && sleep_ns > TP_MS ? TP_MS : sleep_ns;
}

static void
advance_other(struct ofi_endpoint *ep, bool vacant)
{
    if (!tp_mutex_try(&ep->lock))
        return;
    if (!vacant || ep->contexts[ep->index] == NULL)
        advance(ep, NULL);
    tp_mutex_drop(&ep->lock);
}

/* Advances the first endpoint, and those without a context, unless another
 * thread does just now. Without a lock. */
static __attribute__((noinline)) void
help(struct ofi_endpoint *ep)
{
    const na_plugin_class *cls = ep->cls;

    if (!ofi_is_first(ep))
        advance_other(cls->first, false);
    for (uint32_t i = 1; ofi_endpoints_vacant(cls) != 0 && i < OFI_CONTEXTS;
         i++) {
        struct ofi_endpoint *other = ofi_endpoint_of(cls, i);
        if (other != NULL)
            advance_other(other, true);
    }
}

/* A context is polled; it advances what belongs to the class as well, now and then,
 * or each time if it is the one that wakes for it. */
static void
attend(struct ofi_endpoint *ep, bool guards)
{
    if (ofi_is_first(ep)) {
        uint32_t polls =
            atomic_load_explicit(&ep->cls->attended, memory_order_relaxed);
        atomic_store_explicit(
            &ep->cls->attended, polls + 1, memory_order_relaxed);
    }
    if (++ep->turns < TURNS && !guards)
        return;
    ep->turns = 0;
    help(ep);
}

int32_t
ofi_progress_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    struct ofi_endpoint *ep = ctx->ep;

    if (ep->cls->multi_endpoint)
        attend(ep, ctx->guards);
    if (ctx->armed)
        tp_mutex_take(&ep->lock);
    else if (!tp_mutex_try_politely(&ep->lock))
        return 0;
    if (ctx->armed)
        ofi_cross_disarm(ctx);
    advance(ep, ctx);
    uint32_t count = tp_events_take(&ctx->events, events, max);
    tp_mutex_drop(&ep->lock);
    return (int32_t) count;
}

int32_t
ofi_progress_cancel(na_plugin_ctx *ctx, void *operation)
{
    struct ofi_endpoint *ep = ctx->ep;
    struct ofi_op *op = operation;

    tp_mutex_take(&ep->lock);
    if (op->state == OFI_OP_POSTED && op->ctx == ctx)
        switch (op->kind) {
        case OFI_OP_SEND:
            ofi_send_cancel(ctx, op);
            break;
        case OFI_OP_RMA:
            ofi_rma_cancel(ep, op);
            break;
        default:
            ofi_match_cancel(op, NA_PLUGIN_E_CANCELED);
            break;
        }
    tp_mutex_drop(&ep->lock);
    return NA_PLUGIN_OK;
}

/* SLEEPING: all that completes does so under the endpoint's lock. What does not show
 * on libfabric's descriptors, as another thread took it, sets the wake-up. */

/* After which a context that sleeps looks whether the first one is still polled, and after endpoints without a context. */
#define LOOK_NS (250 * TP_MS)

/* Whether the first context was polled since this one looked last. */
static bool
is_attended(na_plugin_ctx *ctx)
{
    uint32_t attended =
        atomic_load_explicit(&ctx->ep->cls->attended, memory_order_relaxed);
    bool polled = attended != ctx->attended;

    ctx->attended = attended;
    return polled;
}

static void
set_guard(na_plugin_ctx *ctx, bool guards)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (ctx->guards != guards &&
        epoll_ctl(ctx->wake.fd, guards ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
            ctx->ep->cls->first->wait_fd, &event) == 0)
        ctx->guards = guards;
}

/* Before a context of another endpoint sleeps: makes it wake for the first endpoint
 * too if nothing else does. Sleeps for at most *sleep_ns_p, which it may shorten.
 * False: it has to poll. [lock] */
static bool
guard(na_plugin_ctx *ctx, uint64_t *sleep_ns_p)
{
    struct ofi_endpoint *first = ctx->ep->cls->first;
    uint64_t sleep_ns = LOOK_NS;
    bool quiet = true;

    if (ofi_endpoints_vacant(first->cls) != 0 && LOOK_NS < *sleep_ns_p)
        *sleep_ns_p = LOOK_NS;
    if (ctx->ep == first)
        return true;
    tp_mutex_take(&first->lock);
    set_guard(ctx, !is_attended(ctx));
    if (ctx->guards) {
        advance(first, NULL);
        quiet = first->copying.head == NULL && ofi_waitset_try(first);
        if (quiet)
            sleep_ns = time_to_sleep(first);
        quiet = quiet && sleep_ns != 0;
    }
    tp_mutex_drop(&first->lock);
    if (sleep_ns < *sleep_ns_p)
        *sleep_ns_p = sleep_ns;
    return quiet;
}

static int32_t
descriptor(na_plugin_ctx *ctx)
{
    return ctx->wake.fd;
}

static int32_t
arm(na_plugin_ctx *ctx, uint64_t *sleep_ns_p)
{
    struct ofi_endpoint *ep = ctx->ep;
    bool multi = ep->cls->multi_endpoint;
    uint64_t sleep_ns = 0;

    tp_mutex_take(&ep->lock);
    ctx->armed = true;
    bool quiet = !multi || ofi_cross_arm(ctx);
    /* what other threads completed within their submissions */
    while (ctx->events.count == 0 && ofi_queue_read(ep) != 0)
        ;
    if (quiet && ctx->events.count == 0 && ep->copying.head == NULL &&
        ofi_waitset_try(ep))
        sleep_ns = time_to_sleep(ep);
    if (sleep_ns != 0 && multi && !guard(ctx, &sleep_ns))
        sleep_ns = 0;
    if (sleep_ns == 0)
        ofi_cross_disarm(ctx);
    tp_mutex_drop(&ep->lock);

    if (sleep_ns == 0)
        return NA_PLUGIN_DONE;
    *sleep_ns_p = sleep_ns;
    return NA_PLUGIN_OK;
}

const na_plugin_wait ofi_wait = {
    .size = sizeof(ofi_wait),
    .fd = descriptor,
    .arm = arm,
};
