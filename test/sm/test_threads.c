/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that submit, poll, look up and forget concurrently. Threads count
 * failures, which are checked at the end. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define THREADS 4
#define EACH 3000
#define RECVS 32
#define LASTING 64

static struct node a, b;
static na_plugin_addr *to_b;
static na_plugin_addr *to_a;
static _Atomic uint32_t wrong; /* failures */
static _Atomic bool stop;
static void *lasting[LASTING];
static _Atomic uint32_t lasting_count;

static void
open_both(uint32_t contexts)
{
    char text[TEXT];
    node_open(&a, &(struct node_options){.contexts = contexts});
    node_open(&b, &(struct node_options){.contexts = contexts});
    self_string(&b, text);
    to_b = lookup(&a, text);
    self_string(&a, text);
    to_a = lookup(&b, text);
    wrong = 0;
    stop = false;
}

static void
close_both(void)
{
    ck_assert_uint_eq(wrong, 0);
    a.ops->addr_free(a.cls, to_b);
    b.ops->addr_free(b.cls, to_a);
    node_close(&a);
    node_close(&b);
    for (uint32_t i = 0; i < lasting_count && i < LASTING; i++)
        free(lasting[i]);
    lasting_count = 0;
}

/* Operations that stay posted until the classes are closed. */
static void *
lasting_op(const struct node *node)
{
    uint32_t place = atomic_fetch_add(&lasting_count, 1);
    if (place >= LASTING) {
        wrong++;
        return op_new(node);
    }
    lasting[place] = op_new(node);
    return lasting[place];
}

/* An operation whose end its submitter waits for. */
struct call {
    void *op;
    _Atomic int32_t ended; /* 0: pending; 1: success; else its status */
    char buffer[16];
};

static struct call calls[THREADS];

/* Polls context 0 of a, and publishes the ends of the threads' calls. */
static void *
poll_a(void *arg)
{
    na_plugin_event events[8];
    while (!stop) {
        int32_t count = a.ops->poll(a.ctx[0], events, 8);
        if (count == 0)
            sched_yield();
        for (int32_t i = 0; i < count; i++) {
            int owner = -1;
            for (int j = 0; j < THREADS; j++)
                if (calls[j].op == events[i].op)
                    owner = j;
            if (owner < 0 || calls[owner].ended != 0) {
                wrong++;
                continue;
            }
            calls[owner].ended =
                events[i].status == NA_PLUGIN_OK ? 1 : events[i].status;
        }
    }
    return arg;
}

static int32_t
wait_call(struct call *call)
{
    uint64_t deadline = now_ns() + UINT64_C(20000000000);
    while (call->ended == 0) {
        if (now_ns() > deadline) {
            wrong++;
            return 0;
        }
        sched_yield(); /* there are more threads than processors */
    }
    return call->ended;
}

static void *
send_many(void *arg)
{
    struct call *call = arg;
    uint64_t tag = (uint64_t) (call - calls);
    char data[300] = {0};
    for (uint32_t i = 0; i < EACH; i++) {
        call->ended = 0;
        int32_t ret = a.ops->send_unexpected(
            a.ctx[0], call->op, data, sizeof(data), NULL, to_b, 0, tag, 0);
        if (ret == NA_PLUGIN_PENDING && wait_call(call) != 1)
            wrong++;
        else if (ret < 0)
            wrong++;
    }
    return NULL;
}

START_TEST(threads_many_senders_share_a_connection)
{
    static char buffers[RECVS][512];
    pthread_t threads[THREADS];
    pthread_t poller;
    uint32_t counts[THREADS] = {0};
    na_plugin_event events[4];
    open_both(1);
    for (int i = 0; i < RECVS; i++)
        ck_assert_int_eq(b.ops->recv_unexpected(b.ctx[0], lasting_op(&b),
                             buffers[i], sizeof(buffers[i]), NULL, 0),
            NA_PLUGIN_PENDING);
    for (int i = 0; i < THREADS; i++)
        calls[i].op = op_new(&a);
    pthread_create(&poller, NULL, poll_a, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, send_many, &calls[i]);

    for (uint32_t got = 0; got < THREADS * EACH;) {
        int32_t count = b.ops->poll(b.ctx[0], events, 4);
        if (count == 0)
            sched_yield();
        for (int32_t i = 0; i < count; i++, got++) {
            ck_assert_int_eq(events[i].status, NA_PLUGIN_OK);
            ck_assert_uint_eq(events[i].length, 300);
            counts[events[i].tag]++;
            b.ops->addr_free(b.cls, events[i].source);
            ck_assert_int_eq(b.ops->recv_unexpected(b.ctx[0], events[i].op,
                                 events[i].buffer, 512, NULL, 0),
                NA_PLUGIN_PENDING);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_uint_eq(counts[i], EACH);
        free(calls[i].op);
    }
    stop = true;
    pthread_join(poller, NULL);
    close_both();
}
END_TEST

static void *
call_many(void *arg)
{
    struct call *call = arg;
    uint64_t tag = (uint64_t) (call - calls);
    void *send = op_new(&a);
    for (uint32_t i = 0; i < EACH; i++) {
        call->ended = 0;
        if (a.ops->recv_expected(a.ctx[0], call->op, call->buffer,
                sizeof(call->buffer), NULL, to_b, 0, tag,
                0) != NA_PLUGIN_PENDING ||
            a.ops->send_unexpected(a.ctx[0], send, &i, sizeof(i), NULL, to_b, 0,
                tag, 0) != NA_PLUGIN_DONE ||
            wait_call(call) != 1 || memcmp(call->buffer, &i, sizeof(i)) != 0)
            wrong++;
    }
    free(send);
    return NULL;
}

/* Requests and answers of several threads over one context. */
START_TEST(threads_calls_are_answered)
{
    static char buffers[RECVS][16];
    pthread_t threads[THREADS];
    pthread_t poller;
    na_plugin_event event;
    open_both(1);
    void *send = op_new(&b);
    for (int i = 0; i < RECVS; i++)
        b.ops->recv_unexpected(
            b.ctx[0], lasting_op(&b), buffers[i], sizeof(buffers[i]), NULL, 0);
    for (int i = 0; i < THREADS; i++)
        calls[i].op = op_new(&a);
    pthread_create(&poller, NULL, poll_a, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, call_many, &calls[i]);
    for (uint32_t got = 0; got < THREADS * EACH;) {
        if (b.ops->poll(b.ctx[0], &event, 1) != 1) {
            sched_yield();
            continue;
        }
        got++;
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        ck_assert_int_eq(b.ops->send_expected(b.ctx[0], send, event.buffer,
                             event.length, NULL, event.source, 0, event.tag, 0),
            NA_PLUGIN_DONE);
        b.ops->addr_free(b.cls, event.source);
        b.ops->recv_unexpected(b.ctx[0], event.op, event.buffer, 16, NULL, 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        free(calls[i].op);
    }
    stop = true;
    pthread_join(poller, NULL);
    free(send);
    close_both();
}
END_TEST

/* One thread per context: sends to the next context of the other class, and
 * receives on its own. */
struct worker {
    struct node *node;
    na_plugin_addr *peer;
    uint32_t context;
    uint32_t contexts;
};

static void *
work(void *arg)
{
    const struct worker *worker = arg;
    struct node *node = worker->node;
    na_plugin_ctx *ctx = node->ctx[worker->context];
    na_plugin_event event;
    char buffers[4][64];
    void *send = op_new(node);
    uint32_t sent = 0;
    uint32_t received = 0;
    bool pending = false;
    uint64_t deadline = now_ns() + UINT64_C(30000000000);
    for (int i = 0; i < 4; i++)
        node->ops->recv_unexpected(
            ctx, lasting_op(node), buffers[i], 64, NULL, 0);
    while (sent < EACH || received < EACH || pending) {
        if (now_ns() > deadline) {
            wrong++;
            break;
        }
        if (sent < EACH && !pending) {
            int32_t ret = node->ops->send_unexpected(ctx, send, "x", 2, NULL,
                worker->peer, (worker->context + 1) % worker->contexts, sent,
                0);
            pending = ret == NA_PLUGIN_PENDING;
            wrong += ret < 0;
            sent++;
        }
        if (node->ops->poll(ctx, &event, 1) != 1) {
            sched_yield();
            continue;
        }
        wrong += event.status != NA_PLUGIN_OK;
        if (event.op == send) {
            pending = false;
            continue;
        }
        received++;
        node->ops->addr_free(node->cls, event.source);
        node->ops->recv_unexpected(ctx, event.op, event.buffer, 64, NULL, 0);
    }
    free(send);
    return NULL;
}

static void
run_workers(bool self)
{
    enum { CONTEXTS = 3 };
    struct worker workers[2 * CONTEXTS];
    pthread_t threads[2 * CONTEXTS];
    char text[TEXT];
    int count = 0;
    open_both(CONTEXTS);
    self_string(&a, text);
    na_plugin_addr *own = lookup(&a, text);
    for (uint32_t i = 0; i < CONTEXTS; i++) {
        workers[count++] = (struct worker){&a, self ? own : to_b, i, CONTEXTS};
        if (!self)
            workers[count++] = (struct worker){&b, to_a, i, CONTEXTS};
    }
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, &workers[i]);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    a.ops->addr_free(a.cls, own);
    close_both();
}

START_TEST(threads_contexts_progress_side_by_side)
{
    run_workers(false);
}
END_TEST

START_TEST(threads_contexts_of_one_class_talk)
{
    run_workers(true);
}
END_TEST

static void *
send_and_lose(void *arg)
{
    struct call *call = arg;
    char data[1000] = {0};
    for (uint32_t i = 0; i < EACH / 3; i++) {
        call->ended = 0;
        int32_t ret =
            i % 3 == 0 ? a.ops->recv_expected(a.ctx[0], call->op, call->buffer,
                             sizeof(call->buffer), NULL, to_b, 0, 5, 0)
                       : a.ops->send_unexpected(a.ctx[0], call->op, data,
                             sizeof(data), NULL, to_b, 0, 1, 0);
        if (ret == NA_PLUGIN_PENDING)
            ret = wait_call(call);
        if (ret != NA_PLUGIN_DONE && ret != NA_PLUGIN_E_HOSTUNREACH)
            wrong++;
    }
    return NULL;
}

static void *
poll_b(void *arg)
{
    static char buffers[RECVS][2048];
    na_plugin_event event;
    for (int i = 0; i < RECVS; i++)
        b.ops->recv_unexpected(
            b.ctx[0], lasting_op(&b), buffers[i], sizeof(buffers[i]), NULL, 0);
    while (!stop) {
        if (b.ops->poll(b.ctx[0], &event, 1) != 1) {
            sched_yield();
            continue;
        }
        wrong += event.status != NA_PLUGIN_OK;
        b.ops->addr_free(b.cls, event.source);
        b.ops->recv_unexpected(b.ctx[0], event.op, event.buffer, 2048, NULL, 0);
    }
    return arg;
}

static void *
forget_often(void *arg)
{
    while (!stop) {
        a.ops->addr_forget(a.cls, to_b);
        for (int i = 0; i < 20; i++)
            sched_yield();
    }
    return arg;
}

/* Connections are closed while other threads use them: each operation still
 * ends exactly once. */
START_TEST(threads_forget_while_sending_ends_each_send_once)
{
    pthread_t threads[THREADS];
    pthread_t pollers[3];
    open_both(1);
    for (int i = 0; i < THREADS; i++)
        calls[i].op = op_new(&a);
    pthread_create(&pollers[0], NULL, poll_a, NULL);
    pthread_create(&pollers[1], NULL, poll_b, NULL);
    pthread_create(&pollers[2], NULL, forget_often, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, send_and_lose, &calls[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        free(calls[i].op);
    }
    stop = true;
    for (int i = 0; i < 3; i++)
        pthread_join(pollers[i], NULL);
    close_both();
}
END_TEST

static void *
address_churn(void *arg)
{
    char text[TEXT];
    na_plugin_addr *addrs[16];
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 16; i++) {
            snprintf(text, sizeof(text), "sm://churn-%d-%d", i + 1, round % 7);
            addrs[i] = NULL;
            if (a.ops->addr_lookup(a.cls, text, &addrs[i]) != NA_PLUGIN_OK)
                wrong++;
        }
        for (int i = 0; i < 16; i++) {
            a.ops->addr_dup(a.cls, addrs[i]);
            wrong += a.ops->addr_equal(a.cls, addrs[i], addrs[i]) != 1;
            a.ops->addr_free(a.cls, addrs[i]);
            a.ops->addr_free(a.cls, addrs[i]);
        }
    }
    return arg;
}

START_TEST(threads_look_up_and_free_the_same_names)
{
    pthread_t threads[THREADS];
    open_both(1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, address_churn, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    close_both();
}
END_TEST

/* Gets of several threads while the peer is forgotten. */
static na_plugin_mem *local;
static na_plugin_mem *remote;

static void *
get_many(void *arg)
{
    struct call *call = arg;
    for (uint32_t i = 0; i < 60; i++) {
        call->ended = 0;
        int32_t ret = a.ops->get(a.ctx[0], call->op, local,
            (uint64_t) (call - calls) << 22, remote, 0,
            i % 2 == 0 ? 1000 : 3 << 20, to_b, 0, 0);
        if (ret == NA_PLUGIN_PENDING)
            ret = wait_call(call);
        if (ret != NA_PLUGIN_DONE && ret != NA_PLUGIN_E_HOSTUNREACH)
            wrong++;
    }
    return NULL;
}

START_TEST(threads_forget_while_getting_ends_each_get_once)
{
    pthread_t threads[THREADS];
    pthread_t pollers[3];
    unsigned char bytes[64];
    uint64_t size = sizeof(bytes);
    na_plugin_mem *owned;
    na_plugin_segment segment = {.base = malloc(4 << 20), .length = 4 << 20};
    na_plugin_segment sink = {
        .base = malloc(THREADS << 22), .length = THREADS << 22};
    memset(segment.base, 1, segment.length);
    open_both(1);
    ck_assert_int_eq(b.ops->mem_register(b.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, 3, 0, 0},
                         &owned),
        0);
    ck_assert_int_eq(b.ops->mem_serialize(b.cls, owned, bytes, &size), 0);
    ck_assert_int_eq(a.ops->mem_deserialize(a.cls, bytes, size, &remote), 0);
    ck_assert_int_eq(a.ops->mem_register(a.cls,
                         &(na_plugin_mem_info){
                             sizeof(na_plugin_mem_info), 0, &sink, 1, 3, 0, 0},
                         &local),
        0);
    for (int i = 0; i < THREADS; i++)
        calls[i].op = op_new(&a);
    pthread_create(&pollers[0], NULL, poll_a, NULL);
    pthread_create(&pollers[1], NULL, poll_b, NULL);
    pthread_create(&pollers[2], NULL, forget_often, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, get_many, &calls[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        free(calls[i].op);
    }
    stop = true;
    for (int i = 0; i < 3; i++)
        pthread_join(pollers[i], NULL);
    a.ops->mem_deregister(a.cls, local);
    a.ops->mem_remote_free(a.cls, remote);
    b.ops->mem_deregister(b.cls, owned);
    free(segment.base);
    free(sink.base);
    close_both();
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("threads");
    tcase_add_test(cases, threads_many_senders_share_a_connection);
    tcase_add_test(cases, threads_calls_are_answered);
    tcase_add_test(cases, threads_contexts_progress_side_by_side);
    tcase_add_test(cases, threads_contexts_of_one_class_talk);
    tcase_add_test(cases, threads_forget_while_sending_ends_each_send_once);
    tcase_add_test(cases, threads_look_up_and_free_the_same_names);
    tcase_add_test(cases, threads_forget_while_getting_ends_each_get_once);
    return run_cases("threads", &cases, 1);
}
