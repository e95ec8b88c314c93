/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters that origin and target agree on before a measurement. Each
 * side checks them. */
#ifndef PERF_PLAN_H
#define PERF_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "perf/result.h"

/* Limits of both sides. */
#define PERF_INFLIGHT_MAX 4096U
#define PERF_THREADS_MAX 64U
#define PERF_CLASSES_MAX 16U
#define PERF_CLIENTS_MAX 256U
#define PERF_SLOTS_MAX 65536U /* operations in flight with one target class */
#define PERF_SIZE_MAX (UINT64_C(1) << 30)
#define PERF_MEMORY_MAX (UINT64_C(4) << 30) /* bytes for RMA at the target */
#define PERF_SEGMENTS_MAX 1024U
#define PERF_RECEIVES_MAX 256U /* level na: posted in a context of the target */

/* Of all sessions of a server. */
#define PERF_MEMORY_ALL (2 * PERF_MEMORY_MAX)
#define PERF_THREADS_ALL 2048U

struct perf_plan {
    enum perf_level level;
    bool bandwidth; /* bw; otherwise lat and rate */
    bool busy;
    bool single;
    bool verify;
    bool mem_alloc;       /* memory for RMA is allocated by Talaria */
    bool progress_thread; /* of each context, at both sides, beside threads */
    uint32_t inflight;    /* of a thread */
    uint32_t threads;     /* of a class, at both sides */
    uint32_t contexts;    /* of a class, at both sides */
    uint32_t classes;     /* of a client, and of the target */
    uint32_t clients;
    uint32_t segments; /* of the origin's memory; unknown to the target */
    uint64_t size_max; /* bytes of one operation */
};

/* Returns what is wrong with a plan (a constant string), or NULL. */
const char *perf_plan_check(const struct perf_plan *plan);

/* Returns the distance of slots: whole cache lines, or whole pages if larger
 * than one. */
static inline uint64_t
perf_plan_stride(uint64_t size)
{
    uint64_t unit = size < 4096 ? 64 : 4096;

    return size == 0 ? unit : (size + unit - 1) / unit * unit;
}

/* Returns the slots of a target class, one for each operation in flight. Those
 * of a thread are consecutive. */
static inline uint32_t
perf_plan_slots(const struct perf_plan *plan)
{
    return plan->clients * plan->threads * plan->inflight;
}

/* Returns the receives that a target's context posts at level na. */
static inline uint32_t
perf_plan_receives(const struct perf_plan *plan)
{
    uint32_t each = perf_plan_slots(plan) / plan->contexts + 1;

    return each < PERF_RECEIVES_MAX ? each : PERF_RECEIVES_MAX;
}

/* Returns the operations in flight of one client's class. */
static inline uint32_t
perf_plan_ops(const struct perf_plan *plan)
{
    return plan->threads * plan->inflight;
}

/* Returns the measuring threads of one client. */
static inline uint32_t
perf_plan_loops(const struct perf_plan *plan)
{
    return plan->classes * plan->threads;
}

/* Returns the measuring and progress threads of one client. */
static inline uint32_t
perf_plan_threads(const struct perf_plan *plan)
{
    return perf_plan_loops(plan) +
           (plan->progress_thread ? plan->classes * plan->contexts : 0);
}

/* Whether the target has memory for RMA. */
static inline bool
perf_plan_has_memory(const struct perf_plan *plan)
{
    return plan->level == PERF_BULK ||
           (plan->level == PERF_NA && plan->bandwidth);
}

/* Returns the bytes of data memory of all classes of the target. */
uint64_t perf_plan_memory(const struct perf_plan *plan);

/* Returns why a server whose sessions use so much memory and so many threads
 * has no room for a valid plan (a constant string), or NULL. */
const char *perf_plan_fits(
    const struct perf_plan *plan, uint64_t memory, uint32_t threads);

/* Returns how long a poll may sleep or spin, in ms. */
static inline unsigned int
perf_plan_timeout(const struct perf_plan *plan)
{
    return plan->busy ? 1 : 100;
}

/* Returns the callbacks to run between two polls of a context. */
static inline uint32_t
perf_plan_callbacks(const struct perf_plan *plan)
{
    uint32_t slots = perf_plan_slots(plan);

    return slots < 64 ? slots : 64;
}

#endif /* PERF_PLAN_H */
