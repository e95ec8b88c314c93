/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire form of descriptors: its golden bytes, and bytes of strangers. */
#include "counts.h"
#include "log_watch.h"
#include "mover.h"

#include <stdlib.h>
#include <string.h>

static const struct session_setup setup = {
    .open = mover_open, .stopping = mover_stopping, .origin_listens = true};

static size_t
serialize(hg_bulk_t bulk, unsigned char **bytes_p)
{
    size_t size = HG_Bulk_get_serialize_size(bulk, 0);
    unsigned char *bytes = malloc(size);

    ck_assert_uint_gt(size, 24);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(HG_Bulk_serialize(bytes, size - 1, 0, bulk), HG_OVERFLOW);
    ck_assert_int_eq(HG_Bulk_serialize(bytes, size, 0, bulk), HG_SUCCESS);
    *bytes_p = bytes;
    return size;
}

START_TEST(wire_header_has_golden_bytes)
{
    /* version, read-only, context, 0, 3 segments, 0x1234 bytes, then the
     * number of parts, which is the transport's affair */
    static const unsigned char golden[16] = {
        1, 1, 0, 0, 3, 0, 0, 0, 0x34, 0x12, 0, 0, 0, 0, 0, 0};
    struct session s;
    hg_size_t sizes[3] = {0x1000, 0x200, 0x34};
    unsigned char *bytes;
    hg_bulk_t bulk, copy;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 3, NULL, sizes, HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    size_t size = serialize(bulk, &bytes);
    ck_assert_mem_eq(bytes, golden, sizeof golden);
    ck_assert_uint_eq(bytes[20] | bytes[21] | bytes[22] | bytes[23], 0);
    ck_assert_int_eq(
        HG_Bulk_deserialize(s.hg_class, &copy, bytes, size), HG_SUCCESS);
    ck_assert_uint_eq(HG_Bulk_get_size(copy), 0x1234);
    ck_assert_uint_eq(HG_Bulk_get_segment_count(copy), 3);
    ck_assert_uint_eq(HG_Bulk_get_flags(copy), HG_BULK_READ_ONLY);
    ck_assert_ptr_null(HG_Bulk_get_addr(copy));
    ck_assert_int_eq(
        HG_Bulk_access(copy, 0, 1, HG_BULK_READ_ONLY, 0, NULL, NULL, NULL),
        HG_OPNOTSUPPORTED);
    ck_assert_int_eq(HG_Bulk_bind(copy, s.context), HG_INVALID_ARG);
    HG_Bulk_free(copy);
    HG_Bulk_free(bulk);
    free(bytes);
    session_end(&s);
}
END_TEST

START_TEST(wire_of_bound_descriptor_carries_its_owner)
{
    struct session s;
    hg_size_t size = 100;
    unsigned char *bytes;
    hg_bulk_t bulk, copy;
    hg_addr_t self;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 1, NULL, &size, HG_BULK_READWRITE, &bulk),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_bind(bulk, s.context), HG_SUCCESS);
    size_t length = serialize(bulk, &bytes);
    ck_assert_uint_eq(bytes[1], 0x83);
    ck_assert_int_eq(
        HG_Bulk_deserialize(s.hg_class, &copy, bytes, length), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_self(s.hg_class, &self), HG_SUCCESS);
    ck_assert_uint_eq(HG_Addr_cmp(s.hg_class, HG_Bulk_get_addr(copy), self), 1);
    HG_Addr_free(s.hg_class, self);
    HG_Bulk_free(copy);
    HG_Bulk_free(bulk);
    free(bytes);
    session_end(&s);
}
END_TEST

/* Cut anywhere, a descriptor is refused; altered anywhere, it is refused or
 * still one: never more is read than there is (the sanitizers watch). */
START_TEST(wire_of_a_stranger_is_refused_or_sound)
{
    struct session s;
    hg_size_t sizes[2] = {5000, 7000};
    unsigned char *bytes;
    hg_bulk_t bulk, copy = HG_BULK_NULL;
    uint32_t state = 1;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(
        HG_Bulk_create(s.hg_class, 2, NULL, sizes, HG_BULK_READWRITE, &bulk),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_bind(bulk, s.context), HG_SUCCESS);
    size_t size = serialize(bulk, &bytes);
    HG_Set_log_level("none"); /* one line for each would be right */
    for (size_t cut = 0; cut < size; cut++) {
        unsigned char *part = malloc(cut > 0 ? cut : 1);

        memcpy(part, bytes, cut);
        ck_assert_int_ne(
            HG_Bulk_deserialize(s.hg_class, &copy, part, cut), HG_SUCCESS);
        free(part);
    }
    ck_assert_ptr_null(copy);
    for (uint32_t i = 0; i < test_count(TEST_WIRE_MUTATIONS) / 10; i++) {
        unsigned char *altered = malloc(size);

        memcpy(altered, bytes, size);
        for (uint32_t n = 0; n <= i % 3; n++) {
            state = state * 1664525U + 1013904223U;
            altered[(state >> 8) % size] ^= (unsigned char) (1 + (state >> 24));
        }
        if (HG_Bulk_deserialize(s.hg_class, &copy, altered, size) ==
            HG_SUCCESS) {
            ck_assert_uint_gt(HG_Bulk_get_segment_count(copy), 0);
            HG_Bulk_free(copy);
        }
        free(altered);
    }
    HG_Set_log_level("warning");
    HG_Bulk_free(bulk);
    free(bytes);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, wire_header_has_golden_bytes);
    session_add(tcase, wire_of_bound_descriptor_carries_its_owner);
    session_add(tcase, wire_of_a_stranger_is_refused_or_sound);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "wire", add);
}
