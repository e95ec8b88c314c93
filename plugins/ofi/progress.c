/* SPDX-License-Identifier: BSD-3-Clause */
/* One queue of completions serves the contexts of an endpoint; whoever polls, polls
 * for all of them. */
#include <string.h>

#include "common/system.h"
#include "cross.h"
#include "dispatch.h"
#include "endpoints.h"
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

void
ofi_progress_advance(struct ofi_endpoint *ep)
{
    advance(ep, NULL);
}

uint64_t
ofi_progress_sleep(struct ofi_endpoint *ep)
{
    uint64_t sleep_ns = ofi_least(ofi_liveness_sleep(ep), ofi_quirk_sleep(ep));
    bool soon = ep->detained.head != NULL ||
                (ep->held.head != NULL && ep->cls->multi_endpoint);

    return (soon || ep->naps) && sleep_ns > TP_MS ? TP_MS : sleep_ns;
}

static void
advance_other(struct ofi_endpoint *ep, bool vacant)
{
    if (!tp_lock_try(&ep->lock))
        return;
    if (!vacant || ep->contexts[ep->index] == NULL)
        ofi_progress_advance(ep);
    tp_lock_drop(&ep->lock);
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
    tp_lock_take_politely(&ep->lock);
    if (ctx->armed)
        ofi_cross_disarm(ctx);
    advance(ep, ctx);
    uint32_t count = tp_events_take(&ctx->events, events, max);
    tp_lock_drop(&ep->lock);
    return (int32_t) count;
}

int32_t
ofi_progress_cancel(na_plugin_ctx *ctx, void *operation)
{
    struct ofi_endpoint *ep = ctx->ep;
    struct ofi_op *op = operation;

    tp_lock_take(&ep->lock);
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
    tp_lock_drop(&ep->lock);
    return NA_PLUGIN_OK;
}
