/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts share the class's worker; each has its own receives and events. */
#include <inttypes.h>
#include <stdlib.h>

#include "address.h"
#include "context.h"
#include "progress.h"
#include "recv.h"
#include "wait.h"
#include "work.h"

#define FLUSH_NS TP_SECOND            /* to let out what was sent */
#define FLIGHT_NS UINT64_C(500000000) /* for UCX to end puts and gets */

int32_t
ucx_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    if (id >= UCX_CONTEXTS) {
        TP_LOG(cls->host, ERROR, "context %" PRIu32 ": there are at most %u",
            id, UCX_CONTEXTS);
        return NA_PLUGIN_E_OVERFLOW;
    }
    na_plugin_ctx *ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL)
        return NA_PLUGIN_E_NOMEM;
    ctx->cls = cls;
    ctx->id = id;
    ctx->core_ctx = core_ctx;

    int32_t ret = NA_PLUGIN_E_EXIST;
    tp_mutex_take(&cls->lock);
    if (cls->contexts[id] != NULL) {
        TP_LOG(cls->host, ERROR, "context %" PRIu32 " exists", id);
        goto drop_lock;
    }
    ret = ucx_recv_init(ctx);
    if (ret != NA_PLUGIN_OK)
        goto drop_lock;
    ret = ucx_wait_init(ctx);
    if (ret != NA_PLUGIN_OK)
        goto fini_recv;
    cls->contexts[id] = ctx;
    tp_mutex_drop(&cls->lock);
    *ctx_p = ctx;
    return NA_PLUGIN_OK;

fini_recv:
    ucx_recv_fini(ctx);
drop_lock:
    tp_mutex_drop(&cls->lock);
    free(ctx);
    return ret;
}

/* Takes the operations of a context out of a list. */
static void
strip(struct tp_list *list, const na_plugin_ctx *ctx)
{
    struct tp_link *next;

    for (struct tp_link *link = list->head; link != NULL; link = next) {
        next = link->next;
        if (ucx_op_of_link(link)->ctx == ctx)
            tp_list_remove(list, link);
    }
}

/* Lets go of what is pending on a context, other than receives. */
static void
abandon(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;

    for (struct tp_link *link = cls->conns.head; link != NULL;
         link = link->next) {
        struct ucx_conn *conn = ucx_conn_of(link);
        strip(&conn->queue, ctx);
        strip(&conn->rma, ctx);
        strip(&conn->rma_sent, ctx);
    }
    for (uint32_t i = 0; i < UCX_CONTEXTS; i++)
        if (cls->contexts[i] != NULL)
            strip(&cls->contexts[i]->match.held, ctx);
}

/* Whether UCX has puts and gets of a context on some of these connections, which
 * then fail if fail says so. */
static bool
flies(const struct tp_list *conns, const na_plugin_ctx *ctx, bool fail)
{
    bool any = false;

    for (struct tp_link *link = conns->head; link != NULL; link = link->next) {
        struct ucx_conn *conn = ucx_conn_of(link);
        bool own = false;
        for (struct tp_link *at = conn->flying.head; at != NULL && !own;
             at = at->next)
            own = ucx_op_of_link(at)->ctx == ctx;
        if (own && fail)
            ucx_conn_fail(conn, NA_PLUGIN_E_HOSTUNREACH);
        any = any || own;
    }
    return any;
}

/* Waits until UCX has nothing of a context; fails connections that take long. */
static void
end_flights(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    uint64_t begun_ns = tp_now();

    while (flies(&cls->conns, ctx, false) || flies(&cls->closed, ctx, false)) {
        if (tp_now() - begun_ns > FLIGHT_NS)
            flies(&cls->conns, ctx, true);
        ucx_progress_once(cls);
    }
}

static void
drop_events(na_plugin_ctx *ctx)
{
    na_plugin_event event;

    while (tp_events_take(&ctx->events, &event, 1) != 0)
        if (event.source != NULL)
            ucx_addr_release(ctx->cls, event.source);
    tp_events_fini(&ctx->events);
}

void
ucx_ctx_destroy(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;

    tp_mutex_take(&cls->lock);
    abandon(ctx);
    end_flights(ctx);
    ucx_progress_flush(cls, FLUSH_NS);
    abandon(ctx);
    ucx_wait_fini(ctx);
    cls->contexts[ctx->id] = NULL;
    ucx_recv_fini(ctx);
    drop_events(ctx);
    ucx_work(cls);
    tp_mutex_drop(&cls->lock);
    free(ctx);
}
