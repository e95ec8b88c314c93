/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: any thread submits. Threads here and in a worker process exchange
 * messages, puts and gets while others poll. The protected storage of an ended
 * operation catches a submission that still accesses it. */
#include "check/cases.h"
#include "check/peers.h"
#include "check/target.h"
#include "check/workers.h"

#include <pthread.h>
#include <sched.h>

/* Opens both sides. */
static void
open_sides(struct kit_side **a_p, struct kit_side **b_p, uint32_t contexts)
{
    struct kit_open_options how = {.contexts = contexts};

    *a_p = kit_local(&how);
    *b_p = kit_remote(0, &how);
    kit_lookup(*a_p, *b_p);
    kit_lookup(*b_p, *a_p);
}

/* Posts the first receives, before an expected message arrives. */
static void
post_first(struct kit_side *side, const struct kit_workers_plan *plan)
{
    for (uint32_t worker = 0; worker < WORKERS; worker++)
        for (uint32_t chain = 0; chain < WORKER_CHAINS; chain++) {
            struct kit_request first = kit_workers_receive(plan, worker, chain);

            kit_post(side, &first);
        }
}

static void
run_workers(struct kit_workers_plan plan)
{
    struct kit_side *a, *b;
    struct kit_workers_plan there;
    const na_plugin_opened *opened;

    open_sides(&a, &b, plan.contexts);
    opened = kit_opened(a);
    plan.rma = kit_class_offers(kit_class_of(a), KIT_NEEDS_RMA);
    if (plan.rma)
        kit_share(a, b, WORKER_MEMORY, WORKER_SEED);
    plan.length =
        opened->unexpected_header_size + opened->expected_header_size + 200;
    there = plan;
    plan.begins = true;
    plan.self = there.peer = kit_number(a);
    there.self = plan.peer = kit_number(b);
    post_first(a, &plan);
    post_first(b, &there);
    kit_begin(b, kit_workers_act, &there, sizeof there);
    kit_step("threads submit, others poll");
    kit_workers_act(kit_class_of(a), &plan);
    kit_step("the other process finishes");
    kit_join(b, &there, sizeof there);
    /* All workers put the same data. */
    if (plan.rma)
        kit_expect(kit_region_hash(b, 1, 0, WORKERS * WORKER_PIECE) ==
                       kit_region_hash(a, 2, 0, WORKERS * WORKER_PIECE),
            11, "the end of a put means that the data is visible",
            "other bytes");
}

static void
submits(void)
{
    run_workers(
        (struct kit_workers_plan){.contexts = 1, .rounds = kit_times(1000)});
}

static void
two_pollers(void)
{
    run_workers(
        (struct kit_workers_plan){.contexts = 2, .rounds = kit_times(1000)});
}

static void
cancels(void)
{
    run_workers((struct kit_workers_plan){
        .contexts = 1, .rounds = kit_times(1000), .cancels = true});
}

static void
objects(void)
{
    run_workers((struct kit_workers_plan){
        .contexts = 1, .rounds = kit_times(1000), .objects = true});
}

/* Shared operations: a thread reuses one as soon as it has ended, even while
 * the submitting thread is still inside that call. */
#define POOL 32U

struct pool {
    struct kit_class *cls;
    uint32_t self;
    uint32_t peer;
    uint32_t total; /* messages in each direction, and to oneself */
    uint64_t length;
    _Atomic uint32_t tickets;
    _Atomic uint32_t received;
    _Atomic uint32_t workers;
};

struct pool_plan {
    uint32_t self;
    uint32_t peer;
    uint32_t total;
    uint64_t length;
};

/* The next user of an operation checks what it received. */
static void
pool_receipt(struct pool *pool, uint32_t op)
{
    const struct kit_op *it = &pool->cls->ops_made[op];
    uint64_t header = pool->cls->opened.unexpected_header_size;
    struct kit_completion end;

    kit_class_end(pool->cls, op, &end);
    kit_expect(end.status == NA_PLUGIN_OK, 9, "an operation ends with OK",
        "%s: %s", kit_kind_name(it->request.kind), kit_code_text(end.status));
    if (it->request.kind != KIT_RECV_UNEXPECTED)
        return;
    kit_expect(end.hash == kit_pattern_hash(pool->length - header, end.seed), 9,
        "a message has the contents sent", "%s, seed %llu",
        kit_completion_text(&end), (unsigned long long) end.seed);
    atomic_fetch_add_explicit(&pool->received, 1, memory_order_relaxed);
}

/* Acquires an operation that has ended; KIT_OPS: none. */
static uint32_t
pool_take(struct pool *pool, uint32_t from)
{
    for (uint32_t i = 0; i < POOL; i++) {
        uint32_t op = (from + i) % POOL, state = KIT_ENDED;

        /* Pairs with the release of the thread that ended it. */
        if (atomic_compare_exchange_strong_explicit(
                &pool->cls->ops_made[op].state, &state, KIT_IDLE,
                memory_order_acquire, memory_order_relaxed))
            return op;
    }
    return KIT_OPS;
}

static void
pool_post(struct pool *pool, uint32_t op, uint32_t ticket)
{
    struct kit_request request = {
        .kind = ticket % 2 == 0 ? KIT_RECV_UNEXPECTED : KIT_SEND_UNEXPECTED,
        .op = op,
        .peer = ticket % 4 == 1 ? pool->self : pool->peer,
        .length = pool->length,
        .seed = ticket,
        .own_buffer = ticket % 3 == 0};

    /* Unused so far: nothing to check. */
    if (atomic_load_explicit(
            &pool->cls->ops_made[op].stored, memory_order_relaxed))
        pool_receipt(pool, op);
    kit_class_post(pool->cls, &request);
}

static void *
pool_work(void *arg)
{
    struct pool *pool = arg;
    uint32_t ticket;

    while ((ticket = atomic_fetch_add_explicit(
                &pool->tickets, 1, memory_order_relaxed)) < 4 * pool->total) {
        uint32_t op;

        while ((op = pool_take(pool, ticket)) == KIT_OPS)
            sched_yield();
        pool_post(pool, op, ticket);
    }
    atomic_fetch_sub_explicit(&pool->workers, 1, memory_order_release);
    return NULL;
}

static bool
pool_busy(struct pool *pool)
{
    /* Pairs with the release of pool_work. */
    if (atomic_load_explicit(&pool->workers, memory_order_acquire) > 0)
        return true;
    for (uint32_t op = 0; op < POOL; op++)
        /* Pairs with the release of the thread that ended it. */
        if (atomic_load_explicit(&pool->cls->ops_made[op].state,
                memory_order_acquire) == KIT_PENDING)
            return true;
    return false;
}

static void
pool_act(struct kit_class *cls, void *bytes)
{
    const struct pool_plan *plan = bytes;
    struct pool pool = {.cls = cls,
        .self = plan->self,
        .peer = plan->peer,
        .total = plan->total,
        .length = plan->length,
        .workers = WORKERS};
    pthread_t threads[WORKERS];
    uint64_t limit = kit_now() + kit_patience();
    uint32_t tickets = 0;

    for (uint32_t op = 0; op < POOL; op++)
        atomic_store_explicit(
            &cls->ops_made[op].state, KIT_ENDED, memory_order_relaxed);
    for (uint32_t i = 0; i < WORKERS; i++)
        if (pthread_create(&threads[i], NULL, pool_work, &pool) != 0)
            kit_not_run("no thread");
    while (pool_busy(&pool)) {
        uint32_t now =
            atomic_load_explicit(&pool.tickets, memory_order_relaxed);

        kit_class_poll(cls, 0);
        if (now != tickets)
            limit = kit_now() + kit_patience();
        tickets = now;
        kit_expect(kit_now() < limit, 7,
            "what threads submit ends while another one polls",
            "nothing ends in %llu ms",
            (unsigned long long) (kit_patience() / 1000000U));
    }
    for (uint32_t i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t op = 0; op < POOL; op++)
        if (atomic_load_explicit(
                &cls->ops_made[op].stored, memory_order_relaxed))
            pool_receipt(&pool, op);
    kit_expect(pool.received == 2 * pool.total, 11,
        "each unexpected message is received once", "%u of %u", pool.received,
        2 * pool.total);
}

static void
reuse(void)
{
    struct kit_side *a, *b;
    struct pool_plan here, there;

    open_sides(&a, &b, 1);
    here = (struct pool_plan){.self = kit_number(a),
        .peer = kit_number(b),
        .total = kit_times(8000),
        .length = kit_opened(a)->unexpected_header_size + 100};
    there = here;
    there.self = here.peer;
    there.peer = here.self;
    kit_begin(b, pool_act, &there, sizeof there);
    kit_step("threads use each other's operations");
    pool_act(kit_class_of(a), &here);
    kit_join(b, &there, sizeof there);
}

/* Classes opened, used and closed in parallel. */
static void *
run_cycle(void *arg)
{
    uint32_t cycles = *(const uint32_t *) arg;
    struct kit_open_options how = {.contexts = 1};

    for (uint32_t i = 0; i < cycles; i++) {
        struct kit_class *cls = kit_class_open(&how, 0);
        uint64_t length = cls->opened.unexpected_header_size + 8;
        struct kit_request receive = {
            .kind = KIT_RECV_UNEXPECTED, .op = 1, .length = length};
        struct kit_request send = {
            .kind = KIT_SEND_UNEXPECTED, .length = length, .seed = i};
        uint64_t limit = kit_now() + kit_patience();
        struct kit_completion end;

        kit_class_post(cls, &receive);
        kit_class_post(cls, &send);
        do {
            kit_class_poll(cls, 0);
            kit_class_end(cls, 1, &end);
        } while (!end.ended && kit_now() < limit);
        kit_expect(end.ended && end.status == NA_PLUGIN_OK && end.seed == i, 12,
            "classes live side by side", "%s", kit_completion_text(&end));
        kit_class_close(cls);
    }
    return NULL;
}

static void
classes(void)
{
    uint32_t cycles = kit_times(100);
    pthread_t threads[WORKERS];

    kit_target_load();
    kit_step("threads open and close classes");
    for (uint32_t i = 0; i < WORKERS; i++)
        if (pthread_create(&threads[i], NULL, run_cycle, &cycles) != 0)
            kit_not_run("no thread");
    for (uint32_t i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
}

static const struct kit_case cases[] = {
    {"thread_submits", 9, 0, 1, 120,
        "four threads submit while one polls, in both processes", submits},
    {"thread_reuse", 9, 0, 1, 120,
        "operations are used again, by any thread, after they have ended",
        reuse},
    {"thread_two_pollers", 9, KIT_NEEDS_CONTEXTS, 1, 120,
        "two contexts are polled in parallel", two_pollers},
    {"thread_cancels", 9, 0, 1, 120,
        "the poller cancels while others submit, and nothing is lost", cancels},
    {"thread_objects", 9, 0, 1, 120,
        "addresses, buffers and registrations are created and freed during "
        "traffic",
        objects},
    {"thread_classes", 12, 0, 0, 120, "threads open and close classes",
        classes},
};

const struct kit_group kit_cases_thread = {
    cases, sizeof cases / sizeof cases[0]};
