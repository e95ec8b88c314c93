/* SPDX-License-Identifier: BSD-3-Clause */
/* The process under valgrind: origin and target are two classes, polled in turn
 * by one thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/listen.h"
#include "common/tool.h"
#include "perf/callgrind.h"
#include "perf/loop.h"
#include "perf/sizes.h"
#include "perf/target.h"

#define WARM_UP 500U

struct pair {
    struct perf_plan plan;
    enum perf_test test;
    uint64_t count;
    const char *info;
    struct perf_failure failure;
    struct perf_faults faults;
    struct perf_target *target;
    struct perf_origin *origin;
    struct perf_group group;
    struct perf_report report;
};

static bool
read_words(struct pair *pair, char **words)
{
    struct perf_plan *plan = &pair->plan;
    uint64_t inflight, flags;
    int level = 0, test = 0;

    while (level < PERF_LEVELS &&
           strcmp(words[0], perf_level_name((enum perf_level) level)) != 0)
        level++;
    while (test < PERF_TESTS &&
           strcmp(words[1], perf_test_name((enum perf_test) test)) != 0)
        test++;
    if (level == PERF_LEVELS || test == PERF_TESTS ||
        !perf_number_read(words[2], false, 0, PERF_SIZE_MAX, &plan->size_max) ||
        !perf_number_read(words[3], false, 1, PERF_INFLIGHT_MAX, &inflight) ||
        !perf_number_read(words[4], false, 1, UINT32_MAX, &pair->count) ||
        !perf_number_read(words[5], false, 0, 7, &flags))
        return false;
    pair->test = (enum perf_test) test;
    plan->level = (enum perf_level) level;
    plan->bandwidth = test == PERF_BW_READ || test == PERF_BW_WRITE;
    plan->inflight = (uint32_t) inflight;
    plan->busy = (flags & 1) != 0;
    plan->single = (flags & 2) != 0;
    plan->verify = (flags & 4) != 0;
    plan->threads = plan->contexts = plan->classes = plan->clients = 1;
    plan->segments = 1;
    pair->info = words[6];
    return perf_plan_check(plan) == NULL;
}

static bool
open_sides(struct pair *pair)
{
    struct listen listen;
    struct perf_target_setup target = {
        &pair->plan, NULL, &pair->failure, &pair->faults};
    /* As the server of --local does. */
    const char *reason = listen_decide(pair->info, true, false, &listen);
    struct perf_remote remote;
    struct perf_origin_setup origin = {
        &pair->plan, pair->info, &remote, &pair->failure, 0};

    if (reason) {
        perf_failure_set(&pair->failure, "%s: %s", pair->info, reason);
        return false;
    }
    target.info = listen.info;
    pair->target = perf_target_open(&target);
    free(listen.info);
    if (!pair->target || !pair->target->ops->describe(pair->target, &remote))
        return false;
    pair->origin = perf_origin_ops(pair->plan.level)->open(&origin);
    return pair->origin != NULL && pair->origin->ops->prepare(pair->origin,
                                       pair->test, pair->plan.size_max);
}

static bool
run(struct pair *pair)
{
    struct perf_loop loop = {.group = &pair->group,
        .origin = pair->origin,
        .failure = &pair->failure,
        .report = &pair->report,
        .every = UINT32_MAX,
        .duration_ns = UINT64_MAX,
        .beside = pair->target};

    perf_group_arm(&pair->group, WARM_UP, 1, pair->plan.inflight);
    if (!perf_loop_run(&loop))
        return false;
    perf_group_arm(&pair->group, pair->count, 1, pair->plan.inflight);
    return perf_loop_run(&loop);
}

int
perf_callgrind_loop(int argc, char **argv)
{
    struct pair *pair = calloc(1, sizeof *pair);
    bool good = false;

    if (pair && argc == 8 && read_words(pair, argv + 1)) {
        perf_target_scratch = perf_target_scratch_create(&pair->plan);
        if (perf_target_scratch && open_sides(pair))
            good = run(pair) && pair->faults.count == 0;
        if (pair->origin)
            pair->origin->ops->close(pair->origin);
        if (pair->target)
            pair->target->ops->close(pair->target);
        free(perf_target_scratch);
        fputs(perf_failure_text(&pair->failure), stderr);
    }
    free(pair);
    return good ? TOOL_OK : TOOL_FAILED;
}
