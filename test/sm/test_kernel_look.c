/* SPDX-License-Identifier: BSD-3-Clause */
/* How often a busy poller asks the kernel. The clock and epoll_wait are this
 * program's, also for the plugin. */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define POLL_NS 2000U /* by which the clock advances in a poll */
#define POLLS 10000U  /* in all 20 ms */
#define OFTEN 280U  /* looks: one in 64 us, which two looks at the clock take */
#define SELDOM 200U /* one in 100 us */

static uint64_t time_ns;  /* 0: the system's clock, */
static uint64_t least_ns; /* which never goes back behind this */
static uint32_t looks;

int
clock_gettime(clockid_t id, struct timespec *now)
{
    uint64_t ns = time_ns;

    if (ns == 0) {
        syscall(SYS_clock_gettime, id, now);
        ns = (uint64_t) now->tv_sec * 1000000000U + (uint64_t) now->tv_nsec;
    }
    if (ns < least_ns)
        ns = least_ns;
    now->tv_sec = (time_t) (ns / 1000000000U);
    now->tv_nsec = (long) (ns % 1000000000U);
    return 0;
}

int
epoll_wait(int epoll, struct epoll_event *events, int most, int timeout)
{
    looks++;
    return (int) syscall(
        SYS_epoll_pwait, epoll, events, most, timeout, NULL, 8);
}

static struct node sender;
static struct node poller;
static na_plugin_addr *to_poller;

/* Polls, and takes so many messages. */
static void
poll_with(uint32_t messages)
{
    na_plugin_event events[18];
    void *ops[2];
    char buffers[2][8] = {{0}};

    for (uint32_t i = 0; i < messages; i++) {
        ops[i] = post_unexpected(&poller, buffers[i], 8);
        ck_assert_int_eq(send_unexpected(&sender, buffers[i], 8, to_poller, i),
            NA_PLUGIN_OK);
    }
    /* as a rule the first poll has all of them */
    uint32_t got = 0;
    do {
        int32_t count = poller.ops->poll(poller.ctx[0], events + got, 16);
        ck_assert_int_ge(count, 0);
        got += (uint32_t) count;
    } while (got < messages);
    ck_assert_uint_eq(got, messages);
    for (uint32_t i = 0; i < messages; i++) {
        ck_assert_int_eq(events[i].status, NA_PLUGIN_OK);
        poller.ops->addr_free(poller.cls, events[i].source);
        free(ops[i]);
    }
}

/* Polls, of which one in `each` finds so many messages. */
static uint32_t
looks_with(uint32_t each, uint32_t messages)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    time_ns = (uint64_t) now.tv_sec * 1000000000U + (uint64_t) now.tv_nsec;
    looks = 0;
    for (uint32_t i = 0; i < POLLS; i++) {
        poll_with(i % each == 0 ? messages : 0);
        time_ns += POLL_NS;
    }
    least_ns = time_ns;
    time_ns = 0;
    return looks;
}

START_TEST(kernel_is_seldom_asked_while_messages_come_one_at_a_time)
{
    char text[TEXT];

    node_open(&poller, NULL);
    node_open(&sender, &(struct node_options){.mute = true});
    self_string(&poller, text);
    to_poller = lookup(&sender, text);
    /* connects */
    void *op = post_unexpected(&poller, text, sizeof(text));
    ck_assert_int_eq(
        send_unexpected(&sender, "hello", 6, to_poller, 0), NA_PLUGIN_OK);
    na_plugin_event event = await_op(&poller, 0, op);
    poller.ops->addr_free(poller.cls, event.source);
    free(op);

    ck_assert_uint_ge(looks_with(1, 0), OFTEN);
    ck_assert_uint_ge(looks_with(1, 2), OFTEN);
    ck_assert_uint_le(looks_with(1, 1), SELDOM);
    ck_assert_uint_le(looks_with(16, 1), SELDOM);
    ck_assert_uint_ge(looks_with(1, 0), OFTEN);

    sender.ops->addr_free(sender.cls, to_poller);
    node_close(&sender);
    node_close(&poller);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("kernel_look");

    tcase_add_test(
        cases, kernel_is_seldom_asked_while_messages_come_one_at_a_time);
    return run_cases("kernel_look", &cases, 1);
}
