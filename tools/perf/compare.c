/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria perf compare: ratios of two results, with intervals. */
#include "perf/compare.h"

#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/output.h"
#include "common/tool.h"
#include "perf/failure.h"
#include "perf/format.h"
#include "perf/result.h"
#include "perf/result_json.h"
#include "perf/stats.h"

enum verdict { BETTER, WORSE, SAME, UNKNOWN };

/* A point that both results have. */
struct pair {
    enum perf_test test;
    uint64_t size;
    struct perf_summary summary_a;
    struct perf_summary summary_b;
    struct perf_estimate ratio; /* of b to a */
    enum verdict verdict;
    bool failed; /* worse than --fail-worse allows */
};

struct comparison {
    const char *paths[2];
    int path_count;
    bool json;
    double fail_worse; /* percent; NaN: not given */
    struct perf_result results[2];
    struct pair *pairs;
    size_t count;
};

static const char *
verdict_text(enum verdict verdict)
{
    static const char *const texts[] = {
        "better", "worse", "no difference", "too few rounds"};

    return texts[verdict];
}

/* Returns the values of the counted rounds, to be freed. NULL: out of
 * memory. */
static double *
values_of(const struct perf_point *point, size_t *count_p)
{
    double *values = calloc(point->count + 1, sizeof *values);
    bool all = true;
    size_t n = 0;

    for (size_t i = 0; i < point->count; i++)
        all = all && point->rounds[i].slow;
    for (size_t i = 0; values && i < point->count; i++)
        if (all || !point->rounds[i].slow)
            values[n++] = point->rounds[i].value;
    *count_p = n;
    return values;
}

static enum verdict
judge(enum perf_test test, const struct perf_estimate *ratio)
{
    bool less_is_better = test == PERF_LAT;

    if (isnan(ratio->low))
        return UNKNOWN;
    if (ratio->low > 1)
        return less_is_better ? WORSE : BETTER;
    if (ratio->high < 1)
        return less_is_better ? BETTER : WORSE;
    return SAME;
}

/* Whether the whole interval is worse by more than `percent`. */
static bool
is_worse_by(
    enum perf_test test, const struct perf_estimate *ratio, double percent)
{
    /* Comparisons with NaN are false. */
    if (test == PERF_LAT)
        return ratio->low > 1 + percent / 100;
    return ratio->high < 1 - percent / 100;
}

static bool
fill_pair(struct pair *pair, const struct perf_point *point_a,
    const struct perf_point *point_b, double fail_worse)
{
    size_t count_a, count_b;
    double *a = values_of(point_a, &count_a);
    double *b = values_of(point_b, &count_b);

    if (a && b) {
        pair->test = point_a->test;
        pair->size = point_a->size;
        pair->ratio = perf_stats_ratio(a, count_a, b, count_b);
        perf_point_summarize(point_a, &pair->summary_a);
        perf_point_summarize(point_b, &pair->summary_b);
        pair->verdict = judge(pair->test, &pair->ratio);
        pair->failed = is_worse_by(pair->test, &pair->ratio, fail_worse);
    }
    free(a);
    free(b);
    return a && b;
}

static const struct perf_point *
find_point(const struct perf_result *result, enum perf_test test, uint64_t size)
{
    for (size_t i = 0; i < result->count; i++)
        if (result->points[i].test == test && result->points[i].size == size)
            return &result->points[i];
    return NULL;
}

static bool
match(struct comparison *comparison)
{
    const struct perf_result *first = &comparison->results[0];

    comparison->pairs = calloc(first->count + 1, sizeof *comparison->pairs);
    if (!comparison->pairs)
        return false;
    for (size_t i = 0; i < first->count; i++) {
        const struct perf_point *a = &first->points[i];
        const struct perf_point *b =
            find_point(&comparison->results[1], a->test, a->size);

        if (!b)
            continue;
        if (!fill_pair(&comparison->pairs[comparison->count], a, b,
                comparison->fail_worse))
            return false;
        comparison->count++;
    }
    return true;
}

/* Returns the settings as JSON without the label. NULL: out of memory. */
static json_t *
settings_of(const struct perf_result *result)
{
    json_t *settings = perf_json_settings(&result->settings);

    if (settings)
        json_object_del(settings, "label");
    return settings;
}

/* Calls `found` for each setting that differs. */
static bool
each_difference(const struct comparison *comparison,
    void (*found)(void *argument, const char *name, json_t *a, json_t *b),
    void *argument)
{
    json_t *a = settings_of(&comparison->results[0]);
    json_t *b = settings_of(&comparison->results[1]), *value;
    const char *name;

    if (a && b)
        json_object_foreach(
            a, name, value) if (!json_equal(value, json_object_get(b, name)))
            found(argument, name, value, json_object_get(b, name));
    json_decref(a);
    json_decref(b);
    return a && b;
}

/* Prints a value of a file, safe for a terminal. */
static void
print_value(const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    char shown[200];

    if (text)
        perf_text_copy(shown, sizeof shown, text, strlen(text));
    fputs(text ? shown : "?", stdout);
    free(text);
}

static void
print_difference(void *argument, const char *name, json_t *a, json_t *b)
{
    (void) argument;
    printf("differs: %s is ", name);
    print_value(a);
    fputs(" in A, ", stdout);
    print_value(b);
    fputs(" in B\n", stdout);
}

static void
print_run(const struct comparison *comparison, int which)
{
    const struct perf_result *result = &comparison->results[which];
    const char *label = result->settings.label;
    char text[200];

    label = label ? label : comparison->paths[which];
    perf_text_copy(text, sizeof text, label, strlen(label));
    printf("%c: %s", 'A' + which, text);
    perf_text_copy(text, sizeof text, result->version, strlen(result->version));
    printf(", Talaria %s", text);
    perf_text_copy(text, sizeof text, result->host, strlen(result->host));
    printf(" on %s", text);
    perf_text_copy(text, sizeof text, result->date, strlen(result->date));
    printf(", %s\n", text);
}

enum column {
    TEST,
    SIZE,
    MEDIAN_A,
    MEDIAN_B,
    RATIO,
    INTERVAL,
    VERDICT,
    COLUMNS
};

static void
fill_row(struct perf_cell *row, const struct pair *pair)
{
    enum perf_test test = pair->test;

    snprintf(row[TEST].text, sizeof row->text, "%s", perf_test_name(test));
    perf_format_size(row[SIZE].text, pair->size);
    perf_format_value(row[MEDIAN_A].text, test, pair->summary_a.median);
    perf_format_value(row[MEDIAN_B].text, test, pair->summary_b.median);
    perf_format_ratio(row[RATIO].text, pair->ratio.value);
    perf_format_ratios(row[INTERVAL].text, pair->ratio.low, pair->ratio.high);
    snprintf(row[VERDICT].text, sizeof row->text, "%s%s",
        verdict_text(pair->verdict), pair->failed ? ", too much" : "");
}

static int
print_table(const struct comparison *comparison)
{
    static const char *const heads[COLUMNS] = {
        "TEST", "SIZE", "A", "B", "B/A", "95 % INTERVAL", "B IS"};
    struct perf_cell *cells =
        calloc((comparison->count + 1) * COLUMNS, sizeof *cells);

    if (!cells)
        return TOOL_FAILED;
    print_run(comparison, 0);
    print_run(comparison, 1);
    each_difference(comparison, print_difference, NULL);
    putchar('\n');
    for (size_t i = 0; i < COLUMNS; i++)
        snprintf(cells[i].text, sizeof cells->text, "%s", heads[i]);
    for (size_t i = 0; i < comparison->count; i++)
        fill_row(&cells[(i + 1) * COLUMNS], &comparison->pairs[i]);
    perf_format_table(stdout, cells, comparison->count + 1, COLUMNS);
    free(cells);
    return TOOL_OK;
}

static json_t *
real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* "b_is" judges b against a. */
static json_t *
pair_json(const struct pair *pair)
{
    static const char *const words[] = {"better", "worse", "same", "unknown"};
    enum perf_test test = pair->test;

    return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:s, s:b}",
        "test", perf_test_name(test), "unit", perf_json_unit(test),
        "size_bytes", (json_int_t) pair->size, "a_median",
        real(pair->summary_a.median), "b_median", real(pair->summary_b.median),
        "ratio", real(pair->ratio.value), "ratio_low95", real(pair->ratio.low),
        "ratio_high95", real(pair->ratio.high), "b_is", words[pair->verdict],
        "failed", (int) pair->failed);
}

static void
append_difference(void *argument, const char *name, json_t *a, json_t *b)
{
    output_json_append(argument,
        json_pack("{s:s, s:O, s:O}", "setting", name, "a", a, "b", b));
}

static int
print_json(const struct comparison *comparison)
{
    json_t *points = json_array(), *differences = json_array();

    for (size_t i = 0; i < comparison->count; i++)
        output_json_append(&points, pair_json(&comparison->pairs[i]));
    each_difference(comparison, append_difference, &differences);
    return output_json(json_pack("{s:s, s:o, s:o, s:o, s:o}", "format", "1.0",
        "a", output_json_text(comparison->paths[0]), "b",
        output_json_text(comparison->paths[1]), "differences", differences,
        "points", points));
}

/* Warns of points that only one of the results has. */
static void
warn_of_rest(const struct comparison *comparison)
{
    size_t a = comparison->results[0].count, b = comparison->results[1].count;

    if (a > comparison->count || b > comparison->count)
        fprintf(stderr,
            "talaria perf compare: %zu points of A and %zu of B are not "
            "in the other one\n",
            a - comparison->count,
            b > comparison->count ? b - comparison->count : 0);
}

static int
print_all(const struct comparison *comparison)
{
    bool failed = false, unknown = false;
    int code;

    warn_of_rest(comparison);
    if (comparison->count == 0) {
        fputs("talaria perf compare: they have no point in common\n", stderr);
        return TOOL_FAILED;
    }
    code = comparison->json ? print_json(comparison) : print_table(comparison);
    for (size_t i = 0; i < comparison->count; i++) {
        failed |= comparison->pairs[i].failed;
        unknown |= comparison->pairs[i].verdict == UNKNOWN;
    }
    if (unknown && !isnan(comparison->fail_worse))
        fputs("talaria perf compare: some points have too few rounds to tell "
              "whether they are worse\n",
            stderr);
    if (failed)
        fprintf(stderr, "talaria perf compare: worse by more than %g percent\n",
            comparison->fail_worse);
    return failed ? TOOL_FAILED : code;
}

enum { KEY_FAIL_WORSE = 1000 };

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "Print JSON", 0},
    {"fail-worse", KEY_FAIL_WORSE, "PERCENT", 0,
        "Exit with 1 if the whole interval of a point of B is worse than A by "
        "more than PERCENT",
        0},
    {0}};

static double
read_percent(const char *text, struct argp_state *state)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(value) || value < 0)
        argp_error(state, "\"%s\" is not a number of percent", text);
    return value;
}

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
    struct comparison *comparison = state->input;

    switch (key) {
    case 'j':
        comparison->json = true;
        return 0;
    case KEY_FAIL_WORSE:
        comparison->fail_worse = read_percent(arg, state);
        return 0;
    case ARGP_KEY_ARG:
        if (comparison->path_count == 2)
            argp_error(state, "there are more than two files");
        else
            comparison->paths[comparison->path_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (comparison->path_count < 2)
            argp_error(state, "two files are needed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int
perf_compare(int argc, char **argv)
{
    static const struct argp argp = {options, parse_option, "A.json B.json",
        "Prints the factor between the results A and B for each test and size, "
        "with a 95 % confidence interval.\v" TOOL_EXIT_CODES,
        NULL, NULL, NULL};
    struct comparison comparison = {.fail_worse = (double) NAN};
    int code = TOOL_FAILED;

    argp_err_exit_status = TOOL_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &comparison);
    if (!perf_read_json(comparison.paths[0], &comparison.results[0]))
        return TOOL_FAILED;
    if (!perf_read_json(comparison.paths[1], &comparison.results[1]))
        goto finish_first;
    if (match(&comparison))
        code = print_all(&comparison);
    else
        fputs("talaria perf compare: out of memory\n", stderr);
    free(comparison.pairs);
    perf_result_finish(&comparison.results[1]);
finish_first:
    perf_result_finish(&comparison.results[0]);
    return code;
}
