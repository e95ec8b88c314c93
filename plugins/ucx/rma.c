/* SPDX-License-Identifier: BSD-3-Clause */
/* Put and get: checked here, then copied if they are to oneself or to memory that
 * UCX has mapped, done by UCX where a device does them, by messages where it would
 * only emulate them. */
#include <inttypes.h>
#include <string.h>

#include "address.h"
#include "conn.h"
#include "context.h"
#include "key.h"
#include "mem.h"
#include "peer.h"
#include "piece.h"
#include "progress.h"
#include "rma.h"
#include "send.h"

#define FLIGHT_NS UINT64_C(500000000) /* for UCX to end puts and gets */

bool
ucx_rma_withdraw(na_plugin_class *cls, struct ucx_op *op)
{
    if (ucx_op_state(op) != UCX_OP_POSTED)
        return false;
    ucx_piece_withdraw(cls, op);
    return true;
}

/* What is wrong with a range, or with its rights; logged. */
static int32_t
check(na_plugin_class *cls, const na_plugin_mem *mem, uint64_t offset,
    uint64_t length, uint32_t right, const char *whose)
{
    if (!ucx_mem_holds(mem, offset, length)) {
        UCX_LOG(cls->host, ERROR,
            "%" PRIu64 " bytes at %" PRIu64
            " of %s registration, which has %" PRIu64,
            length, offset, whose, mem->total);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if ((mem->access & right) == 0) {
        UCX_LOG(cls->host, ERROR, "%s registration does not permit it to be %s",
            whose, right == NA_PLUGIN_MEM_READ ? "read" : "written");
        return NA_PLUGIN_E_PERMISSION;
    }
    return NA_PLUGIN_OK;
}

/* Copies within this class. */
static int32_t
do_self(na_plugin_class *cls, const struct ucx_op *op)
{
    const na_plugin_mem *own = ucx_mem_find(cls, op->rma.remote->serial);
    bool put = op->kind == UCX_OP_PUT;
    uint64_t from_offset = put ? op->rma.local_offset : op->rma.remote_offset;
    uint64_t to_offset = put ? op->rma.remote_offset : op->rma.local_offset;

    if (own == NULL || op->rma.remote->owner != cls->number) {
        UCX_LOG(cls->host, ERROR, "the registration is not there (any more)");
        return NA_PLUGIN_E_INVALID_ARG;
    }
    int32_t ret = check(cls, own, op->rma.remote_offset, op->length,
        put ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ, "the own");
    if (ret != NA_PLUGIN_OK)
        return ret;
    const na_plugin_mem *from = put ? op->rma.local : own;
    const na_plugin_mem *to = put ? own : op->rma.local;
    for (uint64_t left = op->length; left > 0;) {
        uint64_t offset = from_offset;
        uint32_t i = ucx_mem_locate(from, &offset);
        uint64_t piece = from->segments[i].length - offset;
        if (piece > left)
            piece = left;
        ucx_mem_write(to, to_offset,
            (const unsigned char *) from->segments[i].base + offset, piece);
        from_offset += piece;
        to_offset += piece;
        left -= piece;
    }
    ucx_count(&cls->counters.self_bytes, op->length);
    return NA_PLUGIN_DONE;
}

static uint64_t
least(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t smaller = a < b ? a : b;

    return smaller < c ? smaller : c;
}

/* All that UCX had of an operation has come back. */
static void
landed(struct ucx_op *op)
{
    na_plugin_class *cls = op->ctx->cls;
    bool put = op->kind == UCX_OP_PUT;

    ucx_list_remove(&op->conn->flying, &op->link);
    ucx_conn_touch(op->conn);
    if (op->failed)
        return;
    ucx_count(&cls->counters.native_bytes, op->length);
    ucx_count(
        put ? &cls->counters.put_bytes : &cls->counters.get_bytes, op->length);
}

static void
on_part(void *request, ucs_status_t status, void *arg)
{
    struct ucx_op *op = arg;

    ucp_request_free(request);
    if (status != UCS_OK && !op->failed) {
        op->failed = true;
        op->result.status = ucx_conn_code(status);
    }
    if (--op->rma.asked != 0)
        return;
    landed(op);
    ucx_ctx_finish(op, op->failed ? op->result.status : NA_PLUGIN_OK);
}

/* Counts what UCX has begun. */
static void
begun(struct ucx_op *op, void *request)
{
    if (UCS_PTR_IS_PTR(request)) {
        op->rma.asked++;
    } else if (request != NULL && !op->failed) {
        op->failed = true;
        op->result.status = ucx_conn_code(UCS_PTR_STATUS(request));
    }
}

/* Where an operation stands in both registrations. */
struct walk {
    const na_plugin_mem *local;
    const na_plugin_mem *remote;
    uint32_t i; /* segment of local */
    uint32_t j; /* and of remote */
    uint64_t near;
    uint64_t far;
    uint64_t left;
};

/* A part of it that is in one segment at either end. */
struct part {
    char *here;
    uint64_t there;
    uint64_t length;
    uint32_t key; /* the remote segment's */
};

static struct walk
walk_of(const struct ucx_op *op)
{
    struct walk walk = {.local = op->rma.local,
        .remote = op->rma.remote,
        .near = op->rma.local_offset,
        .far = op->rma.remote_offset,
        .left = op->length};

    walk.i = ucx_mem_locate(walk.local, &walk.near);
    walk.j = ucx_mem_locate(walk.remote, &walk.far);
    return walk;
}

/* The next part; false: there is none. */
static bool
next_part(struct walk *walk, struct part *part_p)
{
    if (walk->left == 0)
        return false;
    const na_plugin_segment *own = &walk->local->segments[walk->i];
    const na_plugin_segment *other = &walk->remote->segments[walk->j];
    part_p->here = (char *) own->base + walk->near;
    part_p->there = (uint64_t) (uintptr_t) other->base + walk->far;
    part_p->length =
        least(walk->left, own->length - walk->near, other->length - walk->far);
    part_p->key = walk->j;
    walk->left -= part_p->length;
    walk->near += part_p->length;
    walk->far += part_p->length;
    if (walk->near == own->length)
        walk->i++, walk->near = 0;
    if (walk->far == other->length)
        walk->j++, walk->far = 0;
    return true;
}

/* Copies to or from the peer's memory, which UCX has mapped here. Newer versions
 * of UCX have no lane for such gets, and would ask the peer. */
static int32_t
copy_mapped(struct ucx_op *op, struct ucx_keyring *ring)
{
    na_plugin_class *cls = op->ctx->cls;
    bool put = op->kind == UCX_OP_PUT;
    struct walk walk = walk_of(op);
    struct part part;
    void *mapped;

    while (next_part(&walk, &part)) {
        ucs_status_t status =
            ucp_rkey_ptr(ring->keys[part.key], part.there, &mapped);
        if (status != UCS_OK)
            return ucx_conn_code(status);
        if (put)
            memcpy(mapped, part.here, part.length);
        else
            memcpy(part.here, mapped, part.length);
    }
    ucx_count(&cls->counters.native_bytes, op->length);
    ucx_count(
        put ? &cls->counters.put_bytes : &cls->counters.get_bytes, op->length);
    return NA_PLUGIN_DONE;
}

/* Does by UCX what a device of its reaches by itself. */
static int32_t
fly(struct ucx_op *op, struct ucx_keyring *ring)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA,
        .cb = {.send = on_part},
        .user_data = op};
    struct walk walk = walk_of(op);
    struct part part;
    ucp_ep_h ep = op->conn->ep;

    op->rma.asked = 1; /* until all has been begun */
    ucx_op_set(op, UCX_OP_BUSY);
    ucx_list_append(&op->conn->flying, &op->link);
    op->ctx->cls->stirred = true;
    while (!op->failed && next_part(&walk, &part)) {
        ucp_rkey_h key = ring->keys[part.key];
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
    ucx_op_set(op, UCX_OP_IDLE);
    return op->failed ? op->result.status : NA_PLUGIN_DONE;
}

/* Starts it, and says how that ended. */
static int32_t
submit(struct ucx_op *op, na_plugin_mem *remote, na_plugin_addr *peer)
{
    na_plugin_class *cls = op->ctx->cls;
    struct ucx_conn *conn;

    if (peer == cls->self)
        return do_self(cls, op);
    int32_t ret = ucx_send_conn(cls, peer, &conn);
    if (ret != NA_PLUGIN_OK)
        return ret;
    op->conn = conn;
    op->failed = false;
    op->rma.asked = op->rma.done = 0;
    if (conn->state == UCX_CONN_UP && !conn->failed && !conn->retiring &&
        remote->owner == ucx_peer_number(conn->peer)) {
        struct ucx_keyring *ring = ucx_key_ring(conn, remote);
        if (ring != NULL)
            return conn->rma_reach ? fly(op, ring) : copy_mapped(op, ring);
    }
    return ucx_piece_submit(op);
}

static int32_t
begin(na_plugin_ctx *ctx, void *name, enum ucx_kind kind, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t flags)
{
    na_plugin_class *cls = ctx->cls;
    struct ucx_op *op = ucx_op_of(cls, name);
    bool put = kind == UCX_OP_PUT;

    int32_t ret = check(cls, local, local_offset, length,
        put ? NA_PLUGIN_MEM_READ : NA_PLUGIN_MEM_WRITE, "the own");
    if (ret == NA_PLUGIN_OK)
        ret = check(cls, remote, remote_offset, length,
            put ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ, "the peer's");
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (length == 0)
        return NA_PLUGIN_DONE;
    ucx_lock_take(&cls->lock);
    op->ctx = ctx;
    op->kind = (uint8_t) kind;
    op->length = length;
    op->rma.local = local;
    op->rma.remote = remote;
    op->rma.local_offset = local_offset;
    op->rma.remote_offset = remote_offset;
    ret = submit(op, remote, peer);
    ucx_wait_settle(cls);
    ucx_lock_drop(&cls->lock);
    return ret;
}

int32_t
ucx_put(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    return begin(ctx, op, UCX_OP_PUT, local, local_offset, remote,
        remote_offset, length, peer, flags);
}

int32_t
ucx_get(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    return begin(ctx, op, UCX_OP_GET, local, local_offset, remote,
        remote_offset, length, peer, flags);
}

/* Fails the connections that UCX still has something of a context on; whether
 * there are any. */
static bool
fail_flying(const struct ucx_list *conns, const na_plugin_ctx *ctx, bool fail)
{
    bool any = false;

    for (struct ucx_link *link = conns->head; link != NULL; link = link->next) {
        struct ucx_conn *conn = (struct ucx_conn *) link;
        bool own = false;
        for (struct ucx_link *at = conn->flying.head; at != NULL && !own;
             at = at->next)
            own = ((struct ucx_op *) at)->ctx == ctx;
        if (own && fail)
            ucx_conn_fail(conn, NA_PLUGIN_E_HOSTUNREACH);
        any = any || own;
    }
    return any;
}

void
ucx_rma_end_flights(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    uint64_t begun_ns = ucx_now();

    while (fail_flying(&cls->conns, ctx, false) ||
           fail_flying(&cls->closed, ctx, false)) {
        if (ucx_now() - begun_ns > FLIGHT_NS)
            fail_flying(&cls->conns, ctx, true);
        ucx_progress_once(cls);
    }
}
