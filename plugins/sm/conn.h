/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections as objects: their memory, the order in which their rings are
 * looked at, beginning and end. How they come about is in connect.h. */
#ifndef SM_CONN_H
#define SM_CONN_H

#include "hello.h"
#include "sm.h"
#include "socket.h"

/* A fresh connection without socket or ring, in the class's list. NULL: no
 * memory. [progress] */
struct sm_conn *sm_conn_make(na_plugin_class *cls);

/* Moves it to another state. [progress] */
void sm_conn_move(struct sm_conn *conn, enum sm_conn_state state);

/* Gives it a socket, and the process at its other end, to watch. The
 * descriptors are the connection's from here on, whatever is returned. NOMEM.
 * [progress] */
int32_t sm_conn_attach(na_plugin_class *cls, struct sm_conn *conn, int fd,
    const struct sm_process *process);

/* The peer has said hello: maps its ring and its registry, notes its name, and
 * begins to receive. NULL, or what is wrong with the peer; the connection is to be broken
 * then. [progress] */
const char *sm_conn_begin(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_hello *hello, const struct sm_hello_fds *fds);

/* Ends a connection: what is pending to or from its peer ends with status, all
 * memory and descriptors go. [progress] */
void sm_conn_end(na_plugin_class *cls, struct sm_conn *conn, int32_t status);

/* The same for a peer that has broken the protocol, with a line that says how.
 * [progress] */
void sm_conn_break(
    na_plugin_class *cls, struct sm_conn *conn, const char *wrong);

/* Makes the memory of ended connections that nobody uses any more available
 * again. [progress] */
void sm_conn_recycle(na_plugin_class *cls);

/* Frees everything. [exclusive] */
void sm_conn_fini(na_plugin_class *cls);

/* Looks at this connection's ring in each poll from now on; or now and then
 * only. [progress] */
void sm_conn_heat(na_plugin_class *cls, struct sm_conn *conn);
void sm_conn_cool(na_plugin_class *cls, struct sm_conn *conn);

/* Tells the poller that the queue has got its first send. [lock] */
void sm_conn_stall(na_plugin_class *cls, struct sm_conn *conn);

/* Moves the connections that were told so to cls->stalled. [progress] */
void sm_conn_absorb(na_plugin_class *cls);

/* What stands in the epoll set for a connection's socket, or its process. */
static inline uint64_t
sm_conn_tag(const struct sm_conn *conn, bool process)
{
    return (uint64_t) (uintptr_t) conn | (process ? 1 : 0);
}

/* Name for log lines. */
const char *sm_conn_name(const struct sm_conn *conn);

#endif /* SM_CONN_H */
