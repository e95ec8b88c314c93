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
struct scene {
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
scene_open(struct scene *scene, const char *protocol, uint32_t flags)
{
    const struct node_options options = {
        .protocol = protocol, .max_contexts = 2, .flags = flags};
    unsigned char bytes[512];
    uint64_t size = sizeof(bytes);
    char text[TEXT];

    /* destroys the content of freed memory */
    mallopt(M_PERTURB, 0x5A);
    node_open(&scene->here, &options);
    node_open(&scene->there, &options);
    self_string(&scene->here, text);
    scene->to_here = lookup(&scene->there, text);
    self_string(&scene->there, text);
    scene->to_there = lookup(&scene->here, text);
    scene->op = op_new(&scene->here);
    scene->sending = op_new(&scene->there);
    scene->memory = malloc(2 * BYTES);
    ck_assert_ptr_nonnull(scene->memory);
    memset(scene->memory, 1, BYTES);
    memset(scene->memory + BYTES, 2, BYTES);
    scene->local = expose(&scene->here, scene->memory);
    scene->owned = expose(&scene->there, scene->memory + BYTES);
    ck_assert_int_eq(scene->there.ops->mem_serialize(
                         scene->there.cls, scene->owned, bytes, &size),
        NA_PLUGIN_OK);
    ck_assert_int_eq(scene->here.ops->mem_deserialize(
                         scene->here.cls, bytes, size, &scene->remote),
        NA_PLUGIN_OK);
}

static void
scene_close(struct scene *scene)
{
    scene->here.ops->mem_remote_free(scene->here.cls, scene->remote);
    scene->here.ops->mem_deregister(scene->here.cls, scene->local);
    scene->there.ops->mem_deregister(scene->there.cls, scene->owned);
    scene->here.ops->addr_free(scene->here.cls, scene->to_there);
    scene->there.ops->addr_free(scene->there.cls, scene->to_here);
    node_close(&scene->here);
    node_close(&scene->there);
    free(scene->op);
    free(scene->sending);
    free(scene->memory);
}

/* The permanent context sleeps until it gets a message. */
static void
sleep_and_wake(struct scene *scene)
{
    struct node *here = &scene->here, *there = &scene->there;
    const na_plugin_wait *wait =
        here->ops->extension(here->cls, NA_PLUGIN_WAIT_ID);
    struct pollfd one = {.fd = wait->fd(here->ctx), .events = POLLIN};
    uint64_t sleep_ns = 0, end = now_ns() + 20 * SECOND;
    unsigned char sent = 1, got = 0;
    na_plugin_event event, stray;

    ck_assert_int_eq(
        here->ops->recv_unexpected(here->ctx, scene->op, &got, 1, NULL, 0),
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
    ck_assert_int_ge(there->ops->send_unexpected(there->ctx, scene->sending,
                         &sent, 1, NULL, scene->to_here, 0, 1, 0),
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
begin_get(struct scene *scene, void *op)
{
    const na_plugin_ops *ops = scene->here.ops;
    na_plugin_ctx *ctx = NULL;

    ck_assert_int_eq(
        ops->ctx_create(scene->here.cls, 1, &scene->here, &ctx), NA_PLUGIN_OK);
    ck_assert_int_eq(ops->get(ctx, op, scene->local, 0, scene->remote, 0, BYTES,
                         scene->to_there, 0, 0),
        NA_PLUGIN_PENDING);
    return ctx;
}

START_TEST(context_destroyed_after_gets)
{
    struct scene scene;

    scene_open(&scene, protocols[_i], 0);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t end = now_ns() + 20 * SECOND;
        void *op = op_new(&scene.here);
        na_plugin_event event, stray;
        memset(scene.memory, 1, BYTES);
        na_plugin_ctx *ctx = begin_get(&scene, op);
        while (scene.here.ops->poll(ctx, &event, 1) == 0) {
            poll_one(&scene.there, &stray);
            if (now_ns() > end)
                ck_abort_msg("a get does not end");
        }
        ck_assert_ptr_eq(event.op, op);
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        ck_assert_mem_eq(scene.memory, scene.memory + BYTES, BYTES);
        scene.here.ops->ctx_destroy(ctx);
        free(op);
        sleep_and_wake(&scene);
    }
    scene_close(&scene);
}
END_TEST

/* Its owner does not poll meanwhile; no event is left afterwards. */
START_TEST(context_destroyed_during_gets)
{
    struct scene scene;

    scene_open(&scene, protocols[_i], 0);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        na_plugin_event stray;
        void *op = op_new(&scene.here);
        na_plugin_ctx *ctx = begin_get(&scene, op);
        scene.here.ops->ctx_destroy(ctx);
        free(op);
        memset(scene.memory, 3, BYTES);
        for (uint32_t i = 0; i < 1000; i++) {
            poll_one(&scene.here, &stray);
            poll_one(&scene.there, &stray);
        }
        sleep_and_wake(&scene);
        for (size_t i = 0; i < BYTES; i++)
            if (scene.memory[i] != 3)
                ck_abort_msg("byte %zu came late", i);
    }
    scene_close(&scene);
}
END_TEST

/* Part of the data has arrived, and the owner polls no more. With a context
 * that never sleeps, and with one that does. */
START_TEST(context_destroyed_after_partial_gets)
{
    struct scene scene;
    bool sleeps = _i % 2 == 0;

    scene_open(&scene, "tcp;ofi_rxm", sleeps ? 0 : NA_PLUGIN_OPEN_NO_BLOCK);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t end = now_ns() + 20 * SECOND;
        void *op = op_new(&scene.here);
        na_plugin_event stray;
        memset(scene.memory, 1, BYTES);
        na_plugin_ctx *ctx = begin_get(&scene, op);
        while (scene.memory[0] == 1) {
            poll_one(&scene.there, &stray);
            ck_assert_int_eq(scene.here.ops->poll(ctx, &stray, 1), 0);
            ck_assert_msg(now_ns() < end, "a get does not begin");
        }
        ck_assert_uint_eq(scene.memory[BYTES - 1], 1);
        uint64_t spent = spent_ns();
        scene.here.ops->ctx_destroy(ctx);
        spent = spent_ns() - spent;
        ck_assert_msg(spent < SECOND / 2, "it waits for who does not poll");
        free(op);
        memset(scene.memory, 3, BYTES);
        for (uint32_t i = 0; i < 1000; i++) {
            poll_one(&scene.here, &stray);
            poll_one(&scene.there, &stray);
        }
        if (sleeps)
            sleep_and_wake(&scene);
        for (size_t i = 0; i < BYTES; i++)
            if (scene.memory[i] != 3)
                ck_abort_msg("byte %zu came late", i);
    }
    scene_close(&scene);
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
get_all(struct scene *scene)
{
    const na_plugin_ops *ops = scene->here.ops;
    uint64_t end = now_ns() + 20 * SECOND;
    void *op[GETS];
    na_plugin_event event;

    memset(scene->memory, 1, BYTES);
    op[0] = op_new(&scene->here);
    na_plugin_ctx *ctx = begin_get(scene, op[0]);
    for (uint32_t i = 1; i < GETS; i++) {
        op[i] = op_new(&scene->here);
        ck_assert_int_eq(ops->get(ctx, op[i], scene->local, 0, scene->remote, 0,
                             BYTES, scene->to_there, 0, 0),
            NA_PLUGIN_PENDING);
    }
    for (uint32_t done = 0; done < GETS; done++) {
        while (ops->poll(ctx, &event, 1) == 0)
            ck_assert_msg(now_ns() < end, "%u of %u gets ended", done, GETS);
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    }
    ck_assert_mem_eq(scene->memory, scene->memory + BYTES, BYTES);
    ops->ctx_destroy(ctx);
    for (uint32_t i = 0; i < GETS; i++)
        free(op[i]);
}

/* Part of the data has arrived, and the owner continues: the class's next gets
 * end. */
START_TEST(context_destroyed_after_partial_gets_leaks_nothing)
{
    struct scene scene;
    pthread_t thread;

    scene_open(&scene, protocols[_i], 0);
    struct poller poller = {.node = &scene.there};
    ck_assert_int_eq(pthread_create(&thread, NULL, poll_on, &poller), 0);
    for (uint32_t round = 0; round < 4 * ROUNDS; round++) {
        const volatile unsigned char *first = scene.memory;
        uint64_t end = now_ns() + 20 * SECOND;
        void *op = op_new(&scene.here);
        na_plugin_event stray;
        memset(scene.memory, 1, BYTES);
        na_plugin_ctx *ctx = begin_get(&scene, op);
        while (*first == 1 && scene.here.ops->poll(ctx, &stray, 1) == 0)
            ck_assert_msg(now_ns() < end, "a get does not begin");
        scene.here.ops->ctx_destroy(ctx);
        free(op);
        get_all(&scene);
    }
    atomic_store(&poller.stop, true);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    scene_close(&scene);
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
    return run_case("ofi contexts", cases);
}
