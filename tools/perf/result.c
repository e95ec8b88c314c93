/* SPDX-License-Identifier: BSD-3-Clause */
/* Results in memory, and their summary. */
#include "perf/result.h"

#include "perf/stats.h"
#include "talaria_version.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* A round is slow if its gauge exceeds the median by this factor. */
#define SLOW_FACTOR 2.0

const char *
perf_test_name(enum perf_test test)
{
    static const char *const names[] = {"lat", "rate", "bw_read", "bw_write"};

    return names[test];
}

const char *
perf_level_name(enum perf_level level)
{
    static const char *const names[] = {"na", "rpc", "bulk"};

    return names[level];
}

/* Returns the processor's name, to be freed. NULL: out of memory. */
static char *
read_cpu_name(void)
{
    FILE *stream = fopen("/proc/cpuinfo", "re");
    char line[256], *name = NULL;

    while (stream && !name && fgets(line, sizeof line, stream)) {
        char *colon = strchr(line, ':');

        if (!colon || strncmp(line, "model name", 10) != 0)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        name = strdup(colon);
    }
    if (stream)
        fclose(stream);
    return name ? name : strdup("unknown");
}

static char *
date_now(void)
{
    char text[32];
    time_t now = time(NULL);
    struct tm tm;

    if (!gmtime_r(&now, &tm) ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        return strdup("unknown");
    return strdup(text);
}

bool
perf_result_init(struct perf_result *result)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct utsname names;

    memset(result, 0, sizeof *result);
    if (uname(&names) != 0)
        memset(&names, 0, sizeof names);
    result->version = strdup(TALARIA_VERSION);
    result->host = strdup(names.nodename);
    result->cpu = read_cpu_name();
    result->cpus = cpus > 0 ? (uint32_t) cpus : 1;
    result->kernel = strdup(names.release);
    result->date = date_now();
    if (result->version && result->host && result->cpu && result->kernel &&
        result->date)
        return true;
    perf_result_finish(result);
    return false;
}

void
perf_result_finish(struct perf_result *result)
{
    for (size_t i = 0; i < result->count; i++)
        free(result->points[i].rounds);
    free(result->points);
    free(result->settings.info);
    free(result->settings.label);
    free(result->settings.against);
    free(result->version);
    free(result->host);
    free(result->cpu);
    free(result->kernel);
    free(result->date);
    memset(result, 0, sizeof *result);
}

struct perf_point *
perf_result_add(struct perf_result *result, enum perf_test test, uint64_t size)
{
    struct perf_point *points =
        reallocarray(result->points, result->count + 1, sizeof *points);

    if (!points)
        return NULL;
    result->points = points;
    points[result->count] = (struct perf_point){
        .test = test, .size = size, .instructions = (double) NAN};
    return &points[result->count++];
}

bool
perf_point_add(struct perf_point *point, const struct perf_round *round)
{
    struct perf_round *rounds =
        reallocarray(point->rounds, point->count + 1, sizeof *rounds);

    if (!rounds)
        return false;
    point->rounds = rounds;
    rounds[point->count++] = *round;
    return true;
}

void
perf_result_mark_slow(struct perf_result *result)
{
    size_t count = 0, n = 0;
    double *gauges, limit;

    for (size_t i = 0; i < result->count; i++)
        count += result->points[i].count;
    gauges = calloc(count + 1, sizeof *gauges);
    if (!gauges)
        return;
    for (size_t i = 0; i < result->count; i++)
        for (size_t j = 0; j < result->points[i].count; j++)
            gauges[n++] = result->points[i].rounds[j].gauge_ns;
    n = perf_stats_sort(gauges, n);
    limit = SLOW_FACTOR * perf_stats_quantile(gauges, n, 0.5);
    free(gauges);
    /* Comparisons with NaN are false. */
    for (size_t i = 0; i < result->count; i++)
        for (size_t j = 0; j < result->points[i].count; j++) {
            struct perf_round *round = &result->points[i].rounds[j];

            round->slow = round->gauge_ns > limit;
        }
}

/* A value of a round. */
enum field { VALUE, GAUGE, PEER, RATIO, QUANTILE };

static double
field_of(const struct perf_round *round, enum field field, int quantile)
{
    switch (field) {
    case VALUE:
        return round->value;
    case GAUGE:
        return round->gauge_ns;
    case PEER:
        return round->peer_value;
    case RATIO:
        return round->peer_value > 0 ? round->value / round->peer_value
                                     : (double) NAN;
    default:
        return round->quantiles_ns[quantile];
    }
}

/* Collects a field of the counted rounds, sorted. Returns the number of
 * values. */
static size_t
gather(const struct perf_point *point, bool all, enum field field, int quantile,
    double *values)
{
    size_t n = 0;

    for (size_t i = 0; i < point->count; i++)
        if (all || !point->rounds[i].slow)
            values[n++] = field_of(&point->rounds[i], field, quantile);
    return perf_stats_sort(values, n);
}

static void
add_up(const struct perf_point *point, bool all, struct perf_summary *summary)
{
    double origin = 0, target = 0, operations = 0;

    for (size_t i = 0; i < point->count; i++) {
        const struct perf_round *round = &point->rounds[i];

        summary->slow += round->slow;
        if (round->slow && !all)
            continue;
        summary->rounds++;
        origin += (double) round->origin_cpu_ns;
        target += (double) round->target_cpu_ns;
        operations += (double) round->operations;
    }
    summary->origin_cpu_ns =
        operations > 0 ? origin / operations : (double) NAN;
    summary->target_cpu_ns =
        operations > 0 ? target / operations : (double) NAN;
    if (all)
        summary->slow = 0;
}

/* Sets everything to NaN. */
static void
clear(struct perf_summary *summary)
{
    double nan = (double) NAN;

    *summary = (struct perf_summary){.median = nan,
        .min = nan,
        .max = nan,
        .low = nan,
        .high = nan,
        .origin_cpu_ns = nan,
        .target_cpu_ns = nan,
        .gauge_ns = nan,
        .ratio = nan,
        .ratio_low = nan,
        .ratio_high = nan,
        .peer_median = nan};
    for (int i = 0; i < PERF_QUANTILES; i++)
        summary->quantiles_ns[i] = nan;
}

void
perf_point_summarize(
    const struct perf_point *point, struct perf_summary *summary)
{
    double *values = calloc(point->count + 1, sizeof *values);
    struct perf_estimate estimate;
    bool all = true;
    size_t n;

    clear(summary);
    if (!values)
        return;
    for (size_t i = 0; i < point->count; i++)
        all = all && point->rounds[i].slow;
    add_up(point, all, summary);
    n = gather(point, all, VALUE, 0, values);
    estimate = perf_stats_median(values, n);
    summary->median = estimate.value;
    summary->low = estimate.low;
    summary->high = estimate.high;
    summary->min = perf_stats_quantile(values, n, 0);
    summary->max = perf_stats_quantile(values, n, 1);
    for (int i = 0; i < PERF_QUANTILES; i++) {
        n = gather(point, all, QUANTILE, i, values);
        summary->quantiles_ns[i] = perf_stats_quantile(values, n, 0.5);
    }
    n = gather(point, all, GAUGE, 0, values);
    summary->gauge_ns = perf_stats_quantile(values, n, 0.5);
    n = gather(point, all, PEER, 0, values);
    summary->peer_median = perf_stats_quantile(values, n, 0.5);
    n = gather(point, all, RATIO, 0, values);
    estimate = perf_stats_median(values, n);
    summary->ratio = estimate.value;
    summary->ratio_low = estimate.low;
    summary->ratio_high = estimate.high;
    free(values);
}
