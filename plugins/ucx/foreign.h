/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that end before the hello: the peer has ended, or is none of
 * Talaria's. The log says so. */
#ifndef UCX_FOREIGN_H
#define UCX_FOREIGN_H

#include "ucx.h"

/* A connection ends, why: by what UCX says, or by a time that is over. Says it
 * in the words of a connection that is up, or of one without a hello. [lock] */
void ucx_foreign_say(struct ucx_conn *conn, const char *why);

/* The same, of one to where nobody listens. [lock] */
void ucx_foreign_say_nobody(const struct ucx_conn *conn, const char *why);

#endif /* UCX_FOREIGN_H */
