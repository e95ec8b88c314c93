/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of threads that sleep on one context, alone or beside an outside loop, each is
 * woken, whoever else polls, drains the descriptor or wants the lock meanwhile. A
 * thread is stopped right before the system call, and nothing but the end of its
 * time makes up for a wake-up that is lost.
 */
#include "counts.h"
#include "sleep_gate.h"
#include "wake.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>

static void
busy(struct hg_init_info *info)
{
    info->na_init_info.progress_mode = NA_NO_BLOCK;
}

static const struct session_setup setup_busy = {
    .init = busy, .open = rpcs_open, .stopping = rpcs_stopping};

/* A thread in HG_Progress, which leads. */
struct sleeper {
    pthread_t thread;
    hg_context_t *context;
    unsigned timeout_ms; /* 0: ASLEEP_MS */
    hg_return_t ret;
    uint64_t slept_ms;
};

static void *
sleep_in_progress(void *arg)
{
    struct sleeper *sleeper = arg;
    uint64_t begin = session_now_ms();

    sleeper->ret = HG_Progress(sleeper->context,
        sleeper->timeout_ms > 0 ? sleeper->timeout_ms : ASLEEP_MS);
    sleeper->slept_ms = session_now_ms() - begin;
    return NULL;
}

static void
sleeper_start(struct sleeper *sleeper, struct session *s)
{
    session_drain(s->context);
    sleeper->context = s->context;
    ck_assert_int_eq(
        pthread_create(&sleeper->thread, NULL, sleep_in_progress, sleeper), 0);
}

/* Stands at the gate, with all that it does before it sleeps done. */
static void
sleeper_start_gated(struct sleeper *sleeper, struct session *s)
{
    sleep_gate_close();
    sleeper_start(sleeper, s);
    sleep_gate_wait();
}

/* Who finds something when its time is over has slept on, too. */
static void
sleeper_join(struct sleeper *sleeper, const char *what)
{
    ck_assert_int_eq(pthread_join(sleeper->thread, NULL), 0);
    ck_assert_msg(sleeper->ret == HG_SUCCESS && sleeper->slept_ms < ASLEEP_MS,
        "%s, but a thread in HG_Progress slept on: %s after %llu ms", what,
        HG_Error_to_string(sleeper->ret),
        (unsigned long long) sleeper->slept_ms);
}

/* Waits until contexts have been polled so often since `before`. */
static void
wait_polls(uint64_t before, uint64_t count)
{
    uint64_t begin = session_now_ms();

    while (loop_polls() < before + count) {
        ck_assert_msg(session_now_ms() - begin < ASLEEP_MS, "nobody polls");
        sched_yield();
    }
}

START_TEST(wake_leader_by_what_is_complete_at_once)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};

    session_begin(&s, 0, &wake_setup);
    sleeper_start_gated(&sleeper, &s);
    wake_complete(&s);
    sleep_gate_open();
    sleeper_join(&sleeper, "a lookup has completed");
    session_end(&s);
}
END_TEST

START_TEST(wake_leader_by_event_after_poll_of_another)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};
    struct call call = {.called = 0};

    session_begin(&s, 0, &wake_setup);
    wake_hold_request(&s, &call);
    sleeper_start_gated(&sleeper, &s);
    ck_assert_int_eq(HG_Progress(s.context, 0), HG_TIMEOUT);
    ck_assert_uint_eq(loop_release(), 1);
    sleep_gate_open();
    sleeper_join(&sleeper, "an event came after another thread's poll");
    session_wait(&s, &call.called, 1);
    session_end(&s);
}
END_TEST

/* The other waits in its turn, for the leader. */
START_TEST(wake_leader_by_event_after_another_began_to_wait)
{
    struct session s;
    struct sleeper leader = {.timeout_ms = 0}, follower = leader;
    struct call call = {.called = 0};
    uint64_t polls;

    session_begin(&s, 0, &wake_setup);
    wake_hold_request(&s, &call);
    sleeper_start_gated(&leader, &s);
    polls = loop_polls();
    sleeper_start(&follower, &s);
    wait_polls(polls, 2); /* sleeper_start drains, which is one */
    ck_assert_uint_eq(loop_release(), 1);
    sleep_gate_open();
    sleeper_join(&leader, "an event came after another thread began to wait");
    sleeper_join(&follower, "the leader has found an event");
    session_wait(&s, &call.called, 1);
    session_end(&s);
}
END_TEST

START_TEST(wake_leader_by_what_another_has_polled)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};
    struct call call = {.called = 0};

    session_begin(&s, 0, &wake_setup);
    wake_hold_request(&s, &call);
    sleeper_start_gated(&sleeper, &s);
    ck_assert_uint_eq(loop_release(), 1);
    ck_assert_int_eq(HG_Progress(s.context, 0), HG_SUCCESS);
    sleep_gate_open();
    sleeper_join(&sleeper, "another thread filled the queue");
    session_wait(&s, &call.called, 1);
    session_end(&s);
}
END_TEST

START_TEST(wake_leader_by_what_the_outside_loop_has_polled)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};
    struct call call = {.called = 0};

    session_begin(&s, 0, &wake_setup);
    wake_hold_request(&s, &call);
    sleeper_start_gated(&sleeper, &s);
    ck_assert_uint_eq(loop_release(), 1);
    ck_assert_int_eq(HG_Event_progress(s.context, NULL), HG_SUCCESS);
    sleep_gate_open();
    sleeper_join(&sleeper, "the outside loop filled the queue");
    session_wait(&s, &call.called, 1);
    session_end(&s);
}
END_TEST

/* What has woken it once does not keep it awake. */
START_TEST(wake_leader_once_for_each_reason)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};
    uint32_t before;

    session_begin(&s, 0, &wake_setup);
    for (int i = 0; i < 3; i++) {
        sleeper_start_gated(&sleeper, &s);
        wake_complete(&s);
        sleep_gate_open();
        sleeper_join(&sleeper, "a lookup has completed");
        session_drain(s.context);
        before = sleep_gate_passed();
        ck_assert_int_eq(HG_Progress(s.context, 50), HG_TIMEOUT);
        ck_assert_msg(sleep_gate_passed() - before <= 5,
            "a thread that nothing wakes went to sleep %u times in 50 ms",
            sleep_gate_passed() - before);
    }
    session_end(&s);
}
END_TEST

/* So often at most a thread reads the clock before it sleeps. */
#define CLOCK_READINGS 4

static bool completed;

static void
complete_now(void *arg)
{
    wake_complete(arg);
    completed = true;
}

/* Something completes at each moment of its going to sleep: while it looks for
 * the last time, before it says that it sleeps, and after. */
START_TEST(wake_leader_that_is_about_to_sleep)
{
    struct session s;
    uint64_t begin;
    hg_return_t ret;

    session_begin(&s, 0, &wake_setup);
    begin = session_now_ms();
    sleep_gate_clock((unsigned) _i, complete_now, &s);
    ret = HG_Progress(s.context, ASLEEP_MS);
    sleep_gate_clock(0, NULL, NULL);
    ck_assert_msg(completed, "the clock is read less often before it sleeps");
    ck_assert_msg(ret == HG_SUCCESS && session_now_ms() - begin < ASLEEP_MS,
        "a lookup has completed, but HG_Progress slept on: %s after %llu ms",
        HG_Error_to_string(ret),
        (unsigned long long) (session_now_ms() - begin));
    session_end(&s);
}
END_TEST

START_TEST(wake_leader_for_an_earlier_deadline)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, 0, &wake_setup);
    handle = wake_create_with_deadline(&s);
    sleeper_start_gated(&sleeper, &s);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    sleep_gate_open();
    sleeper_join(&sleeper, "the deadline of a call has passed");
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_TIMEOUT);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* The plugin wants to be polled again soon, and tells that to who arms it. */
START_TEST(wake_leader_for_a_retry_that_another_has_seen)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};
    struct call call = {.called = 0};
    hg_handle_t handle;
    uint64_t value = 1;

    session_begin(&s, 0, &wake_setup);
    loop_fault_set(
        LOOP_SEND_UNEXPECTED, (struct loop_fault){.act = LOOP_FAIL_LATER,
                                  .code = NA_PLUGIN_E_HOSTUNREACH,
                                  .delay = 20});
    sleeper_start_gated(&sleeper, &s);
    handle = session_handle(&s, rpcs_id(RPC_NOTIFY));
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &value), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Progress(s.context, 0), HG_TIMEOUT);
    sleep_gate_open();
    sleeper_join(&sleeper, "the plugin wanted to be polled soon");
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_HOSTUNREACH);
    session_end(&s);
}
END_TEST

/* Both sleep, the leader without a limit of the timer. A deadline wakes both by
 * one descriptor, and the outside loop drains it first. */
START_TEST(wake_leader_whose_wake_up_the_outside_loop_took)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, 0, &wake_setup);
    ck_assert_int_ge(HG_Event_get_wait_fd(s.context), 0);
    handle = wake_create_with_deadline(&s);
    sleeper_start_gated(&sleeper, &s);
    ck_assert(!HG_Event_ready(s.context));
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    ck_assert(wake_is_readable(s.context));
    ck_assert_int_eq(HG_Event_progress(s.context, NULL), HG_SUCCESS);
    sleep_gate_open();
    sleeper_join(&sleeper, "the deadline of a call has passed");
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_TIMEOUT);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* The same the other way round: the leader drains the descriptor, and leaves
 * before the deadline, of which the outside loop knew nothing when it went to
 * sleep. */
START_TEST(wake_outside_loop_whose_wake_up_the_leader_took)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = DEADLINE_MS / 3};
    struct call call = {.called = 0};
    struct pollfd fd = {.events = POLLIN};
    hg_handle_t handle;

    session_begin(&s, 0, &wake_setup);
    fd.fd = HG_Event_get_wait_fd(s.context);
    ck_assert_int_ge(fd.fd, 0);
    handle = wake_create_with_deadline(&s);
    sleeper_start_gated(&sleeper, &s);
    ck_assert(!HG_Event_ready(s.context));
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    sleep_gate_open();
    ck_assert_int_eq(pthread_join(sleeper.thread, NULL), 0);
    ck_assert_int_eq(sleeper.ret, HG_TIMEOUT);
    do {
        ck_assert_msg(poll(&fd, 1, (int) ASLEEP_MS) == 1,
            "the deadline of a call has passed, but the loop sleeps on");
        ck_assert_int_eq(HG_Event_progress(s.context, NULL), HG_SUCCESS);
        ck_assert_int_eq(HG_Event_trigger(s.context, 16, NULL), HG_SUCCESS);
    } while (HG_Event_ready(s.context) || call.called == 0);
    ck_assert_int_eq(call.ret, HG_TIMEOUT);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* Those that wait for a leader that is roused find what it has found. */
START_TEST(wake_all_who_wait_for_the_leader)
{
    struct session s;
    struct sleeper leader = {.timeout_ms = 0}, followers[3] = {{0}};
    uint64_t polls;

    session_begin(&s, 0, &wake_setup);
    sleeper_start_gated(&leader, &s);
    for (int i = 0; i < 3; i++) {
        polls = loop_polls();
        sleeper_start(&followers[i], &s);
        wait_polls(polls, 2); /* sleeper_start drains, which is one */
    }
    /* Each has the lock from its poll on until it waits. */
    ck_assert_int_eq(HG_Progress(s.context, 0), HG_TIMEOUT);
    wake_complete(&s);
    sleep_gate_open();
    sleeper_join(&leader, "a lookup has completed");
    for (int i = 0; i < 3; i++)
        sleeper_join(
            &followers[i], "a lookup has completed and woken the leader");
    session_end(&s);
}
END_TEST

/* A thread that polls on and on lets others have a turn. */
START_TEST(wake_leader_that_spins_lets_others_in)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};
    uint64_t begin, polls;

    session_begin(&s, 0, &setup_busy);
    polls = loop_polls();
    sleeper_start(&sleeper, &s);
    wait_polls(polls, 20);
    begin = session_now_ms();
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(HG_Progress(s.context, 0), HG_TIMEOUT);
    ck_assert_msg(session_now_ms() - begin < ASLEEP_MS / 2,
        "ten polls beside a thread that polls took %llu ms",
        (unsigned long long) (session_now_ms() - begin));
    wake_complete(&s);
    sleeper_join(&sleeper, "a lookup has completed");
    session_end(&s);
}
END_TEST

/* Waits that so many polls at most were made for did not spin; so many of them in
 * turn are no accident. */
#define POLLS_FEW 8U
#define WAITS_IN_TURN 50U

static void
complete_before_sleep(void *arg)
{
    wake_complete(arg);
}

/* What is waited for appears only when the thread sleeps, as though it needed
 * the processor: soon the thread sleeps without spinning first. */
START_TEST(wake_leader_that_spins_in_vain_stops_spinning)
{
    struct session s;
    uint64_t begin;
    uint32_t in_turn = 0;

    session_begin(&s, 0, &wake_setup);
    begin = session_now_ms();
    sleep_gate_hook(complete_before_sleep, &s);
    while (in_turn < WAITS_IN_TURN) {
        uint64_t polls = loop_polls();

        ck_assert_msg(session_now_ms() - begin < ASLEEP_MS,
            "a thread spins each time, and always in vain");
        ck_assert_int_eq(HG_Progress(s.context, ASLEEP_MS), HG_SUCCESS);
        in_turn = loop_polls() - polls <= POLLS_FEW ? in_turn + 1 : 0;
        ck_assert_int_eq(HG_Trigger(s.context, 0, 16, NULL), HG_SUCCESS);
    }
    sleep_gate_hook(NULL, NULL);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, wake_leader_by_what_is_complete_at_once);
    tcase_add_test(tcase, wake_leader_by_event_after_poll_of_another);
    tcase_add_test(tcase, wake_leader_by_event_after_another_began_to_wait);
    tcase_add_test(tcase, wake_leader_by_what_another_has_polled);
    tcase_add_test(tcase, wake_leader_by_what_the_outside_loop_has_polled);
    tcase_add_test(tcase, wake_leader_once_for_each_reason);
    tcase_add_loop_test(
        tcase, wake_leader_that_is_about_to_sleep, 1, CLOCK_READINGS + 1);
    tcase_add_test(tcase, wake_leader_for_an_earlier_deadline);
    tcase_add_test(tcase, wake_leader_for_a_retry_that_another_has_seen);
    tcase_add_test(tcase, wake_leader_whose_wake_up_the_outside_loop_took);
    tcase_add_test(tcase, wake_outside_loop_whose_wake_up_the_leader_took);
    tcase_add_test(tcase, wake_all_who_wait_for_the_leader);
    tcase_add_test(tcase, wake_leader_that_spins_lets_others_in);
    tcase_add_test(tcase, wake_leader_that_spins_in_vain_stops_spinning);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "wake_leader", add);
}
