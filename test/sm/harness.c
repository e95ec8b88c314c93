/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads the plugin as the core would, with a host that records its calls, and
 * runs child processes connected by two pipes. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "runner.h"

#define PATIENCE_NS UINT64_C(20000000000) /* as in the other suites */
#define NODES 64

/* All open classes of this process. */
static struct node *nodes[NODES];

/* The process that runs the program and forks one per case. */
static pid_t run;

const na_plugin *
load_plugin(void)
{
    return plugin_load("NA_SM_PLUGIN");
}

static void
host_log(const na_plugin_host *host, int32_t level, const char *file,
    uint32_t line, const char *text)
{
    struct node *node = host->priv;
    snprintf(node->last_line, sizeof(node->last_line), "%s", text);
    if (level <= NA_PLUGIN_LOG_WARNING)
        node->warnings++;
    if (getenv("SM_TEST_LOG") != NULL)
        fprintf(stderr, "[%d] %d %s:%u %s\n", (int) getpid(), level, file, line,
            text);
}

static uint64_t
host_number(const na_plugin_host *host, const char *key)
{
    const struct node *node = host->priv;

    return plugin_setting(
        node->plugin, key, node->setting_key, node->setting_value);
}

static void
host_wake(const na_plugin_host *host, void *core_ctx)
{
    struct node *node = host->priv;
    node->wakes++;
}

void
node_host(struct node *node)
{
    memset(node, 0, sizeof(*node));
    node->log_level = NA_PLUGIN_LOG_DEBUG;
    plugin_host(&node->host, node, &node->log_level, host_log);
    node->host.number = host_number;
    node->host.wake = host_wake;
}

int32_t
node_try(struct node *node, const struct node_options *options)
{
    node_host(node);
    node->plugin = load_plugin();
    node->setting_key = options->setting_key;
    node->setting_value = options->setting_value;
    na_plugin_open_info info = {
        .size = sizeof(info),
        .flags = options->flags | (options->mute ? 0 : NA_PLUGIN_OPEN_LISTEN),
        .protocol = "sm",
        .name = options->name,
        .port = -1,
        .thread_mode = options->threads,
        .auth_key = options->auth_key,
        .max_unexpected_size = options->max_unexpected,
        .max_expected_size = options->max_expected,
        .max_contexts = options->contexts != 0 ? options->contexts : 1,
    };
    node->opened.size = sizeof(node->opened);
    return node->plugin->open(&node->host, &info, &node->opened);
}

void
node_open(struct node *node, const struct node_options *options)
{
    static const struct node_options plain;
    if (options == NULL)
        options = &plain;

    ck_assert_int_eq(node_try(node, options), NA_PLUGIN_OK);
    node->ops = node->opened.ops;
    node->cls = node->opened.cls;
    node->wait = node->ops->extension(node->cls, NA_PLUGIN_WAIT_ID);
    uint32_t contexts = options->contexts != 0 ? options->contexts : 1;
    for (uint32_t i = 0; i < contexts; i++)
        ck_assert_int_eq(
            node->ops->ctx_create(node->cls, i, node, &node->ctx[i]),
            NA_PLUGIN_OK);
    for (uint32_t i = 0; i < NODES; i++) {
        if (nodes[i] == NULL) {
            nodes[i] = node;
            return;
        }
    }
    ck_abort_msg("too many classes");
}

void
node_close(struct node *node)
{
    for (uint32_t i = 0; i < NODES; i++)
        if (nodes[i] == node)
            nodes[i] = NULL;
    for (uint32_t i = 0; i < NODE_CONTEXTS; i++)
        if (node->ctx[i] != NULL)
            node->ops->ctx_destroy(node->ctx[i]);
    node->plugin->close(node->cls);
    ck_assert_msg(node->warnings == 0, "%u warnings, the last: %s",
        node->warnings, node->last_line);
}

uint32_t
node_warnings(struct node *node)
{
    return atomic_exchange(&node->warnings, 0);
}

uint64_t
node_counter(struct node *node, const char *name)
{
    return plugin_counter(node->ops, node->cls, name);
}

void *
op_new(const struct node *node)
{
    return plugin_op(&node->opened);
}

void
self_string(const struct node *node, char text[TEXT])
{
    plugin_self(node->ops, node->cls, text, TEXT);
}

na_plugin_addr *
lookup(const struct node *node, const char *text)
{
    return plugin_lookup(node->ops, node->cls, text);
}

static int32_t
pump_context(struct node *node, uint32_t index)
{
    uint32_t *count = &node->event_count[index];
    uint32_t room = NODE_EVENTS - *count;
    if (room == 0)
        return 0;
    int32_t got =
        node->ops->poll(node->ctx[index], &node->events[index][*count], room);
    /* libcheck records each passing assertion, which is slow in such a loop. */
    if (got < 0 || (uint32_t) got > room)
        ck_abort_msg("poll returned %d, for %u", got, room);
    *count += (uint32_t) got;
    return got;
}

void
pump(void)
{
    int32_t got = 0;
    for (uint32_t i = 0; i < NODES; i++)
        for (uint32_t j = 0; nodes[i] != NULL && j < NODE_CONTEXTS; j++)
            if (nodes[i]->ctx[j] != NULL)
                got += pump_context(nodes[i], j);
    /* There are more processes than processors: yield to the awaited one. */
    if (got == 0)
        sched_yield();
}

/* Removes and returns the first kept event of an operation, NULL: of any. */
static bool
take_event(
    struct node *node, uint32_t index, const void *op, na_plugin_event *event_p)
{
    na_plugin_event *events = node->events[index];
    for (uint32_t i = 0; i < node->event_count[index]; i++) {
        if (op != NULL && events[i].op != op)
            continue;
        *event_p = events[i];
        node->event_count[index]--;
        memmove(&events[i], &events[i + 1],
            (node->event_count[index] - i) * sizeof(*events));
        return true;
    }
    return false;
}

na_plugin_event
await_op(struct node *node, uint32_t index, const void *op)
{
    na_plugin_event event = {0};
    uint64_t deadline = now_ns() + PATIENCE_NS;

    while (!take_event(node, index, op, &event)) {
        if (now_ns() >= deadline)
            ck_abort_msg("no event; last logged: %s", node->last_line);
        pump();
    }
    return event;
}

na_plugin_event
await_event(struct node *node, uint32_t index)
{
    return await_op(node, index, NULL);
}

na_plugin_event
await_message(struct node *node, uint32_t index, const void *op,
    uint64_t length, uint64_t tag, bool source)
{
    na_plugin_event event = await_op(node, index, op);
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    ck_assert_uint_eq(event.flags, NA_PLUGIN_EVENT_MESSAGE);
    ck_assert_uint_eq(event.length, length);
    ck_assert_uint_eq(event.tag, tag);
    ck_assert_int_eq(event.source != NULL, source);
    return event;
}

void
expect_silence(struct node *node, uint32_t index, uint32_t milliseconds)
{
    na_plugin_event event;
    uint64_t end = now_ns() + milliseconds * UINT64_C(1000000);
    do {
        pump();
        ck_assert(!take_event(node, index, NULL, &event));
    } while (now_ns() < end);
}

void *
post_unexpected(struct node *node, void *buffer, uint64_t length)
{
    void *op = op_new(node);
    ck_assert_int_eq(
        node->ops->recv_unexpected(node->ctx[0], op, buffer, length, NULL, 0),
        NA_PLUGIN_PENDING);
    return op;
}

void *
post_expected(struct node *node, void *buffer, uint64_t length,
    na_plugin_addr *peer, uint64_t tag)
{
    void *op = op_new(node);
    ck_assert_int_eq(node->ops->recv_expected(node->ctx[0], op, buffer, length,
                         NULL, peer, 0, tag, 0),
        NA_PLUGIN_PENDING);
    return op;
}

static int32_t
settle(struct node *node, void *op, int32_t ret)
{
    if (ret == NA_PLUGIN_PENDING)
        ret = await_op(node, 0, op).status;
    free(op);
    return ret == NA_PLUGIN_DONE ? NA_PLUGIN_OK : ret;
}

int32_t
send_unexpected(struct node *node, const void *data, uint64_t length,
    na_plugin_addr *peer, uint64_t tag)
{
    void *op = op_new(node);
    return settle(node, op,
        node->ops->send_unexpected(
            node->ctx[0], op, data, length, NULL, peer, 0, tag, 0));
}

int32_t
send_expected(struct node *node, const void *data, uint64_t length,
    na_plugin_addr *peer, uint64_t tag)
{
    void *op = op_new(node);
    return settle(node, op,
        node->ops->send_expected(
            node->ctx[0], op, data, length, NULL, peer, 0, tag, 0));
}

struct child
child_start(child_body body, const void *arg)
{
    int down[2];
    int up[2];
    ck_assert_int_eq(pipe(down), 0);
    ck_assert_int_eq(pipe(up), 0);
    fflush(NULL);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(down[1]);
        close(up[0]);
        struct parent parent = {.in = down[0], .out = up[1], .arg = arg};
        exit(body(&parent));
    }
    close(down[0]);
    close(up[1]);
    return (struct child){.pid = pid, .in = up[0], .out = down[1]};
}

void
send_line(int fd, const char *text)
{
    char line[TEXT] = {0};
    snprintf(line, sizeof(line), "%s", text);
    ck_assert_int_eq(write(fd, line, sizeof(line)), sizeof(line));
}

void
recv_line(int fd, char text[TEXT])
{
    size_t got = 0;
    while (got < TEXT) {
        ssize_t n = read(fd, text + got, TEXT - got);
        ck_assert_msg(n > 0, "the other process has ended");
        got += (size_t) n;
    }
}

void
expect_line(int fd, const char *text)
{
    char line[TEXT];
    recv_line(fd, line);
    ck_assert_str_eq(line, text);
}

void
child_join(struct child *child)
{
    int status;
    ck_assert_int_eq(waitpid(child->pid, &status, 0), child->pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
        "child ended with status 0x%x", (unsigned) status);
    close(child->in);
    close(child->out);
}

void
child_kill(struct child *child)
{
    kill(child->pid, SIGKILL);
    child_reap(child);
}

void
child_reap(struct child *child)
{
    int status;
    ck_assert_int_eq(waitpid(child->pid, &status, 0), child->pid);
    close(child->in);
    close(child->out);
}

bool
kernel_copies(void)
{
    char from = 0, to;
    struct iovec here = {.iov_base = &to, .iov_len = 1};
    struct iovec there = {.iov_base = &from, .iov_len = 1};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

/* Except the registries of this process's own classes, which are writable. */
uint32_t
count_mappings(void)
{
    char line[1024];
    uint32_t count = 0;
    FILE *file = fopen("/proc/self/maps", "re");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof(line), file) != NULL)
        count += strstr(line, "memfd:talaria-sm") != NULL &&
                 (strstr(line, " rw-s ") == NULL ||
                     strstr(line, "talaria-sm-registry") == NULL);
    fclose(file);
    return count;
}

uint32_t
count_sockets(void)
{
    char process[32];
    char program[32];
    snprintf(process, sizeof(process), "%d-", (int) getpid());
    snprintf(program, sizeof(program), ".%d", (int) run);
    uint32_t count = 0;
    char line[1024];
    FILE *file = fopen("/proc/net/unix", "re");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *name = strstr(line, "@talaria-sm/");
        if (name != NULL &&
            (strstr(name, process) != NULL || strstr(name, program) != NULL))
            count++;
    }
    fclose(file);
    return count;
}

static const char *
compose(const char *front, const char *base)
{
    static char names[8][TEXT];
    static uint32_t next;
    char *name = names[next++ % 8];
    snprintf(name, TEXT, "%s%s.%d", front, base, (int) run);
    return name;
}

const char *
own_name(const char *base)
{
    return compose("", base);
}

const char *
own_address(const char *base)
{
    return compose("sm://", base);
}

int
run_cases(const char *name, TCase *const *cases, uint32_t count)
{
    run = getpid();
    Suite *suite = suite_create(name);
    for (uint32_t i = 0; i < count; i++)
        suite_add_tcase(suite, cases[i]);
    return run_suite(suite);
}
