/* SPDX-License-Identifier: BSD-3-Clause */
/* Macros that generate or name procs: sequences of any length,
 * MERCURY_REGISTER, and aliases of procs. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "mercury_macros.h"
#include "runner.h"

#define CLASS ((hg_class_t *) 1) /* only returned */

MERCURY_GEN_PROC(one_t, ((hg_uint32_t) (value)))
MERCURY_GEN_PROC(clashing_names_t, ((hg_uint8_t) (ret))((hg_uint8_t) (proc)))

/* clang-format off */

/* Each kind of field; whitespace between elements is allowed. */
MERCURY_GEN_PROC(mixed_t,
    ((int8_t)(i8)) ((uint16_t)(u16))
    ((hg_bool_t)(flag))
    ((hg_const_string_t)(name))
    ((hg_size_t) (size)) ((hg_id_t) (id))
    ((hg_string_t)(text))((one_t)(inner)))

/* An existing struct, with the fields in another order. */
typedef struct {
    int64_t last;
    struct {
        int32_t x;
    } ignored;
    uint8_t first;
} existing_t;
MERCURY_GEN_STRUCT_PROC(existing_t, ((uint8_t) (first))((int64_t) (last)))

/* Sequence and name may come from macros. */
#define NAME named_t
#define FIELDS ((uint8_t) (a))((uint8_t) (b))
MERCURY_GEN_PROC(NAME, FIELDS)

/* Unused, which must not cause a warning. */
MERCURY_GEN_PROC(uncalled_t, ((uint8_t) (a)))

/* Long sequences of 2-byte fields, so that the struct has no padding. */
#define FIELD(name) ((uint16_t) (name))
#define TEN(name) \
    FIELD(name##0) FIELD(name##1) FIELD(name##2) FIELD(name##3) FIELD(name##4) \
    FIELD(name##5) FIELD(name##6) FIELD(name##7) FIELD(name##8) FIELD(name##9)
#define HUNDRED(name) \
    TEN(name##0) TEN(name##1) TEN(name##2) TEN(name##3) TEN(name##4) \
    TEN(name##5) TEN(name##6) TEN(name##7) TEN(name##8) TEN(name##9)
MERCURY_GEN_PROC(two_t, FIELD(a) FIELD(b))
MERCURY_GEN_PROC(forty_t, TEN(a) TEN(b) TEN(c) TEN(d))
MERCURY_GEN_PROC(forty_one_t, TEN(a) TEN(b) TEN(c) TEN(d) FIELD(e))
MERCURY_GEN_PROC(three_hundred_t, HUNDRED(a) HUNDRED(b) HUNDRED(c))

/* clang-format on */

_Static_assert(sizeof(two_t) == 2 * 2, "two fields");
_Static_assert(sizeof(forty_t) == 40 * 2, "forty fields");
_Static_assert(sizeof(forty_one_t) == 41 * 2, "forty-one fields");
_Static_assert(sizeof(three_hundred_t) == 300 * 2, "three hundred fields");

static hg_proc_t
make(void *buf, size_t size, hg_proc_op_t op)
{
    hg_proc_t proc = HG_PROC_NULL;

    ck_assert_int_eq(
        hg_proc_create_set(CLASS, buf, size, op, HG_NOHASH, &proc), HG_SUCCESS);
    return proc;
}

/* A generated proc of `count` 2-byte fields: order, and the first error. */
static void
ck_long(hg_proc_cb_t callback, size_t count)
{
    uint16_t values[300], decoded[300];
    uint8_t wire[600];
    hg_proc_t proc = make(wire, sizeof(wire), HG_ENCODE);

    for (size_t i = 0; i < count; i++)
        values[i] = (uint16_t) (0x1000 + i);
    ck_assert_int_eq(callback(proc, values), HG_SUCCESS);
    ck_assert_uint_eq(hg_proc_get_size_used(proc), 2 * count);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(wire[2 * i] | wire[2 * i + 1] << 8, values[i]);

    for (size_t cut = 0; cut <= 2 * count; cut++) {
        uint8_t *buf = malloc(cut > 0 ? cut : 1);
        size_t complete = cut / 2;

        ck_assert_ptr_nonnull(buf);
        memcpy(buf, wire, cut);
        memset(decoded, 0, sizeof(decoded));
        hg_proc_reset(proc, buf, cut, HG_DECODE);
        ck_assert_int_eq(callback(proc, decoded),
            complete == count ? HG_SUCCESS : HG_OVERFLOW);
        /* Fields decoded before an error are freed. */
        ck_assert_int_eq(
            hg_proc_get_op(proc), complete == count ? HG_DECODE : HG_FREE);
        for (size_t i = 0; i < count; i++)
            ck_assert_uint_eq(decoded[i], i < complete ? values[i] : 0);
        free(buf);
    }
    hg_proc_free(proc);
}

START_TEST(generated_of_any_length_in_order)
{
    ck_long(hg_proc_two_t, 2);
    ck_long(hg_proc_forty_t, 40);
    ck_long(hg_proc_forty_one_t, 41);
    ck_long(hg_proc_three_hundred_t, 300);
}
END_TEST

START_TEST(generated_of_one_field_survives_trip)
{
    one_t one = {0x01020304}, got = {0};
    char buf[4];
    hg_proc_t proc = make(buf, sizeof(buf), HG_ENCODE);

    ck_assert_int_eq(hg_proc_one_t(proc, &one), HG_SUCCESS);
    ck_assert_mem_eq(buf, "\x04\x03\x02\x01", 4);
    hg_proc_reset(proc, buf, sizeof(buf), HG_DECODE);
    ck_assert_int_eq(hg_proc_one_t(proc, &got), HG_SUCCESS);
    ck_assert_uint_eq(got.value, one.value);
    hg_proc_free(proc);
}
END_TEST

START_TEST(generated_of_mixed_fields_survives_trip)
{
    char text[] = "text";
    mixed_t sent = {.i8 = -3,
        .u16 = 4,
        .flag = HG_TRUE,
        .name = "name",
        .size = (hg_size_t) 1 << 40,
        .id = 5,
        .text = text,
        .inner = {.value = 6}};
    mixed_t got;
    uint8_t wire[64];
    hg_proc_t proc = make(wire, sizeof(wire), HG_ENCODE);
    size_t size;

    ck_assert_int_eq(hg_proc_mixed_t(proc, &sent), HG_SUCCESS);
    size = hg_proc_get_size_used(proc);
    ck_assert_uint_eq(size, 1 + 2 + 1 + (8 + 7) + 8 + 4 + (8 + 7) + 4);

    hg_proc_reset(proc, wire, size, HG_DECODE);
    ck_assert_int_eq(hg_proc_mixed_t(proc, &got), HG_SUCCESS);
    ck_assert_int_eq(got.i8, -3);
    ck_assert_uint_eq(got.u16, 4);
    ck_assert_uint_eq(got.flag, HG_TRUE);
    ck_assert_str_eq(got.name, "name");
    ck_assert_uint_eq(got.size, sent.size);
    ck_assert_uint_eq(got.id, 5);
    ck_assert_str_eq(got.text, "text");
    ck_assert_uint_eq(got.inner.value, 6);
    hg_proc_reset(proc, NULL, 0, HG_FREE);
    ck_assert_int_eq(hg_proc_mixed_t(proc, &got), HG_SUCCESS);
    ck_assert_ptr_null(got.name);
    ck_assert_ptr_null(got.text);

    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *buf = malloc(cut > 0 ? cut : 1);

        ck_assert_ptr_nonnull(buf);
        memcpy(buf, wire, cut);
        memset(&got, 0, sizeof(got));
        hg_proc_reset(proc, buf, cut, HG_DECODE);
        ck_assert_int_eq(hg_proc_mixed_t(proc, &got), HG_OVERFLOW);
        /* Fields decoded before the error were freed. */
        ck_assert_ptr_null(got.name);
        ck_assert_ptr_null(got.text);
        free(buf);
    }
    hg_proc_free(proc);
}
END_TEST

START_TEST(generated_error_in_the_middle_returned)
{
    mixed_t sent = {.id = (hg_id_t) 1 << 32};
    uint8_t wire[64];
    hg_proc_t proc = make(wire, sizeof(wire), HG_ENCODE);

    ck_assert_int_eq(hg_proc_mixed_t(proc, &sent), HG_INVALID_ARG);
    ck_assert_uint_eq(hg_proc_get_size_used(proc), 1 + 2 + 1 + 8 + 8);
    hg_proc_free(proc);
}
END_TEST

START_TEST(generated_for_existing_struct_in_its_order)
{
    existing_t existing = {.last = 2, .ignored = {3}, .first = 1};
    named_t named = {4, 5};
    clashing_names_t names = {6, 7};
    uint8_t wire[16];
    hg_proc_t proc = make(wire, sizeof(wire), HG_ENCODE);

    ck_assert_int_eq(hg_proc_existing_t(proc, &existing), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_named_t(proc, &named), HG_SUCCESS);
    ck_assert_int_eq(hg_proc_clashing_names_t(proc, &names), HG_SUCCESS);
    ck_assert_uint_eq(hg_proc_get_size_used(proc), 9 + 2 + 2);
    ck_assert_mem_eq(wire, "\1\2\0\0\0\0\0\0\0\4\5\6\7", 13);
    hg_proc_free(proc);
}
END_TEST

/* The expansion of MERCURY_REGISTER, without a class. */
static struct {
    hg_class_t *hg_class;
    const char *name;
    hg_proc_cb_t in, out;
    hg_rpc_cb_t rpc;
} registered;

static hg_id_t
note_registration(hg_class_t *hg_class, const char *name, hg_proc_cb_t in,
    hg_proc_cb_t out, hg_rpc_cb_t rpc)
{
    registered.hg_class = hg_class;
    registered.name = name;
    registered.in = in;
    registered.out = out;
    registered.rpc = rpc;
    return 77;
}
#define HG_Register_name note_registration

static hg_return_t
handle_rpc(hg_handle_t handle)
{
    (void) handle;
    return HG_SUCCESS;
}

START_TEST(register_by_struct_names_procs)
{
    ck_assert_uint_eq(
        MERCURY_REGISTER(CLASS, "one", one_t, two_t, handle_rpc), 77);
    ck_assert_ptr_eq(registered.hg_class, CLASS);
    ck_assert_str_eq(registered.name, "one");
    ck_assert(registered.in == hg_proc_one_t);
    ck_assert(registered.out == hg_proc_two_t);
    ck_assert(registered.rpc == handle_rpc);
    ck_assert_uint_eq(MERCURY_REGISTER(CLASS, "none", void, NAME, NULL), 77);
    ck_assert(registered.in == NULL);
    ck_assert(registered.out == hg_proc_named_t);
    MERCURY_REGISTER(CLASS, "size", hg_size_t, void, NULL);
    ck_assert(registered.in == hg_proc_uint64_t);
    ck_assert(registered.out == NULL);
}
END_TEST

#if defined(__has_include)
#if __has_include(<boost/preprocessor.hpp>)
START_TEST(boost_headers_stay_usable)
{
    int BOOST_PP_CAT(some, thing) = BOOST_PP_ADD(20, 22);

    ck_assert_int_eq(something, 42);
}
END_TEST
#define HAVE_BOOST
#endif
#endif

static hg_int8_t i8 = -1;
static hg_uint8_t u8 = 2;
static hg_int16_t i16 = -3;
static hg_uint16_t u16 = 4;
static hg_int32_t i32 = -5;
static hg_uint32_t u32 = 6;
static hg_int64_t i64 = -7;
static hg_uint64_t u64 = 8;
static hg_bool_t flag = HG_TRUE;
static hg_size_t size = 9;
static hg_ptr_t ptr = 10;
static hg_id_t id = 11;

static const struct {
    hg_proc_cb_t callback;
    void *data;
    size_t size, wire_size;
} names[] = {
    {hg_proc_hg_int8_t, &i8, 1, 1},
    {hg_proc_hg_uint8_t, &u8, 1, 1},
    {hg_proc_hg_int16_t, &i16, 2, 2},
    {hg_proc_hg_uint16_t, &u16, 2, 2},
    {hg_proc_hg_int32_t, &i32, 4, 4},
    {hg_proc_hg_uint32_t, &u32, 4, 4},
    {hg_proc_hg_int64_t, &i64, 8, 8},
    {hg_proc_hg_uint64_t, &u64, 8, 8},
    {hg_proc_hg_bool_t, &flag, 1, 1},
    {hg_proc_hg_size_t, &size, 8, 8},
    {hg_proc_hg_ptr_t, &ptr, 8, 8},
    {hg_proc_hg_id_t, &id, 8, 4},
};

START_TEST(aliases_are_the_same_procs)
{
    char buf[64], raw[2] = "x", mem[2] = "y";
    hg_proc_t proc = make(buf, sizeof(buf), HG_ENCODE);

    for (int op = HG_ENCODE; op <= HG_DECODE; op++) {
        size_t used = 0;

        hg_proc_reset(proc, buf, sizeof(buf), (hg_proc_op_t) op);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            ck_assert_int_eq(
                names[i].callback(proc, names[i].data), HG_SUCCESS);
            used += names[i].wire_size;
            ck_assert_uint_eq(hg_proc_get_size_used(proc), used);
            if (op == HG_ENCODE)
                memset(names[i].data, 0xff, names[i].size);
        }
        ck_assert_int_eq(hg_proc_raw(proc, raw, 2), HG_SUCCESS);
        ck_assert_int_eq(hg_proc_memcpy(proc, mem, 2), HG_SUCCESS);
    }
    ck_assert(i8 == -1 && u8 == 2 && i16 == -3 && u16 == 4 && i32 == -5);
    ck_assert(u32 == 6 && i64 == -7 && u64 == 8 && flag == HG_TRUE);
    ck_assert(size == 9 && ptr == 10 && id == 11);
    ck_assert_str_eq(raw, "x");
    ck_assert_str_eq(mem, "y");
    hg_proc_free(proc);
}
END_TEST

START_TEST(id_of_more_than_32_bits_invalid)
{
    hg_id_t large = UINT32_MAX, got = 5;
    uint8_t buf[4];
    hg_proc_t proc = make(buf, sizeof(buf), HG_ENCODE);

    ck_assert_int_eq(hg_proc_hg_id_t(proc, &large), HG_SUCCESS);
    ck_assert_mem_eq(buf, "\xff\xff\xff\xff", 4);
    hg_proc_reset(proc, buf, sizeof(buf), HG_DECODE);
    ck_assert_int_eq(hg_proc_hg_id_t(proc, &got), HG_SUCCESS);
    ck_assert_uint_eq(got, UINT32_MAX);
    ck_assert_int_eq(hg_proc_hg_id_t(proc, &large), HG_OVERFLOW);

    large++;
    hg_proc_reset(proc, buf, sizeof(buf), HG_ENCODE);
    ck_assert_int_eq(hg_proc_hg_id_t(proc, &large), HG_INVALID_ARG);
    ck_assert_uint_eq(hg_proc_get_size_used(proc), 0);
    hg_proc_reset(proc, NULL, 0, HG_FREE);
    ck_assert_int_eq(hg_proc_hg_id_t(proc, &large), HG_SUCCESS);
    ck_assert_uint_eq(large, (hg_id_t) 1 << 32);
    hg_proc_free(proc);
}
END_TEST

int
main(void)
{
    TCase *tc = tcase_create("macros");

    tcase_add_test(tc, generated_of_any_length_in_order);
    tcase_add_test(tc, generated_of_one_field_survives_trip);
    tcase_add_test(tc, generated_of_mixed_fields_survives_trip);
    tcase_add_test(tc, generated_error_in_the_middle_returned);
    tcase_add_test(tc, generated_for_existing_struct_in_its_order);
    tcase_add_test(tc, register_by_struct_names_procs);
    tcase_add_test(tc, aliases_are_the_same_procs);
    tcase_add_test(tc, id_of_more_than_32_bits_invalid);
#ifdef HAVE_BOOST
    tcase_add_test(tc, boost_headers_stay_usable);
#endif
    return run_tcase("macros", tc);
}
