/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define BACKLOG 16

struct connection {
    uv_tcp_t tcp;
    uv_write_t write;
    char line[TCP_LINE_MAX + 1];
};

static void
free_connection(uv_handle_t *handle)
{
    free(handle->data);
}

static void
written(uv_write_t *write, int status)
{
    (void) status; /* a client that left early needs no line */
    uv_close((uv_handle_t *) write->handle, free_connection);
}

static void
accepted(uv_stream_t *listener, int status)
{
    struct tcp_status *service = listener->data;
    struct connection *connection;
    uv_buf_t buffer;

    if (status < 0)
        return;
    connection = calloc(1, sizeof *connection);
    if (!connection)
        return; /* libuv accepts no further connection until this one is */
    connection->tcp.data = connection;
    uv_tcp_init(listener->loop, &connection->tcp);
    if (uv_accept(listener, (uv_stream_t *) &connection->tcp) != 0) {
        uv_close((uv_handle_t *) &connection->tcp, free_connection);
        return;
    }
    service->describe(service->arg, connection->line);
    strcat(connection->line, "\n");
    buffer =
        uv_buf_init(connection->line, (unsigned int) strlen(connection->line));
    if (uv_write(&connection->write, (uv_stream_t *) &connection->tcp, &buffer,
            1, written) != 0)
        uv_close((uv_handle_t *) &connection->tcp, free_connection);
}

int
tcp_status_start(struct tcp_status *status, uv_loop_t *loop, int *port_p)
{
    struct sockaddr_in address;
    int length = sizeof address;
    int ret = uv_ip4_addr("127.0.0.1", 0, &address);

    uv_tcp_init(loop, &status->listener);
    status->listener.data = status;
    if (ret == 0)
        ret = uv_tcp_bind(
            &status->listener, (const struct sockaddr *) &address, 0);
    if (ret == 0)
        ret = uv_listen((uv_stream_t *) &status->listener, BACKLOG, accepted);
    if (ret == 0)
        ret = uv_tcp_getsockname(
            &status->listener, (struct sockaddr *) &address, &length);
    *port_p = ntohs(address.sin_port);
    return ret;
}
