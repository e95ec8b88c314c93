/* SPDX-License-Identifier: BSD-3-Clause */
/* The begin of a connection: a structure, a socket, and the peer's hello. Every
 * function wants progress. */
#ifndef SM_ESTABLISH_H
#define SM_ESTABLISH_H

#include "conn.h"
#include "hello.h"
#include "socket.h"

/* A fresh connection without socket or ring, in the class's list. NULL: no
 * memory. */
struct sm_conn *sm_conn_make(na_plugin_class *cls);

/* Moves it to another state. */
void sm_conn_set_state(struct sm_conn *conn, enum sm_conn_state state);

/* Gives it a socket, and the process at its other end, to watch. The
 * descriptors are the connection's from here on, whatever is returned. NOMEM. */
int32_t sm_conn_attach(na_plugin_class *cls, struct sm_conn *conn, int fd,
    const struct sm_process *process);

/* Gives it the ring that it sends into. *ring_p: its memory, to be passed to the
 * peer and closed. An errno, or 0. */
int sm_conn_make_ring(na_plugin_class *cls, struct sm_conn *conn, int *ring_p);

/* The peer has said hello: maps its ring and its registry, notes its name, and
 * reports the connection up. NULL, or what is wrong with the peer; the connection
 * is to be broken then. */
const char *sm_conn_take_hello(na_plugin_class *cls, struct sm_conn *conn,
    const struct sm_hello *hello, const struct sm_hello_fds *fds);

/* A connection that is up: its ring is polled from here on, and the addresses of
 * its peer lead to it. */
void sm_conn_begin(na_plugin_class *cls, struct sm_conn *conn);

#endif /* SM_ESTABLISH_H */
