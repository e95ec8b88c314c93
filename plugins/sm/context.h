/* SPDX-License-Identifier: BSD-3-Clause */
/* A context, the operations that have ended in it, and waking it. */
#ifndef SM_CONTEXT_H
#define SM_CONTEXT_H

#include "class.h"
#include "common/wake.h"
#include "op.h"
#include "range.h"
#include "thread.h"
#include "written.h"

/* Its memory stays until the class is closed. */
struct na_plugin_ctx {
    na_plugin_class *cls;
    uint32_t id;
    /* what its polls have to do besides: results in ready, and bits_set */
    _Atomic uint32_t pending;
    /* sm_ctx_caller of the last poll; + 1: and then it submitted a put or get. Any
     * thread writes it: a guide for bursts and for written, no guard. */
    _Atomic uintptr_t poller;

    struct tp_lock lock; /* guards all down to rma_active, and wake */
    bool alive;
    struct tp_list ready; /* operations with their results */
    struct tp_match match;
    struct tp_quota quota;
    struct tp_list burst; /* short puts and gets for the next poll */
    struct tp_list rma;   /* puts and gets that polls work on */
    struct sm_op *rma_active;

    struct tp_lock rma_lock; /* held during a slice, or a burst */
    struct sm_range range;   /* of a get that the peer helps with */

    /* of the poller, without a lock */
    struct sm_written written;
    uint32_t rma_skipped;  /* polls since the last slice */
    uint32_t rma_doubled;  /* times that the length of a slice was doubled */
    uint64_t rma_copied;   /* bytes of the last slice */
    uint64_t rma_received; /* records of the class at the last poll */

    struct tp_wake wake;   /* the class's set, and our own eventfd */
    _Atomic bool armed;    /* written under lock */
    _Atomic bool bits_set; /* in the rings: progress */
};

/* The calling thread, for poller. single: the class has one thread, which is 0. */
static inline uintptr_t
sm_ctx_caller(const bool single)
{
    return single ? 0 : sm_thread();
}

/* Puts a put or get into the queue. [lock] */
void sm_ctx_queue(na_plugin_ctx *ctx, struct sm_op *op);

/* Puts an operation with its result into the ready list, and wakes the
 * context. [lock] */
void sm_ctx_ready(na_plugin_ctx *ctx, struct sm_op *op);

/* Ends an operation that is in no list, with this status and without a message.
 * Takes the lock of its context. */
void sm_ctx_finish(struct sm_op *op, int32_t status);

/* Ends all operations of a list so. */
void sm_ctx_finish_all(struct tp_list *list, int32_t status);

/* Removes the operations of a context from a list, without events. */
void sm_ctx_remove_ops(const na_plugin_ctx *ctx, struct tp_list *list);

/* Moves up to max results of the ready list to events; how many. Takes the
 * lock. */
uint32_t sm_ctx_take_ready(
    na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);

/* Makes the descriptor of a context readable, if it is armed. [lock] */
void sm_ctx_wake(na_plugin_ctx *ctx);

#endif /* SM_CONTEXT_H */
