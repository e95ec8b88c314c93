/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client whose messages arrive altered: they pass through a proxy that finds
 * Talaria's own bytes in the TCP streams (plugin header, request header,
 * payload) and alters some of them. The bytes that libfabric and UCX add are
 * left alone: neither library survives their alteration, see SECURITY.md.
 */
#ifndef ALTER_H
#define ALTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALTER_SERVER (1U << 16)

/* Shared by proxy and client. */
struct alter {
    uint64_t seed;
    bool ucx;        /* protocol: ucx+tcp, else ofi+tcp */
    _Atomic bool on; /* off: everything passes unaltered */
    /* port of the proxy in network order; 0: not listening yet */
    _Atomic uint32_t port;
    /* destination port by source port; ALTER_SERVER: opened by the server */
    _Atomic uint32_t to[1 << 16];
    _Atomic uint32_t seen;       /* messages seen */
    _Atomic uint32_t altered;    /* altered ones of them */
    _Atomic uint32_t kinds[256]; /* altered messages by the plugin's kind */
};

/* One direction of one connection. */
struct alter_stream {
    bool known;            /* how Talaria's headers are recognized: */
    unsigned char mark[8]; /* ofi: the sender's number, ucx: the token */
};

/* Alters Talaria's bytes in what a client sends. */
void alter_sent(struct alter *alter, struct alter_stream *stream,
    unsigned char *bytes, size_t size);

/* Learns from what a server sends how the client's headers will be
 * recognized. */
void alter_heard(const struct alter *alter, struct alter_stream *stream,
    const unsigned char *bytes, size_t size);

/* Main of the proxy process; arg is a struct alter. Runs until it is killed. */
void alter_proxy_run(void *arg);

/* From here on this process, client or server, connects to local ports through
 * the proxy. UCX uses one connection for both directions, opened by either
 * side. libfabric uses the client's; its server has to check itself whether a
 * port is open. */
void alter_connections(struct alter *alter, bool is_server);

#endif /* ALTER_H */
