/* SPDX-License-Identifier: BSD-3-Clause */
/* HG_Context_destroy of a target while peers leave work: responses that they do
 * not acknowledge, requests that arrive meanwhile. It succeeds, each callback
 * runs once, and each origin gets an error. */
#include "counts.h"
#include "large.h"
#include "log_watch.h"

#include <string.h>

static const struct session_setup setup = {
    .open = large_open, .stopping = rpcs_stopping};

/* Requests that have arrived are only reported when the target cancels its
 * receives, in HG_Context_destroy. */
static void
open_late_requests(hg_class_t *hg_class)
{
    large_open(hg_class);
    loop_cancel_set(LOOP_CANCEL_REFUSED);
    loop_fault_set(LOOP_RECV_UNEXPECTED,
        (struct loop_fault){.act = LOOP_LATER, .delay = LOOP_DELAY_MAX});
}

static const struct session_setup setup_late_requests = {
    .open = open_late_requests, .stopping = rpcs_stopping};

/* These cases wait, so they run in one mode with two threads. */
static void
begin_in_threads(struct session *s, const struct session_setup *with)
{
    int mode = 0;

    while (session_mode_at(mode)->shape != SESSION_THREADS)
        mode++;
    session_begin(s, mode, with);
}

/* Stops the target while a call is pending; its HG_Context_destroy has to
 * succeed. Returns the result of the call. */
static hg_return_t
ended_with(struct session *s, hg_handle_t handle, const struct call *call)
{
    hg_return_t ret;

    session_stop(s);
    session_wait(s, &call->called, 1);
    ck_assert_uint_eq(call->called, 1);
    ret = call->ret;
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(s);
    return ret;
}

static void
wait_submitted(struct session *s, enum loop_kind kind, uint32_t count)
{
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);

    while (loop_submitted(kind) < count) {
        ck_assert_uint_lt(session_now_ms(), deadline);
        session_step(s, 1);
    }
}

/* The acknowledgement is lost; the respond callback destroys the handle. */
START_TEST(context_destroy_with_unacknowledged_answer)
{
    struct session s;
    hg_handle_t handle;

    begin_in_threads(&s, &setup);
    handle = session_handle(&s, large_id(LARGE_MAKE));
    loop_fault_set(LOOP_SEND_EXPECTED,
        (struct loop_fault){.act = LOOP_LOSE, .count = 1, .skip = 1});
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_uint_eq(rpcs_shared()->responded, 0);
    session_end(&s);
    ck_assert_uint_eq(rpcs_shared()->responded, 1);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_CANCELED);
}
END_TEST

/* A small response that the transport neither sends nor cancels. */
START_TEST(context_destroy_with_unsent_answer)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    begin_in_threads(&s, &setup);
    large_shared()->size = 100;
    handle = session_handle(&s, large_id(LARGE_MAKE));
    loop_cancel_set(LOOP_CANCEL_REFUSED);
    loop_fault_set(LOOP_SEND_EXPECTED, (struct loop_fault){.act = LOOP_HOLD});
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_wait_other(&s, &large_shared()->made, 1);
    ck_assert_uint_eq(rpcs_shared()->responded, 0);
    /* The origin learns that the target is being destroyed. */
    ck_assert_int_ne(ended_with(&s, handle, &call), HG_SUCCESS);
    ck_assert_uint_eq(rpcs_shared()->responded, 1);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_CANCELED);
}
END_TEST

START_TEST(context_destroy_while_request_arrives)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    begin_in_threads(&s, &setup_late_requests);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_quiet(&s);
    ck_assert_uint_eq(call.called, 0);
    loop_cancel_hook_set(loop_expire_delays);
    ck_assert_int_eq(ended_with(&s, handle, &call), HG_NODEV);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_EMPTY], 0);
}
END_TEST

/* A second target in the thread of the first. It is progressed but never
 * triggered. */
struct second {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t addr;
};

static void
second_begin(struct second *second, struct session *s)
{
    char address[256];
    hg_size_t size = sizeof address;
    hg_addr_t self;

    second->hg_class = session_open_class(s->mode, s->setup, true);
    ck_assert_ptr_nonnull(second->hg_class);
    large_open(second->hg_class);
    second->context = HG_Context_create(second->hg_class);
    ck_assert_int_eq(HG_Addr_self(second->hg_class, &self), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_to_string(second->hg_class, address, &size, self), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(second->hg_class, self), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_lookup2(s->hg_class, address, &second->addr), HG_SUCCESS);
}

static void
second_end(struct second *second, struct session *s)
{
    ck_assert_int_eq(HG_Addr_free(s->hg_class, second->addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(second->hg_class), HG_SUCCESS);
}

/* All requests are received with one handle. */
static void
one_receive(struct hg_init_info *info)
{
    info->request_post_init = 1;
    info->request_post_incr = -1;
}

static const struct session_setup setup_one_receive = {
    .init = one_receive, .open = large_open, .stopping = rpcs_stopping};

/* Forwards the handle once; the second target handles it. */
static void
second_handles(struct second *second, struct session *s, hg_handle_t handle,
    void *in_struct)
{
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);
    struct call call = {.called = 0};

    ck_assert_int_eq(
        HG_Forward(handle, call_done, &call, in_struct), HG_SUCCESS);
    while (call.called == 0) {
        ck_assert_uint_lt(session_now_ms(), deadline);
        session_drain(second->context);
        session_step(s, 0);
    }
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    session_drain(second->context);
}

static const struct {
    enum rpc rpc;
    uint32_t size; /* length of a blob in bytes; 0: the input is a number */
    hg_return_t ret;
} unhandled[] = {{RPC_ECHO, 20, HG_NODEV}, {RPC_ECHO, LARGE, HG_NODEV},
    {RPC_NOTIFY, 0, HG_SUCCESS}};

START_TEST(context_destroy_with_unhandled_request)
{
    struct session s;
    struct second second;
    struct call call = {.called = 0};
    blob_t in = blob_make(unhandled[_i].size + 4, 1);
    uint64_t number = 1;
    void *in_struct = unhandled[_i].size > 0 ? (void *) &in : &number;
    hg_handle_t handle;

    session_begin(&s, 0, &setup_one_receive);
    second_begin(&second, &s);
    handle = session_handle(&s, rpcs_id(unhandled[_i].rpc));
    ck_assert_int_eq(HG_Reset(handle, second.addr, 0), HG_SUCCESS);
    /* The target's handle is one that has been used. */
    second_handles(&second, &s, handle, in_struct);
    ck_assert_int_eq(
        HG_Forward(handle, call_done, &call, in_struct), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Progress(second.context, test_count(TEST_WAIT_MS)), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(second.context), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, unhandled[_i].ret);
    ck_assert_uint_eq(rpcs_shared()->handled[unhandled[_i].rpc], 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    second_end(&second, &s);
    session_end(&s);
}
END_TEST

/* The transport cancels on request. */
START_TEST(context_destroy_while_arguments_are_fetched)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    blob_t in = blob_make(LARGE, 1);

    begin_in_threads(&s, &setup);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    wait_submitted(&s, LOOP_GET, 1);
    ck_assert_int_eq(ended_with(&s, handle, &call), HG_CANCELED);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_ECHO], 0);
    blob_free(&in);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, context_destroy_with_unacknowledged_answer);
    tcase_add_test(tcase, context_destroy_with_unsent_answer);
    tcase_add_test(tcase, context_destroy_while_request_arrives);
    tcase_add_loop_test(tcase, context_destroy_with_unhandled_request, 0,
        sizeof unhandled / sizeof unhandled[0]);
    tcase_add_test(tcase, context_destroy_while_arguments_are_fetched);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "context_end", add);
}
