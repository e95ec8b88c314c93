/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets by messages: a get asks for several pieces at once, a put brings
 * them one by one, and some are answered together. Data is copied on its way out
 * and in, so that UCX never holds on to memory that may be deregistered, or whose
 * operation may end. */
#include <inttypes.h>
#include <string.h>

#include "conn.h"
#include "context.h"
#include "mem.h"
#include "parcel.h"
#include "piece.h"

#define PIECES 32U  /* of a connection that are not answered yet */
#define ASKED 16U   /* at most that one GET asks for */
#define QUIET 8U    /* at most of puts that one DONE answers */
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

/* How many pieces that many bytes make. */
static uint32_t
pieces_of(uint32_t length)
{
    return length / UCX_PIECE + (length % UCX_PIECE != 0);
}

/* Bytes that the next message of an operation is about; 0: it waits until there
 * is room for many pieces, as a request for each would cost as much as data. */
static uint32_t
next_length(const struct ucx_conn *conn, const struct ucx_op *op)
{
    uint64_t left = op->length - op->rma.asked;
    uint32_t room = PIECES - conn->pieces;
    uint32_t most = op->kind == UCX_OP_PUT ? 1 : ASKED;

    if (left <= (uint64_t) (room < most ? room : most) * UCX_PIECE)
        return (uint32_t) left;
    return room < most ? 0 : most * UCX_PIECE;
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

/* Sends the next piece of a put, or asks for the next ones of a get. */
static int32_t
send_pieces(struct ucx_conn *conn, struct ucx_op *op, uint32_t length)
{
    union ucx_header header = {
        .piece = {.head = {.token = conn->peer_token,
                      .kind = op->kind == UCX_OP_PUT ? UCX_PUT : UCX_GET},
            .number = op->link.key,
            .mem = op->rma.remote->serial,
            .at = op->rma.asked,
            .offset = op->rma.remote_offset + op->rma.asked,
            .length = length}};

    if (op->kind == UCX_OP_PUT) {
        /* each answer costs both sides as much as some data */
        bool wanted = ++conn->quiet == QUIET || conn->pieces + 1 == PIECES ||
                      op->rma.asked + length == op->length;
        header.piece.head.tag = wanted;
        if (wanted)
            conn->quiet = 0;
    }
    int32_t ret = op->kind == UCX_OP_PUT ? send_put(conn, op, &header)
                                         : ucx_parcel_post(conn, &header,
                                               sizeof(header.piece), NULL, 0);
    if (ret != NA_PLUGIN_OK)
        return ret;
    op->rma.asked += length;
    conn->pieces += pieces_of(length);
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
        uint32_t length = next_length(conn, op);
        if (length == 0)
            return;
        int32_t ret = send_pieces(conn, op, length);
        if (ret != NA_PLUGIN_OK) {
            op->failed = true;
            op->result.status = ret;
        }
        if (op->failed || op->rma.asked == op->length)
            wait_for_answers(conn, op);
        /* of a put some pieces may never be answered, and none needs it here */
        if (op->failed &&
            (op->kind == UCX_OP_PUT || op->rma.done == op->rma.asked)) {
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

    uint32_t pieces = pieces_of(piece->length);
    if (pieces == 0 || pieces > conn->pieces) {
        ucx_conn_break(conn, "an answer that nobody asked for");
        return;
    }
    conn->pieces -= pieces;
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

/* Answers a put, or an error. */
static void
answer(struct ucx_conn *conn, const struct ucx_piece *asked, int32_t status)
{
    bool get = asked->head.kind == UCX_GET;
    union ucx_header header = {.piece = *asked};
    struct ucx_parcel *parcel = ucx_parcel_make(conn->cls, 0);

    if (parcel == NULL) {
        ucx_conn_fail(conn, NA_PLUGIN_E_NOMEM);
        return;
    }
    header.piece.head.token = conn->peer_token;
    header.piece.head.kind = get ? UCX_DATA : UCX_DONE;
    header.piece.status = status;
    parcel->header = header;
    parcel->answer = true;
    ucx_parcel_send(conn, parcel, sizeof(header.piece), 0);
}

/* Sends what a get asks for. */
static void
answer_get(struct ucx_conn *conn, const struct ucx_piece *asked,
    const na_plugin_mem *mem)
{
    struct ucx_piece piece = *asked;
    uint32_t left = asked->length;

    piece.head.token = conn->peer_token;
    piece.head.kind = UCX_DATA;
    piece.status = NA_PLUGIN_OK;
    while (left != 0 && !conn->failed) {
        piece.length = left < UCX_PIECE ? left : UCX_PIECE;
        struct ucx_parcel *parcel = ucx_parcel_make(conn->cls, piece.length);
        if (parcel == NULL) {
            ucx_conn_fail(conn, NA_PLUGIN_E_NOMEM);
            return;
        }
        parcel->header.piece = piece;
        parcel->answer = true;
        ucx_mem_read(mem, piece.offset, parcel->data, piece.length);
        ucx_parcel_send(conn, parcel, sizeof(piece), 0);
        piece.at += piece.length;
        piece.offset += piece.length;
        left -= piece.length;
    }
}

/* Answers pieces of a put that were done quietly. */
static void
answer_put(struct ucx_conn *conn)
{
    if (conn->put.length != 0)
        answer(conn, &conn->put, NA_PLUGIN_OK);
    conn->put.length = 0;
}

/* A piece of a put that was done. */
static void
note_put(struct ucx_conn *conn, const struct ucx_piece *piece)
{
    if (conn->put.length != 0 &&
        (conn->put.number != piece->number ||
            conn->put.at + conn->put.length != piece->at))
        answer_put(conn);
    if (conn->put.length == 0)
        conn->put = *piece;
    else
        conn->put.length += piece->length;
    /* nobody may wait for pieces behind one that was refused */
    if (piece->head.tag != 0 || piece->number == conn->refused ||
        conn->put.length >= QUIET * UCX_PIECE)
        answer_put(conn);
}

static void
take_put(struct ucx_conn *conn, const struct ucx_piece *piece, const void *data)
{
    const na_plugin_mem *mem = NULL;
    int32_t status = permitted(conn->cls, piece, &mem);

    if (status == NA_PLUGIN_OK) {
        ucx_mem_write(mem, piece->offset, data, piece->length);
        note_put(conn, piece);
        return;
    }
    answer_put(conn);
    conn->refused = piece->number;
    answer(conn, piece, status);
}

static void
take_get(struct ucx_conn *conn, const struct ucx_piece *piece)
{
    const na_plugin_mem *mem = NULL;
    int32_t status = permitted(conn->cls, piece, &mem);

    if (status == NA_PLUGIN_OK)
        answer_get(conn, piece, mem);
    else
        answer(conn, piece, status);
}

void
ucx_piece_take(struct ucx_conn *conn, const struct ucx_piece *piece,
    const void *data, size_t length)
{
    bool put = piece->head.kind == UCX_PUT;

    if (piece->head.kind == UCX_DATA || piece->head.kind == UCX_DONE) {
        take_answer(conn, piece, data, length);
        return;
    }
    if (piece->length == 0 || piece->length > (put ? 1 : ASKED) * UCX_PIECE ||
        length != (put ? piece->length : 0) ||
        conn->answers + pieces_of(piece->length) >= ANSWERS) {
        ucx_conn_break(conn, "a piece of no size, or too many of them");
        return;
    }
    if (put)
        take_put(conn, piece, data);
    else
        take_get(conn, piece);
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
