/* SPDX-License-Identifier: BSD-3-Clause */
/* The transports of a class: the main one, and with auto_sm one for peers of
 * this node. A net has what depends on the transport in a class, a port in a
 * context. */
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

/* Layout of messages and tags. */
struct hg_net {
    struct na_class *na_class;
    size_t in_payload;  /* offset of the payload in a request */
    size_t out_payload; /* in a response */
    size_t in_size;     /* bytes of a request buffer */
    size_t out_size;    /* bytes of a response buffer */
    size_t in_room;     /* bytes of that for header and payload */
    size_t out_room;
    size_t in_most; /* bytes of that for payload */
    size_t out_most;
    uint32_t index_bits; /* bits of a tag with the handle's number */
    uint64_t tag_step;   /* the lowest of the other bits */
    uint64_t tag_mask;
};

/* A way to receive requests. Constant. */
struct hg_receiver {
    /* Lets a free handle receive a request. */
    hg_return_t (*post)(struct hg_handle *handle);

    /* Posts again what could not be posted. The progress lock is held. */
    void (*retry)(struct hg_context *context, struct hg_port *port);

    /* Cancels what is posted. The progress lock is held. */
    void (*unpost)(struct hg_context *context, struct hg_port *port);

    /* Returns the number of posted receives. [any thread] */
    uint32_t (*posted)(struct hg_context *context, struct hg_port *port);
};

struct hg_port {
    struct hg_net net; /* a copy, for fast access */
    struct na_context *na_context;
    SLIST_HEAD(, hg_handle) free_handles; /* of origins, under pool_lock */
    SLIST_HEAD(, hg_handle)
    spare_handles;           /* of targets, under pool_lock: refill.h */
    _Atomic uint32_t loaded; /* handles of targets with buffers */
    uint64_t refusals;       /* refused requests for more receives */
    _Atomic uint32_t taken;  /* completed receives; set in progress */
    union {
        _Atomic uint32_t posted; /* receives posted in total */
        uint32_t single_posted;  /* the same, if one thread uses the class */
    };
    _Atomic bool out_of_receives; /* no receive is posted any more */
    _Atomic bool postponed;       /* a receive could not be posted again */
    const struct hg_side *side;   /* of handles that receive requests */
    const struct hg_receiver *receiver; /* NULL: it doesn't listen */
    struct hg_multi *multi;             /* state of multi_recv.c */
};

void hg_net_init(struct hg_net *net, struct na_class *na_class);

void hg_port_init(struct hg_port *port, const struct hg_net *net,
    struct na_context *na_context);

/* Returns the maximum bytes of payload in a request message. */
static inline size_t
hg_net_in_room(const struct hg_net *net)
{
    return net->in_most;
}

/* Returns the maximum bytes of payload in a response message. */
static inline size_t
hg_net_out_room(const struct hg_net *net)
{
    return net->out_most;
}

#endif /* HG_NET_H */
