/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations: the plugin's part of them, behind the room that UCX wants for its
 * own, and how they end. */
#ifndef UCX_OP_H
#define UCX_OP_H

#include "class.h"

/* What an operation is, and where it stands. An operation that was done within
 * its submission is never written to, and stays idle. */
enum ucx_kind {
    UCX_OP_NONE, /* zeroed memory */
    UCX_OP_RECV_UNEXPECTED,
    UCX_OP_RECV_EXPECTED,
    UCX_OP_SEND,
    UCX_OP_SEND_SELF,
    UCX_OP_PUT,
    UCX_OP_GET,
};

enum ucx_state {
    UCX_OP_IDLE,   /* zeroed memory, or it has ended */
    UCX_OP_POSTED, /* in a list or table that its kind tells */
    UCX_OP_BUSY,   /* put, get: UCX has it */
};

struct ucx_conn;

struct ucx_op {
    /* its list; buffer, which a send only reads, and length. Put, get: its key is
     * a number */
    alignas(64) struct tp_recv recv;
    na_plugin_ctx *ctx;
    uint8_t kind;          /* enum ucx_kind */
    _Atomic uint8_t state; /* enum ucx_state */
    uint8_t peer_ctx;
    bool unexpected;       /* send */
    uint32_t tag;          /* send */
    int32_t status;        /* put, get: the first error */
    struct ucx_conn *conn; /* send, put, get; NULL: none yet, or to oneself */
    uint64_t deadline_ns;  /* send */
    struct {
        const na_plugin_mem *local;
        const na_plugin_mem *remote;
        uint64_t local_offset;
        uint64_t remote_offset;
        uint64_t
            asked;     /* bytes that fragments have been sent for; by UCX: parts
                           that have not come back */
        uint64_t done; /* bytes that have been answered */
    } rma;
};

static inline struct ucx_op *
ucx_op_of(const na_plugin_class *cls, void *op)
{
    return (struct ucx_op *) ((char *) op + cls->op_front);
}

static inline void *
ucx_op_name(const na_plugin_class *cls, struct ucx_op *op)
{
    return (char *) op - cls->op_front;
}

static inline struct ucx_op *
ucx_op_of_link(struct tp_link *link)
{
    return TP_OBJECT(link, struct ucx_op, recv.keyed.link);
}

static inline enum ucx_state
ucx_op_state(const struct ucx_op *op)
{
    return atomic_load_explicit(&op->state, memory_order_relaxed);
}

static inline void
ucx_op_set(struct ucx_op *op, enum ucx_state state)
{
    atomic_store_explicit(&op->state, (uint8_t) state, memory_order_relaxed);
}

/* An operation of a context becomes pending. False: no memory for its event.
 * [lock] */
static inline bool
ucx_op_post(na_plugin_ctx *ctx, struct ucx_op *op, enum ucx_kind kind)
{
    if (!tp_events_promise(&ctx->events))
        return false;
    op->ctx = ctx;
    op->kind = (uint8_t) kind;
    ucx_op_set(op, UCX_OP_POSTED);
    return true;
}

/* It was done within its submission after all. [lock] */
static inline void
ucx_op_unpost(struct ucx_op *op)
{
    op->ctx->events.promised--;
    ucx_op_set(op, UCX_OP_IDLE);
}

/* Ends it with this event. It is in no list any more. [lock] */
static inline void
ucx_op_end(struct ucx_op *op, const na_plugin_event *event)
{
    na_plugin_ctx *ctx = op->ctx;

    ucx_op_set(op, UCX_OP_IDLE);
    tp_events_emit(&ctx->events, event);
    if (__builtin_expect(ctx->armed, 0))
        tp_wake_set(&ctx->wake);
}

/* The same with nothing to report but the status. [lock] */
static inline void
ucx_op_finish(struct ucx_op *op, int32_t status)
{
    ucx_op_end(op, &(na_plugin_event){
                       .op = ucx_op_name(op->ctx->cls, op), .status = status});
}

/* Finishes all operations of a list. [lock] */
static inline void
ucx_op_finish_all(struct tp_list *list, int32_t status)
{
    struct tp_link *link;

    while ((link = tp_list_pop(list)) != NULL)
        ucx_op_finish(ucx_op_of_link(link), status);
}

#endif /* UCX_OP_H */
