/* SPDX-License-Identifier: BSD-3-Clause */
/* The initiator's end of a range: asking, taking pieces from the front, and knowing
 * when the owner copies nothing any more. */
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "assist.h"
#include "emulated_rma.h"

#define ALONE 2U   /* after so many an owner that took none is not expected */
#define VAIN 4U    /* after so many ranges in vain, */
#define LESS 4U    /* one slice of long operations in so many asks, */
#define SELDOM 16U /* later in so many, as of short operations at once */
#define WAKE (4U << 20)   /* bytes for which the owner is woken */
#define SETTLE_NS 50000   /* that one poll waits for the owner's last piece */
#define WARN_NS TP_SECOND /* of waiting for the owner */
#define CLAIM_TRIES 64U

/* How far the owner has come, by the claim word. What an owner may not have
 * written ends its help. [conn->lock] */
static void
learn(struct sm_range *range, uint64_t claim)
{
    uint32_t back = sm_range_back(claim);

    if (sm_range_number(claim) == range->number &&
        sm_range_front(claim) == range->front && back >= range->front &&
        back <= range->back) {
        range->back = back;
        return;
    }
    range->back = range->front;
    range->declined = true;
}

/* The owner takes no more pieces. [conn->lock] */
static void
shut(struct sm_range *range)
{
    struct sm_conn *conn = range->conn;

    if (!range->open) /* or the connection has ended */
        return;
    /* acq_rel: pairs with the owner's claims */
    learn(range, atomic_exchange_explicit(
                     &conn->tx.control->claim, 0, memory_order_acq_rel));
    range->open = false;
}

/* Whether the owner has declined, which it does after its last access.
 * [conn->lock] */
static bool
declined(struct sm_range *range)
{
    struct sm_conn *conn = range->conn;

    /* acquire: pairs with the release in decline */
    if (!range->lost && !range->declined &&
        atomic_load_explicit(
            &conn->tx.control->declined, memory_order_acquire) == range->number)
        range->declined = true;
    if (range->declined) {
        shut(range);
        if (!range->lost)
            conn->unassisted = true;
    }
    return range->declined;
}

/* Learns which pieces of a put the owner has copied. [conn->lock] */
static void
refresh(struct sm_range *range)
{
    /* acquire: the piece is copied before its bit is set */
    if (range->put && !range->lost)
        range->copied = atomic_load_explicit(
            &range->conn->tx.control->copied, memory_order_acquire);
}

/* Whether the owner has copied a piece. */
static bool
copied(const struct sm_range *range, uint32_t piece)
{
    if (range->put)
        return range->copied >> piece & 1;
    /* acquire: the mark is copied behind the piece */
    return atomic_load_explicit(&range->marks[piece], memory_order_acquire) ==
           sm_range_mark(range->number, piece);
}

/* Whether all pieces that the owner has taken are copied. [conn->lock] */
static bool
settled(struct sm_range *range)
{
    refresh(range);
    for (uint32_t i = range->back; i < range->pieces; i++)
        if (!copied(range, i))
            return false;
    return true;
}

/* Where the operation's next bytes are on this side, and how many of them in one
 * segment. */
static uint64_t
local_place(const struct sm_op *op, uint64_t *length_p)
{
    const na_plugin_segment *segment = op->rma.local->segments;
    uint64_t offset = op->rma.local_offset;

    for (; offset >= segment->length; segment++)
        offset -= segment->length;
    *length_p = segment->length - offset;
    return (uintptr_t) segment->base + offset;
}

/* The number of a range. No other of the class has it, so that its marks are told
 * from those that an earlier range has left. */
static uint32_t
next_number(na_plugin_class *cls)
{
    uint32_t number;

    do
        number = atomic_fetch_add_explicit(
                     &cls->range_number, 1, memory_order_relaxed) +
                 1;
    while (number == 0);
    return number;
}

/* An owner that takes no pieces is asked once in so many operations, or slices of long
 * ones: of these first in LESS, then in twice as many after each range in vain, up to
 * SELDOM. [conn->lock] */
static uint32_t
period(const struct sm_conn *conn, bool is_long)
{
    uint32_t vain = conn->range_vain - VAIN;

    return is_long && vain < 2 ? LESS << vain : SELDOM;
}

/* Whether to ask the owner for its share of so many bytes: it has copied one lately,
 * or it is time to ask again. [conn->lock] */
static bool
is_worth_asking(struct sm_conn *conn, uint64_t length)
{
    bool is_long = length >= UINT64_C(2) * SM_RANGE_PIECE;
    uint32_t *passed = &conn->range_passed[is_long];

    if (conn->range_vain >= VAIN && ++*passed < period(conn, is_long))
        return false;
    *passed = 0;
    return true;
}

bool
sm_assist_begin(na_plugin_ctx *ctx, struct sm_op *op, struct sm_conn *conn)
{
    struct sm_range *range = &ctx->range;
    uint64_t length;
    uint64_t bytes = local_place(op, &length);
    bool put = op->kind == SM_OP_PUT;

    if (length > op->rma.length)
        length = op->rma.length;
    if (length > SM_RANGE_MOST)
        length = SM_RANGE_MOST;
    if (range->refused || range->op != NULL || conn->range != NULL ||
        !sm_assist_offered(conn, op) || conn->process.pidfd < 0 ||
        length < sm_assist_least(op->rma.remote) ||
        (op->rma.length < WAKE && sm_ring_any_sleeper(&conn->tx)) ||
        !is_worth_asking(conn, length))
        return false;

    uint32_t number = next_number(ctx->cls);
    uint32_t pieces = sm_range_count((uint32_t) length);
    const struct sm_range_place place = {
        bytes, put ? 0 : (uintptr_t) range->marks};
    const struct sm_rma_record record = {
        .verb = put ? SM_RMA_ASSIST_PUT : SM_RMA_ASSIST,
        .reply_to = op->own_ctx,
        .number = number,
        .mem = op->rma.remote->mem.keyed.key,
        .offset = op->rma.remote_offset,
        .length = (uint32_t) length};

    atomic_store_explicit(&conn->tx.control->copied, 0, memory_order_relaxed);
    /* release: the owner reads it once it has the record */
    atomic_store_explicit(&conn->tx.control->claim,
        sm_range_claim(number, 0, pieces), memory_order_release);
    if (!sm_emulated_send(
            ctx->cls, conn, &record, &place, sizeof(place), op->peer_ctx)) {
        atomic_store_explicit(
            &conn->tx.control->claim, 0, memory_order_relaxed);
        return false;
    }
    range->conn = conn;
    range->number = number;
    range->bytes = (uint32_t) length;
    range->pieces = range->back = pieces;
    range->put = put;
    range->copied = 0;
    range->front = 0;
    range->open = true;
    range->lost = range->declined = range->ending = range->warned = false;
    range->late = range->waits = false;
    range->pid = conn->process.pid;
    range->pidfd = range->fd = -1;
    range->stop_ns = 0;
    conn->range = range;
    tp_lock_take(&ctx->lock);
    range->op = op;
    tp_lock_drop(&ctx->lock);
    return true;
}

/* Takes up to most pieces from the front; how many. More than one at a time only
 * if the owner does not seem to come. *more_p: whether some are left, at that
 * moment; the connection's end may take them away. [rma_lock] */
static uint32_t
take(struct sm_range *range, uint32_t most, bool *more_p)
{
    struct sm_conn *conn = range->conn;
    uint32_t count = 0;

    *more_p = false;
    tp_lock_take(&conn->lock);
    if (declined(range) || !range->open) {
        tp_lock_drop(&conn->lock);
        return 0;
    }
    _Atomic uint64_t *word = &conn->tx.control->claim;
    uint64_t claim = atomic_load_explicit(word, memory_order_relaxed);
    for (uint32_t tries = 0; tries < CLAIM_TRIES; tries++) {
        learn(range, claim);
        uint32_t left = range->back - range->front;
        bool alone = range->back == range->pieces && range->front >= ALONE;
        count = alone && most < left ? most : left != 0 && !alone ? 1 : left;
        if (count == 0 || atomic_compare_exchange_strong_explicit(word, &claim,
                              sm_range_claim(range->number,
                                  range->front + count, range->back),
                              memory_order_acq_rel, memory_order_relaxed))
            break;
        count = 0;
    }
    range->front += count;
    *more_p = range->front < range->back;
    tp_lock_drop(&conn->lock);
    return count;
}

/* Forgets the range. [rma_lock] */
static void
forget(na_plugin_ctx *ctx)
{
    struct sm_range *range = &ctx->range;
    struct sm_conn *conn = range->conn;

    tp_lock_take(&conn->lock);
    if (!range->lost) {
        conn->range = NULL;
        conn->range_vain =
            range->back != range->pieces ? 0 : conn->range_vain + 1;
    }
    tp_lock_drop(&conn->lock);
    tp_lock_take(&ctx->lock);
    range->op = NULL;
    tp_lock_drop(&ctx->lock);
    if (range->pidfd >= 0)
        close(range->pidfd);
    sm_socket_close(range->fd);
    range->pidfd = range->fd = -1;
}

/* OK if the memory of a get is still registered after the copy, or it is a put;
 * INVALID_ARG if not; HOSTUNREACH if the connection has ended, without which there is
 * no registry. The owner copies from the back while this side copies from the front:
 * the last byte may have been read long before the first one, and the core relies on
 * a validity cookie in the last ones. */
static int32_t
check_registered(na_plugin_class *cls, const struct sm_range *range)
{
    int32_t ret = NA_PLUGIN_OK;

    if (range->put)
        return NA_PLUGIN_OK;
    /* acquire: the bytes are read before the registry; pairs with the store in
     * sm_registry_remove, after which the owner may change them */
    atomic_thread_fence(memory_order_acquire);
    tp_lock_take(&range->conn->lock);
    if (range->lost) {
        ret = NA_PLUGIN_E_HOSTUNREACH;
    } else if (!sm_registry_has(range->conn->registry, range->op->rma.remote)) {
        ret = NA_PLUGIN_E_INVALID_ARG;
        tp_count_shared(&cls->counters.refused_rma, 1);
        TP_LOG(cls->host, INFO,
            "%s: get failed: the memory was deregistered meanwhile",
            sm_conn_name(range->conn));
    }
    tp_lock_drop(&range->conn->lock);
    return ret;
}

/* All pieces are taken, or the owner takes no more: moves the operation past what
 * is copied, and copies what the owner has left if it has declined, at most
 * `most` pieces. OK: the range has ended, or pieces are left for another poll. */
static int32_t
finish(na_plugin_ctx *ctx, struct sm_target *target, uint32_t most)
{
    struct sm_range *range = &ctx->range;
    struct sm_counters *counters = &ctx->cls->counters;
    struct sm_op *op = range->op;
    int32_t ret = NA_PLUGIN_OK;

    tp_lock_take(&range->conn->lock);
    shut(range);
    bool quiet = settled(range) || range->declined;
    tp_lock_drop(&range->conn->lock);
    if (!quiet) /* it has taken one more meanwhile */
        return NA_PLUGIN_E_AGAIN;
    for (; range->front < range->pieces; range->front++) {
        uint32_t length = sm_range_length(range->bytes, range->front, 1);
        if (!copied(range, range->front)) {
            if (most-- == 0)
                return NA_PLUGIN_OK; /* the rest in another poll */
            ret = sm_move(ctx->cls, target, op, length);
            if (ret != NA_PLUGIN_OK)
                return ret;
        } else {
            op->rma.local_offset += length;
            op->rma.remote_offset += length;
            op->rma.length -= length;
            tp_count_shared(
                range->put ? &counters->put_bytes : &counters->get_bytes,
                length);
        }
    }
    ret = check_registered(ctx->cls, range);
    if (ret == NA_PLUGIN_OK)
        forget(ctx);
    return ret;
}

int32_t
sm_assist_slice(na_plugin_ctx *ctx, struct sm_target *target, uint64_t length)
{
    struct sm_range *range = &ctx->range;
    uint32_t left = length < sm_range_piece(range->bytes)
                        ? 1
                        : (uint32_t) (length / sm_range_piece(range->bytes));
    uint32_t count;
    bool more = false;

    while (left != 0 && (count = take(range, left, &more)) != 0) {
        int32_t ret = sm_move(ctx->cls, target, range->op,
            sm_range_length(range->bytes, range->front - count, count));
        if (ret != NA_PLUGIN_OK)
            return ret;
        left -= count;
    }
    if (left == 0 && more)
        return NA_PLUGIN_OK;

    uint64_t until = range->late ? 0 : tp_now() + SETTLE_NS;
    bool done;
    do {
        tp_lock_take(&range->conn->lock);
        done = declined(range) || settled(range);
        tp_lock_drop(&range->conn->lock);
    } while (!done && tp_now() < until);
    return done ? finish(ctx, target, left) : NA_PLUGIN_E_AGAIN;
}

static bool
hung_up(int fd)
{
    struct pollfd socket = {.fd = fd};

    return poll(&socket, 1, 0) == 1 && (socket.revents & POLLHUP) != 0;
}

/* Whether the process that may be copying has ended, or has ended the connection,
 * which it does after its last access. [conn->lock] */
static bool
gone(const struct sm_range *range)
{
    int pidfd = range->lost ? range->pidfd : range->conn->process.pidfd;
    int fd = range->lost ? range->fd : range->conn->fd;

    return (pidfd >= 0 && sm_socket_process_ended(pidfd)) ||
           (fd >= 0 && hung_up(fd));
}

/* Logs, once, that an operation waits long for its peer, which may be stopped. */
static void
warn_of_wait(na_plugin_ctx *ctx)
{
    struct sm_range *range = &ctx->range;
    uint64_t now = tp_now();

    if (range->stop_ns == 0)
        range->stop_ns = now;
    if (range->warned || now - range->stop_ns < WARN_NS)
        return;
    range->warned = true;
    TP_LOG(ctx->cls->host, WARNING,
        "context %u: a %s cannot end before process %d has: it may still copy "
        "a part of it",
        ctx->id, range->put ? "put" : "get", (int) range->pid);
}

bool
sm_assist_stop(na_plugin_ctx *ctx)
{
    struct sm_range *range = &ctx->range;

    tp_lock_take(&range->conn->lock);
    shut(range);
    bool quiet = declined(range) || settled(range) || gone(range);
    tp_lock_drop(&range->conn->lock);
    if (quiet)
        forget(ctx);
    else
        warn_of_wait(ctx);
    return quiet;
}

void
sm_assist_lose(na_plugin_class *cls, struct sm_conn *conn)
{
    struct sm_range *range = conn->range;

    if (range == NULL)
        return;
    shut(range);
    refresh(range);
    conn->range = NULL;
    range->lost = true;
    range->pidfd = fcntl(conn->process.pidfd, F_DUPFD_CLOEXEC, 0);
    range->fd = conn->fd;
    conn->fd = -1;
    epoll_ctl(cls->epoll, EPOLL_CTL_DEL, range->fd, NULL);
    shutdown(range->fd, SHUT_WR); /* the peer sees the end, and hangs up */
}

void
sm_assist_await(na_plugin_ctx *ctx)
{
    const struct timespec pause = {0, 50000};

    for (;;) {
        tp_lock_take(&ctx->rma_lock);
        ctx->range.refused = true;
        bool quiet = ctx->range.op == NULL || sm_assist_stop(ctx);
        tp_lock_drop(&ctx->rma_lock);
        if (quiet)
            return;
        nanosleep(&pause, NULL);
    }
}
