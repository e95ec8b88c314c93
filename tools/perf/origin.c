/* SPDX-License-Identifier: BSD-3-Clause */
/* What the origins of all levels share. */
#include "perf/origin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096U

const struct perf_origin_ops *
perf_origin_ops(enum perf_level level)
{
    switch (level) {
    case PERF_NA:
        return &perf_na_origin;
    case PERF_BULK:
        return &perf_bulk_origin;
    default:
        return &perf_rpc_origin;
    }
}

void
perf_origin_init(
    struct perf_origin *origin, const struct perf_origin_setup *setup)
{
    origin->plan = setup->plan;
    origin->failure = setup->failure;
    origin->client = setup->client;
}

void
perf_origin_init_op(
    struct perf_origin *origin, uint32_t index, struct perf_op *op)
{
    const struct perf_plan *plan = origin->plan;

    op->origin = origin;
    op->slot = origin->client * perf_plan_ops(plan) + index;
    op->context = index / plan->inflight % plan->contexts;
    op->key = (uint64_t) (op->slot + 1) << 40;
}

void
perf_origin_explain(struct perf_origin *origin, const char *code,
    bool too_large, uint64_t limit)
{
    if (too_large && limit != 0)
        perf_failure_set(origin->failure,
            "%" PRIu64 " bytes are too many for a message of this transport, "
            "which holds about %" PRIu64 " (%s)",
            origin->size, limit, code);
    else if (strstr(code, "HOSTUNREACH"))
        perf_failure_set(origin->failure, "the server is lost (%s)", code);
    else
        perf_failure_set(origin->failure,
            "an operation of %" PRIu64 " bytes failed: %s", origin->size, code);
}

char *
perf_memory_create(uint64_t size)
{
    char *memory;

    size = (size + PAGE - 1) / PAGE * PAGE;
    memory = aligned_alloc(PAGE, size);
    if (memory)
        memset(memory, 1, size);
    return memory;
}
