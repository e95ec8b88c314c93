/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections: connecting at first use, identifying the peer, sending,
 * receiving and closing. */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "common/socket.h"
#include "tcp.h"

/* Returns the connection that contains a channel. */
static struct tcp_conn *
conn_of(struct tp_channel *channel)
{
    return TP_OBJECT(channel, struct tcp_conn, base);
}

struct tcp_conn *
tcp_conn_new(
    na_plugin_class *cls, int fd, na_plugin_addr *peer, bool connecting)
{
    uint32_t room = 2 * tp_transport_room(&cls->base);
    struct tcp_conn *conn = malloc(sizeof(*conn) + room);
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLOUT, .data.u64 = cls->base.last_number + 1};

    if (conn == NULL ||
        epoll_ctl(cls->base.descriptor, EPOLL_CTL_ADD, fd, &event) != 0) {
        TP_LOG_THINNED(cls->base.host, WARNING, tp_count(&cls->failures, 1),
            "cannot set up a connection: %s", strerror(errno));
        free(conn);
        tp_socket_close(fd);
        return NULL;
    }
    *conn = (struct tcp_conn){
        .fd = fd, .connecting = connecting, .watches_out = true};
    tp_channel_begin(&conn->base, &cls->base, peer);
    return conn;
}

/* Small messages are sent without delay. A dead host is detected: by keepalive
 * after 10 s + 4 * 5 s, or by unacknowledged data after send_timeout. */
void
tcp_conn_set_options(const na_plugin_class *cls, int fd)
{
    int on = 1, idle = 10, interval = 5, count = 4;
    unsigned int timeout_ms = (unsigned int) (cls->send_timeout / TP_MS);

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
    setsockopt(
        fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
}

/* Connects the class to itself by a socket pair: both ends are its
 * connections. */
static int32_t
connect_self(na_plugin_class *cls)
{
    int fds[2];

    if (tp_socket_pair(fds) != 0)
        return NA_PLUGIN_E_NOMEM;
    struct tcp_conn *end = tcp_conn_new(cls, fds[1], cls->base.self, false);
    if (end == NULL) {
        tp_socket_close(fds[0]);
        return NA_PLUGIN_E_NOMEM;
    }
    if (tcp_conn_new(cls, fds[0], cls->base.self, false) != NULL)
        return NA_PLUGIN_OK;
    tp_channel_end(&end->base, NA_PLUGIN_E_NOMEM);
    return NA_PLUGIN_E_NOMEM;
}

int32_t
tcp_conn_connect(na_plugin_class *cls, na_plugin_addr *peer)
{
    const na_plugin_host *host = cls->base.host;

    if (peer == cls->base.self)
        return connect_self(cls);
    int fd = tp_socket_open(peer->place.address.ss_family);
    if (fd < 0) {
        TP_LOG(host, ERROR, "%s: cannot open a socket: %s", peer->base.name,
            strerror(errno));
        return NA_PLUGIN_E_NOMEM;
    }
    tcp_conn_set_options(cls, fd);
    if (connect(fd, (struct sockaddr *) &peer->place.address,
            peer->place.length) != 0 &&
        errno != EINPROGRESS) {
        TP_LOG(host, INFO, "%s: cannot connect: %s", peer->base.name,
            strerror(errno));
        tp_socket_close(fd);
        return NA_PLUGIN_E_HOSTUNREACH;
    }
    if (tcp_conn_new(cls, fd, peer, true) == NULL)
        return NA_PLUGIN_E_NOMEM;
    tp_count(&cls->connects, 1);
    return NA_PLUGIN_OK;
}

void
tcp_conn_close(struct tp_channel *channel)
{
    struct tcp_conn *conn = conn_of(channel);

    /* close(2) leaves it in the epoll set if a forked child has it open */
    epoll_ctl(channel->transport->descriptor, EPOLL_CTL_DEL, conn->fd, NULL);
    tp_socket_close(conn->fd);
    free(conn);
}

/* Names the peer of an accepted connection by its host as seen from here and
 * the port in its hello, so that no host can use another host's name. */
bool
tcp_conn_hello_received(
    struct tp_channel *channel, const unsigned char *extra, uint32_t length)
{
    struct tp_place place = {.length = sizeof(place.address)};
    uint64_t port = tp_unpack(extra, TCP_PORT_SIZE);
    struct tcp_conn *conn = conn_of(channel);

    if (channel->peer != NULL)
        return true;
    if (port == 0 || port > UINT16_MAX ||
        getpeername(
            conn->fd, (struct sockaddr *) &place.address, &place.length) != 0)
        return false;
    tp_host_set_port(&place.address, (uint32_t) port);
    na_plugin_addr *peer = tcp_addr_get(tcp_class_of(conn), &place);
    if (peer != NULL)
        tp_channel_join(channel, peer);
    return peer != NULL;
}

/* Sends what is left of a packet, as far as the socket takes it. Returns
 * whether the whole packet was sent. Errors are left to the next recv(2). */
static bool
send_packet(const struct tcp_conn *conn, struct tp_packet *packet)
{
    struct tp_frame frame;
    struct iovec parts[2];
    struct msghdr message = {.msg_iov = parts};

    message.msg_iovlen = (size_t) tp_packet_parts(packet, &frame, parts);
    ssize_t n = sendmsg(conn->fd, &message, MSG_NOSIGNAL);
    if (n > 0)
        packet->sent += (uint32_t) n;
    return tp_packet_is_sent(packet);
}

/* Sends packets until the socket is full, then watches for EPOLLOUT. */
void
tcp_conn_flush(struct tp_channel *channel)
{
    struct tcp_conn *conn = conn_of(channel);
    struct tp_packet *packet;

    if (conn->connecting)
        return;
    while ((packet = tp_channel_next(channel)) != NULL &&
           send_packet(conn, packet))
        tp_channel_sent(channel, packet);
    if (conn->watches_out == (packet != NULL))
        return;
    conn->watches_out = packet != NULL;
    struct epoll_event event = {
        .events = EPOLLIN | (conn->watches_out ? EPOLLOUT : 0U),
        .data.u64 = channel->keyed.key};
    epoll_ctl(channel->transport->descriptor, EPOLL_CTL_MOD, conn->fd, &event);
}

/* Whether the peer's host has acknowledged all data. */
bool
tcp_conn_is_out(struct tp_channel *channel)
{
    int unsent = 0;

    return channel->peer == channel->transport->self ||
           ioctl(conn_of(channel)->fd, SIOCOUTQ, &unsent) != 0 || unsent == 0;
}

/* Passes the whole frames of the receive buffer to the SDK and removes them.
 * Returns false if one is malformed. */
static bool
process_frames(struct tcp_conn *conn)
{
    int64_t taken = tp_channel_take(&conn->base, conn->in, conn->in_used);

    if (taken < 0)
        return false;
    conn->in_used -= (uint32_t) taken;
    if (taken != 0 && conn->in_used != 0)
        memmove(conn->in, conn->in + taken, conn->in_used);
    return true;
}

void
tcp_conn_advance(struct tcp_conn *conn, uint32_t events)
{
    na_plugin_class *cls = tcp_class_of(conn);
    uint32_t room = 2 * tp_transport_room(&cls->base);

    conn->connecting = conn->connecting && (events & EPOLLOUT) == 0;
    if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) {
        ssize_t n =
            recv(conn->fd, conn->in + conn->in_used, room - conn->in_used, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            TP_LOG(cls->base.host, INFO, "%s has disconnected: %s",
                conn->base.name, n == 0 ? "end of stream" : strerror(errno));
            tp_channel_end(&conn->base, NA_PLUGIN_E_HOSTUNREACH);
            return;
        }
        conn->in_used += (uint32_t) n;
        cls->recent = conn->base.keyed.key;
        if (!process_frames(conn)) {
            tp_channel_refuse(&conn->base);
            return;
        }
    }
    tcp_conn_flush(&conn->base);
}
