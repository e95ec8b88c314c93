/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that arrive before their receive: how many are kept, when they are
 * dropped, and that their room is freed. */
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "raw_peer.h"

#define KEPT 256U          /* kept expected messages */
#define KEPT_BYTES 262144U /* their total bytes */
#define LENGTH 4000U       /* size of those that fill it */
#define FLOOD 400U         /* unexpected messages */
#define FLOOD_LENGTH 200U
#define FLOOD_ROOM "200000" /* enough room for one flood, too little for two */

/* Sends an expected message from b to a, and waits for its completion. */
static void
send_expected(struct pair *pair, uint32_t length, uint64_t tag)
{
    static unsigned char bytes[LENGTH];
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_event event;

    fill(bytes, length, (uint32_t) tag);
    int32_t ret = pair->b.ops->send_expected(
        pair->b.ctx, pair->b_op, bytes, length, NULL, pair->to_a, 0, tag, 0);
    ck_assert_int_ge(ret, 0);
    while (ret == NA_PLUGIN_PENDING && !poll_one(&pair->b, &event)) {
        na_plugin_event none;
        ck_assert(!poll_one(&pair->a, &none));
        ck_assert_msg(now_ns() < end, "it is not sent");
    }
    if (ret == NA_PLUGIN_PENDING)
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
}

/* Waits until a has received this many messages. */
static void
await_received(struct pair *pair, uint64_t count)
{
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_event event;

    while (node_counter(&pair->a, "messages_received") < count) {
        ck_assert(!poll_one(&pair->a, &event));
        poll_one(&pair->b, &event);
        ck_assert_msg(now_ns() < end, "they do not arrive");
    }
    ck_assert_uint_eq(node_counter(&pair->a, "messages_received"), count);
}

/* Whether a receive of a with this tag gets a kept message; cancels it
 * otherwise. */
static bool
has_early(struct node *node, void *op, na_plugin_addr *from, uint64_t tag,
    uint32_t length)
{
    static unsigned char bytes[LENGTH];
    na_plugin_event event;

    ck_assert_int_eq(node->ops->recv_expected(node->ctx, op, bytes,
                         sizeof(bytes), NULL, from, 0, tag, 0),
        NA_PLUGIN_PENDING);
    if (!poll_one(node, &event)) {
        node->ops->cancel(node->ctx, op);
        ck_assert(poll_one(node, &event));
        ck_assert_int_eq(event.status, NA_PLUGIN_E_CANCELED);
        return false;
    }
    ck_assert_ptr_eq(event.op, op);
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    ck_assert_uint_eq(event.length, length);
    ck_assert(is_filled(bytes, length, (uint32_t) tag));
    return true;
}

/* Twice, to show that the room of received messages is freed. */
START_TEST(early_messages_are_kept_up_to_a_number)
{
    struct pair pair;

    pair_open(&pair);
    for (uint32_t round = 0; round < 2; round++) {
        const uint64_t first = UINT64_C(1000) * round;
        for (uint32_t i = 0; i < KEPT; i++)
            send_expected(&pair, 16, first + i);
        await_received(&pair, round * (KEPT + 1) + KEPT);
        ck_assert_uint_eq(node_counter(&pair.a, "expected_dropped"), round);
        send_expected(&pair, 16, first + KEPT);
        await_received(&pair, (round + 1) * (KEPT + 1));
        ck_assert_uint_eq(node_counter(&pair.a, "expected_dropped"), round + 1);
        /* the oldest was dropped */
        for (uint32_t i = 0; i <= KEPT; i++)
            ck_assert_int_eq(
                has_early(&pair.a, pair.a_op, pair.to_b, first + i, 16),
                i != 0);
    }
    pair_close(&pair);
}
END_TEST

START_TEST(early_messages_are_kept_up_to_their_bytes)
{
    const uint32_t most = KEPT_BYTES / LENGTH;
    const uint32_t rest = KEPT_BYTES % LENGTH;
    struct pair pair;

    pair_open(&pair);
    for (uint32_t round = 0; round < 2; round++) {
        const uint64_t first = UINT64_C(1000) * round;
        for (uint32_t i = 0; i < most; i++)
            send_expected(&pair, LENGTH, first + i);
        send_expected(&pair, rest, first + most);
        await_received(&pair, round * (most + 2) + most + 1);
        ck_assert_uint_eq(node_counter(&pair.a, "expected_dropped"), round);
        send_expected(&pair, 1, first + most + 1);
        await_received(&pair, (round + 1) * (most + 2));
        ck_assert_uint_eq(node_counter(&pair.a, "expected_dropped"), round + 1);
        for (uint32_t i = 0; i < most; i++)
            ck_assert_int_eq(
                has_early(&pair.a, pair.a_op, pair.to_b, first + i, LENGTH),
                i != 0);
        ck_assert(has_early(&pair.a, pair.a_op, pair.to_b, first + most, rest));
        ck_assert(
            has_early(&pair.a, pair.a_op, pair.to_b, first + most + 1, 1));
    }
    pair_close(&pair);
}
END_TEST

/* After forget, earlier messages of that peer are not matched with later ones.
 * Messages of others stay. */
START_TEST(early_messages_of_a_forgotten_peer_are_dropped)
{
    struct node_options options = {.protocol = _i == 0 ? "awkward" : "tcp",
        .anywhere = _i == 0,
        .max_contexts = _i == 2 ? 2 : 1};
    struct pair pair, other;
    char text[TEXT];

    pair_open_as(&pair, &options);
    node_open(&other.b, &options);
    other.a = pair.a;
    self_string(&pair.a, text);
    other.to_a = lookup(&other.b, text);
    self_string(&other.b, text);
    other.to_b = lookup(&pair.a, text);
    other.b_op = op_new(&other.b);
    send_expected(&pair, 16, 1);
    send_expected(&other, 16, 1);
    await_received(&other, 2);
    pair.a.ops->addr_forget(pair.a.cls, pair.to_b);
    ck_assert(!has_early(&pair.a, pair.a_op, pair.to_b, 1, 16));
    ck_assert(has_early(&pair.a, pair.a_op, other.to_b, 1, 16));
    /* and it can be reached */
    send_expected(&pair, 20, 1);
    await_received(&pair, 3);
    ck_assert(has_early(&pair.a, pair.a_op, pair.to_b, 1, 20));
    other.b.ops->addr_free(other.b.cls, other.to_a);
    pair.a.ops->addr_free(pair.a.cls, other.to_b);
    node_close(&other.b);
    free(other.b_op);
    pair_close(&pair);
}
END_TEST

/* A message as a class with this number would send it, from an unused port. */
static void
send_raw(struct raw_peer *raw, struct node *node, uint64_t number, uint8_t tag)
{
    static const unsigned char name[] = {127, 0, 0, 1, 0, 9};
    unsigned char bytes[32 + 16] = {0};

    bytes[0] = 1;
    bytes[1] = 2;
    bytes[4] = tag;
    bytes[8] = (unsigned char) number;
    bytes[24] = sizeof(name);
    memcpy(bytes + 25, name, sizeof(name));
    fill(bytes + 32, 16, tag);
    raw_peer_send(raw, node, bytes, sizeof(bytes));
}

static void
await_counter(struct node *node, const char *name, uint64_t value)
{
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_event event;

    while (node_counter(node, name) < value) {
        ck_assert(!poll_one(node, &event));
        ck_assert_msg(now_ns() < end, "%s stays below", name);
    }
    ck_assert_uint_eq(node_counter(node, name), value);
}

/* Another class takes over an address: kept messages of the previous one are
 * dropped, and those still arriving are ignored, on any connection. */
START_TEST(early_messages_of_a_replaced_class_are_dropped)
{
    struct raw_peer first, second;
    struct node node;

    node_open(&node, NULL);
    na_plugin_addr *from = lookup(&node, "tcp://127.0.0.1:9");
    void *op = op_new(&node);
    raw_peer_open(&first, &node);
    raw_peer_open(&second, &node);
    send_raw(&first, &node, 7, 1);
    send_raw(&first, &node, 7, 2);
    await_counter(&node, "messages_received", 2);
    ck_assert(has_early(&node, op, from, 1, 16));
    send_raw(&second, &node, 8, 3);
    await_counter(&node, "messages_received", 3);
    ck_assert_uint_eq(node_counter(&node, "peers_replaced"), 1);
    ck_assert(!has_early(&node, op, from, 2, 16));
    send_raw(&first, &node, 7, 4);
    await_counter(&node, "strayed", 1);
    ck_assert(!has_early(&node, op, from, 4, 16));
    send_raw(&second, &node, 8, 5);
    await_counter(&node, "messages_received", 4);
    ck_assert(has_early(&node, op, from, 3, 16));
    ck_assert(has_early(&node, op, from, 5, 16));
    ck_assert_uint_eq(node_counter(&node, "peers_replaced"), 1);
    raw_peer_close(&first);
    raw_peer_close(&second);
    node.ops->addr_free(node.cls, from);
    free(op);
    node_close(&node);
}
END_TEST

/* A message of either kind from class number 7 to a class with this number. */
static void
send_as_class(struct raw_peer *raw, struct node *node, uint8_t kind,
    uint64_t target, size_t length)
{
    static const unsigned char name[] = {127, 0, 0, 1, 0, 9};
    unsigned char bytes[32 + 512] = {0};

    bytes[0] = 1;
    bytes[1] = kind;
    bytes[8] = 7;
    for (uint32_t i = 0; i < 8; i++)
        bytes[16 + i] = (unsigned char) (target >> 8 * i);
    bytes[24] = sizeof(name);
    memcpy(bytes + 25, name, sizeof(name));
    raw_peer_send(raw, node, bytes, 32 + length);
}

/* Messages for the previous class at this address are dropped. */
START_TEST(messages_for_another_class_are_dropped)
{
    struct raw_peer raw;
    struct node node;

    node_open(&node, NULL);
    raw_peer_open(&raw, &node);
    for (uint8_t kind = 1; kind <= 2; kind++) {
        send_as_class(&raw, &node, kind, 12345, 16);
        await_counter(&node, "strayed", kind);
    }
    ck_assert_uint_eq(node_counter(&node, "unexpected_queued"), 0);
    send_as_class(&raw, &node, 1, 0, 16);
    await_counter(&node, "unexpected_queued", 1);
    ck_assert_uint_eq(node_counter(&node, "strayed"), 2);
    raw_peer_close(&raw);
    node_close(&node);
}
END_TEST

/* Each kind has its own limit, though one buffer receives both. */
START_TEST(messages_that_are_too_long_are_dropped)
{
    const struct node_options options = {
        .max_unexpected = 100, .max_expected = 200};
    struct raw_peer raw;
    struct node node;

    node_open(&node, &options);
    raw_peer_open(&raw, &node);
    send_as_class(&raw, &node, 1, 0, 100);
    await_counter(&node, "unexpected_queued", 1);
    send_as_class(&raw, &node, 1, 0, 101);
    await_counter(&node, "malformed", 1);
    send_as_class(&raw, &node, 2, 0, 200);
    await_counter(&node, "messages_received", 3);
    ck_assert_uint_eq(node_counter(&node, "malformed"), 1);
    send_as_class(&raw, &node, 2, 0, 201);
    await_counter(&node, "malformed", 2);
    ck_assert_uint_eq(node_counter(&node, "unexpected_queued"), 1);
    raw_peer_close(&raw);
    node_close(&node);
}
END_TEST

/* One byte too long: nothing is written beyond the receive's buffer. */
START_TEST(messages_longer_than_their_receive_end_it_with_an_error)
{
    static const unsigned char bytes[17];
    unsigned char buffer[32];
    bool expected = _i & 1, early = _i & 2;
    struct pair pair;

    pair_open(&pair);
    const na_plugin_ops *ops = pair.a.ops;
    memset(buffer, 0xEE, sizeof(buffer));
    for (uint32_t step = 0; step < 2; step++)
        if ((step == 0) == early)
            ck_assert_int_ge(
                (expected ? ops->send_expected : ops->send_unexpected)(
                    pair.b.ctx, pair.b_op, bytes, sizeof(bytes), NULL,
                    pair.to_a, 0, 7, 0),
                0);
        else if (expected)
            ck_assert_int_eq(ops->recv_expected(pair.a.ctx, pair.a_op, buffer,
                                 16, NULL, pair.to_b, 0, 7, 0),
                NA_PLUGIN_PENDING);
        else
            ck_assert_int_eq(ops->recv_unexpected(
                                 pair.a.ctx, pair.a_op, buffer, 16, NULL, 0),
                NA_PLUGIN_PENDING);
    ck_assert_int_eq(
        pair_await(&pair, &pair.a, pair.a_op).status, NA_PLUGIN_E_MSGSIZE);
    for (uint32_t i = 16; i < sizeof(buffer); i++)
        ck_assert_uint_eq(buffer[i], 0xEE);
    pair_close(&pair);
}
END_TEST

/* MULTI-RECEIVE */

/* Each message of a multi-receive holds one reference to its sender: after all
 * were freed, the address is still usable. */
START_TEST(multi_receives_refer_to_each_sender)
{
    static unsigned char buffer[3 * 4096], bytes[64];
    struct pair pair;
    na_plugin_event event;
    uint32_t got = 0;

    pair_open(&pair);
    pair.b.word = "closed with";
    const na_plugin_multi_recv *multi =
        pair.b.ops->extension(pair.b.cls, NA_PLUGIN_MULTI_RECV_ID);
    ck_assert_ptr_nonnull(multi);
    ck_assert_int_eq(multi->recv_multi(pair.b.ctx, pair.b_op, buffer,
                         sizeof(buffer), NULL, 0),
        NA_PLUGIN_PENDING);
    for (uint32_t i = 0; i < 5; i++)
        ck_assert_int_eq(pair.a.ops->send_unexpected(pair.a.ctx, pair.a_op,
                             bytes, 16, NULL, pair.to_b, 0, i, 0),
            NA_PLUGIN_DONE);
    for (uint64_t end = now_ns() + DEADLINE_NS; got < 5;) {
        ck_assert_msg(now_ns() < end, "%u of 5", got);
        if (!poll_one(&pair.b, &event))
            continue;
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        ck_assert(event.flags & NA_PLUGIN_EVENT_MORE);
        ck_assert_uint_eq(event.tag, got++);
        ck_assert_ptr_eq(event.source, pair.to_a);
        pair.b.ops->addr_free(pair.b.cls, event.source);
    }
    pair.b.ops->cancel(pair.b.ctx, pair.b_op);
    ck_assert_int_eq(
        pair_await(&pair, &pair.b, pair.b_op).status, NA_PLUGIN_E_CANCELED);
    ck_assert_int_eq(pair_answer(&pair, 300, true), NA_PLUGIN_OK);
    pair_close(&pair);
    ck_assert_msg(!pair.b.matched, "addresses were left");
}
END_TEST

/* COMPLETION OF RECEIVES */

#define POSTED 200U /* exceeds a context's initial room */

/* All complete before a poll: room for each was reserved when it was posted. */
START_TEST(receives_canceled_together_end_once_each)
{
    static unsigned char buffer[64];
    void *ops[POSTED];
    bool ended[POSTED] = {false};
    na_plugin_event event;
    struct node node;

    node_open(&node, NULL);
    for (uint32_t i = 0; i < POSTED; i++) {
        ops[i] = op_new(&node);
        ck_assert_int_eq(node.ops->recv_unexpected(
                             node.ctx, ops[i], buffer, sizeof(buffer), NULL, 0),
            NA_PLUGIN_PENDING);
    }
    for (uint32_t i = 0; i < POSTED; i++)
        node.ops->cancel(node.ctx, ops[i]);
    for (uint32_t n = 0; n < POSTED; n++) {
        uint32_t i = 0;
        ck_assert_msg(poll_one(&node, &event), "%u have ended", n);
        while (i < POSTED && ops[i] != event.op)
            i++;
        ck_assert_uint_lt(i, POSTED);
        ck_assert_msg(!ended[i], "number %u ends twice", i);
        ck_assert_int_eq(event.status, NA_PLUGIN_E_CANCELED);
        ended[i] = true;
    }
    ck_assert(!poll_one(&node, &event));
    for (uint32_t i = 0; i < POSTED; i++)
        free(ops[i]);
    node_close(&node);
}
END_TEST

/* From a peer that is alive but does not poll: it is pinged for a while, then
 * its port is probed. The receive stays pending. */
START_TEST(receives_from_a_silent_peer_cause_a_probe)
{
    const struct node_options options = {
        .setting_key = "ofi.probe_interval", .setting_value = "10ms"};
    static unsigned char bytes[LENGTH];
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_event event;
    struct pair pair;

    pair_open_as(&pair, &options);
    ck_assert_int_eq(pair_answer(&pair, LENGTH, true), NA_PLUGIN_OK);
    ck_assert_int_eq(pair.a.ops->recv_expected(pair.a.ctx, pair.a_op, bytes,
                         LENGTH, NULL, pair.to_b, 0, 5, 0),
        NA_PLUGIN_PENDING);
    while (node_counter(&pair.a, "liveness_probes") == 0) {
        ck_assert(!poll_one(&pair.a, &event));
        ck_assert_msg(now_ns() < end, "no probe after %u pings",
            (unsigned) node_counter(&pair.a, "pings"));
    }
    int32_t ret = pair.b.ops->send_expected(
        pair.b.ctx, pair.b_op, bytes, LENGTH, NULL, pair.to_a, 0, 5, 0);
    ck_assert_int_ge(ret, 0);
    bool received = false, sent = ret != NA_PLUGIN_PENDING;
    while (!received || !sent) {
        ck_assert_msg(now_ns() < end, "it does not arrive");
        if (poll_one(&pair.a, &event)) {
            ck_assert_int_eq(event.status, NA_PLUGIN_OK);
            received = true;
        }
        if (poll_one(&pair.b, &event)) {
            ck_assert_int_eq(event.status, NA_PLUGIN_OK);
            sent = true;
        }
    }
    ck_assert_uint_eq(node_counter(&pair.a, "peers_lost"), 0);
    pair_close(&pair);
}
END_TEST

/* FLOODS OF UNEXPECTED MESSAGES */

/* All of them are taken from libfabric, though b has no receive. */
static void
flood(struct pair *pair, uint64_t before)
{
    static unsigned char bytes[FLOOD_LENGTH];
    static void *ops[FLOOD];
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_event event;
    uint32_t left = 0;

    for (uint32_t i = 0; i < FLOOD; i++) {
        ops[i] = op_new(&pair->a);
        int32_t ret = pair->a.ops->send_unexpected(pair->a.ctx, ops[i], bytes,
            FLOOD_LENGTH, NULL, pair->to_b, 0, i, 0);
        ck_assert_int_ge(ret, 0);
        left += ret == NA_PLUGIN_PENDING;
    }
    while (left != 0 ||
           node_counter(&pair->b, "messages_received") < before + FLOOD) {
        left -= poll_one(&pair->a, &event) ? 1 : 0;
        ck_assert(!poll_one(&pair->b, &event));
        ck_assert_msg(now_ns() < end, "there is room for %u of %u",
            (unsigned) (node_counter(&pair->b, "messages_received") - before),
            FLOOD);
    }
    for (uint32_t i = 0; i < FLOOD; i++)
        free(ops[i]);
}

static void
drain(struct pair *pair)
{
    static unsigned char bytes[4096];
    na_plugin_event event;

    for (uint32_t i = 0; i < FLOOD; i++) {
        ck_assert_int_eq(pair->b.ops->recv_unexpected(pair->b.ctx, pair->b_op,
                             bytes, sizeof(bytes), NULL, 0),
            NA_PLUGIN_PENDING);
        ck_assert_msg(poll_one(&pair->b, &event), "there are but %u", i);
        ck_assert_uint_eq(event.length, FLOOD_LENGTH);
        pair->b.ops->addr_free(pair->b.cls, event.source);
    }
}

/* The room of messages that were received, or dropped with their context, is
 * free again. */
START_TEST(floods_free_their_room)
{
    struct pair pair;

    pair_open_with(&pair, "ofi.queue_size", FLOOD_ROOM);
    for (uint32_t i = 0; i < 6; i++) {
        flood(&pair, i * FLOOD);
        if (i < 3) {
            drain(&pair);
            continue;
        }
        pair.b.ops->ctx_destroy(pair.b.ctx);
        ck_assert_int_eq(
            pair.b.ops->ctx_create(pair.b.cls, 0, &pair.b, &pair.b.ctx),
            NA_PLUGIN_OK);
    }
    pair_close(&pair);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("receives");

    warm_up();
    tcase_add_test(cases, early_messages_are_kept_up_to_a_number);
    tcase_add_test(cases, early_messages_are_kept_up_to_their_bytes);
    tcase_add_loop_test(
        cases, early_messages_of_a_forgotten_peer_are_dropped, 0, 3);
    tcase_add_test(cases, early_messages_of_a_replaced_class_are_dropped);
    tcase_add_test(cases, messages_for_another_class_are_dropped);
    tcase_add_test(cases, messages_that_are_too_long_are_dropped);
    tcase_add_loop_test(
        cases, messages_longer_than_their_receive_end_it_with_an_error, 0, 4);
    tcase_add_test(cases, receives_canceled_together_end_once_each);
    tcase_add_test(cases, receives_from_a_silent_peer_cause_a_probe);
    tcase_add_test(cases, multi_receives_refer_to_each_sender);
    tcase_add_test(cases, floods_free_their_room);
    return run_tcase("ofi receives", cases);
}
