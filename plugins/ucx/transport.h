/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX's transports: which there are here. */
#ifndef UCX_TRANSPORT_H
#define UCX_TRANSPORT_H

#include "class.h"

/* Whether each transport that a class names is there. PROTONOSUPPORT, with what
 * there is in the log at level ERROR. */
int32_t ucx_transport_check(na_plugin_class *cls);

/* Whether a class uses a transport, by UCX's own name of that. */
bool ucx_transport_used(const na_plugin_class *cls, const char *transport);

/* Logs at level ERROR that nothing can be used of what is there. */
void ucx_transport_say_available(na_plugin_class *cls);

#endif /* UCX_TRANSPORT_H */
