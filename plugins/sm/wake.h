/* SPDX-License-Identifier: BSD-3-Clause */
/* Waking who sleeps: a peer by its socket, a context of this class by its
 * eventfd. */
#ifndef SM_WAKE_H
#define SM_WAKE_H

#include "sm.h"

/* Sends a wake-up to a connection's peer. [progress or conn->lock] */
void sm_wake_peer(na_plugin_class *cls, struct sm_conn *conn);

/* Makes the descriptor of a context readable, if it is armed. [ctx->lock] */
void sm_wake_ctx(na_plugin_ctx *ctx);

/* The same, taking the lock. */
void sm_wake_ctx_unlocked(na_plugin_ctx *ctx);

#endif /* SM_WAKE_H */
