/* SPDX-License-Identifier: BSD-3-Clause */
/* The variant of the wire plugin without violations: memory, other processes
 * that answer, stop or die, sleeping, threads. */
#include "pair.h"
#include "runner.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 100U
#define ROUNDS 10000U
#define THREADS 3U
#define THREAD_ROUNDS 500U

/* A put or get of a with a peer that the other class here serves. */
static int32_t
transfer(bool put, na_plugin_mem *local, uint64_t local_offset,
    na_plugin_mem *remote, uint64_t remote_offset, uint64_t length,
    na_plugin_addr *peer, struct fixture *other)
{
    struct fixture_op *op = fixture_op_new(&a);
    int32_t code = (put ? a.ops->put : a.ops->get)(a.ctx[0], fixture_part(op),
        local, local_offset, remote, remote_offset, length, peer, 0, 0);

    code = fixture_settle(&a, other, op, code);
    free(op);
    return code;
}

START_TEST(rma_checks_range_and_access)
{
    static unsigned char here[1000], there[1000];
    na_plugin_mem *source, *sink, *readable, *writable;

    open_both(1);
    source = register_bytes(&a, here, 1000, NA_PLUGIN_MEM_READ);
    sink = register_bytes(&a, here, 1000, NA_PLUGIN_MEM_WRITE);
    na_plugin_mem *own_r = register_bytes(&b, there, 900, NA_PLUGIN_MEM_READ);
    na_plugin_mem *own_w = register_bytes(&b, there, 900, NA_PLUGIN_MEM_WRITE);
    readable = expose(&b, own_r, &a);
    writable = expose(&b, own_w, &a);
    memset(here, 1, sizeof here);
    ck_assert_int_eq(transfer(true, source, 0, writable, 0, 901, to_b, &b),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(
        transfer(true, source, 0, writable, UINT64_MAX, 2, to_b, &b),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(transfer(true, source, 0, readable, 0, 1, to_b, &b),
        NA_PLUGIN_E_PERMISSION);
    ck_assert_int_eq(transfer(false, sink, 0, writable, 0, 1, to_b, &b),
        NA_PLUGIN_E_PERMISSION);
    ck_assert_int_eq(transfer(false, sink, 0, readable, 899, 2, to_b, &b),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_uint_eq(a.warnings, 0);
    ck_assert_int_eq(transfer(true, sink, 0, writable, 0, 1, to_b, &b),
        NA_PLUGIN_E_PERMISSION);
    ck_assert_int_eq(transfer(true, source, 999, writable, 0, 2, to_b, &b),
        NA_PLUGIN_E_INVALID_ARG);
    fixture_forgive(&a);
    for (uint32_t i = 0; i < sizeof there; i++)
        ck_assert_uint_eq(there[i], 0);
    ck_assert_int_eq(transfer(true, source, 5, writable, 900, 0, to_b, &b), 0);
    ck_assert_int_eq(transfer(false, sink, 0, readable, 0, 0, to_b, &b), 0);
    ck_assert_int_eq(transfer(true, source, 1, writable, 0, 900, to_b, &b), 0);
    ck_assert_mem_eq(here, there, 900);
    b.ops->mem_deregister(b.cls, own_w);
    ck_assert_int_eq(transfer(true, source, 0, writable, 0, 1, to_b, &b),
        NA_PLUGIN_E_PERMISSION);
    b.ops->mem_deregister(b.cls, own_r);
    a.ops->mem_deregister(a.cls, source);
    a.ops->mem_deregister(a.cls, sink);
    a.ops->mem_remote_free(a.cls, readable);
    a.ops->mem_remote_free(a.cls, writable);
    close_both();
}
END_TEST

START_TEST(rma_cancel_stops_both_directions)
{
    static unsigned char here[4 << 20], there[4 << 20];
    struct fixture_op *ops[40];
    na_plugin_mem *mine, *theirs, *remote;

    open_both(1);
    mine = register_bytes(&a, here, sizeof here, 3);
    theirs = register_bytes(&b, there, sizeof there, 3);
    remote = expose(&b, theirs, &a);
    for (uint32_t i = 0; i < 40; i++) {
        ops[i] = fixture_op_new(&a);
        ck_assert_int_eq(
            (i % 2 ? a.ops->put : a.ops->get)(a.ctx[0], fixture_part(ops[i]),
                mine, 0, remote, 0, sizeof here, to_b, 0, 0),
            0);
    }
    for (uint32_t i = 0; i < 40; i++) {
        fixture_poll(&b, 0, 1);
        ck_assert_int_eq(a.ops->cancel(a.ctx[0], fixture_part(ops[i])), 0);
        ck_assert_int_eq(fixture_await(&a, &b, ops[i]), NA_PLUGIN_E_CANCELED);
        free(ops[i]);
    }
    memset(there, 9, sizeof there);
    ck_assert_int_eq(
        transfer(false, mine, 0, remote, 0, sizeof here, to_b, &b), 0);
    ck_assert_mem_eq(here, there, sizeof here);
    a.ops->mem_deregister(a.cls, mine);
    a.ops->mem_remote_free(a.cls, remote);
    b.ops->mem_deregister(b.cls, theirs);
    close_both();
}
END_TEST

/* A server in another process, and class a. */
static struct fixture_server server;
static na_plugin_addr *to_server;

static void
open_server(bool sleeps)
{
    fixture_server_start(&server, sleeps);
    fixture_open(&a, 0, 1);
    to_server = fixture_lookup(&a, server.address);
}

static void
close_server(void)
{
    char command = FIXTURE_EXIT;

    settle(&a, &one, fixture_send(&a, &one, &command, 1, to_server, 0, false));
    fixture_server_join(&server);
    a.ops->addr_free(a.cls, to_server);
    fixture_close(&a);
    free_messages();
}

START_TEST(process_sends_and_answers)
{
    char bytes[4000] = {FIXTURE_ECHO};

    fixture_server_start(&server, false);
    fixture_open(&a, 0, 1);
    fixture_open(&b, 0, 1);
    to_server = fixture_lookup(&a, server.address);
    for (uint32_t i = 0; i < 500; i++) {
        bytes[1 + i % 3000] = (char) i;
        ck_assert_mem_eq(
            fixture_call(&a, to_server, &one, &two, bytes, 2 + i % 3000, i),
            bytes, 2 + i % 3000);
    }
    fixture_close(&b);
    char command = FIXTURE_EXIT;
    ck_assert_int_eq(
        fixture_settle(&a, NULL, one.op,
            fixture_send(&a, &one, &command, 1, to_server, 0, false)),
        0);
    fixture_server_join(&server);
    a.ops->addr_free(a.cls, to_server);
    fixture_close(&a);
    free_messages();
}
END_TEST

START_TEST(process_puts_and_gets)
{
    static unsigned char here[FIXTURE_REGION_SIZE], back[FIXTURE_REGION_SIZE];
    const uint64_t size = (2U << 20) + 100;
    uint64_t sum = 0, told;
    na_plugin_mem *source, *sink, *remote;
    const unsigned char *answer;

    fixture_open(&b, 0, 1); /* settle polls it */
    open_server(false);
    answer = fixture_call(&a, to_server, &one, &two, "r", 1, 1);
    ck_assert_int_eq(a.ops->mem_deserialize(
                         a.cls, answer, two.op->events[0].length - 8, &remote),
        0);
    for (uint64_t i = 0; i < size; i++)
        sum += here[i] = (unsigned char) (i * 31 >> 3);
    source = register_bytes(&a, here, sizeof here, NA_PLUGIN_MEM_READ);
    sink = register_bytes(&a, back, sizeof back, NA_PLUGIN_MEM_WRITE);
    ck_assert_int_eq(
        transfer(true, source, 0, remote, 0, size, to_server, NULL), 0);
    answer = fixture_call(&a, to_server, &one, &two, "s", 1, 2);
    memcpy(&told, answer, sizeof told);
    ck_assert_uint_eq(told, sum);
    ck_assert_int_eq(
        transfer(false, sink, 7, remote, 0, size, to_server, NULL), 0);
    ck_assert_mem_eq(back + 7, here, size);
    a.ops->mem_deregister(a.cls, source);
    a.ops->mem_deregister(a.cls, sink);
    a.ops->mem_remote_free(a.cls, remote);
    close_server();
    fixture_close(&b);
}
END_TEST

START_TEST(process_killed_ends_pending_operations)
{
    bool child = _i == 1;
    uint64_t before;
    pid_t heir = 0;
    int32_t code;

    fixture_open(&b, NA_PLUGIN_OPEN_LISTEN, 1);
    open_server(false);
    fixture_call(&a, to_server, &one, &two, "echo", 4, 1);
    if (child)
        memcpy(&heir, fixture_call(&a, to_server, &one, &two, "c", 1, 2),
            sizeof heir);
    ck_assert_int_eq(fixture_post_expected(&a, &two, to_server, 3), 0);
    kill(server.pid, SIGKILL);
    before = now_ns();
    ck_assert_int_lt(
        child ? fixture_sleep(&a, two.op) : fixture_await(&a, NULL, two.op), 0);
    ck_assert_uint_lt(now_ns() - before, UINT64_C(5000000000));
    /* a process may still accept connections while it ends */
    code = fixture_send(&a, &one, "x", 1, to_server, 1, false);
    ck_assert_int_eq(
        fixture_settle(&a, NULL, one.op, code), NA_PLUGIN_E_HOSTUNREACH);
    code = fixture_post_expected(&a, &two, to_server, 3);
    ck_assert_int_eq(
        fixture_settle(&a, NULL, two.op, code), NA_PLUGIN_E_HOSTUNREACH);
    waitpid(server.pid, NULL, 0);
    ck_assert_int_eq(fixture_send(&a, &one, "x", 1, to_server, 1, false),
        NA_PLUGIN_E_HOSTUNREACH);
    if (child)
        kill(heir, SIGKILL);
    close(server.in);
    a.ops->addr_free(a.cls, to_server);
    fixture_close(&a);
    fixture_close(&b);
    free_messages();
}
END_TEST

START_TEST(process_stopped_does_not_block_others)
{
    static struct fixture_message sends[MANY];
    static const char quiet[4000] = {FIXTURE_QUIET};
    struct fixture_server other;
    na_plugin_addr *to_other;

    fixture_open(&b, 0, 1);
    open_server(false);
    fixture_server_start(&other, false);
    to_other = fixture_lookup(&a, other.address);
    fixture_call(&a, to_server, &one, &two, "echo", 4, 1);
    kill(server.pid, SIGSTOP);
    for (uint32_t i = 0; i < MANY; i++)
        ck_assert_int_eq(fixture_send(&a, &sends[i], quiet, sizeof quiet,
                             to_server, i, false),
            0);
    for (uint32_t i = 0; i < 100; i++)
        fixture_call(&a, to_other, &one, &two, "echo", 4, i);
    kill(server.pid, SIGCONT);
    for (uint32_t i = 0; i < MANY; i++) {
        ck_assert_int_eq(fixture_await(&a, NULL, sends[i].op), 0);
        free(sends[i].op);
    }
    fixture_send(&a, &one, "x", 1, to_other, 1, false);
    fixture_await(&a, NULL, one.op);
    fixture_server_join(&other);
    a.ops->addr_free(a.cls, to_other);
    close_server();
    fixture_close(&b);
}
END_TEST

START_TEST(wait_loses_no_wakeup)
{
    char bytes[sizeof(uint32_t) + 1] = {FIXTURE_ECHO};

    fixture_open(&b, 0, 1);
    open_server(true);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        memcpy(bytes + 1, &i, sizeof i);
        ck_assert_int_eq(fixture_post_expected(&a, &two, to_server, i), 0);
        int32_t code =
            fixture_send(&a, &one, bytes, sizeof bytes, to_server, i, false);
        ck_assert_int_eq(code, NA_PLUGIN_PENDING);
        if (i % 3 == 0)
            ck_assert_int_eq(fixture_sleep(&a, one.op), 0);
        ck_assert_int_eq(
            i % 5 ? fixture_sleep(&a, two.op) : fixture_await(&a, NULL, two.op),
            0);
        check_message(&a, two.op, 0, bytes, sizeof bytes, i);
        while (!one.op->ended)
            fixture_poll(&a, 0, 1);
    }
    close_server();
    fixture_close(&b);
}
END_TEST

/* A thread of class a: sends expected messages to itself through b's address,
 * and receives them, while others poll. */
static atomic_bool stop;

static void *
poller(void *arg)
{
    struct fixture *fixture = arg;

    while (!atomic_load_explicit(&stop, memory_order_relaxed))
        if (fixture_poll(fixture, 0, 3) == 0)
            sched_yield();
    return NULL;
}

static void *
sender(void *arg)
{
    uint64_t number = (uintptr_t) arg;
    struct fixture_message *send = calloc(1, sizeof *send);
    struct fixture_message *receive = calloc(1, sizeof *receive);

    for (uint64_t i = 0; i < THREAD_ROUNDS; i++) {
        uint64_t tag = number << 16 | i;
        bool expected = i % 2;

        if (expected)
            ck_assert_int_eq(fixture_post_expected(&b, receive, to_a, tag), 0);
        else
            fixture_post(&b, receive);
        int32_t code =
            fixture_send(&a, send, &tag, sizeof tag, to_b, tag, expected);
        while (code == 0 &&
               !atomic_load_explicit(&send->op->ended, memory_order_acquire))
            sched_yield(); /* acquire: pairs with fixture_poll */
        while (!atomic_load_explicit(&receive->op->ended, memory_order_acquire))
            sched_yield(); /* the same */
        uint64_t got;
        memcpy(&got, fixture_bytes(&b, receive->op, 0), sizeof got);
        ck_assert_uint_eq(got, receive->op->events[0].tag);
        if (expected)
            ck_assert_uint_eq(got, tag);
        else
            free_source(&b, receive->op, 0);
    }
    free(send->op);
    free(receive->op);
    free(send);
    free(receive);
    return NULL;
}

START_TEST(threads_submit_while_others_poll)
{
    pthread_t pollers[2], senders[THREADS];

    open_both(1);
    pthread_create(&pollers[0], NULL, poller, &a);
    pthread_create(&pollers[1], NULL, poller, &b);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&senders[i], NULL, sender, (void *) (i + 1));
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(senders[i], NULL);
    atomic_store_explicit(&stop, true, memory_order_relaxed);
    for (uint32_t i = 0; i < 2; i++)
        pthread_join(pollers[i], NULL);
    close_both();
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("wire_process");

    tcase_add_test(cases, rma_checks_range_and_access);
    tcase_add_test(cases, rma_cancel_stops_both_directions);
    tcase_add_test(cases, process_sends_and_answers);
    tcase_add_test(cases, process_puts_and_gets);
    tcase_add_loop_test(cases, process_killed_ends_pending_operations, 0, 2);
    tcase_add_test(cases, process_stopped_does_not_block_others);
    tcase_add_test(cases, wait_loses_no_wakeup);
    tcase_add_test(cases, threads_submit_while_others_poll);
    return run_tcase("wire_process", cases);
}
