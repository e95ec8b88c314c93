/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_altered TRANSPORT [SEED]: clients whose messages arrive altered. Neither
 * they nor the server crash; afterwards the server answers others, and holds no
 * more resources than before.
 */
#include "alter.h"
#include "counts.h"
#include "runner.h"
#include "service.h"
#include "talaria.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS 16U
#define CALLS 96U /* calls of one client */
#define DEADLINE_MS 60U
#define FETCH_MAX 20000U
#define ASK_MAX 9000U /* exceeds a message */
#define SLACK (UINT64_C(768) << 10)

struct stage {
    struct service service;
    struct alter alter;
    uint64_t dice;             /* of the clients */
    _Atomic uint64_t answered; /* answered calls, */
    _Atomic uint64_t ended;    /* unanswered ones */
};

struct slot {
    hg_handle_t handle;
    bool busy;
    hg_bulk_t bulk;
};

static struct stage *stage;
static uint64_t seed = 20260;

static struct service_ids ids;
static hg_class_t *own_class;
static hg_context_t *context;
static hg_addr_t server;
static struct slot slots[SLOTS];
static unsigned busy;

static void
client_open(void)
{
    own_class = HG_Init(service_transport, HG_FALSE);
    if (!own_class || !service_register(own_class, false, &ids))
        abort();
    context = HG_Context_create(own_class);
    if (!context || HG_Addr_lookup2(own_class, stage->service.address,
                        &server) != HG_SUCCESS)
        abort();
}

static void
client_close(void)
{
    HG_Addr_free(own_class, server);
    if (HG_Context_destroy(context) != HG_SUCCESS ||
        HG_Finalize(own_class) != HG_SUCCESS)
        abort();
}

/* THE NORMAL CLIENT */

static hg_return_t
call_and_wait(uint32_t size)
{
    ask_t in = {.seed = 1,
        .size = size,
        .bytes = {.size = size, .data = service_pattern + 1}};
    struct call call = {.called = 0};
    hg_handle_t handle;
    hg_return_t ret = HG_Create(context, server, ids.ask, &handle);
    blob_t out;

    if (ret != HG_SUCCESS)
        return ret;
    ret = HG_Forward(handle, call_done, &call, &in);
    if (ret == HG_SUCCESS) {
        call_wait(context, &call, 1);
        ret = call.ret;
    }
    if (ret == HG_SUCCESS)
        ret = HG_Get_output(handle, &out);
    if (ret == HG_SUCCESS) {
        if (out.size != size || memcmp(out.data, in.bytes.data, size) != 0)
            ret = HG_PROTOCOL_ERROR;
        HG_Free_output(handle, &out);
    }
    HG_Destroy(handle);
    return ret;
}

static void
normal_run(void *arg)
{
    client_open();
    for (uint32_t size = 1; size < 1U << 17; size *= 2) {
        hg_return_t ret = call_and_wait(size);

        if (ret == HG_SUCCESS)
            continue;
        fprintf(stderr, "an unaltered call of %u bytes: %s\n", size,
            HG_Error_to_string(ret));
        _exit(2);
    }
    client_close();
}

/* THE CLIENT WITH ALTERED MESSAGES */

static hg_return_t
on_end(const struct hg_cb_info *info)
{
    struct slot *slot = info->arg;

    atomic_fetch_add(
        info->ret == HG_SUCCESS ? &stage->answered : &stage->ended, 1);
    HG_Bulk_free(slot->bulk);
    slot->bulk = HG_BULK_NULL;
    slot->busy = false;
    busy--;
    return HG_SUCCESS;
}

static hg_return_t
forward_fetch(struct slot *slot, uint64_t bits)
{
    fetch_t in = {.seed = (uint32_t) (bits >> 8 & 0xffff),
        .size = (uint32_t) (bits >> 32) % FETCH_MAX};
    void *at = service_pattern + in.seed;
    hg_size_t size = in.size;
    hg_return_t ret = HG_Bulk_create(
        own_class, 1, &at, &size, HG_BULK_READ_ONLY, &slot->bulk);

    if (ret != HG_SUCCESS)
        return ret;
    in.bulk = slot->bulk;
    return HG_Forward(slot->handle, on_end, slot, &in);
}

static hg_return_t
forward_ask(struct slot *slot, uint64_t bits)
{
    ask_t in = {.seed = (uint32_t) (bits >> 8 & 0xffff),
        .size = (uint32_t) (bits >> 32) % (bits & 8 ? ASK_MAX : 200),
        .bytes = {.size = (uint32_t) (bits >> 40) % (bits & 16 ? ASK_MAX : 200),
            .data = service_pattern}};

    in.bytes.data += in.seed;
    return HG_Forward(slot->handle, on_end, slot, &in);
}

/* A late answer may still use this call's data, so they are not freed. */
static void
begin(struct slot *slot)
{
    uint64_t bits = service_random(&stage->dice);
    bool fetches = bits % 4 == 0;
    hg_return_t ret;

    HG_Destroy(slot->handle);
    ret = HG_Create(
        context, server, fetches ? ids.fetch : ids.ask, &slot->handle);
    if (ret != HG_SUCCESS)
        abort();
    talaria_handle_set_deadline(slot->handle, DEADLINE_MS);
    ret = fetches ? forward_fetch(slot, bits) : forward_ask(slot, bits);
    if (ret == HG_SUCCESS) {
        slot->busy = true;
        busy++;
        return;
    }
    HG_Bulk_free(slot->bulk);
    slot->bulk = HG_BULK_NULL;
    atomic_fetch_add(&stage->ended, 1);
}

static void
altered_run(void *arg)
{
    unsigned calls = 0;

    alter_connections(&stage->alter, false);
    client_open();
    while (calls < CALLS || busy > 0) {
        for (unsigned i = 0; i < SLOTS && calls < CALLS; i++)
            if (!slots[i].busy) {
                begin(&slots[i]);
                calls++;
            }
        HG_Progress(context, 10);
        while (HG_Trigger(context, 0, SLOTS, NULL) == HG_SUCCESS)
            ;
    }
    for (unsigned i = 0; i < SLOTS; i++)
        HG_Destroy(slots[i].handle);
    client_close();
}

static void
serve(void *arg)
{
    if (stage->alter.ucx)
        alter_connections(&stage->alter, true);
    service_run(&stage->service);
}

static void
ck_normal_client(void)
{
    service_end(service_start(normal_run, NULL), 0);
}

/* Prints the counts, then checks them. */
static void
ck_as_before(
    const struct service_sample *before, const struct service_sample *after)
{
    const struct alter *alter = &stage->alter;
    unsigned all = atomic_load(&alter->altered);
    unsigned plain =
        atomic_load(&alter->kinds[1]) + atomic_load(&alter->kinds[2]);

    printf("seed %llu: %u of %u messages altered, %u of them plugin messages; "
           "%llu calls answered, %llu not; heap %llu, then %llu\n",
        (unsigned long long) seed, all, atomic_load(&alter->seen), all - plain,
        (unsigned long long) atomic_load(&stage->answered),
        (unsigned long long) atomic_load(&stage->ended),
        (unsigned long long) before->heap, (unsigned long long) after->heap);
    fflush(stdout);
    ck_assert_uint_ge(all, test_count(TEST_ALTERED_CLIENTS) * CALLS / 2);
    ck_assert_uint_eq(after->active, before->active);
    ck_assert_uint_le(after->descriptors, before->descriptors);
    ck_assert_uint_le(after->heap, before->heap + SLACK);
    ck_assert_uint_eq(atomic_load(&stage->service.accepted),
        atomic_load(&stage->service.called));
}

START_TEST(altered_messages_do_not_harm_the_server)
{
    struct service_sample before, after;
    pid_t proxy, server_process;

    service_pattern_make();
    stage = service_shared(sizeof *stage);
    stage->service.lenient = true;
    stage->dice = stage->alter.seed = seed;
    stage->alter.ucx = strncmp(service_transport, "ucx", 3) == 0;
    proxy = service_start(alter_proxy_run, &stage->alter);
    while (atomic_load(&stage->alter.port) == 0)
        usleep(1000);
    server_process = service_start(serve, NULL);
    service_await(&stage->service, 1);
    ck_normal_client();
    before = service_measure(&stage->service, UINT64_MAX);
    atomic_store(&stage->alter.on, true);
    for (uint32_t i = 0; i < test_count(TEST_ALTERED_CLIENTS); i++)
        service_end(service_start(altered_run, NULL), 0);
    atomic_store(&stage->alter.on, false);
    ck_normal_client();
    after = service_measure(&stage->service, before.descriptors);
    ck_as_before(&before, &after);
    atomic_store(&stage->service.stop, true);
    service_end(server_process, 0);
    service_end(proxy, SIGKILL);
}
END_TEST

int
main(int argc, char **argv)
{
    TCase *tcase = tcase_create("altered");

    if (argc < 2)
        return 2;
    service_transport = argv[1];
    /* each rejected message logs a line */
    setenv("HG_LOG_LEVEL", "none", 0);
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10);
    tcase_set_timeout(tcase, 3600);
    tcase_add_test(tcase, altered_messages_do_not_harm_the_server);
    return run_tcase("altered", tcase);
}
