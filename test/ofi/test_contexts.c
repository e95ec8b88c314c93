/* SPDX-License-Identifier: BSD-3-Clause */
/* A context is destroyed after or during gets from a peer, while another of its
 * class sleeps, is woken, and sleeps again. */
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness.h"

#define ROUNDS 3U
#define GETS 3U
#define BYTES ((size_t) 4 << 20)
#define SECOND UINT64_C(1000000000)

static const char *const protocols[] = {"tcp", "tcp;ofi_rxm"};

/* A class with a permanent context, and one with memory. */
struct fixture {
    struct node here;
    struct node there;
    na_plugin_addr *to_here;
    na_plugin_addr *to_there;
    void *op;
    void *sending;
    unsigned char *memory; /* two adjacent registrations */
    na_plugin_mem *local;
    na_plugin_mem *owned;
    na_plugin_mem *remote;
};

static na_plugin_mem *
expose(struct node *node, unsigned char *memory)
{
    const na_plugin_segment segment = {memory, BYTES};
    na_plugin_mem *mem = NULL;

    ck_assert_int_eq(
        node->ops->mem_register(node->cls,
            &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0, &segment, 1,
                NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, 0, 0},
            &mem),
        NA_PLUGIN_OK);
    return mem;
}

static void
fixture_open(struct fixture *fixture, const char *protocol, uint32_t flags)
{
    const struct node_options options = {
        .protocol = protocol, .max_contexts = 2, .flags = flags};
    unsigned char bytes[512];
    uint64_t size = sizeof(bytes);
    char text[TEXT];

    /* destroys the content of freed memory */
    mallopt(M_PERTURB, 0x5A);
    node_open(&fixture->here, &options);
    node_open(&fixture->there, &options);
    self_string(&fixture->here, text);
    fixture->to_here = lookup(&fixture->there, text);
    self_string(&fixture->there, text);
    fixture->to_there = lookup(&fixture->here, text);
    fixture->op = op_new(&fixture->here);
    fixture->sending = op_new(&fixture->there);
    fixture->memory = malloc(2 * BYTES);
    ck_assert_ptr_nonnull(fixture->memory);
    memset(fixture->memory, 1, BYTES);
    memset(fixture->memory + BYTES, 2, BYTES);
    fixture->local = expose(&fixture->here, fixture->memory);
    fixture->owned = expose(&fixture->there, fixture->memory + BYTES);
    ck_assert_int_eq(fixture->there.ops->mem_serialize(
                         fixture->there.cls, fixture->owned, bytes, &size),
        NA_PLUGIN_OK);
    ck_assert_int_eq(fixture->here.ops->mem_deserialize(
                         fixture->here.cls, bytes, size, &fixture->remote),
        NA_PLUGIN_OK);
}

static void
fixture_close(struct fixture *fixture)
{
    fixture->here.ops->mem_remote_free(fixture->here.cls, fixture->remote);
    fixture->here.ops->mem_deregister(fixture->here.cls, fixture->local);
    fixture->there.ops->mem_deregister(fixture->there.cls, fixture->owned);
    fixture->here.ops->addr_free(fixture->here.cls, fixture->to_there);
    fixture->there.ops->addr_free(fixture->there.cls, fixture->to_here);
    node_close(&fixture->here);
    node_close(&fixture->there);
    free(fixture->op);
    free(fixture->sending);
    free(fixture->memory);
}

/* The permanent context sleeps until it gets a message. */
static void
sleep_and_wake(struct fixture *fixture)
{
    struct node *here = &fixture->here, *there = &fixture->there;
    const na_plugin_wait *wait =
        here->ops->extension(here->cls, NA_PLUGIN_WAIT_ID);
    struct pollfd one = {.fd = wait->fd(here->ctx), .events = POLLIN};
    uint64_t sleep_ns = 0, end = now_ns() + 20 * SECOND;
    unsigned char sent = 1, got = 0;
    na_plugin_event event, stray;

    ck_assert_int_eq(
        here->ops->recv_unexpected(here->ctx, fixture->op, &got, 1, NULL, 0),
        NA_PLUGIN_PENDING);
    for (int i = 0; i < 3; i++) {
        while (wait->arm(here->ctx, &sleep_ns) != NA_PLUGIN_OK) {
            ck_assert(!poll_one(here, &event));
            ck_assert_msg(now_ns() < end, "it can't be armed");
        }
        poll(&one, 1, sleep_ns < 20000000 ? (int) (sleep_ns / 1000000) : 20);
        poll_one(there, &stray);
        ck_assert(!poll_one(here, &event));
    }
    ck_assert_int_ge(there->ops->send_unexpected(there->ctx, fixture->sending,
                         &sent, 1, NULL, fixture->to_here, 0, 1, 0),
        0);
    while (!poll_one(here, &event)) {
        poll_one(there, &stray);
        if (wait->arm(here->ctx, &sleep_ns) == NA_PLUGIN_OK)
            poll(&one, 1, sleep_ns < SECOND ? (int) (sleep_ns / 1000000) : 20);
        if (now_ns() > end)
            ck_abort_msg("it was not woken");
    }
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    ck_assert_uint_eq(got, 1);
    here->ops->addr_free(here->cls, event.source);
    while (poll_one(there, &stray))
        ;
}

/* Destroying a context polls; only this thread's processor time counts. */
static uint64_t
spent_ns(void)
{
    struct timespec spent;

    ck_assert_int_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent), 0);
    return (uint64_t) spent.tv_sec * SECOND + (uint64_t) spent.tv_nsec;
}

static na_plugin_ctx *
begin_get(struct fixture *fixture, void *op)
{
    const na_plugin_ops *ops = fixture->here.ops;
    na_plugin_ctx *ctx = NULL;

    ck_assert_int_eq(
        ops->ctx_create(fixture->here.cls, 1, &fixture->here, &ctx),
        NA_PLUGIN_OK);
    ck_assert_int_eq(ops->get(ctx, op, fixture->local, 0, fixture->remote, 0,
                         BYTES, fixture->to_there, 0, 0),
        NA_PLUGIN_PENDING);
    return ctx;
}

START_TEST(context_destroyed_after_gets)
{
    struct fixture fixture;

    fixture_open(&fixture, protocols[_i], 0);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t end = now_ns() + 20 * SECOND;
        void *op = op_new(&fixture.here);
        na_plugin_event event, stray;
        memset(fixture.memory, 1, BYTES);
        na_plugin_ctx *ctx = begin_get(&fixture, op);
        while (fixture.here.ops->poll(ctx, &event, 1) == 0) {
            poll_one(&fixture.there, &stray);
            if (now_ns() > end)
                ck_abort_msg("a get does not end");
        }
        ck_assert_ptr_eq(event.op, op);
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        ck_assert_mem_eq(fixture.memory, fixture.memory + BYTES, BYTES);
        fixture.here.ops->ctx_destroy(ctx);
        free(op);
        sleep_and_wake(&fixture);
    }
    fixture_close(&fixture);
}
END_TEST

/* Its owner does not poll meanwhile; no event is left afterwards. */
START_TEST(context_destroyed_during_gets)
{
    struct fixture fixture;

    fixture_open(&fixture, protocols[_i], 0);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        na_plugin_event stray;
        void *op = op_new(&fixture.here);
        na_plugin_ctx *ctx = begin_get(&fixture, op);
        fixture.here.ops->ctx_destroy(ctx);
        free(op);
        memset(fixture.memory, 3, BYTES);
        for (uint32_t i = 0; i < 1000; i++) {
            poll_one(&fixture.here, &stray);
            poll_one(&fixture.there, &stray);
        }
        sleep_and_wake(&fixture);
        for (size_t i = 0; i < BYTES; i++)
            if (fixture.memory[i] != 3)
                ck_abort_msg("byte %zu arrived late", i);
    }
    fixture_close(&fixture);
}
END_TEST

/* Part of the data has arrived, and the owner polls no more. With a context
 * that never sleeps, and with one that does. */
START_TEST(context_destroyed_after_partial_gets)
{
    struct fixture fixture;
    bool sleeps = _i % 2 == 0;

    fixture_open(&fixture, "tcp;ofi_rxm", sleeps ? 0 : NA_PLUGIN_OPEN_NO_BLOCK);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t end = now_ns() + 20 * SECOND;
        void *op = op_new(&fixture.here);
        na_plugin_event stray;
        memset(fixture.memory, 1, BYTES);
        na_plugin_ctx *ctx = begin_get(&fixture, op);
        while (fixture.memory[0] == 1) {
            poll_one(&fixture.there, &stray);
            ck_assert_int_eq(fixture.here.ops->poll(ctx, &stray, 1), 0);
            ck_assert_msg(now_ns() < end, "a get does not begin");
        }
        ck_assert_uint_eq(fixture.memory[BYTES - 1], 1);
        uint64_t spent = spent_ns();
        fixture.here.ops->ctx_destroy(ctx);
        spent = spent_ns() - spent;
        ck_assert_msg(
            spent < SECOND / 2, "it waits for a context that is not polled");
        free(op);
        memset(fixture.memory, 3, BYTES);
        for (uint32_t i = 0; i < 1000; i++) {
            poll_one(&fixture.here, &stray);
            poll_one(&fixture.there, &stray);
        }
        if (sleeps)
            sleep_and_wake(&fixture);
        for (size_t i = 0; i < BYTES; i++)
            if (fixture.memory[i] != 3)
                ck_abort_msg("byte %zu arrived late", i);
    }
    fixture_close(&fixture);
}
END_TEST

struct poller {
    struct node *node;
    _Atomic bool stop;
};

static void *
poll_on(void *arg)
{
    struct poller *poller = arg;
    na_plugin_event stray;

    while (!atomic_load(&poller->stop))
        poll_one(poller->node, &stray);
    return NULL;
}

/* Gets of a new context end with all data. */
static void
get_all(struct fixture *fixture)
{
    const na_plugin_ops *ops = fixture->here.ops;
    uint64_t end = now_ns() + 20 * SECOND;
    void *op[GETS];
    na_plugin_event event;

    memset(fixture->memory, 1, BYTES);
    op[0] = op_new(&fixture->here);
    na_plugin_ctx *ctx = begin_get(fixture, op[0]);
    for (uint32_t i = 1; i < GETS; i++) {
        op[i] = op_new(&fixture->here);
        ck_assert_int_eq(
            ops->get(ctx, op[i], fixture->local, 0, fixture->remote, 0, BYTES,
                fixture->to_there, 0, 0),
            NA_PLUGIN_PENDING);
    }
    for (uint32_t done = 0; done < GETS; done++) {
        while (ops->poll(ctx, &event, 1) == 0)
            ck_assert_msg(now_ns() < end, "%u of %u gets ended", done, GETS);
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    }
    ck_assert_mem_eq(fixture->memory, fixture->memory + BYTES, BYTES);
    ops->ctx_destroy(ctx);
    for (uint32_t i = 0; i < GETS; i++)
        free(op[i]);
}

/* Part of the data has arrived, and the owner continues: the class's next gets
 * end. */
START_TEST(context_destroyed_after_partial_gets_leaks_nothing)
{
    struct fixture fixture;
    pthread_t thread;

    fixture_open(&fixture, protocols[_i], 0);
    struct poller poller = {.node = &fixture.there};
    ck_assert_int_eq(pthread_create(&thread, NULL, poll_on, &poller), 0);
    for (uint32_t round = 0; round < 4 * ROUNDS; round++) {
        const volatile unsigned char *first = fixture.memory;
        uint64_t end = now_ns() + 20 * SECOND;
        void *op = op_new(&fixture.here);
        na_plugin_event stray;
        memset(fixture.memory, 1, BYTES);
        na_plugin_ctx *ctx = begin_get(&fixture, op);
        while (*first == 1 && fixture.here.ops->poll(ctx, &stray, 1) == 0)
            ck_assert_msg(now_ns() < end, "a get does not begin");
        fixture.here.ops->ctx_destroy(ctx);
        free(op);
        get_all(&fixture);
    }
    atomic_store(&poller.stop, true);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    fixture_close(&fixture);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("contexts");
    int count = (int) (sizeof(protocols) / sizeof(protocols[0]));

    warm_up();
    /* each endpoint of rxm has 80 MiB, which M_PERTURB fills */
    tcase_set_timeout(cases, 240);
    tcase_add_loop_test(cases, context_destroyed_after_gets, 0, count);
    tcase_add_loop_test(cases, context_destroyed_during_gets, 0, count);
    tcase_add_loop_test(cases, context_destroyed_after_partial_gets, 0, 2);
    tcase_add_loop_test(
        cases, context_destroyed_after_partial_gets_leaks_nothing, 0, count);
    return run_tcase("ofi contexts", cases);
}
