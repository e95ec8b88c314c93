/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plugins that break the ABI in one way each, for each violation that the core
 * detects: it logs the plugin's name and what it did, the affected context is
 * dead, all pending operations end, and nothing crashes.
 */
#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_proc_string.h"
#include "na.h"
#include "runner.h"
#include "talaria.h"
#include "wrong_case.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* Polls until all operations have ended. */
#define ROUNDS 1000U

struct side {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t self;
    hg_handle_t handle;
    hg_id_t id;
    unsigned called;
    unsigned handled;
    hg_return_t ret;
};

static hg_return_t
forwarded(const struct hg_cb_info *info)
{
    struct side *side = info->arg;

    side->called++;
    side->ret = info->ret;
    return HG_SUCCESS;
}

static hg_return_t
handler(hg_handle_t handle)
{
    struct side *side = HG_Class_get_data(HG_Get_info(handle)->hg_class);

    side->handled++;
    HG_Respond(handle, NULL, NULL, NULL);
    return HG_Destroy(handle);
}

static void
side_open(struct side *side, bool no_block)
{
    struct hg_init_info init = HG_INIT_INFO_INITIALIZER;

    *side = (struct side){.ret = HG_SUCCESS};
    init.no_loopback = true;
    init.na_init_info.progress_mode = no_block ? NA_NO_BLOCK : 0;
    side->hg_class = HG_Init_opt(INFO, HG_TRUE, &init);
    ck_assert_ptr_nonnull(side->hg_class);
    HG_Class_set_data(side->hg_class, side, NULL);
    side->id = HG_Register_name(side->hg_class, "call", NULL, NULL, handler);
    side->context = HG_Context_create(side->hg_class);
    ck_assert_ptr_nonnull(side->context);
    ck_assert_int_eq(HG_Addr_self(side->hg_class, &side->self), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Create(side->context, side->self, side->id, &side->handle),
        HG_SUCCESS);
}

static void
side_close(struct side *side)
{
    ck_assert_int_eq(HG_Destroy(side->handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(side->hg_class, side->self), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(side->context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(side->hg_class), HG_SUCCESS);
}

/* Progresses and triggers until the callback has run. */
static void
side_wait(struct side *side, const unsigned *called, unsigned timeout_ms)
{
    for (unsigned i = 0; i < ROUNDS && *called == 0; i++) {
        (void) HG_Progress(side->context, timeout_ms);
        while (HG_Trigger(side->context, 0, 1, NULL) == HG_SUCCESS)
            ;
    }
    ck_assert_uint_eq(*called, 1);
}

static void
ck_dead(struct side *side)
{
    ck_assert_int_ne(HG_Progress(side->context, 0), HG_SUCCESS);
    ck_assert_int_ne(HG_Progress(side->context, 0), HG_TIMEOUT);
    ck_assert_int_eq(
        HG_Forward(side->handle, forwarded, side, NULL) == HG_SUCCESS, 0);
}

static const struct way right[] = {{"", NULL}, {"op_null", NULL}};

/* No violation, or allowed in a later minor version: the call succeeds. An
 * event without an operation is ignored; a message in it is lost. */
START_TEST(plugin_within_the_abi_works)
{
    struct side side;

    wrong_begin(&right[_i]);
    side_open(&side, true);
    ck_assert_int_eq(
        HG_Forward(side.handle, forwarded, &side, NULL), HG_SUCCESS);
    if (_i == 1) {
        for (unsigned i = 0; i < 10; i++)
            ck_assert_int_eq(HG_Progress(side.context, 0), HG_TIMEOUT);
        ck_assert_int_eq(HG_Cancel(side.handle), HG_SUCCESS);
    }
    side_wait(&side, &side.called, 10);
    ck_assert_int_eq(side.ret, _i == 1 ? HG_CANCELED : HG_SUCCESS);
    side_close(&side);
    wrong_end();
}
END_TEST

/* The call fails, and so do all later ones. */
START_TEST(violation_kills_the_context)
{
    struct side side;

    wrong_begin(&dying[_i]);
    wrong_allow("context 0 of wrong is dead");
    wrong_allow("malformed response");
    side_open(&side, true);
    ck_assert_int_eq(
        HG_Forward(side.handle, forwarded, &side, NULL), HG_SUCCESS);
    side_wait(&side, &side.called, 10);
    ck_assert_int_ne(side.ret, HG_SUCCESS);
    ck_dead(&side);
    side_close(&side);
    wrong_end();
}
END_TEST

/* In HG_Forward's result or in the callback. */
START_TEST(violation_in_submission_fails_the_call)
{
    struct side side;
    hg_return_t ret;

    wrong_begin(&submitting[_i]);
    wrong_allow("context 0 of wrong is dead");
    side_open(&side, true);
    ret = HG_Forward(side.handle, forwarded, &side, NULL);
    if (ret == HG_SUCCESS) {
        side_wait(&side, &side.called, 10);
        ret = side.ret;
    }
    ck_assert_int_ne(ret, HG_SUCCESS);
    side_close(&side);
    wrong_end();
}
END_TEST

/* Creating the context fails, or it is dead at once. */
START_TEST(violation_in_ctx_create_fails)
{
    hg_class_t *hg_class;
    hg_context_t *context;

    wrong_begin(&posting[_i]);
    wrong_allow("cannot post a");
    wrong_allow("no more receives");
    wrong_allow("context 0 of wrong is dead");
    hg_class = HG_Init(INFO, HG_TRUE);
    ck_assert_ptr_nonnull(hg_class);
    context = HG_Context_create(hg_class);
    if (context)
        ck_assert_int_ne(HG_Progress(context, 0), HG_TIMEOUT);
    ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    wrong_end();
}
END_TEST

/* Progress neither sleeps on it nor spins. */
START_TEST(violation_in_wait_fails_progress)
{
    struct side side;
    hg_return_t ret = HG_TIMEOUT;

    wrong_begin(&waiting[_i]);
    side_open(&side, false);
    for (unsigned i = 0; i < 3 && ret == HG_TIMEOUT; i++)
        ret = HG_Progress(side.context, 60000);
    ck_assert_int_eq(ret, HG_PROTOCOL_ERROR);
    side_close(&side);
    wrong_end();
}
END_TEST

/* The class opens and calls work. */
START_TEST(violation_with_fallback_is_logged)
{
    struct side side;

    wrong_begin(&tables[_i]);
    side_open(&side, false);
    ck_assert_int_eq(
        HG_Forward(side.handle, forwarded, &side, NULL), HG_SUCCESS);
    side_wait(&side, &side.called, 10);
    ck_assert_int_eq(side.ret, HG_SUCCESS);
    side_close(&side);
    wrong_end();
}
END_TEST

static void
moved(const struct na_cb_info *info)
{
    na_return_t *ret = info->arg;

    *ret = info->ret;
}

/* An NA transfer between two own registrations. */
START_TEST(violation_in_rma_ends_the_transfer)
{
    static char memory[64];
    na_return_t ret = NA_SUCCESS, submitted;
    na_class_t *na_class;
    na_context_t *context;
    na_mem_handle_t *local, *remote;
    na_op_id_t *op_id;
    na_addr_t *self;
    bool put = moving[_i].name[0] == 'p';

    wrong_begin(&moving[_i]);
    na_class = NA_Initialize(INFO, true);
    ck_assert_ptr_nonnull(na_class);
    context = NA_Context_create(na_class);
    ck_assert_ptr_nonnull(context);
    ck_assert_int_eq(NA_Addr_self(na_class, &self), NA_SUCCESS);
    ck_assert_int_eq(NA_Mem_handle_create(na_class, memory, sizeof memory,
                         NA_MEM_READWRITE, &local),
        NA_SUCCESS);
    ck_assert_int_eq(
        NA_Mem_register(na_class, local, NA_MEM_TYPE_HOST, 0), NA_SUCCESS);
    ck_assert_int_eq(
        NA_Mem_handle_deserialize(na_class, &remote, "1", 2), NA_SUCCESS);
    op_id = NA_Op_create(na_class, 0);
    ck_assert_ptr_nonnull(op_id);
    submitted = (put ? NA_Put : NA_Get)(na_class, context, moved, &ret, local,
        0, remote, 0, sizeof memory, self, 0, op_id);
    for (unsigned i = 0; submitted == NA_SUCCESS && i < 10; i++) {
        (void) NA_Poll(na_class, context, NULL);
        ck_assert_int_eq(NA_Trigger(context, 10, NULL), NA_SUCCESS);
    }
    ck_assert_int_ne(submitted == NA_SUCCESS ? ret : submitted, NA_SUCCESS);
    NA_Op_destroy(na_class, op_id);
    NA_Mem_handle_free(na_class, remote);
    NA_Mem_deregister(na_class, local);
    NA_Mem_handle_free(na_class, local);
    NA_Addr_free(na_class, self);
    ck_assert_int_eq(NA_Context_destroy(na_class, context), NA_SUCCESS);
    ck_assert_int_eq(NA_Finalize(na_class), NA_SUCCESS);
    wrong_end();
}
END_TEST

/* For the first receive, then for the second. */
static void
received(const struct na_cb_info *info)
{
    na_return_t *rets = info->arg;

    rets[rets[0] == NA_SUCCESS ? 0 : 1] = info->ret;
}

/* The NA interface: pending operations end once, and their op ids can be
 * destroyed at once. */
START_TEST(violation_ends_pending_operations)
{
    static const struct way way = {"tag_too_large",
        BROKEN "an unexpected message has tag 18446744073709551615, max_tag is "
               "4294967295" DEAD};
    static char buffers[3][WRONG_SIZE];
    na_return_t rets[2] = {NA_SUCCESS, NA_SUCCESS}, sent = NA_SUCCESS;
    na_class_t *na_class;
    na_context_t *context;
    na_op_id_t *op_ids[3];
    na_addr_t *self;

    wrong_begin(&way);
    na_class = NA_Initialize(INFO, true);
    ck_assert_ptr_nonnull(na_class);
    context = NA_Context_create(na_class);
    ck_assert_ptr_nonnull(context);
    ck_assert_int_eq(NA_Addr_self(na_class, &self), NA_SUCCESS);
    for (unsigned i = 0; i < 3; i++)
        op_ids[i] = NA_Op_create(na_class, 0);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(NA_Msg_recv_unexpected(na_class, context, received,
                             rets, buffers[i], WRONG_SIZE, NULL, op_ids[i]),
            NA_SUCCESS);
    ck_assert_int_eq(NA_Msg_send_unexpected(na_class, context, moved, &sent,
                         buffers[2], 8, NULL, self, 0, 1, op_ids[2]),
        NA_SUCCESS);
    for (unsigned i = 0; i < 10; i++) {
        (void) NA_Poll(na_class, context, NULL);
        NA_Trigger(context, 10, NULL);
    }
    ck_assert_int_eq(sent, NA_SUCCESS);
    ck_assert_int_eq(rets[0], NA_PROTOCOL_ERROR);
    ck_assert_int_eq(rets[1], NA_IO_ERROR);
    ck_assert_int_eq(NA_Msg_recv_unexpected(na_class, context, received, rets,
                         buffers[0], WRONG_SIZE, NULL, op_ids[0]),
        NA_IO_ERROR);
    for (unsigned i = 0; i < 3; i++)
        NA_Op_destroy(na_class, op_ids[i]);
    NA_Addr_free(na_class, self);
    ck_assert_int_eq(NA_Context_destroy(na_class, context), NA_SUCCESS);
    ck_assert_int_eq(NA_Finalize(na_class), NA_SUCCESS);
    wrong_end();
}
END_TEST

static hg_return_t
transferred(const struct hg_cb_info *info)
{
    struct side *side = info->arg;

    side->called++;
    side->ret = info->ret;
    return HG_SUCCESS;
}

/* A bulk transfer that the transport never completes, when its context dies. */
START_TEST(violation_ends_pending_bulk_transfer)
{
    static const struct way way = {
        "transfer_never", "context 0 of wrong is dead: NA_IO_ERROR"};
    static char memory[64];
    void *pointers[1] = {memory};
    hg_size_t size = sizeof memory;
    struct side side;
    hg_bulk_t bulk, remote;
    char form[256];
    hg_size_t length;

    wrong_begin(&way);
    side_open(&side, true);
    ck_assert_int_eq(HG_Bulk_create(side.hg_class, 1, pointers, &size,
                         HG_BULK_READWRITE, &bulk),
        HG_SUCCESS);
    length = HG_Bulk_get_serialize_size(bulk, 0);
    ck_assert_uint_le(length, sizeof form);
    ck_assert_int_eq(HG_Bulk_serialize(form, length, 0, bulk), HG_SUCCESS);
    form[16] = (char) ~form[16]; /* of another owner */
    ck_assert_int_eq(
        HG_Bulk_deserialize(side.hg_class, &remote, form, length), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_transfer(side.context, transferred, &side, HG_BULK_PULL,
            side.self, remote, 0, bulk, 0, size, HG_OP_ID_IGNORE),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Progress(side.context, 0), HG_TIMEOUT);
    ck_assert_uint_eq(side.called, 0);
    side_wait(&side, &side.called, 10);
    ck_assert_int_eq(side.ret, HG_IO_ERROR);
    HG_Bulk_free(remote);
    HG_Bulk_free(bulk);
    side_close(&side);
    wrong_end();
}
END_TEST

int
main(void)
{
    TCase *tc = tcase_create("plugin");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, plugin_within_the_abi_works, 0, COUNT(right));
    tcase_add_loop_test(tc, violation_kills_the_context, 0, COUNT(dying));
    tcase_add_loop_test(
        tc, violation_in_submission_fails_the_call, 0, COUNT(submitting));
    tcase_add_loop_test(tc, violation_in_ctx_create_fails, 0, COUNT(posting));
    tcase_add_loop_test(
        tc, violation_in_wait_fails_progress, 0, COUNT(waiting));
    tcase_add_loop_test(
        tc, violation_with_fallback_is_logged, 0, COUNT(tables));
    tcase_add_loop_test(
        tc, violation_in_rma_ends_the_transfer, 0, COUNT(moving));
    tcase_add_test(tc, violation_ends_pending_operations);
    tcase_add_test(tc, violation_ends_pending_bulk_transfer);
    return run_tcase("wrong", tc);
}
