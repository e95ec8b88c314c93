/* SPDX-License-Identifier: BSD-3-Clause */
/* The match engine, and the ring of events. */
#include "common/match.h"

#include <check.h>
#include <stdlib.h>

#include "common/event.h"
#include "runner.h"

#define MANY 300

static struct tp_match match;
static struct tp_quota quota;
static uint32_t forgotten, dropped;

static void
forget(void *arg, struct tp_kept *kept, bool was_dropped)
{
    ck_assert_ptr_eq(arg, &quota);
    forgotten++;
    dropped += was_dropped;
    free(kept);
}

static void
begin(void)
{
    quota = (struct tp_quota){.limit = 1000};
    match = (struct tp_match){.quota = &quota, .forget = forget, .arg = &quota};
    forgotten = dropped = 0;
    ck_assert_int_eq(tp_match_init(&match), NA_PLUGIN_OK);
}

static void
end(void)
{
    tp_match_fini(&match);
    ck_assert_uint_eq(quota.used, 0);
}

static struct tp_message
message(const void *owner, uint32_t tag, const char *text)
{
    return (struct tp_message){.owner = owner,
        .key = tp_match_key(3, tag),
        .data = text,
        .length = (uint32_t) strlen(text),
        .tag = tag};
}

static enum tp_outcome
deliver(const void *owner, uint32_t tag, const char *text, bool unexpected,
    struct tp_recv **recv_p)
{
    const struct tp_message arrived = message(owner, tag, text);

    return tp_match_deliver(&match, &arrived, unexpected, recv_p);
}

START_TEST(unexpected_receives_match_in_order)
{
    struct tp_recv recvs[2] = {{.length = 4}, {.length = 4}};
    struct tp_recv *got = NULL;

    for (int i = 0; i < 2; i++)
        ck_assert_ptr_null(tp_match_post_unexpected(&match, &recvs[i]));
    ck_assert_int_eq(deliver(NULL, 1, "a", true, &got), TP_MATCHED);
    ck_assert_ptr_eq(got, &recvs[0]);
    tp_match_unpost(&match, &recvs[1], true);
    ck_assert_int_eq(deliver(NULL, 1, "b", true, &got), TP_KEPT);
}
END_TEST

START_TEST(queue_keeps_copies_in_order_up_to_its_quota)
{
    char text[400];
    static struct tp_recv recv = {.length = sizeof(text)};
    struct tp_recv *got = NULL;
    uint32_t kept = 0;

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    while (deliver(NULL, kept, text, true, &got) == TP_KEPT)
        kept++;
    ck_assert_uint_eq(kept, 1000 / tp_match_cost(399));
    ck_assert(!tp_match_has_room(&match, 399));
    text[0] = 'y'; /* they are copies */
    for (uint32_t i = 0; i < kept; i++) {
        struct tp_kept *first = tp_match_post_unexpected(&match, &recv);
        ck_assert_uint_eq(first->tag, i);
        ck_assert_uint_eq(first->length, 399);
        ck_assert_int_eq(*(const char *) first->data, 'x');
        forget(&quota, first, false);
    }
    ck_assert_uint_eq(quota.used, 0);
    ck_assert_ptr_null(tp_match_post_unexpected(&match, &recv));
    ck_assert(tp_match_has_room(&match, UINT32_MAX));
}
END_TEST

START_TEST(one_message_is_queued_whatever_its_size)
{
    static char text[2000];
    struct tp_recv *got = NULL;

    memset(text, 'x', sizeof(text) - 1);
    ck_assert_int_eq(deliver(NULL, 1, text, true, &got), TP_KEPT);
    ck_assert_int_eq(deliver(NULL, 2, "", true, &got), TP_FULL);
    struct tp_message placed = message(NULL, 3, "placed");
    placed.place = 77;
    uint64_t used = quota.used;
    ck_assert_int_eq(tp_match_deliver(&match, &placed, true, &got), TP_KEPT);
    ck_assert_uint_eq(quota.used, used);
}
END_TEST

START_TEST(taking_a_queued_message_frees_its_room)
{
    struct tp_recv *got = NULL;

    ck_assert_ptr_null(tp_match_take_queued(&match));
    ck_assert_int_eq(deliver(NULL, 1, "first", true, &got), TP_KEPT);
    struct tp_kept *kept = tp_match_take_queued(&match);
    ck_assert_ptr_nonnull(kept);
    ck_assert_uint_eq(kept->tag, 1);
    forget(&quota, kept, false);
    ck_assert_uint_eq(quota.used, 0);
    ck_assert_ptr_null(tp_match_take_queued(&match));
    /* no receive was posted */
    ck_assert_int_eq(deliver(NULL, 2, "second", true, &got), TP_KEPT);
    ck_assert_ptr_null(got);
}
END_TEST

START_TEST(own_memory_is_queued_whatever_the_quota)
{
    struct tp_kept *own = malloc(sizeof(*own));
    struct tp_recv recv = {.length = 9};
    const struct tp_message arrived = message(NULL, 8, "mine");

    *own = (struct tp_kept){.data = arrived.data, .length = 4, .place = 1};
    tp_match_append(&match, own, &arrived);
    ck_assert_ptr_eq(tp_match_post_unexpected(&match, &recv), own);
    ck_assert_uint_eq(own->tag, 8);
    free(own);
}
END_TEST

START_TEST(expected_messages_are_matched_by_owner_context_and_tag)
{
    static const char owners[2];
    struct tp_recv recvs[3] = {{.length = 1}, {.length = 1}, {.length = 1}};
    struct tp_recv *got = NULL;

    for (uint32_t i = 0; i < 3; i++) {
        recvs[i].keyed.owner = &owners[i / 2];
        recvs[i].keyed.key = tp_match_key(3, i % 2);
        ck_assert_ptr_null(tp_match_post_expected(&match, &recvs[i]));
    }
    ck_assert_int_eq(deliver(&owners[1], 0, "a", false, &got), TP_MATCHED);
    ck_assert_ptr_eq(got, &recvs[2]);
    ck_assert_int_eq(deliver(&owners[1], 0, "a", false, &got), TP_KEPT);
    tp_match_unpost(&match, &recvs[1], false);
    ck_assert_int_eq(deliver(&owners[0], 1, "a", false, &got), TP_KEPT);
    ck_assert_int_eq(deliver(&owners[0], 0, "a", false, &got), TP_MATCHED);
    ck_assert_ptr_eq(got, &recvs[0]);
    struct tp_kept *early = tp_match_post_expected(&match, &recvs[2]);
    ck_assert_ptr_nonnull(early);
    ck_assert_ptr_eq(early->keyed.owner, &owners[1]);
    forget(&quota, early, false);
}
END_TEST

START_TEST(early_messages_are_bounded_and_the_oldest_dropped)
{
    struct tp_recv recv = {.keyed.key = tp_match_key(3, 0)};
    struct tp_recv *got = NULL;

    for (uint32_t i = 0; i < MANY; i++)
        ck_assert_int_eq(deliver(NULL, i, "a", false, &got), TP_KEPT);
    ck_assert_uint_eq(dropped, MANY - 256);
    ck_assert_ptr_null(tp_match_take_early(&match, &recv));
    recv.keyed.key = tp_match_key(3, MANY - 1);
    struct tp_kept *youngest = tp_match_take_early(&match, &recv);
    ck_assert_ptr_nonnull(youngest);
    forget(&quota, youngest, false);

    static char large[200 << 10];
    memset(large, 'x', sizeof(large) - 1);
    ck_assert_int_eq(deliver(NULL, MANY, large, false, &got), TP_KEPT);
    ck_assert_int_eq(deliver(NULL, MANY + 1, large, false, &got), TP_KEPT);
    ck_assert_uint_eq(match.early.count, 1);
    ck_assert_uint_eq(match.early_bytes, sizeof(large) - 1);
}
END_TEST

START_TEST(dropping_an_owner_keeps_the_others)
{
    static const char owners[2];
    struct tp_recv *got = NULL;

    for (uint32_t i = 0; i < 10; i++)
        ck_assert_int_eq(deliver(&owners[i % 2], i, "a", false, &got), TP_KEPT);
    tp_match_drop_owner(&match, &owners[0]);
    ck_assert_uint_eq(dropped, 5);
    ck_assert_uint_eq(match.early.count, 5);
    tp_match_fini(&match);
    ck_assert_uint_eq(forgotten, 10);
    ck_assert_uint_eq(dropped, 5);
}
END_TEST

START_TEST(held_sends_wait_for_room_in_order)
{
    static char text[900];
    static struct tp_recv sends[2] = {{.length = 5}, {.length = 6}};
    static struct tp_recv recv = {.length = sizeof(text)};
    struct tp_recv *got = NULL;

    memset(text, 'x', sizeof(text) - 1);
    ck_assert(!tp_match_must_hold(&match, 5000));
    ck_assert_int_eq(deliver(NULL, 1, text, true, &got), TP_KEPT);
    for (int i = 0; i < 2; i++) {
        ck_assert(tp_match_must_hold(&match, sends[i].length));
        tp_list_append(&match.held, &sends[i].keyed.link);
    }
    ck_assert_ptr_null(tp_match_next_held(&match));
    struct tp_kept *kept = tp_match_post_unexpected(&match, &recv);
    forget(&quota, kept, false);
    ck_assert(tp_match_must_hold(&match, 1)); /* behind the others */
    ck_assert_ptr_eq(tp_match_next_held(&match), &sends[0]);
    ck_assert_ptr_eq(tp_match_next_held(&match), &sends[1]);
    ck_assert_ptr_null(tp_match_next_held(&match));
    ck_assert(!tp_match_must_hold(&match, 1));
}
END_TEST

START_TEST(receive_is_filled_or_too_short)
{
    char buffer[4] = "";
    const struct tp_recv recv = {.buffer = buffer, .length = 3};
    na_plugin_addr *source = (na_plugin_addr *) (void *) &quota;
    int op;
    na_plugin_event event;

    ck_assert(tp_match_fill(&recv, "abc", 3, 9, &op, source, &event));
    ck_assert_str_eq(buffer, "abc");
    ck_assert(event.op == &op && event.buffer == buffer &&
              event.source == source && event.length == 3 && event.tag == 9);
    ck_assert_uint_eq(event.flags, NA_PLUGIN_EVENT_MESSAGE);
    ck_assert(!tp_match_fill(&recv, "abcd", 4, 9, &op, source, &event));
    ck_assert_int_eq(event.status, NA_PLUGIN_E_MSGSIZE);
    ck_assert(event.op == &op && event.source == NULL && event.flags == 0);
    ck_assert(tp_match_fill(&recv, NULL, 0, 9, &op, NULL, &event));
    ck_assert_uint_eq(event.length, 0);
}
END_TEST

START_TEST(events_stay_in_order_as_the_ring_grows)
{
    struct tp_events events = {0};
    na_plugin_event out[7];
    uint64_t in = 0, next = 0;

    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 9; i++) {
            ck_assert(tp_events_promise(&events));
            tp_events_emit(&events, &(na_plugin_event){.tag = in++});
        }
        uint32_t taken = tp_events_take(&events, out, 7);
        ck_assert_uint_eq(taken, 7);
        for (uint32_t i = 0; i < taken; i++)
            ck_assert_uint_eq(out[i].tag, next++);
    }
    ck_assert_uint_eq(events.count, 200);
    ck_assert_uint_eq(events.promised, 0);
    tp_events_fini(&events);
    ck_assert_uint_eq(tp_events_take(&events, out, 7), 0);
}
END_TEST

START_TEST(reserved_events_have_room_beside_others)
{
    struct tp_events events = {0};

    for (int i = 0; i < 50; i++)
        ck_assert(tp_events_promise(&events));
    for (int i = 0; i < 50; i++)
        ck_assert(tp_events_emit_more(&events, &(na_plugin_event){.tag = 1}));
    ck_assert(events.size >= 100);
    for (int i = 0; i < 50; i++)
        tp_events_emit(&events, &(na_plugin_event){.tag = 2});
    ck_assert_uint_eq(events.count, 100);
    ck_assert(events.count <= events.size);
    tp_events_fini(&events);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("match");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, unexpected_receives_match_in_order);
    tcase_add_test(cases, queue_keeps_copies_in_order_up_to_its_quota);
    tcase_add_test(cases, one_message_is_queued_whatever_its_size);
    tcase_add_test(cases, taking_a_queued_message_frees_its_room);
    tcase_add_test(cases, own_memory_is_queued_whatever_the_quota);
    tcase_add_test(
        cases, expected_messages_are_matched_by_owner_context_and_tag);
    tcase_add_test(cases, early_messages_are_bounded_and_the_oldest_dropped);
    tcase_add_test(cases, dropping_an_owner_keeps_the_others);
    tcase_add_test(cases, held_sends_wait_for_room_in_order);
    tcase_add_test(cases, receive_is_filled_or_too_short);
    tcase_add_test(cases, events_stay_in_order_as_the_ring_grows);
    tcase_add_test(cases, reserved_events_have_room_beside_others);
    return run_tcase("match", cases);
}
