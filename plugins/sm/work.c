/* SPDX-License-Identifier: BSD-3-Clause */
/* Consuming what connections report: they begin, and end. */
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "address.h"
#include "assist.h"
#include "assist_owner.h"
#include "context.h"
#include "deliver.h"
#include "emulated_rma.h"
#include "establish.h"
#include "mapping.h"
#include "match.h"
#include "socket.h"
#include "work.h"

/* Detaches a connection from its addresses: no sender finds it any more. Another
 * connection to the same peer takes its place. Returns its queued sends. */
static struct tp_list
detach(na_plugin_class *cls, struct sm_conn *conn)
{
    na_plugin_addr *ends[2] = {conn->called, conn->peer};

    tp_lock_take(&conn->lock);
    for (int i = 0; i < 2; i++)
        if (ends[i] != NULL &&
            atomic_load_explicit(&ends[i]->conn, memory_order_relaxed) == conn)
            atomic_store_explicit(&ends[i]->conn, NULL, memory_order_relaxed);
    struct tp_list queue = conn->queue;
    conn->queue = (struct tp_list){NULL, NULL};
    for (struct tp_link *link = queue.head; link != NULL; link = link->next)
        sm_op_set(sm_op_of(link), SM_OP_READY);
    conn->state = SM_CONN_FREE;
    tp_count(&cls->counters.sent, conn->sent);
    tp_count(&cls->counters.sent_bytes, sm_ring_produced(&conn->tx));
    sm_assist_lose(cls, conn);
    sm_ring_close_tx(&conn->tx);
    tp_lock_drop(&conn->lock);

    for (struct sm_conn *other = cls->conns; other != NULL;
         other = other->next) {
        if (conn->peer == NULL || other->peer != conn->peer ||
            other->state != SM_CONN_UP || other->down != NA_PLUGIN_OK)
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

    sm_conn_collect_stalled(cls);
    for (struct sm_conn **link = &cls->stalled; *link != NULL;
         link = &(*link)->stall_next) {
        if (*link == conn) {
            *link = conn->stall_next;
            sm_pending_drop(cls);
            break;
        }
    }
}

/* Closes what copies to and from the peer need, and then the socket, so that the
 * peer sees it hang up when nothing is copied any more; not while a copy is under
 * way. Returns whether it did. [lock] */
static bool
close_process(struct sm_conn *conn)
{
    if (conn->users != 0)
        return false;
    if (conn->process.pidfd >= 0)
        close(conn->process.pidfd);
    if (conn->memory_fd >= 0)
        close(conn->memory_fd);
    sm_socket_close(conn->closing_fd);
    conn->process.pidfd = conn->memory_fd = conn->closing_fd = -1;
    conn->memory = SM_MEMORY_REFUSED;
    return true;
}

/* A forked child may hold the same descriptors: the epoll set would go on
 * seeing them. */
static void
close_descriptors(na_plugin_class *cls, struct sm_conn *conn)
{
    if (conn->fd >= 0)
        epoll_ctl(cls->epoll, EPOLL_CTL_DEL, conn->fd, NULL);
    if (conn->watched)
        epoll_ctl(cls->epoll, EPOLL_CTL_DEL, conn->process.pidfd, NULL);
    conn->watched = false;

    tp_lock_take(&conn->lock);
    conn->closing_fd = conn->fd;
    conn->fd = -1;
    sm_registry_unmap(conn->registry);
    conn->registry = NULL;
    close_process(conn);
    tp_lock_drop(&conn->lock);
}

/* Ends a connection: what is pending to or from its peer ends, its memory and
 * descriptors are freed. */
static void
end(na_plugin_class *cls, struct sm_conn *conn)
{
    if (conn->hung_up && conn->state == SM_CONN_UP)
        sm_deliver_all(cls, conn);

    int32_t status = conn->down;
    if (conn->state == SM_CONN_RETRY)
        cls->retries--;
    if (conn->state == SM_CONN_CALLED)
        cls->called--;
    if (conn->state == SM_CONN_UP)
        tp_count(&cls->counters.losses, 1);

    sm_conn_unpoll(cls, conn);
    struct tp_list queue = detach(cls, conn);
    sm_emulated_end(cls, conn, status);
    sm_assist_drop(cls, conn);
    take_out(cls, conn);
    close_descriptors(cls, conn);
    sm_ring_close_rx(&conn->rx);

    sm_ctx_finish_all(&queue, status);
    if (conn->peer != NULL)
        sm_match_end_peer(cls, conn->peer, status, false);
    if (conn->called != NULL && conn->called != conn->peer)
        sm_match_end_peer(cls, conn->called, status, false);

    tp_lock_take(&conn->lock);
    na_plugin_addr *called = conn->called;
    na_plugin_addr *peer = conn->peer;
    conn->peer = conn->called = NULL;
    tp_lock_drop(&conn->lock);
    if (called != NULL) {
        sm_addr_alias(cls, called, called);
        sm_addr_free(cls, called);
    }
    if (peer != NULL)
        sm_addr_free(cls, peer);

    conn->next = cls->ended;
    cls->ended = conn;
}

void
sm_work_on(na_plugin_class *cls)
{
    struct tp_link *link;

    while ((link = tp_list_pop(&cls->reports)) != NULL) {
        struct sm_conn *conn = TP_OBJECT(link, struct sm_conn, report);
        if (conn->up)
            sm_conn_begin(cls, conn);
        if (conn->down != NA_PLUGIN_OK)
            end(cls, conn);
    }
}

void
sm_work_recycle(na_plugin_class *cls)
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
sm_work_fini(na_plugin_class *cls)
{
    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next)
        sm_conn_down(cls, conn, NA_PLUGIN_E_HOSTUNREACH);
    sm_work(cls);
    sm_work_recycle(cls);
    while (cls->spare != NULL) {
        struct sm_conn *conn = cls->spare;
        cls->spare = conn->next;
        free(conn);
    }
}
