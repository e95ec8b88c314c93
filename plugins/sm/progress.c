/* SPDX-License-Identifier: BSD-3-Clause */
/* The path of a message from the ring to its receive. One poll at a time works
 * for the whole class: active connections each time, some of the idle ones, queued
 * sends, and the kernel now and then. */
#include "progress.h"
#include "address.h"
#include "assist_owner.h"
#include "deliver.h"
#include "emulated_rma.h"
#include "kernel.h"
#include "match.h"
#include "queue.h"
#include "rma.h"
#include "self.h"
#include "sleepers.h"
#include "wait.h"
#include "work.h"

#define KERNEL_NS 20000         /* between two looks at the kernel */
#define KERNEL_SELDOM_NS 100000 /* while messages come one at a time */
#define CLOCK_POLLS 32U         /* between two looks at the clock, */
#define SELDOM_NS 200000 /* a sixteenth of that if they were so long apart */
#define IDLE_MISSES 4096 /* polls without a message: tens of microseconds */
#define BUSY_MISSES 32   /* so many of these is one that takes a message */
#define IDLE_POLLS 64U   /* in so many each idle connection is looked at */
/* Messages of one connection before the next one's; also the events of a batch of
 * the core, which has the fast path. */
#define TURN 16U
#define RMA_PATIENCE 8U /* polls with events between two slices */
#define DOUBLED_MOST 3U /* times that the length of a slice is doubled */

/*
 * Takes a short message whose receive is posted in the poller's context and long
 * enough; else false, and nothing is changed. What is in shared memory is read
 * once, and checked before use; payload is just bytes. One comparison tells that
 * the message is for this context, and of a valid kind. [progress, ctx->lock]
 */
static inline __attribute__((always_inline)) bool
take_plain(na_plugin_ctx *ctx, struct sm_conn *conn, uint64_t word,
    na_plugin_event *event, const bool single)
{
    unsigned char *record = conn->rx.record;
    na_plugin_addr *from = conn->peer;
    uint32_t length = sm_ring_length(word);
    uint32_t kind = (uint32_t) word >> 8 ^ ctx->id;
    uint64_t key = sm_ring_tag(record);
    struct sm_op *op;

    if (__builtin_expect(length > conn->rx.plain, 0))
        return false;
    if (kind == SM_RING_UNEXPECTED << 8) {
        op = sm_op_of(ctx->match.recvs.head);
        if (__builtin_expect(op == NULL || length > op->recv.length, 0))
            return false;
        tp_list_drop_head(&ctx->match.recvs);
        tp_addr_hold(&from->addr, single);
    } else if (__builtin_expect(kind == SM_RING_EXPECTED << 8, 1)) {
        key = tp_match_key(sm_ring_source(word), (uint32_t) key);
        if (tp_match_is_first(&ctx->match, from, key)) {
            op = sm_op_of(&ctx->match.first->link);
            if (__builtin_expect(length > op->recv.length, 0))
                return false;
            ctx->match.first = NULL;
        } else {
            struct tp_list *bucket =
                tp_table_bucket(&ctx->match.posted, from, key);
            struct tp_keyed *keyed = tp_bucket_find(bucket, from, key);
            op = keyed != NULL ? sm_op_of(&keyed->link) : NULL;
            if (__builtin_expect(op == NULL || length > op->recv.length, 0))
                return false;
            tp_list_remove(bucket, &keyed->link);
            ctx->match.posted.count--;
        }
        from = NULL;
    } else {
        return false;
    }
    sm_match_end(op, length, (uint32_t) key, from, event);
    sm_ring_copy_short(op->recv.buffer, record + SM_RING_HEADER, length);
    ctx->cls->received++;
    sm_ring_skip(&conn->rx, record, length);
    return true;
}

/* Takes messages of a connection, the first of which word announces, as long as
 * there is room for events; a number of them, then it is the next one's turn. The
 * new end of the events. [progress, ctx->lock] */
static na_plugin_event *
take(na_plugin_class *cls, na_plugin_ctx *ctx, struct sm_conn *conn,
    uint64_t word, na_plugin_event *next, na_plugin_event *end)
{
    uint32_t left = TURN;
    bool more = true;

    conn->rx.misses = 0;
    do {
        if (__builtin_expect(
                take_plain(ctx, conn, word, next, cls->single), 1)) {
            next++;
            sm_deliver_report(cls, conn);
            continue;
        }
        struct sm_batch batch = {ctx, next, end, true};
        more = sm_deliver_next(cls, conn, &batch, word, false);
        next = batch.next;
        /* a record of a put or get has dropped it */
        sm_batch_lock(&batch);
    } while (more && next != end && --left != 0 &&
             (word = sm_ring_peek(&conn->rx)) != 0);
    return next;
}

/* Looks at the rings of all active connections, beginning where the last poll ran
 * out of room for events; the new end of these. Drops ctx->lock, if it is
 * locked. */
static na_plugin_event *
scan_active(na_plugin_ctx *ctx, na_plugin_event *next, na_plugin_event *end,
    bool locked)
{
    na_plugin_class *cls = ctx->cls;
    struct sm_conn *conn = cls->active;
    uint32_t left = cls->active_count;

    for (; left != 0; left--) {
        struct sm_conn *around = conn->poll_next;
        uint64_t word = sm_ring_peek(&conn->rx);
        if (word == 0) {
            conn->rx.misses += locked ? BUSY_MISSES : 1;
            if (conn->rx.misses > IDLE_MISSES)
                sm_conn_idle(cls, conn);
        } else {
            if (!locked)
                tp_lock_take(&ctx->lock);
            locked = true;
            next = take(cls, ctx, conn, word, next, end);
            if (next == end)
                left = 1;
        }
        conn = around;
    }
    /* NULL: there was one only, and it is idle now */
    if (cls->active != NULL)
        cls->active = conn;
    if (locked)
        tp_lock_drop(&ctx->lock);
    return next;
}

/* So many of the others. */
static na_plugin_event *
scan_others(na_plugin_ctx *ctx, na_plugin_event *next, na_plugin_event *end,
    uint32_t looks)
{
    na_plugin_class *cls = ctx->cls;
    struct sm_batch batch = {ctx, next, end, false};

    while (looks-- != 0 && batch.next != batch.end && cls->idle != NULL) {
        struct sm_conn *conn = cls->idle;
        cls->idle = conn->poll_next;
        uint64_t word = sm_ring_peek(&conn->rx);
        if (word == 0)
            continue;
        sm_conn_activate(cls, conn);
        sm_deliver_next(cls, conn, &batch, word, false);
    }
    sm_batch_unlock(&batch);
    return batch.next;
}

/* Some of the others. */
static __attribute__((noinline)) na_plugin_event *
scan_idle(na_plugin_ctx *ctx, na_plugin_event *next, na_plugin_event *end)
{
    return scan_others(
        ctx, next, end, (ctx->cls->idle_count + IDLE_POLLS - 1) / IDLE_POLLS);
}

/* How long the kernel is not asked after this look at the clock. A look takes as
 * long as several messages, so it is rare while they come one at a time. While more
 * come in each poll it is a pause in which they gather, and without it there are
 * fewer a second. */
static uint64_t
kernel_interval(const na_plugin_class *cls)
{
    uint64_t count = cls->received - cls->look_received;

    return count > 0 && count <= cls->look_polls ? KERNEL_SELDOM_NS : KERNEL_NS;
}

/* Looks at the clock, and asks the kernel if it is time to: in more of the polls
 * if they are rare. [progress] */
static __attribute__((noinline)) void
look_around(na_plugin_class *cls)
{
    uint64_t now = tp_now();
    uint64_t interval = kernel_interval(cls);

    cls->look_polls = cls->countdown =
        now - cls->look_ns > SELDOM_NS ? CLOCK_POLLS / 16 : CLOCK_POLLS;
    cls->look_ns = now;
    cls->look_received = cls->received;
    if (cls->kernel_due || now >= cls->kernel_ns) {
        sm_sleepers_look(cls, now);
        sm_kernel_check(cls, now);
        cls->kernel_ns = now + interval;
        sm_work(cls);
    }
}

/* Takes what has arrived, for the whole class. After a poll that took long, looks
 * everywhere. [progress] */
static na_plugin_event *
advance(na_plugin_ctx *ctx, na_plugin_event *next, na_plugin_event *end)
{
    na_plugin_class *cls = ctx->cls;
    bool late = ctx->rma_copied > SM_RMA_SLICE;

    if (late || --cls->countdown == 0)
        look_around(cls);
    next = scan_active(ctx, next, end, false);
    if (late)
        next = scan_others(ctx, next, end, cls->idle_count);
    else if (cls->idle_count != 0)
        next = scan_idle(ctx, next, end);
    return next;
}

/* Whether no record has arrived since the last poll of the context, and the class
 * copies nothing for its peers. [progress] */
static bool
is_quiet(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    uint64_t received = cls->received + cls->rma_records;
    bool quiet = received == ctx->rma_received && cls->assisting == 0 &&
                 cls->emulating == 0;

    ctx->rma_received = received;
    return quiet;
}

/* Does a slice of puts and gets, twice as long as the last one if all is quiet:
 * what comes next waits for this slice, about as long as nothing has come. */
static void
copy_slice(na_plugin_ctx *ctx)
{
    uint64_t most = SM_RMA_SLICE << ctx->rma_doubled;

    ctx->rma_skipped = 0;
    ctx->rma_copied = sm_rma_advance(ctx, most);
    if (ctx->rma_copied >= most && ctx->rma_doubled < DOUBLED_MOST)
        ctx->rma_doubled++;
    sm_assist_advance(ctx->cls);
}

/* A poll with pending work of its context or the class. */
static __attribute__((noinline)) int32_t
poll_slowly(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    na_plugin_class *cls = ctx->cls;
    na_plugin_event *next = events;
    na_plugin_event *end = events + max;
    bool quiet = false;

    atomic_store_explicit(
        &ctx->poller, sm_ctx_caller(cls->single), memory_order_relaxed);
    sm_written_demote(&ctx->written);
    if (atomic_load_explicit(&ctx->bits_set, memory_order_relaxed))
        sm_wait_disarm(ctx);
    next += sm_ctx_take_ready(ctx, next, max);
    if (next != end && tp_lock_try(&cls->progress)) {
        next = advance(ctx, next, end);
        sm_queue_flush(cls);
        sm_emulated_flush(cls);
        sm_self_refill(cls);
        quiet = is_quiet(ctx);
        sm_work_unlock(cls);
    }
    if (!quiet || next != events)
        ctx->rma_doubled = 0;
    ctx->rma_copied = 0;
    if (atomic_load_explicit(&cls->pending, memory_order_relaxed) != 0) {
        /* a slice takes long: what is to be reported does not wait for it */
        if (next == events || ++ctx->rma_skipped >= RMA_PATIENCE)
            copy_slice(ctx);
        else
            sm_rma_advance(ctx, 0);
    }
    next += sm_ctx_take_ready(ctx, next, (uint32_t) (end - next));
    return (int32_t) (next - events);
}

/* Slow path of poll, progress held, and ctx->lock if it is locked: all active
 * connections once more, from cls->active on. */
static __attribute__((noinline)) int32_t
go_on(na_plugin_ctx *ctx, na_plugin_event *events, na_plugin_event *end,
    na_plugin_event *next, bool locked)
{
    na_plugin_class *cls = ctx->cls;

    next = scan_active(ctx, next, end, locked);
    if (cls->idle_count != 0)
        next = scan_idle(ctx, next, end);
    sm_work_unlock(cls);
    return (int32_t) (next - events);
}

/* The same after a report to the producer of cls->active, ctx->lock held. */
static __attribute__((noinline)) int32_t
go_on_reporting(na_plugin_ctx *ctx, na_plugin_event *events,
    na_plugin_event *end, na_plugin_event *next)
{
    na_plugin_class *cls = ctx->cls;

    sm_deliver_report(cls, cls->active);
    if (next != end)
        return go_on(ctx, events, end, next, true);
    cls->active = cls->active->poll_next;
    tp_lock_drop(&ctx->lock);
    tp_lock_drop(&cls->progress);
    return (int32_t) (next - events);
}

/* Looks at the clock, then polls again: the next look is later. [progress] */
static __attribute__((noinline)) int32_t
go_on_after_clock(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    na_plugin_class *cls = ctx->cls;

    look_around(cls);
    cls->countdown++;
    sm_work_unlock(cls);
    return cls->single ? sm_poll_single(ctx, events, max)
                       : sm_poll(ctx, events, max);
}

/* go_on with idle connections alone. */
static __attribute__((noinline)) int32_t
go_on_idle(na_plugin_ctx *ctx, na_plugin_event *events, na_plugin_event *end,
    na_plugin_event *next)
{
    next = scan_idle(ctx, next, end);
    sm_work_unlock(ctx->cls);
    return (int32_t) (next - events);
}

/* Ends a poll in which all messages were plain: looks at idle connections, if
 * there are any, and drops progress. Such a poll reports no connection, so there
 * is nothing for sm_work to do. [progress, not ctx->lock] */
static inline __attribute__((always_inline)) int32_t
finish_fast(na_plugin_ctx *ctx, na_plugin_event *events, na_plugin_event *end,
    na_plugin_event *next, const bool single)
{
    na_plugin_class *cls = ctx->cls;

    if (__builtin_expect(cls->idle_count != 0, 0))
        return go_on_idle(ctx, events, end, next);
    tp_lock_drop_fast(&cls->progress, single);
    return (int32_t) (next - events);
}

/* Takes what the active connections have from conn on, of which the first event
 * is taken. Calls nothing but the slow paths above: a call would save all
 * registers. [progress, ctx->lock] */
static inline __attribute__((always_inline)) int32_t
take_active(na_plugin_ctx *ctx, na_plugin_event *events, na_plugin_event *end,
    struct sm_conn *conn, const bool single)
{
    na_plugin_class *cls = ctx->cls;
    na_plugin_event *next = events + 1;

    do {
        uint64_t word = sm_ring_peek(&conn->rx);
        if (word == 0) {
            if (__builtin_expect(conn->rx.misses >= IDLE_MISSES, 0))
                return go_on(ctx, events, end, next, true);
            conn->rx.misses += BUSY_MISSES;
        } else {
            conn->rx.misses = 0;
            do {
                if (__builtin_expect(
                        !take_plain(ctx, conn, word, next, single), 0)) {
                    cls->active = conn;
                    return go_on(ctx, events, end, next, true);
                }
                next++;
                if (sm_ring_report_due(&conn->rx)) {
                    cls->active = conn;
                    return go_on_reporting(ctx, events, end, next);
                }
            } while (next != end && (word = sm_ring_peek(&conn->rx)) != 0);
        }
        conn = conn->poll_next;
        if (__builtin_expect(next == end, 0))
            cls->active = conn;
    } while (conn != cls->active);
    tp_lock_drop_fast(&ctx->lock, single);
    return finish_fast(ctx, events, end, next, single);
}

/* Out of line, as take_first does not need them. */
static __attribute__((noinline)) int32_t
take_active_shared(
    na_plugin_ctx *ctx, na_plugin_event *events, struct sm_conn *conn)
{
    return take_active(ctx, events, events + TURN, conn, false);
}

static __attribute__((noinline)) int32_t
take_active_single(
    na_plugin_ctx *ctx, na_plugin_event *events, struct sm_conn *conn)
{
    return take_active(ctx, events, events + TURN, conn, true);
}

/* go_on and go_on_reporting for take_first: from conn on, none of whose messages
 * could be taken simply, and after the first one was taken. */
static __attribute__((noinline)) int32_t
go_on_from(na_plugin_ctx *ctx, na_plugin_event *events, struct sm_conn *conn)
{
    ctx->cls->active = conn;
    return go_on(ctx, events, events + TURN, events, true);
}

static __attribute__((noinline)) int32_t
go_on_after(na_plugin_ctx *ctx, na_plugin_event *events, struct sm_conn *conn)
{
    ctx->cls->active = conn;
    return go_on_reporting(ctx, events, events + TURN, events + 1);
}

/* Takes the first message, announced by word, of conn, the first active
 * connection that has one. Most often it is the only one: only then are no
 * further connections looked at here. [progress, ctx->lock] */
static inline __attribute__((always_inline)) int32_t
take_first(na_plugin_ctx *ctx, na_plugin_event *events, struct sm_conn *conn,
    uint64_t word, const bool single)
{
    conn->rx.misses = 0;
    if (__builtin_expect(!take_plain(ctx, conn, word, events, single), 0))
        return go_on_from(ctx, events, conn);
    if (__builtin_expect(sm_ring_report_due(&conn->rx), 0))
        return go_on_after(ctx, events, conn);
    if (sm_ring_peek(&conn->rx) != 0 || ctx->cls->polled != 1)
        return single ? take_active_single(ctx, events, conn)
                      : take_active_shared(ctx, events, conn);
    tp_lock_drop_fast(&ctx->lock, single);
    tp_lock_drop_fast(&ctx->cls->progress, single);
    return 1;
}

/* The word of the next record. Most records of an RPC take a second line, which the
 * producer writes before it announces them: both lines come to this processor at
 * the same time rather than one after the other. */
static inline uint64_t
poll_ring(const struct sm_ring_rx *rx)
{
    __builtin_prefetch(rx->record + SM_RING_LINE);
    return sm_ring_peek(rx);
}

static inline __attribute__((always_inline)) int32_t
poll_class(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max,
    const bool single, const bool demotes)
{
    na_plugin_class *cls = ctx->cls;
    uint64_t word;

    if (__builtin_expect(
            (atomic_load_explicit(&cls->pending, memory_order_relaxed) |
                atomic_load_explicit(&ctx->pending, memory_order_relaxed)) != 0,
            0))
        return poll_slowly(ctx, events, max);
    atomic_store_explicit(
        &ctx->poller, sm_ctx_caller(single), memory_order_relaxed);
    if (demotes)
        sm_written_demote(&ctx->written);
    /* the thread that holds it delivers to this context as well */
    if (!tp_lock_try_fast(&cls->progress, single))
        return 0;
    if (__builtin_expect(--cls->countdown == 0, 0))
        return go_on_after_clock(ctx, events, max);

    struct sm_conn *conn = cls->active;
    if (conn == NULL)
        return finish_fast(ctx, events, events + max, events, single);
    if (__builtin_expect(max != TURN, 0))
        return go_on(ctx, events, events + max, events, false);
    while ((word = poll_ring(&conn->rx)) == 0) {
        if (__builtin_expect(conn->rx.misses >= IDLE_MISSES, 0))
            return go_on(ctx, events, events + max, events, false);
        conn->rx.misses++;
        conn = conn->poll_next;
        if (conn == cls->active)
            return finish_fast(ctx, events, events + max, events, single);
    }
    if (__builtin_expect(!tp_lock_try_fast(&ctx->lock, single), 0))
        return go_on(ctx, events, events + max, events, false);
    return take_first(ctx, events, conn, word, single);
}

int32_t
sm_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    return poll_class(ctx, events, max, false, false);
}

int32_t
sm_poll_single(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    return poll_class(ctx, events, max, true, false);
}

int32_t
sm_poll_demoting(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    return poll_class(ctx, events, max, false, true);
}
