/* SPDX-License-Identifier: BSD-3-Clause */
/* Many concurrent calls, and repeated calls with one handle. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <string.h>

#define IN_FLIGHT 64U

static const struct session_setup setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};

START_TEST(repeat_64_in_flight_each_answered_once)
{
    struct session s;
    struct call calls[IN_FLIGHT];
    hg_handle_t handles[IN_FLIGHT];
    blob_t in, out;

    session_begin(&s, _i, &setup);
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        handles[i] = session_handle(&s, rpcs_id(RPC_ECHO));
    for (unsigned round = 0; round < test_count(TEST_FORWARD_ROUNDS); round++) {
        memset(calls, 0, sizeof calls);
        for (unsigned i = 0; i < IN_FLIGHT; i++) {
            in = blob_make(10 + i, round * IN_FLIGHT + i);
            ck_assert_int_eq(
                HG_Forward(handles[i], call_done, &calls[i], &in), HG_SUCCESS);
            blob_free(&in);
        }
        for (unsigned i = 0; i < IN_FLIGHT; i++) {
            session_wait(&s, &calls[i].called, 1);
            ck_assert_int_eq(calls[i].ret, HG_SUCCESS);
            ck_assert_ptr_eq(calls[i].handle, handles[i]);
            in = blob_make(10 + i, round * IN_FLIGHT + i);
            ck_assert_int_eq(HG_Get_output(handles[i], &out), HG_SUCCESS);
            ck_assert(blob_equal(&in, &out));
            ck_assert_int_eq(HG_Free_output(handles[i], &out), HG_SUCCESS);
            blob_free(&in);
        }
        for (unsigned i = 0; i < IN_FLIGHT; i++)
            ck_assert_uint_eq(calls[i].called, 1);
    }
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        ck_assert_int_eq(HG_Ref_get(handles[i]), 1);
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

START_TEST(repeat_same_handle_many_times)
{
    struct session s;
    hg_handle_t handle;
    uint32_t repeats = test_count(TEST_FORWARD_REPEATS);

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    for (uint32_t i = 0; i < repeats; i++)
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_EMPTY], repeats);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

struct again {
    _Atomic uint32_t called;
    uint32_t wanted;
};

static hg_return_t
forward_again(const struct hg_cb_info *info)
{
    struct again *again = info->arg;

    ck_assert_int_eq(info->ret, HG_SUCCESS);
    ck_assert_int_eq(info->type, HG_CB_FORWARD);
    if (atomic_fetch_add(&again->called, 1) + 1 < again->wanted)
        ck_assert_int_eq(
            HG_Forward(info->info.forward.handle, forward_again, again, NULL),
            HG_SUCCESS);
    return HG_SUCCESS;
}

START_TEST(repeat_inside_the_callback)
{
    struct session s;
    struct again again = {.wanted = test_count(TEST_FORWARD_REPEATS)};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(
        HG_Forward(handle, forward_again, &again, NULL), HG_SUCCESS);
    session_wait(&s, &again.called, again.wanted);
    session_quiet(&s);
    ck_assert_uint_eq(again.called, again.wanted);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(repeat_without_callback_is_answered)
{
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(HG_Forward(handle, NULL, NULL, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Ref_get(handle), 2);
    rpcs_wait_handled(&s, RPC_EMPTY, 1);
    for (unsigned i = 0; i < 1000 && HG_Ref_get(handle) > 1; i++)
        session_step(&s, 10);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, repeat_64_in_flight_each_answered_once);
    session_add(tcase, repeat_same_handle_many_times);
    session_add(tcase, repeat_inside_the_callback);
    session_add(tcase, repeat_without_callback_is_answered);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "repeat", add);
}
