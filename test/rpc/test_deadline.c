/* SPDX-License-Identifier: BSD-3-Clause */
/* Deadlines of forwards, and dropped requests. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"
#include "talaria.h"

#include <poll.h>
#include <string.h>

#define SHORT_MS 20U
#define LATE_MS 2000U /* completing this long after the deadline is too late */

static hg_id_t drop_id, destroy_twice_id;

static hg_return_t
on_drop(hg_handle_t handle)
{
    TARGET_ASSERT(talaria_handle_drop(handle) == HG_SUCCESS);
    TARGET_ASSERT(talaria_handle_drop(handle) == HG_BUSY);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_BUSY);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    atomic_fetch_add(&rpcs_shared()->handled[RPC_KEEP], 1);
    return HG_OTHER_ERROR; /* this code is not sent either */
}

/* How handlers written for Mercury drop a request. */
static hg_return_t
on_destroy_twice(hg_handle_t handle)
{
    TARGET_ASSERT(HG_Ref_get(handle) > 1);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    atomic_fetch_add(&rpcs_shared()->handled[RPC_KEEP], 1);
    return HG_SUCCESS;
}

static void
open_drop(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    drop_id = MERCURY_REGISTER(hg_class, "drop", void, void, on_drop);
    destroy_twice_id = MERCURY_REGISTER(
        hg_class, "destroy_twice", void, void, on_destroy_twice);
}

static const struct session_setup setup = {
    .open = open_drop, .stopping = rpcs_stopping};

/* Connects first: a call that ends before its connection is established is
 * never sent. */
static void
connect_first(struct session *s)
{
    if (session_is_hosts())
        rpcs_ck_works(s);
}

/* The call ends with HG_TIMEOUT, once, not too early and not too late. */
static void
ck_times_out(struct session *s, hg_handle_t handle, void *in, unsigned ms)
{
    struct call call = {.called = 0};
    uint64_t begin, took;

    ck_assert_int_eq(talaria_handle_set_deadline(handle, ms), HG_SUCCESS);
    begin = session_now_ms();
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, in), HG_SUCCESS);
    ck_assert_int_eq(talaria_handle_set_deadline(handle, 5), HG_BUSY);
    session_wait(s, &call.called, 1);
    took = session_now_ms() - begin;
    ck_assert_int_eq(call.ret, HG_TIMEOUT);
    ck_assert_uint_ge(took + 1, ms);
    ck_assert_uint_lt(took, ms + LATE_MS);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    session_step(s, 0);
    ck_assert_uint_eq(call.called, 1);
}

START_TEST(deadline_passes_while_progress_sleeps)
{
    struct session s;
    hg_handle_t handle;
    blob_t in = blob_make(20, 1);

    session_begin(&s, _i, &setup);
    connect_first(&s);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    for (unsigned i = 1; i <= 3; i++) {
        ck_times_out(&s, handle, &in, i * SHORT_MS);
        rpcs_wait_handled(&s, RPC_KEEP, i);
    }
    /* answers to calls that have ended */
    ck_assert_uint_eq(rpcs_answer_kept(&s, 3), 3);
    session_quiet(&s);
    /* No deadline from here on. */
    ck_assert_int_eq(talaria_handle_set_deadline(handle, 0), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Reset(handle, HG_ADDR_NULL, rpcs_id(RPC_EMPTY)), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(deadline_of_answered_call_has_no_effect)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle, again;
    uint64_t begin;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(talaria_handle_set_deadline(handle, LATE_MS), HG_SUCCESS);
    for (uint32_t i = 0; i < 200; i++)
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(talaria_handle_set_deadline(handle, SHORT_MS), HG_SUCCESS);
    begin = session_now_ms();
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    if (session_now_ms() - begin < SHORT_MS)
        ck_assert_int_eq(call.ret, HG_SUCCESS);
    session_quiet(&s);
    ck_assert_uint_eq(call.called, 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    /* HG_Create gives the program a handle without deadline, even a reused
     * one. */
    again = session_handle(&s, rpcs_id(RPC_KEEP));
    ck_assert_ptr_eq(again, handle);
    call.called = 0;
    ck_assert_int_eq(HG_Forward(again, call_done, &call, NULL), HG_SUCCESS);
    session_quiet(&s);
    ck_assert_uint_eq(call.called, 0);
    ck_assert_int_eq(HG_Cancel(again), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    ck_assert_int_eq(HG_Destroy(again), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* Many calls with deadlines in random order: each ends at its own; every third
 * is cancelled. */
START_TEST(deadline_of_many_ends_each_in_order)
{
    enum { MANY = 96 };
    struct session s;
    struct call calls[MANY];
    hg_handle_t handles[MANY];
    unsigned limits[MANY];
    uint64_t begins[MANY];
    blob_t in = blob_make(20, 1);

    memset(calls, 0, sizeof calls);
    session_begin(&s, _i, &setup);
    connect_first(&s);
    for (unsigned i = 0; i < MANY; i++) {
        handles[i] = session_handle(&s, rpcs_id(RPC_KEEP));
        limits[i] = 1 + i * 37 % 100;
        ck_assert_int_eq(
            talaria_handle_set_deadline(handles[i], limits[i]), HG_SUCCESS);
        begins[i] = session_now_ms();
        ck_assert_int_eq(
            HG_Forward(handles[i], call_done, &calls[i], &in), HG_SUCCESS);
        if (i % 3 == 0)
            ck_assert_int_eq(HG_Cancel(handles[i]), HG_SUCCESS);
    }
    for (unsigned i = 0; i < MANY; i++)
        while (calls[i].called == 0) {
            session_step(&s, LATE_MS);
            for (unsigned j = 0; j < MANY; j++)
                if (calls[j].called == 0)
                    ck_assert_uint_lt(
                        session_now_ms(), begins[j] + limits[j] + LATE_MS);
                else if (calls[j].ret == HG_TIMEOUT)
                    ck_assert_uint_ge(
                        session_now_ms() + 1, begins[j] + limits[j]);
        }
    session_quiet(&s);
    rpcs_wait_handled(&s, RPC_KEEP, MANY / 3 * 2);
    for (unsigned i = 0; i < MANY; i++) {
        ck_assert_uint_eq(calls[i].called, 1);
        if (i % 3 == 0)
            ck_assert(
                calls[i].ret == HG_CANCELED || calls[i].ret == HG_TIMEOUT);
        else
            ck_assert_int_eq(calls[i].ret, HG_TIMEOUT);
        ck_assert_int_eq(HG_Ref_get(handles[i]), 1);
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    }
    blob_free(&in);
    session_end(&s);
}
END_TEST

/* Other calls complete all the time, so that progress never waits. */
START_TEST(deadline_passes_amid_traffic)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    uint64_t begin;
    blob_t in = blob_make(20, 1);

    session_begin(&s, _i, &setup);
    connect_first(&s);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    ck_assert_int_eq(talaria_handle_set_deadline(handle, SHORT_MS), HG_SUCCESS);
    begin = session_now_ms();
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    while (call.called == 0) {
        rpcs_ck_works(&s);
        ck_assert_uint_lt(session_now_ms(), begin + SHORT_MS + LATE_MS);
    }
    ck_assert_int_eq(call.ret, HG_TIMEOUT);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_KEEP, 1);
    blob_free(&in);
    session_end(&s);
}
END_TEST

/* An event loop that is woken by the descriptor alone. */
START_TEST(deadline_wakes_an_event_loop)
{
    struct session s;
    struct call call = {.called = 0};
    struct pollfd fd = {.events = POLLIN};
    hg_handle_t handle;
    blob_t in = blob_make(20, 1);

    session_begin(&s, _i, &setup);
    connect_first(&s);
    fd.fd = HG_Event_get_wait_fd(s.context);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    ck_assert_int_eq(talaria_handle_set_deadline(handle, SHORT_MS), HG_SUCCESS);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    while (call.called == 0) {
        if (!HG_Event_ready(s.context))
            ck_assert_int_eq(poll(&fd, 1, LATE_MS), 1);
        ck_assert_int_eq(HG_Event_progress(s.context, NULL), HG_SUCCESS);
        ck_assert_int_eq(HG_Event_trigger(s.context, 16, NULL), HG_SUCCESS);
    }
    ck_assert_int_eq(call.ret, HG_TIMEOUT);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_KEEP, 1);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static void *
progress_until_called(void *arg)
{
    struct session *s = ((void **) arg)[0];
    struct call *call = ((void **) arg)[1];

    while (atomic_load(&call->called) == 0) {
        HG_Progress(s->context, test_count(TEST_WAIT_MS));
        HG_Trigger(s->context, 0, 16, NULL);
    }
    return NULL;
}

/* The deadline is set while another thread already sleeps. */
START_TEST(deadline_set_while_another_thread_sleeps)
{
    struct session s;
    struct call call = {.called = 0};
    void *arg[2] = {&s, &call};
    hg_handle_t handle;
    pthread_t thread;
    uint64_t begin;
    blob_t in = blob_make(20, 1);

    session_begin(&s, _i, &setup);
    connect_first(&s);
    if (s.mode->thread_mode != NA_THREAD_MODE_SINGLE) {
        handle = session_handle(&s, rpcs_id(RPC_KEEP));
        ck_assert_int_eq(
            talaria_handle_set_deadline(handle, SHORT_MS), HG_SUCCESS);
        ck_assert_int_eq(
            pthread_create(&thread, NULL, progress_until_called, arg), 0);
        poll(NULL, 0, 5);
        begin = session_now_ms();
        ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        ck_assert_uint_lt(session_now_ms() - begin, SHORT_MS + LATE_MS);
        ck_assert_int_eq(call.ret, HG_TIMEOUT);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
        rpcs_wait_handled(&s, RPC_KEEP, 1);
    }
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(deadline_after_cancel_is_canceled)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    blob_t in = blob_make(20, 1);

    session_begin(&s, _i, &setup);
    connect_first(&s);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    ck_assert_int_eq(
        talaria_handle_set_deadline(handle, LATE_MS * 10), HG_SUCCESS);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_KEEP, 1);
    blob_free(&in);
    session_end(&s);
}
END_TEST

/* In time also when the transport cannot cancel and the target is dead. */
START_TEST(deadline_with_uncancelable_transport)
{
    struct session s;
    hg_handle_t handle;
    blob_t in;

    if (!session_is_loop())
        return;
    session_begin(&s, _i, &setup);
    in = blob_make(20, 1);
    loop_cancel_set(LOOP_CANCEL_REFUSED);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    ck_times_out(&s, handle, &in, SHORT_MS);
    ck_assert_int_eq(HG_Forward(handle, NULL, NULL, &in), HG_BUSY);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    loop_fault_set(LOOP_SEND_UNEXPECTED,
        (struct loop_fault){.act = LOOP_HOLD, .count = 1});
    handle = session_handle(&s, rpcs_id(RPC_NOTIFY));
    ck_times_out(&s, handle, &(uint64_t){1}, SHORT_MS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    rpcs_ck_works(&s);
    blob_free(&in);
    session_end(&s);
}
END_TEST

/* HG_Progress ends the call when the deadline passes, without an event. */
START_TEST(deadline_passing_in_progress_succeeds)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    uint64_t begin;
    blob_t in;

    if (!session_is_loop())
        return;
    session_begin(&s, _i, &setup);
    in = blob_make(20, 1);
    loop_cancel_set(LOOP_CANCEL_REFUSED);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    ck_assert_int_eq(talaria_handle_set_deadline(handle, SHORT_MS), HG_SUCCESS);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    begin = session_now_ms();
    while (call.called == 0) {
        bool found = HG_Progress(s.context, 0) == HG_SUCCESS;
        bool due = HG_Trigger(s.context, 0, 1, NULL) == HG_SUCCESS;

        if (found != due)
            ck_abort_msg("HG_Progress %s, but HG_Trigger %s",
                found ? "succeeds" : "times out",
                due ? "succeeds" : "times out");
        if (session_now_ms() - begin > SHORT_MS + LATE_MS)
            ck_abort_msg("no callback after the deadline");
    }
    ck_assert_int_eq(call.ret, HG_TIMEOUT);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(deadline_request_destroyed_twice_is_not_answered)
{
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    connect_first(&s);
    handle = session_handle(&s, destroy_twice_id);
    for (unsigned i = 1; i <= 3; i++) {
        ck_times_out(&s, handle, NULL, SHORT_MS);
        rpcs_wait_handled(&s, RPC_KEEP, i);
    }
    rpcs_ck_works(&s);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(deadline_dropped_request_is_not_answered)
{
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    connect_first(&s);
    handle = session_handle(&s, drop_id);
    for (unsigned i = 1; i <= 3; i++) {
        ck_times_out(&s, handle, NULL, SHORT_MS);
        rpcs_wait_handled(&s, RPC_KEEP, i);
    }
    rpcs_ck_works(&s);
    ck_assert_int_eq(talaria_handle_drop(handle), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_int_eq(talaria_handle_drop(NULL), HG_INVALID_ARG);
    ck_assert_int_eq(talaria_handle_set_deadline(NULL, 1), HG_INVALID_ARG);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, deadline_passes_while_progress_sleeps);
    session_add(tcase, deadline_of_answered_call_has_no_effect);
    session_add(tcase, deadline_of_many_ends_each_in_order);
    session_add(tcase, deadline_passes_amid_traffic);
    session_add(tcase, deadline_wakes_an_event_loop);
    session_add(tcase, deadline_set_while_another_thread_sleeps);
    session_add(tcase, deadline_after_cancel_is_canceled);
    session_add(tcase, deadline_with_uncancelable_transport);
    session_add(tcase, deadline_passing_in_progress_succeeds);
    session_add(tcase, deadline_request_destroyed_twice_is_not_answered);
    session_add(tcase, deadline_dropped_request_is_not_answered);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "deadline", add);
}
