/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers with self, by descriptors that were serialized and deserialized
 * again: memory is copied, and not touched after it was freed. */
#include "counts.h"
#include "log_watch.h"
#include "mover.h"

#include <stdlib.h>
#include <string.h>

#define SIZE 5000U

static const struct session_setup setup = {
    .open = mover_open, .stopping = mover_stopping, .origin_listens = true};

/* Serializes and deserializes a descriptor. bit: index of a bit to flip in
 * between, or -1. */
static hg_bulk_t
reimport(struct session *s, hg_bulk_t bulk, int bit)
{
    hg_size_t size = HG_Bulk_get_serialize_size(bulk, 0);
    unsigned char *bytes = malloc(size);
    hg_bulk_t back = HG_BULK_NULL;

    ck_assert_int_eq(HG_Bulk_serialize(bytes, size, 0, bulk), HG_SUCCESS);
    if (bit >= 0)
        bytes[bit / 8] ^= (unsigned char) (1U << (bit % 8));
    ck_assert_int_eq(
        HG_Bulk_deserialize(s->hg_class, &back, bytes, size), HG_SUCCESS);
    free(bytes);
    return back;
}

struct both {
    struct session s;
    struct pieces from;
    struct pieces to;
    hg_bulk_t owned;
    hg_bulk_t local;
    hg_addr_t self;
};

static void
both_begin(struct both *both, int mode, uint8_t flags)
{
    session_begin(&both->s, mode, &setup);
    pieces_make(&both->from, SIZE, 21);
    pieces_make(&both->to, SIZE, 22);
    pieces_fill(&both->from, 23);
    ck_assert_int_eq(
        HG_Bulk_create(both->s.hg_class, both->from.count, both->from.bases,
            both->from.sizes, flags, &both->owned),
        HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_create(both->s.hg_class, both->to.count, both->to.bases,
            both->to.sizes, HG_BULK_READWRITE, &both->local),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_self(both->s.hg_class, &both->self), HG_SUCCESS);
}

static void
both_end(struct both *both)
{
    HG_Bulk_free(both->owned);
    HG_Bulk_free(both->local);
    HG_Addr_free(both->s.hg_class, both->self);
    pieces_free(&both->from);
    pieces_free(&both->to);
    session_end(&both->s);
}

static hg_return_t
both_start(struct both *both, struct call *call, hg_bulk_op_t op,
    hg_bulk_t origin, hg_size_t size)
{
    call->called = 0;
    return HG_Bulk_transfer(both->s.context, call_done, call, op, both->self,
        origin, 0, both->local, 0, size, HG_OP_ID_IGNORE);
}

START_TEST(self_transfer_is_a_copy)
{
    struct both both;
    struct call call;
    hg_bulk_t origin;
    uint32_t before;

    both_begin(&both, _i, HG_BULK_READWRITE);
    origin = reimport(&both.s, both.owned, -1);
    before = session_is_loop()
                 ? loop_submitted(LOOP_GET) + loop_submitted(LOOP_PUT)
                 : 0;
    ck_assert_int_eq(
        both_start(&both, &call, HG_BULK_PULL, origin, SIZE), HG_SUCCESS);
    /* The data were copied, the callback has not run. */
    ck_assert(pieces_match(&both.to, 0, SIZE, 23, 0));
    ck_assert_uint_eq(call.called, 0);
    session_wait(&both.s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    pieces_fill(&both.to, 29);
    ck_assert_int_eq(
        both_start(&both, &call, HG_BULK_PUSH, origin, SIZE), HG_SUCCESS);
    ck_assert(pieces_match(&both.from, 0, SIZE, 29, 0));
    session_wait(&both.s, &call.called, 1);
    ck_assert_int_eq(
        both_start(&both, &call, HG_BULK_PULL, origin, 0), HG_SUCCESS);
    session_wait(&both.s, &call.called, 1);
    if (session_is_loop())
        ck_assert_uint_eq(
            loop_submitted(LOOP_GET) + loop_submitted(LOOP_PUT), before);
    HG_Bulk_free(origin);
    both_end(&both);
}
END_TEST

START_TEST(self_descriptor_that_was_freed_is_rejected)
{
    struct both both;
    struct call call;
    hg_bulk_t origin, again, other;
    hg_size_t size = SIZE;

    both_begin(&both, _i, HG_BULK_READWRITE);
    log_expect("was freed before the transfer", 3, 3);
    origin = reimport(&both.s, both.owned, -1);
    again = reimport(&both.s, origin, -1);
    HG_Bulk_free(both.owned);
    pieces_fill(&both.to, 29);
    ck_assert_int_eq(
        both_start(&both, &call, HG_BULK_PULL, origin, SIZE), HG_NOENTRY);
    ck_assert_int_eq(
        both_start(&both, &call, HG_BULK_PUSH, again, SIZE), HG_NOENTRY);
    /* The next descriptor gets the same slot with another id. */
    ck_assert_int_eq(HG_Bulk_create(both.s.hg_class, 1, NULL, &size,
                         HG_BULK_READWRITE, &both.owned),
        HG_SUCCESS);
    other = reimport(&both.s, both.owned, -1);
    ck_assert_int_eq(
        both_start(&both, &call, HG_BULK_PULL, origin, SIZE), HG_NOENTRY);
    ck_assert_uint_eq(call.called, 0);
    ck_assert(pieces_match(&both.to, 0, SIZE, 29, 0));
    ck_assert_int_eq(
        both_start(&both, &call, HG_BULK_PULL, other, SIZE), HG_SUCCESS);
    session_wait(&both.s, &call.called, 1);
    HG_Bulk_free(origin);
    HG_Bulk_free(again);
    HG_Bulk_free(other);
    both_end(&both);
}
END_TEST

/* Fields of a serialized own descriptor are not trusted. */
START_TEST(self_descriptor_keeps_its_own_rights_and_size)
{
    struct both both;
    struct call call;
    hg_bulk_t origin;

    both_begin(&both, _i, HG_BULK_READ_ONLY);
    log_expect("does not allow to", 2, 2);
    log_expect("was freed before the transfer", 64, 64);
    origin = reimport(&both.s, both.owned, 1 * 8 + 1); /* writable */
    ck_assert_uint_eq(HG_Bulk_get_flags(origin), HG_BULK_READWRITE);
    ck_assert_int_eq(
        both_start(&both, &call, HG_BULK_PUSH, origin, SIZE), HG_PERMISSION);
    HG_Bulk_free(origin);
    origin = reimport(&both.s, both.owned, -1);
    ck_assert_int_eq(
        both_start(&both, &call, HG_BULK_PUSH, origin, SIZE), HG_PERMISSION);
    HG_Bulk_free(origin);
    ck_assert(pieces_match(&both.from, 0, SIZE, 23, 0));
    /* An altered id matches nothing. */
    for (int bit = 24 * 8; bit < 32 * 8; bit++) {
        origin = reimport(&both.s, both.owned, bit);
        ck_assert_int_eq(
            both_start(&both, &call, HG_BULK_PULL, origin, SIZE), HG_NOENTRY);
        HG_Bulk_free(origin);
    }
    both_end(&both);
}
END_TEST

/* Many are created and freed; each is found while it exists. */
START_TEST(self_descriptors_are_distinguished)
{
    enum { COUNT = 300 };
    struct session s;
    hg_bulk_t owned[COUNT] = {0}, back[COUNT] = {0}, local;
    uint32_t values[COUNT], got = 0, refused = 0, state = 1;
    hg_size_t size = sizeof got;
    void *base = &got;

    session_begin(&s, _i, &setup);
    HG_Set_log_level("none"); /* each rejection may log a line */
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, &base, &size, HG_BULK_WRITE_ONLY, &local),
        HG_SUCCESS);
    for (uint32_t round = 0; round < 20 * COUNT; round++) {
        uint32_t i = (state = state * 1664525U + 1013904223U) % COUNT;
        struct call call = {.called = 0};
        hg_addr_t self;
        hg_return_t ret;

        if (!owned[i]) {
            void *memory = &values[i];

            HG_Bulk_free(back[i]);
            values[i] = round;
            ck_assert_int_eq(HG_Bulk_create(s.hg_class, 1, &memory, &size,
                                 HG_BULK_READWRITE, &owned[i]),
                HG_SUCCESS);
            back[i] = reimport(&s, owned[i], -1);
        } else if (state & 0x10000000) {
            HG_Bulk_free(owned[i]);
            owned[i] = HG_BULK_NULL;
        }
        got = UINT32_MAX;
        ck_assert_int_eq(HG_Addr_self(s.hg_class, &self), HG_SUCCESS);
        ret = HG_Bulk_transfer(s.context, call_done, &call, HG_BULK_PULL, self,
            back[i], 0, local, 0, size, HG_OP_ID_IGNORE);
        HG_Addr_free(s.hg_class, self);
        ck_assert_int_eq(ret, owned[i] ? HG_SUCCESS : HG_NOENTRY);
        if (ret == HG_SUCCESS)
            session_wait(&s, &call.called, 1);
        else
            refused++;
        ck_assert_uint_eq(got, owned[i] ? values[i] : UINT32_MAX);
    }
    ck_assert_uint_gt(refused, 100);
    for (uint32_t i = 0; i < COUNT; i++) {
        HG_Bulk_free(owned[i]);
        HG_Bulk_free(back[i]);
    }
    HG_Bulk_free(local);
    HG_Set_log_level("warning");
    session_end(&s);
}
END_TEST

/* Copies memory onto itself with an offset, in different segments at either
 * side. */
static void
ck_shifted(struct session *s, uint32_t pieces, size_t from, size_t to)
{
    enum { BYTES = 997 };
    unsigned char memory[BYTES], expected[BYTES];
    hg_size_t sizes[2][16];
    void *bases[2][16];
    hg_bulk_t bulks[2];
    hg_addr_t self;
    struct call call = {.called = 0};
    size_t size = BYTES - (from > to ? from : to);

    for (unsigned i = 0; i < BYTES; i++)
        memory[i] = expected[i] = pattern_at(pieces, i);
    memmove(expected + to, expected + from, size);
    for (unsigned side = 0; side < 2; side++) {
        uint32_t count = side == 0 ? pieces : 17 - pieces;

        for (uint32_t i = 0; i < count; i++) {
            bases[side][i] = memory + i * (BYTES / count);
            sizes[side][i] =
                i + 1 < count ? BYTES / count : BYTES - i * (BYTES / count);
        }
        ck_assert_int_eq(HG_Bulk_create(s->hg_class, count, bases[side],
                             sizes[side], HG_BULK_READWRITE, &bulks[side]),
            HG_SUCCESS);
    }
    ck_assert_int_eq(HG_Addr_self(s->hg_class, &self), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_transfer(s->context, call_done, &call, HG_BULK_PULL, self,
            bulks[0], from, bulks[1], to, size, HG_OP_ID_IGNORE),
        HG_SUCCESS);
    ck_assert_mem_eq(memory, expected, BYTES);
    session_wait(s, &call.called, 1);
    HG_Addr_free(s->hg_class, self);
    HG_Bulk_free(bulks[0]);
    HG_Bulk_free(bulks[1]);
}

START_TEST(self_ranges_may_overlap)
{
    struct session s;

    session_begin(&s, _i, &setup);
    for (uint32_t pieces = 1; pieces <= 16; pieces++)
        for (size_t shift = 0; shift < 400; shift += 57) {
            ck_shifted(&s, pieces, shift, 0);
            ck_shifted(&s, pieces, 0, shift);
            ck_shifted(&s, pieces, shift, 100);
        }
    session_end(&s);
}
END_TEST

/* The id by which a descriptor is found is a key to its memory: no bit of it
 * may be predictable from another id. */
START_TEST(self_descriptor_ids_are_random)
{
    enum { COUNT = 300, AT_NUMBER = 24 };
    struct session s;
    hg_bulk_t bulks[COUNT];
    uint64_t ones = 0, zeros = 0, changed = 0, last = 0;
    hg_size_t size = SIZE;

    session_begin(&s, _i, &setup);
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned char bytes[1024];
        uint64_t number;

        ck_assert_int_eq(HG_Bulk_create(s.hg_class, 1, NULL, &size,
                             HG_BULK_READWRITE, &bulks[i]),
            HG_SUCCESS);
        ck_assert_int_eq(
            HG_Bulk_serialize(bytes, sizeof bytes, 0, bulks[i]), HG_SUCCESS);
        memcpy(&number, bytes + AT_NUMBER, sizeof number);
        ones |= number;
        zeros |= ~number;
        if (i % 2 == 1)
            changed |= number ^ last;
        /* nor are they counted from one on */
        ck_assert_uint_gt(number - last + 1000, 2000);
        last = number;
    }
    ck_assert_uint_eq(ones, UINT64_MAX);
    ck_assert_uint_eq(zeros, UINT64_MAX);
    ck_assert_uint_eq(changed, UINT64_MAX);
    for (unsigned i = 0; i < COUNT; i++)
        HG_Bulk_free(bulks[i]);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, self_transfer_is_a_copy);
    session_add(tcase, self_descriptor_that_was_freed_is_rejected);
    session_add(tcase, self_descriptor_keeps_its_own_rights_and_size);
    session_add(tcase, self_descriptors_are_distinguished);
    session_add(tcase, self_ranges_may_overlap);
    session_add(tcase, self_descriptor_ids_are_random);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "self", add);
}
