/* SPDX-License-Identifier: BSD-3-Clause */
/* Worker threads. Each one repeats its own operations in turn: exchanges of
 * expected messages, unexpected messages that must arrive once, gets and puts,
 * and receives that end by cancellation only. */
#include "check/workers.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Operations of a worker, relative to its first one. */
#define OPS 64U
#define CHAIN_RECEIVE 0U
#define CHAIN_SEND (CHAIN_RECEIVE + WORKER_CHAINS)
#define SEND 8U
#define RECEIVE 12U
#define GET 16U
#define PUT 17U
#define NEVER 18U
#define SLOTS 4U /* sends, and receives, in flight */
#define NEVERS 2U
#define CHURNERS 2U

struct worker {
    struct load *load;
    uint32_t index;
    uint32_t ctx;
    uint32_t rounds[WORKER_CHAINS]; /* completed, of each conversation */
    uint32_t sent;
    uint32_t got; /* gets and puts begun */
    uint32_t put;
};

struct seen {
    _Atomic bool it;
};

struct load {
    struct kit_class *cls;
    const struct kit_workers_plan *plan;
    uint32_t messages; /* unexpected ones of each worker */
    struct seen *seen; /* unexpected messages, by number */
    _Atomic uint32_t received;
    _Atomic uint32_t steps;  /* steps of all workers */
    _Atomic uint32_t active; /* workers that have not finished */
    _Atomic bool stop;
    _Atomic bool posted[KIT_OPS]; /* the submission has returned */
    struct worker workers[WORKERS];
};

static uint32_t
op_of(const struct worker *worker, uint32_t op)
{
    return worker->index * OPS + op;
}

static bool
pending(const struct load *load, uint32_t op)
{
    /* Pairs with the release of the thread that ended it. */
    return atomic_load_explicit(&load->cls->ops_made[op].state,
               memory_order_acquire) == KIT_PENDING;
}

static void
post(struct load *load, const struct kit_request *request)
{
    atomic_store_explicit(
        &load->posted[request->op], false, memory_order_relaxed);
    kit_class_post(load->cls, request);
    /* Pairs with the acquire of cancel_one. */
    atomic_store_explicit(
        &load->posted[request->op], true, memory_order_release);
}

/* Checks the end of an operation: OK, or CANCELED where allowed. */
static void
look(const struct worker *worker, uint32_t op, struct kit_completion *end_p)
{
    struct kit_class *cls = worker->load->cls;

    kit_class_end(cls, op, end_p);
    kit_expect(end_p->status == NA_PLUGIN_OK ||
                   (worker->load->plan->cancels &&
                       end_p->status == NA_PLUGIN_E_CANCELED),
        9, "an operation ends with OK", "%s: %s",
        kit_kind_name(cls->ops_made[op].request.kind),
        kit_code_text(end_p->status));
}

struct kit_request
kit_workers_receive(
    const struct kit_workers_plan *plan, uint32_t worker, uint32_t chain)
{
    return (struct kit_request){.kind = KIT_RECV_EXPECTED,
        .op = worker * OPS + CHAIN_RECEIVE + chain,
        .ctx = worker % plan->contexts,
        .peer = plan->peer,
        .peer_ctx = worker % plan->contexts,
        .tag = worker * WORKER_CHAINS + chain,
        .length = plan->length,
        .own_buffer = chain % 2 == 1};
}

static uint64_t
chain_seed(uint32_t worker, uint32_t chain, uint32_t round, bool begins)
{
    return 1ULL << 40 | (uint64_t) (worker * WORKER_CHAINS + chain) << 32 |
           round << 1 | begins;
}

static void
chain_send(struct worker *worker, uint32_t chain, uint32_t round)
{
    const struct kit_workers_plan *plan = worker->load->plan;
    struct kit_request request =
        kit_workers_receive(plan, worker->index, chain);

    request.kind = KIT_SEND_EXPECTED;
    request.op = op_of(worker, CHAIN_SEND + chain);
    request.seed = chain_seed(worker->index, chain, round, plan->begins);
    post(worker->load, &request);
}

static bool
chain_step(struct worker *worker, uint32_t chain)
{
    struct load *load = worker->load;
    const struct kit_workers_plan *plan = load->plan;
    uint32_t round = worker->rounds[chain];
    struct kit_request receive =
        kit_workers_receive(plan, worker->index, chain);
    uint64_t header = load->cls->opened.expected_header_size;
    struct kit_completion end;

    if (round == plan->rounds || pending(load, receive.op) ||
        pending(load, op_of(worker, CHAIN_SEND + chain)))
        return false;
    kit_class_end(load->cls, receive.op, &end);
    kit_expect(end.status == NA_PLUGIN_OK &&
                   end.hash == kit_pattern_hash(plan->length - header,
                                   chain_seed(worker->index, chain, round,
                                       !plan->begins)),
        9, "an expected receive gets its message", "%s, round %u",
        kit_completion_text(&end), round);
    worker->rounds[chain] = ++round;
    if (round < plan->rounds)
        post(load, &receive);
    if (!plan->begins)
        chain_send(worker, chain, round - 1);
    else if (round < plan->rounds)
        chain_send(worker, chain, round);
    return true;
}

static bool
send_step(struct worker *worker, uint32_t slot)
{
    struct load *load = worker->load;
    uint32_t op = op_of(worker, SEND + slot);
    struct kit_request request = {.kind = KIT_SEND_UNEXPECTED,
        .op = op,
        .ctx = worker->ctx,
        .peer = load->plan->peer,
        .peer_ctx = worker->ctx,
        .tag = slot,
        .length = load->plan->length,
        .seed = worker->index * load->messages + worker->sent,
        .own_buffer = slot % 2 == 1};

    if (worker->sent == load->messages || pending(load, op))
        return false;
    worker->sent++;
    post(load, &request);
    return true;
}

/* Records a message, which may arrive only once. */
static void
take_message(struct worker *worker, const struct kit_completion *end)
{
    struct load *load = worker->load;
    uint64_t header = load->cls->opened.unexpected_header_size;

    kit_expect(end->seed < (uint64_t) WORKERS * load->messages &&
                   end->hash ==
                       kit_pattern_hash(load->plan->length - header, end->seed),
        11, "an unexpected message has the contents sent", "%s, seed %llu",
        kit_completion_text(end), (unsigned long long) end->seed);
    kit_expect(!atomic_exchange_explicit(
                   &load->seen[end->seed].it, true, memory_order_relaxed),
        11, "an unexpected message arrives once", "number %llu arrived twice",
        (unsigned long long) end->seed);
    atomic_fetch_add_explicit(&load->received, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&load->steps, 1, memory_order_relaxed);
}

static bool
all_received(const struct load *load)
{
    return atomic_load_explicit(&load->received, memory_order_relaxed) ==
           WORKERS * load->messages;
}

static bool
receive_step(struct worker *worker, uint32_t slot)
{
    struct load *load = worker->load;
    struct kit_request request = {.kind = KIT_RECV_UNEXPECTED,
        .op = op_of(worker, RECEIVE + slot),
        .ctx = worker->ctx,
        .length = load->plan->length,
        .own_buffer = slot % 2 == 1};
    struct kit_op *op = &load->cls->ops_made[request.op];
    struct kit_completion end;

    if (pending(load, request.op) || all_received(load))
        return false;
    /* An idle operation was never used. */
    if (atomic_load_explicit(&op->state, memory_order_relaxed) == KIT_ENDED) {
        look(worker, request.op, &end);
        if (end.status == NA_PLUGIN_OK)
            take_message(worker, &end);
        /* Recorded first, since this may be the last one of all. */
        atomic_store_explicit(&op->state, KIT_IDLE, memory_order_relaxed);
    }
    post(load, &request);
    return true;
}

/* Submits a get into this worker's part of the second half of region 2. */
static bool
get_step(struct worker *worker)
{
    struct load *load = worker->load;
    uint32_t op = op_of(worker, GET);
    uint64_t from = worker->index * WORKER_PIECE, room = WORKER_PIECE;
    uint64_t to = (WORKERS + worker->index) * WORKER_PIECE;
    struct kit_request request = {.kind = KIT_GET,
        .op = op,
        .ctx = worker->ctx,
        .peer = load->plan->peer,
        .peer_ctx = worker->ctx,
        .local = 2,
        .remote = 4,
        .local_offset = to,
        .remote_offset = from,
        .length = WORKER_PIECE};
    struct kit_completion end;
    unsigned char *memory;

    if (worker->got > load->messages || pending(load, op))
        return false;
    memory = kit_class_mem_at(load->cls, 2, to, &room);
    if (worker->got++ > 0) {
        look(worker, op, &end);
        kit_expect(memcmp(memory, kit_class_mem_at(load->cls, 0, from, &room),
                       WORKER_PIECE) == 0,
            11, "when a get has ended its data is in place", "other bytes");
    }
    memset(memory, 0, WORKER_PIECE);
    if (worker->got <= load->messages)
        post(load, &request);
    return true;
}

/* Submits a put from this worker's part of the first half of region 2. */
static bool
put_step(struct worker *worker)
{
    struct load *load = worker->load;
    uint32_t op = op_of(worker, PUT);
    struct kit_request request = {.kind = KIT_PUT,
        .op = op,
        .ctx = worker->ctx,
        .peer = load->plan->peer,
        .peer_ctx = worker->ctx,
        .local = 2,
        .remote = 5,
        .local_offset = worker->index * WORKER_PIECE,
        .remote_offset = worker->index * WORKER_PIECE,
        .length = WORKER_PIECE};
    struct kit_completion end;

    if (worker->put > load->messages || pending(load, op))
        return false;
    if (worker->put++ > 0)
        look(worker, op, &end);
    if (worker->put <= load->messages)
        post(load, &request);
    return true;
}

/* Posts a receive without a sender. */
static bool
never_step(struct worker *worker, uint32_t slot)
{
    struct kit_request request =
        kit_workers_receive(worker->load->plan, worker->index, slot);

    request.op = op_of(worker, NEVER + slot);
    request.tag += 1000;
    if (pending(worker->load, request.op))
        return false;
    post(worker->load, &request);
    return true;
}

/* Handles receives that may be canceled at any time and are posted again. */
static bool
step_idly(struct worker *worker)
{
    bool moved = false;

    for (uint32_t i = 0; i < SLOTS; i++)
        moved = receive_step(worker, i) || moved;
    for (uint32_t i = 0; worker->load->plan->cancels && i < NEVERS; i++)
        moved = never_step(worker, i) || moved;
    return moved;
}

static bool
step(struct worker *worker)
{
    bool moved = false;

    for (uint32_t i = 0; i < WORKER_CHAINS; i++)
        moved = chain_step(worker, i) || moved;
    for (uint32_t i = 0; i < SLOTS; i++)
        moved = send_step(worker, i) || moved;
    if (worker->load->plan->rma) {
        moved = get_step(worker) || moved;
        moved = put_step(worker) || moved;
    }
    if (moved)
        atomic_fetch_add_explicit(
            &worker->load->steps, 1, memory_order_relaxed);
    return step_idly(worker) || moved;
}

static bool
finished(const struct worker *worker)
{
    const struct load *load = worker->load;

    if (!all_received(load) || worker->sent < load->messages)
        return false;
    for (uint32_t i = 0; i < WORKER_CHAINS; i++)
        if (worker->rounds[i] < load->plan->rounds ||
            pending(load, op_of(worker, CHAIN_SEND + i)))
            return false;
    for (uint32_t i = 0; i < SLOTS; i++)
        if (pending(load, op_of(worker, SEND + i)))
            return false;
    return !load->plan->rma ||
           (worker->got > load->messages && worker->put > load->messages);
}

static void *
work(void *arg)
{
    struct worker *worker = arg;
    struct load *load = worker->load;
    uint64_t room = WORKER_PIECE;

    if (load->plan->rma)
        kit_pattern(
            kit_class_mem_at(load->cls, 2, worker->index * WORKER_PIECE, &room),
            WORKER_PIECE, 1000 + worker->index);
    for (uint32_t i = 0; load->plan->begins && i < WORKER_CHAINS; i++)
        chain_send(worker, i, 0);
    while (!finished(worker))
        if (!step(worker))
            sched_yield();
    /* Pairs with the acquire of kit_workers_act. */
    atomic_fetch_sub_explicit(&load->active, 1, memory_order_release);
    return NULL;
}

/* Runs between polls: cancels pending operations whose submission has
 * returned. */
static void
cancel_one(struct load *load, uint32_t turn)
{
    static const uint32_t ops[] = {RECEIVE, NEVER, RECEIVE + 1, NEVER + 1};
    uint32_t op = turn / 4 % WORKERS * OPS + ops[turn % 4];

    /* A pending operation stays pending until the next poll, which sees its
     * submission by posted. Pairs with the release of post. */
    if (pending(load, op) &&
        atomic_load_explicit(&load->posted[op], memory_order_acquire))
        kit_class_cancel(load->cls, op);
}

/* Creates, uses and frees objects while the class works for other threads. */
static void
churn_address(struct load *load, uint32_t number)
{
    struct kit_class *cls = load->cls;
    const na_plugin_ops *ops = &cls->ops;
    na_plugin_addr *addr = cls->addrs[number], *found = NULL;
    char text[KIT_TEXT_MAX];
    int32_t result;

    ops->addr_dup(cls->cls, addr);
    kit_class_text(cls, addr, text, sizeof text);
    result = ops->addr_lookup(cls->cls, text, &found);
    kit_expect(result == NA_PLUGIN_OK && found, 12,
        "an address that a class has returned can be looked up", "\"%s\": %s",
        text, kit_code_text(result));
    kit_expect(ops->addr_equal(cls->cls, addr, found) == 1, 12,
        "a name is parsed to the address that it was made from", "it does not");
    ops->addr_free(cls->cls, found);
    ops->addr_free(cls->cls, addr);
}

static void
churn_buffers(struct load *load, uint64_t seed)
{
    const na_plugin_ops *ops = &load->cls->ops;
    na_plugin_class *cls = load->cls->cls;
    void *buffers[4], *data[4];
    uint64_t length = 300 + seed % 3000;

    for (uint32_t i = 0; i < 4; i++) {
        int32_t result = ops->buf_alloc(
            cls, length, NA_PLUGIN_BUF_SEND, &buffers[i], &data[i]);

        kit_expect(result == NA_PLUGIN_OK, 12, "buf_alloc gives a buffer", "%s",
            kit_code_text(result));
        kit_pattern(buffers[i], length, seed + i);
    }
    for (uint32_t i = 0; i < 4; i++) {
        kit_expect(
            kit_hash(buffers[i], length) == kit_pattern_hash(length, seed + i),
            12, "a buffer of buf_alloc's is for its owner alone",
            "its contents changed");
        ops->buf_free(cls, buffers[i], data[i]);
    }
}

static void
churn_memory(struct load *load)
{
    const na_plugin_ops *ops = &load->cls->ops;
    na_plugin_class *cls = load->cls->cls;
    unsigned char memory[256], bytes[KIT_TEXT_MAX];
    na_plugin_segment segment = {memory, sizeof memory};
    na_plugin_mem *mem = NULL, *remote = NULL;
    uint64_t size = sizeof bytes;
    int32_t result = ops->mem_register(cls,
        &(na_plugin_mem_info){.size = sizeof(na_plugin_mem_info),
            .segments = &segment,
            .count = 1,
            .access = NA_PLUGIN_MEM_READ},
        &mem);

    kit_expect(result == NA_PLUGIN_OK && mem, 12, "memory is registered", "%s",
        kit_code_text(result));
    result = ops->mem_serialize(cls, mem, bytes, &size);
    if (result == NA_PLUGIN_OK) {
        result = ops->mem_deserialize(cls, bytes, size, &remote);
        kit_expect(result == NA_PLUGIN_OK && remote, 12,
            "what mem_serialize wrote is understood", "%s",
            kit_code_text(result));
        ops->mem_remote_free(cls, remote);
    }
    ops->mem_deregister(cls, mem);
}

static void *
churn(void *arg)
{
    struct load *load = arg;

    for (uint64_t i = 0;
         !atomic_load_explicit(&load->stop, memory_order_relaxed); i++) {
        churn_address(load, i % 2 == 0 ? load->plan->self : load->plan->peer);
        churn_buffers(load, i);
        if (load->plan->rma)
            churn_memory(load);
        sched_yield();
    }
    return NULL;
}

/* Polls, and yields after some polls without events. */
#define EMPTY_POLLS 64U
static void
poll_on(struct load *load, uint32_t ctx, uint32_t *empty)
{
    if (kit_class_poll(load->cls, ctx) > 0)
        *empty = 0;
    else if (++*empty % EMPTY_POLLS == 0)
        sched_yield();
}

/* Fails the case if no worker makes progress. */
struct stall {
    uint32_t steps;
    uint64_t limit;
};

static void
check_stall(const struct load *load, struct stall *stall)
{
    uint32_t steps = atomic_load_explicit(&load->steps, memory_order_relaxed);
    uint64_t now = kit_now();

    if (steps != stall->steps || stall->limit == 0)
        *stall = (struct stall){steps, now + kit_patience()};
    kit_expect(now < stall->limit, 7,
        "what threads submit ends while others poll", "nothing ends in %llu ms",
        (unsigned long long) (kit_patience() / 1000000U));
}

/* Polls context 1. */
static void *
poll_second(void *arg)
{
    struct load *load = arg;
    uint32_t empty = 0;

    while (!atomic_load_explicit(&load->stop, memory_order_relaxed))
        poll_on(load, 1, &empty);
    return NULL;
}

static void
start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    if (pthread_create(thread, NULL, run, arg) != 0)
        kit_not_run("no thread");
}

void
kit_workers_act(struct kit_class *cls, void *bytes)
{
    const struct kit_workers_plan *plan = bytes;
    struct load *load = calloc(1, sizeof *load);
    pthread_t threads[WORKERS], others[CHURNERS + 1];
    uint32_t churners = plan->objects ? CHURNERS : 0;
    uint32_t second = plan->contexts > 1, empty = 0;
    struct stall stall = {.limit = 0};

    if (!load)
        kit_not_run("out of memory");
    load->cls = cls;
    load->plan = plan;
    load->messages = plan->rounds / 2;
    load->active = WORKERS;
    load->seen = calloc((size_t) WORKERS * load->messages, sizeof *load->seen);
    if (!load->seen)
        kit_not_run("out of memory");
    for (uint32_t i = 0; i < WORKERS; i++) {
        load->workers[i] = (struct worker){
            .load = load, .index = i, .ctx = i % plan->contexts};
        start(&threads[i], work, &load->workers[i]);
    }
    for (uint32_t i = 0; i < churners + second; i++)
        start(&others[i], i < churners ? churn : poll_second, load);
    /* Pairs with the release of work. */
    for (uint32_t turn = 0;
         atomic_load_explicit(&load->active, memory_order_acquire) > 0;
         turn++) {
        poll_on(load, 0, &empty);
        if (turn % 1024 == 0)
            check_stall(load, &stall);
        if (plan->cancels && turn % 8 == 0)
            cancel_one(load, turn / 8);
    }
    atomic_store_explicit(&load->stop, true, memory_order_relaxed);
    for (uint32_t i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < churners + second; i++)
        pthread_join(others[i], NULL);
    free(load->seen);
    free(load);
}
