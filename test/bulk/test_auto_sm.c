/* SPDX-License-Identifier: BSD-3-Clause */
/* Which transport bulk data take with auto_sm. */
#include "mover.h"

#include <string.h>

#define SIZE 100000U

static void
with_auto_sm(struct hg_init_info *info)
{
    info->auto_sm = 1;
}

static const struct session_setup setup = {.open = mover_open,
    .stopping = mover_stopping,
    .init = with_auto_sm,
    .origin_listens = true};

/* The target transfers all of some local memory; checks the data. */
static void
move(struct session *s, hg_bulk_op_t op, uint8_t how)
{
    struct pieces pieces;
    move_in_t in = {.op = (uint8_t) op,
        .how = how,
        .seed = 5,
        .size = SIZE,
        .local_size = SIZE};
    move_out_t out;

    pieces_make(&pieces, SIZE, 3);
    pieces_fill(&pieces, 9);
    ck_assert_int_eq(HG_Bulk_create(s->hg_class, pieces.count, pieces.bases,
                         pieces.sizes, HG_BULK_READWRITE, &in.bulk),
        HG_SUCCESS);
    if (how & MOVE_BOUND)
        ck_assert_int_eq(HG_Bulk_bind(in.bulk, s->context), HG_SUCCESS);
    out = mover_move(s, &in);
    ck_assert_int_eq(out.start, HG_SUCCESS);
    ck_assert_int_eq(out.end, HG_SUCCESS);
    ck_assert_uint_eq(out.moved, SIZE);
    if (op == HG_BULK_PULL)
        ck_assert_uint_eq(out.hash, pieces_hash(&pieces, 0, SIZE));
    else
        ck_assert(pieces_match(&pieces, 0, SIZE, 5, 0));
    ck_assert_int_eq(HG_Bulk_free(in.bulk), HG_SUCCESS);
    pieces_free(&pieces);
}

static uint32_t
moved_by_network(void)
{
    return loop_submitted(LOOP_GET) + loop_submitted(LOOP_PUT);
}

START_TEST(auto_sm_bulk_uses_the_route_of_its_request)
{
    struct session s;
    char *id;

    if (session_mode_at(_i)->shape == SESSION_SELF)
        return;
    session_begin(&s, _i, &setup);
    move(&s, HG_BULK_PULL, 0);
    move(&s, HG_BULK_PUSH, 0);
    move(&s, HG_BULK_PULL, MOVE_BOUND);
    move(&s, HG_BULK_PUSH, MOVE_BOUND);
    ck_assert_uint_eq(moved_by_network(), 0);
    /* Simulates a target on another host. */
    id = strstr(s.address, "#sm=");
    ck_assert_ptr_nonnull(id);
    id[4] = id[4] == '0' ? '1' : '0';
    ck_assert_int_eq(HG_Addr_free(s.hg_class, s.target), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_lookup2(s.hg_class, s.address, &s.target), HG_SUCCESS);
    move(&s, HG_BULK_PULL, 0);
    ck_assert_uint_gt(loop_submitted(LOOP_GET), 0);
    move(&s, HG_BULK_PUSH, 0);
    ck_assert_uint_gt(loop_submitted(LOOP_PUT), 0);
    session_end(&s);
}
END_TEST

static void
with_auto_sm_at_target(struct hg_init_info *info)
{
    /* called at both sides, first at the target */
    static _Atomic bool target_first;

    info->auto_sm = !atomic_exchange(&target_first, true);
}

/* A class with one transport finds its section in descriptors of a class with
 * two, and vice versa. */
START_TEST(auto_sm_bulk_with_a_peer_without_auto_sm_uses_the_network)
{
    static const struct session_setup one_sided = {.open = mover_open,
        .stopping = mover_stopping,
        .init = with_auto_sm_at_target,
        .origin_listens = true};
    struct session s;
    hg_size_t size = SIZE;
    struct call call = {.called = 0};
    hg_handle_t handle;
    hg_bulk_t local;
    expose_out_t out;

    if (session_mode_at(_i)->shape == SESSION_SELF)
        return;
    session_begin(&s, _i, &one_sided);
    ck_assert_ptr_nonnull(strstr(s.address, "#sm="));
    move(&s, HG_BULK_PULL, 0);
    move(&s, HG_BULK_PUSH, MOVE_BOUND);
    handle = session_handle(&s, mover_id(MOVER_EXPOSE));
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, NULL, &size, HG_BULK_WRITE_ONLY, &local),
        HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_transfer(s.context, call_done, &call, HG_BULK_PULL, s.target,
            out.bulk, 0, local, 0, size, HG_OP_ID_IGNORE),
        HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    ck_assert_uint_gt(moved_by_network(), 2);
    HG_Bulk_free(local);
    HG_Free_output(handle, &out);
    HG_Destroy(handle);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(
        tcase, auto_sm_bulk_with_a_peer_without_auto_sm_uses_the_network);
    session_add(tcase, auto_sm_bulk_uses_the_route_of_its_request);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "bulk_auto_sm", add);
}
