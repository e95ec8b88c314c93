/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers whose puts and gets are delayed, held, refused or fail, one by one.
 * The loop plugin checks that whatever they refer to stays valid. */
#include "counts.h"
#include "log_watch.h"
#include "remote.h"

#include <stdlib.h>
#include <string.h>

#define LANES 4U /* concurrent operations of a transfer */

static const struct session_setup setup = {.origin_listens = true};

static hg_op_id_t
move_start(struct remote *remote, hg_bulk_op_t op)
{
    hg_op_id_t id = HG_OP_ID_NULL;

    remote->call.called = 0;
    ck_assert_int_eq(HG_Bulk_transfer(remote->s.context, call_done,
                         &remote->call, op, remote->owner, remote->origin, 0,
                         remote->local, 0, REMOTE_SIZE, &id),
        HG_SUCCESS);
    ck_assert_ptr_nonnull(id);
    return id;
}

static hg_return_t
move_wait(struct remote *remote)
{
    session_wait(&remote->s, &remote->call.called, 1);
    for (unsigned i = 0; i < 30; i++)
        session_step(&remote->s, 0);
    ck_assert_uint_eq(remote->call.called, 1);
    ck_assert_int_eq(remote->call.type, HG_CB_BULK);
    ck_assert_uint_eq(remote->call.size, REMOTE_SIZE);
    return remote->call.ret;
}

/* Without a fault, data arrive in both directions. */
static void
ck_works(struct remote *remote)
{
    memset(remote->local_memory, 0, REMOTE_SIZE);
    move_start(remote, HG_BULK_PULL);
    ck_assert_int_eq(move_wait(remote), HG_SUCCESS);
    ck_assert_mem_eq(remote->local_memory, remote->origin_memory, REMOTE_SIZE);
    for (uint32_t i = 0; i < REMOTE_SIZE; i++)
        remote->local_memory[i] ^= 0x55;
    move_start(remote, HG_BULK_PUSH);
    ck_assert_int_eq(move_wait(remote), HG_SUCCESS);
    ck_assert_mem_eq(remote->local_memory, remote->origin_memory, REMOTE_SIZE);
}

static enum loop_kind
kind_of(hg_bulk_op_t op)
{
    return op == HG_BULK_PULL ? LOOP_GET : LOOP_PUT;
}

/* Number of operations of a whole transfer. */
static uint32_t
count_pieces(struct remote *remote)
{
    uint32_t before = loop_submitted(LOOP_GET);

    ck_works(remote);
    return loop_submitted(LOOP_GET) - before;
}

START_TEST(rma_each_failing_operation_fails_the_transfer_once)
{
    static const enum loop_act acts[] = {LOOP_FAIL_NOW, LOOP_FAIL_LATER};
    struct remote remote;
    uint32_t pieces;

    remote_begin(&remote, _i, &setup);
    pieces = count_pieces(&remote);
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
        move_start(&remote, op);
        ck_assert_int_eq(move_wait(&remote), HG_IO_ERROR);
        loop_fault_set(kind_of(op), (struct loop_fault){.act = LOOP_NORMAL});
    }
    ck_works(&remote);
    remote_end(&remote);
}
END_TEST

START_TEST(rma_delayed_operations_all_complete)
{
    struct remote remote;

    remote_begin(&remote, _i, &setup);
    for (uint32_t delay = 0; delay < 5; delay++) {
        struct loop_fault late = {.act = LOOP_LATER, .delay = delay};

        loop_fault_set(LOOP_GET, late);
        loop_fault_set(LOOP_PUT, late);
        ck_works(&remote);
        /* Some complete at once, some later. */
        late.skip = delay;
        late.count = 2;
        loop_fault_set(LOOP_GET, late);
        loop_fault_set(LOOP_PUT, late);
        ck_works(&remote);
    }
    remote_end(&remote);
}
END_TEST

START_TEST(rma_concurrent_operations_are_limited)
{
    struct remote remote;
    uint32_t pieces, released = 0, now;

    remote_begin(&remote, _i, &setup);
    pieces = count_pieces(&remote);
    memset(remote.local_memory, 0, REMOTE_SIZE);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
    move_start(&remote, HG_BULK_PULL);
    while (released < pieces) {
        ck_assert_uint_eq(remote.call.called, 0);
        now = loop_release();
        ck_assert_uint_ge(now, 1);
        ck_assert_uint_le(now, LANES);
        released += now;
        for (unsigned i = 0; i < 20; i++)
            session_step(&remote.s, 0);
    }
    ck_assert_uint_eq(released, pieces);
    ck_assert_int_eq(move_wait(&remote), HG_SUCCESS);
    ck_assert_mem_eq(remote.local_memory, remote.origin_memory, REMOTE_SIZE);
    remote_end(&remote);
}
END_TEST

START_TEST(rma_cancelled_submits_no_more)
{
    struct remote remote;
    hg_op_id_t id;
    uint32_t submitted;

    remote_begin(&remote, _i, &setup);
    for (int i = 0; i < 5; i++) {
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
        loop_cancel_set(i % 2 == 0 ? LOOP_CANCEL_PROMPT : LOOP_CANCEL_LATE);
        id = move_start(&remote, HG_BULK_PULL);
        submitted = loop_submitted(LOOP_GET);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
        ck_assert_uint_eq(remote.call.called, 0);
        ck_assert_int_eq(move_wait(&remote), HG_CANCELED);
        ck_assert_uint_eq(loop_submitted(LOOP_GET), submitted);
        ck_assert_uint_eq(loop_release(), 0);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
        ck_works(&remote);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
    }
    remote_end(&remote);
}
END_TEST

/* A transfer waits for operations that the plugin does not cancel, and submits
 * no more. */
START_TEST(rma_cancel_refused_waits_for_pending_operations)
{
    struct remote remote;
    hg_op_id_t id;
    uint32_t pieces, submitted;

    remote_begin(&remote, _i, &setup);
    pieces = count_pieces(&remote);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
    loop_cancel_set(LOOP_CANCEL_REFUSED);
    id = move_start(&remote, HG_BULK_PULL);
    submitted = loop_submitted(LOOP_GET);
    ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
    session_quiet(&remote.s);
    ck_assert_uint_eq(remote.call.called, 0);
    ck_assert_uint_eq(loop_release(), pieces < LANES ? pieces : LANES);
    ck_assert_int_eq(move_wait(&remote), HG_CANCELED);
    ck_assert_uint_eq(loop_submitted(LOOP_GET), submitted);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
    loop_cancel_set(LOOP_CANCEL_PROMPT);
    ck_works(&remote);
    remote_end(&remote);
}
END_TEST

/* A stale id matches nothing, even when the transfer object is reused. */
START_TEST(rma_stale_cancel_does_not_affect_the_next_transfer)
{
    struct remote remote;
    hg_op_id_t stale, id;

    remote_begin(&remote, _i, &setup);
    stale = move_start(&remote, HG_BULK_PULL);
    ck_assert_int_eq(move_wait(&remote), HG_SUCCESS);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
    id = move_start(&remote, HG_BULK_PULL);
    ck_assert_ptr_ne(id, stale);
    ck_assert_int_eq(HG_Bulk_cancel(stale), HG_SUCCESS);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
    ck_assert_uint_ge(loop_release(), 1);
    ck_assert_int_eq(move_wait(&remote), HG_SUCCESS);
    ck_assert_mem_eq(remote.local_memory, remote.origin_memory, REMOTE_SIZE);
    ck_assert_int_eq(HG_Bulk_cancel(HG_OP_ID_NULL), HG_INVALID_ARG);
    remote_end(&remote);
}
END_TEST

/* Completed, but the callback has not run: a cancel is too late. */
START_TEST(rma_cancel_before_the_callback_is_too_late)
{
    struct remote remote;
    hg_op_id_t id;

    remote_begin(&remote, _i, &setup);
    id = move_start(
        &remote, HG_BULK_PULL); /* the loop plugin completes at once */
    ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
    ck_assert_int_eq(move_wait(&remote), HG_SUCCESS);
    remote_end(&remote);
}
END_TEST

START_TEST(rma_descriptors_and_address_freed_before_the_callback)
{
    struct remote remote;

    remote_begin(&remote, _i, &setup);
    memset(remote.local_memory, 0, REMOTE_SIZE);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
    move_start(&remote, HG_BULK_PULL);
    ck_assert_int_eq(HG_Bulk_free(remote.local), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_free(remote.origin), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(remote.s.hg_class, remote.owner), HG_SUCCESS);
    session_quiet(&remote.s);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
    ck_assert_uint_ge(loop_release(), 1);
    ck_assert_int_eq(move_wait(&remote), HG_SUCCESS);
    ck_assert_mem_eq(remote.local_memory, remote.origin_memory, REMOTE_SIZE);
    ck_assert_int_eq(
        HG_Addr_self(remote.s.hg_class, &remote.owner), HG_SUCCESS);
    remote.local = remote.origin = HG_BULK_NULL;
    remote_end(&remote);
}
END_TEST

START_TEST(rma_owner_death_fails_pending_transfer)
{
    struct remote remote;

    remote_begin(&remote, _i, &setup);
    if (remote.s.mode->shape != SESSION_SELF) {
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
        ck_assert_int_eq(
            HG_Addr_free(remote.s.hg_class, remote.owner), HG_SUCCESS);
        ck_assert_int_eq(
            HG_Addr_dup(remote.s.hg_class, remote.s.target, &remote.owner),
            HG_SUCCESS);
        move_start(&remote, HG_BULK_PULL);
        session_kill(&remote.s);
        ck_assert_int_eq(move_wait(&remote), HG_HOSTUNREACH);
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
    }
    remote_end(&remote);
}
END_TEST

START_TEST(rma_with_descriptor_of_another_class_fails)
{
    struct remote remote;
    hg_class_t *other;
    hg_context_t *context;
    hg_addr_t addr;

    remote_begin(&remote, _i, &setup);
    other = session_open_class(remote.s.mode, &setup, true);
    ck_assert_ptr_nonnull(other);
    context = HG_Context_create(other);
    ck_assert_ptr_nonnull(context);
    ck_assert_int_eq(HG_Addr_self(other, &addr), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_transfer(remote.s.context, NULL, NULL, HG_BULK_PULL, addr,
            remote.origin, 0, remote.local, 0, REMOTE_SIZE, NULL),
        HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Bulk_transfer(context, NULL, NULL, HG_BULK_PULL, remote.owner,
            remote.origin, 0, remote.local, 0, REMOTE_SIZE, NULL),
        HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Bulk_transfer(NULL, NULL, NULL, HG_BULK_PULL, remote.owner,
            remote.origin, 0, remote.local, 0, REMOTE_SIZE, NULL),
        HG_INVALID_ARG);
    ck_assert_int_eq(HG_Addr_free(other, addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(other), HG_SUCCESS);
    remote_end(&remote);
}
END_TEST

START_TEST(rma_bind_without_serializable_address_fails)
{
    static const struct loop_limits formless = {.no_serialization = true};
    struct remote remote;
    hg_class_t *other;
    hg_context_t *context;
    hg_bulk_t bulk;
    hg_size_t size = 64;

    remote_begin(&remote, _i, &setup);
    loop_limits_set(&formless);
    for (int listen = 0; listen < 2; listen++) {
        other = session_open_class(remote.s.mode, &setup, listen);
        ck_assert_ptr_nonnull(other);
        context = HG_Context_create(other);
        ck_assert_ptr_nonnull(context);
        ck_assert_int_eq(
            HG_Bulk_create(other, 1, NULL, &size, HG_BULK_READ_ONLY, &bulk),
            HG_SUCCESS);
        ck_assert_int_eq(HG_Bulk_bind(bulk, context), HG_OPNOTSUPPORTED);
        ck_assert_ptr_null(HG_Bulk_get_addr(bulk));
        ck_assert_int_eq(HG_Bulk_bind(bulk, remote.s.context), HG_INVALID_ARG);
        ck_assert_int_eq(HG_Bulk_free(bulk), HG_SUCCESS);
        ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
        ck_assert_int_eq(HG_Finalize(other), HG_SUCCESS);
    }
    remote_end(&remote);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, rma_each_failing_operation_fails_the_transfer_once);
    session_add(tcase, rma_delayed_operations_all_complete);
    session_add(tcase, rma_concurrent_operations_are_limited);
    session_add(tcase, rma_cancelled_submits_no_more);
    session_add(tcase, rma_cancel_refused_waits_for_pending_operations);
    session_add(tcase, rma_stale_cancel_does_not_affect_the_next_transfer);
    session_add(tcase, rma_cancel_before_the_callback_is_too_late);
    session_add(tcase, rma_descriptors_and_address_freed_before_the_callback);
    session_add(tcase, rma_owner_death_fails_pending_transfer);
    session_add(tcase, rma_with_descriptor_of_another_class_fails);
    session_add(tcase, rma_bind_without_serializable_address_fails);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "rma", add);
}
