/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An RPC server and a TCP server in one libuv loop, on one thread:
 *
 *   uv-server INFO
 *
 * prints its RPC address and its TCP port, each on a line, and ends on SIGTERM or
 * SIGINT once it has answered what it had accepted. A handler returns at once
 * and a timer of the loop answers later; a TCP connection gets one line with the
 * numbers of answers and of requests that wait for theirs.
 */
#include "rpcs.h"
#include "talaria_uv.h"
#include "tcp.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

/* A request between its arrival and the end of its answer. */
struct request {
    LIST_ENTRY(request) next;
    uv_timer_t timer;
    hg_handle_t handle;
    later_in_t in;
};

struct server {
    hg_class_t *hg_class;
    hg_context_t *context;
    struct talaria_uv uv;
    struct tcp_status tcp;
    uv_signal_t signals[2];
    LIST_HEAD(, request) requests;
    uint32_t served;
    bool stopping;
    int status; /* to exit with */
};

static void
stopped(struct talaria_uv *uv)
{
    (void) uv; /* the loop has nothing left, and uv_run returns */
}

/* The context leaves the loop when the last answer has been sent. */
static void
stop_if_idle(struct server *server)
{
    if (server->stopping && LIST_EMPTY(&server->requests))
        talaria_uv_stop(&server->uv, stopped);
}

static void
free_request(uv_handle_t *timer)
{
    free(timer->data);
}

static void
end_request(struct server *server, struct request *request)
{
    LIST_REMOVE(request, next);
    HG_Free_input(request->handle, &request->in);
    HG_Destroy(request->handle);
    uv_close((uv_handle_t *) &request->timer, free_request);
    stop_if_idle(server);
}

static struct server *
server_of(hg_handle_t handle)
{
    return HG_Class_get_data(HG_Get_info(handle)->hg_class);
}

static hg_return_t
responded(const struct hg_cb_info *info)
{
    struct request *request = info->arg;
    struct server *server = server_of(request->handle);

    if (info->ret != HG_SUCCESS)
        fprintf(stderr, "answer lost: %s\n", HG_Error_to_string(info->ret));
    end_request(server, request);
    return HG_SUCCESS;
}

static void
answer(uv_timer_t *timer)
{
    struct request *request = timer->data;
    struct server *server = server_of(request->handle);
    later_out_t out = {.text = request->in.text};
    hg_return_t ret = HG_Respond(request->handle, responded, request, &out);

    server->served++;
    if (ret == HG_SUCCESS)
        return;
    fprintf(stderr, "cannot answer: %s\n", HG_Error_to_string(ret));
    end_request(server, request);
}

/* An error is sent as the answer, and the handle is given back. */
static hg_return_t
handle_later(hg_handle_t handle)
{
    struct server *server = server_of(handle);
    struct request *request = calloc(1, sizeof *request);
    hg_return_t ret = request ? HG_Get_input(handle, &request->in) : HG_NOMEM;

    if (ret == HG_SUCCESS && request->in.delay_ms > DELAY_MAX) {
        HG_Free_input(handle, &request->in);
        ret = HG_INVALID_ARG;
    }
    if (ret != HG_SUCCESS) {
        free(request);
        return ret;
    }
    request->handle = handle;
    request->timer.data = request;
    LIST_INSERT_HEAD(&server->requests, request, next);
    uv_timer_init(server->uv.prepare.loop, &request->timer);
    uv_timer_start(&request->timer, answer,
        server->stopping ? 0 : request->in.delay_ms, 0);
    return HG_SUCCESS;
}

static void
describe(void *arg, char *line)
{
    const struct server *server = arg;
    const struct request *request;
    unsigned pending = 0;

    LIST_FOREACH (request, &server->requests, next)
        pending++;
    snprintf(
        line, TCP_LINE_MAX, "served %u, pending %u", server->served, pending);
}

/* Answers at once what waits for its time. */
static void
stop(struct server *server, int status)
{
    struct request *request;

    if (server->stopping)
        return;
    server->stopping = true;
    server->status = status;
    for (int i = 0; i < 2; i++)
        uv_close((uv_handle_t *) &server->signals[i], NULL);
    uv_close((uv_handle_t *) &server->tcp.listener, NULL);
    LIST_FOREACH (request, &server->requests, next)
        if (uv_is_active((const uv_handle_t *) &request->timer))
            uv_timer_start(&request->timer, answer, 0, 0);
    stop_if_idle(server);
}

static void
signaled(uv_signal_t *signal, int number)
{
    (void) number;
    stop(signal->data, 0);
}

/* The operations of a lost transport have ended with errors. */
static void
failed(struct talaria_uv *uv, hg_return_t ret)
{
    fprintf(stderr, "the transport failed: %s\n", HG_Error_to_string(ret));
    exit(1);
    (void) uv;
}

static int
print_addresses(struct server *server, int port)
{
    char string[256];
    hg_size_t size = sizeof string;
    hg_addr_t self = HG_ADDR_NULL;
    hg_return_t ret = HG_Addr_self(server->hg_class, &self);

    if (ret == HG_SUCCESS)
        ret = HG_Addr_to_string(server->hg_class, string, &size, self);
    HG_Addr_free(server->hg_class, self);
    if (ret != HG_SUCCESS) {
        fprintf(stderr, "own address: %s\n", HG_Error_to_string(ret));
        return 1;
    }
    printf("%s\n%d\n", string, port);
    return fflush(stdout) == 0 ? 0 : 1;
}

static int
run(struct server *server, uv_loop_t *loop)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    int port, ret;

    ret = talaria_uv_start(&server->uv, loop, server->context, failed);
    if (ret == 0)
        ret = tcp_status_start(&server->tcp, loop, &port);
    for (int i = 0; ret == 0 && i < 2; i++) {
        server->signals[i].data = server;
        uv_signal_init(loop, &server->signals[i]);
        ret = uv_signal_start(&server->signals[i], signaled, numbers[i]);
    }
    if (ret != 0) {
        fprintf(stderr, "cannot start: %s\n", uv_strerror(ret));
        return 1;
    }
    if (print_addresses(server, port) != 0)
        return 1;
    uv_run(loop, UV_RUN_DEFAULT);
    return server->status;
}

int
main(int argc, char **argv)
{
    struct server server = {.tcp = {.describe = describe, .arg = &server}};
    uv_loop_t *loop = uv_default_loop();
    int status = 1;

    if (argc != 2) {
        fprintf(stderr, "usage: uv-server INFO\n");
        return 2;
    }
    LIST_INIT(&server.requests);
    server.hg_class = HG_Init(argv[1], HG_TRUE);
    if (!server.hg_class)
        return 1; /* the log has the reason */
    HG_Class_set_data(server.hg_class, &server, NULL);
    server.context = HG_Context_create(server.hg_class);
    if (server.context && rpcs_register(server.hg_class, handle_later) != 0)
        status = run(&server, loop);
    if (server.context && HG_Context_destroy(server.context) != HG_SUCCESS)
        status = 1;
    if (HG_Finalize(server.hg_class) != HG_SUCCESS)
        status = 1;
    return uv_loop_close(loop) == 0 ? status : 1;
}
