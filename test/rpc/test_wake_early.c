/* SPDX-License-Identifier: BSD-3-Clause */
/* On an oversubscribed machine HG_Forward wakes a thread that sleeps in
 * HG_Progress of the same context. */
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

/* Fixes what a context's waits find: whether the machine is oversubscribed. */
static void
set_oversubscribed(struct session *s, bool oversubscribed)
{
    struct na_spin *spin = &progress_of(s)->spin;

    spin->oversubscribed = oversubscribed;
    spin->look_waits = UINT32_MAX;
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

/* Two calls make one wake-up, and none where there is a processor for each
 * thread. */
START_TEST(early_wake_by_forward_if_oversubscribed)
{
    struct session s;
    struct sleeper sleeper;
    struct call calls[2] = {{.called = 0}};
    uint64_t value = 0;
    ssize_t got;

    session_begin(&s, 0, &wake_setup);
    set_oversubscribed(&s, _i == 1);
    sleeper_start(&sleeper, &s);
    wake_hold_request(&s, &calls[0]);
    wake_hold_request(&s, &calls[1]);
    got = read(progress_of(&s)->wake_fd, &value, sizeof value);
    ck_assert_msg(_i == 1 ? got == sizeof value && value == 1
                          : got == -1 && errno == EAGAIN,
        "%d wake-ups, %s", (int) value,
        _i == 1 ? "oversubscribed" : "with enough processors");
    ck_assert_uint_eq(loop_release(), 2);
    sleep_gate_open();
    sleeper_join(&sleeper);
    session_wait(&s, &calls[0].called, 1);
    session_wait(&s, &calls[1].called, 1);
    session_end(&s);
}
END_TEST

START_TEST(early_wake_lets_the_leader_sleep_again)
{
    struct session s;
    struct sleeper sleeper;
    struct call call = {.called = 0};
    uint64_t begin;
    uint32_t before;

    session_begin(&s, 0, &wake_setup);
    set_oversubscribed(&s, true);
    sleeper_start(&sleeper, &s);
    wake_hold_request(&s, &call);
    before = sleep_gate_passed();
    sleep_gate_open();
    begin = session_now_ms();
    while (sleep_gate_passed() < before + 2) {
        ck_assert_msg(session_now_ms() - begin < ASLEEP_MS / 2,
            "a call was sent, but the leader was not woken");
        sched_yield();
    }
    ck_assert_uint_eq(loop_release(), 1);
    sleeper_join(&sleeper);
    session_wait(&s, &call.called, 1);
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

static void *
release_later(void *arg)
{
    (void) arg;
    usleep(100000);
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
    pthread_t thread, later;

    session_begin(&s, 0, &wake_setup);
    set_oversubscribed(&s, true);
    sleeper_start(&sleeper, &s);
    held_fd = progress_of(&s)->wake_fd;
    ck_assert_int_eq(pthread_create(&thread, NULL, forward, &forwarder), 0);
    while (!holding)
        sched_yield();
    sleep_gate_open();
    sleeper_join(&sleeper);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(HG_Destroy(call.handle), HG_SUCCESS);
    ck_assert_int_eq(pthread_create(&later, NULL, release_later, NULL), 0);
    session_end(&s);
    ck_assert_msg(released, "the context ended while a thread used it");
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(pthread_join(later, NULL), 0);
    ck_assert_int_eq(forwarder.ret, HG_SUCCESS);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_loop_test(tcase, early_wake_by_forward_if_oversubscribed, 0, 2);
    tcase_add_test(tcase, early_wake_lets_the_leader_sleep_again);
    tcase_add_test(tcase, early_wake_is_awaited_by_the_end_of_the_context);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "wake_early", add);
}
