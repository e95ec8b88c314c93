/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of the transport: a class, a peer, a connection. common/transport.h,
 * which each of them begins with, does all that is not about sockets; its lock
 * guards these too. README.md beside this file is the overview. */
#ifndef TCP_H
#define TCP_H

#include "common/host.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/transport.h"

#define TCP_PROTOCOL "stream" /* tcp+stream://host:port */
#define TCP_PORT 4U           /* bytes of a hello beside those of every one */

struct na_plugin_class {
    struct tp_transport base; /* descriptor: an epoll set */
    int listener;             /* in it as number 0, connections by theirs */
    int family;               /* preferred of names */
    uint64_t recent; /* the connection that has received last; 0: none */
    uint32_t recent_polls;
    uint64_t send_timeout;
    _Atomic uint64_t connects, accepts, deafs;
};

struct na_plugin_addr {
    struct tp_peer base;
    struct tp_place place; /* where it listens */
};

/* A socket to a peer. */
struct tcp_conn {
    struct tp_channel base;
    int fd;
    bool connecting;
    bool watches_out;
    uint32_t in_used;
    unsigned char in[]; /* twice tp_transport_room: what has arrived */
};

static inline na_plugin_class *
tcp_class_of(const struct tcp_conn *conn)
{
    return (na_plugin_class *) (void *) conn->base.transport;
}

/* address.c: the address of a place, one reference (NULL: no memory); and an entry
 * of tp_carrier. The lock is held here, and in all that follows. */
na_plugin_addr *tcp_addr_get(
    na_plugin_class *cls, const struct tp_place *place);
int32_t tcp_addr_parse(na_plugin_class *cls, const char *text, size_t length,
    bool resolve, na_plugin_addr *addr);

/* listen.c: where the class is reached, self included; who has connected; after an
 * error of that, until when nobody is asked. */
int32_t tcp_listen(na_plugin_class *cls, const na_plugin_open_info *info);
void tcp_accept(na_plugin_class *cls);
void tcp_listen_again(na_plugin_class *cls);

/* conn.c: a connection of a socket, which it closes; NULL: no memory. peer: NULL,
 * or whom it is to. */
struct tcp_conn *tcp_conn_new(
    na_plugin_class *cls, int fd, na_plugin_addr *peer, bool connecting);
/* It is readable or writable: events as of epoll. */
void tcp_conn_advance(struct tcp_conn *conn, uint32_t events);
/* Options of a socket to another host. */
void tcp_conn_options(const na_plugin_class *cls, int fd);

/* Entries of tp_carrier. */
int32_t tcp_conn_connect(na_plugin_class *cls, na_plugin_addr *peer);
void tcp_conn_flush(struct tp_channel *channel);
bool tcp_conn_is_out(struct tp_channel *channel);
bool tcp_conn_greeted(
    struct tp_channel *channel, const unsigned char *extra, uint32_t length);
void tcp_conn_close(struct tp_channel *channel);

#endif /* TCP_H */
