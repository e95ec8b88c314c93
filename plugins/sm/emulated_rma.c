/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ends of an emulated put or get: asking in pieces, and answering. */
#include <stdlib.h>
#include <string.h>

#include "assist_owner.h"
#include "emulated_rma.h"
#include "mapping.h"
#include "mem.h"

#define UNANSWERED_MAX 8U /* pieces of gets asked for, below SM_REQUESTS */

/* Bytes of data in one record. */
static uint32_t
piece_size(const na_plugin_class *cls)
{
    return cls->longest - (uint32_t) sizeof(struct sm_rma_record);
}

/* Counts the connections that progress still has to send pieces or answers of.
 */
static void
update(na_plugin_class *cls, struct sm_conn *conn)
{
    bool emulating = conn->emulated.head != NULL || conn->requests_count != 0;

    if (emulating == conn->emulating)
        return;
    conn->emulating = emulating;
    if (emulating) {
        cls->emulating++;
        sm_pending_add(cls);
    } else {
        cls->emulating--;
        sm_pending_drop(cls);
    }
}

void
sm_emulated_add(na_plugin_class *cls, struct sm_conn *conn, struct sm_op *op)
{
    op->recv.keyed.key = ++cls->rma_serial;
    op->rma.asked = 0;
    op->rma.arrived = 0;
    atomic_store_explicit(&op->emulated, true, memory_order_relaxed);
    tp_list_append(&conn->emulated, &op->recv.keyed.link);
    update(cls, conn);
}

static void
finish(struct sm_conn *conn, struct sm_op *op, int32_t status)
{
    tp_list_remove(&conn->emulated, &op->recv.keyed.link);
    sm_ctx_finish(op, status);
}

static struct sm_op *
find(const struct sm_conn *conn, uint64_t number)
{
    for (struct tp_link *link = conn->emulated.head; link != NULL;
         link = link->next)
        if (tp_keyed_of(link)->key == number)
            return sm_op_of(link);
    return NULL;
}

/* Publishes a record whose payload has been written. Any context may serve a
 * request, so one also wakes threads that sleep on other contexts; an answer only
 * the context that has sent the request. [conn->lock] */
static void
publish(na_plugin_class *cls, struct sm_conn *conn, bool answer, uint8_t source,
    uint8_t target, uint32_t length)
{
    sm_ring_publish(
        &conn->tx, sm_ring_word(SM_RING_RMA, source, target, length));
    if (sm_ring_watched(&conn->tx) &&
        (answer ? sm_ring_take_sleeper(&conn->tx, target)
                : sm_ring_take_any_sleeper(&conn->tx)))
        sm_conn_wake_peer(cls, conn);
}

bool
sm_emulated_send(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_rma_record *record, const void *more, uint32_t length,
    uint8_t peer_ctx)
{
    uint32_t total = (uint32_t) sizeof(*record) + length;
    unsigned char *payload = sm_ring_reserve(&conn->tx, total);

    if (payload == NULL)
        return false;
    memcpy(payload, record, sizeof(*record));
    if (length != 0)
        memcpy(payload + sizeof(*record), more, length);
    publish(cls, conn, false, record->reply_to, peer_ctx, total);
    return true;
}

void
sm_emulated_want_segment(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_op *op, uint32_t access)
{
    struct sm_rma_record record = {.verb = SM_RMA_MAP,
        .last = access == NA_PLUGIN_MEM_WRITE,
        .reply_to = op->own_ctx,
        .mem = op->rma.remote->mem.keyed.key};

    sm_emulated_send(cls, conn, &record, NULL, 0, op->peer_ctx);
}

/* Sends the next piece of a put, or requests that of a get. False: the ring is
 * full, or too many requests are unanswered. [conn->lock] */
static bool
ask(na_plugin_class *cls, struct sm_conn *conn, struct sm_op *op)
{
    bool put = op->kind == SM_OP_PUT;
    uint64_t left = op->rma.length - op->rma.asked;
    uint32_t piece = piece_size(cls);
    uint32_t length;

    if (left < piece)
        piece = (uint32_t) left;
    if (!put && conn->unanswered >= UNANSWERED_MAX)
        return false;
    length = (uint32_t) sizeof(struct sm_rma_record) + (put ? piece : 0);
    unsigned char *payload = sm_ring_reserve(&conn->tx, length);
    if (payload == NULL)
        return false;

    struct sm_rma_record record = {
        .verb = put ? SM_RMA_PUT : SM_RMA_GET,
        .last = piece == left,
        .reply_to = (uint8_t) op->ctx->id,
        .number = op->recv.keyed.key,
        .mem = op->rma.remote->mem.keyed.key,
        .offset = op->rma.remote_offset + op->rma.asked,
        .length = piece,
    };
    memcpy(payload, &record, sizeof(record));
    if (put)
        tp_segments_read(op->rma.local->segments,
            op->rma.local_offset + op->rma.asked, payload + sizeof(record),
            piece);
    else
        conn->unanswered++;
    publish(cls, conn, false, record.reply_to, op->peer_ctx, length);
    op->rma.asked += piece;
    return true;
}

/* Answers the first request that waits. False: the ring is full.
 * [conn->lock] */
static bool
answer_request(na_plugin_class *cls, struct sm_conn *conn)
{
    struct sm_request *request = &conn->requests[conn->requests_first];
    struct sm_rma_record answer = request->answer;
    uint32_t length = (uint32_t) sizeof(answer) + answer.length;

    unsigned char *payload = sm_ring_reserve(&conn->tx, length);
    if (payload == NULL)
        return false;
    if (answer.length != 0)
        answer.status = sm_mem_copy(cls, request->mem, request->offset,
            payload + sizeof(answer), answer.length, false);
    if (answer.status != NA_PLUGIN_OK && answer.length != 0) {
        answer.length = 0;
        length = sizeof(answer);
    }
    memcpy(payload, &answer, sizeof(answer));
    publish(cls, conn, true, 0, request->target, length);
    tp_count_shared(&cls->counters.emulated_bytes, answer.length);
    conn->requests_first = (conn->requests_first + 1) % SM_REQUESTS;
    conn->requests_count--;
    return true;
}

/* Sends what a connection has room for: answers first, then messages, which
 * queue.c sends, then requests. */
static void
flush(na_plugin_class *cls, struct sm_conn *conn)
{
    tp_lock_take(&conn->lock);
    while (conn->requests_count != 0 && answer_request(cls, conn))
        ;
    if (conn->requests_count == 0 && conn->queue.head == NULL) {
        struct tp_link *link = conn->emulated.head;
        while (link != NULL) {
            struct sm_op *op = sm_op_of(link);
            if (op->rma.asked == op->rma.length)
                link = link->next;
            else if (!ask(cls, conn, op))
                break;
        }
    }
    tp_lock_drop(&conn->lock);
    update(cls, conn);
}

void
sm_emulated_flush(na_plugin_class *cls)
{
    if (cls->emulating == 0)
        return;
    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next)
        if (conn->emulating)
            flush(cls, conn);
}

/* Keeps a request until there is room for the answer. NULL, or what is wrong. */
static const char *
add_request(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_request *request)
{
    if (conn->requests == NULL)
        conn->requests = calloc(SM_REQUESTS, sizeof(*conn->requests));
    if (conn->requests == NULL)
        return "no memory for its requests";
    if (conn->requests_count == SM_REQUESTS)
        return "it has too many requests waiting";
    conn->requests[(conn->requests_first + conn->requests_count++) %
                   SM_REQUESTS] = *request;
    flush(cls, conn);
    return NULL;
}

static const char *
take_get(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_rma_record *record)
{
    if (record->length == 0 || record->length > piece_size(cls))
        return "it asks for a piece of invalid length";
    struct sm_request request = {
        .answer = {.verb = SM_RMA_DATA,
            .number = record->number,
            .offset = record->offset,
            .length = record->length},
        .mem = record->mem,
        .offset = record->offset,
        .target = record->reply_to,
    };
    return add_request(cls, conn, &request);
}

static const char *
take_put(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_rma_record *record, const unsigned char *data,
    uint32_t length)
{
    if (record->length != length)
        return "it brings a piece of another length than it says";
    int32_t ret = sm_mem_copy(cls, record->mem, record->offset,
        (void *) (uintptr_t) data, length, true);
    if (ret == NA_PLUGIN_OK)
        tp_count_shared(&cls->counters.emulated_bytes, length);
    if (ret == NA_PLUGIN_OK && record->last == 0)
        return NULL;
    struct sm_request request = {
        .answer = {.verb = SM_RMA_DONE,
            .number = record->number,
            .status = ret},
        .target = record->reply_to,
    };
    return add_request(cls, conn, &request);
}

/* An error that a peer reports, if it is one that it may. */
static int32_t
reported(int32_t status)
{
    return status == NA_PLUGIN_E_INVALID_ARG || status == NA_PLUGIN_E_PERMISSION
               ? status
               : NA_PLUGIN_E_PROTOCOL_ERROR;
}

/* Bytes for a get. They name their place by the offset into the registration
 * that was asked for. */
static const char *
take_data(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_rma_record *answer, const unsigned char *data,
    uint32_t length)
{
    struct sm_op *op = find(conn, answer->number);

    if (conn->unanswered == 0)
        return "it answers a get that was not sent";
    conn->unanswered--;
    if (op == NULL || op->kind != SM_OP_GET) /* cancelled meanwhile */
        return NULL;
    if (answer->status != NA_PLUGIN_OK) {
        finish(conn, op, reported(answer->status));
        return NULL;
    }
    uint64_t at = answer->offset - op->rma.remote_offset;
    if (answer->length != length || answer->offset < op->rma.remote_offset ||
        at > op->rma.asked || length > op->rma.asked - at)
        return "it brings bytes that were not asked for";
    tp_segments_write(
        op->rma.local->segments, op->rma.local_offset + at, data, length);
    op->rma.arrived += length;
    tp_count_shared(&cls->counters.get_bytes, length);
    if (op->rma.arrived >= op->rma.length)
        finish(conn, op, NA_PLUGIN_OK);
    return NULL;
}

static void
take_done(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_rma_record *answer)
{
    struct sm_op *op = find(conn, answer->number);

    if (op == NULL || op->kind != SM_OP_PUT) /* cancelled meanwhile */
        return;
    if (answer->status != NA_PLUGIN_OK) {
        finish(conn, op, reported(answer->status));
        return;
    }
    /* one that comes too early is ignored */
    if (op->rma.asked == op->rma.length) {
        tp_count_shared(&cls->counters.put_bytes, op->rma.length);
        finish(conn, op, NA_PLUGIN_OK);
    }
}

static const char *
take_range(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_rma_record *record, const unsigned char *place,
    uint32_t length)
{
    struct sm_range_task task = {.put = record->verb == SM_RMA_ASSIST_PUT,
        .number = (uint32_t) record->number,
        .bytes = record->length,
        .mem = record->mem,
        .offset = record->offset};

    if (length != sizeof(task.place))
        return "an RMA record in its ring has another length";
    memcpy(&task.place, place, sizeof(task.place));
    return sm_assist_take(cls, conn, &task);
}

const char *
sm_emulated_take(na_plugin_class *cls, struct sm_conn *conn,
    const unsigned char *payload, uint32_t length)
{
    const char *wrong = NULL;
    struct sm_rma_record record;

    if (length < sizeof(record))
        return "an RMA record in its ring is too short";
    memcpy(&record, payload, sizeof(record));
    payload += sizeof(record);
    length -= (uint32_t) sizeof(record);
    switch (record.verb) {
    case SM_RMA_GET:
        wrong = take_get(cls, conn, &record);
        break;
    case SM_RMA_PUT:
        wrong = take_put(cls, conn, &record, payload, length);
        break;
    case SM_RMA_DATA:
        wrong = take_data(cls, conn, &record, payload, length);
        break;
    case SM_RMA_DONE:
        take_done(cls, conn, &record);
        break;
    case SM_RMA_MAP:
        sm_mapping_give(cls, conn, record.mem,
            record.last != 0 ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ);
        break;
    case SM_RMA_ASSIST:
    case SM_RMA_ASSIST_PUT:
        wrong = take_range(cls, conn, &record, payload, length);
        break;
    default:
        return "an RMA record in its ring is of no known kind";
    }
    update(cls, conn);
    return wrong;
}

bool
sm_emulated_withdraw(na_plugin_class *cls, struct sm_op *op)
{
    tp_lock_take(&cls->progress);
    bool there = sm_op_state(op) == SM_OP_POSTED;
    if (there) {
        struct sm_conn *conn = op->to.conn;
        tp_list_remove(&conn->emulated, &op->recv.keyed.link);
        sm_op_set(op, SM_OP_READY);
        update(cls, conn);
    }
    tp_lock_drop(&cls->progress);
    return there;
}

void
sm_emulated_abandon(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;

    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next) {
        sm_ctx_remove_ops(ctx, &conn->emulated);
        update(cls, conn);
    }
}

void
sm_emulated_end(na_plugin_class *cls, struct sm_conn *conn, int32_t status)
{
    struct tp_list list = conn->emulated;

    conn->emulated = (struct tp_list){NULL, NULL};
    conn->requests_count = conn->requests_first = conn->unanswered = 0;
    free(conn->requests);
    conn->requests = NULL;
    update(cls, conn);
    sm_ctx_finish_all(&list, status);
}

/* Whether a flush would send something: pieces to ask for, with room. */
static bool
could_send(const na_plugin_class *cls, struct sm_conn *conn)
{
    bool wants = conn->requests_count != 0;

    for (struct tp_link *link = conn->emulated.head; link != NULL && !wants;
         link = link->next) {
        const struct sm_op *op = sm_op_of(link);
        wants = op->rma.asked != op->rma.length &&
                (op->kind == SM_OP_PUT || conn->unanswered < UNANSWERED_MAX);
    }
    return wants && sm_ring_refresh(&conn->tx, sm_ring_record(cls->longest));
}

bool
sm_emulated_arm(na_plugin_class *cls)
{
    struct sm_conn *conn = cls->emulating != 0 ? cls->conns : NULL;
    bool ready = false;

    for (; conn != NULL; conn = conn->next) {
        if (!conn->emulating)
            continue;
        tp_lock_take(&conn->lock);
        sm_ring_await_room(&conn->tx);
        ready = could_send(cls, conn) || ready;
        tp_lock_drop(&conn->lock);
    }
    return ready;
}
