/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that connect and stay silent, as many as there are descriptors: the
 * class keeps serving others, and gets its descriptors back, whether they
 * disconnect or stay. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counts.h"
#include "entries.h"
#include "harness.h"

#define QUIET_NS UINT64_C(700000000) /* longer than 200ms */
#define WAIT_NS UINT64_C(20000000000)
#define SILENT_CONNECTIONS 150U    /* over other providers than tcp */
#define SLACK (UINT64_C(64) << 10) /* of memory */
#define BYTES 1000U                /* too long to be injected */

static const char *const protocols[] = {"tcp", "tcp;ofi_rxm", "sockets"};
#define PROTOCOLS ((int) (sizeof(protocols) / sizeof(protocols[0])))

/* rxm does not accept thousands of them in time, and sockets serves no other peers
 * meanwhile. */
static uint32_t
silent_peer_count(const char *protocol)
{
    return strcmp(protocol, "tcp") == 0 ? test_count_open(TEST_SILENT, 1)
                                        : SILENT_CONNECTIONS;
}

/* A process that performs one step for each byte that it gets, and answers with
 * a byte. */
struct helper {
    pid_t process;
    int pipe;
};

static struct helper
helper_begin(
    void (*serve)(int pipe, const char *protocol), const char *protocol)
{
    int pipes[2];

    ck_assert_int_eq(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pipes), 0);
    pid_t process = fork();
    ck_assert_int_ge(process, 0);
    if (process == 0) {
        close(pipes[0]);
        serve(pipes[1], protocol);
        _exit(0);
    }
    close(pipes[1]);
    return (struct helper){process, pipes[0]};
}

static void
helper_step(const struct helper *helper, const void *bytes, size_t length)
{
    ck_assert_int_eq(
        send(helper->pipe, bytes, length, MSG_NOSIGNAL), (ssize_t) length);
}

static bool
helper_has_answered(const struct helper *helper)
{
    struct pollfd one = {.fd = helper->pipe, .events = POLLIN};
    char byte = 0;

    if (poll(&one, 1, 0) != 1)
        return false;
    ck_assert_msg(read(helper->pipe, &byte, 1) == 1, "a helper has ended");
    return true;
}

static void
helper_end(const struct helper *helper)
{
    int status = 0;

    close(helper->pipe);
    ck_assert_int_eq(waitpid(helper->process, &status, 0), helper->process);
    ck_assert_int_eq(status, 0);
}

/* SILENT PEERS */

/* Reads a port, then connects many times; next byte: closes the connections. */
static void
silent_peers_main(int pipe, const char *protocol)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    uint32_t count = silent_peer_count(protocol);
    int *sockets = calloc(count, sizeof(*sockets));
    char byte = 0;

    if (read(pipe, &address.sin_port, 2) != 2)
        return;
    for (uint32_t i = 0; i < count; i++) {
        sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(sockets[i], (void *) &address, sizeof(address)) != 0 &&
            errno != EINPROGRESS)
            _exit(1);
    }
    if (write(pipe, &byte, 1) != 1 || read(pipe, &byte, 1) != 1)
        return;
    for (uint32_t i = 0; i < count; i++)
        close(sockets[i]);
    free(sockets);
    if (write(pipe, &byte, 1) != 1 || read(pipe, &byte, 1) != 1)
        return;
}

/* A CLIENT */

static void
send_one(struct node *node, na_plugin_addr *to)
{
    static const unsigned char bytes[BYTES];
    uint64_t end = now_ns() + WAIT_NS;
    void *op = op_new(node);
    na_plugin_event event;

    int32_t ret = node->ops->send_unexpected(
        node->ctx, op, bytes, BYTES, NULL, to, 0, 1, 0);
    while (ret == NA_PLUGIN_PENDING)
        if (poll_one(node, &event))
            ret = event.status == NA_PLUGIN_OK ? NA_PLUGIN_DONE : event.status;
        else if (now_ns() > end)
            _exit(2);
    if (ret != NA_PLUGIN_DONE)
        _exit(3);
    free(op);
}

/* Reads the class's address, then sends it a message for each byte. */
static void
client_main(int pipe, const char *protocol)
{
    const struct node_options options = {.protocol = protocol};
    char text[TEXT] = "";
    na_plugin_event event;
    struct node node;
    char byte = 0;

    if (read(pipe, text, sizeof(text)) != (ssize_t) sizeof(text))
        return;
    node_open(&node, &options);
    na_plugin_addr *to = lookup(&node, text);
    for (;;) {
        struct pollfd one = {.fd = pipe, .events = POLLIN};
        while (poll(&one, 1, 1) == 0)
            poll_one(&node, &event);
        if (read(pipe, &byte, 1) != 1)
            break;
        send_one(&node, to);
        if (write(pipe, &byte, 1) != 1)
            break;
    }
    node.ops->addr_free(node.cls, to);
    node_close(&node);
}

/* THE CLASS */

/* Whether it has none left. */
static bool
is_full(void)
{
    int fd = dup(0);

    if (fd >= 0)
        close(fd);
    return fd < 0;
}

static void
limit_descriptors(rlim_t most)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = most;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Receives one message of a client. */
static void
serve(struct node *node, const struct helper *client)
{
    static unsigned char bytes[4096];
    uint64_t end = now_ns() + WAIT_NS;
    bool received = false, answered = false;
    void *op = op_new(node);
    na_plugin_event event;

    helper_step(client, "", 1);
    ck_assert_int_eq(node->ops->recv_unexpected(
                         node->ctx, op, bytes, sizeof(bytes), NULL, 0),
        NA_PLUGIN_PENDING);
    while (!received || !answered) {
        if (poll_one(node, &event)) {
            ck_assert_ptr_eq(event.op, op);
            ck_assert_int_eq(event.status, NA_PLUGIN_OK);
            ck_assert_uint_eq(event.length, BYTES);
            node->ops->addr_free(node->cls, event.source);
            received = true;
        }
        answered = answered || helper_has_answered(client);
        ck_assert_msg(now_ns() < end, "a client is not served");
    }
    free(op);
}

struct crowd {
    struct node node;
    struct helper silent;
    struct helper old; /* a client that was served before */
    struct helper new; /* one that connects while they are there */
    uint32_t room;     /* free descriptors of the class's process */
    uint32_t before;   /* descriptors */
    uint64_t heap;     /* before */
};

static void
crowd_begin(struct crowd *crowd, const char *protocol, const char *timeout)
{
    const struct node_options options = {.protocol = protocol,
        .setting_key = "ofi.silent_timeout",
        .setting_value = timeout};
    char text[TEXT] = "";
    na_plugin_event event;

    crowd->silent = helper_begin(silent_peers_main, protocol);
    crowd->old = helper_begin(client_main, protocol);
    crowd->new = helper_begin(client_main, protocol);
    node_open(&crowd->node, &options);
    self_string(&crowd->node, text);
    helper_step(&crowd->old, text, sizeof(text));
    helper_step(&crowd->new, text, sizeof(text));
    serve(&crowd->node, &crowd->old);
    crowd->before = count_descriptors();
    crowd->heap = test_heap();
    crowd->room = silent_peer_count(protocol) * 2 / 5;
    limit_descriptors(crowd->before + crowd->room);

    const uint16_t port = htons((uint16_t) atoi(strrchr(text, ':') + 1));
    helper_step(&crowd->silent, &port, 2);
    bool here = false, full = false;
    for (uint64_t end = now_ns() + WAIT_NS; !here || !full;) {
        ck_assert(!poll_one(&crowd->node, &event));
        ck_assert_msg(now_ns() < end, "they take no descriptors");
        here = here || helper_has_answered(&crowd->silent);
        full = full || is_full() ||
               node_counter(&crowd->node, "silent_connections") != 0;
    }
}

static void
crowd_end(struct crowd *crowd)
{
    uint64_t heap = test_heap();

    printf("%u descriptors, room for %u, then %u; heap %llu, then %llu\n",
        crowd->before, crowd->room, count_descriptors(),
        (unsigned long long) crowd->heap, (unsigned long long) heap);
    ck_assert_uint_le(heap, crowd->heap + SLACK);
    /* each inherits the pipes of those started before it */
    helper_end(&crowd->new);
    helper_end(&crowd->old);
    helper_end(&crowd->silent);
    node_close(&crowd->node);
}

/* Waits until the class has no more descriptors than before, plus one
 * connection per client. */
static void
await_descriptors(struct crowd *crowd)
{
    uint64_t end = now_ns() + WAIT_NS;
    na_plugin_event event;

    while (is_full() || count_descriptors() > crowd->before + 4) {
        ck_assert(!poll_one(&crowd->node, &event));
        ck_assert_msg(now_ns() < end, "%u descriptors, and %u before",
            is_full() ? 0 : count_descriptors(), crowd->before);
    }
}

START_TEST(silent_peers_that_disconnect_leak_nothing)
{
    struct crowd crowd;

    crowd_begin(&crowd, protocols[_i], "0");
    serve(&crowd.node, &crowd.old);
    helper_step(&crowd.silent, "", 1);
    await_descriptors(&crowd);
    serve(&crowd.node, &crowd.new);
    serve(&crowd.node, &crowd.old);
    ck_assert_uint_eq(node_counter(&crowd.node, "silent_connections"), 0);
    crowd_end(&crowd);
}
END_TEST

START_TEST(silent_peers_that_stay_are_disconnected)
{
    struct crowd crowd;

    crowd_begin(&crowd, protocols[_i], "200ms");
    serve(&crowd.node, &crowd.old);
    serve(&crowd.node, &crowd.new);
    /* on a busy machine the new client may take longer than 200ms from its
     * connection to its first bytes: then it has needed another */
    uint64_t most = node_counter(&crowd.node, "silent_connections");
    if (most < silent_peer_count(protocols[_i]))
        most = silent_peer_count(protocols[_i]);
    await_descriptors(&crowd);
    /* the clients are silent as well, but have sent something before */
    for (uint64_t end = now_ns() + QUIET_NS; now_ns() < end;) {
        na_plugin_event event;
        ck_assert(!poll_one(&crowd.node, &event));
    }
    ck_assert_uint_le(node_counter(&crowd.node, "silent_connections"), most);
    serve(&crowd.node, &crowd.old);
    serve(&crowd.node, &crowd.new);
    ck_assert_uint_ge(node_counter(&crowd.node, "silent_connections"),
        silent_peer_count(protocols[_i]) - crowd.room);
    ck_assert_uint_eq(node_counter(&crowd.node, "peers_lost"), 0);
    crowd_end(&crowd);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("silent");

    tcase_add_loop_test(
        cases, silent_peers_that_disconnect_leak_nothing, 0, PROTOCOLS);
    tcase_add_loop_test(
        cases, silent_peers_that_stay_are_disconnected, 0, PROTOCOLS);
    return run_tcase("ofi silent", cases);
}
