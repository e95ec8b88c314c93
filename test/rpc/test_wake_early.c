/* SPDX-License-Identifier: BSD-3-Clause */
/* HG_Get_output and HG_Forward wake a thread that sleeps in HG_Progress of the
 * same context without having spun. */
#include "counts.h"
#include "hg/context.h"
#include "hg/handle.h"
#include "sleep_gate.h"
#include "wake.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static struct na_progress *
progress_of(struct session *s)
{
    return hg_context_na(s->context)->progress;
}

/* The processor on which a thread seems to run. */
static _Thread_local int cpu;

int __wrap_sched_getcpu(void);

int
__wrap_sched_getcpu(void)
{
    return cpu;
}

/* A thread in HG_Progress that leads. */
struct sleeper {
    pthread_t thread;
    int cpu;
    hg_context_t *context;
    hg_return_t ret;
};

static void *
sleep_in_progress(void *arg)
{
    struct sleeper *sleeper = arg;

    cpu = sleeper->cpu;
    sleeper->ret = HG_Progress(sleeper->context, ASLEEP_MS);
    return NULL;
}

/* It stops at the gate, right before it sleeps. */
static void
sleeper_start(struct sleeper *sleeper, struct session *s)
{
    session_drain(s->context);
    sleeper->context = s->context;
    sleep_gate_close();
    ck_assert_int_eq(
        pthread_create(&sleeper->thread, NULL, sleep_in_progress, sleeper), 0);
    sleep_gate_wait();
}

static void
sleeper_join(struct sleeper *sleeper)
{
    ck_assert_int_eq(pthread_join(sleeper->thread, NULL), 0);
    ck_assert_int_eq(sleeper->ret, HG_SUCCESS);
}

/* Begins a session whose leader is about to sleep, oversubscribed. */
static void
begin_asleep(struct session *s, struct sleeper *sleeper)
{
    wake_begin(s);
    wake_set_oversubscribed(s, true);
    sleeper_start(sleeper, s);
}

/* Forwards a request with a response, whose send the plugin holds back. */
static void
hold_request(struct session *s, struct call *call)
{
    hg_handle_t handle = session_handle(s, rpcs_id(RPC_EMPTY));

    loop_fault_set(LOOP_SEND_UNEXPECTED, (struct loop_fault){.act = LOOP_HOLD});
    ck_assert_int_eq(HG_Forward(handle, call_done, call, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
}

/* How many wake-ups there have been since the last call. */
static uint64_t
take_wakeups(struct session *s)
{
    uint64_t count = 0;
    ssize_t got = read(progress_of(s)->wake_fd, &count, sizeof count);

    ck_assert(got == sizeof count || (got == -1 && errno == EAGAIN));
    return count;
}

/* Why waits do not spin. */
enum reason { NONE, OVERSUBSCRIBED, SLEEPS, REASONS };

/* Two calls make one wake-up, and none where there is a processor for each
 * thread. */
START_TEST(early_wake_by_forward)
{
    struct session s;
    struct sleeper sleeper = {.cpu = 0};
    struct call calls[2] = {{.called = 0}};

    wake_begin(&s);
    wake_set_oversubscribed(&s, _i == OVERSUBSCRIBED);
    progress_of(&s)->spin.sleeps = _i == SLEEPS;
    sleeper_start(&sleeper, &s);
    hold_request(&s, &calls[0]);
    hold_request(&s, &calls[1]);
    ck_assert_uint_eq(take_wakeups(&s), _i != NONE);
    ck_assert_uint_eq(loop_release(), 2);
    sleep_gate_open();
    sleeper_join(&sleeper);
    session_wait(&s, &calls[0].called, 1);
    session_wait(&s, &calls[1].called, 1);
    session_end(&s);
}
END_TEST

/* Only a thread that shares the processor with the leader takes it from it. A call of
 * another one also ends the time in which the leader is woken. */
START_TEST(early_wake_on_the_same_processor)
{
    struct session s;
    struct sleeper sleeper = {.cpu = 1};
    struct call calls[2] = {{.called = 0}};

    begin_asleep(&s, &sleeper);
    cpu = _i;
    hold_request(&s, &calls[0]);
    ck_assert_uint_eq(take_wakeups(&s), _i == 1);
    cpu = 1;
    hold_request(&s, &calls[1]);
    ck_assert_uint_eq(take_wakeups(&s), 0);
    ck_assert_uint_eq(loop_release(), 2);
    sleep_gate_open();
    sleeper_join(&sleeper);
    session_wait(&s, &calls[0].called, 1);
    session_wait(&s, &calls[1].called, 1);
    session_end(&s);
}
END_TEST

/* A call without a response has no answer that would wake the leader. */
START_TEST(early_wake_by_no_call_without_response)
{
    struct session s;
    struct sleeper sleeper = {.cpu = 0};
    struct call call = {.called = 0};

    begin_asleep(&s, &sleeper);
    wake_hold_request(&s, &call);
    ck_assert_uint_eq(take_wakeups(&s), 0);
    ck_assert_uint_eq(loop_release(), 1);
    sleep_gate_open();
    sleeper_join(&sleeper);
    session_wait(&s, &call.called, 1);
    session_end(&s);
}
END_TEST

/* A call after the leader has left wakes nobody. */
START_TEST(early_wake_ends_with_the_sleep)
{
    struct session s;
    struct sleeper sleeper = {.cpu = 0};
    struct call call = {.called = 0};

    begin_asleep(&s, &sleeper);
    wake_complete(&s);
    sleep_gate_open();
    sleeper_join(&sleeper);
    session_drain(s.context);
    take_wakeups(&s);
    hold_request(&s, &call);
    ck_assert_uint_eq(take_wakeups(&s), 0);
    ck_assert_uint_eq(loop_release(), 1);
    session_wait(&s, &call.called, 1);
    session_end(&s);
}
END_TEST

/* Waits until threads have begun to sleep that often, or for long. */
static bool
wait_passed(uint32_t count)
{
    uint64_t begin = session_now_ms();

    while (sleep_gate_passed() < count)
        if (session_now_ms() - begin < ASLEEP_MS / 2)
            sched_yield();
        else
            return false;
    return true;
}

START_TEST(early_wake_lets_the_leader_sleep_again)
{
    struct session s;
    struct sleeper sleeper = {.cpu = 0};
    struct call call = {.called = 0};
    uint32_t before;

    begin_asleep(&s, &sleeper);
    hold_request(&s, &call);
    before = sleep_gate_passed();
    sleep_gate_open();
    ck_assert_msg(wait_passed(before + 2),
        "a call was sent, but the leader was not woken");
    ck_assert_uint_eq(loop_release(), 1);
    sleeper_join(&sleeper);
    session_wait(&s, &call.called, 1);
    session_end(&s);
}
END_TEST

static void
beside_sm(struct hg_init_info *info)
{
    info->auto_sm = true;
}

static const struct session_setup setup_two = {
    .init = beside_sm, .open = rpcs_open, .stopping = rpcs_stopping};

/* A class with two transports: a call over either, and over both one. */
START_TEST(early_wake_by_either_transport)
{
    struct session s;
    struct sleeper sleeper = {.cpu = 0};
    struct na_progress *progress;

    session_begin(&s, 0, &setup_two);
    progress = progress_of(&s);
    ck_assert_uint_eq(progress->source_count, 2);
    wake_set_oversubscribed(&s, true);
    sleeper_start(&sleeper, &s);
    na_progress_caller_runs(progress->sources[_i]);
    ck_assert_uint_eq(take_wakeups(&s), 1);
    na_progress_caller_runs(progress->sources[1 - _i]);
    ck_assert_uint_eq(take_wakeups(&s), 0);
    wake_complete(&s);
    sleep_gate_open();
    sleeper_join(&sleeper);
    session_end(&s);
}
END_TEST

/* Makes a call that answers with a blob. Returns its handle. */
static hg_handle_t
make_call(struct session *s, blob_t *blob)
{
    hg_handle_t handle = session_handle(s, rpcs_id(RPC_ECHO));
    struct call call = {.called = 0};

    ck_assert_int_eq(HG_Forward(handle, call_done, &call, blob), HG_SUCCESS);
    session_wait(s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    return handle;
}

/* The first use of an answer wakes the leader, another one does not. A call of a
 * class to itself has no answer that would wake it. */
START_TEST(early_wake_by_get_output)
{
    struct session s;
    struct sleeper sleeper = {.cpu = 0};
    blob_t sent = blob_make(64, 1), got = {0};
    hg_handle_t handle;

    wake_begin(&s);
    handle = make_call(&s, &sent);
    wake_set_oversubscribed(&s, true);
    sleeper_start(&sleeper, &s);
    take_wakeups(&s);
    for (unsigned i = 0; i < 3; i++) {
        handle->loopback = i == 0;
        ck_assert_int_eq(HG_Get_output(handle, &got), HG_SUCCESS);
        ck_assert(blob_equal(&sent, &got));
        ck_assert_int_eq(HG_Free_output(handle, &got), HG_SUCCESS);
        ck_assert_uint_eq(take_wakeups(&s), i == 1);
    }
    wake_complete(&s);
    sleep_gate_open();
    sleeper_join(&sleeper);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&sent);
    session_end(&s);
}
END_TEST

/* A write to this descriptor counts the requests that were sent before. */
static _Atomic int watched_fd = -1;
static _Atomic uint32_t writes, sent;

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);

ssize_t
__wrap_write(int fd, const void *bytes, size_t size)
{
    if (fd == watched_fd) {
        writes++;
        sent += loop_release();
    }
    return __real_write(fd, bytes, size);
}

/* A leader that was woken early, and found nothing, sleeps until something
 * arrives. */
START_TEST(early_wake_once_for_an_event)
{
    struct session s;
    struct sleeper sleeper = {.cpu = 0};
    struct call calls[2] = {{.called = 0}};
    uint32_t before;

    begin_asleep(&s, &sleeper);
    hold_request(&s, &calls[0]);
    before = sleep_gate_passed();
    sleep_gate_open();
    ck_assert(wait_passed(before + 2));
    watched_fd = progress_of(&s)->wake_fd;
    hold_request(&s, &calls[1]);
    watched_fd = -1;
    ck_assert_uint_eq(writes, 0);
    ck_assert_uint_eq(loop_release(), 2);
    sleeper_join(&sleeper);
    session_wait(&s, &calls[0].called, 1);
    session_wait(&s, &calls[1].called, 1);

    /* An event has arrived since. */
    sleeper_start(&sleeper, &s);
    take_wakeups(&s);
    hold_request(&s, &calls[0]);
    ck_assert_uint_eq(take_wakeups(&s), 1);
    ck_assert_uint_eq(loop_release(), 1);
    sleep_gate_open();
    sleeper_join(&sleeper);
    session_wait(&s, &calls[0].called, 2);
    session_end(&s);
}
END_TEST

/* Once the request is sent, the call may be over, and its context destroyed
 * before HG_Forward goes on. */
START_TEST(early_wake_precedes_the_request)
{
    struct session s;
    struct sleeper sleeper = {.cpu = 0};
    struct call call = {.called = 0};

    begin_asleep(&s, &sleeper);
    watched_fd = progress_of(&s)->wake_fd;
    hold_request(&s, &call);
    watched_fd = -1;
    ck_assert_uint_eq(writes, 1);
    ck_assert_uint_eq(sent, 0);
    ck_assert_uint_eq(loop_release(), 1);
    sleep_gate_open();
    sleeper_join(&sleeper);
    session_wait(&s, &call.called, 1);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_loop_test(tcase, early_wake_by_forward, NONE, REASONS);
    tcase_add_loop_test(tcase, early_wake_on_the_same_processor, 0, 2);
    tcase_add_test(tcase, early_wake_by_no_call_without_response);
    tcase_add_test(tcase, early_wake_ends_with_the_sleep);
    tcase_add_test(tcase, early_wake_lets_the_leader_sleep_again);
    tcase_add_loop_test(tcase, early_wake_by_either_transport, 0, 2);
    tcase_add_test(tcase, early_wake_by_get_output);
    tcase_add_test(tcase, early_wake_once_for_an_event);
    tcase_add_test(tcase, early_wake_precedes_the_request);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "wake_early", add);
}
