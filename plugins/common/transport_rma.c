/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote memory access by messages: a put or get is sent in fragments, each of
 * which the owner of the memory checks, carries out and answers. */
#include "common/transport_private.h"

static int32_t
check_ranges(struct tp_transport *transport, const struct tp_op *op,
    enum tp_op_kind kind, const na_plugin_mem *remote)
{
    bool put = kind == TP_OP_PUT;

    int32_t ret =
        tp_mem_check_range(transport->host, &op->local->base, op->local_offset,
            op->left, put ? NA_PLUGIN_MEM_READ : NA_PLUGIN_MEM_WRITE, "own");
    if (ret != NA_PLUGIN_OK)
        return ret;
    return tp_mem_check_range(transport->host, &remote->base, op->remote_offset,
        op->left, put ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ, "peer's");
}

/* What it is to do stands in the operation. */
static int32_t
transfer(na_plugin_ctx *ctx, struct tp_op *op, enum tp_op_kind kind,
    const na_plugin_mem *remote, na_plugin_addr *peer)
{
    struct tp_transport *transport = ctx->transport;
    struct tp_channel *channel;

    int32_t ret = check_ranges(transport, op, kind, remote);
    if (ret != NA_PLUGIN_OK || op->left == 0)
        return ret != NA_PLUGIN_OK ? ret : NA_PLUGIN_DONE;
    tp_mutex_take(transport->lock);
    ret = tp_channel_get(transport, peer, &channel);
    if (ret == NA_PLUGIN_OK && !tp_op_begin(op, ctx, kind, &channel->ops))
        ret = NA_PLUGIN_E_NOMEM;
    if (ret == NA_PLUGIN_OK) {
        op->channel = channel;
        op->status = NA_PLUGIN_OK;
        op->key = remote->base.keyed.key;
        op->unanswered = 0;
        op->packet = (struct tp_packet){.op = op};
        tp_packet_move(&op->packet, &channel->fragments);
        tp_count(
            kind == TP_OP_PUT ? &transport->put_bytes : &transport->get_bytes,
            op->left);
        tp_channel_flush(channel);
        ret = tp_op_submitted(op);
    }
    tp_mutex_drop(transport->lock);
    return ret;
}

int32_t
tp_rma_put(na_plugin_ctx *ctx, void *arg, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    struct tp_op *op = arg;

    op->local = local;
    op->local_offset = local_offset;
    op->remote_offset = remote_offset;
    op->left = length;
    return transfer(ctx, op, TP_OP_PUT, remote, peer);
}

int32_t
tp_rma_get(na_plugin_ctx *ctx, void *arg, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    struct tp_op *op = arg;

    op->local = local;
    op->local_offset = local_offset;
    op->remote_offset = remote_offset;
    op->left = length;
    return transfer(ctx, op, TP_OP_GET, remote, peer);
}

/* What is next in local memory; of a put in one piece, which is sent from there. */
static void *
next_piece(const struct tp_op *op, uint32_t most, uint32_t *length_p)
{
    const na_plugin_segment *segment = op->local->segments;
    uint64_t offset = op->local_offset;
    uint64_t length = op->left < most ? op->left : most;

    while (offset >= segment->length)
        offset -= segment++->length;
    if (op->kind == TP_OP_PUT && segment->length - offset < length)
        length = segment->length - offset;
    *length_p = (uint32_t) length;
    return (char *) segment->base + offset;
}

static uint32_t
free_request(const struct tp_channel *channel)
{
    uint32_t number = 0;

    while (number < TP_REQUESTS && channel->requests[number].busy)
        number++;
    return number;
}

void
tp_rma_next(struct tp_channel *channel)
{
    struct tp_packet *packet =
        TP_OBJECT(channel->fragments.head, struct tp_packet, link);
    struct tp_op *op = packet->op;
    bool put = op->kind == TP_OP_PUT;
    uint32_t number = free_request(channel), length;

    if (number == TP_REQUESTS)
        return;
    packet->data =
        next_piece(op, channel->transport->carrier->fragment, &length);
    packet->sent = 0;
    packet->frame = (struct tp_frame){.length = put ? length : 0,
        .kind = put ? TP_FRAME_PUT : TP_FRAME_GET,
        .request = (uint8_t) number,
        .tag = put ? 0 : length,
        .key = op->key,
        .offset = op->remote_offset};
    channel->requests[number] = (struct tp_request){.busy = true,
        .op = op,
        .offset = op->local_offset,
        .length = put ? 0 : length};
    op->unanswered++;
    op->local_offset += length;
    op->remote_offset += length;
    op->left -= length;
    tp_packet_move(packet, &channel->out);
}

/* Ends one of which nothing is under way any more. */
static void
settle(struct tp_op *op)
{
    if (op->left == 0 && op->unanswered == 0 && op->packet.list == NULL)
        tp_op_end(op, op->status);
}

void
tp_rma_sent(struct tp_op *op)
{
    op->packet.sent = 0;
    if (op->left != 0)
        tp_packet_move(&op->packet, &op->channel->fragments);
    else
        settle(op);
}

/* No further fragment of it is sent. */
static void
stop(struct tp_op *op, int32_t status)
{
    op->status = status;
    op->left = 0;
    if (op->packet.list == &op->channel->fragments)
        tp_packet_move(&op->packet, NULL);
}

void
tp_rma_cancel(struct tp_op *op)
{
    struct tp_channel *channel = op->channel;

    stop(op, NA_PLUGIN_E_CANCELED);
    if (op->packet.list != NULL && op->packet.sent == 0) {
        channel->requests[op->packet.frame.request].busy = false;
        tp_packet_move(&op->packet, NULL);
    }
    for (uint32_t i = 0; i < TP_REQUESTS; i++)
        if (channel->requests[i].op == op)
            channel->requests[i].op = NULL;
    op->unanswered = 0;
}

bool
tp_rma_answered(
    struct tp_channel *channel, const struct tp_frame *frame, const void *data)
{
    if (frame->request >= TP_REQUESTS ||
        !channel->requests[frame->request].busy)
        return false;
    struct tp_request request = channel->requests[frame->request];
    struct tp_op *op = request.op;
    bool good = frame->status == NA_PLUGIN_OK;
    if (frame->length != (good ? request.length : 0) || frame->status > 0 ||
        frame->status < NA_PLUGIN_E_HOSTFIREWALL)
        return false;
    if (op != NULL && op->packet.list == &channel->out &&
        op->packet.frame.request == frame->request && op->packet.sent == 0)
        return false; /* it was not asked yet */
    channel->requests[frame->request] = (struct tp_request){.busy = false};
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

/* Whether a peer may do that with a registration, which is then *mem_p. */
static int32_t
permits(const struct tp_channel *channel, const struct tp_frame *frame,
    uint32_t length, const na_plugin_mem **mem_p)
{
    struct tp_transport *transport = channel->transport;
    bool put = frame->kind == TP_FRAME_PUT;
    struct tp_keyed *keyed = tp_table_find(&transport->mems, NULL, frame->key);
    int32_t status = NA_PLUGIN_E_INVALID_ARG;

    if (keyed != NULL) {
        *mem_p = TP_OBJECT(keyed, na_plugin_mem, base.keyed);
        status = tp_mem_permits(&(*mem_p)->base, frame->offset, length,
            put ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ);
    }
    if (status != NA_PLUGIN_OK)
        TP_LOG_THINNED(transport->host, INFO, tp_count(&transport->refused, 1),
            "%s may not %s %u bytes: %s", channel->name, put ? "write" : "read",
            (unsigned) length,
            keyed == NULL                      ? "no such registration"
            : status == NA_PLUGIN_E_PERMISSION ? "no right"
                                               : "out of range");
    return status;
}

bool
tp_rma_asked(
    struct tp_channel *channel, const struct tp_frame *frame, const void *data)
{
    bool put = frame->kind == TP_FRAME_PUT;
    uint32_t length = put ? frame->length : frame->tag;
    const na_plugin_mem *mem = NULL;

    if (length > channel->transport->carrier->fragment ||
        channel->answers == TP_REQUESTS || (!put && frame->length != 0))
        return false;
    int32_t status = permits(channel, frame, length, &mem);
    bool good = status == NA_PLUGIN_OK;
    struct tp_packet *answer =
        tp_packet_new(TP_FRAME_ANSWER, good && !put ? length : 0);
    if (answer == NULL)
        return false;
    answer->frame.request = frame->request;
    answer->frame.status = status;
    if (good && put)
        tp_segments_write(mem->segments, frame->offset, data, length);
    else if (good)
        tp_segments_read(
            mem->segments, frame->offset, (void *) (answer + 1), length);
    channel->answers++;
    tp_packet_move(answer, &channel->out);
    tp_channel_flush(channel);
    return true;
}
