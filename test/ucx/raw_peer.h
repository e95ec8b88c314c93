/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer without the plugin, written against UCP: it calls a class or is called
 * by one, and sends any bytes for a test. */
#ifndef RAW_PEER_H
#define RAW_PEER_H

#include <ucp/api/ucp.h>

#include "side.h"
#include "wire.h"

struct raw_peer {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_listener_h listener;
    ucp_ep_h ep;
    bool gone; /* the other side has closed, or ended */
    struct ucx_hello hello;
    bool hello_received;
    uint32_t messages;    /* received messages, hellos excluded */
    union ucx_header got; /* the last of them */
    uint32_t got_length;
};

/* With these transports of UCX. */
void raw_peer_open(struct raw_peer *raw, const char *transports);
void raw_peer_close(struct raw_peer *raw);

/* Connects to a port of this host. */
void raw_peer_call(struct raw_peer *raw, uint32_t port);

/* Listens. Returns the port. ep is the endpoint to its caller. */
uint32_t raw_peer_listen(struct raw_peer *raw);

/* Closes the endpoint; it can call again. */
void raw_peer_disconnect(struct raw_peer *raw);

/* Progresses the raw peer, and sides up to a NULL. */
void raw_peer_progress(struct raw_peer *raw, struct side *const *sides);

/* Sends an active message with a header; waits until it is sent or the
 * connection is closed. */
void raw_peer_send(struct raw_peer *raw, struct side *const *sides,
    const void *header, size_t header_length, const void *data, size_t length,
    uint32_t flags);

/* A valid hello, of a class that does not listen. */
struct ucx_hello raw_peer_hello(void);

/* Sends a hello, with the receiver's token. */
void raw_peer_send_hello(struct raw_peer *raw, struct side *const *sides,
    uint64_t token, const void *hello, size_t length);

/* Connects, sends a hello, and waits for the answer. */
void raw_peer_join(
    struct raw_peer *raw, struct side *const *sides, uint32_t port);

#endif /* RAW_PEER_H */
