/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: one of several contexts is destroyed; the peer dies and restarts; the
 * peer's address is forgotten; and what must continue. */
#include "check/cases.h"

#include "check/class.h"
#include "check/contexts.h"
#include "check/peers.h"

#include <signal.h>
#include <string.h>

#define LARGE (2ULL << 20)

/* a has b's region 0 as 1; each context of a uses a third of it. */
struct sides {
    struct kit_side *a;
    struct kit_side *b;
    uint64_t length; /* of a small message */
    bool rma;
    uint64_t part; /* of one get */
};

static struct sides
open_sides(void)
{
    struct sides s = {.a = kit_local(&three), .b = kit_remote(0, &three)};
    struct kit_region region = {.segments = 1,
        .access = NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE,
        .length = N * LARGE};
    uint64_t most = kit_opened(s.a)->max_rma_size;

    s.length = kit_small(s.a);
    s.rma = kit_class_offers(kit_class_of(s.a), KIT_NEEDS_RMA);
    s.part = most > 0 && most < LARGE ? most : LARGE;
    kit_lookup_both(s.a, s.b);
    for (uint32_t pair = 0; pair < PAIRS; pair++)
        kit_round_trip_between(s.a, pair / N, s.b, pair % N, 11);
    if (s.rma) {
        kit_region(s.a, &region);
        kit_region(s.b, &region);
        kit_expose(s.b, 0, s.a, 1);
    }
    return s;
}

/* Operations that every context of a has pending with b. */
#define RECEIVE 0U   /* PAIRS: expected receives without a message */
#define EXPECTED 20U /* PAIRS: expected sends without a receive */
#define GET 40U      /* N */
#define PUT 44U      /* N */
#define SEND 100U    /* N times SENDS: as many unexpected ones as fit */
#define SENDS 40U

static void
post_message(
    const struct sides *s, enum kit_kind kind, uint32_t op, uint32_t pair)
{
    struct kit_request request =
        between(kind, op, pair / N, kit_number(s->b), pair % N);

    request.tag = 1000 + pair;
    request.length = s->length;
    request.may_fail = true;
    kit_post(s->a, &request);
}

static void
post_transfer(
    const struct sides *s, enum kit_kind kind, uint32_t op, uint32_t ctx)
{
    struct kit_request request =
        between(kind, op, ctx, kit_number(s->b), (ctx + 1) % N);

    request.local = 0;
    request.remote = 1;
    request.local_offset = request.remote_offset = ctx * LARGE;
    request.length = s->part;
    request.may_fail = true;
    kit_post(s->a, &request);
}

/* Of a context, or of all if ctx is N. */
static void
post_of(const struct sides *s, uint32_t ctx)
{
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        if (ctx != N && pair / N != ctx)
            continue;
        post_message(s, KIT_RECV_EXPECTED, RECEIVE + pair, pair);
        post_message(s, KIT_SEND_EXPECTED, EXPECTED + pair, pair);
    }
    for (uint32_t i = 0; s->rma && i < N; i++) {
        if (ctx != N && i != ctx)
            continue;
        post_transfer(s, KIT_GET, GET + i, i);
        post_transfer(s, KIT_PUT, PUT + i, i);
    }
}

static void
post_sends(const struct sides *s)
{
    for (uint32_t i = 0; i < N * SENDS; i++) {
        struct kit_request request = between(
            KIT_SEND_UNEXPECTED, SEND + i, i % N, kit_number(s->b), i / N % N);

        request.length = kit_opened(s->a)->max_unexpected_size;
        kit_post(s->a, &request);
        if (i % 8 == 7)
            kit_run();
    }
}

static void
expect_pending(const struct sides *s, uint32_t op, const char *what)
{
    struct kit_completion end;

    kit_get_completion(s->a, op, &end);
    kit_expect(!end.ended, 10, what, "a receive of context %u: %s",
        (op - RECEIVE) / N, kit_completion_text(&end));
}

/* ONE CONTEXT IS DESTROYED, with all its pending operations, and created
 * again. */
static void
recreated(void)
{
    struct sides s = open_sides();

    for (uint32_t round = 0; round < kit_times(20); round++) {
        kit_step("destroys a context with everything pending");
        post_of(&s, N);
        if (round % 2 == 1)
            kit_run();
        kit_ctx_destroy(s.a, 1);
        kit_step("the others go on");
        kit_round_trip_between(s.a, 0, s.b, 1, 10);
        kit_round_trip_between(s.b, 1, s.a, 2, 10);
        for (uint32_t pair = 0; pair < PAIRS; pair++) {
            if (pair / N == 1)
                continue;
            expect_pending(&s, RECEIVE + pair,
                "ctx_destroy ends nothing of other contexts");
            kit_await_ok(s.a, EXPECTED + pair, 10);
        }
        for (uint32_t i = 0; s.rma && i < N; i += 2) {
            kit_await_ok(s.a, GET + i, 10);
            kit_await_ok(s.a, PUT + i, 10);
        }
        kit_step("creates it again");
        kit_ctx_create(s.a, 1);
        for (uint32_t j = 0; j < N; j++) {
            kit_round_trip_between(s.b, j, s.a, 1, 10);
            kit_round_trip_between(s.a, 1, s.b, j, 10);
        }
        /* Ended, to be posted again. */
        for (uint32_t pair = 0; pair < PAIRS; pair++) {
            struct kit_request request = between(
                KIT_SEND_EXPECTED, pair, pair % N, kit_number(s.a), pair / N);

            if (pair / N == 1)
                continue;
            request.tag = 1000 + pair;
            request.length = s.length;
            request.seed = round + pair;
            kit_post(s.b, &request);
            kit_await_message(s.a, RECEIVE + pair, 10, s.length, request.tag,
                request.seed, KIT_NOBODY);
            kit_await_ok(s.b, pair, 7);
        }
    }
}

/* THE PEER IS KILLED. */
static void
await_all_dead(const struct sides *s)
{
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        kit_await_dead(s->a, RECEIVE + pair, false);
        kit_await_dead(s->a, EXPECTED + pair, true);
    }
    for (uint32_t i = 0; s->rma && i < N; i++) {
        kit_await_dead(s->a, GET + i, true);
        kit_await_dead(s->a, PUT + i, true);
    }
    for (uint32_t i = 0; i < N * SENDS; i++)
        kit_await_dead(s->a, SEND + i, true);
}

/* A side that has not noticed the peer's end gets an error and tries again.
 * false: it never succeeded; see *end_p. */
static bool
try_to_reach(struct kit_side *from, uint32_t ctx, struct kit_side *to,
    uint32_t to_ctx, uint64_t limit, struct kit_completion *sent_p)
{
    uint64_t length = kit_small(from);
    struct kit_request receive =
        between(KIT_RECV_UNEXPECTED, 400, to_ctx, 0, 0);
    struct kit_request send =
        between(KIT_SEND_UNEXPECTED, 402, ctx, kit_number(to), to_ctx);
    struct kit_completion received;

    receive.length = send.length = length;
    send.may_fail = true;
    send.seed = 9;
    kit_post(to, &receive);
    kit_post(from, &send);
    for (;;) {
        kit_run();
        kit_get_completion(to, 400, &received);
        kit_get_completion(from, 402, sent_p);
        if (received.ended && sent_p->ended)
            break;
        if (kit_now() > limit)
            return false;
        if (sent_p->ended && sent_p->status != NA_PLUGIN_OK)
            kit_post(from, &send);
    }
    kit_await_message(to, 400, 12, length, 0, 9, kit_number(from));
    return true;
}

static void
reach(struct kit_side *from, uint32_t ctx, struct kit_side *to, uint32_t to_ctx)
{
    struct kit_completion sent;
    bool reached =
        try_to_reach(from, ctx, to, to_ctx, kit_now() + kit_patience(), &sent);

    kit_expect(reached, 12, "a restarted peer is reached, from every context",
        "from context %u to context %u: %s", ctx, to_ctx,
        kit_completion_text(&sent));
}

/* An expected message in each direction; an unexpected one might match another
 * receive. */
static void
confirm(struct kit_side *from, uint32_t ctx, struct kit_side *to,
    uint32_t to_ctx, uint64_t tag)
{
    uint64_t length = kit_small(from);
    struct kit_request request =
        between(KIT_RECV_EXPECTED, 404, to_ctx, kit_number(from), ctx);

    request.tag = tag;
    request.length = length;
    kit_post(to, &request);
    request = between(KIT_SEND_EXPECTED, 406, ctx, kit_number(to), to_ctx);
    request.tag = tag;
    request.length = length;
    request.seed = tag;
    kit_post(from, &request);
    kit_await_message(to, 404, 12, length, tag, tag, KIT_NOBODY);
    kit_await_ok(from, 406, 12);
}

static void
connect_again(const struct sides *s)
{
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        kit_step("reaches it from every context");
        reach(s->a, pair / N, s->b, pair % N);
        kit_step("is reached");
        reach(s->b, pair % N, s->a, pair / N);
        confirm(s->a, pair / N, s->b, pair % N, 2000 + pair);
        confirm(s->b, pair % N, s->a, pair / N, 3000 + pair);
    }
}

static void
killed(void)
{
    struct sides s = open_sides();
    char text[KIT_TEXT_MAX];
    struct kit_open_options how = {.contexts = N, .at = text};
    struct kit_completion sent;

    memcpy(text, kit_address(s.b), sizeof text);
    kit_polls(s.b, false);
    kit_step("the peer is killed with all pending");
    post_of(&s, N);
    post_sends(&s);
    kit_signal(s.b, SIGKILL);
    await_all_dead(&s);
    kit_step("another takes its place");
    s.b = kit_remote(1, &how);
    kit_lookup(s.b, s.a);
    if (strcmp(kit_address(s.b), text) != 0 &&
        !try_to_reach(s.a, 0, s.b, 0, kit_now() + 20 * kit_quiet(), &sent))
        kit_not_offered(
            "a class opened at \"%s\" has \"%s\"", text, kit_address(s.b));
    connect_again(&s);
}

/* THE ADDRESS IS FORGOTTEN. */

/* Whether operations end after a cancel. */
static bool
can_cancel(const struct sides *s)
{
    uint64_t limit = kit_now() + 10 * kit_quiet();
    struct kit_completion end;

    post_message(s, KIT_RECV_EXPECTED, RECEIVE, 0);
    kit_run();
    kit_cancel(s->a, RECEIVE);
    do {
        kit_run();
        kit_get_completion(s->a, RECEIVE, &end);
    } while (!end.ended && kit_now() < limit);
    return end.ended;
}

static void
forgotten(void)
{
    struct sides s = open_sides();

    if (!can_cancel(&s))
        kit_not_offered("receives cannot be cancelled here");
    for (uint32_t round = 0; round < 3; round++) {
        kit_step("forgets a peer with all pending");
        post_of(&s, N);
        kit_run();
        kit_forget(s.a, kit_number(s.b));
        for (uint32_t pair = 0; pair < PAIRS; pair++) {
            struct kit_completion end;

            kit_await(s.a, RECEIVE + pair, 12, &end);
            kit_expect(end.status < 0, 12,
                "what is pending with a peer ends with an error when it is "
                "forgotten",
                "context %u: %s", pair / N, kit_completion_text(&end));
            kit_await(s.a, EXPECTED + pair, 12, &end);
        }
        for (uint32_t i = 0; s.rma && i < N; i++) {
            struct kit_completion end;

            kit_await(s.a, GET + i, 12, &end);
            kit_await(s.a, PUT + i, 12, &end);
        }
        connect_again(&s);
    }
}

static const struct kit_case cases[] = {
    {"contexts_recreated", 10, KIT_NEEDS_CONTEXTS, 1, 0,
        "a context is destroyed with pending operations and created again, "
        "without effect on others",
        recreated},
    {"contexts_killed", 7, KIT_NEEDS_CONTEXTS, 2, 0,
        "pending operations of all contexts end with their peer; the next peer "
        "at its address is reachable",
        killed},
    {"contexts_forget_peer", 12, KIT_NEEDS_CONTEXTS | KIT_NEEDS_FORGET, 1, 0,
        "forgetting a peer ends pending operations of all contexts", forgotten},
};

const struct kit_group kit_cases_contexts_end = {
    cases, sizeof cases / sizeof cases[0]};
