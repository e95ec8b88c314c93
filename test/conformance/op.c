/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of the wire plugin: queueing, sending, completion. */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "wire.h"

#define UNLIMITED UINT32_MAX

void
wire_op_begin(struct wire_op *op, na_plugin_ctx *ctx, enum wire_kind kind)
{
    op->list = NULL;
    op->ctx = ctx;
    op->conn = NULL;
    op->peer = NULL;
    op->kind = kind;
    op->stale = wire_breaks(ctx->cls, WIRE_op_needs_zero) && op->id != 0;
    op->done = 0;
    op->id = ++ctx->cls->last_id;
    if (wire_breaks(ctx->cls, WIRE_op_needs_align_64) &&
        (uintptr_t) op % 64 != 0)
        abort();
    if (!wire_breaks(ctx->cls, WIRE_cancel_hits_next_use))
        op->canceled = false;
    op->deadline_ns = UINT64_MAX;
}

void
wire_op_move(struct wire_op *op, struct wire_ops *list)
{
    if (op->list)
        TAILQ_REMOVE(op->list, op, link);
    op->list = list;
    if (list)
        TAILQ_INSERT_TAIL(list, op, link);
}

/* Index of the list in which an operation waits for what it needs. */
static uint32_t
need(const struct wire_op *op)
{
    if (op->kind == WIRE_SEND_UNEXPECTED)
        return op->peer_ctx;
    return op->kind == WIRE_SEND_EXPECTED ? UNLIMITED : WIRE_CONTEXTS;
}

/* Of a variant: whether messages to context 1 are queued, and this one is to
 * another. */
static bool
stopped(const struct wire_conn *conn, uint32_t index)
{
    return wire_breaks(conn->cls, WIRE_full_stops_all) && index != 1 &&
           index < WIRE_CONTEXTS && !TAILQ_EMPTY(&conn->blocked[1]);
}

static bool
reserve(struct wire_conn *conn, uint32_t index)
{
    if (stopped(conn, index))
        return false;
    if (index < WIRE_CONTEXTS && conn->credits[index] > 0)
        conn->credits[index]--;
    else if (index == WIRE_CONTEXTS && conn->rma_out < WIRE_RMA_MAX)
        conn->rma_out++;
    else
        return index == UNLIMITED;
    return true;
}

static void
release(struct wire_conn *conn, uint32_t index)
{
    if (index == UNLIMITED)
        return;
    if (index < WIRE_CONTEXTS)
        conn->credits[index]++;
    else
        conn->rma_out--;
    wire_conn_unblock(conn, index);
}

void
wire_conn_unblock(struct wire_conn *conn, uint32_t index)
{
    struct wire_op *op;

    while ((op = TAILQ_FIRST(&conn->blocked[index])) != NULL &&
           reserve(conn, index)) {
        wire_op_move(op, &conn->out);
        /* a sleeping context may have to send it */
        wire_conn_watch(conn, true);
    }
    if (index == 1 && wire_breaks(conn->cls, WIRE_full_stops_all))
        for (uint32_t i = 0; i < WIRE_CONTEXTS; i++)
            if (i != 1)
                wire_conn_unblock(conn, i);
}

void
wire_op_withdraw(struct wire_op *op)
{
    bool going = op->conn && op->list == &op->conn->out;

    wire_op_move(op, NULL);
    if (going)
        release(op->conn, need(op));
}

static void
rouse(na_plugin_ctx *ctx)
{
    if (wire_breaks(ctx->cls, WIRE_wakes_itself_only) &&
        ctx->cls->violation.inside && ctx->cls->violation.polled != ctx->id)
        return;
    if (ctx->armed && !ctx->rung)
        ctx->rung = eventfd_write(ctx->bell, 1) == 0;
}

void
wire_rouse_all(na_plugin_class *cls)
{
    for (uint32_t i = 0; i < WIRE_CONTEXTS; i++)
        rouse(&cls->contexts[i]);
}

void
wire_op_ready(struct wire_op *op)
{
    if (op->stale && op->event.status == NA_PLUGIN_OK && !op->event.source)
        op->event = (na_plugin_event){.op = op, .status = NA_PLUGIN_E_FAULT};
    if (wire_breaks(op->ctx->cls, WIRE_cancel_hits_next_use) && op->canceled) {
        if (op->event.source)
            wire_addr_put(op->ctx->cls, op->event.source);
        op->event = (na_plugin_event){.op = op, .status = NA_PLUGIN_E_CANCELED};
        op->canceled = false;
    }
    wire_op_move(op, &op->ctx->ready);
    rouse(op->ctx);
}

void
wire_op_end(struct wire_op *op, int32_t status)
{
    wire_op_withdraw(op);
    op->event = (na_plugin_event){.op = op, .status = status};
    wire_op_ready(op);
}

/* Sends a whole message; returns like wire_conn_send. */
static int
push_message(struct wire_op *op)
{
    struct iovec bytes = {op->buffer, op->length};
    bool unexpected = op->kind == WIRE_SEND_UNEXPECTED;
    struct wire_record record = {
        .type = unexpected ? WIRE_UNEXPECTED : WIRE_EXPECTED,
        .target = (uint8_t) op->peer_ctx,
        .source = (uint8_t) op->ctx->id,
        .length = (uint32_t) op->length,
        .tag = op->tag,
    };
    int error;

    if (op->conn->accepted &&
        wire_breaks(op->ctx->cls, WIRE_answers_to_context_0))
        record.target = 0;
    error = wire_conn_send(op->conn, &record, &bytes, 1);
    op->ctx->cls->sent += error == 0;
    return error;
}

/* Sends what an operation can send at once. Returns 0 if something was sent,
 * after which the operation may have ended; or an errno. */
static int
push(struct wire_op *op)
{
    int error;

    if (op->kind == WIRE_PUT || op->kind == WIRE_GET)
        error = wire_rma_push(op);
    else
        error = push_message(op);
    if (error == EFAULT) {
        wire_op_end(op, NA_PLUGIN_E_FAULT);
        return 0;
    }
    if (error == 0 && op->kind <= WIRE_SEND_EXPECTED) {
        wire_op_move(op, NULL);
        wire_op_end(op, NA_PLUGIN_OK);
    }
    return error;
}

/* The context whose messages the peer is to get credits for, or none. */
static uint32_t
owes_credits(const struct wire_conn *conn)
{
    for (uint32_t i = 0; i < WIRE_CONTEXTS; i++)
        if (conn->cls->contexts[i].kept_count < WIRE_KEPT_MAX &&
            (conn->due[i] >= WIRE_CREDITS / 2 ||
                (conn->due[i] > 0 && conn->granted[i] == 0)))
            return i;
    return UNLIMITED;
}

static int
push_credits(struct wire_conn *conn, uint32_t index)
{
    struct wire_record record = {.type = WIRE_CREDIT,
        .target = (uint8_t) index,
        .tag = conn->due[index]};
    int error = wire_conn_send(conn, &record, NULL, 0);

    if (error == 0) {
        conn->granted[index] += conn->due[index];
        conn->due[index] = 0;
    }
    return error;
}

/* Whether this poll answers a put or get of the peer. */
static bool
serves(const struct wire_conn *conn)
{
    return conn->serve_count > 0 &&
           (conn->cls->violation.polled == 0 ||
               !wire_breaks(conn->cls, WIRE_context_0_serves));
}

void
wire_conn_flush(struct wire_conn *conn)
{
    int error = conn->fd < 0 ? EAGAIN : 0;

    for (uint32_t i = 0; i < WIRE_BUDGET && error == 0; i++) {
        struct wire_op *op = TAILQ_FIRST(&conn->out);
        uint32_t index = owes_credits(conn);

        if (index != UNLIMITED)
            error = push_credits(conn, index);
        else if (serves(conn) && (!op || i % 2 == 0))
            error = wire_serve_push(conn);
        else if (op)
            error = push(op);
        else
            break;
    }
    wire_conn_watch(conn, owes_credits(conn) != UNLIMITED ||
                              conn->serve_count > 0 ||
                              !TAILQ_EMPTY(&conn->out));
}

/* Queues an operation in a list, with a deadline. */
static void
enqueue(struct wire_op *op, struct wire_ops *list)
{
    na_plugin_class *cls = op->ctx->cls;

    TAILQ_INSERT_TAIL(&op->ctx->pending, op, all);
    wire_op_move(op, list);
    if (cls->send_timeout_ns == 0)
        return;
    op->deadline_ns = wire_now() + cls->send_timeout_ns;
    if (op->deadline_ns < cls->timer_ns) {
        cls->timer_ns = op->deadline_ns;
        wire_rouse_all(cls);
    }
}

/* Sends a message that has what it needs. An unexpected send completes by an
 * event even so. */
static int32_t
send_now(struct wire_op *op)
{
    struct wire_conn *conn = op->conn;
    na_plugin_class *cls = op->ctx->cls;
    bool late = (wire_breaks(cls, WIRE_early_reuse) ||
                    wire_breaks(cls, WIRE_last_words_lost)) &&
                conn->fd >= 0;
    int error = 0;

    if (late)
        wire_violation_unsent(op);
    else
        error = TAILQ_EMPTY(&conn->out) ? push_message(op) : EAGAIN;
    if (error == 0 && op->kind == WIRE_SEND_EXPECTED) {
        if (wire_breaks(cls, WIRE_done_and_event))
            wire_violation_again(op, NA_PLUGIN_OK);
        return NA_PLUGIN_DONE;
    }
    if (error == 0 && wire_breaks(cls, WIRE_event_never) &&
        cls->violation.count++ % 4 == 3)
        return NA_PLUGIN_PENDING;
    if (error == 0) {
        TAILQ_INSERT_TAIL(&op->ctx->pending, op, all);
        wire_op_end(op, NA_PLUGIN_OK);
        return NA_PLUGIN_PENDING;
    }
    if (error == EAGAIN && !cls->no_retry) {
        enqueue(op, &conn->out);
        wire_conn_watch(conn, true);
        return NA_PLUGIN_PENDING;
    }
    release(conn, need(op));
    if (error == EAGAIN)
        return NA_PLUGIN_E_AGAIN;
    return error == EFAULT ? NA_PLUGIN_E_FAULT : NA_PLUGIN_E_HOSTUNREACH;
}

int32_t
wire_op_submit(struct wire_op *op)
{
    na_plugin_class *cls = op->ctx->cls;
    int32_t code = wire_conn_get(cls, op->peer, &op->conn);
    uint32_t index = need(op);

    if (code != NA_PLUGIN_OK && wire_breaks(cls, WIRE_error_and_event))
        wire_violation_again(op, code);
    if (code != NA_PLUGIN_OK)
        return code;
    if ((index != UNLIMITED && !TAILQ_EMPTY(&op->conn->blocked[index])) ||
        !reserve(op->conn, index)) {
        if (cls->no_retry)
            return NA_PLUGIN_E_AGAIN;
        enqueue(op, &op->conn->blocked[index]);
        return NA_PLUGIN_PENDING;
    }
    if (index != WIRE_CONTEXTS)
        return send_now(op);
    enqueue(op, &op->conn->out);
    wire_conn_flush(op->conn);
    return NA_PLUGIN_PENDING;
}
