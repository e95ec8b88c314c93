/* SPDX-License-Identifier: BSD-3-Clause */
/* What the targets of all levels share. */
#include "perf/target.h"

#include "perf/pattern.h"

_Thread_local char *perf_target_scratch;

struct perf_target *
perf_target_open(const struct perf_target_setup *setup)
{
    const struct perf_target_ops *ops =
        setup->plan->level == PERF_NA ? &perf_na_target : &perf_hg_target;

    return ops->open(setup);
}

char *
perf_target_scratch_create(const struct perf_plan *plan)
{
    return perf_memory_create(perf_plan_stride(plan->size_max));
}

void
perf_target_check(
    struct perf_target *target, const void *bytes, uint64_t size, uint64_t key)
{
    uint64_t offset = perf_pattern_check(bytes, size, key);
    uint64_t none = 0;

    if (offset == size)
        return;
    /* Keeps the first offset. Both are read when no round runs. */
    if (atomic_compare_exchange_strong_explicit(&target->faults->count, &none,
            1, memory_order_relaxed, memory_order_relaxed))
        atomic_store_explicit(
            &target->faults->offset, offset, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(
            &target->faults->count, 1, memory_order_relaxed);
}
