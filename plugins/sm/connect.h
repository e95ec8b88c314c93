/* SPDX-License-Identifier: BSD-3-Clause */
/* How connections come about: calling a name, answering a caller, trying again,
 * and what the class's epoll set reports. */
#ifndef SM_CONNECT_H
#define SM_CONNECT_H

#include "sm.h"

struct sm_batch;

/* Binds and listens as the class was opened: its unique name, and the short one
 * if there is a prefix (NULL: none) and nobody has it. */
int32_t sm_connect_init(na_plugin_class *cls, const char *prefix);

/* Closes the sockets of the class. */
void sm_connect_fini(na_plugin_class *cls);

/* Sees to it that an address, not that of the class itself, has a connection,
 * which may still be waiting for room in the peer's backlog. HOSTUNREACH,
 * PERMISSION, NOMEM, AGAIN (only under NO_RETRY). [any thread] */
int32_t sm_connect_to(na_plugin_class *cls, na_plugin_addr *addr);

/* Takes the lock of the connection to an address, not that of the class itself,
 * making it if there is none. Errors as sm_connect_to. [any thread] */
int32_t sm_connect_lock(
    na_plugin_class *cls, na_plugin_addr *peer, struct sm_conn **conn_p);

/* Asks the kernel what is new, and acts on it; messages that a lost peer has
 * left are delivered to batch. [progress] */
void sm_connect_check(
    na_plugin_class *cls, uint64_t now, struct sm_batch *batch);

/* Takes the wake-up that a peer has sent, or is about to send, so that it does
 * not disturb the next sleep. [progress] */
void sm_connect_take_wakeup(na_plugin_class *cls, struct sm_conn *conn);

/* How long until sm_connect_check has something to do by the clock, in
 * nanoseconds; UINT64_MAX: never. [progress] */
uint64_t sm_connect_sleep(const na_plugin_class *cls);

#endif /* SM_CONNECT_H */
