/* SPDX-License-Identifier: BSD-3-Clause */
/* A context has an endpoint of libfabric's of its own for puts and gets, since
 * only closing it takes memory back from the device. */
#include <stdlib.h>

#include "address.h"
#include "barrier.h"
#include "context.h"
#include "cross.h"
#include "endpoints.h"
#include "match.h"
#include "ofi.h"
#include "op.h"
#include "quirk.h"
#include "rma.h"
#include "send.h"

int32_t
ofi_ctx_create(
    struct ofi_endpoint *ep, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    if (ep->contexts[id] != NULL) {
        TP_LOG(ep->cls->host, ERROR, "context %u is there already", id);
        return NA_PLUGIN_E_EXIST;
    }
    na_plugin_ctx *ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL)
        goto no_memory;
    ctx->ep = ep;
    ctx->id = id;
    ctx->core = core_ctx;
    ctx->wake = TP_WAKE_NONE;
    if (ofi_match_init(ctx) != NA_PLUGIN_OK)
        goto free_ctx;
    if (ep->can_wait &&
        tp_wake_init(&ctx->wake, &ep->wait_fd, 1) != NA_PLUGIN_OK)
        goto fini_match;

    tp_lock_take(&ep->lock);
    ep->contexts[id] = ctx;
    ep->context_count++;
    tp_lock_drop(&ep->lock);
    if (!ofi_is_first(ep))
        ofi_endpoint_taken(ep);
    *ctx_p = ctx;
    return NA_PLUGIN_OK;

fini_match:
    tp_match_fini(&ctx->match);
free_ctx:
    free(ctx);
no_memory:
    TP_LOG(ep->cls->host, ERROR, "no memory or descriptors for context %u", id);
    return NA_PLUGIN_E_NOMEM;
}

void
ofi_ctx_destroy(na_plugin_ctx *ctx)
{
    struct ofi_endpoint *ep = ctx->ep;
    bool settled = ctx->rma_ep == NULL || ofi_quirk_settle(ep, true);
    na_plugin_event event;

    tp_lock_take(&ep->lock);
    if (ctx->armed)
        ofi_cross_disarm(ctx);
    if (ep->cls->multi_endpoint)
        ofi_cross_clear(ep);
    if (ep->context_count == 1)
        ofi_barrier_flush(ep);
    ofi_send_abandon(ctx);
    ofi_rma_abandon(ctx, settled);
    ofi_match_fini(ctx);
    ep->contexts[ctx->id] = NULL;
    ep->context_count--;
    while (tp_events_take(&ctx->events, &event, 1) != 0)
        if (event.source != NULL)
            ofi_addr_release(ep->cls, event.source);
    tp_lock_drop(&ep->lock);

    tp_wake_fini(&ctx->wake);
    tp_events_fini(&ctx->events);
    free(ctx);
    if (!ofi_is_first(ep))
        ofi_endpoint_vacated(ep);
}
