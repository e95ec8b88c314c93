/* SPDX-License-Identifier: BSD-3-Clause */
/* Marking rings so that their producers look for sleepers. */
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "context.h"
#include "sleepers.h"

/* Producers look for sleepers for so long after the last sleep: that costs them
 * an atomic access for each message, and its begin a membarrier. */
#define WATCH_NS 1000000U

bool
sm_sleepers_register(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0,
               0) == 0;
}

/* A full fence here, and on every processor that runs a registered process. */
static void
fence_everywhere(const na_plugin_class *cls)
{
    if (cls->membarrier && cls->conns != NULL)
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

void
sm_sleepers_watch(na_plugin_class *cls)
{
    if (cls->watched)
        return;
    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next)
        if (conn->state == SM_CONN_UP)
            sm_ring_watch(&conn->rx, true);
    cls->watched = true;
    fence_everywhere(cls);
}

void
sm_sleepers_pass_on(na_plugin_class *cls, const struct sm_conn *conn)
{
    na_plugin_ctx *ctx;

    if (cls->sleepers == 0)
        return;
    for (uint32_t i = 0; (ctx = sm_class_next(cls, &i)) != NULL;) {
        if (!atomic_load_explicit(&ctx->bits_set, memory_order_relaxed) ||
            sm_ring_has_sleeper(&conn->rx, ctx->id))
            continue;
        tp_lock_take(&ctx->lock);
        sm_ctx_wake(ctx);
        tp_lock_drop(&ctx->lock);
    }
}

void
sm_sleepers_look(na_plugin_class *cls, uint64_t now)
{
    if (cls->slept || cls->sleepers != 0) {
        cls->slept = false;
        cls->unwatch_ns = now + WATCH_NS;
    } else if (cls->watched && now >= cls->unwatch_ns) {
        cls->watched = false;
        for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next)
            if (conn->state == SM_CONN_UP)
                sm_ring_watch(&conn->rx, false);
    }
}

void
sm_sleepers_tell(na_plugin_class *cls, struct sm_conn *conn)
{
    na_plugin_ctx *ctx;

    if (!cls->watched)
        return;
    sm_ring_watch(&conn->rx, true);
    for (uint32_t i = 0; (ctx = sm_class_next(cls, &i)) != NULL;)
        if (atomic_load_explicit(&ctx->bits_set, memory_order_relaxed))
            sm_ring_set_sleeper(&conn->rx, ctx->id);
    fence_everywhere(cls);
}
