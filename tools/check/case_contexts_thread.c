/* SPDX-License-Identifier: BSD-3-Clause */
/* Case: each context has its own thread, in this process and in a worker
 * process; only that thread submits to it and polls it. All send to each
 * context of the other side, and exchange expected messages of one tag with
 * each of them. */
#include "check/cases.h"

#include "check/class.h"
#include "check/contexts.h"
#include "check/peers.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define PART UINT64_C(5000)
#define TAG 5U
#define EMPTY_POLLS 64U

/* Operations of a thread, relative to its first one; some exist for each
 * context of the other side. */
#define OPS 32U
#define RECEIVE 0U /* SLOTS */
#define SLOTS 4U
#define SEND 8U
#define HEAR 12U
#define SAY 16U
#define GET 20U
#define PUT 21U

/* The other side's differs in peer and begins. */
struct plan {
    uint32_t peer;   /* number of the other's address */
    uint32_t rounds; /* with each context of the other side */
    bool begins;     /* sends first */
    bool sleeps;     /* each thread, on its context's descriptor */
    bool rma;        /* regions 0 (read), 1 (written), 2 (local) exist, the
                        peer's 0 and 1 are 4 and 5 here */
    uint64_t length;
};

struct poller {
    struct pollers *all;
    uint32_t ctx;
    uint32_t sent[N];
    uint32_t talked[N];
    uint32_t received;
    uint32_t got; /* gets and puts begun */
    uint32_t put;
    bool finished;
    pthread_t thread;
};

struct pollers {
    struct kit_class *cls;
    const struct plan *plan;
    bool *seen;              /* messages, by sender, receiver, number */
    _Atomic uint32_t active; /* threads that have not finished */
    struct poller pollers[N];
};

/* Contents of the message of that number between two contexts; those of an
 * exchange begin at 2^20. */
static uint64_t
seed_of(bool begins, uint32_t from, uint32_t to, uint32_t number)
{
    return (uint64_t) begins << 40 | (uint64_t) (from * N + to) << 32 | number;
}
#define TALK (1U << 20)

/* Odd operations use plain memory, even ones a buffer of the plugin: both kinds
 * are under way at once. */
static struct kit_request
poller_request(const struct plan *plan, enum kit_kind kind, uint32_t ctx,
    uint32_t op, uint32_t peer_ctx)
{
    return (struct kit_request){.kind = kind,
        .op = ctx * OPS + op,
        .ctx = ctx,
        .peer = plan->peer,
        .peer_ctx = peer_ctx,
        .tag = TAG,
        .length = plan->length,
        .own_buffer = op % 2 == 1};
}

static bool
pending(const struct poller *poller, uint32_t op)
{
    /* Acquire: pairs with the release of the thread that ended it. DONE is this
     * thread's own. */
    return atomic_load_explicit(
               &poller->all->cls->ops_made[poller->ctx * OPS + op].state,
               memory_order_acquire) == KIT_PENDING;
}

/* The operation has ended, with OK. */
static void
look(const struct poller *poller, uint32_t op, struct kit_completion *end_p)
{
    kit_class_end(poller->all->cls, poller->ctx * OPS + op, end_p);
    kit_expect(end_p->status == NA_PLUGIN_OK, 9,
        "what a context's only thread submits ends with OK",
        "context %u, operation %u: %s", poller->ctx, op,
        kit_completion_text(end_p));
}

static bool
send_step(struct poller *poller, uint32_t to)
{
    const struct plan *plan = poller->all->plan;
    struct kit_request request =
        poller_request(plan, KIT_SEND_UNEXPECTED, poller->ctx, SEND + to, to);
    struct kit_completion end;

    if (poller->sent[to] > plan->rounds || pending(poller, SEND + to))
        return false;
    if (poller->sent[to]++ > 0)
        look(poller, SEND + to, &end);
    if (poller->sent[to] > plan->rounds)
        return true;
    request.seed = seed_of(plan->begins, poller->ctx, to, poller->sent[to] - 1);
    kit_class_post(poller->all->cls, &request);
    return true;
}

/* Each message is for this context, from the other side, complete, and new. */
static void
take_message(struct poller *poller, const struct kit_completion *end)
{
    struct pollers *all = poller->all;
    const struct plan *plan = all->plan;
    uint64_t body = plan->length - all->cls->opened.unexpected_header_size;
    uint32_t pair = (uint32_t) (end->seed >> 32) & 0xFFU;
    uint32_t number = (uint32_t) end->seed;
    bool *seen;

    kit_expect(end->hash == kit_pattern_hash(body, end->seed) &&
                   end->seed >> 40 == !plan->begins && pair < PAIRS &&
                   number < plan->rounds && pair % N == poller->ctx,
        11, "a message arrives whole, at the context it is sent to",
        "to context %u: %s, seed %#llx", poller->ctx, kit_completion_text(end),
        (unsigned long long) end->seed);
    kit_expect(end->source == plan->peer, 11, "a message names its sender",
        "address %d, not %u", (int) end->source, plan->peer);
    seen = &all->seen[(size_t) pair * plan->rounds + number];
    kit_expect(!*seen, 11, "a message arrives once",
        "number %u of %u arrived twice", number, pair);
    *seen = true;
    poller->received++;
}

static bool
receive_step(struct poller *poller, uint32_t slot)
{
    const struct plan *plan = poller->all->plan;
    struct kit_request request = poller_request(
        plan, KIT_RECV_UNEXPECTED, poller->ctx, RECEIVE + slot, 0);
    struct kit_op *op = &poller->all->cls->ops_made[request.op];
    struct kit_completion end;
    bool moved = false;

    if (pending(poller, RECEIVE + slot))
        return false;
    if (atomic_load_explicit(&op->state, memory_order_relaxed) == KIT_ENDED) {
        look(poller, RECEIVE + slot, &end);
        take_message(poller, &end);
        atomic_store_explicit(&op->state, KIT_IDLE, memory_order_relaxed);
        moved = true;
    }
    if (poller->received < N * plan->rounds)
        kit_class_post(poller->all->cls, &request);
    return moved;
}

static void
talk_send(struct poller *poller, uint32_t with, uint32_t round)
{
    const struct plan *plan = poller->all->plan;
    struct kit_request request =
        poller_request(plan, KIT_SEND_EXPECTED, poller->ctx, SAY + with, with);

    request.seed = seed_of(plan->begins, poller->ctx, with, TALK + round);
    kit_class_post(poller->all->cls, &request);
}

static bool
talk_step(struct poller *poller, uint32_t with)
{
    struct kit_class *cls = poller->all->cls;
    const struct plan *plan = poller->all->plan;
    uint64_t body = plan->length - cls->opened.expected_header_size;
    uint32_t round = poller->talked[with];
    struct kit_request receive =
        poller_request(plan, KIT_RECV_EXPECTED, poller->ctx, HEAR + with, with);
    struct kit_completion end;

    if (round == plan->rounds || pending(poller, HEAR + with) ||
        pending(poller, SAY + with))
        return false;
    look(poller, HEAR + with, &end);
    kit_expect(end.hash ==
                   kit_pattern_hash(body,
                       seed_of(!plan->begins, with, poller->ctx, TALK + round)),
        11, "an expected receive gets what its source's context sends",
        "context %u of %u, round %u: seed %#llx", poller->ctx, with, round,
        (unsigned long long) end.seed);
    poller->talked[with] = ++round;
    if (round < plan->rounds)
        kit_class_post(cls, &receive);
    if (!plan->begins)
        talk_send(poller, with, round - 1);
    else if (round < plan->rounds)
        talk_send(poller, with, round);
    return true;
}

/* Parts of region 2: the source of puts, then the sink of gets. */
static unsigned char *
part(const struct poller *poller, uint32_t region, uint32_t number)
{
    uint64_t room = PART;

    return kit_class_mem_at(poller->all->cls, region, number * PART, &room);
}

static bool
get_step(struct poller *poller)
{
    const struct plan *plan = poller->all->plan;
    struct kit_request request = poller_request(
        plan, KIT_GET, poller->ctx, GET, (poller->ctx + poller->got) % N);
    unsigned char *memory = part(poller, 2, N + poller->ctx);
    struct kit_completion end;

    if (poller->got > plan->rounds || pending(poller, GET))
        return false;
    if (poller->got++ > 0) {
        look(poller, GET, &end);
        kit_expect(memcmp(memory, part(poller, 0, poller->ctx), PART) == 0, 11,
            "when a get has ended its data is in place",
            "other bytes, context %u", poller->ctx);
    }
    memset(memory, 0, PART);
    request.local = 2;
    request.local_offset = (N + poller->ctx) * PART;
    request.remote = 4;
    request.remote_offset = poller->ctx * PART;
    request.length = PART;
    if (poller->got <= plan->rounds)
        kit_class_post(poller->all->cls, &request);
    return true;
}

static bool
put_step(struct poller *poller)
{
    const struct plan *plan = poller->all->plan;
    struct kit_request request = poller_request(
        plan, KIT_PUT, poller->ctx, PUT, (poller->ctx + poller->put) % N);
    struct kit_completion end;

    if (poller->put > plan->rounds || pending(poller, PUT))
        return false;
    if (poller->put++ > 0)
        look(poller, PUT, &end);
    request.local = 2;
    request.remote = 5;
    request.local_offset = request.remote_offset = poller->ctx * PART;
    request.length = PART;
    if (poller->put <= plan->rounds)
        kit_class_post(poller->all->cls, &request);
    return true;
}

static bool
finished(const struct poller *poller)
{
    const struct plan *plan = poller->all->plan;

    for (uint32_t i = 0; i < N; i++)
        if (poller->sent[i] <= plan->rounds ||
            poller->talked[i] < plan->rounds || pending(poller, SAY + i))
            return false;
    return poller->received == N * plan->rounds &&
           (!plan->rma ||
               (poller->got > plan->rounds && poller->put > plan->rounds));
}

static bool
step(struct poller *poller)
{
    bool moved = false;

    for (uint32_t i = 0; i < N; i++) {
        moved = send_step(poller, i) || moved;
        moved = talk_step(poller, i) || moved;
    }
    for (uint32_t i = 0; i < SLOTS; i++)
        moved = receive_step(poller, i) || moved;
    if (poller->all->plan->rma) {
        moved = get_step(poller) || moved;
        moved = put_step(poller) || moved;
    }
    return moved;
}

/* Whether step would find an operation that has ended or was never
 * submitted. */
static bool
can_step(const struct poller *poller)
{
    const struct plan *plan = poller->all->plan;

    for (uint32_t i = 0; i < N; i++)
        if ((poller->sent[i] <= plan->rounds && !pending(poller, SEND + i)) ||
            (poller->talked[i] < plan->rounds && !pending(poller, HEAR + i) &&
                !pending(poller, SAY + i)))
            return true;
    for (uint32_t i = 0; i < SLOTS; i++)
        if (poller->received < N * plan->rounds &&
            !pending(poller, RECEIVE + i))
            return true;
    return plan->rma &&
           ((poller->got <= plan->rounds && !pending(poller, GET)) ||
               (poller->put <= plan->rounds && !pending(poller, PUT)));
}

static bool
is_stopped(const void *arg)
{
    const struct poller *poller = arg;

    return !can_step(poller) && !finished(poller);
}

/* Sleeps until an operation has ended. A thread that has finished checks
 * periodically. */
static void
sleep_briefly(struct poller *poller)
{
    struct kit_class *cls = poller->all->cls;

    if (poller->finished) {
        kit_class_sleep(cls, poller->ctx, 1, 1000000);
        kit_class_poll(cls, poller->ctx);
    } else {
        kit_class_sleep_while(cls, poller->ctx, 1, is_stopped, poller,
            "message, get or put of this context");
    }
}

/* Polls while any thread of this side works, since sends that have ended may
 * still be transmitted. */
static void *
drive(void *arg)
{
    struct poller *poller = arg;
    struct pollers *all = poller->all;
    uint64_t limit = kit_now() + kit_patience();
    uint32_t empty = 0;

    for (uint32_t i = 0; all->plan->begins && i < N; i++)
        talk_send(poller, i, 0);
    while (atomic_load_explicit(&all->active, memory_order_relaxed) > 0) {
        uint32_t events =
            all->plan->sleeps ? 0 : kit_class_poll(all->cls, poller->ctx);

        if (poller->finished || step(poller))
            limit = kit_now() + kit_patience();
        if (all->plan->sleeps)
            sleep_briefly(poller);
        if (!poller->finished && finished(poller)) {
            poller->finished = true;
            atomic_fetch_sub_explicit(&all->active, 1, memory_order_relaxed);
        }
        empty = events > 0 ? 0 : empty + 1;
        if (empty % EMPTY_POLLS == EMPTY_POLLS - 1) {
            sched_yield();
            kit_expect(kit_now() < limit, 7,
                "what a context's only thread submits ends while it polls",
                "context %u: nothing ends in %llu ms", poller->ctx,
                (unsigned long long) (kit_patience() / 1000000U));
        }
    }
    return NULL;
}

static void
act(struct kit_class *cls, void *bytes)
{
    const struct plan *plan = bytes;
    struct pollers *all = calloc(1, sizeof *all);

    if (!all)
        kit_not_run("out of memory");
    all->cls = cls;
    all->plan = plan;
    all->active = N;
    all->seen = calloc((size_t) PAIRS * plan->rounds, sizeof *all->seen);
    if (!all->seen)
        kit_not_run("out of memory");
    for (uint32_t i = 0; i < N; i++)
        all->pollers[i] = (struct poller){.all = all, .ctx = i};
    for (uint32_t i = 0; plan->rma && i < N; i++)
        kit_pattern(part(&all->pollers[i], 2, i), PART, 1000 + i);
    for (uint32_t i = 1; i < N; i++)
        if (pthread_create(
                &all->pollers[i].thread, NULL, drive, &all->pollers[i]) != 0)
            kit_not_run("no thread");
    drive(&all->pollers[0]);
    for (uint32_t i = 1; i < N; i++)
        pthread_join(all->pollers[i].thread, NULL);
    free(all->seen);
    free(all);
}

/* Posts the first receives of all exchanges, before any expected message
 * arrives. */
static void
post_first(struct kit_side *side, const struct plan *plan)
{
    for (uint32_t ctx = 0; ctx < N; ctx++)
        for (uint32_t with = 0; with < N; with++) {
            struct kit_request request =
                poller_request(plan, KIT_RECV_EXPECTED, ctx, HEAR + with, with);

            kit_post(side, &request);
        }
}

static void
pollers(uint32_t thread_mode, bool sleeps)
{
    struct kit_open_options how = {.contexts = N, .thread_mode = thread_mode};
    struct kit_side *a = kit_local(&how), *b = kit_remote(0, &how);
    struct plan here = {.peer = kit_number(b),
        .rounds = kit_times(1000),
        .begins = true,
        .sleeps = sleeps,
        .rma = kit_class_offers(kit_class_of(a), KIT_NEEDS_RMA),
        .length = kit_small(a) + 200};
    struct plan there = here;

    there.peer = kit_number(a);
    there.begins = false;
    kit_lookup_both(a, b);
    if (here.rma)
        kit_share(a, b, UINT64_C(2) * N * PART, 5);
    post_first(a, &here);
    post_first(b, &there);
    kit_begin(b, act, &there, sizeof there);
    kit_step("each context has a thread of its own");
    act(kit_class_of(a), &here);
    kit_step("the other process finishes");
    kit_join(b, &there, sizeof there);
    if (here.rma)
        kit_expect(kit_region_hash(b, 1, 0, N * PART) ==
                           kit_region_hash(a, 2, 0, N * PART) &&
                       kit_region_hash(a, 1, 0, N * PART) ==
                           kit_region_hash(b, 2, 0, N * PART),
            11, "the end of a put means that the data is visible",
            "other bytes");
}

static void
pollers_free(void)
{
    pollers(0, false);
}

static void
thread_per_context_single(void)
{
    pollers(NA_PLUGIN_THREAD_SINGLE_CONTEXT, false);
}

static void
thread_per_context_sleeping(void)
{
    pollers(0, true);
}

static const struct kit_case cases[] = {
    {"thread_per_context", 9, KIT_NEEDS_CONTEXTS, 1, 120,
        "each context has its own thread, at both sides", pollers_free},
    {"thread_per_context_single", 9, KIT_NEEDS_CONTEXTS, 1, 120,
        "likewise if one thread at a time is promised for each context",
        thread_per_context_single},
    {"thread_per_context_sleeping", 12, KIT_NEEDS_CONTEXTS | KIT_NEEDS_WAIT, 1,
        120, "likewise if each thread sleeps on its own context",
        thread_per_context_sleeping},
};

const struct kit_group kit_cases_contexts_thread = {
    cases, sizeof cases / sizeof cases[0]};
