/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts and their operations. */
#ifndef OFI_OP_H
#define OFI_OP_H

#include <stdalign.h>

#include "common/event.h"
#include "common/match.h"
#include "common/wake.h"
#include "types.h"

struct na_plugin_ctx {
    struct ofi_endpoint *ep;
    uint32_t id;
    void *core;
    bool armed; /* sleeps, or is about to */
    struct tp_events events;
    struct tp_match match;
    struct tp_wake wake; /* endpoint.wait_fd, and our own */
    struct tp_list jobs;
    struct tp_list sends;  /* messages of its operations */
    struct fid_ep *rma_ep; /* puts and gets, NULL before the first one */
    struct tp_list flying; /* fragments that libfabric has */
    bool guards;           /* the first endpoint's wait_fd is in wake as well */
    uint32_t attended;     /* the class's when it was last looked */
};

/* The kind and the state of an operation. */
enum ofi_kind {
    OFI_OP_NONE, /* zeroed memory */
    OFI_OP_RECV_UNEXPECTED,
    OFI_OP_RECV_MULTI,
    OFI_OP_RECV_EXPECTED,
    OFI_OP_SEND,
    OFI_OP_SEND_SELF, /* waits for room in the queue of its target */
    OFI_OP_RMA,
};

enum ofi_state {
    OFI_OP_IDLE, /* zeroed memory, or it has ended */
    OFI_OP_POSTED,
};

/* The plugin's part of an operation. */
struct ofi_op {
    alignas(64) struct tp_recv recv; /* a receive, or a send to oneself */
    struct tp_link by_peer;          /* expected receive: in peer.receives */
    na_plugin_ctx *ctx;
    uint64_t used; /* multi-receive: bytes given away */
    uint8_t kind;  /* enum ofi_kind */
    uint8_t state; /* enum ofi_state */
    uint8_t peer_ctx;
    uint8_t own_ctx;
    uint8_t own_kind; /* send to oneself: of enum ofi_header_kind */
    uint32_t tag;
    union {
        struct ofi_tx *tx;   /* send */
        struct ofi_job *job; /* put, get */
        struct ofi_peer
            *peer; /* expected receive: it is in its list; one reference */
    };
};

static inline struct ofi_op *
ofi_op_of(struct tp_link *link)
{
    return TP_OBJECT(link, struct ofi_op, recv.keyed.link);
}

/* An operation becomes pending. False: no memory for its event. [lock] */
static inline bool
ofi_op_post(na_plugin_ctx *ctx, struct ofi_op *op, enum ofi_kind kind)
{
    if (!tp_events_promise(&ctx->events))
        return false;
    op->ctx = ctx;
    op->kind = (uint8_t) kind;
    op->state = OFI_OP_POSTED;
    return true;
}

/* It was done within its submission, or failed there. [lock] */
static inline void
ofi_op_unpost(struct ofi_op *op)
{
    op->ctx->events.promised--;
    op->state = OFI_OP_IDLE;
}

/* Ends it with this event. It is in no list any more. [lock] */
static inline void
ofi_op_end(struct ofi_op *op, const na_plugin_event *event)
{
    na_plugin_ctx *ctx = op->ctx;

    op->state = OFI_OP_IDLE;
    tp_events_emit(&ctx->events, event);
    if (__builtin_expect(ctx->armed, 0))
        tp_wake_set(&ctx->wake);
}

/* The same with nothing to report but the status. [lock] */
static inline void
ofi_op_finish(struct ofi_op *op, int32_t status)
{
    ofi_op_end(op, &(na_plugin_event){.op = op, .status = status});
}

#endif /* OFI_OP_H */
