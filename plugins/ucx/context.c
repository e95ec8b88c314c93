/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts share the class's worker; each has its own receives and results. */
#include <inttypes.h>
#include <stdlib.h>

#include "address.h"
#include "conn.h"
#include "context.h"
#include "match.h"
#include "progress.h"
#include "rma.h"
#include "send.h"

#define FLUSH_NS UINT64_C(1000000000) /* to let out what was sent */

int32_t
ucx_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    if (id >= UCX_CONTEXTS) {
        UCX_LOG(
            cls->host, ERROR, "context %" PRIu32 " of %u", id, UCX_CONTEXTS);
        return NA_PLUGIN_E_OVERFLOW;
    }
    na_plugin_ctx *ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL)
        return NA_PLUGIN_E_NOMEM;
    ctx->cls = cls;
    ctx->id = id;
    ctx->core_ctx = core_ctx;

    int32_t ret = NA_PLUGIN_E_EXIST;
    ucx_lock_take(&cls->lock);
    if (cls->contexts[id] != NULL) {
        UCX_LOG(cls->host, ERROR, "context %" PRIu32 " exists", id);
        goto drop_lock;
    }
    ret = ucx_match_init(ctx);
    if (ret != NA_PLUGIN_OK)
        goto drop_lock;
    ret = ucx_wait_init(ctx);
    if (ret != NA_PLUGIN_OK)
        goto fini_match;
    cls->contexts[id] = ctx;
    ucx_lock_drop(&cls->lock);
    *ctx_p = ctx;
    return NA_PLUGIN_OK;

fini_match:
    ucx_match_fini(ctx);
drop_lock:
    ucx_lock_drop(&cls->lock);
    free(ctx);
    return ret;
}

/* Takes the operations of a context out of a list. */
static void
strip(struct ucx_list *list, const na_plugin_ctx *ctx)
{
    struct ucx_link *next;

    for (struct ucx_link *link = list->head; link != NULL; link = next) {
        next = link->next;
        if (((struct ucx_op *) link)->ctx == ctx)
            ucx_list_remove(list, link);
    }
}

/* Lets go of what is pending on a context, other than receives. */
static void
abandon(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;

    for (struct ucx_link *link = cls->conns.head; link != NULL;
         link = link->next) {
        struct ucx_conn *conn = (struct ucx_conn *) link;
        strip(&conn->queue, ctx);
        strip(&conn->rma, ctx);
        strip(&conn->rma_sent, ctx);
    }
    strip(&cls->held, ctx);
}

static void
drop_results(na_plugin_ctx *ctx)
{
    struct ucx_link *link;

    while ((link = ucx_list_pop(&ctx->ready)) != NULL) {
        struct ucx_op *op = (struct ucx_op *) link;
        if (op->result.source != NULL)
            ucx_addr_release(ctx->cls, op->result.source);
    }
}

void
ucx_ctx_destroy(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;

    ucx_lock_take(&cls->lock);
    abandon(ctx);
    ucx_rma_end_flights(ctx);
    ucx_progress_flush(cls, FLUSH_NS);
    abandon(ctx);
    ucx_wait_fini(ctx);
    cls->contexts[ctx->id] = NULL;
    ucx_match_fini(ctx);
    drop_results(ctx);
    ucx_conn_work(cls);
    ucx_lock_drop(&cls->lock);
    free(ctx);
}
