/* SPDX-License-Identifier: BSD-3-Clause */
/* Data of variable size: strings, string objects, and bytes accessed in
 * place. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "mercury_proc_string.h"
#include "proc/proc.h"
#include "runner.h"

#define CLASS ((hg_class_t *) 1) /* only returned */

static hg_proc_t
make(void *buf, size_t size, hg_proc_op_t op)
{
    hg_proc_t proc = HG_PROC_NULL;

    ck_assert_int_eq(
        hg_proc_create_set(CLASS, buf, size, op, HG_CRC64, &proc), HG_SUCCESS);
    return proc;
}

static void
reset(hg_proc_t proc, void *buf, size_t size, hg_proc_op_t op)
{
    ck_assert_int_eq(hg_proc_reset(proc, buf, size, op), HG_SUCCESS);
}

/* Exactly `size` bytes, so that AddressSanitizer detects reads beyond them. */
static void *
copy_of(const void *data, size_t size)
{
    void *copy = malloc(size > 0 ? size : 1);

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, data, size);
    return copy;
}

/* Decodes a string from `size` bytes and compares it, or the error. */
static void
ck_decode(
    const void *wire, size_t size, hg_return_t expected, const char *string)
{
    void *buf = copy_of(wire, size);
    hg_proc_t proc = make(buf, size, HG_DECODE);
    char untouched[] = "untouched";
    hg_string_t decoded = untouched;

    ck_assert_int_eq(hg_proc_hg_string_t(proc, &decoded), expected);
    if (expected != HG_SUCCESS) {
        ck_assert_ptr_eq(decoded, untouched);
        ck_assert_uint_eq(hg_proc_get_size_used(proc), 0);
    } else {
        ck_assert_pstr_eq(decoded, string);
        ck_assert_uint_eq(hg_proc_get_size_left(proc), 0);
        /* The copy does not depend on the buffer. */
        memset(buf, 'x', size);
        ck_assert_pstr_eq(decoded, string);
        reset(proc, NULL, 0, HG_FREE);
        ck_assert_int_eq(hg_proc_hg_string_t(proc, &decoded), HG_SUCCESS);
        ck_assert_ptr_null(decoded);
        ck_assert_int_eq(hg_proc_hg_string_t(proc, &decoded), HG_SUCCESS);
    }
    hg_proc_free(proc);
    free(buf);
}

START_TEST(string_encoded_with_length_and_zero)
{
    char buf[64];
    hg_proc_t proc = make(buf, sizeof(buf), HG_ENCODE);
    char hello[] = "hello", empty[] = "";
    hg_string_t string = hello, nothing = empty, null = NULL;

    ck_assert_int_eq(hg_proc_hg_string_t(proc, &string), HG_SUCCESS);
    ck_assert_uint_eq(hg_proc_get_size_used(proc), 16);
    ck_assert_mem_eq(buf, "\6\0\0\0\0\0\0\0hello\0\0\0", 16);
    ck_assert_ptr_eq(string, hello);
    ck_assert_int_eq(hg_proc_hg_string_t(proc, &nothing), HG_SUCCESS);
    ck_assert_uint_eq(hg_proc_get_size_used(proc), 27);
    ck_assert_mem_eq(buf + 16, "\1\0\0\0\0\0\0\0\0\0\0", 11);
    ck_assert_int_eq(hg_proc_hg_string_t(proc, &null), HG_SUCCESS);
    ck_assert_uint_eq(hg_proc_get_size_used(proc), 35);
    ck_assert_mem_eq(buf + 27, "\0\0\0\0\0\0\0\0", 8);
    hg_proc_free(proc);
}
END_TEST

START_TEST(string_well_formed_decoded)
{
    ck_decode("\6\0\0\0\0\0\0\0hello\0\0\0", 16, HG_SUCCESS, "hello");
    ck_decode("\1\0\0\0\0\0\0\0\0\0\0", 11, HG_SUCCESS, "");
    ck_decode("\0\0\0\0\0\0\0\0", 8, HG_SUCCESS, NULL);
}
END_TEST

START_TEST(string_truncated_at_each_byte_is_overflow)
{
    for (size_t cut = 0; cut < 16; cut++)
        ck_decode("\6\0\0\0\0\0\0\0hello\0\0\0", cut, HG_OVERFLOW, NULL);
}
END_TEST

START_TEST(string_with_false_length_rejected)
{
    static const uint64_t lengths[] = {7, 8, 1 << 20, (uint64_t) 1 << 32,
        PROC_SIZE_MAX, PROC_SIZE_MAX + 1, UINT64_MAX - 10, UINT64_MAX - 9,
        UINT64_MAX - 8, UINT64_MAX - 7, UINT64_MAX};
    char wire[16];

    memcpy(wire + 8, "hello\0\0", 8);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (int byte = 0; byte < 8; byte++)
            wire[byte] = (char) (lengths[i] >> 8 * byte);
        ck_decode(wire, sizeof(wire), HG_OVERFLOW, NULL);
    }
    /* Too short to include the terminating zero. */
    for (wire[0] = 1; wire[0] < 6; wire[0]++) {
        memset(wire + 1, 0, 7);
        ck_decode(wire, sizeof(wire), HG_PROTOCOL_ERROR, NULL);
    }
}
END_TEST

START_TEST(string_with_zero_before_end_rejected)
{
    ck_decode("\6\0\0\0\0\0\0\0hello!\0\0", 16, HG_PROTOCOL_ERROR, NULL);
    ck_decode("\6\0\0\0\0\0\0\0hel\0o\0\0\0", 16, HG_PROTOCOL_ERROR, NULL);
    ck_decode("\6\0\0\0\0\0\0\0\0ello\0\0\0", 16, HG_PROTOCOL_ERROR, NULL);
    ck_decode("\1\0\0\0\0\0\0\0x\0\0", 11, HG_PROTOCOL_ERROR, NULL);
}
END_TEST

START_TEST(string_without_terminating_zero_rejected)
{
    ck_decode("\6\0\0\0\0\0\0\0hello\0\1\0", 16, HG_PROTOCOL_ERROR, NULL);
    ck_decode("\6\0\0\0\0\0\0\0hello\0\0x", 16, HG_PROTOCOL_ERROR, NULL);
}
END_TEST

START_TEST(string_const_survives_trip)
{
    char buf[32];
    hg_proc_t proc = make(buf, sizeof(buf), HG_ENCODE);
    hg_const_string_t sent = "constant", got = NULL;

    ck_assert_int_eq(hg_proc_hg_const_string_t(proc, &sent), HG_SUCCESS);
    reset(proc, buf, sizeof(buf), HG_DECODE);
    ck_assert_int_eq(hg_proc_hg_const_string_t(proc, &got), HG_SUCCESS);
    ck_assert_str_eq(got, sent);
    ck_assert_ptr_ne(got, sent);
    reset(proc, buf, sizeof(buf), HG_FREE);
    ck_assert_int_eq(hg_proc_hg_const_string_t(proc, &got), HG_SUCCESS);
    ck_assert_ptr_null(got);
    hg_proc_free(proc);
}
END_TEST

START_TEST(string_past_end_moves_to_extra_buffer)
{
    enum { LENGTH = 1 << 20 };
    char *large = malloc(LENGTH + 1), first[] = "first", *got = NULL;
    hg_string_t string = first;

    ck_assert_ptr_nonnull(large);
    memset(large, 'l', LENGTH);
    large[LENGTH] = '\0';
    /* The buffer ends anywhere in the two strings, or is empty. */
    for (size_t size = 0; size <= 32; size++) {
        char *buf = copy_of(large, size);
        hg_proc_t proc = make(size > 0 ? buf : NULL, size, HG_ENCODE);
        char *extra;

        ck_assert_int_eq(hg_proc_hg_string_t(proc, &string), HG_SUCCESS);
        ck_assert_int_eq(hg_proc_hg_string_t(proc, &large), HG_SUCCESS);
        ck_assert_uint_eq(hg_proc_get_size_used(proc), 16 + 8 + LENGTH + 3);
        extra = hg_proc_get_extra_buf(proc);
        ck_assert_ptr_nonnull(extra);
        ck_assert_int_eq(hg_proc_set_extra_buf_is_mine(proc, 1), HG_SUCCESS);

        reset(proc, extra, 16 + 8 + LENGTH + 3, HG_DECODE);
        ck_assert_int_eq(hg_proc_hg_string_t(proc, &got), HG_SUCCESS);
        ck_assert_str_eq(got, first);
        free(got);
        ck_assert_int_eq(hg_proc_hg_string_t(proc, &got), HG_SUCCESS);
        ck_assert_str_eq(got, large);
        free(got);
        hg_proc_free(proc);
        free(extra);
        free(buf);
    }
    free(large);
}
END_TEST

START_TEST(in_place_encoded_and_decoded)
{
    char buf[8], *extra, *p, hash[8], three[3];
    hg_proc_t proc = make(buf, sizeof(buf), HG_ENCODE);

    ck_assert_ptr_eq(hg_proc_save_ptr(proc, 0), buf);
    p = hg_proc_save_ptr(proc, 3);
    ck_assert_ptr_eq(p, buf);
    memcpy(p, "abc", 3);
    ck_assert_int_eq(hg_proc_restore_ptr(proc, p, 3), HG_SUCCESS);
    ck_assert_ptr_eq(hg_proc_save_ptr(proc, 0), buf + 3);
    /* The next one does not fit, so that everything moves. */
    p = hg_proc_save_ptr(proc, 6000);
    extra = hg_proc_get_extra_buf(proc);
    ck_assert_ptr_nonnull(extra);
    ck_assert_ptr_eq(p, extra + 3);
    memset(p, 'd', 6000);
    ck_assert_int_eq(hg_proc_restore_ptr(proc, p, 6000), HG_SUCCESS);
    ck_assert_uint_eq(hg_proc_get_size_used(proc), 6003);
    ck_assert_mem_eq(extra, "abcd", 4);
    ck_assert_int_eq(hg_proc_checksum_get(proc, hash, 8), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_set_extra_buf_is_mine(proc, 1), HG_SUCCESS);

    /* Both ways of decoding give the same checksum. */
    reset(proc, extra, 6003, HG_DECODE);
    ck_assert_int_eq(hg_proc_bytes(proc, three, 3), HG_SUCCESS);
    ck_assert_mem_eq(three, "abc", 3);
    ck_assert_uint_eq(hg_proc_get_size_left(proc), 6000);
    p = hg_proc_save_ptr(proc, 6000);
    ck_assert_ptr_eq(p, extra + 3);
    ck_assert_int_eq(hg_proc_restore_ptr(proc, p, 6000), HG_SUCCESS);
    ck_assert_uint_eq(hg_proc_get_size_left(proc), 0);
    ck_assert_int_eq(hg_proc_checksum_verify(proc, hash, 8), HG_SUCCESS);
    ck_assert_ptr_eq(hg_proc_save_ptr(proc, 0), extra + 6003);
    hg_proc_free(proc);
    free(extra);
}
END_TEST

START_TEST(in_place_more_than_left_null)
{
    char buf[8] = "1234567";
    hg_proc_t proc = make(buf, sizeof(buf), HG_DECODE);

    for (size_t used = 0; used <= 8; used++) {
        reset(proc, buf, sizeof(buf), HG_DECODE);
        ck_assert_ptr_eq(hg_proc_save_ptr(proc, used), buf);
        ck_assert_ptr_null(hg_proc_save_ptr(proc, 8 - used + 1));
        ck_assert_ptr_null(hg_proc_save_ptr(proc, UINT64_MAX));
        ck_assert_uint_eq(hg_proc_get_size_used(proc), used);
    }
    reset(proc, NULL, 0, HG_DECODE);
    ck_assert_ptr_null(hg_proc_save_ptr(proc, 1));
    ck_assert_ptr_null(hg_proc_save_ptr(proc, 0));
    ck_assert_int_eq(hg_proc_restore_ptr(proc, NULL, 0), HG_SUCCESS);
    ck_assert_ptr_null(hg_proc_save_ptr(HG_PROC_NULL, 0));
    reset(proc, buf, sizeof(buf), HG_FREE);
    ck_assert_ptr_null(hg_proc_save_ptr(proc, 0));
    ck_assert_ptr_null(hg_proc_save_ptr(proc, 1));
    ck_assert_int_eq(hg_proc_restore_ptr(proc, NULL, 0), HG_INVALID_ARG);
    hg_proc_free(proc);
}
END_TEST

START_TEST(in_place_restore_of_other_bytes_invalid)
{
    char buf[8];
    hg_proc_t proc = make(buf, sizeof(buf), HG_ENCODE);
    char *p = hg_proc_save_ptr(proc, 4);

    ck_assert_ptr_eq(p, buf);
    ck_assert_int_eq(hg_proc_restore_ptr(NULL, p, 4), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_restore_ptr(proc, NULL, 4), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_restore_ptr(proc, p, 5), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_restore_ptr(proc, p + 1, 4), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_restore_ptr(proc, p, UINT64_MAX), HG_INVALID_ARG);
    ck_assert_int_eq(hg_proc_restore_ptr(proc, p + 5, 0), HG_INVALID_ARG);
    /* After a move, the old pointer is not part of the message. */
    ck_assert_int_eq(hg_proc_set_size(proc, 100), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_restore_ptr(proc, p, 4), HG_INVALID_ARG);
    hg_proc_free(proc);
}
END_TEST

START_TEST(object_survives_trip_owned)
{
    char buf[64], text[] = "text";
    hg_proc_t proc = make(buf, sizeof(buf), HG_ENCODE);
    hg_string_object_t sent, null, got;
    hg_string_t string;

    hg_string_object_init_const_char(&sent, text, 0);
    hg_string_object_init(&null);
    ck_assert_int_eq(hg_proc_hg_string_object_t(proc, &sent), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_hg_string_object_t(proc, &null), HG_SUCCESS);
    ck_assert_uint_eq(hg_proc_get_size_used(proc), 8 + 7 + 8);

    reset(proc, buf, 8 + 7 + 8, HG_DECODE);
    ck_assert_int_eq(hg_proc_hg_string_object_t(proc, &got), HG_SUCCESS);
    ck_assert_str_eq(got.data, "text");
    ck_assert_ptr_ne(got.data, text);
    ck_assert(!got.is_const && got.is_owned);
    ck_assert_int_eq(hg_proc_hg_string_object_t(proc, &null), HG_SUCCESS);
    ck_assert_ptr_null(null.data);
    ck_assert_int_eq(hg_proc_hg_string_object_t(proc, &sent), HG_OVERFLOW);
    ck_assert_ptr_eq(sent.data, text);

    reset(proc, buf, sizeof(buf), HG_FREE);
    ck_assert_int_eq(hg_proc_hg_string_object_t(proc, &got), HG_SUCCESS);
    ck_assert_ptr_null(got.data);
    ck_assert(!got.is_owned);
    ck_assert_int_eq(hg_proc_hg_string_object_t(proc, &sent), HG_SUCCESS);
    ck_assert_str_eq(text, "text");

    /* On the wire it is a string. */
    reset(proc, buf, 15, HG_DECODE);
    ck_assert_int_eq(hg_proc_hg_string_t(proc, &string), HG_SUCCESS);
    ck_assert_str_eq(string, "text");
    free(string);
    hg_proc_free(proc);
}
END_TEST

START_TEST(object_free_only_what_is_owned)
{
    char borrowed[] = "borrowed", *owned = strdup("owned");
    const char *owned_const = strdup("const");
    hg_string_object_t object;

    ck_assert_int_eq(
        hg_string_object_init_char(&object, borrowed, 0), HG_SUCCESS);
    ck_assert(!object.is_const && !object.is_owned);
    ck_assert_ptr_eq(object.data, borrowed);
    ck_assert_int_eq(hg_string_object_free(&object), HG_SUCCESS);
    ck_assert_ptr_null(object.data);
    ck_assert_int_eq(hg_string_object_init_char(&object, owned, 1), HG_SUCCESS);
    ck_assert(!object.is_const && object.is_owned);
    ck_assert_int_eq(hg_string_object_free(&object), HG_SUCCESS);
    ck_assert_int_eq(
        hg_string_object_init_const_char(&object, owned_const, 2), HG_SUCCESS);
    ck_assert(object.is_const && object.is_owned);
    ck_assert_int_eq(hg_string_object_free(&object), HG_SUCCESS);
    ck_assert_int_eq(hg_string_object_free(&object), HG_SUCCESS);
    ck_assert_int_eq(hg_string_object_free(NULL), HG_SUCCESS);
    ck_assert_int_eq(hg_string_object_init(NULL), HG_INVALID_ARG);
    ck_assert_int_eq(hg_string_object_init_char(NULL, NULL, 0), HG_INVALID_ARG);
    ck_assert_int_eq(
        hg_string_object_init_const_char(NULL, "", 0), HG_INVALID_ARG);
}
END_TEST

START_TEST(object_dup_owns_its_copy)
{
    hg_string_object_t object, copy;

    hg_string_object_init_const_char(&object, "original", 0);
    ck_assert_int_eq(hg_string_object_dup(object, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(hg_string_object_dup(object, &copy), HG_SUCCESS);
    ck_assert_str_eq(copy.data, "original");
    ck_assert_ptr_ne(copy.data, object.data);
    ck_assert(!copy.is_const && copy.is_owned);
    hg_string_object_free(&copy);
    hg_string_object_init(&object);
    ck_assert_int_eq(hg_string_object_dup(object, &copy), HG_SUCCESS);
    ck_assert_ptr_null(copy.data);
    ck_assert(!copy.is_owned);
}
END_TEST

START_TEST(object_swap_exchanges_strings)
{
    char *first = strdup("first"), *second = strdup("second");
    hg_string_object_t object;

    hg_string_object_init_char(&object, first, 1);
    ck_assert_ptr_eq(hg_string_object_swap(&object, second), first);
    ck_assert_ptr_eq(object.data, second);
    ck_assert(object.is_owned);
    free(first);
    hg_string_object_free(&object);
    ck_assert_ptr_null(hg_string_object_swap(NULL, NULL));
}
END_TEST

int
main(void)
{
    TCase *tc = tcase_create("proc_string");

    tcase_add_test(tc, string_encoded_with_length_and_zero);
    tcase_add_test(tc, string_well_formed_decoded);
    tcase_add_test(tc, string_truncated_at_each_byte_is_overflow);
    tcase_add_test(tc, string_with_false_length_rejected);
    tcase_add_test(tc, string_with_zero_before_end_rejected);
    tcase_add_test(tc, string_without_terminating_zero_rejected);
    tcase_add_test(tc, string_const_survives_trip);
    tcase_add_test(tc, string_past_end_moves_to_extra_buffer);
    tcase_add_test(tc, in_place_encoded_and_decoded);
    tcase_add_test(tc, in_place_more_than_left_null);
    tcase_add_test(tc, in_place_restore_of_other_bytes_invalid);
    tcase_add_test(tc, object_survives_trip_owned);
    tcase_add_test(tc, object_free_only_what_is_owned);
    tcase_add_test(tc, object_dup_owns_its_copy);
    tcase_add_test(tc, object_swap_exchanges_strings);
    return run_tcase("proc_string", tc);
}
