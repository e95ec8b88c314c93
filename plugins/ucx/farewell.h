/* SPDX-License-Identifier: BSD-3-Clause */
/* Closing all connections of a class. */
#ifndef UCX_FAREWELL_H
#define UCX_FAREWELL_H

#include "ucx.h"

/* Takes leave of the peers, waits a moment for those that may not have read all
 * yet, ends every connection, and frees them. [lock] */
void ucx_farewell(na_plugin_class *cls);

#endif /* UCX_FAREWELL_H */
