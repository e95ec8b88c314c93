/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving a piece of an operation: by process_vm_writev and process_vm_readv, by a
 * descriptor of the process's memory, or by plain copies within this process's own
 * and mapped memory.
 *
 * A process number may be given to another process when its owner has died. So
 * the peer's pidfd is looked at before copies by the number. A look holds for
 * LOOK_NS: less than the kernel needs to end a process, give its number to others
 * in turn until all numbers are used, and begin with the first one again. By
 * default there are 1,024 numbers or more for each processor (kernel.pid_max), and it
 * starts and ends a process in some 10 us. A descriptor of memory leads to nobody
 * else. */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "mem.h"
#include "move.h"
#include "socket.h"

#define VECTOR 256 /* parts in one call, a quarter of IOV_MAX */
#define LOOK_NS 500000U

/* What one call copies: the parts on both sides, equal in pairs. */
struct vector {
    struct iovec here[VECTOR];
    struct iovec there[VECTOR];
    uint32_t count;
};

static struct tp_walk
walk(const struct sm_op *op, uint64_t length)
{
    return (struct tp_walk){.near = op->rma.local->segments,
        .far = op->rma.remote->segments,
        .near_offset = op->rma.local_offset,
        .far_offset = op->rma.remote_offset,
        .left = length};
}

/* Copies within this process: its own memory, or a mapping of the peer's. */
static uint64_t
copy_own(
    const struct sm_target *target, const struct sm_op *op, uint64_t length)
{
    struct tp_walk parts = walk(op, length);
    struct tp_part part;

    while (tp_walk_next(&parts, &part)) {
        void *there =
            (void *) (uintptr_t) (part.there + (uint64_t) target->displacement);
        if (op->kind == SM_OP_PUT)
            memmove(there, part.here, part.length);
        else if (target->conn != NULL)
            tp_mem_copy(part.here, there, part.length);
        else /* own memory may overlap */
            memmove(part.here, there, part.length);
    }
    return length;
}

/* The kernel refuses: SM_MOVE_EMULATED if the peer copies on request, AGAIN while
 * that is not known, OK if it does not. */
static int32_t
emulate(na_plugin_class *cls, struct sm_conn *conn, int error)
{
    tp_lock_take(&conn->lock);
    bool up = conn->state == SM_CONN_UP;
    bool emulates = conn->emulates;
    tp_lock_drop(&conn->lock);

    if (up && !emulates)
        return NA_PLUGIN_OK;
    if (!atomic_exchange_explicit(
            &cls->refusal_logged, true, memory_order_relaxed))
        TP_LOG(cls->host, INFO,
            "process %d: the kernel permits no copies from or to it (%s): puts "
            "and gets are emulated by messages",
            (int) conn->process.pid, strerror(error));
    return up ? SM_MOVE_EMULATED : NA_PLUGIN_E_AGAIN;
}

/* What the kernel's refusal means; what to do about it is said once for each
 * connection. */
static int32_t
vm_error(na_plugin_class *cls, struct sm_conn *conn, int error)
{
    if (conn == NULL ||
        error == EIO) /* an own range that ended before its length did */
        return NA_PLUGIN_E_INVALID_ARG;
    if (error == ESRCH)
        return NA_PLUGIN_E_HOSTUNREACH;

    if (error == EPERM || error == ENOSYS) {
        bool said =
            atomic_exchange_explicit(&conn->denied, true, memory_order_relaxed);
        int32_t ret = emulate(cls, conn, error);
        if (ret != NA_PLUGIN_OK)
            return ret;
        if (!said)
            TP_LOG(cls->host, ERROR,
                "process %d: the kernel forbids access to its memory (%s): "
                "both processes must run as the same user, without a filter on "
                "process_vm_readv, and kernel.yama.ptrace_scope be 0, or the "
                "owner call prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY)",
                (int) conn->process.pid, strerror(error));
        return NA_PLUGIN_E_PERMISSION;
    }
    /* the next copy may succeed: it goes by the kernel again, which finds out that
     * memory is missing where the owner would crash */
    if (!atomic_exchange_explicit(
            &conn->failed_copy, true, memory_order_relaxed))
        TP_LOG(cls->host, ERROR, "process %d: cannot access its memory: %s",
            (int) conn->process.pid, strerror(error));
    if (error == EFAULT)
        return NA_PLUGIN_E_FAULT;
    return error == ENOMEM ? NA_PLUGIN_E_NOMEM : NA_PLUGIN_E_IO_ERROR;
}

static bool
has_ended(const struct sm_target *target)
{
    return target->pidfd >= 0 && sm_socket_process_ended(target->pidfd);
}

/* Looks whether the process has ended, unless that was done a moment ago: false
 * and errno if it has. */
static bool
look(const struct sm_target *target)
{
    if (target->conn == NULL)
        return true;
    _Atomic uint64_t *last_p = &target->conn->alive_ns;
    uint64_t now = tp_now();

    if (now - atomic_load_explicit(last_p, memory_order_relaxed) < LOOK_NS)
        return true;
    if (has_ended(target)) {
        errno = ESRCH;
        return false;
    }
    atomic_store_explicit(last_p, now, memory_order_relaxed);
    return true;
}

/* Copies one piece by the descriptor of the peer's memory. */
static int64_t
copy_piece(int memory_fd, bool put, const struct iovec *here,
    const struct iovec *there)
{
    off_t at = (off_t) (uintptr_t) there->iov_base;
    ssize_t moved = put ? pwrite(memory_fd, here->iov_base, here->iov_len, at)
                        : pread(memory_fd, here->iov_base, here->iov_len, at);

    if (moved == 0) /* the program has ended */
        errno = ESRCH;
    if (moved < 0 && errno == EIO) /* what process_vm_writev calls so */
        errno = EFAULT;
    return moved > 0 ? moved : -1;
}

/* Adds the parts of the next length bytes of an operation; how many bytes there was
 * room for. */
static uint64_t
add_parts(struct vector *vector, const struct sm_op *op, uint64_t length)
{
    struct tp_walk parts = walk(op, length);
    struct tp_part part;
    uint64_t added = 0;

    while (vector->count < VECTOR && tp_walk_next(&parts, &part)) {
        vector->here[vector->count] = (struct iovec){part.here, part.length};
        vector->there[vector->count++] =
            (struct iovec){(void *) (uintptr_t) part.there, part.length};
        added += part.length;
    }
    return added;
}

/* Copies by the kernel, as a process without privileges, as much as one call can:
 * bytes, or -1 and errno. */
static int64_t
copy_process(const na_plugin_class *cls, struct sm_target *target, bool put,
    const struct vector *vector)
{
    const struct iovec *here = vector->here;
    const struct iovec *there = vector->there;
    uint32_t count = vector->count;

    if (target->memory_fd >= 0 && count == 1 && here->iov_len <= SM_MOVE_SMALL)
        return copy_piece(target->memory_fd, put, here, there);
    if (!look(target))
        return -1;
    if (cls->privileged && !target->privilege->dropped &&
        !sm_privilege_drop(target->privilege)) {
        errno = EPERM;
        return -1;
    }
    return put ? process_vm_writev(target->pid, here, count, there, count, 0)
               : process_vm_readv(target->pid, here, count, there, count, 0);
}

struct sm_target
sm_target_process(const na_plugin_class *cls, struct sm_conn *conn,
    struct sm_privilege *privilege)
{
    struct sm_target target = {.pid = conn->process.pid,
        .pidfd = conn->process.pidfd,
        .memory_fd = -1,
        .conn = conn,
        .privilege = privilege};

    conn->users++;
    if (!cls->privileged)
        return target;
    if (conn->memory == SM_MEMORY_UNKNOWN && !privilege->dropped) {
        conn->memory_fd = sm_privilege_open_memory(conn->process.pid);
        conn->memory =
            conn->memory_fd >= 0 ? SM_MEMORY_UNPROVEN : SM_MEMORY_REFUSED;
    }
    target.proves = conn->memory == SM_MEMORY_UNPROVEN;
    if (conn->memory == SM_MEMORY_PROVEN)
        target.memory_fd = conn->memory_fd;
    return target;
}

void
sm_target_release(struct sm_target *target, bool copied)
{
    struct sm_conn *conn = target->conn;

    if (conn == NULL)
        return;
    tp_lock_take(&conn->lock);
    conn->users--;
    if (target->proves && copied && conn->memory == SM_MEMORY_UNPROVEN)
        conn->memory = SM_MEMORY_PROVEN;
    tp_lock_drop(&conn->lock);
}

int64_t
sm_move_several(na_plugin_class *cls, struct sm_target *target,
    struct sm_op *const *ops, uint32_t count, uint32_t *tried_p)
{
    struct vector vector;
    uint32_t tried = 0;

    vector.count = 0;
    for (uint32_t parts = 0; tried < count; tried++) {
        uint64_t length = ops[tried]->rma.length;
        if (add_parts(&vector, ops[tried], length) != length) {
            vector.count = parts;
            break;
        }
        parts = vector.count;
    }
    *tried_p = tried;
    return tried > 0
               ? copy_process(cls, target, ops[0]->kind == SM_OP_PUT, &vector)
               : 0;
}

/* The same of one operation, at most as much as one call can. */
static int64_t
copy_next(const na_plugin_class *cls, struct sm_target *target,
    const struct sm_op *op, uint64_t length)
{
    struct vector vector;

    vector.count = 0;
    add_parts(&vector, op, length);
    return copy_process(cls, target, op->kind == SM_OP_PUT, &vector);
}

int32_t
sm_move(na_plugin_class *cls, struct sm_target *target, struct sm_op *op,
    uint64_t length)
{
    struct sm_counters *counters = &cls->counters;

    if (target->pid == 0 && !look(target))
        return NA_PLUGIN_E_HOSTUNREACH;
    while (length > 0) {
        /* its owner, this class, may have freed it since the last slice */
        bool own = target->pid == 0 && target->conn == NULL;
        if (own && !sm_mem_hold(cls, op->rma.remote))
            return NA_PLUGIN_E_INVALID_ARG;
        int64_t moved = target->pid == 0
                            ? (int64_t) copy_own(target, op, length)
                            : copy_next(cls, target, op, length);
        int error = moved < 0 ? errno : 0;
        if (own)
            sm_mem_release(cls);
        if (moved <= 0) {
            /* before anything is logged */
            sm_privilege_restore(target->privilege);
            return has_ended(target)
                       ? NA_PLUGIN_E_HOSTUNREACH
                       : vm_error(cls, target->conn, moved < 0 ? error : EIO);
        }
        op->rma.local_offset += (uint64_t) moved;
        op->rma.remote_offset += (uint64_t) moved;
        op->rma.length -= (uint64_t) moved;
        length -= (uint64_t) moved;
        tp_count_shared(
            op->kind == SM_OP_PUT ? &counters->put_bytes : &counters->get_bytes,
            (uint64_t) moved);
        if (target->pid == 0 && target->conn != NULL)
            tp_count_shared(&counters->mapped_bytes, (uint64_t) moved);
    }
    return NA_PLUGIN_OK;
}
