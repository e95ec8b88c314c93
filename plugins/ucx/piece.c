/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets by messages. The owner keeps nothing between pieces; data is
 * copied on its way out and in, so that UCX never holds on to memory that may be
 * deregistered, or whose operation may end. */
#include <inttypes.h>
#include <string.h>

#include "conn.h"
#include "context.h"
#include "mem.h"
#include "parcel.h"
#include "piece.h"

#define PIECES 16U  /* of a connection that are not answered yet */
#define ANSWERS 64U /* of a connection that UCX is sending */

int32_t
ucx_piece_submit(struct ucx_op *op)
{
    na_plugin_class *cls = op->ctx->cls;

    ucx_op_set(op, UCX_OP_POSTED);
    op->link.key = ++cls->rma_serial;
    op->link.whose = NULL;
    ucx_list_append(&op->conn->rma, &op->link);
    ucx_piece_push(op->conn);
    return NA_PLUGIN_PENDING;
}

/* Sends one piece of a put. */
static int32_t
send_put(struct ucx_conn *conn, const struct ucx_op *op,
    const union ucx_header *header)
{
    struct ucx_parcel *parcel =
        ucx_parcel_make(conn->cls, header->piece.length);
    if (parcel == NULL)
        return NA_PLUGIN_E_NOMEM;
    parcel->header = *header;
    ucx_mem_read(op->rma.local, op->rma.local_offset + op->rma.asked,
        parcel->data, header->piece.length);
    ucx_parcel_send(conn, parcel, sizeof(header->piece), 0);
    return NA_PLUGIN_OK;
}

/* Sends the next piece of an operation. */
static int32_t
send_piece(struct ucx_conn *conn, struct ucx_op *op)
{
    uint64_t left = op->length - op->rma.asked;
    union ucx_header header = {
        .piece = {.head = {.token = conn->peer_token,
                      .kind = op->kind == UCX_OP_PUT ? UCX_PUT : UCX_GET},
            .number = op->link.key,
            .mem = op->rma.remote->serial,
            .at = op->rma.asked,
            .offset = op->rma.remote_offset + op->rma.asked,
            .length = (uint32_t) (left < UCX_PIECE ? left : UCX_PIECE)}};

    int32_t ret = op->kind == UCX_OP_PUT ? send_put(conn, op, &header)
                                         : ucx_parcel_post(conn, &header,
                                               sizeof(header.piece), NULL, 0);
    if (ret != NA_PLUGIN_OK)
        return ret;
    op->rma.asked += header.piece.length;
    conn->pieces++;
    conn->unheard = true;
    return NA_PLUGIN_OK;
}

/* All of an operation has been asked for, or is not wanted any more: it only
 * waits for answers. */
static void
wait_for_answers(struct ucx_conn *conn, struct ucx_op *op)
{
    ucx_list_remove(&conn->rma, &op->link);
    ucx_list_append(&conn->rma_sent, &op->link);
}

void
ucx_piece_push(struct ucx_conn *conn)
{
    while (conn->state == UCX_CONN_UP && !conn->failed &&
           conn->rma.head != NULL && conn->pieces < PIECES) {
        struct ucx_op *op = (struct ucx_op *) conn->rma.head;
        int32_t ret = send_piece(conn, op);
        if (ret != NA_PLUGIN_OK) {
            op->failed = true;
            op->result.status = ret;
        }
        if (op->failed || op->rma.asked == op->length)
            wait_for_answers(conn, op);
        if (op->failed && op->rma.done == op->rma.asked) {
            ucx_list_remove(&conn->rma_sent, &op->link);
            ucx_ctx_finish(op, ret);
        }
    }
}

/* The operation that an answer is for; NULL: it has been cancelled. */
static struct ucx_op *
find(struct ucx_conn *conn, uint64_t number)
{
    for (struct ucx_link *link = conn->rma_sent.head; link != NULL;
         link = link->next)
        if (link->key == number)
            return (struct ucx_op *) link;
    for (struct ucx_link *link = conn->rma.head; link != NULL;
         link = link->next)
        if (link->key == number)
            return (struct ucx_op *) link;
    return NULL;
}

/* An answer, to a piece of a get or put of ours. */
static void
take_answer(struct ucx_conn *conn, const struct ucx_piece *piece,
    const void *data, size_t length)
{
    na_plugin_class *cls = conn->cls;
    bool get = piece->head.kind == UCX_DATA;

    if (conn->pieces == 0) {
        ucx_conn_break(conn, "an answer that nobody asked for");
        return;
    }
    conn->pieces--;
    ucx_conn_touch(conn);
    struct ucx_op *op = find(conn, piece->number);
    if (op == NULL)
        return;
    if ((op->kind == UCX_OP_GET) != get || piece->at > op->rma.asked ||
        piece->length == 0 || piece->length > op->rma.asked - piece->at ||
        piece->length > op->rma.asked - op->rma.done ||
        (get && piece->status == 0 && length != piece->length)) {
        ucx_conn_break(conn, "an answer of another size");
        return;
    }
    op->rma.done += piece->length;
    if (piece->status != 0 && !op->failed) {
        op->failed = true;
        op->result.status = piece->status == NA_PLUGIN_E_PERMISSION ||
                                    piece->status == NA_PLUGIN_E_INVALID_ARG ||
                                    piece->status == NA_PLUGIN_E_NOMEM
                                ? piece->status
                                : NA_PLUGIN_E_IO_ERROR;
        if (op->rma.asked < op->length)
            wait_for_answers(conn, op);
    } else if (piece->status == 0 && get) {
        ucx_mem_write(
            op->rma.local, op->rma.local_offset + piece->at, data, length);
    }
    if (op->rma.done < op->rma.asked ||
        (!op->failed && op->rma.asked < op->length))
        return;
    ucx_list_remove(&conn->rma_sent, &op->link);
    if (!op->failed) {
        ucx_count(&cls->counters.message_bytes, op->length);
        ucx_count(get ? &cls->counters.get_bytes : &cls->counters.put_bytes,
            op->length);
    }
    ucx_ctx_finish(op, op->failed ? op->result.status : NA_PLUGIN_OK);
}

/* Whether a peer may do that with a registration here. */
static int32_t
permitted(const na_plugin_class *cls, const struct ucx_piece *piece,
    const na_plugin_mem **mem_p)
{
    const na_plugin_mem *mem = ucx_mem_find(cls, piece->mem);
    uint32_t right =
        piece->head.kind == UCX_PUT ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ;

    if (mem == NULL || !ucx_mem_holds(mem, piece->offset, piece->length))
        return NA_PLUGIN_E_INVALID_ARG;
    if ((mem->access & right) == 0)
        return NA_PLUGIN_E_PERMISSION;
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

/* Answers a piece: with data of a registration, or a status. */
static void
answer(struct ucx_conn *conn, const struct ucx_piece *asked,
    const na_plugin_mem *mem, int32_t status)
{
    bool get = asked->head.kind == UCX_GET;
    uint32_t length = get && status == NA_PLUGIN_OK ? asked->length : 0;
    struct ucx_parcel *parcel = ucx_parcel_make(conn->cls, length);

    if (parcel == NULL) {
        ucx_conn_fail(conn, NA_PLUGIN_E_NOMEM);
        return;
    }
    parcel->header.piece = *asked;
    parcel->header.piece.head.token = conn->peer_token;
    parcel->header.piece.head.kind = get ? UCX_DATA : UCX_DONE;
    parcel->header.piece.status = status;
    parcel->answer = true;
    if (length != 0)
        ucx_mem_read(mem, asked->offset, parcel->data, length);
    ucx_parcel_send(conn, parcel, sizeof(parcel->header.piece), 0);
}

void
ucx_piece_take(struct ucx_conn *conn, const struct ucx_piece *piece,
    const void *data, size_t length)
{
    const na_plugin_mem *mem = NULL;
    bool put = piece->head.kind == UCX_PUT;

    if (piece->head.kind == UCX_DATA || piece->head.kind == UCX_DONE) {
        take_answer(conn, piece, data, length);
        return;
    }
    if (piece->length == 0 || piece->length > UCX_PIECE ||
        length != (put ? piece->length : 0) || conn->answers >= ANSWERS) {
        ucx_conn_break(conn, "a piece of no size, or too many of them");
        return;
    }
    int32_t status = permitted(conn->cls, piece, &mem);
    if (put && status == NA_PLUGIN_OK)
        ucx_mem_write(mem, piece->offset, data, length);
    answer(conn, piece, mem, status);
}

void
ucx_piece_withdraw(na_plugin_class *cls, struct ucx_op *op)
{
    struct ucx_conn *conn = op->conn;
    bool sent = false;

    for (struct ucx_link *link = conn->rma_sent.head; link != NULL && !sent;
         link = link->next)
        sent = link == &op->link;
    ucx_list_remove(sent ? &conn->rma_sent : &conn->rma, &op->link);
}

void
ucx_piece_abandon(struct ucx_conn *conn, int32_t error)
{
    struct ucx_link *link;

    while ((link = ucx_list_pop(&conn->rma_sent)) != NULL)
        ucx_ctx_finish((struct ucx_op *) link, error);
    while ((link = ucx_list_pop(&conn->rma)) != NULL)
        ucx_ctx_finish((struct ucx_op *) link, error);
}
