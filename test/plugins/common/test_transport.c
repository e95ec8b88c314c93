/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport over frames, between peers that keep the protocol. */
#include <string.h>

#include "pipe.h"
#include "runner.h"

#define SIZE 60000U

static na_plugin_class *one, *two;
static na_plugin_addr *to_two, *to_one;

static void
begin_with(uint64_t window)
{
    one = pipe_open(1, window);
    two = pipe_open(2, window);
    to_two = pipe_addr(one, 2);
    to_one = pipe_addr(two, 1);
}

static void
begin(void)
{
    begin_with(PIPE_ROOM);
}

static void
end(void)
{
    pipe_ops->addr_free(one, to_two);
    pipe_ops->addr_free(two, to_one);
    pipe_close(one);
    pipe_close(two);
}

static int32_t
send_unexpected(void *op, const char *text, uint64_t tag)
{
    return pipe_ops->send_unexpected(
        pipe_ctx(one), op, text, strlen(text) + 1, NULL, to_two, 0, tag, 0);
}

static void *
receive(char *buffer, uint64_t length)
{
    void *op = pipe_op();

    ck_assert_int_eq(
        pipe_ops->recv_unexpected(pipe_ctx(two), op, buffer, length, NULL, 0),
        NA_PLUGIN_PENDING);
    return op;
}

static int32_t
status_of(const void *op)
{
    int32_t status = 0;

    ck_assert(pipe_ended(op, &status));
    return status;
}

START_TEST(messages_reach_their_receives)
{
    char text[3][PIPE_MESSAGE];
    void *unexpected = receive(text[0], PIPE_MESSAGE), *expected = pipe_op();

    ck_assert_int_eq(pipe_ops->recv_expected(pipe_ctx(two), expected, text[1],
                         PIPE_MESSAGE, NULL, to_one, 0, 8, 0),
        NA_PLUGIN_PENDING);
    void *sent = pipe_op();
    ck_assert_int_eq(send_unexpected(sent, "unexpected", 7), NA_PLUGIN_PENDING);
    ck_assert_int_ge(pipe_ops->send_expected(pipe_ctx(one), pipe_op(),
                         "expected", 9, NULL, to_two, 0, 8, 0),
        0);
    pipe_run();
    ck_assert_int_eq(status_of(sent), NA_PLUGIN_OK);
    ck_assert_str_eq(text[0], "unexpected");
    ck_assert_uint_eq(pipe_event(unexpected)->tag, 7);
    ck_assert_ptr_eq(pipe_event(unexpected)->source, to_one);
    ck_assert_int_eq(status_of(expected), NA_PLUGIN_OK);
    ck_assert_str_eq(text[1], "expected");
    /* connected by now: it is over at once, and queued until it is received */
    ck_assert_int_eq(send_unexpected(pipe_op(), "again", 9), NA_PLUGIN_DONE);
    pipe_run();
    void *later = receive(text[2], 3);
    pipe_run();
    ck_assert_int_eq(status_of(later), NA_PLUGIN_E_MSGSIZE);
}
END_TEST

START_TEST(messages_to_oneself_arrive)
{
    na_plugin_addr *self;
    char text[PIPE_MESSAGE];
    void *op = receive(text, sizeof(text));

    ck_assert_int_eq(pipe_ops->addr_self(two, &self), NA_PLUGIN_OK);
    ck_assert_int_ge(pipe_ops->send_unexpected(pipe_ctx(two), pipe_op(), "me",
                         3, NULL, self, 0, 1, 0),
        0);
    pipe_run();
    ck_assert_str_eq(text, "me");
    ck_assert_ptr_eq(pipe_event(op)->source, self);
    pipe_ops->addr_free(two, self);
}
END_TEST

START_TEST(submissions_beyond_the_limits_are_refused)
{
    char text[2 * PIPE_MESSAGE] = "";
    na_plugin_ctx *ctx = pipe_ctx(one);
    void *op = pipe_op();

    ck_assert_int_eq(pipe_ops->send_unexpected(ctx, op, text, PIPE_MESSAGE + 1,
                         NULL, to_two, 0, 1, 0),
        NA_PLUGIN_E_MSGSIZE);
    ck_assert_int_eq(pipe_ops->send_expected(ctx, op, text, 1, NULL, to_two,
                         NA_PLUGIN_CONTEXTS_MAX, 1, 0),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(pipe_ops->recv_expected(ctx, op, text, 1, NULL, to_two, 0,
                         UINT64_C(1) << 32, 0),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(
        pipe_ops->ctx_create(one, 2, NULL, &ctx), NA_PLUGIN_E_OVERFLOW);
    ck_assert_int_eq(
        pipe_ops->ctx_create(one, 0, NULL, &ctx), NA_PLUGIN_E_EXIST);
}
END_TEST

/* A peer's queue is as long as its window, however much is sent, and it empties. */
START_TEST(senders_wait_for_credit)
{
    static char text[100][PIPE_MESSAGE], sent[PIPE_MESSAGE] = "x";
    void *sends[100];
    uint32_t pending = 0;
    int32_t status;

    end();
    begin_with(0); /* room for four */
    for (uint32_t i = 0; i < 100; i++) {
        sends[i] = pipe_op();
        ck_assert_int_ge(pipe_ops->send_unexpected(pipe_ctx(one), sends[i],
                             sent, PIPE_MESSAGE, NULL, to_two, 0, i, 0),
            0);
    }
    pipe_run();
    for (uint32_t i = 0; i < 100; i++)
        pending += !pipe_ended(sends[i], &status);
    ck_assert_uint_eq(pending, 96);
    ck_assert_int_eq(pipe_ops->cancel(pipe_ctx(one), sends[50]), NA_PLUGIN_OK);
    for (uint32_t i = 0; i < 99; i++)
        receive(text[i], PIPE_MESSAGE);
    pipe_run();
    for (uint32_t i = 0; i < 100; i++)
        ck_assert_int_eq(
            status_of(sends[i]), i == 50 ? NA_PLUGIN_E_CANCELED : NA_PLUGIN_OK);
    ck_assert_str_eq(text[98], "x");
}
END_TEST

/* Memory of class two in three segments, as class one sees it. */
static unsigned char far[SIZE], near[SIZE];
static na_plugin_mem *own, *peers, *local;

static na_plugin_mem *
register_one(na_plugin_class *cls, unsigned char *bytes, uint32_t access)
{
    na_plugin_segment segments[3] = {
        {bytes, 10}, {bytes + 10, SIZE - 2010}, {bytes + SIZE - 2000, 2000}};
    const na_plugin_mem_info info = {.size = sizeof(info),
        .segments = segments,
        .count = 3,
        .access = access};
    na_plugin_mem *mem;

    ck_assert_int_eq(pipe_ops->mem_register(cls, &info, &mem), NA_PLUGIN_OK);
    return mem;
}

static void
register_all(uint32_t access)
{
    unsigned char bytes[1000];
    uint64_t size = sizeof(bytes);

    own = register_one(two, far, access);
    local = register_one(one, near, NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE);
    ck_assert_int_eq(
        pipe_ops->mem_serialize(two, own, bytes, &size), NA_PLUGIN_OK);
    ck_assert_int_eq(pipe_ops->mem_deserialize(one, bytes, size - 1, &peers),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(
        pipe_ops->mem_deserialize(one, bytes, size, &peers), NA_PLUGIN_OK);
    for (uint32_t i = 0; i < SIZE; i++) {
        near[i] = (unsigned char) (i * 7);
        far[i] = (unsigned char) (i * 13);
    }
}

static void
deregister_all(void)
{
    if (own != NULL)
        pipe_ops->mem_deregister(two, own);
    pipe_ops->mem_deregister(one, local);
    pipe_ops->mem_remote_free(one, peers);
}

static void *
put(uint64_t offset, uint64_t length)
{
    void *op = pipe_op();

    ck_assert_int_eq(pipe_ops->put(pipe_ctx(one), op, local, offset, peers,
                         offset, length, to_two, 0, 0),
        NA_PLUGIN_PENDING);
    return op;
}

static void *
get(uint64_t offset, uint64_t length)
{
    void *op = pipe_op();

    ck_assert_int_eq(pipe_ops->get(pipe_ctx(one), op, local, offset, peers,
                         offset, length, to_two, 0, 0),
        NA_PLUGIN_PENDING);
    return op;
}

START_TEST(put_and_get_go_in_fragments)
{
    static const size_t mosts[] = {PIPE_ROOM, 777};

    pipe_most = mosts[_i];
    register_all(NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE);
    void *op = put(5, SIZE - 6);
    pipe_run();
    ck_assert_int_eq(status_of(op), NA_PLUGIN_OK);
    for (uint32_t i = 0; i < SIZE; i++)
        ck_assert_uint_eq(
            far[i], (unsigned char) (i < 5 || i == SIZE - 1 ? i * 13 : i * 7));
    memset(near, 0, SIZE);
    op = get(0, SIZE);
    pipe_run();
    ck_assert_int_eq(status_of(op), NA_PLUGIN_OK);
    ck_assert_mem_eq(near, far, SIZE);
    ck_assert_int_eq(pipe_ops->put(pipe_ctx(one), pipe_op(), local, SIZE, peers,
                         SIZE, 0, to_two, 0, 0),
        NA_PLUGIN_DONE);
    deregister_all();
}
END_TEST

START_TEST(transfers_beyond_range_or_right_are_refused_here)
{
    register_all(NA_PLUGIN_MEM_READ);
    ck_assert_int_eq(pipe_ops->put(pipe_ctx(one), pipe_op(), local, 0, peers, 0,
                         1, to_two, 0, 0),
        NA_PLUGIN_E_PERMISSION);
    ck_assert_int_eq(pipe_ops->get(pipe_ctx(one), pipe_op(), local, 0, peers,
                         SIZE, 1, to_two, 0, 0),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(pipe_ops->get(pipe_ctx(one), pipe_op(), local, 1, peers,
                         UINT64_MAX, 1, to_two, 0, 0),
        NA_PLUGIN_E_INVALID_ARG);
    deregister_all();
}
END_TEST

START_TEST(deregistered_memory_ends_transfers_under_way)
{
    register_all(NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE);
    pipe_most = 1500;
    void *op = _i == 0 ? put(0, SIZE) : get(0, SIZE);
    na_plugin_event event;
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pipe_ops->poll(pipe_ctx(one), &event, 1), 0);
        ck_assert_int_eq(pipe_ops->poll(pipe_ctx(two), &event, 1), 0);
    }
    pipe_ops->mem_deregister(two, own);
    own = NULL;
    memset(far, 0x55, SIZE);
    pipe_run();
    ck_assert_int_eq(status_of(op), NA_PLUGIN_E_INVALID_ARG);
    for (uint32_t i = 0; i < SIZE; i++)
        ck_assert_uint_eq(far[i], 0x55);
    deregister_all();
}
END_TEST

/* Whatever was under way: the memory here is not touched afterwards, and the next
 * transfer is whole. */
START_TEST(canceled_transfers_touch_nothing)
{
    na_plugin_event event;

    register_all(NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE);
    for (int polls = 0; polls < 12; polls++) {
        pipe_most = 700;
        void *op = _i == 0 ? put(0, SIZE) : get(0, SIZE);
        for (int i = 0; i < polls; i++) {
            pipe_ops->poll(pipe_ctx(one), &event, 1);
            pipe_ops->poll(pipe_ctx(two), &event, 1);
        }
        pipe_ops->cancel(pipe_ctx(one), op);
        memset(near, 0x33, SIZE);
        pipe_most = PIPE_ROOM;
        pipe_run();
        ck_assert_int_eq(status_of(op), NA_PLUGIN_E_CANCELED);
        for (uint32_t i = 0; i < SIZE; i++)
            ck_assert_uint_eq(near[i], 0x33);
    }
    void *op = put(0, SIZE);
    pipe_run();
    ck_assert_int_eq(status_of(op), NA_PLUGIN_OK);
    ck_assert_mem_eq(near, far, SIZE);
    deregister_all();
}
END_TEST

START_TEST(a_send_canceled_in_its_midst_leaves_the_stream_whole)
{
    char buffer[PIPE_MESSAGE] = "first", text[2][PIPE_MESSAGE];
    void *send = pipe_op(), *next = pipe_op();

    pipe_run();
    receive(text[0], PIPE_MESSAGE);
    receive(text[1], PIPE_MESSAGE);
    ck_assert_int_ge(send_unexpected(pipe_op(), "connect", 0), 0);
    pipe_run();
    pipe_most = 100;
    ck_assert_int_eq(pipe_ops->send_unexpected(pipe_ctx(one), send, buffer,
                         PIPE_MESSAGE, NULL, to_two, 0, 1, 0),
        NA_PLUGIN_PENDING);
    ck_assert_int_eq(send_unexpected(next, "next", 2), NA_PLUGIN_PENDING);
    pipe_ops->cancel(pipe_ctx(one), next);
    pipe_ops->cancel(pipe_ctx(one), send);
    memset(buffer, 'x', sizeof(buffer));
    pipe_run();
    ck_assert_int_eq(status_of(send), NA_PLUGIN_OK);
    ck_assert_int_eq(status_of(next), NA_PLUGIN_E_CANCELED);
    ck_assert_str_eq(text[1], "first");
}
END_TEST

/* Closing class two is what killing it looks like from here. */
START_TEST(a_peer_that_ends_ends_what_is_pending_with_it)
{
    char text[PIPE_MESSAGE];
    void *expected = pipe_op(), *send = pipe_op();

    register_all(NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE);
    ck_assert_int_eq(pipe_ops->recv_expected(pipe_ctx(one), expected, text,
                         sizeof(text), NULL, to_two, 0, 8, 0),
        NA_PLUGIN_PENDING);
    pipe_run();
    /* it waits for its receive, which is posted too late */
    ck_assert_int_ge(pipe_ops->send_expected(pipe_ctx(two), pipe_op(), "old", 4,
                         NULL, to_one, 0, 9, 0),
        0);
    pipe_run();
    void *transfer = get(0, SIZE);
    pipe_ops->mem_deregister(two, own);
    pipe_ops->addr_free(two, to_one);
    pipe_close(two);
    pipe_run();
    ck_assert_int_eq(status_of(expected), NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_int_eq(status_of(transfer), NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_int_eq(
        send_unexpected(send, "nobody", 1), NA_PLUGIN_E_HOSTUNREACH);
    two = pipe_open(2, PIPE_ROOM);
    to_one = pipe_addr(two, 1);
    own = NULL;
    receive(text, sizeof(text));
    void *stale = pipe_op();
    ck_assert_int_eq(pipe_ops->recv_expected(
                         pipe_ctx(one), stale, near, 10, NULL, to_two, 0, 9, 0),
        NA_PLUGIN_PENDING);
    ck_assert_int_ge(send_unexpected(pipe_op(), "successor", 1), 0);
    pipe_run();
    ck_assert_str_eq(text, "successor");
    ck_assert_ptr_null(pipe_event(stale));
    deregister_all();
}
END_TEST

START_TEST(forgetting_a_peer_disconnects_it)
{
    void *expected = pipe_op();
    char text[10];

    ck_assert_int_eq(pipe_ops->recv_expected(pipe_ctx(one), expected, text,
                         sizeof(text), NULL, to_two, 0, 8, 0),
        NA_PLUGIN_PENDING);
    pipe_run();
    pipe_ops->addr_forget(one, to_two);
    pipe_run();
    ck_assert_int_eq(status_of(expected), NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_ptr_null(two->base.channels.head);
}
END_TEST

START_TEST(addresses_of_equal_names_are_one)
{
    na_plugin_addr *again = pipe_addr(one, 2), *back;
    char text[20];
    unsigned char bytes[300];
    uint64_t size = sizeof(text);

    ck_assert_ptr_eq(again, to_two);
    ck_assert_int_eq(pipe_ops->addr_equal(one, again, to_two), 1);
    ck_assert_int_eq(pipe_ops->addr_equal(one, again, one->base.self), 0);
    ck_assert_int_eq(
        pipe_ops->addr_to_string(one, again, text, &size), NA_PLUGIN_OK);
    ck_assert_str_eq(text, "pipe://2");
    size = sizeof(bytes);
    ck_assert_int_eq(
        pipe_ops->addr_serialize(one, again, bytes, &size), NA_PLUGIN_OK);
    ck_assert_int_eq(
        pipe_ops->addr_deserialize(two, bytes, size, &back), NA_PLUGIN_OK);
    ck_assert_ptr_eq(back, two->base.self);
    pipe_ops->addr_free(two, back);
    for (uint64_t i = 0; i < size; i++)
        ck_assert_int_lt(pipe_ops->addr_deserialize(two, bytes, i, &back), 0);
    bytes[size - 1] = 'x';
    ck_assert_int_eq(pipe_ops->addr_deserialize(two, bytes, size, &back),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(
        pipe_ops->addr_lookup(one, "pipe://x", &back), NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(pipe_ops->addr_lookup(one, "tcp://2", &back),
        NA_PLUGIN_E_PROTONOSUPPORT);
    pipe_ops->addr_free(one, again);
}
END_TEST

/* Without a descriptor the core is woken for events that no poll of the context
 * finds. */
START_TEST(contexts_are_woken_for_each_other)
{
    na_plugin_event event;
    char text[10];
    void *op = receive(text, sizeof(text));
    na_plugin_ctx *other;

    ck_assert_int_eq(pipe_ops->ctx_create(two, 1, NULL, &other), NA_PLUGIN_OK);
    ck_assert_int_ge(send_unexpected(pipe_op(), "hi", 1), 0);
    pipe_wakes = 0;
    for (int i = 0; i < 5; i++) {
        pipe_ops->poll(pipe_ctx(one), &event, 1);
        ck_assert_int_eq(pipe_ops->poll(other, &event, 1), 0);
    }
    ck_assert_uint_eq(pipe_wakes, 1);
    pipe_run();
    ck_assert_int_eq(status_of(op), NA_PLUGIN_OK);
    pipe_ops->ctx_destroy(other);
}
END_TEST

START_TEST(report_has_counters)
{
    const na_plugin_report *report =
        pipe_ops->extension(one, NA_PLUGIN_REPORT_ID);
    na_plugin_report_entry entry;

    ck_assert_int_ge(send_unexpected(pipe_op(), "hi", 1), 0);
    ck_assert_uint_eq(report->entries(one, 0, &entry, 1), 1);
    ck_assert_str_eq(entry.name, "messages_sent");
    ck_assert_uint_eq(entry.value, 1);
    ck_assert_uint_eq(report->entries(one, 1000, &entry, 1), 0);
    ck_assert_ptr_null(pipe_ops->extension(one, NA_PLUGIN_WAIT_ID));
    pipe_run();
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("transport");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, messages_reach_their_receives);
    tcase_add_test(cases, messages_to_oneself_arrive);
    tcase_add_test(cases, submissions_beyond_the_limits_are_refused);
    tcase_add_test(cases, senders_wait_for_credit);
    tcase_add_loop_test(cases, put_and_get_go_in_fragments, 0, 2);
    tcase_add_test(cases, transfers_beyond_range_or_right_are_refused_here);
    tcase_add_loop_test(
        cases, deregistered_memory_ends_transfers_under_way, 0, 2);
    tcase_add_loop_test(cases, canceled_transfers_touch_nothing, 0, 2);
    tcase_add_test(cases, a_send_canceled_in_its_midst_leaves_the_stream_whole);
    tcase_add_test(cases, a_peer_that_ends_ends_what_is_pending_with_it);
    tcase_add_test(cases, forgetting_a_peer_disconnects_it);
    tcase_add_test(cases, addresses_of_equal_names_are_one);
    tcase_add_test(cases, contexts_are_woken_for_each_other);
    tcase_add_test(cases, report_has_counters);
    return run_tcase("transport", cases);
}
