/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a context, and its ready list. */
#include <inttypes.h>
#include <stdlib.h>

#include "address.h"
#include "context.h"
#include "help.h"
#include "match.h"
#include "queue.h"
#include "ready.h"
#include "rma.h"
#include "wait.h"

/* The structure for number id: the one of a context that is gone, or a new one,
 * which stays until the class goes. */
static na_plugin_ctx *
obtain(na_plugin_class *cls, uint32_t id)
{
    na_plugin_ctx *ctx = sm_class_context(cls, id);
    if (ctx != NULL)
        return ctx;

    ctx = aligned_alloc(64, (sizeof(*ctx) + 63) & ~(size_t) 63);
    if (ctx == NULL)
        return NULL;
    *ctx = (na_plugin_ctx){.cls = cls, .id = id, .wait_fd = -1, .bell = -1};
    tp_lock_init(&ctx->lock, cls->single);
    tp_lock_init(&ctx->rma_lock, cls->single);
    return ctx;
}

int32_t
sm_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    if (id >= SM_CONTEXTS) {
        TP_LOG(cls->host, ERROR, "context %" PRIu32 " of %u", id, SM_CONTEXTS);
        return NA_PLUGIN_E_OVERFLOW;
    }

    na_plugin_ctx *ctx = obtain(cls, id);
    if (ctx == NULL)
        return NA_PLUGIN_E_NOMEM;

    int32_t ret = NA_PLUGIN_E_EXIST;
    tp_lock_take(&ctx->lock);
    if (ctx->alive)
        goto drop_lock;
    ret = sm_match_init(ctx);
    if (ret != NA_PLUGIN_OK)
        goto drop_lock;
    ret = sm_wait_init(ctx);
    if (ret != NA_PLUGIN_OK)
        goto fini_match;
    ctx->alive = true;
    tp_lock_drop(&ctx->lock);

    /* release: pairs with the acquire in sm_class_context */
    atomic_store_explicit(&cls->contexts[id], ctx, memory_order_release);
    *ctx_p = ctx;
    return NA_PLUGIN_OK;

fini_match:
    sm_match_fini(ctx);
drop_lock:
    tp_lock_drop(&ctx->lock);
    if (sm_class_context(cls, id) == NULL)
        free(ctx);
    if (ret == NA_PLUGIN_E_EXIST)
        TP_LOG(cls->host, ERROR, "context %" PRIu32 " exists", id);
    return ret;
}

void
sm_ctx_destroy(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    struct sm_list orphans = {NULL, NULL};

    /* with these no poll and no slice of another context is at work */
    tp_lock_take(&cls->progress);
    sm_rma_abandon(ctx);
    sm_help_abandon(ctx);
    sm_queue_abandon(ctx);
    sm_wait_fini(ctx);

    tp_lock_take(&ctx->lock);
    ctx->alive = false;
    struct sm_link *link;
    while ((link = sm_list_pop(&ctx->ready)) != NULL) {
        struct sm_op *op = (struct sm_op *) link;
        if (op->result.source != NULL)
            sm_addr_release(cls, op->result.source);
    }
    atomic_store_explicit(&ctx->notices, 0, memory_order_relaxed);
    sm_match_fini(ctx);
    orphans = ctx->held;
    ctx->held = (struct sm_list){NULL, NULL};
    for (link = orphans.head; link != NULL; link = link->next)
        sm_op_set((struct sm_op *) link, SM_OP_READY);
    tp_lock_drop(&ctx->lock);

    /* sends of other contexts to this one */
    sm_ctx_finish_all(&orphans, NA_PLUGIN_E_HOSTUNREACH);
    tp_lock_drop(&cls->progress);
}
