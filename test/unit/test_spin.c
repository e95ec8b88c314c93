/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing between spinning and sleeping, from measured waits. */
#include "na/spin.h"
#include "runner.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* A simulation: duration of waits that spin and of waits that sleep; every
 * stall_every-th spinning wait takes stall_ns instead. */
struct machine {
    uint64_t spin_ns;
    uint64_t sleep_ns;
    uint32_t stall_every;
    uint64_t stall_ns;
    uint64_t preempted_ns; /* time before each such wait, instead */
    uint64_t away_ns;      /* time between waits that sleep */
};

static uint64_t now_ns = 1;

static void
end_wait(struct na_spin *spin, uint64_t waited_ns)
{
    now_ns += waited_ns;
    na_spin_count(spin, 1);
    na_spin_learn(spin, waited_ns, now_ns);
}

/* Simulates count waits. Returns how many slept at once. */
static uint32_t
run(struct na_spin *spin, const struct machine *machine, uint32_t waits)
{
    uint32_t slept = 0;

    for (uint32_t i = 1; i <= waits; i++) {
        bool stalls = machine->stall_every > 0 && i % machine->stall_every == 0;

        if (spin->sleeps) {
            slept++;
            now_ns += machine->away_ns;
            end_wait(spin, machine->sleep_ns);
        } else {
            now_ns += stalls ? machine->preempted_ns : 0;
            end_wait(spin, stalls && machine->stall_ns > 0 ? machine->stall_ns
                                                           : machine->spin_ns);
        }
    }
    return slept;
}

START_TEST(spin_shorter_than_wake_up_is_kept)
{
    const struct machine machine = {.spin_ns = US, .sleep_ns = 1};
    struct na_spin spin;

    na_spin_init(&spin);
    ck_assert(!spin.sleeps);
    ck_assert_uint_eq(run(&spin, &machine, 1000000), 0);
}
END_TEST

START_TEST(spin_without_events_stops)
{
    const struct machine machine = {.spin_ns = 60 * US, .sleep_ns = 10 * US};
    struct na_spin spin;

    na_spin_init(&spin);
    run(&spin, &machine, 1000);
    ck_assert_uint_ge(run(&spin, &machine, 100000), 98000);
}
END_TEST

/* One processor too few: most waits are short, the others take a time slice. */
START_TEST(spin_with_stalls_stops)
{
    const struct machine machine = {.spin_ns = 30 * US,
        .sleep_ns = 40 * US,
        .stall_every = 20,
        .stall_ns = 4 * MS};
    struct na_spin spin;

    na_spin_init(&spin);
    run(&spin, &machine, 1000);
    ck_assert_uint_ge(run(&spin, &machine, 100000), 98000);
}
END_TEST

/* The waiting thread is preempted between its waits, which are shorter. */
START_TEST(spin_with_stalls_between_waits_stops)
{
    const struct machine machine = {.spin_ns = 40 * US,
        .sleep_ns = 65 * US,
        .stall_every = 20,
        .preempted_ns = 4 * MS};
    struct na_spin spin;

    na_spin_init(&spin);
    run(&spin, &machine, 1000);
    ck_assert_uint_ge(run(&spin, &machine, 100000), 95000);
}
END_TEST

/* All waits take time slices: a few of them suffice to decide. */
START_TEST(spin_that_always_stalls_stops_soon)
{
    const struct machine machine = {.spin_ns = 4 * MS, .sleep_ns = 40 * US};
    struct na_spin spin;

    na_spin_init(&spin);
    ck_assert_uint_ge(run(&spin, &machine, 100), 80);
}
END_TEST

START_TEST(spin_that_is_faster_rarely_sleeps)
{
    const struct machine machine = {.spin_ns = 12 * US, .sleep_ns = 40 * US};
    struct na_spin spin;

    na_spin_init(&spin);
    run(&spin, &machine, 100000);
    ck_assert_uint_le(run(&spin, &machine, 100000), 1000);
}
END_TEST

/* A thread that wakes late finds events at once: waits are shorter, throughput
 * is lower. */
START_TEST(spin_with_more_events_is_kept)
{
    const struct machine machine = {
        .spin_ns = 15 * US, .sleep_ns = 5 * US, .away_ns = 30 * US};
    struct na_spin spin;

    na_spin_init(&spin);
    run(&spin, &machine, 100000);
    ck_assert_uint_le(run(&spin, &machine, 100000), 1000);
}
END_TEST

/* Equal durations are no reason to sleep. */
START_TEST(spin_of_idle_process_is_kept)
{
    const struct machine machine = {.spin_ns = 100 * MS, .sleep_ns = 100 * MS};
    struct na_spin spin;

    na_spin_init(&spin);
    run(&spin, &machine, 1000);
    ck_assert_uint_le(run(&spin, &machine, 1000), 900);
    ck_assert(!spin.sleeps || spin.trial);
}
END_TEST

/* The other threads have ended, or the peer spins again. */
START_TEST(spin_that_pays_again_is_resumed)
{
    const struct machine oversubscribed = {
        .spin_ns = 4 * MS, .sleep_ns = 40 * US};
    const struct machine room = {.spin_ns = US, .sleep_ns = 40 * US};
    const struct machine peer_sleeps = {
        .spin_ns = 25 * US, .sleep_ns = 40 * US};
    struct na_spin spin;

    na_spin_init(&spin);
    run(&spin, &oversubscribed, 1000000);
    run(&spin, &room, 5000);
    ck_assert(!spin.sleeps);
    ck_assert_uint_eq(run(&spin, &room, 100000), 0);
    run(&spin, &oversubscribed, 1000000);
    run(&spin, &peer_sleeps, 5000);
    ck_assert(!spin.sleeps || spin.trial);
}
END_TEST

/* Polls that find nothing, one in poll_ns. Returns how many of them yielded, for
 * yield_ns each. */
static uint32_t
poll_in_vain(struct na_spin *spin, uint32_t polls, uint32_t poll_ns,
    uint32_t yield_ns, uint64_t *now_p)
{
    uint32_t yields = 0;

    for (uint32_t i = 0; i < polls; i++) {
        *now_p += poll_ns;
        if (!na_spin_yields(spin))
            continue;
        na_spin_pace(spin, *now_p);
        *now_p += yield_ns;
        na_spin_yielded(spin, *now_p - yield_ns, *now_p);
        yields++;
    }
    return yields;
}

/* Whatever a poll takes, up to 5 us; at least every 64th yields, at most every
 * second one. */
START_TEST(polls_in_vain_yield_every_microsecond)
{
    struct na_spin spin;
    uint64_t now = 1;

    na_spin_init(&spin);
    poll_in_vain(&spin, 1000, 100, 200, &now);
    ck_assert_uint_eq(poll_in_vain(&spin, 20000, 100, 200, &now), 2000);
    poll_in_vain(&spin, 999, 300, 200, &now);
    ck_assert_uint_ge(poll_in_vain(&spin, 2000, 300, 200, &now), 666);
    ck_assert_uint_le(poll_in_vain(&spin, 2000, 300, 200, &now), 667);
    poll_in_vain(&spin, 1000, 4000, 200, &now);
    ck_assert_uint_eq(poll_in_vain(&spin, 2000, 4000, 200, &now), 1000);
    poll_in_vain(&spin, 100, 10, 0, &now);
    ck_assert_uint_eq(poll_in_vain(&spin, 6400, 10, 0, &now), 100);
    na_spin_count(&spin, 1);
    ck_assert_uint_eq(poll_in_vain(&spin, 63, 10, 0, &now), 0);
}
END_TEST

/* Others may run for a time slice meanwhile. */
START_TEST(time_of_a_yield_is_no_time_of_polls)
{
    struct na_spin spin;
    uint64_t now = 1;

    na_spin_init(&spin);
    poll_in_vain(&spin, 1000, 100, 4000000, &now);
    ck_assert_uint_eq(poll_in_vain(&spin, 20000, 100, 4000000, &now), 2000);
}
END_TEST

START_TEST(program_that_works_between_polls_yields_seldom)
{
    struct na_spin spin;
    uint64_t now = 1;

    na_spin_init(&spin);
    poll_in_vain(&spin, 2000, 20000, 200, &now);
    ck_assert_uint_eq(poll_in_vain(&spin, 5120, 20000, 200, &now), 10);
    /* events come again */
    na_spin_count(&spin, 1);
    ck_assert_uint_eq(poll_in_vain(&spin, 64, 100, 200, &now), 1);
    /* preempted once, a loop without work is still one */
    poll_in_vain(&spin, 2000, 100, 200, &now);
    now += 4000000;
    ck_assert_uint_ge(poll_in_vain(&spin, 1000, 100, 200, &now), 90);
}
END_TEST

START_TEST(polls_with_events_do_not_yield)
{
    struct na_spin spin;
    uint64_t now = 1;

    na_spin_init(&spin);
    for (int i = 0; i < 100000; i++) {
        na_spin_count(&spin, 1);
        ck_assert_uint_eq(poll_in_vain(&spin, 7, 100, 200, &now), 0);
    }
}
END_TEST

/* Starts a process that is always runnable. It ends with this one. */
static pid_t
start_busy(void)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            ;
    }
    return pid;
}

START_TEST(spin_beside_more_threads_than_processors_is_oversubscribed)
{
    int count = get_nprocs() + 1;
    pid_t *pids = calloc((size_t) count, sizeof *pids);
    struct na_spin spin;

    ck_assert_ptr_nonnull(pids);
    for (int i = 0; i < count; i++)
        pids[i] = start_busy();
    do /* until they run: the time limit of the case ends it */
        na_spin_init(&spin);
    while (!na_spin_is_oversubscribed(&spin));
    for (int i = 0; i < count; i++) {
        kill(pids[i], SIGKILL);
        ck_assert_int_eq(waitpid(pids[i], NULL, 0), pids[i]);
    }
    free(pids);

    /* What a look finds is kept for the next waits. */
    ck_assert_uint_ge(spin.look_waits, 16);
    for (uint32_t left = spin.look_waits; left > 0; left--) {
        ck_assert(na_spin_is_oversubscribed(&spin));
        ck_assert_uint_eq(spin.look_waits, left);
        /* waits sleep at once */
        ck_assert(!na_spin_goes_on(&spin, 0));
        end_wait(&spin, US);
    }
}
END_TEST

START_TEST(spin_of_some_microseconds_looks_for_nothing)
{
    struct na_spin spin;

    na_spin_init(&spin);
    ck_assert(na_spin_goes_on(&spin, 0));
    ck_assert(na_spin_goes_on(&spin, NA_SPIN_SHORT_NS - 1));
    ck_assert_uint_eq(spin.look_waits, 0);
    (void) na_spin_goes_on(&spin, NA_SPIN_SHORT_NS);
    ck_assert_uint_ge(spin.look_waits, 16);
}
END_TEST

/* The longer nothing changes, the rarer are looks. */
START_TEST(spin_that_stays_oversubscribed_looks_less_often)
{
    struct na_spin spin;
    uint32_t looks = 0, waits = 0;

    na_spin_init(&spin);
    while (waits < 100000) {
        if (spin.look_waits == 0)
            looks++;
        (void) na_spin_is_oversubscribed(&spin);
        end_wait(&spin, US);
        waits++;
    }
    ck_assert_uint_ge(looks, 100000 / 256);
    ck_assert_uint_le(looks, 100000 / 16 + 1);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("spin");

    tcase_add_test(tcase, spin_shorter_than_wake_up_is_kept);
    tcase_add_test(tcase, spin_without_events_stops);
    tcase_add_test(tcase, spin_with_stalls_stops);
    tcase_add_test(tcase, spin_with_stalls_between_waits_stops);
    tcase_add_test(tcase, spin_that_always_stalls_stops_soon);
    tcase_add_test(tcase, spin_that_is_faster_rarely_sleeps);
    tcase_add_test(tcase, spin_with_more_events_is_kept);
    tcase_add_test(tcase, spin_of_idle_process_is_kept);
    tcase_add_test(tcase, spin_that_pays_again_is_resumed);
    tcase_add_test(tcase, polls_in_vain_yield_every_microsecond);
    tcase_add_test(tcase, time_of_a_yield_is_no_time_of_polls);
    tcase_add_test(tcase, program_that_works_between_polls_yields_seldom);
    tcase_add_test(tcase, polls_with_events_do_not_yield);
    tcase_add_test(
        tcase, spin_beside_more_threads_than_processors_is_oversubscribed);
    tcase_add_test(tcase, spin_of_some_microseconds_looks_for_nothing);
    tcase_add_test(tcase, spin_that_stays_oversubscribed_looks_less_often);
    return run_tcase("spin", tcase);
}
