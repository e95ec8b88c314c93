/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that this class begins. */
#ifndef SM_CONNECT_H
#define SM_CONNECT_H

#include "conn.h"

#define SM_CONNECT_RETRY_NS TP_MS /* between calls to a full backlog */

/* Makes sure that an address, not that of the class itself, has a connection. It
 * may not be up yet, and even wait for room in the peer's backlog: sends to it
 * wait. HOSTUNREACH, PERMISSION, NOMEM, AGAIN (only under NO_RETRY), or what
 * tp_error_code makes of a system call's error. [any thread] */
int32_t sm_connect_to(na_plugin_class *cls, na_plugin_addr *addr);

/* Takes the lock of the connection to an address, not that of the class itself,
 * making it if there is none. Errors as sm_connect_to. [any thread] */
int32_t sm_connect_lock(
    na_plugin_class *cls, na_plugin_addr *peer, struct sm_conn **conn_p);

/* Calls those again whose peers had no room, and gives up on them, and on callers
 * that say nothing, in the end. [progress] */
void sm_connect_retry(na_plugin_class *cls, uint64_t now);

#endif /* SM_CONNECT_H */
