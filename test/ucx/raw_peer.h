/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer that is not the plugin: written over UCP itself, it calls a class or is
 * called by one, and says whatever a test wants. */
#ifndef STRANGER_H
#define STRANGER_H

#include <ucp/api/ucp.h>

#include "side.h"
#include "wire.h"

struct stranger {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_listener_h listener;
    ucp_ep_h ep;
    bool gone; /* the other side has closed, or died */
    struct ucx_hello hello;
    bool greeted;         /* hello is what has come */
    uint32_t messages;    /* that have come, other than hellos */
    union ucx_header got; /* the last of them */
    uint32_t got_length;
};

/* With these of UCX's transports. */
void stranger_open(struct stranger *stranger, const char *transports);
void stranger_close(struct stranger *stranger);

/* Calls whoever listens at a port of this host. */
void stranger_call(struct stranger *stranger, uint32_t port);

/* Listens itself; the port. Whoever calls is answered by ep. */
uint32_t stranger_listen(struct stranger *stranger);

/* Closes the endpoint; it can call again. */
void stranger_hang_up(struct stranger *stranger);

/* Lets the stranger, and sides up to a NULL, do what there is to do. */
void stranger_turn(struct stranger *stranger, struct side *const *sides);

/* Sends an active message, with a header of some bytes; waits until it is out or
 * the other side is gone. */
void stranger_send(struct stranger *stranger, struct side *const *sides,
    const void *header, size_t header_length, const void *data, size_t length,
    uint32_t flags);

/* A hello without a fault, of a class that does not listen. */
struct ucx_hello stranger_hello(void);

/* Says a hello, to the token of who is to hear it. */
void stranger_greet(struct stranger *stranger, struct side *const *sides,
    uint64_t token, const void *hello, size_t length);

/* Calls, says hello, and waits for the answer. */
void stranger_join(
    struct stranger *stranger, struct side *const *sides, uint32_t port);

#endif /* STRANGER_H */
