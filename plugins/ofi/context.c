/* SPDX-License-Identifier: BSD-3-Clause */
/* A context has an endpoint of libfabric's of its own for puts and gets, since only closing it takes memory back from the
 * device. */
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "barrier.h"
#include "context.h"
#include "ctx.h"
#include "endpoints.h"
#include "event.h"
#include "inbox.h"
#include "match.h"
#include "ofi.h"
#include "quirk.h"
#include "rma.h"
#include "send.h"
#include "wake.h"

static int32_t
create(
    struct ofi_endpoint *ep, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    na_plugin_ctx *ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL)
        return NA_PLUGIN_E_NOMEM;
    ctx->ep = ep;
    ctx->id = id;
    ctx->core = core_ctx;
    ctx->wait_fd = ctx->bell = -1;
    if (tp_table_init(&ctx->posted) != NA_PLUGIN_OK)
        goto free_ctx;
    if (tp_table_init(&ctx->kept) != NA_PLUGIN_OK)
        goto free_posted;
    if (!ofi_events_init(ctx))
        goto free_kept;
    if (ofi_wake_init(ctx) != NA_PLUGIN_OK)
        goto free_ready;

    tp_lock_take(&ep->lock);
    ep->contexts[id] = ctx;
    ep->context_count++;
    tp_lock_drop(&ep->lock);
    *ctx_p = ctx;
    return NA_PLUGIN_OK;

free_ready:
    free(ctx->ready);
free_kept:
    tp_table_fini(&ctx->kept);
free_posted:
    tp_table_fini(&ctx->posted);
free_ctx:
    free(ctx);
    TP_LOG(ep->cls->host, ERROR, "no memory or descriptors for context %u", id);
    return NA_PLUGIN_E_NOMEM;
}

int32_t
ofi_ctx_create(
    struct ofi_endpoint *ep, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    if (ep->contexts[id] != NULL) {
        TP_LOG(ep->cls->host, ERROR, "context %u is there already", id);
        return NA_PLUGIN_E_EXIST;
    }
    int32_t ret = create(ep, id, core_ctx, ctx_p);
    if (ret == NA_PLUGIN_OK && !ofi_is_first(ep))
        ofi_endpoint_taken(ep);
    return ret;
}

void
ofi_ctx_destroy(na_plugin_ctx *ctx)
{
    struct ofi_endpoint *ep = ctx->ep;
    bool settled = ctx->rma_ep == NULL || ofi_quirk_settle(ep, true);

    tp_lock_take(&ep->lock);
    if (ctx->armed)
        ofi_wake_disarm(ctx);
    if (ep->cls->first->cls->apart)
        ofi_inbox_clear(ep);
    if (ep->context_count == 1)
        ofi_barrier_flush(ep);
    ofi_send_abandon(ctx);
    ofi_rma_abandon(ctx, settled);
    ofi_match_abandon(ctx);
    ep->contexts[ctx->id] = NULL;
    ep->context_count--;
    for (uint32_t i = 0; i < ctx->ready_count; i++) {
        na_plugin_event *event =
            &ctx->ready[(ctx->ready_first + i) & (ctx->ready_size - 1)];
        if (event->source == NULL)
            continue;
        if (ofi_is_first(ep))
            ofi_addr_drop(ep, event->source);
        else
            ofi_addr_release(ep->cls->first, event->source);
    }
    tp_lock_drop(&ep->lock);

    ofi_wake_fini(ctx);
    tp_table_fini(&ctx->posted);
    tp_table_fini(&ctx->kept);
    free(ctx->ready);
    free(ctx);
    if (!ofi_is_first(ep))
        ofi_endpoint_vacated(ep);
}
