/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What origin and target agree on before anything is measured: the level, how
 * much of everything, the largest size. Either side checks it by itself.
 */
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
#define PERF_SLOTS_MAX 65536U /* operations at once with one target class */
#define PERF_SIZE_MAX (UINT64_C(1) << 30)
#define PERF_MEMORY_MAX (UINT64_C(4) << 30) /* bytes for RMA at the target */
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
    bool progress_thread; /* of each context, at both sides, beside threads */
    uint32_t inflight;    /* of a thread */
    uint32_t threads;     /* of a class, at both sides */
    uint32_t contexts;    /* of a class, at both sides */
    uint32_t classes;     /* of a client, and of the target */
    uint32_t clients;
    uint64_t size_max; /* bytes of one operation */
};

/* What is wrong with a plan; NULL: nothing. Constant. */
const char *perf_plan_check(const struct perf_plan *plan);

/* From one slot's memory to the next: whole cache lines, whole pages for what
 * is larger than one. */
static inline uint64_t
perf_plan_stride(uint64_t size)
{
    uint64_t unit = size < 4096 ? 64 : 4096;

    return size == 0 ? unit : (size + unit - 1) / unit * unit;
}

/* Slots of a target class, one for each operation that may be under way. Those
 * of one thread follow each other. */
static inline uint32_t
perf_plan_slots(const struct perf_plan *plan)
{
    return plan->clients * plan->threads * plan->inflight;
}

/* Receives that a context of the target posts at level na. */
static inline uint32_t
perf_plan_receives(const struct perf_plan *plan)
{
    uint32_t each = perf_plan_slots(plan) / plan->contexts + 1;

    return each < PERF_RECEIVES_MAX ? each : PERF_RECEIVES_MAX;
}

/* Operations at once of one client's class. */
static inline uint32_t
perf_plan_ops(const struct perf_plan *plan)
{
    return plan->threads * plan->inflight;
}

/* Measuring threads of one client. */
static inline uint32_t
perf_plan_loops(const struct perf_plan *plan)
{
    return plan->classes * plan->threads;
}

/* The same, and those that progress for them. */
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

/* Bytes that all classes of the target take for what is sent and received. */
uint64_t perf_plan_memory(const struct perf_plan *plan);

/* Why a plan that is right has no room in a server whose sessions take so much
 * memory and so many threads; NULL: it has. Constant. */
const char *perf_plan_fits(
    const struct perf_plan *plan, uint64_t memory, uint32_t threads);

/* How long a poll may sleep, or spin, in ms: until it is looked whether there
 * is something else to do. */
static inline unsigned int
perf_plan_timeout(const struct perf_plan *plan)
{
    return plan->busy ? 1 : 100;
}

/* Callbacks to run between two polls of a context: as many as may be due. */
static inline uint32_t
perf_plan_callbacks(const struct perf_plan *plan)
{
    uint32_t slots = perf_plan_slots(plan);

    return slots < 64 ? slots : 64;
}

#endif /* PERF_PLAN_H */
