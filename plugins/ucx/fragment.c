/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets by messages: a get asks for several fragments at once, a put brings
 * them one by one, and some are answered together. Data is copied on its way out
 * and in, so that UCX never holds on to memory that may be deregistered, or whose
 * operation may end. */
#include <inttypes.h>
#include <string.h>

#include "fragment.h"
#include "mem.h"
#include "tx.h"

#define FRAGMENTS 32U /* of a connection that are not answered yet */
#define ASKED 16U     /* at most that one GET asks for */
#define QUIET 8U      /* at most of puts that one DONE answers */
#define ANSWERS 64U   /* of a connection that UCX is sending */

int32_t
ucx_fragment_submit(struct ucx_op *op)
{
    op->recv.keyed.key = ++op->ctx->cls->rma_serial;
    tp_list_append(&op->conn->rma, &op->recv.keyed.link);
    ucx_fragment_push(op->conn);
    return NA_PLUGIN_PENDING;
}

/* How many fragments that many bytes make. */
static uint32_t
fragments_of(uint32_t length)
{
    return length / UCX_FRAGMENT_MAX + (length % UCX_FRAGMENT_MAX != 0);
}

/* Bytes that the next message of an operation is about; 0: it waits until there
 * is room for many fragments, as a request for each would cost as much as data. */
static uint32_t
next_length(const struct ucx_conn *conn, const struct ucx_op *op)
{
    uint64_t left = op->recv.length - op->rma.asked;
    uint32_t room = FRAGMENTS - conn->fragments;
    uint32_t most = op->kind == UCX_OP_PUT ? 1 : ASKED;

    if (left <= (uint64_t) (room < most ? room : most) * UCX_FRAGMENT_MAX)
        return (uint32_t) left;
    return room < most ? 0 : most * UCX_FRAGMENT_MAX;
}

/* Sends one fragment of a put. */
static int32_t
send_put(struct ucx_conn *conn, const struct ucx_op *op,
    const union ucx_header *header)
{
    struct ucx_tx *tx = ucx_tx_make(conn->cls, header->fragment.length);
    if (tx == NULL)
        return NA_PLUGIN_E_NOMEM;
    tx->header = *header;
    tp_segments_read(op->rma.local->segments,
        op->rma.local_offset + op->rma.asked, tx->data,
        header->fragment.length);
    ucx_tx_send(conn, tx, sizeof(header->fragment), 0);
    return NA_PLUGIN_OK;
}

/* Sends the next fragment of a put, or asks for the next ones of a get. */
static int32_t
send_fragments(struct ucx_conn *conn, struct ucx_op *op, uint32_t length)
{
    union ucx_header header = {
        .fragment = {.head = {.token = conn->peer_token,
                         .kind = op->kind == UCX_OP_PUT ? UCX_PUT : UCX_GET},
            .number = op->recv.keyed.key,
            .mem = op->rma.remote->mem.keyed.key,
            .at = op->rma.asked,
            .offset = op->rma.remote_offset + op->rma.asked,
            .length = length}};

    if (op->kind == UCX_OP_PUT) {
        /* each answer costs both sides as much as some data */
        bool wanted = ++conn->quiet == QUIET ||
                      conn->fragments + 1 == FRAGMENTS ||
                      op->rma.asked + length == op->recv.length;
        header.fragment.head.tag = wanted;
        if (wanted)
            conn->quiet = 0;
    }
    int32_t ret =
        op->kind == UCX_OP_PUT
            ? send_put(conn, op, &header)
            : ucx_tx_post(conn, &header, sizeof(header.fragment), NULL, 0);
    if (ret != NA_PLUGIN_OK)
        return ret;
    op->rma.asked += length;
    conn->fragments += fragments_of(length);
    ucx_conn_sent(conn);
    return NA_PLUGIN_OK;
}

/* Nothing more of an operation is requested: it only waits for answers. */
static void
wait_for_answers(struct ucx_conn *conn, struct ucx_op *op)
{
    tp_list_remove(&conn->rma, &op->recv.keyed.link);
    tp_list_append(&conn->rma_sent, &op->recv.keyed.link);
}

void
ucx_fragment_push(struct ucx_conn *conn)
{
    while (conn->state == UCX_CONN_UP && !conn->failed &&
           conn->rma.head != NULL && conn->fragments < FRAGMENTS) {
        struct ucx_op *op = ucx_op_of_link(conn->rma.head);
        uint32_t length = next_length(conn, op);
        if (length == 0)
            return;
        int32_t ret = send_fragments(conn, op, length);
        if (ret != NA_PLUGIN_OK)
            op->status = ret;
        if (op->status != 0 || op->rma.asked == op->recv.length)
            wait_for_answers(conn, op);
        /* The peer need not answer every fragment of a put. */
        if (op->status != 0 &&
            (op->kind == UCX_OP_PUT || op->rma.done == op->rma.asked)) {
            tp_list_remove(&conn->rma_sent, &op->recv.keyed.link);
            ucx_op_finish(op, ret);
        }
    }
}

static struct ucx_op *
find_in(const struct tp_list *list, uint64_t number)
{
    for (struct tp_link *link = list->head; link != NULL; link = link->next)
        if (ucx_op_of_link(link)->recv.keyed.key == number)
            return ucx_op_of_link(link);
    return NULL;
}

/* The operation that an answer is for; NULL: it has been cancelled. */
static struct ucx_op *
find(struct ucx_conn *conn, uint64_t number)
{
    struct ucx_op *op = find_in(&conn->rma_sent, number);

    return op != NULL ? op : find_in(&conn->rma, number);
}

/* An answer, to a fragment of a get or put of ours. */
static void
take_answer(struct ucx_conn *conn, const struct ucx_fragment *fragment,
    const void *data, size_t length)
{
    na_plugin_class *cls = conn->cls;
    bool get = fragment->head.kind == UCX_DATA;

    uint32_t fragments = fragments_of(fragment->length);
    if (fragments == 0 || fragments > conn->fragments) {
        ucx_conn_break(conn, "an answer without a request");
        return;
    }
    conn->fragments -= fragments;
    ucx_conn_touch(conn);
    struct ucx_op *op = find(conn, fragment->number);
    if (op == NULL)
        return;
    if ((op->kind == UCX_OP_GET) != get || fragment->at > op->rma.asked ||
        fragment->length == 0 ||
        fragment->length > op->rma.asked - fragment->at ||
        fragment->length > op->rma.asked - op->rma.done ||
        (get && fragment->status == 0 && length != fragment->length)) {
        ucx_conn_break(conn, "an answer of another size");
        return;
    }
    op->rma.done += fragment->length;
    if (fragment->status != 0 && op->status == 0) {
        op->status = fragment->status == NA_PLUGIN_E_PERMISSION ||
                             fragment->status == NA_PLUGIN_E_INVALID_ARG ||
                             fragment->status == NA_PLUGIN_E_NOMEM
                         ? fragment->status
                         : NA_PLUGIN_E_IO_ERROR;
        if (op->rma.asked < op->recv.length)
            wait_for_answers(conn, op);
    } else if (fragment->status == 0 && get) {
        tp_segments_write(op->rma.local->segments,
            op->rma.local_offset + fragment->at, data, length);
    }
    if (op->rma.done < op->rma.asked ||
        (op->status == 0 && op->rma.asked < op->recv.length))
        return;
    tp_list_remove(&conn->rma_sent, &op->recv.keyed.link);
    if (op->status == 0) {
        tp_count(&cls->counters.message_bytes, op->recv.length);
        tp_count(get ? &cls->counters.get_bytes : &cls->counters.put_bytes,
            op->recv.length);
    }
    ucx_op_finish(op, op->status);
}

/* Whether a peer may do that with a registration here. */
static int32_t
permitted(const na_plugin_class *cls, const struct ucx_fragment *fragment,
    const na_plugin_mem **mem_p)
{
    const na_plugin_mem *mem = ucx_mem_find(cls, fragment->mem);

    *mem_p = mem;
    return mem == NULL
               ? NA_PLUGIN_E_INVALID_ARG
               : tp_mem_permits(&mem->mem, fragment->offset, fragment->length,
                     fragment->head.kind == UCX_PUT ? NA_PLUGIN_MEM_WRITE
                                                    : NA_PLUGIN_MEM_READ);
}

/* Answers a put, or an error. */
static void
answer(struct ucx_conn *conn, const struct ucx_fragment *asked, int32_t status)
{
    bool get = asked->head.kind == UCX_GET;
    union ucx_header header = {.fragment = *asked};
    struct ucx_tx *tx = ucx_tx_make(conn->cls, 0);

    if (tx == NULL) {
        ucx_conn_fail(conn, NA_PLUGIN_E_NOMEM);
        return;
    }
    header.fragment.head.token = conn->peer_token;
    header.fragment.head.kind = get ? UCX_DATA : UCX_DONE;
    header.fragment.status = status;
    tx->header = header;
    tx->answer = true;
    ucx_tx_send(conn, tx, sizeof(header.fragment), 0);
}

/* Sends what a get asks for. */
static void
answer_get(struct ucx_conn *conn, const struct ucx_fragment *asked,
    const na_plugin_mem *mem)
{
    struct ucx_fragment fragment = *asked;
    uint32_t left = asked->length;

    fragment.head.token = conn->peer_token;
    fragment.head.kind = UCX_DATA;
    fragment.status = NA_PLUGIN_OK;
    while (left != 0 && !conn->failed) {
        fragment.length = left < UCX_FRAGMENT_MAX ? left : UCX_FRAGMENT_MAX;
        struct ucx_tx *tx = ucx_tx_make(conn->cls, fragment.length);
        if (tx == NULL) {
            ucx_conn_fail(conn, NA_PLUGIN_E_NOMEM);
            return;
        }
        tx->header.fragment = fragment;
        tx->answer = true;
        tp_segments_read(
            mem->segments, fragment.offset, tx->data, fragment.length);
        ucx_tx_send(conn, tx, sizeof(fragment), 0);
        fragment.at += fragment.length;
        fragment.offset += fragment.length;
        left -= fragment.length;
    }
}

/* Answers fragments of a put that were done quietly. */
static void
answer_put(struct ucx_conn *conn)
{
    if (conn->put.length != 0)
        answer(conn, &conn->put, NA_PLUGIN_OK);
    conn->put.length = 0;
}

/* A fragment of a put that was done. */
static void
note_put(struct ucx_conn *conn, const struct ucx_fragment *fragment)
{
    if (conn->put.length != 0 &&
        (conn->put.number != fragment->number ||
            conn->put.at + conn->put.length != fragment->at))
        answer_put(conn);
    if (conn->put.length == 0)
        conn->put = *fragment;
    else
        conn->put.length += fragment->length;
    /* the peer is not to wait for more fragments behind a refused one */
    if (fragment->head.tag != 0 || fragment->number == conn->refused ||
        conn->put.length >= QUIET * UCX_FRAGMENT_MAX)
        answer_put(conn);
}

static void
take_put(struct ucx_conn *conn, const struct ucx_fragment *fragment,
    const void *data)
{
    const na_plugin_mem *mem = NULL;
    int32_t status = permitted(conn->cls, fragment, &mem);

    if (status == NA_PLUGIN_OK) {
        tp_segments_write(
            mem->segments, fragment->offset, data, fragment->length);
        note_put(conn, fragment);
        return;
    }
    answer_put(conn);
    conn->refused = fragment->number;
    answer(conn, fragment, status);
}

static void
take_get(struct ucx_conn *conn, const struct ucx_fragment *fragment)
{
    const na_plugin_mem *mem = NULL;
    int32_t status = permitted(conn->cls, fragment, &mem);

    if (status == NA_PLUGIN_OK)
        answer_get(conn, fragment, mem);
    else
        answer(conn, fragment, status);
}

void
ucx_fragment_take(struct ucx_conn *conn, const struct ucx_fragment *fragment,
    const void *data, size_t length)
{
    bool put = fragment->head.kind == UCX_PUT;

    if (fragment->head.kind == UCX_DATA || fragment->head.kind == UCX_DONE) {
        take_answer(conn, fragment, data, length);
        return;
    }
    if (fragment->length == 0 ||
        fragment->length > (put ? 1 : ASKED) * UCX_FRAGMENT_MAX ||
        length != (put ? fragment->length : 0) ||
        conn->answers + fragments_of(fragment->length) >= ANSWERS) {
        ucx_conn_break(conn, "a fragment of no size, or too many of them");
        return;
    }
    if (put)
        take_put(conn, fragment, data);
    else
        take_get(conn, fragment);
}

void
ucx_fragment_withdraw(struct ucx_op *op)
{
    struct ucx_conn *conn = op->conn;
    bool sent = find_in(&conn->rma_sent, op->recv.keyed.key) == op;

    tp_list_remove(sent ? &conn->rma_sent : &conn->rma, &op->recv.keyed.link);
}

void
ucx_fragment_abandon(struct ucx_conn *conn, int32_t error)
{
    ucx_op_finish_all(&conn->rma_sent, error);
    ucx_op_finish_all(&conn->rma, error);
}
