/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer that uses libfabric but not the plugin's protocol: its messages are
 * dropped and counted, and have no other effect. */
#include <stdlib.h>
#include <string.h>

#include "raw_peer.h"

#define SECOND UINT64_C(1000000000)
#define WAIT_NS (20 * SECOND)
#define LONGEST 4000U
#define MESSAGES 300U
#define NAMES 6000U /* several times as many as a class keeps */

START_TEST(hostile_messages_are_dropped_and_counted)
{
    static unsigned char bytes[LONGEST];
    static unsigned char buffer[4096];
    struct raw_peer raw;
    struct node node;
    char text[TEXT];
    na_plugin_event event;
    uint32_t sent = 0;

    node_open(&node, NULL);
    self_string(&node, text);
    raw_peer_open(&raw, &node);
    void *op = op_new(&node);
    ck_assert_int_eq(node.ops->recv_unexpected(
                         node.ctx, op, buffer, sizeof(buffer), NULL, 0),
        NA_PLUGIN_PENDING);

    srand(7);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        size_t length = 1 + (size_t) rand() % (i % 2 == 0 ? 64 : LONGEST);
        for (size_t j = 0; j < length; j++)
            bytes[j] = (unsigned char) rand();
        /* a valid beginning with an invalid version or name length */
        if (i % 3 == 0)
            bytes[0] = 1;
        if (i % 3 == 0 && length > 24)
            bytes[24] = (unsigned char) (i % 8 == 0 ? 6 : rand());
        /* never a valid message: its kind does not exist */
        if (length > 1)
            bytes[1] = (unsigned char) (7 + rand() % 249);
        raw_peer_send(&raw, &node, bytes, length);
        sent++;
    }
    for (uint64_t end = now_ns() + WAIT_NS;
         node_counter(&node, "malformed") < sent;) {
        ck_assert(!poll_one(&node, &event));
        ck_assert_msg(now_ns() < end, "%llu of %u were counted",
            (unsigned long long) node_counter(&node, "malformed"), sent);
    }
    ck_assert_uint_eq(node_counter(&node, "malformed"), sent);

    /* it still works: a message to itself */
    na_plugin_addr *self = lookup(&node, text);
    void *send = op_new(&node);
    ck_assert_int_ge(
        node.ops->send_unexpected(node.ctx, send, text, 5, NULL, self, 0, 3, 0),
        0);
    for (uint64_t end = now_ns() + WAIT_NS; !poll_one(&node, &event);)
        ck_assert(now_ns() < end);
    ck_assert_ptr_eq(event.op, op);
    ck_assert_uint_eq(event.length, 5);
    node.ops->addr_free(node.cls, event.source);
    node.ops->addr_free(node.cls, self);
    raw_peer_close(&raw);
    node_close(&node);
    free(op);
    free(send);
}
END_TEST

/* "My context has an endpoint with this name": sent by an endpoint that is its
 * class's first. */
#define PING_LENGTH 31U /* length of its own endpoint's name */
#define PING_NAME 32U   /* offset of the name */
#define PING_BYTES 38U  /* length of the whole message */

static void
send_raw(unsigned char bytes[PING_BYTES + 32])
{
    static const unsigned char first[] = {127, 0, 0, 1, 0, 9};
    static const unsigned char endpoint[] = {127, 0, 0, 1, 0, 10};

    memset(bytes, 0, PING_BYTES + 32);
    bytes[0] = 1;
    bytes[1] = 6;
    bytes[4] = 1; /* the context */
    bytes[8] = 7; /* the number of its class */
    bytes[24] = sizeof(first);
    memcpy(bytes + 25, first, sizeof(first));
    memcpy(bytes + PING_NAME, endpoint, sizeof(endpoint));
}

static const struct {
    const char *what;
    uint32_t at;
    unsigned char byte;
    uint32_t length;
} forged[] = {
    {"of another version", 0, 2, PING_BYTES},
    {"of a class without a number", 8, 0, PING_BYTES},
    {"of the first context", 4, 0, PING_BYTES},
    {"of a context beyond the last", 5, 1, PING_BYTES},
    {"of far beyond", 7, 255, PING_BYTES},
    {"without a name", 4, 1, PING_NAME},
    {"cut short", 4, 1, PING_BYTES - 1},
    {"of IPv6", 4, 1, PING_NAME + 22},
    {"too long", 4, 1, PING_BYTES + 1},
    {"with port 0", PING_NAME + 5, 0, PING_BYTES},
    {"from an endpoint that is its class's first", PING_LENGTH, 6,
        PING_BYTES + 8},
    {"from an endpoint with half a name", PING_LENGTH, 3, PING_BYTES + 8},
    {"from an endpoint whose name is beyond", PING_LENGTH, 200, PING_BYTES},
};
#define FORGED (sizeof(forged) / sizeof(forged[0]))

/* A class with two contexts, and a hostile peer that is connected to it. */
static void
connect_raw(struct raw_peer *raw, struct node *node)
{
    node_open(node, &(struct node_options){.max_contexts = 2});
    raw_peer_open(raw, node);
}

START_TEST(hostile_endpoint_names_are_dropped_and_counted)
{
    unsigned char bytes[PING_BYTES + 32];
    struct raw_peer raw;
    na_plugin_event event;
    struct node node;

    connect_raw(&raw, &node);
    for (uint32_t i = 0; i < FORGED; i++) {
        send_raw(bytes);
        bytes[forged[i].at] = forged[i].byte;
        raw_peer_send(&raw, &node, bytes, forged[i].length);
        for (uint64_t end = now_ns() + WAIT_NS;
             node_counter(&node, "malformed") < i + 1;) {
            ck_assert(!poll_one(&node, &event));
            ck_assert_msg(now_ns() < end, "%s: not counted", forged[i].what);
        }
    }

    /* This one is accepted: messages for that context are sent to a dead
     * address, and then to the first endpoint, which drops them. */
    send_raw(bytes);
    raw_peer_send(&raw, &node, bytes, PING_BYTES);
    for (uint64_t end = now_ns() + SECOND / 5; now_ns() < end;)
        ck_assert(!poll_one(&node, &event));
    ck_assert_uint_eq(node_counter(&node, "malformed"), FORGED);
    na_plugin_addr *liar = lookup(&node, "tcp://127.0.0.1:9");
    static const char message[300];
    void *op = op_new(&node);
    ck_assert_int_eq(node.ops->send_unexpected(node.ctx, op, message,
                         sizeof(message), NULL, liar, 1, 3, 0),
        NA_PLUGIN_PENDING);
    for (uint64_t end = now_ns() + WAIT_NS; !poll_one(&node, &event);)
        ck_assert(now_ns() < end);
    ck_assert_ptr_eq(event.op, op);
    ck_assert_int_eq(event.status, NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_uint_ge(node_counter(&node, "liveness_probes"), 2);
    free(op);
    node.ops->addr_free(node.cls, liar);
    raw_peer_close(&raw);
    node_close(&node);
}
END_TEST

/* A ping of an endpoint whose header announces more names than there are bytes:
 * it ends within the second name, or in the zeros after it. */
START_TEST(hostile_truncated_headers_are_dropped)
{
    static const unsigned char endpoint[] = {127, 0, 0, 1, 0, 10};
    unsigned char bytes[PING_BYTES + 32];
    struct raw_peer raw;
    na_plugin_event event;
    uint64_t count = 0;
    struct node node;

    connect_raw(&raw, &node);
    send_raw(bytes);
    bytes[1] = 3;
    bytes[2] = 1;
    bytes[PING_LENGTH] = sizeof(endpoint);
    for (uint32_t length = PING_NAME; length < PING_NAME + 8; length++) {
        raw_peer_send(&raw, &node, bytes, length);
        count++;
        for (uint64_t end = now_ns() + WAIT_NS;
             node_counter(&node, "malformed") < count;) {
            ck_assert(!poll_one(&node, &event));
            ck_assert_msg(now_ns() < end, "%u bytes are taken", length);
        }
    }
    /* all of it */
    raw_peer_send(&raw, &node, bytes, PING_NAME + 8);
    for (uint64_t end = now_ns() + SECOND / 5; now_ns() < end;)
        ck_assert(!poll_one(&node, &event));
    ck_assert_uint_eq(node_counter(&node, "malformed"), count);
    raw_peer_close(&raw);
    node_close(&node);
}
END_TEST

/* Invented classes, each with an endpoint: they are dropped again. */
START_TEST(hostile_endpoint_names_do_not_accumulate)
{
    unsigned char bytes[PING_BYTES + 32];
    struct raw_peer raw;
    na_plugin_event event;
    struct node node;

    connect_raw(&raw, &node);
    for (uint32_t i = 0; i < NAMES; i++) {
        send_raw(bytes);
        bytes[26] = (unsigned char) (i >> 8);
        bytes[27] = (unsigned char) i;
        raw_peer_send(&raw, &node, bytes, PING_BYTES);
    }
    /* the last one shows that all have arrived */
    bytes[0] = 0;
    raw_peer_send(&raw, &node, bytes, PING_BYTES);
    for (uint64_t end = now_ns() + WAIT_NS;
         node_counter(&node, "malformed") == 0;) {
        ck_assert(!poll_one(&node, &event));
        ck_assert(now_ns() < end);
    }
    ck_assert_uint_eq(node_counter(&node, "malformed"), 1);
    ck_assert_uint_gt(node_counter(&node, "peers"), NAMES / 8);
    ck_assert_uint_lt(node_counter(&node, "peers"), NAMES / 2);
    raw_peer_close(&raw);
    node_close(&node);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("hostile");

    tcase_add_test(cases, hostile_messages_are_dropped_and_counted);
    tcase_add_test(cases, hostile_truncated_headers_are_dropped);
    tcase_add_test(cases, hostile_endpoint_names_are_dropped_and_counted);
    tcase_add_test(cases, hostile_endpoint_names_do_not_accumulate);
    return run_tcase("ofi hostile", cases);
}
