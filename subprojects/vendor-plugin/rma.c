/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, and remote access to it by messages: a put or get is sent in fragments,
 * each of which its owner carries out and answers. */
#include <stdlib.h>

#include "tcp.h"

#define FORM 1U /* of the bytes of a serialized registration */

static int32_t
mem_register(
    na_plugin_class *cls, const na_plugin_mem_info *info, na_plugin_mem **mem_p)
{
    struct tp_mem base = {0};

    int32_t ret = tp_mem_check(cls->host, info, TCP_SEGMENTS, false, &base);
    if (ret != NA_PLUGIN_OK)
        return ret;
    na_plugin_mem *mem =
        malloc(sizeof(*mem) + base.count * sizeof(mem->segments[0]));
    if (mem == NULL)
        return NA_PLUGIN_E_NOMEM;
    mem->base = base;
    for (uint32_t i = 0; i < base.count; i++)
        mem->segments[i] = info->segments[i];
    tp_lock_take(&cls->lock);
    bool drawn = tp_random_draw(&cls->random, &mem->base.keyed.key);
    if (drawn)
        tp_table_insert(&cls->mems, &mem->base.keyed);
    tp_lock_drop(&cls->lock);
    if (!drawn) {
        free(mem);
        return NA_PLUGIN_E_NOMEM;
    }
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

static void
mem_deregister(na_plugin_class *cls, na_plugin_mem *mem)
{
    tp_lock_take(&cls->lock);
    tp_table_remove(&cls->mems, &mem->base.keyed);
    tp_lock_drop(&cls->lock);
    free(mem);
}

static int32_t
mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem, void *buffer,
    uint64_t *size_p)
{
    return tp_mem_serialize(
        FORM, &mem->base, mem->segments, NULL, 0, buffer, size_p);
}

static int32_t
mem_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_mem **mem_p)
{
    const unsigned char *extra;
    struct tp_mem base = {0};
    uint32_t extra_length;

    int32_t ret = tp_mem_deserialize_front(cls->host, FORM, buffer, length,
        TCP_SEGMENTS, &base, &extra, &extra_length);
    if (ret != NA_PLUGIN_OK)
        return ret;
    na_plugin_mem *mem =
        malloc(sizeof(*mem) + base.count * sizeof(mem->segments[0]));
    if (mem == NULL)
        return NA_PLUGIN_E_NOMEM;
    mem->base = base;
    ret = tp_mem_deserialize_segments(
        cls->host, buffer, &mem->base, mem->segments);
    if (ret == NA_PLUGIN_OK)
        *mem_p = mem;
    else
        free(mem);
    return ret;
}

static void
mem_remote_free(na_plugin_class *cls, na_plugin_mem *mem)
{
    free(mem);
}

static int32_t
transfer(na_plugin_ctx *ctx, void *arg, enum tcp_op_kind kind,
    na_plugin_mem *local, uint64_t local_offset, na_plugin_mem *remote,
    uint64_t remote_offset, uint64_t length, na_plugin_addr *peer)
{
    na_plugin_class *cls = ctx->cls;
    bool put = kind == TCP_OP_PUT;
    struct tcp_op *op = arg;
    struct tcp_conn *conn;

    int32_t ret = tp_mem_check_range(cls->host, &local->base, local_offset,
        length, put ? NA_PLUGIN_MEM_READ : NA_PLUGIN_MEM_WRITE, "own");
    if (ret == NA_PLUGIN_OK)
        ret = tp_mem_check_range(cls->host, &remote->base, remote_offset,
            length, put ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ, "peer's");
    if (ret != NA_PLUGIN_OK)
        return ret;
    tp_lock_take(&cls->lock);
    ret = tcp_conn_get(cls, peer, &conn);
    if (ret == NA_PLUGIN_OK && !tcp_op_begin(op, ctx, kind, &conn->ops))
        ret = NA_PLUGIN_E_NOMEM;
    if (ret == NA_PLUGIN_OK) {
        op->conn = conn;
        op->status = NA_PLUGIN_OK;
        op->local = local;
        op->local_offset = local_offset;
        op->key = remote->base.keyed.key;
        op->remote_offset = remote_offset;
        op->left = length;
        op->unanswered = 0;
        op->packet = (struct tcp_packet){.op = op};
        tcp_packet_move(&op->packet, &conn->fragments);
        tp_count(put ? &cls->put_bytes : &cls->get_bytes, length);
        tcp_flush(conn);
        ret = tcp_op_submitted(op);
    }
    tp_lock_drop(&cls->lock);
    return ret;
}

static int32_t
put(na_plugin_ctx *ctx, void *op, na_plugin_mem *local, uint64_t local_offset,
    na_plugin_mem *remote, uint64_t remote_offset, uint64_t length,
    na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    return transfer(ctx, op, TCP_OP_PUT, local, local_offset, remote,
        remote_offset, length, peer);
}

static int32_t
get(na_plugin_ctx *ctx, void *op, na_plugin_mem *local, uint64_t local_offset,
    na_plugin_mem *remote, uint64_t remote_offset, uint64_t length,
    na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    return transfer(ctx, op, TCP_OP_GET, local, local_offset, remote,
        remote_offset, length, peer);
}

/* What is next in local memory, in one piece. */
static void *
next_piece(struct tcp_op *op, uint32_t *length_p)
{
    const na_plugin_segment *segment = op->local->segments;
    uint64_t offset = op->local_offset, most = TCP_FRAGMENT;

    while (op->left != 0 && offset >= segment->length)
        offset -= segment++->length;
    most = op->left < most ? op->left : most;
    if (most != 0 && op->kind == TCP_OP_PUT && segment->length - offset < most)
        most = segment->length - offset;
    *length_p = (uint32_t) most;
    return (char *) segment->base + offset;
}

void
tcp_rma_next(struct tcp_conn *conn)
{
    struct tcp_packet *packet =
        TP_OBJECT(conn->fragments.head, struct tcp_packet, link);
    struct tcp_op *op = packet->op;
    uint32_t number = 0, length;

    while (number < TCP_REQUESTS && conn->requests[number].busy)
        number++;
    if (number == TCP_REQUESTS)
        return;
    const void *data = next_piece(op, &length);
    bool is_put = op->kind == TCP_OP_PUT;
    conn->requests[number] = (struct tcp_request){.busy = true,
        .op = op,
        .offset = op->local_offset,
        .length = is_put ? 0 : length};
    packet->data = data;
    packet->length = is_put ? length : 0;
    packet->frame = (struct tcp_frame){.length = packet->length,
        .kind = is_put ? TCP_PUT : TCP_GET,
        .request = (uint8_t) number,
        .tag = is_put ? 0 : length,
        .key = op->key,
        .offset = op->remote_offset};
    op->unanswered++;
    op->local_offset += length;
    op->remote_offset += length;
    op->left -= length;
    tcp_packet_move(packet, &conn->out);
}

/* Ends one of which nothing is under way any more. */
static void
settle(struct tcp_op *op)
{
    if (op->left == 0 && op->unanswered == 0 && op->packet.list == NULL)
        tcp_op_end(op, op->status);
}

void
tcp_rma_sent(struct tcp_op *op)
{
    op->packet.sent = 0;
    if (op->left != 0)
        tcp_packet_move(&op->packet, &op->conn->fragments);
    else
        settle(op);
}

/* No further fragment of it is sent. */
static void
stop(struct tcp_op *op, int32_t status)
{
    op->status = status;
    op->left = 0;
    if (op->packet.list == &op->conn->fragments)
        tcp_packet_move(&op->packet, NULL);
}

/* Nothing but a packet that was sent in part refers to it afterwards. */
void
tcp_rma_cancel(struct tcp_op *op)
{
    struct tcp_conn *conn = op->conn;

    stop(op, NA_PLUGIN_E_CANCELED);
    if (op->packet.list != NULL && op->packet.sent == 0) {
        conn->requests[op->packet.frame.request].busy = false;
        tcp_packet_move(&op->packet, NULL);
    }
    for (uint32_t i = 0; i < TCP_REQUESTS; i++)
        if (conn->requests[i].op == op)
            conn->requests[i].op = NULL;
    op->unanswered = 0;
}

bool
tcp_rma_arrived(
    struct tcp_conn *conn, const struct tcp_frame *frame, const void *data)
{
    if (frame->request >= TCP_REQUESTS || !conn->requests[frame->request].busy)
        return false;
    struct tcp_request request = conn->requests[frame->request];
    struct tcp_op *op = request.op;
    bool good = frame->status == NA_PLUGIN_OK;
    if (frame->length != (good ? request.length : 0) || frame->status > 0 ||
        frame->status < NA_PLUGIN_E_HOSTFIREWALL)
        return false;
    conn->requests[frame->request] = (struct tcp_request){.busy = false};
    if (op == NULL)
        return true;
    if (good)
        tp_segments_write(
            op->local->segments, request.offset, data, request.length);
    else
        stop(op, frame->status);
    op->unanswered--;
    settle(op);
    return true;
}

bool
tcp_rma_asked(
    struct tcp_conn *conn, const struct tcp_frame *frame, const void *data)
{
    bool is_put = frame->kind == TCP_PUT;
    uint32_t length = is_put ? frame->length : frame->tag;
    struct tp_keyed *keyed = tp_table_find(&conn->cls->mems, NULL, frame->key);
    na_plugin_mem *mem =
        keyed != NULL ? TP_OBJECT(keyed, na_plugin_mem, base.keyed) : NULL;
    int32_t status = NA_PLUGIN_E_INVALID_ARG;

    if (length > TCP_FRAGMENT || conn->answers == TCP_REQUESTS ||
        (!is_put && frame->length != 0))
        return false;
    if (mem != NULL)
        status = tp_mem_permits(&mem->base, frame->offset, length,
            is_put ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ);
    bool good = status == NA_PLUGIN_OK;
    struct tcp_packet *answer =
        tcp_packet_new(TCP_ANSWER, good && !is_put ? length : 0);
    if (answer == NULL)
        return false;
    answer->frame.request = frame->request;
    answer->frame.status = status;
    if (good && is_put)
        tp_segments_write(mem->segments, frame->offset, data, length);
    else if (good)
        tp_segments_read(
            mem->segments, frame->offset, (void *) (answer + 1), length);
    conn->answers++;
    tcp_packet_move(answer, &conn->out);
    tcp_flush(conn);
    return true;
}

void
tcp_rma_ops(na_plugin_ops *ops)
{
    ops->mem_register = mem_register;
    ops->mem_deregister = mem_deregister;
    ops->mem_serialize = mem_serialize;
    ops->mem_deserialize = mem_deserialize;
    ops->mem_remote_free = mem_remote_free;
    ops->put = put;
    ops->get = get;
}
