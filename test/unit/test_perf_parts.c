/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of talaria perf: sizes as users write them, plans and their limits,
 * histograms, patterns. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "perf/histogram.h"
#include "perf/pattern.h"
#include "perf/plan.h"
#include "perf/sizes.h"
#include "runner.h"

START_TEST(sizes_number_reads_suffixes_within_bounds)
{
    uint64_t value = 7;

    ck_assert(perf_number_read("12", false, 0, 12, &value));
    ck_assert_uint_eq(value, 12);
    ck_assert(perf_number_read("3k", true, 0, UINT64_MAX, &value));
    ck_assert_uint_eq(value, 3072);
    ck_assert(perf_number_read("2G", true, 0, UINT64_MAX, &value));
    ck_assert_uint_eq(value, UINT64_C(2) << 30);
    ck_assert(!perf_number_read("3k", false, 0, UINT64_MAX, &value));
    ck_assert(!perf_number_read("13", false, 0, 12, &value));
    ck_assert(!perf_number_read("1", false, 2, 12, &value));
    ck_assert(!perf_number_read("", true, 0, 12, &value));
    ck_assert(!perf_number_read("-1", true, 0, UINT64_MAX, &value));
    ck_assert(!perf_number_read("+1", true, 0, UINT64_MAX, &value));
    ck_assert(!perf_number_read("1KK", true, 0, UINT64_MAX, &value));
    ck_assert(!perf_number_read("1T", true, 0, UINT64_MAX, &value));
    ck_assert(
        !perf_number_read("99999999999999999999", true, 0, UINT64_MAX, &value));
    ck_assert(!perf_number_read(
        "18446744073709551615K", true, 0, UINT64_MAX, &value));
    ck_assert_uint_eq(value, UINT64_C(2) << 30);
}
END_TEST

START_TEST(sizes_list_reads_ranges)
{
    uint64_t sizes[8];
    uint32_t count;

    ck_assert(perf_sizes_read("0,64,1K:5K,3", sizes, 8, &count));
    ck_assert_uint_eq(count, 6);
    ck_assert_uint_eq(sizes[0], 0);
    ck_assert_uint_eq(sizes[1], 64);
    ck_assert_uint_eq(sizes[2], 1024);
    ck_assert_uint_eq(sizes[4], 4096);
    ck_assert_uint_eq(sizes[5], 3);
    ck_assert(perf_sizes_read("1:128", sizes, 8, &count));
    ck_assert_uint_eq(count, 8);
    ck_assert(!perf_sizes_read("1:256", sizes, 8, &count));
    ck_assert(!perf_sizes_read("", sizes, 8, &count));
    ck_assert(!perf_sizes_read("1,,2", sizes, 8, &count));
    ck_assert(!perf_sizes_read("0:8", sizes, 8, &count));
    ck_assert(!perf_sizes_read("8:4", sizes, 8, &count));
    ck_assert(!perf_sizes_read("1025M", sizes, 8, &count));
}
END_TEST

static const struct perf_plan good_plan = {.level = PERF_BULK,
    .bandwidth = true,
    .inflight = 4,
    .threads = 2,
    .contexts = 2,
    .classes = 2,
    .clients = 2,
    .size_max = 1 << 20};

START_TEST(plan_within_limits_is_valid)
{
    struct perf_plan plan = good_plan;

    ck_assert_ptr_null(perf_plan_check(&plan));
    plan.inflight = PERF_INFLIGHT_MAX;
    plan.level = PERF_RPC;
    ck_assert_ptr_null(perf_plan_check(&plan));
    plan = good_plan;
    plan.size_max = 0;
    ck_assert_ptr_null(perf_plan_check(&plan));
}
END_TEST

/* Each field beyond its limit; products that would overflow. */
START_TEST(plan_beyond_a_limit_is_invalid)
{
    static const uint32_t beyond[] = {
        0, 5000, 65537, UINT32_MAX / 2 + 1, UINT32_MAX};
    struct perf_plan plan;

    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        plan = good_plan, plan.inflight = beyond[i];
        ck_assert_ptr_nonnull(perf_plan_check(&plan));
        plan = good_plan, plan.threads = beyond[i];
        ck_assert_ptr_nonnull(perf_plan_check(&plan));
        plan = good_plan, plan.contexts = beyond[i];
        ck_assert_ptr_nonnull(perf_plan_check(&plan));
        plan = good_plan, plan.classes = beyond[i];
        ck_assert_ptr_nonnull(perf_plan_check(&plan));
        plan = good_plan, plan.clients = beyond[i];
        ck_assert_ptr_nonnull(perf_plan_check(&plan));
    }
    plan = good_plan, plan.contexts = 3;
    ck_assert_ptr_nonnull(perf_plan_check(&plan));
    plan = good_plan, plan.single = true;
    ck_assert_ptr_nonnull(perf_plan_check(&plan));
    plan = good_plan, plan.size_max = PERF_SIZE_MAX + 1;
    ck_assert_ptr_nonnull(perf_plan_check(&plan));
    plan = good_plan, plan.size_max = UINT64_MAX;
    ck_assert_ptr_nonnull(perf_plan_check(&plan));
    plan = good_plan, plan.level = (enum perf_level) 200;
    ck_assert_ptr_nonnull(perf_plan_check(&plan));
    plan = good_plan, plan.size_max = PERF_MEMORY_MAX / 31;
    ck_assert_ptr_nonnull(perf_plan_check(&plan));
}
END_TEST

/* Every buffer that a plan makes the target allocate is counted. */
START_TEST(plan_memory_counts_all_buffers)
{
    struct perf_plan plan = good_plan;

    /* A slot per operation, and a message per thread. */
    ck_assert_uint_eq(
        perf_plan_memory(&plan), (UINT64_C(1) << 20) * (2 * 2 * 4 * 2 + 4));
    plan.level = PERF_RPC;
    ck_assert_uint_eq(perf_plan_memory(&plan), (UINT64_C(1) << 20) * 4);
    /* Nine receives in each of two contexts of two classes, input and
     * output. */
    plan.level = PERF_NA;
    plan.bandwidth = false;
    ck_assert_uint_eq(
        perf_plan_memory(&plan), (UINT64_C(1) << 20) * (2 * 9 * 2 * 2 + 4));
    plan.inflight = 4096;
    ck_assert_uint_eq(perf_plan_receives(&plan), PERF_RECEIVES_MAX);
}
END_TEST

START_TEST(plan_fits_up_to_limits)
{
    struct perf_plan plan = good_plan;
    uint64_t rest = PERF_MEMORY_ALL - perf_plan_memory(&plan);

    ck_assert_ptr_null(perf_plan_fits(&plan, 0, 0));
    ck_assert_ptr_null(perf_plan_fits(&plan, rest, PERF_THREADS_ALL - 4));
    ck_assert_ptr_nonnull(perf_plan_fits(&plan, rest + 1, 0));
    ck_assert_ptr_nonnull(perf_plan_fits(&plan, 0, PERF_THREADS_ALL - 3));
}
END_TEST

/* Slots of any size fit into what was allocated for the largest. */
START_TEST(plan_stride_grows_with_size)
{
    for (uint64_t size = 0; size < 20000; size++) {
        ck_assert_uint_ge(perf_plan_stride(size), size);
        ck_assert_uint_gt(perf_plan_stride(size), 0);
        ck_assert_uint_le(perf_plan_stride(size), perf_plan_stride(size + 1));
    }
}
END_TEST

START_TEST(histogram_buckets_are_narrow_and_in_order)
{
    uint32_t last = 0;

    for (uint64_t ns = 0; ns < UINT64_C(1) << 50; ns += ns / 300 + 1) {
        uint32_t bucket = perf_histogram_bucket(ns);

        ck_assert_uint_ge(bucket, last);
        ck_assert_uint_lt(bucket, PERF_HISTOGRAM_BUCKETS);
        last = bucket;
    }
    ck_assert_uint_eq(
        perf_histogram_bucket(UINT64_MAX), PERF_HISTOGRAM_BUCKETS - 1);
}
END_TEST

START_TEST(histogram_quantiles_are_within_one_percent)
{
    struct perf_histogram *one = calloc(2, sizeof *one), *two = one + 1;
    double quantiles[PERF_QUANTILES];

    ck_assert_ptr_nonnull(one);
    perf_histogram_quantiles(one, quantiles);
    for (int i = 0; i < PERF_QUANTILES; i++)
        ck_assert_double_nan(quantiles[i]);
    /* 1 to 100,000 times 37 ns, in two histograms. */
    for (uint64_t i = 1; i <= 100000; i++)
        perf_histogram_add(i % 3 ? one : two, i * 37);
    perf_histogram_merge(one, two);
    perf_histogram_quantiles(one, quantiles);
    ck_assert_double_eq_tol(quantiles[PERF_P50] / 1850000, 1, 0.01);
    ck_assert_double_eq_tol(quantiles[PERF_P90] / 3330000, 1, 0.01);
    ck_assert_double_eq_tol(quantiles[PERF_P99] / 3663000, 1, 0.01);
    ck_assert_double_eq_tol(quantiles[PERF_P999] / 3696300, 1, 0.01);
    ck_assert_double_eq(quantiles[PERF_MAX], 3700000);
    free(one);
}
END_TEST

START_TEST(histogram_of_one_value_has_it_as_quantiles)
{
    struct perf_histogram *one = calloc(1, sizeof *one);
    double quantiles[PERF_QUANTILES];

    ck_assert_ptr_nonnull(one);
    perf_histogram_add(one, 0);
    perf_histogram_quantiles(one, quantiles);
    ck_assert_double_eq(quantiles[PERF_P50], 0);
    ck_assert_double_eq(quantiles[PERF_MAX], 0);
    free(one);
}
END_TEST

START_TEST(pattern_check_finds_any_byte)
{
    char bytes[100], saved;

    for (size_t size = 0; size <= sizeof bytes; size++) {
        perf_pattern_fill(bytes, size, UINT64_C(0x123456789abcdef0));
        ck_assert_uint_eq(
            perf_pattern_check(bytes, size, UINT64_C(0x123456789abcdef0)),
            size);
        for (size_t i = 0; i < size; i++) {
            saved = bytes[i];
            bytes[i] ^= 1;
            ck_assert_uint_eq(
                perf_pattern_check(bytes, size, UINT64_C(0x123456789abcdef0)),
                i);
            bytes[i] = saved;
        }
        if (size >= 8)
            ck_assert_uint_eq(
                perf_pattern_key(bytes, size), UINT64_C(0x123456789abcdef0));
    }
}
END_TEST

START_TEST(pattern_of_another_key_is_another)
{
    char one[64], two[64];

    perf_pattern_fill(one, sizeof one, 1);
    perf_pattern_fill(two, sizeof two, 2);
    for (size_t i = 0; i < sizeof one; i += 8)
        ck_assert_mem_ne(one + i, two + i, 8);
    ck_assert_uint_eq(perf_pattern_check(one, sizeof one, 2), 0);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("perf_parts");

    tcase_add_test(tcase, sizes_number_reads_suffixes_within_bounds);
    tcase_add_test(tcase, sizes_list_reads_ranges);
    tcase_add_test(tcase, plan_within_limits_is_valid);
    tcase_add_test(tcase, plan_beyond_a_limit_is_invalid);
    tcase_add_test(tcase, plan_memory_counts_all_buffers);
    tcase_add_test(tcase, plan_fits_up_to_limits);
    tcase_add_test(tcase, plan_stride_grows_with_size);
    tcase_add_test(tcase, histogram_buckets_are_narrow_and_in_order);
    tcase_add_test(tcase, histogram_quantiles_are_within_one_percent);
    tcase_add_test(tcase, histogram_of_one_value_has_it_as_quantiles);
    tcase_add_test(tcase, pattern_check_finds_any_byte);
    tcase_add_test(tcase, pattern_of_another_key_is_another);
    return run_tcase("perf_parts", tcase);
}
