/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a connection, from the hello of its peer to its end. */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "address.h"
#include "conn.h"
#include "help.h"
#include "mapping.h"
#include "match.h"
#include "ready.h"
#include "sleepers.h"

const char *
sm_conn_name(const struct sm_conn *conn)
{
    const na_plugin_addr *addr = conn->peer != NULL ? conn->peer : conn->called;
    return addr != NULL ? addr->name : "a stranger";
}

static struct sm_conn *
obtain(na_plugin_class *cls)
{
    struct sm_conn *conn = cls->spare;
    if (conn != NULL) {
        cls->spare = conn->next;
        return conn;
    }

    conn = aligned_alloc(64, (sizeof(*conn) + 63) & ~(size_t) 63);
    if (conn == NULL)
        return NULL;
    *conn = (struct sm_conn){.fd = -1, .pidfd = -1, .memory_fd = -1};
    tp_lock_init(&conn->lock, cls->single);
    return conn;
}

struct sm_conn *
sm_conn_make(na_plugin_class *cls)
{
    struct sm_conn *conn = obtain(cls);
    if (conn == NULL)
        return NULL;

    /* a put or get that began on the connection this memory was before
     * compares the number under the lock */
    tp_lock_take(&conn->lock);
    conn->serial = ++cls->serial;
    conn->users = 0;
    conn->stalled = false;
    conn->stall_next = NULL;
    conn->fd = conn->pidfd = conn->memory_fd = -1;
    conn->memory = SM_MEMORY_UNKNOWN;
    conn->pid = 0;
    conn->uid = cls->uid;
    conn->owner = 0;
    conn->state = SM_CONN_FREE;
    atomic_store_explicit(
        &conn->denied, cls->copies_denied, memory_order_relaxed);
    conn->helps = conn->watched = conn->same_user = false;
    tp_lock_drop(&conn->lock);

    conn->sent = 0;
    conn->misses = 0;
    conn->blocked = NULL;
    conn->listed = conn->wakeup_due = false;
    conn->retry_ns = conn->deadline_ns = 0;
    conn->prev = NULL;
    conn->next = cls->conns;
    if (cls->conns != NULL)
        cls->conns->prev = conn;
    cls->conns = conn;
    return conn;
}

void
sm_conn_move(struct sm_conn *conn, enum sm_conn_state state)
{
    tp_lock_take(&conn->lock);
    conn->state = (uint8_t) state;
    tp_lock_drop(&conn->lock);
}

int32_t
sm_conn_attach(na_plugin_class *cls, struct sm_conn *conn, int fd,
    const struct sm_process *process)
{
    tp_lock_take(&conn->lock);
    conn->fd = fd;
    conn->pid = process->pid;
    conn->uid = process->uid;
    conn->pidfd = process->pidfd;
    conn->same_user = sm_access_same_user(cls, process);
    if (!conn->same_user)
        atomic_store_explicit(&conn->denied, true, memory_order_relaxed);
    tp_lock_drop(&conn->lock);

    struct epoll_event event = {
        .events = EPOLLIN | EPOLLRDHUP, .data.u64 = sm_conn_tag(conn, false)};
    if (epoll_ctl(cls->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        return NA_PLUGIN_E_NOMEM;

    event = (struct epoll_event){
        .events = EPOLLIN, .data.u64 = sm_conn_tag(conn, true)};
    if (conn->pidfd >= 0 && !process->dead) {
        if (epoll_ctl(cls->epoll, EPOLL_CTL_ADD, conn->pidfd, &event) != 0)
            return NA_PLUGIN_E_NOMEM;
        conn->watched = true;
    }
    return NA_PLUGIN_OK;
}

/* Puts a connection at the end of a circle: before the one that is next. */
static void
circle_add(struct sm_conn **circle, uint32_t *count, struct sm_conn *conn)
{
    struct sm_conn *next = *circle;
    if (next == NULL) {
        conn->around = conn->before = conn;
        *circle = conn;
    } else {
        conn->around = next;
        conn->before = next->before;
        conn->before->around = conn;
        next->before = conn;
    }
    (*count)++;
}

static void
circle_remove(struct sm_conn **circle, uint32_t *count, struct sm_conn *conn)
{
    if (*circle == conn)
        *circle = conn->around != conn ? conn->around : NULL;
    conn->before->around = conn->around;
    conn->around->before = conn->before;
    (*count)--;
}

/* Begins to look at a connection's ring, or ends that. */
static void
list(na_plugin_class *cls, struct sm_conn *conn)
{
    conn->listed = conn->hot = true;
    conn->misses = 0;
    circle_add(&cls->hot, &cls->hot_count, conn);
}

static void
unlist(na_plugin_class *cls, struct sm_conn *conn)
{
    if (!conn->listed)
        return;
    if (conn->hot)
        circle_remove(&cls->hot, &cls->hot_count, conn);
    else
        circle_remove(&cls->cold, &cls->cold_count, conn);
    conn->listed = false;
}

void
sm_conn_heat(na_plugin_class *cls, struct sm_conn *conn)
{
    conn->misses = 0;
    if (!conn->listed || conn->hot)
        return;
    circle_remove(&cls->cold, &cls->cold_count, conn);
    conn->hot = true;
    circle_add(&cls->hot, &cls->hot_count, conn);
}

void
sm_conn_cool(na_plugin_class *cls, struct sm_conn *conn)
{
    if (!conn->listed || !conn->hot)
        return;
    circle_remove(&cls->hot, &cls->hot_count, conn);
    conn->hot = false;
    circle_add(&cls->cold, &cls->cold_count, conn);
}

/* Receives that were posted for the looked-up name wait for the unique one. */
static void
rename_receives(
    na_plugin_class *cls, const na_plugin_addr *from, const na_plugin_addr *to)
{
    for (uint32_t i = 0; i < SM_CONTEXTS; i++) {
        na_plugin_ctx *ctx = sm_class_context(cls, i);
        if (ctx == NULL)
            continue;
        struct sm_list list = {NULL, NULL};
        struct sm_link *link;
        tp_lock_take(&ctx->lock);
        if (ctx->alive)
            sm_match_rename(ctx, from, to, &list);
        while ((link = sm_list_pop(&list)) != NULL)
            sm_ctx_ready(ctx, (struct sm_op *) link);
        tp_lock_drop(&ctx->lock);
    }
}

const char *
sm_conn_begin(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_hello *hello, const struct sm_hello_fds *fds)
{
    const char *wrong = fds->ring < 0 ? "it has sent no ring"
                                      : sm_ring_open(&conn->rx, hello->capacity,
                                            hello->longest, fds->ring);
    /* one of another user would not be looked at */
    if (wrong == NULL && fds->registry >= 0 && conn->same_user)
        wrong = sm_registry_map(fds->registry, &conn->registry);
    if (wrong != NULL)
        return wrong;

    na_plugin_addr *peer;
    if (sm_addr_get(cls, hello->name, hello->name_length, &peer) !=
        NA_PLUGIN_OK)
        return "no memory for its name";
    if (peer == cls->self) {
        sm_addr_release(cls, peer);
        return "it has the name of this class";
    }
    list(cls, conn);

    bool ordered =
        !cls->membarrier || (hello->flags & SM_HELLO_MEMBARRIER) == 0;
    tp_lock_take(&conn->lock);
    conn->owner = hello->owner;
    conn->helps = (hello->flags & SM_HELLO_HELPS) != 0;
    conn->tx.ordered = ordered;
    conn->peer = peer;
    conn->state = SM_CONN_UP;
    if (atomic_load_explicit(&peer->conn, memory_order_relaxed) == NULL)
        /* release: pairs with the acquire of a sender */
        atomic_store_explicit(&peer->conn, conn, memory_order_release);
    tp_lock_drop(&conn->lock);

    if (conn->called != NULL && conn->called != peer) {
        sm_addr_unite(cls, conn->called, peer);
        rename_receives(cls, conn->called, peer);
    }
    sm_sleepers_tell(cls, conn);
    sm_count(&cls->counters.connects, 1);
    TP_LOG(cls->host, DEBUG, "%s: connected, process %d, %s", conn->peer->name,
        (int) conn->pid, ordered ? "fences" : "membarrier");
    return NULL;
}

/* Ends the receives that wait for a peer. */
static void
fail_receives(na_plugin_class *cls, const na_plugin_addr *peer, int32_t status)
{
    for (uint32_t i = 0; i < SM_CONTEXTS; i++) {
        na_plugin_ctx *ctx = sm_class_context(cls, i);
        if (ctx == NULL)
            continue;
        struct sm_list list = {NULL, NULL};
        tp_lock_take(&ctx->lock);
        if (ctx->alive)
            sm_match_take_peer(ctx, peer, &list);
        tp_lock_drop(&ctx->lock);
        sm_ctx_finish_all(&list, status);
    }
}

/* Takes connection and addresses apart: no sender finds it any more. Another
 * connection to the same peer takes its place. */
static struct sm_list
detach(na_plugin_class *cls, struct sm_conn *conn)
{
    na_plugin_addr *ends[2] = {conn->called, conn->peer};

    tp_lock_take(&conn->lock);
    for (int i = 0; i < 2; i++)
        if (ends[i] != NULL &&
            atomic_load_explicit(&ends[i]->conn, memory_order_relaxed) == conn)
            atomic_store_explicit(&ends[i]->conn, NULL, memory_order_relaxed);
    struct sm_list queue = conn->queue;
    conn->queue = (struct sm_list){NULL, NULL};
    for (struct sm_link *link = queue.head; link != NULL; link = link->next)
        sm_op_set((struct sm_op *) link, SM_OP_READY);
    conn->state = SM_CONN_FREE;
    sm_count(&cls->counters.sent, conn->sent);
    sm_count(&cls->counters.sent_bytes, conn->tx.produced);
    sm_ring_close_tx(&conn->tx);
    tp_lock_drop(&conn->lock);

    for (struct sm_conn *other = cls->conns; other != NULL;
         other = other->next) {
        if (conn->peer == NULL || other == conn || other->peer != conn->peer ||
            other->state != SM_CONN_UP)
            continue;
        tp_lock_take(&other->lock);
        if (atomic_load_explicit(&conn->peer->conn, memory_order_relaxed) ==
            NULL)
            /* release: pairs with the acquire of a sender */
            atomic_store_explicit(
                &conn->peer->conn, other, memory_order_release);
        tp_lock_drop(&other->lock);
    }
    return queue;
}

static void
take_out(na_plugin_class *cls, struct sm_conn *conn)
{
    if (conn->prev != NULL)
        conn->prev->next = conn->next;
    else
        cls->conns = conn->next;
    if (conn->next != NULL)
        conn->next->prev = conn->prev;

    sm_conn_absorb(cls);
    for (struct sm_conn **link = &cls->stalled; *link != NULL;
         link = &(*link)->stall_next) {
        if (*link == conn) {
            *link = conn->stall_next;
            sm_chore_drop(cls);
            break;
        }
    }
}

/* Closes what copies to and from the peer need, unless one is under way; whether it
 * has. [lock] */
static bool
close_process(struct sm_conn *conn)
{
    if (conn->users != 0)
        return false;
    if (conn->pidfd >= 0)
        close(conn->pidfd);
    if (conn->memory_fd >= 0)
        close(conn->memory_fd);
    conn->pidfd = conn->memory_fd = -1;
    conn->memory = SM_MEMORY_REFUSED;
    return true;
}

/* A forked child may hold the same descriptors: the epoll set would go on
 * seeing them. */
static void
close_descriptors(na_plugin_class *cls, struct sm_conn *conn)
{
    if (conn->fd >= 0) {
        epoll_ctl(cls->epoll, EPOLL_CTL_DEL, conn->fd, NULL);
        sm_socket_close(conn->fd);
    }
    if (conn->watched)
        epoll_ctl(cls->epoll, EPOLL_CTL_DEL, conn->pidfd, NULL);
    conn->watched = false;

    tp_lock_take(&conn->lock);
    conn->fd = -1;
    sm_registry_unmap(conn->registry);
    conn->registry = NULL;
    close_process(conn);
    tp_lock_drop(&conn->lock);
}

void
sm_conn_end(na_plugin_class *cls, struct sm_conn *conn, int32_t status)
{
    if (conn->state == SM_CONN_RETRY)
        cls->retries--;
    if (conn->state == SM_CONN_CALLED)
        cls->called--;
    if (conn->state == SM_CONN_UP)
        sm_count(&cls->counters.losses, 1);

    unlist(cls, conn);
    struct sm_list queue = detach(cls, conn);
    sm_help_end(cls, conn, status);
    take_out(cls, conn);
    close_descriptors(cls, conn);
    sm_ring_close_rx(&conn->rx);

    sm_ctx_finish_all(&queue, status);
    if (conn->peer != NULL)
        fail_receives(cls, conn->peer, status);
    if (conn->called != NULL && conn->called != conn->peer)
        fail_receives(cls, conn->called, status);

    tp_lock_take(&conn->lock);
    na_plugin_addr *called = conn->called;
    na_plugin_addr *peer = conn->peer;
    conn->peer = conn->called = NULL;
    tp_lock_drop(&conn->lock);
    if (called != NULL) {
        sm_addr_unite(cls, called, called);
        sm_addr_release(cls, called);
    }
    if (peer != NULL)
        sm_addr_release(cls, peer);

    conn->next = cls->ended;
    cls->ended = conn;
}

void
sm_conn_break(na_plugin_class *cls, struct sm_conn *conn, const char *wrong)
{
    TP_LOG(cls->host, WARNING, "connection with %s (process %d) ended: %s",
        sm_conn_name(conn), (int) conn->pid, wrong);
    sm_count(&cls->counters.broken, 1);
    sm_conn_end(cls, conn, NA_PLUGIN_E_PROTOCOL_ERROR);
}

void
sm_conn_recycle(na_plugin_class *cls)
{
    struct sm_conn **link = &cls->ended;

    while (*link != NULL) {
        struct sm_conn *conn = *link;
        tp_lock_take(&conn->lock);
        bool closed = close_process(conn);
        tp_lock_drop(&conn->lock);
        if (!closed) {
            link = &conn->next;
            continue;
        }
        sm_mapping_forget(conn);
        *link = conn->next;
        conn->next = cls->spare;
        cls->spare = conn;
    }
}

void
sm_conn_fini(na_plugin_class *cls)
{
    while (cls->conns != NULL)
        sm_conn_end(cls, cls->conns, NA_PLUGIN_E_HOSTUNREACH);
    sm_conn_recycle(cls);
    while (cls->spare != NULL) {
        struct sm_conn *conn = cls->spare;
        cls->spare = conn->next;
        free(conn);
    }
}

void
sm_conn_stall(na_plugin_class *cls, struct sm_conn *conn)
{
    if (conn->stalled)
        return;
    conn->stalled = true;
    sm_chore_add(cls);
    conn->stall_next =
        atomic_load_explicit(&cls->stalled_new, memory_order_relaxed);
    /* release: pairs with the acquire in sm_conn_absorb */
    while (!atomic_compare_exchange_weak_explicit(&cls->stalled_new,
        &conn->stall_next, conn, memory_order_release, memory_order_relaxed))
        ;
}

void
sm_conn_absorb(na_plugin_class *cls)
{
    if (atomic_load_explicit(&cls->stalled_new, memory_order_relaxed) == NULL)
        return;
    /* acquire: pairs with the release in sm_conn_stall */
    struct sm_conn *conn =
        atomic_exchange_explicit(&cls->stalled_new, NULL, memory_order_acquire);
    while (conn != NULL) {
        struct sm_conn *next = conn->stall_next;
        conn->stall_next = cls->stalled;
        cls->stalled = conn;
        conn = next;
    }
}
