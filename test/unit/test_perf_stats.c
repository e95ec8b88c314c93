/* SPDX-License-Identifier: BSD-3-Clause */
/* Medians and their intervals against tables of the sign test, ratios against
 * tables of the Mann-Whitney test. */
#include "perf/stats.h"
#include "runner.h"

#include <check.h>
#include <math.h>

START_TEST(stats_sort_with_nan_counts_numbers)
{
    double values[] = {3, (double) NAN, 1, (double) NAN, 2};

    ck_assert_uint_eq(perf_stats_sort(values, 5), 3);
    ck_assert_double_eq(values[0], 1);
    ck_assert_double_eq(values[1], 2);
    ck_assert_double_eq(values[2], 3);
    ck_assert_uint_eq(perf_stats_sort(values, 0), 0);
}
END_TEST

START_TEST(stats_quantile_is_between_values)
{
    static const double sorted[] = {10, 20, 40, 80};

    ck_assert_double_nan(perf_stats_quantile(sorted, 0, 0.5));
    ck_assert_double_eq(perf_stats_quantile(sorted, 1, 0.9), 10);
    ck_assert_double_eq(perf_stats_quantile(sorted, 4, 0), 10);
    ck_assert_double_eq(perf_stats_quantile(sorted, 4, 0.5), 30);
    ck_assert_double_eq(perf_stats_quantile(sorted, 4, 1), 80);
    ck_assert_double_eq_tol(perf_stats_quantile(sorted, 4, 0.9), 68, 1e-9);
    ck_assert_double_eq(perf_stats_quantile(sorted, 3, 0.5), 20);
}
END_TEST

/* Rank from either end, by the number of values: critical values of the
 * two-sided sign test at 5 %, plus one. */
static const struct {
    size_t count;
    size_t k;
} signs[] = {{6, 1}, {7, 1}, {8, 1}, {9, 2}, {11, 2}, {12, 3}, {15, 4}, {17, 5},
    {20, 6}, {25, 8}, {30, 10}, {50, 18}, {100, 40}};

START_TEST(stats_median_interval_matches_sign_test)
{
    size_t count = signs[_i].count, k = signs[_i].k;
    struct perf_estimate estimate;
    double sorted[100];

    for (size_t i = 0; i < count; i++)
        sorted[i] = (double) (i + 1);
    estimate = perf_stats_median(sorted, count);
    ck_assert_double_eq(estimate.value, (double) (count + 1) / 2);
    ck_assert_double_eq(estimate.low, (double) k);
    ck_assert_double_eq(estimate.high, (double) (count + 1 - k));
}
END_TEST

START_TEST(stats_median_of_few_has_no_interval)
{
    static const double sorted[] = {1, 2, 3, 4, 5};

    for (size_t count = 0; count <= 5; count++) {
        struct perf_estimate estimate = perf_stats_median(sorted, count);

        ck_assert_double_nan(estimate.low);
        ck_assert_double_nan(estimate.high);
        ck_assert_int_eq(isnan(estimate.value) != 0, count == 0);
    }
}
END_TEST

/* Number of quotients on either side of the interval: critical values of U,
 * two-sided at 5 %; -1: no interval. */
static const struct {
    size_t a;
    size_t b;
    int critical;
} ranks[] = {{1, 20, -1}, {3, 3, -1}, {3, 4, -1}, {4, 4, 0}, {3, 5, 0},
    {5, 5, 2}, {5, 20, 20}, {8, 8, 13}, {10, 10, 23}, {15, 15, 64},
    {20, 20, 127}};

START_TEST(stats_ratio_interval_matches_mann_whitney)
{
    size_t count_a = ranks[_i].a, count_b = ranks[_i].b, below = 0;
    double a[20], b[20];
    struct perf_estimate estimate;

    for (size_t i = 0; i < count_a; i++)
        a[i] = 1 / (double) (1 + i * 1000);
    for (size_t i = 0; i < count_b; i++)
        b[i] = (double) (i + 1);
    estimate = perf_stats_ratio(a, count_a, b, count_b);
    ck_assert(isfinite(estimate.value));
    ck_assert_int_eq(isnan(estimate.low) != 0, ranks[_i].critical < 0);
    if (ranks[_i].critical < 0)
        return;
    for (size_t i = 0; i < count_a; i++) {
        for (size_t j = 0; j < count_b; j++) {
            /* Rounded like the interval: the x87 unit has more digits. */
            volatile double quotient = b[j] / a[i];

            below += quotient < estimate.low;
        }
    }
    ck_assert_uint_eq(below, (size_t) ranks[_i].critical);
}
END_TEST

START_TEST(stats_ratio_reversed_is_its_inverse)
{
    static const double a[] = {100, 103, 98, 101, 120, 99};
    static const double b[] = {150, 149, 155, 190, 151, 148, 152};
    struct perf_estimate there = perf_stats_ratio(a, 6, b, 7);
    struct perf_estimate back = perf_stats_ratio(b, 7, a, 6);

    ck_assert_double_eq_tol(there.value, 1.5, 0.03);
    ck_assert_double_gt(there.low, 1);
    ck_assert_double_eq_tol(there.value * back.value, 1, 1e-12);
    ck_assert_double_eq_tol(there.low * back.high, 1, 1e-12);
    ck_assert_double_eq_tol(there.high * back.low, 1, 1e-12);
}
END_TEST

/* The normal approximation continues where the exact count ends. */
START_TEST(stats_ratio_of_many_is_continuous)
{
    double values[44];
    double width[2];

    for (size_t i = 0; i < 44; i++)
        values[i] = 100 + (double) (i * 37 % 44);
    for (size_t i = 0; i < 2; i++) {
        size_t count = i == 0 ? 40 : 44;
        struct perf_estimate estimate =
            perf_stats_ratio(values, count, values, count);

        ck_assert_double_eq_tol(estimate.value, 1, 1e-9);
        width[i] = estimate.high - estimate.low;
    }
    ck_assert_double_eq_tol(width[1] / width[0], 1, 0.1);
}
END_TEST

START_TEST(stats_ratio_of_nothing_or_zero_is_undefined)
{
    static const double good[] = {1, 2, 3, 4, 5, 6};
    static const double zero[] = {1, 2, 0, 4, 5, 6};

    ck_assert_double_nan(perf_stats_ratio(good, 0, good, 6).value);
    ck_assert_double_nan(perf_stats_ratio(good, 6, good, 0).value);
    ck_assert_double_nan(perf_stats_ratio(zero, 6, good, 6).value);
    ck_assert_double_nan(perf_stats_ratio(good, 6, zero, 6).low);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("perf_stats");

    tcase_add_test(tcase, stats_sort_with_nan_counts_numbers);
    tcase_add_test(tcase, stats_quantile_is_between_values);
    tcase_add_loop_test(tcase, stats_median_interval_matches_sign_test, 0,
        sizeof signs / sizeof signs[0]);
    tcase_add_test(tcase, stats_median_of_few_has_no_interval);
    tcase_add_loop_test(tcase, stats_ratio_interval_matches_mann_whitney, 0,
        sizeof ranks / sizeof ranks[0]);
    tcase_add_test(tcase, stats_ratio_reversed_is_its_inverse);
    tcase_add_test(tcase, stats_ratio_of_many_is_continuous);
    tcase_add_test(tcase, stats_ratio_of_nothing_or_zero_is_undefined);
    return run_tcase("perf_stats", tcase);
}
