/* SPDX-License-Identifier: BSD-3-Clause */
/* The owner's end of a range: taking pieces from the back, and copying them to or
 * from the initiator's memory. Everything that the initiator sends is checked or
 * leads to its own memory: what it can read and write is what its registration
 * permits. */
#include <sys/uio.h>

#include "assist_owner.h"
#include "mem.h"
#include "privilege.h"
#include "shared.h"
#include "socket.h"

#define VECTOR 256U /* parts of a piece at this side */

/* A piece that this side has taken. */
struct piece {
    struct sm_conn *conn;
    uint64_t serial;
    pid_t pid;
    int pidfd;
    struct sm_range_task task;
    uint32_t number; /* of the piece */
};

static void
end(na_plugin_class *cls, struct sm_conn *conn)
{
    conn->task.present = false;
    cls->assisting--;
    sm_pending_drop(cls);
}

/* The initiator copies the rest. [progress] */
static void
decline(na_plugin_class *cls, struct sm_conn *conn, uint32_t number)
{
    /* release: after the last access; pairs with the acquire in declined */
    atomic_store_explicit(
        &conn->rx.control->declined, number, memory_order_release);
    if (conn->task.present && conn->task.number == number)
        end(cls, conn);
}

const char *
sm_assist_take(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_range_task *task)
{
    if (task->number == 0 || task->bytes == 0 || task->bytes > SM_RANGE_MOST)
        return "it asks for help with a put or get of invalid length";
    if (!cls->assists)
        return "it asks for help with a put or get, which was not offered";
    if (!conn->task.present) {
        cls->assisting++;
        sm_pending_add(cls);
    }
    bool busy = conn->task.busy;
    conn->task = *task;
    conn->task.present = true;
    conn->task.busy = busy;
    if (conn->process.pidfd < 0 ||
        atomic_load_explicit(&conn->denied, memory_order_relaxed))
        decline(cls, conn, task->number);
    return NULL;
}

/* Whether the claim word leaves a piece of the task. */
static bool
open(const struct sm_range_task *task, uint64_t claim)
{
    return sm_range_number(claim) == task->number &&
           sm_range_front(claim) < sm_range_back(claim) &&
           sm_range_back(claim) <= sm_range_count(task->bytes) &&
           task->taken < sm_range_count(task->bytes);
}

/* Takes the last free piece of a connection's task; false: there is none.
 * [progress] */
static bool
take(na_plugin_class *cls, struct sm_conn *conn, struct piece *piece_p)
{
    _Atomic uint64_t *word = &conn->rx.control->claim;
    /* acquire: pairs with the initiator's claims */
    uint64_t claim = atomic_load_explicit(word, memory_order_acquire);

    if (!open(&conn->task, claim)) {
        end(cls, conn);
        return false;
    }
    uint32_t last = sm_range_back(claim) - 1;
    if (!atomic_compare_exchange_strong_explicit(word, &claim,
            sm_range_claim(conn->task.number, sm_range_front(claim), last),
            memory_order_acq_rel, memory_order_relaxed))
        return false;
    conn->task.taken++;
    conn->task.busy = true;
    tp_lock_take(&conn->lock);
    conn->users++;
    *piece_p = (struct piece){.conn = conn,
        .serial = conn->serial,
        .pid = conn->process.pid,
        .pidfd = conn->process.pidfd,
        .task = conn->task,
        .number = last};
    tp_lock_drop(&conn->lock);
    return true;
}

/* The parts of a piece at this side, if the registration permits it: how many, or
 * 0. A shared segment is held, *held_p; other memory is not: of what is deregistered
 * and unmapped meanwhile, the kernel copies nothing. */
static uint32_t
gather(na_plugin_class *cls, const struct sm_range_task *task, uint64_t at,
    uint32_t length, struct iovec *parts, struct sm_shared **held_p)
{
    const na_plugin_segment there = {(void *) 0, length};
    uint32_t count = 0;

    tp_lock_take(&cls->memory);
    const na_plugin_mem *mem = sm_mem_find(cls, task->mem);
    if (mem != NULL && task->offset <= UINT64_MAX - at &&
        tp_mem_permits(&mem->mem, task->offset + at, length,
            task->put ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ) ==
            NA_PLUGIN_OK) {
        struct tp_walk walk = {.near = mem->segments,
            .far = &there,
            .near_offset = task->offset + at,
            .left = length};
        struct tp_part part;
        while (count < VECTOR && tp_walk_next(&walk, &part))
            parts[count++] = (struct iovec){part.here, part.length};
        if (walk.left != 0)
            count = 0;
        *held_p = sm_shared_hold(mem);
    }
    tp_lock_drop(&cls->memory);
    return count;
}

static void
let_go(na_plugin_class *cls, struct sm_shared *held)
{
    if (held == NULL)
        return;
    tp_lock_take(&cls->memory);
    sm_shared_release(cls, held);
    tp_lock_drop(&cls->memory);
}

/* Copies a piece from or to the parts of this side; whether it did. Behind a get's
 * goes its mark, the last part, so that no moment is left in which this thread could
 * be stopped between the two. */
static bool
copy_parts(na_plugin_class *cls, const struct piece *piece,
    const struct iovec *near, uint32_t count, uint32_t length)
{
    struct sm_privilege privilege = {.dropped = false};
    const struct sm_range_task *task = &piece->task;
    uint64_t at = (uint64_t) piece->number * sm_range_piece(task->bytes);
    const struct iovec far[2] = {
        {(void *) (uintptr_t) (task->place.bytes + at), length},
        {(void *) (uintptr_t) (task->place.marks +
                               piece->number * sizeof(uint64_t)),
            sizeof(uint64_t)}};
    ssize_t moved;

    if (sm_socket_process_ended(piece->pidfd) ||
        (cls->privileged && !sm_privilege_drop(&privilege)))
        return false;
    moved = task->put ? process_vm_readv(piece->pid, near, count, far, 1, 0)
                      : process_vm_writev(piece->pid, near, count, far, 2, 0) -
                            (ssize_t) sizeof(uint64_t);
    if (cls->privileged)
        sm_privilege_restore(&privilege);
    if (moved != (ssize_t) length)
        return false;
    tp_count_shared(&cls->counters.assisted_bytes, length);
    return true;
}

/* Copies a piece; whether it did. */
static bool
copy(na_plugin_class *cls, const struct piece *piece)
{
    const struct sm_range_task *task = &piece->task;
    uint64_t at = (uint64_t) piece->number * sm_range_piece(task->bytes);
    uint64_t mark = sm_range_mark(task->number, piece->number);
    uint32_t length = sm_range_length(task->bytes, piece->number, 1);
    struct iovec near[VECTOR + 1];
    struct sm_shared *held = NULL;
    uint32_t count = gather(cls, task, at, length, near, &held);
    bool copied = false;

    if (count != 0) {
        if (!task->put)
            near[count++] = (struct iovec){&mark, sizeof(mark)};
        copied = copy_parts(cls, piece, near, count, length);
    }
    let_go(cls, held);
    return copied;
}

/* A connection with a task that no thread works on. [progress] */
static bool
find(na_plugin_class *cls, struct piece *piece_p)
{
    for (struct sm_conn *conn = cls->conns; conn != NULL && cls->assisting != 0;
         conn = conn->next)
        if (conn->task.present && !conn->task.busy && take(cls, conn, piece_p))
            return true;
    return false;
}

void
sm_assist_advance(na_plugin_class *cls)
{
    struct piece piece;

    if (!tp_lock_try(&cls->progress))
        return;
    bool found = cls->assisting != 0 && find(cls, &piece);
    tp_lock_drop(&cls->progress);
    if (!found)
        return;
    bool copied = copy(cls, &piece);

    struct sm_conn *conn = piece.conn;
    tp_lock_take(&cls->progress);
    bool same = conn->serial == piece.serial && conn->state == SM_CONN_UP;
    if (same) {
        conn->task.busy = false;
        if (!copied)
            decline(cls, conn, piece.task.number);
        else if (piece.task.put) /* release: after the last access to it */
            atomic_fetch_or_explicit(&conn->rx.control->copied,
                UINT64_C(1) << piece.number, memory_order_release);
    }
    tp_lock_take(&conn->lock);
    conn->users--;
    tp_lock_drop(&conn->lock);
    tp_lock_drop(&cls->progress);
}

bool
sm_assist_pending(const na_plugin_class *cls)
{
    const struct sm_conn *conn = cls->assisting != 0 ? cls->conns : NULL;

    for (; conn != NULL; conn = conn->next)
        if (conn->task.present &&
            open(&conn->task, atomic_load_explicit(&conn->rx.control->claim,
                                  memory_order_relaxed)))
            return true;
    return false;
}

void
sm_assist_drop(na_plugin_class *cls, struct sm_conn *conn)
{
    if (conn->task.present)
        end(cls, conn);
}
