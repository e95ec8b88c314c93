/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of a transfer when its puts and gets are late, held back, refused
 * or fail, one by one. The loop plugin checks besides that everything that they
 * refer to stays there. */
#include "counts.h"
#include "far.h"
#include "log_watch.h"

#include <stdlib.h>
#include <string.h>

#define LANES 4U /* puts or gets of a transfer at once */

static const struct session_setup setup = {.origin_listens = true};

static hg_op_id_t
move_start(struct far *far, hg_bulk_op_t op)
{
    hg_op_id_t id = HG_OP_ID_NULL;

    far->call.called = 0;
    ck_assert_int_eq(
        HG_Bulk_transfer(far->s.context, call_done, &far->call, op, far->owner,
            far->origin, 0, far->local, 0, FAR_SIZE, &id),
        HG_SUCCESS);
    ck_assert_ptr_nonnull(id);
    return id;
}

static hg_return_t
move_wait(struct far *far)
{
    session_wait(&far->s, &far->call.called, 1);
    for (unsigned i = 0; i < 30; i++)
        session_step(&far->s, 0);
    ck_assert_uint_eq(far->call.called, 1);
    ck_assert_int_eq(far->call.type, HG_CB_BULK);
    ck_assert_uint_eq(far->call.size, FAR_SIZE);
    return far->call.ret;
}

/* Without a fault everything arrives, both ways. */
static void
ck_works(struct far *far)
{
    memset(far->local_memory, 0, FAR_SIZE);
    move_start(far, HG_BULK_PULL);
    ck_assert_int_eq(move_wait(far), HG_SUCCESS);
    ck_assert_mem_eq(far->local_memory, far->origin_memory, FAR_SIZE);
    for (uint32_t i = 0; i < FAR_SIZE; i++)
        far->local_memory[i] ^= 0x55;
    move_start(far, HG_BULK_PUSH);
    ck_assert_int_eq(move_wait(far), HG_SUCCESS);
    ck_assert_mem_eq(far->local_memory, far->origin_memory, FAR_SIZE);
}

static enum loop_kind
kind_of(hg_bulk_op_t op)
{
    return op == HG_BULK_PULL ? LOOP_GET : LOOP_PUT;
}

/* Puts or gets that a whole transfer takes. */
static uint32_t
count_pieces(struct far *far)
{
    uint32_t before = loop_submitted(LOOP_GET);

    ck_works(far);
    return loop_submitted(LOOP_GET) - before;
}

START_TEST(rma_each_piece_that_fails_fails_the_transfer_once)
{
    static const enum loop_act acts[] = {LOOP_FAIL_NOW, LOOP_FAIL_LATER};
    struct far far;
    uint32_t pieces;

    far_begin(&far, _i, &setup);
    pieces = count_pieces(&far);
    ck_assert_uint_ge(pieces, 1);
    for (uint32_t step = 0;
         step < pieces * 4 && step < test_count(TEST_FAULT_STEPS) * 4; step++) {
        hg_bulk_op_t op = step % 2 == 0 ? HG_BULK_PULL : HG_BULK_PUSH;

        loop_fault_set(
            kind_of(op), (struct loop_fault){.act = acts[step / 2 % 2],
                             .code = NA_PLUGIN_E_IO_ERROR,
                             .skip = step / 4,
                             .count = 1,
                             .delay = step % 3});
        move_start(&far, op);
        ck_assert_int_eq(move_wait(&far), HG_IO_ERROR);
        loop_fault_set(kind_of(op), (struct loop_fault){.act = LOOP_NORMAL});
    }
    ck_works(&far);
    far_end(&far);
}
END_TEST

START_TEST(rma_pieces_told_late_arrive_all)
{
    struct far far;

    far_begin(&far, _i, &setup);
    for (uint32_t delay = 0; delay < 5; delay++) {
        struct loop_fault late = {.act = LOOP_LATER, .delay = delay};

        loop_fault_set(LOOP_GET, late);
        loop_fault_set(LOOP_PUT, late);
        ck_works(&far);
        /* Some done at once, some later. */
        late.skip = delay;
        late.count = 2;
        loop_fault_set(LOOP_GET, late);
        loop_fault_set(LOOP_PUT, late);
        ck_works(&far);
    }
    far_end(&far);
}
END_TEST

START_TEST(rma_no_more_lanes_at_once_than_there_are)
{
    struct far far;
    uint32_t pieces, released = 0, now;

    far_begin(&far, _i, &setup);
    pieces = count_pieces(&far);
    memset(far.local_memory, 0, FAR_SIZE);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
    move_start(&far, HG_BULK_PULL);
    while (released < pieces) {
        ck_assert_uint_eq(far.call.called, 0);
        now = loop_release();
        ck_assert_uint_ge(now, 1);
        ck_assert_uint_le(now, LANES);
        released += now;
        for (unsigned i = 0; i < 20; i++)
            session_step(&far.s, 0);
    }
    ck_assert_uint_eq(released, pieces);
    ck_assert_int_eq(move_wait(&far), HG_SUCCESS);
    ck_assert_mem_eq(far.local_memory, far.origin_memory, FAR_SIZE);
    far_end(&far);
}
END_TEST

START_TEST(rma_cancelled_submits_no_more)
{
    struct far far;
    hg_op_id_t id;
    uint32_t submitted;

    far_begin(&far, _i, &setup);
    for (int i = 0; i < 5; i++) {
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
        loop_cancel_set(i % 2 == 0 ? LOOP_CANCEL_PROMPT : LOOP_CANCEL_LATE);
        id = move_start(&far, HG_BULK_PULL);
        submitted = loop_submitted(LOOP_GET);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
        ck_assert_uint_eq(far.call.called, 0);
        ck_assert_int_eq(move_wait(&far), HG_CANCELED);
        ck_assert_uint_eq(loop_submitted(LOOP_GET), submitted);
        ck_assert_uint_eq(loop_release(), 0);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
        ck_works(&far);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
    }
    far_end(&far);
}
END_TEST

/* What cannot be cancelled is waited for; nothing follows it. */
START_TEST(rma_cancel_refused_ends_with_the_pieces_under_way)
{
    struct far far;
    hg_op_id_t id;
    uint32_t pieces, submitted;

    far_begin(&far, _i, &setup);
    pieces = count_pieces(&far);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
    loop_cancel_set(LOOP_CANCEL_REFUSED);
    id = move_start(&far, HG_BULK_PULL);
    submitted = loop_submitted(LOOP_GET);
    ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
    session_quiet(&far.s);
    ck_assert_uint_eq(far.call.called, 0);
    ck_assert_uint_eq(loop_release(), pieces < LANES ? pieces : LANES);
    ck_assert_int_eq(move_wait(&far), HG_CANCELED);
    ck_assert_uint_eq(loop_submitted(LOOP_GET), submitted);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
    loop_cancel_set(LOOP_CANCEL_PROMPT);
    ck_works(&far);
    far_end(&far);
}
END_TEST

/* A stale id is nobody's, even when the transfer's memory is used again. */
START_TEST(rma_stale_cancel_leaves_the_next_transfer_alone)
{
    struct far far;
    hg_op_id_t stale, id;

    far_begin(&far, _i, &setup);
    stale = move_start(&far, HG_BULK_PULL);
    ck_assert_int_eq(move_wait(&far), HG_SUCCESS);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
    id = move_start(&far, HG_BULK_PULL);
    ck_assert_ptr_ne(id, stale);
    ck_assert_int_eq(HG_Bulk_cancel(stale), HG_SUCCESS);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
    ck_assert_uint_ge(loop_release(), 1);
    ck_assert_int_eq(move_wait(&far), HG_SUCCESS);
    ck_assert_mem_eq(far.local_memory, far.origin_memory, FAR_SIZE);
    ck_assert_int_eq(HG_Bulk_cancel(HG_OP_ID_NULL), HG_INVALID_ARG);
    far_end(&far);
}
END_TEST

/* Complete, but its callback has not run: a cancel comes too late. */
START_TEST(rma_cancel_before_the_callback_is_too_late)
{
    struct far far;
    hg_op_id_t id;

    far_begin(&far, _i, &setup);
    id = move_start(&far, HG_BULK_PULL); /* the loop is done at once */
    ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
    ck_assert_int_eq(move_wait(&far), HG_SUCCESS);
    far_end(&far);
}
END_TEST

START_TEST(rma_descriptors_and_address_given_back_before_the_callback)
{
    struct far far;

    far_begin(&far, _i, &setup);
    memset(far.local_memory, 0, FAR_SIZE);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
    move_start(&far, HG_BULK_PULL);
    ck_assert_int_eq(HG_Bulk_free(far.local), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_free(far.origin), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(far.s.hg_class, far.owner), HG_SUCCESS);
    session_quiet(&far.s);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
    ck_assert_uint_ge(loop_release(), 1);
    ck_assert_int_eq(move_wait(&far), HG_SUCCESS);
    ck_assert_mem_eq(far.local_memory, far.origin_memory, FAR_SIZE);
    ck_assert_int_eq(HG_Addr_self(far.s.hg_class, &far.owner), HG_SUCCESS);
    far.local = far.origin = HG_BULK_NULL;
    far_end(&far);
}
END_TEST

START_TEST(rma_owner_that_dies_fails_what_is_held)
{
    struct far far;

    far_begin(&far, _i, &setup);
    if (far.s.mode->shape != SESSION_SELF) {
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
        ck_assert_int_eq(HG_Addr_free(far.s.hg_class, far.owner), HG_SUCCESS);
        ck_assert_int_eq(
            HG_Addr_dup(far.s.hg_class, far.s.target, &far.owner), HG_SUCCESS);
        move_start(&far, HG_BULK_PULL);
        session_kill(&far.s);
        ck_assert_int_eq(move_wait(&far), HG_HOSTUNREACH);
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
    }
    far_end(&far);
}
END_TEST

START_TEST(rma_of_another_class_is_refused)
{
    struct far far;
    hg_class_t *other;
    hg_context_t *context;
    hg_addr_t addr;

    far_begin(&far, _i, &setup);
    other = session_open_class(far.s.mode, &setup, true);
    ck_assert_ptr_nonnull(other);
    context = HG_Context_create(other);
    ck_assert_ptr_nonnull(context);
    ck_assert_int_eq(HG_Addr_self(other, &addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_transfer(far.s.context, NULL, NULL, HG_BULK_PULL,
                         addr, far.origin, 0, far.local, 0, FAR_SIZE, NULL),
        HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Bulk_transfer(context, NULL, NULL, HG_BULK_PULL, far.owner,
            far.origin, 0, far.local, 0, FAR_SIZE, NULL),
        HG_INVALID_ARG);
    ck_assert_int_eq(HG_Bulk_transfer(NULL, NULL, NULL, HG_BULK_PULL, far.owner,
                         far.origin, 0, far.local, 0, FAR_SIZE, NULL),
        HG_INVALID_ARG);
    ck_assert_int_eq(HG_Addr_free(other, addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(other), HG_SUCCESS);
    far_end(&far);
}
END_TEST

START_TEST(rma_address_without_a_form_cannot_be_bound)
{
    static const struct loop_limits formless = {.no_serialization = true};
    struct far far;
    hg_class_t *other;
    hg_context_t *context;
    hg_bulk_t bulk;
    hg_size_t size = 64;

    far_begin(&far, _i, &setup);
    loop_limits_set(&formless);
    for (int listen = 0; listen < 2; listen++) {
        other = session_open_class(far.s.mode, &setup, listen);
        ck_assert_ptr_nonnull(other);
        context = HG_Context_create(other);
        ck_assert_ptr_nonnull(context);
        ck_assert_int_eq(
            HG_Bulk_create(other, 1, NULL, &size, HG_BULK_READ_ONLY, &bulk),
            HG_SUCCESS);
        ck_assert_int_eq(HG_Bulk_bind(bulk, context), HG_OPNOTSUPPORTED);
        ck_assert_ptr_null(HG_Bulk_get_addr(bulk));
        ck_assert_int_eq(HG_Bulk_bind(bulk, far.s.context), HG_INVALID_ARG);
        ck_assert_int_eq(HG_Bulk_free(bulk), HG_SUCCESS);
        ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
        ck_assert_int_eq(HG_Finalize(other), HG_SUCCESS);
    }
    far_end(&far);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, rma_each_piece_that_fails_fails_the_transfer_once);
    session_add(tcase, rma_pieces_told_late_arrive_all);
    session_add(tcase, rma_no_more_lanes_at_once_than_there_are);
    session_add(tcase, rma_cancelled_submits_no_more);
    session_add(tcase, rma_cancel_refused_ends_with_the_pieces_under_way);
    session_add(tcase, rma_stale_cancel_leaves_the_next_transfer_alone);
    session_add(tcase, rma_cancel_before_the_callback_is_too_late);
    session_add(
        tcase, rma_descriptors_and_address_given_back_before_the_callback);
    session_add(tcase, rma_owner_that_dies_fails_what_is_held);
    session_add(tcase, rma_of_another_class_is_refused);
    session_add(tcase, rma_address_without_a_form_cannot_be_bound);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "rma", add);
}
