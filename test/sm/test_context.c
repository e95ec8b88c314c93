/* SPDX-License-Identifier: BSD-3-Clause */
/* Several contexts: messages reach theirs, polling one serves all, and
 * destroying one leaves its operations untouched. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define CONTEXTS 4

static struct node a, b;
static na_plugin_addr *to_b;
static na_plugin_addr *to_a;

static void
open_both(void)
{
    char text[TEXT];
    node_open(&a, &(struct node_options){.contexts = CONTEXTS});
    node_open(&b, &(struct node_options){.contexts = CONTEXTS});
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

/* From each context to each: expected messages with equal tags are matched by
 * context. */
static void
all_to_all(struct node *from, na_plugin_addr *to_to, struct node *to,
    na_plugin_addr *to_from)
{
    static uint32_t buffers[CONTEXTS][CONTEXTS];
    void *ops[CONTEXTS][CONTEXTS];
    void *send = op_new(from);
    for (uint32_t i = 0; i < CONTEXTS; i++)
        for (uint32_t j = 0; j < CONTEXTS; j++) {
            ops[i][j] = op_new(to);
            ck_assert_int_eq(
                to->ops->recv_expected(to->ctx[j], ops[i][j], &buffers[i][j],
                    sizeof(uint32_t), NULL, to_from, i, 7, 0),
                NA_PLUGIN_PENDING);
        }
    for (uint32_t i = 0; i < CONTEXTS; i++)
        for (uint32_t j = 0; j < CONTEXTS; j++) {
            uint32_t value = 10 * i + j;
            ck_assert_int_eq(from->ops->send_expected(from->ctx[i], send,
                                 &value, sizeof(value), NULL, to_to, j, 7, 0),
                NA_PLUGIN_DONE);
        }
    for (uint32_t i = 0; i < CONTEXTS; i++)
        for (uint32_t j = 0; j < CONTEXTS; j++) {
            await_message(to, j, ops[i][j], sizeof(uint32_t), 7, false);
            ck_assert_uint_eq(buffers[i][j], 10 * i + j);
            free(ops[i][j]);
        }
    free(send);
}

START_TEST(context_messages_reach_their_context)
{
    open_both();
    for (int i = 0; i < 10; i++) {
        all_to_all(&a, to_b, &b, to_a);
        all_to_all(&b, to_a, &a, to_b);
    }
    close_both();
}
END_TEST

START_TEST(context_messages_to_self_reach_their_context)
{
    char text[TEXT];
    node_open(&a, &(struct node_options){.contexts = CONTEXTS});
    self_string(&a, text);
    to_a = lookup(&a, text);
    for (int i = 0; i < 10; i++)
        all_to_all(&a, to_a, &a, to_a);
    a.ops->addr_free(a.cls, to_a);
    node_close(&a);
}
END_TEST

START_TEST(context_poll_serves_all_contexts)
{
    char buffer[8];
    na_plugin_event event;
    open_both();
    void *op = op_new(&b);
    void *send = op_new(&a);
    ck_assert_int_eq(
        b.ops->recv_unexpected(b.ctx[3], op, buffer, sizeof(buffer), NULL, 0),
        NA_PLUGIN_PENDING);
    ck_assert_int_eq(
        a.ops->send_unexpected(a.ctx[1], send, "x", 2, NULL, to_b, 3, 5, 0),
        NA_PLUGIN_DONE);
    /* context 0 reads it from the ring; only context 3 reports it */
    uint64_t end = now_ns() + 20000000;
    while (now_ns() < end)
        ck_assert_int_eq(b.ops->poll(b.ctx[0], &event, 1), 0);
    ck_assert_uint_eq(node_counter(&b, "messages_received"), 1);
    ck_assert_str_eq(buffer, "x");
    ck_assert_int_eq(b.ops->poll(b.ctx[3], &event, 1), 1);
    ck_assert_ptr_eq(event.op, op);
    b.ops->addr_free(b.cls, event.source);
    free(op);
    free(send);
    close_both();
}
END_TEST

START_TEST(context_missing_target_drops_the_message_only)
{
    char buffer[8];
    open_both();
    void *send = op_new(&a);
    ck_assert_int_eq(
        a.ops->send_unexpected(a.ctx[0], send, "x", 2, NULL, to_b, 200, 5, 0),
        NA_PLUGIN_DONE);
    ck_assert_int_eq(send_unexpected(&a, "y", 2, to_b, 6), 0);
    void *op = post_unexpected(&b, buffer, sizeof(buffer));
    na_plugin_event event = await_message(&b, 0, op, 2, 6, true);
    ck_assert_uint_eq(node_counter(&b, "context_missing"), 1);
    b.ops->addr_free(b.cls, event.source);
    free(op);
    free(send);
    close_both();
}
END_TEST

/* All kinds of pending operations on a context that is destroyed; their memory
 * is freed before the other contexts are polled. */
START_TEST(context_destroyed_with_pending_operations_is_not_touched)
{
    static unsigned char data[4000];
    na_plugin_mem *local;
    na_plugin_segment segment = {.base = malloc(4 << 20), .length = 4 << 20};
    char text[TEXT];
    void *ops[16];
    int count = 0;
    open_both();
    self_string(&b, text);
    na_plugin_addr *self = lookup(&b, text);
    memset(segment.base, 1, segment.length);
    ck_assert_int_eq(b.ops->mem_register(b.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, 3, 0, 0},
                         &local),
        0);
    na_plugin_ctx *ctx = b.ctx[2];
    unsigned char *buffer = malloc(4096);

    ops[count] = op_new(&b);
    b.ops->recv_unexpected(ctx, ops[count++], buffer, 4096, NULL, 0);
    ops[count] = op_new(&b);
    b.ops->recv_expected(ctx, ops[count++], buffer, 4096, NULL, to_a, 0, 1, 0);
    ops[count] = op_new(&b);
    b.ops->recv_expected(ctx, ops[count++], buffer, 4096, NULL, self, 0, 1, 0);
    ops[count] = op_new(&b);
    ck_assert_int_eq(b.ops->put(ctx, ops[count++], local, 0, local, 2 << 20,
                         1 << 20, self, 0, 0),
        NA_PLUGIN_PENDING);
    /* a send to a full ring; a message received but not reported */
    int32_t ret = NA_PLUGIN_DONE;
    while (ret == NA_PLUGIN_DONE) {
        ops[count] = op_new(&b);
        ret = b.ops->send_unexpected(
            ctx, ops[count], data, sizeof(data), NULL, to_a, 0, 1, 0);
        if (ret == NA_PLUGIN_DONE)
            free(ops[count]);
    }
    ck_assert_int_eq(ret, NA_PLUGIN_PENDING);
    count++;
    void *send = op_new(&a);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(a.ops->send_unexpected(
                             a.ctx[0], send, data, 16, NULL, to_b, 2, 5, 0),
            NA_PLUGIN_DONE);
    na_plugin_event event;
    for (int i = 0; i < 5000; i++)
        ck_assert_int_eq(b.ops->poll(b.ctx[0], &event, 1), 0);

    b.ops->ctx_destroy(ctx);
    b.ctx[2] = NULL;
    for (int i = 0; i < count; i++)
        free(ops[i]);
    free(buffer);
    b.ops->mem_deregister(b.cls, local);
    free(segment.base);
    for (int i = 0; i < 5000; i++)
        pump();
    ck_assert_uint_eq(b.event_count[0], 0);
    /* messages to it are dropped, others arrive; and it can be created again */
    ck_assert_int_eq(
        a.ops->send_unexpected(a.ctx[0], send, data, 16, NULL, to_b, 2, 5, 0),
        NA_PLUGIN_DONE);
    for (int i = 0; i < 5000; i++)
        pump();
    ck_assert_int_eq(b.ops->ctx_create(b.cls, 2, &b, &b.ctx[2]), NA_PLUGIN_OK);
    all_to_all(&a, to_b, &b, to_a);
    free(send);
    b.ops->addr_free(b.cls, self);
    close_both();
}
END_TEST

/* A pending send to another context of the same class fails when that context
 * is destroyed. */
START_TEST(context_destroyed_ends_held_sends_of_others)
{
    static unsigned char data[4000];
    char text[TEXT];
    int32_t ret = NA_PLUGIN_DONE;
    void *op = NULL;
    node_open(&a, &(struct node_options){.contexts = 2,
                      .setting_key = "sm.queue_size",
                      .setting_value = "10000"});
    self_string(&a, text);
    to_a = lookup(&a, text);

    while (ret == NA_PLUGIN_DONE) {
        free(op);
        op = op_new(&a);
        ret = a.ops->send_unexpected(
            a.ctx[0], op, data, sizeof(data), NULL, to_a, 1, 1, 0);
    }
    ck_assert_int_eq(ret, NA_PLUGIN_PENDING);
    a.ops->ctx_destroy(a.ctx[1]);
    a.ctx[1] = NULL;
    ck_assert_int_eq(await_op(&a, 0, op).status, NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_int_eq(
        a.ops->send_unexpected(a.ctx[0], op, data, 8, NULL, to_a, 1, 1, 0),
        NA_PLUGIN_E_HOSTUNREACH);
    free(op);
    a.ops->addr_free(a.cls, to_a);
    node_close(&a);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("context");
    tcase_add_test(cases, context_messages_reach_their_context);
    tcase_add_test(cases, context_messages_to_self_reach_their_context);
    tcase_add_test(cases, context_poll_serves_all_contexts);
    tcase_add_test(cases, context_missing_target_drops_the_message_only);
    tcase_add_test(
        cases, context_destroyed_with_pending_operations_is_not_touched);
    tcase_add_test(cases, context_destroyed_ends_held_sends_of_others);
    return run_cases("context", &cases, 1);
}
