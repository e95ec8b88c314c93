/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies within one process. This file replaces memcpy by one that corrupts
 * overlapping ranges; the system's may not.
 */
#include "bulk/bulk.h"
#include "runner.h"

#include <check.h>
#include <string.h>

#define SIZE 100000U

void *__wrap_memcpy(void *to, const void *from, size_t size);

void *
__wrap_memcpy(void *to, const void *from, size_t size)
{
    const volatile char *source = from;
    volatile char *sink = to;

    if ((uintptr_t) to > (uintptr_t) from)
        for (size_t i = 0; i < size; i++)
            sink[i] = source[i];
    else
        for (size_t i = size; i-- > 0;)
            sink[i] = source[i];
    return to;
}

static char memory[SIZE], expected[SIZE];

/* Copies memory onto itself, through one or two registrations of so many
 * segments. */
static void
ck_shifted(uint32_t from_count, uint32_t to_count, size_t from, size_t to)
{
    const uint32_t counts[2] = {from_count, to_count};
    struct hg_bulk bulks[2] = {{.size = SIZE}, {.size = SIZE}};
    na_plugin_segment segments[2][8];
    size_t size = SIZE - (from > to ? from : to);

    for (size_t i = 0; i < SIZE; i++)
        memory[i] = expected[i] = (char) (i * 7 + i / 251);
    memmove(expected + to, expected + from, size);
    for (int side = 0; side < 2; side++) {
        size_t part = SIZE / counts[side];

        for (uint32_t i = 0; i < counts[side]; i++)
            segments[side][i] = (na_plugin_segment){.base = memory + i * part,
                .length = i + 1 < counts[side] ? part : SIZE - i * part};
        bulks[side].segments = segments[side];
        bulks[side].segment_count = counts[side];
    }
    ck_assert_int_eq(
        bulk_copy(&bulks[0], from,
            from_count == to_count ? &bulks[0] : &bulks[1], to, size),
        HG_SUCCESS);
    ck_assert_msg(memcmp(memory, expected, SIZE) == 0,
        "%u segments onto %u, from %zu to %zu: the bytes are not those that "
        "were there",
        from_count, to_count, from, to);
}

static const size_t shifts[] = {1, 7, 64, 4096, SIZE / 2, SIZE - 1};

START_TEST(copy_within_one_registration_overlaps)
{
    for (uint32_t count = 1; count <= 4; count++) {
        ck_shifted(count, count, 0, shifts[_i]);
        ck_shifted(count, count, shifts[_i], 0);
    }
}
END_TEST

START_TEST(copy_between_registrations_of_the_same_memory_overlaps)
{
    for (uint32_t from = 1; from <= 4; from++)
        for (uint32_t to = 1; to <= 4; to++) {
            ck_shifted(from, to, 0, shifts[_i]);
            ck_shifted(from, to, shifts[_i], 0);
        }
}
END_TEST

/* The first segment of one registration is the last of the other. */
START_TEST(copy_onto_segments_in_another_order_overlaps)
{
    na_plugin_segment forward[] = {{.base = memory, .length = SIZE / 2},
        {.base = memory + SIZE / 2, .length = SIZE / 2}};
    na_plugin_segment backward[] = {forward[1], forward[0]};
    struct hg_bulk from = {
        .segments = forward, .segment_count = 2, .size = SIZE};
    struct hg_bulk to = {
        .segments = backward, .segment_count = 2, .size = SIZE};

    for (size_t i = 0; i < SIZE; i++)
        memory[i] = (char) (i * 7 + i / 251);
    memcpy(expected, memory + SIZE / 2, SIZE / 2);
    memcpy(expected + SIZE / 2, memory, SIZE / 2);
    ck_assert_int_eq(bulk_copy(&from, 0, &to, 0, SIZE), HG_SUCCESS);
    ck_assert_msg(memcmp(memory, expected, SIZE) == 0, "the halves are not "
                                                       "exchanged");
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("copy");
    int count = (int) (sizeof shifts / sizeof shifts[0]);

    tcase_add_loop_test(tcase, copy_within_one_registration_overlaps, 0, count);
    tcase_add_loop_test(tcase,
        copy_between_registrations_of_the_same_memory_overlaps, 0, count);
    tcase_add_test(tcase, copy_onto_segments_in_another_order_overlaps);
    return run_tcase("copy", tcase);
}
