/* SPDX-License-Identifier: BSD-3-Clause */
/* Whatever the event, it wakes a context that sleeps; sleeping uses no processor.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "sleeper.h"

/* Arms an idle context; it must agree to sleep. */
static void
arm_idle(struct node *node, uint32_t index)
{
    na_plugin_event event;
    uint64_t sleep_ns = 0;
    int32_t armed = NA_PLUGIN_DONE;
    for (int i = 0; i < 100 && armed == NA_PLUGIN_DONE; i++) {
        ck_assert_int_eq(node->ops->poll(node->ctx[index], &event, 1), 0);
        armed = node->wait->arm(node->ctx[index], &sleep_ns);
    }
    ck_assert_int_eq(armed, NA_PLUGIN_OK);
    ck_assert_uint_eq(sleep_ns, UINT64_MAX);
}

static bool
readable(struct node *node, uint32_t index, int timeout_ms)
{
    struct pollfd entry = {
        .fd = node->wait->fd(node->ctx[index]), .events = POLLIN};
    return poll(&entry, 1, timeout_ms) == 1;
}

static struct node a, b;
static na_plugin_addr *to_b;

static void
open_both(uint32_t contexts)
{
    char text[TEXT];
    node_open(&a, &(struct node_options){.contexts = contexts});
    node_open(&b, &(struct node_options){.contexts = contexts});
    self_string(&b, text);
    to_b = lookup(&a, text);
}

static void
close_both(void)
{
    a.ops->addr_free(a.cls, to_b);
    node_close(&a);
    node_close(&b);
}

/* Connects, so that both sides are idle afterwards. */
static void
connect_both(void)
{
    char buffer[8];
    void *op = post_unexpected(&b, buffer, sizeof(buffer));
    ck_assert_int_eq(send_unexpected(&a, "x", 1, to_b, 1), 0);
    na_plugin_event event = await_message(&b, 0, op, 1, 1, true);
    b.ops->addr_free(b.cls, event.source);
    free(op);
    expect_silence(&a, 0, 10);
}

static uint64_t
cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t) used.tv_sec * UINT64_C(1000000000) +
           (uint64_t) used.tv_nsec;
}

START_TEST(wait_idle_class_uses_no_processor)
{
    open_both(1);
    connect_both();
    arm_idle(&a, 0);
    arm_idle(&b, 0);
    uint64_t before = cpu_ns();
    ck_assert(!readable(&b, 0, 300));
    ck_assert(!readable(&a, 0, 0));
    ck_assert_uint_lt(cpu_ns() - before, 20000000);
    close_both();
}
END_TEST

START_TEST(wait_arm_fails_with_pending_events)
{
    uint64_t sleep_ns;
    char buffer[8];
    open_both(1);
    connect_both();
    void *op = post_unexpected(&b, buffer, sizeof(buffer));
    ck_assert_int_eq(send_unexpected(&a, "x", 1, to_b, 1), 0);
    ck_assert_int_eq(b.wait->arm(b.ctx[0], &sleep_ns), NA_PLUGIN_DONE);
    na_plugin_event event = await_message(&b, 0, op, 1, 1, true);
    b.ops->addr_free(b.cls, event.source);
    free(op);
    close_both();
}
END_TEST

START_TEST(wait_message_wakes_and_wakeup_is_sent_once)
{
    char buffer[8];
    void *ops[4];
    open_both(1);
    connect_both();
    for (int i = 0; i < 4; i++)
        ops[i] = post_unexpected(&b, buffer, sizeof(buffer));
    arm_idle(&b, 0);
    uint64_t wakeups = node_counter(&a, "wakeups_sent");
    for (uint64_t i = 0; i < 4; i++)
        ck_assert_int_eq(send_unexpected(&a, "x", 1, to_b, i), 0);
    ck_assert_uint_eq(node_counter(&a, "wakeups_sent"), wakeups + 1);
    ck_assert(readable(&b, 0, SLEEP_PATIENCE_MS));
    for (uint64_t i = 0; i < 4; i++) {
        na_plugin_event event = await_message(&b, 0, ops[i], 1, i, true);
        b.ops->addr_free(b.cls, event.source);
        free(ops[i]);
    }
    arm_idle(&b, 0);
    ck_assert(!readable(&b, 0, 0));
    /* a poll disarms: no wake-up for a context that is awake */
    void *op = post_unexpected(&b, buffer, sizeof(buffer));
    expect_silence(&b, 0, 2);
    ck_assert_int_eq(send_unexpected(&a, "x", 1, to_b, 9), 0);
    ck_assert_uint_eq(node_counter(&a, "wakeups_sent"), wakeups + 1);
    na_plugin_event event = await_message(&b, 0, op, 1, 9, true);
    b.ops->addr_free(b.cls, event.source);
    free(op);
    close_both();
}
END_TEST

/* A context that sleeps is left asleep: the response will wake it. */
static void
request_of_sleeping_context(uint64_t length)
{
    static char data[1024];
    static char buffer[sizeof data];
    void *op = post_unexpected(&b, buffer, sizeof buffer);
    uint32_t before = a.wakes;

    ck_assert_uint_le(length, sizeof data);
    arm_idle(&a, 0);
    ck_assert_int_eq(send_unexpected(&a, data, length, to_b, 1), 0);
    ck_assert_uint_eq(a.wakes, before);
    ck_assert(!readable(&a, 0, 0));
    na_plugin_event event = await_message(&b, 0, op, length, 1, true);
    b.ops->addr_free(b.cls, event.source);
    free(op);
}

START_TEST(wait_request_leaves_the_context_of_its_sender_asleep)
{
    open_both(1);
    connect_both();
    /* to a target that is awake, and one that sleeps; 1000: out of line */
    request_of_sleeping_context(1);
    request_of_sleeping_context(1000);
    arm_idle(&b, 0);
    request_of_sleeping_context(1);
    arm_idle(&b, 0);
    request_of_sleeping_context(1000);
    close_both();
}
END_TEST

START_TEST(wait_new_connection_and_its_message_wake)
{
    char buffer[8];
    open_both(1);
    void *op = post_unexpected(&b, buffer, sizeof(buffer));
    arm_idle(&b, 0);
    ck_assert_int_eq(send_unexpected(&a, "x", 1, to_b, 1), 0);
    na_plugin_event event = sleep_for_event(&b, 0);
    ck_assert_ptr_eq(event.op, op);
    b.ops->addr_free(b.cls, event.source);
    free(op);
    close_both();
}
END_TEST

START_TEST(wait_lost_peer_wakes)
{
    char buffer[8];
    open_both(1);
    connect_both();
    void *op = post_expected(&a, buffer, sizeof(buffer), to_b, 1);
    arm_idle(&a, 0);
    node_close(&b);
    na_plugin_event event = sleep_for_event(&a, 0);
    ck_assert_ptr_eq(event.op, op);
    ck_assert_int_eq(event.status, NA_PLUGIN_E_HOSTUNREACH);
    free(op);
    a.ops->addr_free(a.cls, to_b);
    node_close(&a);
}
END_TEST

START_TEST(wait_room_in_a_full_ring_wakes_the_sender)
{
    static unsigned char data[4000];
    static unsigned char buffer[4096];
    void *op = NULL;
    int32_t ret = NA_PLUGIN_DONE;
    uint64_t sent = 0;
    open_both(1);
    connect_both();
    for (; ret == NA_PLUGIN_DONE; sent++) {
        free(op);
        op = op_new(&a);
        ret = a.ops->send_unexpected(
            a.ctx[0], op, data, sizeof(data), NULL, to_b, 0, sent, 0);
    }
    ck_assert_int_eq(ret, NA_PLUGIN_PENDING);
    uint64_t sleep_ns = 0;
    na_plugin_event event;
    int32_t armed = NA_PLUGIN_DONE;
    while (armed == NA_PLUGIN_DONE) {
        ck_assert_int_eq(a.ops->poll(a.ctx[0], &event, 1), 0);
        armed = a.wait->arm(a.ctx[0], &sleep_ns);
    }
    /* until the deadline of the send */
    ck_assert_uint_lt(sleep_ns, UINT64_C(400000000000));
    ck_assert(!readable(&a, 0, 20));
    /* the receiver drains the ring, and sends the wake-up before it is empty */
    bool roused = false;
    for (uint64_t i = 0; i < 1000 && !roused; i++) {
        ck_assert_int_eq(b.ops->poll(b.ctx[0], &event, 1), 0);
        roused = readable(&a, 0, 0);
    }
    ck_assert_msg(roused, "room in the ring does not rouse the sender");
    event = sleep_for_event(&a, 0);
    ck_assert_ptr_eq(event.op, op);
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    for (uint64_t i = 0; i < sent; i++) {
        void *recv = post_unexpected(&b, buffer, sizeof(buffer));
        event = await_message(&b, 0, recv, sizeof(data), i, true);
        b.ops->addr_free(b.cls, event.source);
        free(recv);
    }
    free(op);
    close_both();
}
END_TEST

/* One context sleeps; polling another one of its class takes its message out of
 * the ring: that wakes it. */
START_TEST(wait_message_taken_by_another_context_wakes)
{
    char buffer[8];
    na_plugin_event event;
    open_both(2);
    connect_both();
    void *op = op_new(&b);
    void *send = op_new(&a);
    for (uint64_t i = 0; i < 200; i++) {
        ck_assert_int_eq(b.ops->recv_unexpected(
                             b.ctx[1], op, buffer, sizeof(buffer), NULL, 0),
            NA_PLUGIN_PENDING);
        arm_idle(&b, 1);
        ck_assert_int_eq(
            a.ops->send_unexpected(a.ctx[0], send, "x", 1, NULL, to_b, 1, i, 0),
            NA_PLUGIN_DONE);
        for (int j = 0; j < 100; j++)
            ck_assert_int_eq(b.ops->poll(b.ctx[0], &event, 1), 0);
        ck_assert(readable(&b, 1, SLEEP_PATIENCE_MS));
        event = sleep_for_event(&b, 1);
        ck_assert_ptr_eq(event.op, op);
        ck_assert_uint_eq(event.tag, i);
        b.ops->addr_free(b.cls, event.source);
    }
    free(op);
    free(send);
    close_both();
}
END_TEST

/* One context sleeps; its wake-up is consumed by polling another one of its
 * class, with no room for the message. */
START_TEST(wait_wakeup_taken_by_another_context_is_passed_on)
{
    char buffer[8];
    na_plugin_event event;
    uint64_t sleep_ns;
    open_both(2);
    connect_both();
    void *ops[2] = {op_new(&b), op_new(&b)};
    void *send = op_new(&a);
    for (uint64_t i = 0; i < 50; i++) {
        for (uint32_t j = 0; j < 2; j++)
            ck_assert_int_eq(b.ops->recv_unexpected(b.ctx[j], ops[j], buffer,
                                 sizeof(buffer), NULL, 0),
                NA_PLUGIN_PENDING);
        arm_idle(&b, 1);
        for (uint32_t j = 0; j < 2; j++)
            ck_assert_int_eq(a.ops->send_unexpected(
                                 a.ctx[0], send, "x", 1, NULL, to_b, j, i, 0),
                NA_PLUGIN_DONE);
        /* so that this poll asks the kernel */
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        ck_assert_int_eq(b.wait->arm(b.ctx[0], &sleep_ns), NA_PLUGIN_DONE);
        ck_assert_int_eq(b.ops->poll(b.ctx[0], &event, 1), 1);
        ck_assert_ptr_eq(event.op, ops[0]);
        b.ops->addr_free(b.cls, event.source);
        ck_assert(readable(&b, 1, SLEEP_PATIENCE_MS));
        event = sleep_for_event(&b, 1);
        ck_assert_ptr_eq(event.op, ops[1]);
        b.ops->addr_free(b.cls, event.source);
    }
    free(ops[0]);
    free(ops[1]);
    free(send);
    close_both();
}
END_TEST

/* A busy context beside a sleeping one causes no wake-ups by peers. */
START_TEST(wait_busy_context_beside_sleeping_one_needs_no_wakeups)
{
    char buffer[8];
    open_both(2);
    connect_both();
    arm_idle(&b, 1);
    uint64_t wakeups = node_counter(&a, "wakeups_sent");
    void *op = op_new(&b);
    for (uint64_t i = 0; i < 1000; i++) {
        na_plugin_event event;
        ck_assert_int_eq(b.ops->recv_unexpected(
                             b.ctx[0], op, buffer, sizeof(buffer), NULL, 0),
            NA_PLUGIN_PENDING);
        ck_assert_int_eq(send_unexpected(&a, "x", 1, to_b, i), 0);
        while (b.ops->poll(b.ctx[0], &event, 1) == 0)
            ;
        b.ops->addr_free(b.cls, event.source);
    }
    ck_assert_uint_eq(node_counter(&a, "wakeups_sent"), wakeups);
    ck_assert(!readable(&b, 1, 0));
    free(op);
    close_both();
}
END_TEST

/* Submissions by another thread while the context sleeps. */
static void *
submit_receive(void *arg)
{
    static char buffer[8];
    ck_assert_int_eq(
        b.ops->recv_unexpected(b.ctx[0], arg, buffer, sizeof(buffer), NULL, 0),
        NA_PLUGIN_PENDING);
    return NULL;
}

START_TEST(wait_receive_posted_by_another_thread_wakes)
{
    pthread_t thread;
    open_both(1);
    connect_both();
    ck_assert_int_eq(send_unexpected(&a, "x", 1, to_b, 1), 0);
    expect_silence(&b, 0, 5);
    arm_idle(&b, 0);
    void *op = op_new(&b);
    ck_assert_int_eq(pthread_create(&thread, NULL, submit_receive, op), 0);
    ck_assert(readable(&b, 0, SLEEP_PATIENCE_MS));
    na_plugin_event event = sleep_for_event(&b, 0);
    ck_assert_ptr_eq(event.op, op);
    b.ops->addr_free(b.cls, event.source);
    pthread_join(thread, NULL);
    free(op);
    close_both();
}
END_TEST

static void *
submit_self_send(void *arg)
{
    char text[TEXT];
    self_string(&b, text);
    na_plugin_addr *self = lookup(&b, text);
    ck_assert_int_eq(
        b.ops->send_unexpected(b.ctx[0], arg, "x", 1, NULL, self, 0, 1, 0),
        NA_PLUGIN_DONE);
    b.ops->addr_free(b.cls, self);
    return NULL;
}

START_TEST(wait_message_to_self_by_another_thread_wakes)
{
    char buffer[8];
    pthread_t thread;
    node_open(&b, NULL);
    void *op = post_unexpected(&b, buffer, sizeof(buffer));
    void *send = op_new(&b);
    arm_idle(&b, 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, submit_self_send, send), 0);
    ck_assert(readable(&b, 0, SLEEP_PATIENCE_MS));
    na_plugin_event event = sleep_for_event(&b, 0);
    ck_assert_ptr_eq(event.op, op);
    b.ops->addr_free(b.cls, event.source);
    pthread_join(thread, NULL);
    free(op);
    free(send);
    node_close(&b);
}
END_TEST

static void *
submit_forget(void *arg)
{
    a.ops->addr_forget(a.cls, to_b);
    return arg;
}

START_TEST(wait_forget_by_another_thread_wakes)
{
    char buffer[8];
    pthread_t thread;
    open_both(1);
    connect_both();
    void *op = post_expected(&a, buffer, sizeof(buffer), to_b, 1);
    arm_idle(&a, 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, submit_forget, NULL), 0);
    ck_assert(readable(&a, 0, SLEEP_PATIENCE_MS));
    na_plugin_event event = sleep_for_event(&a, 0);
    ck_assert_ptr_eq(event.op, op);
    ck_assert_int_eq(event.status, NA_PLUGIN_E_HOSTUNREACH);
    pthread_join(thread, NULL);
    free(op);
    close_both();
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("wait");
    tcase_set_timeout(cases, 250);
    tcase_add_test(cases, wait_idle_class_uses_no_processor);
    tcase_add_test(cases, wait_arm_fails_with_pending_events);
    tcase_add_test(cases, wait_message_wakes_and_wakeup_is_sent_once);
    tcase_add_test(cases, wait_request_leaves_the_context_of_its_sender_asleep);
    tcase_add_test(cases, wait_new_connection_and_its_message_wake);
    tcase_add_test(cases, wait_lost_peer_wakes);
    tcase_add_test(cases, wait_room_in_a_full_ring_wakes_the_sender);
    tcase_add_test(cases, wait_message_taken_by_another_context_wakes);
    tcase_add_test(cases, wait_wakeup_taken_by_another_context_is_passed_on);
    tcase_add_test(
        cases, wait_busy_context_beside_sleeping_one_needs_no_wakeups);
    tcase_add_test(cases, wait_receive_posted_by_another_thread_wakes);
    tcase_add_test(cases, wait_message_to_self_by_another_thread_wakes);
    tcase_add_test(cases, wait_forget_by_another_thread_wakes);
    return run_cases("wait", &cases, 1);
}
