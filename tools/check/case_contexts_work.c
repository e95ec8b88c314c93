/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: pending work of several contexts: puts and gets of each, messages
 * without a receive, messages to the class itself. */
#include "check/cases.h"

#include "check/class.h"
#include "check/contexts.h"
#include "check/peers.h"

#include <sched.h>

/* PUT AND GET by each context, at a target that polls one context, not
 * necessarily the one they name. */
#define LENGTH UINT64_C(300001) /* of one put, and of one get */
#define SMALL UINT64_C(100)
#define TOLD 10U /* the target's receive, and the origin's send */
#define PUT 0U
#define GET 2U

struct service {
    uint32_t ctx;
    bool sleeps;
};

static void
serve(struct kit_class *cls, void *bytes)
{
    const struct service *service = bytes;
    uint64_t limit = kit_now() + 3 * kit_patience();
    struct kit_completion end;

    if (service->sleeps)
        kit_class_sleep_for(cls, service->ctx, 1, TOLD);
    do {
        if (kit_class_poll(cls, service->ctx) == 0)
            sched_yield();
        kit_class_end(cls, TOLD, &end);
        kit_expect(end.ended || kit_now() < limit, 11,
            "a message arrives at the context that is polled",
            "none at context %u", service->ctx);
    } while (!end.ended);
    kit_expect(end.status == NA_PLUGIN_OK, 11, "the receive ends with OK", "%s",
        kit_completion_text(&end));
}

/* Polls one context until its operation has ended with OK. */
static void
await_by(struct kit_side *side, uint32_t ctx, uint32_t op)
{
    uint64_t limit = kit_now() + kit_patience();
    struct kit_completion end;

    do {
        kit_poll(side, ctx);
        kit_get_completion(side, op, &end);
        kit_expect(end.ended || kit_now() < limit, 11,
            "puts and gets are served by the poll of any context",
            "operation %u of context %u is pending", op, ctx);
    } while (!end.ended);
    kit_expect(end.status == NA_PLUGIN_OK, 11,
        "a put, a get and a message between contexts end with OK", "%s",
        kit_completion_text(&end));
}

struct transfer {
    struct kit_side *a;
    struct kit_side *b;
    uint32_t from;   /* submits and is polled, at a */
    uint32_t named;  /* at b, by the put and the get */
    uint32_t polled; /* is polled, at b */
    bool sleeps;     /* b, on that one, while there is nothing to poll */
    uint64_t length;
    uint64_t seed;
};

/* Puts region 0 to b's 1, gets b's 0 into region 1, and checks both. */
static void
move(const struct transfer *t)
{
    uint32_t peer = kit_number(t->b);
    struct service service = {t->polled, t->sleeps};
    struct kit_request request =
        between(KIT_RECV_UNEXPECTED, TOLD, t->polled, 0, 0);

    kit_region_fill(t->a, 0, 0, t->length, t->seed);
    kit_region_fill(t->b, 0, 0, t->length, t->seed + 1);
    request.length = kit_small(t->b);
    kit_post(t->b, &request);
    kit_begin(t->b, serve, &service, sizeof service);
    request = between(KIT_PUT, PUT, t->from, peer, t->named);
    request.local = 0;
    request.remote = 3;
    request.length = t->length;
    kit_post(t->a, &request);
    request.kind = KIT_GET;
    request.op = GET;
    request.local = 1;
    request.remote = 2;
    kit_post(t->a, &request);
    await_by(t->a, t->from, GET);
    await_by(t->a, t->from, PUT);
    request = between(KIT_SEND_UNEXPECTED, TOLD, t->from, peer, t->polled);
    request.length = kit_small(t->a);
    kit_post(t->a, &request);
    await_by(t->a, t->from, TOLD);
    while (!kit_joined(t->b))
        kit_poll(t->a, t->from);
    kit_join(t->b, &service, sizeof service);
    kit_expect(kit_region_hash(t->a, 0, 0, t->length) ==
                       kit_region_hash(t->b, 1, 0, t->length) &&
                   kit_region_hash(t->b, 0, 0, t->length) ==
                       kit_region_hash(t->a, 1, 0, t->length),
        11, "what was put or got is what the source held",
        "other bytes: by context %u, naming %u, served by %u", t->from,
        t->named, t->polled);
}

static void
open_memory(struct kit_side *a, struct kit_side *b, uint64_t length)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct kit_region region = {.number = i,
            .segments = 1,
            .access = NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE,
            .length = length,
            .seed = i};

        kit_region(a, &region);
        kit_region(b, &region);
        kit_expose(b, i, a, 2 + i);
    }
}

static void
transfer_all(bool sleeps)
{
    struct transfer t = {.a = kit_local(&three),
        .b = kit_remote(0, &three),
        .sleeps = sleeps,
        .seed = 50};
    uint64_t most = kit_opened(t.a)->max_rma_size;
    uint64_t whole = most > 0 && most < LENGTH ? most : LENGTH;

    open_memory(t.a, t.b, whole);
    kit_lookup_both(t.a, t.b);
    kit_polls(t.a, false);
    kit_polls(t.b, false);
    kit_step("puts and gets by each context, served by one");
    for (t.from = 0; t.from < N; t.from++)
        for (t.polled = 0; t.polled < N; t.polled++)
            for (t.named = 0; t.named < N; t.named++) {
                t.length = t.named % 2 == 0 || whole < SMALL ? whole : SMALL;
                t.seed += UINT64_C(10);
                move(&t);
            }
}

static void
transfers(void)
{
    transfer_all(false);
}

static void
rma_sleeping_woken(void)
{
    transfer_all(true);
}

/* A BURST. All contexts send to one context of the other side, which posts no
 * receives; some messages are long. */
#define BURST 120U
#define RECEIVES 200U /* operations from here on */

static uint64_t
burst_length(struct kit_side *side, uint32_t i)
{
    return i % 8 == 0 ? kit_opened(side)->max_unexpected_size : kit_small(side);
}

static void
burst_send(struct kit_side *from, struct kit_side *to, uint32_t i)
{
    struct kit_request request =
        between(KIT_SEND_UNEXPECTED, i, i % N, kit_number(to), 1);

    request.length = burst_length(from, i);
    request.tag = i;
    request.seed = i;
    kit_post(from, &request);
}

static void
burst_receive(struct kit_side *to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct kit_request request =
            between(KIT_RECV_UNEXPECTED, RECEIVES + i, 1, 0, 0);

        request.length = kit_opened(to)->max_unexpected_size;
        kit_post(to, &request);
    }
}

/* All arrive, each once and complete. */
static void
burst_take(struct kit_side *from, struct kit_side *to, uint32_t count)
{
    uint64_t header = kit_opened(to)->unexpected_header_size;
    bool seen[BURST] = {false};

    for (uint32_t i = 0; i < count; i++) {
        struct kit_completion end;

        kit_await(to, RECEIVES + i, 11, &end);
        kit_expect(
            end.status == NA_PLUGIN_OK && end.tag < count &&
                end.length == burst_length(from, (uint32_t) end.tag) &&
                end.hash == kit_pattern_hash(end.length - header, end.tag),
            11, "a message without a receive is kept, and arrives whole",
            "%s, tag %llu, %llu bytes", kit_completion_text(&end),
            (unsigned long long) end.tag, (unsigned long long) end.length);
        kit_expect(!seen[end.tag], 11, "each message arrives once",
            "number %llu twice", (unsigned long long) end.tag);
        kit_expect(end.source == kit_number(from), 11,
            "a message names its sender", "address %d", (int) end.source);
        seen[end.tag] = true;
    }
    for (uint32_t i = 0; i < count; i++)
        kit_await_ok(from, i, 7);
}

static void
burst(void)
{
    struct kit_side *a = kit_local(&three), *b = kit_remote(0, &three);

    kit_lookup_both(a, b);
    for (uint32_t round = 0; round < kit_times(20); round++) {
        kit_step("sends to a context that has no receives");
        for (uint32_t i = 0; i < BURST; i++) {
            burst_send(a, b, i);
            if (i % 8 == 7) {
                kit_round_trip_between(a, i / 8 % N, b, 0, 11);
                kit_round_trip_between(a, i / 8 % N, b, 2, 11);
            }
        }
        kit_step("the others go on");
        for (uint32_t i = 0; i < 20; i++) {
            kit_round_trip_between(a, i % N, b, 2, 11);
            kit_round_trip_between(b, 0, a, i % N, 11);
            kit_round_trip_between(b, 1, a, i % N, 11);
        }
        kit_step("receives them at last");
        burst_receive(b, BURST);
        burst_take(a, b, BURST);
    }
}

/* TO ONESELF, between contexts. */

/* One expected message of each pair, all with the same tag, some receives
 * posted before and some after their sends. */
static void
self_expected(struct kit_side *a, uint64_t length, uint64_t seed)
{
    uint32_t self = kit_number(a);

    for (uint32_t turn = 0; turn < 3; turn++)
        for (uint32_t pair = 0; pair < PAIRS; pair++) {
            uint32_t i = pair / N, j = pair % N;
            struct kit_request request =
                between(KIT_RECV_EXPECTED, pair, j, self, i);

            if (pair % 3 == 0 ? turn == 0 : turn == 1) {
                request.kind = KIT_RECV_EXPECTED;
            } else if (pair % 3 == 0 ? turn == 1 : turn == 2) {
                request = between(KIT_SEND_EXPECTED, 20 + pair, i, self, j);
                request.seed = seed + pair;
            } else {
                continue;
            }
            request.tag = 5;
            request.length = length;
            kit_post(a, &request);
        }
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        kit_await_message(a, pair, 11, length, 5, seed + pair, KIT_NOBODY);
        kit_await_ok(a, 20 + pair, 7);
    }
}

static void
self_unexpected(struct kit_side *a, uint64_t length, uint64_t seed)
{
    uint32_t self = kit_number(a);

    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        struct kit_request request =
            between(KIT_RECV_UNEXPECTED, pair, pair % N, 0, 0);

        request.length = length;
        kit_post(a, &request);
        request =
            between(KIT_SEND_UNEXPECTED, 20 + pair, pair / N, self, pair % N);
        request.tag = pair;
        request.length = length;
        request.seed = seed + pair;
        kit_post(a, &request);
        kit_await_message(a, pair, 11, length, pair, seed + pair, self);
        kit_await_ok(a, 20 + pair, 7);
    }
}

static void
self_sizes(void)
{
    struct kit_side *a = kit_local(&three);
    uint64_t small = kit_small(a);

    for (uint32_t round = 0; round < kit_times(20); round++) {
        kit_step("sends to its own contexts, small and largest");
        self_expected(a, small, 1000);
        self_expected(a, kit_opened(a)->max_expected_size, 2000);
        self_unexpected(a, small, 3000);
        self_unexpected(a, kit_opened(a)->max_unexpected_size, 4000);
        kit_step("many without a receive");
        for (uint32_t i = 0; i < BURST; i++)
            burst_send(a, a, i);
        for (uint32_t i = 0; i < 20; i++) {
            kit_round_trip_between(a, i % N, a, 2, 11);
            kit_round_trip_between(a, i % N, a, 0, 11);
        }
        burst_receive(a, BURST);
        burst_take(a, a, BURST);
    }
}

static const struct kit_case cases[] = {
    {"contexts_transfers", 11, KIT_NEEDS_CONTEXTS | KIT_NEEDS_RMA, 1, 0,
        "each context puts and gets, whichever one the target polls",
        transfers},
    {"contexts_rma_sleeping_woken", 12,
        KIT_NEEDS_CONTEXTS | KIT_NEEDS_RMA | KIT_NEEDS_WAIT, 1, 0,
        "a thread that sleeps on any context is woken to serve puts and gets",
        rma_sleeping_woken},
    {"contexts_burst", 11, KIT_NEEDS_CONTEXTS, 1, 0,
        "messages held back for one context do not block others, and are not "
        "lost",
        burst},
    {"contexts_self_sizes", 11, KIT_NEEDS_CONTEXTS, 0, 0,
        "contexts of a class send to one another, whatever the length",
        self_sizes},
};

const struct kit_group kit_cases_contexts_work = {
    cases, sizeof cases / sizeof cases[0]};
