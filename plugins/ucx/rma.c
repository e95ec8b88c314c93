/* SPDX-License-Identifier: BSD-3-Clause */
/* Put and get: checked here, then copied if they are to oneself or to memory that
 * UCX has mapped, done by UCX where a device does them, by messages where it would
 * only emulate them. */
#include <string.h>

#include "fragment.h"
#include "key.h"
#include "mem.h"
#include "rma.h"
#include "wait.h"
#include "work.h"

/* Where an operation begins in both registrations. */
static struct tp_walk
walk_of(const struct ucx_op *op, const na_plugin_mem *remote)
{
    return (struct tp_walk){.near = op->rma.local->segments,
        .far = remote->segments,
        .near_offset = op->rma.local_offset,
        .far_offset = op->rma.remote_offset,
        .left = op->recv.length};
}

static uint32_t
remote_right(const struct ucx_op *op)
{
    return op->kind == UCX_OP_PUT ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ;
}

static void
count(struct ucx_op *op, _Atomic uint64_t *way)
{
    struct ucx_counters *counters = &op->ctx->cls->counters;

    tp_count(way, op->recv.length);
    tp_count(
        op->kind == UCX_OP_PUT ? &counters->put_bytes : &counters->get_bytes,
        op->recv.length);
}

/* Copies within this class. */
static int32_t
copy_self(na_plugin_class *cls, const struct ucx_op *op)
{
    const na_plugin_mem *described = op->rma.remote;
    const na_plugin_mem *own = ucx_mem_find(cls, described->mem.keyed.key);
    struct tp_part part;

    if (own == NULL || described->mem.owner != cls->number) {
        TP_LOG(cls->host, ERROR,
            "put or get to oneself refused: no such registration");
        return NA_PLUGIN_E_INVALID_ARG;
    }
    int32_t ret = tp_mem_check_range(cls->host, &own->mem,
        op->rma.remote_offset, op->recv.length, remote_right(op), "own");
    if (ret != NA_PLUGIN_OK)
        return ret;
    struct tp_walk walk = walk_of(op, own);
    while (tp_walk_next(&walk, &part)) {
        void *there = (void *) (uintptr_t) part.there;
        bool put = op->kind == UCX_OP_PUT;
        memmove(put ? there : part.here, put ? part.here : there, part.length);
    }
    tp_count(&cls->counters.self_bytes, op->recv.length);
    return NA_PLUGIN_DONE;
}

/* All that UCX had of an operation has come back. */
static void
landed(struct ucx_op *op)
{
    tp_list_remove(&op->conn->flying, &op->recv.keyed.link);
    ucx_conn_touch(op->conn);
    if (op->status == NA_PLUGIN_OK)
        count(op, &op->ctx->cls->counters.native_bytes);
}

static void
note_error(struct ucx_op *op, ucs_status_t status)
{
    if (status != UCS_OK && op->status == NA_PLUGIN_OK)
        op->status = ucx_conn_code(status);
}

static void
on_part(void *request, ucs_status_t status, void *arg)
{
    struct ucx_op *op = arg;

    ucp_request_free(request);
    note_error(op, status);
    if (--op->rma.asked != 0)
        return;
    landed(op);
    ucx_op_finish(op, op->status);
}

/* Counts what UCX has begun. */
static void
begun(struct ucx_op *op, void *request)
{
    if (UCS_PTR_IS_PTR(request))
        op->rma.asked++;
    else
        note_error(op, UCS_PTR_STATUS(request));
}

/* The key of the remote segment that a part lies in. */
static ucp_rkey_h
key_of(const struct ucx_op *op, const struct ucx_keyring *ring,
    const struct tp_part *part)
{
    return ring->keys[part->far - op->rma.remote->segments];
}

/* Copies to or from the peer's memory, which UCX has mapped here. Newer versions
 * of UCX have no lane for such gets, and would ask the peer. */
static int32_t
copy_mapped(struct ucx_op *op, const struct ucx_keyring *ring)
{
    struct tp_walk walk = walk_of(op, op->rma.remote);
    struct tp_part part;
    void *mapped;

    while (tp_walk_next(&walk, &part)) {
        ucs_status_t status =
            ucp_rkey_ptr(key_of(op, ring, &part), part.there, &mapped);
        if (status != UCS_OK)
            return ucx_conn_code(status);
        if (op->kind == UCX_OP_PUT)
            memcpy(mapped, part.here, part.length);
        else
            tp_mem_copy(part.here, mapped, part.length);
    }
    count(op, &op->ctx->cls->counters.native_bytes);
    return NA_PLUGIN_DONE;
}

/* Does by UCX what a device of its reaches by itself. */
static int32_t
fly(struct ucx_op *op, const struct ucx_keyring *ring)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA,
        .cb = {.send = on_part},
        .user_data = op};
    struct tp_walk walk = walk_of(op, op->rma.remote);
    struct tp_part part;
    ucp_ep_h ep = op->conn->ep;

    op->rma.asked = 1; /* until all has been begun */
    ucx_op_set(op, UCX_OP_BUSY);
    tp_list_append(&op->conn->flying, &op->recv.keyed.link);
    op->ctx->cls->wake_due = true;
    while (op->status == NA_PLUGIN_OK && tp_walk_next(&walk, &part)) {
        ucp_rkey_h key = key_of(op, ring, &part);
        begun(op, op->kind == UCX_OP_PUT
                      ? ucp_put_nbx(
                            ep, part.here, part.length, part.there, key, &param)
                      : ucp_get_nbx(ep, part.here, part.length, part.there, key,
                            &param));
    }
    if (op->kind == UCX_OP_PUT)
        begun(op, ucp_ep_flush_nbx(ep, &param));
    if (--op->rma.asked != 0)
        return NA_PLUGIN_PENDING;
    landed(op);
    return op->status != NA_PLUGIN_OK ? op->status : NA_PLUGIN_DONE;
}

/* Starts it at a peer, and says how that ended. */
static int32_t
submit(struct ucx_op *op, na_plugin_mem *remote, na_plugin_addr *peer)
{
    struct ucx_conn *conn;

    int32_t ret = ucx_work_route(op->ctx->cls, peer, &conn);
    if (ret != NA_PLUGIN_OK)
        return ret;
    op->conn = conn;
    op->status = NA_PLUGIN_OK;
    op->rma.asked = op->rma.done = 0;
    if (conn->state == UCX_CONN_UP && !conn->failed && !conn->retiring &&
        remote->mem.owner == ucx_peer_number(conn->peer)) {
        struct ucx_keyring *ring = ucx_key_ring(conn, remote);
        if (ring != NULL)
            return conn->rma_reach ? fly(op, ring) : copy_mapped(op, ring);
    }
    return ucx_fragment_submit(op);
}

static int32_t
begin(na_plugin_ctx *ctx, void *name, enum ucx_kind kind, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer)
{
    na_plugin_class *cls = ctx->cls;
    struct ucx_op *op = ucx_op_of(cls, name);
    bool put = kind == UCX_OP_PUT;

    int32_t ret = tp_mem_check_range(cls->host, &local->mem, local_offset,
        length, put ? NA_PLUGIN_MEM_READ : NA_PLUGIN_MEM_WRITE, "own");
    if (ret == NA_PLUGIN_OK)
        ret = tp_mem_check_range(cls->host, &remote->mem, remote_offset, length,
            put ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ, "peer's");
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (length == 0)
        return NA_PLUGIN_DONE;
    tp_mutex_take(&cls->lock);
    if (ucx_op_post(ctx, op, kind)) {
        op->recv.length = length;
        op->rma.local = local;
        op->rma.remote = remote;
        op->rma.local_offset = local_offset;
        op->rma.remote_offset = remote_offset;
        ret = peer == cls->self ? copy_self(cls, op) : submit(op, remote, peer);
        if (ret != NA_PLUGIN_PENDING)
            ucx_op_unpost(op);
    } else {
        ret = NA_PLUGIN_E_NOMEM;
    }
    ucx_wait_settle(cls);
    tp_mutex_drop(&cls->lock);
    return ret;
}

#define TRANSFER(name, kind)                                                   \
    int32_t name(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,           \
        uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,  \
        uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx,              \
        uint32_t flags)                                                        \
    {                                                                          \
        return begin(ctx, op, kind, local, local_offset, remote,               \
            remote_offset, length, peer);                                      \
    }

TRANSFER(ucx_put, UCX_OP_PUT)
TRANSFER(ucx_get, UCX_OP_GET)
