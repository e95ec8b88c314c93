/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets that a forked child does not keep: peers would take it for this process
 * as long as it lives. Close-on-exec closes them when it executes another program,
 * these are closed as soon as it is there. [any thread] */
#ifndef TP_SOCKET_H
#define TP_SOCKET_H

/* As socket(2), accept(2) and socketpair(2) for streams: without blocking, and
 * close-on-exec. -1: errno says why. The caller's, to be closed by tp_socket_close.
 * Descriptors from 65536 on stay open in a child. Another socket gets
 * the same by dup3 over one of these. */
int tp_socket_open(int family);
int tp_socket_accept(int listener);
int tp_socket_pair(int fds[2]); /* 0, or -1 */

/* fd: one of these, or -1. */
void tp_socket_close(int fd);

#endif /* TP_SOCKET_H */
