/* SPDX-License-Identifier: BSD-3-Clause */
/* Poll: messages out of the rings, events out of the ready list. */
#ifndef SM_PROGRESS_H
#define SM_PROGRESS_H

#include "sm.h"

/* The events that one poll fills in. */
struct sm_batch {
    na_plugin_ctx *ctx;
    na_plugin_event *next; /* the one to be filled in */
    na_plugin_event *end;
    bool locked; /* ctx->lock is held: taken at its first message */
};

/* Function of the ABI; and for a class that has one thread at once. */
int32_t sm_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);
int32_t sm_poll_single(
    na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);

/* Delivers all that is left in a connection's ring, whatever the bounds. False:
 * it was broken, and the connection has ended. [progress] */
bool sm_progress_drain(
    na_plugin_class *cls, struct sm_conn *conn, struct sm_batch *batch);

/* Whether a connection has a message that can be delivered now. [progress] */
bool sm_progress_waits(na_plugin_class *cls, struct sm_conn *conn);

#endif /* SM_PROGRESS_H */
