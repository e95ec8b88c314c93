/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures point by point and round by round, with the machine's gauge and the
 * peer's benchmark in between. */
#include "perf/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/tool.h"
#include "perf/against.h"
#include "perf/callgrind.h"
#include "perf/gauge.h"
#include "perf/process.h"
#include "perf/progress.h"
#include "perf/workers.h"

/* The share of the time that may be spent on the clock, as measured by
 * consecutive readings; a reading between other work takes ten times as
 * long. */
#define CLOCK_SHARE 0.001
#define EVERY_MAX 1000

struct run {
    const struct perf_options *options;
    struct perf_plan plan;
    struct perf_result result;
    struct perf_workers workers;
    struct perf_client control;
    struct token *token; /* shared with the server, or NULL */
    struct perf_gauge *gauge;
    struct perf_against *against;
    double clock_ns; /* duration of a reading */
};

static struct perf_failure *
failure_of(struct run *run)
{
    return &run->workers.shared->failure;
}

static double
measure_clock(void)
{
    enum { READINGS = 2000 };
    uint64_t start = perf_clock_now(), end = start;

    for (int i = 0; i < READINGS; i++)
        end = perf_clock_now();
    return (double) (end - start) / READINGS;
}

/* The results of all loops. */
struct sum {
    uint64_t operations;
    uint64_t elapsed_ns;
    struct perf_histogram histogram;
};

static void
add_up(const struct perf_shared *shared, struct sum *sum)
{
    uint32_t loops = shared->plan.clients * perf_plan_loops(&shared->plan);
    uint64_t start = UINT64_MAX, end = 0;

    memset(sum, 0, sizeof *sum);
    for (uint32_t i = 0; i < loops; i++) {
        const struct perf_report *report = &shared->reports[i];

        sum->operations += report->operations;
        if (report->start_ns < start)
            start = report->start_ns;
        if (report->end_ns > end)
            end = report->end_ns;
        perf_histogram_merge(&sum->histogram, &report->histogram);
    }
    sum->elapsed_ns = end > start ? end - start : 1;
}

/* Returns the number of operations between two samples, cpu_ns being the
 * processor time of all loops: those that share a processor share its time. */
static uint32_t
choose_every(const struct run *run, const struct sum *sum, uint64_t cpu_ns)
{
    double each;

    if (sum->operations == 0)
        return 1;
    each = (double) cpu_ns / (double) sum->operations;
    each = ceil(2 * run->clock_ns / (CLOCK_SHARE * each));
    if (!(each >= 1))
        return 1;
    return each > EVERY_MAX ? EVERY_MAX : (uint32_t) each;
}

/* Runs a round until so many operations are done, or the time is over. */
static bool
run_round(
    struct run *run, uint64_t operations, uint64_t duration_ns, struct sum *sum)
{
    struct perf_shared *shared = run->workers.shared;
    uint64_t cpu_ns;

    shared->operations = operations;
    shared->duration_ns = duration_ns;
    if (!perf_workers_do(&run->workers, PERF_COMMAND_ARM))
        return false;
    cpu_ns = perf_workers_cpu(&run->workers);
    if (!perf_workers_do(&run->workers, PERF_COMMAND_RUN))
        return false;
    cpu_ns = perf_workers_cpu(&run->workers) - cpu_ns;
    add_up(shared, sum);
    shared->every = choose_every(run, sum, cpu_ns);
    if (sum->operations > 0)
        return true;
    perf_failure_set(&shared->failure, "no operation ended in time");
    return false;
}

/* Runs a round while the target serves. *target_cpu_p: its processor time. */
static bool
run_served_round(struct run *run, uint64_t operations, uint64_t duration_ns,
    struct sum *sum, uint64_t *target_cpu_p)
{
    uint64_t before, after;
    bool good;

    if (!perf_client_run(&run->control, PERF_RUN_START, &before))
        return false;
    good = run_round(run, operations, duration_ns, sum);
    /* The target's verification errors are reported first. */
    if (!perf_client_run(&run->control, PERF_RUN_PAUSE, &after) || !good)
        return false;
    *target_cpu_p = after - before;
    return true;
}

static double
value_of(const struct run *run, const struct perf_point *point,
    const struct sum *sum)
{
    double seconds = (double) sum->elapsed_ns / 1e9;
    double operations = (double) sum->operations;
    double at_once = (double) run->plan.clients * perf_plan_loops(&run->plan) *
                     run->plan.inflight;

    switch (point->test) {
    case PERF_LAT:
        return (double) sum->elapsed_ns * at_once / operations;
    case PERF_RATE:
        return operations / seconds;
    default:
        return operations * (double) point->size / seconds;
    }
}

static bool
measure_round(struct run *run, struct perf_point *point)
{
    const struct perf_settings *settings = &run->result.settings;
    struct perf_round round = {.peer_value = (double) NAN};
    bool by_time = settings->operations == 0;
    double before = perf_gauge_measure(run->gauge);
    uint64_t cpu = perf_workers_cpu(&run->workers);
    struct sum sum;

    if (!run_served_round(run, by_time ? UINT64_MAX : settings->operations,
            by_time ? settings->round_ns : UINT64_MAX, &sum,
            &round.target_cpu_ns))
        return false;
    round.origin_cpu_ns = perf_workers_cpu(&run->workers) - cpu;
    round.gauge_ns = fmax(before, perf_gauge_measure(run->gauge));
    round.operations = sum.operations;
    round.elapsed_ns = sum.elapsed_ns;
    round.value = value_of(run, point, &sum);
    perf_histogram_quantiles(&sum.histogram, round.quantiles_ns);
    if (run->against && !perf_against_round(run->against, point->test,
                            point->size, &round.peer_value)) {
        perf_failure_set(failure_of(run), "the peer's benchmark failed");
        return false;
    }
    if (perf_point_add(point, &round))
        return true;
    perf_failure_set(failure_of(run), "out of memory");
    return false;
}

/* Prepares the clients for a test at a size. */
static bool
prepare(struct run *run, enum perf_test test, uint64_t size)
{
    struct perf_shared *shared = run->workers.shared;

    shared->test = test;
    shared->size = size;
    shared->every = 1;
    return perf_workers_do(&run->workers, PERF_COMMAND_PREPARE);
}

/* Runs one operation of each loop at the largest size, to fail before anything
 * is measured. */
static bool
try_largest_size(struct run *run, enum perf_test test)
{
    struct sum sum;
    uint64_t cpu;

    return prepare(run, test, run->plan.size_max) &&
           run_served_round(run,
               (uint64_t) run->plan.clients * perf_plan_loops(&run->plan),
               UINT64_MAX, &sum, &cpu);
}

/* Every operation of the first tenth is a sample; that determines the sampling
 * rate. */
static bool
warm_up(struct run *run)
{
    uint64_t count = run->result.settings.warm_up, first = (count + 9) / 10;
    uint64_t cpu, end_ns = run->options->warm_up_ns, begun = perf_clock_now();
    struct sum sum;

    if (count == 0)
        return true;
    if (!run_served_round(run, first, end_ns, &sum, &cpu))
        return false;
    if (end_ns != UINT64_MAX && perf_clock_now() - begun > end_ns / 2)
        return true;
    return count == first ||
           run_served_round(run, count - first, end_ns, &sum, &cpu);
}

static bool
measure_point(struct run *run, enum perf_test test, uint64_t size)
{
    const struct perf_settings *settings = &run->result.settings;
    struct perf_point *point = perf_result_add(&run->result, test, size);

    if (!point) {
        perf_failure_set(failure_of(run), "out of memory");
        return false;
    }
    if (!prepare(run, test, size) || !warm_up(run))
        return false;
    for (uint32_t i = 0; i < settings->rounds; i++) {
        perf_progress_show("%s %s, %" PRIu64 " bytes: round %u of %u",
            perf_test_name(test), perf_level_name(settings->level), size, i + 1,
            settings->rounds);
        if (!measure_round(run, point))
            return false;
    }
    return true;
}

/* Counts instructions after the measurements. */
static bool
count_instructions(struct run *run)
{
    bool good = true;

    for (size_t i = 0; good && i < run->result.count; i++) {
        struct perf_point *point = &run->result.points[i];

        perf_progress_show("counting instructions of %s, %" PRIu64 " bytes",
            perf_test_name(point->test), point->size);
        good = perf_callgrind_count(run->options->settings.info, &run->plan,
            point->test, point->size, &point->instructions);
    }
    return good;
}

static bool
measure(struct run *run)
{
    const struct perf_options *options = run->options;
    bool good = true;

    run->clock_ns = measure_clock();
    for (uint32_t i = 0; good && i < options->test_count; i++)
        good = try_largest_size(run, options->tests[i]);
    for (uint32_t i = 0; i < options->test_count; i++)
        for (uint32_t j = 0; good && j < options->size_count; j++)
            good = measure_point(run, options->tests[i], options->sizes[j]);
    return good;
}

/* Uses the settings of the server. */
static void
adopt_settings(struct run *run, const perf_hello_out_t *hello)
{
    const struct perf_options *options = run->options;
    struct perf_settings *settings = &run->result.settings;

    if (settings->local)
        return;
    settings->busy = hello->busy != 0;
    settings->single = hello->single != 0;
    settings->target_cpu = hello->cpu;
    if (options->busy_asked && !settings->busy)
        fputs("talaria perf: the server waits, and so does this side; \"serve "
              "--busy\" polls\n",
            stderr);
    if (options->single_asked && !settings->single)
        fputs("talaria perf: the server has several threads; \"serve "
              "--single-thread\" has one\n",
            stderr);
    if (options->target_cpu_asked &&
        options->settings.target_cpu != settings->target_cpu)
        fputs("talaria perf: the server is pinned by \"serve --pin\" only\n",
            stderr);
}

/* Gets the info string of this side. false: the failure is set. */
static bool
choose_info(struct run *run, char *info, size_t size)
{
    const struct perf_options *options = run->options;
    const char *text = options->via ? options->via : options->settings.info;
    const char *end =
        options->via || options->settings.local ? NULL : strstr(text, "://");
    size_t length = end ? (size_t) (end - text) : strlen(text);

    if (!end && !options->via && !options->settings.local) {
        perf_failure_set(failure_of(run),
            "\"%s\" is not an address such as na+sm://1234-0", text);
        return false;
    }
    if (length >= size) {
        perf_failure_set(
            failure_of(run), "an info string of %zu bytes", length);
        return false;
    }
    memcpy(info, text, length);
    info[length] = 0;
    return true;
}

/* Reads the user's token, or creates a random one for our own server, so that
 * it serves no other clients. false: the failure is set. */
static bool
get_token(struct run *run)
{
    const struct perf_options *options = run->options;
    const char *reason = NULL;

    if (options->settings.local)
        token_create(&run->token); /* if supported */
    else if (options->token_file)
        reason = token_read(options->token_file, &run->token);
    if (reason)
        perf_failure_set(
            failure_of(run), "%s: %s", options->token_file, reason);
    return reason == NULL;
}

/* Starts everything that precedes the first operation. */
static bool
set_up(struct run *run)
{
    const struct perf_options *options = run->options;
    struct perf_shared *shared = run->workers.shared;
    char address[PERF_ADDRESS_SIZE];
    perf_hello_out_t hello;
    const char *wrong;

    if (!choose_info(run, shared->info, sizeof shared->info) ||
        !get_token(run) ||
        !perf_workers_start(&run->workers, options, &run->plan, run->token))
        return false;
    if (!perf_gauge_start(options->settings.origin_cpu,
            options->settings.target_cpu, &run->gauge)) {
        perf_failure_set(&shared->failure, "the machine cannot be gauged");
        return false;
    }
    if (options->settings.against &&
        !perf_against_start(
            options->settings.against, &run->result.settings, &run->against)) {
        perf_failure_set(&shared->failure, "the peer cannot be started");
        return false;
    }
    if (options->settings.local) {
        if (!perf_workers_read_address(&run->workers, address, sizeof address))
            return false;
    } else {
        perf_text_copy(address, sizeof address, options->settings.info,
            strlen(options->settings.info));
    }
    if (!perf_client_connect(&run->control, shared->info, address, run->token,
            &shared->failure, &hello))
        return false;
    adopt_settings(run, &hello);
    run->plan.busy = run->result.settings.busy;
    run->plan.single = run->result.settings.single;
    shared->plan = run->plan;
    wrong = perf_plan_check(&run->plan);
    if (wrong) {
        perf_failure_set(&shared->failure, "%s", wrong);
        return false;
    }
    return perf_client_open(&run->control, &run->plan, shared->remotes) &&
           perf_workers_do(&run->workers, PERF_COMMAND_OPEN);
}

static void
take_down(struct run *run)
{
    perf_against_stop(run->against);
    perf_gauge_stop(run->gauge);
    perf_workers_end_clients(&run->workers);
    perf_client_finish(&run->control);
    perf_workers_end_server(&run->workers);
    token_free(run->token);
}

/* Copies the settings into the result. */
static bool
copy_settings(struct run *run)
{
    const struct perf_settings *from = &run->options->settings;
    struct perf_settings *to = &run->result.settings;

    *to = *from;
    to->info = strdup(from->info);
    to->label = from->label ? strdup(from->label) : NULL;
    to->against = from->against ? strdup(from->against) : NULL;
    return to->info && !to->label == !from->label &&
           !to->against == !from->against;
}

static int
print(const struct run *run)
{
    switch (run->options->form) {
    case PERF_FORM_CSV:
        return perf_print_csv(&run->result, stdout);
    case PERF_FORM_JSON:
        return perf_print_json(&run->result, stdout);
    default:
        return perf_print_table(&run->result, stdout);
    }
}

int
perf_run(const char *name, const struct perf_options *options)
{
    struct run run = {.options = options, .workers = {.address_fd = -1}};
    int result = TOOL_FAILED;
    bool good;

    if (options->callgrind && !perf_callgrind_is_available())
        return TOOL_FAILED;
    if (!perf_result_init(&run.result) || !copy_settings(&run)) {
        fprintf(stderr, "%s: out of memory\n", name);
        return TOOL_FAILED;
    }
    perf_options_plan(options, &run.plan);
    run.workers.shared = perf_shared_create(&run.plan);
    if (!run.workers.shared) {
        fprintf(stderr, "%s: out of memory\n", name);
        perf_result_finish(&run.result);
        return TOOL_FAILED;
    }
    run.workers.control = &run.control;
    perf_process_catch();
    good = set_up(&run) && measure(&run);
    take_down(&run);
    if (good && options->callgrind)
        good = count_instructions(&run);
    perf_progress_clear();
    if (perf_failure_is_set(failure_of(&run)))
        fprintf(stderr, "%s: %s\n", name, perf_failure_text(failure_of(&run)));
    else if (good && !options->keep_slow)
        perf_result_mark_slow(&run.result);
    if (good && !perf_failure_is_set(failure_of(&run)))
        result = print(&run);
    perf_result_finish(&run.result);
    perf_shared_destroy(run.workers.shared);
    return result;
}
