/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: three contexts at either side, each with its own traffic: all pairs,
 * and which contexts must be polled. */
#include "check/cases.h"

#include "check/class.h"
#include "check/contexts.h"
#include "check/peers.h"

#include <time.h>

/* EVERY PAIR. The requesting side, the answering side, and the number of the
 * other's address at each. */
struct crossing {
    struct kit_side *from;
    struct kit_side *to;
    uint32_t to_number;
    uint32_t from_number;
    uint32_t source; /* seed of the other side's messages */
    uint64_t length;
    uint64_t seed;
};

/* Operations of the requester (sends ASK, receives ANSWERED) and of the other side
 * (receives ASKED, sends ANSWER): each plus the number of the pair. */
#define ANSWERED 0U
#define ASK 10U
#define ASKED 20U
#define ANSWER 30U
#define ADOPTED 40U
#define TAG 5U /* of all expected messages: pairs differ by contexts only */

static void
ask(const struct crossing *x, uint32_t i, uint32_t j)
{
    uint32_t pair = i * N + j;
    struct kit_request request =
        between(KIT_RECV_EXPECTED, ANSWERED + pair, i, x->to_number, j);

    request.length = x->length;
    request.tag = TAG;
    kit_post(x->from, &request);
    request = between(KIT_SEND_UNEXPECTED, ASK + pair, i, x->to_number, j);
    request.length = x->length;
    request.tag = pair;
    request.seed = x->seed + pair;
    kit_post(x->from, &request);
}

/* The receives of a context get its messages, in any order. */
static void
post_asked(const struct crossing *x, uint32_t j, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct kit_request request =
            between(KIT_RECV_UNEXPECTED, ASKED + i * N + j, j, 0, 0);

        request.length = x->length;
        kit_post(x->to, &request);
    }
}

static uint64_t
body(const struct crossing *x, bool expected)
{
    const na_plugin_opened *opened = kit_opened(x->to);

    return x->length - (expected ? opened->expected_header_size
                                 : opened->unexpected_header_size);
}

/* An arrived message and its pair. */
static uint32_t
take_asked(const struct crossing *x, uint32_t op, uint32_t j)
{
    struct kit_completion end;

    kit_await(x->to, op, 11, &end);
    kit_expect(
        end.status == NA_PLUGIN_OK && end.length == x->length &&
            end.tag < PAIRS &&
            end.hash == kit_pattern_hash(body(x, false), x->seed + end.tag),
        11, "an unexpected message arrives whole", "%s, tag %llu",
        kit_completion_text(&end), (unsigned long long) end.tag);
    kit_expect(end.tag % N == j, 11,
        "a message is received by the context it is sent to",
        "one to context %u by context %u", (uint32_t) end.tag % N, j);
    kit_expect(end.source == x->source, 11,
        "the source of a message equals its sender's address",
        "address %d, not %d, of a message of context %u", (int) end.source,
        (int) x->source, (uint32_t) end.tag / N);
    return (uint32_t) end.tag;
}

static void
answer(const struct crossing *x, uint32_t i, uint32_t j)
{
    uint32_t pair = i * N + j;
    struct kit_request request =
        between(KIT_SEND_EXPECTED, ANSWER + pair, j, x->from_number, i);

    request.length = x->length;
    request.tag = TAG;
    request.seed = x->seed + PAIRS + pair;
    kit_post(x->to, &request);
}

static void
take_answer(const struct crossing *x, uint32_t i, uint32_t j)
{
    uint32_t pair = i * N + j;

    kit_await_message(x->from, ANSWERED + pair, 11, x->length, TAG,
        x->seed + PAIRS + pair, KIT_NOBODY);
    kit_await_ok(x->from, ASK + pair, 7);
    kit_await_ok(x->to, ANSWER + pair, 7);
}

/* All pairs send and are answered, in a different order each time. */
static void
cross(struct crossing *x)
{
    uint32_t seen = 0;

    x->seed += UINT64_C(2) * PAIRS;
    for (uint32_t j = 0; j < N; j++)
        post_asked(x, j, N);
    for (uint32_t pair = 0; pair < PAIRS; pair++)
        ask(x, pair / N, pair % N);
    for (uint32_t op = 0; op < PAIRS; op++)
        seen |= 1U << take_asked(x, ASKED + op, op % N);
    kit_expect(seen == (1U << PAIRS) - 1, 11, "each message arrives once",
        "of %u pairs those of %#x", PAIRS, seen);
    for (uint32_t k = 0; k < PAIRS; k++) {
        uint32_t pair = (uint32_t) (x->seed + UINT64_C(4) * k) % PAIRS;

        answer(x, pair / N, pair % N);
    }
    for (uint32_t pair = 0; pair < PAIRS; pair++)
        take_answer(x, pair / N, pair % N);
}

static void
all_pairs_of(const struct kit_open_options *how)
{
    struct kit_side *a = kit_local(how);
    struct kit_side *b = kit_other(0, how);
    struct crossing there = {.from = a,
        .to = b,
        .to_number = kit_number(b),
        .from_number = ADOPTED,
        .source = KIT_NOBODY,
        .length = kit_small(a),
        .seed = 1000};
    struct crossing back = {.from = b,
        .to = a,
        .to_number = ADOPTED,
        .from_number = kit_number(b),
        .source = kit_number(b),
        .length = there.length,
        .seed = 100000};

    kit_lookup(a, b);
    kit_step("answers to a source before it has sent anything else");
    post_asked(&there, 1, 1);
    ask(&there, 2, 1);
    take_asked(&there, ASKED + 1, 1);
    kit_keep_source(b, ASKED + 1, ADOPTED);
    answer(&there, 2, 1);
    take_answer(&there, 2, 1);
    there.source = ADOPTED;
    kit_step("every pair, both directions");
    for (uint32_t i = 0; i < kit_times(20); i++) {
        cross(&there);
        cross(&back);
    }
    kit_step("the same by an address that was looked up");
    kit_lookup(b, a);
    there.source = there.from_number = back.to_number = kit_number(a);
    cross(&there);
    cross(&back);
}

static void
all_pairs(void)
{
    all_pairs_of(&three);
}

static void
all_pairs_single(void)
{
    static const struct kit_open_options how = {.contexts = N,
        .thread_mode =
            NA_PLUGIN_THREAD_SINGLE_CLASS | NA_PLUGIN_THREAD_SINGLE_CONTEXT};

    all_pairs_of(&how);
}

/* A class that does not listen sends first; it gets answers and requests at the
 * source of its message. */
static void
all_pairs_not_listening(void)
{
    static const struct kit_open_options how = {
        .contexts = N, .not_listening = true};
    struct kit_side *a = kit_local(&three), *b = kit_remote(0, &how);
    struct crossing there = {.from = b,
        .to = a,
        .to_number = kit_number(a),
        .from_number = ADOPTED,
        .source = KIT_NOBODY,
        .length = kit_small(a),
        .seed = 1000};
    struct crossing back = {.from = a,
        .to = b,
        .to_number = ADOPTED,
        .from_number = kit_number(a),
        .source = kit_number(a),
        .length = there.length,
        .seed = 100000};

    kit_lookup(b, a);
    post_asked(&there, 2, 1);
    ask(&there, 1, 2);
    take_asked(&there, ASKED + 2, 2);
    kit_keep_source(a, ASKED + 2, ADOPTED);
    answer(&there, 1, 2);
    take_answer(&there, 1, 2);
    there.source = ADOPTED;
    for (uint32_t i = 0; i < kit_times(20); i++) {
        cross(&there);
        cross(&back);
    }
}

/* POLLED ALONE. One context of each side is polled, no other. */
struct alone {
    struct kit_side *a;
    struct kit_side *b;
    uint32_t a_ctx;
    uint32_t b_ctx;
};

static struct alone
open_alone(uint32_t a_ctx, uint32_t b_ctx)
{
    struct alone it = {kit_local(&three), kit_other(0, &three), a_ctx, b_ctx};

    kit_lookup_both(it.a, it.b);
    kit_polls(it.a, false);
    kit_polls(it.b, false);
    return it;
}

static void
await_alone(const struct alone *it, struct kit_side *side, uint32_t op)
{
    uint64_t limit = kit_now() + kit_patience();
    struct kit_completion end;

    do {
        kit_poll(it->a, it->a_ctx);
        kit_poll(it->b, it->b_ctx);
        kit_get_completion(side, op, &end);
        kit_expect(end.ended || kit_now() < limit, 11,
            "an operation ends when only its own contexts are polled",
            "it is pending after polls of context %u here and %u there",
            it->a_ctx, it->b_ctx);
    } while (!end.ended);
}

/* A message and its answer, while only these contexts are polled. */
static void
trip_alone(const struct alone *it, uint64_t seed)
{
    uint32_t a = kit_number(it->a), b = kit_number(it->b);
    uint64_t length = kit_small(it->a);
    struct kit_request requests[] = {
        between(KIT_RECV_UNEXPECTED, ASKED, it->b_ctx, 0, 0),
        between(KIT_RECV_EXPECTED, ANSWERED, it->a_ctx, b, it->b_ctx),
        between(KIT_SEND_UNEXPECTED, ASK, it->a_ctx, b, it->b_ctx),
        between(KIT_SEND_EXPECTED, ANSWER, it->b_ctx, a, it->a_ctx)};

    for (uint32_t i = 0; i < 4; i++) {
        requests[i].length = length;
        requests[i].tag = TAG;
        requests[i].seed = seed + i;
    }
    kit_post(it->b, &requests[0]);
    kit_post(it->a, &requests[1]);
    kit_post(it->a, &requests[2]);
    await_alone(it, it->b, ASKED);
    kit_await_message(it->b, ASKED, 11, length, TAG, seed + 2, a);
    kit_post(it->b, &requests[3]);
    await_alone(it, it->a, ANSWERED);
    kit_await_message(it->a, ANSWERED, 11, length, TAG, seed + 3, KIT_NOBODY);
    await_alone(it, it->a, ASK);
    await_alone(it, it->b, ANSWER);
    kit_await_ok(it->a, ASK, 7);
    kit_await_ok(it->b, ANSWER, 7);
}

static void
polled_alone(void)
{
    for (uint32_t pair = PAIRS; pair-- > 1;) {
        struct alone it = open_alone(pair / N, pair % N);

        for (uint32_t i = 0; i < 10; i++)
            trip_alone(&it, UINT64_C(10) * i);
        kit_close(it.a);
        kit_close(it.b);
    }
}

/* The first message between two contexts is submitted while others are polled:
 * it may be held back, and then arrives. */
static void
polled_others(void)
{
    static const uint32_t pairs[][2] = {{2, 1}, {0, 2}, {1, 0}, {2, 2}};

    for (uint32_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
        struct alone it = open_alone(pairs[k][0], pairs[k][1]);
        struct kit_request request = between(KIT_SEND_UNEXPECTED, 50,
            pairs[k][0], kit_number(it.b), pairs[k][1]);
        uint64_t end = kit_now() + kit_quiet();

        request.length = kit_small(it.a);
        request.seed = 7;
        kit_step("polls others than those of the message");
        kit_post(it.a, &request);
        while (kit_now() < end) {
            kit_poll(it.a, (pairs[k][0] + 1) % N);
            kit_poll(it.b, (pairs[k][1] + 1) % N);
        }
        kit_step("polls those of the message");
        request = between(KIT_RECV_UNEXPECTED, 51, pairs[k][1], 0, 0);
        request.length = kit_small(it.a);
        kit_post(it.b, &request);
        await_alone(&it, it.b, 51);
        await_alone(&it, it.a, 50);
        kit_await_message(it.b, 51, 11, request.length, 0, 7, kit_number(it.a));
        kit_await_ok(it.a, 50, 7);
        trip_alone(&it, 20);
        kit_close(it.a);
        kit_close(it.b);
    }
}

/* SLEEPING. Both sides sleep on the descriptor of their last context and poll
 * no other one. */
struct talk {
    uint32_t peer;
    uint32_t rounds;
    uint64_t length;
    bool begins;
};

static void
post(struct kit_class *cls, const struct talk *talk, enum kit_kind kind,
    uint32_t op, uint64_t seed)
{
    struct kit_request request = between(kind, op, N - 1, talk->peer, N - 1);

    request.tag = TAG;
    request.length = talk->length;
    request.seed = seed;
    kit_class_post(cls, &request);
}

static void
receive(struct kit_class *cls, const struct talk *talk, uint32_t op,
    bool expected, uint64_t seed)
{
    uint64_t header = expected ? cls->opened.expected_header_size
                               : cls->opened.unexpected_header_size;
    struct kit_completion end;

    kit_class_sleep_for(cls, N - 1, 1, op);
    kit_class_end(cls, op, &end);
    kit_expect(end.status == NA_PLUGIN_OK &&
                   end.hash == kit_pattern_hash(talk->length - header, seed),
        11, "a context that sleeps receives its messages", "%s, seed %llu",
        kit_completion_text(&end), (unsigned long long) end.seed);
}

/* The side that begins sends last; its earlier sends are transmitted while the
 * other side waits for that message. */
static void
talk_sleeping(struct kit_class *cls, void *bytes)
{
    const struct talk *talk = bytes;
    uint64_t last = UINT64_C(2) * talk->rounds;

    for (uint64_t i = 0; i < talk->rounds; i++) {
        if (talk->begins) {
            struct timespec pause = {.tv_nsec = i % 5 == 4 ? 2000000 : 0};

            nanosleep(&pause, NULL);
            post(cls, talk, KIT_RECV_EXPECTED, 0, 0);
            post(cls, talk, KIT_SEND_UNEXPECTED, 2, 2 * i);
            receive(cls, talk, 0, true, 2 * i + 1);
            kit_class_sleep_for(cls, N - 1, 1, 2);
        } else {
            post(cls, talk, KIT_RECV_UNEXPECTED, 1, 0);
            receive(cls, talk, 1, false, 2 * i);
            post(cls, talk, KIT_SEND_EXPECTED, 3, 2 * i + 1);
            kit_class_sleep_for(cls, N - 1, 1, 3);
        }
    }
    if (talk->begins) {
        post(cls, talk, KIT_SEND_UNEXPECTED, 2, last);
        kit_class_sleep_for(cls, N - 1, 1, 2);
    } else {
        post(cls, talk, KIT_RECV_UNEXPECTED, 1, 0);
        receive(cls, talk, 1, false, last);
    }
}

static void
asleep(void)
{
    struct alone it = open_alone(N - 1, N - 1);
    struct talk here = {.peer = kit_number(it.b),
        .rounds = kit_times(200),
        .length = kit_small(it.a),
        .begins = true};
    struct talk there = here;

    there.begins = false;
    there.peer = kit_number(it.a);
    kit_begin(it.b, talk_sleeping, &there, sizeof there);
    kit_step("both sleep on their last context");
    talk_sleeping(kit_class_of(it.a), &here);
    kit_polls(it.a, true);
    kit_join(it.b, &there, sizeof there);
}

static const struct kit_case cases[] = {
    {"contexts_all_pairs", 11, KIT_NEEDS_CONTEXTS, 0, 0,
        "messages between all pairs of contexts, in both directions",
        all_pairs},
    {"contexts_all_pairs_interprocess", 11, KIT_NEEDS_CONTEXTS, 1, 0,
        "likewise between processes", all_pairs},
    {"contexts_all_pairs_single", 11, KIT_NEEDS_CONTEXTS, 1, 0,
        "likewise if one thread at a time is promised", all_pairs_single},
    {"contexts_all_pairs_not_listening", 11, KIT_NEEDS_CONTEXTS, 1, 0,
        "likewise with a class that does not listen", all_pairs_not_listening},
    {"contexts_polled_alone", 11, KIT_NEEDS_CONTEXTS, 0, 0,
        "polling one context of each side is sufficient", polled_alone},
    {"contexts_polled_alone_interprocess", 11, KIT_NEEDS_CONTEXTS, 1, 0,
        "likewise between processes", polled_alone},
    {"contexts_polled_others", 11, KIT_NEEDS_CONTEXTS, 1, 0,
        "a first message arrives although other contexts are polled",
        polled_others},
    {"contexts_sleeping_woken", 12, KIT_NEEDS_CONTEXTS | KIT_NEEDS_WAIT, 1, 0,
        "a thread that sleeps on one context is woken for it", asleep},
};

const struct kit_group kit_cases_contexts = {
    cases, sizeof cases / sizeof cases[0]};
