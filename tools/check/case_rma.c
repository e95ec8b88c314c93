/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: put and get of ranges, bounds, rights, and completion. */
#include "check/cases.h"
#include "check/rma.h"

#include <stdlib.h>

static struct kit_pair
open_with(uint64_t length)
{
    struct kit_pair pair = kit_pair_open(NULL);

    kit_rma_regions(&pair, length, 1, 1);
    return pair;
}

static void
sizes(void)
{
    static const uint64_t all[] = {1, 2, 7, 8, 64, 4095, 4096, 4097, 32768,
        65535, 65536, 65537, 262144, 262145, 1048577, 8388608};
    const uint64_t whole = 8388608 + 2 * KIT_BESIDE;
    struct kit_pair pair = open_with(whole);

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        kit_rma_move_both(&pair, whole, KIT_BESIDE, KIT_BESIDE, all[i]);
}

/* Ranges that begin anywhere, and that end where the memory does. */
static void
offsets(void)
{
    static const uint64_t all[] = {0, 1, 3, 8, 63, 4095, 4097, 65535};
    const uint64_t whole = 200001;
    const size_t count = sizeof all / sizeof all[0];
    struct kit_pair pair = open_with(whole);

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            kit_rma_move_both(&pair, whole, all[i], all[j], 777 + 1000 * i);
    for (size_t i = 0; i < count; i++) {
        uint64_t length = kit_rma_limited(&pair, all[i] + 1);

        kit_rma_move_both(&pair, whole, whole - length, 5, length);
        kit_rma_move_both(&pair, whole, 5, whole - length, length);
    }
    kit_rma_move_both(&pair, whole, 0, 0, whole);
}

/* Across a segment border, up to one, and from one. */
static void
borders(
    const struct kit_pair *pair, uint64_t whole, uint64_t here, uint64_t there)
{
    kit_rma_move_both(pair, whole, 0, 0, whole);
    kit_rma_move_both(pair, whole, 1, 2, whole - 3);
    kit_rma_move_both(pair, whole, 7, there - 5, 10);
    kit_rma_move_both(pair, whole, here - 5, 7, 10);
    kit_rma_move_both(pair, whole, 3, there - 64, 64);
    kit_rma_move_both(pair, whole, here - 64, 3, 64);
    kit_rma_move_both(pair, whole, here, there, 64);
}

static void
segments(void)
{
    static const uint32_t counts[] = {1, 2, 3, 8};
    const uint64_t whole = 100003;
    struct kit_pair pair = kit_pair_open(NULL);
    uint64_t max = kit_opened(pair.a)->max_segments;

    for (uint32_t i = 0; i < 16; i++) {
        uint32_t here = counts[i % 4], there = counts[i / 4];

        if (here > max || there > max)
            continue;
        kit_rma_regions(&pair, whole, here, there);
        borders(&pair, whole, whole / (here > 1 ? here : 2),
            whole / (there > 1 ? there : 2));
        kit_rma_free(&pair);
    }
}

/* The largest number of segments, of a byte each and a few bytes each. */
static void
segments_max(void)
{
    struct kit_pair pair = kit_pair_open(NULL);
    uint64_t max = kit_opened(pair.a)->max_segments;
    uint32_t count = max < 64 ? (uint32_t) max : 64;

    kit_rma_regions(&pair, count, count, 1);
    kit_rma_move_both(&pair, count, 0, 0, count);
    kit_rma_free(&pair);
    kit_rma_regions(&pair, count * UINT64_C(5), 1, count);
    kit_rma_move_both(&pair, count * UINT64_C(5), 0, 0, count * UINT64_C(5));
    kit_rma_move_both(
        &pair, count * UINT64_C(5), 1, 2, count * UINT64_C(5) - 3);
}

/* Both memories are unchanged. */
struct still {
    uint64_t here;
    uint64_t there;
};

static struct still
still_of(const struct kit_pair *pair, uint64_t whole)
{
    return (struct still){kit_region_hash(pair->a, 0, 0, whole),
        kit_region_hash(pair->b, 0, 0, whole)};
}

static void
expect_still(const struct kit_pair *pair, uint64_t whole,
    const struct still *before, const char *what)
{
    struct still now = still_of(pair, whole);

    kit_expect(now.here == before->here && now.there == before->there, 11, what,
        "the memory %s changed", now.here != before->here ? "here" : "there");
}

static void
nothing(void)
{
    static const uint64_t at[] = {0, 1, 500, 999};
    const uint64_t whole = 1000;
    struct kit_pair pair = open_with(whole);
    struct still before = still_of(&pair, whole);

    for (uint32_t i = 0; i < 16; i++) {
        struct kit_request request =
            kit_rma_request(&pair, KIT_PUT, at[i % 4], at[i / 4], 0);

        kit_transfer(pair.a, &request);
        request.kind = KIT_GET;
        kit_transfer(pair.a, &request);
    }
    expect_still(
        &pair, whole, &before, "a put or get of length 0 changes nothing");
}

static void
bounds(void)
{
    static const char words[] =
        "a put or get out of range ends with INVALID_ARG";
    const uint64_t whole = 10000;
    const uint64_t bad[][2] = {{whole - 10, 11}, {whole, 1}, {0, whole + 1},
        {UINT64_MAX - 3, 8}, {UINT64_MAX, 1}, {UINT64_MAX, 2},
        {whole + 4096, 1}, {16, UINT64_MAX - 3}, {UINT64_MAX / 2 + 1, 64}};
    struct kit_pair pair = open_with(whole);
    struct still before = still_of(&pair, whole);

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        for (uint32_t turn = 0; turn < 4; turn++) {
            bool here = turn % 2 == 0;
            struct kit_request request =
                kit_rma_request(&pair, turn < 2 ? KIT_PUT : KIT_GET,
                    here ? bad[i][0] : 0, here ? 0 : bad[i][0], bad[i][1]);

            kit_refused(pair.a, &request, NA_PLUGIN_E_INVALID_ARG, words);
        }
    kit_run_for(kit_quiet());
    expect_still(&pair, whole, &before,
        "a put or get that is out of range touches no memory");
    kit_rma_move_both(&pair, whole, 0, 0, whole);
}

/* All combinations of local and remote rights; a transfer without one of them
 * is refused. */
static void
rights(void)
{
    static const uint32_t kinds[] = {
        NA_PLUGIN_MEM_READ, NA_PLUGIN_MEM_WRITE, KIT_BOTH};
    const uint64_t whole = 5000;
    struct kit_pair pair = kit_pair_open(NULL);

    for (uint32_t i = 0; i < 18; i++) {
        uint32_t here = kinds[i % 3], there = kinds[i / 3 % 3];
        bool put = i < 9;
        bool good = here & (put ? NA_PLUGIN_MEM_READ : NA_PLUGIN_MEM_WRITE) &&
                    there & (put ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ);
        struct kit_request request =
            kit_rma_request(&pair, put ? KIT_PUT : KIT_GET, 3, 5, 4000);
        struct still before;

        kit_region(pair.a,
            &(struct kit_region){.access = here, .length = whole, .seed = i});
        kit_region(pair.b,
            &(struct kit_region){.access = there, .length = whole, .seed = ~i});
        kit_expose(pair.b, 0, pair.a, 1);
        before = still_of(&pair, whole);
        request.length = kit_rma_limited(&pair, request.length);
        if (good) {
            kit_rma_move(&pair, whole, &request);
        } else {
            kit_refused(pair.a, &request, NA_PLUGIN_E_PERMISSION,
                "what a registration does not permit ends with PERMISSION");
            expect_still(&pair, whole, &before,
                "a put or get that is not permitted touches no memory");
        }
        kit_rma_free(&pair);
    }
}

/* Slots of a source and a sink on either side; puts fill the first half of the
 * other's sink, gets the second half of the local one. */
#define SLOTS 128U

static void
slots_open(const struct kit_pair *pair, uint64_t whole)
{
    struct kit_side *sides[] = {pair->a, pair->b};

    for (uint32_t i = 0; i < 2; i++) {
        kit_region(sides[i], &(struct kit_region){.number = 0,
                                 .access = NA_PLUGIN_MEM_READ,
                                 .length = whole,
                                 .seed = i});
        kit_region(sides[i],
            &(struct kit_region){
                .number = 1, .access = NA_PLUGIN_MEM_WRITE, .length = whole});
    }
    for (uint32_t i = 0; i < 2; i++) {
        kit_expose(sides[1 - i], 0, sides[i], 2);
        kit_expose(sides[1 - i], 1, sides[i], 3);
    }
}

static void
slot_post(const struct kit_pair *pair, uint32_t slot, uint64_t length)
{
    bool put = slot < SLOTS / 2;

    kit_post(pair->a, &(struct kit_request){.kind = put ? KIT_PUT : KIT_GET,
                          .op = slot,
                          .peer = kit_number(pair->b),
                          .local = put ? 0 : 1,
                          .remote = put ? 3 : 2,
                          .local_offset = slot * length,
                          .remote_offset = slot * length,
                          .length = length});
}

static void
many_round(const struct kit_pair *pair, uint64_t length)
{
    const struct kit_pair back = {.a = pair->b, .b = pair->a};
    const struct kit_pair *ways[] = {pair, &back};
    uint64_t message = kit_opened(pair->a)->unexpected_header_size + 64;

    for (uint32_t slot = 0; slot < SLOTS; slot++)
        for (uint32_t i = 0; i < 2; i++) {
            slot_post(ways[i], slot, length);
            if (slot % 4 != 0)
                continue;
            kit_recv_unexpected(ways[i]->a, SLOTS + slot, message);
            kit_send_unexpected(
                ways[i]->a, SLOTS + slot + 1, ways[i]->b, message, slot, slot);
        }
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        for (uint32_t i = 0; i < 2; i++) {
            kit_await_ok(ways[i]->a, slot, 11);
            if (slot % 4 != 0)
                continue;
            kit_await_ok(ways[i]->a, SLOTS + slot, 11);
            kit_await_ok(ways[i]->a, SLOTS + slot + 1, 7);
        }
}

/* Many in both directions at a time, with messages. */
static void
many(void)
{
    static const uint64_t lengths[] = {1, 100, 3001, 70001};
    struct kit_pair pair = kit_pair_open(NULL);

    for (uint32_t i = 0; i < 4; i++) {
        uint64_t length = kit_rma_limited(&pair, lengths[i]),
                 whole = SLOTS * length;
        struct kit_side *sides[] = {pair.a, pair.b};

        slots_open(&pair, whole);
        many_round(&pair, length);
        kit_rma_tell(&pair);
        kit_rma_tell(&(struct kit_pair){.a = pair.b, .b = pair.a});
        for (uint32_t j = 0; j < 2; j++)
            kit_expect(kit_region_hash(sides[j], 1, 0, whole) ==
                           kit_region_hash(sides[1 - j], 0, 0, whole),
                11, "each of many puts and gets moves its own range",
                "%u times %llu bytes: other bytes", SLOTS,
                (unsigned long long) length);
        for (uint32_t j = 0; j < 2; j++)
            for (uint32_t k = 4; k-- > 0;)
                kit_region_free(sides[j], k);
    }
}

static void
self_send(void)
{
    const uint64_t whole = 3000000;
    struct kit_side *a = kit_local(NULL);
    struct kit_pair pair = {.a = a, .b = a};
    static const uint64_t lengths[] = {1, 5000, 1200000};

    kit_region(a,
        &(struct kit_region){.access = KIT_BOTH, .length = whole, .seed = 1});
    kit_expose(a, 0, a, 1);
    for (uint32_t i = 0; i < 3; i++) {
        kit_rma_move_both(&pair, whole, 3, 1500001, lengths[i]);
        kit_rma_move_both(&pair, whole, 1500001, 3, lengths[i]);
    }
}

static const struct kit_case cases[] = {
    {"rma_sizes", 11, KIT_NEEDS_RMA, 0, 0,
        "puts and gets of all sizes transfer their bytes", sizes},
    {"rma_sizes_interprocess", 11, KIT_NEEDS_RMA, 1, 0,
        "likewise between processes", sizes},
    {"rma_offsets", 11, KIT_NEEDS_RMA, 0, 0,
        "puts and gets access the range of their offsets only", offsets},
    {"rma_offsets_interprocess", 11, KIT_NEEDS_RMA, 1, 0,
        "likewise between processes", offsets},
    {"rma_segments", 11, KIT_NEEDS_RMA, 0, 0, "offsets span segments",
        segments},
    {"rma_segments_interprocess", 11, KIT_NEEDS_RMA, 1, 0,
        "likewise between processes", segments},
    {"rma_segments_max", 11, KIT_NEEDS_RMA, 1, 0,
        "a registration has up to max_segments of any size", segments_max},
    {"rma_zero_length", 12, KIT_NEEDS_RMA, 0, 0, "length 0 is allowed",
        nothing},
    {"rma_zero_length_interprocess", 12, KIT_NEEDS_RMA, 1, 0,
        "likewise between processes", nothing},
    {"rma_bounds", 11, KIT_NEEDS_RMA, 0, 0,
        "a range beyond the memory of either side is refused", bounds},
    {"rma_bounds_interprocess", 11, KIT_NEEDS_RMA, 1, 0,
        "likewise between processes", bounds},
    {"rma_rights", 11, KIT_NEEDS_RMA, 0, 0,
        "an access that a registration does not permit is refused", rights},
    {"rma_rights_interprocess", 11, KIT_NEEDS_RMA, 1, 0,
        "likewise between processes", rights},
    {"rma_many", 7, KIT_NEEDS_RMA, 0, 0,
        "many puts and gets in both directions, with messages", many},
    {"rma_many_interprocess", 7, KIT_NEEDS_RMA, 1, 0,
        "likewise between processes", many},
    {"rma_self", 11, KIT_NEEDS_RMA, 0, 0, "a class accesses its own memory",
        self_send},
};

const struct kit_group kit_cases_rma = {cases, sizeof cases / sizeof cases[0]};
