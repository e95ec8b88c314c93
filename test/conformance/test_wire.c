/* SPDX-License-Identifier: BSD-3-Clause */
/* The variant of the wire plugin without violations, within one process:
 * whatever the conformance kit finds in other variants is then due to their
 * violation. */
#include "pair.h"
#include "runner.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MANY 100U

static uint32_t
descriptors(bool inheritable)
{
    uint32_t count = 0;
    struct dirent *entry;
    DIR *folder = opendir("/proc/self/fd");

    while ((entry = readdir(folder)) != NULL) {
        int fd = atoi(entry->d_name);

        count += !inheritable || (fd > 2 && !(fcntl(fd, F_GETFD) & FD_CLOEXEC));
    }
    closedir(folder);
    return count;
}

START_TEST(open_and_close_leak_nothing)
{
    uint32_t before, plain;

    fixture_open(&a, NA_PLUGIN_OPEN_LISTEN, 4);
    fixture_close(&a);
    before = descriptors(false);
    plain = descriptors(true);
    for (uint32_t i = 0; i < 50; i++) {
        open_both(4);
        settle(&a, &one, fixture_send(&a, &one, "x", 1, to_b, 1, false));
        ck_assert_uint_eq(descriptors(true), plain);
        close_both();
        memset(&one, 0, sizeof one);
    }
    ck_assert_uint_eq(descriptors(false), before);
}
END_TEST

START_TEST(open_unknown_options_are_refused)
{
    ck_assert_int_eq(fixture_try(&a, "good", 0x80), NA_PLUGIN_E_INVALID_ARG);
    fixture_forgive(&a);
    ck_assert_int_eq(fixture_try(&a, "bad", 0), NA_PLUGIN_E_PROTONOSUPPORT);
    fixture_forgive(&a);
}
END_TEST

START_TEST(addr_round_trips_as_string_and_bytes)
{
    char text[FIXTURE_TEXT];
    unsigned char bytes[FIXTURE_TEXT];
    uint64_t size = 0, need;
    na_plugin_addr *addr;

    open_both(1);
    ck_assert_int_eq(
        a.ops->addr_to_string(a.cls, to_b, text, &size), NA_PLUGIN_E_OVERFLOW);
    need = size;
    ck_assert_int_eq(a.ops->addr_to_string(a.cls, to_b, text, &size), 0);
    ck_assert_uint_eq(strlen(text) + 1, need);
    size = sizeof bytes;
    ck_assert_int_eq(a.ops->addr_serialize(a.cls, to_b, bytes, &size), 0);
    ck_assert_int_eq(b.ops->addr_deserialize(b.cls, bytes, size, &addr), 0);
    fixture_text(&b, text);
    ck_assert(b.ops->addr_equal(b.cls, addr, fixture_lookup(&b, text)));
    b.ops->addr_free(b.cls, addr);
    b.ops->addr_free(b.cls, addr);
    for (uint64_t i = 0; i < size; i++)
        ck_assert_int_eq(b.ops->addr_deserialize(b.cls, bytes, i, &addr),
            NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(b.ops->addr_lookup(b.cls, "good://a b", &addr),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(b.ops->addr_lookup(b.cls, "tcp://a", &addr),
        NA_PLUGIN_E_PROTONOSUPPORT);
    fixture_forgive(&b);
    close_both();
}
END_TEST

START_TEST(message_between_classes_arrives)
{
    open_both(1);
    talk(&a, &b, to_b, to_a);
    talk(&b, &a, to_a, to_b);
    close_both();
}
END_TEST

START_TEST(message_to_self_arrives)
{
    na_plugin_addr *self;

    open_both(1);
    ck_assert_int_eq(a.ops->addr_self(a.cls, &self), 0);
    talk(&a, &a, self, self);
    a.ops->addr_free(a.cls, self);
    close_both();
}
END_TEST

START_TEST(message_without_receive_is_kept)
{
    static struct fixture_message sends[MANY];

    open_both(1);
    for (uint32_t i = 0; i < MANY; i++)
        ck_assert_int_eq(
            fixture_send(&a, &sends[i], &i, sizeof i, to_b, i, false), 0);
    for (uint32_t i = 0; i < 1000; i++) {
        fixture_poll(&a, 0, 1);
        fixture_poll(&b, 0, 1);
    }
    ck_assert(!sends[MANY - 1].op->ended);
    /* later messages overtake a queued one */
    ck_assert_int_eq(fixture_post_expected(&b, &two, to_a, 7), 0);
    settle(&a, &one, fixture_send(&a, &one, "pass", 4, to_b, 7, true));
    ck_assert_int_eq(fixture_await(&b, &a, two.op), 0);
    for (uint32_t i = 0; i < MANY; i++) {
        fixture_post(&b, &two);
        ck_assert_int_eq(fixture_await(&b, &a, two.op), 0);
        check_message(&b, two.op, 0, &i, sizeof i, i);
        free_source(&b, two.op, 0);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        ck_assert_int_eq(fixture_await(&a, &b, sends[i].op), 0);
        free(sends[i].op);
    }
    close_both();
}
END_TEST

START_TEST(message_too_long_is_msgsize)
{
    open_both(1);
    ck_assert_int_eq(
        fixture_send(&a, &one, "", 0, to_b, UINT64_C(1) << 63, false),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(a.ops->send_unexpected(a.ctx[0], fixture_part(one.op),
                         one.buffer, 4097, NULL, to_b, 0, 1, 0),
        NA_PLUGIN_E_MSGSIZE);
    fixture_forgive(&a);
    two.op = fixture_op_new(&b);
    ck_assert_int_eq(b.ops->recv_unexpected(b.ctx[0], fixture_part(two.op),
                         two.buffer, 20, NULL, 0),
        0);
    settle(&a, &one, fixture_send(&a, &one, "12345", 5, to_b, 1, false));
    ck_assert_int_eq(fixture_await(&b, &a, two.op), NA_PLUGIN_E_MSGSIZE);
    close_both();
}
END_TEST

START_TEST(expected_matches_source_context_and_tag)
{
    na_plugin_addr *self;

    open_both(2);
    ck_assert_int_eq(b.ops->addr_self(b.cls, &self), 0);
    ck_assert_int_eq(fixture_post_expected(&b, &two, to_a, 5), 0);
    ck_assert_int_eq(fixture_post_expected(&b, &three, self, 5), 0);
    settle(&a, &one, fixture_send(&a, &one, "six", 3, to_b, 6, true));
    ck_assert_int_eq(a.ops->send_expected(a.ctx[1], fixture_part(one.op),
                         one.buffer, 11, NULL, to_b, 0, 5, 0),
        NA_PLUGIN_DONE);
    for (uint32_t i = 0; i < 100; i++) {
        fixture_poll(&b, 0, 1);
        fixture_poll(&b, 1, 1);
    }
    ck_assert(!two.op->ended && !three.op->ended);
    settle(&a, &one, fixture_send(&a, &one, "five", 4, to_b, 5, true));
    ck_assert_int_eq(fixture_await(&b, &a, two.op), 0);
    check_message(&b, two.op, 0, "five", 4, 5);
    ck_assert_int_eq(b.ops->cancel(b.ctx[0], fixture_part(three.op)), 0);
    ck_assert_int_eq(fixture_await(&b, &a, three.op), NA_PLUGIN_E_CANCELED);
    ck_assert_int_eq(fixture_post_expected(&b, &two, to_a, 6), 0);
    ck_assert_int_eq(fixture_await(&b, &a, two.op), 0);
    b.ops->addr_free(b.cls, self);
    close_both();
}
END_TEST

START_TEST(context_any_poll_advances_all)
{
    open_both(4);
    two.op = fixture_op_new(&b);
    ck_assert_int_eq(b.ops->recv_unexpected(b.ctx[3], fixture_part(two.op),
                         two.buffer, sizeof two.buffer, NULL, 0),
        0);
    ck_assert_int_eq(fixture_send(&a, &one, "", 0, to_b, 1, false), 0);
    for (uint32_t i = 0; !one.op->ended && i < 1000; i++) {
        fixture_poll(&b, 2, 1);
        fixture_poll(&a, 0, 1);
    }
    ck_assert(one.op->ended && !two.op->ended);
    fixture_op_reset(one.op);
    ck_assert_int_eq(a.ops->send_unexpected(a.ctx[0], fixture_part(one.op),
                         one.buffer, 16, NULL, to_b, 3, 2, 0),
        0);
    for (uint32_t i = 0; i < 1000; i++) {
        fixture_poll(&a, 1, 1);
        fixture_poll(&b, 2, 1);
    }
    ck_assert_uint_eq(fixture_poll(&b, 3, 1), 1);
    check_message(&b, two.op, 0, "", 0, 2);
    free_source(&b, two.op, 0);
    close_both();
}
END_TEST

START_TEST(context_destroyed_does_not_touch_pending_operations)
{
    unsigned char before[8192];

    open_both(2);
    memset(two.buffer, 1, sizeof two.buffer);
    memcpy(before, two.buffer, sizeof before);
    fixture_post(&b, &two);
    ck_assert_int_eq(fixture_post_expected(&b, &three, to_a, 3), 0);
    b.ops->ctx_destroy(b.ctx[0]);
    ck_assert_int_eq(fixture_send(&a, &one, "xyz", 3, to_b, 3, false), 0);
    for (uint32_t i = 0; i < 1000; i++) {
        fixture_poll(&a, 0, 1);
        fixture_poll(&b, 1, 1);
    }
    ck_assert_mem_eq(two.buffer, before, sizeof before);
    ck_assert_int_eq(b.ops->ctx_create(b.cls, 0, &b, &b.ctx[0]), 0);
    fixture_post(&b, &two);
    ck_assert_int_eq(fixture_await(&b, &a, two.op), 0);
    check_message(&b, two.op, 0, "xyz", 3, 3);
    free_source(&b, two.op, 0);
    close_both();
}
END_TEST

START_TEST(cancel_works_at_each_stage)
{
    static struct fixture_message sends[MANY];
    uint32_t canceled = 0;

    open_both(1);
    fixture_post(&b, &two);
    ck_assert_int_eq(b.ops->cancel(b.ctx[0], fixture_part(two.op)), 0);
    ck_assert_int_eq(fixture_await(&b, &a, two.op), NA_PLUGIN_E_CANCELED);
    ck_assert_int_eq(b.ops->cancel(b.ctx[0], fixture_part(two.op)), 0);
    ck_assert_int_eq(b.ops->cancel(b.ctx[0], &two), 0);
    for (uint32_t i = 0; i < MANY; i++)
        ck_assert_int_eq(
            fixture_send(&a, &sends[i], &i, sizeof i, to_b, i, false), 0);
    for (uint32_t i = 0; i < MANY; i += 2)
        ck_assert_int_eq(a.ops->cancel(a.ctx[0], fixture_part(sends[i].op)), 0);
    for (uint32_t i = 1; i < MANY; i += 2) {
        fixture_post(&b, &two);
        ck_assert_int_eq(fixture_await(&b, &a, two.op), 0);
        check_message(&b, two.op, 0, &i, sizeof i, i);
        free_source(&b, two.op, 0);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        canceled += fixture_await(&a, &b, sends[i].op) == NA_PLUGIN_E_CANCELED;
        free(sends[i].op);
    }
    ck_assert_uint_eq(canceled, MANY / 2);
    close_both();
}
END_TEST

START_TEST(multi_recv_packs_and_releases_its_buffer)
{
    static unsigned char big[20000], bytes[2000];
    struct fixture_op *op;
    const na_plugin_event *event;
    uint32_t sent = 0;

    open_both(1);
    op = fixture_op_new(&b);
    ck_assert_int_eq(b.multi->recv_multi(
                         b.ctx[0], fixture_part(op), big, sizeof big, NULL, 0),
        0);
    while (!op->ended) {
        memset(bytes, (int) sent, sizeof bytes);
        settle(&a, &one,
            fixture_send(&a, &one, bytes, sizeof bytes, to_b, sent, false));
        sent++;
        while (op->count < sent && !op->ended)
            fixture_poll(&b, 0, 1);
    }
    ck_assert_uint_eq(op->count, sent);
    for (uint32_t i = 0; i < sent; i++) {
        event = &op->events[i];
        memset(bytes, (int) i, sizeof bytes);
        check_message(&b, op, i, bytes, sizeof bytes, i);
        ck_assert_ptr_eq(event->buffer, big + i * event->length);
        free_source(&b, op, i);
    }
    ck_assert_uint_eq(sent, 8);
    fixture_op_reset(op);
    ck_assert_int_eq(b.multi->recv_multi(
                         b.ctx[0], fixture_part(op), big, sizeof big, NULL, 0),
        0);
    ck_assert_int_eq(b.ops->cancel(b.ctx[0], fixture_part(op)), 0);
    ck_assert_int_eq(fixture_await(&b, &a, op), NA_PLUGIN_E_CANCELED);
    free(op);
    close_both();
}
END_TEST

START_TEST(forget_then_reconnects)
{
    open_both(1);
    talk(&a, &b, to_b, to_a);
    ck_assert_int_eq(fixture_post_expected(&a, &three, to_b, 3), 0);
    a.ops->addr_forget(a.cls, to_b);
    ck_assert_int_lt(fixture_await(&a, &b, three.op), 0);
    /* b notices it before it uses the address */
    for (uint32_t i = 0; i < 10; i++)
        fixture_poll(&b, 0, 1);
    talk(&a, &b, to_b, to_a);
    close_both();
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("wire");

    tcase_add_test(cases, open_and_close_leak_nothing);
    tcase_add_test(cases, open_unknown_options_are_refused);
    tcase_add_test(cases, addr_round_trips_as_string_and_bytes);
    tcase_add_test(cases, message_between_classes_arrives);
    tcase_add_test(cases, message_to_self_arrives);
    tcase_add_test(cases, message_without_receive_is_kept);
    tcase_add_test(cases, message_too_long_is_msgsize);
    tcase_add_test(cases, expected_matches_source_context_and_tag);
    tcase_add_test(cases, context_any_poll_advances_all);
    tcase_add_test(cases, context_destroyed_does_not_touch_pending_operations);
    tcase_add_test(cases, cancel_works_at_each_stage);
    tcase_add_test(cases, multi_recv_packs_and_releases_its_buffer);
    tcase_add_test(cases, forget_then_reconnects);
    return run_tcase("wire", cases);
}
