/* SPDX-License-Identifier: BSD-3-Clause */
/* Cancel at each stage: one final event in any case. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static struct node a, b;
static na_plugin_addr *to_b;
static na_plugin_addr *to_a;
static unsigned char buffer[4096];

static void
open_both(void)
{
    char text[TEXT];
    node_open(&a, NULL);
    node_open(&b, NULL);
    self_string(&b, text);
    to_b = lookup(&a, text);
    self_string(&a, text);
    to_a = lookup(&b, text);
}

static void
close_both(void)
{
    a.ops->addr_free(a.cls, to_b);
    b.ops->addr_free(b.cls, to_a);
    node_close(&a);
    node_close(&b);
}

static void
cancel(struct node *node, void *op)
{
    ck_assert_int_eq(node->ops->cancel(node->ctx[0], op), NA_PLUGIN_OK);
}

static void
expect_canceled(struct node *node, void *op)
{
    na_plugin_event event = await_op(node, 0, op);
    ck_assert_int_eq(event.status, NA_PLUGIN_E_CANCELED);
    ck_assert_uint_eq(event.flags, 0);
    ck_assert_ptr_null(event.source);
}

START_TEST(cancel_of_unused_or_ended_operation_has_no_effect)
{
    open_both();
    void *op = op_new(&a);
    cancel(&a, op);
    expect_silence(&a, 0, 2);
    ck_assert_int_eq(
        a.ops->send_unexpected(a.ctx[0], op, buffer, 8, NULL, to_b, 0, 1, 0),
        NA_PLUGIN_DONE);
    cancel(&a, op);
    expect_silence(&a, 0, 2);
    void *received = post_unexpected(&b, buffer, sizeof(buffer));
    na_plugin_event event = await_message(&b, 0, received, 8, 1, true);
    b.ops->addr_free(b.cls, event.source);
    cancel(&b, received);
    expect_silence(&b, 0, 2);
    free(op);
    free(received);
    close_both();
}
END_TEST

START_TEST(cancel_receives_end_once)
{
    open_both();
    void *first = post_unexpected(&b, buffer, sizeof(buffer));
    void *second = post_unexpected(&b, buffer, sizeof(buffer));
    void *expected = post_expected(&b, buffer, sizeof(buffer), to_a, 3);
    cancel(&b, first);
    cancel(&b, first);
    cancel(&b, expected);
    expect_canceled(&b, first);
    expect_canceled(&b, expected);
    expect_silence(&b, 0, 2);

    /* the other one is still posted, the cancelled ones are not */
    ck_assert_int_eq(send_unexpected(&a, buffer, 8, to_b, 4), 0);
    na_plugin_event event = await_message(&b, 0, second, 8, 4, true);
    b.ops->addr_free(b.cls, event.source);
    ck_assert_int_eq(send_expected(&a, buffer, 8, to_b, 3), 0);
    expect_silence(&b, 0, 2);
    /* and reused */
    ck_assert_int_eq(b.ops->recv_expected(b.ctx[0], expected, buffer,
                         sizeof(buffer), NULL, to_a, 0, 3, 0),
        NA_PLUGIN_PENDING);
    await_message(&b, 0, expected, 8, 3, false);
    free(first);
    free(second);
    free(expected);
    close_both();
}
END_TEST

START_TEST(cancel_after_arrival_reports_the_message)
{
    open_both();
    ck_assert_int_eq(send_unexpected(&a, buffer, 8, to_b, 4), 0);
    expect_silence(&b, 0, 2);
    /* its message is queued: the receive has completed before the cancel */
    void *op = post_unexpected(&b, buffer, sizeof(buffer));
    cancel(&b, op);
    na_plugin_event event = await_message(&b, 0, op, 8, 4, true);
    b.ops->addr_free(b.cls, event.source);
    expect_silence(&b, 0, 2);
    free(op);
    close_both();
}
END_TEST

/* Sends until the ring is full. Returns the pending operation. */
static void *
pending_send(struct node *node, na_plugin_addr *peer, int *done_p)
{
    for (*done_p = 0;; (*done_p)++) {
        void *op = op_new(node);
        if (node->ops->send_unexpected(node->ctx[0], op, buffer, 4000, NULL,
                peer, 0, (uint64_t) *done_p, 0) == NA_PLUGIN_PENDING)
            return op;
        free(op);
    }
}

START_TEST(cancel_queued_send_is_not_sent)
{
    int done;
    open_both();
    void *first = pending_send(&a, to_b, &done);
    void *second = op_new(&a);
    void *third = op_new(&a);
    ck_assert_int_eq(a.ops->send_expected(a.ctx[0], second, buffer, 4000, NULL,
                         to_b, 0, 1000, 0),
        NA_PLUGIN_PENDING);
    ck_assert_int_eq(a.ops->send_unexpected(
                         a.ctx[0], third, buffer, 10, NULL, to_b, 0, 1001, 0),
        NA_PLUGIN_PENDING);
    cancel(&a, second);
    cancel(&a, second);
    na_plugin_event event;
    ck_assert_int_eq(a.ops->poll(a.ctx[0], &event, 1), 1);
    ck_assert_ptr_eq(event.op, second);
    ck_assert_int_eq(event.status, NA_PLUGIN_E_CANCELED);

    for (int i = 0; i <= done + 1; i++) {
        void *op = post_unexpected(&b, buffer, sizeof(buffer));
        event = await_op(&b, 0, op);
        ck_assert_uint_eq(event.tag, i <= done ? (uint64_t) i : 1001);
        b.ops->addr_free(b.cls, event.source);
        free(op);
    }
    ck_assert_int_eq(await_op(&a, 0, first).status, NA_PLUGIN_OK);
    ck_assert_int_eq(await_op(&a, 0, third).status, NA_PLUGIN_OK);
    expect_silence(&b, 0, 5);
    free(first);
    free(second);
    free(third);
    close_both();
}
END_TEST

START_TEST(cancel_held_send_to_self_ends)
{
    struct node_options options = {
        .setting_key = "sm.queue_size", .setting_value = "10000"};
    char text[TEXT];
    int done;
    node_open(&b, &options);
    self_string(&b, text);
    to_b = lookup(&b, text);
    void *first = pending_send(&b, to_b, &done);
    void *second = op_new(&b);
    ck_assert_int_eq(b.ops->send_unexpected(
                         b.ctx[0], second, buffer, 10, NULL, to_b, 0, 1001, 0),
        NA_PLUGIN_PENDING);
    cancel(&b, first);
    expect_canceled(&b, first);
    for (int i = 0; i <= done; i++) {
        void *op = post_unexpected(&b, buffer, sizeof(buffer));
        na_plugin_event event = await_op(&b, 0, op);
        ck_assert_uint_eq(event.tag, i < done ? (uint64_t) i : 1001);
        b.ops->addr_free(b.cls, event.source);
        free(op);
    }
    ck_assert_int_eq(await_op(&b, 0, second).status, NA_PLUGIN_OK);
    free(first);
    free(second);
    b.ops->addr_free(b.cls, to_b);
    node_close(&b);
}
END_TEST

/* A long get is split into slices: a cancel takes effect between two of
 * them. */
START_TEST(cancel_sliced_get_ends)
{
    enum { LENGTH = 16 << 20 };
    unsigned char *here = calloc(1, LENGTH);
    unsigned char *there = malloc(LENGTH);
    unsigned char bytes[64];
    uint64_t size = sizeof(bytes);
    na_plugin_mem *local, *owned, *remote;
    na_plugin_event event;
    memset(there, 1, LENGTH);
    open_both();

    na_plugin_segment segment = {.base = there, .length = LENGTH};
    ck_assert_int_eq(b.ops->mem_register(b.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, NA_PLUGIN_MEM_READ, 0, 0},
                         &owned),
        0);
    ck_assert_int_eq(b.ops->mem_serialize(b.cls, owned, bytes, &size), 0);
    ck_assert_int_eq(a.ops->mem_deserialize(a.cls, bytes, size, &remote), 0);
    segment.base = here;
    ck_assert_int_eq(a.ops->mem_register(a.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, NA_PLUGIN_MEM_WRITE, 0, 0},
                         &local),
        0);

    void *op = op_new(&a);
    void *next = op_new(&a);
    ck_assert_int_eq(
        a.ops->get(a.ctx[0], op, local, 0, remote, 0, LENGTH, to_b, 0, 0),
        NA_PLUGIN_PENDING);
    ck_assert_int_eq(
        a.ops->get(a.ctx[0], next, local, 0, remote, 0, 2 << 20, to_b, 0, 0),
        NA_PLUGIN_PENDING);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(a.ops->poll(a.ctx[0], &event, 1), 0);
    cancel(&a, op);
    cancel(&a, op);
    expect_canceled(&a, op);
    ck_assert_int_eq(await_op(&a, 0, next).status, NA_PLUGIN_OK);
    ck_assert_uint_eq(here[0], 1);
    ck_assert_uint_eq(here[LENGTH - 1], 0);
    a.ops->mem_deregister(a.cls, local);
    a.ops->mem_remote_free(a.cls, remote);
    b.ops->mem_deregister(b.cls, owned);
    free(op);
    free(next);
    free(here);
    free(there);
    close_both();
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("cancel");
    tcase_add_test(cases, cancel_of_unused_or_ended_operation_has_no_effect);
    tcase_add_test(cases, cancel_receives_end_once);
    tcase_add_test(cases, cancel_after_arrival_reports_the_message);
    tcase_add_test(cases, cancel_queued_send_is_not_sent);
    tcase_add_test(cases, cancel_held_send_to_self_ends);
    tcase_add_test(cases, cancel_sliced_get_ends);
    return run_cases("cancel", &cases, 1);
}
