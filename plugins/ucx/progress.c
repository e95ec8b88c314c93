/* SPDX-License-Identifier: BSD-3-Clause */
/* Poll: UCX works, its callbacks fill the contexts' ready lists, and what they
 * have left to be done is done. */
#include <sched.h>
#include <time.h>

#include "conn.h"
#include "context.h"
#include "descriptor.h"
#include "match.h"
#include "progress.h"
#include "rma.h"
#include "send.h"

#define CLOCK_POLLS 256U /* between two looks at the clock */
#define ROUNDS 8U        /* of UCX's work in one poll */

uint64_t
ucx_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

static __attribute__((noinline)) void
look_at_clock(na_plugin_class *cls)
{
    uint64_t now = ucx_now();

    cls->polls = 0;
    if (now - cls->now_ns < UCX_EXPIRE_NS)
        return;
    cls->now_ns = now;
    /* not while connections go on being made */
    if (cls->marks_due != 0 && --cls->marks_due == 0)
        ucx_descriptor_mark_sockets();
    ucx_conn_expire(cls);
}

/* UCX works once; how much it found to do. */
static inline uint32_t
work(na_plugin_class *cls)
{
    uint32_t did = ucp_worker_progress(cls->worker);

    if (cls->failed != NULL || cls->dirty != NULL || cls->closed.head != NULL)
        ucx_conn_work(cls);
    return did;
}

void
ucx_progress_once(na_plugin_class *cls)
{
    work(cls);
    if (++cls->polls >= CLOCK_POLLS)
        look_at_clock(cls);
}

/* Others sleep, and this poll may have read what would have roused them: UCX's
 * descriptor is armed for them again. */
static __attribute__((noinline)) void
arm_for_others(na_plugin_class *cls)
{
    if (ucp_worker_arm(cls->worker) != UCS_OK)
        ucx_wait_stir(cls);
}

static uint32_t
take_ready(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    uint32_t count = 0;

    while (count < max) {
        struct ucx_op *op = (struct ucx_op *) ucx_list_pop(&ctx->ready);
        if (op == NULL)
            break;
        events[count++] = op->result;
        ucx_op_set(op, UCX_OP_IDLE);
    }
    ctx->ready_count -= count;
    return count;
}

int32_t
ucx_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    na_plugin_class *cls = ctx->cls;
    bool slept = false;

    ucx_lock_take_politely(&cls->lock);
    if (ctx->armed) {
        ucx_wait_disarm(ctx);
        slept = true;
    }
    for (uint32_t i = 0; i < ROUNDS; i++)
        if (work(cls) == 0 || ctx->ready_count != 0)
            break;
    if (++cls->polls >= CLOCK_POLLS || slept)
        look_at_clock(cls);
    uint32_t count = take_ready(ctx, events, max);
    if (cls->armed != 0)
        arm_for_others(cls);
    ucx_lock_drop(&cls->lock);
    return (int32_t) count;
}

int32_t
ucx_cancel(na_plugin_ctx *ctx, void *name)
{
    na_plugin_class *cls = ctx->cls;
    struct ucx_op *op = ucx_op_of(cls, name);
    bool withdrawn = true;

    if (ucx_op_state(op) != UCX_OP_POSTED)
        return NA_PLUGIN_OK;
    ucx_lock_take(&cls->lock);
    if (ucx_op_state(op) != UCX_OP_POSTED) {
        ucx_lock_drop(&cls->lock);
        return NA_PLUGIN_OK;
    }
    switch (op->kind) {
    case UCX_OP_RECV_UNEXPECTED:
    case UCX_OP_RECV_EXPECTED:
        ucx_match_unpost(ctx, op);
        break;
    case UCX_OP_SEND:
        ucx_send_withdraw(op);
        break;
    case UCX_OP_SEND_SELF:
        ucx_list_remove(&cls->held, &op->link);
        break;
    case UCX_OP_PUT:
    case UCX_OP_GET:
        withdrawn = ucx_rma_withdraw(cls, op);
        break;
    default:
        withdrawn = false;
        break;
    }
    if (withdrawn)
        ucx_ctx_finish(op, NA_PLUGIN_E_CANCELED);
    ucx_lock_drop(&cls->lock);
    return NA_PLUGIN_OK;
}

void
ucx_addr_forget(na_plugin_class *cls, na_plugin_addr *addr)
{
    ucx_lock_take(&cls->lock);
    ucx_conn_forget(cls, addr);
    ucx_wait_settle(cls);
    ucx_lock_drop(&cls->lock);
}

void
ucx_progress_flush(na_plugin_class *cls, uint64_t most_ns)
{
    uint64_t until = ucx_now() + most_ns;

    for (;;) {
        bool waits = false;
        for (struct ucx_link *link = cls->conns.head; link != NULL && !waits;
             link = link->next) {
            const struct ucx_conn *conn = (const struct ucx_conn *) link;
            waits = conn->parcels.head != NULL;
        }
        if (!waits || ucx_now() > until)
            return;
        if (work(cls) == 0)
            sched_yield();
    }
}
