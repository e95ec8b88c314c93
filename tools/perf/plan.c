/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a plan, our own or a client's. */
#include "perf/plan.h"

#include <stddef.h>

const char *
perf_plan_check(const struct perf_plan *plan)
{
    uint64_t slots;

    if ((unsigned int) plan->level >= PERF_LEVELS)
        return "there is no such level";
    if (plan->inflight < 1 || plan->inflight > PERF_INFLIGHT_MAX)
        return "at least 1 and at most 4096 operations of a thread in flight";
    if (plan->threads < 1 || plan->threads > PERF_THREADS_MAX)
        return "at least 1 and at most 64 threads of a class";
    if (plan->contexts < 1 || plan->contexts > plan->threads)
        return "at least 1 context of a class, and a thread for each";
    if (plan->classes < 1 || plan->classes > PERF_CLASSES_MAX)
        return "at least 1 and at most 16 classes";
    if (plan->clients < 1 || plan->clients > PERF_CLIENTS_MAX)
        return "at least 1 and at most 256 clients";
    if (plan->progress_thread && (plan->level != PERF_RPC || plan->bandwidth))
        return "a progress thread is for lat and rate of level rpc";
    if (plan->mem_alloc && !perf_plan_has_memory(plan))
        return "memory allocated by Talaria is for bw of levels na and bulk";
    if (plan->single && (plan->threads > 1 || plan->progress_thread))
        return "single-thread mode has one thread for each class";
    slots = (uint64_t) plan->clients * plan->threads * plan->inflight;
    if (slots > PERF_SLOTS_MAX)
        return "more than 65536 operations in flight with one class";
    if (plan->size_max > PERF_SIZE_MAX)
        return "more than 1 GiB of one operation";
    if (perf_plan_has_memory(plan) &&
        slots * plan->classes * perf_plan_stride(plan->size_max) >
            PERF_MEMORY_MAX)
        return "more than 4 GiB of memory for the operations in flight";
    return NULL;
}

uint64_t
perf_plan_memory(const struct perf_plan *plan)
{
    uint64_t each = perf_plan_stride(plan->size_max);
    uint64_t sum = each * perf_plan_threads(plan);

    if (perf_plan_has_memory(plan))
        sum += each * perf_plan_slots(plan) * plan->classes;
    /* A buffer for the message and one for the response. */
    else if (plan->level == PERF_NA)
        sum += 2 * each * perf_plan_receives(plan) * plan->contexts *
               plan->classes;
    return sum;
}

const char *
perf_plan_fits(const struct perf_plan *plan, uint64_t memory, uint32_t threads)
{
    if (threads + perf_plan_threads(plan) > PERF_THREADS_ALL)
        return "more than 2048 threads for all sessions of the server";
    if (memory + perf_plan_memory(plan) > PERF_MEMORY_ALL)
        return "more than 8 GiB of memory for all sessions of the server";
    return NULL;
}
