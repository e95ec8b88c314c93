/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that the transport cannot cancel: the call completes early, and
 * what the operations refer to is kept until they have ended. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <string.h>

#define PROMPT_MS 2000U

static const struct session_setup setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};

static void
hold_one(enum loop_kind kind)
{
    loop_fault_set(kind, (struct loop_fault){.act = LOOP_HOLD, .count = 1});
}

/* The callback runs once, soon, and one reference is left. */
static void
ck_canceled(struct session *s, struct call *call, hg_handle_t handle)
{
    uint64_t begin = session_now_ms();

    session_wait(s, &call->called, 1);
    ck_assert_uint_lt(session_now_ms() - begin, PROMPT_MS);
    ck_assert_int_eq(call->ret, HG_CANCELED);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    session_quiet(s);
    ck_assert_uint_eq(call->called, 1);
}

START_TEST(detach_late_answer_is_dropped)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    blob_t in;

    session_begin(&s, _i, &setup);
    in = blob_make(20, 1);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    loop_cancel_set(LOOP_CANCEL_REFUSED);
    for (uint32_t i = 0; i < 3; i++) {
        call.called = 0;
        ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
        rpcs_wait_handled(&s, RPC_KEEP, i + 1);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        ck_canceled(&s, &call, handle);
        /* The transport still owns the buffer. */
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_BUSY);
        ck_assert_int_eq(HG_Reset(handle, HG_ADDR_NULL, 0), HG_BUSY);
        rpcs_ck_works(&s);
        ck_assert_uint_eq(rpcs_answer_kept(&s, 1), 1);
        session_quiet(&s);
        ck_assert_uint_eq(call.called, 1);
        ck_assert_int_eq(HG_Ref_get(handle), 1);
    }
    ck_assert_int_eq(
        HG_Reset(handle, HG_ADDR_NULL, rpcs_id(RPC_EMPTY)), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

/* A destroyed handle is not reused before the transport has ended its
 * operations. */
START_TEST(detach_handle_is_reused_only_after_its_operations_end)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle, other, again;
    uint64_t deadline;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    loop_cancel_set(LOOP_CANCEL_REFUSED);
    hold_one(LOOP_SEND_UNEXPECTED);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    ck_canceled(&s, &call, handle);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    other = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_ptr_ne(other, handle);
    ck_assert_int_eq(session_forward(&s, other, NULL), HG_SUCCESS);
    ck_assert_uint_eq(loop_release(), 1);
    /* Its answer arrives and ends the receive. */
    deadline = session_now_ms() + test_count(TEST_WAIT_MS);
    while ((again = session_handle(&s, rpcs_id(RPC_EMPTY))) != handle) {
        ck_assert_uint_lt(session_now_ms(), deadline);
        ck_assert_int_eq(HG_Destroy(again), HG_SUCCESS);
        session_step(&s, 1);
    }
    ck_assert_int_eq(session_forward(&s, again, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(again), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(other), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* No cancelled operation ever ends; contexts and classes can still be
 * destroyed, soon. */
START_TEST(detach_then_destroy_the_context)
{
    enum { MANY = 8 };
    struct session s;
    struct call calls[MANY];
    hg_handle_t handles[MANY];
    uint64_t begin;
    blob_t in;

    memset(calls, 0, sizeof calls);
    session_begin(&s, _i, &setup);
    in = blob_make(20, 1);
    loop_cancel_set(LOOP_CANCEL_REFUSED);
    for (unsigned i = 0; i < MANY; i++) {
        if (i % 2 == 0)
            hold_one(LOOP_SEND_UNEXPECTED);
        handles[i] = session_handle(&s, rpcs_id(RPC_KEEP));
        ck_assert_int_eq(
            HG_Forward(handles[i], call_done, &calls[i], &in), HG_SUCCESS);
    }
    rpcs_wait_handled(&s, RPC_KEEP, MANY / 2);
    for (unsigned i = 0; i < MANY; i++)
        ck_assert_int_eq(HG_Cancel(handles[i]), HG_SUCCESS);
    for (unsigned i = 0; i < MANY; i++) {
        ck_canceled(&s, &calls[i], handles[i]);
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    }
    blob_free(&in);
    begin = session_now_ms();
    session_end(&s);
    ck_assert_uint_lt(session_now_ms() - begin, PROMPT_MS);
}
END_TEST

/* Sending the request fails while cancelling its receive fails. */
START_TEST(detach_request_that_fails_to_send)
{
    static const enum loop_act acts[] = {LOOP_FAIL_NOW, LOOP_FAIL_LATER};
    struct session s;
    uint64_t begin;

    session_begin(&s, _i, &setup);
    loop_cancel_set(LOOP_CANCEL_REFUSED);
    for (unsigned i = 0; i < 4; i++) {
        loop_fault_set(LOOP_SEND_UNEXPECTED,
            (struct loop_fault){
                .act = acts[i % 2], .count = 1, .code = NA_PLUGIN_E_IO_ERROR});
        begin = session_now_ms();
        ck_assert_int_eq(rpcs_try(&s, RPC_EMPTY, NULL), HG_IO_ERROR);
        ck_assert_uint_lt(session_now_ms() - begin, PROMPT_MS);
        rpcs_ck_works(&s);
    }
    session_end(&s);
}
END_TEST

static hg_id_t stuck_id;
static _Atomic uint32_t responded;
static _Atomic(hg_handle_t) stuck;

static hg_return_t
on_responded(const struct hg_cb_info *info)
{
    hg_handle_t handle = info->info.respond.handle;

    TARGET_ASSERT(info->type == HG_CB_RESPOND);
    TARGET_ASSERT(info->ret == HG_CANCELED);
    TARGET_ASSERT(HG_Ref_get(handle) == 2);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    atomic_fetch_add(&responded, 1);
    return HG_SUCCESS;
}

static hg_return_t
on_stuck(hg_handle_t handle)
{
    int32_t refs = HG_Ref_get(handle);

    hold_one(LOOP_SEND_EXPECTED);
    TARGET_ASSERT(HG_Ref_get(handle) == refs);
    TARGET_ASSERT(HG_Cancel(handle) == HG_SUCCESS); /* nothing to cancel yet */
    TARGET_ASSERT(HG_Respond(handle, on_responded, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Ref_get(handle) == refs);
    TARGET_ASSERT(HG_Respond(handle, on_responded, NULL, NULL) == HG_BUSY);
    atomic_store(&stuck, handle);
    TARGET_ASSERT(HG_Cancel(handle) == HG_SUCCESS);
    TARGET_ASSERT(HG_Cancel(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static void
open_stuck(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    stuck_id = MERCURY_REGISTER(hg_class, "stuck", void, void, on_stuck);
}

static const struct session_setup setup_stuck = {
    .open = open_stuck, .stopping = rpcs_stopping};

/* One response that is never sent, cancelled by the target. */
static void
stuck_answer(struct session *s, enum loop_cancel cancel, uint32_t released)
{
    struct call call = {.called = 0};
    hg_handle_t handle = session_handle(s, stuck_id);
    uint32_t before = atomic_load(&responded);

    loop_cancel_set(cancel);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_wait_other(s, &responded, before + 1);
    session_quiet(s);
    ck_assert_uint_eq(atomic_load(&responded), before + 1);
    ck_assert_uint_eq(call.called, 0);
    rpcs_ck_works(s);
    ck_assert_uint_eq(loop_release(), released);
    loop_cancel_set(LOOP_CANCEL_PROMPT);
    if (released == 0)
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    session_wait(s, &call.called, 1);
    ck_assert_int_eq(call.ret, released == 0 ? HG_CANCELED : HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
}

START_TEST(detach_unsent_answer)
{
    struct session s;
    uint32_t pending;

    atomic_store(&responded, 0);
    session_begin(&s, _i, &setup_stuck);
    rpcs_ck_works(&s);
    session_quiet(&s);
    pending = loop_pending();
    for (unsigned i = 0; i < 3; i++) {
        stuck_answer(&s, LOOP_CANCEL_PROMPT, 0);
        stuck_answer(&s, LOOP_CANCEL_LATE, 0);
        stuck_answer(&s, LOOP_CANCEL_REFUSED, 1);
    }
    session_quiet(&s);
    /* all receives are posted again */
    ck_assert_uint_eq(loop_pending(), pending);
    session_end(&s);
}
END_TEST

/* The same response is still pending when the context is destroyed. */
START_TEST(detach_unsent_answer_then_destroy_the_context)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    atomic_store(&responded, 0);
    session_begin(&s, _i, &setup_stuck);
    handle = session_handle(&s, stuck_id);
    loop_cancel_set(LOOP_CANCEL_REFUSED);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_wait_other(&s, &responded, 1);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    ck_canceled(&s, &call, handle);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* HG_Get_output fails and the output stays untouched. */
static void
ck_no_output(hg_handle_t handle)
{
    hg_size_t size = 1;
    void *extra = &size;
    blob_t out;

    ck_assert_int_eq(HG_Get_output(handle, &out), HG_FAULT);
    ck_assert_int_eq(
        HG_Get_output_extra_buf(handle, &extra, &size), HG_SUCCESS);
    ck_assert(!extra && size == 0);
    ck_assert_uint_eq(HG_Get_output_payload_size(handle), 0);
}

/* An echo whose answer, or whose fetched output, arrives after the callback. */
static void
late_echo(struct session *s, enum loop_kind kind, uint32_t skip, uint32_t size)
{
    uint32_t handled = rpcs_shared()->handled[RPC_ECHO];
    struct call call = {.called = 0};
    hg_handle_t handle = session_handle(s, rpcs_id(RPC_ECHO));
    blob_t in = blob_make(size, 1), out;

    loop_cancel_set(LOOP_CANCEL_REFUSED);
    loop_fault_set(
        kind, (struct loop_fault){.act = LOOP_HOLD, .count = 4, .skip = skip});
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    rpcs_wait_handled(s, RPC_ECHO, handled + 1);
    session_quiet(s);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    ck_canceled(s, &call, handle);
    ck_no_output(handle);
    ck_assert_uint_ge(loop_release(), 1);
    session_quiet(s);
    ck_no_output(handle);
    loop_cancel_set(LOOP_CANCEL_PROMPT);
    loop_fault_set(kind, (struct loop_fault){.act = LOOP_NORMAL});
    ck_assert_int_eq(session_forward(s, handle, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert(blob_equal(&in, &out));
    ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
}

START_TEST(detach_late_answer_is_not_delivered)
{
    struct session s;

    session_begin(&s, _i, &setup);
    late_echo(&s, LOOP_SEND_EXPECTED, 0, 40);
    /* The target's gets are first: one, or several of 1000 bytes. Calls to
     * self fetch nothing. */
    if (s.mode->shape != SESSION_SELF)
        late_echo(&s, LOOP_GET,
            s.mode->limits && s.mode->limits->max_rma_size > 0 ? 301 : 1,
            300000);
    session_end(&s);
}
END_TEST

/* The transport never completes the fetch of arguments, then of an output; the
 * context can be destroyed all the same. Runs in one mode, since it waits. */
START_TEST(detach_fetch_then_destroy_the_context)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);
    uint32_t before = _i == 0 ? 0 : 1;
    blob_t in = blob_make(300000, 1);
    int mode = 0;

    while (session_mode_at(mode)->shape != SESSION_THREADS)
        mode++;
    session_begin(&s, mode, &setup);
    /* Ended in the end by the death of the peer. */
    log_expect("cannot acknowledge the answer", 0, 1);
    loop_cancel_set(LOOP_CANCEL_REFUSED);
    loop_fault_set(
        LOOP_GET, (struct loop_fault){.act = LOOP_HOLD, .skip = before});
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    while (loop_submitted(LOOP_GET) <= before) {
        ck_assert_uint_lt(session_now_ms(), deadline);
        session_step(&s, 1);
    }
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    ck_canceled(&s, &call, handle);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static struct {
    struct call again;
    blob_t in;
} reused;

static hg_return_t
forward_again(const struct hg_cb_info *info)
{
    hg_handle_t handle = info->info.forward.handle;

    ck_assert_int_eq(
        HG_Reset(handle, HG_ADDR_NULL, rpcs_id(RPC_KEEP)), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Forward(handle, call_done, &reused.again, &reused.in), HG_SUCCESS);
    return call_done(info);
}

/* A cancel after the last operation has ended has no effect, neither on this
 * call nor on the next one of its handle, not even when the grace period of
 * that cancel would end. */
START_TEST(detach_cancel_of_completed_call_spares_the_next)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    uint64_t deadline;

    if (session_mode_at(_i)->shape != SESSION_THREADS)
        return;
    session_begin(&s, _i, &setup);
    reused.in = blob_make(20, 1);
    reused.again.called = 0;
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(
        HG_Forward(handle, forward_again, &call, NULL), HG_SUCCESS);
    deadline = session_now_ms() + test_count(TEST_WAIT_MS);
    while (HG_Progress(s.context, 100) != HG_SUCCESS)
        ck_assert_uint_lt(session_now_ms(), deadline);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    loop_cancel_set(LOOP_CANCEL_REFUSED);
    ck_assert_int_eq(HG_Trigger(s.context, 0, 1, NULL), HG_SUCCESS);
    ck_assert_uint_eq(call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_KEEP, 1);
    session_quiet(&s);
    ck_assert_uint_eq(reused.again.called, 0);
    loop_cancel_set(LOOP_CANCEL_PROMPT);
    ck_assert_uint_eq(rpcs_answer_kept(&s, 1), 1);
    session_wait(&s, &reused.again.called, 1);
    ck_assert_int_eq(reused.again.ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&reused.in);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, detach_late_answer_is_dropped);
    session_add(tcase, detach_handle_is_reused_only_after_its_operations_end);
    session_add(tcase, detach_then_destroy_the_context);
    session_add(tcase, detach_request_that_fails_to_send);
    session_add(tcase, detach_unsent_answer);
    session_add(tcase, detach_unsent_answer_then_destroy_the_context);
    session_add(tcase, detach_late_answer_is_not_delivered);
    tcase_add_loop_test(tcase, detach_fetch_then_destroy_the_context, 0, 2);
    session_add(tcase, detach_cancel_of_completed_call_spares_the_next);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "detach", add);
}
