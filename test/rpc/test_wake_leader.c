/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that sleep on one context, alone or beside an external loop, are each
 * woken, whichever other thread polls, drains the descriptor or waits for the
 * lock meanwhile. A thread is stopped right before the system call, and only
 * its timeout could hide a lost wake-up. */
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

/* A thread in HG_Progress that leads. */
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

/* Stops at the gate, right before it sleeps. */
static void
sleeper_start_gated(struct sleeper *sleeper, struct session *s)
{
    sleep_gate_close();
    sleeper_start(sleeper, s);
    sleep_gate_wait();
}

/* A thread that finds something only at its timeout has missed a wake-up
 * too. */
static void
sleeper_join(struct sleeper *sleeper, const char *what)
{
    ck_assert_int_eq(pthread_join(sleeper->thread, NULL), 0);
    ck_assert_msg(sleeper->ret == HG_SUCCESS && sleeper->slept_ms < ASLEEP_MS,
        "%s, but a thread in HG_Progress was not woken: %s after %llu ms", what,
        HG_Error_to_string(sleeper->ret),
        (unsigned long long) sleeper->slept_ms);
}

/* Waits until contexts have been polled this many times since `before`. */
static void
wait_polls(uint64_t before, uint64_t count)
{
    uint64_t begin = session_now_ms();

    while (loop_polls() < before + count) {
        ck_assert_msg(session_now_ms() - begin < ASLEEP_MS, "no thread polls");
        sched_yield();
    }
}

START_TEST(wake_leader_by_immediate_completion)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};

    wake_begin(&s);
    sleeper_start_gated(&sleeper, &s);
    wake_complete(&s);
    sleep_gate_open();
    sleeper_join(&sleeper, "a lookup has completed");
    session_end(&s);
}
END_TEST

START_TEST(wake_leader_by_event_after_poll_of_another_thread)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};
    struct call call = {.called = 0};

    wake_begin(&s);
    wake_hold_request(&s, &call);
    sleeper_start_gated(&sleeper, &s);
    ck_assert_int_eq(HG_Progress(s.context, 0), HG_TIMEOUT);
    ck_assert_uint_eq(loop_release(), 1);
    sleep_gate_open();
    sleeper_join(&sleeper, "an event appeared after another thread's poll");
    session_wait(&s, &call.called, 1);
    session_end(&s);
}
END_TEST

/* The other thread waits for the leader. */
START_TEST(wake_leader_by_event_after_another_thread_waits)
{
    struct session s;
    struct sleeper leader = {.timeout_ms = 0}, follower = leader;
    struct call call = {.called = 0};
    uint64_t polls;

    wake_begin(&s);
    wake_hold_request(&s, &call);
    sleeper_start_gated(&leader, &s);
    polls = loop_polls();
    sleeper_start(&follower, &s);
    wait_polls(polls, 2); /* sleeper_start has drained once */
    ck_assert_uint_eq(loop_release(), 1);
    sleep_gate_open();
    sleeper_join(&leader, "an event appeared after another thread waited");
    sleeper_join(&follower, "the leader has found an event");
    session_wait(&s, &call.called, 1);
    session_end(&s);
}
END_TEST

START_TEST(wake_leader_by_completion_polled_by_another_thread)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};
    struct call call = {.called = 0};

    wake_begin(&s);
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

START_TEST(wake_leader_by_completion_polled_by_external_loop)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};
    struct call call = {.called = 0};

    wake_begin(&s);
    wake_hold_request(&s, &call);
    sleeper_start_gated(&sleeper, &s);
    ck_assert_uint_eq(loop_release(), 1);
    ck_assert_int_eq(HG_Event_progress(s.context, NULL), HG_SUCCESS);
    sleep_gate_open();
    sleeper_join(&sleeper, "the external loop filled the queue");
    session_wait(&s, &call.called, 1);
    session_end(&s);
}
END_TEST

/* A wake-up does not keep it awake afterwards. */
START_TEST(wake_leader_once_per_reason)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};
    uint32_t before;

    wake_begin(&s);
    for (int i = 0; i < 3; i++) {
        sleeper_start_gated(&sleeper, &s);
        wake_complete(&s);
        sleep_gate_open();
        sleeper_join(&sleeper, "a lookup has completed");
        session_drain(s.context);
        before = sleep_gate_passed();
        ck_assert_int_eq(HG_Progress(s.context, 50), HG_TIMEOUT);
        ck_assert_msg(sleep_gate_passed() - before <= 5,
            "a thread without wake-ups fell asleep %u times in 50 ms",
            sleep_gate_passed() - before);
    }
    session_end(&s);
}
END_TEST

/* Maximum number of clock reads before a thread sleeps. */
#define CLOCK_READINGS 4

static bool completed;

static void
complete_now(void *arg)
{
    wake_complete(arg);
    completed = true;
}

/* An operation completes at each step of falling asleep: during the last poll,
 * before the thread is marked as sleeping, and after. */
START_TEST(wake_leader_that_is_about_to_sleep)
{
    struct session s;
    uint64_t begin;
    hg_return_t ret;

    wake_begin(&s);
    begin = session_now_ms();
    sleep_gate_clock((unsigned) _i, complete_now, &s);
    ret = HG_Progress(s.context, ASLEEP_MS);
    sleep_gate_clock(0, NULL, NULL);
    ck_assert_msg(completed, "fewer clock reads than expected before sleeping");
    ck_assert_msg(ret == HG_SUCCESS && session_now_ms() - begin < ASLEEP_MS,
        "a lookup has completed, but HG_Progress was not woken: %s after %llu "
        "ms",
        HG_Error_to_string(ret),
        (unsigned long long) (session_now_ms() - begin));
    session_end(&s);
}
END_TEST

START_TEST(wake_leader_for_earlier_deadline)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};
    struct call call = {.called = 0};
    hg_handle_t handle;

    wake_begin(&s);
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

/* The plugin requests to be polled again soon from the thread that arms it. */
START_TEST(wake_leader_for_retry_armed_by_another_thread)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};
    struct call call = {.called = 0};
    hg_handle_t handle;
    uint64_t value = 1;

    wake_begin(&s);
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
    sleeper_join(&sleeper, "the plugin asked to be polled soon");
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_HOSTUNREACH);
    session_end(&s);
}
END_TEST

/* Both sleep, the leader without a timeout for the deadline. A deadline wakes
 * both through one descriptor, which the external loop drains first. */
START_TEST(wake_leader_after_external_loop_drained)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = 0};
    struct call call = {.called = 0};
    hg_handle_t handle;

    wake_begin(&s);
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

/* The reverse: the leader drains the descriptor and returns before the
 * deadline, which was set after the external loop fell asleep. */
START_TEST(wake_external_loop_after_leader_drained)
{
    struct session s;
    struct sleeper sleeper = {.timeout_ms = DEADLINE_MS / 3};
    struct call call = {.called = 0};
    struct pollfd fd = {.events = POLLIN};
    hg_handle_t handle;

    wake_begin(&s);
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
            "the deadline of a call has passed, but the loop was not woken");
        ck_assert_int_eq(HG_Event_progress(s.context, NULL), HG_SUCCESS);
        ck_assert_int_eq(HG_Event_trigger(s.context, 16, NULL), HG_SUCCESS);
    } while (HG_Event_ready(s.context) || call.called == 0);
    ck_assert_int_eq(call.ret, HG_TIMEOUT);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* Threads that wait for the leader get the completions that it finds. */
START_TEST(wake_all_followers_with_the_leader)
{
    struct session s;
    struct sleeper leader = {.timeout_ms = 0}, followers[3] = {{0}};
    uint64_t polls;

    wake_begin(&s);
    sleeper_start_gated(&leader, &s);
    for (int i = 0; i < 3; i++) {
        polls = loop_polls();
        sleeper_start(&followers[i], &s);
        wait_polls(polls, 2); /* sleeper_start has drained once */
    }
    /* Each holds the lock from its poll until it waits. */
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

/* A thread that polls continuously lets others take the lock. */
START_TEST(wake_leader_spinning_shares_the_lock)
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

/* A wait with at most so many polls did not spin; so many of them in a row are
 * not by chance. */
#define POLLS_FEW 8U
#define WAITS_IN_TURN 50U

static void
complete_before_sleep(void *arg)
{
    wake_complete(arg);
}

/* The event appears only once the thread sleeps, as if the peer needed the
 * processor: after a while the thread sleeps without spinning. */
START_TEST(wake_leader_stops_useless_spinning)
{
    struct session s;
    uint64_t begin;
    uint32_t in_turn = 0;

    wake_begin(&s);
    begin = session_now_ms();
    sleep_gate_hook(complete_before_sleep, &s);
    while (in_turn < WAITS_IN_TURN) {
        uint64_t polls = loop_polls();

        ck_assert_msg(session_now_ms() - begin < ASLEEP_MS,
            "each wait spins, though spinning never helps");
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
    tcase_add_test(tcase, wake_leader_by_immediate_completion);
    tcase_add_test(tcase, wake_leader_by_event_after_poll_of_another_thread);
    tcase_add_test(tcase, wake_leader_by_event_after_another_thread_waits);
    tcase_add_test(tcase, wake_leader_by_completion_polled_by_another_thread);
    tcase_add_test(tcase, wake_leader_by_completion_polled_by_external_loop);
    tcase_add_test(tcase, wake_leader_once_per_reason);
    tcase_add_loop_test(
        tcase, wake_leader_that_is_about_to_sleep, 1, CLOCK_READINGS + 1);
    tcase_add_test(tcase, wake_leader_for_earlier_deadline);
    tcase_add_test(tcase, wake_leader_for_retry_armed_by_another_thread);
    tcase_add_test(tcase, wake_leader_after_external_loop_drained);
    tcase_add_test(tcase, wake_external_loop_after_leader_drained);
    tcase_add_test(tcase, wake_all_followers_with_the_leader);
    tcase_add_test(tcase, wake_leader_spinning_shares_the_lock);
    tcase_add_test(tcase, wake_leader_stops_useless_spinning);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "wake_leader", add);
}
