/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: cancelling at each stage, and ctx_destroy with work pending. */
#include "check/cases.h"

#include "check/class.h"

struct pair {
    struct kit_side *a;
    struct kit_side *b;
    uint64_t length;   /* of an unexpected message */
    uint64_t expected; /* of an expected one */
};

static struct pair
open_pair(void)
{
    struct pair pair = {.a = kit_local(NULL)};

    pair.b = kit_other(0, NULL);
    pair.length = kit_opened(pair.a)->unexpected_header_size + 64;
    pair.expected = kit_opened(pair.a)->expected_header_size + 64;
    kit_lookup_both(pair.a, pair.b);
    return pair;
}

static void
expect_end(const struct kit_completion *end, const char *what)
{
    kit_expect(
        end->status == NA_PLUGIN_E_CANCELED || end->status == NA_PLUGIN_OK, 10,
        "a cancelled operation ends with CANCELED, or as it would have",
        "%s: %s", what, kit_completion_text(end));
}

/* Cancels a receive without a message; the next message matches the next
 * receive. */
static void
receives(void)
{
    struct pair p = open_pair();
    struct kit_completion end;

    for (uint32_t i = 0; i < 50; i++) {
        kit_recv_unexpected(p.a, 0, p.length);
        kit_recv_unexpected(p.a, 1, p.length);
        kit_recv_expected(p.a, 2, p.b, p.expected, 3);
        kit_cancel(p.a, 0);
        kit_cancel(p.a, 2);
        kit_await(p.a, 0, 10, &end);
        kit_expect(end.status == NA_PLUGIN_E_CANCELED, 10,
            "a receive of nothing ends with CANCELED", "%s",
            kit_completion_text(&end));
        kit_await(p.a, 2, 10, &end);
        kit_expect(end.status == NA_PLUGIN_E_CANCELED, 10,
            "a receive of nothing ends with CANCELED", "%s",
            kit_completion_text(&end));
        /* The receive that was not canceled gets the message. */
        kit_send_unexpected(p.b, 0, p.a, p.length, i, i);
        kit_await_message(p.a, 1, 10, p.length, i, i, kit_number(p.b));
        kit_recv_expected(p.a, 2, p.b, p.expected, 3);
        kit_send_expected(p.b, 1, p.a, p.expected, 3, i);
        kit_await_message(p.a, 2, 10, p.expected, 3, i, KIT_NOBODY);
        kit_await_ok(p.b, 0, 7);
        kit_await_ok(p.b, 1, 7);
    }
}

/* Canceling an operation that was never submitted, has ended, or was canceled:
 * OK, and no event. */
static void
not_pending(void)
{
    struct pair p = open_pair();
    struct kit_completion end;

    kit_recv_unexpected(p.b, 0, p.length);
    kit_send_unexpected(p.a, 0, p.b, p.length, 1, 1);
    kit_await_message(p.b, 0, 11, p.length, 1, 1, kit_number(p.a));
    kit_await_ok(p.a, 0, 7);
    kit_cancel(p.b, 0);
    kit_cancel(p.a, 0);
    kit_cancel(p.a, 100);
    kit_recv_unexpected(p.b, 1, p.length);
    kit_cancel(p.b, 1);
    kit_cancel(p.b, 1);
    kit_await(p.b, 1, 10, &end);
    kit_cancel(p.b, 1);
    /* An event for one of them would break rule 7. */
    kit_run_for(kit_quiet());
    kit_recv_unexpected(p.b, 0, p.length);
    kit_send_unexpected(p.a, 0, p.b, p.length, 2, 2);
    kit_await_message(p.b, 0, 10, p.length, 2, 2, kit_number(p.a));
}

/* The message may arrive before the cancel. It is delivered once, to this
 * receive or the next one. */
static void
race(void)
{
    struct pair p = open_pair();

    for (uint32_t i = 0; i < kit_times(1000); i++) {
        struct kit_completion end;

        kit_recv_unexpected(p.a, 0, p.length);
        kit_send_unexpected(p.b, 0, p.a, p.length, i, i);
        for (uint32_t j = 0; j < i % 5; j++)
            kit_run();
        kit_get_completion(p.a, 0, &end);
        kit_cancel(p.a, 0);
        kit_await(p.a, 0, 10, &end);
        expect_end(&end, "a receive whose message is in flight");
        if (end.status == NA_PLUGIN_E_CANCELED) {
            kit_recv_unexpected(p.a, 0, p.length);
            kit_await_message(p.a, 0, 10, p.length, i, i, kit_number(p.b));
        } else {
            kit_expect(end.seed == i, 10,
                "a cancelled receive ends with the message that arrived",
                "another one");
        }
        kit_await_ok(p.b, 0, 7);
    }
}

/* Receives of a side that have ended. */
static uint32_t
count_ended(struct kit_side *side, uint32_t count)
{
    struct kit_completion end;
    uint32_t ended = 0;

    for (uint32_t i = 0; i < count; i++) {
        kit_get_completion(side, i, &end);
        ended += end.ended;
    }
    return ended;
}

/* Sends that are held back since the receiver does not poll. */
static void
sends(void)
{
    struct pair p = open_pair();
    uint64_t length = kit_opened(p.a)->max_unexpected_size;
    const uint32_t count = 300;
    uint32_t canceled = 0, arrived = 0;
    bool ended[300] = {false};

    kit_polls(p.b, false);
    for (uint32_t i = 0; i < count; i++)
        kit_send_unexpected(p.a, i, p.b, length, i, i);
    for (uint32_t i = 0; i < count; i += 2)
        kit_cancel(p.a, i);
    kit_polls(p.b, true);
    for (uint32_t i = 0; i < count; i++)
        kit_recv_unexpected(p.b, i, length);
    for (uint32_t i = 0; i < count; i++) {
        struct kit_completion end;

        kit_await(p.a, i, 10, &end);
        expect_end(&end, "a send that waits");
        ended[i] = end.status == NA_PLUGIN_E_CANCELED;
        canceled += ended[i];
        kit_expect(!ended[i] || i % 2 == 0, 10, "only what is cancelled is",
            "send %u was not", i);
    }
    /* A sent message may still be on its way, on a machine that is busy. */
    for (uint64_t limit = kit_now() + kit_patience();
         kit_now() < limit && count_ended(p.b, count) < count - canceled;)
        kit_run();
    kit_run_for(kit_quiet());
    for (uint32_t i = 0; i < count; i++) {
        struct kit_completion end;

        kit_get_completion(p.b, i, &end);
        if (!end.ended)
            continue;
        arrived++;
        kit_expect(end.status == NA_PLUGIN_OK && end.tag < count &&
                       end.hash ==
                           kit_pattern_hash(
                               length - kit_opened(p.b)->unexpected_header_size,
                               end.tag),
            10, "cancelling a send spoils no message", "%s",
            kit_completion_text(&end));
    }
    /* A canceled one may have been sent. */
    kit_expect(arrived >= count - canceled, 10,
        "cancelling a send loses no other", "%u arrived of %u, %u cancelled",
        arrived, count, canceled);
}

/* Puts and gets are canceled at once, or after some polls. */
static void
transfers(void)
{
    struct pair p = open_pair();
    const uint64_t size = 8U << 20;

    kit_region(p.a, &(struct kit_region){.number = 0,
                        .length = size,
                        .access = NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE,
                        .seed = 1});
    kit_region(p.b, &(struct kit_region){.number = 0,
                        .length = size,
                        .access = NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE,
                        .seed = 2});
    kit_expose(p.b, 0, p.a, 1);
    for (uint32_t i = 0; i < 20; i++) {
        struct kit_request request = {.kind = i % 2 ? KIT_PUT : KIT_GET,
            .op = i % 4,
            .peer = kit_number(p.b),
            .local = 0,
            .remote = 1,
            .length = size};
        struct kit_completion end;

        kit_post(p.a, &request);
        for (uint32_t j = 0; j < i / 2; j++)
            kit_run();
        kit_cancel(p.a, i % 4);
        kit_await(p.a, i % 4, 10, &end);
        expect_end(&end, "a transfer");
    }
    /* One that completes undisturbed. */
    kit_region_fill(p.b, 0, 0, size, 99);
    kit_post(p.a, &(struct kit_request){.kind = KIT_GET,
                      .op = 5,
                      .peer = kit_number(p.b),
                      .remote = 1,
                      .length = size});
    kit_await_ok(p.a, 5, 10);
    kit_expect(
        kit_region_hash(p.a, 0, 0, size) == kit_region_hash(p.b, 0, 0, size),
        10, "a get after cancelled ones brings the data", "other data");
}

/* ctx_destroy with receives, sends and a get pending: afterwards the kit
 * protects storage and buffers; the peer and the class continue to work. */
static void
destroy_pending(void)
{
    static const struct kit_open_options how = {.contexts = 1};
    struct kit_side *a = kit_local(&how);
    struct kit_side *b = kit_other(0, NULL);
    uint64_t length = kit_opened(a)->max_unexpected_size;
    uint64_t expected = kit_opened(a)->expected_header_size + 64;

    kit_lookup_both(a, b);
    for (uint32_t round = 0; round < 10; round++) {
        for (uint32_t i = 0; i < 8; i++) {
            kit_recv_unexpected(a, i, length);
            kit_recv_expected(a, 8 + i, b, expected, i);
        }
        for (uint32_t i = 0; i < 200; i++)
            kit_send_unexpected(a, 20 + i, b, length, i, i);
        kit_ctx_destroy(a, 0);
        /* A message that arrives now finds no receive. */
        for (uint32_t i = 0; i < 4; i++)
            kit_post(b, &(struct kit_request){.kind = KIT_SEND_EXPECTED,
                            .op = i,
                            .peer = kit_number(a),
                            .tag = i,
                            .may_fail = true,
                            .length = expected,
                            .own_buffer = true});
        kit_run_for(kit_quiet() / 4);
        kit_ctx_create(a, 0);
        kit_run_for(kit_quiet() / 4);
        for (uint32_t i = 0; i < 4; i++)
            kit_cancel(b, i);
        for (uint32_t i = 0; i < 4; i++) {
            struct kit_completion end;

            kit_await(b, i, 10, &end);
        }
    }
}

/* One of several contexts is destroyed; the others continue to work. */
static void
destroy_one(void)
{
    static const struct kit_open_options two = {.contexts = 2};
    struct kit_side *a = kit_local(&two), *b = kit_remote(0, NULL);
    uint64_t length = kit_opened(a)->unexpected_header_size + 64;

    kit_lookup_both(a, b);
    kit_post(a, &(struct kit_request){.kind = KIT_RECV_UNEXPECTED,
                    .op = 0,
                    .ctx = 1,
                    .length = length,
                    .own_buffer = true});
    kit_recv_unexpected(a, 1, length);
    kit_ctx_destroy(a, 1);
    kit_post(b, &(struct kit_request){.kind = KIT_SEND_UNEXPECTED,
                    .op = 0,
                    .peer = kit_number(a),
                    .peer_ctx = 1,
                    .length = length,
                    .may_fail = true});
    kit_send_unexpected(b, 1, a, length, 7, 7);
    kit_await_message(a, 1, 10, length, 7, 7, kit_number(b));
    kit_await_ok(b, 1, 7);
    kit_run_for(kit_quiet());
}

static const struct kit_case cases[] = {
    {"cancel_receives", 10, 0, 0, 0, "receives without a message are canceled",
        receives},
    {"cancel_receives_interprocess", 10, 0, 1, 0, "likewise between processes",
        receives},
    {"cancel_not_pending", 10, 0, 0, 0,
        "canceling an operation that is not pending does nothing", not_pending},
    {"cancel_race", 10, 0, 0, 0,
        "a message is received once, by the canceled receive or the next one",
        race},
    {"cancel_race_interprocess", 10, 0, 1, 0, "likewise between processes",
        race},
    {"cancel_sends", 10, 0, 1, 0, "held-back sends are canceled", sends},
    {"cancel_transfers", 10, KIT_NEEDS_RMA, 1, 0, "puts and gets are canceled",
        transfers},
    {"destroy_pending", 10, 0, 0, 0, "ctx_destroy releases pending operations",
        destroy_pending},
    {"destroy_pending_interprocess", 10, 0, 1, 0, "likewise between processes",
        destroy_pending},
    {"destroy_one", 10, KIT_NEEDS_CONTEXTS, 1, 0,
        "ctx_destroy does not affect other contexts", destroy_one},
};

const struct kit_group kit_cases_cancel = {
    cases, sizeof cases / sizeof cases[0]};
