/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX opens descriptors without close-on-exec, and does not tell which: they are
 * marked afterwards. A child that holds its sockets would keep this process alive
 * in the eyes of peers: they are closed in it. */
#ifndef UCX_DESCRIPTOR_H
#define UCX_DESCRIPTOR_H

#include "common/descriptor.h"
#include <stdbool.h>

#define UCX_KEEPALIVE_S 1 /* between UCX's looks after peers */

/* Marks those that have come since, of the kinds that UCX opens; the ports of
 * sockets that listen among them are UCX's from now on. */
void ucx_descriptor_mark(const struct tp_descriptors *before);

/* This port is UCX's, at either end of a socket. */
void ucx_descriptor_own_port(uint32_t port);

/* Marks sockets that are UCX's by their options, or by a port: looks at all
 * descriptors that there are. */
void ucx_descriptor_mark_sockets(void);

/* The same when UCX has opened some, as it does for a connection; whether it was
 * done. Of many descriptors not each time, so that all in all the looks cost as
 * much as there are connections. If not, mark_sockets has to follow. */
bool ucx_descriptor_mark_some(void);

/* Calls a function for each socket of this process that is UCX's. */
void ucx_descriptor_each(void (*each)(int fd, void *arg), void *arg);

#endif /* UCX_DESCRIPTOR_H */
