/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a connection, up to the hello of its peer. */
#include <sys/epoll.h>

#include "access.h"
#include "address.h"
#include "establish.h"
#include "match.h"
#include "sleepers.h"

static struct sm_conn *
obtain(na_plugin_class *cls)
{
    struct sm_conn *conn = cls->spare;
    if (conn != NULL) {
        cls->spare = conn->next;
        return conn;
    }

    conn = tp_alloc_lines(sizeof(*conn));
    if (conn == NULL)
        return NULL;
    tp_lock_init(&conn->lock, cls->single);
    return conn;
}

struct sm_conn *
sm_conn_make(na_plugin_class *cls)
{
    struct sm_conn *conn = obtain(cls);
    if (conn == NULL)
        return NULL;

    /* a put or get of the connection that was here before compares the serial
     * number under the lock */
    tp_lock_take(&conn->lock);
    conn->serial = ++cls->serial;
    conn->users = 0;
    conn->stalled = false;
    conn->stall_next = NULL;
    conn->fd = conn->closing_fd = conn->memory_fd = -1;
    conn->memory = SM_MEMORY_UNKNOWN;
    atomic_store_explicit(&conn->alive_ns, 0, memory_order_relaxed);
    conn->process = (struct sm_process){.uid = cls->uid, .pidfd = -1};
    conn->owner = 0;
    conn->state = SM_CONN_FREE;
    atomic_store_explicit(
        &conn->denied, cls->copy_denied, memory_order_relaxed);
    atomic_store_explicit(&conn->failed_copy, false, memory_order_relaxed);
    conn->emulates = conn->watched = conn->same_user = false;
    conn->assists = conn->assists_puts = conn->unassisted = false;
    conn->range_vain = conn->range_passed[0] = conn->range_passed[1] = 0;
    conn->range = NULL;
    tp_lock_drop(&conn->lock);

    conn->sent = 0;
    conn->task = (struct sm_range_task){.present = false};
    conn->rx.misses = 0;
    conn->blocked = NULL;
    conn->polled = conn->wakeup_due = conn->up = conn->hung_up = false;
    conn->down = NA_PLUGIN_OK;
    conn->retry_ns = conn->deadline_ns = 0;
    conn->prev = NULL;
    conn->next = cls->conns;
    if (cls->conns != NULL)
        cls->conns->prev = conn;
    cls->conns = conn;
    return conn;
}

void
sm_conn_set_state(struct sm_conn *conn, enum sm_conn_state state)
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
    conn->process = *process;
    conn->same_user = sm_access_same_user(cls, process);
    if (!conn->same_user)
        atomic_store_explicit(&conn->denied, true, memory_order_relaxed);
    tp_lock_drop(&conn->lock);

    struct epoll_event event = {
        .events = EPOLLIN | EPOLLRDHUP, .data.u64 = sm_conn_tag(conn, false)};
    if (epoll_ctl(cls->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        return NA_PLUGIN_E_NOMEM;
    if (process->pidfd < 0 || process->dead)
        return NA_PLUGIN_OK;
    event.events = EPOLLIN;
    event.data.u64 = sm_conn_tag(conn, true);
    conn->watched =
        epoll_ctl(cls->epoll, EPOLL_CTL_ADD, process->pidfd, &event) == 0;
    return conn->watched ? NA_PLUGIN_OK : NA_PLUGIN_E_NOMEM;
}

int
sm_conn_make_ring(na_plugin_class *cls, struct sm_conn *conn, int *ring_p)
{
    struct sm_ring_tx tx;
    int error = sm_ring_create(&tx, cls->ring_capacity, ring_p);

    if (error != 0)
        return error;
    tp_lock_take(&conn->lock);
    conn->tx = tx;
    tp_lock_drop(&conn->lock);
    return 0;
}

const char *
sm_conn_take_hello(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_hello *hello, const struct sm_hello_fds *fds)
{
    const char *wrong = fds->ring < 0 ? "it has sent no ring"
                                      : sm_ring_open(&conn->rx, hello->capacity,
                                            hello->longest, fds->ring);
    /* another user's would not be read */
    if (wrong == NULL && fds->registry >= 0 && conn->same_user)
        wrong = sm_registry_map(fds->registry, &conn->registry);
    if (wrong != NULL)
        return wrong;

    na_plugin_addr *peer;
    if (sm_addr_get(cls, hello->name, hello->name_length, &peer) !=
        NA_PLUGIN_OK)
        return "no memory for its name";
    if (peer == cls->self) {
        sm_addr_free(cls, peer);
        return "it has the name of this class";
    }

    tp_lock_take(&conn->lock);
    conn->owner = hello->owner;
    conn->emulates = (hello->flags & SM_HELLO_EMULATES) != 0;
    conn->assists = cls->assists && (hello->flags & SM_HELLO_ASSISTS) != 0;
    conn->assists_puts =
        cls->assists && (hello->flags & SM_HELLO_ASSISTS_PUTS) != 0;
    conn->tx.ordered =
        !cls->membarrier || (hello->flags & SM_HELLO_MEMBARRIER) == 0;
    conn->peer = peer;
    peer->known = true;
    conn->state = SM_CONN_UP;
    tp_lock_drop(&conn->lock);
    sm_conn_up(cls, conn);
    return NULL;
}

void
sm_conn_begin(na_plugin_class *cls, struct sm_conn *conn)
{
    na_plugin_addr *peer = conn->peer;
    struct sm_conn *former =
        atomic_load_explicit(&peer->conn, memory_order_relaxed);

    conn->up = false;
    sm_conn_poll(cls, conn);
    if (former == NULL) {
        tp_lock_take(&conn->lock);
        /* release: pairs with the acquire of a sender */
        atomic_store_explicit(&peer->conn, conn, memory_order_release);
        tp_lock_drop(&conn->lock);
    } else if (former != conn && former->fd >= 0 &&
               sm_socket_ended(former->fd)) {
        /* answers would go there until its end is noticed */
        sm_conn_lost(cls, former);
    }
    if (conn->called != NULL && conn->called != peer) {
        sm_addr_alias(cls, conn->called, peer);
        sm_match_rename(cls, conn->called, peer);
    }
    sm_sleepers_tell(cls, conn);
    tp_count(&cls->counters.connects, 1);
    TP_LOG(cls->host, DEBUG, "%s: connected, process %d, %s", peer->name,
        (int) conn->process.pid, conn->tx.ordered ? "fences" : "membarrier");
}
