/* SPDX-License-Identifier: BSD-3-Clause */
/* HG_Forward wakes a thread that sleeps in HG_Progress of the same context
 * without having spun. */
#include "counts.h"
#include "hg/context.h"
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

/* A thread in HG_Progress that leads. */
struct sleeper {
    pthread_t thread;
    hg_context_t *context;
    hg_return_t ret;
};

static void *
sleep_in_progress(void *arg)
{
    struct sleeper *sleeper = arg;

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
    struct sleeper sleeper;
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

/* A call without a response has no answer that would wake the leader. */
START_TEST(early_wake_by_no_call_without_response)
{
    struct session s;
    struct sleeper sleeper;
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
    struct sleeper sleeper;
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
    struct sleeper sleeper;
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
    struct sleeper sleeper;
    struct na_progress *progress;

    session_begin(&s, 0, &setup_two);
    progress = progress_of(&s);
    ck_assert_uint_eq(progress->source_count, 2);
    wake_set_oversubscribed(&s, true);
    sleeper_start(&sleeper, &s);
    na_progress_call_sent(progress->sources[_i]);
    ck_assert_uint_eq(take_wakeups(&s), 1);
    na_progress_call_sent(progress->sources[1 - _i]);
    ck_assert_uint_eq(take_wakeups(&s), 0);
    wake_complete(&s);
    sleep_gate_open();
    sleeper_join(&sleeper);
    session_end(&s);
}
END_TEST

/* A thread that writes to this descriptor is held until `released`. */
static _Atomic int held_fd = -1;
static _Atomic bool holding, released;

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);

ssize_t
__wrap_write(int fd, const void *bytes, size_t size)
{
    if (fd == held_fd) {
        holding = true;
        while (!released)
            sched_yield();
    }
    return __real_write(fd, bytes, size);
}

static _Atomic bool ended_early;

hg_return_t __real_HG_Context_destroy(hg_context_t *context);
hg_return_t __wrap_HG_Context_destroy(hg_context_t *context);

hg_return_t
__wrap_HG_Context_destroy(hg_context_t *context)
{
    hg_return_t ret = __real_HG_Context_destroy(context);

    ended_early = holding && !released;
    return ret;
}

struct forwarder {
    struct session *s;
    struct call *call;
    hg_return_t ret;
};

static void *
forward(void *arg)
{
    struct forwarder *forwarder = arg;
    hg_handle_t handle = session_handle(forwarder->s, rpcs_id(RPC_EMPTY));

    forwarder->ret = HG_Forward(handle, call_done, forwarder->call, NULL);
    return NULL;
}

/* Releases the thread when another one has waited for it several times. */
static void *
release_later(void *arg)
{
    (void) arg;
    wait_passed(sleep_gate_passed() + 3);
    released = true;
    return NULL;
}

/* The call is over, and its handle destroyed, while HG_Forward has yet to wake
 * the leader. */
START_TEST(early_wake_is_awaited_by_the_end_of_the_context)
{
    struct session s;
    struct sleeper sleeper;
    struct call call = {.called = 0};
    struct forwarder forwarder = {.s = &s, .call = &call};
    uint64_t begin;
    pthread_t thread, later;

    begin_asleep(&s, &sleeper);
    held_fd = progress_of(&s)->wake_fd;
    ck_assert_int_eq(pthread_create(&thread, NULL, forward, &forwarder), 0);
    for (begin = session_now_ms(); !holding; sched_yield())
        ck_assert_msg(session_now_ms() - begin < ASLEEP_MS,
            "a call was sent, but the leader was not woken");
    sleep_gate_open();
    sleeper_join(&sleeper);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(HG_Destroy(call.handle), HG_SUCCESS);
    ck_assert_int_eq(pthread_create(&later, NULL, release_later, NULL), 0);
    session_end(&s);
    ck_assert_msg(!ended_early, "the context ended while a thread used it");
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(pthread_join(later, NULL), 0);
    ck_assert_int_eq(forwarder.ret, HG_SUCCESS);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_loop_test(tcase, early_wake_by_forward, NONE, REASONS);
    tcase_add_test(tcase, early_wake_by_no_call_without_response);
    tcase_add_test(tcase, early_wake_ends_with_the_sleep);
    tcase_add_test(tcase, early_wake_lets_the_leader_sleep_again);
    tcase_add_loop_test(tcase, early_wake_by_either_transport, 0, 2);
    tcase_add_test(tcase, early_wake_is_awaited_by_the_end_of_the_context);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "wake_early", add);
}
