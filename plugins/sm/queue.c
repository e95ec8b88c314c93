/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends that wait for room, and operations that end early: cancelled, forgotten
 * with their peer, abandoned with their context. */
#include "queue.h"
#include "address.h"
#include "conn.h"
#include "match.h"
#include "rma.h"
#include "work.h"

/* Sends from the front of a connection's queue what the ring has room for, into
 * done; the first that has waited too long goes into late. [conn->lock] */
static void
flush_conn(na_plugin_class *cls, struct sm_conn *conn, struct tp_list *done,
    struct tp_list *late)
{
    struct sm_op *op;

    while ((op = sm_op_of(conn->queue.head)) != NULL) {
        bool sent = sm_ring_put(&conn->tx, op->send.word, op->send.tag,
            op->recv.buffer, (uint32_t) op->recv.length);
        if (!sent && op->send.deadline_ns > cls->now_ns)
            return;
        tp_list_drop_head(&conn->queue);
        sm_op_set(op, SM_OP_READY);
        tp_list_append(sent ? done : late, &op->recv.keyed.link);
        if (sent && sm_ring_sleeps(&conn->tx, sm_ring_target(op->send.word)))
            sm_conn_wake_peer(cls, conn);
        conn->sent += sent;
    }
}

void
sm_queue_flush(na_plugin_class *cls)
{
    sm_conn_collect_stalled(cls);
    for (struct sm_conn **link = &cls->stalled; *link != NULL;) {
        struct sm_conn *conn = *link;
        struct tp_list done = {NULL, NULL};
        struct tp_list late = {NULL, NULL};

        tp_lock_take(&conn->lock);
        flush_conn(cls, conn, &done, &late);
        bool broken = conn->tx.broken;
        if (conn->queue.head == NULL) {
            *link = conn->stall_next;
            conn->stalled = false;
            sm_pending_drop(cls);
        } else {
            link = &conn->stall_next;
        }
        tp_lock_drop(&conn->lock);

        sm_ctx_finish_all(&done, NA_PLUGIN_OK);
        if (late.head != NULL) {
            TP_LOG(cls->host, WARNING,
                "%s (process %d): sends timed out: it does not receive",
                sm_conn_name(conn), (int) conn->process.pid);
            sm_ctx_finish_all(&late, NA_PLUGIN_E_TIMEOUT);
        }
        if (broken)
            sm_conn_break(cls, conn, "invalid consumer index in its ring");
    }
}

uint64_t
sm_queue_arm(na_plugin_class *cls)
{
    uint64_t first = UINT64_MAX;
    bool room = false;

    sm_conn_collect_stalled(cls);
    for (struct sm_conn *conn = cls->stalled; conn != NULL;
         conn = conn->stall_next) {
        tp_lock_take(&conn->lock);
        const struct sm_op *op = sm_op_of(conn->queue.head);
        sm_ring_await_room(&conn->tx);
        if (op != NULL) {
            room = sm_ring_refresh(
                       &conn->tx, sm_ring_record((uint32_t) op->recv.length)) ||
                   conn->tx.broken || room;
            if (op->send.deadline_ns < first)
                first = op->send.deadline_ns;
        }
        tp_lock_drop(&conn->lock);
    }
    uint64_t now = first != UINT64_MAX ? tp_now() : 0;
    if (room || first <= now)
        return 0;
    return first != UINT64_MAX ? first - now : first;
}

void
sm_queue_abandon(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    na_plugin_ctx *target;

    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next) {
        tp_lock_take(&conn->lock);
        sm_ctx_remove_ops(ctx, &conn->queue);
        tp_lock_drop(&conn->lock);
    }
    for (uint32_t i = 0; (target = sm_class_next(cls, &i)) != NULL;) {
        tp_lock_take(&target->lock);
        sm_ctx_remove_ops(ctx, &target->match.held);
        tp_lock_drop(&target->lock);
    }
}

/* Takes a send out of a list, or a receive out of its context's (list: NULL),
 * which is under lock; false if it has left it. */
static bool
withdraw(struct sm_op *op, struct tp_lock *lock, struct tp_list *list)
{
    tp_lock_take(lock);
    bool posted = sm_op_state(op) == SM_OP_POSTED;
    if (posted && list != NULL)
        tp_list_remove(list, &op->recv.keyed.link);
    else if (posted)
        tp_match_unpost(
            &op->ctx->match, &op->recv, op->kind == SM_OP_RECV_UNEXPECTED);
    if (posted)
        sm_op_set(op, SM_OP_READY);
    tp_lock_drop(lock);
    return posted;
}

int32_t
sm_cancel(na_plugin_ctx *ctx, void *operation)
{
    struct sm_op *op = operation;
    bool withdrawn = false;

    if (sm_op_state(op) != SM_OP_POSTED)
        return NA_PLUGIN_OK;
    switch (op->kind) {
    case SM_OP_RECV_UNEXPECTED:
    case SM_OP_RECV_EXPECTED:
        withdrawn = withdraw(op, &ctx->lock, NULL);
        break;
    case SM_OP_SEND:
        withdrawn = withdraw(op, &op->to.conn->lock, &op->to.conn->queue);
        break;
    case SM_OP_SEND_SELF:
        withdrawn =
            withdraw(op, &op->to.target->lock, &op->to.target->match.held);
        break;
    case SM_OP_PUT:
    case SM_OP_GET:
        withdrawn = sm_rma_withdraw(ctx, op);
        break;
    default:
        break;
    }
    if (withdrawn)
        sm_ctx_finish(op, NA_PLUGIN_E_CANCELED);
    return NA_PLUGIN_OK;
}

void
sm_addr_forget(na_plugin_class *cls, na_plugin_addr *addr)
{
    tp_lock_take(&cls->progress);
    /* a connection that ends may take the unique name's address with it */
    na_plugin_addr *peer = sm_addr_unique(addr);
    sm_addr_hold(cls, peer);
    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next)
        if (conn->peer == peer || conn->called == peer || conn->called == addr)
            sm_conn_down(cls, conn, NA_PLUGIN_E_HOSTUNREACH);
    sm_work(cls);
    sm_match_end_peer(cls, peer, NA_PLUGIN_E_HOSTUNREACH, true);
    sm_addr_free(cls, peer);
    tp_lock_drop(&cls->progress);
}
