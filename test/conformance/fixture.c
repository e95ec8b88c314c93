/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes of the wire plugin as the core would open them, and a server in
 * another process. */
#include "fixture.h"

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
fixture_load(void)
{
    return plugin_load("NA_WIRE_PLUGIN");
}

static uint64_t
host_number(const na_plugin_host *host, const char *key)
{
    const struct fixture *fixture = host->priv;

    return plugin_setting(fixture->plugin, key, NULL, NULL);
}

static void
host_log(const na_plugin_host *host, int32_t level, const char *file,
    uint32_t line, const char *text)
{
    struct fixture *fixture = host->priv;

    if (getenv("FIXTURE_LOG"))
        fprintf(stderr, "[%d] %d %s:%u %s\n", (int) getpid(), level, file, line,
            text);
    if (level > NA_PLUGIN_LOG_WARNING)
        return;
    snprintf(fixture->last, sizeof fixture->last, "%s", text);
    fixture->warnings++;
}

int32_t
fixture_try(struct fixture *fixture, const char *protocol, uint32_t flags)
{
    na_plugin_open_info info = {.size = sizeof info,
        .flags = flags,
        .protocol = protocol,
        .port = -1,
        .max_contexts = 1};

    memset(fixture, 0, sizeof *fixture);
    fixture->log_level = NA_PLUGIN_LOG_DEBUG;
    plugin_host(&fixture->host, fixture, &fixture->log_level, host_log);
    fixture->host.number = host_number;
    fixture->plugin = fixture_load();
    fixture->opened.size = sizeof fixture->opened;
    return fixture->plugin->open(&fixture->host, &info, &fixture->opened);
}

void
fixture_open(struct fixture *fixture, uint32_t flags, uint32_t contexts)
{
    ck_assert_int_eq(fixture_try(fixture, "good", flags), NA_PLUGIN_OK);
    fixture->ops = fixture->opened.ops;
    fixture->cls = fixture->opened.cls;
    fixture->wait = fixture->ops->extension(fixture->cls, NA_PLUGIN_WAIT_ID);
    fixture->multi =
        fixture->ops->extension(fixture->cls, NA_PLUGIN_MULTI_RECV_ID);
    for (uint32_t i = 0; i < contexts; i++)
        ck_assert_int_eq(fixture->ops->ctx_create(
                             fixture->cls, i, fixture, &fixture->ctx[i]),
            0);
}

void
fixture_forgive(struct fixture *fixture)
{
    ck_assert_uint_gt(fixture->warnings, 0);
    fixture->warnings = 0;
}

void
fixture_close(struct fixture *fixture)
{
    for (uint32_t i = 0; i < FIXTURE_CONTEXTS; i++)
        if (fixture->ctx[i])
            fixture->ops->ctx_destroy(fixture->ctx[i]);
    fixture->plugin->close(fixture->cls);
    ck_assert_msg(fixture->warnings == 0, "%u warnings, the last: %s",
        fixture->warnings, fixture->last);
}

struct fixture_op *
fixture_op_new(const struct fixture *fixture)
{
    size_t size =
        sizeof(struct fixture_op) + ((fixture->opened.op_size + 63U) & ~63U);
    struct fixture_op *op = aligned_alloc(64, size);

    ck_assert_ptr_nonnull(op);
    memset(op, 0, size);
    return op;
}

void *
fixture_part(struct fixture_op *op)
{
    return op + 1;
}

void
fixture_op_reset(struct fixture_op *op)
{
    op->ended = op->count = 0;
}

void
fixture_text(const struct fixture *fixture, char text[FIXTURE_TEXT])
{
    plugin_self(fixture->ops, fixture->cls, text, FIXTURE_TEXT);
}

na_plugin_addr *
fixture_lookup(const struct fixture *fixture, const char *text)
{
    return plugin_lookup(fixture->ops, fixture->cls, text);
}

uint32_t
fixture_poll(struct fixture *fixture, uint32_t ctx, uint32_t max)
{
    na_plugin_event events[FIXTURE_EVENTS];
    int32_t count = fixture->ops->poll(fixture->ctx[ctx], events, max);

    /* libcheck records each passing assertion, which is slow in such a loop. */
    if (count < 0 || (uint32_t) count > max)
        ck_abort_msg("poll returned %d, for %u", count, max);
    for (int32_t i = 0; i < count; i++) {
        struct fixture_op *op = (struct fixture_op *) events[i].op - 1;
        bool last = !(events[i].flags & NA_PLUGIN_EVENT_MORE);

        ck_assert_uint_eq(op->ended, 0);
        ck_assert_uint_lt(op->count, FIXTURE_EVENTS);
        op->events[op->count] = events[i];
        op->count++;
        /* release: pairs with the acquire of a thread that waits */
        atomic_store_explicit(&op->ended, last, memory_order_release);
    }
    return (uint32_t) count;
}

static bool
over(const struct fixture_op *op)
{
    /* acquire: pairs with the release in fixture_poll */
    return atomic_load_explicit(&op->ended, memory_order_acquire) != 0;
}

int32_t
fixture_await(
    struct fixture *fixture, struct fixture *other, struct fixture_op *op)
{
    uint64_t deadline = now_ns() + PATIENCE_NS;

    while (!over(op)) {
        uint32_t count = 0;

        if (now_ns() >= deadline)
            ck_abort_msg("no event");
        count += fixture_poll(fixture, 0, 4);
        if (other)
            count += fixture_poll(other, 0, 1);
        /* The other process may need this processor. */
        if (count == 0)
            sched_yield();
    }
    return op->events[op->count - 1].status;
}

int32_t
fixture_settle(struct fixture *fixture, struct fixture *other,
    struct fixture_op *op, int32_t code)
{
    if (code != NA_PLUGIN_PENDING)
        return code == NA_PLUGIN_DONE ? NA_PLUGIN_OK : code;
    return fixture_await(fixture, other, op);
}

int32_t
fixture_sleep(struct fixture *fixture, struct fixture_op *op)
{
    uint64_t deadline = now_ns() + PATIENCE_NS;
    struct pollfd entry = {
        .fd = fixture->wait->fd(fixture->ctx[0]), .events = POLLIN};

    for (;;) {
        uint64_t sleep_ns = 0;

        fixture_poll(fixture, 0, FIXTURE_EVENTS);
        if (over(op))
            return op->events[op->count - 1].status;
        ck_assert_msg(now_ns() < deadline, "no event");
        if (fixture->wait->arm(fixture->ctx[0], &sleep_ns) == NA_PLUGIN_DONE)
            continue;
        if (sleep_ns == UINT64_MAX)
            ck_assert_msg(poll(&entry, 1, 20000) == 1, "nothing roused it");
        else
            poll(&entry, 1, (int) (sleep_ns / 1000000) + 1);
    }
}

static uint64_t
header(const struct fixture *fixture, bool expected)
{
    return expected ? fixture->opened.expected_header_size
                    : fixture->opened.unexpected_header_size;
}

static void
ready_op(const struct fixture *fixture, struct fixture_message *message)
{
    if (!message->op)
        message->op = fixture_op_new(fixture);
    fixture_op_reset(message->op);
}

int32_t
fixture_send(struct fixture *fixture, struct fixture_message *message,
    const void *bytes, uint64_t length, na_plugin_addr *peer, uint64_t tag,
    bool expected)
{
    uint64_t size = header(fixture, expected);

    ready_op(fixture, message);
    ck_assert_int_eq(
        fixture->ops->buf_init(fixture->cls, message->buffer,
            sizeof message->buffer,
            expected ? NA_PLUGIN_MSG_EXPECTED : NA_PLUGIN_MSG_UNEXPECTED),
        0);
    memcpy(message->buffer + size, bytes, length);
    return (expected ? fixture->ops->send_expected
                     : fixture->ops->send_unexpected)(fixture->ctx[0],
        fixture_part(message->op), message->buffer, size + length, NULL, peer,
        0, tag, 0);
}

void
fixture_post(struct fixture *fixture, struct fixture_message *message)
{
    ready_op(fixture, message);
    ck_assert_int_eq(
        fixture->ops->recv_unexpected(fixture->ctx[0],
            fixture_part(message->op), message->buffer, 4096, NULL, 0),
        NA_PLUGIN_PENDING);
}

int32_t
fixture_post_expected(struct fixture *fixture, struct fixture_message *message,
    na_plugin_addr *peer, uint64_t tag)
{
    ready_op(fixture, message);
    return fixture->ops->recv_expected(fixture->ctx[0],
        fixture_part(message->op), message->buffer, sizeof message->buffer,
        NULL, peer, 0, tag, 0);
}

const unsigned char *
fixture_bytes(
    const struct fixture *fixture, const struct fixture_op *op, uint32_t event)
{
    const na_plugin_event *at = &op->events[event];

    ck_assert_int_eq(at->status, NA_PLUGIN_OK);
    ck_assert(at->flags & NA_PLUGIN_EVENT_MESSAGE);
    return (const unsigned char *) at->buffer +
           header(fixture, at->source == NULL);
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
obey(struct fixture *fixture, const unsigned char *bytes, uint64_t length,
    unsigned char *region, na_plugin_mem *mem, unsigned char *answer)
{
    uint64_t size = 4096, sum = 0;
    pid_t pid;

    switch (bytes[0]) {
    case FIXTURE_ECHO:
        memcpy(answer, bytes, length);
        return length;
    case FIXTURE_REGION:
        ck_assert_int_eq(
            fixture->ops->mem_serialize(fixture->cls, mem, answer, &size), 0);
        return size;
    case FIXTURE_SUM:
        for (uint64_t i = 0; i < FIXTURE_REGION_SIZE; i++)
            sum += region[i];
        memcpy(answer, &sum, sizeof sum);
        return sizeof sum;
    case FIXTURE_CHILD:
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
    static unsigned char region[FIXTURE_REGION_SIZE];
    static struct fixture fixture;
    static struct fixture_message receive, send;
    unsigned char answer[4096];
    char text[FIXTURE_TEXT] = {0};
    /* segments that are not adjacent */
    na_plugin_segment segments[3] = {{region + (2U << 20), 1U << 20},
        {region, 100}, {region + 100, 1U << 20}};
    na_plugin_mem *mem;
    int command;

    fixture_open(&fixture, NA_PLUGIN_OPEN_LISTEN, 1);
    ck_assert_int_eq(
        fixture.ops->mem_register(fixture.cls,
            &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0, segments, 3,
                NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, 0, 0},
            &mem),
        0);
    fixture_text(&fixture, text);
    ck_assert_int_eq(write(out, text, sizeof text), sizeof text);
    do {
        const na_plugin_event *event;
        uint64_t length;
        int32_t code;

        fixture_post(&fixture, &receive);
        code = sleeps ? fixture_sleep(&fixture, receive.op)
                      : fixture_await(&fixture, NULL, receive.op);
        ck_assert_int_eq(code, 0);
        event = &receive.op->events[0];
        command = fixture_bytes(&fixture, receive.op, 0)[0];
        length = obey(&fixture, fixture_bytes(&fixture, receive.op, 0),
            event->length - fixture.opened.unexpected_header_size, region, mem,
            answer);
        if (length != UINT64_MAX) {
            code = fixture_send(&fixture, &send, answer, length, event->source,
                event->tag, true);
            ck_assert_int_eq(fixture_settle(&fixture, NULL, send.op, code), 0);
        }
        fixture.ops->addr_free(fixture.cls, event->source);
    } while (command != FIXTURE_EXIT);
    fixture.ops->mem_deregister(fixture.cls, mem);
    fixture_close(&fixture);
    free(receive.op);
    free(send.op);
    return 0;
}

void
fixture_server_start(struct fixture_server *server, bool sleeps)
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
    ck_assert_int_eq(
        read(server->in, server->address, FIXTURE_TEXT), FIXTURE_TEXT);
}

void
fixture_server_join(struct fixture_server *server)
{
    int status;

    ck_assert_int_eq(waitpid(server->pid, &status, 0), server->pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
        "the server ended with status 0x%x", (unsigned) status);
    close(server->in);
}

const unsigned char *
fixture_call(struct fixture *fixture, na_plugin_addr *server,
    struct fixture_message *send, struct fixture_message *answer,
    const void *bytes, uint64_t length, uint64_t tag)
{
    int32_t code;

    ck_assert_int_eq(fixture_post_expected(fixture, answer, server, tag), 0);
    code = fixture_send(fixture, send, bytes, length, server, tag, false);
    ck_assert_int_eq(fixture_settle(fixture, NULL, send->op, code), 0);
    ck_assert_int_eq(fixture_await(fixture, NULL, answer->op), 0);
    ck_assert_uint_eq(answer->op->events[0].tag, tag);
    return fixture_bytes(fixture, answer->op, 0);
}
