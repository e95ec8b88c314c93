/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ends of a helped put or get: asking in pieces, and answering. */
#include <stdlib.h>
#include <string.h>

#include "hello.h"
#include "help.h"
#include "mapping.h"
#include "mem.h"
#include "ready.h"
#include "wake.h"

#define UNANSWERED_MAX 8U /* pieces of gets on their way, below SM_JOBS */

/* Bytes of data in one record. */
static uint32_t
piece_size(const na_plugin_class *cls)
{
    return sm_hello_longest(cls) - (uint32_t) sizeof(struct sm_help);
}

/* Notes whether a connection has something left to do. */
static void
update(na_plugin_class *cls, struct sm_conn *conn)
{
    bool helping = conn->helped.head != NULL || conn->jobs_count != 0;

    if (helping == conn->helping)
        return;
    conn->helping = helping;
    if (helping) {
        cls->helping++;
        sm_chore_add(cls);
    } else {
        cls->helping--;
        sm_chore_drop(cls);
    }
}

void
sm_help_adopt(na_plugin_class *cls, struct sm_conn *conn, struct sm_op *op)
{
    op->link.key = ++cls->help_serial;
    op->rma.asked = 0;
    op->rma.arrived = 0;
    atomic_store_explicit(&op->helped, true, memory_order_relaxed);
    sm_list_append(&conn->helped, &op->link);
    update(cls, conn);
}

static void
finish(struct sm_conn *conn, struct sm_op *op, int32_t status)
{
    sm_list_remove(&conn->helped, &op->link);
    sm_ctx_finish(op, status);
}

static struct sm_op *
find(const struct sm_conn *conn, uint64_t number)
{
    for (struct sm_link *link = conn->helped.head; link != NULL;
         link = link->next)
        if (link->key == number)
            return (struct sm_op *) link;
    return NULL;
}

/* Publish a record of which the payload has been written. An answer is for the
 * context that has asked; a request is any context's work, whichever one it
 * names, and who sleeps on another one is to be woken as well. [conn->lock] */
static void
publish_answer(
    na_plugin_class *cls, struct sm_conn *conn, uint8_t target, uint32_t length)
{
    sm_ring_publish(&conn->tx, sm_ring_word(SM_RING_HELP, 0, target, length));
    if (sm_ring_sleeps(&conn->tx, target))
        sm_wake_peer(cls, conn);
}

static void
publish_request(na_plugin_class *cls, struct sm_conn *conn, uint8_t source,
    uint8_t target, uint32_t length)
{
    sm_ring_publish(
        &conn->tx, sm_ring_word(SM_RING_HELP, source, target, length));
    if (sm_ring_watched(&conn->tx) && sm_ring_take_any_sleeper(&conn->tx))
        sm_wake_peer(cls, conn);
}

void
sm_help_want_area(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_op *op, uint32_t access)
{
    struct sm_help help = {.verb = SM_HELP_AREA,
        .last = access == NA_PLUGIN_MEM_WRITE,
        .reply_to = op->own_ctx,
        .mem = op->rma.remote->id};
    unsigned char *payload = sm_ring_reserve(&conn->tx, sizeof(help));

    if (payload == NULL)
        return;
    memcpy(payload, &help, sizeof(help));
    publish_request(cls, conn, op->own_ctx, op->peer_ctx, sizeof(help));
}

/* Sends the next piece of an operation; false when there is no room, or enough
 * is on its way. [conn->lock] */
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
    length = (uint32_t) sizeof(struct sm_help) + (put ? piece : 0);
    unsigned char *payload = sm_ring_reserve(&conn->tx, length);
    if (payload == NULL)
        return false;

    struct sm_help help = {
        .verb = put ? SM_HELP_PUT : SM_HELP_GET,
        .last = piece == left,
        .reply_to = (uint8_t) op->ctx->id,
        .number = op->link.key,
        .mem = op->rma.remote->id,
        .offset = op->rma.remote_offset + op->rma.asked,
        .length = piece,
    };
    memcpy(payload, &help, sizeof(help));
    if (put)
        sm_mem_gather(op->rma.local, op->rma.local_offset + op->rma.asked,
            payload + sizeof(help), piece);
    else
        conn->unanswered++;
    publish_request(cls, conn, help.reply_to, op->peer_ctx, length);
    op->rma.asked += piece;
    return true;
}

/* Sends the first answer that waits; false when there is no room.
 * [conn->lock] */
static bool
do_job(na_plugin_class *cls, struct sm_conn *conn)
{
    struct sm_job *job = &conn->jobs[conn->jobs_first];
    struct sm_help help = job->help;
    uint32_t length = (uint32_t) sizeof(help) + help.length;

    unsigned char *payload = sm_ring_reserve(&conn->tx, length);
    if (payload == NULL)
        return false;
    if (help.length != 0)
        help.status = sm_mem_read(
            cls, job->mem, job->offset, payload + sizeof(help), help.length);
    if (help.status != NA_PLUGIN_OK && help.length != 0) {
        help.length = 0;
        length = sizeof(help);
    }
    memcpy(payload, &help, sizeof(help));
    publish_answer(cls, conn, job->target, length);
    sm_count_shared(&cls->counters.helped_bytes, help.length);
    conn->jobs_first = (conn->jobs_first + 1) % SM_JOBS;
    conn->jobs_count--;
    return true;
}

/* Sends what a connection has room for: answers first, then messages, which are
 * others' to send, then requests. */
static void
flush(na_plugin_class *cls, struct sm_conn *conn)
{
    tp_lock_take(&conn->lock);
    while (conn->jobs_count != 0 && do_job(cls, conn))
        ;
    if (conn->jobs_count == 0 && conn->queue.head == NULL) {
        struct sm_link *link = conn->helped.head;
        while (link != NULL) {
            struct sm_op *op = (struct sm_op *) link;
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
sm_help_flush(na_plugin_class *cls)
{
    if (cls->helping == 0)
        return;
    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next)
        if (conn->helping)
            flush(cls, conn);
}

/* Keeps an answer until there is room for it. NULL, or what is wrong: the peer
 * asks for more than it may. */
static const char *
add_job(na_plugin_class *cls, struct sm_conn *conn, const struct sm_job *job)
{
    if (conn->jobs == NULL)
        conn->jobs = calloc(SM_JOBS, sizeof(*conn->jobs));
    if (conn->jobs == NULL)
        return "no memory to help it";
    if (conn->jobs_count == SM_JOBS)
        return "it asks for more than it may";
    conn->jobs[(conn->jobs_first + conn->jobs_count++) % SM_JOBS] = *job;
    flush(cls, conn);
    return NULL;
}

static const char *
take_get(
    na_plugin_class *cls, struct sm_conn *conn, const struct sm_help *request)
{
    if (request->length == 0 || request->length > piece_size(cls))
        return "it asks for a piece that cannot be";
    struct sm_job job = {
        .help = {.verb = SM_HELP_DATA,
            .number = request->number,
            .offset = request->offset,
            .length = request->length},
        .mem = request->mem,
        .offset = request->offset,
        .target = request->reply_to,
    };
    return add_job(cls, conn, &job);
}

static const char *
take_put(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_help *request, const unsigned char *data, uint32_t length)
{
    if (request->length != length)
        return "it brings a piece of another length than it says";
    int32_t ret =
        sm_mem_write(cls, request->mem, request->offset, data, length);
    if (ret == NA_PLUGIN_OK)
        sm_count_shared(&cls->counters.helped_bytes, length);
    if (ret == NA_PLUGIN_OK && request->last == 0)
        return NULL;
    struct sm_job job = {
        .help = {.verb = SM_HELP_DONE,
            .number = request->number,
            .status = ret},
        .target = request->reply_to,
    };
    return add_job(cls, conn, &job);
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
    const struct sm_help *answer, const unsigned char *data, uint32_t length)
{
    struct sm_op *op = find(conn, answer->number);

    if (conn->unanswered == 0)
        return "it answers what nobody asked";
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
        return "it brings what nobody asked";
    sm_mem_scatter(op->rma.local, op->rma.local_offset + at, data, length);
    op->rma.arrived += length;
    sm_count_shared(&cls->counters.get_bytes, length);
    if (op->rma.arrived >= op->rma.length)
        finish(conn, op, NA_PLUGIN_OK);
    return NULL;
}

static void
take_done(
    na_plugin_class *cls, struct sm_conn *conn, const struct sm_help *answer)
{
    struct sm_op *op = find(conn, answer->number);

    if (op == NULL || op->kind != SM_OP_PUT) /* cancelled meanwhile */
        return;
    if (answer->status != NA_PLUGIN_OK) {
        finish(conn, op, reported(answer->status));
        return;
    }
    /* an end that comes too early is none */
    if (op->rma.asked == op->rma.length) {
        sm_count_shared(&cls->counters.put_bytes, op->rma.length);
        finish(conn, op, NA_PLUGIN_OK);
    }
}

const char *
sm_help_take(na_plugin_class *cls, struct sm_conn *conn,
    const unsigned char *payload, uint32_t length)
{
    const char *wrong = NULL;
    struct sm_help help;

    if (length < sizeof(help))
        return "a request in its ring is too short";
    memcpy(&help, payload, sizeof(help));
    payload += sizeof(help);
    length -= (uint32_t) sizeof(help);
    switch (help.verb) {
    case SM_HELP_GET:
        wrong = take_get(cls, conn, &help);
        break;
    case SM_HELP_PUT:
        wrong = take_put(cls, conn, &help, payload, length);
        break;
    case SM_HELP_DATA:
        wrong = take_data(cls, conn, &help, payload, length);
        break;
    case SM_HELP_DONE:
        take_done(cls, conn, &help);
        break;
    case SM_HELP_AREA:
        sm_mapping_give(cls, conn, help.mem,
            help.last != 0 ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ);
        break;
    default:
        return "a request in its ring is of no kind";
    }
    update(cls, conn);
    return wrong;
}

bool
sm_help_withdraw(na_plugin_class *cls, struct sm_op *op)
{
    tp_lock_take(&cls->progress);
    bool there = sm_op_state(op) == SM_OP_POSTED;
    if (there) {
        struct sm_conn *conn = op->to.conn;
        sm_list_remove(&conn->helped, &op->link);
        sm_op_set(op, SM_OP_READY);
        update(cls, conn);
    }
    tp_lock_drop(&cls->progress);
    return there;
}

void
sm_help_abandon(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;

    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next) {
        struct sm_link *next;
        for (struct sm_link *link = conn->helped.head; link != NULL;
             link = next) {
            next = link->next;
            if (((struct sm_op *) link)->ctx == ctx)
                sm_list_remove(&conn->helped, link);
        }
        update(cls, conn);
    }
}

void
sm_help_end(na_plugin_class *cls, struct sm_conn *conn, int32_t status)
{
    struct sm_list list = conn->helped;

    conn->helped = (struct sm_list){NULL, NULL};
    conn->jobs_count = conn->jobs_first = conn->unanswered = 0;
    free(conn->jobs);
    conn->jobs = NULL;
    update(cls, conn);
    sm_ctx_finish_all(&list, status);
}

void
sm_help_ask(na_plugin_class *cls)
{
    if (cls->helping == 0)
        return;
    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next) {
        if (!conn->helping)
            continue;
        tp_lock_take(&conn->lock);
        sm_ring_await_room(&conn->tx);
        tp_lock_drop(&conn->lock);
    }
}

/* Whether a flush would send something: pieces to ask for, with room. */
static bool
could_send(const na_plugin_class *cls, struct sm_conn *conn)
{
    uint32_t longest = sm_hello_longest(cls);
    bool wants = conn->jobs_count != 0;

    for (struct sm_link *link = conn->helped.head; link != NULL && !wants;
         link = link->next) {
        const struct sm_op *op = (struct sm_op *) link;
        wants = op->rma.asked != op->rma.length &&
                (op->kind == SM_OP_PUT || conn->unanswered < UNANSWERED_MAX);
    }
    return wants && sm_ring_refresh(&conn->tx, sm_ring_record(longest));
}

bool
sm_help_ready(na_plugin_class *cls)
{
    bool ready = false;

    if (cls->helping == 0)
        return false;
    for (struct sm_conn *conn = cls->conns; conn != NULL && !ready;
         conn = conn->next) {
        if (!conn->helping)
            continue;
        tp_lock_take(&conn->lock);
        ready = could_send(cls, conn);
        tp_lock_drop(&conn->lock);
    }
    return ready;
}
