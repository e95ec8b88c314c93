/* SPDX-License-Identifier: BSD-3-Clause */
/* Time and deadlines. */
#include "base/time.h"
#include "runner.h"

#include <check.h>
#include <limits.h>

#define NS_PER_S 1000000000ULL

START_TEST(time_now_is_monotonic_clock)
{
    struct timespec before, after;
    uint64_t now;

    clock_gettime(CLOCK_MONOTONIC, &before);
    now = base_time_now();
    clock_gettime(CLOCK_MONOTONIC, &after);
    ck_assert_uint_ge(
        now, (uint64_t) before.tv_sec * NS_PER_S + (uint64_t) before.tv_nsec);
    ck_assert_uint_le(
        now, (uint64_t) after.tv_sec * NS_PER_S + (uint64_t) after.tv_nsec);
}
END_TEST

START_TEST(time_now_never_goes_back)
{
    uint64_t last = base_time_now();

    for (int i = 0; i < 10000; i++) {
        uint64_t now = base_time_now();

        ck_assert_uint_ge(now, last);
        last = now;
    }
}
END_TEST

START_TEST(deadline_is_so_many_ms_from_now)
{
    static const unsigned timeouts[] = {0, 1, 1000, 3600 * 1000, UINT_MAX};

    for (size_t i = 0; i < sizeof timeouts / sizeof timeouts[0]; i++) {
        uint64_t ns = (uint64_t) timeouts[i] * BASE_TIME_MS;
        uint64_t before = base_time_now();
        uint64_t deadline = base_time_deadline(timeouts[i]);

        ck_assert_uint_ge(deadline, before + ns);
        ck_assert_uint_le(deadline, base_time_now() + ns);
        ck_assert_uint_lt(deadline, BASE_TIME_NEVER);
    }
}
END_TEST

START_TEST(time_left_is_time_until_deadline)
{
    uint64_t deadline = base_time_deadline(3600 * 1000);
    uint64_t before = base_time_now();
    uint64_t left = base_time_left(deadline);

    ck_assert_uint_le(left, deadline - before);
    ck_assert_uint_ge(left, deadline - base_time_now());
}
END_TEST

START_TEST(time_left_of_passed_deadline_is_zero)
{
    ck_assert_uint_eq(base_time_left(0), 0);
    ck_assert_uint_eq(base_time_left(base_time_now()), 0);
    ck_assert_uint_eq(base_time_left(base_time_deadline(0)), 0);
}
END_TEST

START_TEST(time_left_of_never_is_never)
{
    ck_assert_uint_eq(base_time_left(BASE_TIME_NEVER), BASE_TIME_NEVER);
    ck_assert_uint_lt(base_time_left(BASE_TIME_NEVER - 1), BASE_TIME_NEVER - 1);
}
END_TEST

START_TEST(time_spec_splits_seconds)
{
    static const struct {
        uint64_t ns;
        uint64_t s;
        long rest;
    } cases[] = {
        {0, 0, 0},
        {1, 0, 1},
        {NS_PER_S - 1, 0, 999999999},
        {NS_PER_S, 1, 0},
        {5 * NS_PER_S + 7, 5, 7},
        {BASE_TIME_NEVER, 18446744073, 709551615},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct timespec spec = base_time_spec(cases[i].ns);

        if (sizeof(time_t) < 8 && cases[i].s > INT32_MAX) {
            ck_assert_int_eq(spec.tv_sec, INT32_MAX);
            ck_assert_int_eq(spec.tv_nsec, 0);
            continue;
        }
        ck_assert_uint_eq((uint64_t) spec.tv_sec, cases[i].s);
        ck_assert_int_eq(spec.tv_nsec, cases[i].rest);
    }
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("time");

    tcase_add_test(tcase, time_now_is_monotonic_clock);
    tcase_add_test(tcase, time_now_never_goes_back);
    tcase_add_test(tcase, deadline_is_so_many_ms_from_now);
    tcase_add_test(tcase, time_left_is_time_until_deadline);
    tcase_add_test(tcase, time_left_of_passed_deadline_is_zero);
    tcase_add_test(tcase, time_left_of_never_is_never);
    tcase_add_test(tcase, time_spec_splits_seconds);
    return run_tcase("time", tcase);
}
