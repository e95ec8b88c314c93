/* SPDX-License-Identifier: BSD-3-Clause */
/* Lack of room: full rings, full queues, missing descriptors and memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "harness.h"

#define LENGTH 4000
#define SHORT 100 /* two lines of a ring */
#define MANY 400

static unsigned char data[LENGTH];
static void *copies[MANY]; /* buffer of pending sends */

/* Submits sends until one is pending, then some more. Returns how many are
 * pending; their operations are in ops. */
static uint32_t
fill_up(struct node *node, na_plugin_addr *peer, void **ops, uint64_t count,
    uint64_t length)
{
    uint32_t pending = 0;
    for (uint64_t i = 0; i < count; i++) {
        memcpy(data, &i, sizeof(i));
        unsigned char *copy = malloc(length);
        memcpy(copy, data, length);
        void *op = op_new(node);
        int32_t ret = node->ops->send_unexpected(
            node->ctx[0], op, copy, length, NULL, peer, 0, i, 0);
        if (ret == NA_PLUGIN_DONE) {
            ck_assert_uint_eq(pending, 0);
            free(op);
            free(copy);
            continue;
        }
        ck_assert_int_eq(ret, NA_PLUGIN_PENDING);
        copies[pending] = copy;
        ops[pending++] = op;
    }
    return pending;
}

/* The first ones before the peer has answered. Long and short messages, from a class
 * for any threads and for one. */
START_TEST(pressure_full_ring_holds_sends_in_order)
{
    static struct node a, b;
    static void *ops[MANY];
    static unsigned char buffer[4096];
    struct node_options options = {
        .threads = _i % 2 != 0 ? NA_PLUGIN_THREAD_SINGLE_CLASS : 0};
    uint64_t length = _i / 2 != 0 ? SHORT : LENGTH;
    char text[TEXT];
    node_open(&b, NULL);
    node_open(&a, &options);
    self_string(&b, text);
    na_plugin_addr *peer = lookup(&a, text);

    uint32_t pending = fill_up(&a, peer, ops, MANY, length);
    ck_assert_uint_gt(pending, length == LENGTH ? MANY - 10 : 10);
    ck_assert_uint_eq(node_counter(&a, "sends_queued"), pending);
    /* a connection keeps the order, though none is guaranteed */
    for (uint64_t i = 0; i < MANY; i++) {
        void *op = post_unexpected(&b, buffer, sizeof(buffer));
        na_plugin_event event = await_message(&b, 0, op, length, i, true);
        ck_assert_int_eq(memcmp(buffer, &i, sizeof(i)), 0);
        b.ops->addr_free(b.cls, event.source);
        free(op);
    }
    for (uint32_t i = 0; i < pending; i++) {
        na_plugin_event event = await_op(&a, 0, ops[i]);
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        ck_assert_uint_eq(event.flags, 0);
        ck_assert_ptr_null(event.buffer);
        free(ops[i]);
        free(copies[i]);
    }
    a.ops->addr_free(a.cls, peer);
    node_close(&a);
    node_close(&b);
}
END_TEST

START_TEST(pressure_no_retry_returns_again)
{
    static struct node a, b;
    char text[TEXT];
    node_open(&b, NULL);
    node_open(&a, &(struct node_options){.flags = NA_PLUGIN_OPEN_NO_RETRY});
    self_string(&b, text);
    na_plugin_addr *peer = lookup(&a, text);
    void *op = op_new(&a);
    int32_t ret = NA_PLUGIN_DONE;
    int sent = 0;

    for (; ret == NA_PLUGIN_DONE && sent < 100; sent++)
        ret = a.ops->send_unexpected(
            a.ctx[0], op, data, LENGTH, NULL, peer, 0, 1, 0);
    ck_assert_int_eq(ret, NA_PLUGIN_E_AGAIN);
    ck_assert_int_gt(sent, 4);
    /* it works once the peer has received something */
    expect_silence(&b, 0, 5);
    ck_assert_int_eq(
        a.ops->send_unexpected(a.ctx[0], op, data, LENGTH, NULL, peer, 0, 1, 0),
        NA_PLUGIN_DONE);
    free(op);
    a.ops->addr_free(a.cls, peer);
    node_close(&a);
    node_close(&b);
}
END_TEST

/* A receiver without posted receives accepts a limited number of bytes,
 * repeatedly; nothing is lost. */
static void
flood(bool self)
{
    static struct node a, b;
    static void *ops[MANY];
    static unsigned char buffer[4096];
    char text[TEXT];
    struct node_options options = {
        .setting_key = "sm.queue_size", .setting_value = "100000"};
    struct node *sender = self ? &b : &a;
    node_open(&b, &options);
    if (!self)
        node_open(&a, NULL);
    self_string(&b, text);
    na_plugin_addr *peer = lookup(sender, text);

    /* the second flood uses the room freed after the first */
    uint64_t before = 0;
    for (int round = 0; round < 2; round++) {
        uint32_t pending = fill_up(sender, peer, ops, MANY, LENGTH);
        for (int i = 0; i < 1000; i++)
            pump();
        uint64_t queued = node_counter(&b, "unexpected_queued") - before;
        ck_assert_uint_gt(queued, 10);
        ck_assert_uint_le(queued, 100000 / LENGTH);
        ck_assert_uint_gt(pending, MANY / 2);
        for (uint64_t i = 0; i < MANY; i++) {
            void *op = post_unexpected(&b, buffer, sizeof(buffer));
            na_plugin_event event = await_message(&b, 0, op, LENGTH, i, true);
            b.ops->addr_free(b.cls, event.source);
            free(op);
        }
        for (uint32_t i = 0; i < pending; i++) {
            ck_assert_int_eq(await_op(sender, 0, ops[i]).status, NA_PLUGIN_OK);
            free(ops[i]);
            free(copies[i]);
        }
        before = node_counter(&b, "unexpected_queued");
    }
    sender->ops->addr_free(sender->cls, peer);
    if (!self)
        node_close(&a);
    node_close(&b);
}

START_TEST(pressure_unreceived_messages_throttle_the_sender)
{
    flood(false);
}
END_TEST

START_TEST(pressure_unreceived_messages_throttle_self)
{
    flood(true);
}
END_TEST

START_TEST(pressure_stuck_peer_ends_sends_with_timeout)
{
    static struct node a, b;
    static void *ops[MANY];
    char text[TEXT];
    node_open(&b, NULL);
    node_open(&a, &(struct node_options){
                      .setting_key = "sm.send_timeout", .setting_value = "1s"});
    self_string(&b, text);
    na_plugin_addr *peer = lookup(&a, text);
    uint32_t pending = fill_up(&a, peer, ops, 20, LENGTH);
    ck_assert_uint_gt(pending, 0);

    /* only the sender is polled */
    na_plugin_event event;
    uint64_t begin = now_ns();
    for (uint32_t i = 0; i < pending;) {
        ck_assert_uint_lt(now_ns() - begin, UINT64_C(4000000000));
        if (a.ops->poll(a.ctx[0], &event, 1) != 1)
            continue;
        ck_assert_int_eq(event.status, NA_PLUGIN_E_TIMEOUT);
        ck_assert_ptr_eq(event.op, ops[i]);
        free(copies[i]);
        free(ops[i++]);
    }
    ck_assert_uint_ge(now_ns() - begin, UINT64_C(900000000));
    ck_assert_uint_ge(node_warnings(&a), 1);
    a.ops->addr_free(a.cls, peer);
    node_close(&a);
    node_close(&b);
}
END_TEST

/* Small and large messages in turn, so that records end at every position of
 * the ring. */
START_TEST(pressure_ring_wraps_at_every_position)
{
    static struct node a, b;
    static unsigned char buffer[4096];
    char text[TEXT];
    node_open(&b, NULL);
    node_open(&a, NULL);
    self_string(&b, text);
    na_plugin_addr *peer = lookup(&a, text);
    void *op = op_new(&b);

    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t length = i * 2654435761U % 4097;
        memset(data, (int) i, sizeof(data));
        length = length > LENGTH ? LENGTH : length;
        ck_assert_int_eq(b.ops->recv_unexpected(
                             b.ctx[0], op, buffer, sizeof(buffer), NULL, 0),
            NA_PLUGIN_PENDING);
        ck_assert_int_eq(
            send_unexpected(&a, data, length, peer, i), NA_PLUGIN_OK);
        na_plugin_event event = await_message(&b, 0, op, length, i, true);
        ck_assert_int_eq(memcmp(buffer, data, length), 0);
        b.ops->addr_free(b.cls, event.source);
    }
    free(op);
    a.ops->addr_free(a.cls, peer);
    node_close(&a);
    node_close(&b);
}
END_TEST

/* Sends one message to the address that it gets. */
static int
send_one(const struct parent *parent)
{
    static struct node node;
    char text[TEXT];
    recv_line(parent->in, text);
    node_open(&node, NULL);
    na_plugin_addr *peer = lookup(&node, text);
    ck_assert_int_eq(send_unexpected(&node, "late", 5, peer, 9), 0);
    send_line(parent->out, "sent");
    expect_line(parent->in, "end");
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
    return 0;
}

/* Without descriptors for callers, they wait; that keeps no thread awake. */
START_TEST(pressure_no_descriptors_makes_callers_wait)
{
    static struct node node;
    char text[TEXT];
    char buffer[16];
    na_plugin_event event;
    uint64_t sleep_ns = 0;
    struct child child = child_start(send_one, NULL);
    node_open(&node, NULL);
    self_string(&node, text);
    void *op = post_unexpected(&node, buffer, sizeof(buffer));
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = {.rlim_cur = 3, .rlim_max = limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    send_line(child.out, text);
    expect_line(child.in, "sent");

    uint64_t deadline = now_ns() + UINT64_C(5000000000);
    while (node.warnings == 0) {
        ck_assert_uint_lt(now_ns(), deadline);
        ck_assert_int_eq(node.ops->poll(node.ctx[0], &event, 1), 0);
    }
    ck_assert_int_eq(node.wait->arm(node.ctx[0], &sleep_ns), NA_PLUGIN_OK);
    ck_assert_uint_le(sleep_ns, UINT64_C(1000000000));
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    event = await_message(&node, 0, op, 5, 9, true);
    ck_assert_str_eq(buffer, "late");
    node_warnings(&node);
    node.ops->addr_free(node.cls, event.source);
    send_line(child.out, "end");
    child_join(&child);
    free(op);
    node_close(&node);
}
END_TEST

static void
limit_file_size(uint64_t bytes)
{
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};

    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Beyond that limit the kernel would kill the process with SIGXFSZ. */
START_TEST(pressure_file_size_limit_fails_a_connection)
{
    static struct node a, b;
    char text[TEXT];

    limit_file_size(16384); /* smaller than a ring */
    node_open(&b, NULL);
    node_open(&a, NULL);
    self_string(&b, text);
    na_plugin_addr *peer = lookup(&a, text);
    ck_assert_int_eq(send_unexpected(&a, "x", 1, peer, 1), NA_PLUGIN_E_NOMEM);
    ck_assert_ptr_nonnull(strstr(a.last_line, "RLIMIT_FSIZE"));
    ck_assert_uint_eq(node_warnings(&a), 1);
    a.ops->addr_free(a.cls, peer);
    node_close(&a);
    node_close(&b);
}
END_TEST

START_TEST(pressure_file_size_limit_fails_an_answer)
{
    static struct node a, b;
    char text[TEXT];
    char buffer[8];
    struct rlimit limit;

    node_open(&b, NULL);
    node_open(&a, NULL);
    self_string(&b, text);
    na_plugin_addr *peer = lookup(&a, text);
    void *wait = post_expected(&a, buffer, sizeof(buffer), peer, 2);
    ck_assert_int_eq(send_unexpected(&a, "x", 1, peer, 1), NA_PLUGIN_OK);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit_file_size(16384);
    ck_assert_int_eq(await_op(&a, 0, wait).status, NA_PLUGIN_E_PROTOCOL_ERROR);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_ptr_nonnull(strstr(b.last_line, "RLIMIT_FSIZE"));
    node_warnings(&a);
    node_warnings(&b);
    a.ops->addr_free(a.cls, peer);
    free(wait);
    node_close(&a);
    node_close(&b);
}
END_TEST

START_TEST(pressure_file_size_limit_fails_an_allocation)
{
    static struct node node;
    void *memory = NULL;

    limit_file_size(1 << 20);
    node_open(&node, NULL);
    const na_plugin_mem_alloc *alloc =
        node.ops->extension(node.cls, NA_PLUGIN_MEM_ALLOC_ID);
    ck_assert_int_eq(
        alloc->alloc(node.cls, 2 << 20, &memory), NA_PLUGIN_E_NOMEM);
    ck_assert_ptr_null(memory);
    ck_assert_ptr_nonnull(strstr(node.last_line, "RLIMIT_FSIZE"));
    ck_assert_uint_eq(node_warnings(&node), 1);
    ck_assert_int_eq(alloc->alloc(node.cls, 1 << 20, &memory), NA_PLUGIN_OK);
    alloc->free(node.cls, memory);
    node_close(&node);
}
END_TEST

/* Without a registry the owner copies. */
START_TEST(pressure_file_size_limit_makes_the_owner_copy)
{
    static struct node a, b;
    static unsigned char here[64], there[64];
    char text[TEXT];
    unsigned char bytes[256];
    uint64_t size = sizeof(bytes);
    na_plugin_segment segments[2] = {
        {.base = here, .length = 64}, {.base = there, .length = 64}};
    na_plugin_mem *local, *owned, *remote;

    limit_file_size(1 << 20);
    node_open(&b, NULL);
    node_open(&a, NULL);
    self_string(&b, text);
    na_plugin_addr *peer = lookup(&a, text);
    ck_assert_int_eq(a.ops->mem_register(a.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             segments, 1, 3, 0, 0},
                         &local),
        0);
    ck_assert_int_eq(b.ops->mem_register(b.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             segments + 1, 1, 3, 0, 0},
                         &owned),
        0);
    ck_assert_int_eq(b.ops->mem_serialize(b.cls, owned, bytes, &size), 0);
    ck_assert_int_eq(a.ops->mem_deserialize(a.cls, bytes, size, &remote), 0);
    memset(here, 0xAB, sizeof(here));
    void *op = op_new(&a);
    ck_assert_int_eq(
        a.ops->put(a.ctx[0], op, local, 0, remote, 0, 64, peer, 0, 0),
        NA_PLUGIN_PENDING);
    ck_assert_int_eq(await_op(&a, 0, op).status, NA_PLUGIN_OK);
    ck_assert_int_eq(memcmp(here, there, 64), 0);
    ck_assert_uint_eq(node_counter(&b, "emulated_bytes"), 64);
    a.ops->mem_deregister(a.cls, local);
    a.ops->mem_remote_free(a.cls, remote);
    b.ops->mem_deregister(b.cls, owned);
    a.ops->addr_free(a.cls, peer);
    free(op);
    node_close(&a);
    node_close(&b);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("pressure");
    tcase_add_loop_test(cases, pressure_full_ring_holds_sends_in_order, 0, 4);
    tcase_add_test(cases, pressure_no_retry_returns_again);
    tcase_add_test(cases, pressure_unreceived_messages_throttle_the_sender);
    tcase_add_test(cases, pressure_unreceived_messages_throttle_self);
    tcase_add_test(cases, pressure_stuck_peer_ends_sends_with_timeout);
    tcase_add_test(cases, pressure_ring_wraps_at_every_position);
    tcase_add_test(cases, pressure_no_descriptors_makes_callers_wait);
    tcase_add_test(cases, pressure_file_size_limit_fails_a_connection);
    tcase_add_test(cases, pressure_file_size_limit_fails_an_answer);
    tcase_add_test(cases, pressure_file_size_limit_fails_an_allocation);
    tcase_add_test(cases, pressure_file_size_limit_makes_the_owner_copy);
    return run_cases("pressure", &cases, 1);
}
