/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: which message matches which receive; several senders; messages to the
 * class itself. */
#include "check/cases.h"

/* Receives of many tags, including the smallest and the largest, and messages
 * in another order: each gets its own. */
static void
tags(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_other(0, NULL);
    uint64_t length = kit_opened(a)->expected_header_size + 40;
    uint64_t top = kit_opened(a)->max_tag;
    const uint32_t count = 60;

    if (top > UINT32_MAX)
        top = UINT32_MAX;
    kit_lookup_both(a, b);
    for (uint32_t i = 0; i < count; i++)
        kit_recv_expected(b, i, a, length, i % 2 ? top - i : i);
    for (uint32_t i = count; i-- > 0;)
        kit_send_expected(a, i, b, length, i % 2 ? top - i : i, i);
    for (uint32_t i = 0; i < count; i++) {
        kit_await_message(b, i, 11, length, i % 2 ? top - i : i, i, KIT_NOBODY);
        kit_await_ok(a, i, 7);
    }
}

/* A receive whose tag is never sent stays pending. */
static void
tag_unmatched(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_local(NULL);
    uint64_t length = kit_opened(a)->expected_header_size + 40;
    struct kit_completion end;

    kit_lookup_both(a, b);
    kit_recv_expected(b, 0, a, length, 1000);
    for (uint32_t i = 0; i < 20; i++) {
        kit_recv_expected(b, 1, a, length, i);
        kit_send_expected(a, 1, b, length, i, i);
        kit_await_message(b, 1, 11, length, i, i, KIT_NOBODY);
        kit_await_ok(a, 1, 7);
    }
    kit_get_completion(b, 0, &end);
    kit_expect(!end.ended, 11, "an expected receive waits for its own tag",
        "%s", kit_completion_text(&end));
    kit_send_expected(a, 1, b, length, 1000, 7);
    kit_await_message(b, 0, 11, length, 1000, 7, KIT_NOBODY);
}

/* The same tag from two senders: each receive gets that of its source. */
static void
sources(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_other(0, NULL);
    struct kit_side *c = kit_other(1, NULL);
    uint64_t length = kit_opened(a)->expected_header_size + 40;

    kit_lookup(a, b);
    kit_lookup(a, c);
    kit_lookup(b, a);
    kit_lookup(c, a);
    for (uint32_t i = 0; i < 20; i++) {
        kit_recv_expected(a, 0, b, length, 5);
        kit_recv_expected(a, 1, c, length, 5);
        kit_send_expected(c, 1, a, length, 5, 100 + i);
        kit_await_message(a, 1, 11, length, 5, 100 + i, KIT_NOBODY);
        kit_send_expected(b, 0, a, length, 5, 200 + i);
        kit_await_message(a, 0, 11, length, 5, 200 + i, KIT_NOBODY);
        kit_await_ok(b, 0, 7);
        kit_await_ok(c, 1, 7);
    }
}

/* Unexpected and expected messages with one tag do not match each other's
 * receives. */
static void
kinds(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_local(NULL);
    uint64_t length = kit_opened(a)->unexpected_header_size + 40;
    uint64_t expected = kit_opened(a)->expected_header_size + 41;

    kit_lookup_both(a, b);
    kit_recv_expected(b, 0, a, expected, 5);
    kit_send_unexpected(a, 0, b, length, 5, 1);
    kit_recv_unexpected(b, 1, length);
    kit_await_message(b, 1, 11, length, 5, 1, kit_number(a));
    kit_send_expected(a, 1, b, expected, 5, 2);
    kit_await_message(b, 0, 11, expected, 5, 2, KIT_NOBODY);
    kit_await_ok(a, 0, 7);
    kit_await_ok(a, 1, 7);
}

/* Several processes send at a time: each message arrives once, with its
 * sender. */
static void
senders(void)
{
    struct kit_side *a = kit_local(NULL), *from[3];
    uint64_t header = kit_opened(a)->unexpected_header_size;
    uint32_t counts[KIT_SIDES] = {0}, total = 0;
    const uint32_t each = 100;

    for (uint32_t i = 0; i < 3; i++) {
        from[i] = kit_remote(i, NULL);
        kit_lookup(from[i], a);
        kit_lookup(a, from[i]);
    }
    for (uint32_t i = 0; i < 16; i++)
        kit_recv_unexpected(a, i, header + 16);
    for (uint32_t j = 0; j < each; j++)
        for (uint32_t i = 0; i < 3; i++)
            kit_send_unexpected(
                from[i], j, a, header + 8 + i, kit_number(from[i]), j);
    for (uint32_t op = 0; total < 3 * each; op = (op + 1) % 16) {
        struct kit_completion end;

        kit_run();
        kit_get_completion(a, op, &end);
        if (!end.ended) {
            /* There is no order: any of the receives may be next. */
            kit_await(a, op, 11, &end);
        }
        kit_expect(end.status == NA_PLUGIN_OK && end.source < KIT_SIDES &&
                       end.source == end.tag,
            11, "an unexpected message names its sender",
            "address %d for a message of %d", (int) end.source, (int) end.tag);
        kit_expect(end.seed == counts[end.source]++ || end.seed < each, 11,
            "each message arrives whole", "another one arrived");
        total++;
        if (total + 16 <= 3 * each)
            kit_recv_unexpected(a, op, header + 16);
    }
    for (uint32_t i = 0; i < 3; i++)
        kit_expect(counts[kit_number(from[i])] == each, 11,
            "no sender's messages are lost", "%u of %u",
            counts[kit_number(from[i])], each);
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t j = 0; j < each; j++)
            kit_await_ok(from[i], j, 7);
}

/* To oneself: all kinds, with and without a posted receive. */
static void
self_send(void)
{
    struct kit_side *a = kit_local(NULL);
    uint64_t length = kit_opened(a)->max_unexpected_size;
    uint64_t expected = kit_opened(a)->max_expected_size;

    for (uint32_t i = 0; i < 20; i++) {
        kit_recv_unexpected(a, 0, length);
        kit_send_unexpected(a, 1, a, length, i, i);
        kit_await_message(a, 0, 11, length, i, i, kit_number(a));
        kit_await_ok(a, 1, 7);
        kit_send_unexpected(a, 1, a, length, i, i + 1);
        kit_recv_unexpected(a, 0, length);
        kit_await_message(a, 0, 11, length, i, i + 1, kit_number(a));
        kit_await_ok(a, 1, 7);
        kit_recv_expected(a, 2, a, expected, i);
        kit_send_expected(a, 3, a, expected, i, i + 2);
        kit_await_message(a, 2, 11, expected, i, i + 2, KIT_NOBODY);
        kit_await_ok(a, 3, 7);
    }
}

/* Both sides send requests at the same time, repeatedly. */
static void
both_ways(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_remote(0, NULL);
    uint64_t length = kit_opened(a)->unexpected_header_size + 64;
    uint64_t expected = kit_opened(a)->expected_header_size + 64;

    kit_lookup_both(a, b);
    for (uint32_t i = 0; i < kit_times(200); i++) {
        kit_recv_unexpected(a, 0, length);
        kit_recv_unexpected(b, 0, length);
        kit_recv_expected(a, 1, b, expected, i);
        kit_recv_expected(b, 1, a, expected, i);
        kit_send_unexpected(a, 2, b, length, i, i);
        kit_send_unexpected(b, 2, a, length, i, i + 1);
        kit_await_message(a, 0, 11, length, i, i + 1, kit_number(b));
        kit_send_expected(a, 3, b, expected, i, i + 2);
        kit_await_message(b, 0, 11, length, i, i, kit_number(a));
        kit_send_expected(b, 3, a, expected, i, i + 3);
        kit_await_message(a, 1, 11, expected, i, i + 3, KIT_NOBODY);
        kit_await_message(b, 1, 11, expected, i, i + 2, KIT_NOBODY);
        kit_await_ok(a, 2, 7);
        kit_await_ok(a, 3, 7);
        kit_await_ok(b, 2, 7);
        kit_await_ok(b, 3, 7);
    }
}

static const struct kit_case cases[] = {
    {"tags", 11, 0, 0, 0, "expected receives match by tag", tags},
    {"tags_interprocess", 11, 0, 1, 0, "likewise between processes", tags},
    {"tag_unmatched", 11, 0, 0, 0, "an expected receive waits for its own tag",
        tag_unmatched},
    {"sources", 11, 0, 0, 0, "expected receives match by source", sources},
    {"sources_interprocess", 11, 0, 2, 0, "likewise between processes",
        sources},
    {"kinds", 11, 0, 0, 0,
        "expected and unexpected messages do not match each other's receives",
        kinds},
    {"senders", 11, 0, 3, 0,
        "messages of several senders all arrive, with their sources", senders},
    {"self_send", 11, 0, 0, 0, "a class sends to itself", self_send},
    {"both_ways", 11, 0, 1, 0, "two peers send requests and answers at once",
        both_ways},
};

const struct kit_group kit_cases_match = {
    cases, sizeof cases / sizeof cases[0]};
