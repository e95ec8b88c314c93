/* SPDX-License-Identifier: BSD-3-Clause */
/* An external loop that sleeps on the descriptor is woken whenever something
 * becomes due, and not otherwise. */
#include "counts.h"
#include "na.h"
#include "wake.h"

#include <poll.h>

static void
with_loopback(struct hg_init_info *info)
{
    info->no_loopback = 0;
}

static const struct session_setup setup_loopback = {
    .init = with_loopback, .open = rpcs_open, .stopping = rpcs_stopping};

START_TEST(wake_external_loop_by_immediate_completion)
{
    struct session s;

    wake_begin(&s);
    wake_sleep_outside(&s);
    wake_complete(&s);
    ck_assert_msg(wake_is_readable(s.context),
        "a lookup has completed, but the loop was not woken");
    session_end(&s);
}
END_TEST

START_TEST(wake_external_loop_once_per_reason)
{
    struct session s;

    wake_begin(&s);
    for (int i = 0; i < 3; i++) {
        wake_sleep_outside(&s);
        wake_complete(&s);
        ck_assert(wake_is_readable(s.context));
        ck_assert(HG_Event_ready(s.context));
        ck_assert_int_eq(HG_Event_progress(s.context, NULL), HG_SUCCESS);
        ck_assert_int_eq(HG_Event_trigger(s.context, 16, NULL), HG_SUCCESS);
        ck_assert_msg(!wake_is_readable(s.context),
            "nothing is due, but the descriptor is still readable");
    }
    session_end(&s);
}
END_TEST

START_TEST(wake_external_loop_by_call_to_self)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, 0, &setup_loopback);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    wake_sleep_outside(&s);
    ck_assert_int_eq(
        HG_Forward(handle, call_done, &call, &(blob_t){.size = 0}), HG_SUCCESS);
    ck_assert_msg(wake_is_readable(s.context),
        "a request to self is due, but the loop was not woken");
    rpcs_wait_handled(&s, RPC_KEEP, 1);
    wake_sleep_outside(&s);
    rpcs_answer_all();
    ck_assert_msg(wake_is_readable(s.context),
        "an answer to self is due, but the loop was not woken");
    session_wait(&s, &call.called, 1);
    wake_sleep_outside(&s);
    ck_assert_int_eq(
        HG_Forward(handle, call_done, &call, &(blob_t){.size = 0}), HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_KEEP, 2);
    wake_sleep_outside(&s);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    ck_assert_msg(wake_is_readable(s.context),
        "a call to self was cancelled, but the loop was not woken");
    session_wait(&s, &call.called, 2);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(wake_external_loop_by_transfer_with_self)
{
    struct session s;
    struct call call = {.called = 0};
    char memory[2][64] = {"what is moved", ""};
    hg_bulk_t bulks[2];

    wake_begin(&s);
    for (int i = 0; i < 2; i++) {
        void *base = memory[i];
        hg_size_t size = sizeof memory[i];

        ck_assert_int_eq(HG_Bulk_create(s.hg_class, 1, &base, &size,
                             HG_BULK_READWRITE, &bulks[i]),
            HG_SUCCESS);
    }
    wake_sleep_outside(&s);
    ck_assert_int_eq(
        HG_Bulk_transfer(s.context, call_done, &call, HG_BULK_PULL, s.target,
            bulks[0], 0, bulks[1], 0, sizeof memory[0], HG_OP_ID_IGNORE),
        HG_SUCCESS);
    ck_assert_msg(wake_is_readable(s.context),
        "a transfer has completed, but the loop was not woken");
    session_wait(&s, &call.called, 1);
    ck_assert_str_eq(memory[1], "what is moved");
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(HG_Bulk_free(bulks[i]), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
count_sent(const struct na_cb_info *info)
{
    ck_assert_int_eq(info->ret, NA_SUCCESS);
    ++*(unsigned *) info->arg;
}

/* The same in the NA interface: a message that is sent at once. */
START_TEST(wake_external_loop_by_message_sent_at_once)
{
    unsigned count = 0;
    na_class_t *na_class;
    na_context_t *context;
    na_addr_t *self;
    na_op_id_t *op;
    struct pollfd fd = {.events = POLLIN};
    char bytes[8] = "";

    session_prepare(session_mode_at(0));
    na_class = NA_Initialize("loop+mem", true);
    ck_assert_ptr_nonnull(na_class);
    context = NA_Context_create(na_class);
    ck_assert_int_eq(NA_Addr_self(na_class, &self), NA_SUCCESS);
    op = NA_Op_create(na_class, 0);
    fd.fd = NA_Poll_get_fd(na_class, context);
    ck_assert_int_ge(fd.fd, 0);
    ck_assert(NA_Poll_try_wait(na_class, context));
    ck_assert_int_eq(poll(&fd, 1, 0), 0);
    ck_assert_int_eq(NA_Msg_send_unexpected(na_class, context, count_sent,
                         &count, bytes, sizeof bytes, NULL, self, 0, 1, op),
        NA_SUCCESS);
    ck_assert_msg(poll(&fd, 1, 0) == 1,
        "a message was sent at once, but the loop was not woken");
    ck_assert(!NA_Poll_try_wait(na_class, context));
    ck_assert_int_eq(NA_Poll(na_class, context, NULL), NA_SUCCESS);
    ck_assert_int_eq(NA_Trigger(context, 16, NULL), NA_SUCCESS);
    ck_assert_uint_eq(count, 1);
    NA_Op_destroy(na_class, op);
    NA_Addr_free(na_class, self);
    ck_assert_int_eq(NA_Context_destroy(na_class, context), NA_SUCCESS);
    ck_assert_int_eq(NA_Finalize(na_class), NA_SUCCESS);
    HG_Cleanup();
}
END_TEST

START_TEST(wake_external_loop_by_event_after_poll_of_another_thread)
{
    struct session s;
    struct call call = {.called = 0};

    wake_begin(&s);
    wake_hold_request(&s, &call);
    wake_sleep_outside(&s);
    ck_assert_int_eq(HG_Progress(s.context, 0), HG_TIMEOUT);
    ck_assert_msg(!wake_is_readable(s.context), "woken without a reason");
    ck_assert_uint_eq(loop_release(), 1);
    ck_assert_msg(wake_is_readable(s.context),
        "an event appeared after another thread's "
        "poll, but the loop was not woken");
    session_wait(&s, &call.called, 1);
    session_end(&s);
}
END_TEST

START_TEST(wake_external_loop_by_completion_polled_by_another_thread)
{
    struct session s;
    struct call call = {.called = 0};

    wake_begin(&s);
    wake_hold_request(&s, &call);
    wake_sleep_outside(&s);
    ck_assert_uint_eq(loop_release(), 1);
    ck_assert_int_eq(HG_Progress(s.context, 0), HG_SUCCESS);
    ck_assert_msg(wake_is_readable(s.context),
        "another thread filled the queue, but the loop was not woken");
    session_wait(&s, &call.called, 1);
    session_end(&s);
}
END_TEST

START_TEST(wake_external_loop_for_earlier_deadline)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    wake_begin(&s);
    handle = wake_create_with_deadline(&s);
    wake_sleep_outside(&s);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    ck_assert_msg(wake_is_readable(s.context),
        "a deadline was set, but the loop was not woken");
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_TIMEOUT);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, wake_external_loop_by_immediate_completion);
    tcase_add_test(tcase, wake_external_loop_once_per_reason);
    tcase_add_test(tcase, wake_external_loop_by_call_to_self);
    tcase_add_test(tcase, wake_external_loop_by_transfer_with_self);
    tcase_add_test(tcase, wake_external_loop_by_message_sent_at_once);
    tcase_add_test(
        tcase, wake_external_loop_by_event_after_poll_of_another_thread);
    tcase_add_test(
        tcase, wake_external_loop_by_completion_polled_by_another_thread);
    tcase_add_test(tcase, wake_external_loop_for_earlier_deadline);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "wake", add);
}
