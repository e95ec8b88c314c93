/* SPDX-License-Identifier: BSD-3-Clause */
/* A context is one of a class, or the only one of a lane. Each has an endpoint of
 * its own for puts and gets, since only closing it takes memory back from the
 * device. */
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "context.h"
#include "fabric.h"
#include "inbox.h"
#include "lane.h"
#include "match.h"
#include "progress.h"
#include "retire.h"
#include "rma.h"
#include "send.h"
#include "wait.h"

#define READY_FIRST 64U

static bool
make_room(na_plugin_ctx *ctx, uint32_t more)
{
    uint32_t needed = ctx->ready_count + ctx->promised + more;
    if (needed <= ctx->ready_size)
        return true;

    uint32_t size = ctx->ready_size == 0 ? READY_FIRST : ctx->ready_size * 2;
    na_plugin_event *ready = malloc((size_t) size * sizeof(*ready));
    if (ready == NULL)
        return false;
    for (uint32_t i = 0; i < ctx->ready_count; i++)
        ready[i] = ctx->ready[(ctx->ready_first + i) & (ctx->ready_size - 1)];
    free(ctx->ready);
    ctx->ready = ready;
    ctx->ready_size = size;
    ctx->ready_first = 0;
    return true;
}

int32_t
ofi_ctx_promise(na_plugin_ctx *ctx)
{
    if (!make_room(ctx, 1))
        return NA_PLUGIN_E_NOMEM;
    ctx->promised++;
    return NA_PLUGIN_OK;
}

static void
append(na_plugin_ctx *ctx, const na_plugin_event *event)
{
    uint32_t index =
        (ctx->ready_first + ctx->ready_count++) & (ctx->ready_size - 1);
    ctx->ready[index] = *event;
    if (ctx->armed)
        ofi_wait_rouse(ctx);
}

void
ofi_ctx_emit(na_plugin_ctx *ctx, const na_plugin_event *event)
{
    struct ofi_op *op = event->op;

    op->state = OFI_OP_IDLE;
    ctx->promised--;
    append(ctx, event);
}

void
ofi_ctx_end(na_plugin_ctx *ctx, struct ofi_op *op, int32_t status)
{
    ofi_ctx_emit(ctx, &(na_plugin_event){.op = op, .status = status});
}

bool
ofi_ctx_emit_more(na_plugin_ctx *ctx, const na_plugin_event *event)
{
    if (!make_room(ctx, 1))
        return false;
    append(ctx, event);
    return true;
}

uint32_t
ofi_ctx_take(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    uint32_t count = ctx->ready_count < max ? ctx->ready_count : max;

    for (uint32_t i = 0; i < count; i++)
        events[i] = ctx->ready[(ctx->ready_first + i) & (ctx->ready_size - 1)];
    ctx->ready_first = (ctx->ready_first + count) & (ctx->ready_size - 1);
    ctx->ready_count -= count;
    return count;
}

static int32_t
create(na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    na_plugin_ctx *ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL)
        return NA_PLUGIN_E_NOMEM;
    ctx->cls = cls;
    ctx->id = id;
    ctx->core = core_ctx;
    ctx->wait_fd = ctx->bell = -1;
    if (!ofi_table_init(&ctx->posted))
        goto free_ctx;
    if (!ofi_table_init(&ctx->kept))
        goto free_posted;
    if (!make_room(ctx, READY_FIRST))
        goto free_kept;
    if (ofi_wait_init(ctx) != NA_PLUGIN_OK)
        goto free_ready;

    ofi_lock_take(&cls->lock);
    cls->contexts[id] = ctx;
    cls->context_count++;
    ofi_lock_drop(&cls->lock);
    *ctx_p = ctx;
    return NA_PLUGIN_OK;

free_ready:
    free(ctx->ready);
free_kept:
    ofi_table_fini(&ctx->kept);
free_posted:
    ofi_table_fini(&ctx->posted);
free_ctx:
    free(ctx);
    OFI_LOG(cls->host, ERROR, "no memory or descriptors for context %u", id);
    return NA_PLUGIN_E_NOMEM;
}

int32_t
ofi_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    if (id >= cls->context_max) {
        OFI_LOG(cls->host, ERROR, "context %u: there are at most %u", id,
            cls->context_max);
        return NA_PLUGIN_E_OVERFLOW;
    }
    int32_t ret =
        cls->apart && id != 0 ? ofi_lane_open(cls, id, &cls) : NA_PLUGIN_OK;
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (cls->contexts[id] != NULL) {
        OFI_LOG(cls->host, ERROR, "context %u is there already", id);
        return NA_PLUGIN_E_EXIST;
    }
    ret = create(cls, id, core_ctx, ctx_p);
    if (ret == NA_PLUGIN_OK && cls->main != cls)
        ofi_lane_taken(cls);
    return ret;
}

void
ofi_ctx_destroy(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    bool settled = ctx->rma_ep == NULL || ofi_retire_settle(cls, true);

    ofi_lock_take(&cls->lock);
    if (ctx->armed)
        ofi_wait_disarm(ctx);
    if (cls->main->apart)
        ofi_inbox_clear(cls);
    if (cls->context_count == 1)
        ofi_send_flush(cls);
    ofi_send_abandon(ctx);
    ofi_rma_abandon(ctx, settled);
    ofi_match_abandon(ctx);
    cls->contexts[ctx->id] = NULL;
    cls->context_count--;
    for (uint32_t i = 0; i < ctx->ready_count; i++) {
        na_plugin_event *event =
            &ctx->ready[(ctx->ready_first + i) & (ctx->ready_size - 1)];
        if (event->source == NULL)
            continue;
        if (cls->main == cls)
            ofi_addr_drop(cls, event->source);
        else
            ofi_addr_free(cls->main, event->source);
    }
    ofi_lock_drop(&cls->lock);

    ofi_wait_fini(ctx);
    ofi_table_fini(&ctx->posted);
    ofi_table_fini(&ctx->kept);
    free(ctx->ready);
    free(ctx);
    if (cls->main != cls)
        ofi_lane_vacated(cls);
}
