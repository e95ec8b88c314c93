/* SPDX-License-Identifier: BSD-3-Clause */
/* Thousands of segments, of different sizes at the two sides, more than any
 * transport accepts in one registration. */
#include "counts.h"
#include "log_watch.h"
#include "remote.h"

#include <stdlib.h>
#include <string.h>

static const struct session_setup setup = {.origin_listens = true};

/* Segments of a memory block, adjacent or scattered. */
struct cut {
    uint32_t count;
    size_t size;
    unsigned char *memory;
    void **bases;
    hg_size_t *sizes;
    hg_bulk_t bulk;
};

/* scatter: the segments are in another order than the memory */
static void
cut_make(struct cut *cut, hg_class_t *hg_class, uint32_t count, uint32_t unit,
    bool scatter)
{
    size_t at = 0;

    cut->count = count;
    cut->size = 0;
    cut->bases = calloc(count, sizeof *cut->bases);
    cut->sizes = calloc(count, sizeof *cut->sizes);
    ck_assert(cut->bases && cut->sizes);
    for (uint32_t i = 0; i < count; i++) {
        cut->sizes[i] = i % 11 == 5 ? 0 : 1 + (i * 37U) % unit;
        cut->size += cut->sizes[i];
    }
    cut->memory = calloc(1, cut->size);
    ck_assert_ptr_nonnull(cut->memory);
    for (uint32_t n = 0; n < count; n++) {
        /* 7919 is a prime that does not divide the counts used. */
        uint32_t i = scatter ? (uint32_t) (n * (uint64_t) 7919 % count) : n;

        cut->bases[i] = cut->memory + at;
        at += cut->sizes[i];
    }
    ck_assert_int_eq(HG_Bulk_create(hg_class, count, cut->bases, cut->sizes,
                         HG_BULK_READWRITE, &cut->bulk),
        HG_SUCCESS);
    ck_assert_uint_eq(HG_Bulk_get_size(cut->bulk), cut->size);
    ck_assert_uint_eq(HG_Bulk_get_segment_count(cut->bulk), count);
}

static void
cut_free(struct cut *cut)
{
    HG_Bulk_free(cut->bulk);
    free(cut->bases);
    free(cut->sizes);
    free(cut->memory);
}

/* Copies the bytes in segment order. */
static void
cut_fill(struct cut *cut, uint32_t seed)
{
    for (uint32_t i = 0; i < cut->count; i++)
        for (hg_size_t n = 0; n < cut->sizes[i]; n++) {
            seed = seed * 1664525U + 1013904223U;
            ((unsigned char *) cut->bases[i])[n] = (unsigned char) (seed >> 24);
        }
}

static unsigned char *
cut_gather(const struct cut *cut)
{
    unsigned char *flat = malloc(cut->size);
    size_t at = 0;

    for (uint32_t i = 0; i < cut->count; i++) {
        memcpy(flat + at, cut->bases[i], cut->sizes[i]);
        at += cut->sizes[i];
    }
    return flat;
}

static void
ck_transfer(struct remote *remote, hg_bulk_op_t op, const struct cut *origin,
    hg_bulk_t got, hg_size_t origin_offset, struct cut *local,
    hg_size_t local_offset, hg_size_t size)
{
    bool pull = op == HG_BULK_PULL;
    unsigned char *origin_flat = cut_gather(origin), *now;
    unsigned char *local_flat = cut_gather(local);
    struct call call = {.called = 0};

    if (pull)
        memcpy(local_flat + local_offset, origin_flat + origin_offset, size);
    else
        memcpy(origin_flat + origin_offset, local_flat + local_offset, size);
    ck_assert_int_eq(HG_Bulk_transfer(remote->s.context, call_done, &call, op,
                         remote->owner, got, origin_offset, local->bulk,
                         local_offset, size, HG_OP_ID_IGNORE),
        HG_SUCCESS);
    session_wait(&remote->s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    now = cut_gather(origin);
    ck_assert_int_eq(memcmp(now, origin_flat, origin->size), 0);
    free(now);
    now = cut_gather(local);
    ck_assert_int_eq(memcmp(now, local_flat, local->size), 0);
    free(now);
    free(origin_flat);
    free(local_flat);
}

START_TEST(many_segments_of_different_shapes)
{
    static const uint32_t counts[][2] = {
        {5000, 3000}, {1, 4000}, {4000, 1}, {1025, 1023}};
    struct remote remote;

    remote_begin(&remote, _i, &setup);
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct cut origin, local;
        hg_size_t size;
        hg_bulk_t got;

        cut_make(&origin, remote.owner_class, counts[i][0],
            counts[i][0] == 1 ? 100000 : 61, i % 2 == 0);
        cut_make(&local, remote.s.hg_class, counts[i][1],
            counts[i][1] == 1 ? 100000 : 97, i % 2 == 1);
        cut_fill(&origin, i + 1);
        got = remote_send(origin.bulk, 0, remote.s.hg_class);
        ck_assert_uint_eq(HG_Bulk_get_segment_count(got), counts[i][0]);
        size = origin.size < local.size ? origin.size : local.size;
        ck_transfer(&remote, HG_BULK_PULL, &origin, got, 0, &local, 0, size);
        cut_fill(&local, i + 7);
        ck_transfer(&remote, HG_BULK_PUSH, &origin, got, 0, &local, 0, size);
        cut_fill(&local, i + 9);
        ck_transfer(&remote, HG_BULK_PUSH, &origin, got, origin.size - size / 3,
            &local, local.size / 2, size / 3);
        HG_Bulk_free(got);
        cut_free(&origin);
        cut_free(&local);
    }
    remote_end(&remote);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, many_segments_of_different_shapes);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "many", add);
}
