/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets, with checks of the memory before and after. */
#include "check/rma.h"

/* Operations of kit_rma_tell. */
#define RECV (KIT_OPS - 1)
#define SEND (KIT_OPS - 2)

void
kit_rma_regions(const struct kit_pair *pair, uint64_t length,
    uint32_t segments_local, uint32_t segments_there)
{
    kit_region(pair->a, &(struct kit_region){.access = KIT_BOTH,
                            .segments = segments_local,
                            .length = length,
                            .seed = 1});
    kit_region(pair->b, &(struct kit_region){.access = KIT_BOTH,
                            .segments = segments_there,
                            .length = length,
                            .seed = 2});
    kit_expose(pair->b, 0, pair->a, 1);
}

void
kit_rma_free(const struct kit_pair *pair)
{
    kit_region_free(pair->a, 1);
    kit_region_free(pair->a, 0);
    kit_region_free(pair->b, 0);
}

struct kit_request
kit_rma_request(const struct kit_pair *pair, enum kit_kind kind, uint64_t here,
    uint64_t there, uint64_t length)
{
    return (struct kit_request){.kind = kind,
        .peer = kit_number(pair->b),
        .local = 0,
        .remote = 1,
        .local_offset = here,
        .remote_offset = there,
        .length = length};
}

uint64_t
kit_rma_limited(const struct kit_pair *pair, uint64_t length)
{
    uint64_t max = kit_opened(pair->a)->max_rma_size;

    return max > 0 && max < length ? max : length;
}

void
kit_rma_tell(const struct kit_pair *pair)
{
    uint64_t length = kit_opened(pair->b)->unexpected_header_size + 8;

    kit_recv_unexpected(pair->b, RECV, length);
    kit_send_unexpected(pair->a, SEND, pair->b, length, 1, 1);
    kit_await_ok(pair->b, RECV, 11);
    kit_await_ok(pair->a, SEND, 7);
}

/* A range of region 0, and the bytes around it. */
struct range {
    struct kit_side *side;
    uint64_t from;
    uint64_t length;
    uint64_t whole; /* of the region */
};

static uint64_t
hash_before(const struct range *range)
{
    uint64_t length = range->from < KIT_BESIDE ? range->from : KIT_BESIDE;

    return kit_region_hash(range->side, 0, range->from - length, length);
}

static uint64_t
hash_behind(const struct range *range)
{
    uint64_t end = range->from + range->length;
    uint64_t rest = range->whole - end;

    return kit_region_hash(
        range->side, 0, end, rest < KIT_BESIDE ? rest : KIT_BESIDE);
}

static uint64_t
hash_in(const struct range *range)
{
    return kit_region_hash(range->side, 0, range->from, range->length);
}

/* Executes a put or get of a range, in regions of that length. */
void
kit_rma_move(const struct kit_pair *pair, uint64_t whole,
    const struct kit_request *request)
{
    static uint64_t seed = 100;
    struct range here = {
        pair->a, request->local_offset, request->length, whole};
    struct range there = {
        pair->b, request->remote_offset, request->length, whole};
    bool put = request->kind == KIT_PUT;
    const struct range *source = put ? &here : &there;
    const struct range *sink = put ? &there : &here;
    uint64_t before = hash_before(sink), behind = hash_behind(sink), hash;

    kit_region_fill(source->side, 0, source->from, source->length, seed++);
    hash = hash_in(source);
    kit_transfer(pair->a, request);
    if (put)
        kit_rma_tell(pair);
    kit_expect(hash_in(sink) == hash, 11,
        "what was put or got is what the source held",
        "%s of %llu bytes, from %llu here, %llu there: other bytes",
        put ? "put" : "get", (unsigned long long) request->length,
        (unsigned long long) request->local_offset,
        (unsigned long long) request->remote_offset);
    kit_expect(hash_in(source) == hash, 11, "the source stays as it is",
        "a %s changed it", put ? "put" : "get");
    kit_expect(hash_before(sink) == before && hash_behind(sink) == behind, 11,
        "a put or get writes its range only",
        "%llu bytes at %llu: bytes %s it changed",
        (unsigned long long) request->length, (unsigned long long) sink->from,
        hash_before(sink) != before ? "in front of" : "behind");
}

void
kit_rma_move_both(const struct kit_pair *pair, uint64_t whole, uint64_t here,
    uint64_t there, uint64_t length)
{
    struct kit_request request = kit_rma_request(
        pair, KIT_PUT, here, there, kit_rma_limited(pair, length));

    kit_rma_move(pair, whole, &request);
    request.kind = KIT_GET;
    kit_rma_move(pair, whole, &request);
}
