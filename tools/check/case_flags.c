/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: flags of submissions and registrations. Unknown hints have no effect;
 * a registration with unknown demands is refused. Submissions have demands only
 * where opened.features announces them. */
#include "check/cases.h"
#include "check/class.h"
#include "check/flow.h"
#include "check/peers.h"
#include "check/rma.h"
#include "check/shared.h"

static const uint32_t demands[] = {0x1U, 0x100U, 0x8000U, 0x18000U};
#define DEMANDS (sizeof demands / sizeof demands[0])

/* Flags that 1.0 defines, and undefined ones. */
static const uint32_t hints[] = {
    NA_PLUGIN_HINT_MORE, 0x80000000U, NA_PLUGIN_FLAGS_HINTS};
#define HINTS (sizeof hints / sizeof hints[0])

static struct kit_request
message(enum kit_kind kind, struct kit_side *peer, uint64_t length)
{
    return (struct kit_request){.kind = kind,
        .op = 10,
        .peer = kit_number(peer),
        .tag = 3,
        .length = length,
        .seed = 3};
}

static void
messages_hinted(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_local(NULL);
    uint64_t length = kit_small(a);

    kit_lookup_each_other(a, b);
    for (uint32_t i = 0; i < HINTS; i++) {
        struct kit_request request[] = {message(KIT_RECV_UNEXPECTED, a, length),
            message(KIT_RECV_EXPECTED, a, length),
            message(KIT_SEND_UNEXPECTED, b, length),
            message(KIT_SEND_EXPECTED, b, length)};

        for (uint32_t j = 0; j < 4; j++) {
            request[j].flags = hints[i];
            request[j].op = 10 + 2 * (j % 2);
            kit_post(j < 2 ? b : a, &request[j]);
        }
        kit_await_message(b, 10, 4, length, 3, 3, kit_number(a));
        kit_await_message(b, 12, 4, length, 3, 3, KIT_NOBODY);
        kit_await_ok(a, 10, 4);
        kit_await_ok(a, 12, 4);
    }
}

static void
multi_flags(void)
{
    struct kit_flow flow = kit_flow_open(1, 1);
    struct kit_request request = {
        .kind = KIT_RECV_MULTI, .length = kit_flow_room(&flow, 4)};

    request.flags = NA_PLUGIN_FLAGS_HINTS;
    kit_post(flow.to, &request);
    kit_flow_send(&flow, 0, 0);
    kit_flow_receive(&flow, 1, 1, request.length);
    kit_await_ok(flow.from[0], 0, 7);
}

static void
rma_flags(void)
{
    struct kit_pair pair = kit_pair_open(NULL);
    static const enum kit_kind kinds[] = {KIT_PUT, KIT_GET};

    kit_rma_regions(&pair, 4096, 1, 1);
    for (uint32_t i = 0; i < 2; i++) {
        struct kit_request request =
            kit_rma_request(&pair, kinds[i], 256, 256, 512);

        for (uint32_t j = 0; j < HINTS; j++) {
            request.flags = hints[j];
            kit_rma_move(&pair, 4096, &request);
        }
    }
    kit_rma_free(&pair);
}

static void
mem_flags(void)
{
    struct kit_side *a = kit_local(NULL);
    struct kit_class *cls = kit_class_of(a);
    static unsigned char memory[64];
    const na_plugin_segment segment = {memory, sizeof memory};
    na_plugin_mem_info info = {.size = sizeof info,
        .segments = &segment,
        .count = 1,
        .access = KIT_BOTH,
        .mem_type = NA_PLUGIN_MEM_HOST};
    na_plugin_mem *untouched = (na_plugin_mem *) memory, *mem = untouched;
    int32_t result;

    for (uint32_t i = 0; i < DEMANDS; i++) {
        info.flags = demands[i];
        result = cls->ops.mem_register(cls->cls, &info, &mem);
        kit_expect(result == NA_PLUGIN_E_INVALID_ARG && mem == untouched, 4,
            "mem_register refuses demands that it does not know, with "
            "INVALID_ARG",
            "flags 0x%x: %s", info.flags, kit_code_text(result));
    }
    for (uint32_t i = 0; i < HINTS; i++) {
        info.flags = hints[i];
        mem = NULL;
        result = cls->ops.mem_register(cls->cls, &info, &mem);
        kit_expect(result == NA_PLUGIN_OK && mem, 4,
            "mem_register ignores hints that it does not know",
            "flags 0x%x: %s", info.flags, kit_code_text(result));
        cls->ops.mem_deregister(cls->cls, mem);
    }
}

static const struct kit_case cases[] = {
    {"flags_messages_hinted", 4, 0, 0, 0,
        "messages with unknown hints are sent and received", messages_hinted},
    {"flags_multi_recv", 4, KIT_NEEDS_MULTI_RECV, 0, 0,
        "a multi-receive with unknown hints receives", multi_flags},
    {"flags_rma", 4, KIT_NEEDS_RMA, 0, 0,
        "puts and gets with unknown hints transfer data", rma_flags},
    {"flags_mem", 4, KIT_NEEDS_RMA, 0, 0,
        "flags of mem_register: demands are refused, hints ignored", mem_flags},
};

const struct kit_group kit_cases_flags = {
    cases, sizeof cases / sizeof cases[0]};
