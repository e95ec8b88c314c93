/* SPDX-License-Identifier: BSD-3-Clause */
/* One proc for several messages: each begins in the caller's buffer, however
 * large the previous one was, and nothing of it is kept. */
#include "proc/proc.h"
#include "runner.h"

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CLASS ((hg_class_t *) 1)
#define SMALL 20U

/* Extra buffers are multiples of this size, and PROC_EXTRA_TAIL. */
#define UNIT 4096U

/* Counts live extra buffers. libcheck allocates too. */
static void *buffers[8];

static void
replace(const void *old, void *new)
{
    for (int i = 0; i < 8; i++)
        if (buffers[i] == old) {
            buffers[i] = new;
            return;
        }
    if (!old)
        abort(); /* more than a test needs */
}

static int
live_buffers(void)
{
    int count = 0;

    for (int i = 0; i < 8; i++)
        count += buffers[i] != NULL;
    return count;
}

static bool
is_extra(size_t size)
{
    return size >= UNIT && size % UNIT == PROC_EXTRA_TAIL;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);

void *
__wrap_malloc(size_t size)
{
    void *memory = __real_malloc(size);

    if (memory && is_extra(size))
        replace(NULL, memory);
    return memory;
}

void *
__wrap_realloc(void *memory, size_t size)
{
    void *moved;

    if (memory)
        replace(memory, NULL);
    moved = __real_realloc(memory, size);
    if (moved && is_extra(size))
        replace(NULL, moved);
    return moved;
}

void
__wrap_free(void *memory)
{
    if (memory)
        replace(memory, NULL);
    __real_free(memory);
}

static void
put_numbers(hg_proc_t proc, uint64_t from, uint64_t count)
{
    for (uint64_t i = from; i < from + count; i++)
        ck_assert_int_eq(hg_proc_uint64_t(proc, &i), HG_SUCCESS);
}

static void
ck_numbers(const void *bytes, uint64_t from, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number;

        memcpy(&number, (const char *) bytes + i * 8, 8);
        ck_assert_msg(number == from + i, "number %llu is %llu, not %llu",
            (unsigned long long) i, (unsigned long long) number,
            (unsigned long long) (from + i));
    }
}

static void
reset(hg_proc_t proc, void *buf, hg_size_t size, hg_proc_op_t op)
{
    ck_assert_int_eq(hg_proc_reset(proc, buf, size, op), HG_SUCCESS);
    ck_assert_msg(hg_proc_get_extra_buf(proc) == NULL,
        "the proc is not in the buffer of the caller");
    ck_assert_uint_eq(hg_proc_get_extra_size(proc), 0);
    ck_assert_uint_eq(hg_proc_get_size(proc), size);
    ck_assert_uint_eq(hg_proc_get_size_used(proc), 0);
    ck_assert_uint_eq(hg_proc_get_size_left(proc), size);
}

START_TEST(reset_after_growth_encodes_into_callers_buffer)
{
    hg_proc_t proc;
    char buf[SMALL], other[SMALL];

    ck_assert_int_eq(hg_proc_create(CLASS, HG_NOHASH, &proc), HG_SUCCESS);
    for (uint64_t round = 0; round < 3; round++) {
        reset(proc, buf, sizeof buf, HG_ENCODE);
        put_numbers(proc, round, 1000);
        ck_numbers(hg_proc_get_extra_buf(proc), round, 1000);
        ck_numbers(buf, round, 2);
        ck_assert_int_eq(live_buffers(), 1);

        reset(proc, other, sizeof other, HG_ENCODE);
        ck_assert_msg(live_buffers() == 0, "the buffer of before is kept");
        memset(other, 0, sizeof other);
        put_numbers(proc, 77 + round, 2);
        ck_assert_ptr_null(hg_proc_get_extra_buf(proc));
        ck_assert_uint_eq(hg_proc_get_size_used(proc), 16);
        ck_numbers(other, 77 + round, 2);
        ck_numbers(buf, round, 2);

        /* It grows from this buffer as the first message did from its own. */
        put_numbers(proc, 79 + round, 1);
        ck_assert_uint_lt(hg_proc_get_extra_size(proc), 8000);
        ck_numbers(hg_proc_get_extra_buf(proc), 77 + round, 3);
    }
    ck_assert_int_eq(hg_proc_free(proc), HG_SUCCESS);
    ck_assert_int_eq(live_buffers(), 0);
}
END_TEST

START_TEST(reset_after_growth_decodes_from_callers_buffer)
{
    hg_proc_t proc;
    char buf[SMALL];
    uint64_t number;

    ck_assert_int_eq(hg_proc_create(CLASS, HG_NOHASH, &proc), HG_SUCCESS);
    reset(proc, buf, sizeof buf, HG_ENCODE);
    put_numbers(proc, 5, 1000);
    reset(proc, buf, 16, HG_DECODE);
    ck_assert_int_eq(live_buffers(), 0);
    for (uint64_t i = 5; i < 7; i++) {
        ck_assert_int_eq(hg_proc_uint64_t(proc, &number), HG_SUCCESS);
        ck_assert_uint_eq(number, i);
    }
    ck_assert_int_eq(hg_proc_uint64_t(proc, &number), HG_OVERFLOW);
    reset(proc, NULL, 0, HG_FREE);
    ck_assert_int_eq(hg_proc_free(proc), HG_SUCCESS);
    ck_assert_int_eq(live_buffers(), 0);
}
END_TEST

/* A buffer taken by the program stays the program's. */
START_TEST(reset_keeps_a_taken_buffer)
{
    hg_proc_t proc;
    char buf[SMALL];
    void *mine;

    ck_assert_int_eq(hg_proc_create(CLASS, HG_NOHASH, &proc), HG_SUCCESS);
    reset(proc, buf, sizeof buf, HG_ENCODE);
    put_numbers(proc, 9, 1000);
    mine = hg_proc_get_extra_buf(proc);
    ck_assert_int_eq(hg_proc_set_extra_buf_is_mine(proc, 1), HG_SUCCESS);
    /* Neither this buffer, which the message outgrows, nor the next one is
     * freed. */
    ck_assert_int_eq(hg_proc_set_size(proc, 100 * UNIT), HG_SUCCESS);
    ck_assert_int_eq(live_buffers(), 2);
    reset(proc, buf, sizeof buf, HG_ENCODE);
    ck_assert_int_eq(live_buffers(), 1);
    put_numbers(proc, 3, 1000);
    ck_assert_ptr_ne(hg_proc_get_extra_buf(proc), mine);
    ck_numbers(mine, 9, 1000);
    reset(proc, buf, sizeof buf, HG_ENCODE);
    ck_assert_int_eq(live_buffers(), 1);
    free(mine);
    ck_assert_int_eq(hg_proc_free(proc), HG_SUCCESS);
    ck_assert_int_eq(live_buffers(), 0);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("proc_reset");

    tcase_add_test(tcase, reset_after_growth_encodes_into_callers_buffer);
    tcase_add_test(tcase, reset_after_growth_decodes_from_callers_buffer);
    tcase_add_test(tcase, reset_keeps_a_taken_buffer);
    return run_tcase("proc_reset", tcase);
}
