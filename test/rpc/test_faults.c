/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults of a transport: submissions and events that fail, in any order, and
 * late cancellation. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <poll.h>
#include <string.h>

static const struct session_setup setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};

static void
set_fault(enum loop_kind kind, enum loop_act act, int32_t code, uint32_t count)
{
    loop_fault_set(
        kind, (struct loop_fault){
                  .act = act, .code = code, .count = count, .delay = 3});
}

/* Nothing more is pending than before. The target may repost its receives
 * later. */
static void
ck_pending(struct session *s, uint32_t pending)
{
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);

    while (loop_pending() != pending && session_now_ms() < deadline)
        session_step(s, 1);
    ck_assert_uint_eq(loop_pending(), pending);
}

static uint32_t
pending_when_idle(struct session *s)
{
    session_quiet(s);
    return loop_pending();
}

START_TEST(faults_send_refused_cancels_the_posted_receive)
{
    struct session s;
    uint32_t pending;

    session_begin(&s, _i, &setup);
    rpcs_ck_works(&s);
    pending = pending_when_idle(&s);
    for (unsigned i = 0; i < 20; i++) {
        set_fault(LOOP_SEND_UNEXPECTED, LOOP_FAIL_NOW, NA_PLUGIN_E_AGAIN, 1);
        ck_assert_int_eq(rpcs_try(&s, RPC_EMPTY, NULL), HG_AGAIN);
    }
    ck_pending(&s, pending);
    set_fault(LOOP_SEND_UNEXPECTED, LOOP_FAIL_NOW, NA_PLUGIN_E_IO_ERROR, 1);
    ck_assert_int_eq(rpcs_try(&s, RPC_NOTIFY, &(uint64_t){1}), HG_IO_ERROR);
    rpcs_ck_works(&s);
    session_end(&s);
}
END_TEST

START_TEST(faults_send_fails_later)
{
    struct session s;

    session_begin(&s, _i, &setup);
    for (unsigned i = 0; i < 20; i++) {
        set_fault(
            LOOP_SEND_UNEXPECTED, LOOP_FAIL_LATER, NA_PLUGIN_E_HOSTUNREACH, 1);
        ck_assert_int_eq(rpcs_try(&s, RPC_EMPTY, NULL), HG_HOSTUNREACH);
        set_fault(
            LOOP_SEND_UNEXPECTED, LOOP_FAIL_LATER, NA_PLUGIN_E_IO_ERROR, 1);
        ck_assert_int_eq(rpcs_try(&s, RPC_NOTIFY, &(uint64_t){1}), HG_IO_ERROR);
    }
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_EMPTY], 0);
    rpcs_ck_works(&s);
    session_end(&s);
}
END_TEST

/* The receive, which is cancelled, also ends late. */
START_TEST(faults_send_fails_and_cancel_is_late)
{
    struct session s;

    session_begin(&s, _i, &setup);
    loop_cancel_set(LOOP_CANCEL_LATE);
    for (unsigned i = 0; i < 20; i++) {
        set_fault(LOOP_SEND_UNEXPECTED, LOOP_FAIL_NOW, NA_PLUGIN_E_AGAIN, 1);
        ck_assert_int_eq(rpcs_try(&s, RPC_EMPTY, NULL), HG_AGAIN);
        set_fault(
            LOOP_SEND_UNEXPECTED, LOOP_FAIL_LATER, NA_PLUGIN_E_IO_ERROR, 1);
        ck_assert_int_eq(rpcs_try(&s, RPC_EMPTY, NULL), HG_IO_ERROR);
    }
    loop_cancel_set(LOOP_CANCEL_PROMPT);
    rpcs_ck_works(&s);
    session_end(&s);
}
END_TEST

START_TEST(faults_receive_refused_nothing_is_sent)
{
    struct session s;
    uint32_t sent;

    session_begin(&s, _i, &setup);
    rpcs_ck_works(&s);
    sent = loop_submitted(LOOP_SEND_UNEXPECTED);
    set_fault(LOOP_RECV_EXPECTED, LOOP_FAIL_NOW, NA_PLUGIN_E_NOMEM, 5);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_int_eq(rpcs_try(&s, RPC_EMPTY, NULL), HG_NOMEM);
    ck_assert_uint_eq(loop_submitted(LOOP_SEND_UNEXPECTED), sent);
    rpcs_ck_works(&s);
    session_end(&s);
}
END_TEST

START_TEST(faults_receive_fails_later)
{
    struct session s;

    session_begin(&s, _i, &setup);
    for (unsigned i = 0; i < 10; i++) {
        set_fault(LOOP_RECV_EXPECTED, LOOP_FAIL_LATER, NA_PLUGIN_E_MSGSIZE, 1);
        ck_assert_int_eq(rpcs_try(&s, RPC_EMPTY, NULL), HG_MSGSIZE);
        set_fault(
            LOOP_RECV_EXPECTED, LOOP_FAIL_LATER, NA_PLUGIN_E_HOSTUNREACH, 1);
        ck_assert_int_eq(rpcs_try(&s, RPC_EMPTY, NULL), HG_HOSTUNREACH);
    }
    rpcs_ck_works(&s);
    session_end(&s);
}
END_TEST

START_TEST(faults_answer_arrives_before_send_completes)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    loop_fault_set(LOOP_SEND_UNEXPECTED,
        (struct loop_fault){
            .act = LOOP_LATER, .count = 1, .delay = LOOP_DELAY_MAX});
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_EMPTY, 1);
    session_quiet(&s);
    /* The transport owns the buffer until the send has ended. */
    ck_assert_uint_eq(call.called, 0);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_BUSY);
    loop_expire_delays();
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(faults_request_held_back_is_cancelled)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    set_fault(LOOP_SEND_UNEXPECTED, LOOP_HOLD, 0, 1);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_quiet(&s);
    ck_assert_uint_eq(call.called, 0);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    ck_assert_uint_eq(loop_release(), 0);
    session_quiet(&s);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_EMPTY], 0);
    rpcs_ck_works(&s);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(faults_cancel_late_is_still_one_callback)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    blob_t in;

    session_begin(&s, _i, &setup);
    in = blob_make(20, 1);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    loop_cancel_set(LOOP_CANCEL_LATE);
    for (uint32_t i = 0; i < 5; i++) {
        hg_return_t ret;

        call.called = 0;
        /* While the cancellation takes long, the operations of the handle are
         * orphaned. */
        while ((ret = HG_Forward(handle, call_done, &call, &in)) == HG_BUSY)
            session_step(&s, 1);
        ck_assert_int_eq(ret, HG_SUCCESS);
        rpcs_wait_handled(&s, RPC_KEEP, i + 1);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_BUSY);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_CANCELED);
    }
    loop_cancel_set(LOOP_CANCEL_PROMPT);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static void
post_one(struct hg_init_info *info)
{
    info->request_post_init = 1;
    info->request_post_incr = 1;
}

static const struct session_setup setup_one = {
    .open = rpcs_open, .stopping = rpcs_stopping, .init = post_one};

START_TEST(faults_receive_of_requests_fails_and_is_posted_again)
{
    struct session s;

    session_begin(&s, _i, &setup_one);
    log_expect("request not received: NA_MSGSIZE", 3, 3);
    rpcs_ck_works(&s);
    /* The receive that is posted already does not fail. */
    set_fault(LOOP_RECV_UNEXPECTED, LOOP_FAIL_LATER, NA_PLUGIN_E_MSGSIZE, 3);
    for (unsigned i = 0; i < 10; i++)
        rpcs_ck_works(&s);
    session_end(&s);
}
END_TEST

START_TEST(faults_receive_of_requests_refused_others_are_posted)
{
    struct session s;

    session_begin(&s, _i, &setup_one);
    /* On a busy processor the fault may hit a receive that was refused in the
     * round before and is being retried, which logs nothing. */
    log_expect("cannot post a receive for requests", 1, 3);
    for (unsigned i = 0; i < 3; i++) {
        rpcs_ck_works(&s);
        set_fault(LOOP_RECV_UNEXPECTED, LOOP_FAIL_NOW, NA_PLUGIN_E_NOMEM, 1);
        rpcs_ck_works(&s);
        rpcs_ck_works(&s);
    }
    session_end(&s);
}
END_TEST

static void
post_one_only(struct hg_init_info *info)
{
    info->request_post_init = 1;
    info->request_post_incr = -1;
}

/* A call whose origin never sleeps for long. */
static void
call_awake(struct session *s)
{
    hg_handle_t handle = session_handle(s, rpcs_id(RPC_EMPTY));
    struct call call = {.called = 0};

    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_wait_other(s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
}

/* Reposting the only receive is refused when its handle is released: each
 * progress retries it. */
START_TEST(faults_repost_refused_is_retried)
{
    static const struct session_setup setup_only = {
        .open = rpcs_open, .stopping = rpcs_stopping, .init = post_one_only};
    struct session s;

    session_begin(&s, _i, &setup_only);
    log_expect("cannot post a receive for requests", 3, 3);
    for (uint32_t i = 0; i < 3; i++) {
        call_awake(&s);
        set_fault(
            LOOP_RECV_UNEXPECTED, LOOP_FAIL_NOW, NA_PLUGIN_E_NOMEM, 1 + i * 3);
        call_awake(&s);
        call_awake(&s);
    }
    session_end(&s);
}
END_TEST

static _Atomic uint32_t turns;

/* Sleeps on the descriptor alone, with a long timeout. */
static void
serve_by_poll(hg_context_t *context, const _Atomic bool *stop)
{
    struct pollfd fd = {.fd = HG_Event_get_wait_fd(context), .events = POLLIN};

    while (!atomic_load(stop)) {
        if (!HG_Event_ready(context))
            poll(&fd, 1, fd.fd < 0 ? 1 : 500);
        HG_Event_progress(context, NULL);
        HG_Event_trigger(context, 16, NULL);
        atomic_fetch_add(&turns, 1);
    }
}

/* A sleeping external loop is woken for the next attempt, and not before. */
START_TEST(faults_repost_retry_wakes_an_event_loop)
{
    static const struct session_setup setup_poll = {.open = rpcs_open,
        .stopping = rpcs_stopping,
        .init = post_one_only,
        .serve = serve_by_poll};
    struct session s;

    session_begin(&s, _i, &setup_poll);
    if (s.mode->shape != SESSION_SELF) {
        uint32_t before;

        log_expect("cannot post a receive for requests", 1, 1);
        call_awake(&s);
        set_fault(LOOP_RECV_UNEXPECTED, LOOP_FAIL_NOW, NA_PLUGIN_E_NOMEM, 20);
        call_awake(&s);
        before = atomic_load(&turns);
        call_awake(&s);
        if (s.mode->progress_mode != NA_NO_BLOCK && !s.mode->limits)
            ck_assert_uint_lt(atomic_load(&turns) - before, 500);
    }
    session_end(&s);
}
END_TEST

START_TEST(faults_context_create_without_receives_fails)
{
    struct session s;

    session_begin(&s, _i, &setup_one);
    if (s.mode->shape == SESSION_SELF) {
        log_expect("cannot post a receive for requests", 1, 1);
        ck_assert_int_eq(HG_Context_destroy(s.context), HG_SUCCESS);
        set_fault(LOOP_RECV_UNEXPECTED, LOOP_FAIL_NOW, NA_PLUGIN_E_NOMEM, 1);
        ck_assert_ptr_null(HG_Context_create(s.hg_class));
        s.context = HG_Context_create(s.hg_class);
        ck_assert_ptr_nonnull(s.context);
        rpcs_ck_works(&s);
    }
    session_end(&s);
}
END_TEST

/* The response is refused: HG_Respond returns the error, and the handler
 * returns that code, which is sent to the origin. */
START_TEST(faults_respond_refused_sends_the_error)
{
    struct session s;
    blob_t in = blob_make(10, 1);

    session_begin(&s, _i, &setup);
    for (unsigned i = 0; i < 5; i++) {
        set_fault(LOOP_SEND_EXPECTED, LOOP_FAIL_NOW, NA_PLUGIN_E_AGAIN, 1);
        ck_assert_int_eq(rpcs_try(&s, RPC_ECHO, &in), HG_AGAIN);
    }
    rpcs_ck_works(&s);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static _Atomic uint32_t responded;

static hg_return_t
on_not_responded(const struct hg_cb_info *info)
{
    TARGET_ASSERT(info->ret == HG_HOSTUNREACH);
    TARGET_ASSERT(HG_Destroy(info->info.respond.handle) == HG_SUCCESS);
    atomic_fetch_add(&responded, 1);
    return HG_SUCCESS;
}

static hg_return_t
on_lost(hg_handle_t handle)
{
    TARGET_ASSERT(
        HG_Respond(handle, on_not_responded, NULL, NULL) == HG_SUCCESS);
    return HG_SUCCESS;
}

static hg_id_t lost_id;

static void
open_lost(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    lost_id = MERCURY_REGISTER(hg_class, "lost", void, void, on_lost);
}

START_TEST(faults_answer_that_fails_later_reaches_respond_callback)
{
    static const struct session_setup setup_lost = {
        .open = open_lost, .stopping = rpcs_stopping};
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    responded = 0;
    session_begin(&s, _i, &setup_lost);
    handle = session_handle(&s, lost_id);
    set_fault(LOOP_SEND_EXPECTED, LOOP_FAIL_LATER, NA_PLUGIN_E_HOSTUNREACH, 1);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_wait_other(&s, &responded, 1);
    ck_assert_uint_eq(call.called, 0);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    rpcs_ck_works(&s);
    session_end(&s);
}
END_TEST

/* Fails each operation of a call in turn. The call ends or can be cancelled,
 * and the next call is not affected. */
START_TEST(faults_of_each_operation_leak_nothing)
{
    static const enum loop_kind kinds[] = {
        LOOP_SEND_UNEXPECTED, LOOP_SEND_EXPECTED, LOOP_RECV_EXPECTED};
    static const enum loop_act acts[] = {LOOP_FAIL_NOW, LOOP_FAIL_LATER};
    struct session s;
    hg_handle_t handle;
    uint32_t pending;
    blob_t in = blob_make(40, 1);

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    rpcs_ck_works(&s);
    pending = pending_when_idle(&s);
    for (uint32_t step = 0; step < test_count(TEST_FAULT_STEPS); step++) {
        struct call call = {.called = 0};
        struct loop_fault fault = {.act = acts[step / 3 % 2],
            .code = NA_PLUGIN_E_IO_ERROR,
            .skip = step / 6 % 3,
            .count = 1 + step % 2,
            .delay = step % 5};
        hg_return_t ret;

        loop_fault_set(kinds[step % 3], fault);
        for (unsigned i = 0; i < 4; i++) {
            call.called = 0;
            ret = HG_Forward(handle, call_done, &call, &in);
            if (ret != HG_SUCCESS)
                continue;
            for (unsigned turn = 0; turn < 130 && call.called == 0; turn++)
                session_step(&s, turn < 100 ? 0 : 1);
            if (call.called == 0)
                ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
            session_wait(&s, &call.called, 1);
            ck_assert(call.ret == HG_SUCCESS || call.ret == HG_IO_ERROR ||
                      call.ret == HG_CANCELED);
        }
        loop_fault_set(
            kinds[step % 3], (struct loop_fault){.act = LOOP_NORMAL});
        ck_assert_int_eq(HG_Ref_get(handle), 1);
        rpcs_ck_works(&s);
    }
    ck_pending(&s, pending);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(faults_dead_context_fails_progress)
{
    struct session s;

    session_begin(&s, _i, &setup);
    if (s.mode->shape != SESSION_SELF) {
        hg_class_t *hg_class = session_open_class(s.mode, &setup, true);
        hg_context_t *context = HG_Context_create(hg_class);
        char text[64];
        hg_size_t size = sizeof text;
        hg_addr_t self;

        ck_assert_ptr_nonnull(context);
        ck_assert_int_eq(HG_Addr_self(hg_class, &self), HG_SUCCESS);
        ck_assert_int_eq(
            HG_Addr_to_string(hg_class, text, &size, self), HG_SUCCESS);
        ck_assert_int_eq(HG_Addr_free(hg_class, self), HG_SUCCESS);
        log_expect("is dead: NA_IO_ERROR", 1, 100);
        ck_assert_int_eq(HG_Context_unpost(context), HG_SUCCESS);
        loop_kill_contexts(text);
        ck_assert_int_eq(HG_Progress(context, 0), HG_IO_ERROR);
        ck_assert_int_eq(HG_Progress(context, 100), HG_IO_ERROR);
        ck_assert_int_eq(HG_Event_progress(context, NULL), HG_IO_ERROR);
        ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
        ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

/* With the narrowest tags a context has 2^15 handles; creating one more fails
 * and is logged. */
START_TEST(faults_create_beyond_tag_limit_fails)
{
    static const struct loop_limits narrow = {.max_unexpected_size = 256,
        .max_expected_size = 256,
        .max_tag = 0x7fff};
    enum { ALL = 0x8000 };
    static hg_handle_t handles[ALL];
    struct session s;
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_handle_t more = HG_HANDLE_NULL;

    if (_i != 0)
        return;
    session_begin(&s, _i, &setup);
    loop_limits_set(&narrow);
    hg_class = session_open_class(s.mode, NULL, false);
    ck_assert_ptr_nonnull(hg_class);
    context = HG_Context_create(hg_class);
    log_expect("handle limit reached", 1, 1);
    for (unsigned i = 0; i < ALL; i++)
        ck_assert_int_eq(
            HG_Create(context, HG_ADDR_NULL, 0, &handles[i]), HG_SUCCESS);
    ck_assert_int_eq(HG_Create(context, HG_ADDR_NULL, 0, &more), HG_NOMEM);
    ck_assert_int_eq(HG_Destroy(handles[7]), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Create(context, HG_ADDR_NULL, 0, &handles[7]), HG_SUCCESS);
    for (unsigned i = 0; i < ALL; i++)
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, faults_send_refused_cancels_the_posted_receive);
    session_add(tcase, faults_send_fails_later);
    session_add(tcase, faults_send_fails_and_cancel_is_late);
    session_add(tcase, faults_receive_refused_nothing_is_sent);
    session_add(tcase, faults_receive_fails_later);
    session_add(tcase, faults_answer_arrives_before_send_completes);
    session_add(tcase, faults_request_held_back_is_cancelled);
    session_add(tcase, faults_cancel_late_is_still_one_callback);
    session_add(tcase, faults_receive_of_requests_fails_and_is_posted_again);
    session_add(tcase, faults_receive_of_requests_refused_others_are_posted);
    session_add(tcase, faults_repost_refused_is_retried);
    session_add(tcase, faults_repost_retry_wakes_an_event_loop);
    session_add(tcase, faults_context_create_without_receives_fails);
    session_add(tcase, faults_respond_refused_sends_the_error);
    session_add(tcase, faults_answer_that_fails_later_reaches_respond_callback);
    session_add(tcase, faults_of_each_operation_leak_nothing);
    session_add(tcase, faults_dead_context_fails_progress);
    session_add(tcase, faults_create_beyond_tag_limit_fails);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "faults", add);
}
