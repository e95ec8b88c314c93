/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between processes, within one, and to self: tags, order of send and
 * receive. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "pattern.h"

START_TEST(message_beyond_limits_is_refused)
{
    struct node node;
    static unsigned char buffer[5000];
    char text[TEXT];
    node_open(&node, &(struct node_options){.max_expected = 1000});
    self_string(&node, text);
    na_plugin_addr *self = lookup(&node, text);
    void *op = op_new(&node);

    ck_assert_int_eq(
        send_unexpected(&node, buffer, 4097, self, 1), NA_PLUGIN_E_MSGSIZE);
    ck_assert_int_eq(
        send_expected(&node, buffer, 1001, self, 1), NA_PLUGIN_E_MSGSIZE);
    ck_assert_int_eq(send_unexpected(&node, buffer, 1, self, 1ULL << 32),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(node.ops->send_expected(
                         node.ctx[0], op, buffer, 1, NULL, self, 256, 1, 0),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(node.ops->recv_expected(
                         node.ctx[0], op, buffer, 1, NULL, self, 256, 1, 0),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_uint_eq(node_warnings(&node), 5);
    expect_silence(&node, 0, 5);
    node.ops->addr_free(node.cls, self);
    free(op);
    node_close(&node);
}
END_TEST

/* Two classes of one process, or one and itself. */
struct pair {
    struct node a;
    struct node b;
    na_plugin_addr *to_b;
    na_plugin_addr *to_a;
};

static struct pair *
pair_open_with(bool self, const struct node_options *sender)
{
    static struct pair pair;
    char text[TEXT];
    node_open(&pair.b, NULL);
    self_string(&pair.b, text);
    if (self) {
        pair.a.ops = NULL;
        pair.to_b = lookup(&pair.b, text);
        return &pair;
    }
    node_open(&pair.a, sender);
    pair.to_b = lookup(&pair.a, text);
    self_string(&pair.a, text);
    pair.to_a = lookup(&pair.b, text);
    return &pair;
}

static struct pair *
pair_open(bool self)
{
    return pair_open_with(self, NULL);
}

static void
pair_close(struct pair *pair, struct node *sender)
{
    sender->ops->addr_free(sender->cls, pair->to_b);
    if (pair->to_a != NULL)
        pair->b.ops->addr_free(pair->b.cls, pair->to_a);
    if (sender == &pair->a)
        node_close(&pair->a);
    node_close(&pair->b);
}

static void
unexpected_first(bool self)
{
    struct pair *pair = pair_open(self);
    struct node *sender = self ? &pair->b : &pair->a;
    unsigned char buffer[4096];
    unsigned char got[100];

    for (uint64_t i = 0; i < 100; i++) {
        fill(buffer, i * 40, i);
        ck_assert_int_eq(
            send_unexpected(sender, buffer, i * 40, pair->to_b, i), 0);
    }
    expect_silence(&pair->b, 0, 5);
    memset(got, 0, sizeof(got));
    for (uint64_t i = 0; i < 100; i++) {
        void *op = post_unexpected(&pair->b, buffer, sizeof(buffer));
        na_plugin_event event = await_op(&pair->b, 0, op);
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        ck_assert_uint_eq(event.length, event.tag * 40);
        check_bytes(buffer, event.length, event.tag);
        ck_assert_uint_eq(got[event.tag]++, 0);
        pair->b.ops->addr_free(pair->b.cls, event.source);
        free(op);
    }
    pair_close(pair, sender);
}

START_TEST(message_unexpected_before_receive_is_queued)
{
    unexpected_first(false);
}
END_TEST

START_TEST(message_to_self_before_receive_is_queued)
{
    unexpected_first(true);
}
END_TEST

/* The thread that polls the sender sends more than the sender keeps in mind of
 * its sends until its next poll. */
START_TEST(message_sends_of_a_poller_between_two_polls)
{
    enum { SENDS = 300 };
    struct pair *pair =
        pair_open_with(false, &(struct node_options){.setting_key = "sm.demote",
                                  .setting_value = "2"});
    unsigned char buffer[400];

    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < SENDS; i++) {
            fill(buffer, i, i);
            ck_assert_int_eq(
                send_unexpected(&pair->a, buffer, i, pair->to_b, i), 0);
        }
        for (uint64_t i = 0; i < SENDS; i++) {
            void *op = post_unexpected(&pair->b, buffer, sizeof(buffer));
            na_plugin_event event = await_op(&pair->b, 0, op);
            ck_assert_int_eq(event.status, NA_PLUGIN_OK);
            ck_assert_uint_eq(event.tag, i);
            ck_assert_uint_eq(event.length, i);
            check_bytes(buffer, i, i);
            pair->b.ops->addr_free(pair->b.cls, event.source);
            free(op);
        }
        expect_silence(&pair->a, 0, 5);
    }
    pair_close(pair, &pair->a);
}
END_TEST

static void
expected_first(bool self)
{
    struct pair *pair = pair_open(self);
    struct node *sender = self ? &pair->b : &pair->a;
    na_plugin_addr *from = self ? pair->to_b : pair->to_a;
    unsigned char buffer[64];

    for (uint64_t i = 0; i < 50; i++) {
        fill(buffer, 50, i);
        ck_assert_int_eq(send_expected(sender, buffer, 50, pair->to_b, i), 0);
    }
    expect_silence(&pair->b, 0, 5);
    for (uint64_t i = 50; i-- > 0;) {
        void *op = post_expected(&pair->b, buffer, sizeof(buffer), from, i);
        await_message(&pair->b, 0, op, 50, i, false);
        check_bytes(buffer, 50, i);
        free(op);
    }
    ck_assert_uint_eq(node_counter(&pair->b, "expected_dropped"), 0);
    pair_close(pair, sender);
}

START_TEST(message_expected_before_receive_is_kept)
{
    expected_first(false);
}
END_TEST

START_TEST(message_expected_to_self_before_receive_is_kept)
{
    expected_first(true);
}
END_TEST

START_TEST(message_expected_without_receive_oldest_is_dropped)
{
    struct pair *pair = pair_open(false);
    unsigned char buffer[64] = {0};
    for (uint64_t i = 0; i < 300; i++) {
        ck_assert_int_eq(send_expected(&pair->a, buffer, 8, pair->to_b, i), 0);
        pump();
    }
    expect_silence(&pair->b, 0, 5);
    ck_assert_uint_eq(node_counter(&pair->b, "expected_dropped"), 300 - 256);

    void *op = post_expected(&pair->b, buffer, sizeof(buffer), pair->to_a, 44);
    await_message(&pair->b, 0, op, 8, 44, false);
    void *lost =
        post_expected(&pair->b, buffer, sizeof(buffer), pair->to_a, 43);
    expect_silence(&pair->b, 0, 5);
    ck_assert_int_eq(pair->b.ops->cancel(pair->b.ctx[0], lost), 0);
    ck_assert_int_eq(await_op(&pair->b, 0, lost).status, NA_PLUGIN_E_CANCELED);
    free(op);
    free(lost);
    pair_close(pair, &pair->a);
}
END_TEST

static void
too_long(bool self)
{
    struct pair *pair = pair_open(self);
    struct node *sender = self ? &pair->b : &pair->a;
    na_plugin_addr *from = self ? pair->to_b : pair->to_a;
    unsigned char buffer[64] = {0};

    void *op = post_unexpected(&pair->b, buffer, 10);
    ck_assert_int_eq(send_unexpected(sender, buffer, 11, pair->to_b, 1), 0);
    na_plugin_event event = await_op(&pair->b, 0, op);
    ck_assert_int_eq(event.status, NA_PLUGIN_E_MSGSIZE);
    ck_assert_uint_eq(event.flags, 0);
    ck_assert_ptr_null(event.source);
    void *expected = post_expected(&pair->b, buffer, 10, from, 2);
    ck_assert_int_eq(send_expected(sender, buffer, 11, pair->to_b, 2), 0);
    event = await_op(&pair->b, 0, expected);
    ck_assert_int_eq(event.status, NA_PLUGIN_E_MSGSIZE);
    /* queued first, then found to be too long */
    ck_assert_int_eq(send_unexpected(sender, buffer, 11, pair->to_b, 3), 0);
    expect_silence(&pair->b, 0, 2);
    void *late = post_unexpected(&pair->b, buffer, 10);
    ck_assert_int_eq(await_op(&pair->b, 0, late).status, NA_PLUGIN_E_MSGSIZE);
    /* a shorter one still arrives */
    void *next = post_unexpected(&pair->b, buffer, 10);
    ck_assert_int_eq(send_unexpected(sender, buffer, 10, pair->to_b, 4), 0);
    event = await_message(&pair->b, 0, next, 10, 4, true);
    pair->b.ops->addr_free(pair->b.cls, event.source);
    free(op);
    free(expected);
    free(late);
    free(next);
    pair_close(pair, sender);
}

START_TEST(message_longer_than_receive_ends_with_msgsize)
{
    too_long(false);
}
END_TEST

START_TEST(message_to_self_longer_than_receive_ends_with_msgsize)
{
    too_long(true);
}
END_TEST

START_TEST(message_expected_matches_peer_and_tag)
{
    struct pair *pair = pair_open(false);
    static struct node third;
    char text[TEXT];
    char one[8];
    char two[8];
    char three[8];
    node_open(&third, NULL);
    self_string(&third, text);
    na_plugin_addr *from_third = lookup(&pair->b, text);
    self_string(&pair->b, text);
    na_plugin_addr *to_b = lookup(&third, text);

    void *first = post_expected(&pair->b, one, 8, pair->to_a, 1);
    void *second = post_expected(&pair->b, two, 8, pair->to_a, 2);
    void *other = post_expected(&pair->b, three, 8, from_third, 1);
    ck_assert_int_eq(send_expected(&third, "t", 2, to_b, 1), 0);
    ck_assert_int_eq(send_expected(&pair->a, "2", 2, pair->to_b, 2), 0);
    ck_assert_int_eq(send_expected(&pair->a, "1", 2, pair->to_b, 1), 0);
    await_message(&pair->b, 0, first, 2, 1, false);
    await_message(&pair->b, 0, second, 2, 2, false);
    await_message(&pair->b, 0, other, 2, 1, false);
    ck_assert_str_eq(one, "1");
    ck_assert_str_eq(two, "2");
    ck_assert_str_eq(three, "t");
    pair->b.ops->addr_free(pair->b.cls, from_third);
    third.ops->addr_free(third.cls, to_b);
    free(first);
    free(second);
    free(other);
    node_close(&third);
    pair_close(pair, &pair->a);
}
END_TEST

START_TEST(message_thousands_of_receives_match)
{
    struct pair *pair = pair_open(false);
    enum { COUNT = 5000 };
    static void *ops[COUNT];
    static char buffers[COUNT][8];

    for (uint64_t i = 0; i < COUNT; i++)
        ops[i] = post_expected(&pair->b, buffers[i], 8, pair->to_a, i);
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t tag = i * 1237 % COUNT;
        ck_assert_int_eq(
            send_expected(&pair->a, &tag, sizeof(tag), pair->to_b, tag), 0);
        await_message(&pair->b, 0, ops[tag], sizeof(tag), tag, false);
        ck_assert_int_eq(memcmp(buffers[tag], &tag, sizeof(tag)), 0);
        free(ops[tag]);
    }
    pair_close(pair, &pair->a);
}
END_TEST

/* Both connect to each other before either has accepted. */
START_TEST(message_crossing_calls_both_work)
{
    struct pair *pair = pair_open(false);
    char at_a[8];
    char at_b[8];
    struct node *a = &pair->a;
    struct node *b = &pair->b;
    void *from_b = post_expected(a, at_a, 8, pair->to_b, 1);
    void *from_a = post_expected(b, at_b, 8, pair->to_a, 1);

    ck_assert_int_eq(send_expected(a, "a", 2, pair->to_b, 1), 0);
    ck_assert_int_eq(send_expected(b, "b", 2, pair->to_a, 1), 0);
    await_message(a, 0, from_b, 2, 1, false);
    await_message(b, 0, from_a, 2, 1, false);
    void *op = post_unexpected(a, at_a, 8);
    ck_assert_int_eq(send_unexpected(b, "c", 2, pair->to_a, 4), 0);
    na_plugin_event event = await_message(a, 0, op, 2, 4, true);
    ck_assert_int_eq(a->ops->addr_equal(a->cls, event.source, pair->to_b), 1);
    a->ops->addr_free(a->cls, event.source);
    free(op);
    free(from_a);
    free(from_b);
    pair_close(pair, a);
}
END_TEST

#define SENDERS 6
#define EACH 2000

static int
sender(const struct parent *parent)
{
    static struct node node;
    char text[TEXT];
    recv_line(parent->in, text);
    node_open(&node, NULL);
    na_plugin_addr *peer = lookup(&node, text);
    for (uint64_t i = 0; i < EACH; i++) {
        uint64_t data[2] = {(uint64_t) (uintptr_t) parent->arg, i};
        ck_assert_int_eq(
            send_unexpected(&node, data, sizeof(data), peer, data[0]), 0);
    }
    expect_line(parent->in, "end");
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
    return 0;
}

START_TEST(message_several_senders_all_arrive)
{
    static struct node node;
    struct child children[SENDERS];
    uint32_t counts[SENDERS] = {0};
    uint64_t buffers[16][2];
    void *ops[16];
    char text[TEXT];
    for (uint64_t i = 0; i < SENDERS; i++)
        children[i] = child_start(sender, (const void *) (uintptr_t) i);
    node_open(&node, NULL);
    self_string(&node, text);
    for (int i = 0; i < SENDERS; i++)
        send_line(children[i].out, text);
    for (int i = 0; i < 16; i++)
        ops[i] = post_unexpected(&node, buffers[i], sizeof(buffers[i]));

    for (int i = 0; i < SENDERS * EACH; i++) {
        na_plugin_event event = await_event(&node, 0);
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        const uint64_t *data = event.buffer;
        ck_assert_uint_eq(data[0], event.tag);
        ck_assert_uint_lt(event.tag, SENDERS);
        counts[event.tag]++;
        node.ops->addr_free(node.cls, event.source);
        ck_assert_int_eq(node.ops->recv_unexpected(
                             node.ctx[0], event.op, event.buffer, 16, NULL, 0),
            NA_PLUGIN_PENDING);
    }
    for (int i = 0; i < SENDERS; i++) {
        ck_assert_uint_eq(counts[i], EACH);
        send_line(children[i].out, "end");
        child_join(&children[i]);
    }
    for (int i = 0; i < 16; i++) {
        node.ops->cancel(node.ctx[0], ops[i]);
        await_op(&node, 0, ops[i]);
        free(ops[i]);
    }
    node_close(&node);
}
END_TEST

/* More peers than the active poll list holds: silent ones are polled only now
 * and then, and their messages arrive when they send again. */
START_TEST(message_many_idle_peers_are_heard_again)
{
    enum { PEERS = 40 };
    static struct node server;
    static na_plugin_addr *addrs[PEERS];
    struct node *peers = calloc(PEERS, sizeof(*peers));
    uint64_t value;
    char text[TEXT];
    node_open(&server, NULL);
    self_string(&server, text);
    for (int i = 0; i < PEERS; i++) {
        node_open(&peers[i], &(struct node_options){.mute = true});
        addrs[i] = lookup(&peers[i], text);
    }
    void *op = op_new(&server);
    for (uint64_t round = 0; round < 6; round++) {
        for (uint64_t i = 0; i < PEERS; i++) {
            /* all of them, or one only */
            if (round > 2 && i != round * 7)
                continue;
            uint64_t tag = round * PEERS + i;
            ck_assert_int_eq(
                send_unexpected(&peers[i], &tag, sizeof(tag), addrs[i], tag),
                0);
            ck_assert_int_eq(server.ops->recv_unexpected(server.ctx[0], op,
                                 &value, sizeof(value), NULL, 0),
                NA_PLUGIN_PENDING);
            na_plugin_event event =
                await_message(&server, 0, op, sizeof(tag), tag, true);
            ck_assert_uint_eq(value, tag);
            server.ops->addr_free(server.cls, event.source);
        }
        /* until all count as idle */
        na_plugin_event event;
        for (int i = 0; i < 10000; i++)
            ck_assert_int_eq(server.ops->poll(server.ctx[0], &event, 1), 0);
    }
    for (int i = 0; i < PEERS; i++) {
        peers[i].ops->addr_free(peers[i].cls, addrs[i]);
        node_close(&peers[i]);
    }
    free(op);
    free(peers);
    node_close(&server);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("message");
    tcase_add_test(cases, message_beyond_limits_is_refused);
    tcase_add_test(cases, message_unexpected_before_receive_is_queued);
    tcase_add_test(cases, message_to_self_before_receive_is_queued);
    tcase_add_test(cases, message_sends_of_a_poller_between_two_polls);
    tcase_add_test(cases, message_expected_before_receive_is_kept);
    tcase_add_test(cases, message_expected_to_self_before_receive_is_kept);
    tcase_add_test(cases, message_expected_without_receive_oldest_is_dropped);
    tcase_add_test(cases, message_longer_than_receive_ends_with_msgsize);
    tcase_add_test(
        cases, message_to_self_longer_than_receive_ends_with_msgsize);
    tcase_add_test(cases, message_expected_matches_peer_and_tag);
    tcase_add_test(cases, message_thousands_of_receives_match);
    tcase_add_test(cases, message_crossing_calls_both_work);
    tcase_add_test(cases, message_several_senders_all_arrive);
    tcase_add_test(cases, message_many_idle_peers_are_heard_again);
    return run_cases("message", &cases, 1);
}
