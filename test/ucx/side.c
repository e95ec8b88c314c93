/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes, operations and processes for the ucx plugin's tests. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plugin_user.h"
#include "side.h"

uint64_t
now_ms(void)
{
    return now_ns() / 1000000;
}

const na_plugin *
side_plugin(void)
{
    static const na_plugin *plugin;

    if (plugin == NULL)
        plugin = plugin_load("NA_UCX_PLUGIN");
    return plugin;
}

static void
host_log(const na_plugin_host *host, int32_t level, const char *file,
    uint32_t line, const char *text)
{
    struct side *side = host->priv;

    if (level <= NA_PLUGIN_LOG_WARNING) {
        side->warnings++;
        snprintf(side->last, sizeof(side->last), "%s", text);
    }
    if (level == NA_PLUGIN_LOG_ERROR)
        side->errors++;
    if (side->expected != NULL && strstr(text, side->expected) != NULL)
        side->matched++;
    if (getenv("SIDE_VERBOSE") != NULL)
        fprintf(stderr, "%d: %s:%u: %s\n", (int) getpid(), file, line, text);
}

static uint64_t
host_number(const na_plugin_host *host, const char *key)
{
    const struct side *side = host->priv;

    return plugin_setting(side_plugin(), key, side->key, side->value);
}

int32_t
side_try(struct side *side, const char *protocol, const char *device,
    const char *host, int32_t port, uint32_t flags)
{
    char name[SIDE_TEXT];
    na_plugin_open_info info = {.size = sizeof(info),
        .flags = flags,
        .protocol = protocol,
        .device = device,
        .host = host,
        .port = port,
        .ip_subnet = side->subnet,
        .addr_format = side->addr_format,
        .max_contexts = 1};

    if (host != NULL) {
        snprintf(name, sizeof(name), "%s%s%s:%d", device != NULL ? device : "",
            device != NULL ? "/" : "", host, (int) port);
        info.name = name;
    }
    side->log_level = NA_PLUGIN_LOG_DEBUG;
    plugin_host(&side->host, side, &side->log_level, host_log);
    side->host.number = host_number;
    side->opened = (na_plugin_opened){.size = sizeof(side->opened)};
    int32_t ret = side_plugin()->open(&side->host, &info, &side->opened);
    side->cls = ret == NA_PLUGIN_OK ? side->opened.cls : NULL;
    side->ops = side->opened.ops;
    side->ctx = NULL;
    return ret;
}

void
side_open(struct side *side, const char *protocol, const char *host,
    int32_t port, uint32_t flags)
{
    int32_t ret = side_try(side, protocol, NULL, host, port, flags);
    ck_assert_msg(ret == NA_PLUGIN_OK, "open: %d, %s", (int) ret, side->last);
    ret = side->ops->ctx_create(side->cls, 0, side, &side->ctx);
    ck_assert_int_eq(ret, NA_PLUGIN_OK);
    side->wait = side->ops->extension(side->cls, NA_PLUGIN_WAIT_ID);
}

void
side_close(struct side *side)
{
    if (side->ctx != NULL)
        side->ops->ctx_destroy(side->ctx);
    side_plugin()->close(side->cls);
}

void
side_name(struct side *side, char name[SIDE_TEXT])
{
    plugin_self(side->ops, side->cls, name, SIDE_TEXT);
}

na_plugin_addr *
side_lookup(struct side *side, const char *name)
{
    na_plugin_addr *addr;
    int32_t ret = side->ops->addr_lookup(side->cls, name, &addr);

    ck_assert_msg(
        ret == NA_PLUGIN_OK, "%s: %d, %s", name, (int) ret, side->last);
    return addr;
}

uint64_t
side_counter(struct side *side, const char *name)
{
    return plugin_counter(side->ops, side->cls, name);
}

#define ACTS 64

static _Thread_local struct act *acts[ACTS]; /* of who polls */

void
act_init(struct act *act, struct side *side)
{
    memset(act, 0, sizeof(*act));
    act->side = side;
    act->op = plugin_op(&side->opened);
    for (size_t i = 0; i < ACTS; i++) {
        if (acts[i] == NULL) {
            acts[i] = act;
            return;
        }
    }
    ck_abort_msg("too many operations");
}

void
act_fini(struct act *act)
{
    for (size_t i = 0; i < ACTS; i++)
        if (acts[i] == act)
            acts[i] = NULL;
    free(act->op);
}

static void
ended(const na_plugin_event *event)
{
    for (size_t i = 0; i < ACTS; i++) {
        if (acts[i] != NULL && acts[i]->op == event->op) {
            if (!acts[i]->pending)
                ck_abort_msg("an operation ends twice");
            acts[i]->pending = false;
            acts[i]->end = *event;
            return;
        }
    }
    ck_abort_msg("the end of no operation");
}

void
side_poll(struct side *side)
{
    na_plugin_event events[16];
    int32_t count = side->ops->poll(side->ctx, events, 16);

    /* a passing assertion would be recorded by libcheck each time */
    if (count < 0)
        ck_abort_msg("poll: %d", (int) count);
    for (int32_t i = 0; i < count; i++)
        ended(&events[i]);
}

static void
submitted(struct act *act, int32_t ret)
{
    act->pending = ret == NA_PLUGIN_PENDING;
    if (!act->pending)
        act->end = (na_plugin_event){
            .op = act->op, .status = ret == NA_PLUGIN_DONE ? 0 : ret};
}

void
act_send(struct act *act, bool unexpected, const void *bytes, uint64_t length,
    na_plugin_addr *peer, uint64_t tag)
{
    struct side *side = act->side;

    ck_assert_uint_le(length, sizeof(act->buffer));
    if (length != 0)
        memcpy(act->buffer, bytes, length);
    act->pending = true;
    submitted(act, unexpected
                       ? side->ops->send_unexpected(side->ctx, act->op,
                             act->buffer, length, NULL, peer, 0, tag, 0)
                       : side->ops->send_expected(side->ctx, act->op,
                             act->buffer, length, NULL, peer, 0, tag, 0));
}

void
act_recv(struct act *act, na_plugin_addr *peer, uint64_t tag)
{
    act->pending = true;
    submitted(
        act, act->side->ops->recv_expected(act->side->ctx, act->op, act->buffer,
                 sizeof(act->buffer), NULL, peer, 0, tag, 0));
}

void
act_recv_any(struct act *act)
{
    act->pending = true;
    submitted(act, act->side->ops->recv_unexpected(act->side->ctx, act->op,
                       act->buffer, sizeof(act->buffer), NULL, 0));
}

void
act_move(struct act *act, bool put, na_plugin_mem *local, na_plugin_mem *remote,
    uint64_t length, na_plugin_addr *peer)
{
    const na_plugin_ops *ops = act->side->ops;

    act->pending = true;
    submitted(act, (put ? ops->put : ops->get)(act->side->ctx, act->op, local,
                       0, remote, 0, length, peer, 0, 0));
}

int32_t
act_await(struct act *act, struct side *other)
{
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    while (act->pending) {
        side_poll(act->side);
        if (other != NULL)
            side_poll(other);
        if (now_ms() > until)
            ck_abort_msg("an operation does not end");
    }
    return act->end.status;
}

pid_t
spawn(void (*run)(void *arg), void *arg)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        run(arg);
    _exit(0);
}

void
echo_run(void *arg)
{
    const struct echo *echo = arg;
    struct side side = {.log_level = 0};
    struct act recv, send;
    char name[SIDE_TEXT] = "";

    /* a predecessor that was just killed may still hold the port */
    uint64_t until = now_ms() + SIDE_WAIT_MS;
    while (side_try(&side, echo->protocol, NULL, echo->host, echo->port,
               NA_PLUGIN_OPEN_LISTEN) != NA_PLUGIN_OK)
        if (now_ms() > until)
            _exit(1);
    if (side.ops->ctx_create(side.cls, 0, &side, &side.ctx) != NA_PLUGIN_OK)
        _exit(1);
    act_init(&recv, &side);
    act_init(&send, &side);
    side_name(&side, name);
    if (write(echo->ready_fd, name, sizeof(name)) != (ssize_t) sizeof(name))
        _exit(1);
    for (;;) {
        act_recv_any(&recv);
        while (recv.pending)
            side_poll(&side);
        if (recv.end.status != NA_PLUGIN_OK || recv.end.length == 0)
            break;
        act_send(&send, false, recv.buffer, recv.end.length, recv.end.source,
            recv.end.tag);
        while (send.pending)
            side_poll(&side);
        side.ops->addr_free(side.cls, recv.end.source);
    }
    _exit(0);
}

pid_t
echo_start(
    const char *protocol, const char *host, int32_t port, char name[SIDE_TEXT])
{
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0);
    struct echo echo = {protocol, host, port, pipes[1]};
    pid_t pid = spawn(echo_run, &echo);
    close(pipes[1]);
    ck_assert_int_eq(read(pipes[0], name, SIDE_TEXT), SIDE_TEXT);
    close(pipes[0]);
    return pid;
}

void
echo_stop(pid_t pid, int signal)
{
    kill(pid, signal);
    waitpid(pid, NULL, 0);
}

int32_t
echo_trip(struct side *side, na_plugin_addr *peer, uint32_t tag)
{
    struct act recv, send;

    act_init(&recv, side);
    act_init(&send, side);
    act_recv(&recv, peer, tag);
    int32_t ret = NA_PLUGIN_OK;
    if (recv.pending) {
        act_send(&send, true, &tag, sizeof(tag), peer, tag);
        ret = act_await(&send, NULL);
    }
    if (ret != NA_PLUGIN_OK)
        side->ops->cancel(side->ctx, recv.op);
    int32_t received = act_await(&recv, NULL);
    if (ret == NA_PLUGIN_OK)
        ret = received;
    if (ret == NA_PLUGIN_OK) {
        ck_assert_uint_eq(recv.end.length, sizeof(tag));
        ck_assert_mem_eq(recv.end.buffer, &tag, sizeof(tag));
    }
    act_fini(&recv);
    act_fini(&send);
    return ret;
}
