/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors of a class with two transports: registered with both, serialized
 * for both, transferred by the one that the address belongs to. The first is
 * the loop plugin, the second another instance of it or shared memory.
 */
#include "counts.h"
#include "log_watch.h"
#include "remote.h"
#include "second.h"

#include "na/op.h"

#include <stdlib.h>
#include <string.h>

static const struct session_setup setup = {.origin_listens = true};

static const char *const seconds[] = {"loop+mem", "na+sm"};

/* struct remote, with a second transport at either side. */
struct two {
    struct remote remote;
    struct second owner;
    struct second local;
    hg_context_t *owner_context;
    struct hg_addr by_second; /* the owner */
    bool loop;                /* the second transport is the loop plugin too */
};

/* Recreates the descriptors of the owner and the local side: a class may have
 * got or lost a transport. */
static void
recreate_descriptors(struct two *two)
{
    struct remote *remote = &two->remote;

    HG_Bulk_free(remote->origin);
    HG_Bulk_free(remote->owned);
    HG_Bulk_free(remote->local);
    remote->owned = remote_describe(
        remote->owner_class, remote->origin_memory, REMOTE_PIECES);
    remote->local = remote_describe(
        remote->s.hg_class, remote->local_memory, REMOTE_PIECES - 2);
    remote->origin = remote_send(remote->owned, 0, remote->s.hg_class);
}

static void
two_begin(struct two *two, int i)
{
    const char *info = seconds[i % 2];

    memset(two, 0, sizeof *two);
    remote_begin(&two->remote, i / 2, &setup);
    two->loop = i % 2 == 0;
    two->owner_context = HG_Context_create(two->remote.owner_class);
    ck_assert_ptr_nonnull(two->owner_context);
    second_open(&two->owner, info, two->remote.owner_class, two->owner_context);
    second_open(
        &two->local, info, two->remote.s.hg_class, two->remote.s.context);
    two->by_second = second_addr_of(&two->local, &two->owner);
    recreate_descriptors(two);
}

static void
two_end(struct two *two)
{
    struct remote *remote = &two->remote;

    HG_Bulk_free(remote->origin);
    HG_Bulk_free(remote->owned);
    HG_Bulk_free(remote->local);
    remote->origin = remote->owned = remote->local = HG_BULK_NULL;
    na_peer_release(&two->by_second);
    session_drain(two->owner_context);
    ck_assert_int_eq(HG_Context_destroy(two->owner_context), HG_SUCCESS);
    second_close(&two->owner);
    /* The context has to be destroyed before the second transport; session_end
     * needs one. */
    session_drain(remote->s.context);
    ck_assert_int_eq(HG_Context_destroy(remote->s.context), HG_SUCCESS);
    second_close(&two->local);
    remote->s.context = HG_Context_create(remote->s.hg_class);
    ck_assert_ptr_nonnull(remote->s.context);
    remote_end(remote);
}

/* Transfers everything by an address, and progresses the owner if it has to
 * serve the transfer. */
static void
ck_transfers(struct two *two, struct hg_addr *addr, hg_bulk_t origin)
{
    struct remote *remote = &two->remote;

    for (hg_bulk_op_t op = HG_BULK_PUSH; op <= HG_BULK_PULL; op++) {
        uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);
        struct call call = {.called = 0};
        uint32_t before = loop_submitted(LOOP_GET) + loop_submitted(LOOP_PUT);

        for (uint32_t i = 0; i < REMOTE_SIZE; i++)
            remote->local_memory[i] =
                (unsigned char) (remote->origin_memory[i] ^ 0x55);
        ck_assert_int_eq(
            HG_Bulk_transfer(remote->s.context, call_done, &call, op, addr,
                origin, 0, remote->local, 0, REMOTE_SIZE, HG_OP_ID_IGNORE),
            HG_SUCCESS);
        while (call.called == 0) {
            ck_assert_uint_lt(session_now_ms(), deadline);
            session_step(&remote->s, 0);
            session_drain(two->owner_context);
        }
        ck_assert_int_eq(call.ret, HG_SUCCESS);
        ck_assert_mem_eq(
            remote->local_memory, remote->origin_memory, REMOTE_SIZE);
        if (addr->na_class == remote->owner->na_class || two->loop)
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
    return HG_Bulk_transfer(two->remote.s.context, NULL, NULL, HG_BULK_PULL,
        addr, origin, 0, two->remote.local, 0, 10, HG_OP_ID_IGNORE);
}

START_TEST(sides_address_chooses_the_transport)
{
    struct two two;

    two_begin(&two, _i);
    ck_transfers(&two, two.remote.owner, two.remote.origin);
    ck_transfers(&two, &two.by_second, two.remote.origin);
    ck_transfers(&two, two.remote.owner, two.remote.origin);
    two_end(&two);
}
END_TEST

START_TEST(sides_are_both_in_the_wire_form)
{
    struct two two;
    hg_bulk_t sm_only, sm_only_again;
    hg_size_t all, some;
    unsigned char *bytes;
    const char *name;

    two_begin(&two, _i);
    if (!two.loop)
        log_expect("is not registered with", 1, 1);
    all = HG_Bulk_get_serialize_size(two.remote.owned, 0);
    some = HG_Bulk_get_serialize_size(two.remote.owned, HG_BULK_SM);
    ck_assert_uint_lt(some, all);
    bytes = malloc(all);
    ck_assert_int_eq(
        HG_Bulk_serialize(bytes, all, 0, two.remote.owned), HG_SUCCESS);
    ck_assert_uint_eq(bytes[3], 2);
    ck_assert_uint_eq(bytes[32], 0); /* kind */
    ck_assert_mem_eq(bytes + 44, "loop", 4);
    /* The second section takes the rest. */
    name = two.local.bulk_class->sm_class->plugin->name;
    ck_assert_uint_eq(bytes[all - some + 32], 1);
    ck_assert_mem_eq(bytes + all - some + 44, name, strlen(name));
    ck_assert_int_eq(
        HG_Bulk_serialize(bytes, all, HG_BULK_SM, two.remote.owned),
        HG_SUCCESS);
    ck_assert_uint_eq(bytes[3], 1);
    ck_assert_uint_eq(bytes[32], 1);
    free(bytes);
    sm_only = remote_send(two.remote.owned, HG_BULK_SM, two.remote.s.hg_class);
    ck_transfers(&two, &two.by_second, sm_only);
    if (!two.loop) /* if both have the same name, the first accepts it */
        ck_assert_int_eq(
            start_pull(&two, two.remote.owner, sm_only), HG_OPNOTSUPPORTED);
    sm_only_again = remote_send(sm_only, 0, two.remote.s.hg_class);
    ck_transfers(&two, &two.by_second, sm_only_again);
    HG_Bulk_free(sm_only);
    HG_Bulk_free(sm_only_again);
    two_end(&two);
}
END_TEST

/* A peer with one transport uses its section, whether it is the owner's first
 * or second. */
/* Start of the first registration in the second section, after its length. */
static unsigned char *
second_form(unsigned char *bytes, size_t size)
{
    static const unsigned char front[] = {1, 2, 0, 0};

    for (size_t i = 32; i + 36 < size; i++)
        if (memcmp(bytes + i, front, sizeof front) == 0 &&
            memcmp(bytes + i + 12, "na", 2) == 0)
            return bytes + i + 14 + 12;
    ck_abort_msg("no section of na+sm");
}

/* From a node whose shared memory has another version. */
START_TEST(sides_unreadable_second_falls_back_to_the_first)
{
    unsigned char bytes[4096];
    struct two two;
    hg_size_t size;
    hg_bulk_t bulk;

    two_begin(&two, 2 * _i + 1);
    size = HG_Bulk_get_serialize_size(two.remote.owned, 0);
    ck_assert_uint_le(size, sizeof bytes);
    ck_assert_int_eq(
        HG_Bulk_serialize(bytes, size, 0, two.remote.owned), HG_SUCCESS);
    *second_form(bytes, size) ^= 0x5a;
    log_expect("", 1, 4);
    ck_assert_int_eq(
        HG_Bulk_deserialize(two.remote.s.hg_class, &bulk, bytes, size),
        HG_SUCCESS);
    ck_transfers(&two, two.remote.owner, bulk);
    ck_assert_int_eq(HG_Bulk_free(bulk), HG_SUCCESS);
    two_end(&two);
}
END_TEST

START_TEST(sides_peer_with_one_transport_uses_its_section)
{
    struct two two;
    hg_bulk_t bulk;
    struct na_class *kept;
    hg_class_t *other;

    two_begin(&two, _i);
    kept = two.local.bulk_class->sm_class;
    two.local.bulk_class->sm_class = NULL;
    bulk = remote_send(two.remote.owned, 0, two.remote.s.hg_class);
    ck_transfers(&two, two.remote.owner, bulk);
    ck_assert(!bulk->sides[RT_LOCAL].usable);
    HG_Bulk_free(bulk);
    two.local.bulk_class->sm_class = kept;

    other = HG_Init(seconds[_i % 2], HG_FALSE);
    ck_assert_ptr_nonnull(other);
    bulk = remote_send(two.remote.owned, 0, other);
    ck_assert(bulk->sides[RT_MAIN].usable);
    ck_assert_uint_eq(bulk->sides[RT_MAIN].part_count,
        two.remote.owned->sides[two.loop ? RT_MAIN : RT_LOCAL].part_count);
    HG_Bulk_free(bulk);
    ck_assert_int_eq(HG_Finalize(other), HG_SUCCESS);
    two_end(&two);
}
END_TEST

START_TEST(sides_bound_descriptor_uses_sm_only_on_its_node)
{
    struct two two;
    hg_bulk_t bulk;
    hg_addr_t addr;

    two_begin(&two, _i);
    ck_assert_int_eq(
        HG_Bulk_bind(two.remote.owned, two.owner_context), HG_SUCCESS);
    bulk = remote_send(two.remote.owned, 0, two.remote.s.hg_class);
    addr = HG_Bulk_get_addr(bulk);
    ck_assert_ptr_eq(addr->na_class, two.by_second.na_class);
    ck_transfers(&two, addr, bulk);
    HG_Bulk_free(bulk);

    two.local.bulk_class->host.low ^= 1; /* another node */
    bulk = remote_send(two.remote.owned, 0, two.remote.s.hg_class);
    addr = HG_Bulk_get_addr(bulk);
    ck_assert_ptr_eq(addr->na_class, two.remote.owner->na_class);
    ck_transfers(&two, addr, bulk);
    HG_Bulk_free(bulk);

    /* One without information about its node. */
    two.local.bulk_class->host = two.owner.bulk_class->host = (na_sm_id_t){0};
    bulk = remote_send(two.remote.owned, 0, two.remote.s.hg_class);
    ck_assert_ptr_eq(
        HG_Bulk_get_addr(bulk)->na_class, two.remote.owner->na_class);
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

/* The second transport is optional: without it the first is used. */
START_TEST(sides_failed_second_falls_back_to_the_first)
{
    struct two two;
    struct na_class *na_class;

    two_begin(&two, _i);
    log_expect("is not registered with", 1, 1);
    na_class = two.owner.bulk_class->sm_class;
    na_class->ops.mem_register = no_register;
    recreate_descriptors(&two);
    ck_assert(two.remote.owned->sides[RT_MAIN].usable);
    ck_assert(!two.remote.owned->sides[RT_LOCAL].usable);
    ck_assert_uint_eq(HG_Bulk_get_serialize_size(two.remote.owned, HG_BULK_SM),
        HG_Bulk_get_serialize_size(two.remote.owned, 0));
    ck_transfers(&two, two.remote.owner, two.remote.origin);
    /* With an address of the second transport, the first section is used if the
     * second is missing. */
    two.loop = true; /* the loop plugin transfers */
    ck_transfers(&two, &two.by_second, two.remote.origin);
    two.loop = _i % 2 == 0;

    /* The reverse: the owner's descriptor has both, the local one does not. */
    na_class->ops.mem_register =
        na_class->plugin->name[0] == 'l'
            ? two.remote.owner->na_class->ops.mem_register
            : na_class->opened.ops->mem_register;
    two.local.bulk_class->sm_class->ops.mem_register = no_register;
    recreate_descriptors(&two);
    ck_assert(two.remote.origin->sides[RT_LOCAL].usable);
    ck_transfers(&two, two.remote.owner, two.remote.origin);
    ck_assert_int_eq(
        start_pull(&two, &two.by_second, two.remote.origin), HG_OPNOTSUPPORTED);
    ck_assert_int_eq(
        HG_Bulk_bind(two.remote.owned, two.owner_context), HG_SUCCESS);
    HG_Bulk_free(two.remote.origin);
    two.remote.origin = remote_send(two.remote.owned, 0, two.remote.s.hg_class);
    two.loop = true;
    ck_transfers(&two, &two.by_second, two.remote.origin);
    two_end(&two);
}
END_TEST

/* Self by either address: a copy. */
START_TEST(sides_self_by_either_address_is_a_copy)
{
    struct two two;
    struct hg_addr self;
    hg_bulk_t back;
    uint32_t before;

    two_begin(&two, _i);
    self = second_addr_of(&two.local, &two.local);
    HG_Bulk_free(two.remote.owned);
    two.remote.owned = remote_describe(
        two.remote.s.hg_class, two.remote.origin_memory, REMOTE_PIECES);
    back = remote_send(two.remote.owned, 0, two.remote.s.hg_class);
    before = loop_submitted(LOOP_GET);
    memset(two.remote.local_memory, 0, REMOTE_SIZE);
    ck_assert_int_eq(start_pull(&two, &self, back), HG_SUCCESS);
    ck_assert_mem_eq(two.remote.local_memory, two.remote.origin_memory, 10);
    ck_assert_uint_eq(loop_submitted(LOOP_GET), before);
    ck_assert_int_eq(start_pull(&two, &self, two.remote.owned), HG_SUCCESS);
    session_drain(two.remote.s.context);
    na_peer_release(&self);
    HG_Bulk_free(back);
    two_end(&two);
}
END_TEST

/* Cancelled at the transport that runs it. */
START_TEST(sides_cancel_reaches_the_second)
{
    struct two two;
    struct call call = {.called = 0};
    hg_op_id_t id;

    two_begin(&two, _i);
    if (two.loop) {
        loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
        ck_assert_int_eq(
            HG_Bulk_transfer(two.remote.s.context, call_done, &call,
                HG_BULK_PULL, &two.by_second, two.remote.origin, 0,
                two.remote.local, 0, REMOTE_SIZE, &id),
            HG_SUCCESS);
        session_quiet(&two.remote.s);
        ck_assert_uint_eq(call.called, 0);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
        session_wait(&two.remote.s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_CANCELED);
        loop_faults_clear();
    }
    ck_transfers(&two, &two.by_second, two.remote.origin);
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
    tcase_add_loop_test(tcase, sides_unreadable_second_falls_back_to_the_first,
        0, session_modes());
    add_both(tcase, sides_peer_with_one_transport_uses_its_section);
    add_both(tcase, sides_bound_descriptor_uses_sm_only_on_its_node);
    add_both(tcase, sides_failed_second_falls_back_to_the_first);
    add_both(tcase, sides_self_by_either_address_is_a_copy);
    add_both(tcase, sides_cancel_reaches_the_second);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "sides", add);
}
