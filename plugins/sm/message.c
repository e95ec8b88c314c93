/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending and receiving: straight from the sender's buffer into the ring; what
 * finds no room waits in the connection's queue, in order. */
#include "message.h"
#include "address.h"
#include "conn.h"
#include "connect.h"
#include "match.h"
#include "self.h"
#include "thread.h"

#define CONNECT_TRIES 3 /* a peer that is lost again and again meanwhile */

/* Puts a send at the end of a connection's queue. [conn->lock] */
static void
enqueue(na_plugin_class *cls, struct sm_conn *conn, struct sm_op *op,
    const void *buffer, uint64_t word, uint32_t tag)
{
    op->kind = SM_OP_SEND;
    op->recv.buffer = (void *) (uintptr_t) buffer;
    op->recv.length = sm_ring_length(word);
    op->to.conn = conn;
    op->send.word = word;
    op->send.tag = tag;
    op->send.deadline_ns = cls->send_timeout_ns == 0
                               ? UINT64_MAX
                               : tp_now() + cls->send_timeout_ns;
    sm_op_set(op, SM_OP_POSTED); /* last: a cancel looks at what it is then */
    tp_list_append(&conn->queue, &op->recv.keyed.link);
    sm_ring_hold(&conn->tx);
    sm_conn_stall(cls, conn);
}

/* The send that found no room, or others waiting before it. Drops the lock. */
static __attribute__((noinline)) int32_t
send_later(na_plugin_ctx *ctx, struct sm_op *op, const void *buffer,
    struct sm_conn *conn, uint64_t word, uint32_t tag)
{
    na_plugin_class *cls = ctx->cls;

    tp_count_shared(&cls->counters.stalls, 1);
    if (cls->no_retry && !conn->tx.broken) {
        tp_lock_drop(&conn->lock);
        return NA_PLUGIN_E_AGAIN;
    }
    op->ctx = ctx;
    enqueue(cls, conn, op, buffer, word, tag);
    tp_lock_drop(&conn->lock);
    /* op may have ended by now; a sleeping poller has to know of the queue */
    tp_lock_take(&ctx->lock);
    sm_ctx_wake(ctx);
    tp_lock_drop(&ctx->lock);
    return NA_PLUGIN_PENDING;
}

/* Sends over a locked connection that is not known to have room. Drops the lock. */
static __attribute__((noinline)) int32_t
send_behind(na_plugin_ctx *ctx, struct sm_op *op, const void *buffer,
    struct sm_conn *conn, uint64_t word, uint32_t tag)
{
    if (conn->queue.head != NULL)
        return send_later(ctx, op, buffer, conn, word, tag);
    sm_ring_release(&conn->tx);
    if (!sm_ring_put(&conn->tx, word, tag, buffer, sm_ring_length(word)))
        return send_later(ctx, op, buffer, conn, word, tag);
    conn->sent++;
    if (sm_ring_sleeps(&conn->tx, sm_ring_target(word)))
        sm_conn_wake_peer(ctx->cls, conn);
    tp_lock_drop(&conn->lock);
    return NA_PLUGIN_DONE;
}

/* Slow path, with the arguments of the ABI's functions and the kind for their
 * flags: a send that is not short, or is refused; to oneself, or the first one to
 * a peer; or whose connection another thread is sending to. */
static __attribute__((noinline)) int32_t
send_slowly(na_plugin_ctx *ctx, void *op, const void *buffer, uint64_t length,
    void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t kind)
{
    na_plugin_class *cls = ctx->cls;
    uint32_t longest =
        kind == SM_RING_UNEXPECTED ? cls->max_unexpected : cls->max_expected;
    struct sm_conn *conn;

    if (length > longest || peer_ctx >= SM_CONTEXTS || tag > SM_TAG_MAX)
        return tp_match_refuse(
            cls->host, length, longest, peer_ctx, SM_CONTEXTS, tag);

    uint64_t word = sm_ring_word(kind, ctx->id, peer_ctx, (uint32_t) length);
    if (peer == cls->self)
        return sm_self_send(ctx, op, buffer, word, (uint32_t) tag);
    int32_t ret = sm_connect_lock(cls, peer, &conn);
    if (ret != NA_PLUGIN_OK)
        return ret;
    return send_behind(ctx, op, buffer, conn, word, (uint32_t) tag);
}

/* After a send to a context that may sleep. Drops the lock. */
static __attribute__((noinline)) int32_t
wake_target(na_plugin_class *cls, struct sm_conn *conn, uint32_t target)
{
    if (sm_ring_take_sleeper(&conn->tx, target))
        sm_conn_wake_peer(cls, conn);
    tp_lock_drop(&conn->lock);
    return NA_PLUGIN_DONE;
}

/* Whether the lines of a record are to be demoted by the next poll: this thread
 * polls the context. */
static inline bool
polls(const na_plugin_ctx *ctx)
{
    return atomic_load_explicit(&ctx->poller, memory_order_relaxed) ==
           sm_thread();
}

/* Has the lines of the record before end demoted, now or, since a locked instruction
 * waits for that, in the next poll. */
static inline __attribute__((always_inline)) void
demote(na_plugin_ctx *ctx, const unsigned char *end, const bool single)
{
    if (single)
        sm_ring_demote((uintptr_t) end);
    else if (polls(ctx))
        sm_written_add(&ctx->written, end);
}

static_assert(SM_CONTEXTS == 256 && SM_TAG_MAX == UINT32_MAX, "is_valid");

/* Whether they are numbers of a context and a tag. One comparison: for two, gcc
 * computes both results before it branches. */
static inline bool
is_valid(uint32_t peer_ctx, uint64_t tag)
{
    return (tag >> 32 | peer_ctx >> 8) == 0;
}

/* The connection to send to, locked; else NULL. It is then up to send_slowly. */
static inline __attribute__((always_inline)) struct sm_conn *
lock_connected(
    na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag, const bool single)
{
    if (__builtin_expect(!is_valid(peer_ctx, tag), 0))
        return NULL;
    /* acquire: pairs with the release where connections are made */
    struct sm_conn *conn =
        atomic_load_explicit(&peer->conn, memory_order_acquire);
    if (__builtin_expect(
            conn == NULL || !tp_lock_try_fast(&conn->lock, single), 0))
        return NULL;
    if (single ||
        __builtin_expect(
            atomic_load_explicit(&peer->conn, memory_order_relaxed) == conn, 1))
        return conn;
    tp_lock_drop(&conn->lock);
    return NULL;
}

/* Whether the record of a message is known to fit. */
static inline bool
has_room(const struct sm_conn *conn, uint64_t length)
{
    return __builtin_expect(
        sm_ring_has_room(&conn->tx, sm_ring_record((uint32_t) length)), 1);
}

/* Sends a message of more than two lines, whose lines are demoted now or in the next
 * poll. */
static __attribute__((noinline)) int32_t
send_lines(na_plugin_ctx *ctx, void *op, const void *buffer, uint64_t length,
    void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t kind)
{
    na_plugin_class *cls = ctx->cls;
    uint32_t shortest = kind == SM_RING_UNEXPECTED ? cls->short_unexpected
                                                   : cls->short_expected;
    bool single = cls->single;
    struct sm_conn *conn =
        length <= shortest ? lock_connected(peer, peer_ctx, tag, single) : NULL;
    if (conn == NULL)
        return send_slowly(
            ctx, op, buffer, length, buffer_data, peer, peer_ctx, tag, kind);
    uint64_t word = sm_ring_word(kind, ctx->id, peer_ctx, (uint32_t) length);
    if (!has_room(conn, length))
        return send_behind(ctx, op, buffer, conn, word, (uint32_t) tag);

    const unsigned char *record = conn->tx.record;
    sm_ring_append_lines(
        &conn->tx, word, (uint32_t) tag, buffer, (uint32_t) length);
    const unsigned char *end = cls->demotes ? conn->tx.record : record;
    for (; end > record; end -= (ptrdiff_t) 2 * SM_RING_LINE)
        demote(ctx, end, single);
    conn->sent++;
    if (sm_ring_watched(&conn->tx))
        return wake_target(cls, conn, peer_ctx);
    tp_lock_drop_fast(&conn->lock, single);
    return NA_PLUGIN_DONE;
}

static_assert(SM_RING_TWO_LINES <= NA_PLUGIN_MESSAGE_SIZE_MIN,
    "send_message need not compare with the longest message");

/* The common case calls nothing, and keeps few values, so that it saves few
 * registers. */
static inline __attribute__((always_inline)) int32_t
send_message(na_plugin_ctx *ctx, void *op, const void *buffer, uint64_t length,
    void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t kind, const bool single, const bool demotes)
{
    if (__builtin_expect(length > SM_RING_TWO_LINES, 0))
        return send_lines(
            ctx, op, buffer, length, buffer_data, peer, peer_ctx, tag, kind);
    struct sm_conn *conn = lock_connected(peer, peer_ctx, tag, single);
    if (__builtin_expect(conn == NULL, 0))
        return send_slowly(
            ctx, op, buffer, length, buffer_data, peer, peer_ctx, tag, kind);
    uint64_t word = sm_ring_word(kind, ctx->id, peer_ctx, (uint32_t) length);
    if (!has_room(conn, length))
        return send_behind(ctx, op, buffer, conn, word, (uint32_t) tag);
    sm_ring_append(&conn->tx, word, (uint32_t) tag, buffer, (uint32_t) length);
    if (demotes)
        demote(ctx, conn->tx.record, single);
    conn->sent++;
    if (sm_ring_watched(&conn->tx))
        return wake_target(ctx->cls, conn, sm_ring_target(word));
    tp_lock_drop_fast(&conn->lock, single);
    return NA_PLUGIN_DONE;
}

#define SEND(name, kind, single, demotes)                                      \
    int32_t name(na_plugin_ctx *ctx, void *op, const void *buffer,             \
        uint64_t length, void *buffer_data, na_plugin_addr *peer,              \
        uint32_t peer_ctx, uint64_t tag, uint32_t flags)                       \
    {                                                                          \
        return send_message(ctx, op, buffer, length, buffer_data, peer,        \
            peer_ctx, tag, kind, single, demotes);                             \
    }

#define SENDS(suffix, single, demotes)                                         \
    SEND(sm_send_unexpected##suffix, SM_RING_UNEXPECTED, single, demotes)      \
    SEND(sm_send_expected##suffix, SM_RING_EXPECTED, single, demotes)

SENDS(, false, false)
SENDS(_single, true, false)
SENDS(_demoting, false, true)
SENDS(_single_demoting, true, true)

static inline void
prepare_recv(struct sm_op *op, na_plugin_ctx *ctx, void *buffer,
    uint64_t length, uint8_t kind)
{
    op->ctx = ctx;
    op->recv.buffer = buffer;
    op->recv.length = length;
    op->kind = kind;
}

/* A receive whose message is there already, or that lets sends to oneself move
 * up, or that has to wait for the lock. */
static __attribute__((noinline)) int32_t
recv_queued(na_plugin_ctx *ctx, struct sm_op *op)
{
    tp_lock_take(&ctx->lock);
    if (sm_match_take_queued(ctx, op))
        sm_ctx_ready(ctx, op);
    else
        sm_match_post_unexpected(ctx, op);
    if (ctx->match.held.head != NULL)
        sm_self_ask(ctx);
    tp_lock_drop(&ctx->lock);
    return NA_PLUGIN_PENDING;
}

static inline __attribute__((always_inline)) int32_t
recv_unexpected(na_plugin_ctx *ctx, struct sm_op *op, void *buffer,
    uint64_t length, const bool single)
{
    prepare_recv(op, ctx, buffer, length, SM_OP_RECV_UNEXPECTED);
    if (__builtin_expect(!tp_lock_try_fast(&ctx->lock, single), 0))
        return recv_queued(ctx, op);
    if (__builtin_expect(((uintptr_t) ctx->match.queue.head |
                             (uintptr_t) ctx->match.held.head) != 0,
            0)) {
        tp_lock_drop_fast(&ctx->lock, single);
        return recv_queued(ctx, op);
    }
    sm_match_post_unexpected(ctx, op);
    tp_lock_drop_fast(&ctx->lock, single);
    return NA_PLUGIN_PENDING;
}

#define RECV(name, single)                                                     \
    int32_t name(na_plugin_ctx *ctx, void *op, void *buffer, uint64_t length,  \
        void *buffer_data, uint32_t flags)                                     \
    {                                                                          \
        return recv_unexpected(ctx, op, buffer, length, single);               \
    }

RECV(sm_recv_unexpected, false)
RECV(sm_recv_unexpected_single, true)

/* Posts a receive, or finds its message there already; false if there is no
 * connection whose end would end the receive. */
static bool
post_expected(na_plugin_ctx *ctx, struct sm_op *op, const na_plugin_addr *peer)
{
    tp_lock_take(&ctx->lock);
    op->recv.keyed.owner = sm_addr_unique(peer);
    bool taken = ctx->match.early.count != 0 && sm_match_take_early(ctx, op);
    if (taken)
        sm_ctx_ready(ctx, op);
    /* A connection that ends takes itself out of the address first, then looks
     * through the receives of each context under this lock. */
    bool connected =
        atomic_load_explicit(&peer->conn, memory_order_relaxed) != NULL ||
        peer == ctx->cls->self;
    if (connected && !taken)
        sm_match_post_expected(ctx, op);
    tp_lock_drop(&ctx->lock);
    return connected || taken;
}

/* The general case; also the first use of a peer, or one that has been lost. */
static __attribute__((noinline)) int32_t
recv_slowly(na_plugin_ctx *ctx, struct sm_op *op, na_plugin_addr *peer)
{
    for (int i = 0; i <= CONNECT_TRIES; i++) {
        if (post_expected(ctx, op, peer))
            return NA_PLUGIN_PENDING;
        if (i == CONNECT_TRIES)
            break;
        int32_t ret = sm_connect_to(ctx->cls, peer);
        if (ret != NA_PLUGIN_OK)
            return ret;
    }
    return NA_PLUGIN_E_HOSTUNREACH;
}

/* As send_message. */
static inline __attribute__((always_inline)) int32_t
recv_expected(na_plugin_ctx *ctx, struct sm_op *op, void *buffer,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    const bool single)
{
    if (__builtin_expect(!is_valid(peer_ctx, tag), 0))
        return tp_match_refuse(
            ctx->cls->host, 0, 0, peer_ctx, SM_CONTEXTS, tag);
    prepare_recv(op, ctx, buffer, length, SM_OP_RECV_EXPECTED);
    op->recv.keyed.key = tp_match_key(peer_ctx, (uint32_t) tag);
    if (__builtin_expect(!tp_lock_try_fast(&ctx->lock, single), 0))
        return recv_slowly(ctx, op, peer);
    bool alone = tp_match_none_posted(&ctx->match);
    /* see post_expected */
    if (__builtin_expect(
            ctx->match.early.count != 0 ||
                (!alone && tp_table_full(&ctx->match.posted)) ||
                atomic_load_explicit(&peer->conn, memory_order_relaxed) == NULL,
            0)) {
        tp_lock_drop_fast(&ctx->lock, single);
        return recv_slowly(ctx, op, peer);
    }
    sm_op_set(op, SM_OP_POSTED);
    op->recv.keyed.owner = sm_addr_unique(peer);
    if (alone)
        ctx->match.first = &op->recv.keyed;
    else
        tp_table_add(&ctx->match.posted, &op->recv.keyed);
    tp_lock_drop_fast(&ctx->lock, single);
    return NA_PLUGIN_PENDING;
}

#define RECV_EXPECTED(name, single)                                            \
    int32_t name(na_plugin_ctx *ctx, void *op, void *buffer, uint64_t length,  \
        void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,            \
        uint64_t tag, uint32_t flags)                                          \
    {                                                                          \
        return recv_expected(                                                  \
            ctx, op, buffer, length, peer, peer_ctx, tag, single);             \
    }

RECV_EXPECTED(sm_recv_expected, false)
RECV_EXPECTED(sm_recv_expected_single, true)
