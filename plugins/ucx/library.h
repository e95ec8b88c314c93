/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX itself: configured, opened, closed. */
#ifndef UCX_LIBRARY_H
#define UCX_LIBRARY_H

#include "class.h"
#include "common/host.h"

/* Opens UCX's context and worker for a class whose tls and devices are set.
 * NODEV, PROTONOSUPPORT, NOMEM, logged at level ERROR. */
int32_t ucx_library_open(na_plugin_class *cls);

/* Listens; *where_p: where, in and out. ADDRINUSE, ADDRNOTAVAIL, likewise. */
int32_t ucx_library_listen(na_plugin_class *cls, struct tp_place *where_p);

/* Takes both back, from whatever stage. */
void ucx_library_close(na_plugin_class *cls);

#endif /* UCX_LIBRARY_H */
