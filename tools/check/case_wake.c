/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: no wake-up is lost. Two sides answer each other and sleep before each
 * poll; a pause of varying length before arming makes messages arrive at any
 * moment. */
#include "check/cases.h"
#include "check/class.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#define STOP 490U /* ends kit_class_sleep_for of act_sleep_briefly */
#define REGION_MAX 262144U

/* One side of a conversation. Operations from base on: two receives, two sends.
 * Passed to worker processes as bytes. */
struct talk {
    uint32_t peer; /* number of its address */
    uint32_t rounds;
    uint32_t base;
    uint32_t ctx; /* first of the contexts used in turn */
    uint32_t contexts;
    bool unexpected;
    bool begins;
    uint64_t length;
};

#define PAUSE_MIN_NS 256U
#define PAUSE_MAX_NS 20000U
#define SHORT_NS 4000U
#define AT_ONCE_NS 5000U /* a thread that waits longer has slept */

/* When to arm: about when the awaited message usually arrives. */
struct rhythm {
    uint32_t random;
    uint64_t usual_ns;
};

/* Pauses for less than ns. */
static void
pause_at_random(struct rhythm *rhythm, uint64_t ns)
{
    uint64_t until = kit_now();

    rhythm->random = rhythm->random * 1664525U + 1013904223U;
    until += ns * (rhythm->random >> 16) >> 16;
    while (kit_now() < until)
        ;
}

/* Whether it arrived during the pause. */
static void
follow(struct rhythm *rhythm, bool late)
{
    uint64_t step = rhythm->usual_ns / 64 + 1;

    if (late && rhythm->usual_ns < PAUSE_MAX_NS)
        rhythm->usual_ns += step;
    else if (!late && rhythm->usual_ns > PAUSE_MIN_NS)
        rhythm->usual_ns -= step;
}

static uint64_t
seed_of(uint32_t round, bool begins)
{
    return round * 2ULL + begins;
}

static uint32_t
ctx_of(const struct talk *talk, uint32_t round)
{
    return talk->ctx + round % talk->contexts;
}

static struct kit_request
receive_of(const struct talk *talk, uint32_t round)
{
    return (struct kit_request){
        .kind = talk->unexpected ? KIT_RECV_UNEXPECTED : KIT_RECV_EXPECTED,
        .op = talk->base + round % 2,
        .ctx = ctx_of(talk, round),
        .peer = talk->peer,
        .peer_ctx = ctx_of(talk, round),
        .tag = talk->unexpected ? 0 : round % 1000,
        .length = talk->length};
}

static void
receive(struct kit_class *cls, const struct talk *talk, uint32_t round)
{
    struct kit_request request = receive_of(talk, round);

    kit_class_post(cls, &request);
}

static void
await(struct kit_class *cls, const struct talk *talk, uint32_t op)
{
    kit_class_sleep_for(cls, talk->ctx, talk->contexts, op);
}

static void
send(struct kit_class *cls, const struct talk *talk, uint32_t round)
{
    uint32_t op = talk->base + 2 + round % 2;
    struct kit_request request = {
        .kind = talk->unexpected ? KIT_SEND_UNEXPECTED : KIT_SEND_EXPECTED,
        .op = op,
        .ctx = ctx_of(talk, round),
        .peer = talk->peer,
        .peer_ctx = ctx_of(talk, round),
        .tag = round % 1000,
        .length = talk->length,
        .seed = seed_of(round, talk->begins)};

    await(cls, talk, op); /* that of two rounds ago */
    kit_class_post(cls, &request);
}

static void
check(struct kit_class *cls, const struct talk *talk, uint32_t round)
{
    uint64_t header = talk->unexpected ? cls->opened.unexpected_header_size
                                       : cls->opened.expected_header_size;
    struct kit_completion end;

    kit_class_end(cls, talk->base + round % 2, &end);
    kit_expect(end.status == NA_PLUGIN_OK, 11, "the receive ends with OK", "%s",
        kit_completion_text(&end));
    kit_expect(end.length == talk->length &&
                   end.hash == kit_pattern_hash(talk->length - header,
                                   seed_of(round, !talk->begins)),
        11, "the message of this round arrives", "%s, seed %llu, round %u",
        kit_completion_text(&end), (unsigned long long) end.seed, round);
}

/* The script has posted the first receive of the side that does not begin. */
static void
exchange(struct kit_class *cls, const struct talk *talk)
{
    struct rhythm rhythm = {talk->begins ? 1 : 2, PAUSE_MIN_NS};

    for (uint32_t round = 0; round < talk->rounds; round++) {
        uint64_t began;

        if (talk->begins) {
            receive(cls, talk, round);
            send(cls, talk, round);
        }
        pause_at_random(
            &rhythm, round % 2 == 0 ? 2 * rhythm.usual_ns : SHORT_NS);
        began = kit_now();
        await(cls, talk, talk->base + round % 2);
        if (round % 2 == 0)
            follow(&rhythm, kit_now() - began > AT_ONCE_NS);
        check(cls, talk, round);
        if (!talk->begins) {
            if (round + 1 < talk->rounds)
                receive(cls, talk, round + 1);
            send(cls, talk, round);
        }
    }
    await(cls, talk, talk->base + 2);
    await(cls, talk, talk->base + 3);
}

static void
act_exchange(struct kit_class *cls, void *bytes)
{
    cls->unlocked = true;
    exchange(cls, bytes);
}

/* Opens a here and b in a worker process. */
static void
open_talk(struct kit_side **a_p, struct kit_side **b_p, uint32_t contexts,
    struct talk *talk)
{
    struct kit_open_options how = {.contexts = contexts};
    const na_plugin_opened *opened;

    *a_p = kit_local(&how);
    *b_p = kit_remote(0, &how);
    kit_lookup(*a_p, *b_p);
    kit_lookup(*b_p, *a_p);
    kit_class_of(*a_p)->unlocked = true;
    opened = kit_opened(*a_p);
    talk->contexts = contexts;
    talk->length =
        opened->unexpected_header_size + opened->expected_header_size + 32;
}

static void
ping_pong(struct talk talk, uint32_t contexts)
{
    struct kit_side *a, *b;
    struct kit_request first;
    struct talk there;

    open_talk(&a, &b, contexts, &talk);
    there = talk;
    talk.begins = true;
    talk.peer = kit_number(b);
    there.peer = kit_number(a);
    first = receive_of(&there, 0);
    kit_post(b, &first);
    kit_begin(b, act_exchange, &there, sizeof there);
    kit_step("both answer and sleep");
    exchange(kit_class_of(a), &talk);
    kit_join(b, &there, sizeof there);
}

static void
expected(void)
{
    ping_pong((struct talk){.rounds = kit_times(100000)}, 1);
}

static void
unexpected(void)
{
    ping_pong(
        (struct talk){.rounds = kit_times(100000), .unexpected = true}, 1);
}

/* Two contexts in turn, one thread that sleeps on both. */
static void
contexts_one_thread(void)
{
    ping_pong((struct talk){.rounds = kit_times(30000)}, 2);
}

/* Two contexts, each with its own sleeping thread. */
struct pair_of_talks {
    struct talk talks[2];
};

struct exchange_arg {
    struct kit_class *cls;
    const struct talk *talk;
};

static void *
exchange_main(void *arg)
{
    struct exchange_arg *thread_arg = arg;

    exchange(thread_arg->cls, thread_arg->talk);
    return NULL;
}

static void
act_exchange_twice(struct kit_class *cls, void *bytes)
{
    struct pair_of_talks *talks = bytes;
    struct exchange_arg other = {cls, &talks->talks[1]};
    pthread_t thread;

    cls->unlocked = true;
    if (pthread_create(&thread, NULL, exchange_main, &other) != 0)
        kit_not_run("no thread");
    exchange(cls, &talks->talks[0]);
    pthread_join(thread, NULL);
}

static void
contexts_two_threads(void)
{
    struct talk talk = {.rounds = kit_times(30000), .unexpected = true};
    struct pair_of_talks here, there;
    struct kit_side *a, *b;

    open_talk(&a, &b, 2, &talk);
    talk.contexts = 1;
    for (uint32_t i = 0; i < 2; i++) {
        struct kit_request first;

        talk.ctx = i;
        talk.base = 8 * i;
        here.talks[i] = there.talks[i] = talk;
        here.talks[i].begins = i == 0;
        there.talks[i].begins = i == 1;
        here.talks[i].peer = kit_number(b);
        there.talks[i].peer = kit_number(a);
        first = receive_of(i == 0 ? &there.talks[i] : &here.talks[i], 0);
        kit_post(i == 0 ? b : a, &first);
    }
    kit_begin(b, act_exchange_twice, &there, sizeof there);
    kit_step("two threads answer and sleep");
    act_exchange_twice(kit_class_of(a), &here);
    kit_join(b, &there, sizeof there);
}

/* Sleeps, and polls when woken, until an unexpected message has arrived. */
static void
act_sleep_briefly(struct kit_class *cls, void *bytes)
{
    struct kit_request request = {.kind = KIT_RECV_UNEXPECTED, .op = STOP};

    (void) bytes;
    request.length = cls->opened.max_unexpected_size;
    kit_class_post(cls, &request);
    kit_class_sleep_for(cls, 0, 1, STOP);
}

static uint64_t
rma_length(const na_plugin_opened *opened, uint32_t round)
{
    static const uint64_t lengths[] = {64, 4096, 65536, 1, REGION_MAX};
    uint64_t length = lengths[round % 5];

    if (opened->max_rma_size > 0 && length > opened->max_rma_size)
        length = opened->max_rma_size;
    return length;
}

static void
transfer(struct kit_side *a, struct kit_side *b, uint32_t round)
{
    struct kit_class *cls = kit_class_of(a);
    uint64_t room = REGION_MAX;
    unsigned char *memory = kit_class_mem_at(cls, 0, 0, &room);
    struct kit_request request = {.kind = round % 2 == 0 ? KIT_GET : KIT_PUT,
        .op = round % 2,
        .peer = kit_number(b),
        .local = round % 2,
        .remote = 2 + round % 2,
        .length = rma_length(kit_opened(a), round)};

    memset(memory, 0, request.length);
    kit_class_post(cls, &request);
    kit_class_sleep_for(cls, 0, 1, request.op);
    kit_await_ok(a, request.op, 11);
    if (request.kind == KIT_GET)
        kit_expect(kit_hash(memory, request.length) ==
                       kit_pattern_hash(request.length, 7),
            11, "when a get has ended its data is in place",
            "other bytes, of %llu", (unsigned long long) request.length);
}

static void
rma(void)
{
    static const uint32_t access[] = {NA_PLUGIN_MEM_READ, NA_PLUGIN_MEM_WRITE};
    struct kit_side *a, *b;
    struct talk talk = {.rounds = kit_times(4000)};
    struct rhythm rhythm = {.random = 1};

    open_talk(&a, &b, 1, &talk);
    for (uint32_t i = 0; i < 2; i++) {
        struct kit_region region = {
            .number = i, .segments = 1, .length = REGION_MAX, .seed = 7};

        region.access = access[1 - i];
        kit_region(a, &region);
        region.access = access[i];
        kit_region(b, &region);
        kit_expose(b, i, a, 2 + i);
    }
    kit_begin(b, act_sleep_briefly, &talk, sizeof talk);
    kit_step("gets, puts, and sleeps");
    for (uint32_t round = 0; round < talk.rounds; round++) {
        pause_at_random(&rhythm, 20000);
        transfer(a, b, round);
    }
    kit_send_unexpected(a, STOP, b, talk.length, 0, 0);
    kit_class_sleep_for(kit_class_of(a), 0, 1, STOP);
    kit_join(b, &talk, sizeof talk);
    kit_expect(kit_region_hash(b, 1, 0, 64) == kit_region_hash(a, 1, 0, 64), 11,
        "the end of a put means that the data is visible", "other bytes");
}

/* One thread sleeps on a context, another one submits to it. */
struct helper {
    struct kit_class *cls;
    struct talk talk;
    bool receives; /* the other thread posts the receives, else the sends */
    _Atomic uint32_t asked; /* rounds */
};

static bool
round_pending(const void *arg)
{
    const struct helper *helper = arg;
    uint32_t asked = atomic_load_explicit(&helper->asked, memory_order_relaxed);

    /* Pairs with the release of the thread that ended it. */
    return atomic_load_explicit(&helper->cls->ops_made[(asked - 1) % 2].state,
               memory_order_acquire) != KIT_ENDED;
}

static void
await_idle(struct kit_class *cls, uint32_t op)
{
    /* Pairs with the release of the thread that ended it. */
    while (atomic_load_explicit(
               &cls->ops_made[op].state, memory_order_acquire) == KIT_PENDING)
        sched_yield();
}

static struct kit_request
self_send(const struct helper *helper, uint32_t round)
{
    return (struct kit_request){.kind = KIT_SEND_UNEXPECTED,
        .op = 2 + round % 2,
        .peer = helper->talk.peer,
        .length = helper->talk.length,
        .seed = seed_of(round, true)};
}

static void *
help(void *arg)
{
    struct helper *helper = arg;
    struct rhythm rhythm = {.random = 3};

    for (uint32_t round = 0; round < helper->talk.rounds; round++) {
        struct kit_request request = helper->receives
                                         ? receive_of(&helper->talk, round)
                                         : self_send(helper, round);

        while (atomic_load_explicit(&helper->asked, memory_order_acquire) !=
               round + 1)
            sched_yield();
        pause_at_random(&rhythm, round % 4 == 0 ? 20000 : 2000);
        await_idle(helper->cls, request.op);
        kit_class_post(helper->cls, &request);
    }
    return NULL;
}

static void
sleep_and_serve(struct helper *helper)
{
    struct kit_class *cls = helper->cls;
    pthread_t thread;

    cls->unlocked = true;
    if (pthread_create(&thread, NULL, help, helper) != 0)
        kit_not_run("no thread");
    for (uint32_t round = 0; round < helper->talk.rounds; round++) {
        struct kit_request request = helper->receives
                                         ? self_send(helper, round)
                                         : receive_of(&helper->talk, round);

        kit_class_sleep_for(cls, 0, 1, request.op);
        kit_class_post(cls, &request);
        if (helper->receives) {
            kit_class_poll(cls, 0);
            /* Not that of two rounds ago. */
            atomic_store_explicit(&cls->ops_made[round % 2].state, KIT_IDLE,
                memory_order_relaxed);
        }
        /* Pairs with the acquire of help. */
        atomic_store_explicit(&helper->asked, round + 1, memory_order_release);
        kit_class_sleep_while(cls, 0, 1, round_pending, helper,
            helper->receives ? "receive that another thread posted"
                             : "receive that another thread sent to");
        check(cls, &helper->talk, round);
    }
    pthread_join(thread, NULL);
    kit_class_sleep_for(cls, 0, 1, 2);
    kit_class_sleep_for(cls, 0, 1, 3);
}

static void
other_threads(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct kit_side *a = kit_local(NULL);
        struct helper helper = {.cls = kit_class_of(a),
            .receives = i == 1,
            .talk = {.peer = kit_number(a),
                .rounds = kit_times(20000),
                .contexts = 1,
                .unexpected = true,
                .length = kit_opened(a)->unexpected_header_size + 32}};

        kit_step(i == 0 ? "another thread sends" : "another thread receives");
        sleep_and_serve(&helper);
        kit_close(a);
    }
}

/* Sends a first message after a moment. */
struct first_message {
    uint32_t host; /* number of its address */
    uint32_t delay_ns;
    uint64_t length;
};

static void
act_send_first(struct kit_class *cls, void *bytes)
{
    const struct first_message *message = bytes;
    struct timespec delay = {.tv_nsec = message->delay_ns};
    struct kit_request request = {.kind = KIT_SEND_UNEXPECTED,
        .peer = message->host,
        .tag = 1,
        .length = message->length,
        .seed = 1};

    nanosleep(&delay, NULL);
    kit_class_post(cls, &request);
    kit_class_sleep_for(cls, 0, 1, 0);
    kit_expect(cls->ops_made[0].status == NA_PLUGIN_OK, 11,
        "the first message to a peer is sent", "%s",
        kit_code_text(cls->ops_made[0].status));
}

static void
new_peers(void)
{
    struct kit_side *a = kit_local(NULL);
    uint64_t length = kit_opened(a)->unexpected_header_size + 32;

    for (uint32_t i = 0; i < kit_times(60); i++) {
        struct kit_side *b = kit_remote(0, NULL);
        struct first_message message = {kit_number(a), i % 6 * 150000, length};

        kit_lookup_both(a, b);
        kit_recv_unexpected(a, i % 2, length);
        kit_begin(b, act_send_first, &message, sizeof message);
        kit_class_sleep_for(kit_class_of(a), 0, 1, i % 2);
        kit_await_message(a, i % 2, 11, length, 1, 1, kit_number(b));
        kit_join(b, &message, sizeof message);
        kit_addr_free(a, kit_number(b));
        kit_close(b);
    }
}

static const struct kit_case cases[] = {
    {"wake_expected", 12, KIT_NEEDS_WAIT, 1, 240,
        "no wake-up is lost among expected messages", expected},
    {"wake_unexpected", 12, KIT_NEEDS_WAIT, 1, 240,
        "no wake-up is lost among unexpected messages", unexpected},
    {"wake_contexts_one_thread", 12, KIT_NEEDS_WAIT | KIT_NEEDS_CONTEXTS, 1,
        240, "likewise with one sleeping thread for two contexts",
        contexts_one_thread},
    {"wake_contexts_two_threads", 12, KIT_NEEDS_WAIT | KIT_NEEDS_CONTEXTS, 1,
        240, "likewise with a sleeping thread for each of two contexts",
        contexts_two_threads},
    {"wake_rma", 12, KIT_NEEDS_WAIT | KIT_NEEDS_RMA, 1, 120,
        "likewise with puts and gets, whose target sleeps, too", rma},
    {"wake_other_threads", 12, KIT_NEEDS_WAIT, 0, 120,
        "likewise when another thread submits during the sleep", other_threads},
    {"wake_new_peers", 12, KIT_NEEDS_WAIT, 1, 120,
        "likewise when a peer sends its first message", new_peers},
};

const struct kit_group kit_cases_wake = {cases, sizeof cases / sizeof cases[0]};
