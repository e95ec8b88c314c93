/* SPDX-License-Identifier: BSD-3-Clause */
/* The origin of puts and gets. Chunks are copied, so that an operation may end at
 * any time; MPI keeps their order, and the answers come in that order. */
#include <stdlib.h>

#include "engine.h"
#include "op.h"
#include "peer.h"
#include "rma.h"

static uint32_t
chunk_length(const struct nampi_op *op)
{
    uint64_t left = op->length - op->asked;

    return left < NAMPI_CHUNK ? (uint32_t) left : NAMPI_CHUNK;
}

/* Sends the next chunk of a put, or asks for that of a get. */
static int32_t
next_chunk(struct nampi_op *op)
{
    uint32_t length = chunk_length(op);
    bool put = op->kind == NAMPI_PUT;
    struct nampi_send *send = nampi_send_new(put ? length : 0);

    if (send == NULL)
        return NA_PLUGIN_E_NOMEM;
    send->head.kind = op->kind;
    send->head.from_ctx = (uint8_t) op->ctx->id;
    send->head.to_ctx = op->peer_ctx;
    send->head.length = length; /* of a get: what is asked for */
    send->head.transfer = op->recv.keyed.key;
    send->head.memory = op->memory;
    send->head.offset = op->remote_offset + op->asked;
    if (put)
        tp_segments_read(op->local->segments, op->local_offset + op->asked,
            send->data, length);
    int32_t ret = nampi_send_to(op->peer, send);
    if (ret != NA_PLUGIN_OK)
        return ret;
    op->asked += length;
    op->peer->chunks++;
    return NA_PLUGIN_OK;
}

void
nampi_rma_advance(na_plugin_addr *peer)
{
    while (peer->transfers.head != NULL && peer->life != 0 &&
           peer->chunks < NAMPI_TRANSFERS) {
        struct nampi_op *op = nampi_op_of_queued(peer->transfers.head);
        int32_t ret = next_chunk(op);
        if (ret != NA_PLUGIN_OK) {
            nampi_op_end(op, ret);
        } else if (op->asked == op->length) {
            tp_list_remove(&peer->transfers, &op->queued);
            op->state = NAMPI_TRANSFERS_ALL;
        }
    }
}

/* Whether an answer fits what was asked for next. */
static bool
fits(const struct nampi_op *op, const struct nampi_wire *head)
{
    uint8_t answer = op->kind == NAMPI_PUT ? NAMPI_ACK : NAMPI_DATA;

    return head->kind == answer &&
           head->offset == op->remote_offset + op->ended && head->length != 0 &&
           head->length <= op->asked - op->ended;
}

/* The status that a target tells: OK, or an error of the ABI. */
static int32_t
status_of(uint32_t value)
{
    int32_t status = (int32_t) value;

    return status <= NA_PLUGIN_OK && status >= NA_PLUGIN_E_HOSTFIREWALL
               ? status
               : NA_PLUGIN_E_PROTOCOL_ERROR;
}

void
nampi_rma_take(na_plugin_addr *peer, const struct nampi_wire *head,
    const unsigned char *data)
{
    na_plugin_class *cls = peer->cls;
    int32_t status = status_of(head->value);
    struct tp_keyed *keyed;

    peer->chunks -= peer->chunks != 0;
    keyed = tp_table_find(&cls->transfers, peer, head->transfer);
    if (keyed != NULL) { /* else it has been cancelled, or has failed */
        struct nampi_op *op = TP_OBJECT(keyed, struct nampi_op, recv.keyed);
        if (status == NA_PLUGIN_OK && !fits(op, head))
            status = NA_PLUGIN_E_PROTOCOL_ERROR;
        if (status == NA_PLUGIN_OK) {
            if (op->kind == NAMPI_GET)
                tp_segments_write(op->local->segments,
                    op->local_offset + op->ended, data, head->length);
            op->ended += head->length;
        }
        if (status != NA_PLUGIN_OK || op->ended == op->length)
            nampi_op_end(op, status);
    }
    nampi_rma_advance(peer);
}

void
nampi_rma_lose(na_plugin_addr *peer, int32_t status)
{
    struct tp_list list = {NULL, NULL};
    struct tp_link *link;

    tp_table_take_all(&peer->cls->transfers, peer, &list);
    while ((link = tp_list_pop(&list)) != NULL) {
        struct nampi_op *op =
            TP_OBJECT(tp_keyed_of(link), struct nampi_op, recv.keyed);
        tp_table_insert(&peer->cls->transfers, &op->recv.keyed);
        nampi_op_end(op, status);
    }
}

static int32_t
begin(na_plugin_ctx *ctx, struct nampi_op *op)
{
    na_plugin_class *cls = ctx->cls;

    if (!nampi_op_begin(ctx, op))
        return NA_PLUGIN_E_NOMEM;
    op->asked = 0;
    op->ended = 0;
    op->recv.keyed.owner = op->peer;
    op->recv.keyed.key = ++cls->last_transfer;
    tp_table_insert(&cls->transfers, &op->recv.keyed);
    op->state = NAMPI_TRANSFERS_MORE;
    tp_list_append(&op->peer->transfers, &op->queued);
    tp_list_append(&ctx->pending, &op->pending);
    tp_count(op->kind == NAMPI_PUT ? &cls->counters.put_bytes
                                   : &cls->counters.get_bytes,
        op->length);
    nampi_peer_contact(op->peer);
    nampi_rma_advance(op->peer);
    return NA_PLUGIN_PENDING;
}

static int32_t
transfer(na_plugin_ctx *ctx, struct nampi_op *op, uint8_t kind,
    const na_plugin_mem *local, const na_plugin_mem *remote)
{
    const na_plugin_class *cls = ctx->cls;
    bool put = kind == NAMPI_PUT;

    int32_t ret = tp_mem_check_range(cls->host, &local->mem, op->local_offset,
        op->length, put ? NA_PLUGIN_MEM_READ : NA_PLUGIN_MEM_WRITE, "own");
    if (ret == NA_PLUGIN_OK)
        ret = tp_mem_check_range(cls->host, &remote->mem, op->remote_offset,
            op->length, put ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ,
            "peer's");
    if (ret != NA_PLUGIN_OK || op->length == 0)
        return ret != NA_PLUGIN_OK ? ret : NA_PLUGIN_DONE;
    op->kind = kind;
    op->local = local;
    op->memory = remote->mem.keyed.key;
    tp_lock_take(&nampi_lock);
    ret = begin(ctx, op);
    tp_lock_drop(&nampi_lock);
    return ret;
}

/* What both have in the operation. */
static int32_t
describe(const na_plugin_ctx *ctx, struct nampi_op *op, uint64_t local_offset,
    uint64_t remote_offset, uint64_t length, na_plugin_addr *peer,
    uint32_t peer_ctx)
{
    if (peer_ctx >= NAMPI_CONTEXTS) {
        TP_LOG(ctx->cls->host, ERROR, "context %u of at most %u",
            (unsigned) peer_ctx, NAMPI_CONTEXTS - 1);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    op->peer = peer;
    op->peer_ctx = (uint8_t) peer_ctx;
    op->local_offset = local_offset;
    op->remote_offset = remote_offset;
    op->length = length;
    return NA_PLUGIN_OK;
}

int32_t
nampi_put(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    int32_t ret =
        describe(ctx, op, local_offset, remote_offset, length, peer, peer_ctx);

    return ret == NA_PLUGIN_OK ? transfer(ctx, op, NAMPI_PUT, local, remote)
                               : ret;
}

int32_t
nampi_get(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    int32_t ret =
        describe(ctx, op, local_offset, remote_offset, length, peer, peer_ctx);

    return ret == NA_PLUGIN_OK ? transfer(ctx, op, NAMPI_GET, local, remote)
                               : ret;
}
