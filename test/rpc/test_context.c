/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes and contexts: several of them, user data, and busy errors. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <string.h>

static const struct session_setup setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};

static uint32_t freed;

static void
count_freed(void *data)
{
    ck_assert_ptr_eq(data, &freed);
    freed++;
}

START_TEST(context_knows_its_class_id_and_data)
{
    struct session s;
    hg_context_t *context;
    int other;

    session_begin(&s, _i, &setup);
    freed = 0;
    ck_assert_ptr_eq(HG_Context_get_class(s.context), s.hg_class);
    ck_assert_uint_eq(HG_Context_get_id(s.context), 0);
    ck_assert_ptr_null(HG_Context_get_data(s.context));
    ck_assert_int_eq(
        HG_Context_set_data(s.context, &freed, count_freed), HG_SUCCESS);
    ck_assert_ptr_eq(HG_Context_get_data(s.context), &freed);
    ck_assert_int_eq(HG_Context_set_data(s.context, &other, NULL), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Context_set_data(s.context, &freed, count_freed), HG_SUCCESS);
    ck_assert_ptr_null(HG_Class_get_data(s.hg_class));
    ck_assert_int_eq(
        HG_Class_set_data(s.hg_class, &freed, count_freed), HG_SUCCESS);
    ck_assert_ptr_eq(HG_Class_get_data(s.hg_class), &freed);
    ck_assert_uint_eq(freed, 0);
    log_expect("context", 1, 1); /* subsystem of the transport's log line */
    context = HG_Context_create(s.hg_class);
    ck_assert_ptr_null(context);
    session_end(&s);
    ck_assert_uint_eq(freed, 2);
}
END_TEST

static void
two_contexts(struct hg_init_info *info)
{
    info->na_init_info.max_contexts = 2;
}

static const struct session_setup setup_two = {
    .open = rpcs_open, .stopping = rpcs_stopping, .init = two_contexts};

START_TEST(context_beyond_max_contexts_is_refused)
{
    struct session s;
    hg_context_t *context;

    session_begin(&s, _i, &setup_two);
    log_expect("max_contexts is 2", 1, 1);
    log_expect("context", 2, 2);
    context = HG_Context_create_id(s.hg_class, 1);
    ck_assert_ptr_nonnull(context);
    ck_assert_uint_eq(HG_Context_get_id(context), 1);
    ck_assert_ptr_null(HG_Context_create_id(s.hg_class, 1));
    ck_assert_ptr_null(HG_Context_create_id(s.hg_class, 2));
    ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
    context = HG_Context_create_id(s.hg_class, 1);
    ck_assert_ptr_nonnull(context);
    ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static hg_return_t
on_where(hg_handle_t handle)
{
    uint32_t id = HG_Context_get_id(HG_Get_info(handle)->context);

    /* Checked from the origin's class. */
    TARGET_ASSERT(HG_Get_info(handle)->context_id == 1 - id);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &id) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static hg_id_t where_id;

static void
open_where(hg_class_t *hg_class)
{
    where_id = MERCURY_REGISTER(hg_class, "where", void, uint32_t, on_where);
}

static void
step_both(hg_context_t *contexts[2])
{
    for (int i = 0; i < 2; i++) {
        HG_Progress(contexts[i], 1);
        while (HG_Trigger(contexts[i], 0, 1, NULL) == HG_SUCCESS)
            ;
    }
}

/* Calls to self too: without the transport they stay on the caller's
 * context. */
static void
two_by_transport(struct hg_init_info *info)
{
    two_contexts(info);
    info->no_loopback = 1;
}

START_TEST(context_is_selected_by_target_id)
{
    static const struct session_setup setup_where = {
        .open = open_where, .init = two_by_transport};
    struct session s;
    hg_context_t *contexts[2];

    session_begin(&s, _i, &setup_where);
    if (s.mode->shape == SESSION_SELF) {
        contexts[0] = s.context;
        contexts[1] = HG_Context_create_id(s.hg_class, 1);
        ck_assert_ptr_nonnull(contexts[1]);
        for (uint32_t to = 0; to < 2; to++) {
            hg_handle_t handle;

            ck_assert_int_eq(
                HG_Create(contexts[1 - to], s.target, where_id, &handle),
                HG_SUCCESS);
            ck_assert_int_eq(
                HG_Set_target_id(handle, (uint8_t) to), HG_SUCCESS);
            ck_assert_uint_eq(HG_Get_info(handle)->context_id, to);
            for (unsigned i = 0; i < 50; i++) {
                struct call call = {.called = 0};
                uint32_t id = 7;

                ck_assert_int_eq(
                    HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
                while (call.called == 0)
                    step_both(contexts);
                ck_assert_int_eq(call.ret, HG_SUCCESS);
                ck_assert_int_eq(HG_Get_output(handle, &id), HG_SUCCESS);
                ck_assert_uint_eq(id, to);
                ck_assert_int_eq(HG_Free_output(handle, &id), HG_SUCCESS);
            }
            ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
        }
        ck_assert_int_eq(HG_Context_destroy(contexts[1]), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

START_TEST(context_unpost_stops_requests)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    if (s.mode->shape == SESSION_SELF) {
        handle = session_handle(&s, rpcs_id(RPC_EMPTY));
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
        ck_assert_int_eq(HG_Context_unpost(s.context), HG_SUCCESS);
        ck_assert_int_eq(
            HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
        session_quiet(&s);
        /* Calls that need no receive still work, as with Mercury. */
        ck_assert_uint_eq(call.called, s.mode->loopback);
        ck_assert_uint_eq(
            rpcs_shared()->handled[RPC_EMPTY], s.mode->loopback ? 2 : 1);
        ck_assert_int_eq(HG_Context_unpost(s.context), HG_SUCCESS);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, s.mode->loopback ? HG_SUCCESS : HG_CANCELED);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

START_TEST(context_unposted_still_answers_received_requests)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    blob_t in;

    session_begin(&s, _i, &setup);
    if (s.mode->shape == SESSION_SELF) {
        in = blob_make(30, 1);
        handle = session_handle(&s, rpcs_id(RPC_KEEP));
        ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
        rpcs_wait_handled(&s, RPC_KEEP, 1);
        ck_assert_int_eq(HG_Context_unpost(s.context), HG_SUCCESS);
        ck_assert_uint_eq(call.called, 0);
        rpcs_answer_all();
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
        blob_free(&in);
    }
    session_end(&s);
}
END_TEST

/* The next two cases wait for seconds, so they run in one mode. */
START_TEST(context_destroy_with_handles_busy_then_usable)
{
    struct session s;
    hg_handle_t handles[3];
    uint64_t begin;

    session_begin(&s, 0, &setup);
    log_expect("still has 3 handles", 1, 1);
    for (unsigned i = 0; i < 3; i++)
        handles[i] = session_handle(&s, rpcs_id(RPC_EMPTY));
    begin = session_now_ms();
    ck_assert_int_eq(HG_Context_destroy(s.context), HG_BUSY);
    ck_assert_uint_ge(session_now_ms() - begin, 4900);
    ck_assert_uint_le(session_now_ms() - begin, 8000);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    session_end(&s);
}
END_TEST

struct lookup {
    _Atomic uint32_t called;
    hg_class_t *hg_class;
};

static hg_return_t
free_looked_up(const struct hg_cb_info *info)
{
    struct lookup *lookup = info->arg;

    ck_assert_int_eq(
        HG_Addr_free(lookup->hg_class, info->info.lookup.addr), HG_SUCCESS);
    atomic_fetch_add(&lookup->called, 1);
    return HG_SUCCESS;
}

START_TEST(context_destroy_with_callbacks_due_busy)
{
    struct session s;
    struct lookup lookup = {.called = 0};

    session_begin(&s, 0, &setup);
    log_expect("still has 1", 1, 1);
    lookup.hg_class = s.hg_class;
    ck_assert_int_eq(
        HG_Addr_lookup1(s.context, free_looked_up, &lookup, s.address, NULL),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(s.context), HG_BUSY);
    ck_assert_uint_eq(lookup.called, 0);
    session_wait(&s, &lookup.called, 1);
    session_end(&s);
}
END_TEST

START_TEST(class_finalize_with_leftovers_busy_and_logs_counts)
{
    struct session s;
    hg_addr_t addr;

    session_begin(&s, _i, &setup);
    log_expect("still has 1 contexts and 1 addresses", 1, 1);
    log_expect("still has 1 contexts and 2 addresses", 1, 1);
    ck_assert_int_eq(HG_Finalize(s.hg_class), HG_BUSY);
    ck_assert_int_eq(HG_Addr_dup(s.hg_class, s.target, &addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_lookup2(s.hg_class, s.address, &addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(s.hg_class), HG_BUSY);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, addr), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(class_finalize_with_an_address_busy)
{
    struct session s;

    session_begin(&s, _i, &setup);
    log_expect("still has 0 contexts and 1 addresses", 1, 1);
    ck_assert_int_eq(HG_Context_destroy(s.context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(s.hg_class), HG_BUSY);
    s.context = HG_Context_create(s.hg_class);
    ck_assert_ptr_nonnull(s.context);
    session_end(&s);
}
END_TEST

START_TEST(class_null_is_rejected_except_by_finalize)
{
    struct hg_diag_counters counters;

    ck_assert_int_eq(HG_Finalize(NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_unpost(NULL), HG_INVALID_ARG);
    ck_assert_ptr_null(HG_Context_create(NULL));
    ck_assert_ptr_null(HG_Context_get_class(NULL));
    ck_assert_uint_eq(HG_Context_get_id(NULL), 0);
    ck_assert_ptr_null(HG_Context_get_data(NULL));
    ck_assert_int_eq(HG_Context_set_data(NULL, NULL, NULL), HG_INVALID_ARG);
    ck_assert_ptr_null(HG_Class_get_name(NULL));
    ck_assert_ptr_null(HG_Class_get_protocol(NULL));
    ck_assert(!HG_Class_is_listening(NULL));
    ck_assert_uint_eq(HG_Class_get_input_eager_size(NULL), 0);
    ck_assert_uint_eq(HG_Class_get_output_eager_size(NULL), 0);
    ck_assert_int_eq(HG_Class_set_input_offset(NULL, 0), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Class_set_output_offset(NULL, 0), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Class_set_data(NULL, NULL, NULL), HG_INVALID_ARG);
    ck_assert_ptr_null(HG_Class_get_data(NULL));
    ck_assert_int_eq(HG_Class_get_counters(NULL, &counters), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Class_set_handle_create_callback(NULL, NULL, NULL), HG_INVALID_ARG);
}
END_TEST

START_TEST(class_getters_match_init)
{
    struct session s;
    char info[64];
    hg_size_t in, out;

    session_begin(&s, _i, &setup);
    snprintf(info, sizeof info, "%s+%s", HG_Class_get_name(s.hg_class),
        HG_Class_get_protocol(s.hg_class));
    ck_assert_str_eq(info, session_protocol());
    ck_assert_int_eq(
        HG_Class_is_listening(s.hg_class), s.mode->shape == SESSION_SELF);
    in = HG_Class_get_input_eager_size(s.hg_class);
    out = HG_Class_get_output_eager_size(s.hg_class);
    ck_assert_int_eq(HG_Class_set_input_offset(s.hg_class, in), HG_SUCCESS);
    ck_assert_uint_eq(HG_Class_get_input_eager_size(s.hg_class), 0);
    ck_assert_int_eq(
        HG_Class_set_input_offset(s.hg_class, in + 1), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Class_set_input_offset(s.hg_class, UINT64_MAX), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Class_set_output_offset(s.hg_class, out), HG_SUCCESS);
    ck_assert_uint_eq(HG_Class_get_output_eager_size(s.hg_class), 0);
    ck_assert_int_eq(
        HG_Class_set_output_offset(s.hg_class, out + 1), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Class_set_input_offset(s.hg_class, 0), HG_SUCCESS);
    ck_assert_int_eq(HG_Class_set_output_offset(s.hg_class, 0), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
with_stats(struct hg_init_info *info)
{
    info->stats = 1;
}

START_TEST(class_counters_count_traffic)
{
    static const struct session_setup setup_stats = {
        .open = rpcs_open, .stopping = rpcs_stopping, .init = with_stats};
    struct session s;
    struct hg_diag_counters counters;
    hg_handle_t handle;
    uint64_t value = 1;

    session_begin(&s, _i, &setup_stats);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    for (unsigned i = 0; i < 7; i++)
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Reset(handle, HG_ADDR_NULL, rpcs_id(RPC_NOTIFY)), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, &value), HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_NOTIFY, 1);
    ck_assert_int_eq(HG_Class_get_counters(s.hg_class, &counters), HG_SUCCESS);
    ck_assert_uint_eq(counters.rpc_req_sent_count, 8);
    ck_assert_uint_eq(counters.rpc_resp_recv_count, 7);
    if (s.mode->shape == SESSION_SELF) {
        ck_assert_uint_eq(counters.rpc_req_recv_count, 8);
        ck_assert_uint_eq(counters.rpc_resp_sent_count, 7);
    }
    ck_assert_uint_eq(counters.rpc_req_extra_count, 0);
    ck_assert_int_eq(HG_Class_get_counters(s.hg_class, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, context_knows_its_class_id_and_data);
    session_add(tcase, context_beyond_max_contexts_is_refused);
    session_add(tcase, context_is_selected_by_target_id);
    session_add(tcase, context_unpost_stops_requests);
    session_add(tcase, context_unposted_still_answers_received_requests);
    if (session_is_loop()) {
        tcase_add_test(tcase, context_destroy_with_handles_busy_then_usable);
        tcase_add_test(tcase, context_destroy_with_callbacks_due_busy);
    }
    session_add(tcase, class_finalize_with_leftovers_busy_and_logs_counts);
    session_add(tcase, class_finalize_with_an_address_busy);
    tcase_add_test(tcase, class_null_is_rejected_except_by_finalize);
    session_add(tcase, class_getters_match_init);
    session_add(tcase, class_counters_count_traffic);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "context", add);
}
