/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors: creation, memory access, invalid arguments; transfers that fail
 * or are cancelled. */
#include "counts.h"
#include "log_watch.h"
#include "mover.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct session_setup setup = {
    .open = mover_open, .stopping = mover_stopping, .origin_listens = true};

START_TEST(descriptor_without_memory_allocates_it)
{
    struct session s;
    hg_size_t sizes[3] = {100, 0, 50}, got[3];
    void *bases[3], *own[3] = {NULL, NULL, NULL};
    uint32_t count = 0;
    hg_bulk_t bulk;

    session_begin(&s, _i, &setup);
    own[2] = malloc(50);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 3, own, sizes, HG_BULK_READWRITE, &bulk),
        HG_SUCCESS);
    ck_assert_uint_eq(HG_Bulk_get_size(bulk), 150);
    ck_assert_uint_eq(HG_Bulk_get_segment_count(bulk), 3);
    ck_assert_uint_eq(HG_Bulk_get_flags(bulk), HG_BULK_READWRITE);
    ck_assert_int_eq(
        HG_Bulk_access(bulk, 10, 130, HG_BULK_READWRITE, 3, bases, got, &count),
        HG_SUCCESS);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(got[0], 90);
    ck_assert_uint_eq(got[1], 40);
    ck_assert_ptr_eq(bases[1], own[2]);
    memset(bases[0], 1, got[0]); /* the memory is usable */
    ck_assert_int_eq(HG_Bulk_free(bulk), HG_SUCCESS);

    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 3, NULL, sizes, HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_access(bulk, 0, 150, HG_BULK_READ_ONLY, 1, bases, got, &count),
        HG_SUCCESS);
    /* more segments than the arrays have room for */
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(HG_Bulk_ref_incr(bulk), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_free(bulk), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_free(bulk), HG_SUCCESS);
    free(own[2]);
    session_end(&s);
}
END_TEST

#define SHARED 200

static hg_bulk_t shared[SHARED];

static void *
drop_shared(void *arg)
{
    hg_size_t *size = arg;

    for (int i = 0; i < SHARED; i++) {
        *size += HG_Bulk_get_size(shared[i]);
        HG_Bulk_free(shared[i]);
    }
    return NULL;
}

/* Releasing the last reference frees what other threads have accessed. */
START_TEST(descriptor_references_are_released_by_any_thread)
{
    struct session s;
    hg_size_t size = 8, sizes[2] = {0, 0};
    pthread_t thread;

    session_begin(&s, _i, &setup);
    if (s.mode->thread_mode == 0) {
        for (int i = 0; i < SHARED; i++) {
            ck_assert_int_eq(HG_Bulk_create(s.hg_class, 1, NULL, &size,
                                 HG_BULK_READWRITE, &shared[i]),
                HG_SUCCESS);
            ck_assert_int_eq(HG_Bulk_ref_incr(shared[i]), HG_SUCCESS);
        }
        ck_assert_int_eq(
            pthread_create(&thread, NULL, drop_shared, &sizes[1]), 0);
        drop_shared(&sizes[0]);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        ck_assert_uint_eq(sizes[0], SHARED * size);
        ck_assert_uint_eq(sizes[1], SHARED * size);
    }
    session_end(&s);
}
END_TEST

START_TEST(descriptor_invalid_arguments)
{
    struct session s;
    hg_size_t size = 8, huge[2] = {SIZE_MAX / 2, SIZE_MAX / 2};
    char memory[8];
    void *base = memory, *huge_bases[2] = {memory, memory}, *nowhere = NULL;
    struct hg_bulk_attr attr = {.mem_type = HG_MEM_TYPE_CUDA, .device = 0};
    hg_bulk_t bulk = HG_BULK_NULL;
    void *got;
    hg_size_t got_size;

    session_begin(&s, _i, &setup);
    log_expect("total size too large", 1, 1);
    log_expect("can't reach memory of type 1", 3, 3);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 0, &base, &size, 1, &bulk), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, &base, NULL, 1, &bulk), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, &base, &size, 0, &bulk), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, &base, &size, 4, &bulk), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Bulk_create(NULL, 1, &base, &size, 1, &bulk), HG_INVALID_ARG);
    ck_assert_int_ne(
        HG_Bulk_create(s.hg_class, 2, huge_bases, huge, 1, &bulk), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_create_attr(s.hg_class, 1, &base, &size, 1, &attr, &bulk),
        HG_OPNOTSUPPORTED);
    ck_assert_int_eq(
        HG_Bulk_create_attr(s.hg_class, 1, &nowhere, &size, 1, &attr, &bulk),
        HG_OPNOTSUPPORTED);
    ck_assert_int_eq(
        HG_Bulk_create_attr(s.hg_class, 1, NULL, &size, 1, &attr, &bulk),
        HG_OPNOTSUPPORTED);
    attr.mem_type = HG_MEM_TYPE_MAX;
    ck_assert_int_eq(
        HG_Bulk_create_attr(s.hg_class, 1, &base, &size, 1, &attr, &bulk),
        HG_INVALID_ARG);
    ck_assert_ptr_null(bulk);

    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, &base, &size, HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_access(bulk, 4, 5, 1, 1, &got, &got_size, NULL),
        HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Bulk_access(bulk, UINT64_MAX, 2, 1, 1, &got, &got_size, NULL),
        HG_INVALID_ARG);
    ck_assert_ptr_null(HG_Bulk_get_addr(bulk));
    ck_assert_int_eq(HG_Bulk_free(bulk), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_free(HG_BULK_NULL), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* Its flags restrict peers, not the owner. */
START_TEST(descriptor_owner_reads_and_writes_its_memory)
{
    static const uint8_t flags[] = {
        HG_BULK_READ_ONLY, HG_BULK_WRITE_ONLY, HG_BULK_READWRITE};
    struct session s;
    char memory[8];
    void *base = memory, *got;
    hg_size_t size = sizeof memory, got_size;
    uint32_t count;
    hg_bulk_t bulk;

    session_begin(&s, _i, NULL);
    for (unsigned i = 0; i < 9; i++) {
        ck_assert_int_eq(
            HG_Bulk_create(s.hg_class, 1, &base, &size, flags[i / 3], &bulk),
            HG_SUCCESS);
        got = NULL;
        ck_assert_int_eq(HG_Bulk_access(bulk, 2, 6, flags[i % 3], 1, &got,
                             &got_size, &count),
            HG_SUCCESS);
        ck_assert_ptr_eq(got, memory + 2);
        ck_assert_uint_eq(got_size, 6);
        ck_assert_uint_eq(count, 1);
        ck_assert_int_eq(HG_Bulk_free(bulk), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

static void
with_stats(struct hg_init_info *info)
{
    info->stats = 1;
}

/* Counts accepted transfers, however they end. */
START_TEST(descriptor_transfers_are_counted)
{
    static const struct session_setup counting = {.init = with_stats,
        .open = mover_open,
        .stopping = mover_stopping,
        .origin_listens = true};
    struct session s;
    struct hg_diag_counters counters;
    hg_size_t size = 100;
    hg_bulk_t bulk;
    hg_addr_t self;

    session_begin(&s, _i, &counting);
    log_expect("exceeds a descriptor", 1, 1);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, NULL, &size, HG_BULK_READWRITE, &bulk),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_self(s.hg_class, &self), HG_SUCCESS);
    for (uint32_t i = 0; i < 5; i++) {
        struct call call = {.called = 0};

        ck_assert_int_eq(
            HG_Bulk_transfer(s.context, call_done, &call, HG_BULK_PULL, self,
                bulk, 0, bulk, 50, i * 10, HG_OP_ID_IGNORE),
            HG_SUCCESS);
        session_wait(&s, &call.called, 1);
    }
    ck_assert_int_eq(HG_Bulk_transfer(s.context, NULL, NULL, HG_BULK_PULL, self,
                         bulk, 0, bulk, 50, 51, HG_OP_ID_IGNORE),
        HG_INVALID_ARG);
    ck_assert_int_eq(HG_Class_get_counters(s.hg_class, &counters), HG_SUCCESS);
    ck_assert_uint_eq(counters.bulk_count, 5);
    HG_Addr_free(s.hg_class, self);
    HG_Bulk_free(bulk);
    session_end(&s);
}
END_TEST

/* Result of the target's transfer for invalid arguments. */
START_TEST(transfer_out_of_range_or_without_permission_fails)
{
    static const struct {
        uint8_t flags, how, op;
        uint64_t origin_offset, local_offset, size;
        hg_return_t ret;
    } cases[] = {
        {HG_BULK_READ_ONLY, 0, HG_BULK_PULL, 0, 0, 101, HG_INVALID_ARG},
        {HG_BULK_READ_ONLY, 0, HG_BULK_PULL, 1, 0, 100, HG_INVALID_ARG},
        {HG_BULK_READ_ONLY, 0, HG_BULK_PULL, 0, 61, 40, HG_INVALID_ARG},
        {HG_BULK_READ_ONLY, 0, HG_BULK_PULL, UINT64_MAX, 0, 2, HG_INVALID_ARG},
        {HG_BULK_READ_ONLY, 0, HG_BULK_PULL, 0, UINT64_MAX, 2, HG_INVALID_ARG},
        {HG_BULK_READ_ONLY, 0, HG_BULK_PUSH, 0, 0, 10, HG_PERMISSION},
        {HG_BULK_WRITE_ONLY, 0, HG_BULK_PULL, 0, 0, 10, HG_PERMISSION},
        {HG_BULK_READWRITE, MOVE_READ_ONLY, HG_BULK_PULL, 0, 0, 10,
            HG_PERMISSION},
        {HG_BULK_READWRITE, MOVE_WRITE_ONLY, HG_BULK_PUSH, 0, 0, 10,
            HG_PERMISSION},
        {HG_BULK_READWRITE, 0, 2, 0, 0, 10, HG_INVALID_ARG},
        {HG_BULK_READWRITE, MOVE_BOUND, HG_BULK_PULL, 0, 0, 10,
            HG_INVALID_ARG}, /* it is not bound */
        {HG_BULK_READWRITE, 0, HG_BULK_PULL, 100, 100, 0, HG_SUCCESS},
        {HG_BULK_READWRITE, 0, HG_BULK_PULL, 0, 0, 100, HG_SUCCESS},
    };
    struct session s;
    char memory[100] = {0};
    hg_size_t size = sizeof memory;
    void *base = memory;

    session_begin(&s, _i, &setup);
    log_expect("exceeds a descriptor", 5, 5);
    log_expect("does not allow to", 4, 4);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        move_in_t in = {.op = cases[i].op,
            .how = cases[i].how,
            .origin_offset = cases[i].origin_offset,
            .local_offset = cases[i].local_offset,
            .size = cases[i].size,
            .local_size = 100};
        move_out_t out;

        ck_assert_int_eq(HG_Bulk_create(s.hg_class, 1, &base, &size,
                             cases[i].flags, &in.bulk),
            HG_SUCCESS);
        out = mover_move(&s, &in);
        ck_assert_msg(out.start == (int32_t) cases[i].ret,
            "case %zu: %s instead of %s", i,
            HG_Error_to_string((hg_return_t) out.start),
            HG_Error_to_string(cases[i].ret));
        ck_assert_int_eq(out.end, HG_SUCCESS);
        HG_Bulk_free(in.bulk);
    }
    session_end(&s);
}
END_TEST

/* A late cancel finds a stale id, also when the transfer object is reused. */
START_TEST(transfer_cancelled_ends_once_and_late_cancel_has_no_effect)
{
    struct session s;
    size_t size = (size_t) 4 << 20;
    struct pieces pieces;

    session_begin(&s, _i, &setup);
    pieces_make(&pieces, size, 3);
    for (int i = 0; i < 20; i++) {
        move_in_t in = {.op = i % 2 ? HG_BULK_PUSH : HG_BULK_PULL,
            .how = MOVE_CANCEL_LATE | (i % 4 < 2 ? MOVE_CANCEL : 0),
            .size = i % 3 ? size : 100,
            .local_size = size};
        move_out_t out;

        ck_assert_int_eq(HG_Bulk_create(s.hg_class, pieces.count, pieces.bases,
                             pieces.sizes, HG_BULK_READWRITE, &in.bulk),
            HG_SUCCESS);
        out = mover_move(&s, &in);
        ck_assert_int_eq(out.start, HG_SUCCESS);
        ck_assert(out.end == HG_SUCCESS ||
                  (out.end == HG_CANCELED && (in.how & MOVE_CANCEL)));
        HG_Bulk_free(in.bulk);
    }
    ck_assert_int_eq(HG_Bulk_cancel(HG_OP_ID_NULL), HG_INVALID_ARG);
    pieces_free(&pieces);
    session_end(&s);
}
END_TEST

/* Both descriptors are local: the only transfer without serialization. */
START_TEST(transfer_to_self_copies)
{
    struct session s;
    struct pieces from, to;
    hg_bulk_t origin, local;
    hg_addr_t self;
    struct call calls[2] = {{.called = 0}, {.called = 0}};

    session_begin(&s, _i, &setup);
    pieces_make(&from, 50000, 11);
    pieces_make(&to, 60000, 12);
    pieces_fill(&from, 1);
    ck_assert_int_eq(HG_Bulk_create(s.hg_class, from.count, from.bases,
                         from.sizes, HG_BULK_READWRITE, &origin),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_create(s.hg_class, to.count, to.bases, to.sizes,
                         HG_BULK_READWRITE, &local),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_self(s.hg_class, &self), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_transfer(s.context, call_done, &calls[0], HG_BULK_PULL, self,
            origin, 100, local, 200, 40000, HG_OP_ID_IGNORE),
        HG_SUCCESS);
    session_wait(&s, &calls[0].called, 1);
    ck_assert_int_eq(calls[0].ret, HG_SUCCESS);
    ck_assert(pieces_match(&to, 200, 40000, 1, 100));
    pieces_fill(&to, 2);
    ck_assert_int_eq(
        HG_Bulk_transfer(s.context, call_done, &calls[1], HG_BULK_PUSH, self,
            origin, 0, local, 10, 50000, HG_OP_ID_IGNORE),
        HG_SUCCESS);
    session_wait(&s, &calls[1].called, 1);
    ck_assert(pieces_match(&from, 0, 50000, 2, 10));
    HG_Addr_free(s.hg_class, self);
    HG_Bulk_free(origin);
    HG_Bulk_free(local);
    pieces_free(&from);
    pieces_free(&to);
    session_end(&s);
}
END_TEST

/* The owner of the memory dies during the transfer. */
START_TEST(transfer_from_a_killed_peer_fails)
{
    struct session s;
    hg_size_t size = MOVER_EXPOSED;
    void *base = malloc(size);
    expose_out_t out;
    hg_handle_t handle;
    hg_bulk_t local;
    struct call call = {.called = 0};
    uint64_t killed;

    session_begin(&s, _i, &setup);
    if (s.mode->shape != SESSION_PROCESSES) {
        session_end(&s);
        free(base);
        return;
    }
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, &base, &size, HG_BULK_WRITE_ONLY, &local),
        HG_SUCCESS);
    handle = session_handle(&s, mover_id(MOVER_EXPOSE));
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_transfer(s.context, call_done, &call, HG_BULK_PULL, s.target,
            out.bulk, 0, local, 0, size, HG_OP_ID_IGNORE),
        HG_SUCCESS);
    session_kill(&s);
    killed = session_now_ms();
    session_wait(&s, &call.called, 1);
    ck_assert_uint_le(session_now_ms() - killed, test_count(TEST_DEATH_MS));
    ck_assert_int_ne(call.ret, HG_SUCCESS);

    /* The next transfer fails too. */
    ck_assert_int_eq(
        HG_Bulk_transfer(s.context, call_done, &call, HG_BULK_PULL, s.target,
            out.bulk, 0, local, 0, size, HG_OP_ID_IGNORE),
        HG_SUCCESS);
    session_wait(&s, &call.called, 2);
    ck_assert_int_ne(call.ret, HG_SUCCESS);
    HG_Free_output(handle, &out);
    HG_Destroy(handle);
    HG_Bulk_free(local);
    session_end(&s);
    free(base);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, descriptor_without_memory_allocates_it);
    session_add(tcase, descriptor_references_are_released_by_any_thread);
    session_add(tcase, descriptor_invalid_arguments);
    session_add(tcase, descriptor_owner_reads_and_writes_its_memory);
    session_add(tcase, descriptor_transfers_are_counted);
    session_add(tcase, transfer_out_of_range_or_without_permission_fails);
    session_add(
        tcase, transfer_cancelled_ends_once_and_late_cancel_has_no_effect);
    session_add(tcase, transfer_to_self_copies);
    session_add(tcase, transfer_from_a_killed_peer_fails);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "descriptor", add);
}
