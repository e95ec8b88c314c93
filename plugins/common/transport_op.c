/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations, from their submission to their one final event. */
#include "common/transport_private.h"

bool
tp_op_begin(struct tp_op *op, na_plugin_ctx *ctx, enum tp_op_kind kind,
    struct tp_list *list)
{
    if (!tp_events_promise(&ctx->events))
        return false;
    op->kind = kind;
    op->submitting = true;
    op->ctx = ctx;
    op->list = list;
    op->packet.list = NULL;
    tp_list_append(&ctx->pending, &op->pending);
    if (list != NULL)
        tp_list_append(list, &op->link);
    return true;
}

/* Events that another thread, or another context's poll, has made for one that
 * sleeps show on no descriptor of the network's. */
static void
rouse(na_plugin_ctx *ctx)
{
    const na_plugin_host *host = ctx->transport->host;

    if (ctx->armed)
        tp_wake_set(&ctx->wake);
    else if (ctx->wake.fd < 0 && !ctx->polling)
        host->wake(host, ctx->core_ctx);
}

/* One that ends within its submission has no event: see tp_op_submitted. */
void
tp_op_report(struct tp_op *op, const na_plugin_event *event)
{
    na_plugin_ctx *ctx = op->ctx;

    tp_list_remove(&ctx->pending, &op->pending);
    if (op->list != NULL)
        tp_list_remove(op->list, &op->link);
    op->kind = TP_OP_IDLE;
    op->status = event->status;
    if (op->submitting) {
        op->submitting = false;
        ctx->events.promised--;
        return;
    }
    tp_events_emit(&ctx->events, event);
    rouse(ctx);
}

void
tp_op_end(struct tp_op *op, int32_t status)
{
    tp_op_report(op, &(na_plugin_event){.op = op, .status = status});
}

int32_t
tp_op_submitted(struct tp_op *op)
{
    if (op->submitting) {
        op->submitting = false;
        return NA_PLUGIN_PENDING;
    }
    return op->status == NA_PLUGIN_OK ? NA_PLUGIN_DONE : op->status;
}
