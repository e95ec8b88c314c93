/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Case: each context has a thread of its own, here and in a worker process,
 * which alone submits to it and polls it. They send to every context of the other
 * side, and talk with each of them by expected messages of one tag.
 */
#include "check/cases.h"

#include "check/class.h"
#include "check/contexts.h"
#include "check/peers.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define PIECE UINT64_C(5000)
#define TAG 5U
#define EMPTY_POLLS 64U

/* Operations of a lane, from its first one on; of some, one for each context of
 * the other side. */
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
    bool begins;     /* the talks */
    bool sleeps;     /* each thread, on its context's descriptor */
    bool rma;        /* regions 0 (read), 1 (written), 2 (local) are there, the
                        peer's 0 and 1 are known as 4 and 5 */
    uint64_t length;
};

struct lane {
    struct lanes *all;
    uint32_t ctx;
    uint32_t sent[N];
    uint32_t talked[N];
    uint32_t received;
    uint32_t got; /* gets and puts begun */
    uint32_t put;
    bool finished;
    pthread_t thread;
};

struct lanes {
    struct kit_class *cls;
    const struct plan *plan;
    bool *seen;              /* messages, by sender, receiver, number */
    _Atomic uint32_t active; /* lanes that have not finished */
    struct lane lanes[N];
};

/* What the message of that number says, between two contexts; a talk's number
 * begins at 2^20. */
static uint64_t
seed_of(bool begins, uint32_t from, uint32_t to, uint32_t number)
{
    return (uint64_t) begins << 40 | (uint64_t) (from * N + to) << 32 | number;
}
#define TALK (1U << 20)

static struct kit_request
lane_request(const struct plan *plan, enum kit_kind kind, uint32_t ctx,
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
pending(const struct lane *lane, uint32_t op)
{
    /* Pairs with the release of who ended it: a DONE is this thread's own. */
    return atomic_load_explicit(
               &lane->all->cls->ops_made[lane->ctx * OPS + op].state,
               memory_order_acquire) == KIT_PENDING;
}

/* Its operation has ended, with OK. */
static void
look(const struct lane *lane, uint32_t op, struct kit_end *end_p)
{
    kit_class_end(lane->all->cls, lane->ctx * OPS + op, end_p);
    kit_expect(end_p->status == NA_PLUGIN_OK, 9,
        "what a context's only thread submits ends with OK",
        "context %u, operation %u: %s", lane->ctx, op, kit_end_text(end_p));
}

static bool
send_step(struct lane *lane, uint32_t to)
{
    const struct plan *plan = lane->all->plan;
    struct kit_request request =
        lane_request(plan, KIT_SEND_UNEXPECTED, lane->ctx, SEND + to, to);
    struct kit_end end;

    if (lane->sent[to] > plan->rounds || pending(lane, SEND + to))
        return false;
    if (lane->sent[to]++ > 0)
        look(lane, SEND + to, &end);
    if (lane->sent[to] > plan->rounds)
        return true;
    request.seed = seed_of(plan->begins, lane->ctx, to, lane->sent[to] - 1);
    kit_class_post(lane->all->cls, &request);
    return true;
}

/* Each one is for this context, from the other side, whole, and new. */
static void
take_message(struct lane *lane, const struct kit_end *end)
{
    struct lanes *all = lane->all;
    const struct plan *plan = all->plan;
    uint64_t body = plan->length - all->cls->opened.unexpected_header_size;
    uint32_t pair = (uint32_t) (end->seed >> 32) & 0xFFU;
    uint32_t number = (uint32_t) end->seed;
    bool *seen;

    kit_expect(end->hash == kit_pattern_hash(body, end->seed) &&
                   end->seed >> 40 == !plan->begins && pair < PAIRS &&
                   number < plan->rounds && pair % N == lane->ctx,
        11, "a message comes whole, to the context it is sent to",
        "to context %u: %s, seed %#llx", lane->ctx, kit_end_text(end),
        (unsigned long long) end->seed);
    kit_expect(end->source == plan->peer, 11, "a message names its sender",
        "address %d, not %u", (int) end->source, plan->peer);
    seen = &all->seen[(size_t) pair * plan->rounds + number];
    kit_expect(!*seen, 11, "a message comes once", "number %u of %u came twice",
        number, pair);
    *seen = true;
    lane->received++;
}

static bool
receive_step(struct lane *lane, uint32_t slot)
{
    const struct plan *plan = lane->all->plan;
    struct kit_request request =
        lane_request(plan, KIT_RECV_UNEXPECTED, lane->ctx, RECEIVE + slot, 0);
    struct kit_op *op = &lane->all->cls->ops_made[request.op];
    struct kit_end end;
    bool moved = false;

    if (pending(lane, RECEIVE + slot))
        return false;
    if (atomic_load_explicit(&op->state, memory_order_relaxed) == KIT_ENDED) {
        look(lane, RECEIVE + slot, &end);
        take_message(lane, &end);
        atomic_store_explicit(&op->state, KIT_IDLE, memory_order_relaxed);
        moved = true;
    }
    if (lane->received < N * plan->rounds)
        kit_class_post(lane->all->cls, &request);
    return moved;
}

static void
talk_send(struct lane *lane, uint32_t with, uint32_t round)
{
    const struct plan *plan = lane->all->plan;
    struct kit_request request =
        lane_request(plan, KIT_SEND_EXPECTED, lane->ctx, SAY + with, with);

    request.seed = seed_of(plan->begins, lane->ctx, with, TALK + round);
    kit_class_post(lane->all->cls, &request);
}

static bool
talk_step(struct lane *lane, uint32_t with)
{
    struct kit_class *cls = lane->all->cls;
    const struct plan *plan = lane->all->plan;
    uint64_t body = plan->length - cls->opened.expected_header_size;
    uint32_t round = lane->talked[with];
    struct kit_request receive =
        lane_request(plan, KIT_RECV_EXPECTED, lane->ctx, HEAR + with, with);
    struct kit_end end;

    if (round == plan->rounds || pending(lane, HEAR + with) ||
        pending(lane, SAY + with))
        return false;
    look(lane, HEAR + with, &end);
    kit_expect(end.hash == kit_pattern_hash(body, seed_of(!plan->begins, with,
                                                      lane->ctx, TALK + round)),
        11, "an expected receive gets what its source's context sends",
        "context %u of %u, round %u: seed %#llx", lane->ctx, with, round,
        (unsigned long long) end.seed);
    lane->talked[with] = ++round;
    if (round < plan->rounds)
        kit_class_post(cls, &receive);
    if (!plan->begins)
        talk_send(lane, with, round - 1);
    else if (round < plan->rounds)
        talk_send(lane, with, round);
    return true;
}

/* Pieces of region 2: what is put, then what is got. */
static unsigned char *
piece(const struct lane *lane, uint32_t region, uint32_t number)
{
    uint64_t room = PIECE;

    return kit_class_mem_at(lane->all->cls, region, number * PIECE, &room);
}

static bool
get_step(struct lane *lane)
{
    const struct plan *plan = lane->all->plan;
    struct kit_request request = lane_request(
        plan, KIT_GET, lane->ctx, GET, (lane->ctx + lane->got) % N);
    unsigned char *memory = piece(lane, 2, N + lane->ctx);
    struct kit_end end;

    if (lane->got > plan->rounds || pending(lane, GET))
        return false;
    if (lane->got++ > 0) {
        look(lane, GET, &end);
        kit_expect(memcmp(memory, piece(lane, 0, lane->ctx), PIECE) == 0, 11,
            "the end of a get means that the data is here",
            "other bytes, context %u", lane->ctx);
    }
    memset(memory, 0, PIECE);
    request.local = 2;
    request.local_offset = (N + lane->ctx) * PIECE;
    request.remote = 4;
    request.remote_offset = lane->ctx * PIECE;
    request.length = PIECE;
    if (lane->got <= plan->rounds)
        kit_class_post(lane->all->cls, &request);
    return true;
}

static bool
put_step(struct lane *lane)
{
    const struct plan *plan = lane->all->plan;
    struct kit_request request = lane_request(
        plan, KIT_PUT, lane->ctx, PUT, (lane->ctx + lane->put) % N);
    struct kit_end end;

    if (lane->put > plan->rounds || pending(lane, PUT))
        return false;
    if (lane->put++ > 0)
        look(lane, PUT, &end);
    request.local = 2;
    request.remote = 5;
    request.local_offset = request.remote_offset = lane->ctx * PIECE;
    request.length = PIECE;
    if (lane->put <= plan->rounds)
        kit_class_post(lane->all->cls, &request);
    return true;
}

static bool
finished(const struct lane *lane)
{
    const struct plan *plan = lane->all->plan;

    for (uint32_t i = 0; i < N; i++)
        if (lane->sent[i] <= plan->rounds || lane->talked[i] < plan->rounds ||
            pending(lane, SAY + i))
            return false;
    return lane->received == N * plan->rounds &&
           (!plan->rma ||
               (lane->got > plan->rounds && lane->put > plan->rounds));
}

static bool
step(struct lane *lane)
{
    bool moved = false;

    for (uint32_t i = 0; i < N; i++) {
        moved = send_step(lane, i) || moved;
        moved = talk_step(lane, i) || moved;
    }
    for (uint32_t i = 0; i < SLOTS; i++)
        moved = receive_step(lane, i) || moved;
    if (lane->all->plan->rma) {
        moved = get_step(lane) || moved;
        moved = put_step(lane) || moved;
    }
    return moved;
}

/* What step would find: something has ended, or was never begun. */
static bool
can_step(const struct lane *lane)
{
    const struct plan *plan = lane->all->plan;

    for (uint32_t i = 0; i < N; i++)
        if ((lane->sent[i] <= plan->rounds && !pending(lane, SEND + i)) ||
            (lane->talked[i] < plan->rounds && !pending(lane, HEAR + i) &&
                !pending(lane, SAY + i)))
            return true;
    for (uint32_t i = 0; i < SLOTS; i++)
        if (lane->received < N * plan->rounds && !pending(lane, RECEIVE + i))
            return true;
    return plan->rma && ((lane->got <= plan->rounds && !pending(lane, GET)) ||
                            (lane->put <= plan->rounds && !pending(lane, PUT)));
}

static bool
stands_still(const void *arg)
{
    const struct lane *lane = arg;

    return !can_step(lane) && !finished(lane);
}

/* Sleeps until something has ended. Who has finished looks now and then. */
static void
doze(struct lane *lane)
{
    struct kit_class *cls = lane->all->cls;

    if (lane->finished) {
        kit_class_sleep(cls, lane->ctx, 1, 1000000);
        kit_class_poll(cls, lane->ctx);
    } else {
        kit_class_sleep_while(cls, lane->ctx, 1, stands_still, lane,
            "message, get or put of this context");
    }
}

/* Polls as long as any lane of this side works: what has ended here may still
 * have to leave. */
static void *
drive(void *arg)
{
    struct lane *lane = arg;
    struct lanes *all = lane->all;
    uint64_t limit = kit_now() + kit_patience();
    uint32_t empty = 0;

    for (uint32_t i = 0; all->plan->begins && i < N; i++)
        talk_send(lane, i, 0);
    while (atomic_load_explicit(&all->active, memory_order_relaxed) > 0) {
        uint32_t events =
            all->plan->sleeps ? 0 : kit_class_poll(all->cls, lane->ctx);

        if (lane->finished || step(lane))
            limit = kit_now() + kit_patience();
        if (all->plan->sleeps)
            doze(lane);
        if (!lane->finished && finished(lane)) {
            lane->finished = true;
            atomic_fetch_sub_explicit(&all->active, 1, memory_order_relaxed);
        }
        empty = events > 0 ? 0 : empty + 1;
        if (empty % EMPTY_POLLS == EMPTY_POLLS - 1) {
            sched_yield();
            kit_expect(kit_now() < limit, 7,
                "what a context's only thread submits ends while it polls",
                "context %u: nothing ends in %llu ms", lane->ctx,
                (unsigned long long) (kit_patience() / 1000000U));
        }
    }
    return NULL;
}

static void
act(struct kit_class *cls, void *bytes)
{
    const struct plan *plan = bytes;
    struct lanes *all = calloc(1, sizeof *all);

    if (!all)
        kit_not_run("no memory");
    all->cls = cls;
    all->plan = plan;
    all->active = N;
    all->seen = calloc((size_t) PAIRS * plan->rounds, sizeof *all->seen);
    if (!all->seen)
        kit_not_run("no memory");
    for (uint32_t i = 0; i < N; i++)
        all->lanes[i] = (struct lane){.all = all, .ctx = i};
    for (uint32_t i = 0; plan->rma && i < N; i++)
        kit_pattern(piece(&all->lanes[i], 2, i), PIECE, 1000 + i);
    for (uint32_t i = 1; i < N; i++)
        if (pthread_create(
                &all->lanes[i].thread, NULL, drive, &all->lanes[i]) != 0)
            kit_not_run("no thread");
    drive(&all->lanes[0]);
    for (uint32_t i = 1; i < N; i++)
        pthread_join(all->lanes[i].thread, NULL);
    free(all->seen);
    free(all);
}

/* The first receives of all talks, so that nothing expected comes early. */
static void
post_first(struct kit_side *side, const struct plan *plan)
{
    for (uint32_t ctx = 0; ctx < N; ctx++)
        for (uint32_t with = 0; with < N; with++) {
            struct kit_request request =
                lane_request(plan, KIT_RECV_EXPECTED, ctx, HEAR + with, with);

            kit_post(side, &request);
        }
}

static void
lanes(uint32_t thread_mode, bool sleeps)
{
    struct kit_how how = {.contexts = N, .thread_mode = thread_mode};
    struct kit_side *a = kit_here(&how), *b = kit_there(0, &how);
    struct plan here = {.peer = kit_number(b),
        .rounds = kit_times(1000),
        .begins = true,
        .sleeps = sleeps,
        .rma = kit_class_offers(kit_class_of(a), KIT_NEEDS_RMA),
        .length = kit_small(a) + 200};
    struct plan there = here;

    there.peer = kit_number(a);
    there.begins = false;
    kit_know(a, b);
    kit_know(b, a);
    if (here.rma)
        kit_share(a, b, UINT64_C(2) * N * PIECE, 5);
    post_first(a, &here);
    post_first(b, &there);
    kit_begin(b, act, &there, sizeof there);
    kit_step("each context has a thread of its own");
    act(kit_class_of(a), &here);
    kit_step("the other process finishes");
    kit_join(b, &there, sizeof there);
    if (here.rma)
        kit_expect(kit_region_hash(b, 1, 0, N * PIECE) ==
                           kit_region_hash(a, 2, 0, N * PIECE) &&
                       kit_region_hash(a, 1, 0, N * PIECE) ==
                           kit_region_hash(b, 2, 0, N * PIECE),
            11, "the end of a put means that the data is visible",
            "other bytes");
}

static void
lanes_free(void)
{
    lanes(0, false);
}

static void
lanes_single(void)
{
    lanes(NA_PLUGIN_THREAD_SINGLE_CONTEXT, false);
}

static void
lanes_asleep(void)
{
    lanes(0, true);
}

static const struct kit_case cases[] = {
    {"thread_lanes", 9, KIT_NEEDS_CONTEXTS, 1, 120,
        "each context has a thread of its own, at either side", lanes_free},
    {"thread_lanes_single", 9, KIT_NEEDS_CONTEXTS, 1, 120,
        "likewise if one thread at a time is promised for each context",
        lanes_single},
    {"thread_lanes_asleep", 12, KIT_NEEDS_CONTEXTS | KIT_NEEDS_WAIT, 1, 120,
        "likewise if each thread sleeps on its context alone", lanes_asleep},
};

const struct kit_group kit_cases_contexts_thread = {
    cases, sizeof cases / sizeof cases[0]};
