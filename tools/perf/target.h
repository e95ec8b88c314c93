/* SPDX-License-Identifier: BSD-3-Clause */
/* The serving side of a level: one class with its contexts, which answers an
 * origin of the same level. Each level implements perf_target_ops. */
#ifndef PERF_TARGET_H
#define PERF_TARGET_H

#include <stdatomic.h>

#include "perf/origin.h"

/* Verification errors. */
struct perf_faults {
    _Atomic uint64_t count;
    _Atomic uint64_t offset; /* of the first */
};

struct perf_target_setup {
    const struct perf_plan *plan;
    const char *info;
    struct perf_failure *failure;
    struct perf_faults *faults;
};

struct perf_target_ops {
    /* NULL: the failure is set. */
    struct perf_target *(*open)(const struct perf_target_setup *setup);

    /* Gets its address and memory key. false: the failure is set. */
    bool (*describe)(struct perf_target *target, struct perf_remote *remote);

    /* Progresses a context and runs callbacks. */
    enum perf_poll (*poll)(
        struct perf_target *target, uint32_t context, unsigned int timeout_ms);

    /* With a progress thread: answers a queued request. IDLE: timeout. */
    enum perf_poll (*work)(struct perf_target *target, unsigned int timeout_ms);

    /* No thread may poll any more. */
    void (*close)(struct perf_target *target);
};

/* The first member of the level's target. */
struct perf_target {
    const struct perf_target_ops *ops;
    const struct perf_plan *plan;
    struct perf_failure *failure;
    struct perf_faults *faults;
};

extern const struct perf_target_ops perf_na_target;
extern const struct perf_target_ops perf_hg_target; /* rpc and bulk */

struct perf_target *perf_target_open(const struct perf_target_setup *setup);

/* Memory for one message of the serving thread. */
extern _Thread_local char *perf_target_scratch;

/* Allocates perf_target_scratch; NULL: out of memory. */
char *perf_target_scratch_create(const struct perf_plan *plan);

static inline enum perf_poll
perf_target_poll(
    struct perf_target *target, uint32_t context, unsigned int timeout_ms)
{
    return target->ops->poll(target, context, timeout_ms);
}

/* Checks received bytes against a key and counts an error. */
void perf_target_check(
    struct perf_target *target, const void *bytes, uint64_t size, uint64_t key);

#endif /* PERF_TARGET_H */
