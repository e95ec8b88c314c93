/* SPDX-License-Identifier: BSD-3-Clause */
/* External event loop: descriptor, ready, progress, trigger. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static int
epoll_on(hg_context_t *context)
{
    int fd = HG_Event_get_wait_fd(context), epoll_fd;
    struct epoll_event event = {.events = EPOLLIN};

    if (fd < 0)
        return -1;
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return -1;
    return epoll_fd;
}

/* One iteration of the loop. Returns false if no event arrived in time. */
static bool
turn(int epoll_fd, hg_context_t *context, unsigned timeout_ms)
{
    struct epoll_event event;
    int got = 1;

    if (!HG_Event_ready(context)) {
        do
            got = epoll_wait(epoll_fd, &event, 1, (int) timeout_ms);
        while (got < 0 && errno == EINTR);
    }
    if (HG_Event_progress(context, NULL) != HG_SUCCESS)
        return false;
    return HG_Event_trigger(context, 16, NULL) == HG_SUCCESS && got > 0;
}

/* The target is an event loop too. */
static void
serve_by_events(hg_context_t *context, const _Atomic bool *stop)
{
    int epoll_fd = epoll_on(context);

    while (!atomic_load(stop)) {
        if (epoll_fd >= 0) {
            TARGET_ASSERT(turn(epoll_fd, context, test_count(TEST_WAIT_MS)));
        } else {
            HG_Progress(context, 10);
            HG_Trigger(context, 0, 16, NULL);
        }
    }
    if (epoll_fd >= 0)
        close(epoll_fd);
}

static const struct session_setup setup_events = {
    .open = rpcs_open, .stopping = rpcs_stopping, .serve = serve_by_events};
static const struct session_setup setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};

static bool
blocks(const struct session *s)
{
    return !(s->mode->progress_mode & NA_NO_BLOCK);
}

/* Counts event descriptors that an exec'd program would inherit. */
static uint32_t
inheritable(void)
{
    static const char kind[] = "anon_inode:";
    char path[32], target[sizeof kind - 1];
    uint32_t count = 0;

    for (int fd = 0; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (flags >= 0 && !(flags & FD_CLOEXEC) &&
            readlink(path, target, sizeof target) == sizeof target &&
            memcmp(target, kind, sizeof target) == 0)
            count++;
    }
    return count;
}

START_TEST(event_descriptors_are_closed_on_exec)
{
    struct session s;

    session_begin(&s, _i, &setup);
    ck_assert(!blocks(&s) || HG_Event_get_wait_fd(s.context) >= 0 ||
              session_is_hosts());
    /* Descriptors opened by a transport library are for its plugin to mark. */
    if (!session_is_hosts())
        ck_assert_uint_eq(inheritable(), 0);
    session_end(&s);
}
END_TEST

START_TEST(event_loop_loses_no_wake_up)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    int epoll_fd;

    session_begin(&s, _i, &setup_events);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    if (blocks(&s)) {
        epoll_fd = epoll_on(s.context);
        ck_assert_int_ge(epoll_fd, 0);
        for (uint32_t i = 1; i <= test_count(TEST_EVENT_CALLS); i++) {
            ck_assert_int_eq(
                HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
            while (call.called < i)
                ck_assert(turn(epoll_fd, s.context, test_count(TEST_WAIT_MS)));
            ck_assert_int_eq(call.ret, HG_SUCCESS);
        }
        close(epoll_fd);
    }
    rpcs_stop(&s);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(event_descriptor_is_constant_or_negative)
{
    struct session s;
    int fd;

    session_begin(&s, _i, &setup);
    fd = HG_Event_get_wait_fd(s.context);
    ck_assert_int_eq(fd >= 0, blocks(&s));
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(HG_Event_get_wait_fd(s.context), fd);
    ck_assert_int_lt(HG_Event_get_wait_fd(NULL), 0);
    session_end(&s);
}
END_TEST

START_TEST(event_idle_progress_succeeds)
{
    struct session s;
    unsigned count = 7;
    bool ready = true;

    session_begin(&s, _i, &setup);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(HG_Event_progress(s.context, &count), HG_SUCCESS);
    ck_assert_uint_eq(count, 0);
    count = 7;
    ck_assert_int_eq(HG_Event_trigger(s.context, 10, &count), HG_SUCCESS);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(HG_Event_progress(s.context, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Event_trigger(s.context, 10, NULL), HG_SUCCESS);
    for (int i = 0; i < 100 && ready; i++) {
        HG_Event_progress(s.context, NULL);
        ready = HG_Event_ready(s.context);
    }
    ck_assert_int_eq(ready, !blocks(&s));
    ck_assert_int_eq(HG_Event_progress(NULL, &count), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Event_trigger(NULL, 1, &count), HG_INVALID_ARG);
    ck_assert(!HG_Event_ready(NULL));
    session_end(&s);
}
END_TEST

START_TEST(event_ready_reports_what_is_due)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    unsigned count = 0;
    uint64_t value = 1;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_NOTIFY));
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &value), HG_SUCCESS);
    for (int i = 0; i < 100000 && count == 0; i++)
        ck_assert_int_eq(HG_Event_progress(s.context, &count), HG_SUCCESS);
    ck_assert_uint_ge(count, 1);
    ck_assert(HG_Event_ready(s.context));
    ck_assert(HG_Event_ready(s.context));
    while (call.called == 0) {
        ck_assert_int_eq(HG_Event_progress(s.context, NULL), HG_SUCCESS);
        ck_assert_int_eq(HG_Event_trigger(s.context, 1, &count), HG_SUCCESS);
        ck_assert_uint_le(count, 1);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

struct helper {
    hg_context_t *context;
    _Atomic bool stop;
};

/* Fills the completion queue and leaves the entries to the loop. */
static void *
progress_beside(void *arg)
{
    struct helper *helper = arg;

    while (!atomic_load(&helper->stop)) {
        hg_return_t ret =
            HG_Progress(helper->context, 2 * test_count(TEST_WAIT_MS));

        ck_assert(ret == HG_SUCCESS || ret == HG_TIMEOUT);
        sched_yield();
    }
    return NULL;
}

static hg_return_t
free_address(const struct hg_cb_info *info)
{
    return HG_Addr_free((hg_class_t *) info->arg, info->info.lookup.addr);
}

/* An external loop and a thread in HG_Progress on one context: whichever polls
 * an event, the other is woken too. Neither has a timeout shorter than the
 * limit of the case. */
START_TEST(event_loop_and_progress_thread_share_a_context)
{
    struct session s;
    struct helper helper = {.stop = false};
    struct call call = {.called = 0};
    hg_handle_t handle;
    pthread_t thread;
    int epoll_fd;

    session_begin(&s, _i, &setup);
    if (blocks(&s) && s.mode->thread_mode == 0) {
        handle = session_handle(&s, rpcs_id(RPC_EMPTY));
        epoll_fd = epoll_on(s.context);
        helper.context = s.context;
        ck_assert_int_eq(
            pthread_create(&thread, NULL, progress_beside, &helper), 0);
        for (uint32_t i = 1; i <= test_count(TEST_TRIGGER_CALLS); i++) {
            ck_assert_int_eq(
                HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
            while (call.called < i)
                ck_assert_msg(
                    turn(epoll_fd, s.context, test_count(TEST_WAIT_MS)),
                    "call %u: the loop beside a thread was not woken", i);
        }
        /* Nothing but this completion wakes the thread. */
        atomic_store(&helper.stop, true);
        ck_assert_int_eq(HG_Addr_lookup1(s.context, free_address, s.hg_class,
                             s.address, NULL),
            HG_SUCCESS);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        close(epoll_fd);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, event_loop_loses_no_wake_up);
    session_add(tcase, event_descriptor_is_constant_or_negative);
    session_add(tcase, event_descriptors_are_closed_on_exec);
    session_add(tcase, event_idle_progress_succeeds);
    session_add(tcase, event_ready_reports_what_is_due);
    session_add(tcase, event_loop_and_progress_thread_share_a_context);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "event", add);
}
