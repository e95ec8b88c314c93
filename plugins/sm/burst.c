/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets of a burst: those of one direction and connection are copied by one
 * call. What is unusual about one of them (another owner, a registration that has
 * ended, an error of the kernel) is left to rma.c, which does it by itself and
 * knows the words for it. */
#include "burst.h"
#include "conn.h"
#include "move.h"
#include "registration.h"
#include "rma.h"

#define MOST 64U         /* operations in one call */
#define LOOKS 256U       /* operations looked at for one call */
#define BYTES (1U << 20) /* copied in one poll, but for the last operation */

struct group {
    struct sm_op *ops[MOST];
    uint32_t count;
    uint64_t bytes;
};

/* [ctx->lock] */
static void
append(na_plugin_ctx *ctx, struct sm_op *op)
{
    op->burst = SM_BURST_WAITING;
    if (ctx->burst.head == NULL)
        atomic_fetch_add_explicit(&ctx->pending, 1, memory_order_relaxed);
    tp_list_append(&ctx->burst, &op->recv.keyed.link);
}

/* [ctx->lock] */
static void
take_out(na_plugin_ctx *ctx, struct sm_op *op)
{
    tp_list_remove(&ctx->burst, &op->recv.keyed.link);
    if (ctx->burst.head == NULL)
        atomic_fetch_sub_explicit(&ctx->pending, 1, memory_order_relaxed);
}

void
sm_burst_add(na_plugin_ctx *ctx, struct sm_op *op)
{
    tp_lock_take(&ctx->lock);
    op->ctx = ctx;
    op->stop = 0;
    sm_op_set(op, SM_OP_POSTED);
    append(ctx, op);
    sm_ctx_wake(ctx);
    tp_lock_drop(&ctx->lock);
}

/* Takes the first operation and others of its direction and connection out of the
 * burst, up to some bytes. */
static void
take_group(na_plugin_ctx *ctx, struct group *group, uint64_t most)
{
    struct tp_link *next;
    uint32_t looks = 0;

    group->count = 0;
    group->bytes = 0;
    tp_lock_take(&ctx->lock);
    const struct sm_op *first = sm_op_of(ctx->burst.head);
    for (struct tp_link *link = ctx->burst.head;
         link != NULL && looks++ < LOOKS && group->count < MOST &&
         group->bytes < most;
         link = next) {
        struct sm_op *op = sm_op_of(link);
        next = link->next;
        if (op->kind != first->kind || op->to.conn != first->to.conn ||
            op->rma.serial != first->rma.serial)
            continue;
        take_out(ctx, op);
        op->burst = SM_BURST_COPYING;
        group->ops[group->count++] = op;
        group->bytes += op->rma.length;
    }
    tp_lock_drop(&ctx->lock);
}

/* Holds the connection of a group: true if all of its operations may be copied by
 * this side. */
static bool
hold(
    na_plugin_class *cls, const struct group *group, struct sm_target *target_p)
{
    struct sm_conn *conn = group->ops[0]->to.conn;
    bool held = false;

    tp_lock_take(&conn->lock);
    if (conn->serial == group->ops[0]->rma.serial &&
        conn->state == SM_CONN_UP && conn->registry != NULL &&
        !atomic_load_explicit(&conn->denied, memory_order_relaxed)) {
        held = true;
        for (uint32_t i = 0; held && i < group->count; i++) {
            const na_plugin_mem *remote = group->ops[i]->rma.remote;
            held = conn->owner == remote->mem.owner && remote->slot != 0 &&
                   sm_registry_has(conn->registry, remote);
        }
        if (held)
            *target_p = sm_target_process(cls, conn, target_p->privilege);
    }
    tp_lock_drop(&conn->lock);
    return held;
}

/* Ends the operations that are copied whole; the others go to the context's queue,
 * or back into the burst if the call had no room for them. */
static void
settle(na_plugin_ctx *ctx, const struct group *group, uint32_t tried,
    uint64_t copied)
{
    tp_lock_take(&ctx->lock);
    for (uint32_t i = 0; i < group->count; i++) {
        struct sm_op *op = group->ops[i];
        bool whole = i < tried && op->rma.length <= copied;
        bool stopped = op->stop != 0;

        op->burst = SM_BURST_NONE;
        copied = whole ? copied - op->rma.length : 0;
        if (whole || stopped) {
            op->result = (na_plugin_event){.op = op,
                .status = whole ? NA_PLUGIN_OK : NA_PLUGIN_E_CANCELED};
            sm_ctx_ready(ctx, op);
        } else if (i < tried || tried == 0) {
            sm_rma_queue(ctx, op);
        } else {
            append(ctx, op);
        }
    }
    tp_lock_drop(&ctx->lock);
}

/* Copies a group: how many bytes, 0 if there is none. [rma_lock] */
static uint64_t
copy_group(na_plugin_ctx *ctx, uint64_t most, struct sm_privilege *privilege)
{
    struct sm_target target = {
        .pidfd = -1, .memory_fd = -1, .privilege = privilege};
    na_plugin_class *cls = ctx->cls;
    struct group group;
    uint32_t tried = 0;
    int64_t moved = 0;

    take_group(ctx, &group, most);
    if (group.count == 0)
        return 0;
    if (hold(cls, &group, &target)) {
        moved = sm_move_several(cls, &target, group.ops, group.count, &tried);
        sm_target_release(&target, moved > 0);
    }
    settle(ctx, &group, tried, moved > 0 ? (uint64_t) moved : 0);
    return moved > 0 ? (uint64_t) moved : 0;
}

void
sm_burst_advance(na_plugin_ctx *ctx)
{
    struct sm_privilege privilege = {.dropped = false};
    uint64_t left = BYTES;
    uint64_t copied;

    if (!tp_lock_try(&ctx->rma_lock))
        return;
    do {
        copied = copy_group(ctx, left, &privilege);
        left -= copied < left ? copied : left;
    } while (copied > 0 && left > 0);
    sm_privilege_restore(&privilege);
    tp_lock_drop(&ctx->rma_lock);
}

bool
sm_burst_withdraw(na_plugin_ctx *ctx, struct sm_op *op)
{
    if (op->burst == SM_BURST_COPYING) {
        op->stop = 1;
        return false;
    }
    take_out(ctx, op);
    op->burst = SM_BURST_NONE;
    sm_op_set(op, SM_OP_READY);
    return true;
}

void
sm_burst_abandon(na_plugin_ctx *ctx)
{
    while (ctx->burst.head != NULL)
        take_out(ctx, sm_op_of(ctx->burst.head));
}
