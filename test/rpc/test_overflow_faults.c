/* SPDX-License-Identifier: BSD-3-Clause */
/* Large arguments over a transport that fails, is slow, or loses its peer: each
 * call ends once, at both sides, and nothing is left of it. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <stdlib.h>
#include <string.h>

#define LARGE 300000U
#define SMALL 20000U

enum own {
    OWN_MAKE,   /* nothing in, LARGE bytes out, or as many as is said; counts
                   when that ended */
    OWN_REGRET, /* the same, and cancels it */
    OWN_LATER,  /* keeps the handle; counts */
    OWN_NOW,    /* answers that at last; counts again */
    OWN_SMALL,  /* nothing in, nothing out; counts as OWN_MAKE */
    OWN_COUNT
};
static hg_id_t own_ids[OWN_COUNT];

struct shared {
    _Atomic uint32_t size; /* 0: LARGE */
    _Atomic uint32_t responding;
    _Atomic uint32_t later;
    _Atomic uint32_t later_ret;
};

static struct shared *
shared(void)
{
    return (struct shared *) ((char *) session_user() + RPCS_USER_OFFSET);
}

static hg_return_t
make(hg_handle_t handle, bool regret)
{
    uint32_t size = atomic_load(&shared()->size);
    blob_t out = blob_make(size > 0 ? size : LARGE, 1);
    hg_return_t ret = HG_Respond(handle, rpcs_on_responded, NULL, &out);

    blob_free(&out);
    if (ret != HG_SUCCESS)
        TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    else if (regret)
        TARGET_ASSERT(HG_Cancel(handle) == HG_SUCCESS);
    if (ret == HG_SUCCESS)
        atomic_fetch_add(&shared()->responding, 1);
    return ret;
}

static hg_return_t
on_small(hg_handle_t handle)
{
    TARGET_ASSERT(
        HG_Respond(handle, rpcs_on_responded, NULL, NULL) == HG_SUCCESS);
    atomic_fetch_add(&shared()->responding, 1);
    return HG_SUCCESS;
}

static hg_return_t
on_make(hg_handle_t handle)
{
    return make(handle, false);
}

static hg_return_t
on_regret(hg_handle_t handle)
{
    return make(handle, true);
}

static hg_handle_t kept;

static hg_return_t
on_later(hg_handle_t handle)
{
    kept = handle;
    atomic_fetch_add(&shared()->later, 1);
    return HG_SUCCESS;
}

static hg_return_t
on_now(hg_handle_t handle)
{
    blob_t out = blob_make(LARGE, 1);

    atomic_store(
        &shared()->later_ret, (uint32_t) HG_Respond(kept, NULL, NULL, &out));
    blob_free(&out);
    TARGET_ASSERT(HG_Destroy(kept) == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    atomic_fetch_add(&shared()->later, 1);
    return HG_SUCCESS;
}

/* As RPC_ECHO, whose answer may fail. */
static hg_return_t
on_echo(hg_handle_t handle)
{
    blob_t blob;
    hg_return_t ret;

    TARGET_ASSERT(HG_Get_input(handle, &blob) == HG_SUCCESS);
    ret = HG_Respond(handle, NULL, NULL, &blob);
    TARGET_ASSERT(HG_Free_input(handle, &blob) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return ret;
}

static hg_id_t echo_id;

static void
open_own(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    own_ids[OWN_MAKE] =
        MERCURY_REGISTER(hg_class, "make", void, blob_t, on_make);
    own_ids[OWN_REGRET] =
        MERCURY_REGISTER(hg_class, "regret", void, blob_t, on_regret);
    own_ids[OWN_LATER] =
        MERCURY_REGISTER(hg_class, "later", void, blob_t, on_later);
    own_ids[OWN_NOW] = MERCURY_REGISTER(hg_class, "now", void, void, on_now);
    own_ids[OWN_SMALL] =
        MERCURY_REGISTER(hg_class, "small", void, void, on_small);
    echo_id = MERCURY_REGISTER(hg_class, "large_echo", blob_t, blob_t, on_echo);
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
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HONEST});
    loop_release();
}

/* Steps until an operation of a kind was submitted. */
static void
wait_submitted(struct session *s, enum loop_kind kind, uint32_t count)
{
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);

    while (loop_submitted(kind) < count && session_now_ms() < deadline)
        session_step(s, 1);
    ck_assert_uint_ge(loop_submitted(kind), count);
}

/* To oneself nothing is fetched through the transport. */
static bool
fetches(int mode)
{
    return session_mode_at(mode)->shape != SESSION_SELF;
}

/* Whether one transfer is many. */
static bool
in_pieces(const struct session *s)
{
    return s->mode->limits && s->mode->limits->max_rma_size > 0;
}

START_TEST(overflow_get_that_fails_is_told_to_both)
{
    static const enum loop_act acts[] = {LOOP_FAIL_NOW, LOOP_FAIL_LATER};
    struct session s;
    hg_handle_t handle;
    blob_t in;

    if (!fetches(_i))
        return;
    session_begin(&s, _i, &setup);
    in = blob_make(LARGE, 1);
    handle = session_handle(&s, echo_id);
    for (uint32_t i = 0; i < 6; i++) {
        struct loop_fault fault = {.act = acts[i % 2],
            .code = NA_PLUGIN_E_IO_ERROR,
            .delay = 3,
            .count = 1,
            .skip = i / 2};

        ck_assert_int_eq(HG_Reset(handle, HG_ADDR_NULL, echo_id), HG_SUCCESS);
        loop_fault_set(LOOP_GET, fault);
        ck_assert_int_eq(session_forward(&s, handle, &in),
            i < 4 || in_pieces(&s) ? HG_IO_ERROR : HG_SUCCESS);
        ck_assert_int_eq(HG_Ref_get(handle), 1);
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HONEST});
        fault.skip = 0;
        ck_assert_int_eq(
            HG_Reset(handle, HG_ADDR_NULL, own_ids[OWN_MAKE]), HG_SUCCESS);
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

/* Every operation of a large call fails once, in each way; what was lost on the
 * way, so that nothing can come, is cancelled. */
START_TEST(overflow_each_operation_fails_once)
{
    static const enum loop_kind kinds[] = {
        LOOP_SEND_UNEXPECTED, LOOP_SEND_EXPECTED, LOOP_RECV_EXPECTED, LOOP_GET};
    static const enum loop_act acts[] = {LOOP_FAIL_NOW, LOOP_FAIL_LATER};
    struct session s;
    blob_t in = blob_make(LARGE, 1);

    session_begin(&s, _i, &setup);
    /* Where all is slow the target is still fetching what is cancelled. */
    log_expect("bytes of arguments were withdrawn by their sender", 0, 32);
    for (unsigned kind = 0; kind < 4; kind++)
        for (uint32_t step = 0; step < 8; step++) {
            struct call call = {.called = 0};
            hg_handle_t handle = session_handle(&s, echo_id);
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
                kinds[kind], (struct loop_fault){.act = LOOP_HONEST});
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

    if (!fetches(_i))
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

    if (!fetches(_i))
        return;
    session_begin(&s, _i, &setup);
    handle = session_handle(&s, own_ids[OWN_MAKE]);
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
    handle = session_handle(&s, own_ids[OWN_REGRET]);
    hold_gets();
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_wait_other(&s, &rpcs_shared()->responded, 1);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_CANCELED);
    release_gets();
    if (call.called == 0 && loop_submitted(LOOP_GET) == 0)
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS); /* was not sent */
    session_wait(&s, &call.called, 1);
    if (fetches(_i))
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
    log_expect("is not told that its arguments came", 0, 1);
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

/* The origin has given up long before the answer is made. */
START_TEST(overflow_answer_that_nobody_waits_for_any_more)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, own_ids[OWN_LATER]);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_wait_other(&s, &shared()->later, 1);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    session_quiet(&s); /* the target hears of it */
    ck_assert_int_eq(
        HG_Reset(handle, HG_ADDR_NULL, own_ids[OWN_NOW]), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    session_wait_other(&s, &shared()->later, 2);
    ck_assert_uint_eq(shared()->later_ret, HG_CANCELED);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* And after it was sent: the target does not wait for ever. */
START_TEST(overflow_answer_that_was_lost_is_given_up_by_both)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, own_ids[OWN_MAKE]);
    loop_fault_set(
        LOOP_SEND_EXPECTED, (struct loop_fault){.act = LOOP_LOSE, .count = 1});
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_wait_other(&s, &shared()->responding, 1);
    session_quiet(&s);
    ck_assert_uint_eq(rpcs_shared()->responded, 0);
    ck_assert_uint_eq(call.called, 0);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    session_wait_other(&s, &rpcs_shared()->responded, 1);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_CANCELED);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    session_wait_other(&s, &rpcs_shared()->responded, 2);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* What carries an acknowledgement, or an answer if the skip is 0, does nothing
 * and says that it is done. */
static void
lose_expected(uint32_t skip)
{
    loop_fault_set(LOOP_SEND_EXPECTED,
        (struct loop_fault){.act = LOOP_LOSE, .count = 1, .skip = skip});
}

static void
set_ack_timeout(const char *ms)
{
    ck_assert_int_eq(setenv("TALARIA_HG_ACK_TIMEOUT_MS", ms, 1), 0);
}

/* Also where the transport cannot end the receive of the acknowledgement. The
 * answer is small, so that it is fetched long before the limit. */
START_TEST(overflow_answer_that_is_never_acknowledged_times_out)
{
    static const enum loop_cancel cancels[] = {
        LOOP_CANCEL_PROMPT, LOOP_CANCEL_LATE, LOOP_CANCEL_REFUSED};
    struct session s;
    hg_handle_t handle;

    set_ack_timeout("300");
    session_begin(&s, _i, &setup);
    shared()->size = SMALL;
    log_expect("not acknowledged within 300 ms", 1, 1);
    handle = session_handle(&s, own_ids[OWN_MAKE]);
    loop_cancel_set(cancels[_i % 3]);
    lose_expected(1);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    session_wait_other(&s, &rpcs_shared()->responded, 1);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_TIMEOUT);
    loop_cancel_set(LOOP_CANCEL_PROMPT);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    session_wait_other(&s, &rpcs_shared()->responded, 2);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
one_receive(struct hg_init_info *info)
{
    info->request_post_init = 1;
    info->request_post_incr = -1;
}

/* The limit of one answer ends with it: the next one of the same handle, which
 * the transport keeps for longer, is left alone. */
START_TEST(overflow_limit_of_an_answer_is_not_of_the_next)
{
    static const struct session_setup setup_one = {
        .init = one_receive, .open = open_own, .stopping = rpcs_stopping};
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    uint64_t begin;

    if (!fetches(_i) || session_mode_at(_i)->limits)
        return;
    set_ack_timeout("300");
    session_begin(&s, _i, &setup_one);
    shared()->size = SMALL;
    handle = session_handle(&s, own_ids[OWN_MAKE]);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    begin = session_now_ms();
    session_wait_other(&s, &rpcs_shared()->responded, 1);
    ck_assert_int_eq(
        HG_Reset(handle, HG_ADDR_NULL, own_ids[OWN_SMALL]), HG_SUCCESS);
    loop_fault_set(
        LOOP_SEND_EXPECTED, (struct loop_fault){.act = LOOP_HOLD, .count = 1});
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    while (session_now_ms() - begin < 350)
        session_step(&s, 10);
    ck_assert_uint_eq(shared()->responding, 2);
    loop_release();
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    session_wait_other(&s, &rpcs_shared()->responded, 2);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* This one waits for seconds, and runs in one mode. */
START_TEST(overflow_context_ends_beside_an_answer_that_is_never_acknowledged)
{
    struct session s;
    hg_handle_t handle;
    uint64_t begin;
    blob_t in;
    int mode = 0;

    while (session_mode_at(mode)->shape != SESSION_THREADS)
        mode++;
    session_begin(&s, mode, &setup);
    in = blob_make(LARGE, 1);
    handle = session_handle(&s, echo_id);
    lose_expected(1);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    begin = session_now_ms();
    session_end(&s);
    ck_assert_uint_ge(session_now_ms() - begin, 2000);
}
END_TEST

static void
cut_reference(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    unsigned char *at = message;

    if (kind != LOOP_SEND_EXPECTED)
        return;
    while (memcmp(at, "RS\1", 3) != 0)
        at++;
    if (at[3] & 2) /* the arguments are elsewhere */
        at[8] = 15;
}

/* It cannot say by an acknowledgement that it gets nothing. */
START_TEST(overflow_answer_with_a_broken_reference_is_given_up_by_both)
{
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    log_expect("do not refer to arguments", 1, 1);
    handle = session_handle(&s, own_ids[OWN_MAKE]);
    loop_tamper_set(cut_reference);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_PROTOCOL_ERROR);
    session_wait_other(&s, &rpcs_shared()->responded, 1);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_CANCELED);
    loop_tamper_set(NULL);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    session_wait_other(&s, &rpcs_shared()->responded, 2);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(overflow_answer_not_had_nor_acknowledged_is_given_up_by_both)
{
    struct session s;
    hg_handle_t handle;

    if (!fetches(_i))
        return;
    session_begin(&s, _i, &setup);
    log_expect("not told that its answer came", 1, 1);
    handle = session_handle(&s, own_ids[OWN_MAKE]);
    loop_fault_set(LOOP_GET,
        (struct loop_fault){
            .act = LOOP_FAIL_LATER, .code = NA_PLUGIN_E_IO_ERROR, .count = 1});
    loop_fault_set(LOOP_SEND_EXPECTED, (struct loop_fault){.act = LOOP_FAIL_NOW,
                                           .code = NA_PLUGIN_E_IO_ERROR,
                                           .skip = 1,
                                           .count = 4});
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_IO_ERROR);
    session_wait_other(&s, &rpcs_shared()->responded, 1);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_CANCELED);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    session_wait_other(&s, &rpcs_shared()->responded, 2);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, overflow_get_that_fails_is_told_to_both);
    session_add(tcase, overflow_each_operation_fails_once);
    session_add(tcase, overflow_cancelled_while_the_target_fetches);
    session_add(tcase, overflow_cancelled_while_the_origin_fetches);
    session_add(tcase, overflow_answer_cancelled_by_the_target);
    session_add(tcase, overflow_target_dies_while_it_fetches);
    session_add(tcase, overflow_answer_that_nobody_waits_for_any_more);
    session_add(tcase, overflow_answer_that_was_lost_is_given_up_by_both);
    session_add(tcase, overflow_answer_that_is_never_acknowledged_times_out);
    session_add(tcase, overflow_limit_of_an_answer_is_not_of_the_next);
    tcase_add_test(tcase,
        overflow_context_ends_beside_an_answer_that_is_never_acknowledged);
    session_add(
        tcase, overflow_answer_with_a_broken_reference_is_given_up_by_both);
    session_add(
        tcase, overflow_answer_not_had_nor_acknowledged_is_given_up_by_both);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "overflow_faults", add);
}
