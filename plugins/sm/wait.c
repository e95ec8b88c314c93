/* SPDX-License-Identifier: BSD-3-Clause */
/* Arming: tell every peer that this context sleeps, then look whether anything
 * came meanwhile. ring.h (sm_ring_watched) says why no wake-up is lost. */
#include <errno.h>
#include <string.h>

#include "assist_owner.h"
#include "conn.h"
#include "deliver.h"
#include "emulated_rma.h"
#include "kernel.h"
#include "packet.h"
#include "queue.h"
#include "rma.h"
#include "sleepers.h"
#include "wait.h"
#include "work.h"

int32_t
sm_wait_init(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;

    ctx->wake = TP_WAKE_NONE;
    if (cls->no_block ||
        tp_wake_init(&ctx->wake, &cls->epoll, 1) == NA_PLUGIN_OK)
        return NA_PLUGIN_OK;
    TP_LOG(cls->host, ERROR, "context %u: no descriptors: %s", ctx->id,
        strerror(errno));
    return NA_PLUGIN_E_NOMEM;
}

/* Clears the context's bit in all rings, so that their producers send no more
 * wake-ups, and takes those that they have sent; whether there were any.
 * [progress] */
static bool
clear_bits(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    bool woken = false;

    if (!atomic_load_explicit(&ctx->bits_set, memory_order_relaxed))
        return false;
    atomic_store_explicit(&ctx->bits_set, false, memory_order_relaxed);
    atomic_fetch_sub_explicit(&ctx->pending, 1, memory_order_relaxed);
    cls->sleepers--;
    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next) {
        if (conn->state == SM_CONN_UP &&
            !sm_ring_clear_sleeper(&conn->rx, ctx->id)) {
            woken = true;
            sm_packet_take_wakeup(cls, conn);
        }
    }
    return woken;
}

void
sm_wait_fini(na_plugin_ctx *ctx)
{
    clear_bits(ctx);
    tp_lock_take(&ctx->lock);
    atomic_store_explicit(&ctx->armed, false, memory_order_relaxed);
    tp_wake_fini(&ctx->wake);
    tp_lock_drop(&ctx->lock);
}

void
sm_wait_disarm(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;

    tp_lock_take(&ctx->lock);
    atomic_store_explicit(&ctx->armed, false, memory_order_relaxed);
    tp_wake_clear(&ctx->wake);
    tp_lock_drop(&ctx->lock);

    /* else in the next poll: a bit that stays set costs a wake-up */
    if (tp_lock_try(&cls->progress)) {
        /* the kernel tells what else has ended the sleep */
        if (!clear_bits(ctx))
            cls->countdown = 1;
        sm_work_unlock(cls);
    }
}

/* Whether a ring has a message that can be delivered; its connection is then
 * the next poll's to look at. */
static bool
ring_waits(na_plugin_class *cls)
{
    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next) {
        if (conn->state == SM_CONN_UP && sm_deliver_waits(cls, conn)) {
            sm_conn_activate(cls, conn);
            return true;
        }
    }
    return false;
}

/* Tells every producer that this context sleeps. [progress] */
static void
set_bits(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;

    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next)
        if (conn->state == SM_CONN_UP && conn->wakeup_due)
            sm_packet_take_wakeup(cls, conn);
    sm_sleepers_watch(cls);
    cls->slept = true;
    if (!atomic_load_explicit(&ctx->bits_set, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&ctx->pending, 1, memory_order_relaxed);
        cls->sleepers++;
    }
    atomic_store_explicit(&ctx->bits_set, true, memory_order_relaxed);
    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next)
        if (conn->state == SM_CONN_UP)
            sm_ring_set_sleeper(&conn->rx, ctx->id);
}

static int32_t
arm(na_plugin_ctx *ctx, uint64_t *sleep_ns_p)
{
    na_plugin_class *cls = ctx->cls;
    uint64_t sleep_ns = 0;

    tp_lock_take(&cls->progress);
    set_bits(ctx);
    sm_work(cls);
    sm_work_recycle(cls); /* else the peer does not see that it has ended */
    tp_lock_take(&ctx->lock);
    atomic_store_explicit(&ctx->armed, true, memory_order_relaxed);
    bool busy = ctx->ready.head != NULL || ctx->burst.head != NULL;
    tp_lock_drop(&ctx->lock);

    uint64_t queue_ns = sm_queue_arm(cls);
    busy = sm_emulated_arm(cls) || sm_assist_pending(cls) || busy;

    /* the descriptor tells what the kernel has */
    if (!busy && !ring_waits(cls) && !sm_rma_pending(ctx) &&
        !atomic_load_explicit(&cls->refill, memory_order_relaxed)) {
        sleep_ns = sm_kernel_sleep(cls);
        if (queue_ns < sleep_ns)
            sleep_ns = queue_ns;
    }
    tp_lock_drop(&cls->progress);

    if (sleep_ns == 0)
        return NA_PLUGIN_DONE;
    *sleep_ns_p = sleep_ns;
    return NA_PLUGIN_OK;
}

static int32_t
descriptor(na_plugin_ctx *ctx)
{
    return ctx->wake.fd;
}

const na_plugin_wait sm_wait = {
    .size = sizeof(sm_wait),
    .fd = descriptor,
    .arm = arm,
};
