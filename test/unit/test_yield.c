/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing between polls that yield and polls that don't, from events. */
#include "na/yield.h"

#include "base/time.h"
#include "runner.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#define US UINT64_C(1000)
#define USELESS 512 /* yields in a row, after which they are rare */
#define MS UINT64_C(1000000)

/* A simulation: time between events with yields and without, and the part of the
 * time that yields lose, in percent. */
struct machine {
    uint64_t on_ns;
    uint64_t off_ns;
    uint64_t lost_percent;
};

static uint64_t now_ns = 1;
static uint32_t events;

/* Simulates ms milliseconds. Returns how many of them had yields. */
static uint32_t
run(struct na_yield *yield, const struct machine *machine, uint32_t ms)
{
    static uint64_t part_ns; /* of the next event */
    uint32_t yielded = 0;

    for (uint32_t i = 0; i < ms; i++) {
        bool on = na_yield_may(yield, events, now_ns);
        uint64_t event_ns = on ? machine->on_ns : machine->off_ns;

        if (on) {
            yielded++;
            atomic_fetch_add(&yield->lost_ns, MS / 100 * machine->lost_percent);
        }
        now_ns += MS;
        part_ns += MS;
        events += (uint32_t) (part_ns / event_ns);
        part_ns %= event_ns;
    }
    return yielded;
}

/* The peer shares the processor, and yields too. */
START_TEST(yields_that_cost_little_are_kept)
{
    const struct machine machine = {
        .on_ns = 30 * US, .off_ns = US, .lost_percent = 40};
    struct na_yield yield;

    na_yield_init(&yield);
    ck_assert_uint_eq(run(&yield, &machine, 10000), 10000);
}
END_TEST

/* A thread that never yields shares the processor. */
START_TEST(yields_that_cost_time_slices_end)
{
    const struct machine machine = {
        .on_ns = 4 * MS, .off_ns = 200 * US, .lost_percent = 95};
    struct na_yield yield;

    na_yield_init(&yield);
    ck_assert_uint_le(run(&yield, &machine, 1000), 150);
    /* tried ever less often: once in 64 windows */
    run(&yield, &machine, 10000);
    ck_assert_uint_le(run(&yield, &machine, 10000), 10000 / 50);
}
END_TEST

/* Both of two threads have stopped yielding to each other: without its yields
 * neither is slower than with them. */
START_TEST(yields_are_preferred_if_they_make_no_difference)
{
    const struct machine machine = {
        .on_ns = 4 * MS, .off_ns = 3500 * US, .lost_percent = 95};
    struct na_yield yield;

    na_yield_init(&yield);
    run(&yield, &machine, 1000);
    ck_assert_uint_ge(run(&yield, &machine, 10000), 9000);
}
END_TEST

START_TEST(yields_are_resumed_once_they_pay_again)
{
    const struct machine beside_spinner = {
        .on_ns = 4 * MS, .off_ns = 200 * US, .lost_percent = 95};
    const struct machine beside_peer = {
        .on_ns = 30 * US, .off_ns = 4 * MS, .lost_percent = 40};
    struct na_yield yield;

    na_yield_init(&yield);
    run(&yield, &beside_spinner, 20000);
    ck_assert(yield.off);
    run(&yield, &beside_peer, 3000);
    ck_assert_uint_eq(run(&yield, &beside_peer, 10000), 10000);
}
END_TEST

/* Nothing was polled for a while: that is neither mode's fault. */
START_TEST(idle_time_does_not_count)
{
    const struct machine machine = {
        .on_ns = 4 * MS, .off_ns = 200 * US, .lost_percent = 95};
    struct na_yield yield;

    na_yield_init(&yield);
    run(&yield, &machine, 40); /* the trial has begun */
    ck_assert(yield.off && yield.trial);
    now_ns += 10000 * MS;
    run(&yield, &machine, 40);
    ck_assert(yield.off);
}
END_TEST

/* The share of each other thread of the processor counts, so that many that run
 * briefly are no reason to stop yielding. */
START_TEST(cost_depends_on_the_number_of_threads)
{
    ck_assert(na_yield_is_costly(MS, 3, 2));
    ck_assert(na_yield_is_costly(MS, 0, 2));
    ck_assert(na_yield_is_costly(4 * MS, 9, 2));
    ck_assert(!na_yield_is_costly(MS, 9, 2));
    ck_assert(!na_yield_is_costly(4 * MS, 257, 2));
    ck_assert(!na_yield_is_costly(200 * US, 0, 2));
}
END_TEST

/* How many of a yield each microsecond may be made, in ms milliseconds. */
static unsigned
made(struct na_yield *yield, unsigned ms)
{
    unsigned yields = 0;

    for (unsigned i = 0; i < ms * 1000; i++) {
        yields += na_yield_may(yield, events, now_ns);
        now_ns += US;
    }
    return yields;
}

START_TEST(useless_yields_become_rare)
{
    struct na_yield yield;

    na_yield_init(&yield);
    for (int i = 0; i < USELESS - 1; i++)
        na_yield_note(&yield, false);
    ck_assert_uint_eq(made(&yield, 5), 5000);
    na_yield_note(&yield, false);
    ck_assert_uint_eq(made(&yield, 5), 10);
    /* one that lets another thread run restores them */
    na_yield_note(&yield, true);
    ck_assert_uint_eq(made(&yield, 5), 5000);
    na_yield_note(&yield, false);
    ck_assert_uint_eq(made(&yield, 5), 5000);
}
END_TEST

/* Confines the calling thread, and those it creates, to one processor. */
static void
share_processor(void)
{
    cpu_set_t set;
    int first = 0;

    ck_assert_int_eq(sched_getaffinity(0, sizeof set, &set), 0);
    while (!CPU_ISSET(first, &set))
        first++;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    ck_assert_int_eq(sched_setaffinity(0, sizeof set, &set), 0);
}

static atomic_bool ended;

static void *
yield_until_ended(void *arg)
{
    while (!atomic_load(&ended)) {
        uint64_t end = base_time_now() + 20 * US;

        while (base_time_now() < end)
            ;
        sched_yield();
    }
    return arg;
}

/* Another thread on the same processor yields too: one of several yields lets it
 * run. How soon depends on what both have run before, so it is tried several
 * times. 0: yields are frequent, 1: rare. */
START_TEST(yields_beside_another_thread_are_useful)
{
    struct na_yield yield;
    pthread_t other;

    share_processor();
    ck_assert_int_eq(pthread_create(&other, NULL, yield_until_ended, NULL), 0);
    uint64_t end = base_time_now() + 5000 * MS;
    do {
        na_yield_init(&yield);
        for (int i = 0; i < (_i == 1 ? USELESS : USELESS / 4); i++)
            na_yield_note(&yield, false);
        for (int i = 0; i < 40 && atomic_load(&yield.useless) > 0; i++)
            na_yield_now(&yield);
    } while (atomic_load(&yield.useless) > 0 && base_time_now() < end);
    ck_assert_uint_eq(atomic_load(&yield.useless), 0);
    atomic_store(&ended, true);
    pthread_join(other, NULL);
}
END_TEST

static long
switches(void)
{
    struct rusage usage;

    ck_assert_int_eq(getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* However busy the machine is: a rare yield that let no thread run is useless, and
 * so is a short one. */
START_TEST(yields_without_a_switch_are_useless)
{
    uint64_t end = base_time_now() + 5000 * MS;
    struct na_yield yield;

    while (switches() == 0) /* which would mean that nothing is counted */
        usleep(100);
    for (int i = 0; i < 2000 && base_time_now() < end; i++) {
        bool rare = i % 2 != 0;
        long before = switches();
        uint64_t took;

        na_yield_init(&yield);
        atomic_store(&yield.useless, rare ? USELESS : 0);
        took = base_time_now();
        na_yield_now(&yield);
        took = base_time_now() - took;
        if (switches() == before && (rare || took <= US))
            ck_assert_uint_eq(atomic_load(&yield.useless), rare ? USELESS : 1);
    }
}
END_TEST

START_TEST(processor_is_shared_if_one_of_64_yields_was_useful)
{
    struct na_yield yield;

    na_yield_init(&yield);
    for (unsigned i = 0; i < 63; i++)
        na_yield_note(&yield, false);
    ck_assert(na_yield_is_shared(&yield));
    na_yield_note(&yield, false);
    ck_assert(!na_yield_is_shared(&yield));
    na_yield_note(&yield, true);
    ck_assert(na_yield_is_shared(&yield));
    yield.off = true;
    ck_assert(!na_yield_is_shared(&yield));
    yield.off = false;
    yield.trial = true;
    ck_assert(!na_yield_is_shared(&yield));
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("yield");

    tcase_add_test(tcase, yields_that_cost_little_are_kept);
    tcase_add_test(tcase, yields_that_cost_time_slices_end);
    tcase_add_test(tcase, yields_are_preferred_if_they_make_no_difference);
    tcase_add_test(tcase, yields_are_resumed_once_they_pay_again);
    tcase_add_test(tcase, idle_time_does_not_count);
    tcase_add_test(tcase, cost_depends_on_the_number_of_threads);
    tcase_set_timeout(tcase, 20);
    tcase_add_test(tcase, useless_yields_become_rare);
    tcase_add_loop_test(tcase, yields_beside_another_thread_are_useful, 0, 2);
    tcase_add_test(tcase, yields_without_a_switch_are_useless);
    tcase_add_test(tcase, processor_is_shared_if_one_of_64_yields_was_useful);
    return run_tcase("yield", tcase);
}
