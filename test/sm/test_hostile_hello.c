/* SPDX-License-Identifier: BSD-3-Clause */
/* Callers and listeners with invalid hellos: they are refused, and other peers
 * are not affected. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "counts.h"
#include "hostile_peer.h"

#define SLACK (UINT64_C(256) << 10) /* kind of memory */

/* A hello that must be refused. */
static void
refuse(struct hello hello, size_t length, const int *fds, size_t count)
{
    int fd = call(&hostile_target);
    send_with(fd, &hello, length, fds, count);
    expect_hangup(fd);
    close(fd);
    check_friend();
}

START_TEST(hostile_hello_is_refused)
{
    open_both();
    check_friend();
    uint32_t mappings = count_mappings();
    uint32_t descriptors = count_descriptors();
    int memory = make_ring_memory();
    size_t all = sizeof(struct hello);

    struct hello hello = good_hello();
    refuse(hello, 1, &memory, 1);
    refuse(hello, all - 1, &memory, 1);
    refuse(hello, all, NULL, 0);
    hello.magic++;
    refuse(hello, all, &memory, 1);
    hello = good_hello();
    hello.major = 2;
    refuse(hello, all, &memory, 1);
    hello = good_hello();
    hello.major = 4;
    refuse(hello, all, &memory, 1);
    hello = good_hello();
    hello.size = 12;
    refuse(hello, all, &memory, 1);
    hello = good_hello();
    hello.owner = 0;
    refuse(hello, all, &memory, 1);
    static const uint32_t lengths[] = {0, 88, 89, 4096, UINT32_MAX};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        hello = good_hello();
        hello.name_length = lengths[i];
        refuse(hello, all, &memory, 1);
    }
    static const char *const names[] = {"1-0", "peer", "-1-1", "peer-0-1",
        "peer-99999999999-1", "../../x-1-1", "peer- -1"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        hello = good_hello();
        snprintf(hello.name, sizeof(hello.name), "%s", names[i]);
        hello.name_length = (uint32_t) strlen(hello.name);
        refuse(hello, all, &memory, 1);
    }
    const uint32_t capacities[] = {0, 64, PAGE, CAPACITY + 64, CAPACITY - PAGE,
        CAPACITY + PAGE, 1U << 30, UINT32_MAX - 4095, UINT32_MAX};
    for (size_t i = 0; i < sizeof(capacities) / sizeof(capacities[0]); i++) {
        hello = good_hello();
        hello.capacity = capacities[i];
        refuse(hello, all, &memory, 1);
    }
    static const uint32_t longest[] = {20000, 65537, UINT32_MAX};
    for (size_t i = 0; i < sizeof(longest) / sizeof(longest[0]); i++) {
        hello = good_hello();
        hello.longest = longest[i];
        refuse(hello, all, &memory, 1);
    }
    close(memory);
    ck_assert_uint_eq(count_mappings(), mappings);
    ck_assert_uint_eq(count_descriptors(), descriptors);
    close_both();
}
END_TEST

/* Its ring is large enough for them. */
START_TEST(hostile_hello_with_too_large_messages_is_refused)
{
    const uint32_t front[2] = {RING_MAGIC, 1U << 20};
    struct hostile_peer peer = {.registry = -1};

    open_both();
    peer.memory = make_memory(PAGE + front[1], 0);
    ck_assert_int_eq(
        pwrite(peer.memory, front, sizeof(front), 0), (ssize_t) sizeof(front));
    ck_assert_int_eq(fcntl(peer.memory, F_ADD_SEALS, SEALS), 0);
    struct hello hello = good_hello();
    hello.capacity = front[1];
    hello.longest = 65537;
    refuse(hello, sizeof(hello), &peer.memory, 1);
    ck_assert_uint_ge(node_warnings(&hostile_target), 1);

    hello.longest = 65536;
    peer.socket = call(&hostile_target);
    send_with(peer.socket, &hello, sizeof(hello), &peer.memory, 1);
    ck_assert_int_eq(await_answer(&peer).status, 0);
    close(peer.socket);
    close(peer.memory);
    close_both();
}
END_TEST

START_TEST(hostile_hello_with_the_class_own_name_is_refused)
{
    char text[TEXT];
    open_both();
    int memory = make_ring_memory();
    struct hello hello = good_hello();
    self_string(&hostile_target, text);
    hello.name_length = (uint32_t) snprintf(
        hello.name, sizeof(hello.name), "%s", text + strlen("sm://"));
    refuse(hello, sizeof(hello), &memory, 1);
    close(memory);
    close_both();
}
END_TEST

START_TEST(hostile_memory_is_refused)
{
    int pipes[2];
    int many[40];
    size_t all = sizeof(struct hello);
    open_both();
    check_friend();
    uint32_t descriptors = count_descriptors();
    ck_assert_int_eq(pipe(pipes), 0);
    /* each a valid ring except for one property */
    const char *unsealed = "is not sealed", *size = "has another size";
    const struct {
        int fd;
        const char *why;
    } bad[] = {
        {make_ring_memory_sealed(0), unsealed},
        {make_ring_memory_sealed(F_SEAL_SHRINK), unsealed},
        {make_ring_memory_sealed(F_SEAL_GROW), unsealed},
        {make_ring_memory_sealed(F_SEAL_SEAL), unsealed},
        {make_ring_memory_sealed(F_SEAL_SHRINK | F_SEAL_GROW), unsealed},
        {make_ring_memory_sealed(F_SEAL_SHRINK | F_SEAL_SEAL), unsealed},
        {make_ring_memory_sealed(F_SEAL_GROW | F_SEAL_SEAL), unsealed},
        {make_ring_memory_sealed(SEALS | F_SEAL_WRITE), "cannot be mapped"},
        {make_memory(CAPACITY, SEALS), size},
        {make_memory(2 * PAGE + CAPACITY, SEALS), size},
        {make_memory(0, SEALS), size},
        {make_memory(PAGE + CAPACITY, SEALS), "is not a ring"},
        {open("/dev/zero", O_RDWR | O_CLOEXEC), unsealed},
        {open("/proc/self/exe", O_RDONLY | O_CLOEXEC), unsealed},
        {pipes[0], unsealed},
        {pipes[1], unsealed},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        refuse(good_hello(), all, &bad[i].fd, 1);
        ck_assert_msg(strstr(hostile_target.last_line, bad[i].why) != NULL,
            "number %zu: %s", i, hostile_target.last_line);
    }
    for (size_t i = 0; i < 40; i++)
        many[i] = bad[0].fd;
    refuse(good_hello(), all, many, 2);
    refuse(good_hello(), all, many, 40);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        close(bad[i].fd);
    ck_assert_uint_eq(count_descriptors(), descriptors);
    close_both();
}
END_TEST

/* Silent callers are disconnected when there are too many, or after a while. */
START_TEST(hostile_silent_callers_are_bounded)
{
    uint32_t callers = 256 + test_count_open(TEST_SILENT, 1);
    int *fds = calloc(callers, sizeof(*fds));
    open_both();
    check_friend();
    uint32_t descriptors = count_descriptors();
    uint64_t heap = test_heap();
    for (uint32_t i = 0; i < callers; i++) {
        fds[i] = call(&hostile_target);
        pump();
    }
    check_friend();
    /* one here; two at the class: socket and process */
    uint32_t amid = count_descriptors();
    ck_assert_uint_le(amid, descriptors + callers + 2 * 257);
    expect_hangup(fds[0]);
    check_friend();
    for (uint32_t i = 0; i < callers; i++)
        close(fds[i]);
    free(fds);
    for (int i = 0; i < 20000; i++)
        pump();
    printf("%u silent: descriptors %u, %u, then %u; heap %llu, then %llu\n",
        callers, descriptors, amid, count_descriptors(),
        (unsigned long long) heap, (unsigned long long) test_heap());
    fflush(stdout);
    ck_assert_uint_eq(count_descriptors(), descriptors);
    ck_assert_uint_le(test_heap(), heap + SLACK);
    close_both();
}
END_TEST

/* Malformed answers, and refusals. */
START_TEST(hostile_answer_fails_the_connection)
{
    char buffer[8];
    char text[TEXT];
    for (int i = 0; i < 6; i++) {
        struct trap trap;
        open_both();
        trap_open(&trap, text);
        na_plugin_addr *peer = lookup(&hostile_target, text);
        void *wait =
            post_expected(&hostile_target, buffer, sizeof(buffer), peer, 1);
        trap_accept(&trap);
        struct hello hello = good_hello();
        size_t length = sizeof(hello);
        int32_t code = NA_PLUGIN_E_PROTOCOL_ERROR;
        if (i == 0)
            hello.major = 9;
        else if (i == 1)
            hello.status = NA_PLUGIN_E_PROTOCOL_ERROR;
        else if (i == 2)
            hello.name[0] = '/';
        else if (i == 3)
            code = NA_PLUGIN_E_HOSTUNREACH, length = 5;
        else if (i == 4)
            code = NA_PLUGIN_E_HOSTUNREACH, hello.magic = 0;
        send_with(trap.socket, &hello, length, NULL, 0);
        ck_assert_int_eq(await_op(&hostile_target, 0, wait).status, code);
        expect_hangup(trap.socket);
        check_friend();
        hostile_target.ops->addr_free(hostile_target.cls, peer);
        free(wait);
        trap_close(&trap);
        close_both();
    }
}
END_TEST

/* Connects to a listener until its backlog is full. Returns how many sockets
 * that took. */
static int
fill_backlog(const char *text, int fds[64])
{
    struct sockaddr_un address;
    socklen_t length = address_of(text + strlen("sm://"), &address);
    for (int i = 0; i < 64; i++) {
        fds[i] =
            socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        ck_assert_int_ge(fds[i], 0);
        if (connect(fds[i], (struct sockaddr *) &address, length) != 0) {
            ck_assert_int_eq(errno, EAGAIN);
            close(fds[i]);
            return i;
        }
    }
    ck_abort_msg("the backlog takes more than 64");
    return 0;
}

/* A listener that is slow to accept: submitted operations wait, in order, and
 * the connection is retried. */
START_TEST(hostile_full_backlog_delays_connections)
{
    static unsigned char memory[64];
    struct trap trap;
    int fds[64];
    char text[TEXT];
    char buffer[8];
    void *ops[4];
    na_plugin_segment segment = {.base = memory, .length = sizeof(memory)};
    na_plugin_mem *mem;
    na_plugin_event event;
    uint64_t sleep_ns = 0;
    open_both();
    trap_open(&trap, text);
    int waiting = fill_backlog(text, fds);
    na_plugin_addr *peer = lookup(&hostile_target, text);
    const na_plugin_ops *ops_of = hostile_target.ops;
    na_plugin_ctx *ctx = hostile_target.ctx[0];
    ck_assert_int_eq(ops_of->mem_register(hostile_target.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, 3, 0, 0},
                         &mem),
        NA_PLUGIN_OK);
    for (int i = 0; i < 4; i++)
        ops[i] = op_new(&hostile_target);
    ck_assert_int_eq(
        ops_of->send_unexpected(ctx, ops[0], "one", 4, NULL, peer, 0, 1, 0),
        NA_PLUGIN_PENDING);
    ck_assert_int_eq(
        ops_of->send_expected(ctx, ops[1], "two", 4, NULL, peer, 0, 2, 0),
        NA_PLUGIN_PENDING);
    ck_assert_int_eq(ops_of->recv_expected(ctx, ops[2], buffer, sizeof(buffer),
                         NULL, peer, 0, 3, 0),
        NA_PLUGIN_PENDING);
    ck_assert_int_eq(ops_of->put(ctx, ops[3], mem, 0, mem, 0, 8, peer, 0, 0),
        NA_PLUGIN_PENDING);
    expect_silence(&hostile_target, 0, 20);
    /* it sleeps with a short timeout */
    ck_assert_int_eq(ops_of->poll(ctx, &event, 1), 0);
    ck_assert_int_eq(hostile_target.wait->arm(ctx, &sleep_ns), NA_PLUGIN_OK);
    ck_assert_uint_le(sleep_ns, 10000000);
    ck_assert_int_eq(ops_of->cancel(ctx, ops[3]), NA_PLUGIN_OK);
    ck_assert_int_eq(
        await_op(&hostile_target, 0, ops[3]).status, NA_PLUGIN_E_CANCELED);

    for (int i = 0; i < waiting; i++) {
        int fd = accept4(trap.listener, NULL, NULL, SOCK_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        close(fd);
        close(fds[i]);
    }
    ck_assert_int_eq(await_op(&hostile_target, 0, ops[0]).status, NA_PLUGIN_OK);
    ck_assert_int_eq(await_op(&hostile_target, 0, ops[1]).status, NA_PLUGIN_OK);
    trap_accept(&trap);
    ck_assert_str_eq((char *) trap.ring + PAGE + 16, "one");
    ck_assert_str_eq((char *) trap.ring + PAGE + 64 + 16, "two");
    close(trap.socket);
    trap.socket = -1;
    ck_assert_int_eq(
        await_op(&hostile_target, 0, ops[2]).status, NA_PLUGIN_E_HOSTUNREACH);
    ops_of->mem_deregister(hostile_target.cls, mem);
    ops_of->addr_free(hostile_target.cls, peer);
    for (int i = 0; i < 4; i++)
        free(ops[i]);
    trap_close(&trap);
    close_both();
}
END_TEST

/* A listener that closes before accepting: waiting operations fail. */
START_TEST(hostile_listener_closing_fails_waiting_operations)
{
    struct trap trap;
    int fds[64];
    char text[TEXT];
    open_both();
    trap_open(&trap, text);
    int waiting = fill_backlog(text, fds);
    na_plugin_addr *peer = lookup(&hostile_target, text);
    void *op = op_new(&hostile_target);
    ck_assert_int_eq(hostile_target.ops->send_unexpected(hostile_target.ctx[0],
                         op, "one", 4, NULL, peer, 0, 1, 0),
        NA_PLUGIN_PENDING);
    close(trap.listener);
    ck_assert_int_eq(
        await_op(&hostile_target, 0, op).status, NA_PLUGIN_E_HOSTUNREACH);
    for (int i = 0; i < waiting; i++)
        close(fds[i]);
    hostile_target.ops->addr_free(hostile_target.cls, peer);
    free(op);
    close_both();
}
END_TEST

/* A peer connected in both directions: when one connection ends, the other one
 * is used. */
START_TEST(hostile_second_connection_takes_over)
{
    char text[TEXT];
    struct trap trap;

    open_both();
    trap_open(&trap, text);
    na_plugin_addr *peer = lookup(&hostile_target, text);
    ck_assert_int_eq(
        send_unexpected(&hostile_target, "one", 4, peer, 1), NA_PLUGIN_OK);
    trap_accept(&trap);
    struct hello hello = good_hello();
    hello.name_length = (uint32_t) snprintf(
        hello.name, sizeof(hello.name), "%s", text + strlen("sm://"));
    int memory = make_ring_memory();
    send_with(trap.socket, &hello, sizeof(hello), &memory, 1);
    struct hostile_peer caller = hostile_open_as(&hostile_target, &hello);
    hostile_await_answer(&caller);
    uint64_t deadline = now_ns() + UINT64_C(20000000000);
    while (node_counter(&hostile_target, "connections_made") < 2) {
        ck_assert_msg(now_ns() < deadline, "there are not two connections");
        pump();
    }
    shutdown(trap.socket, SHUT_RDWR);
    while (node_counter(&hostile_target, "connections_lost") < 1) {
        ck_assert_msg(now_ns() < deadline, "the first connection does not end");
        pump();
    }
    ck_assert_int_eq(
        send_unexpected(&hostile_target, "two", 4, peer, 1), NA_PLUGIN_OK);
    ck_assert_str_eq((char *) caller.theirs + PAGE + 16, "two");
    /* it has not connected again */
    ck_assert_int_eq(fcntl(trap.listener, F_SETFL, O_NONBLOCK), 0);
    ck_assert_int_lt(accept4(trap.listener, NULL, NULL, SOCK_CLOEXEC), 0);
    ck_assert_int_eq(errno, EAGAIN);
    hostile_target.ops->addr_free(hostile_target.cls, peer);
    close(memory);
    hostile_close(&caller);
    trap_close(&trap);
    close_both();
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("hostile_hello");
    tcase_add_test(cases, hostile_hello_is_refused);
    tcase_add_test(cases, hostile_hello_with_too_large_messages_is_refused);
    tcase_add_test(cases, hostile_hello_with_the_class_own_name_is_refused);
    if (descriptors_without_room_are_closed())
        tcase_add_test(cases, hostile_memory_is_refused);
    else
        puts("skipped: memory: this kernel delivers more descriptors than "
             "there is room for");
    tcase_add_test(cases, hostile_silent_callers_are_bounded);
    tcase_add_test(cases, hostile_answer_fails_the_connection);
    tcase_add_test(cases, hostile_full_backlog_delays_connections);
    tcase_add_test(cases, hostile_listener_closing_fails_waiting_operations);
    tcase_add_test(cases, hostile_second_connection_takes_over);
    return run_cases("hostile_hello", &cases, 1);
}
