/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects of the transport: class, address, connection. Each begins with
 * its counterpart of common/transport.h, which implements all that does not
 * depend on sockets. The class's lock (base.lock) guards all of them and is
 * held in each function below, except in tcp_addr_parse, and in tcp_listen,
 * which runs before other threads know the class. README.md is the overview.
 */
#ifndef TCP_H
#define TCP_H

#include "common/host.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/transport.h"

#define TCP_PROTOCOL "stream" /* tcp+stream://host:port */
#define TCP_PORT_SIZE 4U      /* bytes of the listening port in a hello */

struct na_plugin_class {
    struct tp_transport base; /* base.descriptor: the epoll set */
    int listener;             /* key 0 in the epoll set */
    int family;      /* address family preferred in lookups, or AF_UNSPEC */
    uint64_t recent; /* number of the connection that received last; 0: none */
    uint32_t recent_polls; /* polls that tried a recent connection first */
    uint64_t send_timeout; /* ns */
    _Atomic uint64_t connects, accepts;
    _Atomic uint64_t failures; /* to set up a connection; thins the log */
};

struct na_plugin_addr {
    struct tp_peer base;
    struct tp_place place; /* socket address on which the peer listens */
};

/* A connection: one socket to a peer. */
struct tcp_conn {
    struct tp_channel base; /* its number is the key in the epoll set */
    int fd;
    bool connecting;    /* connect(2) has not completed */
    bool watches_out;   /* the epoll set reports EPOLLOUT */
    uint32_t in_used;   /* bytes in the receive buffer */
    unsigned char in[]; /* receive buffer, twice tp_transport_room bytes */
};

static inline na_plugin_class *
tcp_class_of(const struct tcp_conn *conn)
{
    return (na_plugin_class *) (void *) conn->base.transport;
}

/* address.c */

/* Returns the address object of a socket address, with one reference for the
 * caller; NULL without memory. */
na_plugin_addr *tcp_addr_get(
    na_plugin_class *cls, const struct tp_place *place);

/* listen.c */

/* Binds the listener, adds it to the epoll set, and sets self and the port in
 * the hello. NODEV, INVALID_ARG, ADDRINUSE, ADDRNOTAVAIL, PERMISSION, NOMEM;
 * logged unless there is no memory for self. */
int32_t tcp_listen(na_plugin_class *cls, const na_plugin_open_info *info);

/* Accepts pending connections. On an error, such as a lack of descriptors,
 * stops watching the listener until base.due. */
void tcp_accept(na_plugin_class *cls);

/* Watches the listener again once base.due has passed. */
void tcp_resume_accept(na_plugin_class *cls);

/* conn.c */

/* Creates a connection for a socket and adds it to the epoll set. It owns the
 * socket, which is closed on failure too. peer: NULL until its hello arrives,
 * for an accepted socket. Returns NULL without memory, logged. */
struct tcp_conn *tcp_conn_new(
    na_plugin_class *cls, int fd, na_plugin_addr *peer, bool connecting);

/* Receives and sends what the socket is ready for (events: EPOLLIN …). Ends the
 * connection if the socket failed or the peer broke the protocol. */
void tcp_conn_advance(struct tcp_conn *conn, uint32_t events);

/* Sets the options of a TCP socket. Errors are ignored: TCP works without
 * them. */
void tcp_conn_set_options(const na_plugin_class *cls, int fd);

/* Entries of tp_carrier; common/transport.h describes them. */
int32_t tcp_addr_parse(na_plugin_class *cls, const char *text, size_t length,
    bool resolve, na_plugin_addr *addr);
int32_t tcp_conn_connect(na_plugin_class *cls, na_plugin_addr *peer);
void tcp_conn_flush(struct tp_channel *channel);
bool tcp_conn_is_out(struct tp_channel *channel);
bool tcp_conn_hello_received(
    struct tp_channel *channel, const unsigned char *extra, uint32_t length);
void tcp_conn_close(struct tp_channel *channel);

#endif /* TCP_H */
