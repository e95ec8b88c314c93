/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of a long get each poll copies, and what does not wait for it. The owner
 * of the memory is another class of this program, which is not polled meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "hostile_peer.h"
#include "registration.h"

#define MIB ((uint64_t) 1 << 20)
#define LENGTH (40 * MIB)
#define STEP ((uint64_t) 4096)
#define SHORT ((uint64_t) 4096)
#define CALLERS 70U      /* more than a poll looks at */
#define IDLE_POLLS 10000 /* until a connection without messages is idle */

static unsigned char *here;
static unsigned char *there;
static na_plugin_mem *local;
static na_plugin_mem *owned;
static na_plugin_mem *remote;
static na_plugin_addr *owner;

static void
begin(void)
{
    const struct node_options options = {
        .setting_key = "sm.assist", .setting_value = "no"};
    char text[TEXT];

    open_both_as(&options);
    check_friend();
    here = calloc(1, LENGTH);
    there = malloc(LENGTH);
    memset(there, 1, LENGTH);
    owned = register_region(&hostile_friend, there, LENGTH, NA_PLUGIN_MEM_READ);
    struct form form = form_of(&hostile_friend, owned);
    remote = unpack(&hostile_target, &form);
    local = register_region(&hostile_target, here, LENGTH, NA_PLUGIN_MEM_WRITE);
    self_string(&hostile_friend, text);
    owner = lookup(&hostile_target, text);
    ck_assert_int_eq(
        transfer(&hostile_target, false, local, remote, SHORT, owner), 0);
}

static void
end(void)
{
    hostile_target.ops->addr_free(hostile_target.cls, owner);
    hostile_target.ops->mem_deregister(hostile_target.cls, local);
    hostile_target.ops->mem_remote_free(hostile_target.cls, remote);
    hostile_friend.ops->mem_deregister(hostile_friend.cls, owned);
    free(here);
    free(there);
    close_both();
}

/* Submits a get; the caller frees the operation. */
static void *
get(uint64_t offset, uint64_t length, int32_t expected)
{
    void *op = op_new(&hostile_target);

    ck_assert_int_eq(hostile_target.ops->get(hostile_target.ctx[0], op, local,
                         offset, remote, offset, length, owner, 0, 0),
        expected);
    return op;
}

static void *
get_all(void)
{
    memset(here, 0, LENGTH);
    return get(0, LENGTH, NA_PLUGIN_PENDING);
}

static uint64_t
count_copied(void)
{
    uint64_t copied = 0;

    for (uint64_t at = 0; at < LENGTH; at += STEP)
        copied += here[at] != 0 ? STEP : 0;
    return copied;
}

/* One poll; how many bytes it has copied. Its first events are in events. */
static uint64_t
poll_once(na_plugin_event *events, uint32_t max, int32_t *count_p)
{
    uint64_t before = count_copied();

    *count_p = hostile_target.ops->poll(hostile_target.ctx[0], events, max);
    ck_assert_int_ge(*count_p, 0);
    return count_copied() - before;
}

/* A poll copies so many MiB, and reports what is expected. */
static void
expect_slice(uint64_t mib, void *reported)
{
    na_plugin_event event = {0};
    int32_t count;

    ck_assert_uint_eq(poll_once(&event, 1, &count), mib * MIB);
    ck_assert_int_eq(count, reported != NULL);
    ck_assert_ptr_eq(event.op, reported);
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
}

/* Polls until the get of everything ends. */
static void
finish(void *op)
{
    ck_assert_int_eq(await_op(&hostile_target, 0, op).status, NA_PLUGIN_OK);
    ck_assert_uint_eq(count_copied(), LENGTH);
}

/* What disturbs: a message, or a record of a put or get. */
static void
disturb(struct hostile_peer *caller)
{
    if (caller == NULL)
        ck_assert_int_eq(send_unexpected(&hostile_friend, "friend", 7,
                             hostile_friend_to_target, 5),
            NA_PLUGIN_OK);
    else
        hostile_put_rma(caller,
            &(struct rma_record){.verb = RMA_GET, .number = 1, .length = 1},
            NULL, 0);
}

START_TEST(slices_grow_until_a_record_arrives)
{
    const uint64_t quiet[] = {1, 2, 4, 8, 8, 8, 8, 1};
    const uint64_t disturbed[] = {8, 0, 1, 2, 4, 0, 1, 2, 4, 8, 8, 2};
    struct hostile_peer caller;

    begin();
    if (_i != 0) {
        caller = hostile_open(&hostile_target);
        hostile_await_answer(&caller);
    }
    void *op = get_all();
    for (uint32_t i = 0; i < 8; i++)
        expect_slice(quiet[i], i == 7 ? op : NULL);
    free(op);
    op = get_all();
    for (uint32_t i = 0; i < 12; i++)
        if (disturbed[i] == 0)
            disturb(_i != 0 ? &caller : NULL);
        else
            expect_slice(disturbed[i], i == 11 ? op : NULL);
    free(op);
    if (_i != 0)
        hostile_close(&caller);
    end();
}
END_TEST

/* Short gets beside a long one are reported after 1 MiB of it. */
START_TEST(slices_are_short_beside_short_operations)
{
    const uint64_t lengths[] = {1, 2, 4, 8};
    na_plugin_event events[4];
    int32_t count;

    begin();
    void *op = get_all();
    for (uint32_t i = 0; i < 4; i++)
        expect_slice(lengths[i], NULL);
    void *first = get(LENGTH - SHORT, SHORT, NA_PLUGIN_DONE);
    void *second = get(LENGTH - 2 * SHORT, SHORT, NA_PLUGIN_PENDING);
    ck_assert_uint_eq(poll_once(events, 4, &count), MIB + SHORT);
    ck_assert_int_eq(count, 1);
    ck_assert_ptr_eq(events[0].op, second);
    expect_slice(8, NULL);
    finish(op);
    free(op);
    free(first);
    free(second);
    end();
}
END_TEST

/* The poll after a longer slice looks at all connections. */
START_TEST(slices_delay_no_idle_connection)
{
    struct hostile_peer callers[CALLERS];
    const uint32_t which[] = {3, 22, 41, 60};
    char buffer[64];
    na_plugin_event event;
    int32_t count;

    begin();
    for (uint32_t i = 0; i < CALLERS; i++) {
        callers[i] = hostile_open(&hostile_target);
        hostile_await_answer(&callers[i]);
    }
    for (int i = 0; i < IDLE_POLLS; i++)
        hostile_target.ops->poll(hostile_target.ctx[0], &event, 1);
    void *op = get_all();
    for (uint32_t i = 0; i < 4; i++) {
        void *recv = post_unexpected(&hostile_target, buffer, sizeof(buffer));
        for (uint64_t mib = 1; mib <= 4; mib *= 2)
            expect_slice(mib, NULL);
        put_word(callers[which[i]].ring, 0, UNEXPECTED, 0, 6, 9);
        poll_once(&event, 1, &count);
        ck_assert_int_eq(count, 1);
        ck_assert_ptr_eq(event.op, recv);
        hostile_target.ops->addr_free(hostile_target.cls, event.source);
        free(recv);
    }
    finish(op);
    free(op);
    for (uint32_t i = 0; i < CALLERS; i++)
        hostile_close(&callers[i]);
    end();
}
END_TEST

int
main(void)
{
    if (!kernel_copies())
        return 77;
    TCase *cases = tcase_create("slices");
    tcase_add_loop_test(cases, slices_grow_until_a_record_arrives, 0, 2);
    tcase_add_test(cases, slices_are_short_beside_short_operations);
    tcase_add_test(cases, slices_delay_no_idle_connection);
    return run_cases("slices", &cases, 1);
}
