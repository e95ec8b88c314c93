/* SPDX-License-Identifier: BSD-3-Clause */
/* Data inside the descriptor: when they are, when changes are seen, and that
 * transfers from them are checked like others. */
#include "counts.h"
#include "log_watch.h"
#include "mover.h"

#include <stdlib.h>
#include <string.h>

static const struct session_setup setup = {
    .open = mover_open, .stopping = mover_stopping, .origin_listens = true};

static void
without_eager(struct hg_init_info *info)
{
    info->no_bulk_eager = 1;
}

static const struct session_setup setup_without = {.init = without_eager,
    .open = mover_open,
    .stopping = mover_stopping,
    .origin_listens = true};

static hg_bulk_t
describe(struct session *s, struct pieces *pieces, uint8_t flags)
{
    hg_bulk_t bulk = HG_BULK_NULL;

    ck_assert_int_eq(HG_Bulk_create(s->hg_class, pieces->count, pieces->bases,
                         pieces->sizes, flags, &bulk),
        HG_SUCCESS);
    return bulk;
}

/* Whether the origin's next step runs before the target's handler. */
static bool
change_comes_first(const struct session *s)
{
    return session_is_loop() && s->mode->shape == SESSION_SELF;
}

/* The target pulls everything. With `change`, the data are changed before or
 * during the pull. Returns whether the target got the original data. */
static bool
pull_gets_original(
    struct session *s, size_t size, uint8_t flags, bool bound, bool change)
{
    hg_handle_t handle = session_handle(s, mover_id(MOVER_MOVE));
    move_in_t in = {.op = HG_BULK_PULL,
        .seed = (uint32_t) size,
        .size = size,
        .local_size = size + 7};
    struct call call = {.called = 0};
    struct pieces pieces;
    move_out_t out;
    uint64_t hash;
    bool past;

    pieces_make(&pieces, size, (uint32_t) size + 1);
    pieces_fill(&pieces, 5);
    hash = pieces_hash(&pieces, 0, size);
    in.bulk = describe(s, &pieces, flags);
    if (bound)
        ck_assert_int_eq(HG_Bulk_bind(in.bulk, s->context), HG_SUCCESS);
    in.how = bound ? MOVE_BOUND : 0;
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    if (change)
        pieces_fill(&pieces, 6);
    session_wait(s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(out.start, HG_SUCCESS);
    ck_assert_int_eq(out.end, HG_SUCCESS);
    ck_assert_uint_eq(out.moved, size);
    past = out.hash == hash;
    HG_Free_output(handle, &out);
    HG_Destroy(handle);
    HG_Bulk_free(in.bulk);
    pieces_free(&pieces);
    return past;
}

START_TEST(eager_data_are_copied_when_serialized)
{
    struct session s;

    session_begin(&s, _i, &setup);
    for (size_t size = 1; size <= 400; size = size * 3 + 1) {
        ck_assert(pull_gets_original(&s, size, HG_BULK_READ_ONLY, false, true));
        ck_assert(pull_gets_original(&s, size, HG_BULK_READ_ONLY, true, true));
    }
    if (session_is_loop())
        ck_assert_uint_eq(loop_submitted(LOOP_GET), 0);
    session_end(&s);
}
END_TEST

/* The loop plugin pulls when the handler runs: after the change. */
START_TEST(eager_data_only_for_read_only_descriptors)
{
    struct session s;

    session_begin(&s, _i, &setup);
    if (change_comes_first(&s)) {
        ck_assert(!pull_gets_original(&s, 100, HG_BULK_READWRITE, false, true));
        ck_assert(!pull_gets_original(&s, 100, HG_BULK_READWRITE, true, true));
    }
    session_end(&s);
}
END_TEST

START_TEST(eager_can_be_turned_off)
{
    struct session s;
    struct pieces pieces;
    hg_bulk_t bulk;

    session_begin(&s, _i, &setup_without);
    pieces_make(&pieces, 100, 1);
    bulk = describe(&s, &pieces, HG_BULK_READ_ONLY);
    ck_assert_uint_eq(HG_Bulk_get_serialize_size(bulk, HG_BULK_EAGER),
        HG_Bulk_get_serialize_size(bulk, 0));
    HG_Bulk_free(bulk);
    pieces_free(&pieces);
    ck_assert(pull_gets_original(&s, 100, HG_BULK_READ_ONLY, false,
                  change_comes_first(&s)) != change_comes_first(&s));
    session_end(&s);
}
END_TEST

static void
without_overflow(struct hg_init_info *info)
{
    info->no_overflow = true;
}

/* Sizes around the message size all arrive, inside the descriptor or not: the
 * message always has room for the other arguments. */
START_TEST(eager_up_to_what_fits)
{
    static const struct session_setup tight = {.init = without_overflow,
        .open = mover_open,
        .stopping = mover_stopping,
        .origin_listens = true};
    struct session s;
    hg_size_t room;
    bool past = true;

    session_begin(&s, _i, &tight);
    room = HG_Class_get_input_eager_size(s.hg_class);
    for (size_t size = room - 200; size < room + 4; size++) {
        bool this = pull_gets_original(
            &s, size, HG_BULK_READ_ONLY, false, change_comes_first(&s));

        ck_assert(past || !this); /* inside up to some size, then not */
        past = this;
    }
    ck_assert(past != change_comes_first(&s));
    ck_assert(
        pull_gets_original(&s, room - 200, HG_BULK_READ_ONLY, false, true));
    session_end(&s);
}
END_TEST

START_TEST(eager_of_64_kib_at_most)
{
    struct session s;
    hg_size_t size = 64 << 10;
    hg_bulk_t bulk;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, NULL, &size, HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    ck_assert_uint_gt(HG_Bulk_get_serialize_size(bulk, HG_BULK_EAGER), size);
    HG_Bulk_free(bulk);
    size++;
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, NULL, &size, HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    ck_assert_uint_lt(HG_Bulk_get_serialize_size(bulk, HG_BULK_EAGER), size);
    HG_Bulk_free(bulk);
    session_end(&s);
}
END_TEST

/* Deserializes a descriptor with data, after its owner was freed. */
static hg_bulk_t
without_owner(struct session *s, struct pieces *pieces)
{
    hg_bulk_t owned = describe(s, pieces, HG_BULK_READ_ONLY), bulk;
    hg_size_t size = HG_Bulk_get_serialize_size(owned, HG_BULK_EAGER);
    void *bytes = malloc(size);

    ck_assert_int_eq(
        HG_Bulk_serialize(bytes, size, HG_BULK_EAGER, owned), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_deserialize(s->hg_class, &bulk, bytes, size), HG_SUCCESS);
    HG_Bulk_free(owned);
    free(bytes);
    return bulk;
}

START_TEST(eager_transfer_is_range_checked)
{
    static const struct {
        hg_bulk_op_t op;
        hg_size_t origin_offset, local_offset, size;
        hg_return_t ret;
    } cases[] = {
        {HG_BULK_PULL, 0, 0, 1000, HG_SUCCESS},
        {HG_BULK_PULL, 1, 0, 1000, HG_INVALID_ARG},
        {HG_BULK_PULL, 0, 101, 1000, HG_INVALID_ARG},
        {HG_BULK_PULL, UINT64_MAX, 0, 2, HG_INVALID_ARG},
        {HG_BULK_PULL, 1000, 1100, 0, HG_SUCCESS},
        {HG_BULK_PULL, 999, 1099, 1, HG_SUCCESS},
        {HG_BULK_PUSH, 0, 0, 1, HG_PERMISSION},
        {HG_BULK_PULL, 17, 33, 800, HG_SUCCESS},
    };
    struct session s;
    struct pieces from, to;
    hg_bulk_t bulk, local;

    session_begin(&s, _i, &setup);
    log_expect("exceeds a descriptor", 3, 3);
    log_expect("does not allow to", 1, 1);
    pieces_make(&from, 1000, 3);
    pieces_fill(&from, 4);
    pieces_make(&to, 1100, 5);
    bulk = without_owner(&s, &from);
    local = describe(&s, &to, HG_BULK_READWRITE);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct call call = {.called = 0};
        hg_op_id_t id = HG_OP_ID_NULL;
        hg_return_t ret = HG_Bulk_transfer(s.context, call_done, &call,
            cases[i].op, s.target, bulk, cases[i].origin_offset, local,
            cases[i].local_offset, cases[i].size, &id);

        ck_assert_msg(
            ret == cases[i].ret, "case %u: %s", i, HG_Error_to_string(ret));
        if (ret != HG_SUCCESS)
            continue;
        ck_assert_ptr_nonnull(id);
        ck_assert_uint_eq(call.called, 0); /* callbacks run in trigger only */
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_SUCCESS);
        ck_assert_uint_eq(call.size, cases[i].size);
        ck_assert(pieces_match(&to, cases[i].local_offset, cases[i].size, 4,
            cases[i].origin_offset));
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
    }
    HG_Bulk_free(local);
    HG_Bulk_free(bulk);
    pieces_free(&from);
    pieces_free(&to);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, eager_data_are_copied_when_serialized);
    session_add(tcase, eager_data_only_for_read_only_descriptors);
    session_add(tcase, eager_can_be_turned_off);
    session_add(tcase, eager_up_to_what_fits);
    session_add(tcase, eager_of_64_kib_at_most);
    session_add(tcase, eager_transfer_is_range_checked);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "eager", add);
}
