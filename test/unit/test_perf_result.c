/* SPDX-License-Identifier: BSD-3-Clause */
/* Results: summaries of rounds, JSON round trips, malformed files; and the
 * gauge. */
#include "perf/gauge.h"
#include "perf/result.h"
#include "runner.h"

#include <check.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct perf_round
make_round(double value, double gauge)
{
    struct perf_round round = {.value = value,
        .operations = 1000,
        .elapsed_ns = 200000,
        .origin_cpu_ns = 150000,
        .target_cpu_ns = 50000,
        .gauge_ns = gauge,
        .peer_value = value * 2};

    for (int i = 0; i < PERF_QUANTILES; i++)
        round.quantiles_ns[i] = value * (i + 1);
    round.quantiles_ns[PERF_P999] = (double) NAN;
    return round;
}

/* A result with one point of so many rounds: 101, 102, … */
static void
make_result(struct perf_result *result, enum perf_test test, size_t rounds)
{
    struct perf_point *point;

    ck_assert(perf_result_init(result));
    result->settings = (struct perf_settings){.level = PERF_RPC,
        .info = strdup("na+sm"),
        .label = strdup("a \"label\" \xc3\xa4"),
        .local = true,
        .mem_alloc = true,
        .inflight = 1,
        .threads = 2,
        .contexts = 3,
        .classes = 4,
        .clients = 5,
        .segments = 6,
        .rounds = 6,
        .warm_up = 7,
        .round_ns = 8,
        .origin_cpu = -1,
        .target_cpu = 1};
    point = perf_result_add(result, test, 64);
    ck_assert_ptr_nonnull(point);
    for (size_t i = 0; i < rounds; i++) {
        struct perf_round round = make_round((double) (101 + i), 120);

        ck_assert(perf_point_add(point, &round));
    }
}

START_TEST(result_summary_matches_its_rounds)
{
    struct perf_result result;
    struct perf_summary summary;

    make_result(&result, PERF_LAT, 9);
    perf_point_summarize(&result.points[0], &summary);
    ck_assert_uint_eq(summary.rounds, 9);
    ck_assert_uint_eq(summary.slow, 0);
    ck_assert_double_eq(summary.median, 105);
    ck_assert_double_eq(summary.low, 102);
    ck_assert_double_eq(summary.high, 108);
    ck_assert_double_eq(summary.min, 101);
    ck_assert_double_eq(summary.max, 109);
    ck_assert_double_eq(summary.quantiles_ns[PERF_P90], 210);
    ck_assert_double_nan(summary.quantiles_ns[PERF_P999]);
    ck_assert_double_eq(summary.origin_cpu_ns, 150);
    ck_assert_double_eq(summary.target_cpu_ns, 50);
    ck_assert_double_eq(summary.gauge_ns, 120);
    ck_assert_double_eq(summary.peer_median, 210);
    ck_assert_double_eq(summary.ratio, 0.5);
    ck_assert_double_eq(summary.ratio_low, 0.5);
    perf_result_finish(&result);
}
END_TEST

START_TEST(result_slow_rounds_do_not_count)
{
    struct perf_result result;
    struct perf_summary summary;
    struct perf_round slow = make_round(1e9, 241);
    struct perf_round blind = make_round(105, (double) NAN);

    make_result(&result, PERF_LAT, 9);
    ck_assert(perf_point_add(&result.points[0], &slow));
    ck_assert(perf_point_add(&result.points[0], &blind));
    result.points[0].rounds[2].slow = true;
    perf_result_mark_slow(&result);
    ck_assert(!result.points[0].rounds[2].slow);
    ck_assert(result.points[0].rounds[9].slow);
    ck_assert(!result.points[0].rounds[10].slow);
    perf_point_summarize(&result.points[0], &summary);
    ck_assert_uint_eq(summary.rounds, 10);
    ck_assert_uint_eq(summary.slow, 1);
    ck_assert_double_eq(summary.max, 109);
    /* If all rounds are slow, all count. */
    for (size_t i = 0; i < result.points[0].count; i++)
        result.points[0].rounds[i].slow = true;
    perf_point_summarize(&result.points[0], &summary);
    ck_assert_uint_eq(summary.rounds, 11);
    ck_assert_uint_eq(summary.slow, 0);
    ck_assert_double_eq(summary.max, 1e9);
    perf_result_finish(&result);
}
END_TEST

START_TEST(result_summary_of_no_rounds_is_empty)
{
    struct perf_point point = {.test = PERF_LAT};
    struct perf_summary summary;

    perf_point_summarize(&point, &summary);
    ck_assert_uint_eq(summary.rounds, 0);
    ck_assert_double_nan(summary.median);
    ck_assert_double_nan(summary.origin_cpu_ns);
    ck_assert_double_nan(summary.ratio);
}
END_TEST

/* The text of a result; the caller frees it. */
static char *
print(const struct perf_result *result)
{
    size_t size;
    char *text;
    FILE *stream = open_memstream(&text, &size);

    ck_assert_ptr_nonnull(stream);
    ck_assert_int_eq(perf_print_json(result, stream), 0);
    fclose(stream);
    return text;
}

/* Reads a text through a file. */
static bool
read_text(const char *text, struct perf_result *result_p)
{
    char path[] = "/tmp/talaria-test-perf-XXXXXX";
    int fd = mkstemp(path);
    bool good;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq((int) write(fd, text, strlen(text)), (int) strlen(text));
    close(fd);
    good = perf_read_json(path, result_p);
    unlink(path);
    return good;
}

START_TEST(result_json_read_back_is_the_same)
{
    struct perf_result result, again;
    char *text, *text_again;

    make_result(&result, (enum perf_test) _i, 7);
    result.points[0].instructions = 1650;
    result.points[0].rounds[1].slow = true;
    text = print(&result);
    ck_assert(read_text(text, &again));
    ck_assert_uint_eq(again.count, 1);
    ck_assert_int_eq(again.points[0].test, _i);
    ck_assert_uint_eq(again.points[0].count, 7);
    ck_assert_double_eq(again.points[0].rounds[6].value, 107);
    ck_assert_double_nan(again.points[0].rounds[0].quantiles_ns[PERF_P999]);
    ck_assert(again.points[0].rounds[1].slow);
    ck_assert_str_eq(again.settings.label, result.settings.label);
    ck_assert_ptr_null(again.settings.against);
    ck_assert_int_eq(again.settings.origin_cpu, -1);
    ck_assert_int_eq(again.settings.target_cpu, 1);
    text_again = print(&again);
    ck_assert_str_eq(text, text_again);
    free(text);
    free(text_again);
    perf_result_finish(&again);
    perf_result_finish(&result);
}
END_TEST

/* Part of a valid text and its replacement. */
static const struct {
    const char *from;
    const char *to;
    bool good;
} changes[] = {
    /* Unknown fields and newer minor versions are ignored. */
    {"\"format\": \"1.3\"", "\"format\": \"1.27\", \"more\": [1]", true},
    {"\"format\": \"1.3\"", "\"format\": \"2.0\"", false},
    {"\"format\": \"1.3\"", "\"format\": \"10.0\"", false},
    {"\"format\": \"1.3\"", "\"format\": \"0.9\"", false},
    {"\"format\": \"1.3\"", "\"format\": \"1\"", false},
    {"\"format\": \"1.3\"", "\"format\": \"1.\"", false},
    {"\"format\": \"1.3\"", "\"format\": \"\"", false},
    {"\"format\": \"1.3\"", "\"format\": \"1.0x\"", false},
    {"\"format\": \"1.3\"", "\"format\": 1.0", false},
    {"\"format\": \"1.3\",", "", false},
    {"\"test\": \"lat\"", "\"test\": \"lag\"", false},
    {"\"test\": \"lat\"", "\"test\": \"rate\"", false},
    {"\"test\": \"lat\"", "\"test\": 0", false},
    {"\"test\": \"lat\"", "\"test\": \"lat\", \"test\": \"lat\"", false},
    {"\"level\": \"rpc\"", "\"level\": \"rpg\"", false},
    {"\"level\": \"rpc\"", "\"level\": null", false},
    {"\"size_bytes\": 64", "\"size_bytes\": -1", false},
    {"\"size_bytes\": 64", "\"size_bytes\": 64.0", false},
    {"\"size_bytes\": 64", "\"size_bytes\": 9223372036854775808", false},
    {"\"size_bytes\": 64", "\"size_bytes\": 9223372036854775807", true},
    {"\"in_flight\": 1", "\"in_flight\": 0", false},
    {"\"in_flight\": 1", "\"in_flight\": 4294967296", false},
    {"\"in_flight\": 1", "\"in_flight\": 4294967295", true},
    {"\"threads\": 2", "\"threads\": \"2\"", false},
    {"\"processors\": ", "\"processors\": -", false},
    {"\"target_processor\": 1", "\"target_processor\": 2147483648", false},
    {"\"target_processor\": 1", "\"target_processor\": -1", false},
    {"\"target_processor\": 1", "\"target_processor\": null", true},
    {"\"local\": true", "\"local\": 1", false},
    {"\"mem_alloc\": true", "\"mem_alloc\": 1", false},
    {"\"mem_alloc\": true", "\"more\": 1", true},
    {"\"slow\": false", "\"slow\": null", false},
    {"\"value_ns\": 101.0", "\"value_ns\": null", false},
    {"\"value_ns\": 101.0", "\"value_ns\": -1", false},
    {"\"value_ns\": 101.0", "\"value_ns\": 1e999", false},
    {"\"value_ns\": 101.0", "\"value_ns\": NaN", false},
    {"\"value_ns\": 101.0", "\"value_ns\": \"101\"", false},
    {"\"value_ns\": 101.0", "\"value_ns\": 101", true},
    {"\"gauge_ns\": 120.0", "\"gauge_ns\": null", true},
    {"\"gauge_ns\": 120.0", "\"gauge_ns\": \"120\"", false},
    {"\"operation_quantiles\": {", "\"operation_quantiles\": 1, \"x\": {",
        false},
    {"\"p90_ns\"", "\"p91_ns\"", false},
    {"\"info\": \"na+sm\"", "\"info\": null", false},
    {"\"label\": \"", "\"label\": \"\\u0000", false},
    {"\"label\": \"", "\"label\": \"\xff", false},
    {"\"label\": \"", "\"label\": 5, \"x\": \"", false},
    {"\"machine\": {", "\"machine\": [], \"x\": {", false},
    {"\"settings\": {", "\"settings\": \"x\", \"x\": {", false},
    {"\"points\": [", "\"points\": [], \"x\": [", false},
    {"\"points\": [", "\"points\": [5,", false},
    {"\"points\": [", "\"points\": {\"a\": 5}, \"x\": [", false},
    {"\"rounds\": [", "\"rounds\": [], \"x\": [", false},
    {"\"rounds\": [", "\"rounds\": [null,", false},
};

START_TEST(result_json_changed_is_read_or_rejected)
{
    struct perf_result result, again;
    char *text, *place, *changed;

    make_result(&result, PERF_LAT, 7);
    text = print(&result);
    perf_result_finish(&result);
    /* The last match: a summary contains some of the names before its
     * rounds. */
    place = NULL;
    for (char *next = text; (next = strstr(next, changes[_i].from)); next++)
        place = next;
    ck_assert_msg(place, "no %s", changes[_i].from);
    ck_assert_int_ge(asprintf(&changed, "%.*s%s%s", (int) (place - text), text,
                         changes[_i].to, place + strlen(changes[_i].from)),
        0);
    ck_assert_msg(
        read_text(changed, &again) == changes[_i].good, "%s", changes[_i].to);
    if (changes[_i].good)
        perf_result_finish(&again);
    free(changed);
    free(text);
}
END_TEST

/* Every truncation of a valid file is rejected. */
START_TEST(result_json_truncated_is_rejected)
{
    struct perf_result result, again;
    char *text;

    make_result(&result, PERF_LAT, 1);
    text = print(&result);
    perf_result_finish(&result);
    for (size_t length = strlen(text) - 2; length > 0;
         length -= length > 97 ? 97 : length) {
        text[length] = '\0';
        ck_assert(!read_text(text, &again));
    }
    free(text);
}
END_TEST

START_TEST(result_json_of_unreadable_file_is_rejected)
{
    struct perf_result result;

    ck_assert(!perf_read_json("/nonexistent/file", &result));
    ck_assert(!perf_read_json("/tmp", &result));
    /* A device that never ends. */
    ck_assert(!perf_read_json("/dev/zero", &result));
    ck_assert(!read_text("", &result));
    ck_assert(!read_text("[]", &result));
    ck_assert(!read_text("{}", &result));
}
END_TEST

START_TEST(gauge_measures_and_restores_thread_affinity)
{
    cpu_set_t before, after;
    struct perf_gauge *gauge;
    double value;

    ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
    ck_assert(perf_gauge_start(-1, -1, &gauge));
    if (CPU_COUNT(&before) > 1)
        ck_assert_ptr_nonnull(gauge);
    for (int i = 0; gauge && i < 3; i++) {
        value = perf_gauge_measure(gauge);
        /* Less than light needs for a centimetre. */
        ck_assert_double_gt(value, 0.03);
    }
    ck_assert_int_eq(sched_getaffinity(0, sizeof after, &after), 0);
    ck_assert(CPU_EQUAL(&before, &after));
    perf_gauge_stop(gauge);
    ck_assert_double_nan(perf_gauge_measure(NULL));
    perf_gauge_stop(NULL);
}
END_TEST

/* The only child of this process. */
static pid_t
only_child(void)
{
    FILE *stream;
    char path[64];
    int pid = 0;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int) getpid());
    stream = fopen(path, "r");
    if (!stream || fscanf(stream, "%d", &pid) != 1)
        pid = 0;
    if (stream)
        fclose(stream);
    return pid;
}

START_TEST(gauge_whose_helper_is_stopped_or_killed_does_not_hang)
{
    struct perf_gauge *gauge;
    pid_t helper;

    ck_assert(perf_gauge_start(-1, -1, &gauge));
    if (!gauge)
        return;
    helper = only_child();
    ck_assert_int_gt(helper, 0);
    /* A stopped helper counts as a slow machine, */
    kill(helper, SIGSTOP);
    ck_assert_double_gt(perf_gauge_measure(gauge), 1e6);
    kill(helper, SIGCONT);
    ck_assert(!isnan(perf_gauge_measure(gauge)));
    /* a dead one gives no value. */
    kill(helper, SIGKILL);
    ck_assert_double_nan(perf_gauge_measure(gauge));
    ck_assert_double_nan(perf_gauge_measure(gauge));
    perf_gauge_stop(gauge);
    ck_assert_int_eq(only_child(), 0);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("perf_result");

    tcase_add_test(tcase, result_summary_matches_its_rounds);
    tcase_add_test(tcase, result_slow_rounds_do_not_count);
    tcase_add_test(tcase, result_summary_of_no_rounds_is_empty);
    tcase_add_loop_test(
        tcase, result_json_read_back_is_the_same, 0, PERF_TESTS);
    tcase_add_loop_test(tcase, result_json_changed_is_read_or_rejected, 0,
        sizeof changes / sizeof changes[0]);
    tcase_add_test(tcase, result_json_truncated_is_rejected);
    tcase_add_test(tcase, result_json_of_unreadable_file_is_rejected);
    tcase_add_test(tcase, gauge_measures_and_restores_thread_affinity);
    tcase_add_test(
        tcase, gauge_whose_helper_is_stopped_or_killed_does_not_hang);
    return run_tcase("perf_result", tcase);
}
