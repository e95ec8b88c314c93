/* SPDX-License-Identifier: BSD-3-Clause */
/* Procs: checksums of messages. */
#include <check.h>
#include <string.h>

#include "proc_case.h"
#include "runner.h"

/* Encodes three numbers and returns their checksum. */
static void
put_hashed(hg_proc_t proc, void *buf, size_t size, void *hash)
{
    memset(hash, 0, 8);
    reset(proc, buf, size, HG_ENCODE);
    put_numbers(proc, 3);
    ck_assert_int_eq(hg_proc_flush(proc), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_checksum_get(proc, hash, 8), HG_SUCCESS);
}

START_TEST(checksum_of_message_verified)
{
    static const size_t widths[] = {2, 4, 8};

    for (int kind = HG_CRC16; kind <= HG_CRC64; kind++) {
        hg_proc_t proc = make((hg_proc_hash_t) kind);
        size_t width = widths[kind];
        uint8_t buf[24], hash[8], again[8], number[8];

        /* In the caller's buffer or an extra one. */
        put_hashed(proc, buf, 9, again);
        ck_assert_ptr_nonnull(hg_proc_get_extra_buf(proc));
        put_hashed(proc, buf, sizeof(buf), hash);
        ck_assert_mem_eq(hash, again, 8);
        for (size_t i = width; i < 8; i++)
            ck_assert_uint_eq(hash[i], 0);
        ck_assert_int_eq(
            hg_proc_checksum_get(proc, again, width - 1), HG_OVERFLOW);
        ck_assert_int_eq(hg_proc_checksum_get(proc, NULL, 8), HG_INVALID_ARG);

        reset(proc, buf, sizeof(buf), HG_DECODE);
        for (int i = 0; i < 3; i++) {
            /* The checksum of a part differs. */
            ck_assert_int_eq(
                hg_proc_checksum_verify(proc, hash, 8), HG_CHECKSUM_ERROR);
            ck_assert_int_eq(hg_proc_uint64_t(proc, number), HG_SUCCESS);
        }
        ck_assert_int_eq(hg_proc_checksum_verify(proc, hash, 8), HG_SUCCESS);
        ck_assert_int_eq(
            hg_proc_checksum_verify(proc, hash, width - 1), HG_OVERFLOW);
        hg_proc_free(proc);
    }
}
END_TEST

START_TEST(checksum_any_byte_changed_mismatch)
{
    hg_proc_t proc = make(HG_CRC32);
    uint8_t buf[24], hash[8], number[8];

    put_hashed(proc, buf, sizeof(buf), hash);
    for (size_t i = 0; i < sizeof(buf) + 4; i++) {
        uint8_t *byte = i < sizeof(buf) ? &buf[i] : &hash[i - sizeof(buf)];

        *byte ^= 0x10;
        reset(proc, buf, sizeof(buf), HG_DECODE);
        for (int n = 0; n < 3; n++)
            ck_assert_int_eq(hg_proc_uint64_t(proc, number), HG_SUCCESS);
        ck_assert_int_eq(
            hg_proc_checksum_verify(proc, hash, 4), HG_CHECKSUM_ERROR);
        *byte ^= 0x10;
    }
    ck_assert_int_eq(hg_proc_checksum_verify(proc, hash, 4), HG_SUCCESS);
    hg_proc_free(proc);
}
END_TEST

START_TEST(checksum_of_other_data_counts)
{
    hg_proc_t proc = make(HG_CRC64);
    uint8_t buf[24], plain[8], hash[8], other[] = "other";

    put_hashed(proc, buf, sizeof(buf), plain);
    /* Updating with the message's own bytes, or with none, changes nothing. */
    hg_proc_checksum_update(proc, buf, 24);
    hg_proc_checksum_update(proc, buf + 3, 8);
    hg_proc_checksum_update(proc, other, 0);
    ck_assert_int_eq(hg_proc_checksum_verify(proc, plain, 8), HG_SUCCESS);

    hg_proc_checksum_update(proc, other, sizeof(other));
    ck_assert_int_eq(hg_proc_checksum_get(proc, hash, 8), HG_SUCCESS);
    ck_assert_mem_ne(hash, plain, 8);
    put_hashed(proc, buf, sizeof(buf), plain);
    hg_proc_checksum_update(proc, other, sizeof(other));
    ck_assert_int_eq(hg_proc_checksum_verify(proc, hash, 8), HG_SUCCESS);
    other[0] ^= 1;
    put_hashed(proc, buf, sizeof(buf), plain);
    hg_proc_checksum_update(proc, other, sizeof(other));
    ck_assert_int_eq(hg_proc_checksum_verify(proc, hash, 8), HG_CHECKSUM_ERROR);
    hg_proc_free(proc);
}
END_TEST

START_TEST(checksum_of_nothing_is_xxh3)
{
    hg_proc_t proc = make(HG_CRC64);
    uint8_t hash[8];

    /* XXH3_64bits of no bytes: 0x2d06800538d394c2. */
    ck_assert_int_eq(hg_proc_checksum_get(proc, hash, 8), HG_SUCCESS);
    ck_assert_mem_eq(hash, "\xc2\x94\xd3\x38\x05\x80\x06\x2d", 8);
    hg_proc_free(proc);
}
END_TEST

START_TEST(checksum_without_hash_unsupported)
{
    hg_proc_t proc = make(HG_NOHASH);
    uint8_t hash[8] = {0};

    hg_proc_checksum_update(proc, hash, sizeof(hash));
    ck_assert_int_eq(hg_proc_flush(proc), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_checksum_get(proc, hash, 8), HG_OPNOTSUPPORTED);
    ck_assert_int_eq(hg_proc_checksum_verify(proc, hash, 8), HG_OPNOTSUPPORTED);
    hg_proc_free(proc);
}
END_TEST

int
main(void)
{
    TCase *tc = tcase_create("proc_checksum");

    tcase_add_test(tc, checksum_of_message_verified);
    tcase_add_test(tc, checksum_any_byte_changed_mismatch);
    tcase_add_test(tc, checksum_of_other_data_counts);
    tcase_add_test(tc, checksum_of_nothing_is_xxh3);
    tcase_add_test(tc, checksum_without_hash_unsupported);
    return run_tcase("proc_checksum", tc);
}
