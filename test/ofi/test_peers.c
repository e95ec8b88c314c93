/* SPDX-License-Identifier: BSD-3-Clause */
/* One server: three hundred clients at once; killed and restarted at the same
 * port while clients keep calling. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counts.h"
#include "entries.h"
#include "harness.h"

#define CLIENTS 300U
#define CALLERS 4U
#define BYTES 64U
#define SECOND UINT64_C(1000000000)
#define ANSWER_NS (120 * SECOND)

/* A client of one server: one request and one answer at a time. */
struct client {
    struct node node;
    na_plugin_addr *server;
    void *send;
    void *receive;
    unsigned char request[BYTES];
    unsigned char answer[BYTES];
    bool sent;
    bool answered;
    int32_t status; /* the first error */
};

static void
client_open(struct client *client, const char *server)
{
    memset(client, 0, sizeof(*client));
    /* Hundreds of them connect to one thread, which may get little time. */
    node_open(&client->node,
        &(struct node_options){
            .setting_key = "ofi.connect_timeout", .setting_value = "120s"});
    client->server = lookup(&client->node, server);
    client->send = op_new(&client->node);
    client->receive = op_new(&client->node);
}

static void
client_close(struct client *client)
{
    client->node.ops->addr_free(client->node.cls, client->server);
    node_close(&client->node);
    free(client->send);
    free(client->receive);
}

static void
client_end(struct client *client, bool *which, int32_t status)
{
    *which = true;
    if (status != NA_PLUGIN_OK && client->status == NA_PLUGIN_OK)
        client->status = status;
}

static void
client_call(struct client *client, uint64_t tag)
{
    const struct node *node = &client->node;

    client->sent = client->answered = false;
    client->status = NA_PLUGIN_OK;
    int32_t ret = node->ops->recv_expected(node->ctx, client->receive,
        client->answer, BYTES, NULL, client->server, 0, tag, 0);
    if (ret < 0)
        client_end(client, &client->answered, ret);
    ret = node->ops->send_unexpected(node->ctx, client->send, client->request,
        BYTES, NULL, client->server, 0, tag, 0);
    if (ret != NA_PLUGIN_PENDING || client->status != NA_PLUGIN_OK)
        client_end(client, &client->sent, ret < 0 ? ret : NA_PLUGIN_OK);
}

/* Whether the call has ended, with an answer or with client->status. */
static bool
client_poll(struct client *client)
{
    na_plugin_event event;

    while (poll_one(&client->node, &event))
        client_end(client,
            event.op == client->send ? &client->sent : &client->answered,
            event.status);
    if (client->sent && client->status != NA_PLUGIN_OK && !client->answered)
        client->node.ops->cancel(client->node.ctx, client->receive);
    return client->sent && client->answered;
}

/* Answers each request with an expected message to its source. */
struct server {
    struct node node;
    void *receive;
    void *send;
    unsigned char buffer[4096];
    bool sending;
    uint32_t answers;
};

static void
server_receive(struct server *server)
{
    const struct node *node = &server->node;
    int32_t ret = node->ops->recv_unexpected(node->ctx, server->receive,
        server->buffer, sizeof(server->buffer), NULL, 0);

    /* Not an assertion, which libcheck would record: see fork_server. */
    if (ret != NA_PLUGIN_PENDING)
        ck_abort_msg("recv_unexpected returned %d", ret);
}

static void
server_open(struct server *server, int32_t port)
{
    memset(server, 0, sizeof(*server));
    node_open(&server->node, &(struct node_options){.port = port});
    server->receive = op_new(&server->node);
    server->send = op_new(&server->node);
    server_receive(server);
}

static void
server_poll(struct server *server)
{
    const struct node *node = &server->node;
    na_plugin_event event;

    while (poll_one(&server->node, &event)) {
        if (event.op == server->send) {
            server->sending = false;
            server_receive(server);
            continue;
        }
        int32_t ret = node->ops->send_expected(node->ctx, server->send,
            event.buffer, BYTES, NULL, event.source, 0, event.tag, 0);
        node->ops->addr_free(node->cls, event.source);
        server->answers++;
        server->sending = ret == NA_PLUGIN_PENDING;
        if (!server->sending)
            server_receive(server);
    }
}

START_TEST(peers_three_hundred_clients_are_answered)
{
    static struct client clients[CLIENTS];
    struct rlimit limit;
    struct server server;
    char text[TEXT];

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 8192) {
        puts("skipped: fewer than 8192 descriptors");
        return;
    }
    server_open(&server, 0);
    self_string(&server.node, text);
    for (uint32_t i = 0; i < CLIENTS; i++)
        client_open(&clients[i], text);
    for (uint32_t round = 0; round < 2; round++) {
        uint64_t end = now_ns() + ANSWER_NS;
        uint32_t done = 0;
        for (uint32_t i = 0; i < CLIENTS; i++)
            client_call(&clients[i], i);
        while (done < CLIENTS) {
            done = 0;
            server_poll(&server);
            for (uint32_t i = 0; i < CLIENTS; i++) {
                done += client_poll(&clients[i]);
                ck_assert_int_eq(clients[i].status, NA_PLUGIN_OK);
            }
            ck_assert_msg(now_ns() < end, "%u of %u answered", done, CLIENTS);
        }
    }
    ck_assert_uint_eq(server.answers, 2 * CLIENTS);
    ck_assert_uint_ge(node_counter(&server.node, "peers"), CLIENTS);
    ck_assert_uint_gt(node_counter(&server.node, "peer_bytes"), 0);
    ck_assert_uint_lt(node_counter(&server.node, "peer_bytes"), 1024);
    for (uint32_t i = 0; i < CLIENTS; i++)
        client_close(&clients[i]);
    node_close(&server.node);
    free(server.receive);
    free(server.send);
}
END_TEST

/* Starts a server at this port in a process of its own; waits until it
 * listens. */
static pid_t
fork_server(int32_t port)
{
    int ready[2];
    char byte;

    ck_assert_int_eq(pipe(ready), 0);
    /* Both processes write libcheck's records into one file. The server is killed, so
     * it must not have more of them than its buffer holds: else the last one in the
     * file is cut off, and libcheck ends with "Bad message type". */
    fflush(NULL);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        static struct server server;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        server_open(&server, port);
        if (write(ready[1], "r", 1) != 1)
            _exit(1);
        for (;;)
            server_poll(&server);
    }
    close(ready[1]);
    ck_assert_msg(read(ready[0], &byte, 1) == 1, "no server at port %d", port);
    close(ready[0]);
    return pid;
}

/* A port that is free now. */
static int32_t
free_port(void)
{
    struct node node;
    char text[TEXT];
    int port = 0;

    node_open(&node, NULL);
    self_string(&node, text);
    node_close(&node);
    ck_assert_int_eq(sscanf(strrchr(text, ':'), ":%d", &port), 1);
    return port;
}

/* Whether an error means that the server has ended. */
static bool
is_loss(int32_t status)
{
    return status == NA_PLUGIN_E_HOSTUNREACH ||
           status == NA_PLUGIN_E_IO_ERROR || status == NA_PLUGIN_E_CANCELED;
}

/* Clients that call continuously. They stop when each has been answered this
 * many times. */
static void
load(struct client *clients, uint64_t *tag, uint32_t answers)
{
    uint64_t end = now_ns() + ANSWER_NS;
    uint32_t answered[CALLERS] = {0};

    for (uint32_t done = 0; done < CALLERS;) {
        done = 0;
        for (uint32_t i = 0; i < CALLERS; i++) {
            if (!client_poll(&clients[i]))
                continue;
            ck_assert_msg(
                clients[i].status == NA_PLUGIN_OK || is_loss(clients[i].status),
                "a call ended with %d", clients[i].status);
            answered[i] += clients[i].status == NA_PLUGIN_OK;
            if (answered[i] >= answers)
                done++;
            else
                client_call(&clients[i], (*tag)++);
        }
        ck_assert_msg(now_ns() < end,
            "%u of %u clients were answered, or a "
            "call ends neither way",
            done, CALLERS);
    }
}

/* Kilobytes of memory of this process. */
static long
resident(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%*d %ld", &pages), 1);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Under load that continues after the restart. What clients keep does not grow
 * with the number of restarts. */
START_TEST(peers_restarted_server_is_reached_again)
{
    static struct client clients[CALLERS];
    int32_t port = free_port();
    uint32_t rounds = test_count(TEST_RESTARTS), fds = 0;
    char text[TEXT];
    uint64_t tag = 0;
    long memory = 0;
    int status;

    pid_t pid = fork_server(port);
    snprintf(text, sizeof(text), "tcp://127.0.0.1:%d", port);
    for (uint32_t i = 0; i < CALLERS; i++) {
        client_open(&clients[i], text);
        clients[i].sent = clients[i].answered = true;
    }
    for (uint32_t round = 0; round < rounds; round++) {
        load(clients, &tag, 100);
        if (round == 1) {
            fds = count_descriptors();
            memory = resident();
        }
        for (uint32_t i = 0; i < CALLERS; i++)
            client_call(&clients[i], tag++);
        kill(pid, SIGKILL);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        /* half of them notice the loss, the others reach the next server */
        for (uint64_t end = now_ns() + ANSWER_NS; !client_poll(&clients[0]);)
            ck_assert_msg(now_ns() < end, "a call outlives its server");
        pid = fork_server(port);
        for (uint32_t i = 0; i < CALLERS && round % 2 == 0; i++)
            clients[i].node.ops->addr_forget(
                clients[i].node.cls, clients[i].server);
        load(clients, &tag, 2); /* one of them may be older */
    }
    load(clients, &tag, 100);
    ck_assert_uint_le(count_descriptors(), fds + 2);
    ck_assert_msg(resident() - memory < 32 * (long) rounds * CALLERS,
        "%ld kilobytes, and %ld in the second round", resident(), memory);
    for (uint32_t i = 0; i < CALLERS; i++)
        ck_assert_uint_le(node_counter(&clients[i].node, "peers"), 2);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    for (uint32_t i = 0; i < CALLERS; i++)
        client_close(&clients[i]);
}
END_TEST

static void
client_pump(struct client *client, uint64_t ns)
{
    na_plugin_event event;

    for (uint64_t end = now_ns() + ns; now_ns() < end;)
        ck_assert(!poll_one(&client->node, &event));
}

/* An operation with it ends; then none is pending. */
START_TEST(peers_dead_and_unused_are_not_probed)
{
    static struct client client;
    int32_t port = free_port();
    char text[TEXT];
    uint64_t probes;
    int status;

    pid_t pid = fork_server(port);
    snprintf(text, sizeof(text), "tcp://127.0.0.1:%d", port);
    client_open(&client, text);
    client.sent = client.answered = true;
    client_call(&client, 1);
    for (uint64_t end = now_ns() + ANSWER_NS; !client_poll(&client);)
        ck_assert(now_ns() < end);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    client_call(&client, 2);
    for (uint64_t end = now_ns() + ANSWER_NS; !client_poll(&client);)
        ck_assert_msg(now_ns() < end, "a call outlives its server");
    ck_assert_int_eq(client.status, NA_PLUGIN_E_HOSTUNREACH);
    client_pump(&client, SECOND / 2);
    probes = node_counter(&client.node, "liveness_probes");
    client_pump(&client, SECOND);
    ck_assert_uint_eq(node_counter(&client.node, "liveness_probes"), probes);
    client_close(&client);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("peers");

    tcase_set_timeout(cases, 240);
    tcase_add_test(cases, peers_three_hundred_clients_are_answered);
    tcase_add_test(cases, peers_restarted_server_is_reached_again);
    tcase_add_test(cases, peers_dead_and_unused_are_not_probed);
    return run_tcase("ofi peers", cases);
}
