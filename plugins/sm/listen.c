/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of a class, and its callers. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "access.h"
#include "address.h"
#include "establish.h"
#include "hello.h"
#include "listen.h"
#include "packet.h"
#include "socket.h"

#define CALLED_MAX 256 /* callers without a hello at a time */
#define ACCEPTS 16     /* callers answered at a time */
#define NUMBERS 65536  /* unique names tried */

/* Watches the listening sockets, or stops that for a while. An errno, or 0. */
static int
listen_for(na_plugin_class *cls, int operation, uint32_t events)
{
    struct epoll_event name = {
        .events = events, .data.u64 = SM_LISTEN_TAG_NAME};
    struct epoll_event short_name = {
        .events = events, .data.u64 = SM_LISTEN_TAG_SHORT};

    if (!cls->listens)
        return 0;
    if (epoll_ctl(cls->epoll, operation, cls->name_fd, &name) != 0 ||
        (cls->short_fd >= 0 &&
            epoll_ctl(cls->epoll, operation, cls->short_fd, &short_name) != 0))
        return errno;
    return 0;
}

/* Binds the unique name, with the next free number. Numbers are not used again, so
 * that a class is not taken for the one before it. */
static int32_t
bind_unique(na_plugin_class *cls, const char *prefix)
{
    static _Atomic uint32_t numbers;
    char name[SM_NAME_MAX + 1];
    int error = EADDRINUSE;

    for (uint32_t i = 0; i < NUMBERS && error == EADDRINUSE; i++) {
        uint32_t number =
            atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed);
        snprintf(name, sizeof(name), "%s%s%d-%" PRIu32,
            prefix != NULL ? prefix : "", prefix != NULL ? "-" : "",
            (int) getpid(), number);
        error = sm_socket_bind(name, cls->listens, &cls->name_fd);
    }
    if (error == 0) {
        int32_t ret = sm_addr_get(cls, name, strlen(name), &cls->self);
        if (ret == NA_PLUGIN_OK)
            cls->name = cls->self->name;
        return ret;
    }

    TP_LOG(cls->host, ERROR, "sm://%s: cannot bind a socket: %s", name,
        strerror(error));
    return error == EADDRINUSE ? NA_PLUGIN_E_ADDRINUSE
                               : NA_PLUGIN_E_ADDRNOTAVAIL;
}

int32_t
sm_listen_init(na_plugin_class *cls, const char *prefix)
{
    cls->name_fd = cls->short_fd = -1;
    int32_t ret = bind_unique(cls, prefix);
    if (ret != NA_PLUGIN_OK)
        return ret;

    if (cls->listens && prefix != NULL) {
        int error = sm_socket_bind(prefix, true, &cls->short_fd);
        if (error == 0)
            snprintf(cls->short_name, sizeof(cls->short_name), "%s", prefix);
        else
            TP_LOG(cls->host, INFO,
                "sm://%s is another class's name (%s); this is sm://%s", prefix,
                strerror(error), cls->self->name);
    }

    int error = listen_for(cls, EPOLL_CTL_ADD, EPOLLIN);
    if (error != 0) {
        TP_LOG(cls->host, ERROR, "sm://%s: cannot watch its socket: %s",
            cls->self->name, strerror(error));
        return NA_PLUGIN_E_NOMEM;
    }
    return NA_PLUGIN_OK;
}

void
sm_listen_fini(na_plugin_class *cls)
{
    listen_for(cls, EPOLL_CTL_DEL, 0);
    sm_socket_close(cls->name_fd);
    sm_socket_close(cls->short_fd);
    cls->name_fd = cls->short_fd = -1;
}

/* Too many callers have not said hello: ends the first of them. */
static void
drop_oldest_caller(na_plugin_class *cls)
{
    struct sm_conn *oldest = NULL;
    for (struct sm_conn *conn = cls->conns; conn != NULL; conn = conn->next)
        if (conn->state == SM_CONN_CALLED && conn->down == NA_PLUGIN_OK)
            oldest = conn;
    if (oldest != NULL)
        sm_conn_down(cls, oldest, NA_PLUGIN_E_TIMEOUT);
}

/* Why a caller is refused, NULL if it is not. */
static const char *
refusal(const na_plugin_class *cls, const struct sm_process *process)
{
    uint32_t count = 0;

    if (!sm_access_admits(cls, process))
        return "it is another user's";
    if (process->uid == cls->uid)
        return NULL;
    for (const struct sm_conn *conn = cls->conns; conn != NULL;
         conn = conn->next)
        count +=
            conn->process.uid == process->uid && conn->down == NA_PLUGIN_OK;
    return count < cls->user_connections ? NULL
                                         : "its user has enough connections";
}

/* Makes a connection of a new caller. */
static void
admit(na_plugin_class *cls, int fd, uint64_t now)
{
    struct sm_process process;
    struct sm_conn *conn = NULL;

    if (sm_socket_process(fd, &process) == 0) {
        const char *why = refusal(cls, &process);
        if (why == NULL)
            conn = sm_conn_make(cls);
        else
            sm_hello_refuse_caller(cls, fd, &process, why);
        if (conn == NULL && process.pidfd >= 0)
            close(process.pidfd);
    }
    if (conn == NULL) {
        sm_socket_close(fd);
        return;
    }

    if (cls->called >= CALLED_MAX)
        drop_oldest_caller(cls);
    sm_conn_set_state(conn, SM_CONN_CALLED);
    cls->called++;
    conn->deadline_ns = now + SM_LISTEN_HELLO_NS;
    if (sm_conn_attach(cls, conn, fd, &process) != NA_PLUGIN_OK) {
        sm_conn_down(cls, conn, NA_PLUGIN_E_NOMEM);
        return;
    }
    if (!sm_packet_read(cls, conn) || process.dead)
        sm_packet_lose(cls, conn);
}

void
sm_listen_accept(na_plugin_class *cls, int listener, uint64_t now)
{
    int fd;
    int error = 0;

    for (int i = 0; i < ACCEPTS; i++) {
        error = sm_socket_accept(listener, &fd);
        if (error != 0)
            break;
        admit(cls, fd, now);
    }
    if (error != EMFILE && error != ENFILE && error != ENOMEM &&
        error != ENOBUFS)
        return;
    TP_LOG(cls->host, WARNING, "sm://%s: cannot accept connections: %s",
        cls->self->name, strerror(error));
    listen_for(cls, EPOLL_CTL_MOD, 0);
    cls->accept_ns = now + SM_LISTEN_PAUSE_NS;
}

void
sm_listen_resume(na_plugin_class *cls)
{
    listen_for(cls, EPOLL_CTL_MOD, EPOLLIN);
    cls->accept_ns = 0;
}
