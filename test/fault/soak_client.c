/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots with one call at a time each. Any failure ends the process with a
 * message and status 1. */
#include "soak_client.h"

#include "talaria.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS 16U
#define MORTAL_EVERY 64U /* calls */
#define FETCH_EVERY 512U
#define FETCH_MAX 262144U
#define ASK_MAX 65535U /* exceeds a message of any transport */
#define DEADLINE_MS 30000U
#define STUCK_MS 60000U

struct slot {
    hg_handle_t handle;
    bool busy, fetches, mortal, large;
    uint32_t generation; /* of the mortal server */
    uint32_t seed, size;
    hg_bulk_t bulk;
};

static struct soak_client *own;
static struct service_ids ids;
static hg_class_t *own_class;
static hg_context_t *context;
static struct slot slots[SLOTS];
static unsigned busy;
static hg_addr_t steady = HG_ADDR_NULL, mortal = HG_ADDR_NULL;
static uint32_t mortal_generation;
static unsigned char memory[SERVICE_PATTERN]; /* memory that servers fetch */

static void die(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));

static void
die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    _exit(4);
}

static hg_addr_t
look_up(const struct service *service)
{
    hg_addr_t addr;
    hg_return_t ret = HG_Addr_lookup2(own_class, service->address, &addr);

    if (ret != HG_SUCCESS)
        die("lookup of %s: %s", service->address, HG_Error_to_string(ret));
    return addr;
}

/* The restarted server has another address each time. */
static hg_addr_t
find_mortal(void)
{
    uint32_t generation = atomic_load(&own->mortal->generation);

    if (generation != mortal_generation) {
        if (mortal != HG_ADDR_NULL)
            HG_Addr_free(own_class, mortal);
        mortal = look_up(own->mortal);
        mortal_generation = generation;
    }
    return mortal;
}

static uint32_t
random_size(uint64_t bits)
{
    uint32_t of = bits >> 8 & 1023;

    if (of < 900)
        return bits >> 20 & 255;
    if (of < 1016)
        return bits >> 20 & 4095;
    return bits >> 20 & ASK_MAX;
}

static void
check_answer(struct slot *slot)
{
    hg_return_t ret;

    if (slot->fetches) {
        int32_t code;

        ret = HG_Get_output(slot->handle, &code);
        if (ret == HG_SUCCESS && code != HG_SUCCESS && !slot->mortal)
            die("fetch: %s", HG_Error_to_string((hg_return_t) code));
        if (ret == HG_SUCCESS)
            HG_Free_output(slot->handle, &code);
    } else {
        blob_t out;

        ret = HG_Get_output(slot->handle, &out);
        if (ret == HG_SUCCESS) {
            if (out.size != slot->size ||
                memcmp(out.data, service_pattern + slot->seed, slot->size) != 0)
                die("an answer of %u bytes is wrong", slot->size);
            HG_Free_output(slot->handle, &out);
        }
    }
    if (ret != HG_SUCCESS)
        die("get output: %s", HG_Error_to_string(ret));
}

static hg_return_t
on_end(const struct hg_cb_info *info)
{
    struct slot *slot = info->arg;

    if (!slot->busy)
        die("second callback of one call");
    atomic_fetch_add(&own->called, 1);
    if (info->ret == HG_SUCCESS) {
        check_answer(slot);
        if (slot->mortal)
            atomic_store(&own->met, slot->generation);
    }
    if (info->ret != HG_SUCCESS && !slot->mortal)
        die("call to the permanent server: %s", HG_Error_to_string(info->ret));
    if (info->ret != HG_SUCCESS)
        atomic_fetch_add(&own->failed, 1);
    HG_Bulk_free(slot->bulk);
    slot->bulk = HG_BULK_NULL;
    slot->busy = false;
    busy--;
    return HG_SUCCESS;
}

static hg_return_t
forward(struct slot *slot)
{
    uint64_t bits = service_random(&own->seed);

    slot->seed = (uint32_t) (bits >> 40);
    slot->size = slot->large ? ASK_MAX : random_size(bits);
    if (slot->fetches) {
        fetch_t in = {.seed = slot->seed % (SERVICE_PATTERN - FETCH_MAX),
            .size = (uint32_t) (bits % FETCH_MAX)};
        void *at = memory + in.seed;
        hg_size_t size = in.size;
        hg_return_t ret = HG_Bulk_create(
            own_class, 1, &at, &size, HG_BULK_READ_ONLY, &slot->bulk);

        if (ret != HG_SUCCESS)
            return ret;
        in.bulk = slot->bulk;
        return HG_Forward(slot->handle, on_end, slot, &in);
    }
    slot->seed %= SERVICE_PATTERN - ASK_MAX;
    ask_t in = {.seed = slot->seed,
        .size = slot->size,
        .bytes = {.size = slot->large ? ASK_MAX
                                      : random_size(service_random(&own->seed)),
            .data = service_pattern + slot->seed}};
    return HG_Forward(slot->handle, on_end, slot, &in);
}

/* First use every kind of call: a server over ofi+tcp opens a connection for
 * each, which must not count as leaked. */
static void
begin(struct slot *slot)
{
    uint64_t bits = service_random(&own->seed);
    bool first = atomic_load(&own->called) == 0;
    hg_return_t ret;

    slot->mortal = !first && bits % MORTAL_EVERY == 0;
    slot->fetches = first ? slot == slots : (bits >> 16) % FETCH_EVERY == 0;
    slot->large = first;
    ret = HG_Reset(slot->handle, slot->mortal ? find_mortal() : steady,
        slot->fetches ? ids.fetch : ids.ask);
    if (ret == HG_BUSY) /* operations of its last call are still pending */
        return;
    if (ret != HG_SUCCESS)
        die("reset: %s", HG_Error_to_string(ret));
    slot->generation = mortal_generation;
    talaria_handle_set_deadline(
        slot->handle, slot->mortal ? DEADLINE_MS : 2 * DEADLINE_MS);
    slot->busy = true;
    ret = forward(slot);
    if (ret == HG_SUCCESS) {
        busy++;
        atomic_fetch_add(&own->forwarded, 1);
        return;
    }
    slot->busy = false;
    HG_Bulk_free(slot->bulk);
    slot->bulk = HG_BULK_NULL;
    if (!slot->mortal && ret != HG_AGAIN)
        die("forward to the permanent server: %s", HG_Error_to_string(ret));
}

static void
open_all(void)
{
    hg_return_t ret;

    own_class = HG_Init(service_transport, HG_FALSE);
    if (!own_class || !service_register(own_class, false, &ids))
        die("a client does not start");
    context = HG_Context_create(own_class);
    if (!context)
        die("no context");
    steady = look_up(own->steady);
    for (unsigned i = 0; i < SLOTS; i++) {
        ret = HG_Create(context, steady, ids.ask, &slots[i].handle);
        if (ret != HG_SUCCESS)
            die("create: %s", HG_Error_to_string(ret));
    }
    memcpy(memory, service_pattern, sizeof memory);
}

static void
close_all(void)
{
    hg_return_t ret;

    for (unsigned i = 0; i < SLOTS; i++)
        HG_Destroy(slots[i].handle);
    if (mortal != HG_ADDR_NULL)
        HG_Addr_free(own_class, mortal);
    HG_Addr_free(own_class, steady);
    ret = HG_Context_destroy(context);
    if (ret == HG_SUCCESS)
        ret = HG_Finalize(own_class);
    if (ret != HG_SUCCESS)
        die("the client does not end: %s", HG_Error_to_string(ret));
}

void
soak_client_run(void *arg)
{
    uint64_t last = 0, since = session_now_ms();

    own = arg;
    open_all();
    while (!atomic_load(&own->stop)) {
        uint64_t called = atomic_load(&own->called);
        bool pause = called > 0 && atomic_load(&own->pause);

        for (unsigned i = 0; i < SLOTS && !pause; i++)
            if (!slots[i].busy)
                begin(&slots[i]);
        atomic_store(&own->paused, pause && busy == 0);
        HG_Progress(context, pause ? 10 : 100);
        while (HG_Trigger(context, 0, SLOTS, NULL) == HG_SUCCESS)
            ;
        if (called != last || busy == 0) {
            last = called;
            since = session_now_ms();
        } else if (session_now_ms() - since > STUCK_MS) {
            die("%u calls have not ended", busy);
        }
    }
    close_all();
}
