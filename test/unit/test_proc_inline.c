/* SPDX-License-Identifier: BSD-3-Clause */
/* What mercury_proc.h compiles into programs does as the library's functions do. */
#include <stdlib.h>

#include "proc_case.h"
#include "runner.h"

#define MOST 200U

/* A function of the library, called by its address, and the same inline. */
struct pair {
    hg_proc_cb_t called;
    hg_proc_cb_t inlined;
    size_t size;
};

#define INTEGER(name)                                                          \
    static hg_return_t inline_##name(hg_proc_t proc, void *data)               \
    {                                                                          \
        return hg_proc_##name(proc, data);                                     \
    }

INTEGER(int8_t)
INTEGER(uint8_t)
INTEGER(int16_t)
INTEGER(uint16_t)
INTEGER(int32_t)
INTEGER(uint32_t)
INTEGER(int64_t)
INTEGER(uint64_t)

static hg_return_t (*volatile bytes_called)(
    hg_proc_t proc, void *data, hg_size_t size) = hg_proc_bytes;

#define BYTES(size)                                                            \
    static hg_return_t inline_##size(hg_proc_t proc, void *data)               \
    {                                                                          \
        return hg_proc_bytes(proc, data, size);                                \
    }                                                                          \
    static hg_return_t called_##size(hg_proc_t proc, void *data)               \
    {                                                                          \
        return bytes_called(proc, data, size);                                 \
    }

BYTES(0)
BYTES(3)
BYTES(31)
BYTES(64)
BYTES(128)
BYTES(129)

#define OF_TYPE(name)                                                          \
    {                                                                          \
        hg_proc_##name, inline_##name, sizeof(name)                            \
    }
#define OF_BYTES(size)                                                         \
    {                                                                          \
        called_##size, inline_##size, size                                     \
    }

static const struct pair pairs[] = {OF_TYPE(int8_t), OF_TYPE(uint8_t),
    OF_TYPE(int16_t), OF_TYPE(uint16_t), OF_TYPE(int32_t), OF_TYPE(uint32_t),
    OF_TYPE(int64_t), OF_TYPE(uint64_t), OF_BYTES(0), OF_BYTES(3), OF_BYTES(31),
    OF_BYTES(64), OF_BYTES(128), OF_BYTES(129)};

enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };

static void
fill(char *bytes, char first)
{
    for (size_t i = 0; i < MOST; i++)
        bytes[i] = (char) (first + (char) i);
}

/* What one operation has left. */
struct outcome {
    hg_return_t ret;
    size_t used;
    bool extra;
    char buffer[MOST]; /* the message, also if it is in an extra buffer */
    char data[MOST];
};

/* Runs a function twice in a message with room for `room` bytes. */
static void
run(hg_proc_cb_t function, hg_proc_op_t op, size_t room,
    struct outcome *outcome)
{
    hg_proc_t proc = make(HG_NOHASH);
    char *exact = malloc(room > 0 ? room : 1);
    char buffer[MOST];

    ck_assert_ptr_nonnull(exact);
    fill(buffer, 100);
    memcpy(exact, buffer, room);
    fill(outcome->data, 7);
    memset(outcome->buffer, 0, MOST);
    reset(proc, exact, room, op);
    outcome->ret = function(proc, outcome->data);
    if (outcome->ret == HG_SUCCESS)
        outcome->ret = function(proc, outcome->data);
    outcome->used = hg_proc_get_size_used(proc);
    outcome->extra = hg_proc_get_extra_buf(proc) != NULL;
    if (op != HG_FREE)
        memcpy(outcome->buffer,
            outcome->extra ? hg_proc_get_extra_buf(proc) : exact,
            outcome->extra ? outcome->used : room);
    hg_proc_free(proc);
    free(exact);
}

static void
ck_same(const struct pair *pair, hg_proc_op_t op, size_t room)
{
    struct outcome called, inlined;

    run(pair->called, op, room, &called);
    run(pair->inlined, op, room, &inlined);
    ck_assert_int_eq(inlined.ret, called.ret);
    ck_assert_uint_eq(inlined.used, called.used);
    ck_assert_int_eq(inlined.extra, called.extra);
    ck_assert_mem_eq(inlined.buffer, called.buffer, MOST);
    ck_assert_mem_eq(inlined.data, called.data, MOST);
}

/* With room for none, for one and for both, and with a byte less and more. */
static void
ck_rooms(const struct pair *pair, hg_proc_op_t op)
{
    for (size_t times = 0; times <= 2; times++)
        for (size_t more = 0; more <= 2; more++)
            if (times * pair->size + more >= 1 &&
                times * pair->size + more - 1 <= MOST)
                ck_same(pair, op, times * pair->size + more - 1);
}

START_TEST(inline_encodes_as_called)
{
    ck_rooms(&pairs[_i], HG_ENCODE);
}
END_TEST

START_TEST(inline_decodes_as_called)
{
    ck_rooms(&pairs[_i], HG_DECODE);
}
END_TEST

START_TEST(inline_free_does_nothing)
{
    struct outcome outcome;
    char before[MOST];

    fill(before, 7);
    ck_same(&pairs[_i], HG_FREE, 0);
    run(pairs[_i].inlined, HG_FREE, 0, &outcome);
    ck_assert_int_eq(outcome.ret, HG_SUCCESS);
    ck_assert_uint_eq(outcome.used, 0);
    ck_assert_mem_eq(outcome.data, before, MOST);
}
END_TEST

/* Also that the compiler does not warn of variables which are only set by decoding. */
START_TEST(inline_decodes_into_unset_variables)
{
    hg_proc_t proc = make(HG_NOHASH);
    char buffer[] = {1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3};
    uint32_t first;
    uint64_t second;
    char third;

    reset(proc, buffer, sizeof(buffer), HG_DECODE);
    ck_assert_int_eq(hg_proc_uint32_t(proc, &first), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_uint64_t(proc, &second), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_bytes(proc, &third, sizeof(third)), HG_SUCCESS);
    ck_assert_uint_eq(first, 1);
    ck_assert_uint_eq(second, 2);
    ck_assert_int_eq(third, 3);
    hg_proc_free(proc);
}
END_TEST

START_TEST(inline_op_as_called)
{
    hg_proc_op_t (*volatile called)(hg_proc_t proc) = hg_proc_get_op;
    hg_proc_t proc = make(HG_NOHASH);
    char byte[1];

    ck_assert_int_eq(hg_proc_get_op(proc), HG_DECODE);
    for (int op = HG_ENCODE; op <= HG_FREE; op++) {
        reset(proc, byte, sizeof(byte), (hg_proc_op_t) op);
        ck_assert_int_eq(hg_proc_get_op(proc), op);
        ck_assert_int_eq(called(proc), op);
    }
    hg_proc_free(proc);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("proc_inline");

    tcase_add_loop_test(tcase, inline_encodes_as_called, 0, PAIRS);
    tcase_add_loop_test(tcase, inline_decodes_as_called, 0, PAIRS);
    tcase_add_loop_test(tcase, inline_free_does_nothing, 0, PAIRS);
    tcase_add_test(tcase, inline_decodes_into_unset_variables);
    tcase_add_test(tcase, inline_op_as_called);
    return run_tcase("proc_inline", tcase);
}
