/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes that sleep before each message: no wake-up is lost. */
#include <stdlib.h>
#include <time.h>

#include "counts.h"
#include "sleeper.h"

static uint64_t
clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * UINT64_C(1000000000) +
           (uint64_t) now.tv_nsec;
}

/* Before each round, both sides poll for this long (0: not at all), and the
 * sender up to jitter longer. If that is longer than producers keep looking for
 * sleepers (wait.c), the message arrives around the start of the next sleep. */
static uint64_t linger_ns;
#define LINGER_NS 1100000U
#define JITTER_NS 60000U

static void
keep_polling(struct node *node, uint64_t ns)
{
    na_plugin_event event;
    uint64_t end = clock_ns() + ns;
    while (ns != 0 && clock_ns() < end)
        ck_assert_int_eq(node->ops->poll(node->ctx[0], &event, 1), 0);
}

static int
sleeping_echo(const struct parent *parent)
{
    static struct node node;
    uint64_t value;
    char text[TEXT];
    node_open(&node, parent->arg);
    self_string(&node, text);
    send_line(parent->out, text);
    void *op = op_new(&node);
    void *send = op_new(&node);
    do {
        keep_polling(&node, linger_ns);
        ck_assert_int_eq(node.ops->recv_unexpected(
                             node.ctx[0], op, &value, sizeof(value), NULL, 0),
            NA_PLUGIN_PENDING);
        na_plugin_event event = sleep_for_event(&node, 0);
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        ck_assert_int_eq(
            node.ops->send_expected(node.ctx[0], send, &value, sizeof(value),
                NULL, event.source, 0, event.tag, 0),
            NA_PLUGIN_DONE);
        node.ops->addr_free(node.cls, event.source);
    } while (value != UINT64_MAX);
    expect_line(parent->in, "end");
    free(op);
    free(send);
    node_close(&node);
    return 0;
}

static void
sleeping_rounds(const struct node_options *options, uint64_t rounds)
{
    static struct node node;
    char text[TEXT];
    struct child child = child_start(sleeping_echo, options);
    recv_line(child.in, text);
    node_open(&node, options);
    na_plugin_addr *peer = lookup(&node, text);
    void *op = op_new(&node);
    void *send = op_new(&node);
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t value = i + 1 == rounds ? UINT64_MAX : i;
        uint64_t answer = 0;
        if (linger_ns != 0)
            keep_polling(&node, linger_ns + i * 997 % JITTER_NS);
        ck_assert_int_eq(node.ops->recv_expected(node.ctx[0], op, &answer,
                             sizeof(answer), NULL, peer, 0, i & 0xFFFF, 0),
            NA_PLUGIN_PENDING);
        ck_assert_int_eq(node.ops->send_unexpected(node.ctx[0], send, &value,
                             sizeof(value), NULL, peer, 0, i & 0xFFFF, 0),
            NA_PLUGIN_DONE);
        /* sometimes by polling, so that the peer finds this side awake, asleep
         * and in between */
        if (i % 5 == 0)
            await_op(&node, 0, op);
        else
            ck_assert_ptr_eq(sleep_for_event(&node, 0).op, op);
        ck_assert_uint_eq(answer, value);
    }
    send_line(child.out, "end");
    child_join(&child);
    free(op);
    free(send);
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
}

START_TEST(sleep_no_wakeup_is_lost_by_membarrier)
{
    sleeping_rounds(NULL, test_count(TEST_SLEEPS));
}
END_TEST

START_TEST(sleep_no_wakeup_is_lost_by_fences)
{
    sleeping_rounds(&(struct node_options){.setting_key = "sm.membarrier",
                        .setting_value = "0"},
        test_count(TEST_SLEEPS) / 4);
}
END_TEST

START_TEST(sleep_no_wakeup_is_lost_when_sleeps_are_rare)
{
    linger_ns = LINGER_NS;
    sleeping_rounds(NULL, test_count(TEST_SLEEPS) / 50);
    linger_ns = 0;
}
END_TEST

START_TEST(sleep_no_wakeup_is_lost_when_sleeps_are_rare_by_fences)
{
    linger_ns = LINGER_NS;
    sleeping_rounds(&(struct node_options){.setting_key = "sm.membarrier",
                        .setting_value = "0"},
        test_count(TEST_SLEEPS) / 50);
    linger_ns = 0;
}
END_TEST

START_TEST(sleep_single_thread_mode_sleeps_too)
{
    sleeping_rounds(
        &(struct node_options){.threads = NA_PLUGIN_THREAD_SINGLE_CLASS},
        test_count(TEST_SLEEPS) / 10);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("sleep");
    tcase_set_timeout(cases, 250);
    tcase_add_test(cases, sleep_no_wakeup_is_lost_by_membarrier);
    tcase_add_test(cases, sleep_no_wakeup_is_lost_by_fences);
    tcase_add_test(cases, sleep_no_wakeup_is_lost_when_sleeps_are_rare);
    tcase_add_test(
        cases, sleep_no_wakeup_is_lost_when_sleeps_are_rare_by_fences);
    tcase_add_test(cases, sleep_single_thread_mode_sleeps_too);
    return run_cases("sleep", &cases, 1);
}
