/* SPDX-License-Identifier: BSD-3-Clause */
/* Poll: UCX works, its callbacks fill the contexts' rings of events, and what
 * connections have reported is done. */
#include <sched.h>

#include "descriptor.h"
#include "fragment.h"
#include "progress.h"
#include "recv.h"
#include "send.h"
#include "turn.h"
#include "wait.h"
#include "work.h"

#define CLOCK_POLLS 256U /* between two looks at the clock */
#define ROUNDS 8U        /* of UCX's work in one poll */

static __attribute__((noinline)) void
look_at_clock(na_plugin_class *cls)
{
    uint64_t now = tp_now();

    cls->polls = 0;
    if (now - cls->now_ns < UCX_EXPIRE_NS)
        return;
    cls->now_ns = now;
    /* not while connections go on being made */
    if (cls->marks_due != 0 && --cls->marks_due == 0)
        ucx_descriptor_mark_sockets();
    ucx_work_expire(cls);
}

/* UCX works once; how much it found to do. */
static inline uint32_t
work(na_plugin_class *cls)
{
    uint32_t did = __builtin_expect(cls->turns == 0, 1)
                       ? ucp_worker_progress(cls->worker)
                       : ucx_turn_progress(cls);

    if (cls->failed.head != NULL || cls->touched.head != NULL ||
        cls->closed.head != NULL)
        ucx_work(cls);
    return did;
}

void
ucx_progress_once(na_plugin_class *cls)
{
    work(cls);
    if (++cls->polls >= CLOCK_POLLS)
        look_at_clock(cls);
}

/* Others sleep, and this poll may have read what would have woken them: UCX's
 * descriptor is armed for them again. */
static __attribute__((noinline)) void
arm_for_others(na_plugin_class *cls)
{
    if (ucp_worker_arm(cls->worker) != UCS_OK)
        ucx_wait_wake(cls);
}

int32_t
ucx_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    na_plugin_class *cls = ctx->cls;
    bool slept = false;

    if (ctx->armed)
        tp_mutex_take(&cls->lock);
    else if (!tp_mutex_try_politely(&cls->lock))
        return 0;
    if (ctx->armed) {
        ucx_wait_disarm(ctx);
        slept = true;
    }
    for (uint32_t i = 0; i < ROUNDS; i++)
        if (work(cls) == 0 || ctx->events.count != 0)
            break;
    if (++cls->polls >= CLOCK_POLLS || slept)
        look_at_clock(cls);
    uint32_t count = tp_events_take(&ctx->events, events, max);
    if (cls->armed != 0)
        arm_for_others(cls);
    tp_mutex_drop(&cls->lock);
    return (int32_t) count;
}

int32_t
ucx_cancel(na_plugin_ctx *ctx, void *name)
{
    na_plugin_class *cls = ctx->cls;
    struct ucx_op *op = ucx_op_of(cls, name);

    if (ucx_op_state(op) != UCX_OP_POSTED)
        return NA_PLUGIN_OK;
    tp_mutex_take(&cls->lock);
    if (ucx_op_state(op) == UCX_OP_POSTED) {
        if (op->kind == UCX_OP_SEND)
            ucx_send_withdraw(op);
        else if (op->kind == UCX_OP_PUT || op->kind == UCX_OP_GET)
            ucx_fragment_withdraw(op);
        else
            ucx_recv_withdraw(op);
        ucx_op_finish(op, NA_PLUGIN_E_CANCELED);
    }
    tp_mutex_drop(&cls->lock);
    return NA_PLUGIN_OK;
}

void
ucx_progress_flush(na_plugin_class *cls, uint64_t most_ns)
{
    uint64_t until = tp_now() + most_ns;

    for (;;) {
        bool waits = false;
        for (struct tp_link *link = cls->conns.head; link != NULL && !waits;
             link = link->next)
            waits = ucx_conn_of(link)->txs.head != NULL;
        if (!waits || tp_now() > until)
            return;
        if (work(cls) == 0)
            sched_yield();
    }
}
