/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints a result as a table and as CSV. */
#include "perf/result.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/output.h"
#include "common/tool.h"
#include "perf/format.h"
#include "perf/result_json.h"

enum column {
    SIZE,
    MEDIAN,
    INTERVAL,
    SPREAD,
    P50,
    P90,
    P99,
    P999,
    ORIGIN,
    TARGET,
    INSTRUCTIONS,
    ROUNDS,
    GAUGE,
    PEER,
    RATIO,
    RATIO_INTERVAL,
    COLUMNS
};

static const char *const heads[COLUMNS] = {"SIZE", "MEDIAN", "95 % INTERVAL",
    "MIN–MAX", "P50", "P90", "P99", "P99.9", "ORIGIN CPU", "TARGET CPU",
    "INSTR", "ROUNDS", "GAUGE", "PEER", "RATIO", "95 % INTERVAL"};

static void
fill_row(struct perf_cell *row, const struct perf_point *point)
{
    enum perf_test test = point->test;
    struct perf_summary summary;

    perf_point_summarize(point, &summary);
    perf_format_size(row[SIZE].text, point->size);
    perf_format_value(row[MEDIAN].text, test, summary.median);
    perf_format_range(row[INTERVAL].text, test, summary.low, summary.high);
    perf_format_range(row[SPREAD].text, test, summary.min, summary.max);
    for (int i = 0; P50 + i <= P999; i++)
        perf_format_ns(row[P50 + i].text, summary.quantiles_ns[PERF_P50 + i]);
    perf_format_ns(row[ORIGIN].text, summary.origin_cpu_ns);
    if (summary.target_cpu_ns > 0)
        perf_format_ns(row[TARGET].text, summary.target_cpu_ns);
    if (isfinite(point->instructions))
        snprintf(row[INSTRUCTIONS].text, sizeof row[0].text, "%.0f",
            point->instructions);
    snprintf(row[ROUNDS].text, sizeof row[0].text, "%zu", summary.rounds);
    if (summary.slow > 0)
        snprintf(row[ROUNDS].text, sizeof row[0].text, "%zu (+%zu slow)",
            summary.rounds, summary.slow);
    perf_format_ns(row[GAUGE].text, summary.gauge_ns);
    perf_format_value(row[PEER].text, test, summary.peer_median);
    perf_format_ratio(row[RATIO].text, summary.ratio);
    perf_format_ratios(
        row[RATIO_INTERVAL].text, summary.ratio_low, summary.ratio_high);
}

static int
print_points(
    const struct perf_result *result, enum perf_test test, FILE *stream)
{
    struct perf_cell *cells =
        calloc((result->count + 1) * COLUMNS, sizeof *cells);
    size_t rows = 1;

    if (!cells) {
        fputs("talaria perf: out of memory\n", stderr);
        return TOOL_FAILED;
    }
    for (size_t i = 0; i < COLUMNS; i++)
        snprintf(cells[i].text, sizeof cells[i].text, "%s", heads[i]);
    for (size_t i = 0; i < result->count; i++)
        if (result->points[i].test == test)
            fill_row(&cells[rows++ * COLUMNS], &result->points[i]);
    perf_format_table(stream, cells, rows, COLUMNS);
    free(cells);
    return TOOL_OK;
}

static void
print_count(FILE *stream, uint32_t count, const char *one, const char *many)
{
    fprintf(stream, ", %" PRIu32 " %s", count, count == 1 ? one : many);
}

static void
print_pins(FILE *stream, const struct perf_settings *settings)
{
    if (settings->origin_cpu >= 0)
        fprintf(stream, ", origin on processor %" PRId32, settings->origin_cpu);
    if (settings->target_cpu >= 0)
        fprintf(stream, ", target on processor %" PRId32, settings->target_cpu);
    if (settings->origin_cpu < 0 && settings->target_cpu < 0)
        fputs(", not pinned", stream);
}

static void
print_head(const struct perf_result *result, FILE *stream)
{
    const struct perf_settings *settings = &result->settings;

    if (settings->label)
        fprintf(stream, "%s\n", settings->label);
    fprintf(stream, "%s, level %s, %s, %s%s%s%s%s\n",
        settings->info ? settings->info : "", perf_level_name(settings->level),
        settings->local ? "both sides here" : "served by another command",
        settings->busy ? "busy" : "waiting",
        settings->single ? ", single-thread mode" : "",
        settings->verify ? ", data verified" : "",
        settings->progress_thread ? ", beside a progress thread" : "",
        settings->mem_alloc ? ", memory allocated by Talaria" : "");
    fprintf(stream, "%" PRIu32 " in flight", settings->inflight);
    print_count(stream, settings->threads, "thread", "threads");
    print_count(stream, settings->contexts, "context", "contexts");
    print_count(stream, settings->classes, "class", "classes");
    print_count(stream, settings->clients, "client", "clients");
    print_count(stream, settings->segments, "segment", "segments");
    print_pins(stream, settings);
    fprintf(stream,
        "\nTalaria %s on %s: %s, %" PRIu32 " processors, Linux %s, %s\n",
        result->version, result->host, result->cpu, result->cpus,
        result->kernel, result->date);
    if (settings->against)
        fprintf(stream, "peer: %s\n", settings->against);
}

static const char *
title_of(enum perf_test test)
{
    static const char *const titles[] = {"lat: duration of an operation",
        "rate: operations a second", "bw_read: bytes a second from the target",
        "bw_write: bytes a second to the target"};

    return titles[test];
}

int
perf_print_table(const struct perf_result *result, FILE *stream)
{
    int code = TOOL_OK;

    print_head(result, stream);
    for (int test = 0; test < PERF_TESTS && code == TOOL_OK; test++) {
        bool measured = false;

        for (size_t i = 0; i < result->count; i++)
            measured |= result->points[i].test == (enum perf_test) test;
        if (!measured)
            continue;
        fprintf(stream, "\n%s\n", title_of((enum perf_test) test));
        code = print_points(result, (enum perf_test) test, stream);
    }
    return code;
}

/* NaN: an empty field. */
static void
print_csv_real(FILE *stream, double value)
{
    fputc(',', stream);
    if (isfinite(value))
        fprintf(stream, "%.9g", value);
}

static void
print_csv_point(const struct perf_result *result,
    const struct perf_point *point, FILE *stream)
{
    const struct perf_settings *settings = &result->settings;
    struct perf_summary summary;

    perf_point_summarize(point, &summary);
    output_csv_text(stream, settings->label);
    fputc(',', stream);
    output_csv_text(stream, settings->info);
    fprintf(stream, ",%s,%s,%" PRIu64 ",%s,%zu,%zu",
        perf_level_name(settings->level), perf_test_name(point->test),
        point->size, perf_json_unit(point->test), summary.rounds, summary.slow);
    print_csv_real(stream, summary.median);
    print_csv_real(stream, summary.low);
    print_csv_real(stream, summary.high);
    print_csv_real(stream, summary.min);
    print_csv_real(stream, summary.max);
    for (int i = 0; i < PERF_QUANTILES; i++)
        print_csv_real(stream, summary.quantiles_ns[i]);
    print_csv_real(stream, summary.origin_cpu_ns);
    print_csv_real(stream, summary.target_cpu_ns);
    print_csv_real(stream, summary.gauge_ns);
    print_csv_real(stream, point->instructions);
    print_csv_real(stream, summary.peer_median);
    print_csv_real(stream, summary.ratio);
    print_csv_real(stream, summary.ratio_low);
    print_csv_real(stream, summary.ratio_high);
    fputc('\n', stream);
}

int
perf_print_csv(const struct perf_result *result, FILE *stream)
{
    fputs("label,info,level,test,size_bytes,unit,counted_rounds,slow_rounds,"
          "median,median_low95,median_high95,min,max",
        stream);
    for (int i = 0; i < PERF_QUANTILES; i++)
        fprintf(stream, ",%s", perf_json_quantiles[i]);
    fputs(",origin_cpu_ns_per_operation,target_cpu_ns_per_operation,gauge_ns,"
          "instructions_per_operation,peer_median,peer_ratio,"
          "peer_ratio_low95,peer_ratio_high95\n",
        stream);
    for (size_t i = 0; i < result->count; i++)
        print_csv_point(result, &result->points[i], stream);
    return TOOL_OK;
}
