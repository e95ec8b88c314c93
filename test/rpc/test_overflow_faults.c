/* SPDX-License-Identifier: BSD-3-Clause */
/* Large arguments over a transport that fails, is slow, or loses its peer: each
 * call ends once at both sides, and leaks nothing. */
#include "counts.h"
#include "large.h"
#include "log_watch.h"

static hg_id_t make_then_cancel_id;

/* Like LARGE_MAKE, but cancels its response. */
static hg_return_t
on_make_then_cancel(hg_handle_t handle)
{
    hg_return_t ret = large_make(handle);

    if (ret == HG_SUCCESS)
        TARGET_ASSERT(HG_Cancel(handle) == HG_SUCCESS);
    return ret;
}

static void
open_own(hg_class_t *hg_class)
{
    large_open(hg_class);
    make_then_cancel_id = MERCURY_REGISTER(
        hg_class, "make_then_cancel", void, blob_t, on_make_then_cancel);
}

static const struct session_setup setup = {
    .open = open_own, .stopping = rpcs_stopping};

static void
hold_gets(void)
{
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
}

static void
release_gets(void)
{
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
    loop_release();
}

/* Progresses until an operation of this kind was submitted. */
static void
wait_submitted(struct session *s, enum loop_kind kind, uint32_t count)
{
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);

    while (loop_submitted(kind) < count && session_now_ms() < deadline)
        session_step(s, 1);
    ck_assert_uint_ge(loop_submitted(kind), count);
}

/* Whether a transfer is split into several operations. */
static bool
in_pieces(const struct session *s)
{
    return s->mode->limits && s->mode->limits->max_rma_size > 0;
}

START_TEST(overflow_failed_get_is_reported_at_both_sides)
{
    static const enum loop_act acts[] = {LOOP_FAIL_NOW, LOOP_FAIL_LATER};
    struct session s;
    hg_handle_t handle;
    blob_t in;

    if (!large_fetches(_i))
        return;
    session_begin(&s, _i, &setup);
    in = blob_make(LARGE, 1);
    handle = session_handle(&s, large_id(LARGE_ECHO));
    for (uint32_t i = 0; i < 6; i++) {
        struct loop_fault fault = {.act = acts[i % 2],
            .code = NA_PLUGIN_E_IO_ERROR,
            .delay = 3,
            .count = 1,
            .skip = i / 2};

        ck_assert_int_eq(
            HG_Reset(handle, HG_ADDR_NULL, large_id(LARGE_ECHO)), HG_SUCCESS);
        loop_fault_set(LOOP_GET, fault);
        ck_assert_int_eq(session_forward(&s, handle, &in),
            i < 4 || in_pieces(&s) ? HG_IO_ERROR : HG_SUCCESS);
        ck_assert_int_eq(HG_Ref_get(handle), 1);
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
        fault.skip = 0;
        ck_assert_int_eq(
            HG_Reset(handle, HG_ADDR_NULL, large_id(LARGE_MAKE)), HG_SUCCESS);
        loop_fault_set(LOOP_GET, fault);
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_IO_ERROR);
        session_wait_other(&s, &rpcs_shared()->responded, i + 1);
        ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_IO_ERROR);
    }
    rpcs_ck_works(&s);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

/* Each operation of a large call fails once, in every way. When the loss of a
 * message leaves the call pending, it is cancelled. */
START_TEST(overflow_each_operation_fails_once)
{
    static const enum loop_kind kinds[] = {
        LOOP_SEND_UNEXPECTED, LOOP_SEND_EXPECTED, LOOP_RECV_EXPECTED, LOOP_GET};
    static const enum loop_act acts[] = {LOOP_FAIL_NOW, LOOP_FAIL_LATER};
    struct session s;
    blob_t in = blob_make(LARGE, 1);

    session_begin(&s, _i, &setup);
    /* When everything is slow, the target is still fetching when the call is
     * cancelled, and its own error response is what fails. */
    log_expect("cannot fetch arguments: withdrawn by the sender", 0, 32);
    log_expect("cannot acknowledge the fetched arguments", 0, 32);
    for (unsigned kind = 0; kind < 4; kind++)
        for (uint32_t step = 0; step < 8; step++) {
            struct call call = {.called = 0};
            hg_handle_t handle = session_handle(&s, large_id(LARGE_ECHO));
            hg_return_t ret;

            loop_fault_set(
                kinds[kind], (struct loop_fault){.act = acts[step % 2],
                                 .code = NA_PLUGIN_E_IO_ERROR,
                                 .delay = 3,
                                 .count = 1,
                                 .skip = step / 2});
            ret = HG_Forward(handle, call_done, &call, &in);
            for (unsigned i = 0;
                 i < 30 && ret == HG_SUCCESS && call.called == 0; i++)
                session_step(&s, 1);
            if (ret == HG_SUCCESS && call.called == 0) {
                ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
                session_wait(&s, &call.called, 1);
            }
            loop_fault_set(
                kinds[kind], (struct loop_fault){.act = LOOP_NORMAL});
            session_step(&s, 0);
            ck_assert_uint_eq(call.called, ret == HG_SUCCESS);
            ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
            rpcs_ck_works(&s);
        }
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(overflow_cancelled_while_the_target_fetches)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    blob_t in;

    if (!large_fetches(_i))
        return;
    session_begin(&s, _i, &setup);
    in = blob_make(LARGE, 1);
    log_expect("withdrawn", 0, 1);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    hold_gets();
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    wait_submitted(&s, LOOP_GET, 1);
    ck_assert_uint_eq(call.called, 0);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    release_gets();
    session_quiet(&s);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_ECHO], 0);
    rpcs_ck_works(&s);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(overflow_cancelled_while_the_origin_fetches)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    if (!large_fetches(_i))
        return;
    session_begin(&s, _i, &setup);
    handle = session_handle(&s, large_id(LARGE_MAKE));
    hold_gets();
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    wait_submitted(&s, LOOP_GET, 1);
    ck_assert_uint_eq(rpcs_shared()->responded, 0);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    session_wait_other(&s, &rpcs_shared()->responded, 1);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_CANCELED);
    release_gets();
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    session_wait_other(&s, &rpcs_shared()->responded, 2);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(overflow_answer_cancelled_by_the_target)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    log_expect("withdrawn", 0, 1);
    handle = session_handle(&s, make_then_cancel_id);
    hold_gets();
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_wait_other(&s, &rpcs_shared()->responded, 1);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_CANCELED);
    release_gets();
    if (call.called == 0 && loop_submitted(LOOP_GET) == 0)
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS); /* it was not sent */
    session_wait(&s, &call.called, 1);
    if (large_fetches(_i))
        ck_assert_int_ne(call.ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    rpcs_ck_works(&s);
    session_end(&s);
}
END_TEST

START_TEST(overflow_target_dies_while_it_fetches)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    blob_t in;

    if (session_mode_at(_i)->shape != SESSION_THREADS)
        return;
    session_begin(&s, _i, &setup);
    in = blob_make(LARGE, 1);
    log_expect("cannot acknowledge the fetched arguments", 0, 1);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    hold_gets();
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    wait_submitted(&s, LOOP_GET, 1);
    session_kill(&s);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_HOSTUNREACH);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    release_gets();
    blob_free(&in);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, overflow_failed_get_is_reported_at_both_sides);
    session_add(tcase, overflow_each_operation_fails_once);
    session_add(tcase, overflow_cancelled_while_the_target_fetches);
    session_add(tcase, overflow_cancelled_while_the_origin_fetches);
    session_add(tcase, overflow_answer_cancelled_by_the_target);
    session_add(tcase, overflow_target_dies_while_it_fetches);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "overflow_faults", add);
}
