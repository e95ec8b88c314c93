/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_flood TRANSPORT: a client sends requests and never reads an answer.
 * Meanwhile the server answers others, holds no more than its limits, and frees
 * that when the client ends.
 */
#include "counts.h"
#include "mercury_macros.h"
#include "runner.h"
#include "service.h"
#include "talaria.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGE (1U << 20)
#define PATIENCE_MS 5000U /* limit for a call of the normal client */
#define POLITE_CALLS 50U
#define SLACK (1U << 20)
#define PER_REQUEST UINT64_C(16384) /* size of a handle with its buffers */
#define OVERFLOW_TOTAL (UINT64_C(64) << 20)
#define OVERFLOW_TOTAL_TEXT "67108864"

struct flood {
    struct service service;
    uint32_t count;        /* requests */
    uint32_t size;         /* size of the answers */
    _Atomic uint32_t sent; /* so far */
    _Atomic bool done;
};

static struct flood *flood;
static struct service_ids ids;

struct client {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t server;
};

static void
client_open(struct client *c)
{
    c->hg_class = HG_Init(service_transport, HG_FALSE);
    if (!c->hg_class || !service_register(c->hg_class, false, &ids))
        abort();
    c->context = HG_Context_create(c->hg_class);
    if (!c->context || HG_Addr_lookup2(c->hg_class, flood->service.address,
                           &c->server) != HG_SUCCESS)
        abort();
}

static void
client_close(struct client *c)
{
    HG_Addr_free(c->hg_class, c->server);
    if (HG_Context_destroy(c->context) != HG_SUCCESS ||
        HG_Finalize(c->hg_class) != HG_SUCCESS)
        abort();
}

static hg_return_t
begin(struct client *c, struct call *call, uint32_t size, hg_handle_t *handle_p)
{
    ask_t in = {.seed = 1,
        .size = size,
        .bytes = {.size = 100, .data = service_pattern + 1}};
    hg_return_t ret = HG_Create(c->context, c->server, ids.ask, handle_p);

    return ret == HG_SUCCESS ? HG_Forward(*handle_p, call_done, call, &in)
                             : ret;
}

/* Returns the duration in ms; the process exits if the call fails. */
static uint64_t
one_call(struct client *c, uint32_t size)
{
    struct call call = {.called = 0};
    uint64_t from = session_now_ms();
    hg_handle_t handle;
    blob_t out;

    if (begin(c, &call, size, &handle) != HG_SUCCESS)
        abort();
    while (atomic_load(&call.called) == 0) {
        if (session_now_ms() - from > PATIENCE_MS) {
            fprintf(stderr, "a call of %u bytes was not answered\n", size);
            _exit(2);
        }
        HG_Progress(c->context, 100);
        while (HG_Trigger(c->context, 0, 1, NULL) == HG_SUCCESS)
            ;
    }
    if (call.ret != HG_SUCCESS || HG_Get_output(handle, &out) != HG_SUCCESS ||
        out.size != size || memcmp(out.data, service_pattern + 1, size) != 0) {
        fprintf(stderr, "a call of %u bytes ended with %s\n", size,
            HG_Error_to_string(call.ret));
        _exit(3);
    }
    HG_Free_output(handle, &out);
    HG_Destroy(handle);
    return session_now_ms() - from;
}

/* One answered call, which connects; no answer is read after that. */
static void
flood_run(void *arg)
{
    static struct client client;
    static struct call call;
    hg_handle_t handle;

    client_open(&client);
    one_call(&client, 10);
    for (uint32_t i = 0; i < flood->count; i++) {
        if (begin(&client, &call, flood->size, &handle) != HG_SUCCESS)
            break;
        atomic_fetch_add(&flood->sent, 1);
    }
    atomic_store(&flood->done, true);
    for (;;)
        pause();
}

static void
normal_run(void *arg)
{
    struct client client;

    client_open(&client);
    for (uint32_t i = 0; i < POLITE_CALLS; i++) {
        one_call(&client, 100);
        one_call(&client, LARGE / 2);
    }
    client_close(&client);
}

static void
ck_flood(uint32_t count, uint32_t size, uint64_t limit, uint64_t kept)
{
    struct service_sample before, amid, after;
    pid_t server, flooder, normal;
    uint64_t end;

    service_pattern_make();
    flood = service_shared(sizeof *flood);
    flood->count = count;
    flood->size = size;
    server = service_start(service_run, &flood->service);
    service_await(&flood->service, 1);
    normal = service_start(normal_run, NULL);
    service_end(normal, 0);
    before = service_measure(&flood->service, UINT64_MAX);
    flooder = service_start(flood_run, NULL);
    end = session_now_ms() + test_count(TEST_WAIT_MS);
    while (!atomic_load(&flood->done)) {
        ck_assert_msg(session_now_ms() < end, "%u requests were sent",
            atomic_load(&flood->sent));
        usleep(1000);
    }
    normal = service_start(normal_run, NULL);
    service_end(normal, 0);
    amid = service_sample(&flood->service);
    service_end(flooder, SIGKILL);
    after = service_measure(&flood->service, before.descriptors);
    printf("%u requests for %u bytes, %llu answered, %llu ended so far: heap "
           "%llu, amid %llu, after %llu\n",
        atomic_load(&flood->sent), size,
        (unsigned long long) atomic_load(&flood->service.accepted),
        (unsigned long long) atomic_load(&flood->service.called),
        (unsigned long long) before.heap, (unsigned long long) amid.heap,
        (unsigned long long) after.heap);
    fflush(stdout);
    ck_assert_msg(amid.heap <= before.heap + limit + SLACK,
        "the server holds %llu bytes for it",
        (unsigned long long) (amid.heap - before.heap));
    ck_assert_uint_le(after.descriptors, before.descriptors);
    ck_assert_msg(after.heap <= before.heap + kept + SLACK,
        "%llu bytes before, %llu after", (unsigned long long) before.heap,
        (unsigned long long) after.heap);
    atomic_store(&flood->service.stop, true);
    service_end(server, 0);
}

/* Up to that many free handles are kept in the pool. */
START_TEST(flood_of_requests_with_unread_answers_is_bounded)
{
    uint32_t count = test_count(TEST_FLOOD_CALLS);

    ck_flood(count, 1000, count * PER_REQUEST, count * PER_REQUEST);
}
END_TEST

START_TEST(flood_of_unacknowledged_large_answers_is_bounded)
{
    uint32_t count = test_count(TEST_FLOOD_LARGE);

    ck_assert_int_eq(
        setenv("TALARIA_HG_OVERFLOW_TOTAL", OVERFLOW_TOTAL_TEXT, 1), 0);
    ck_flood(count, LARGE, OVERFLOW_TOTAL + count * PER_REQUEST,
        count * PER_REQUEST);
}
END_TEST

int
main(int argc, char **argv)
{
    TCase *tcase = tcase_create("flood");

    if (argc < 2)
        return 2;
    service_transport = argv[1];
    tcase_set_timeout(tcase, 3600);
    tcase_add_test(tcase, flood_of_requests_with_unread_answers_is_bounded);
    tcase_add_test(tcase, flood_of_unacknowledged_large_answers_is_bounded);
    return run_tcase("flood", tcase);
}
