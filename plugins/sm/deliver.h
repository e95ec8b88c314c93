/* SPDX-License-Identifier: BSD-3-Clause */
/* Delivering what is in a connection's ring. */
#ifndef SM_DELIVER_H
#define SM_DELIVER_H

#include "conn.h"
#include "context.h"

/* The events that one poll fills in. */
struct sm_batch {
    na_plugin_ctx *ctx;
    na_plugin_event *next; /* the one to be filled in */
    na_plugin_event *end;
    bool locked; /* ctx->lock is held: taken at its first message */
};

static inline void
sm_batch_lock(struct sm_batch *batch)
{
    if (!batch->locked) {
        tp_lock_take(&batch->ctx->lock);
        batch->locked = true;
    }
}

static inline void
sm_batch_unlock(struct sm_batch *batch)
{
    if (batch->locked) {
        tp_lock_drop(&batch->ctx->lock);
        batch->locked = false;
    }
}

/* Tells the producer what has been consumed, now and then. [progress] */
static inline void
sm_deliver_report(na_plugin_class *cls, struct sm_conn *conn)
{
    if (sm_ring_report_due(&conn->rx) && sm_ring_report(&conn->rx))
        sm_conn_wake_peer(cls, conn);
}

/* Delivers the record that word announces; whether the next one may follow: not if
 * it is held back for want of room in its context, or invalid. force: whatever the
 * bounds. [progress] */
bool sm_deliver_next(na_plugin_class *cls, struct sm_conn *conn,
    struct sm_batch *batch, uint64_t word, bool force);

/* Delivers all that is left in a connection's ring, whatever the bounds.
 * [progress] */
void sm_deliver_all(na_plugin_class *cls, struct sm_conn *conn);

/* Whether a connection has a message that can be delivered now. [progress] */
bool sm_deliver_waits(na_plugin_class *cls, struct sm_conn *conn);

#endif /* SM_DELIVER_H */
