/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: a different number of contexts than the peer has, no context 0, and
 * contexts destroyed right after their sends. */
#include "check/cases.h"

#include "check/class.h"
#include "check/contexts.h"
#include "check/peers.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#define LENGTH UINT64_C(100000)

/* One side has three contexts, the other one. */
static void
uneven(void)
{
    struct kit_side *a = kit_local(&three), *b = kit_remote(0, NULL);
    struct kit_side *c = kit_local(NULL);

    kit_lookup_both(a, b);
    kit_lookup_both(a, c);
    for (uint32_t i = 0; i < kit_times(100); i++) {
        kit_round_trip_between(a, i % N, b, 0, 11);
        kit_round_trip_between(c, 0, a, i % N, 11);
        kit_round_trip_between(b, 0, a, (i + 1) % N, 11);
        kit_round_trip_between(a, i % N, c, 0, 11);
    }
}

/* A put and a get between these contexts. */
static void
transfer(struct kit_side *a, uint32_t ctx, struct kit_side *b, uint32_t b_ctx)
{
    uint64_t most = kit_opened(a)->max_rma_size;
    struct kit_request request = {.kind = KIT_PUT,
        .op = 10,
        .ctx = ctx,
        .peer = kit_number(b),
        .peer_ctx = b_ctx,
        .local = 0,
        .remote = 1,
        .length = most > 0 && most < LENGTH ? most : LENGTH};

    if (!kit_class_offers(kit_class_of(a), KIT_NEEDS_RMA))
        return;
    kit_region_fill(a, 0, 0, request.length, 100 + ctx);
    kit_transfer(a, &request);
    kit_round_trip_between(a, ctx, b, b_ctx, 11);
    kit_expect(kit_region_hash(a, 0, 0, request.length) ==
                   kit_region_hash(b, 0, 0, request.length),
        11, "what was put is what the source held", "other bytes");
    kit_region_fill(b, 0, 0, request.length, 200 + ctx);
    request.kind = KIT_GET;
    kit_transfer(a, &request);
    kit_expect(kit_region_hash(a, 0, 0, request.length) ==
                   kit_region_hash(b, 0, 0, request.length),
        11, "what was got is what the source held", "other bytes");
}

/* Context 0 is created late, destroyed and created again; the others do not
 * depend on it. */
static void
without_0(void)
{
    static const struct kit_open_options none = {
        .contexts = N, .no_contexts = true};
    struct kit_side *a = kit_local(&none), *b = kit_remote(0, &none);
    struct kit_region region = {.segments = 1,
        .access = NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE,
        .length = LENGTH};

    if (kit_class_offers(kit_class_of(a), KIT_NEEDS_RMA)) {
        kit_region(a, &region);
        kit_region(b, &region);
        kit_expose(b, 0, a, 1);
    }
    kit_lookup_both(a, b);
    kit_ctx_create(a, 2);
    kit_ctx_create(b, 1);
    kit_step("there is no context 0");
    kit_round_trip_between(a, 2, b, 1, 11);
    kit_round_trip_between(b, 1, a, 2, 11);
    transfer(a, 2, b, 1);
    for (uint32_t round = 0; round < 3; round++) {
        kit_step("context 0 is created");
        kit_ctx_create(a, 0);
        kit_ctx_create(b, 0);
        kit_round_trip_between(b, 0, a, 0, 11);
        kit_round_trip_between(a, 0, b, 1, 11);
        kit_round_trip_between(b, 0, a, 2, 11);
        transfer(a, 0, b, 0);
        kit_step("and destroyed");
        kit_ctx_destroy(round % 2 == 0 ? a : b, 0);
        kit_round_trip_between(a, 2, b, 1, 11);
        kit_round_trip_between(b, 1, a, 2, 11);
        kit_ctx_destroy(round % 2 == 0 ? b : a, 0);
        kit_round_trip_between(b, 1, a, 2, 11);
        transfer(a, 2, b, 1);
    }
}

/* DESTROYED AFTER SEND. A context is destroyed as soon as its sends have
 * ended. */
#define WORDS 8U

struct words {
    uint32_t peer;
    uint32_t round;
    uint64_t length;
};

static void
send_and_exit(struct kit_class *cls, void *bytes)
{
    const struct words *words = bytes;
    uint64_t limit = kit_now() + kit_patience();

    for (uint32_t i = 0; i < WORDS; i++)
        kit_class_post(cls, &(struct kit_request){.kind = KIT_SEND_UNEXPECTED,
                                .op = i,
                                .ctx = 1,
                                .peer = words->peer,
                                .peer_ctx = words->round % N,
                                .tag = i,
                                .length = words->length,
                                .seed = words->round + i});
    for (uint32_t i = 0; i < WORDS; i++) {
        struct kit_completion end;

        for (kit_class_end(cls, i, &end); !end.ended;
             kit_class_end(cls, i, &end)) {
            kit_class_progress(cls);
            kit_expect(kit_now() < limit, 10, "a send ends", "it is pending");
        }
        kit_expect(end.status == NA_PLUGIN_OK, 10, "a send ends with OK", "%s",
            kit_completion_text(&end));
    }
    kit_class_ctx_destroy(cls, 1);
}

static void
destroyed_after_send(void)
{
    struct kit_side *a = kit_local(&three), *b = kit_remote(0, &three);
    uint64_t body;

    kit_lookup_both(a, b);
    for (uint32_t round = 0; round < kit_times(50); round++) {
        struct words words = {kit_number(a), round, kit_small(a)};
        uint32_t seen = 0;

        for (uint32_t i = 0; i < WORDS; i++)
            kit_post(a, &(struct kit_request){.kind = KIT_RECV_UNEXPECTED,
                            .op = i,
                            .ctx = round % N,
                            .length = words.length});
        kit_begin(b, send_and_exit, &words, sizeof words);
        kit_join(b, &words, sizeof words);
        body = words.length - kit_opened(a)->unexpected_header_size;
        for (uint32_t i = 0; i < WORDS; i++) {
            struct kit_completion end;

            kit_await(a, i, 10, &end);
            kit_expect(end.status == NA_PLUGIN_OK && end.tag < WORDS &&
                           end.hash == kit_pattern_hash(body, round + end.tag),
                10, "ctx_destroy delivers the messages whose send has ended",
                "%s", kit_completion_text(&end));
            seen |= 1U << end.tag;
        }
        kit_expect(seen == (1U << WORDS) - 1, 11, "each message arrives once",
            "of %u those of %#x", WORDS, seen);
        kit_round_trip_between(b, 0, a, round % N, 10);
        kit_ctx_create(b, 1);
    }
}

/* A sleeper on one of several contexts notices its peer's death. */
static void
die(struct kit_class *cls, void *bytes)
{
    const uint32_t *delay_ns = bytes;
    struct timespec delay = {.tv_nsec = *delay_ns};

    (void) cls;
    nanosleep(&delay, NULL);
    kill(getpid(), SIGKILL);
}

static void
sleeping_peer_killed(void)
{
    static const uint32_t delays[] = {0, 3000000, 100000000};
    struct kit_side *a = kit_local(&three);
    struct kit_class *cls = kit_class_of(a);

    for (uint32_t i = 0; i < N; i++) {
        struct kit_side *b = kit_remote(i, &three);

        kit_lookup_both(a, b);
        kit_round_trip_between(a, N - 1 - i, b, i, 12);
        kit_post(a, &(struct kit_request){.kind = KIT_RECV_EXPECTED,
                        .op = i,
                        .ctx = N - 1 - i,
                        .peer = kit_number(b),
                        .peer_ctx = i,
                        .tag = 5,
                        .length = kit_small(a)});
        kit_begin(b, die, &delays[i], sizeof delays[i]);
        kit_class_sleep_for(cls, N - 1 - i, 1, i);
        kit_await_dead(a, i, false);
        kit_addr_free(a, kit_number(b));
        kit_signal(b, SIGKILL);
    }
}

static const struct kit_case cases[] = {
    {"contexts_uneven", 11, KIT_NEEDS_CONTEXTS, 1, 0,
        "a class with several contexts and others with one", uneven},
    {"contexts_without_0", 11, KIT_NEEDS_CONTEXTS, 1, 0,
        "no context depends on context 0", without_0},
    {"contexts_destroyed_after_send", 10, KIT_NEEDS_CONTEXTS, 1, 0,
        "messages arrive although their context is destroyed after the send",
        destroyed_after_send},
    {"contexts_sleeping_peer_killed", 12, KIT_NEEDS_CONTEXTS | KIT_NEEDS_WAIT,
        N, 0,
        "a thread that sleeps on any context notices the death of its peer",
        sleeping_peer_killed},
};

const struct kit_group kit_cases_contexts_odd = {
    cases, sizeof cases / sizeof cases[0]};
