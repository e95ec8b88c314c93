/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX itself: configured, opened, closed. */
#ifndef UCX_LIBRARY_H
#define UCX_LIBRARY_H

#include "class.h"

/* Opens UCX's context and worker for a class whose tls and devices are set.
 * NODEV, PROTONOSUPPORT, NOMEM, logged at level ERROR. */
int32_t ucx_library_open(na_plugin_class *cls);

/* Takes both back, from whatever stage. */
void ucx_library_close(na_plugin_class *cls);

#endif /* UCX_LIBRARY_H */
