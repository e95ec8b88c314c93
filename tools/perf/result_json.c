/* SPDX-License-Identifier: BSD-3-Clause */
/* A result as JSON; README.md describes its fields. */
#include "perf/result_json.h"

#include <math.h>

#include "common/output.h"
#include "common/tool.h"

const char *const perf_json_quantiles[PERF_QUANTILES] = {
    "p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "max_ns"};

const char *
perf_json_unit(enum perf_test test)
{
    if (test == PERF_LAT)
        return "ns";
    return test == PERF_RATE ? "ops_per_s" : "bytes_per_s";
}

/* Returns null for NaN and infinity. */
static json_t *
real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *
whole(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t) value);
}

/* Returns null for -1. */
static json_t *
processor(int32_t cpu)
{
    return cpu < 0 ? json_null() : json_integer(cpu);
}

/* Sets a field whose name ends in the test's unit. Out of memory, *object_p
 * becomes NULL, which jansson accepts. */
static void
set_in_unit(
    json_t **object_p, const char *name, enum perf_test test, double value)
{
    char text[PERF_JSON_NAME];

    snprintf(text, sizeof text, "%s_%s", name, perf_json_unit(test));
    if (json_object_set_new(*object_p, text, real(value)) == 0)
        return;
    json_decref(*object_p);
    *object_p = NULL;
}

static json_t *
quantiles_json(const double *quantiles_ns)
{
    json_t *object = json_object();

    for (int i = 0; i < PERF_QUANTILES; i++)
        if (json_object_set_new(
                object, perf_json_quantiles[i], real(quantiles_ns[i])) != 0) {
            json_decref(object);
            return NULL;
        }
    return object;
}

static json_t *
round_json(const struct perf_round *round, enum perf_test test)
{
    json_t *object = json_object();

    set_in_unit(&object, "value", test, round->value);
    set_in_unit(&object, "peer_value", test, round->peer_value);
    if (object &&
        json_object_update_new(object,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "operations",
                whole(round->operations), "elapsed_ns",
                whole(round->elapsed_ns), "origin_cpu_ns",
                whole(round->origin_cpu_ns), "target_cpu_ns",
                whole(round->target_cpu_ns), "gauge_ns", real(round->gauge_ns),
                "operation_quantiles", quantiles_json(round->quantiles_ns),
                "slow", (int) round->slow)) == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *
summary_json(const struct perf_point *point)
{
    enum perf_test test = point->test;
    json_t *object = json_object();
    struct perf_summary summary;

    perf_point_summarize(point, &summary);
    set_in_unit(&object, "median", test, summary.median);
    set_in_unit(&object, "median_low95", test, summary.low);
    set_in_unit(&object, "median_high95", test, summary.high);
    set_in_unit(&object, "min", test, summary.min);
    set_in_unit(&object, "max", test, summary.max);
    set_in_unit(&object, "peer_median", test, summary.peer_median);
    if (object &&
        json_object_update_new(object,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                "counted_rounds", whole(summary.rounds), "slow_rounds",
                whole(summary.slow), "operation_quantiles",
                quantiles_json(summary.quantiles_ns),
                "origin_cpu_ns_per_operation", real(summary.origin_cpu_ns),
                "target_cpu_ns_per_operation", real(summary.target_cpu_ns),
                "gauge_ns", real(summary.gauge_ns), "peer_ratio",
                real(summary.ratio), "peer_ratio_low95",
                real(summary.ratio_low), "peer_ratio_high95",
                real(summary.ratio_high))) == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *
point_json(const struct perf_point *point)
{
    json_t *rounds = json_array();

    for (size_t i = 0; i < point->count; i++)
        output_json_append(&rounds, round_json(&point->rounds[i], point->test));
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "test",
        perf_test_name(point->test), "unit", perf_json_unit(point->test),
        "size_bytes", whole(point->size), "instructions_per_operation",
        real(point->instructions), "summary", summary_json(point), "rounds",
        rounds);
}

json_t *
perf_json_settings(const struct perf_settings *settings)
{
    json_t *words =
        json_pack("{s:s, s:o, s:o, s:o, s:b, s:b, s:b, s:b, s:b, s:b}", "level",
            perf_level_name(settings->level), "info",
            output_json_text(settings->info ? settings->info : ""), "label",
            output_json_text(settings->label), "against",
            output_json_text(settings->against), "local", (int) settings->local,
            "busy", (int) settings->busy, "single_thread",
            (int) settings->single, "verify", (int) settings->verify,
            "progress_thread", (int) settings->progress_thread, "mem_alloc",
            (int) settings->mem_alloc);
    json_t *numbers = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
                                "s:o, s:o, s:o, s:o}",
        "in_flight", whole(settings->inflight), "threads",
        whole(settings->threads), "contexts", whole(settings->contexts),
        "classes", whole(settings->classes), "clients",
        whole(settings->clients), "segments", whole(settings->segments),
        "rounds", whole(settings->rounds), "warm_up_operations",
        whole(settings->warm_up), "round_operations",
        whole(settings->operations), "round_duration_ns",
        whole(settings->round_ns), "origin_processor",
        processor(settings->origin_cpu), "target_processor",
        processor(settings->target_cpu));

    if (words && json_object_update_new(words, numbers) == 0)
        return words;
    json_decref(words);
    return NULL;
}

int
perf_print_json(const struct perf_result *result, FILE *stream)
{
    json_t *points = json_array(), *value;
    char format[16];
    int code = TOOL_OK;

    snprintf(format, sizeof format, "%d.%d", PERF_JSON_MAJOR, PERF_JSON_MINOR);
    for (size_t i = 0; i < result->count; i++)
        output_json_append(&points, point_json(&result->points[i]));
    value = json_pack("{s:s, s:o, s:o, s:{s:o, s:o, s:o, s:o}, s:o, s:o}",
        "format", format, "talaria_version", output_json_text(result->version),
        "date_utc", output_json_text(result->date), "machine", "host",
        output_json_text(result->host), "kernel",
        output_json_text(result->kernel), "processor",
        output_json_text(result->cpu), "processors", whole(result->cpus),
        "settings", perf_json_settings(&result->settings), "points", points);
    if (!value || json_dumpf(value, stream, JSON_INDENT(2)) != 0 ||
        fputc('\n', stream) == EOF) {
        fputs("talaria perf: the JSON text could not be made\n", stderr);
        code = TOOL_FAILED;
    }
    json_decref(value);
    return code;
}
