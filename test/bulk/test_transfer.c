/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers in both directions, compared byte by byte. */
#include "counts.h"
#include "log_watch.h"
#include "mover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct session_setup setup = {
    .open = mover_open, .stopping = mover_stopping, .origin_listens = true};

static hg_bulk_t
describe(struct session *session, struct pieces *pieces, uint8_t flags)
{
    hg_bulk_t bulk = HG_BULK_NULL;

    ck_assert_int_eq(HG_Bulk_create(session->hg_class, pieces->count,
                         pieces->bases, pieces->sizes, flags, &bulk),
        HG_SUCCESS);
    ck_assert_uint_eq(HG_Bulk_get_size(bulk), pieces->size);
    ck_assert_uint_eq(HG_Bulk_get_segment_count(bulk), pieces->count);
    return bulk;
}

/* The guard bytes between segments are unchanged. */
static void
ck_gaps(const struct pieces *pieces)
{
    const char *at = pieces->memory;

    for (uint32_t i = 0; i <= pieces->count; i++) {
        const char *end = i < pieces->count
                              ? pieces->bases[i]
                              : pieces->memory + pieces->memory_size;

        for (; at < end; at++)
            ck_assert_int_eq(*at, 0);
        if (i < pieces->count)
            at = end + pieces->sizes[i];
    }
}

/* One transfer; compares the origin's memory before and after it. */
static void
move_and_check(struct session *session, move_in_t *in, size_t origin_size)
{
    struct pieces pieces;
    move_out_t out;

    pieces_make(&pieces, origin_size, in->seed + 1);
    pieces_fill(&pieces, in->seed + 2);
    in->bulk = describe(session, &pieces,
        in->op == HG_BULK_PULL ? HG_BULK_READ_ONLY : HG_BULK_WRITE_ONLY);
    if (in->how & MOVE_BOUND)
        ck_assert_int_eq(HG_Bulk_bind(in->bulk, session->context), HG_SUCCESS);
    out = mover_move(session, in);
    ck_assert_int_eq(out.start, HG_SUCCESS);
    ck_assert_int_eq(out.end, HG_SUCCESS);
    ck_assert_uint_eq(out.moved, in->size);
    if (in->op == HG_BULK_PULL) {
        ck_assert_uint_eq(
            out.hash, pieces_hash(&pieces, in->origin_offset, in->size));
        ck_assert(pieces_match(&pieces, 0, origin_size, in->seed + 2, 0));
    } else {
        size_t end = in->origin_offset + in->size;

        ck_assert(pieces_match(&pieces, 0, in->origin_offset, in->seed + 2, 0));
        ck_assert(pieces_match(
            &pieces, in->origin_offset, in->size, in->seed, in->local_offset));
        ck_assert(
            pieces_match(&pieces, end, origin_size - end, in->seed + 2, end));
    }
    ck_gaps(&pieces);
    ck_assert_int_eq(HG_Bulk_free(in->bulk), HG_SUCCESS);
    pieces_free(&pieces);
}

START_TEST(transfer_of_random_segments_moves_the_right_bytes)
{
    struct session s;

    session_begin(&s, _i, &setup);
    for (uint32_t i = 0; i < test_count(TEST_TRANSFER_ROUNDS); i++) {
        uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL;
        size_t origin_size = 1 + (x >> 5) % 40000;
        size_t local_size = 1 + (x >> 17) % 40000;
        move_in_t in = {.op = i % 2 ? HG_BULK_PUSH : HG_BULK_PULL,
            .how = i % 5 == 0 ? MOVE_BOUND : 0,
            .seed = i * 3,
            .local_size = local_size};

        in.size =
            (x >> 29) % (origin_size < local_size ? origin_size : local_size);
        in.origin_offset = (x >> 7) % (origin_size - in.size + 1);
        in.local_offset = (x >> 11) % (local_size - in.size + 1);
        move_and_check(&s, &in, origin_size);
    }
    session_end(&s);
}
END_TEST

START_TEST(transfer_of_each_size_is_complete)
{
    struct session s;
    size_t max = (size_t) test_count(TEST_TRANSFER_MAX_MIB) << 20;

    session_begin(&s, _i, &setup);
    for (size_t size = 1; size <= max; size *= 8) {
        for (size_t more = 0; more <= 1; more++) {
            move_in_t in = {.op = more ? HG_BULK_PUSH : HG_BULK_PULL,
                .seed = (uint32_t) size,
                .size = size - more,
                .local_size = size};

            move_and_check(&s, &in, size);
        }
    }
    session_end(&s);
}
END_TEST

START_TEST(transfers_in_flight_all_complete)
{
    struct session s;
    uint32_t count = test_count(TEST_TRANSFERS_IN_FLIGHT);

    /* Allocated after the fork: the addresses mean nothing to another
     * process. */
    session_begin(&s, _i, &setup);
    struct call *calls = calloc(count, sizeof *calls);
    struct pieces *pieces = calloc(count, sizeof *pieces);
    hg_handle_t *handles = calloc(count, sizeof *handles);
    hg_bulk_t *bulks = calloc(count, sizeof(hg_bulk_t));

    ck_assert(calls && pieces && handles && bulks);
    for (uint32_t i = 0; i < count; i++) {
        move_in_t in = {.op = HG_BULK_PULL, .seed = i};

        in.size = in.local_size = 10000 + 7919U * i;
        pieces_make(&pieces[i], in.size, i + 1);
        pieces_fill(&pieces[i], i + 2);
        in.bulk = bulks[i] = describe(&s, &pieces[i], HG_BULK_READ_ONLY);
        handles[i] = session_handle(&s, mover_id(MOVER_MOVE));
        ck_assert_int_eq(
            HG_Forward(handles[i], call_done, &calls[i], &in), HG_SUCCESS);
    }
    for (uint32_t i = 0; i < count; i++) {
        move_out_t out;

        session_wait(&s, &calls[i].called, 1);
        ck_assert_int_eq(calls[i].ret, HG_SUCCESS);
        ck_assert_int_eq(HG_Get_output(handles[i], &out), HG_SUCCESS);
        ck_assert_int_eq(out.end, HG_SUCCESS);
        ck_assert_uint_eq(out.hash, pieces_hash(&pieces[i], 0, pieces[i].size));
        HG_Free_output(handles[i], &out);
        HG_Destroy(handles[i]);
        HG_Bulk_free(bulks[i]);
        pieces_free(&pieces[i]);
    }
    session_end(&s);
    free(bulks);
    free(handles);
    free(pieces);
    free(calls);
}
END_TEST

/* A descriptor larger than a message. */
START_TEST(transfer_of_thousands_of_segments)
{
    enum { COUNT = 5000, UNIT = 40 };
    struct session s;
    move_in_t in = {.op = HG_BULK_PUSH, .seed = 9};
    move_out_t out;
    size_t at = 0, wrong = 0;

    session_begin(&s, _i, &setup);
    unsigned char *memory = malloc((size_t) COUNT * UNIT * 2);
    void **bases = calloc(COUNT, sizeof *bases);
    hg_size_t *sizes = calloc(COUNT, sizeof *sizes);
    ck_assert(memory && bases && sizes);
    memset(memory, 0xaa, (size_t) COUNT * UNIT * 2);
    for (uint32_t i = 0; i < COUNT; i++) {
        bases[i] = memory + (size_t) i * UNIT * 2;
        sizes[i] = i % UNIT;
        in.size += sizes[i];
    }
    in.local_size = in.size;
    ck_assert_int_eq(HG_Bulk_create(s.hg_class, COUNT, bases, sizes,
                         HG_BULK_WRITE_ONLY, &in.bulk),
        HG_SUCCESS);
    out = mover_move(&s, &in);
    ck_assert_int_eq(out.start, HG_SUCCESS);
    ck_assert_int_eq(out.end, HG_SUCCESS);
    for (uint32_t i = 0; i < COUNT; i++) {
        const unsigned char *base = bases[i];

        for (hg_size_t n = 0; n < UNIT * 2; n++)
            wrong += base[n] != (n < sizes[i] ? pattern_at(9, at + n) : 0xaa);
        at += sizes[i];
    }
    ck_assert_uint_eq(wrong, 0);
    HG_Bulk_free(in.bulk);
    session_end(&s);
    free(memory);
    free(bases);
    free(sizes);
}
END_TEST

/* The origin pulls from the target and checks the pattern. */
START_TEST(transfer_by_the_origin_pulls_from_the_target)
{
    struct session s;
    struct call call = {.called = 0};
    hg_size_t size = MOVER_EXPOSED;
    hg_bulk_t local;
    expose_out_t out;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    char *memory = malloc(size);
    void *base = memory;
    ck_assert_ptr_nonnull(memory);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, &base, &size, HG_BULK_WRITE_ONLY, &local),
        HG_SUCCESS);
    handle = session_handle(&s, mover_id(MOVER_EXPOSE));
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_transfer(s.context, call_done, &call, HG_BULK_PULL, s.target,
            out.bulk, 5, local, 3, size - 5, HG_OP_ID_IGNORE),
        HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    for (size_t i = 0; i < size - 5; i += 4093)
        ck_assert_int_eq((unsigned char) memory[3 + i], pattern_at(7, i + 5));
    HG_Free_output(handle, &out);
    HG_Destroy(handle);
    HG_Bulk_free(local);
    session_end(&s);
    free(memory);
}
END_TEST

/* The target can use its address only over the connection of the call. */
START_TEST(transfer_bound_to_an_origin_that_does_not_listen)
{
    static const struct session_setup silent = {
        .open = mover_open, .stopping = mover_stopping};
    struct session s;

    if (session_is_loop()) /* without an address; see test_rma.c */
        return;
    session_begin(&s, _i, &silent);
    for (uint32_t i = 0; i < 4; i++) {
        move_in_t in = {.op = i % 2 ? HG_BULK_PUSH : HG_BULK_PULL,
            .how = MOVE_BOUND,
            .seed = i,
            .size = 10000U << i,
            .local_size = 10000U << i};

        move_and_check(&s, &in, in.size);
    }
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, transfer_of_random_segments_moves_the_right_bytes);
    session_add(tcase, transfer_of_each_size_is_complete);
    session_add(tcase, transfers_in_flight_all_complete);
    session_add(tcase, transfer_of_thousands_of_segments);
    session_add(tcase, transfer_by_the_origin_pulls_from_the_target);
    session_add(tcase, transfer_bound_to_an_origin_that_does_not_listen);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "transfer", add);
}
