/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocations (wrapped): each in turn fails, the operation returns an error and
 * leaks nothing; and how few there are.
 */
#include "log_watch.h"
#include "remote.h"
#include "scarce.h"

#include "bulk/bulk.h"

#include <stdlib.h>
#include <string.h>

static const struct session_setup setup = {.origin_listens = true};

/* Runs everything that can be done with a descriptor. Returns the first
 * error. */
static hg_return_t
do_all(struct remote *remote, const unsigned char *bytes, size_t size,
    bool *moved_p)
{
    hg_size_t sizes[4] = {10, 0, 2 << 20, 7};
    hg_bulk_t bulk = HG_BULK_NULL, copy = HG_BULK_NULL;
    struct call call = {.called = 0};
    hg_return_t ret;

    *moved_p = false;
    ret = HG_Bulk_create(
        remote->s.hg_class, 4, NULL, sizes, HG_BULK_READWRITE, &bulk);
    if (ret == HG_SUCCESS)
        ret = HG_Bulk_bind(bulk, remote->s.context);
    if (ret == HG_SUCCESS && HG_Bulk_get_serialize_size(bulk, 0) == 0)
        ret = HG_NOMEM;
    if (ret == HG_SUCCESS)
        ret = HG_Bulk_deserialize(remote->s.hg_class, &copy, bytes, size);
    if (ret == HG_SUCCESS)
        ret = HG_Bulk_transfer(remote->s.context, call_done, &call,
            HG_BULK_PULL, remote->owner, copy, 0, remote->local, 0, REMOTE_SIZE,
            HG_OP_ID_IGNORE);
    if (ret == HG_SUCCESS) {
        long left = scarce_countdown;

        scarce_countdown = -1; /* waiting allocates, too */
        *moved_p = true;
        session_wait(&remote->s, &call.called, 1);
        ret = call.ret;
        scarce_countdown = left;
    }
    HG_Bulk_free(copy);
    HG_Bulk_free(bulk);
    return ret;
}

START_TEST(memory_that_runs_out_is_reported)
{
    struct remote remote;
    hg_size_t size;
    unsigned char *bytes;
    hg_return_t ret;
    uint32_t failed = 0;
    bool moved;

    remote_begin(&remote, _i, &setup);
    size = HG_Bulk_get_serialize_size(remote.owned, 0);
    bytes = malloc(size);
    ck_assert_int_eq(
        HG_Bulk_serialize(bytes, size, 0, remote.owned), HG_SUCCESS);
    HG_Set_log_level("none");
    for (long at = 0;; at++) {
        scarce_countdown = at;
        ret = do_all(&remote, bytes, size, &moved);
        if (scarce_countdown >= 0)
            break; /* there are no more allocations than that */
        scarce_countdown = -1;
        ck_assert(ret == HG_NOMEM || ret == HG_SUCCESS);
        failed += ret == HG_NOMEM;
    }
    scarce_countdown = -1;
    ck_assert_int_eq(ret, HG_SUCCESS);
    ck_assert_uint_ge(failed, 4);
    ck_assert(moved);
    ck_assert_mem_eq(remote.local_memory, remote.origin_memory, REMOTE_SIZE);
    HG_Set_log_level("warning");
    free(bytes);
    remote_end(&remote);
}
END_TEST

/* If the table of descriptors cannot grow, a descriptor is serialized with id
 * 0. */
START_TEST(memory_lacking_for_an_id_still_serializes)
{
    struct remote remote;
    hg_bulk_t bulk;
    hg_size_t size = 4000;
    unsigned char bytes[512];
    uint64_t numbers[2]; /* ids of the class and of the descriptor */

    remote_begin(&remote, _i, &setup);
    ck_assert_int_eq(HG_Bulk_create(remote.s.hg_class, 1, NULL, &size,
                         HG_BULK_READWRITE, &bulk),
        HG_SUCCESS);
    scarce_countdown = 0;
    ck_assert_int_eq(
        HG_Bulk_serialize(bytes, sizeof bytes, 0, bulk), HG_SUCCESS);
    ck_assert_int_lt(scarce_countdown, 0);
    for (unsigned i = 16; i < 32; i++)
        ck_assert_uint_eq(bytes[i], 0);
    scarce_countdown = -1;
    ck_assert_int_eq(
        HG_Bulk_serialize(bytes, sizeof bytes, 0, bulk), HG_SUCCESS);
    memcpy(numbers, bytes + 16, sizeof numbers);
    ck_assert_uint_ne(numbers[0], 0);
    ck_assert_uint_ne(numbers[1], 0);
    HG_Bulk_free(bulk);
    remote_end(&remote);
}
END_TEST

/* Serializes and deserializes a descriptor and transfers its data, without
 * libcheck, which allocates. Returns the allocations. */
static hg_return_t
round_trip(struct remote *remote, uint32_t *describing_p, uint32_t *moving_p)
{
    uint64_t deadline = session_now_ms() + 10000;
    uint32_t before = scarce_allocations;
    struct call call = {.called = 0};
    unsigned char bytes[1024];
    hg_size_t size = REMOTE_SIZE;
    void *base = remote->local_memory;
    hg_bulk_t bulk = HG_BULK_NULL, copy = HG_BULK_NULL;
    hg_return_t ret = HG_Bulk_create(
        remote->s.hg_class, 1, &base, &size, HG_BULK_READWRITE, &bulk);

    if (ret == HG_SUCCESS)
        ret = HG_Bulk_serialize(bytes, sizeof bytes, 0, bulk);
    if (ret == HG_SUCCESS)
        ret =
            HG_Bulk_deserialize(remote->s.hg_class, &copy, bytes, sizeof bytes);
    *describing_p = scarce_allocations - before;
    before = scarce_allocations;
    if (ret == HG_SUCCESS)
        ret = HG_Bulk_transfer(remote->s.context, call_done, &call,
            HG_BULK_PULL, remote->owner, remote->origin, 0, bulk, 0,
            REMOTE_SIZE, HG_OP_ID_IGNORE);
    while (
        ret == HG_SUCCESS && call.called == 0 && session_now_ms() < deadline) {
        HG_Progress(remote->s.context, 10);
        HG_Trigger(remote->s.context, 0, 1, NULL);
    }
    HG_Bulk_free(copy);
    HG_Bulk_free(bulk);
    *moving_p = scarce_allocations - before;
    return ret == HG_SUCCESS && call.called == 1 ? call.ret : ret;
}

/* In the steady state a descriptor takes one allocation, a transfer none.
 * Allocations of a transport are not counted, except the loop plugin's. */
START_TEST(memory_allocations_per_descriptor_are_bounded)
{
    struct remote remote;

    remote_begin(&remote, _i, &setup);
    for (unsigned i = 0; i < 20; i++) {
        uint32_t describing, moving;

        ck_assert_int_eq(round_trip(&remote, &describing, &moving), HG_SUCCESS);
        ck_assert_mem_eq(
            remote.local_memory, remote.origin_memory, REMOTE_SIZE);
        if (i == 0)
            continue;
        ck_assert_uint_eq(describing, 2);
        ck_assert_uint_eq(moving, 0);
    }
    remote_end(&remote);
}
END_TEST

static void
add(TCase *tcase)
{
    if (session_is_loop()) {
        session_add(tcase, memory_that_runs_out_is_reported);
        session_add(tcase, memory_lacking_for_an_id_still_serializes);
    } else {
        session_add(tcase, memory_allocations_per_descriptor_are_bounded);
    }
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "memory", add);
}
