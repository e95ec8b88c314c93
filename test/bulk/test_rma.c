/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of a transfer when its puts and gets are late, held back, refused
 * or fail, one by one. The loop plugin checks besides that everything that they
 * refer to stays there. */
#include "counts.h"
#include "log_watch.h"
#include "mercury_bulk.h"
#include "session.h"

#include <stdlib.h>
#include <string.h>

#define SIZE 20000U
#define PIECES 7U
#define LANES 4U /* puts or gets of a transfer at once */

static const struct session_setup setup = {.origin_listens = true};

/* A transfer of ours with ourselves, through the transport: the origin's
 * descriptor has been serialized, as it would be for a peer. */
struct move {
    struct session s;
    hg_addr_t self;
    unsigned char *origin_memory;
    unsigned char *local_memory;
    hg_bulk_t owned; /* the origin's descriptor */
    hg_bulk_t origin;
    hg_bulk_t local;
    uint32_t pieces; /* puts or gets that it takes */
    struct call call;
};

static hg_bulk_t
describe(struct session *s, unsigned char *memory, uint32_t count)
{
    hg_size_t sizes[PIECES];
    void *bases[PIECES];
    hg_bulk_t bulk = HG_BULK_NULL;

    for (uint32_t i = 0; i < count; i++) {
        bases[i] = memory + i * (SIZE / count);
        sizes[i] = i + 1 < count ? SIZE / count : SIZE - i * (SIZE / count);
    }
    ck_assert_int_eq(HG_Bulk_create(s->hg_class, count, bases, sizes,
                         HG_BULK_READWRITE, &bulk),
        HG_SUCCESS);
    return bulk;
}

static void
move_begin(struct move *move, int mode)
{
    hg_size_t size;
    void *bytes;

    memset(move, 0, sizeof *move);
    session_begin(&move->s, mode, &setup);
    loop_faults_clear();
    ck_assert_int_eq(HG_Addr_self(move->s.hg_class, &move->self), HG_SUCCESS);
    move->origin_memory = malloc(SIZE);
    move->local_memory = calloc(1, SIZE);
    for (uint32_t i = 0; i < SIZE; i++)
        move->origin_memory[i] = (unsigned char) (i * 251 >> 4);
    move->owned = describe(&move->s, move->origin_memory, PIECES);
    move->local = describe(&move->s, move->local_memory, PIECES - 2);
    size = HG_Bulk_get_serialize_size(move->owned, 0);
    bytes = malloc(size);
    ck_assert_int_eq(
        HG_Bulk_serialize(bytes, size, 0, move->owned), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_deserialize(move->s.hg_class, &move->origin, bytes, size),
        HG_SUCCESS);
    free(bytes);
}

static void
move_end(struct move *move)
{
    ck_assert_int_eq(HG_Bulk_free(move->origin), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_free(move->owned), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_free(move->local), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(move->s.hg_class, move->self), HG_SUCCESS);
    session_end(&move->s);
    free(move->origin_memory);
    free(move->local_memory);
}

static hg_op_id_t
move_start(struct move *move, hg_bulk_op_t op)
{
    hg_op_id_t id = HG_OP_ID_NULL;

    move->call.called = 0;
    ck_assert_int_eq(
        HG_Bulk_transfer(move->s.context, call_done, &move->call, op,
            move->self, move->origin, 0, move->local, 0, SIZE, &id),
        HG_SUCCESS);
    ck_assert_ptr_nonnull(id);
    return id;
}

static hg_return_t
move_wait(struct move *move)
{
    session_wait(&move->s, &move->call.called, 1);
    for (unsigned i = 0; i < 30; i++)
        session_step(&move->s, 0);
    ck_assert_uint_eq(move->call.called, 1);
    ck_assert_int_eq(move->call.type, HG_CB_BULK);
    ck_assert_uint_eq(move->call.size, SIZE);
    return move->call.ret;
}

/* Without a fault everything arrives, both ways. */
static void
ck_works(struct move *move)
{
    memset(move->local_memory, 0, SIZE);
    move_start(move, HG_BULK_PULL);
    ck_assert_int_eq(move_wait(move), HG_SUCCESS);
    ck_assert_mem_eq(move->local_memory, move->origin_memory, SIZE);
    for (uint32_t i = 0; i < SIZE; i++)
        move->local_memory[i] ^= 0x55;
    move_start(move, HG_BULK_PUSH);
    ck_assert_int_eq(move_wait(move), HG_SUCCESS);
    ck_assert_mem_eq(move->local_memory, move->origin_memory, SIZE);
}

static enum loop_kind
kind_of(hg_bulk_op_t op)
{
    return op == HG_BULK_PULL ? LOOP_GET : LOOP_PUT;
}

/* Puts or gets that a whole transfer takes. */
static uint32_t
count_pieces(struct move *move)
{
    uint32_t before = loop_submitted(LOOP_GET);

    ck_works(move);
    return loop_submitted(LOOP_GET) - before;
}

START_TEST(rma_each_piece_that_fails_fails_the_transfer_once)
{
    static const enum loop_act acts[] = {LOOP_FAIL_NOW, LOOP_FAIL_LATER};
    struct move move;
    uint32_t pieces;

    move_begin(&move, _i);
    pieces = count_pieces(&move);
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
        move_start(&move, op);
        ck_assert_int_eq(move_wait(&move), HG_IO_ERROR);
        loop_fault_set(kind_of(op), (struct loop_fault){.act = LOOP_HONEST});
    }
    ck_works(&move);
    move_end(&move);
}
END_TEST

START_TEST(rma_pieces_told_late_arrive_all)
{
    struct move move;

    move_begin(&move, _i);
    for (uint32_t delay = 0; delay < 5; delay++) {
        struct loop_fault late = {.act = LOOP_LATER, .delay = delay};

        loop_fault_set(LOOP_GET, late);
        loop_fault_set(LOOP_PUT, late);
        ck_works(&move);
        /* Some done at once, some later. */
        late.skip = delay;
        late.count = 2;
        loop_fault_set(LOOP_GET, late);
        loop_fault_set(LOOP_PUT, late);
        ck_works(&move);
    }
    move_end(&move);
}
END_TEST

START_TEST(rma_no_more_lanes_at_once_than_there_are)
{
    struct move move;
    uint32_t pieces, released = 0, now;

    move_begin(&move, _i);
    pieces = count_pieces(&move);
    memset(move.local_memory, 0, SIZE);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
    move_start(&move, HG_BULK_PULL);
    while (released < pieces) {
        ck_assert_uint_eq(move.call.called, 0);
        now = loop_release();
        ck_assert_uint_ge(now, 1);
        ck_assert_uint_le(now, LANES);
        released += now;
        for (unsigned i = 0; i < 20; i++)
            session_step(&move.s, 0);
    }
    ck_assert_uint_eq(released, pieces);
    ck_assert_int_eq(move_wait(&move), HG_SUCCESS);
    ck_assert_mem_eq(move.local_memory, move.origin_memory, SIZE);
    move_end(&move);
}
END_TEST

START_TEST(rma_cancelled_submits_no_more)
{
    struct move move;
    hg_op_id_t id;
    uint32_t submitted;

    move_begin(&move, _i);
    for (int i = 0; i < 5; i++) {
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
        loop_cancel_set(i % 2 == 0 ? LOOP_CANCEL_PROMPT : LOOP_CANCEL_LATE);
        id = move_start(&move, HG_BULK_PULL);
        submitted = loop_submitted(LOOP_GET);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
        ck_assert_uint_eq(move.call.called, 0);
        ck_assert_int_eq(move_wait(&move), HG_CANCELED);
        ck_assert_uint_eq(loop_submitted(LOOP_GET), submitted);
        ck_assert_uint_eq(loop_release(), 0);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HONEST});
        ck_works(&move);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
    }
    move_end(&move);
}
END_TEST

/* What cannot be cancelled is waited for; nothing follows it. */
START_TEST(rma_cancel_refused_ends_with_the_pieces_under_way)
{
    struct move move;
    hg_op_id_t id;
    uint32_t pieces, submitted;

    move_begin(&move, _i);
    pieces = count_pieces(&move);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
    loop_cancel_set(LOOP_CANCEL_REFUSED);
    id = move_start(&move, HG_BULK_PULL);
    submitted = loop_submitted(LOOP_GET);
    ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
    session_quiet(&move.s);
    ck_assert_uint_eq(move.call.called, 0);
    ck_assert_uint_eq(loop_release(), pieces < LANES ? pieces : LANES);
    ck_assert_int_eq(move_wait(&move), HG_CANCELED);
    ck_assert_uint_eq(loop_submitted(LOOP_GET), submitted);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HONEST});
    loop_cancel_set(LOOP_CANCEL_PROMPT);
    ck_works(&move);
    move_end(&move);
}
END_TEST

/* A stale id is nobody's, even when the transfer's memory is used again. */
START_TEST(rma_stale_cancel_leaves_the_next_transfer_alone)
{
    struct move move;
    hg_op_id_t stale, id;

    move_begin(&move, _i);
    stale = move_start(&move, HG_BULK_PULL);
    ck_assert_int_eq(move_wait(&move), HG_SUCCESS);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
    id = move_start(&move, HG_BULK_PULL);
    ck_assert_ptr_ne(id, stale);
    ck_assert_int_eq(HG_Bulk_cancel(stale), HG_SUCCESS);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HONEST});
    ck_assert_uint_ge(loop_release(), 1);
    ck_assert_int_eq(move_wait(&move), HG_SUCCESS);
    ck_assert_mem_eq(move.local_memory, move.origin_memory, SIZE);
    ck_assert_int_eq(HG_Bulk_cancel(HG_OP_ID_NULL), HG_INVALID_ARG);
    move_end(&move);
}
END_TEST

/* Complete, but its callback has not run: a cancel comes too late. */
START_TEST(rma_cancel_before_the_callback_is_too_late)
{
    struct move move;
    hg_op_id_t id;

    move_begin(&move, _i);
    id = move_start(&move, HG_BULK_PULL); /* the loop is done at once */
    ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
    ck_assert_int_eq(move_wait(&move), HG_SUCCESS);
    move_end(&move);
}
END_TEST

START_TEST(rma_descriptors_and_address_given_back_before_the_callback)
{
    struct move move;

    move_begin(&move, _i);
    memset(move.local_memory, 0, SIZE);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
    move_start(&move, HG_BULK_PULL);
    ck_assert_int_eq(HG_Bulk_free(move.local), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_free(move.origin), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(move.s.hg_class, move.self), HG_SUCCESS);
    session_quiet(&move.s);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HONEST});
    ck_assert_uint_ge(loop_release(), 1);
    ck_assert_int_eq(move_wait(&move), HG_SUCCESS);
    ck_assert_mem_eq(move.local_memory, move.origin_memory, SIZE);
    ck_assert_int_eq(HG_Addr_self(move.s.hg_class, &move.self), HG_SUCCESS);
    move.local = move.origin = HG_BULK_NULL;
    move_end(&move);
}
END_TEST

START_TEST(rma_owner_that_dies_fails_what_is_held)
{
    struct move move;

    move_begin(&move, _i);
    if (move.s.mode->shape != SESSION_SELF) {
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
        ck_assert_int_eq(HG_Addr_free(move.s.hg_class, move.self), HG_SUCCESS);
        ck_assert_int_eq(
            HG_Addr_dup(move.s.hg_class, move.s.target, &move.self),
            HG_SUCCESS);
        move_start(&move, HG_BULK_PULL);
        session_kill(&move.s);
        ck_assert_int_eq(move_wait(&move), HG_HOSTUNREACH);
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HONEST});
    }
    move_end(&move);
}
END_TEST

START_TEST(rma_of_another_class_is_refused)
{
    struct move move;
    hg_class_t *other;
    hg_context_t *context;
    hg_addr_t addr;

    move_begin(&move, _i);
    other = session_open_class(move.s.mode, &setup, true);
    ck_assert_ptr_nonnull(other);
    context = HG_Context_create(other);
    ck_assert_ptr_nonnull(context);
    ck_assert_int_eq(HG_Addr_self(other, &addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_transfer(move.s.context, NULL, NULL, HG_BULK_PULL,
                         addr, move.origin, 0, move.local, 0, SIZE, NULL),
        HG_INVALID_ARG);
    ck_assert_int_eq(HG_Bulk_transfer(context, NULL, NULL, HG_BULK_PULL,
                         move.self, move.origin, 0, move.local, 0, SIZE, NULL),
        HG_INVALID_ARG);
    ck_assert_int_eq(HG_Bulk_transfer(NULL, NULL, NULL, HG_BULK_PULL, move.self,
                         move.origin, 0, move.local, 0, SIZE, NULL),
        HG_INVALID_ARG);
    ck_assert_int_eq(HG_Addr_free(other, addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(other), HG_SUCCESS);
    move_end(&move);
}
END_TEST

START_TEST(rma_address_without_a_form_cannot_be_bound)
{
    static const struct loop_limits formless = {.no_serialization = true};
    struct move move;
    hg_class_t *other;
    hg_context_t *context;
    hg_bulk_t bulk;
    hg_size_t size = 64;

    move_begin(&move, _i);
    loop_limits_set(&formless);
    for (int listen = 0; listen < 2; listen++) {
        other = session_open_class(move.s.mode, &setup, listen);
        ck_assert_ptr_nonnull(other);
        context = HG_Context_create(other);
        ck_assert_ptr_nonnull(context);
        ck_assert_int_eq(
            HG_Bulk_create(other, 1, NULL, &size, HG_BULK_READ_ONLY, &bulk),
            HG_SUCCESS);
        ck_assert_int_eq(HG_Bulk_bind(bulk, context), HG_OPNOTSUPPORTED);
        ck_assert_ptr_null(HG_Bulk_get_addr(bulk));
        ck_assert_int_eq(HG_Bulk_bind(bulk, move.s.context), HG_INVALID_ARG);
        ck_assert_int_eq(HG_Bulk_free(bulk), HG_SUCCESS);
        ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
        ck_assert_int_eq(HG_Finalize(other), HG_SUCCESS);
    }
    move_end(&move);
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
