/* SPDX-License-Identifier: BSD-3-Clause */
/* Cancelling calls at each stage. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <signal.h>
#include <string.h>

static const struct session_setup setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};

/* Cancels a call that is never answered; its callback runs once. */
static void
cancel_kept(struct session *s, hg_handle_t handle, uint32_t before)
{
    struct call call = {.called = 0};
    blob_t in = blob_make(20, 1);

    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    rpcs_wait_handled(s, RPC_KEEP, before + 1);
    ck_assert_uint_eq(call.called, 0);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    ck_assert_uint_eq(call.called, 0);
    session_wait(s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    blob_free(&in);
    session_step(s, 0);
    ck_assert_uint_eq(call.called, 1);
}

START_TEST(cancel_of_unanswered_call_canceled_once)
{
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    for (uint32_t i = 0; i < 5; i++)
        cancel_kept(&s, handle, i);
    /* The late answers are dropped. */
    ck_assert_uint_eq(rpcs_answer_kept(&s, 5), 5);
    session_quiet(&s);
    ck_assert_int_eq(
        HG_Reset(handle, HG_ADDR_NULL, rpcs_id(RPC_EMPTY)), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(cancel_before_progress_canceled_or_answered)
{
    struct session s;
    hg_handle_t handle;
    hg_return_t ret;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    for (uint32_t i = 0; i < test_count(TEST_CANCEL_ROUNDS); i++) {
        struct call call = {.called = 0};

        /* Operations that the transport cannot cancel stay pending for a
         * while. */
        while ((ret = HG_Forward(handle, call_done, &call, NULL)) == HG_BUSY)
            session_step(&s, 1);
        ck_assert_int_eq(ret, HG_SUCCESS);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert(call.ret == HG_CANCELED || call.ret == HG_SUCCESS);
        ck_assert_int_eq(HG_Ref_get(handle), 1);
        ck_assert_uint_eq(call.called, 1);
    }
    session_quiet(&s);
    while ((ret = session_forward(&s, handle, NULL)) == HG_BUSY)
        session_step(&s, 1);
    ck_assert_int_eq(ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(cancel_of_completed_call_has_no_effect)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS); /* never forwarded */
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    /* Completed; the callback has not run yet. */
    for (unsigned i = 0; i < 10000; i++)
        if (HG_Progress(s.context, 10) == HG_SUCCESS &&
            rpcs_shared()->handled[RPC_EMPTY] > 0)
            break;
        else
            HG_Trigger(s.context, 0, 1, NULL);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    session_quiet(&s);
    ck_assert_uint_eq(call.called, 1);
    /* The next call of the handle is not affected. */
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static hg_return_t
cancel_in_callback(const struct hg_cb_info *info)
{
    ck_assert_int_eq(HG_Cancel(info->info.forward.handle), HG_SUCCESS);
    return call_done(info);
}

START_TEST(cancel_inside_the_callback_has_no_effect)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(
        HG_Forward(handle, cancel_in_callback, &call, NULL), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(cancel_of_many_each_calls_back_once)
{
    enum { MANY = 64 };
    struct session s;
    struct call calls[MANY];
    hg_handle_t handles[MANY];
    blob_t in;

    memset(calls, 0, sizeof calls);
    session_begin(&s, _i, &setup);
    in = blob_make(40, 4);
    for (unsigned i = 0; i < MANY; i++) {
        handles[i] = session_handle(&s, rpcs_id(RPC_KEEP));
        ck_assert_int_eq(
            HG_Forward(handles[i], call_done, &calls[i], &in), HG_SUCCESS);
    }
    rpcs_wait_handled(&s, RPC_KEEP, MANY);
    for (unsigned i = 0; i < MANY; i += 2)
        ck_assert_int_eq(HG_Cancel(handles[i]), HG_SUCCESS);
    for (unsigned i = 0; i < MANY; i += 2)
        session_wait(&s, &calls[i].called, 1);
    ck_assert_uint_eq(rpcs_answer_kept(&s, MANY), MANY);
    for (unsigned i = 0; i < MANY; i++) {
        session_wait(&s, &calls[i].called, 1);
        ck_assert_int_eq(calls[i].ret, i % 2 == 0 ? HG_CANCELED : HG_SUCCESS);
    }
    session_quiet(&s);
    for (unsigned i = 0; i < MANY; i++) {
        ck_assert_uint_eq(calls[i].called, 1);
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    }
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(cancel_then_destroy_before_the_callback)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    blob_t in;

    session_begin(&s, _i, &setup);
    in = blob_make(20, 1);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    session_quiet(&s);
    ck_assert_uint_eq(call.called, 1);
    blob_free(&in);
    session_end(&s);
}
END_TEST

/* A call is cancelled before it is answered, and the handle is forwarded again.
 * The late answer to the first call must not complete the second. */
START_TEST(cancel_late_answer_is_not_delivered_to_the_next_call)
{
    struct session s;
    hg_handle_t handle;
    blob_t in, out;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    for (uint32_t i = 0; i < 20; i++) {
        struct call call = {.called = 0};

        in = blob_make(30, i);
        ck_assert_int_eq(
            HG_Reset(handle, HG_ADDR_NULL, rpcs_id(RPC_KEEP)), HG_SUCCESS);
        cancel_kept(&s, handle, i);
        ck_assert_int_eq(
            HG_Reset(handle, HG_ADDR_NULL, rpcs_id(RPC_ECHO)), HG_SUCCESS);
        ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
        ck_assert_uint_eq(rpcs_answer_kept(&s, 1), 1);
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_SUCCESS);
        ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
        ck_assert(blob_equal(&in, &out));
        ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
        blob_free(&in);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

enum { CROWD = 16 };

struct crowd {
    hg_handle_t handles[CROWD];
    struct call calls[CROWD];
    _Atomic bool over;
};

static void *
cancel_all_the_time(void *arg)
{
    struct crowd *crowd = arg;

    while (!atomic_load(&crowd->over))
        for (unsigned i = 0; i < CROWD; i++)
            if (HG_Cancel(crowd->handles[i]) != HG_SUCCESS)
                return crowd;
    return NULL;
}

/* Forwards each completed handle again and returns how many. Each callback must
 * have run exactly once. */
static uint32_t
forward_idle(struct crowd *crowd)
{
    uint32_t count = 0;

    for (unsigned i = 0; i < CROWD; i++) {
        struct call *call = &crowd->calls[i];
        uint32_t called = atomic_load(&call->called);
        hg_return_t ret;

        ck_assert_uint_le(called, 1);
        if (called == 0)
            continue;
        ck_assert_msg(call->ret == HG_SUCCESS || call->ret == HG_CANCELED,
            "a cancelled call ended with %s", HG_Error_to_string(call->ret));
        ret = HG_Forward(crowd->handles[i], call_done, call, NULL);
        /* The transport has not cancelled yet: its operations are orphaned, so
         * HG_BUSY. */
        if (ret == HG_BUSY)
            continue;
        ck_assert_int_eq(ret, HG_SUCCESS);
        atomic_store(&call->called, 0);
        count++;
    }
    return count;
}

/* Cancels calls at arbitrary stages, repeatedly. */
START_TEST(cancel_from_another_thread_each_calls_back_once)
{
    struct session s;
    struct crowd crowd;
    pthread_t thread;
    void *failed;
    uint32_t count = 0;

    session_begin(&s, _i, &setup);
    if (s.mode->thread_mode == NA_THREAD_MODE_SINGLE) {
        session_end(&s);
        return;
    }
    memset(&crowd, 0, sizeof crowd);
    for (unsigned i = 0; i < CROWD; i++) {
        crowd.handles[i] = session_handle(&s, rpcs_id(RPC_EMPTY));
        crowd.calls[i].called = 1;
    }
    ck_assert_int_eq(
        pthread_create(&thread, NULL, cancel_all_the_time, &crowd), 0);
    while (count < test_count(TEST_CANCEL_ROUNDS) * CROWD) {
        count += forward_idle(&crowd);
        session_step(&s, 1);
    }
    atomic_store(&crowd.over, true);
    ck_assert_int_eq(pthread_join(thread, &failed), 0);
    ck_assert_ptr_null(failed);
    for (unsigned i = 0; i < CROWD; i++)
        session_wait(&s, &crowd.calls[i].called, 1);
    session_quiet(&s);
    for (unsigned i = 0; i < CROWD; i++) {
        ck_assert_uint_eq(crowd.calls[i].called, 1);
        ck_assert_int_eq(HG_Ref_get(crowd.handles[i]), 1);
        ck_assert_int_eq(
            session_forward(&s, crowd.handles[i], NULL), HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(crowd.handles[i]), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

/* More requests than the transport queues for a stopped target: some are in
 * flight, some still local. */
START_TEST(cancel_of_calls_to_a_stopped_target)
{
    enum { MANY = 512 };
    struct session s;
    static struct call calls[MANY];
    static hg_handle_t handles[MANY];
    blob_t in;

    if (session_mode_at(_i)->shape != SESSION_PROCESSES)
        return;
    memset(calls, 0, sizeof calls);
    session_begin(&s, _i, &setup);
    in = blob_make(
        (uint32_t) HG_Class_get_input_eager_size(s.hg_class) - 100, 1);
    rpcs_ck_works(&s);
    ck_assert_int_eq(kill(s.process, SIGSTOP), 0);
    for (unsigned i = 0; i < MANY; i++) {
        handles[i] = session_handle(&s, rpcs_id(RPC_ECHO));
        ck_assert_int_eq(
            HG_Forward(handles[i], call_done, &calls[i], &in), HG_SUCCESS);
    }
    session_quiet(&s);
    for (unsigned i = 0; i < MANY; i++) {
        ck_assert_uint_eq(calls[i].called, 0);
        ck_assert_int_eq(HG_Cancel(handles[i]), HG_SUCCESS);
    }
    for (unsigned i = 0; i < MANY; i++) {
        session_wait(&s, &calls[i].called, 1);
        ck_assert_int_eq(calls[i].ret, HG_CANCELED);
        ck_assert_int_eq(HG_Ref_get(handles[i]), 1);
    }
    ck_assert_int_eq(kill(s.process, SIGCONT), 0);
    rpcs_ck_works(&s);
    session_quiet(&s);
    for (unsigned i = 0; i < MANY; i++) {
        ck_assert_uint_eq(calls[i].called, 1);
        ck_assert_int_eq(session_forward(&s, handles[i], &in), HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    }
    blob_free(&in);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, cancel_of_unanswered_call_canceled_once);
    session_add(tcase, cancel_before_progress_canceled_or_answered);
    session_add(tcase, cancel_of_completed_call_has_no_effect);
    session_add(tcase, cancel_inside_the_callback_has_no_effect);
    session_add(tcase, cancel_of_many_each_calls_back_once);
    session_add(tcase, cancel_then_destroy_before_the_callback);
    session_add(tcase, cancel_late_answer_is_not_delivered_to_the_next_call);
    session_add(tcase, cancel_from_another_thread_each_calls_back_once);
    session_add(tcase, cancel_of_calls_to_a_stopped_target);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "cancel", add);
}
