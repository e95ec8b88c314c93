/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections: made when they are first needed, or accepted; the hello that both
 * ends begin with; what arrives; and their end. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tcp.h"

#define MAGIC UINT64_C(0x316d727473706374) /* "tcpstrm1" */
#define HELLO 24U  /* bytes: magic, port, largest messages, window */
#define ACCEPTS 64 /* in one go */
#define DEAF_TIME (100 * TP_MS)

int32_t
tcp_listen(na_plugin_class *cls, const na_plugin_open_info *info)
{
    const char *name = info->host != NULL ? info->host : info->device;
    uint32_t port = info->port > 0 ? (uint32_t) info->port : 0;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0};
    struct tp_place place;
    int on = 1;

    int32_t ret = tp_host_own(
        cls->host, name, port, cls->family, info->ip_subnet, &place);
    if (ret != NA_PLUGIN_OK)
        return ret;
    cls->family = place.address.ss_family;
    cls->listener = tcp_socket(cls->family);
    if (cls->listener < 0 ||
        setsockopt(cls->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
        bind(cls->listener, (struct sockaddr *) &place.address, place.length) ||
        listen(cls->listener, SOMAXCONN) ||
        getsockname(
            cls->listener, (struct sockaddr *) &place.address, &place.length) ||
        epoll_ctl(cls->epoll, EPOLL_CTL_ADD, cls->listener, &event)) {
        int error = errno;
        TP_LOG(cls->host, ERROR, "listening at \"%s\", port %u: %s",
            name != NULL ? name : "", port, strerror(error));
        return error == EADDRINUSE      ? NA_PLUGIN_E_ADDRINUSE
               : error == EADDRNOTAVAIL ? NA_PLUGIN_E_ADDRNOTAVAIL
               : error == EACCES        ? NA_PLUGIN_E_PERMISSION
                                        : NA_PLUGIN_E_NOMEM;
    }
    tp_host_reach(&place, info->ip_subnet);
    cls->self = tcp_addr_get(cls, &place);
    return cls->self != NULL ? NA_PLUGIN_OK : NA_PLUGIN_E_NOMEM;
}

static bool
say_hello(struct tcp_conn *conn)
{
    na_plugin_class *cls = conn->cls;
    struct tcp_packet *packet = tcp_packet_new(TCP_HELLO, HELLO);

    if (packet == NULL)
        return false;
    unsigned char *bytes = (unsigned char *) (packet + 1);
    bytes = tp_pack(bytes, MAGIC, 8);
    bytes = tp_pack(bytes, tp_host_port(&cls->self->place.address), 4);
    bytes = tp_pack(bytes, cls->max_unexpected, 4);
    bytes = tp_pack(bytes, cls->max_expected, 4);
    tp_pack(bytes, cls->window, 4);
    tcp_packet_move(packet, &conn->out);
    return true;
}

static void
join_peer(struct tcp_conn *conn, na_plugin_addr *peer)
{
    conn->peer = peer;
    peer->conn = conn;
}

/* A connection with a socket, which it closes. peer: NULL, or whom it is to; a
 * reference is taken. NULL: no memory. */
static struct tcp_conn *
conn_new(na_plugin_class *cls, int fd, na_plugin_addr *peer, bool connecting)
{
    struct tcp_conn *conn = calloc(1, sizeof(*conn));
    unsigned char *in = malloc(cls->room);
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLOUT, .data.u64 = ++cls->last_number};

    if (conn == NULL || in == NULL ||
        epoll_ctl(cls->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        free(conn);
        free(in);
        tcp_close(fd);
        return NULL;
    }
    conn->keyed.key = cls->last_number;
    conn->cls = cls;
    conn->fd = fd;
    conn->in = in;
    conn->connecting = connecting;
    conn->watches_out = true;
    conn->deadline = tp_now() + cls->connect_timeout;
    tp_table_insert(&cls->numbers, &conn->keyed);
    tp_list_append(&cls->conns, &conn->link);
    tp_list_append(&cls->young, &conn->young);
    if (peer != NULL) {
        tp_addr_hold(&peer->base, false);
        join_peer(conn, peer);
    }
    if (say_hello(conn))
        return conn;
    tcp_conn_end(conn, NA_PLUGIN_E_NOMEM);
    return NULL;
}

/* Small messages at once; an error if the peer's host is gone. */
static void
set_options(const na_plugin_class *cls, int fd)
{
    int on = 1, idle = 10, interval = 5, count = 4;
    unsigned int patience = (unsigned int) (cls->send_timeout / TP_MS);

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof(patience));
}

void
tcp_conn_accept(na_plugin_class *cls)
{
    int fd = 0;

    for (int i = 0; i < ACCEPTS && fd >= 0; i++) {
        fd = tcp_accept(cls->listener);
        if (fd < 0)
            break;
        set_options(cls, fd);
        tp_count(&cls->accepts, 1);
        if (conn_new(cls, fd, NULL, false) == NULL)
            TP_LOG(cls->host, WARNING, "no memory for a connection");
    }
    if (fd >= 0 || errno == EAGAIN || errno == ECONNABORTED || errno == EINTR)
        return;
    /* the listener stays readable: it would wake us again and again */
    TP_LOG(cls->host, WARNING, "accepting: %s", strerror(errno));
    epoll_ctl(cls->epoll, EPOLL_CTL_DEL, cls->listener, NULL);
    cls->deaf_until = tp_now() + DEAF_TIME;
}

/* To oneself: both ends are of this class. */
static struct tcp_conn *
connect_self(na_plugin_class *cls)
{
    int fds[2];

    if (tcp_pair(fds) != 0)
        return NULL;
    if (conn_new(cls, fds[1], cls->self, false) == NULL) {
        tcp_close(fds[0]);
        return NULL;
    }
    return conn_new(cls, fds[0], cls->self, false);
}

int32_t
tcp_conn_get(
    na_plugin_class *cls, na_plugin_addr *peer, struct tcp_conn **conn_p)
{
    if (peer->conn == NULL && peer == cls->self) {
        *conn_p = connect_self(cls);
        return *conn_p != NULL ? NA_PLUGIN_OK : NA_PLUGIN_E_NOMEM;
    }
    if (peer->conn != NULL) {
        *conn_p = peer->conn;
        return NA_PLUGIN_OK;
    }
    int fd = tcp_socket(peer->place.address.ss_family);
    if (fd < 0) {
        TP_LOG(cls->host, ERROR, "%s: %s", peer->name, strerror(errno));
        return NA_PLUGIN_E_NOMEM;
    }
    set_options(cls, fd);
    if (connect(fd, (struct sockaddr *) &peer->place.address,
            peer->place.length) != 0 &&
        errno != EINPROGRESS) {
        TP_LOG(cls->host, INFO, "%s: %s", peer->name, strerror(errno));
        tcp_close(fd);
        return NA_PLUGIN_E_HOSTUNREACH;
    }
    *conn_p = conn_new(cls, fd, peer, true);
    if (*conn_p == NULL)
        return NA_PLUGIN_E_NOMEM;
    tp_count(&cls->connects, 1);
    return NA_PLUGIN_OK;
}

static void
end_ops(struct tp_list *list, int32_t status)
{
    while (list->head != NULL) {
        struct tcp_op *op = TP_OBJECT(list->head, struct tcp_op, link);
        if (op->kind == TCP_OP_RECV_EXPECTED)
            tp_match_unpost(&op->ctx->match, &op->recv, false);
        else
            tcp_packet_move(&op->packet, NULL);
        tcp_op_end(op, status);
    }
}

void
tcp_conn_end(struct tcp_conn *conn, int32_t status)
{
    na_plugin_class *cls = conn->cls;
    na_plugin_addr *peer = conn->peer;

    /* first: a forked child may hold the socket, and epoll with it */
    epoll_ctl(cls->epoll, EPOLL_CTL_DEL, conn->fd, NULL);
    tcp_close(conn->fd);
    tp_table_remove(&cls->numbers, &conn->keyed);
    tp_list_remove(&cls->conns, &conn->link);
    if (!conn->open)
        tp_list_remove(&cls->young, &conn->young);
    end_ops(&conn->ops, status);
    while (conn->out.head != NULL)
        free(TP_OBJECT(tp_list_pop(&conn->out), struct tcp_packet, link));
    if (peer != NULL && peer->conn == conn) {
        peer->conn = NULL;
        end_ops(&peer->recvs, status);
    }
    if (peer != NULL)
        tcp_addr_put(cls, peer);
    free(conn->in);
    free(conn);
}

/* Who has connected: the host as it is seen from here, and the port where the
 * peer says that it listens. Nobody speaks for another host. */
static bool
name_peer(struct tcp_conn *conn, uint32_t port)
{
    struct tp_place place = {.length = sizeof(place.address)};

    if (port == 0 || port > UINT16_MAX ||
        getpeername(
            conn->fd, (struct sockaddr *) &place.address, &place.length) != 0)
        return false;
    tp_host_set_port(&place.address, port);
    na_plugin_addr *peer = tcp_addr_get(conn->cls, &place);
    if (peer == NULL)
        return false;
    join_peer(conn, peer);
    return true;
}

static bool
hello_arrived(struct tcp_conn *conn, const struct tcp_frame *frame,
    const unsigned char *bytes)
{
    if (conn->open || frame->kind != TCP_HELLO || frame->length < HELLO ||
        tp_unpack(bytes, 8) != MAGIC)
        return false;
    conn->max_unexpected = (uint32_t) tp_unpack(bytes + 12, 4);
    conn->max_expected = (uint32_t) tp_unpack(bytes + 16, 4);
    conn->window = tp_unpack(bytes + 20, 4);
    if (conn->peer == NULL &&
        !name_peer(conn, (uint32_t) tp_unpack(bytes + 8, 4)))
        return false;
    conn->open = true;
    tp_list_remove(&conn->cls->young, &conn->young);
    tcp_message_release(conn);
    return true;
}

static bool
frame_arrived(struct tcp_conn *conn, const struct tcp_frame *frame,
    const unsigned char *data)
{
    if (!conn->open)
        return hello_arrived(conn, frame, data);
    switch (frame->kind) {
    case TCP_UNEXPECTED:
    case TCP_EXPECTED:
        return tcp_message_arrived(conn, frame, data);
    case TCP_CREDIT:
        conn->used -= frame->tag < conn->used ? frame->tag : conn->used;
        tcp_message_release(conn);
        return true;
    case TCP_PUT:
    case TCP_GET:
        return tcp_rma_asked(conn, frame, data);
    case TCP_ANSWER:
        return tcp_rma_arrived(conn, frame, data);
    default:
        return false;
    }
}

/* Takes whole frames out of what has arrived. False: one is malformed. */
static bool
take_frames(struct tcp_conn *conn)
{
    uint32_t at = 0;
    bool good = true;

    while (good && conn->in_used - at >= sizeof(struct tcp_frame)) {
        struct tcp_frame frame;
        memcpy(&frame, conn->in + at, sizeof(frame));
        tcp_frame_swap(&frame);
        if (frame.length > conn->cls->room / 2 - sizeof(frame))
            return false;
        if (conn->in_used - at - sizeof(frame) < frame.length)
            break;
        good = frame_arrived(conn, &frame, conn->in + at + sizeof(frame));
        at += (uint32_t) sizeof(frame) + frame.length;
    }
    conn->in_used -= at;
    if (at != 0 && conn->in_used != 0)
        memmove(conn->in, conn->in + at, conn->in_used);
    return good;
}

void
tcp_conn_advance(struct tcp_conn *conn, uint32_t events)
{
    na_plugin_class *cls = conn->cls;
    const char *name = conn->peer != NULL ? conn->peer->name : "a stranger";

    conn->connecting = conn->connecting && (events & EPOLLOUT) == 0;
    if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) {
        ssize_t n = recv(
            conn->fd, conn->in + conn->in_used, cls->room - conn->in_used, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            TP_LOG(cls->host, INFO, "%s has disconnected: %s", name,
                n == 0 ? "end of stream" : strerror(errno));
            tcp_conn_end(conn, NA_PLUGIN_E_HOSTUNREACH);
            return;
        }
        conn->in_used += (uint32_t) n;
        cls->recent = conn->keyed.key;
        if (!take_frames(conn)) {
            TP_LOG(cls->host, WARNING,
                "malformed data from %s, connection closed", name);
            tcp_conn_end(conn, NA_PLUGIN_E_PROTOCOL_ERROR);
            return;
        }
    }
    tcp_flush(conn);
}
