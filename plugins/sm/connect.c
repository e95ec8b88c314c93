/* SPDX-License-Identifier: BSD-3-Clause */
/* Calling a name: a caller passes its ring with the hello and may send at once. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "address.h"
#include "common/memfd.h"
#include "connect.h"
#include "establish.h"
#include "hello.h"
#include "socket.h"
#include "work.h"

#define CALL_TIMEOUT_NS (10 * TP_SECOND) /* a backlog that stays full */
#define CONNECT_TRIES 4 /* a peer that is lost again and again meanwhile */

/* Whether a process that uses Mercury has, or had, this name: the file of its
 * shared memory exists. */
static bool
is_mercury(const char *name)
{
    char path[sizeof("/dev/shm/na_sm-") + SM_NAME_MAX];
    int length = snprintf(path, sizeof(path), "/dev/shm/na_sm-%s", name);

    return length > 0 && (size_t) length < sizeof(path) &&
           strchr(name, '/') == NULL && access(path, F_OK) == 0;
}

static void
log_unreachable(na_plugin_class *cls, na_plugin_addr *addr, int error)
{
    const char *name = addr->name;
    /* That a process has ended is no error of this side; that none was ever
     * there may be one, and is logged once. */
    int32_t level =
        addr->known || addr->told ? NA_PLUGIN_LOG_INFO : NA_PLUGIN_LOG_ERROR;

    /* a known one was connected, so it used Talaria: another process of that name
     * left the file */
    if (!addr->known && is_mercury(name))
        TP_LOG(cls->host, ERROR,
            "sm://%s: unreachable (%s): by its file /dev/shm/na_sm-%s the "
            "process there uses Mercury, not Talaria",
            name, strerror(error), name);
    else
        tp_log(cls->host, level, __FILE__, __LINE__,
            "sm://%s: connection refused: no process has this address", name);
    addr->told = true;
}

/* What a failing system call on the way to a peer means to the caller. */
static int32_t
call_error(na_plugin_class *cls, na_plugin_addr *addr, int error)
{
    const char *name = addr->name;

    if (error == EAGAIN || error == ETOOMANYREFS || error == EINTR)
        return NA_PLUGIN_E_AGAIN;
    if (error == ECONNREFUSED || error == EPIPE || error == ECONNRESET ||
        error == ESRCH) {
        log_unreachable(cls, addr, error);
        return NA_PLUGIN_E_HOSTUNREACH;
    }
    if (error == EKEYREJECTED) /* logged already */
        return NA_PLUGIN_E_PERMISSION;
    TP_LOG(cls->host, ERROR, "sm://%s: cannot connect: %s", name,
        tp_memfd_error(error));
    return error == EFBIG ? NA_PLUGIN_E_NOMEM : tp_error_code(error);
}

/* Calls a connection's peer: socket, ring, hello. AGAIN when its backlog is full.
 * After an error the connection is the caller's to end. */
static int32_t
call(na_plugin_class *cls, struct sm_conn *conn)
{
    const char *name = conn->called->name;
    struct sm_process process = {.pidfd = -1};
    int fd = -1;
    int ring = -1;

    int error = sm_socket_connect(name, &fd);
    if (error == 0)
        error = sm_socket_process(fd, &process);
    /* a forked child may hold the listening socket of a dead peer */
    if (error == 0 && process.dead)
        error = ESRCH;
    if (error == 0 && !sm_access_admits(cls, &process)) {
        TP_LOG(cls->host, ERROR,
            "sm://%s belongs to user %d, and this class, of user %d, was not "
            "opened for any (na+sm://any/)",
            name, (int) process.uid, (int) cls->uid);
        error = EKEYREJECTED;
    }
    if (error == 0)
        error = sm_conn_make_ring(cls, conn, &ring);
    if (error == 0)
        error = sm_hello_send(cls, fd, ring, &process, 0);
    if (ring >= 0)
        close(ring);
    if ((error == EPIPE || error == ECONNRESET) && sm_hello_refused(fd)) {
        sm_hello_log_refusal(cls, name);
        error = EKEYREJECTED;
    }
    if (error == 0 && sm_conn_attach(cls, conn, fd, &process) != NA_PLUGIN_OK)
        return call_error(cls, conn->called, ENOMEM);
    if (error == 0) {
        conn->called->known = true;
        sm_conn_set_state(conn, SM_CONN_CALLING);
        return NA_PLUGIN_OK;
    }

    tp_lock_take(&conn->lock);
    sm_ring_close_tx(&conn->tx);
    tp_lock_drop(&conn->lock);
    sm_socket_close(fd);
    if (process.pidfd >= 0)
        close(process.pidfd);
    return call_error(cls, conn->called, error);
}

int32_t
sm_connect_to(na_plugin_class *cls, na_plugin_addr *addr)
{
    int32_t ret = NA_PLUGIN_OK;

    tp_lock_take(&cls->progress);
    if (atomic_load_explicit(&addr->conn, memory_order_relaxed) != NULL)
        goto drop_lock;

    struct sm_conn *conn = sm_conn_make(cls);
    ret = NA_PLUGIN_E_NOMEM;
    if (conn == NULL)
        goto drop_lock;
    sm_addr_hold(cls, addr);
    conn->called = addr;
    ret = call(cls, conn);
    if (ret == NA_PLUGIN_E_AGAIN && !cls->no_retry) {
        uint64_t now = tp_now();
        sm_conn_set_state(conn, SM_CONN_RETRY);
        conn->retry_ns = now + SM_CONNECT_RETRY_NS;
        conn->deadline_ns = now + CALL_TIMEOUT_NS;
        cls->retries++;
        ret = NA_PLUGIN_OK;
    }
    if (ret != NA_PLUGIN_OK)
        sm_conn_down(cls, conn, ret);
    else
        /* release: pairs with the acquire of a sender */
        atomic_store_explicit(&addr->conn, conn, memory_order_release);

drop_lock:
    sm_work_unlock(cls); /* also ends the connection if it is down */
    return ret;
}

int32_t
sm_connect_lock(
    na_plugin_class *cls, na_plugin_addr *peer, struct sm_conn **conn_p)
{
    for (int i = 0; i < CONNECT_TRIES; i++) {
        /* acquire: pairs with the release where connections are made */
        struct sm_conn *conn =
            atomic_load_explicit(&peer->conn, memory_order_acquire);
        if (conn == NULL) {
            int32_t ret = sm_connect_to(cls, peer);
            if (ret != NA_PLUGIN_OK)
                return ret;
            continue;
        }
        tp_lock_take(&conn->lock);
        if (atomic_load_explicit(&peer->conn, memory_order_relaxed) == conn) {
            *conn_p = conn;
            return NA_PLUGIN_OK;
        }
        tp_lock_drop(&conn->lock);
    }
    return NA_PLUGIN_E_HOSTUNREACH;
}

void
sm_connect_retry(na_plugin_class *cls, uint64_t now)
{
    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next) {
        if (conn->state == SM_CONN_CALLED && now >= conn->deadline_ns)
            sm_conn_down(cls, conn, NA_PLUGIN_E_TIMEOUT);
        if (conn->state != SM_CONN_RETRY || now < conn->retry_ns)
            continue;
        int32_t ret = call(cls, conn);
        if (ret == NA_PLUGIN_OK) {
            cls->retries--;
        } else if (ret != NA_PLUGIN_E_AGAIN) {
            sm_conn_down(cls, conn, ret);
        } else if (now >= conn->deadline_ns) {
            TP_LOG(cls->host, INFO,
                "sm://%s: cannot connect: its backlog stays full",
                conn->called->name);
            sm_conn_down(cls, conn, NA_PLUGIN_E_HOSTUNREACH);
        } else {
            conn->retry_ns = now + SM_CONNECT_RETRY_NS;
        }
    }
}
