/* SPDX-License-Identifier: BSD-3-Clause */
/* A TCP service of one command: each connection gets one line of text and is
 * closed. */
#ifndef TCP_H
#define TCP_H

#include <uv.h>

#define TCP_LINE_MAX 128U

struct tcp_status {
    uv_tcp_t listener;
    /* Writes the line, without its end, into TCP_LINE_MAX bytes. */
    void (*describe)(void *arg, char *line);
    void *arg;
};

/* Listens at 127.0.0.1 on a port that the system chooses; *port_p gets it.
 * status must stay valid until the loop has closed all its handles. Returns 0 or
 * a libuv error; then the listener is to be closed, if it was initialized. */
int tcp_status_start(struct tcp_status *status, uv_loop_t *loop, int *port_p);

#endif /* TCP_H */
