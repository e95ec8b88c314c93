/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations: the plugin's part of them. */
#ifndef SM_OP_H
#define SM_OP_H

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "common/match.h"
#include "na_plugin.h"

/* Kind and state. An operation that was done within its submission is never written
 * to, and stays idle. */
enum sm_kind {
    SM_OP_NONE, /* zeroed memory */
    SM_OP_RECV_UNEXPECTED,
    SM_OP_RECV_EXPECTED,
    SM_OP_SEND,
    SM_OP_SEND_SELF,
    SM_OP_PUT,
    SM_OP_GET,
};

enum sm_state {
    SM_OP_IDLE,   /* zeroed memory, or its final event has been reported */
    SM_OP_POSTED, /* in a list or table that its kind tells */
    SM_OP_READY,  /* has ended: about to be, or in, the ready list */
};

/* Where a put or get is in a burst (burst.h). */
enum sm_burst {
    SM_BURST_NONE,
    SM_BURST_WAITING, /* in its context's list */
    SM_BURST_COPYING,
};

struct sm_conn;

struct sm_op {
    /* its list; buffer, which a send only reads, and length. Emulated put or
     * get: the key is its number */
    alignas(64) struct tp_recv recv;
    na_plugin_ctx *ctx;
    uint8_t kind;          /* enum sm_kind */
    _Atomic uint8_t state; /* enum sm_state; written under the lock of the
                              list it enters or leaves */
    uint8_t stop;          /* put, get: cancelled while it is copied */
    uint8_t burst;         /* put, get: enum sm_burst; under ctx->lock */
    /* put, get: in conn.emulated. Written under progress and ctx->lock. */
    _Atomic bool emulated;
    uint8_t own_ctx;  /* put, get: number of the context */
    uint8_t peer_ctx; /* and of the peer's */
    union {
        struct sm_conn *conn;  /* send, put, get; NULL: to oneself */
        na_plugin_ctx *target; /* send to oneself: the context */
    } to;

    union {
        na_plugin_event result;
        struct {
            uint64_t word; /* of the record to be */
            uint32_t tag;
            uint64_t deadline_ns;
        } send;
        struct {
            const na_plugin_mem *local;
            const na_plugin_mem *remote;
            uint64_t local_offset; /* these three move on with each slice */
            uint64_t remote_offset;
            uint64_t length;
            union {
                uint64_t serial; /* of the connection */
                uint64_t asked;  /* emulated: bytes asked for, or sent */
            };
            uint64_t arrived; /* emulated: bytes of a get that have arrived */
        } rma;
    };
};

static_assert(sizeof(struct sm_op) == 128, "two lines an operation");

static inline struct sm_op *
sm_op_of(struct tp_link *link)
{
    return link != NULL ? TP_OBJECT(link, struct sm_op, recv.keyed.link) : NULL;
}

static inline enum sm_state
sm_op_state(const struct sm_op *op)
{
    /* acquire: pairs with the release in sm_op_set: the kind of a posted
     * operation may be read without a lock (sm_cancel) */
    return atomic_load_explicit(&op->state, memory_order_acquire);
}

static inline void
sm_op_set(struct sm_op *op, enum sm_state state)
{
    atomic_store_explicit(&op->state, (uint8_t) state, memory_order_release);
}

#endif /* SM_OP_H */
