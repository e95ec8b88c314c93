/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX's listener of a class. */
#ifndef UCX_LISTENER_H
#define UCX_LISTENER_H

#include "class.h"
#include "common/host.h"

/* Listens; *where_p: where, in and out. ADDRINUSE, ADDRNOTAVAIL, logged at level
 * ERROR. The class's worker is open. */
int32_t ucx_listener_open(na_plugin_class *cls, struct tp_place *where_p);

/* Refuses further callers. Those that UCX's thread has accepted are reported to
 * ucx_connect_on_request when UCX makes progress. Waits up to a second for that
 * thread. [lock] */
void ucx_listener_refuse(const na_plugin_class *cls);

/* Ends the listener, if there is one, and with it the callers that have not been
 * reported. After refuse, when the class is closing and has no connection. Waits up
 * to a second for UCX. [lock] */
void ucx_listener_close(na_plugin_class *cls);

#endif /* UCX_LISTENER_H */
