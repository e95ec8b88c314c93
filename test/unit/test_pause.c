/* SPDX-License-Identifier: BSD-3-Clause */
/* Pauses in the yields of a thread that polls: when, and how often. */
#include "na/pause.h"

#include "na/load.h"
#include "runner.h"

#include <check.h>
#include <sched.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define PROCESSORS 2

#define STEP_NS (10 * US)
#define STEPS(ms) ((uint32_t) ((ms) *MS / STEP_NS))

#define PAUSE_MS 5
#define WINDOW_MS 32
#define PERIOD_MAX_MS 1024

/* A simulation of a thread that yields each step of 10 µs, and of its peers. */
struct machine {
    uint64_t event_ns; /* mean time between events */
    uint32_t burst;    /* events that arrive together */
    bool shared;       /* the peers use its processor */
    uint64_t moved_ns; /* event_ns after a pause; 0: none of them moves */
    uint32_t back_ms;  /* time until they share it again; 0: they don't */

    uint64_t part_ns; /* of the next events */
    uint32_t events;
    uint64_t back_at_ns;
    uint32_t paused; /* steps of the pause that lasts */
    bool moved;
};

static uint64_t now_ns = 1000 * MS;

static long processors = PROCESSORS;

long __real_na_load_allowed(void);
long __wrap_na_load_allowed(void);

long
__wrap_na_load_allowed(void)
{
    return processors;
}

static void
step(struct machine *machine)
{
    uint64_t event_ns = machine->moved ? machine->moved_ns : machine->event_ns;

    now_ns += STEP_NS;
    machine->part_ns += STEP_NS;
    while (machine->part_ns >= event_ns * machine->burst) {
        machine->part_ns -= event_ns * machine->burst;
        machine->events += machine->burst;
    }
    if (machine->back_ms > 0 && now_ns >= machine->back_at_ns)
        machine->moved = false;
}

/* Simulates ms milliseconds. Returns how many pauses there were. */
static uint32_t
run(struct na_pause *pause, struct machine *machine, uint32_t ms)
{
    uint32_t pauses = 0;

    for (uint32_t i = 0; i < STEPS(ms); i++) {
        if (na_pause_lasts(pause, machine->events,
                machine->shared && !machine->moved, now_ns)) {
            pauses += machine->paused++ == 0;
        } else if (machine->paused > 0) {
            ck_assert_uint_ge(machine->paused, STEPS(PAUSE_MS));
            ck_assert_uint_le(machine->paused, STEPS(PAUSE_MS) + 1);
            machine->paused = 0;
            machine->moved = machine->moved_ns > 0;
            machine->back_at_ns = now_ns + machine->back_ms * MS;
        }
        step(machine);
    }
    return pauses;
}

/* The threads that share the processor move to another one. */
START_TEST(pause_once_if_threads_move)
{
    struct machine machine = {
        .event_ns = 40 * US, .burst = 1, .shared = true, .moved_ns = 20 * US};
    struct na_pause pause;

    na_pause_init(&pause);
    ck_assert_uint_eq(run(&pause, &machine, 2 * WINDOW_MS + PAUSE_MS), 1);
    ck_assert_uint_eq(run(&pause, &machine, 10000), 0);
}
END_TEST

/* They come back again and again. */
START_TEST(pauses_that_help_go_on)
{
    struct machine machine = {.event_ns = 40 * US,
        .burst = 2,
        .shared = true,
        .moved_ns = 20 * US,
        .back_ms = 50};
    struct na_pause pause;

    na_pause_init(&pause);
    /* at the end of the first window after they have come back */
    ck_assert_uint_ge(run(&pause, &machine, 1000), 8);
    ck_assert_uint_ge(run(&pause, &machine, 10000), 80);
    ck_assert_uint_eq(pause.period_ns, WINDOW_MS * MS);
}
END_TEST

/* Events are as frequent afterwards, or more so by less than a half. */
START_TEST(pauses_that_do_not_help_become_rare)
{
    struct machine machine = {.event_ns = 40 * US,
        .burst = 1,
        .shared = true,
        .moved_ns = _i ? 30 * US : 0,
        .back_ms = 35};
    struct na_pause pause;

    na_pause_init(&pause);
    ck_assert_uint_ge(run(&pause, &machine, 500), 2);
    ck_assert_uint_le(run(&pause, &machine, 2000), 4);
    ck_assert_uint_le(run(&pause, &machine, 8 * PERIOD_MAX_MS), 8);
    /* and frequent again once they help */
    machine.moved_ns = 20 * US;
    ck_assert_uint_ge(run(&pause, &machine, 2 * PERIOD_MAX_MS), 8);
}
END_TEST

START_TEST(pause_none_if_no_thread_shares_the_processor)
{
    struct machine machine = {.event_ns = 40 * US, .burst = 1};
    struct na_pause pause;

    na_pause_init(&pause);
    ck_assert_uint_eq(run(&pause, &machine, 1000), 0);
}
END_TEST

/* More calls at a time than processors: none of these is idle. */
START_TEST(pause_none_if_many_events_arrive_together)
{
    struct machine machine = {
        .event_ns = 40 * US, .burst = PROCESSORS + 1, .shared = true};
    struct na_pause pause;

    na_pause_init(&pause);
    ck_assert_uint_eq(run(&pause, &machine, 1000), 0);
    machine.burst = PROCESSORS;
    ck_assert_uint_ge(run(&pause, &machine, 3 * WINDOW_MS), 1);
}
END_TEST

START_TEST(pause_none_with_few_events)
{
    struct machine machine = {.event_ns = MS / 5, .burst = 1, .shared = true};
    struct na_pause pause;

    na_pause_init(&pause);
    ck_assert_uint_eq(run(&pause, &machine, 1000), 0);
    machine.event_ns = MS / 8;
    ck_assert_uint_ge(run(&pause, &machine, 1000), 1);
}
END_TEST

/* No other processor may take a thread over. */
START_TEST(pause_none_on_one_processor)
{
    struct machine machine = {.event_ns = 40 * US, .burst = 1, .shared = true};
    struct na_pause pause;

    processors = 1;
    na_pause_init(&pause);
    ck_assert_uint_eq(run(&pause, &machine, 1000), 0);
}
END_TEST

START_TEST(processors_of_a_thread_are_those_it_may_use)
{
    cpu_set_t set, one;
    int first = 0;

    ck_assert_int_eq(sched_getaffinity(0, sizeof set, &set), 0);
    ck_assert_int_eq(__real_na_load_allowed(), CPU_COUNT(&set));
    while (!CPU_ISSET(first, &set))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_int_eq(__real_na_load_allowed(), 1);
}
END_TEST

/* A thread that polls only now and then. */
START_TEST(pause_none_after_idle_times)
{
    struct na_pause pause;
    uint32_t events = 0;

    na_pause_init(&pause);
    processors = 10000;
    for (unsigned i = 0; i < 1000; i++) {
        now_ns += 3 * WINDOW_MS * MS;
        ck_assert(!na_pause_lasts(&pause, events, true, now_ns));
        events += 1000;
    }
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("pause");

    tcase_add_test(tcase, pause_once_if_threads_move);
    tcase_add_test(tcase, pauses_that_help_go_on);
    tcase_add_loop_test(tcase, pauses_that_do_not_help_become_rare, 0, 2);
    tcase_add_test(tcase, pause_none_if_no_thread_shares_the_processor);
    tcase_add_test(tcase, pause_none_if_many_events_arrive_together);
    tcase_add_test(tcase, pause_none_with_few_events);
    tcase_add_test(tcase, pause_none_on_one_processor);
    tcase_add_test(tcase, processors_of_a_thread_are_those_it_may_use);
    tcase_add_test(tcase, pause_none_after_idle_times);
    return run_tcase("pause", tcase);
}
