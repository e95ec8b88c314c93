/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts: their operations and events, and polling. */
#include <inttypes.h>
#include <stdlib.h>

#include "engine.h"
#include "message.h"
#include "op.h"
#include "peer.h"

bool
nampi_op_begin(na_plugin_ctx *ctx, struct nampi_op *op)
{
    op->ctx = ctx;
    return tp_events_promise(&ctx->events);
}

void
nampi_op_report(struct nampi_op *op, const na_plugin_event *event)
{
    na_plugin_ctx *ctx = op->ctx;
    const na_plugin_host *host = ctx->cls->host;

    op->state = NAMPI_IDLE;
    tp_events_emit(&ctx->events, event);
    if (ctx->cls->engine->polling != ctx)
        host->wake(host, ctx->core_ctx);
}

void
nampi_op_end(struct nampi_op *op, int32_t status)
{
    const na_plugin_event event = {.op = op, .status = status};

    nampi_op_withdraw(op);
    nampi_op_report(op, &event);
}

void
nampi_op_withdraw(struct nampi_op *op)
{
    na_plugin_ctx *ctx = op->ctx;

    switch (op->state) {
    case NAMPI_IDLE:
        return;
    case NAMPI_RECEIVES_UNEXPECTED:
    case NAMPI_RECEIVES_EXPECTED:
        tp_match_unpost(
            &ctx->match, &op->recv, op->state == NAMPI_RECEIVES_UNEXPECTED);
        break;
    case NAMPI_WAITS_CREDIT:
        tp_list_remove(&op->peer->uncredited, &op->queued);
        break;
    case NAMPI_WAITS:
        tp_list_remove(&op->peer->waiting, &op->queued);
        break;
    case NAMPI_TRANSFERS_MORE:
        tp_list_remove(&op->peer->transfers, &op->queued);
        /* fall through */
    case NAMPI_TRANSFERS_ALL:
        tp_table_remove(&ctx->cls->transfers, &op->recv.keyed);
        break;
    }
    if (op->state >= NAMPI_WAITS_CREDIT)
        tp_list_remove(&ctx->pending, &op->pending);
    op->state = NAMPI_IDLE;
}

void
nampi_op_fill(struct nampi_op *op, const void *data, uint32_t length,
    uint32_t tag, na_plugin_addr *source)
{
    na_plugin_event event;

    if (!tp_match_fill(&op->recv, data, length, tag, op, source, &event))
        TP_LOG(op->ctx->cls->host, INFO,
            "message of %" PRIu32 " bytes for a receive of %" PRIu64, length,
            op->recv.length);
    else if (source != NULL)
        tp_addr_hold(&source->addr, false);
    tp_count(&op->ctx->cls->counters.received, 1);
    nampi_op_report(op, &event);
}

int32_t
nampi_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    struct nampi_engine *engine = ctx->cls->engine;

    tp_lock_take_politely(&nampi_lock);
    engine->polling = ctx;
    bool alive = nampi_engine_progress(engine);
    if (ctx->cls->silent.head != NULL)
        nampi_peers_expire(ctx->cls);
    engine->polling = NULL;
    int32_t count = (int32_t) tp_events_take(&ctx->events, events, max);
    tp_lock_drop(&nampi_lock);
    return count != 0 || alive ? count : NA_PLUGIN_E_IO_ERROR;
}

int32_t
nampi_cancel(na_plugin_ctx *ctx, void *op_)
{
    struct nampi_op *op = op_;

    tp_lock_take(&nampi_lock);
    if (op->state != NAMPI_IDLE)
        nampi_op_end(op, NA_PLUGIN_E_CANCELED);
    tp_lock_drop(&nampi_lock);
    return NA_PLUGIN_OK;
}

/* A context that has no tables yet. OVERFLOW, EXIST, NOMEM. */
static int32_t
enter(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;

    if (cls->contexts[ctx->id] != NULL) {
        TP_LOG(cls->host, ERROR, "context %" PRIu32 " exists", ctx->id);
        return NA_PLUGIN_E_EXIST;
    }
    int32_t ret = nampi_recv_init(ctx);
    if (ret == NA_PLUGIN_OK)
        cls->contexts[ctx->id] = ctx;
    return ret;
}

int32_t
nampi_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    if (id >= NAMPI_CONTEXTS) {
        TP_LOG(
            cls->host, ERROR, "context %" PRIu32 " of %u", id, NAMPI_CONTEXTS);
        return NA_PLUGIN_E_OVERFLOW;
    }
    na_plugin_ctx *ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL)
        return NA_PLUGIN_E_NOMEM;
    ctx->cls = cls;
    ctx->id = id;
    ctx->core_ctx = core_ctx;
    tp_lock_take(&nampi_lock);
    int32_t ret = enter(ctx);
    tp_lock_drop(&nampi_lock);
    if (ret != NA_PLUGIN_OK)
        free(ctx);
    else
        *ctx_p = ctx;
    return ret;
}

static void
drop_events(na_plugin_ctx *ctx)
{
    na_plugin_event event;

    while (tp_events_take(&ctx->events, &event, 1) != 0)
        if (event.source != NULL)
            nampi_peer_release(event.source);
    tp_events_fini(&ctx->events);
}

void
nampi_ctx_destroy(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    struct nampi_engine *engine = cls->engine;

    tp_lock_take(&nampi_lock);
    while (ctx->pending.head != NULL)
        nampi_op_withdraw(
            TP_OBJECT(ctx->pending.head, struct nampi_op, pending));
    engine->polling = ctx;
    nampi_engine_let_out(cls);
    cls->contexts[ctx->id] = NULL;
    nampi_recv_fini(ctx);
    engine->polling = NULL;
    drop_events(ctx);
    tp_lock_drop(&nampi_lock);
    free(ctx);
}
