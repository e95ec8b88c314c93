/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: when a put or get has ended, the data has arrived and the memory is
 * free; and which side must poll for that. */
#include "check/cases.h"
#include "check/rma.h"

#include <stdlib.h>
#include <string.h>

/* What the owner of the memory checks. */
struct watch {
    uint32_t rounds;
    uint32_t origin; /* number of its address */
    uint32_t ctx;    /* that gets the messages */
    uint32_t origin_ctx;
    uint64_t length; /* of the region */
    uint64_t message;
};

static void
post(struct kit_class *cls, const struct kit_request *request)
{
    kit_step("submitting");
    kit_class_post(cls, request);
}

/* Waits for the end of an operation only. */
static void
await_local(struct kit_class *cls, uint32_t op, const char *step)
{
    uint64_t limit = kit_now() + kit_patience();
    struct kit_completion end = {.ended = false};

    kit_step(step);
    while (kit_class_end(cls, op, &end), !end.ended) {
        kit_class_progress(cls);
        if (kit_now() > limit)
            kit_fail(7, "the operation ends", "it is pending after %llu ms",
                (unsigned long long) (kit_patience() / 1000000U));
    }
    kit_expect(end.status == NA_PLUGIN_OK, 11, "the operation ends with OK",
        "%s", kit_completion_text(&end));
}

/* Messages are alternately unexpected and expected. */
static void
watch_next(struct kit_class *cls, const struct watch *watch, uint32_t round)
{
    post(cls, &(struct kit_request){
                  .kind = round % 2 ? KIT_RECV_EXPECTED : KIT_RECV_UNEXPECTED,
                  .op = round % 2,
                  .ctx = watch->ctx,
                  .peer = watch->origin,
                  .peer_ctx = watch->origin_ctx,
                  .tag = round,
                  .length = watch->message});
}

/* At the owner: when a message arrives, the puts before it have arrived. */
static void
watch_puts(struct kit_class *cls, void *bytes)
{
    struct watch watch;
    unsigned char *wanted, *memory;

    memcpy(&watch, bytes, sizeof watch);
    wanted = malloc(watch.length);
    if (!wanted)
        kit_not_run("out of memory");
    memory = kit_class_mem_at(cls, 0, 0, &watch.length);
    watch_next(cls, &watch, 0);
    for (uint32_t round = 0; round < watch.rounds; round++) {
        kit_pattern(wanted, watch.length, round);
        await_local(cls, round % 2, "waiting for the message after a put");
        /* The end of the data is checked first, where late data would be
         * missing. */
        kit_expect(memory[watch.length - 1] == wanted[watch.length - 1] &&
                       memcmp(memory, wanted, watch.length) == 0,
            11,
            "a put that has ended is visible to its target before any "
            "message that is submitted afterwards",
            "a put of %llu bytes was not, in round %u",
            (unsigned long long) watch.length, round);
        watch_next(cls, &watch, round + 1);
        post(cls, &(struct kit_request){.kind = KIT_SEND_UNEXPECTED,
                      .op = 2,
                      .ctx = watch.ctx,
                      .peer = watch.origin,
                      .length = watch.message,
                      .seed = round});
        await_local(cls, 2, "answering");
    }
    free(wanted);
    memcpy(bytes, &watch, sizeof watch);
}

/* put on context 0, message from and to a context. */
static void
put_rounds(const struct kit_pair *pair, uint32_t ctx, uint64_t wanted)
{
    struct watch watch = {
        .rounds = wanted > 100000 ? kit_times(20) : kit_times(150),
        .origin = kit_number(pair->a),
        .ctx = ctx,
        .origin_ctx = ctx,
        .length = kit_rma_limited(pair, wanted),
        .message = kit_opened(pair->a)->unexpected_header_size + 64};
    struct kit_completion end;
    struct kit_request put = kit_rma_request(pair, KIT_PUT, 0, 0, watch.length);

    if (kit_opened(pair->a)->expected_header_size + 64U > watch.message)
        watch.message = kit_opened(pair->a)->expected_header_size + 64;
    kit_rma_regions(pair, watch.length, 1, 1);
    kit_begin(pair->b, watch_puts, &watch, sizeof watch);
    for (uint32_t round = 0; round < watch.rounds; round++) {
        kit_recv_unexpected(pair->a, 0, watch.message);
        kit_region_fill(pair->a, 0, 0, watch.length, round);
        put.op = 1;
        kit_transfer(pair->a, &put);
        kit_post(pair->a,
            &(struct kit_request){
                .kind = round % 2 ? KIT_SEND_EXPECTED : KIT_SEND_UNEXPECTED,
                .op = 2,
                .ctx = ctx,
                .peer = kit_number(pair->b),
                .peer_ctx = ctx,
                .tag = round,
                .length = watch.message});
        kit_await_ok(pair->a, 2, 7);
        kit_await_ok(pair->a, 0, 11);
    }
    kit_join(pair->b, &watch, sizeof watch);
    kit_cancel(pair->b, watch.rounds % 2);
    kit_await(pair->b, watch.rounds % 2, 10, &end);
    kit_rma_free(pair);
}

static void
put_visible(void)
{
    static const uint64_t lengths[] = {8, 5000, 70001, 3000000};
    struct kit_pair pair = kit_pair_open(NULL);

    for (uint32_t i = 0; i < 4; i++) {
        put_rounds(&pair, 0, lengths[i]);
        kit_run_for(kit_quiet() / 10);
    }
}

static void
put_visible_contexts(void)
{
    struct kit_pair pair =
        kit_pair_open(&(struct kit_open_options){.contexts = 2});

    put_rounds(&pair, 1, 5000);
    kit_run_for(kit_quiet() / 10);
    put_rounds(&pair, 1, 600000);
}

/* Gets: the data is in place at the event, before anything else is polled. */
static void
get_complete(void)
{
    static const uint64_t lengths[] = {8, 5000, 70001, 3000000};
    struct kit_pair pair = kit_pair_open(NULL);

    for (uint32_t i = 0; i < 4; i++) {
        uint64_t length = kit_rma_limited(&pair, lengths[i]);
        struct kit_request get = kit_rma_request(&pair, KIT_GET, 0, 0, length);
        unsigned char *wanted = malloc(length), *memory;

        if (!wanted)
            kit_not_run("out of memory");
        kit_rma_regions(&pair, length, 1, 1);
        memory = kit_class_mem_at(kit_class_of(pair.a), 0, 0, &length);
        for (uint32_t round = 0; round < kit_times(20); round++) {
            kit_pattern(wanted, length, round);
            kit_region_fill(pair.b, 0, 0, length, round);
            kit_post(pair.a, &get);
            await_local(kit_class_of(pair.a), 0, "waiting for a get");
            kit_expect(memory[length - 1] == wanted[length - 1] &&
                           memcmp(memory, wanted, length) == 0,
                11, "when a get has ended its data is in place",
                "%llu bytes: it was not, in round %u",
                (unsigned long long) length, round);
        }
        free(wanted);
        kit_rma_free(&pair);
    }
}

/* Registrations and memory of both sides are freed as soon as the event is
 * returned. */
static void
memory_free_at_end(void)
{
    static const uint64_t lengths[] = {100, 5000, 300000, 2000000};
    struct kit_pair pair = kit_pair_open(NULL);

    for (uint32_t round = 0; round < kit_times(80); round++) {
        uint64_t length = kit_rma_limited(&pair, lengths[round % 4]);
        bool put = round / 4 % 2 == 0;
        struct kit_request request =
            kit_rma_request(&pair, put ? KIT_PUT : KIT_GET, 0, 0, length);

        kit_rma_regions(&pair, length, 1, 1);
        kit_transfer(pair.a, &request);
        if (put && round % 8 < 4)
            kit_rma_tell(&pair);
        if (round % 3 == 0)
            kit_region_free(pair.b, 0);
        kit_region_free(pair.a, 0);
        kit_region_free(pair.a, 1);
        if (round % 3 != 0)
            kit_region_free(pair.b, 0);
        kit_run();
    }
    kit_run_for(kit_quiet() / 4);
}

/* A put or get while the owner polls, or not; then a check while it polls. */
static void
transfer_checked(const struct kit_pair *pair, enum kit_kind kind,
    uint64_t length, uint64_t seed, bool owner_polls)
{
    struct kit_request request = kit_rma_request(pair, kind, 0, 0, length);
    struct kit_side *source = kind == KIT_PUT ? pair->a : pair->b;

    kit_region_fill(source, 0, 0, length, seed);
    kit_polls(pair->b, owner_polls);
    kit_transfer(pair->a, &request);
    kit_polls(pair->b, true);
    kit_rma_tell(pair);
    kit_expect(kit_region_hash(pair->a, 0, 0, length) ==
                   kit_region_hash(pair->b, 0, 0, length),
        11, "what was put or got is what the source held",
        "%llu bytes: other bytes", (unsigned long long) length);
}

/* RMA_NATIVE: the owner does nothing after the connection is established. */
static void
idle_owner(void)
{
    static const uint64_t lengths[] = {1, 4096, 300000, 8000000};
    struct kit_pair pair = kit_pair_open(NULL);
    uint64_t last = kit_rma_limited(&pair, lengths[3]);

    if (!(kit_opened(pair.a)->features & NA_PLUGIN_FEATURE_RMA_NATIVE))
        kit_not_offered("RMA_NATIVE is not set");
    kit_rma_regions(&pair, last, 1, 1);
    transfer_checked(&pair, KIT_PUT, 1, 1, true);
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t length = kit_rma_limited(&pair, lengths[i]);

        transfer_checked(&pair, KIT_PUT, length, 10 + i, false);
        transfer_checked(&pair, KIT_GET, length, 20 + i, false);
    }
}

/* Awaits a's operation 0 while b polls its context 1 only. */
static void
await_by_other(const struct kit_pair *pair)
{
    uint64_t limit = kit_now() + kit_patience();
    struct kit_completion end = {.ended = false};

    while (!end.ended) {
        kit_poll(pair->a, 0);
        kit_poll(pair->b, 1);
        kit_get_completion(pair->a, 0, &end);
        kit_expect(kit_now() < limit, 11,
            "polling any context advances what peers put and get",
            "it is pending while context 1 is polled, not 0");
    }
    kit_expect(end.status == NA_PLUGIN_OK, 11, "the operation ends with OK",
        "%s", kit_completion_text(&end));
}

/* The owner polls a context that the peer does not name. */
static void
other_context(void)
{
    static const uint64_t lengths[] = {1, 5000, 600000};
    struct kit_pair pair =
        kit_pair_open(&(struct kit_open_options){.contexts = 2});

    for (uint32_t i = 0; i < 6; i++) {
        uint64_t length = kit_rma_limited(&pair, lengths[i % 3]);
        struct kit_request request =
            kit_rma_request(&pair, i < 3 ? KIT_PUT : KIT_GET, 0, 0, length);

        kit_rma_regions(&pair, length, 1, 1);
        kit_post(pair.a, &request);
        await_by_other(&pair);
        kit_rma_tell(&pair);
        kit_expect(kit_region_hash(pair.a, 0, 0, length) ==
                       kit_region_hash(pair.b, 0, 0, length),
            11, "what was put or got is what the source held",
            "%llu bytes: other bytes", (unsigned long long) length);
        kit_rma_free(&pair);
    }
}

/* One event of each, by a poll of its context. */
static void
own_context(void)
{
    struct kit_pair pair =
        kit_pair_open(&(struct kit_open_options){.contexts = 2});
    const uint64_t length = kit_rma_limited(&pair, 300000);

    kit_rma_regions(&pair, length, 1, 1);
    for (uint32_t round = 0; round < kit_times(40); round++)
        for (uint32_t op = 0; op < 8; op++) {
            struct kit_request request = kit_rma_request(
                &pair, op % 2 ? KIT_PUT : KIT_GET, 0, 0, length);

            request.op = op;
            request.ctx = op / 2 % 2;
            request.peer_ctx = op / 4;
            request.length = 1 + (uint64_t) op * 1000 % length;
            if (round > 0)
                kit_await_ok(pair.a, op, 8);
            kit_post(pair.a, &request);
        }
    for (uint32_t op = 0; op < 8; op++)
        kit_await_ok(pair.a, op, 8);
}

/* Canceled puts end once; then the memory is not accessed. */
static void
canceled(void)
{
    struct kit_pair pair = kit_pair_open(NULL);
    const uint64_t length = kit_rma_limited(&pair, 4000000);

    for (uint32_t round = 0; round < kit_times(20); round++) {
        struct kit_request request =
            kit_rma_request(&pair, round % 2 ? KIT_PUT : KIT_GET, 0, 0, length);

        kit_rma_regions(&pair, length, 1, 1);
        for (request.op = 0; request.op < 4; request.op++)
            kit_post(pair.a, &request);
        for (uint32_t i = 0; i < round % 5; i++)
            kit_run();
        for (uint32_t op = 4; op-- > 0;) {
            struct kit_completion end;

            kit_get_completion(pair.a, op, &end);
            if (!end.ended)
                kit_cancel(pair.a, op);
        }
        for (uint32_t op = 0; op < 4; op++) {
            struct kit_completion end;

            kit_await(pair.a, op, 10, &end);
            kit_expect(end.status == NA_PLUGIN_OK ||
                           end.status == NA_PLUGIN_E_CANCELED,
                10,
                "a canceled operation ends with CANCELED, or as it would have",
                "%s", kit_completion_text(&end));
        }
        kit_region_free(pair.a, 0);
        kit_region_free(pair.a, 1);
        kit_region_free(pair.b, 0);
    }
    kit_rma_regions(&pair, length, 1, 1);
    transfer_checked(&pair, KIT_PUT, length, 1, true);
    transfer_checked(&pair, KIT_GET, length, 2, true);
}

static const struct kit_case cases[] = {
    {"put_visible", 11, KIT_NEEDS_RMA, 1, 0,
        "a completed put is visible before any later message", put_visible},
    {"put_visible_contexts", 11, KIT_NEEDS_RMA | KIT_NEEDS_CONTEXTS, 1, 0,
        "also if the message is from and to another context",
        put_visible_contexts},
    {"get_complete", 11, KIT_NEEDS_RMA, 1, 0,
        "the data of a completed get is in place", get_complete},
    {"rma_memory_free", 11, KIT_NEEDS_RMA, 0, 0,
        "memory of a completed put or get is not accessed", memory_free_at_end},
    {"rma_memory_free_interprocess", 11, KIT_NEEDS_RMA, 1, 0,
        "likewise between processes", memory_free_at_end},
    {"rma_idle_owner", 12, KIT_NEEDS_RMA, 1, 0,
        "with RMA_NATIVE the owner of the memory need not poll", idle_owner},
    {"rma_other_context", 11, KIT_NEEDS_RMA | KIT_NEEDS_CONTEXTS, 0, 0,
        "the owner may poll any context", other_context},
    {"rma_own_context", 8, KIT_NEEDS_RMA | KIT_NEEDS_CONTEXTS, 1, 0,
        "a put or get ends by an event of its own context", own_context},
    {"rma_canceled", 10, KIT_NEEDS_RMA, 1, 0,
        "canceled puts and gets end once, and release their memory", canceled},
};

const struct kit_group kit_cases_rma_end = {
    cases, sizeof cases / sizeof cases[0]};
