/* SPDX-License-Identifier: BSD-3-Clause */
/* Closing all connections of a class. */
#ifndef UCX_CLOSE_H
#define UCX_CLOSE_H

#include "class.h"

/* Closes every connection gracefully, waits a moment for peers that may not have
 * read all yet, then ends and frees what is left. [lock] */
void ucx_close(na_plugin_class *cls);

#endif /* UCX_CLOSE_H */
