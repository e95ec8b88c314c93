/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transports of a class: its own one, and with auto_sm one that reaches
 * the peers of this node. What depends on the transport lies here: of a class
 * the net, of a context the port.
 */
#ifndef HG_NET_H
#define HG_NET_H

#include "mercury_types.h"
#include "na/context.h"
#include "na/progress.h"
#include "rt/transport.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct hg_context;
struct hg_handle;
struct hg_multi;
struct hg_port;
struct hg_side;

/* Where everything lies in messages and tags. */
struct hg_net {
    struct na_class *na_class;
    size_t in_payload;  /* where the payload of a request begins */
    size_t out_payload; /* and of an answer */
    size_t in_size;     /* bytes of a request's buffer */
    size_t out_size;    /* and of an answer's */
    size_t in_room;     /* of that, for header and payload */
    size_t out_room;
    uint32_t index_bits; /* of a tag: a handle's number in its context */
    uint64_t tag_mask;
};

/* How requests are received. Constant. */
struct hg_receiver {
    /* A free handle is to receive a request. */
    hg_return_t (*post)(struct hg_handle *handle);

    /* Posts again what could not be posted. The lock of progress is held. */
    void (*retry)(struct hg_context *context, struct hg_port *port);

    /* Asks for the end of what was posted. The lock of progress is held. */
    void (*unpost)(struct hg_context *context, struct hg_port *port);

    /* Receives that the transport has. [any thread] */
    uint32_t (*posted)(struct hg_context *context, struct hg_port *port);
};

struct hg_port {
    struct hg_net net; /* a copy, at hand with each message */
    struct na_context *na_context;
    SLIST_HEAD(, hg_handle) free_handles;  /* origin's, under pool_lock */
    SLIST_HEAD(, hg_handle) spare_handles; /* target's, likewise: refill.h */
    _Atomic uint32_t loaded;      /* target's with buffers of this port's */
    uint64_t refusals;            /* of more receives */
    _Atomic uint32_t taken;       /* receives that got a message; in progress */
    _Atomic uint32_t posted;      /* receives that were ever posted */
    _Atomic bool out_of_receives; /* none is posted any more */
    _Atomic bool postponed;       /* one could not be posted again */
    const struct hg_side *side;   /* of handles that receive through it */
    const struct hg_receiver *receiver; /* how; NULL: it doesn't listen */
    struct hg_multi *multi;             /* of multi_recv.c */
};

void hg_net_init(struct hg_net *net, struct na_class *na_class);

void hg_port_init(struct hg_port *port, const struct hg_net *net,
    struct na_context *na_context);

/* Bytes of an argument's payload that fit in a request, a result's in an
 * answer. */
static inline size_t
hg_net_in_room(const struct hg_net *net)
{
    return net->in_size - net->in_payload;
}

static inline size_t
hg_net_out_room(const struct hg_net *net)
{
    return net->out_size - net->out_payload;
}

#endif /* HG_NET_H */
