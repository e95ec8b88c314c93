/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes of the wire plugin as the core would open them, and a server in
 * another process. */
#include "rig.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_NS UINT64_C(20000000000)

const na_plugin *
rig_load(void)
{
    return plugin_load("NA_WIRE_PLUGIN");
}

static uint64_t
host_number(const na_plugin_host *host, const char *key)
{
    const struct rig *rig = host->priv;

    return plugin_setting(rig->plugin, key, NULL, NULL);
}

static void
host_log(const na_plugin_host *host, int32_t level, const char *file,
    uint32_t line, const char *text)
{
    struct rig *rig = host->priv;

    if (getenv("RIG_LOG"))
        fprintf(stderr, "[%d] %d %s:%u %s\n", (int) getpid(), level, file, line,
            text);
    if (level > NA_PLUGIN_LOG_WARNING)
        return;
    snprintf(rig->last, sizeof rig->last, "%s", text);
    rig->warnings++;
}

int32_t
rig_try(struct rig *rig, const char *protocol, uint32_t flags)
{
    na_plugin_open_info info = {.size = sizeof info,
        .flags = flags,
        .protocol = protocol,
        .port = -1,
        .max_contexts = 1};

    memset(rig, 0, sizeof *rig);
    rig->log_level = NA_PLUGIN_LOG_DEBUG;
    plugin_host(&rig->host, rig, &rig->log_level, host_log);
    rig->host.number = host_number;
    rig->plugin = rig_load();
    rig->opened.size = sizeof rig->opened;
    return rig->plugin->open(&rig->host, &info, &rig->opened);
}

void
rig_open(struct rig *rig, uint32_t flags, uint32_t contexts)
{
    ck_assert_int_eq(rig_try(rig, "good", flags), NA_PLUGIN_OK);
    rig->ops = rig->opened.ops;
    rig->cls = rig->opened.cls;
    rig->wait = rig->ops->extension(rig->cls, NA_PLUGIN_WAIT_ID);
    rig->multi = rig->ops->extension(rig->cls, NA_PLUGIN_MULTI_RECV_ID);
    for (uint32_t i = 0; i < contexts; i++)
        ck_assert_int_eq(
            rig->ops->ctx_create(rig->cls, i, rig, &rig->ctx[i]), 0);
}

void
rig_forgive(struct rig *rig)
{
    ck_assert_uint_gt(rig->warnings, 0);
    rig->warnings = 0;
}

void
rig_close(struct rig *rig)
{
    for (uint32_t i = 0; i < RIG_CONTEXTS; i++)
        if (rig->ctx[i])
            rig->ops->ctx_destroy(rig->ctx[i]);
    rig->plugin->close(rig->cls);
    ck_assert_msg(rig->warnings == 0, "%u warnings, the last: %s",
        rig->warnings, rig->last);
}

struct rig_op *
rig_op_new(const struct rig *rig)
{
    size_t size = sizeof(struct rig_op) + ((rig->opened.op_size + 63U) & ~63U);
    struct rig_op *op = aligned_alloc(64, size);

    ck_assert_ptr_nonnull(op);
    memset(op, 0, size);
    return op;
}

void *
rig_part(struct rig_op *op)
{
    return op + 1;
}

void
rig_op_reset(struct rig_op *op)
{
    op->ended = op->count = 0;
}

void
rig_text(const struct rig *rig, char text[RIG_TEXT])
{
    plugin_self(rig->ops, rig->cls, text, RIG_TEXT);
}

na_plugin_addr *
rig_lookup(const struct rig *rig, const char *text)
{
    return plugin_lookup(rig->ops, rig->cls, text);
}

uint32_t
rig_poll(struct rig *rig, uint32_t ctx, uint32_t max)
{
    na_plugin_event events[RIG_EVENTS];
    int32_t count = rig->ops->poll(rig->ctx[ctx], events, max);

    /* libcheck records each passing assertion, which is slow in such a loop. */
    if (count < 0 || (uint32_t) count > max)
        ck_abort_msg("poll returned %d, for %u", count, max);
    for (int32_t i = 0; i < count; i++) {
        struct rig_op *op = (struct rig_op *) events[i].op - 1;
        bool last = !(events[i].flags & NA_PLUGIN_EVENT_MORE);

        ck_assert_uint_eq(op->ended, 0);
        ck_assert_uint_lt(op->count, RIG_EVENTS);
        op->events[op->count] = events[i];
        op->count++;
        /* release: pairs with the acquire of a thread that waits */
        atomic_store_explicit(&op->ended, last, memory_order_release);
    }
    return (uint32_t) count;
}

static bool
over(const struct rig_op *op)
{
    /* acquire: pairs with the release in rig_poll */
    return atomic_load_explicit(&op->ended, memory_order_acquire) != 0;
}

int32_t
rig_await(struct rig *rig, struct rig *other, struct rig_op *op)
{
    uint64_t deadline = now_ns() + PATIENCE_NS;

    while (!over(op)) {
        uint32_t count = 0;

        if (now_ns() >= deadline)
            ck_abort_msg("no event");
        count += rig_poll(rig, 0, 4);
        if (other)
            count += rig_poll(other, 0, 1);
        /* The other process may need this processor. */
        if (count == 0)
            sched_yield();
    }
    return op->events[op->count - 1].status;
}

int32_t
rig_settle(struct rig *rig, struct rig *other, struct rig_op *op, int32_t code)
{
    if (code != NA_PLUGIN_PENDING)
        return code == NA_PLUGIN_DONE ? NA_PLUGIN_OK : code;
    return rig_await(rig, other, op);
}

int32_t
rig_sleep(struct rig *rig, struct rig_op *op)
{
    uint64_t deadline = now_ns() + PATIENCE_NS;
    struct pollfd entry = {.fd = rig->wait->fd(rig->ctx[0]), .events = POLLIN};

    for (;;) {
        uint64_t sleep_ns = 0;

        rig_poll(rig, 0, RIG_EVENTS);
        if (over(op))
            return op->events[op->count - 1].status;
        ck_assert_msg(now_ns() < deadline, "no event");
        if (rig->wait->arm(rig->ctx[0], &sleep_ns) == NA_PLUGIN_DONE)
            continue;
        if (sleep_ns == UINT64_MAX)
            ck_assert_msg(poll(&entry, 1, 20000) == 1, "nothing roused it");
        else
            poll(&entry, 1, (int) (sleep_ns / 1000000) + 1);
    }
}

static uint64_t
header(const struct rig *rig, bool expected)
{
    return expected ? rig->opened.expected_header_size
                    : rig->opened.unexpected_header_size;
}

static void
ready_op(const struct rig *rig, struct rig_message *message)
{
    if (!message->op)
        message->op = rig_op_new(rig);
    rig_op_reset(message->op);
}

int32_t
rig_send(struct rig *rig, struct rig_message *message, const void *bytes,
    uint64_t length, na_plugin_addr *peer, uint64_t tag, bool expected)
{
    uint64_t size = header(rig, expected);

    ready_op(rig, message);
    ck_assert_int_eq(
        rig->ops->buf_init(rig->cls, message->buffer, sizeof message->buffer,
            expected ? NA_PLUGIN_MSG_EXPECTED : NA_PLUGIN_MSG_UNEXPECTED),
        0);
    memcpy(message->buffer + size, bytes, length);
    return (expected ? rig->ops->send_expected : rig->ops->send_unexpected)(
        rig->ctx[0], rig_part(message->op), message->buffer, size + length,
        NULL, peer, 0, tag, 0);
}

void
rig_post(struct rig *rig, struct rig_message *message)
{
    ready_op(rig, message);
    ck_assert_int_eq(rig->ops->recv_unexpected(rig->ctx[0],
                         rig_part(message->op), message->buffer, 4096, NULL, 0),
        NA_PLUGIN_PENDING);
}

int32_t
rig_post_expected(struct rig *rig, struct rig_message *message,
    na_plugin_addr *peer, uint64_t tag)
{
    ready_op(rig, message);
    return rig->ops->recv_expected(rig->ctx[0], rig_part(message->op),
        message->buffer, sizeof message->buffer, NULL, peer, 0, tag, 0);
}

const unsigned char *
rig_bytes(const struct rig *rig, const struct rig_op *op, uint32_t event)
{
    const na_plugin_event *at = &op->events[event];

    ck_assert_int_eq(at->status, NA_PLUGIN_OK);
    ck_assert(at->flags & NA_PLUGIN_EVENT_MESSAGE);
    return (const unsigned char *) at->buffer + header(rig, at->source == NULL);
}

/* Forks a process that inherits all descriptors and lives until it is
 * killed. */
static pid_t
leave_child(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        for (;;)
            pause();
    }
    return pid;
}

/* Executes the command in a message. Returns the answer's length, UINT64_MAX
 * for none. */
static uint64_t
obey(struct rig *rig, const unsigned char *bytes, uint64_t length,
    unsigned char *region, na_plugin_mem *mem, unsigned char *answer)
{
    uint64_t size = 4096, sum = 0;
    pid_t pid;

    switch (bytes[0]) {
    case RIG_ECHO:
        memcpy(answer, bytes, length);
        return length;
    case RIG_REGION:
        ck_assert_int_eq(
            rig->ops->mem_serialize(rig->cls, mem, answer, &size), 0);
        return size;
    case RIG_SUM:
        for (uint64_t i = 0; i < RIG_REGION_SIZE; i++)
            sum += region[i];
        memcpy(answer, &sum, sizeof sum);
        return sizeof sum;
    case RIG_CHILD:
        pid = leave_child();
        memcpy(answer, &pid, sizeof pid);
        return sizeof pid;
    default:
        return UINT64_MAX;
    }
}

static int
serve(int out, bool sleeps)
{
    static unsigned char region[RIG_REGION_SIZE];
    static struct rig rig;
    static struct rig_message receive, send;
    unsigned char answer[4096];
    char text[RIG_TEXT] = {0};
    /* segments that are not adjacent */
    na_plugin_segment segments[3] = {{region + (2U << 20), 1U << 20},
        {region, 100}, {region + 100, 1U << 20}};
    na_plugin_mem *mem;
    int command;

    rig_open(&rig, NA_PLUGIN_OPEN_LISTEN, 1);
    ck_assert_int_eq(
        rig.ops->mem_register(rig.cls,
            &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0, segments, 3,
                NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, 0, 0},
            &mem),
        0);
    rig_text(&rig, text);
    ck_assert_int_eq(write(out, text, sizeof text), sizeof text);
    do {
        const na_plugin_event *event;
        uint64_t length;
        int32_t code;

        rig_post(&rig, &receive);
        code = sleeps ? rig_sleep(&rig, receive.op)
                      : rig_await(&rig, NULL, receive.op);
        ck_assert_int_eq(code, 0);
        event = &receive.op->events[0];
        command = rig_bytes(&rig, receive.op, 0)[0];
        length = obey(&rig, rig_bytes(&rig, receive.op, 0),
            event->length - rig.opened.unexpected_header_size, region, mem,
            answer);
        if (length != UINT64_MAX) {
            code = rig_send(
                &rig, &send, answer, length, event->source, event->tag, true);
            ck_assert_int_eq(rig_settle(&rig, NULL, send.op, code), 0);
        }
        rig.ops->addr_free(rig.cls, event->source);
    } while (command != RIG_EXIT);
    rig.ops->mem_deregister(rig.cls, mem);
    rig_close(&rig);
    free(receive.op);
    free(send.op);
    return 0;
}

void
rig_server_start(struct rig_server *server, bool sleeps)
{
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    fflush(NULL);
    server->pid = fork();
    ck_assert_int_ge(server->pid, 0);
    if (server->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        exit(serve(ends[1], sleeps));
    }
    close(ends[1]);
    server->in = ends[0];
    ck_assert_int_eq(read(server->in, server->address, RIG_TEXT), RIG_TEXT);
}

void
rig_server_join(struct rig_server *server)
{
    int status;

    ck_assert_int_eq(waitpid(server->pid, &status, 0), server->pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
        "the server ended with status 0x%x", (unsigned) status);
    close(server->in);
}

const unsigned char *
rig_call(struct rig *rig, na_plugin_addr *server, struct rig_message *send,
    struct rig_message *answer, const void *bytes, uint64_t length,
    uint64_t tag)
{
    int32_t code;

    ck_assert_int_eq(rig_post_expected(rig, answer, server, tag), 0);
    code = rig_send(rig, send, bytes, length, server, tag, false);
    ck_assert_int_eq(rig_settle(rig, NULL, send->op, code), 0);
    ck_assert_int_eq(rig_await(rig, NULL, answer->op), 0);
    ck_assert_uint_eq(answer->op->events[0].tag, tag);
    return rig_bytes(rig, answer->op, 0);
}
