/* SPDX-License-Identifier: BSD-3-Clause */
/* Put and get: at once or in slices, by move.c where the memory can be reached,
 * and by emulated_rma.c where it cannot. */
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "assist.h"
#include "burst.h"
#include "connect.h"
#include "emulated_rma.h"
#include "mapping.h"
#include "mem.h"
#include "move.h"
#include "privilege.h"
#include "rma.h"

#define AT_ONCE (256U << 10) /* bytes done within the submission, or a burst */

/* Results beside SM_MOVE_EMULATED. */
#define JOINS_BURST 2
#define IS_LONG 3

/* left: bytes that a poll may still copy. most: of an operation that the peer does
 * not help with; at least as many, except while the peer copies for another one. */
struct budget {
    uint64_t left;
    uint64_t most;
};

int
sm_rma_permitted(void)
{
    char from = 0;
    char to;
    struct iovec here = {&to, 1};
    struct iovec there = {&from, 1};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 ? 0 : errno;
}

/* Whether the peer's memory is mapped here; if not, it is asked for, for later
 * slices and operations. [conn->lock] */
static bool
map(na_plugin_class *cls, struct sm_conn *conn, const struct sm_op *op,
    struct sm_target *target_p)
{
    const na_plugin_mem *remote = op->rma.remote;
    uint32_t access =
        op->kind == SM_OP_PUT ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ;
    bool wanted = false;

    if (remote->shared == 0 || !conn->emulates)
        return false;
    unsigned char *memory = sm_mapping_find(conn, remote, access, &wanted);
    if (wanted)
        sm_emulated_want_segment(cls, conn, op, access);
    if (memory == NULL)
        return false;
    *target_p = (struct sm_target){
        .displacement = (int64_t) ((uintptr_t) memory - remote->shared_base),
        .pidfd = conn->process.pidfd,
        .memory_fd = -1,
        .conn = conn,
        .privilege = target_p->privilege};
    return true;
}

/* Whether this side may copy by itself: OK if the owner's registry has what the
 * descriptor says; SM_MOVE_EMULATED if the owner has to check. [conn->lock] */
static int32_t
check_registry(na_plugin_class *cls, const struct sm_conn *conn,
    const na_plugin_mem *remote)
{
    if (conn->registry == NULL || remote->slot == 0)
        return SM_MOVE_EMULATED;
    if (sm_registry_has(conn->registry, remote))
        return NA_PLUGIN_OK;
    /* nothing unusual: the peer may have ended what it was for */
    tp_count_shared(&cls->counters.refused_rma, 1);
    TP_LOG(cls->host, INFO,
        "%s: put or get refused: no such registration, or not for this access",
        sm_conn_name(conn));
    return NA_PLUGIN_E_INVALID_ARG;
}

/* Finds the memory behind a connection and holds it: OK, to be released;
 * SM_MOVE_EMULATED if the owner has to copy; AGAIN while it is not connected yet.
 * Checked anew for each slice. [conn->lock] */
static int32_t
hold(na_plugin_class *cls, struct sm_conn *conn, const struct sm_op *op,
    struct sm_target *target_p)
{
    const na_plugin_mem *remote = op->rma.remote;

    /* before its hello nothing is known about the peer */
    if (conn->state != SM_CONN_UP)
        return NA_PLUGIN_E_AGAIN;
    /* a successor under the same name has other things at these places */
    if (conn->owner != remote->mem.owner) {
        TP_LOG(cls->host, ERROR,
            "%s: put or get refused: the registration is another peer's",
            sm_conn_name(conn));
        return NA_PLUGIN_E_INVALID_ARG;
    }
    int32_t ret = check_registry(cls, conn, remote);
    if (ret < 0)
        return ret;
    if (ret == NA_PLUGIN_OK && map(cls, conn, op, target_p)) {
        conn->users++;
        return NA_PLUGIN_OK;
    }
    if (ret == NA_PLUGIN_OK &&
        !atomic_load_explicit(&conn->denied, memory_order_relaxed)) {
        *target_p = sm_target_process(cls, conn, target_p->privilege);
        return NA_PLUGIN_OK;
    }
    if (conn->emulates)
        return SM_MOVE_EMULATED;
    TP_LOG(cls->host, ERROR,
        "%s: put or get refused: the kernel permits no copies, or the user is "
        "another, and the peer does not copy on request",
        sm_conn_name(conn));
    return NA_PLUGIN_E_PERMISSION;
}

/* Checks what both registrations permit. */
static int32_t
check_access(na_plugin_class *cls, const struct sm_op *op)
{
    const struct tp_mem *local = &op->rma.local->mem;
    bool put = op->kind == SM_OP_PUT;

    if (local->owner != cls->owner) {
        TP_LOG(cls->host, ERROR,
            "put or get refused: the local registration is a peer's");
        return NA_PLUGIN_E_INVALID_ARG;
    }
    int32_t ret = tp_mem_check_range(cls->host, local, op->rma.local_offset,
        op->rma.length, put ? NA_PLUGIN_MEM_READ : NA_PLUGIN_MEM_WRITE, "own");
    if (ret != NA_PLUGIN_OK)
        return ret;
    return tp_mem_check_range(cls->host, &op->rma.remote->mem,
        op->rma.remote_offset, op->rma.length,
        put ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ, "peer's");
}

/* Whether an operation is more than is done within the submission, or a burst: up
 * to 256 KiB, or less if the owner may help. [conn->lock] */
static bool
is_long(const struct sm_conn *conn, const struct sm_op *op)
{
    return op->rma.length > AT_ONCE ||
           (sm_assist_offered(conn, op) &&
               op->rma.length >= sm_assist_least(op->rma.remote));
}

/* Whether this thread, which polls the context, has submitted a put or get since its
 * last poll. */
static bool
submits_again(na_plugin_ctx *ctx)
{
    uintptr_t self = sm_ctx_caller(ctx->cls->single);
    uintptr_t poller = atomic_load_explicit(&ctx->poller, memory_order_relaxed);

    if (poller == self)
        atomic_store_explicit(&ctx->poller, self + 1, memory_order_relaxed);
    return poller == self + 1;
}

/* Whether an operation is to be copied by the next poll, with others: one for which
 * the capability has to be dropped, or that this thread submits after others since
 * its last poll. Not if the poll is another thread's, which may not run at the moment,
 * or had to be woken. [conn->lock] */
static bool
is_for_burst(
    na_plugin_ctx *ctx, const struct sm_conn *conn, const struct sm_op *op)
{
    const na_plugin_mem *remote = op->rma.remote;

    if (is_long(conn, op) || conn->state != SM_CONN_UP ||
        conn->registry == NULL || conn->owner != remote->mem.owner ||
        remote->slot == 0 || remote->shared != 0 ||
        atomic_load_explicit(&conn->denied, memory_order_relaxed) ||
        atomic_load_explicit(&ctx->armed, memory_order_relaxed))
        return false;
    if (ctx->cls->privileged &&
        (conn->memory != SM_MEMORY_PROVEN || op->rma.length > SM_MOVE_SMALL))
        return true;
    return submits_again(ctx);
}

/* Where the operation goes: OK or IS_LONG with the target held, JOINS_BURST, AGAIN if
 * it has to wait for its connection. */
static int32_t
aim(na_plugin_ctx *ctx, struct sm_op *op, na_plugin_addr *peer,
    struct sm_target *target_p)
{
    na_plugin_class *cls = ctx->cls;
    struct sm_conn *conn;

    if (peer == cls->self) {
        op->to.conn = NULL;
        *target_p = (struct sm_target){
            .pidfd = -1, .memory_fd = -1, .privilege = target_p->privilege};
        if (!sm_mem_hold(cls, op->rma.remote)) {
            TP_LOG(cls->host, ERROR,
                "put or get to oneself refused: no such registration");
            return NA_PLUGIN_E_INVALID_ARG;
        }
        sm_mem_release(cls);
        return op->rma.length > AT_ONCE ? IS_LONG : NA_PLUGIN_OK;
    }

    int32_t ret = sm_connect_lock(cls, peer, &conn);
    if (ret != NA_PLUGIN_OK)
        return ret;
    op->to.conn = conn;
    op->rma.serial = conn->serial;
    ret = is_for_burst(ctx, conn, op) ? JOINS_BURST
                                      : hold(cls, conn, op, target_p);
    if (ret == NA_PLUGIN_OK && is_long(conn, op))
        ret = IS_LONG;
    tp_lock_drop(&conn->lock);
    return ret;
}

static void
enqueue(na_plugin_ctx *ctx, struct sm_op *op)
{
    tp_lock_take(&ctx->lock);
    op->stop = 0;
    sm_ctx_queue(ctx, op);
    tp_lock_drop(&ctx->lock);
}

static int32_t
submit(na_plugin_ctx *ctx, struct sm_op *op, enum sm_kind kind,
    na_plugin_mem *local, uint64_t local_offset, na_plugin_mem *remote,
    uint64_t remote_offset, uint64_t length, na_plugin_addr *peer,
    uint32_t peer_ctx)
{
    na_plugin_class *cls = ctx->cls;
    struct sm_privilege privilege = {.dropped = false};
    struct sm_target target = {
        .pidfd = -1, .memory_fd = -1, .privilege = &privilege};

    op->kind = (uint8_t) kind;
    op->burst = SM_BURST_NONE;
    op->own_ctx = (uint8_t) ctx->id;
    op->peer_ctx = (uint8_t) peer_ctx;
    atomic_store_explicit(&op->emulated, false, memory_order_relaxed);
    op->rma.local = local;
    op->rma.remote = remote;
    op->rma.local_offset = local_offset;
    op->rma.remote_offset = remote_offset;
    op->rma.length = length;

    int32_t ret = check_access(cls, op);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (length == 0)
        return NA_PLUGIN_DONE;
    ret = aim(ctx, op, peer, &target);
    if (ret == JOINS_BURST) {
        sm_burst_add(ctx, op);
        return NA_PLUGIN_PENDING;
    }
    if (ret == IS_LONG) {
        sm_target_release(&target, false);
    } else if (ret == NA_PLUGIN_OK) {
        ret = sm_move(cls, &target, op, length);
        sm_privilege_restore(&privilege);
        sm_target_release(&target, ret == NA_PLUGIN_OK);
    }
    if (ret == IS_LONG || ret == SM_MOVE_EMULATED ||
        (ret == NA_PLUGIN_E_AGAIN && !cls->no_retry)) {
        enqueue(ctx, op);
        return NA_PLUGIN_PENDING;
    }
    return ret == NA_PLUGIN_OK ? NA_PLUGIN_DONE : ret;
}

#define TRANSFER(name, kind)                                                   \
    int32_t name(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,           \
        uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,  \
        uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx,              \
        uint32_t flags)                                                        \
    {                                                                          \
        return submit(ctx, op, kind, local, local_offset, remote,              \
            remote_offset, length, peer, peer_ctx);                            \
    }

TRANSFER(sm_put, SM_OP_PUT)
TRANSFER(sm_get, SM_OP_GET)

/* Does the next slice of an operation on the connection that it began with. */
static int32_t
do_slice(na_plugin_ctx *ctx, struct sm_op *op, struct budget budget,
    struct sm_privilege *privilege)
{
    struct sm_target target = {
        .pidfd = -1, .memory_fd = -1, .privilege = privilege};
    na_plugin_class *cls = ctx->cls;
    bool assisted = ctx->range.op == op;
    struct sm_conn *conn = op->to.conn;
    int32_t ret = NA_PLUGIN_OK;

    if (conn != NULL) {
        tp_lock_take(&conn->lock);
        if (conn->serial != op->rma.serial || conn->state == SM_CONN_FREE)
            ret = NA_PLUGIN_E_HOSTUNREACH;
        else
            ret = hold(cls, conn, op, &target);
        if (ret == NA_PLUGIN_OK && !assisted)
            assisted = sm_assist_begin(ctx, op, conn);
        tp_lock_drop(&conn->lock);
    }
    if (ret != NA_PLUGIN_OK)
        return ret;
    ret = assisted ? sm_assist_slice(ctx, &target, budget.left)
                   : sm_move(cls, &target, op,
                         op->rma.length < budget.most ? op->rma.length
                                                      : budget.most);
    sm_target_release(&target, ret == NA_PLUGIN_OK);
    return ret;
}

/* Takes an operation out of its queue and ends it. [ctx->lock] */
static void
end(na_plugin_ctx *ctx, struct sm_op *op, int32_t status)
{
    tp_list_remove(&ctx->rma, &op->recv.keyed.link);
    sm_pending_drop(ctx->cls);
    op->result = (na_plugin_event){.op = op, .status = status};
    sm_ctx_ready(ctx, op);
}

/* Leaves an operation to the peer: OK; AGAIN if another thread is working on the
 * connections, or this one has ended. [rma_lock] */
static int32_t
hand_over(na_plugin_ctx *ctx, struct sm_op *op)
{
    na_plugin_class *cls = ctx->cls;
    struct sm_conn *conn = op->to.conn;

    if (!tp_lock_try(&cls->progress))
        return NA_PLUGIN_E_AGAIN;
    bool same = conn->serial == op->rma.serial && conn->state == SM_CONN_UP;
    if (same) {
        tp_lock_take(&ctx->lock);
        ctx->rma_active = NULL;
        if (op->stop != 0) {
            end(ctx, op, NA_PLUGIN_E_CANCELED);
        } else {
            tp_list_remove(&ctx->rma, &op->recv.keyed.link);
            sm_pending_drop(cls);
            sm_emulated_add(cls, conn, op);
        }
        tp_lock_drop(&ctx->lock);
    }
    tp_lock_drop(&cls->progress);
    return same ? NA_PLUGIN_OK : NA_PLUGIN_E_AGAIN;
}

/* A slice of an operation that the peer helps with has this result: AGAIN in its
 * place as long as the operation must not end, since the peer may be copying.
 * [rma_lock] */
static int32_t
settle(na_plugin_ctx *ctx, struct sm_op *op, int32_t ret)
{
    struct sm_range *range = &ctx->range;

    tp_lock_take(&ctx->lock);
    if (op->stop != 0 && (ret == NA_PLUGIN_OK || ret == NA_PLUGIN_E_AGAIN))
        ret = NA_PLUGIN_E_CANCELED;
    tp_lock_drop(&ctx->lock);
    if (ret == NA_PLUGIN_OK || ret == NA_PLUGIN_E_AGAIN || sm_assist_stop(ctx))
        return ret;
    if (ret != SM_MOVE_EMULATED) {
        range->ending = true;
        range->status = ret;
    }
    return NA_PLUGIN_E_AGAIN;
}

/* The operation of a context's queue to work on, or NULL: the one that its peer
 * helps with, and after each time that it has to wait for the peer another one.
 * [rma_lock, ctx->lock] */
static struct sm_op *
choose(na_plugin_ctx *ctx)
{
    struct tp_link *first = ctx->rma.head;
    struct sm_op *assisted = ctx->range.op;

    if (assisted == NULL)
        return sm_op_of(first);
    if (!ctx->range.waits)
        return assisted;
    ctx->range.waits = false;
    if (first == &assisted->recv.keyed.link && first->next != NULL)
        first = first->next;
    return sm_op_of(first);
}

/* Works on an operation of a context's queue: returns how many bytes are copied,
 * with those that the peer has copied. One whose connection is not there yet goes to
 * the end. [rma_lock] */
static uint64_t
work(na_plugin_ctx *ctx, struct budget budget, struct sm_privilege *privilege)
{
    tp_lock_take(&ctx->lock);
    struct sm_op *op = choose(ctx);
    ctx->rma_active = op;
    tp_lock_drop(&ctx->lock);
    if (op == NULL)
        return 0;

    /* one piece while the peer copies one, then another look */
    if (ctx->range.op != NULL && ctx->range.op != op) {
        uint32_t piece = sm_range_piece(ctx->range.bytes);
        budget.most = budget.left < piece ? budget.left : piece;
    }

    uint64_t before = op->rma.length;
    int32_t ret = ctx->range.op == op && ctx->range.ending
                      ? ctx->range.status
                      : do_slice(ctx, op, budget, privilege);
    uint64_t copied = before - op->rma.length;
    if (ctx->range.op == op)
        ret = settle(ctx, op, ret);
    if (ret == SM_MOVE_EMULATED) {
        ret = hand_over(ctx, op);
        if (ret == NA_PLUGIN_OK)
            return 0;
    }

    tp_lock_take(&ctx->lock);
    ctx->rma_active = NULL;
    bool ended = ret != NA_PLUGIN_E_AGAIN &&
                 (ret != NA_PLUGIN_OK || op->rma.length == 0);
    bool stopped = op->stop != 0 && ctx->range.op != op;
    if (ended || stopped) {
        end(ctx, op, ended ? ret : NA_PLUGIN_E_CANCELED);
    } else if (ret == NA_PLUGIN_E_AGAIN && ctx->range.op == op) {
        ctx->range.late = ctx->range.waits = true;
    } else if (ret == NA_PLUGIN_E_AGAIN) {
        tp_list_remove(&ctx->rma, &op->recv.keyed.link);
        tp_list_append(&ctx->rma, &op->recv.keyed.link);
    }
    tp_lock_drop(&ctx->lock);
    return copied;
}

/* Copies up to SM_RMA_SLICE bytes of a context's queue, of several operations if they
 * are short, or up to most of one that is longer and has no help; returns how many,
 * with those that peers have copied. An operation that waits for its peer does not
 * end this while others can be copied. The capability is dropped once for all; if a
 * later one is refused, that is logged without it. [rma_lock] */
static uint64_t
work_on_queue(na_plugin_ctx *ctx, uint64_t most)
{
    struct sm_privilege privilege = {.dropped = false};
    struct budget budget = {SM_RMA_SLICE, most};
    uint64_t sum = 0;
    bool vain = false; /* the last step copied nothing */

    while (budget.left > 0) {
        uint64_t copied = work(ctx, budget, &privilege);

        if (copied == 0 && (vain || ctx->range.op == NULL))
            break;
        vain = copied == 0;
        /* more than was left if the peer has copied its share */
        budget.left -= copied < budget.left ? copied : budget.left;
        budget.most -= copied < budget.most ? copied : budget.most;
        sum += copied;
    }
    sm_privilege_restore(&privilege);
    return sum;
}

static bool
is_idle(na_plugin_ctx *ctx)
{
    tp_lock_take(&ctx->lock);
    bool idle = ctx->rma.head == NULL && ctx->burst.head == NULL;
    tp_lock_drop(&ctx->lock);
    return idle;
}

/* Works on one context; false: another thread does. */
static bool
advance(na_plugin_ctx *ctx, uint64_t most, uint64_t *copied_p)
{
    if (!tp_lock_try(&ctx->rma_lock))
        return false;
    /* what it had is reported after the slice */
    if (sm_burst_copy(ctx, most == 0) && most > SM_RMA_SLICE)
        most = SM_RMA_SLICE;
    if (most != 0)
        *copied_p = work_on_queue(ctx, most);
    tp_lock_drop(&ctx->rma_lock);
    return true;
}

uint64_t
sm_rma_advance(na_plugin_ctx *ctx, uint64_t most)
{
    uint64_t copied = 0;

    if (!is_idle(ctx)) {
        advance(ctx, most, &copied);
        return copied;
    }
    for (uint32_t i = 0; most != 0 && i < SM_CONTEXTS; i++) {
        na_plugin_ctx *other = sm_class_context(ctx->cls, i);
        if (other != NULL && !is_idle(other) && advance(other, most, &copied))
            return copied;
    }
    return 0;
}

bool
sm_rma_pending(na_plugin_ctx *ctx)
{
    bool pending = false;

    tp_lock_take(&ctx->lock);
    for (struct tp_link *link = ctx->rma.head; link != NULL && !pending;
         link = link->next) {
        const struct sm_op *op = sm_op_of(link);
        const struct sm_conn *conn = op->to.conn;
        pending = conn == NULL || conn->serial != op->rma.serial ||
                  conn->state == SM_CONN_UP || conn->state == SM_CONN_FREE;
    }
    tp_lock_drop(&ctx->lock);
    return pending;
}

bool
sm_rma_withdraw(na_plugin_ctx *ctx, struct sm_op *op)
{
    tp_lock_take(&ctx->lock);
    bool queued = sm_op_state(op) == SM_OP_POSTED;
    if (queued && atomic_load_explicit(&op->emulated, memory_order_relaxed)) {
        tp_lock_drop(&ctx->lock);
        return sm_emulated_withdraw(ctx->cls, op);
    }
    if (queued && op->burst != SM_BURST_NONE) {
        bool withdrawn = sm_burst_withdraw(ctx, op);
        tp_lock_drop(&ctx->lock);
        return withdrawn;
    }
    bool active = queued && (ctx->rma_active == op || ctx->range.op == op);
    if (active) {
        op->stop = 1;
    } else if (queued) {
        tp_list_remove(&ctx->rma, &op->recv.keyed.link);
        sm_op_set(op, SM_OP_READY);
        sm_pending_drop(ctx->cls);
    }
    tp_lock_drop(&ctx->lock);
    return queued && !active;
}

void
sm_rma_abandon(na_plugin_ctx *ctx)
{
    tp_lock_take(&ctx->rma_lock);
    tp_lock_take(&ctx->lock);
    while (tp_list_pop(&ctx->rma) != NULL)
        sm_pending_drop(ctx->cls);
    sm_burst_abandon(ctx);
    tp_lock_drop(&ctx->lock);
    tp_lock_drop(&ctx->rma_lock);
}
