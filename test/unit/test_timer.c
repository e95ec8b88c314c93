/* SPDX-License-Identifier: BSD-3-Clause */
/* The timer heap, with a progress that only records its deadline: timers expire
 * in order, whatever was set, moved and stopped before. */
#include "hg/timer.h"

#include "base/time.h"
#include "na/progress.h"
#include "runner.h"

#include <check.h>
#include <stdlib.h>

#define TIMERS 300U
#define ROUNDS 2000U

void __wrap_na_progress_timer_init(struct na_progress *progress,
    void (*expired)(void *arg, uint64_t now), void *arg);
void __wrap_na_progress_timer_set(struct na_progress *progress, uint64_t due);

static struct {
    void (*expired)(void *arg, uint64_t now);
    void *arg;
    uint64_t due;
} progress;

void
__wrap_na_progress_timer_init(struct na_progress *unused,
    void (*expired)(void *arg, uint64_t now), void *arg)
{
    progress.expired = expired;
    progress.arg = arg;
}

void
__wrap_na_progress_timer_set(struct na_progress *unused, uint64_t due)
{
    progress.due = due;
}

static struct hg_timers timers;
static struct hg_timer all[TIMERS];
static uint64_t wanted[TIMERS]; /* deadline of each; 0: not set */
static uint64_t now;
static uint64_t again; /* deadline requested by the next timer that expires */
static unsigned retries;

static uint64_t
earliest(void)
{
    uint64_t due = BASE_TIME_NEVER;

    for (unsigned i = 0; i < TIMERS; i++)
        if (wanted[i] != 0 && wanted[i] < due)
            due = wanted[i];
    return due;
}

static uint64_t
on_expired(struct hg_timer *timer, uint64_t time)
{
    uint64_t next = again;

    ck_assert_uint_eq(time, now);
    ck_assert_uint_le(timer->due, now);
    ck_assert_uint_eq(timer->due, wanted[timer - all]);
    ck_assert_uint_eq(timer->due, earliest());
    again = BASE_TIME_NEVER;
    wanted[timer - all] = next == BASE_TIME_NEVER ? 0 : next;
    return next;
}

static bool
is_current(struct hg_timer *timer, uint32_t use)
{
    return use == 1;
}

static void
on_retry(void *arg)
{
    retries++;
}

static const struct hg_timer_calls calls = {on_expired, is_current, on_retry};

static void
set_up(void)
{
    hg_timers_init(&timers, NULL, true, &calls, NULL);
    again = BASE_TIME_NEVER;
}

static void
tear_down(void)
{
    hg_timers_finish(&timers);
}

static void
start(unsigned i, uint64_t due)
{
    ck_assert_int_eq(hg_timer_start(&timers, &all[i], 1, due), HG_SUCCESS);
    wanted[i] = due;
}

static void
stop(unsigned i)
{
    hg_timer_stop(&timers, &all[i]);
    wanted[i] = 0;
}

/* Expires all timers that are due by then. */
static void
expire(uint64_t until)
{
    now = until;
    progress.expired(progress.arg, now);
    ck_assert_uint_gt(earliest(), now);
    ck_assert_uint_eq(progress.due, earliest());
}

START_TEST(timer_set_moved_and_stopped_expire_in_order)
{
    srandom(1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned i = (unsigned) random() % TIMERS;

        if (random() % 3 == 0)
            stop(i);
        else
            start(i, now + 1 + (uint64_t) random() % 1000);
        ck_assert_uint_eq(progress.due, earliest());
        if (round % 100 == 99)
            expire(now + (uint64_t) random() % 500);
    }
    while (earliest() != BASE_TIME_NEVER)
        expire(earliest());
}
END_TEST

/* The last timer of the heap replaces the stopped one, and has to move above
 * its new parent. */
START_TEST(timer_stopped_in_the_middle_leaves_the_others_in_order)
{
    static const uint64_t due[] = {1, 10, 2, 20, 30, 3, 4};

    for (unsigned i = 0; i < sizeof due / sizeof due[0]; i++)
        start(i, due[i]);
    stop(3);
    stop(1);
    for (uint64_t time = 1; time <= 30; time++)
        expire(time);
    ck_assert_uint_eq(earliest(), BASE_TIME_NEVER);
}
END_TEST

START_TEST(timer_that_is_due_again_stays_in_order)
{
    start(0, 10);
    start(1, 20);
    start(2, 30);
    again = 25;
    expire(10);
    ck_assert_uint_eq(progress.due, 20);
    expire(20);
    ck_assert_uint_eq(progress.due, 25);
    expire(30);
}
END_TEST

START_TEST(timer_of_an_earlier_generation_is_not_set)
{
    ck_assert_int_eq(hg_timer_start(&timers, &all[0], 1, 10), HG_SUCCESS);
    ck_assert_int_eq(hg_timer_start(&timers, &all[0], 2, 5), HG_SUCCESS);
    ck_assert_uint_eq(progress.due, 10);
    ck_assert_int_eq(hg_timer_start(&timers, &all[1], 2, 5), HG_SUCCESS);
    ck_assert_uint_eq(progress.due, 10);
    stop(0);
    ck_assert_uint_eq(progress.due, BASE_TIME_NEVER);
}
END_TEST

START_TEST(timer_of_a_retry_calls_once)
{
    uint64_t due;

    hg_timers_retry(&timers);
    due = progress.due;
    ck_assert_uint_lt(due, BASE_TIME_NEVER);
    now = due - 1;
    progress.expired(progress.arg, now);
    ck_assert_uint_eq(retries, 0);
    now = due;
    progress.expired(progress.arg, now);
    progress.expired(progress.arg, now);
    ck_assert_uint_eq(retries, 1);
    ck_assert_uint_eq(progress.due, BASE_TIME_NEVER);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("timer");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, timer_set_moved_and_stopped_expire_in_order);
    tcase_add_test(
        tcase, timer_stopped_in_the_middle_leaves_the_others_in_order);
    tcase_add_test(tcase, timer_that_is_due_again_stays_in_order);
    tcase_add_test(tcase, timer_of_an_earlier_generation_is_not_set);
    tcase_add_test(tcase, timer_of_a_retry_calls_once);
    return run_tcase("timer", tcase);
}
