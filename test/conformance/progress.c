/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress of the wire plugin: contexts, socket events, timers, completions,
 * and sleeping. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

#define BATCH 64
#define STALLED_NS UINT64_C(5000000) /* of a variant */
/* a child of a dead peer may keep it open */
#define LAST_RECORDS 4096U

int32_t
wire_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    na_plugin_ctx *ctx = &cls->contexts[id < WIRE_CONTEXTS ? id : 0];
    struct epoll_event event = {.events = EPOLLIN};

    if (id >= WIRE_CONTEXTS ||
        (ctx->alive && !wire_breaks(cls, WIRE_context_twice))) {
        WIRE_LOG(cls->host, ERROR, "no context %u: %s", id,
            id < WIRE_CONTEXTS ? "there is one" : "the highest is 3");
        return id < WIRE_CONTEXTS ? NA_PLUGIN_E_EXIST : NA_PLUGIN_E_OVERFLOW;
    }
    if (!cls->no_block) {
        ctx->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        ctx->wait_fd = epoll_create1(EPOLL_CLOEXEC);
        if (ctx->bell < 0 || ctx->wait_fd < 0 ||
            epoll_ctl(ctx->wait_fd, EPOLL_CTL_ADD, ctx->bell, &event) != 0 ||
            epoll_ctl(ctx->wait_fd, EPOLL_CTL_ADD, cls->epoll, &event) != 0)
            goto close_fds;
    }
    if (wire_breaks(cls, WIRE_fd_busy) && !cls->no_block)
        eventfd_write(ctx->bell, 1);
    pthread_mutex_lock(&cls->lock);
    ctx->core_ctx = core_ctx;
    ctx->alive = true;
    pthread_mutex_unlock(&cls->lock);
    *ctx_p = ctx;
    return NA_PLUGIN_OK;

close_fds:
    WIRE_LOG(cls->host, ERROR, "no descriptors for context %u: %s", id,
        strerror(errno));
    if (ctx->bell >= 0)
        close(ctx->bell);
    if (ctx->wait_fd >= 0)
        close(ctx->wait_fd);
    ctx->bell = ctx->wait_fd = -1;
    return NA_PLUGIN_E_NOMEM;
}

void
wire_ctx_destroy(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    struct wire_op *op;

    pthread_mutex_lock(&cls->lock);
    if (ctx->alive && wire_breaks(cls, WIRE_exits))
        exit(0);
    if (ctx->alive)
        wire_violation_destroy(ctx);
    ctx->alive = ctx->armed = ctx->rung = false;
    while ((op = TAILQ_FIRST(&ctx->pending)) != NULL) {
        if (op->list == &ctx->ready && op->event.source)
            wire_addr_put(cls, op->event.source);
        wire_op_withdraw(op);
        TAILQ_REMOVE(&ctx->pending, op, all);
    }
    while (!TAILQ_EMPTY(&ctx->kept))
        wire_message_free(ctx, &ctx->kept, TAILQ_FIRST(&ctx->kept));
    while (!TAILQ_EMPTY(&ctx->early))
        wire_message_free(ctx, &ctx->early, TAILQ_FIRST(&ctx->early));
    if (ctx->bell >= 0)
        close(ctx->bell);
    if (ctx->wait_fd >= 0)
        close(ctx->wait_fd);
    ctx->bell = ctx->wait_fd = -1;
    pthread_mutex_unlock(&cls->lock);
}

/* Handles a peer's hello. Returns false if it is invalid. */
static bool
hello_arrived(struct wire_conn *conn)
{
    na_plugin_class *cls = conn->cls;
    const char *name = (const char *) cls->in_bytes;

    if (conn->peer || !wire_name_valid(name, cls->in.length))
        return false;
    conn->peer = wire_addr_get(cls, name, cls->in.length);
    if (conn->peer && !conn->peer->conn)
        conn->peer->conn = conn;
    return conn->peer != NULL;
}

/* Handles one record of `got` bytes. Returns false if the peer breaks the
 * protocol. */
static bool
record_arrived(struct wire_conn *conn, ssize_t got)
{
    const struct wire_record *record = &conn->cls->in;
    size_t most = sizeof *record + sizeof conn->cls->in_bytes;
    uint32_t ctx = record->target;
    uint64_t least = record->type == WIRE_UNEXPECTED ? WIRE_UNEXPECTED_HEADER
                                                     : WIRE_EXPECTED_HEADER;
    uint64_t longest = record->type == WIRE_UNEXPECTED ? WIRE_UNEXPECTED_MAX
                                                       : WIRE_EXPECTED_MAX;

    if ((size_t) got < sizeof *record || (size_t) got > most ||
        record->magic != WIRE_MAGIC ||
        record->length != (size_t) got - sizeof *record ||
        ctx >= WIRE_CONTEXTS || record->source >= WIRE_CONTEXTS ||
        (!conn->peer && record->type != WIRE_HELLO &&
            record->type != WIRE_CREDIT))
        return false;
    switch (record->type) {
    case WIRE_HELLO:
        return hello_arrived(conn);
    case WIRE_CREDIT:
        if (record->tag > WIRE_CREDITS - conn->credits[ctx])
            return false;
        conn->credits[ctx] += (uint32_t) record->tag;
        wire_conn_unblock(conn, ctx);
        return true;
    case WIRE_UNEXPECTED:
    case WIRE_EXPECTED:
        return record->length >= least && record->length <= longest &&
               (record->type == WIRE_EXPECTED || conn->granted[ctx] > 0) &&
               wire_message_arrived(conn);
    case WIRE_PUT_DATA:
    case WIRE_PUT_DONE:
    case WIRE_GET_ASK:
    case WIRE_GET_DATA:
        return wire_rma_arrived(conn);
    default:
        return false;
    }
}

/* Reads up to this many records. Returns false if the connection has ended. */
static bool
conn_read(struct wire_conn *conn, uint32_t budget)
{
    na_plugin_class *cls = conn->cls;

    while (budget-- > 0) {
        struct iovec vector[2] = {
            {&cls->in, sizeof cls->in}, {cls->in_bytes, sizeof cls->in_bytes}};
        struct msghdr message = {.msg_iov = vector, .msg_iovlen = 2};
        ssize_t got = recvmsg(conn->fd, &message, MSG_DONTWAIT | MSG_TRUNC);

        if (got > 0 && record_arrived(conn, got))
            continue;
        if (got > 0) {
            WIRE_LOG(cls->host, WARNING, "%s broke the protocol",
                conn->peer ? conn->peer->name : "an unknown peer");
            wire_conn_end(conn, NA_PLUGIN_E_PROTOCOL_ERROR);
            return false;
        }
        if (got < 0 && errno == EAGAIN)
            break;
        /* a reset is reported once; earlier records can be read after it */
        if (got < 0 && (errno == ECONNRESET || errno == EINTR))
            continue;
        WIRE_LOG(cls->host, INFO, "%s has disconnected",
            conn->peer ? conn->peer->name : "an unknown peer");
        wire_conn_end(conn, NA_PLUGIN_E_HOSTUNREACH);
        return false;
    }
    wire_conn_flush(conn);
    return true;
}

/* Handles an event of a connection, or of its process. */
static void
conn_event(struct wire_conn *conn, uint32_t events, bool process)
{
    if (conn->dead)
        return;
    if (process) {
        if (!conn_read(conn, LAST_RECORDS))
            return;
        WIRE_LOG(conn->cls->host, INFO, "the process of %s has ended",
            conn->peer ? conn->peer->name : "an unknown peer");
        wire_conn_end(conn, NA_PLUGIN_E_HOSTUNREACH);
    } else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        conn_read(conn, WIRE_BUDGET);
    } else {
        wire_conn_flush(conn);
    }
}

/* Handles timers. */
static void
clock_work(na_plugin_class *cls)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = cls};
    struct wire_conn *conn, *after_conn;
    struct wire_op *op, *after;
    uint64_t now = wire_now();

    if (now < cls->timer_ns)
        return;
    cls->timer_ns = UINT64_MAX;
    if (cls->deaf &&
        epoll_ctl(cls->epoll, EPOLL_CTL_ADD, cls->listener, &event) == 0)
        cls->deaf = false;
    for (conn = TAILQ_FIRST(&cls->conns); conn; conn = after_conn) {
        after_conn = TAILQ_NEXT(conn, next);
        if (conn->fd < 0)
            wire_conn_retry(conn);
        if (!conn->dead && conn->fd < 0)
            cls->timer_ns = now + WIRE_RETRY_NS;
    }
    for (uint32_t i = 0; i < WIRE_CONTEXTS; i++)
        for (op = TAILQ_FIRST(&cls->contexts[i].pending); op; op = after) {
            after = TAILQ_NEXT(op, all);
            if (op->list == &cls->contexts[i].ready)
                continue;
            if (op->deadline_ns <= now)
                wire_op_end(op, NA_PLUGIN_E_TIMEOUT);
            else if (op->deadline_ns < cls->timer_ns)
                cls->timer_ns = op->deadline_ns;
        }
}

/* A connection whose peer has not read anything for a while, or NULL. */
static struct wire_conn *
find_stalled(na_plugin_class *cls)
{
    uint64_t late = wire_now() + cls->send_timeout_ns - STALLED_NS;
    struct wire_conn *conn;
    struct wire_op *op;

    TAILQ_FOREACH (conn, &cls->conns, next) {
        op = TAILQ_FIRST(&conn->out);
        if (!op)
            op = TAILQ_FIRST(&conn->blocked[0]);
        if (op && op->deadline_ns < late)
            break;
    }
    return conn;
}

void
wire_advance(na_plugin_class *cls)
{
    struct epoll_event events[BATCH];
    struct wire_conn *only = NULL;
    int count;

    if (!wire_breaks(cls, WIRE_peers_kept))
        wire_conns_free(&cls->ended);
    clock_work(cls);
    count = epoll_wait(cls->epoll, events, BATCH,
        wire_breaks(cls, WIRE_poll_sleeps) ||
                (cls->no_block && wire_breaks(cls, WIRE_busy_sleeps))
            ? 100
            : 0);
    if (wire_breaks(cls, WIRE_stopped_stalls_all))
        only = find_stalled(cls);
    for (int i = 0; i < count; i++) {
        uintptr_t what = (uintptr_t) events[i].data.ptr;

        struct wire_conn *conn = (struct wire_conn *) (what & ~(uintptr_t) 1);

        if (what == (uintptr_t) cls &&
            ((cls->violation.polled > 0 &&
                 wire_breaks(cls, WIRE_context_0_accepts)) ||
                (!cls->contexts[0].alive &&
                    wire_breaks(cls, WIRE_context_0_needed))))
            continue;
        if (what == (uintptr_t) cls)
            wire_accept(cls);
        else if (!only || conn->peer == only->peer)
            conn_event(conn, events[i].events, what & 1);
    }
}

/* Reports an operation's event; unlinks it first if it is final. */
static na_plugin_event
report(na_plugin_ctx *ctx, struct wire_op *op)
{
    na_plugin_event event = op->event;

    wire_violation_event(ctx, op, &event);
    if (wire_breaks(ctx->cls, WIRE_multi_without_more))
        event.flags &= ~NA_PLUGIN_EVENT_MORE;
    wire_op_move(op, NULL);
    if (!(op->event.flags & NA_PLUGIN_EVENT_MORE)) {
        TAILQ_REMOVE(&ctx->pending, op, all);
        return event;
    }
    if (op->length - op->done < WIRE_UNEXPECTED_MAX)
        return event; /* a variant that never reports it */
    op->list = &ctx->recvs;
    TAILQ_INSERT_HEAD(&ctx->recvs, op, link);
    if (op->canceled)
        wire_op_end(op, NA_PLUGIN_E_CANCELED);
    else
        wire_message_match(ctx);
    return event;
}

static void
disarm(na_plugin_ctx *ctx)
{
    eventfd_t rings;

    ctx->armed = false;
    if (ctx->rung && !wire_breaks(ctx->cls, WIRE_fd_never_drained))
        eventfd_read(ctx->bell, &rings);
    ctx->rung = false;
}

int32_t
wire_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    na_plugin_class *cls = ctx->cls;
    struct wire_op *op;
    uint32_t count = 0, room;
    bool failed;

    cls->violation.polling++;
    pthread_mutex_lock(&cls->lock);
    disarm(ctx);
    cls->violation.polled = ctx->id;
    cls->violation.inside = true;
    wire_violation_before_poll(ctx);
    if ((ctx->id == 0 || !wire_breaks(cls, WIRE_context_0_only)) &&
        !(cls->no_block && wire_breaks(cls, WIRE_busy_deaf)))
        wire_advance(cls);
    room = max + wire_breaks(cls, WIRE_poll_overfills);
    while (count < room && (op = TAILQ_FIRST(&ctx->ready)) != NULL)
        events[count++] = report(ctx, op);
    count = wire_violation_after_poll(ctx, events, count, max);
    if (count > 0 && cls->violation.polling > 1 &&
        wire_breaks(cls, WIRE_polls_collide))
        count--;
    cls->violation.polling--;
    cls->violation.inside = false;
    failed = cls->violation.failed;
    cls->violation.failed = false;
    pthread_mutex_unlock(&cls->lock);
    return failed ? NA_PLUGIN_E_HOSTUNREACH : (int32_t) count;
}

int32_t
wire_cancel(na_plugin_ctx *ctx, void *part)
{
    struct wire_op *op;

    pthread_mutex_lock(&ctx->cls->lock);
    /* an operation that has ended may be freed memory, and is not accessed */
    TAILQ_FOREACH (op, &ctx->pending, all)
        if (op == part)
            break;
    if (op && op->list == &ctx->ready)
        op->canceled = true;
    else if (op && !wire_violation_cancel(ctx, op))
        wire_op_end(op, NA_PLUGIN_E_CANCELED);
    if (!op && wire_breaks(ctx->cls, WIRE_cancel_hits_next_use))
        ((struct wire_op *) part)->canceled = true;
    pthread_mutex_unlock(&ctx->cls->lock);
    return op || !wire_breaks(ctx->cls, WIRE_cancel_error_ended)
               ? NA_PLUGIN_OK
               : NA_PLUGIN_E_NOENTRY;
}

static int32_t
wait_fd(na_plugin_ctx *ctx)
{
    if (wire_breaks(ctx->cls, WIRE_fd_deaf) ||
        (wire_breaks(ctx->cls, WIRE_fd_context_0) && ctx->id > 0))
        return ctx->bell;
    if (wire_breaks(ctx->cls, WIRE_fd_changes))
        return fcntl(ctx->wait_fd, F_DUPFD_CLOEXEC, 0);
    return ctx->wait_fd;
}

/* Sockets wake by themselves; submissions of this process use the wake-up
 * descriptor. */
static int32_t
arm(na_plugin_ctx *ctx, uint64_t *sleep_ns_p)
{
    na_plugin_class *cls = ctx->cls;
    uint64_t now = wire_now();
    bool due;

    pthread_mutex_lock(&cls->lock);
    due = (!TAILQ_EMPTY(&ctx->ready) && !wire_breaks(cls, WIRE_wakeup_lost)) ||
          cls->timer_ns <= now || wire_breaks(cls, WIRE_arm_busy);
    if (!due)
        *sleep_ns_p =
            cls->timer_ns == UINT64_MAX ? UINT64_MAX : cls->timer_ns - now;
    ctx->armed = !due;
    pthread_mutex_unlock(&cls->lock);
    return due ? NA_PLUGIN_DONE : NA_PLUGIN_OK;
}

const na_plugin_wait wire_wait = {
    .size = sizeof wire_wait,
    .fd = wait_fd,
    .arm = arm,
};
