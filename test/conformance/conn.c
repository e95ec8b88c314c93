/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets of the wire plugin. A peer is dead when its socket reports a hang-up
 * or its process has ended, since children may keep the socket of a dead
 * process open. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire.h"

#define BACKLOG 4096
#define SOCKET_TYPE (SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK)

/* The abstract address for a name: a zero byte first, none at the end. Tests that
 * use the same names at the same time tell them apart by WIRE_SCOPE. */
static socklen_t
abstract_address(
    const na_plugin_class *cls, const char *name, struct sockaddr_un *address)
{
    const char *scope = getenv("WIRE_SCOPE");
    size_t room = sizeof address->sun_path - 1;
    int length;

    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    length = snprintf(address->sun_path + 1, room, "talaria-wire%.8s/%.32s/%s",
        scope ? scope : "", cls->protocol, name);
    return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 +
                        (size_t) length);
}

static bool
watch(na_plugin_class *cls, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};

    return epoll_ctl(cls->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* The socket holds the name until the class is closed, even if it does not
 * listen. */
int32_t
wire_listen(na_plugin_class *cls, const char *name, bool listens)
{
    struct sockaddr_un address;
    socklen_t length = abstract_address(cls, name, &address);
    int type = SOCKET_TYPE;
    int fd;

    if (wire_breaks(cls, WIRE_inheritable))
        type &= ~SOCK_CLOEXEC;
    fd = socket(AF_UNIX, type, 0);
    if (fd < 0) {
        WIRE_LOG(cls->host, ERROR, "no socket: %s", strerror(errno));
        return NA_PLUGIN_E_NOMEM;
    }
    cls->listener = fd;
    if (bind(fd, (struct sockaddr *) &address, length) != 0) {
        int error = errno;

        if (!wire_breaks(cls, WIRE_in_use_mute))
            WIRE_LOG(cls->host, ERROR, "cannot bind the name \"%s\": %s", name,
                strerror(error));
        return error == EADDRINUSE ? NA_PLUGIN_E_ADDRINUSE
                                   : NA_PLUGIN_E_ADDRNOTAVAIL;
    }
    if (listens && (listen(fd, BACKLOG) != 0 || !watch(cls, fd, cls))) {
        WIRE_LOG(cls->host, ERROR, "no listening as \"%s\": %s", name,
            strerror(errno));
        return NA_PLUGIN_E_IO_ERROR;
    }
    return NA_PLUGIN_OK;
}

static bool
ended(int pidfd)
{
    struct pollfd entry = {.fd = pidfd, .events = POLLIN};

    return poll(&entry, 1, 0) > 0;
}

/* The pid at the other end, -1 if it is this process or unknown. Returns false
 * if the process has ended, or no descriptor is left. */
static bool
find_process(const na_plugin_class *cls, int fd, int *pidfd_p)
{
    struct ucred cred;
    socklen_t length = sizeof cred;
    int pidfd;

    *pidfd_p = -1;
    if (wire_breaks(cls, WIRE_child_lives))
        return true;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &length) != 0)
        return false;
    if (cred.pid <= 0 || cred.pid == getpid())
        return true;
    pidfd = (int) syscall(SYS_pidfd_open, cred.pid, 0);
    if (pidfd < 0)
        return false;
    if (ended(pidfd)) {
        close(pidfd);
        return false;
    }
    *pidfd_p = pidfd;
    return true;
}

static struct wire_conn *
conn_create(na_plugin_class *cls, na_plugin_addr *peer)
{
    /* Most transports have buffers per peer. */
    size_t buffers = wire_breaks(cls, WIRE_peers_kept) ? 16384 : 0;
    struct wire_conn *conn = calloc(1, sizeof *conn + buffers);

    if (!conn)
        return NULL;
    memset(conn + 1, 1, buffers);
    conn->cls = cls;
    conn->fd = conn->pidfd = -1;
    TAILQ_INIT(&conn->out);
    TAILQ_INIT(&conn->awaited);
    for (uint32_t i = 0; i <= WIRE_CONTEXTS; i++)
        TAILQ_INIT(&conn->blocked[i]);
    for (uint32_t i = 0; i < WIRE_CONTEXTS; i++)
        conn->due[i] = WIRE_CREDITS;
    conn->peer = peer;
    if (peer) {
        peer->refs++;
        if (!peer->conn)
            peer->conn = conn;
    }
    TAILQ_INSERT_TAIL(&cls->conns, conn, next);
    cls->connections++;
    return conn;
}

/* Assigns a socket to a connection, and sends the hello. Returns false if the
 * peer is dead. The connection owns the socket in either case. */
static bool
attach(struct wire_conn *conn, int fd, bool hello, bool self)
{
    na_plugin_class *cls = conn->cls;
    struct wire_record record = {.type = WIRE_HELLO};
    struct iovec name = {cls->self->name, strlen(cls->self->name)};

    conn->fd = fd;
    if (!self && !find_process(cls, fd, &conn->pidfd))
        return false;
    if (!watch(cls, fd, conn) ||
        (conn->pidfd >= 0 && !watch(cls, conn->pidfd, (char *) conn + 1)))
        return false;
    record.length = (uint32_t) name.iov_len;
    if (hello && wire_conn_send(conn, &record, &name, 1) != 0)
        return false;
    wire_conn_flush(conn);
    return true;
}

void
wire_accept(na_plugin_class *cls)
{
    for (uint32_t i = 0; i < WIRE_BUDGET; i++) {
        struct wire_conn *conn;
        int fd =
            accept4(cls->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
            uint64_t later = wire_now() + WIRE_RETRY_NS;

            WIRE_LOG(cls->host, INFO, "no descriptor left to accept with");
            epoll_ctl(cls->epoll, EPOLL_CTL_DEL, cls->listener, NULL);
            cls->deaf = true;
            cls->timer_ns = later < cls->timer_ns ? later : cls->timer_ns;
        }
        if (fd < 0)
            return;
        conn = conn_create(cls, NULL);
        if (conn)
            conn->accepted = true;
        if (!conn)
            close(fd);
        else if (!attach(conn, fd, false, false))
            wire_conn_end(conn, NA_PLUGIN_E_HOSTUNREACH);
    }
}

/* Connects a socket. Returns 0, or an errno. */
static int
dial(na_plugin_class *cls, const char *name, int *fd_p)
{
    struct sockaddr_un address;
    socklen_t length = abstract_address(cls, name, &address);
    int fd = socket(AF_UNIX, SOCKET_TYPE, 0);

    if (fd < 0)
        return errno;
    if (connect(fd, (struct sockaddr *) &address, length) != 0) {
        int error = errno;

        close(fd);
        return error;
    }
    *fd_p = fd;
    return 0;
}

static int32_t
connect_self(na_plugin_class *cls, struct wire_conn **conn_p)
{
    struct wire_conn *ends[2] = {NULL, NULL};
    int fds[2];

    if (wire_breaks(cls, WIRE_self_unreachable))
        return NA_PLUGIN_E_HOSTUNREACH;
    if (socketpair(AF_UNIX, SOCKET_TYPE, 0, fds) != 0) {
        WIRE_LOG(cls->host, ERROR, "no sockets: %s", strerror(errno));
        return NA_PLUGIN_E_NOMEM;
    }
    for (int i = 0; i < 2; i++) {
        ends[i] = conn_create(cls, cls->self);
        if (!ends[i])
            close(fds[i]);
        else if (attach(ends[i], fds[i], false, true))
            continue;
        for (int j = 0; j <= i; j++)
            if (ends[j])
                wire_conn_end(ends[j], NA_PLUGIN_E_NOMEM);
        if (i == 0)
            close(fds[1]);
        return NA_PLUGIN_E_NOMEM;
    }
    *conn_p = ends[0];
    return NA_PLUGIN_OK;
}

int32_t
wire_conn_get(
    na_plugin_class *cls, na_plugin_addr *addr, struct wire_conn **conn_p)
{
    struct wire_conn *conn = addr->conn;
    int fd = -1, error;

    if (conn) {
        *conn_p = conn;
        return NA_PLUGIN_OK;
    }
    if (addr->died)
        return NA_PLUGIN_E_HOSTUNREACH;
    if (addr == cls->self)
        return connect_self(cls, conn_p);
    error = dial(cls, addr->name, &fd);
    if (error != 0 && error != EAGAIN) {
        WIRE_LOG(cls->host, INFO, "cannot connect to %s: %s", addr->name,
            strerror(error));
        return error == EMFILE || error == ENFILE ? NA_PLUGIN_E_NOMEM
                                                  : NA_PLUGIN_E_HOSTUNREACH;
    }
    if (error == EAGAIN && cls->no_retry)
        return NA_PLUGIN_E_AGAIN;
    conn = conn_create(cls, addr);
    if (!conn) {
        if (fd >= 0)
            close(fd);
        return NA_PLUGIN_E_NOMEM;
    }
    if (fd < 0) {
        cls->timer_ns = 0;
        wire_rouse_all(cls);
    } else if (!attach(conn, fd, true, false)) {
        WIRE_LOG(cls->host, INFO, "%s has ended", addr->name);
        wire_conn_end(conn, NA_PLUGIN_E_HOSTUNREACH);
        return NA_PLUGIN_E_HOSTUNREACH;
    }
    *conn_p = conn;
    return NA_PLUGIN_OK;
}

void
wire_conn_retry(struct wire_conn *conn)
{
    int fd = -1;
    int error = dial(conn->cls, conn->peer->name, &fd);

    if (error == EAGAIN)
        return;
    if (error != 0 || !attach(conn, fd, true, false))
        wire_conn_end(conn, NA_PLUGIN_E_HOSTUNREACH);
}

/* Ends all operations of a list. */
static void
fail_all(struct wire_ops *list, int32_t status)
{
    struct wire_op *op;

    while ((op = TAILQ_FIRST(list)) != NULL) {
        if (op->kind <= WIRE_SEND_EXPECTED &&
            wire_breaks(op->ctx->cls, WIRE_send_outlives_peer))
            wire_op_move(op, NULL);
        else
            wire_op_end(op, status);
    }
}

/* Whether a variant leaves receives of a context pending. */
static bool
left_out(const na_plugin_ctx *ctx)
{
    const na_plugin_class *cls = ctx->cls;

    return wire_breaks(cls, WIRE_recv_outlives_peer) ||
           (ctx->id > 0 && (wire_breaks(cls, WIRE_death_context_0) ||
                               (wire_breaks(cls, WIRE_forget_context_0) &&
                                   cls->violation.forgetting)));
}

/* Receives from a peer end with it; messages that it sent before stay. */
static void
leave(const struct wire_conn *conn, na_plugin_ctx *ctx, int32_t status)
{
    struct wire_op *op, *after;
    struct wire_message *message;

    for (op = TAILQ_FIRST(&ctx->expected); op; op = after) {
        after = TAILQ_NEXT(op, link);
        if (op->conn == conn && !left_out(ctx))
            wire_op_end(op, status);
    }
    TAILQ_FOREACH (message, &ctx->kept, next)
        if (message->conn == conn)
            message->conn = NULL;
}

void
wire_conn_end(struct wire_conn *conn, int32_t status)
{
    na_plugin_class *cls = conn->cls;
    na_plugin_addr *peer = conn->peer;
    struct wire_conn *other;

    conn->dead = true;
    if (peer && wire_breaks(cls, WIRE_successor_unreached))
        peer->died = true;
    cls->violation.failed |= peer && wire_breaks(cls, WIRE_poll_negative);
    TAILQ_REMOVE(&cls->conns, conn, next);
    TAILQ_INSERT_TAIL(&cls->ended, conn, next);
    /* a child of this process may have inherited them: closing alone would not
     * disconnect */
    if (conn->fd >= 0) {
        epoll_ctl(cls->epoll, EPOLL_CTL_DEL, conn->fd, NULL);
        shutdown(conn->fd, SHUT_RDWR);
        close(conn->fd);
    }
    if (conn->pidfd >= 0) {
        epoll_ctl(cls->epoll, EPOLL_CTL_DEL, conn->pidfd, NULL);
        close(conn->pidfd);
    }
    conn->fd = conn->pidfd = -1;
    fail_all(&conn->out, status);
    fail_all(&conn->awaited, status);
    for (uint32_t i = 0; i <= WIRE_CONTEXTS; i++)
        fail_all(&conn->blocked[i], status);
    for (uint32_t i = 0; i < WIRE_CONTEXTS; i++)
        leave(conn, &cls->contexts[i], status);
    if (!peer)
        return;
    if (peer->conn == conn) {
        peer->conn = NULL;
        TAILQ_FOREACH (other, &cls->conns, next)
            if (other->peer == peer)
                peer->conn = other;
    }
    wire_addr_put(cls, peer);
}

void
wire_conns_free(struct wire_conns *conns)
{
    struct wire_conn *conn;

    while ((conn = TAILQ_FIRST(conns)) != NULL) {
        TAILQ_REMOVE(conns, conn, next);
        free(conn);
    }
}

int
wire_conn_send(struct wire_conn *conn, const struct wire_record *record,
    const struct iovec *bytes, uint32_t count)
{
    struct wire_record head = *record;
    struct iovec vector[WIRE_SEGMENTS + 1] = {{&head, sizeof head}};
    struct msghdr message = {.msg_iov = vector, .msg_iovlen = count + 1};

    if (conn->fd < 0)
        return EAGAIN;
    head.magic = WIRE_MAGIC;
    if (count > 0)
        memcpy(vector + 1, bytes, count * sizeof *bytes);
    if (sendmsg(conn->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return 0;
    if (errno == EAGAIN || errno == EINTR || errno == EFAULT)
        return errno == EINTR ? EAGAIN : errno;
    if (errno != EPIPE && errno != ECONNRESET)
        WIRE_LOG(conn->cls->host, WARNING, "sending to %s: %s",
            conn->peer ? conn->peer->name : "an unknown peer", strerror(errno));
    /* so that poll finds the hang-up */
    shutdown(conn->fd, SHUT_RDWR);
    return EPIPE;
}

void
wire_conn_watch(struct wire_conn *conn, bool out)
{
    struct epoll_event event = {.data.ptr = conn};

    if (conn->fd < 0 || conn->wants_out == out)
        return;
    event.events = EPOLLIN | (out ? (uint32_t) EPOLLOUT : 0);
    if (epoll_ctl(conn->cls->epoll, EPOLL_CTL_MOD, conn->fd, &event) == 0)
        conn->wants_out = out;
}
