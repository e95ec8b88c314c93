/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: registrations, their serialized form, and na.mem_alloc/1. */
#include "check/cases.h"
#include "check/rma.h"

#include <stdlib.h>
#include <string.h>

#define BYTES 4096U /* of a registration */

/* Registered before any context exists, used by two. */
static void
before_contexts(void)
{
    const struct kit_open_options how = {.no_contexts = true, .contexts = 2};
    struct kit_pair pair = kit_pair_open(&how);
    struct kit_request request;

    kit_rma_regions(&pair, 10000, 1, 1);
    for (uint32_t ctx = 0; ctx < 2; ctx++) {
        if (ctx >= kit_opened(pair.a)->max_contexts)
            break;
        kit_ctx_create(pair.a, ctx);
        kit_ctx_create(pair.b, ctx);
        request =
            kit_rma_request(&pair, KIT_PUT, 1, 3, kit_rma_limited(&pair, 9000));
        request.ctx = ctx;
        request.peer_ctx = ctx;
        kit_rma_move(&pair, 10000, &request);
        request.kind = KIT_GET;
        kit_rma_move(&pair, 10000, &request);
    }
}

/* Two registrations of the same memory with one right each, and overlapping
 * parts. */
static void
registered_twice(void)
{
    static const char words[] =
        "what a registration does not permit ends with PERMISSION, whatever "
        "another one of that memory permits";
    const uint64_t whole = 20001;
    struct kit_pair pair = kit_pair_open(NULL);
    struct kit_request request;

    kit_rma_regions(&pair, whole, 1, 1);
    for (uint32_t i = 0; i < 4; i++)
        kit_region(pair.b,
            &(struct kit_region){.number = 1 + i,
                .access = i % 2 ? NA_PLUGIN_MEM_READ : NA_PLUGIN_MEM_WRITE,
                .length = i < 2 ? whole : 9000,
                .inside = 1,
                .inside_offset = i < 2 ? 0 : i * 777});
    for (uint32_t i = 0; i < 4; i++) {
        bool put = i % 2 == 0;

        kit_expose(pair.b, 1 + i, pair.a, 2);
        request = kit_rma_request(
            &pair, put ? KIT_GET : KIT_PUT, 0, 0, kit_rma_limited(&pair, 8000));
        request.remote = 2;
        kit_refused(pair.a, &request, NA_PLUGIN_E_PERMISSION, words);
        request.kind = put ? KIT_PUT : KIT_GET;
        kit_region_fill(put ? pair.a : pair.b, 0, 0, whole, i);
        kit_transfer(pair.a, &request);
        kit_rma_tell(&pair);
        kit_expect(kit_region_hash(pair.a, 0, 0, request.length) ==
                       kit_region_hash(pair.b, 1 + i, 0, request.length),
            12, "several registrations of the same memory all work",
            "other bytes, through number %u", i);
        kit_region_free(pair.a, 2);
        kit_region_free(pair.b, 1 + i);
    }
    /* The first is intact after the others were deregistered. */
    kit_rma_move_both(&pair, whole, 1, 2, 15000);
}

/* A registration is passed from side to side, deserialized twice, and freed
 * once. */
static void
handle_forwarded(void)
{
    const uint64_t whole = 5000;
    struct kit_pair pair = kit_pair_open(NULL);
    struct kit_side *c = kit_remote(1, NULL);
    struct kit_pair other = {.a = c, .b = pair.b};

    kit_lookup(c, pair.b);
    kit_rma_regions(&pair, whole, 1, 1);
    kit_region(c,
        &(struct kit_region){.access = KIT_BOTH, .length = whole, .seed = 3});
    kit_expose(pair.b, 0, c, 1);
    kit_expose(pair.b, 0, pair.a, 2);
    for (uint32_t i = 0; i < 10; i++) {
        kit_rma_move_both(&pair, whole, 1, 2, 4000);
        kit_rma_move_both(&other, whole, 3, 1, 3000);
        if (i == 5)
            kit_region_free(pair.a, 2);
    }
}

/* Registering and serializing leak nothing. */
static void
registrations_freed(void)
{
    struct kit_side *a = kit_local(NULL);
    struct kit_class *cls = kit_class_of(a);
    const uint32_t times = kit_times(20000);
    static unsigned char memory[20000], bytes[16384];
    long kib = 0, grown;

    for (uint32_t i = 0; i < times; i++) {
        na_plugin_segment segment = {memory + i % 100, 1 + i % 19000};
        na_plugin_mem *mem = NULL, *remote = NULL;
        uint64_t size = sizeof bytes;

        if (i == times / 10)
            kib = kit_anonymous_kib();
        kit_expect(cls->ops.mem_register(cls->cls,
                       &(na_plugin_mem_info){.size = sizeof(na_plugin_mem_info),
                           .segments = &segment,
                           .count = 1,
                           .access = KIT_BOTH},
                       &mem) == NA_PLUGIN_OK &&
                       cls->ops.mem_serialize(cls->cls, mem, bytes, &size) ==
                           NA_PLUGIN_OK &&
                       cls->ops.mem_deserialize(
                           cls->cls, bytes, size, &remote) == NA_PLUGIN_OK,
            12,
            "memory is registered, described and understood again and again",
            "not the time number %u", i);
        if (i % 2) {
            cls->ops.mem_remote_free(cls->cls, remote);
            cls->ops.mem_deregister(cls->cls, mem);
        } else {
            cls->ops.mem_deregister(cls->cls, mem);
            cls->ops.mem_remote_free(cls->cls, remote);
        }
    }
    grown = kit_anonymous_kib() - kib;
    kit_expect(grown < 64 + (long) times / 64, 12,
        "mem_deregister and mem_remote_free give everything back",
        "%ld KiB more after %u times", grown, times);
}

/* Too many segments, an unknown memory type: an error, no object. */
static void
registering_refused(void)
{
    struct kit_side *a = kit_local(NULL);
    struct kit_class *cls = kit_class_of(a);
    static unsigned char memory[64];
    uint64_t count = kit_opened(a)->max_segments + 1;
    na_plugin_mem *untouched = (na_plugin_mem *) memory, *mem = untouched;
    na_plugin_segment *segments;
    int32_t result;

    if (count <= 65536) {
        segments = calloc(count, sizeof *segments);
        if (!segments)
            kit_not_run("out of memory");
        for (uint64_t i = 0; i < count; i++)
            segments[i] = (na_plugin_segment){memory + i % 64, 1};
        result = cls->ops.mem_register(cls->cls,
            &(na_plugin_mem_info){.size = sizeof(na_plugin_mem_info),
                .segments = segments,
                .count = count,
                .access = KIT_BOTH},
            &mem);
        free(segments);
        kit_expect(result == NA_PLUGIN_E_INVALID_ARG, 12,
            "more than max_segments are refused with INVALID_ARG", "%s",
            kit_code_text(result));
    }
    result = cls->ops.mem_register(cls->cls,
        &(na_plugin_mem_info){.size = sizeof(na_plugin_mem_info),
            .segments = &(na_plugin_segment){memory, sizeof memory},
            .count = 1,
            .access = KIT_BOTH,
            .mem_type = 77},
        &mem);
    kit_expect(result == NA_PLUGIN_E_OPNOTSUPPORTED ||
                   result == NA_PLUGIN_E_INVALID_ARG,
        12, "an unknown memory type is refused", "%s", kit_code_text(result));
    if (!(kit_opened(a)->features & NA_PLUGIN_FEATURE_MEM_DEVICE)) {
        result = cls->ops.mem_register(cls->cls,
            &(na_plugin_mem_info){.size = sizeof(na_plugin_mem_info),
                .segments = &(na_plugin_segment){memory, sizeof memory},
                .count = 1,
                .access = KIT_BOTH,
                .mem_type = NA_PLUGIN_MEM_CUDA},
            &mem);
        kit_expect(result == NA_PLUGIN_E_OPNOTSUPPORTED, 12,
            "device memory without MEM_DEVICE is refused with OPNOTSUPPORTED",
            "%s", kit_code_text(result));
    }
    kit_expect(mem == untouched, 12,
        "outputs of a failing mem_register are untouched", "they are not");
}

/* Registrations as an untrusted peer may send them: refused, or accepted, and
 * each use ends. Both sides continue to work, and nothing outside of the sink
 * is written. */
static void
try_bytes(
    const struct kit_pair *pair, const void *bytes, size_t length, uint32_t op)
{
    struct kit_class *cls = kit_class_of(pair->a);
    na_plugin_mem *untouched = (na_plugin_mem *) cls, *mem = untouched;
    struct kit_request get = kit_rma_request(pair, KIT_GET, 0, 0, 16);
    struct kit_guarded copy;
    struct kit_completion end;
    int32_t result;

    kit_guarded_create(&copy, length, 1);
    if (length > 0)
        memcpy(copy.memory, bytes, length);
    kit_step("mem_deserialize of damaged bytes");
    result = cls->ops.mem_deserialize(cls->cls, copy.memory, length, &mem);
    kit_guarded_destroy(&copy);
    if (result != NA_PLUGIN_OK) {
        kit_expect(result == NA_PLUGIN_E_INVALID_ARG ||
                       result == NA_PLUGIN_E_PROTOCOL_ERROR ||
                       result == NA_PLUGIN_E_OVERFLOW ||
                       result == NA_PLUGIN_E_NOMEM,
            12,
            "mem_deserialize fails with INVALID_ARG, PROTOCOL_ERROR, OVERFLOW "
            "or NOMEM",
            "%zu bytes: %s", length, kit_code_text(result));
        kit_expect(mem == untouched, 12,
            "outputs of a failing mem_deserialize are untouched", "%p",
            (void *) mem);
        return;
    }
    kit_expect(mem && mem != untouched, 12,
        "mem_deserialize that returns OK makes an object", "%p", (void *) mem);
    kit_step("a get by a damaged registration");
    cls->mems[2] = (struct kit_mem){.mem = mem, .remote = true};
    get.op = op;
    get.remote = 2;
    get.may_fail = true;
    kit_post(pair->a, &get);
    kit_await(pair->a, op, 7, &end);
    kit_region_free(pair->a, 2);
}

/* The valid one works afterwards. */
static void
settle(const struct kit_pair *pair)
{
    kit_step("a transfer afterwards");
    kit_run_for(kit_quiet() / 2);
    kit_rma_move_both(pair, 16, 0, 0, 16);
}

static void
bytes_truncated(void)
{
    struct kit_pair pair = kit_pair_open(NULL);
    static unsigned char bytes[BYTES];
    size_t length;

    for (uint32_t segments = 1; segments <= 2; segments++) {
        if (segments > kit_opened(pair.a)->max_segments)
            break;
        kit_rma_regions(&pair, 16, 1, segments);
        length = kit_region_bytes(pair.b, 0, bytes, sizeof bytes);
        for (size_t i = 0; i < length; i++)
            try_bytes(&pair, bytes, i, (uint32_t) i % 8);
        settle(&pair);
        kit_rma_free(&pair);
    }
}

static void
bytes_flipped(void)
{
    struct kit_pair pair = kit_pair_open(NULL);
    static unsigned char bytes[BYTES];
    uint64_t before;
    size_t length, step;

    kit_rma_regions(&pair, 16, 1, kit_opened(pair.a)->max_segments > 1 ? 2 : 1);
    length = kit_region_bytes(pair.b, 0, bytes, sizeof bytes);
    before = kit_region_hash(pair.b, 0, 0, 16);
    /* A prime, so that all bits of a byte are covered. */
    step = length * 8 / kit_times(1000) > 0 ? 7 : 1;
    for (size_t bit = 0; bit < length * 8; bit += step) {
        bytes[bit / 8] ^= (unsigned char) (1U << bit % 8);
        try_bytes(&pair, bytes, length, (uint32_t) bit % 8);
        bytes[bit / 8] ^= (unsigned char) (1U << bit % 8);
    }
    kit_expect(kit_region_hash(pair.b, 0, 0, 16) == before, 11,
        "a get does not change its source", "it did");
    settle(&pair);
}

/* Random bytes, alone and in place of a part of a registration. */
static void
random_bytes(void)
{
    struct kit_pair pair = kit_pair_open(NULL);
    static unsigned char bytes[BYTES], noise[BYTES];
    size_t length;

    kit_rma_regions(&pair, 16, 1, 1);
    length = kit_region_bytes(pair.b, 0, bytes, sizeof bytes);
    for (uint32_t i = 0; i < kit_times(300); i++) {
        size_t from = i % 3 == 0 ? 0 : (size_t) i * 13 % length;

        kit_pattern(noise, sizeof noise, i * UINT64_C(0x9E3779B97F4A7C15));
        memcpy(noise, bytes, from);
        if (i % 3 == 1)
            memset(noise + from, i % 2 ? 0xFF : 0, length - from);
        try_bytes(&pair, noise, i % 3 == 0 ? i : length, i % 8);
    }
    settle(&pair);
}

/* The owner has deregistered the memory and still has it. */
static void
owner_deregistered(void)
{
    const uint64_t length = 5000;
    struct kit_pair pair = kit_pair_open(NULL);
    uint64_t before, behind;

    kit_rma_regions(&pair, 16000, 1, 1);
    before = kit_region_hash(pair.b, 0, 0, 4001);
    behind = kit_region_hash(pair.b, 0, 4001 + length, 16000 - 4001 - length);
    for (uint32_t i = 0; i < 12; i++) {
        struct kit_request request = kit_rma_request(&pair,
            i % 2 ? KIT_PUT : KIT_GET, 0, 0, kit_rma_limited(&pair, length));
        struct kit_completion end;

        kit_region(pair.b, &(struct kit_region){.number = 1,
                               .access = KIT_BOTH,
                               .length = length,
                               .inside = 1,
                               .inside_offset = 4001});
        kit_expose(pair.b, 1, pair.a, 2);
        request.remote = 2;
        request.may_fail = true;
        if (i % 4 < 2)
            kit_transfer(pair.a, &request);
        kit_rma_tell(&pair);
        kit_region_free(pair.b, 1);
        kit_region_fill(pair.a, 0, 0, length, 900 + i);
        kit_post(pair.a, &request);
        kit_await(pair.a, 0, 7, &end);
        kit_region_free(pair.a, 2);
    }
    kit_run_for(kit_quiet() / 2);
    kit_expect(kit_region_hash(pair.b, 0, 0, 4001) == before &&
                   kit_region_hash(pair.b, 0, 4001 + length,
                       16000 - 4001 - length) == behind,
        11, "a put writes its range only, or nothing",
        "after mem_deregister it wrote elsewhere");
    kit_rma_move_both(&pair, 16000, 1, 2, 15000);
}

/* Memory of the plugin at both sides, whole and in parts. */
static void
allocated(void)
{
    static const uint64_t lengths[] = {1, 4096, 100001, 3000000};
    struct kit_pair pair = kit_pair_open(NULL);
    struct kit_side *sides[] = {pair.a, pair.b};

    for (uint32_t i = 0; i < 8; i++) {
        uint64_t whole = lengths[i % 4];

        for (uint32_t j = 0; j < 2; j++)
            kit_region(sides[j], &(struct kit_region){.access = KIT_BOTH,
                                     .allocated = j == 0 || i < 4,
                                     .length = whole,
                                     .seed = i + j});
        kit_expose(pair.b, 0, pair.a, 1);
        kit_rma_move_both(&pair, whole, 0, 0, whole);
        kit_rma_free(&pair);
    }
}

static void
allocated_in_parts(void)
{
    const uint64_t whole = 100000, part = 30001;
    struct kit_pair pair = kit_pair_open(NULL);
    struct kit_side *sides[] = {pair.a, pair.b};
    struct kit_request request;

    for (uint32_t i = 0; i < 2; i++) {
        kit_region(sides[i], &(struct kit_region){.access = KIT_BOTH,
                                 .allocated = true,
                                 .length = whole,
                                 .seed = i});
        for (uint32_t j = 0; j < 3; j++)
            kit_region(
                sides[i], &(struct kit_region){.number = 2 + j,
                              .access = KIT_BOTH,
                              .length = part,
                              .inside = 1,
                              .inside_offset = j * part + (uint64_t) i * 4097});
    }
    for (uint32_t j = 0; j < 9; j++) {
        uint32_t here = 2 + j % 3, there = 2 + j / 3;

        kit_expose(pair.b, there, pair.a, 1);
        request =
            kit_rma_request(&pair, KIT_PUT, 0, 0, kit_rma_limited(&pair, part));
        request.local = here;
        for (uint32_t i = 0; i < 2; i++) {
            kit_region_fill(i == 0 ? pair.a : pair.b, i == 0 ? here : there, 0,
                part, j * 2 + i);
            request.kind = i == 0 ? KIT_PUT : KIT_GET;
            kit_transfer(pair.a, &request);
            kit_rma_tell(&pair);
            kit_expect(kit_region_hash(pair.a, here, 0, request.length) ==
                           kit_region_hash(pair.b, there, 0, request.length),
                12, "allocated memory may be registered in parts",
                "part %u here, %u there: other bytes", here, there);
        }
        kit_region_free(pair.a, 1);
    }
}

static bool
all_zero(const unsigned char *bytes, uint64_t length)
{
    return length == 0 ||
           (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
}

static void
allocated_zeroed(void)
{
    struct kit_side *a = kit_local(NULL);
    struct kit_class *cls = kit_class_of(a);
    const uint32_t times = kit_times(1000);
    long kib = 0, grown;

    for (uint32_t i = 0; i < times; i++) {
        uint64_t length = 1 + i * 977 % 100000;
        void *memory = NULL;
        int32_t result;

        if (i == times / 10)
            kib = kit_anonymous_kib();
        result = cls->alloc->alloc(cls->cls, length, &memory);
        kit_expect(result == NA_PLUGIN_OK && memory, 12, "alloc gives memory",
            "%llu bytes: %s", (unsigned long long) length,
            kit_code_text(result));
        kit_expect(all_zero(memory, length), 12,
            "alloc's memory is zeroed, also if it was used before",
            "%llu bytes are not", (unsigned long long) length);
        memset(memory, 0xAB, length);
        cls->alloc->free(cls->cls, memory);
    }
    grown = kit_anonymous_kib() - kib;
    kit_expect(grown < 1024 + (long) times / 2, 12,
        "na.mem_alloc/1 free gives memory back", "%ld KiB more after %u times",
        grown, times);
}

static const struct kit_case cases[] = {
    {"mem_before_contexts", 11, KIT_NEEDS_RMA, 0, 0,
        "a registration is valid for contexts created later", before_contexts},
    {"mem_before_contexts_interprocess", 11, KIT_NEEDS_RMA, 1, 0,
        "likewise between processes", before_contexts},
    {"mem_registered_twice", 12, KIT_NEEDS_RMA, 1, 0,
        "memory may be registered more than once, with different rights",
        registered_twice},
    {"mem_forwarded", 12, KIT_NEEDS_RMA, 2, 0,
        "a serialized registration is valid for any peer, and more than once",
        handle_forwarded},
    {"mem_freed", 12, KIT_NEEDS_RMA, 0, 0,
        "registering and serializing leak nothing", registrations_freed},
    {"mem_refused", 12, KIT_NEEDS_RMA, 0, 0,
        "invalid registrations are refused", registering_refused},
    {"mem_truncated", 12, KIT_NEEDS_RMA, 0, 0,
        "truncated bytes of a registration are harmless", bytes_truncated},
    {"mem_truncated_interprocess", 12, KIT_NEEDS_RMA, 1, 0,
        "likewise between processes", bytes_truncated},
    {"mem_flipped", 12, KIT_NEEDS_RMA, 0, 0,
        "damaged bytes of a registration are harmless", bytes_flipped},
    {"mem_flipped_interprocess", 12, KIT_NEEDS_RMA, 1, 0,
        "likewise between processes", bytes_flipped},
    {"mem_random_bytes", 12, KIT_NEEDS_RMA, 1, 0,
        "random bytes instead of a registration are harmless", random_bytes},
    {"mem_deregistered", 7, KIT_NEEDS_RMA, 1, 0,
        "puts and gets of deregistered memory end", owner_deregistered},
    {"alloc", 12, KIT_NEEDS_RMA | KIT_NEEDS_ALLOC, 0, 0,
        "memory of na.mem_alloc/1 works like any other", allocated},
    {"alloc_interprocess", 12, KIT_NEEDS_RMA | KIT_NEEDS_ALLOC, 1, 0,
        "likewise between processes", allocated},
    {"alloc_parts", 12, KIT_NEEDS_RMA | KIT_NEEDS_ALLOC, 1, 0,
        "memory of na.mem_alloc/1 may be registered in parts",
        allocated_in_parts},
    {"alloc_zeroed", 12, KIT_NEEDS_ALLOC, 0, 0,
        "memory of na.mem_alloc/1 is zeroed each time, and freed",
        allocated_zeroed},
};

const struct kit_group kit_cases_memory = {
    cases, sizeof cases / sizeof cases[0]};
