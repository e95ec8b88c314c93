/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends: in submission order whichever path each takes, a bounded number
 * without completion, and their end when they are canceled or the peer is
 * lost. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

#define MESSAGES 60U
#define SHORT 8U
#define LONG 1000U
#define ROW 64U    /* injected messages before one with completion */
#define MOST 4000U /* messages that fill a socket */

/* Sends of a, some of which may be pending. */
struct sends {
    void *ops[MOST];
    bool pending[MOST];
    uint32_t count;
    uint32_t left; /* pending */
};

/* Sends the next message from a to b, with its number as the tag. Returns the
 * submission's result. */
static int32_t
send_next(struct pair *pair, struct sends *sends, uint32_t length)
{
    static unsigned char bytes[LONG];
    uint32_t number = sends->count++;

    sends->ops[number] = op_new(&pair->a);
    fill(bytes, length, number);
    int32_t ret = pair->a.ops->send_unexpected(pair->a.ctx, sends->ops[number],
        bytes, length, NULL, pair->to_b, 0, number, 0);
    ck_assert_int_ge(ret, 0);
    sends->pending[number] = ret == NA_PLUGIN_PENDING;
    sends->left += sends->pending[number];
    return ret;
}

/* Polls a once; each of these sends must end with this status. */
static void
poll_sends(struct pair *pair, struct sends *sends, int32_t status)
{
    na_plugin_event event;

    if (!poll_one(&pair->a, &event))
        return;
    for (uint32_t i = 0; i < sends->count; i++)
        if (event.op == sends->ops[i]) {
            ck_assert(sends->pending[i]);
            ck_assert_int_eq(event.status, status);
            sends->pending[i] = false;
            sends->left--;
            return;
        }
    ck_abort_msg("an event without an operation, status %d", event.status);
}

static void
sends_free(struct sends *sends)
{
    ck_assert_uint_eq(sends->left, 0);
    for (uint32_t i = 0; i < sends->count; i++)
        free(sends->ops[i]);
}

/* Receives one at b, which must be this one. */
static void
take(struct pair *pair, struct sends *sends, uint32_t number, uint32_t length)
{
    static unsigned char bytes[4096];
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_event event;

    ck_assert_int_eq(pair->b.ops->recv_unexpected(pair->b.ctx, pair->b_op,
                         bytes, sizeof(bytes), NULL, 0),
        NA_PLUGIN_PENDING);
    while (!poll_one(&pair->b, &event)) {
        poll_sends(pair, sends, NA_PLUGIN_OK);
        ck_assert_msg(now_ns() < end, "message %u did not arrive", number);
    }
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    ck_assert_uint_eq(event.tag, number);
    ck_assert_uint_eq(event.length, length);
    ck_assert(is_filled(bytes, length, number));
    pair->b.ops->addr_free(pair->b.cls, event.source);
}

/* Long ones are refused and queued; the short ones after them must not
 * overtake. */
START_TEST(sends_of_all_lengths_arrive_in_order)
{
    static const char *const refusals[] = {"1", "2", "3"};
    static struct sends sends;
    struct pair pair;

    awkward_set("EAGAIN", refusals[_i]);
    pair_open(&pair);
    for (uint32_t i = 0; i < MESSAGES; i++)
        send_next(&pair, &sends, i % 3 == 0 ? LONG : SHORT);
    for (uint32_t i = 0; i < MESSAGES; i++)
        take(&pair, &sends, i, i % 3 == 0 ? LONG : SHORT);
    while (sends.left != 0)
        poll_sends(&pair, &sends, NA_PLUGIN_OK);
    ck_assert_uint_gt(node_counter(&pair.a, "sends_queued"), 0);
    sends_free(&sends);
    pair_close(&pair);
}
END_TEST

/* To self: sends of any length are queued. One that waits for room is not
 * overtaken by a smaller one, with one context as with two that have
 * endpoints. */
START_TEST(sends_to_self_are_received_in_order)
{
    static unsigned char bytes[4096], buffer[4096];
    static const uint32_t lengths[] = {LONG, SHORT, LONG, SHORT, SHORT};
    struct node_options options = {.protocol = _i == 0 ? "awkward" : "tcp",
        .anywhere = _i == 0,
        .max_contexts = _i == 0 ? 1 : 2,
        .setting_key = "ofi.queue_size",
        .setting_value = "600"};
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_addr *self = NULL;
    na_plugin_event event;
    struct node node;
    void *ops[5];

    node_open(&node, &options);
    ck_assert_int_eq(node.ops->addr_self(node.cls, &self), NA_PLUGIN_OK);
    void *receive = op_new(&node);
    for (uint32_t i = 0; i < 5; i++) {
        ops[i] = op_new(&node);
        ck_assert_int_eq(node.ops->send_unexpected(node.ctx, ops[i], bytes,
                             lengths[i], NULL, self, 0, i, 0),
            i == 0 ? NA_PLUGIN_DONE : NA_PLUGIN_PENDING);
    }
    /* an expected answer does not wait for them */
    ck_assert_int_eq(node.ops->recv_expected(
                         node.ctx, receive, buffer, SHORT, NULL, self, 0, 7, 0),
        NA_PLUGIN_PENDING);
    void *answer = op_new(&node);
    ck_assert_int_eq(node.ops->send_expected(
                         node.ctx, answer, bytes, SHORT, NULL, self, 0, 7, 0),
        NA_PLUGIN_DONE);
    free(answer);
    ck_assert(poll_one(&node, &event) && event.op == receive);
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert_int_eq(node.ops->recv_unexpected(node.ctx, receive, buffer,
                             sizeof(buffer), NULL, 0),
            NA_PLUGIN_PENDING);
        do {
            while (!poll_one(&node, &event))
                ck_assert_msg(now_ns() < end, "message %u did not arrive", i);
            ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        } while (event.op != receive);
        ck_assert_uint_eq(event.tag, i);
        ck_assert_uint_eq(event.length, lengths[i]);
        node.ops->addr_free(node.cls, event.source);
    }
    while (poll_one(&node, &event))
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    for (uint32_t i = 0; i < 5; i++)
        free(ops[i]);
    free(receive);
    node.ops->addr_free(node.cls, self);
    node_close(&node);
}
END_TEST

/* Messages without completion are bounded: after so many, each send waits for a
 * completion until it arrives. */
START_TEST(sends_without_completion_are_bounded)
{
    static struct sends sends;
    na_plugin_event event;
    struct pair pair;

    pair_open(&pair);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < ROW; i++) {
            ck_assert_int_eq(send_next(&pair, &sends, SHORT), NA_PLUGIN_DONE);
            ck_assert(!poll_one(&pair.b, &event));
        }
        for (uint32_t i = 0; i < 10; i++) {
            ck_assert_int_eq(
                send_next(&pair, &sends, SHORT), NA_PLUGIN_PENDING);
            ck_assert(!poll_one(&pair.b, &event));
        }
        ck_assert_uint_eq(
            node_counter(&pair.a, "messages_injected"), (round + 1) * ROW);
        while (sends.left != 0)
            poll_sends(&pair, &sends, NA_PLUGIN_OK);
    }
    for (uint32_t i = 0; i < sends.count; i++)
        take(&pair, &sends, i, SHORT);
    sends_free(&sends);
    pair_close(&pair);
}
END_TEST

/* With NO_RETRY, sends without room are not queued. */
START_TEST(sends_without_room_return_again_with_no_retry)
{
    static unsigned char bytes[SHORT];
    struct pair pair;
    int32_t ret = NA_PLUGIN_E_AGAIN;
    uint32_t refused = 0;

    awkward_set("EAGAIN", "3");
    awkward_set("INJECT", "0");
    pair_open_as(&pair, &(struct node_options){.protocol = "awkward",
                            .anywhere = true,
                            .flags = NA_PLUGIN_OPEN_NO_RETRY});
    while (ret == NA_PLUGIN_E_AGAIN && refused <= 3) {
        ret = pair.a.ops->send_unexpected(
            pair.a.ctx, pair.a_op, bytes, SHORT, NULL, pair.to_b, 0, 7, 0);
        refused += ret == NA_PLUGIN_E_AGAIN;
    }
    ck_assert_uint_eq(refused, 3);
    ck_assert_int_eq(ret, NA_PLUGIN_PENDING);
    ck_assert_int_eq(
        pair_await(&pair, &pair.a, pair.a_op).status, NA_PLUGIN_OK);
    ck_assert_uint_eq(node_counter(&pair.a, "sends_queued"), 0);
    pair_close(&pair);
}
END_TEST

/* libfabric has not completed them, and may never do so: they end once, with
 * their peer, and later completions are ignored. */
START_TEST(sends_to_a_lost_peer_end)
{
    static struct sends sends;
    na_plugin_event event;
    struct pair pair;

    awkward_set("LATE_SEND", "300");
    awkward_set("INJECT", "0");
    pair_open(&pair);
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert_int_eq(send_next(&pair, &sends, LONG), NA_PLUGIN_PENDING);
        ck_assert(!poll_one(&pair.b, &event));
    }
    pair.a.ops->addr_forget(pair.a.cls, pair.to_b);
    for (uint32_t i = 0; i < 50; i++)
        poll_sends(&pair, &sends, NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_uint_eq(sends.left, 0);
    ck_assert_uint_eq(node_counter(&pair.a, "peers_lost"), 1);
    for (uint32_t i = 0; i < 1000; i++)
        ck_assert(!poll_one(&pair.a, &event));
    /* the peer is usable as before */
    ck_assert_int_eq(send_next(&pair, &sends, LONG), NA_PLUGIN_PENDING);
    for (uint64_t end = now_ns() + DEADLINE_NS; sends.left != 0;) {
        poll_sends(&pair, &sends, NA_PLUGIN_OK);
        ck_assert_msg(now_ns() < end, "no end");
    }
    sends_free(&sends);
    pair_close(&pair);
}
END_TEST

/* After the cancel, nothing is queued for the stuck peer: it is not declared
 * lost later for the elapsed time, which would end receives from it. */
START_TEST(sends_canceled_do_not_leave_the_peer_stuck)
{
    static struct sends sends;
    unsigned char byte = 0;
    na_plugin_event event;
    struct pair pair;

    pair_open_with(&pair, "ofi.retry_timeout", "50ms");
    while (node_counter(&pair.a, "sends_queued") < 3) {
        send_next(&pair, &sends, LONG);
        ck_assert_uint_lt(sends.count, MOST);
    }
    for (uint32_t i = 0; i < sends.count; i++)
        if (sends.pending[i])
            pair.a.ops->cancel(pair.a.ctx, sends.ops[i]);
    /* libfabric has accepted most of them, which succeed */
    for (uint64_t end = now_ns() + DEADLINE_NS; sends.left != 0;) {
        ck_assert_msg(now_ns() < end, "no end");
        if (!poll_one(&pair.a, &event))
            continue;
        ck_assert(event.status == NA_PLUGIN_OK ||
                  event.status == NA_PLUGIN_E_CANCELED);
        sends.left--;
    }
    ck_assert_int_eq(pair.a.ops->recv_expected(pair.a.ctx, pair.a_op, &byte, 1,
                         NULL, pair.to_b, 0, 1, 0),
        NA_PLUGIN_PENDING);
    for (uint64_t end = now_ns() + 10 * UINT64_C(50000000); now_ns() < end;)
        ck_assert_msg(!poll_one(&pair.a, &event), "its peer was lost");
    ck_assert_uint_eq(node_counter(&pair.a, "peers_lost"), 0);
    pair.a.ops->cancel(pair.a.ctx, pair.a_op);
    ck_assert_int_eq(
        pair_await(&pair, &pair.a, pair.a_op).status, NA_PLUGIN_E_CANCELED);
    sends_free(&sends);
    pair_close(&pair);
}
END_TEST

/* Arms an idle context. Returns how long it may sleep. */
static uint64_t
arm_idle(struct node *node, na_plugin_ctx *ctx)
{
    const na_plugin_wait *wait =
        node->ops->extension(node->cls, NA_PLUGIN_WAIT_ID);
    uint64_t end = now_ns() + DEADLINE_NS, sleep_ns = 0;
    na_plugin_event event;

    ck_assert_ptr_nonnull(wait);
    while (wait->arm(ctx, &sleep_ns) != NA_PLUGIN_OK) {
        ck_assert_int_eq(node->ops->poll(ctx, &event, 1), 0);
        ck_assert_msg(now_ns() < end, "it never sleeps");
    }
    return sleep_ns;
}

/* While libfabric accepts nothing for a peer, its class sleeps only briefly;
 * when it has accepted all, longer. */
START_TEST(sends_that_waited_let_the_class_sleep)
{
    static struct sends sends;
    na_plugin_event event;
    struct pair pair;

    pair_open(&pair);
    while (node_counter(&pair.a, "sends_queued") < 3) {
        send_next(&pair, &sends, LONG);
        ck_assert_uint_lt(sends.count, MOST);
    }
    const na_plugin_wait *wait =
        pair.a.ops->extension(pair.a.cls, NA_PLUGIN_WAIT_ID);
    uint64_t sleep_ns = 0;
    for (uint64_t end = now_ns() + DEADLINE_NS;
         wait->arm(pair.a.ctx, &sleep_ns) != NA_PLUGIN_OK;) {
        poll_sends(&pair, &sends, NA_PLUGIN_OK);
        ck_assert_msg(now_ns() < end, "it never sleeps");
    }
    ck_assert_uint_le(sleep_ns, 1000000);
    for (uint32_t i = 0; i < sends.count; i++)
        take(&pair, &sends, i, LONG);
    while (sends.left != 0)
        poll_sends(&pair, &sends, NA_PLUGIN_OK);
    /* it is polled now and then, since a receive from it is pending */
    unsigned char byte = 0;
    ck_assert_int_eq(pair.a.ops->recv_expected(pair.a.ctx, pair.a_op, &byte, 1,
                         NULL, pair.to_b, 0, 1, 0),
        NA_PLUGIN_PENDING);
    for (uint64_t end = now_ns() + DEADLINE_NS;
         arm_idle(&pair.a, pair.a.ctx) <= 1000000;) {
        ck_assert(!poll_one(&pair.a, &event));
        ck_assert_msg(now_ns() < end, "it is kept awake");
    }
    pair.a.ops->cancel(pair.a.ctx, pair.a_op);
    ck_assert_int_eq(
        pair_await(&pair, &pair.a, pair.a_op).status, NA_PLUGIN_E_CANCELED);
    sends_free(&sends);
    pair_close(&pair);
}
END_TEST

/* Two contexts share an endpoint: an event that one reads for the other wakes
 * the other, since libfabric's descriptor is not readable any more. */
START_TEST(sends_to_a_sleeping_context_wake_it)
{
    const struct node_options options = {
        .max_contexts = 2, .thread_mode = NA_PLUGIN_THREAD_SINGLE_CLASS};
    static unsigned char buffer[4096], bytes[LONG];
    struct pollfd one = {.events = POLLIN};
    na_plugin_ctx *second = NULL;
    na_plugin_event event;
    struct pair pair;

    pair_open_as(&pair, &options);
    ck_assert_int_eq(
        pair.b.ops->ctx_create(pair.b.cls, 1, NULL, &second), NA_PLUGIN_OK);
    ck_assert(!(pair.b.opened.features & NA_PLUGIN_FEATURE_CTX_PARALLEL));
    ck_assert_int_eq(pair.b.ops->recv_unexpected(
                         second, pair.b_op, buffer, sizeof(buffer), NULL, 0),
        NA_PLUGIN_PENDING);
    arm_idle(&pair.b, second);
    const na_plugin_wait *wait =
        pair.b.ops->extension(pair.b.cls, NA_PLUGIN_WAIT_ID);
    one.fd = wait->fd(second);
    ck_assert_int_eq(poll(&one, 1, 0), 0);
    int32_t ret = pair.a.ops->send_unexpected(
        pair.a.ctx, pair.a_op, bytes, LONG, NULL, pair.to_b, 1, 5, 0);
    ck_assert_int_ge(ret, 0);
    for (uint64_t end = now_ns() + DEADLINE_NS;
         node_counter(&pair.b, "messages_received") == 0;) {
        ck_assert(!poll_one(&pair.b, &event));
        poll_one(&pair.a, &event);
        ck_assert_msg(now_ns() < end, "it does not arrive");
    }
    /* the reader sleeps as well, and its descriptor is not readable */
    arm_idle(&pair.b, pair.b.ctx);
    ck_assert_int_eq(poll(&one, 1, 0), 1);
    ck_assert_int_eq(pair.b.ops->poll(second, &event, 1), 1);
    ck_assert_ptr_eq(event.op, pair.b_op);
    pair.b.ops->addr_free(pair.b.cls, event.source);
    if (ret == NA_PLUGIN_PENDING)
        poll_one(&pair.a, &event);
    pair.b.ops->ctx_destroy(second);
    pair_close(&pair);
}
END_TEST

/* A message of an operation, or a ping, is queued for its peer when the class
 * is closed: it is not reported as an address that the program leaked. */
START_TEST(sends_queued_at_close_leak_no_address)
{
    static unsigned char bytes[LONG];
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_event event;
    struct pair pair;

    awkward_set("EAGAIN", "1000000");
    pair_open_with(&pair, "ofi.probe_interval", "10ms");
    int32_t ret = _i == 0 ? pair.a.ops->send_unexpected(pair.a.ctx, pair.a_op,
                                bytes, LONG, NULL, pair.to_b, 0, 0, 0)
                          : pair.a.ops->recv_expected(pair.a.ctx, pair.a_op,
                                bytes, LONG, NULL, pair.to_b, 0, 0, 0);
    ck_assert_int_eq(ret, NA_PLUGIN_PENDING);
    while (_i == 1 && node_counter(&pair.a, "pings") == 0) {
        ck_assert(!poll_one(&pair.a, &event));
        ck_assert_msg(now_ns() < end, "no ping was queued");
    }
    ck_assert_uint_eq(node_counter(&pair.a, "sends_queued"), _i == 0 ? 1 : 0);
    pair_close(&pair);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("sends");

    warm_up();
    tcase_add_loop_test(cases, sends_of_all_lengths_arrive_in_order, 0, 3);
    tcase_add_loop_test(cases, sends_to_self_are_received_in_order, 0, 2);
    tcase_add_test(cases, sends_without_completion_are_bounded);
    tcase_add_test(cases, sends_without_room_return_again_with_no_retry);
    tcase_add_test(cases, sends_to_a_lost_peer_end);
    tcase_add_test(cases, sends_canceled_do_not_leave_the_peer_stuck);
    tcase_add_test(cases, sends_that_waited_let_the_class_sleep);
    tcase_add_test(cases, sends_to_a_sleeping_context_wake_it);
    tcase_add_loop_test(cases, sends_queued_at_close_leak_no_address, 0, 2);
    return run_tcase("ofi sends", cases);
}
