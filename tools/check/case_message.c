/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: sizes of messages, their buffers, the storage of their operations. */
#include "check/cases.h"

/* Sends a message from a to b, which has posted a receive. */
static void
carry_unexpected(const struct kit_pair *pair, uint32_t op, uint64_t length,
    uint64_t tag, uint64_t seed)
{
    kit_recv_unexpected(pair->b, op, kit_opened(pair->b)->max_unexpected_size);
    kit_send_unexpected(pair->a, op, pair->b, length, tag, seed);
    kit_await_ok(pair->a, op, 7);
    kit_await_message(pair->b, op, 11, length, tag, seed, kit_number(pair->a));
}

static void
carry_expected(const struct kit_pair *pair, uint32_t op, uint64_t length,
    uint64_t tag, uint64_t seed)
{
    kit_recv_expected(
        pair->b, op, pair->a, kit_opened(pair->b)->max_expected_size, tag);
    kit_send_expected(pair->a, op, pair->b, length, tag, seed);
    kit_await_ok(pair->a, op, 7);
    kit_await_message(pair->b, op, 11, length, tag, seed, KIT_NOBODY);
}

/* Header only, a few bytes, powers of two, one less and one more, the largest. */
static void
all_sizes(const struct kit_pair *pair, bool expected)
{
    const na_plugin_opened *opened = kit_opened(pair->a);
    uint64_t header = expected ? opened->expected_header_size
                               : opened->unexpected_header_size;
    uint64_t max =
        expected ? opened->max_expected_size : opened->max_unexpected_size;
    uint64_t size = 1;
    uint32_t op = 0;

    if (header == 0)
        header = 1;
    while (header + size + 1 < max) {
        for (uint64_t d = 0; d < 3; d++, op = (op + 1) % 4) {
            uint64_t length = header + size + d - 1;

            if (expected)
                carry_expected(pair, op, length, size % 100, length);
            else
                carry_unexpected(pair, op, length, size % 100, length);
        }
        size *= 2;
    }
    for (uint32_t i = 0; i < 4; i++) {
        if (expected)
            carry_expected(pair, i, max, 7, 1000 + i);
        else
            carry_unexpected(pair, i, max, 7, 1000 + i);
    }
}

static void
unexpected_sizes(void)
{
    struct kit_pair pair = kit_pair_open(NULL);

    all_sizes(&pair, false);
}

static void
expected_sizes(void)
{
    struct kit_pair pair = kit_pair_open(NULL);

    all_sizes(&pair, true);
}

/* Longer than the limit of the class: refused at once, without effect. */
static void
over_maximum(void)
{
    struct kit_pair pair = kit_pair_open(NULL);
    const na_plugin_opened *opened = kit_opened(pair.a);
    struct kit_request request = {.kind = KIT_SEND_UNEXPECTED,
        .peer = kit_number(pair.b),
        .length = opened->max_unexpected_size + 1,
        .own_buffer = true,
        .may_fail = true};
    int32_t result = kit_post(pair.a, &request);

    kit_expect(result == NA_PLUGIN_E_MSGSIZE, 11,
        "a message longer than the maximum is refused at once with MSGSIZE",
        "send_unexpected: %s", kit_code_text(result));
    request.kind = KIT_SEND_EXPECTED;
    request.length = opened->max_expected_size + 1;
    result = kit_post(pair.a, &request);
    kit_expect(result == NA_PLUGIN_E_MSGSIZE, 11,
        "a message longer than the maximum is refused at once with MSGSIZE",
        "send_expected: %s", kit_code_text(result));
    carry_unexpected(&pair, 2, opened->max_unexpected_size, 1, 1);
}

/* Too long for the receive: the receive or the send ends with MSGSIZE. */
static void
over_receive(const struct kit_pair *pair, bool expected)
{
    const na_plugin_opened *opened = kit_opened(pair->a);
    uint64_t header = expected ? opened->expected_header_size
                               : opened->unexpected_header_size;
    uint64_t end_of_wait = kit_now() + kit_patience();
    struct kit_completion sent, received;

    if (expected) {
        kit_recv_expected(pair->b, 1, pair->a, header + 16, 5);
        kit_send_expected(pair->a, 1, pair->b, header + 17, 5, 3);
    } else {
        kit_recv_unexpected(pair->b, 1, header + 16);
        kit_send_unexpected(pair->a, 1, pair->b, header + 17, 5, 3);
    }
    do {
        kit_run();
        kit_get_completion(pair->a, 1, &sent);
        kit_get_completion(pair->b, 1, &received);
        if (received.ended || (sent.ended && sent.status != NA_PLUGIN_OK))
            break;
    } while (kit_now() < end_of_wait);
    kit_expect((received.ended && received.status == NA_PLUGIN_E_MSGSIZE) ||
                   (sent.ended && sent.status == NA_PLUGIN_E_MSGSIZE),
        11,
        "a message too long for its receive ends that or the send with "
        "MSGSIZE",
        "receive: %s", kit_completion_text(&received));
    if (!received.ended) {
        kit_cancel(pair->b, 1);
        kit_await(pair->b, 1, 10, &received);
    }
    kit_await(pair->a, 1, 7, &sent);
    /* The next message is not affected. */
    if (expected)
        carry_expected(pair, 3, header + 16, 6, 4);
    else
        carry_unexpected(pair, 3, header + 16, 6, 4);
}

static void
over_receive_unexpected(void)
{
    struct kit_pair pair = kit_pair_open(NULL);

    over_receive(&pair, false);
}

static void
over_receive_expected(void)
{
    struct kit_pair pair = kit_pair_open(NULL);

    over_receive(&pair, true);
}

/* One operation is used for all kinds in turn: its storage may have any
 * contents. */
static void
use_again(
    const struct kit_pair *pair, bool expected, uint64_t length, uint64_t i)
{
    uint32_t source = expected ? KIT_NOBODY : kit_number(pair->a);

    if (expected) {
        kit_recv_expected(pair->b, 1, pair->a, length, i % 7);
        kit_send_expected(pair->a, 1, pair->b, length, i % 7, i);
    } else {
        kit_recv_unexpected(pair->b, 1, length);
        kit_send_unexpected(pair->a, 1, pair->b, length, i % 7, i);
    }
    kit_await_ok(pair->a, 1, 6);
    kit_await_message(pair->b, 1, 6, length, i % 7, i, source);
}

static void
storage_reused(void)
{
    struct kit_pair pair = kit_pair_open(NULL);
    struct kit_pair back = {.a = pair.b, .b = pair.a};
    uint64_t unexpected = kit_opened(pair.a)->max_unexpected_size / 2 + 8;
    uint64_t expected = kit_opened(pair.a)->expected_header_size + 9;

    for (uint32_t i = 0; i < 200; i++) {
        use_again(&pair, i % 3 != 0, i % 3 != 0 ? expected : unexpected, i);
        if (i % 5 == 0)
            use_again(&back, false, unexpected, i);
    }
}

/* As many operations at a time as possible: each event names its own. */
static void
many_pending(void)
{
    struct kit_pair pair = kit_pair_open(NULL);
    uint64_t header = kit_opened(pair.a)->unexpected_header_size;
    const uint32_t count = 128;
    bool seen[128] = {false};

    for (uint32_t i = 0; i < count; i++)
        kit_recv_unexpected(pair.b, i, header + 64);
    for (uint32_t i = 0; i < count; i++)
        kit_send_unexpected(pair.a, i, pair.b, header + 8 + i % 56, i, i);
    for (uint32_t i = 0; i < count; i++) {
        struct kit_completion end;
        uint64_t n;

        kit_await(pair.b, i, 11, &end);
        kit_expect(end.status == NA_PLUGIN_OK, 11, "receives end with OK", "%s",
            kit_completion_text(&end));
        n = end.tag;
        kit_expect(n < count && !seen[n], 11, "each message arrives once",
            "tag %llu arrived twice, or was never sent",
            (unsigned long long) n);
        seen[n] = true;
        kit_expect(end.length == header + 8 + n % 56 &&
                       end.hash == kit_pattern_hash(8 + n % 56, n),
            11, "each message arrives whole", "number %llu did not",
            (unsigned long long) n);
        kit_await_ok(pair.a, i, 7);
    }
    kit_run_for(kit_quiet());
}

/* poll with room for one event loses nothing. */
static void
poll_one(void)
{
    struct kit_pair pair = kit_pair_open(NULL);
    uint64_t header = kit_opened(pair.a)->unexpected_header_size;

    kit_poll_max(pair.a, 1);
    kit_poll_max(pair.b, 1);
    for (uint32_t i = 0; i < 32; i++)
        kit_recv_unexpected(pair.b, i, header + 64);
    for (uint32_t i = 0; i < 32; i++)
        kit_send_unexpected(pair.a, i, pair.b, header + 9, i, i);
    for (uint32_t i = 0; i < 32; i++) {
        struct kit_completion end;

        kit_await(pair.b, i, 8, &end);
        kit_await_ok(pair.a, i, 8);
    }
}

/* Sends more than any queue holds to a receiver that polls late. */
static void
flood(void)
{
    struct kit_pair pair = kit_pair_open(NULL);
    uint64_t length = kit_opened(pair.a)->max_unexpected_size;
    const uint32_t count = 400;
    bool seen[400] = {false};

    kit_polls(pair.b, false);
    for (uint32_t i = 0; i < count; i++)
        kit_send_unexpected(pair.a, i, pair.b, length, i, i);
    kit_run_for(kit_quiet());
    kit_polls(pair.b, true);
    for (uint32_t i = 0; i < count; i++) {
        struct kit_completion end;
        uint64_t n;

        kit_recv_unexpected(pair.b, 0, length);
        kit_await(pair.b, 0, 11, &end);
        n = end.tag;
        kit_expect(end.status == NA_PLUGIN_OK && n < count && !seen[n], 11,
            "unexpected messages that found no receive all arrive, once", "%s",
            kit_completion_text(&end));
        seen[n] = true;
        kit_expect(
            end.hash ==
                kit_pattern_hash(
                    length - kit_opened(pair.b)->unexpected_header_size, n),
            11, "each message arrives whole", "number %llu did not",
            (unsigned long long) n);
    }
    for (uint32_t i = 0; i < count; i++)
        kit_await_ok(pair.a, i, 7);
}

static void
flood_small_interprocess(void)
{
    struct kit_pair pair = kit_pair_open(NULL);
    uint64_t header = kit_opened(pair.a)->unexpected_header_size;

    kit_polls(pair.b, false);
    for (uint32_t i = 0; i < KIT_OPS; i++)
        kit_send_unexpected(pair.a, i, pair.b, header + 8, i, i);
    kit_run_for(kit_quiet());
    kit_polls(pair.b, true);
    for (uint32_t i = 0; i < KIT_OPS; i++) {
        struct kit_completion end;

        kit_recv_unexpected(pair.b, i, header + 8);
        kit_await(pair.b, i, 11, &end);
        kit_expect(end.status == NA_PLUGIN_OK && end.tag == end.seed, 11,
            "unexpected messages that found no receive all arrive, once", "%s",
            kit_completion_text(&end));
    }
    for (uint32_t i = 0; i < KIT_OPS; i++)
        kit_await_ok(pair.a, i, 7);
}

/* The buffer of a completed send is overwritten at once and protected. A
 * transport that still reads it faults, or sends other bytes. */
static void
early_reuse(void)
{
    struct kit_pair pair = kit_pair_open(NULL);
    uint64_t length = kit_opened(pair.a)->max_unexpected_size;

    kit_polls(pair.b, false);
    for (uint32_t i = 0; i < 64; i++) {
        struct kit_completion end;

        /* The same few operations: reusing one frees its buffer. */
        kit_get_completion(pair.a, i % 8, &end);
        if (i >= 8 && !end.ended)
            break;
        kit_send_unexpected(pair.a, i % 8, pair.b, length, i, i);
        for (uint32_t j = 0; j < 100 && !end.ended; j++)
            kit_run();
    }
    kit_polls(pair.b, true);
    for (uint32_t i = 0; i < 8; i++) {
        struct kit_completion end;

        kit_recv_unexpected(pair.b, i, length);
        kit_await(pair.b, i, 11, &end);
        kit_expect(
            end.status == NA_PLUGIN_OK &&
                end.hash ==
                    kit_pattern_hash(
                        length - kit_opened(pair.b)->unexpected_header_size,
                        end.tag),
            11, "a message is what the buffer held when it was sent", "%s",
            kit_completion_text(&end));
    }
}

static const struct kit_case cases[] = {
    {"unexpected_sizes", 11, 0, 0, 0,
        "unexpected messages of all sizes arrive complete", unexpected_sizes},
    {"unexpected_sizes_interprocess", 11, 0, 1, 0, "likewise between processes",
        unexpected_sizes},
    {"expected_sizes", 11, 0, 0, 0,
        "expected messages of all sizes arrive complete", expected_sizes},
    {"expected_sizes_interprocess", 11, 0, 1, 0, "likewise between processes",
        expected_sizes},
    {"over_maximum", 11, 0, 0, 0,
        "a message longer than the maximum is refused at once", over_maximum},
    {"over_receive_unexpected", 11, 0, 0, 0,
        "a message longer than its receive ends with MSGSIZE",
        over_receive_unexpected},
    {"over_receive_expected", 11, 0, 1, 0,
        "likewise expected messages, between processes", over_receive_expected},
    {"storage_reused", 6, 0, 0, 0,
        "an operation can be reused for any kind of operation", storage_reused},
    {"many_pending", 6, 0, 0, 0, "events name the operation that they end",
        many_pending},
    {"many_pending_interprocess", 7, 0, 1, 0,
        "each of many operations has one final event", many_pending},
    {"poll_one", 8, 0, 0, 0, "poll works with room for one event", poll_one},
    {"flood", 11, 0, 0, 0,
        "large unexpected messages without a receive are not lost", flood},
    {"flood_interprocess", 11, 0, 1, 0, "likewise between processes", flood},
    {"flood_small_interprocess", 11, 0, 1, 0, "likewise small ones",
        flood_small_interprocess},
    {"early_reuse", 11, 0, 1, 0, "the buffer of a completed send is free",
        early_reuse},
};

const struct kit_group kit_cases_message = {
    cases, sizeof cases / sizeof cases[0]};
