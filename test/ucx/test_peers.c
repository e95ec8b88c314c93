/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that are killed and restarted, that sleep, that are stopped. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "counts.h"
#include "runner.h"
#include "side.h"

static const char *const protocols[] = {"tcp", "all"};

/* The server dies with requests pending; they end with an error, and its
 * successor at the same port is reached. */
START_TEST(peers_killed_are_reached_again_at_their_port)
{
    struct side side = {.log_level = 0};
    char name[SIDE_TEXT], again[SIDE_TEXT];
    uint32_t rounds = test_count(TEST_RESTARTS);

    pid_t pid = echo_start(protocols[_i], "127.0.0.1", 0, name);
    int32_t port = (int32_t) strtol(strrchr(name, ':') + 1, NULL, 10);
    /* later servers inherit no descriptor of this class */
    echo_stop(pid, SIGKILL);
    for (uint32_t i = 0; i < rounds; i++) {
        pid = echo_start(protocols[_i], "127.0.0.1", port, again);
        ck_assert_str_eq(name, again);
        side = (struct side){.log_level = 0};
        side_open(&side, protocols[_i], "127.0.0.1", 0, 0);
        na_plugin_addr *addr = side_lookup(&side, name);
        for (uint32_t j = 0; j < 200; j++)
            ck_assert_int_eq(echo_trip(&side, addr, j), NA_PLUGIN_OK);

        struct act recv[8], send[8];
        for (uint32_t j = 0; j < 8; j++) {
            act_init(&recv[j], &side);
            act_init(&send[j], &side);
            act_recv(&recv[j], addr, 1000 + j);
            act_send(&send[j], true, "under way", 9, addr, 1000 + j);
        }
        kill(pid, SIGKILL);
        uint64_t begun = now_ms();
        for (uint32_t j = 0; j < 8; j++) {
            act_await(&send[j], NULL);
            act_await(&recv[j], NULL);
            act_fini(&recv[j]);
            act_fini(&send[j]);
        }
        ck_assert_uint_lt(now_ms() - begun, 5000);
        waitpid(pid, NULL, 0);
        ck_assert_int_ne(echo_trip(&side, addr, 7), NA_PLUGIN_OK);
        side.ops->addr_free(side.cls, addr);
        side_close(&side);
    }
}
END_TEST

/* The same with one class throughout: it finds the successor itself. */
struct phoenix {
    const char *protocol;
    int name_fd;
    int next_fd; /* a byte: kill and restart */
};

static void
restarting_server_run(void *arg)
{
    const struct phoenix *phoenix = arg;
    int32_t port = 0;
    char byte;
    uint32_t count = test_count(TEST_RESTARTS);

    for (uint32_t i = 0; i <= count; i++) {
        char name[SIDE_TEXT];
        pid_t pid = echo_start(phoenix->protocol, "127.0.0.1", port, name);
        port = (int32_t) strtol(strrchr(name, ':') + 1, NULL, 10);
        if (write(phoenix->name_fd, name, sizeof(name)) !=
                (ssize_t) sizeof(name) ||
            read(phoenix->next_fd, &byte, 1) != 1)
            _exit(1);
        echo_stop(pid, SIGKILL);
    }
    _exit(0);
}

START_TEST(peers_restarted_are_found_by_the_same_class)
{
    struct side side = {.log_level = 0};
    char name[SIDE_TEXT], again[SIDE_TEXT];
    int names[2], nexts[2];
    uint32_t count = test_count(TEST_RESTARTS);

    ck_assert_int_eq(pipe(names), 0);
    ck_assert_int_eq(pipe(nexts), 0);
    struct phoenix phoenix = {protocols[_i], names[1], nexts[0]};
    pid_t pid = spawn(restarting_server_run, &phoenix);
    ck_assert_int_eq(read(names[0], name, SIDE_TEXT), SIDE_TEXT);
    side_open(&side, protocols[_i], "127.0.0.1", 0, 0);
    na_plugin_addr *addr = side_lookup(&side, name);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < 50; j++)
            ck_assert_int_eq(echo_trip(&side, addr, j), NA_PLUGIN_OK);
        struct act recv;
        act_init(&recv, &side);
        act_recv(&recv, addr, 77);
        ck_assert_int_eq(write(nexts[1], "x", 1), 1);
        int32_t status = act_await(&recv, NULL);
        ck_assert_msg(
            status == NA_PLUGIN_E_HOSTUNREACH || status == NA_PLUGIN_E_IO_ERROR,
            "%d", (int) status);
        act_fini(&recv);
        ck_assert_int_eq(read(names[0], again, SIDE_TEXT), SIDE_TEXT);
        ck_assert_str_eq(name, again);
    }
    ck_assert_int_eq(echo_trip(&side, addr, 5), NA_PLUGIN_OK);
    ck_assert_uint_eq(side_counter(&side, "connections_lost"), count);
    ck_assert_int_eq(write(nexts[1], "x", 1), 1);
    waitpid(pid, NULL, 0);
    side.ops->addr_free(side.cls, addr);
    side_close(&side);
}
END_TEST

/* An armed class sleeps: its descriptor is not readable, and it uses no
 * processor time. */
START_TEST(peers_asleep_use_no_processor_and_are_woken)
{
    struct side side = {.log_level = 0};
    char name[SIDE_TEXT];
    struct timespec before, after;
    uint64_t sleep_ns;

    pid_t pid = echo_start(protocols[_i], "127.0.0.1", 0, name);
    side_open(&side, protocols[_i], "127.0.0.1", 0, 0);
    na_plugin_addr *addr = side_lookup(&side, name);
    ck_assert_int_eq(echo_trip(&side, addr, 1), NA_PLUGIN_OK);
    struct pollfd fd = {.fd = side.wait->fd(side.ctx), .events = POLLIN};
    for (uint32_t i = 0; i < 50; i++) {
        struct act recv, send;
        act_init(&recv, &side);
        act_init(&send, &side);
        act_recv(&recv, addr, i);
        act_send(&send, true, &i, sizeof(i), addr, i);
        uint64_t until = now_ms() + SIDE_WAIT_MS;
        while (recv.pending || send.pending) {
            if (side.wait->arm(side.ctx, &sleep_ns) == NA_PLUGIN_OK)
                ck_assert_int_ge(poll(&fd, 1, 5000), 0);
            side_poll(&side);
            ck_assert_uint_lt(now_ms(), until);
        }
        ck_assert_int_eq(recv.end.status, NA_PLUGIN_OK);
        act_fini(&recv);
        act_fini(&send);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    uint64_t until = now_ms() + 1500;
    while (now_ms() < until) {
        if (side.wait->arm(side.ctx, &sleep_ns) == NA_PLUGIN_OK)
            poll(&fd, 1, 500);
        side_poll(&side);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    int64_t used = (int64_t) (after.tv_sec - before.tv_sec) * 1000000000 +
                   (after.tv_nsec - before.tv_nsec);
    ck_assert_msg(used < 20000000, "%ld ns of processor in 1.5 s", (long) used);
    side.ops->addr_free(side.cls, addr);
    side_close(&side);
    echo_stop(pid, SIGKILL);
}
END_TEST

/* A stopped peer does not delay others; when it is continued it answers. */
START_TEST(peers_stopped_do_not_block_others)
{
    struct side side = {.log_level = 0};
    char name[2][SIDE_TEXT];
    na_plugin_addr *addr[2];
    struct act recv, send;

    pid_t pid[2] = {echo_start(protocols[_i], "127.0.0.1", 0, name[0]),
        echo_start(protocols[_i], "127.0.0.1", 0, name[1])};
    side_open(&side, protocols[_i], "127.0.0.1", 0, 0);
    for (uint32_t i = 0; i < 2; i++) {
        addr[i] = side_lookup(&side, name[i]);
        ck_assert_int_eq(echo_trip(&side, addr[i], i), NA_PLUGIN_OK);
    }
    kill(pid[0], SIGSTOP);
    act_init(&recv, &side);
    act_init(&send, &side);
    act_recv(&recv, addr[0], 9);
    act_send(&send, true, "stopped", 7, addr[0], 9);
    uint64_t begun = now_ms();
    for (uint32_t i = 0; i < 100; i++)
        ck_assert_int_eq(echo_trip(&side, addr[1], i), NA_PLUGIN_OK);
    ck_assert_uint_lt(now_ms() - begun, 5000);
    ck_assert(recv.pending);
    kill(pid[0], SIGCONT);
    ck_assert_int_eq(act_await(&recv, NULL), NA_PLUGIN_OK);
    ck_assert_int_eq(act_await(&send, NULL), NA_PLUGIN_OK);
    act_fini(&recv);
    act_fini(&send);
    for (uint32_t i = 0; i < 2; i++)
        side.ops->addr_free(side.cls, addr[i]);
    side_close(&side);
    echo_stop(pid[0], SIGKILL);
    echo_stop(pid[1], SIGKILL);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_set_timeout(tcase, 280);
    tcase_add_loop_test(
        tcase, peers_killed_are_reached_again_at_their_port, 0, 2);
    tcase_add_loop_test(
        tcase, peers_restarted_are_found_by_the_same_class, 0, 2);
    tcase_add_loop_test(
        tcase, peers_asleep_use_no_processor_and_are_woken, 0, 2);
    tcase_add_loop_test(tcase, peers_stopped_do_not_block_others, 0, 2);
    return run_tcase("ucx peers", tcase);
}
