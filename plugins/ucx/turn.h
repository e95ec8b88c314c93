/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Closing and opening in turn. UCX before 1.22 keeps events of a descriptor that it
 * has closed until the worker is polled; if another worker of the process has been
 * given the number by then, an assertion ends the process. So while a class polls
 * UCX to close endpoints, no other class of the process opens any.
 */
#ifndef UCX_TURN_H
#define UCX_TURN_H

#include "conn.h"

/* Waits until no other thread of this process has the turn. The one that has it may
 * take it again. Who has it takes no class's lock, and a host's log function that
 * UCX's callbacks call must not wait for a thread that uses another class. */
void ucx_turn_take(void);
void ucx_turn_drop(void);

/* UCX closes sockets in one of the next polls, which are done in turn. */
void ucx_turn_want(na_plugin_class *cls);

/* The peer of a connection, this class, or UCX has said that it ends: UCX is polled
 * in turn until it has. */
void ucx_turn_expect(struct ucx_conn *conn);

/* Its endpoint is being closed, or there is none. */
void ucx_turn_end(struct ucx_conn *conn);

/* ucp_worker_progress in turn; class.turns was not 0. */
uint32_t ucx_turn_progress(na_plugin_class *cls);

#endif /* UCX_TURN_H */
