/* SPDX-License-Identifier: BSD-3-Clause */
/* 256 processes, or as many as there are descriptors for, connected to one
 * server: what they cost while idle, and what is left when they are killed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "harness.h"

#define PEERS 256
#define SPARE 16 /* reserve for other descriptors, in peers */
#define EACH 4   /* descriptors: two pipes, and two of the connection */
#define IDLE_BYTES (64U << 10) /* memory per peer: both rings and bookkeeping */

/* Sends once, waits for the answer, and idles until it is killed. */
static int
peer_body(const struct parent *parent)
{
    static struct node node;
    char text[TEXT];
    char buffer[64];

    recv_line(parent->in, text);
    node_open(&node, NULL);
    na_plugin_addr *server = lookup(&node, text);
    void *op = post_expected(&node, buffer, sizeof(buffer), server, 2);
    ck_assert_int_eq(send_unexpected(&node, "hello", 6, server, 1), 0);
    send_line(parent->out, "sent");
    /* however long the server takes for all of them */
    expect_line(parent->in, "answered");
    await_message(&node, 0, op, 6, 2, false);
    send_line(parent->out, "up");
    recv_line(parent->in, text); /* never arrives */
    return 1;
}

/* KiB in a line of /proc/self/status. */
static long
status_kib(const char *name)
{
    FILE *stream = fopen("/proc/self/status", "re");
    char line[256];
    long kib = -1;

    ck_assert_ptr_nonnull(stream);
    while (fgets(line, sizeof(line), stream) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            kib = strtol(line + strlen(name) + 1, NULL, 10);
    fclose(stream);
    return kib;
}

static long
memory_kib(void)
{
    return status_kib("RssShmem") + status_kib("RssAnon");
}

/* Nanoseconds of an idle poll: the best of many batches, since the machine may
 * be busy. */
static uint64_t
idle_poll_ns(struct node *node)
{
    enum { BATCHES = 50, POLLS = 1000 };
    na_plugin_event events[16];
    uint64_t best = UINT64_MAX;

    for (int batch = 0; batch < BATCHES; batch++) {
        int32_t found = 0;
        uint64_t from = now_ns();
        for (int i = 0; i < POLLS; i++)
            found |= node->ops->poll(node->ctx[0], events, 16);
        uint64_t each = (now_ns() - from) / POLLS;
        ck_assert_int_eq(found, 0);
        best = each < best ? each : best;
    }
    return best;
}

/* A round trip between the server and a friend in this process. */
static void
round_trip(struct node *server, struct node *friend, na_plugin_addr *to)
{
    char buffer[64], answer[64];
    void *op = post_unexpected(server, buffer, sizeof(buffer));
    void *back = post_expected(friend, answer, sizeof(answer), to, 4);

    ck_assert_int_eq(send_unexpected(friend, "friend", 7, to, 3), 0);
    na_plugin_event event = await_message(server, 0, op, 7, 3, true);
    ck_assert_int_eq(send_expected(server, buffer, 7, event.source, 4), 0);
    await_message(friend, 0, back, 7, 4, false);
    server->ops->addr_free(server->cls, event.source);
    free(op);
    free(back);
}

/* As many peers as there are descriptors for. */
static int
count_peers(void)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur >= EACH * (PEERS + SPARE))
        return PEERS;
    ck_assert_uint_gt(limit.rlim_cur, EACH * 2 * SPARE);
    return (int) (limit.rlim_cur / EACH - SPARE);
}

static void
connect_all(struct node *server, struct child *children, int peers)
{
    char text[TEXT];
    char buffer[64];

    self_string(server, text);
    for (int i = 0; i < peers; i++)
        send_line(children[i].out, text);
    for (int i = 0; i < peers; i++)
        expect_line(children[i].in, "sent");
    for (int i = 0; i < peers; i++) {
        void *op = post_unexpected(server, buffer, sizeof(buffer));
        na_plugin_event event = await_message(server, 0, op, 6, 1, true);
        ck_assert_int_eq(send_expected(server, buffer, 6, event.source, 2), 0);
        server->ops->addr_free(server->cls, event.source);
        free(op);
    }
    for (int i = 0; i < peers; i++) {
        send_line(children[i].out, "answered");
        expect_line(children[i].in, "up");
    }
}

START_TEST(many_idle_peers_are_cheap_and_leak_nothing)
{
    static struct node server, friend;
    static struct child children[PEERS];
    int peers = count_peers();

    for (int i = 0; i < peers; i++)
        children[i] = child_start(peer_body, NULL);
    node_open(&server, NULL);
    node_open(&friend, NULL);
    char text[TEXT];
    self_string(&server, text);
    na_plugin_addr *to = lookup(&friend, text);
    round_trip(&server, &friend, to);
    uint32_t descriptors = count_descriptors();
    long before = memory_kib();
    uint64_t alone_ns = idle_poll_ns(&server);

    connect_all(&server, children, peers);
    ck_assert_uint_eq(node_counter(&server, "peers_connected"), peers + 1);
    ck_assert_uint_le(
        node_counter(&server, "peers_bytes") / (peers + 1), IDLE_BYTES + 1024);
    long each = (memory_kib() - before) / peers;
    printf("%d peers: %ld KiB each, %llu bytes mapped at most\n", peers, each,
        (unsigned long long) (node_counter(&server, "peers_bytes") /
                              (peers + 1)));
    uint64_t crowded_ns = idle_poll_ns(&server);
    printf(
        "a poll: %llu ns with one peer, %llu ns with %d more that are idle\n",
        (unsigned long long) alone_ns, (unsigned long long) crowded_ns, peers);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ck_assert_int_le(each, IDLE_BYTES / 1024);
    /* Polling each ring would touch a cache line per idle peer. */
    ck_assert_uint_le(crowded_ns, 2 * alone_ns + 50);
#endif
    for (int i = 0; i < 1000; i++)
        round_trip(&server, &friend, to);

    for (int i = 0; i < peers; i++)
        kill(children[i].pid, SIGKILL);
    for (uint64_t end = now_ns() + UINT64_C(20000000000);
         node_counter(&server, "peers_connected") > 1;) {
        ck_assert_msg(now_ns() < end, "some still count as alive");
        pump();
    }
    for (int i = 0; i < peers; i++)
        child_reap(&children[i]);
    for (int i = 0; i < 2000; i++)
        pump();
    /* reaping has closed the pipes */
    ck_assert_uint_le(count_descriptors(), descriptors - 2 * peers);
    round_trip(&server, &friend, to);
    friend.ops->addr_free(friend.cls, to);
    node_close(&friend);
    node_close(&server);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("many_peers");

    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, many_idle_peers_are_cheap_and_leak_nothing);
    return run_cases("many_peers", &cases, 1);
}
