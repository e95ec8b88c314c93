/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client whose messages arrive altered: what it sends passes a proxy that finds
 * Talaria's own bytes in the streams of TCP (the header of the plugin, that of
 * the request behind it, the payload) and changes some of them. The bytes that
 * libfabric and UCX put around them arrive as they were sent: neither library
 * survives their alteration, see SECURITY.md.
 */
#ifndef ALTER_H
#define ALTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALTER_SERVER (1U << 16)

/* What proxy and client share. */
struct alter {
    uint64_t seed;
    bool ucx;              /* streams of ucx+tcp; else of ofi+tcp */
    _Atomic bool on;       /* else everything passes as it is */
    _Atomic uint32_t port; /* the proxy's, in network order; 0: not yet */
    _Atomic uint32_t to[1 << 16]; /* where a connection from a port leads, and
                                    ALTER_SERVER: who makes it */
    _Atomic uint32_t seen;        /* messages that passed */
    _Atomic uint32_t altered;     /* of these */
    _Atomic uint32_t kinds[256];  /* of the altered, by the plugin's kind */
};

/* One direction of one connection. */
struct alter_stream {
    bool known;            /* how our headers are recognized: */
    unsigned char mark[8]; /* ofi: the sender's number, ucx: the token */
};

/* Changes what is ours in bytes that a client sends. */
void alter_sent(struct alter *alter, struct alter_stream *stream,
    unsigned char *bytes, size_t size);

/* Learns from bytes that a server sends how the client's will be recognized. */
void alter_heard(const struct alter *alter, struct alter_stream *stream,
    const unsigned char *bytes, size_t size);

/* The life of the proxy; arg is a struct alter. Its process runs until it is
 * killed. */
void alter_proxy_run(void *arg);

/* From here on this process, the client's or the server's, connects to local
 * ports by way of the proxy. UCX uses one connection for both directions, be it
 * the client's or the server's. libfabric uses the client's; its server has to
 * find out by itself whether a port is open. */
void alter_connections(struct alter *alter, bool is_server);

#endif /* ALTER_H */
