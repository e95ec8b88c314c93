/* SPDX-License-Identifier: BSD-3-Clause */
/* Procs: creation, integers and bytes, ends of buffers, growth.
 * Truncated messages are allocated at their exact size, so that
 * AddressSanitizer detects reads beyond them. */
#include <check.h>
#include <stdlib.h>

#include "proc_case.h"
#include "runner.h"

#define HANDLE ((hg_handle_t) 2) /* the same */
#define NO_SUCH_SIZE ((hg_size_t) 1 << 60)

/* With a sanitizer too, allocations of NO_SUCH_SIZE have to return NULL. */
const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* Each integer proc, with a value that shows byte order and sign. */
static const struct {
    hg_proc_cb_t callback;
    const void *value;
    const char *wire;
    size_t size;
} integers[] = {
    {hg_proc_int8_t, &(const int8_t){-2}, "\xfe", 1},
    {hg_proc_uint8_t, &(const uint8_t){0xfe}, "\xfe", 1},
    {hg_proc_int16_t, &(const int16_t){-0x0102}, "\xfe\xfe", 2},
    {hg_proc_uint16_t, &(const uint16_t){0xf1f2}, "\xf2\xf1", 2},
    {hg_proc_int32_t, &(const int32_t){-0x01020304}, "\xfc\xfc\xfd\xfe", 4},
    {hg_proc_uint32_t, &(const uint32_t){0xe1e2e3e4}, "\xe4\xe3\xe2\xe1", 4},
    {hg_proc_int64_t, &(const int64_t){-0x0102030405060708},
        "\xf8\xf8\xf9\xfa\xfb\xfc\xfd\xfe", 8},
    {hg_proc_uint64_t, &(const uint64_t){0xd1d2d3d4d5d6d7d8},
        "\xd8\xd7\xd6\xd5\xd4\xd3\xd2\xd1", 8},
};

enum { INTEGERS = sizeof(integers) / sizeof(integers[0]) };

static void *
copy_of(const void *data, size_t size)
{
    void *copy = malloc(size > 0 ? size : 1);

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, data, size);
    return copy;
}

static void
ck_numbers(void *buf, uint64_t count)
{
    hg_proc_t proc = make(HG_NOHASH);

    reset(proc, buf, count * sizeof(uint64_t), HG_DECODE);
    for (uint64_t i = 0, number; i < count; i++) {
        ck_assert_int_eq(hg_proc_uint64_t(proc, &number), HG_SUCCESS);
        ck_assert_uint_eq(number, i);
    }
    hg_proc_free(proc);
}

START_TEST(proc_create_bad_argument_invalid)
{
    hg_proc_hash_t hash = HG_CRC32, none = (hg_proc_hash_t) (HG_NOHASH + 1);
    hg_proc_t proc = (hg_proc_t) 3;
    char b[8];

    ck_assert_int_eq(hg_proc_create(NULL, hash, &proc), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_create(CLASS, hash, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_create(CLASS, none, &proc), HG_INVALID_ARG);
    ck_assert_int_eq(
        hg_proc_create_set(CLASS, b, 8, HG_ENCODE, hash, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(
        hg_proc_create_set(NULL, b, 8, HG_ENCODE, hash, &proc), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_create_set(CLASS, NULL, 8, HG_ENCODE, hash, &proc),
        HG_INVALID_ARG);
    ck_assert_ptr_eq(proc, (hg_proc_t) 3);
}
END_TEST

START_TEST(proc_null_proc_rejected)
{
    char buf[8];

    ck_assert_int_eq(hg_proc_free(NULL), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_reset(NULL, buf, 8, HG_ENCODE), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_set_size(NULL, 8), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_set_extra_buf_is_mine(NULL, 1), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_flush(NULL), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_checksum_get(NULL, buf, 8), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_checksum_verify(NULL, buf, 8), HG_INVALID_ARG);
    hg_proc_checksum_update(NULL, buf, 8);
    hg_proc_set_handle(NULL, HANDLE);
    hg_proc_set_flags(NULL, 1);
    ck_assert_ptr_null(hg_proc_get_class(NULL));
    ck_assert_ptr_null(hg_proc_get_handle(NULL));
    ck_assert_ptr_null(hg_proc_get_extra_buf(NULL));
    ck_assert_uint_eq(hg_proc_get_extra_size(NULL), 0);
    ck_assert_uint_eq(hg_proc_get_flags(NULL), 0);
    ck_assert_uint_eq(hg_proc_get_size(NULL), 0);
    ck_assert_uint_eq(hg_proc_get_size_used(NULL), 0);
    ck_assert_uint_eq(hg_proc_get_size_left(NULL), 0);
}
END_TEST

START_TEST(proc_before_reset_decodes_nothing)
{
    hg_proc_t proc = make(HG_NOHASH);
    uint8_t byte = 7;

    ck_assert_int_eq(hg_proc_get_op(proc), HG_DECODE);
    ck_assert_int_eq(hg_proc_uint8_t(proc, &byte), HG_OVERFLOW);
    ck_assert_uint_eq(byte, 7);
    hg_proc_free(proc);
}
END_TEST

START_TEST(proc_reset_bad_argument_keeps_message)
{
    hg_proc_t proc = make(HG_NOHASH);
    uint8_t buf[4] = {1, 2, 3, 4}, byte = 0;
    hg_size_t huge = PROC_SIZE_MAX + 1;
    hg_proc_op_t none = (hg_proc_op_t) (HG_FREE + 1);

    reset(proc, buf, sizeof(buf), HG_DECODE);
    ck_assert_int_eq(hg_proc_reset(proc, NULL, 1, HG_DECODE), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_reset(proc, buf, huge, HG_DECODE), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_reset(proc, buf, huge, HG_ENCODE), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_reset(proc, buf, 4, none), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_uint8_t(proc, &byte), HG_SUCCESS);
    ck_assert_uint_eq(byte, 1);
    ck_assert_uint_eq(hg_proc_get_size_left(proc), 3);
    hg_proc_free(proc);
}
END_TEST

START_TEST(proc_reset_other_message_keeps_owner)
{
    hg_proc_t proc;
    char buf[16];

    ck_assert_int_eq(
        hg_proc_create_set(CLASS, buf, 16, HG_ENCODE, HG_NOHASH, &proc),
        HG_SUCCESS);
    hg_proc_set_handle(proc, HANDLE);
    hg_proc_set_flags(proc, 0x81);
    ck_assert_uint_eq(hg_proc_get_flags(proc), 0x81);
    put_numbers(proc, 1);
    ck_assert_uint_eq(hg_proc_get_size(proc), 16);
    ck_assert_uint_eq(hg_proc_get_size_used(proc), 8);

    reset(proc, buf, 12, HG_DECODE);
    ck_assert_int_eq(hg_proc_get_op(proc), HG_DECODE);
    ck_assert_ptr_eq(hg_proc_get_class(proc), CLASS);
    ck_assert_ptr_eq(hg_proc_get_handle(proc), HANDLE);
    ck_assert_uint_eq(hg_proc_get_flags(proc), 0);
    ck_assert_uint_eq(hg_proc_get_size(proc), 12);
    ck_assert_uint_eq(hg_proc_get_size_used(proc), 0);
    hg_proc_free(proc);
}
END_TEST

START_TEST(proc_init_own_memory_works)
{
    struct hg_proc proc;
    char buf[8], data[16] = "more than fits";

    proc_init(&proc, NULL, HANDLE, HG_NOHASH);
    ck_assert_ptr_null(hg_proc_get_class(&proc));
    ck_assert_ptr_eq(hg_proc_get_handle(&proc), HANDLE);
    reset(&proc, buf, sizeof(buf), HG_ENCODE);
    ck_assert_int_eq(hg_proc_bytes(&proc, data, 16), HG_SUCCESS);
    ck_assert_mem_eq(hg_proc_get_extra_buf(&proc), data, 16);
    proc_finish(&proc);
}
END_TEST

START_TEST(integer_encoded_little_endian)
{
    hg_proc_t proc = make(HG_NOHASH);
    uint8_t buf[32];
    size_t used = 0;

    reset(proc, buf, sizeof(buf), HG_ENCODE);
    for (size_t i = 0; i < INTEGERS; i++) {
        uint8_t value[8];

        memcpy(value, integers[i].value, integers[i].size);
        ck_assert_int_eq(integers[i].callback(proc, value), HG_SUCCESS);
        ck_assert_mem_eq(value, integers[i].value, integers[i].size);
        ck_assert_mem_eq(buf + used, integers[i].wire, integers[i].size);
        used += integers[i].size;
        ck_assert_uint_eq(hg_proc_get_size_used(proc), used);
        ck_assert_uint_eq(hg_proc_get_size_left(proc), sizeof(buf) - used);
    }
    ck_assert_ptr_null(hg_proc_get_extra_buf(proc));
    hg_proc_free(proc);
}
END_TEST

START_TEST(integer_decoded_at_any_alignment)
{
    hg_proc_t proc = make(HG_NOHASH);
    uint8_t buf[16], value[16];

    for (size_t i = 0; i < INTEGERS; i++) {
        for (size_t shift = 0; shift < 8; shift++) {
            uint8_t *to = value + 8 - shift;

            memcpy(buf + shift, integers[i].wire, integers[i].size);
            memset(value, 0x55, sizeof(value));
            reset(proc, buf + shift, integers[i].size, HG_DECODE);
            ck_assert_int_eq(integers[i].callback(proc, to), HG_SUCCESS);
            ck_assert_mem_eq(to, integers[i].value, integers[i].size);
            ck_assert_uint_eq(hg_proc_get_size_left(proc), 0);
        }
    }
    hg_proc_free(proc);
}
END_TEST

START_TEST(integer_swapped_reverses)
{
    const char src[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    char dst[8];

    proc_copy_swapped(dst, src, 8);
    ck_assert_mem_eq(dst, "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
    proc_copy_swapped(dst, src, 2);
    ck_assert_mem_eq(dst, "\x02\x01\x06", 3);
}
END_TEST

START_TEST(decode_truncated_at_each_byte_is_overflow)
{
    hg_proc_t proc = make(HG_NOHASH);

    for (size_t i = 0; i < INTEGERS; i++) {
        for (size_t cut = 0; cut < integers[i].size; cut++) {
            uint8_t *buf = copy_of(integers[i].wire, cut);
            uint8_t value[9] = {0};

            reset(proc, buf, cut, HG_DECODE);
            ck_assert_int_eq(integers[i].callback(proc, value), HG_OVERFLOW);
            ck_assert_int_eq(hg_proc_bytes(proc, value, cut + 1), HG_OVERFLOW);
            ck_assert_mem_eq(value, "\0\0\0\0\0\0\0\0", 9);
            ck_assert_uint_eq(hg_proc_get_size_used(proc), 0);
            ck_assert_int_eq(hg_proc_bytes(proc, value, cut), HG_SUCCESS);
            if (cut > 0)
                ck_assert_mem_eq(value, integers[i].wire, cut);
            ck_assert_ptr_null(hg_proc_get_extra_buf(proc));
            free(buf);
        }
    }
    hg_proc_free(proc);
}
END_TEST

START_TEST(decode_huge_size_is_overflow)
{
    static const hg_size_t sizes[] = {9, PROC_SIZE_MAX, PROC_SIZE_MAX + 1,
        UINT64_MAX - 8, UINT64_MAX - 7, UINT64_MAX};
    hg_proc_t proc = make(HG_NOHASH);
    uint8_t *buf = copy_of("12345678", 8), byte;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        reset(proc, buf, 8, HG_DECODE);
        ck_assert_int_eq(hg_proc_bytes(proc, &byte, sizes[i]), HG_OVERFLOW);
        ck_assert_ptr_null(hg_proc_save_ptr(proc, sizes[i]));
        ck_assert_int_eq(hg_proc_set_size(proc, sizes[i]), HG_OVERFLOW);
        ck_assert_uint_eq(hg_proc_get_size_left(proc), 8);
    }
    hg_proc_free(proc);
    free(buf);
}
END_TEST

START_TEST(encode_huge_size_is_rejected)
{
    static const hg_size_t sizes[] = {PROC_SIZE_MAX, PROC_SIZE_MAX + 1,
        UINT64_MAX - 1, UINT64_MAX, NO_SUCH_SIZE};
    hg_proc_t proc = make(HG_NOHASH);
    uint8_t buf[8], byte = 9;

    reset(proc, buf, sizeof(buf), HG_ENCODE);
    for (int moved = 0; moved < 2; moved++) {
        ck_assert_int_eq(hg_proc_uint8_t(proc, &byte), HG_SUCCESS);
        for (int i = 0; i < 5; i++) {
            ck_assert_int_eq(hg_proc_bytes(proc, &byte, sizes[i]),
                sizes[i] == NO_SUCH_SIZE && NO_SUCH_SIZE <= SIZE_MAX
                    ? HG_NOMEM
                    : HG_OVERFLOW);
            ck_assert_ptr_null(hg_proc_save_ptr(proc, sizes[i]));
        }
        ck_assert_int_eq(hg_proc_set_size(proc, sizes[1]), HG_OVERFLOW);
        ck_assert_int_eq(hg_proc_set_size(proc, NO_SUCH_SIZE),
            NO_SUCH_SIZE <= SIZE_MAX ? HG_NOMEM : HG_OVERFLOW);
        ck_assert_uint_eq(hg_proc_get_size_used(proc), (hg_size_t) moved + 1);
        ck_assert_int_eq(hg_proc_set_size(proc, 100), HG_SUCCESS);
    }
    ck_assert_mem_eq(hg_proc_get_extra_buf(proc), "\x09\x09", 2);
    hg_proc_free(proc);
}
END_TEST

START_TEST(encode_past_end_moves_to_extra_buffer)
{
    hg_proc_t proc = make(HG_NOHASH);
    uint8_t buf[20];

    reset(proc, buf, 20, HG_ENCODE);
    put_numbers(proc, 2);
    ck_assert_ptr_null(hg_proc_get_extra_buf(proc));
    ck_assert_uint_eq(hg_proc_get_extra_size(proc), 0);

    /* Grows the extra buffer several times. */
    reset(proc, buf, 20, HG_ENCODE);
    put_numbers(proc, 10000);
    ck_assert_uint_eq(hg_proc_get_size_used(proc), 80000);
    ck_assert_uint_ge(hg_proc_get_extra_size(proc), 80000);
    ck_assert_uint_eq(hg_proc_get_extra_size(proc), hg_proc_get_size(proc));
    ck_numbers(hg_proc_get_extra_buf(proc), 10000);
    ck_numbers(buf, 2);

    /* The next message starts in the caller's buffer again. */
    reset(proc, buf, 20, HG_ENCODE);
    ck_assert_uint_eq(hg_proc_get_size(proc), 20);
    hg_proc_free(proc);
}
END_TEST

START_TEST(set_size_larger_moves_once)
{
    hg_proc_t proc = make(HG_NOHASH);
    uint8_t buf[16];
    void *extra;

    reset(proc, buf, sizeof(buf), HG_ENCODE);
    put_numbers(proc, 1);
    ck_assert_int_eq(hg_proc_set_size(proc, 16), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_set_size(proc, 3), HG_SUCCESS);
    ck_assert_ptr_null(hg_proc_get_extra_buf(proc));
    ck_assert_int_eq(hg_proc_set_size(proc, 8000), HG_SUCCESS);
    extra = hg_proc_get_extra_buf(proc);
    ck_assert_uint_eq(hg_proc_get_extra_size(proc), 8000);
    ck_assert_uint_eq(hg_proc_get_size_used(proc), 8);
    ck_assert_uint_eq(hg_proc_get_size_left(proc), 7992);
    put_numbers(proc, 999);
    ck_assert_ptr_eq(hg_proc_get_extra_buf(proc), extra);
    ck_assert_uint_eq(hg_proc_get_size_left(proc), 0);

    /* A received message has a fixed size. */
    reset(proc, buf, sizeof(buf), HG_DECODE);
    ck_assert_int_eq(hg_proc_set_size(proc, 16), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_set_size(proc, 17), HG_OVERFLOW);
    hg_proc_free(proc);
}
END_TEST

START_TEST(extra_buf_taken_not_freed)
{
    hg_proc_t proc = make(HG_NOHASH);
    uint8_t buf[8];
    void *mine;

    reset(proc, buf, sizeof(buf), HG_ENCODE);
    ck_assert_int_eq(hg_proc_set_extra_buf_is_mine(proc, 1), HG_INVALID_ARG);
    put_numbers(proc, 3);
    mine = hg_proc_get_extra_buf(proc);
    ck_assert_int_eq(hg_proc_set_extra_buf_is_mine(proc, 1), HG_SUCCESS);
    reset(proc, buf, sizeof(buf), HG_ENCODE);
    ck_assert_ptr_null(hg_proc_get_extra_buf(proc));
    ck_numbers(mine, 3);
    free(mine);

    /* Growing keeps the content; the extra buffer belongs to the proc. */
    put_numbers(proc, 3);
    mine = hg_proc_get_extra_buf(proc);
    ck_assert_int_eq(hg_proc_set_extra_buf_is_mine(proc, HG_TRUE), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_set_size(proc, 100000), HG_SUCCESS);
    ck_assert_ptr_ne(hg_proc_get_extra_buf(proc), mine);
    ck_numbers(hg_proc_get_extra_buf(proc), 3);
    ck_numbers(mine, 3);
    free(mine);

    reset(proc, buf, sizeof(buf), HG_ENCODE);

    /* Taken and returned; taken and kept beyond the proc's lifetime. */
    put_numbers(proc, 3);
    ck_assert_int_eq(hg_proc_set_extra_buf_is_mine(proc, 1), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_set_extra_buf_is_mine(proc, 0), HG_SUCCESS);
    reset(proc, buf, sizeof(buf), HG_ENCODE);
    put_numbers(proc, 3);
    mine = hg_proc_get_extra_buf(proc);
    ck_assert_int_eq(hg_proc_set_extra_buf_is_mine(proc, 1), HG_SUCCESS);
    hg_proc_free(proc);
    ck_numbers(mine, 3);
    free(mine);
}
END_TEST

START_TEST(free_op_touches_nothing)
{
    hg_proc_t proc = make(HG_CRC64);
    uint8_t buf[8] = "buffer", data[8] = "data";

    reset(proc, buf, sizeof(buf), HG_FREE);
    for (size_t i = 0; i < INTEGERS; i++)
        ck_assert_int_eq(integers[i].callback(proc, data), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_bytes(proc, data, sizeof(data)), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_bytes(proc, NULL, UINT64_MAX), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_set_size(proc, 1), HG_OVERFLOW);
    hg_proc_checksum_update(proc, data, sizeof(data));
    ck_assert_int_eq(hg_proc_flush(proc), HG_SUCCESS);
    ck_assert_uint_eq(hg_proc_get_size(proc), 0);
    ck_assert_mem_eq(buf, "buffer\0", 8);
    ck_assert_mem_eq(data, "data\0\0\0", 8);
    reset(proc, NULL, UINT64_MAX, HG_FREE);
    hg_proc_free(proc);
}
END_TEST

int
main(void)
{
    TCase *tc = tcase_create("proc");

    tcase_add_test(tc, proc_create_bad_argument_invalid);
    tcase_add_test(tc, proc_null_proc_rejected);
    tcase_add_test(tc, proc_before_reset_decodes_nothing);
    tcase_add_test(tc, proc_reset_bad_argument_keeps_message);
    tcase_add_test(tc, proc_reset_other_message_keeps_owner);
    tcase_add_test(tc, proc_init_own_memory_works);
    tcase_add_test(tc, integer_encoded_little_endian);
    tcase_add_test(tc, integer_decoded_at_any_alignment);
    tcase_add_test(tc, integer_swapped_reverses);
    tcase_add_test(tc, decode_truncated_at_each_byte_is_overflow);
    tcase_add_test(tc, decode_huge_size_is_overflow);
    tcase_add_test(tc, encode_huge_size_is_rejected);
    tcase_add_test(tc, encode_past_end_moves_to_extra_buffer);
    tcase_add_test(tc, set_size_larger_moves_once);
    tcase_add_test(tc, extra_buf_taken_not_freed);
    tcase_add_test(tc, free_op_touches_nothing);
    return run_tcase("proc", tc);
}
