/* SPDX-License-Identifier: BSD-3-Clause */
/* The main thread of a client opens and prepares; its loops run the rounds. */
#include "perf/worker.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/tool.h"
#include "perf/caller.h"
#include "perf/process.h"

struct worker {
    struct perf_shared *shared;
    uint32_t client;
    uint32_t last; /* last command received */
    struct perf_origin *origins[PERF_CLASSES_MAX];
    struct perf_group *groups; /* class by class */
    struct thread *threads;    /* class by class, then the progress threads */
    uint32_t started;
};

struct thread {
    pthread_t id;
    struct worker *worker;
    struct perf_loop loop;
    struct perf_caller caller; /* with a progress thread */
    uint32_t last;
    bool progresses; /* a progress thread */
};

static void *
run_loop(void *arg)
{
    struct thread *thread = arg;
    struct perf_shared *shared = thread->worker->shared;
    enum perf_command command;

    do {
        command = perf_shared_next(shared, &thread->last);
        if (command != PERF_COMMAND_RUN)
            continue;
        thread->loop.every = shared->every;
        thread->loop.duration_ns = shared->duration_ns;
        if (thread->progresses)
            perf_loop_progress(&thread->loop);
        else
            perf_loop_run(&thread->loop);
        perf_shared_done(shared);
    } while (command != PERF_COMMAND_END);
    return NULL;
}

static bool
open_origins(struct worker *worker)
{
    struct perf_shared *shared = worker->shared;
    struct perf_origin_setup setup = {.plan = &shared->plan,
        .info = shared->info,
        .failure = &shared->failure,
        .client = worker->client};

    for (uint32_t i = 0; i < shared->plan.classes; i++) {
        setup.remote = &shared->remotes[i];
        worker->origins[i] = perf_origin_ops(shared->plan.level)->open(&setup);
        if (!worker->origins[i])
            return false;
    }
    return true;
}

static void
set_up_loop(struct worker *worker, uint32_t number)
{
    struct perf_shared *shared = worker->shared;
    const struct perf_plan *plan = &shared->plan;
    struct thread *thread = &worker->threads[number];
    uint32_t class = number / plan->threads, index = number % plan->threads;
    uint32_t first = worker->client * perf_plan_loops(plan);

    thread->worker = worker;
    thread->last = worker->last;
    thread->loop = (struct perf_loop){
        .group =
            &worker->groups[class * plan->contexts + index % plan->contexts],
        .origin = worker->origins[class],
        .failure = &shared->failure,
        .report = &shared->reports[first + number],
        .index = index,
    };
    if (plan->progress_thread) {
        perf_caller_init(&thread->caller);
        thread->loop.caller = &thread->caller;
    }
}

/* Initializes a progress thread. number: of its context, counted through all
 * classes. */
static void
set_up_progress(struct worker *worker, uint32_t number)
{
    struct perf_shared *shared = worker->shared;
    const struct perf_plan *plan = &shared->plan;
    struct thread *thread = &worker->threads[perf_plan_loops(plan) + number];

    thread->worker = worker;
    thread->last = worker->last;
    thread->progresses = true;
    thread->loop = (struct perf_loop){
        .group = &worker->groups[number],
        .origin = worker->origins[number / plan->contexts],
        .failure = &shared->failure,
        .index = number % plan->contexts,
    };
}

static bool
start(struct worker *worker)
{
    const struct perf_plan *plan = &worker->shared->plan;
    uint32_t loops = perf_plan_loops(plan);
    int error;

    worker->groups =
        calloc((size_t) plan->classes * plan->contexts, sizeof *worker->groups);
    worker->threads = calloc(perf_plan_threads(plan), sizeof *worker->threads);
    if (!worker->groups || !worker->threads) {
        perf_failure_set(&worker->shared->failure, "out of memory");
        return false;
    }
    if (!open_origins(worker))
        return false;
    for (uint32_t i = 0; i < perf_plan_threads(plan); i++) {
        if (i < loops)
            set_up_loop(worker, i);
        else
            set_up_progress(worker, i - loops);
        error = pthread_create(
            &worker->threads[i].id, NULL, run_loop, &worker->threads[i]);
        if (error != 0) {
            perf_failure_set(&worker->shared->failure,
                "cannot start a thread: %s", strerror(error));
            return false;
        }
        worker->started++;
    }
    return true;
}

static void
prepare(struct worker *worker)
{
    struct perf_shared *shared = worker->shared;

    for (uint32_t i = 0; i < shared->plan.classes; i++)
        if (!worker->origins[i]->ops->prepare(
                worker->origins[i], shared->test, shared->size))
            return;
}

/* Returns a loop's share of the operations. */
static uint64_t
share(uint64_t operations, uint32_t loop, uint32_t loops)
{
    if (operations == UINT64_MAX)
        return operations;
    return operations / loops + (loop < operations % loops ? 1 : 0);
}

/* Gives each group the operations of its loops. */
static void
arm(struct worker *worker)
{
    struct perf_shared *shared = worker->shared;
    const struct perf_plan *plan = &shared->plan;
    uint32_t loops = perf_plan_loops(plan);
    uint32_t first = worker->client * loops;

    memset(&shared->reports[first], 0, loops * sizeof *shared->reports);
    for (uint32_t i = 0; i < plan->classes * plan->contexts; i++) {
        uint32_t class = i / plan->contexts, context = i % plan->contexts;
        uint64_t budget = 0;
        uint32_t count = 0;

        for (uint32_t t = context; t < plan->threads; t += plan->contexts) {
            uint32_t loop = first + class * plan->threads + t;
            uint64_t own =
                share(shared->operations, loop, plan->clients * loops);

            budget = own == UINT64_MAX ? own : budget + own;
            count++;
        }
        perf_group_arm(
            &worker->groups[i], budget, count, count * plan->inflight);
    }
}

static void
stop(struct worker *worker)
{
    struct perf_shared *shared = worker->shared;

    for (uint32_t i = 0; i < worker->started; i++)
        pthread_join(worker->threads[i].id, NULL);
    for (uint32_t i = 0; i < worker->started; i++)
        if (worker->threads[i].loop.caller)
            perf_caller_finish(&worker->threads[i].caller);
    for (uint32_t i = 0; i < shared->plan.classes; i++)
        if (worker->origins[i])
            worker->origins[i]->ops->close(worker->origins[i]);
    free(worker->threads);
    free(worker->groups);
}

int
perf_worker_run(struct perf_shared *shared, uint32_t client, int32_t cpu)
{
    struct worker worker = {.shared = shared, .client = client};
    enum perf_command command;

    perf_process_pin(cpu, &shared->failure);
    do {
        command = perf_shared_next(shared, &worker.last);
        if (command == PERF_COMMAND_OPEN)
            start(&worker);
        else if (command == PERF_COMMAND_PREPARE)
            prepare(&worker);
        else if (command == PERF_COMMAND_ARM)
            arm(&worker);
        else
            continue;
        perf_shared_done(shared);
    } while (command != PERF_COMMAND_END);
    stop(&worker);
    return perf_failure_is_set(&shared->failure) ? TOOL_FAILED : TOOL_OK;
}
