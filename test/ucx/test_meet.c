/* SPDX-License-Identifier: BSD-3-Clause */
/* Two classes that connect to each other at the same time, in one process and
 * in two: one connection remains, and every message arrives once. */
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counts.h"
#include "runner.h"
#include "side.h"

static const char *const protocols[] = {"tcp", "all"};

/* Both look each other up, send at once, and answer: one connection remains,
 * and every message arrives once. */
START_TEST(simultaneous_connects_in_one_process_keep_one_connection)
{
    uint32_t rounds = test_count(TEST_MEETINGS);

    for (uint32_t i = 0; i < rounds; i++) {
        struct side side[2] = {{.log_level = 0}, {.log_level = 0}};
        char name[2][SIDE_TEXT];
        na_plugin_addr *addr[2];
        struct act send[2], recv[2], answer[2], await[2];

        for (uint32_t j = 0; j < 2; j++) {
            side_open(
                &side[j], protocols[_i], "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
            side_name(&side[j], name[j]);
        }
        for (uint32_t j = 0; j < 2; j++) {
            addr[j] = side_lookup(&side[j], name[1 - j]);
            act_init(&send[j], &side[j]);
            act_init(&recv[j], &side[j]);
            act_init(&answer[j], &side[j]);
            act_init(&await[j], &side[j]);
            act_recv_any(&recv[j]);
            act_recv(&await[j], addr[j], 5);
            act_send(&send[j], true, "at once", 7, addr[j], i);
        }
        for (uint32_t j = 0; j < 2; j++) {
            ck_assert_int_eq(act_await(&recv[j], &side[1 - j]), NA_PLUGIN_OK);
            ck_assert_int_eq(act_await(&send[j], &side[1 - j]), NA_PLUGIN_OK);
            ck_assert_uint_eq(recv[j].end.tag, i);
            ck_assert_int_eq(side[j].ops->addr_equal(
                                 side[j].cls, recv[j].end.source, addr[j]),
                1);
            act_send(&answer[j], false, "answer", 6, recv[j].end.source, 5);
        }
        for (uint32_t j = 0; j < 2; j++) {
            ck_assert_int_eq(act_await(&answer[j], &side[1 - j]), NA_PLUGIN_OK);
            ck_assert_int_eq(act_await(&await[j], &side[1 - j]), NA_PLUGIN_OK);
        }
        uint64_t until = now_ms() + SIDE_WAIT_MS;
        while (side_counter(&side[0], "peers_connected") != 1 ||
               side_counter(&side[1], "peers_connected") != 1) {
            side_poll(&side[0]);
            side_poll(&side[1]);
            if (now_ms() > until)
                ck_abort_msg("two connections stay");
        }
        for (uint32_t j = 0; j < 2; j++) {
            ck_assert_uint_eq(side_counter(&side[j], "connections_lost"), 0);
            side[j].ops->addr_free(side[j].cls, recv[j].end.source);
            side[j].ops->addr_free(side[j].cls, addr[j]);
            act_fini(&send[j]);
            act_fini(&recv[j]);
            act_fini(&answer[j]);
            act_fini(&await[j]);
        }
        side_close(&side[0]);
        side_close(&side[1]);
    }
}
END_TEST

/* Main of one of the two processes; it reads what the other writes. */
struct end {
    const char *protocol;
    uint32_t rounds;
    int in;
    int out;
};

static void
swap(const struct end *end, const char *ours, char *theirs, size_t size)
{
    ck_assert_int_eq(write(end->out, ours, size), (ssize_t) size);
    ck_assert_int_eq(read(end->in, theirs, size), (ssize_t) size);
}

/* Opens, publishes its name, and connects as soon as it has the other's; closes
 * when both have one connection only. */
static void
meet_once(const struct end *end, uint32_t round)
{
    struct side side = {.log_level = 0};
    struct act send, recv, answer, await;
    char own[SIDE_TEXT] = "", name[SIDE_TEXT], byte;

    side_open(&side, end->protocol, "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    side_name(&side, own);
    act_init(&send, &side);
    act_init(&recv, &side);
    act_init(&answer, &side);
    act_init(&await, &side);
    act_recv_any(&recv);
    swap(end, own, name, SIDE_TEXT);
    na_plugin_addr *addr = side_lookup(&side, name);
    act_recv(&await, addr, 5);
    act_send(&send, true, "at once", 7, addr, round);
    ck_assert_int_eq(act_await(&recv, NULL), NA_PLUGIN_OK);
    ck_assert_uint_eq(recv.end.tag, round);
    ck_assert_int_eq(side.ops->addr_equal(side.cls, recv.end.source, addr), 1);
    act_send(&answer, false, "answer", 6, recv.end.source, 5);
    ck_assert_int_eq(act_await(&send, NULL), NA_PLUGIN_OK);
    ck_assert_int_eq(act_await(&answer, NULL), NA_PLUGIN_OK);
    ck_assert_int_eq(act_await(&await, NULL), NA_PLUGIN_OK);
    uint64_t until = now_ms() + SIDE_WAIT_MS;
    while (side_counter(&side, "peers_connected") != 1) {
        side_poll(&side);
        if (now_ms() > until)
            ck_abort_msg("round %u: two connections stay", (unsigned) round);
    }
    ck_assert_uint_eq(side_counter(&side, "connections_lost"), 0);
    /* UCX closes the other connection while it is polled */
    struct pollfd other = {.fd = end->in, .events = POLLIN};
    ck_assert_int_eq(write(end->out, "x", 1), 1);
    while (poll(&other, 1, 0) == 0)
        side_poll(&side);
    ck_assert_int_eq(read(end->in, &byte, 1), 1);
    side.ops->addr_free(side.cls, recv.end.source);
    side.ops->addr_free(side.cls, addr);
    act_fini(&send);
    act_fini(&recv);
    act_fini(&answer);
    act_fini(&await);
    side_close(&side);
}

static void
meet_run(void *arg)
{
    const struct end *end = arg;

    for (uint32_t i = 0; i < end->rounds; i++)
        meet_once(end, i);
    _exit(0);
}

START_TEST(simultaneous_connects_of_two_processes_keep_one_connection)
{
    int there[2], back[2], status;

    ck_assert_int_eq(pipe(there), 0);
    ck_assert_int_eq(pipe(back), 0);
    struct end ends[2] = {
        {protocols[_i], test_count(TEST_MEETINGS), back[0], there[1]},
        {protocols[_i], test_count(TEST_MEETINGS), there[0], back[1]}};
    pid_t pid = spawn(meet_run, &ends[1]);
    for (uint32_t i = 0; i < ends[0].rounds; i++)
        meet_once(&ends[0], i);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_set_timeout(tcase, 280);
    tcase_add_loop_test(
        tcase, simultaneous_connects_in_one_process_keep_one_connection, 0, 2);
    tcase_add_loop_test(tcase,
        simultaneous_connects_of_two_processes_keep_one_connection, 0, 2);
    return run_tcase("ucx meet", tcase);
}
