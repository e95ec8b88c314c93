/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors of a class with two transports: registered with both, serialized
 * for both, moved by the one that the address is of. The first is the loop, the
 * second another loop or shared memory.
 */
#include "counts.h"
#include "far.h"
#include "log_watch.h"
#include "second.h"

#include "na/op.h"

#include <stdlib.h>
#include <string.h>

static const struct session_setup setup = {.origin_listens = true};

static const char *const seconds[] = {"loop+mem", "na+sm"};

/* far, and a second transport on either side. */
struct two {
    struct far far;
    struct second owner;
    struct second local;
    hg_context_t *owner_context;
    struct hg_addr by_second; /* the owner */
    bool loop;                /* the second is a loop, too */
};

/* Makes the descriptors of a side anew: it may do more now. */
static void
renew(struct two *two)
{
    struct far *far = &two->far;

    HG_Bulk_free(far->origin);
    HG_Bulk_free(far->owned);
    HG_Bulk_free(far->local);
    far->owned = far_describe(far->owner_class, far->origin_memory, FAR_PIECES);
    far->local =
        far_describe(far->s.hg_class, far->local_memory, FAR_PIECES - 2);
    far->origin = far_send(far->owned, 0, far->s.hg_class);
}

static void
two_begin(struct two *two, int i)
{
    const char *info = seconds[i % 2];

    memset(two, 0, sizeof *two);
    far_begin(&two->far, i / 2, &setup);
    two->loop = i % 2 == 0;
    two->owner_context = HG_Context_create(two->far.owner_class);
    ck_assert_ptr_nonnull(two->owner_context);
    second_open(&two->owner, info, two->far.owner_class, two->owner_context);
    second_open(&two->local, info, two->far.s.hg_class, two->far.s.context);
    two->by_second = second_addr_of(&two->local, &two->owner);
    renew(two);
}

static void
two_end(struct two *two)
{
    struct far *far = &two->far;

    HG_Bulk_free(far->origin);
    HG_Bulk_free(far->owned);
    HG_Bulk_free(far->local);
    far->origin = far->owned = far->local = HG_BULK_NULL;
    na_peer_release(&two->by_second);
    session_drain(two->owner_context);
    ck_assert_int_eq(HG_Context_destroy(two->owner_context), HG_SUCCESS);
    second_close(&two->owner);
    /* The origin's context ends with the session: take it back from there. */
    session_drain(far->s.context);
    ck_assert_int_eq(HG_Context_destroy(far->s.context), HG_SUCCESS);
    second_close(&two->local);
    far->s.context = HG_Context_create(far->s.hg_class);
    ck_assert_ptr_nonnull(far->s.context);
    far_end(far);
}

/* Moves everything by an address, and steps whoever has to help. */
static void
ck_moves(struct two *two, struct hg_addr *addr, hg_bulk_t origin)
{
    struct far *far = &two->far;

    for (hg_bulk_op_t op = HG_BULK_PUSH; op <= HG_BULK_PULL; op++) {
        uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);
        struct call call = {.called = 0};
        uint32_t before = loop_submitted(LOOP_GET) + loop_submitted(LOOP_PUT);

        for (uint32_t i = 0; i < FAR_SIZE; i++)
            far->local_memory[i] =
                (unsigned char) (far->origin_memory[i] ^ 0x55);
        ck_assert_int_eq(
            HG_Bulk_transfer(far->s.context, call_done, &call, op, addr, origin,
                0, far->local, 0, FAR_SIZE, HG_OP_ID_IGNORE),
            HG_SUCCESS);
        while (call.called == 0) {
            ck_assert_uint_lt(session_now_ms(), deadline);
            session_step(&far->s, 0);
            session_drain(two->owner_context);
        }
        ck_assert_int_eq(call.ret, HG_SUCCESS);
        ck_assert_mem_eq(far->local_memory, far->origin_memory, FAR_SIZE);
        if (addr->na_class == far->owner->na_class || two->loop)
            ck_assert_uint_gt(
                loop_submitted(LOOP_GET) + loop_submitted(LOOP_PUT), before);
        else
            ck_assert_uint_eq(
                loop_submitted(LOOP_GET) + loop_submitted(LOOP_PUT), before);
    }
}

static hg_return_t
start_pull(struct two *two, struct hg_addr *addr, hg_bulk_t origin)
{
    return HG_Bulk_transfer(two->far.s.context, NULL, NULL, HG_BULK_PULL, addr,
        origin, 0, two->far.local, 0, 10, HG_OP_ID_IGNORE);
}

START_TEST(sides_address_chooses_the_transport)
{
    struct two two;

    two_begin(&two, _i);
    ck_moves(&two, two.far.owner, two.far.origin);
    ck_moves(&two, &two.by_second, two.far.origin);
    ck_moves(&two, two.far.owner, two.far.origin);
    two_end(&two);
}
END_TEST

START_TEST(sides_are_both_in_the_wire_form)
{
    struct two two;
    hg_bulk_t near, far_only;
    hg_size_t all, some;
    unsigned char *bytes;
    const char *name;

    two_begin(&two, _i);
    if (!two.loop)
        log_expect("is not registered with", 1, 1);
    all = HG_Bulk_get_serialize_size(two.far.owned, 0);
    some = HG_Bulk_get_serialize_size(two.far.owned, HG_BULK_SM);
    ck_assert_uint_lt(some, all);
    bytes = malloc(all);
    ck_assert_int_eq(
        HG_Bulk_serialize(bytes, all, 0, two.far.owned), HG_SUCCESS);
    ck_assert_uint_eq(bytes[3], 2);
    ck_assert_uint_eq(bytes[32], 0); /* kind */
    ck_assert_mem_eq(bytes + 44, "loop", 4);
    /* The second takes up all that the first leaves. */
    name = two.local.bulk_class->sm_class->plugin->name;
    ck_assert_uint_eq(bytes[all - some + 32], 1);
    ck_assert_mem_eq(bytes + all - some + 44, name, strlen(name));
    ck_assert_int_eq(
        HG_Bulk_serialize(bytes, all, HG_BULK_SM, two.far.owned), HG_SUCCESS);
    ck_assert_uint_eq(bytes[3], 1);
    ck_assert_uint_eq(bytes[32], 1);
    free(bytes);
    near = far_send(two.far.owned, HG_BULK_SM, two.far.s.hg_class);
    ck_moves(&two, &two.by_second, near);
    if (!two.loop) /* which is named as the first: that may take it */
        ck_assert_int_eq(
            start_pull(&two, two.far.owner, near), HG_OPNOTSUPPORTED);
    far_only = far_send(near, 0, two.far.s.hg_class);
    ck_moves(&two, &two.by_second, far_only);
    HG_Bulk_free(near);
    HG_Bulk_free(far_only);
    two_end(&two);
}
END_TEST

/* Who has but one transport takes its part, whichever that is to the owner. */
/* Where the second section's first form begins, after its length. */
static unsigned char *
second_form(unsigned char *bytes, size_t size)
{
    static const unsigned char front[] = {1, 2, 0, 0};

    for (size_t i = 32; i + 36 < size; i++)
        if (memcmp(bytes + i, front, sizeof front) == 0 &&
            memcmp(bytes + i + 12, "na", 2) == 0)
            return bytes + i + 14 + 12;
    ck_abort_msg("no section of na");
}

/* Of a node whose shared memory speaks another version. */
START_TEST(sides_unreadable_second_leaves_the_first)
{
    unsigned char bytes[4096];
    struct two two;
    hg_size_t size;
    hg_bulk_t bulk;

    two_begin(&two, 2 * _i + 1);
    size = HG_Bulk_get_serialize_size(two.far.owned, 0);
    ck_assert_uint_le(size, sizeof bytes);
    ck_assert_int_eq(
        HG_Bulk_serialize(bytes, size, 0, two.far.owned), HG_SUCCESS);
    *second_form(bytes, size) ^= 0x5a;
    log_expect("", 1, 4);
    ck_assert_int_eq(
        HG_Bulk_deserialize(two.far.s.hg_class, &bulk, bytes, size),
        HG_SUCCESS);
    ck_moves(&two, two.far.owner, bulk);
    ck_assert_int_eq(HG_Bulk_free(bulk), HG_SUCCESS);
    two_end(&two);
}
END_TEST

START_TEST(sides_peer_with_one_takes_its_own)
{
    struct two two;
    hg_bulk_t bulk;
    struct na_class *kept;
    hg_class_t *other;

    two_begin(&two, _i);
    kept = two.local.bulk_class->sm_class;
    two.local.bulk_class->sm_class = NULL;
    bulk = far_send(two.far.owned, 0, two.far.s.hg_class);
    ck_moves(&two, two.far.owner, bulk);
    ck_assert(!bulk->sides[RT_LOCAL].usable);
    HG_Bulk_free(bulk);
    two.local.bulk_class->sm_class = kept;

    other = HG_Init(seconds[_i % 2], HG_FALSE);
    ck_assert_ptr_nonnull(other);
    bulk = far_send(two.far.owned, 0, other);
    ck_assert(bulk->sides[RT_MAIN].usable);
    ck_assert_uint_eq(bulk->sides[RT_MAIN].part_count,
        two.far.owned->sides[two.loop ? RT_MAIN : RT_LOCAL].part_count);
    HG_Bulk_free(bulk);
    ck_assert_int_eq(HG_Finalize(other), HG_SUCCESS);
    two_end(&two);
}
END_TEST

START_TEST(sides_bound_one_leads_by_the_node_only_on_it)
{
    struct two two;
    hg_bulk_t bulk;
    hg_addr_t addr;

    two_begin(&two, _i);
    ck_assert_int_eq(
        HG_Bulk_bind(two.far.owned, two.owner_context), HG_SUCCESS);
    bulk = far_send(two.far.owned, 0, two.far.s.hg_class);
    addr = HG_Bulk_get_addr(bulk);
    ck_assert_ptr_eq(addr->na_class, two.by_second.na_class);
    ck_moves(&two, addr, bulk);
    HG_Bulk_free(bulk);

    two.local.bulk_class->host.low ^= 1; /* another node */
    bulk = far_send(two.far.owned, 0, two.far.s.hg_class);
    addr = HG_Bulk_get_addr(bulk);
    ck_assert_ptr_eq(addr->na_class, two.far.owner->na_class);
    ck_moves(&two, addr, bulk);
    HG_Bulk_free(bulk);

    /* One that does not know which it is on. */
    two.local.bulk_class->host = two.owner.bulk_class->host = (na_sm_id_t){0};
    bulk = far_send(two.far.owned, 0, two.far.s.hg_class);
    ck_assert_ptr_eq(HG_Bulk_get_addr(bulk)->na_class, two.far.owner->na_class);
    HG_Bulk_free(bulk);
    two_end(&two);
}
END_TEST

static int32_t
no_register(
    na_plugin_class *cls, const na_plugin_mem_info *info, na_plugin_mem **mem_p)
{
    return NA_PLUGIN_E_NOMEM;
}

/* The second transport is a shortcut, without it things go on. */
START_TEST(sides_failed_second_leaves_the_first)
{
    struct two two;
    struct na_class *na_class;

    two_begin(&two, _i);
    log_expect("is not registered with", 1, 1);
    na_class = two.owner.bulk_class->sm_class;
    na_class->ops.mem_register = no_register;
    renew(&two);
    ck_assert(two.far.owned->sides[RT_MAIN].usable);
    ck_assert(!two.far.owned->sides[RT_LOCAL].usable);
    ck_assert_uint_eq(HG_Bulk_get_serialize_size(two.far.owned, HG_BULK_SM),
        HG_Bulk_get_serialize_size(two.far.owned, 0));
    ck_moves(&two, two.far.owner, two.far.origin);
    /* Who knows the owner by the second finds the first in the descriptor. */
    two.loop = true; /* it is the loop that moves */
    ck_moves(&two, &two.by_second, two.far.origin);
    two.loop = _i % 2 == 0;

    /* The same here: the owner's descriptor has both, ours does not. */
    na_class->ops.mem_register = na_class->plugin->name[0] == 'l'
                                     ? two.far.owner->na_class->ops.mem_register
                                     : na_class->opened.ops->mem_register;
    two.local.bulk_class->sm_class->ops.mem_register = no_register;
    renew(&two);
    ck_assert(two.far.origin->sides[RT_LOCAL].usable);
    ck_moves(&two, two.far.owner, two.far.origin);
    ck_assert_int_eq(
        start_pull(&two, &two.by_second, two.far.origin), HG_OPNOTSUPPORTED);
    ck_assert_int_eq(
        HG_Bulk_bind(two.far.owned, two.owner_context), HG_SUCCESS);
    HG_Bulk_free(two.far.origin);
    two.far.origin = far_send(two.far.owned, 0, two.far.s.hg_class);
    two.loop = true;
    ck_moves(&two, &two.by_second, two.far.origin);
    two_end(&two);
}
END_TEST

/* To oneself, by either address of one's own, it is a copy. */
START_TEST(sides_self_by_either_address_is_a_copy)
{
    struct two two;
    struct hg_addr self;
    hg_bulk_t back;
    uint32_t before;

    two_begin(&two, _i);
    self = second_addr_of(&two.local, &two.local);
    HG_Bulk_free(two.far.owned);
    two.far.owned =
        far_describe(two.far.s.hg_class, two.far.origin_memory, FAR_PIECES);
    back = far_send(two.far.owned, 0, two.far.s.hg_class);
    before = loop_submitted(LOOP_GET);
    memset(two.far.local_memory, 0, FAR_SIZE);
    ck_assert_int_eq(start_pull(&two, &self, back), HG_SUCCESS);
    ck_assert_mem_eq(two.far.local_memory, two.far.origin_memory, 10);
    ck_assert_uint_eq(loop_submitted(LOOP_GET), before);
    ck_assert_int_eq(start_pull(&two, &self, two.far.owned), HG_SUCCESS);
    session_drain(two.far.s.context);
    na_peer_release(&self);
    HG_Bulk_free(back);
    two_end(&two);
}
END_TEST

/* Cancelled where it runs. */
START_TEST(sides_cancel_reaches_the_second)
{
    struct two two;
    struct call call = {.called = 0};
    hg_op_id_t id;

    two_begin(&two, _i);
    if (two.loop) {
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
        ck_assert_int_eq(HG_Bulk_transfer(two.far.s.context, call_done, &call,
                             HG_BULK_PULL, &two.by_second, two.far.origin, 0,
                             two.far.local, 0, FAR_SIZE, &id),
            HG_SUCCESS);
        session_quiet(&two.far.s);
        ck_assert_uint_eq(call.called, 0);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
        session_wait(&two.far.s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_CANCELED);
        loop_faults_clear();
    }
    ck_moves(&two, &two.by_second, two.far.origin);
    two_end(&two);
}
END_TEST

static void
add_both(TCase *tcase, const TTest *test)
{
    tcase_add_loop_test(tcase, test, 0, 2 * session_modes());
}

static void
add(TCase *tcase)
{
    add_both(tcase, sides_address_chooses_the_transport);
    add_both(tcase, sides_are_both_in_the_wire_form);
    tcase_add_loop_test(
        tcase, sides_unreadable_second_leaves_the_first, 0, session_modes());
    add_both(tcase, sides_peer_with_one_takes_its_own);
    add_both(tcase, sides_bound_one_leads_by_the_node_only_on_it);
    add_both(tcase, sides_failed_second_leaves_the_first);
    add_both(tcase, sides_self_by_either_address_is_a_copy);
    add_both(tcase, sides_cancel_reaches_the_second);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "sides", add);
}
