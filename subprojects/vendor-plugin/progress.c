/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts; operations from their submission to their one final event; polling,
 * sleeping and canceling. */
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>

#include "tcp.h"

#define READY 64     /* connections in one go */
#define SET_EVERY 16 /* polls, of which one at least looks at all of them */
#define CONN(link_) TP_OBJECT(link_, struct tcp_conn, link)

bool
tcp_op_begin(struct tcp_op *op, na_plugin_ctx *ctx, enum tcp_op_kind kind,
    struct tp_list *list)
{
    if (!tp_events_promise(&ctx->events))
        return false;
    op->kind = kind;
    op->submitting = true;
    op->ctx = ctx;
    op->list = list;
    op->packet.list = NULL;
    tp_list_append(&ctx->pending, &op->pending);
    if (list != NULL)
        tp_list_append(list, &op->link);
    return true;
}

/* One that ends within its submission has no event: see tcp_op_submitted. */
void
tcp_op_report(struct tcp_op *op, const na_plugin_event *event)
{
    na_plugin_ctx *ctx = op->ctx;

    tp_list_remove(&ctx->pending, &op->pending);
    if (op->list != NULL)
        tp_list_remove(op->list, &op->link);
    op->kind = TCP_OP_IDLE;
    op->status = event->status;
    if (op->submitting) {
        op->submitting = false;
        ctx->events.promised--;
        return;
    }
    tp_events_emit(&ctx->events, event);
    if (ctx->armed)
        tp_wake_set(&ctx->wake);
}

void
tcp_op_end(struct tcp_op *op, int32_t status)
{
    tcp_op_report(op, &(na_plugin_event){.op = op, .status = status});
}

int32_t
tcp_op_submitted(struct tcp_op *op)
{
    if (op->submitting) {
        op->submitting = false;
        return NA_PLUGIN_PENDING;
    }
    return op->status == NA_PLUGIN_OK ? NA_PLUGIN_DONE : op->status;
}

static int32_t
ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    if (id >= NA_PLUGIN_CONTEXTS_MAX)
        return NA_PLUGIN_E_OVERFLOW;
    if (cls->contexts[id] != NULL)
        return NA_PLUGIN_E_EXIST;
    na_plugin_ctx *ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL)
        return NA_PLUGIN_E_NOMEM;
    ctx->cls = cls;
    ctx->id = id;
    ctx->match.quota = &ctx->quota;
    ctx->match.forget = tcp_message_forget;
    ctx->match.arg = cls;
    ctx->wake = TP_WAKE_NONE;
    if ((cls->may_sleep &&
            tp_wake_init(&ctx->wake, &cls->epoll, 1) != NA_PLUGIN_OK) ||
        tp_match_init(&ctx->match) != NA_PLUGIN_OK) {
        tp_wake_fini(&ctx->wake);
        free(ctx);
        return NA_PLUGIN_E_NOMEM;
    }
    tp_lock_take(&cls->lock);
    cls->contexts[id] = ctx;
    tp_lock_drop(&cls->lock);
    *ctx_p = ctx;
    return NA_PLUGIN_OK;
}

/* Whether it was ended; false: no memory for what was sent in part. */
static bool
cancel_op(struct tcp_op *op)
{
    bool begun = op->packet.list != NULL && op->packet.sent != 0;
    struct tcp_conn *conn = op->conn;

    if (op->kind == TCP_OP_RECV_EXPECTED ||
        op->kind == TCP_OP_RECV_UNEXPECTED) {
        tp_match_unpost(
            &op->ctx->match, &op->recv, op->kind == TCP_OP_RECV_UNEXPECTED);
        tcp_op_end(op, NA_PLUGIN_E_CANCELED);
        return true;
    }
    if (begun && !tcp_packet_detach(&op->packet))
        return false;
    if (op->kind != TCP_OP_SEND) {
        tcp_rma_cancel(op);
    } else if (!begun) {
        if (op->packet.list == &conn->out &&
            op->packet.frame.kind == TCP_UNEXPECTED)
            conn->used -= tp_match_cost(op->packet.length);
        tcp_packet_move(&op->packet, NULL);
    }
    tcp_op_end(op,
        begun && op->kind == TCP_OP_SEND ? NA_PLUGIN_OK : NA_PLUGIN_E_CANCELED);
    tcp_message_release(conn);
    return true;
}

static int32_t
cancel(na_plugin_ctx *ctx, void *arg)
{
    struct tcp_op *op = arg;

    tp_lock_take(&ctx->cls->lock);
    if (op->kind != TCP_OP_IDLE)
        cancel_op(op);
    tp_lock_drop(&ctx->cls->lock);
    return NA_PLUGIN_OK;
}

/* Whether peers' hosts have all that is sent. */
static bool
all_out(na_plugin_class *cls)
{
    for (struct tp_link *link = cls->conns.head; link; link = link->next) {
        struct tcp_conn *conn = CONN(link);
        int unsent = 0;
        tcp_flush(conn);
        if (conn->open &&
            (conn->out.head != NULL ||
                (conn->peer != cls->self &&
                    ioctl(conn->fd, SIOCOUTQ, &unsent) == 0 && unsent != 0)))
            return false;
    }
    return true;
}

/* For at most a second. */
static void
let_out(na_plugin_class *cls)
{
    uint64_t limit = tp_now() + TP_SECOND;

    while (!all_out(cls) && tp_now() < limit) {
        tp_lock_drop(&cls->lock);
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        tp_lock_take(&cls->lock);
    }
}

static void
ctx_destroy(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    na_plugin_event event;

    tp_lock_take(&cls->lock);
    cls->contexts[ctx->id] = NULL; /* nothing is delivered any more */
    while (ctx->pending.head != NULL) {
        struct tcp_op *op =
            TP_OBJECT(ctx->pending.head, struct tcp_op, pending);
        if (!cancel_op(op))
            tcp_conn_end(op->conn, NA_PLUGIN_E_NOMEM);
    }
    let_out(cls);
    while (tp_events_take(&ctx->events, &event, 1) == 1)
        if (event.source != NULL)
            tcp_addr_put(cls, event.source);
    tp_match_fini(&ctx->match);
    tp_lock_drop(&cls->lock);
    tp_events_fini(&ctx->events);
    tp_wake_fini(&ctx->wake);
    free(ctx);
}

/* The connection that has waited longest for its opening; NULL: none. */
static struct tcp_conn *
oldest(const na_plugin_class *cls)
{
    return cls->young.head != NULL
               ? TP_OBJECT(cls->young.head, struct tcp_conn, young)
               : NULL;
}

/* What is due by the clock. */
static void
advance_timers(na_plugin_class *cls)
{
    struct tcp_conn *conn;

    if (cls->deaf_until == 0 && cls->young.head == NULL)
        return;
    uint64_t now = tp_now();
    while ((conn = oldest(cls)) != NULL && conn->deadline <= now) {
        TP_LOG(cls->host, INFO, "%s does not answer",
            conn->peer != NULL ? conn->peer->name : "who has connected");
        tcp_conn_end(conn, NA_PLUGIN_E_HOSTUNREACH);
    }
    if (cls->deaf_until != 0 && cls->deaf_until <= now) {
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0};
        epoll_ctl(cls->epoll, EPOLL_CTL_ADD, cls->listener, &event);
        cls->deaf_until = 0;
    }
}

/* Most often the next message is from where the last one was: that takes one
 * system call less. Whether it was so. */
static bool
advance_recent(na_plugin_class *cls)
{
    uint64_t number = cls->recent;
    struct tp_keyed *keyed =
        number != 0 ? tp_table_find(&cls->numbers, NULL, number) : NULL;

    if (keyed == NULL || ++cls->recent_polls % SET_EVERY == 0)
        return false;
    cls->recent = 0;
    tcp_conn_advance(TP_OBJECT(keyed, struct tcp_conn, keyed), EPOLLIN);
    bool received = cls->recent != 0;
    cls->recent = number;
    return received;
}

static void
advance(na_plugin_class *cls)
{
    struct epoll_event ready[READY];

    if (advance_recent(cls))
        return;
    int count = epoll_wait(cls->epoll, ready, READY, 0);

    for (int i = 0; i < count; i++) {
        uint64_t number = ready[i].data.u64;
        struct tp_keyed *keyed =
            number != 0 ? tp_table_find(&cls->numbers, NULL, number) : NULL;
        if (number == 0)
            tcp_conn_accept(cls);
        else if (keyed != NULL)
            tcp_conn_advance(
                TP_OBJECT(keyed, struct tcp_conn, keyed), ready[i].events);
    }
    advance_timers(cls);
}

static int32_t
poll_events(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    na_plugin_class *cls = ctx->cls;

    tp_lock_take_politely(&cls->lock);
    ctx->armed = false;
    tp_wake_clear(&ctx->wake);
    if (ctx->events.count < max)
        advance(cls);
    uint32_t count = tp_events_take(&ctx->events, events, max);
    tp_lock_drop(&cls->lock);
    return (int32_t) count;
}

static int32_t
wait_fd(na_plugin_ctx *ctx)
{
    return ctx->wake.fd;
}

/* The set of sockets is readable whenever one is: there is nothing to enable. */
static int32_t
wait_arm(na_plugin_ctx *ctx, uint64_t *sleep_ns_p)
{
    na_plugin_class *cls = ctx->cls;
    int32_t ret = NA_PLUGIN_DONE;

    tp_lock_take(&cls->lock);
    if (ctx->events.count == 0) {
        const struct tcp_conn *conn = oldest(cls);
        uint64_t due = conn != NULL ? conn->deadline : UINT64_MAX;
        if (cls->deaf_until != 0 && cls->deaf_until < due)
            due = cls->deaf_until;
        uint64_t now = due != UINT64_MAX ? tp_now() : 0;
        *sleep_ns_p = due == UINT64_MAX ? due : due > now ? due - now : 0;
        ctx->armed = true;
        ret = NA_PLUGIN_OK;
    }
    tp_lock_drop(&cls->lock);
    return ret;
}

const na_plugin_wait tcp_wait = {
    .size = sizeof(na_plugin_wait), .fd = wait_fd, .arm = wait_arm};

void
tcp_progress_ops(na_plugin_ops *ops)
{
    ops->ctx_create = ctx_create;
    ops->ctx_destroy = ctx_destroy;
    ops->poll = poll_events;
    ops->cancel = cancel;
}
