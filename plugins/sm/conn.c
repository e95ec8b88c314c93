/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of a class that connections are in, what they report, and waking a
 * peer. */
#include "conn.h"
#include "address.h"
#include "socket.h"

const char *
sm_conn_name(const struct sm_conn *conn)
{
    const na_plugin_addr *addr = conn->peer != NULL ? conn->peer : conn->called;

    return addr != NULL ? addr->name : "a caller";
}

static void
report(na_plugin_class *cls, struct sm_conn *conn)
{
    if (!conn->up && conn->down == NA_PLUGIN_OK)
        tp_list_append(&cls->reports, &conn->report);
}

void
sm_conn_up(na_plugin_class *cls, struct sm_conn *conn)
{
    report(cls, conn);
    conn->up = true;
}

void
sm_conn_down(na_plugin_class *cls, struct sm_conn *conn, int32_t status)
{
    if (conn->down != NA_PLUGIN_OK)
        return;
    report(cls, conn);
    conn->down = status;
}

void
sm_conn_lost(na_plugin_class *cls, struct sm_conn *conn)
{
    if (conn->down != NA_PLUGIN_OK)
        return;
    TP_LOG(cls->host, DEBUG, "%s (process %d): hung up or ended",
        sm_conn_name(conn), (int) conn->process.pid);
    conn->hung_up = true;
    sm_conn_down(cls, conn, NA_PLUGIN_E_HOSTUNREACH);
}

void
sm_conn_break(na_plugin_class *cls, struct sm_conn *conn, const char *wrong)
{
    if (conn->down == NA_PLUGIN_E_PROTOCOL_ERROR)
        return;
    TP_LOG_THINNED(cls->host, WARNING, tp_count(&cls->counters.broken, 1),
        "%s (process %d): connection ended: %s", sm_conn_name(conn),
        (int) conn->process.pid, wrong);
    sm_conn_down(cls, conn, NA_PLUGIN_E_PROTOCOL_ERROR);
    conn->down = NA_PLUGIN_E_PROTOCOL_ERROR; /* also of one that was lost */
}

void
sm_conn_wake_peer(na_plugin_class *cls, struct sm_conn *conn)
{
    tp_count_shared(&cls->counters.wakeups, 1);
    if (conn->fd >= 0)
        sm_socket_wake(conn->fd);
}

/* Inserts a connection at the end of a poll list: before the one that is next. */
static void
insert(na_plugin_class *cls, struct sm_conn **list, uint32_t *count,
    struct sm_conn *conn)
{
    struct sm_conn *next = *list;

    if (next == NULL) {
        conn->poll_next = conn->poll_prev = *list = conn;
    } else {
        conn->poll_next = next;
        conn->poll_prev = next->poll_prev;
        conn->poll_prev->poll_next = next->poll_prev = conn;
    }
    (*count)++;
    cls->polled++;
}

static void
take_out(na_plugin_class *cls, struct sm_conn **list, uint32_t *count,
    struct sm_conn *conn)
{
    if (*list == conn)
        *list = conn->poll_next != conn ? conn->poll_next : NULL;
    conn->poll_prev->poll_next = conn->poll_next;
    conn->poll_next->poll_prev = conn->poll_prev;
    (*count)--;
    cls->polled--;
}

void
sm_conn_poll(na_plugin_class *cls, struct sm_conn *conn)
{
    conn->polled = conn->active = true;
    conn->rx.misses = 0;
    insert(cls, &cls->active, &cls->active_count, conn);
}

void
sm_conn_unpoll(na_plugin_class *cls, struct sm_conn *conn)
{
    if (conn->polled && conn->active)
        take_out(cls, &cls->active, &cls->active_count, conn);
    else if (conn->polled)
        take_out(cls, &cls->idle, &cls->idle_count, conn);
    conn->polled = false;
}

void
sm_conn_activate(na_plugin_class *cls, struct sm_conn *conn)
{
    conn->rx.misses = 0;
    if (!conn->polled || conn->active)
        return;
    sm_conn_unpoll(cls, conn);
    sm_conn_poll(cls, conn);
}

void
sm_conn_idle(na_plugin_class *cls, struct sm_conn *conn)
{
    if (!conn->polled || !conn->active)
        return;
    take_out(cls, &cls->active, &cls->active_count, conn);
    conn->active = false;
    insert(cls, &cls->idle, &cls->idle_count, conn);
}

void
sm_conn_stall(na_plugin_class *cls, struct sm_conn *conn)
{
    if (conn->stalled)
        return;
    conn->stalled = true;
    sm_pending_add(cls);
    conn->stall_next =
        atomic_load_explicit(&cls->stalled_new, memory_order_relaxed);
    /* release: pairs with the acquire in sm_conn_collect_stalled */
    while (!atomic_compare_exchange_weak_explicit(&cls->stalled_new,
        &conn->stall_next, conn, memory_order_release, memory_order_relaxed))
        ;
}

void
sm_conn_collect_stalled(na_plugin_class *cls)
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
