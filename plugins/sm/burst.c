/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets of a burst: those of one direction and connection are copied by one
 * call. What is unusual about one of them (another owner, a registration that has
 * ended, an error of the kernel) is left to rma.c, which does it by itself and
 * knows the words for it. */
#include "burst.h"
#include "conn.h"
#include "move.h"
#include "registration.h"

#define MOST 64U         /* operations in one call */
#define LOOKS 256U       /* operations looked at for one call */
#define BYTES (1U << 20) /* copied in one poll, but for the last operation */
#define CALL (8U << 10)  /* bytes copied while the kernel begins to */

struct group {
    struct sm_op *ops[MOST];
    uint32_t count;
    uint32_t fit;   /* of these, from the front: may be copied by this side */
    uint32_t tried; /* of these: all of their parts were in the call */
};

/* [ctx->lock] */
static void
append(na_plugin_ctx *ctx, struct sm_op *op)
{
    op->burst = SM_BURST_WAITING;
    if (ctx->burst.head == NULL)
        sm_pending_add(ctx->cls);
    tp_list_append(&ctx->burst, &op->recv.keyed.link);
    sm_ctx_wake(ctx);
}

/* [ctx->lock] */
static void
take_out(na_plugin_ctx *ctx, struct sm_op *op)
{
    tp_list_remove(&ctx->burst, &op->recv.keyed.link);
    if (ctx->burst.head == NULL)
        sm_pending_drop(ctx->cls);
}

void
sm_burst_add(na_plugin_ctx *ctx, struct sm_op *op)
{
    tp_lock_take(&ctx->lock);
    op->ctx = ctx;
    op->stop = 0;
    sm_op_set(op, SM_OP_POSTED);
    append(ctx, op);
    tp_lock_drop(&ctx->lock);
}

/* Takes the first operation and others of its direction and connection out of the
 * burst, up to some bytes. */
static void
take_group(na_plugin_ctx *ctx, struct group *group, uint64_t most)
{
    struct tp_link *next;
    uint32_t looks = 0;
    uint64_t bytes = 0;

    group->count = group->fit = group->tried = 0;
    tp_lock_take(&ctx->lock);
    const struct sm_op *first = sm_op_of(ctx->burst.head);
    for (struct tp_link *link = ctx->burst.head;
         link != NULL && looks++ < LOOKS && group->count < MOST && bytes < most;
         link = next) {
        struct sm_op *op = sm_op_of(link);
        next = link->next;
        if (op->kind != first->kind || op->to.conn != first->to.conn ||
            op->rma.serial != first->rma.serial)
            continue;
        take_out(ctx, op);
        op->burst = SM_BURST_COPYING;
        group->ops[group->count++] = op;
        bytes += op->rma.length;
    }
    tp_lock_drop(&ctx->lock);
}

/* Moves what may be copied by this side to the front. [conn->lock] */
static void
sort_out(struct group *group, const struct sm_conn *conn)
{
    struct sm_op *others[MOST];
    uint32_t count = 0;

    for (uint32_t i = 0; i < group->count; i++) {
        const na_plugin_mem *remote = group->ops[i]->rma.remote;
        if (conn->owner == remote->mem.owner && remote->slot != 0 &&
            sm_registry_has(conn->registry, remote))
            group->ops[group->fit++] = group->ops[i];
        else
            others[count++] = group->ops[i];
    }
    for (uint32_t i = 0; i < count; i++)
        group->ops[group->fit + i] = others[i];
}

/* Holds the process of a group's peer, if any of it may be copied by this side. */
static bool
hold(na_plugin_class *cls, struct group *group, struct sm_target *target_p)
{
    struct sm_conn *conn = group->ops[0]->to.conn;

    tp_lock_take(&conn->lock);
    if (conn->serial == group->ops[0]->rma.serial &&
        conn->state == SM_CONN_UP && conn->registry != NULL &&
        !atomic_load_explicit(&conn->denied, memory_order_relaxed))
        sort_out(group, conn);
    if (group->fit > 0)
        *target_p = sm_target_process(cls, conn, target_p->privilege);
    tp_lock_drop(&conn->lock);
    return group->fit > 0;
}

/* Ends an operation that is copied whole, or was cancelled meanwhile. [ctx->lock] */
static void
end(na_plugin_ctx *ctx, struct sm_op *op, bool whole)
{
    op->result = (na_plugin_event){
        .op = op, .status = whole ? NA_PLUGIN_OK : NA_PLUGIN_E_CANCELED};
    sm_ctx_ready(ctx, op);
}

/* Ends the operations that are copied whole; the others go to the context's queue,
 * or back into the burst if the call had no room for them. Returns the bytes of the
 * former. */
static uint64_t
settle(na_plugin_ctx *ctx, const struct group *group, uint64_t copied)
{
    uint64_t total = 0;

    tp_lock_take(&ctx->lock);
    for (uint32_t i = 0; i < group->count; i++) {
        struct sm_op *op = group->ops[i];
        uint64_t length = op->rma.length;
        bool whole = i < group->tried && length <= copied;
        bool room = i < group->tried || i == 0; /* else in another call */

        op->burst = SM_BURST_NONE;
        copied = whole ? copied - length : 0;
        total += whole ? length : 0;
        if (whole || op->stop != 0)
            end(ctx, op, whole);
        else if (room || i >= group->fit)
            sm_ctx_queue(ctx, op);
        else
            append(ctx, op);
    }
    tp_lock_drop(&ctx->lock);
    return total;
}

/* Copies a group: how many bytes, 0 if there is none. [rma_lock] */
static uint64_t
copy_group(na_plugin_ctx *ctx, uint64_t most, struct sm_privilege *privilege)
{
    struct sm_target target = {
        .pidfd = -1, .memory_fd = -1, .privilege = privilege};
    struct sm_counters *counters = &ctx->cls->counters;
    struct group group;
    int64_t moved = 0;

    take_group(ctx, &group, most);
    if (group.count == 0)
        return 0;
    bool put = group.ops[0]->kind == SM_OP_PUT;
    if (hold(ctx->cls, &group, &target)) {
        moved = sm_move_several(
            ctx->cls, &target, group.ops, group.fit, &group.tried);
        sm_target_release(&target, moved > 0);
    }
    uint64_t total = settle(ctx, &group, moved > 0 ? (uint64_t) moved : 0);
    tp_count_shared(put ? &counters->put_bytes : &counters->get_bytes, total);
    if (group.tried > 1)
        tp_count_shared(&counters->burst_bytes, total);
    return total;
}

bool
sm_burst_copy(na_plugin_ctx *ctx, bool once)
{
    struct sm_privilege privilege = {.dropped = false};
    uint64_t left = BYTES;
    uint64_t copied;
    bool any = false;

    do {
        copied = copy_group(ctx, left, &privilege);
        any = any || copied > 0;
        left -= copied + CALL < left ? copied + CALL : left;
    } while (copied > 0 && left > 0 && !once);
    sm_privilege_restore(&privilege);
    return any;
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
