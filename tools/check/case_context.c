/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: several contexts of a class. */
#include "check/cases.h"

#include "check/class.h"
#include "check/shared.h"

static const struct kit_open_options two = {.contexts = 2};
static const struct kit_open_options three = {.contexts = 3};

/* Receives at one context, with an idle receive at the other; sends from a
 * context. */
static void
post_numbered(struct kit_side *a, struct kit_side *b, uint32_t from,
    uint32_t to, uint32_t i)
{
    uint64_t length = kit_opened(a)->unexpected_header_size + 64;
    uint64_t expected = kit_opened(a)->expected_header_size + 64;
    struct kit_request request = {
        .kind = KIT_RECV_UNEXPECTED, .ctx = to, .length = length};

    kit_post(b, &request);
    request.op = 1;
    request.ctx = 1 - to;
    request.own_buffer = true;
    kit_post(b, &request);
    request = (struct kit_request){.kind = KIT_RECV_EXPECTED,
        .op = 2,
        .ctx = to,
        .peer = kit_number(a),
        .peer_ctx = from,
        .tag = 5,
        .length = expected};
    kit_post(b, &request);
    request.op = 3;
    request.ctx = 1 - to;
    kit_post(b, &request);
    request = (struct kit_request){.kind = KIT_SEND_UNEXPECTED,
        .ctx = from,
        .peer = kit_number(b),
        .peer_ctx = to,
        .tag = i,
        .length = length,
        .seed = i};
    kit_post(a, &request);
    request.kind = KIT_SEND_EXPECTED;
    request.op = 1;
    request.tag = 5;
    request.length = expected;
    kit_post(a, &request);
}

/* Messages between all pairs of contexts reach the context they are sent to. */
static void
numbered(void)
{
    struct kit_side *a = kit_local(&two);
    struct kit_side *b = kit_other(0, &two);
    uint64_t length = kit_opened(a)->unexpected_header_size + 64;
    uint64_t expected = kit_opened(a)->expected_header_size + 64;

    kit_lookup_both(a, b);
    for (uint32_t i = 0; i < 40; i++) {
        struct kit_completion end;

        post_numbered(a, b, i % 2, i / 2 % 2, i);
        kit_await_message(b, 0, 11, length, i, i, kit_number(a));
        kit_await_message(b, 2, 11, expected, 5, i, KIT_NOBODY);
        kit_await_ok(a, 0, 7);
        kit_await_ok(a, 1, 7);
        for (uint32_t op = 1; op < 4; op += 2) {
            kit_get_completion(b, op, &end);
            kit_expect(!end.ended, 11,
                "a message is received by the context it is sent to",
                "by another");
            kit_cancel(b, op);
            kit_await(b, op, 10, &end);
        }
    }
}

/* An expected receive matches the context that sent the message. */
static void
from_context(void)
{
    struct kit_side *a = kit_local(&two), *b = kit_remote(0, &two);
    uint64_t length = kit_opened(a)->expected_header_size + 64;

    kit_lookup_both(a, b);
    for (uint32_t ctx = 0; ctx < 2; ctx++)
        kit_post(b, &(struct kit_request){.kind = KIT_RECV_EXPECTED,
                        .op = ctx,
                        .peer = kit_number(a),
                        .peer_ctx = ctx,
                        .tag = 5,
                        .length = length});
    for (uint32_t ctx = 2; ctx-- > 0;) {
        kit_post(a, &(struct kit_request){.kind = KIT_SEND_EXPECTED,
                        .op = ctx,
                        .ctx = ctx,
                        .peer = kit_number(b),
                        .tag = 5,
                        .length = length,
                        .seed = ctx});
        kit_await_message(b, ctx, 11, length, 5, ctx, KIT_NOBODY);
        kit_await_ok(a, ctx, 7);
    }
}

/* Without CTX_PARALLEL any poll advances the whole class. The other context's
 * events are returned by its next poll, once. */
static void
poll_one_of(void)
{
    struct kit_side *a = kit_local(&two), *b = kit_remote(0, NULL);
    uint64_t length = kit_opened(a)->unexpected_header_size + 64;
    uint64_t end_of_wait;
    struct kit_completion end;
    uint32_t events;

    if (kit_opened(a)->features & NA_PLUGIN_FEATURE_CTX_PARALLEL)
        kit_not_offered("contexts progress in parallel, each by itself");
    kit_lookup_both(a, b);
    kit_post(a,
        &(struct kit_request){
            .kind = KIT_RECV_UNEXPECTED, .op = 0, .ctx = 1, .length = length});
    kit_post(a, &(struct kit_request){.kind = KIT_SEND_UNEXPECTED,
                    .op = 1,
                    .ctx = 1,
                    .peer = kit_number(b),
                    .tag = 1,
                    .length = length});
    kit_recv_unexpected(b, 0, length);
    kit_polls(a, false);
    /* Only context 0 is polled while the send is transmitted and its answer
     * arrives. */
    end_of_wait = kit_now() + kit_patience();
    do {
        kit_poll(a, 0);
        kit_get_completion(b, 0, &end);
    } while (!end.ended && kit_now() < end_of_wait);
    kit_expect(end.ended, 11, "polling any context advances the class's work",
        "what context 1 sends does not go out by polling context 0");
    kit_post(b, &(struct kit_request){.kind = KIT_SEND_UNEXPECTED,
                    .op = 1,
                    .peer = kit_number(a),
                    .peer_ctx = 1,
                    .tag = 2,
                    .length = length,
                    .seed = 2});
    end_of_wait = kit_now() + kit_quiet();
    do {
        kit_poll(a, 0);
        kit_get_completion(b, 1, &end);
    } while (kit_now() < end_of_wait);
    kit_poll_max(a, KIT_POLL_MAX);
    events = kit_poll(a, 1);
    kit_get_completion(a, 0, &end);
    kit_expect(events >= 1 && end.ended, 11,
        "polling any context advances the class's work",
        "context 1 had %u events when it was polled, and its receive %s",
        events, end.ended ? "had ended" : "was pending");
    kit_polls(a, true);
    kit_await_ok(a, 1, 7);
}

/* A number in use, numbers above the limit, any order, repeatedly. */
static void
numbers(void)
{
    static const struct kit_open_options none = {
        .no_contexts = true, .contexts = 3};
    struct kit_side *a = kit_local(&none);
    struct kit_class *cls = kit_class_of(a);
    uint32_t most = kit_opened(a)->max_contexts;
    na_plugin_ctx *const untouched = (na_plugin_ctx *) (uintptr_t) 0x5A5A5A5A;
    na_plugin_ctx *ctx = untouched;
    int32_t result;

    for (uint32_t round = 0; round < 5; round++) {
        uint32_t last = most < 3 ? most - 1 : 2;

        for (uint32_t i = last + 1; i-- > 0;)
            kit_ctx_create(a, i);
        result = cls->ops.ctx_create(cls->cls, 0, &cls->wakes[0], &ctx);
        kit_expect(result == NA_PLUGIN_E_EXIST, 12,
            "ctx_create: EXIST for a number in use", "%s",
            kit_code_text(result));
        if (most < 256) {
            result = cls->ops.ctx_create(cls->cls, most, &cls->wakes[7], &ctx);
            kit_expect(result == NA_PLUGIN_E_OVERFLOW, 12,
                "ctx_create: OVERFLOW from max_contexts on", "%s for %u",
                kit_code_text(result), most);
        }
        kit_expect(ctx == untouched, 12, "outputs are untouched on an error",
            "ctx_create wrote its own");
        for (uint32_t i = 0; i <= last; i++)
            kit_ctx_destroy(a, i);
    }
}

/* A context created late receives what was sent to it before. */
static void
late(void)
{
    struct kit_side *a = kit_local(&two), *b = kit_remote(0, NULL);
    uint64_t length = kit_opened(a)->unexpected_header_size + 64;

    kit_lookup_both(a, b);
    kit_ctx_destroy(a, 1);
    kit_recv_unexpected(a, 0, length);
    kit_send_unexpected(b, 0, a, length, 1, 1);
    kit_await_message(a, 0, 11, length, 1, 1, kit_number(b));
    kit_ctx_create(a, 1);
    for (uint32_t i = 0; i < 10; i++) {
        kit_post(a, &(struct kit_request){.kind = KIT_RECV_UNEXPECTED,
                        .op = 2,
                        .ctx = 1,
                        .length = length});
        kit_post(b, &(struct kit_request){.kind = KIT_SEND_UNEXPECTED,
                        .op = 2,
                        .peer = kit_number(a),
                        .peer_ctx = 1,
                        .tag = i,
                        .length = length,
                        .seed = i});
        kit_await_message(a, 2, 11, length, i, i, kit_number(b));
        kit_await_ok(b, 2, 7);
    }
}

/* Contexts of one class send to each other. */
static void
local_exchange(void)
{
    struct kit_side *a = kit_local(&three);
    uint64_t length = kit_opened(a)->unexpected_header_size + 64;

    for (uint32_t i = 0; i < 27; i++) {
        kit_post(a, &(struct kit_request){.kind = KIT_RECV_UNEXPECTED,
                        .op = 0,
                        .ctx = i % 3,
                        .length = length});
        kit_post(a, &(struct kit_request){.kind = KIT_SEND_UNEXPECTED,
                        .op = 1,
                        .ctx = i / 3 % 3,
                        .peer = kit_number(a),
                        .peer_ctx = i % 3,
                        .tag = i,
                        .length = length,
                        .seed = i});
        kit_await_message(a, 0, 11, length, i, i, kit_number(a));
        kit_await_ok(a, 1, 7);
    }
}

static const struct kit_case cases[] = {
    {"contexts_numbered", 11, KIT_NEEDS_CONTEXTS, 0, 0,
        "messages reach the context they are sent to", numbered},
    {"contexts_numbered_interprocess", 11, KIT_NEEDS_CONTEXTS, 1, 0,
        "likewise between processes", numbered},
    {"contexts_matched", 11, KIT_NEEDS_CONTEXTS, 1, 0,
        "expected receives match the peer's context", from_context},
    {"contexts_polled", 11, KIT_NEEDS_CONTEXTS, 1, 0,
        "polling any context advances the class", poll_one_of},
    {"contexts_created", 12, 0, 0, 0,
        "contexts are created and destroyed, in any order, within max_contexts",
        numbers},
    {"contexts_late", 11, KIT_NEEDS_CONTEXTS, 1, 0,
        "a context that is created late works", late},
    {"contexts_self", 11, KIT_NEEDS_CONTEXTS, 0, 0,
        "contexts of a class send to one another", local_exchange},
};

const struct kit_group kit_cases_context = {
    cases, sizeof cases / sizeof cases[0]};
