/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls: arguments of every kind and size, and user headers. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <stdlib.h>
#include <string.h>

#define IN_OFFSET 16U
#define OUT_OFFSET 8U

MERCURY_GEN_PROC(inner_t, ((uint16_t) (number))((hg_const_string_t) (text)))
MERCURY_GEN_PROC(every_t,
    ((int8_t) (i8))((uint8_t) (u8))((int16_t) (i16))((uint16_t) (u16))(
        (int32_t) (i32))((uint32_t) (u32))((int64_t) (i64))((uint64_t) (u64))(
        (hg_bool_t) (flag))((hg_size_t) (size))((hg_string_t) (text))(
        (hg_string_t) (no_text))((hg_const_string_t) (empty_text))(
        (inner_t) (inner))((inner_t) (other))((blob_t) (blob)))

enum own {
    OWN_EVERY,
    OWN_MAKE,
    OWN_TWICE,
    OWN_BARE,
    OWN_NOBODYS, /* without a handler */
    OWN_PEEK,
    OWN_SHORT,
    OWN_HEADER,
    OWN_COUNT
};
static hg_id_t own_ids[OWN_COUNT];

static hg_return_t
on_every(hg_handle_t handle)
{
    every_t every;

    TARGET_ASSERT(HG_Get_input(handle, &every) == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &every) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(handle, &every) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

/* Responds with a blob of the requested encoded size. */
static hg_return_t
on_make(hg_handle_t handle)
{
    uint32_t size;
    blob_t blob;
    hg_return_t ret;

    TARGET_ASSERT(HG_Get_input(handle, &size) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(handle, &size) == HG_SUCCESS);
    blob = blob_make(size, size);
    ret = HG_Respond(handle, NULL, NULL, &blob);
    blob_free(&blob);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return ret;
}

/* Decodes its input twice. */
static hg_return_t
on_twice(hg_handle_t handle)
{
    int32_t refs = HG_Ref_get(handle);
    blob_t first, second;

    TARGET_ASSERT(HG_Get_input(handle, &first) == HG_SUCCESS);
    TARGET_ASSERT(HG_Ref_get(handle) == refs + 1);
    TARGET_ASSERT(HG_Get_input(handle, &second) == HG_SUCCESS);
    TARGET_ASSERT(HG_Ref_get(handle) == refs + 2);
    TARGET_ASSERT(blob_equal(&first, &second));
    TARGET_ASSERT(HG_Free_input(handle, &first) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(handle, &second) == HG_SUCCESS);
    TARGET_ASSERT(HG_Ref_get(handle) == refs);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

/* An RPC without procs: HG_Get_input fails. */
static hg_return_t
on_bare(hg_handle_t handle)
{
    uint32_t value;

    TARGET_ASSERT(HG_Get_input(handle, &value) == HG_FAULT);
    TARGET_ASSERT(HG_Get_input_payload_size(handle) == 0);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &value) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

/* An RPC with procs, called without a struct: there is nothing to decode. */
static hg_return_t
on_peek(hg_handle_t handle)
{
    int32_t refs = HG_Ref_get(handle);
    uint32_t value;

    TARGET_ASSERT(HG_Get_input_payload_size(handle) == 0);
    TARGET_ASSERT(HG_Get_input(handle, &value) == HG_OVERFLOW);
    TARGET_ASSERT(HG_Get_input(handle, NULL) == HG_INVALID_ARG);
    TARGET_ASSERT(HG_Free_input(handle, NULL) == HG_INVALID_ARG);
    TARGET_ASSERT(HG_Free_output(handle, NULL) == HG_INVALID_ARG);
    TARGET_ASSERT(HG_Ref_get(handle) == refs);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

/* The payload is shorter than a number, whatever the space for user headers. */
static hg_return_t
on_short(hg_handle_t handle)
{
    int32_t refs = HG_Ref_get(handle);
    uint32_t value;

    TARGET_ASSERT(HG_Get_input(handle, &value) == HG_OVERFLOW);
    TARGET_ASSERT(HG_Ref_get(handle) == refs);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

/* Reverses the caller's header, and echoes a number. */
static hg_return_t
on_header(hg_handle_t handle)
{
    unsigned char *in, *out;
    hg_size_t in_size, out_size;
    uint32_t number;

    TARGET_ASSERT(
        HG_Get_input_buf(handle, (void **) &in, &in_size) == HG_SUCCESS);
    TARGET_ASSERT(in_size == IN_OFFSET + sizeof number);
    TARGET_ASSERT(
        HG_Get_output_buf(handle, (void **) &out, &out_size) == HG_SUCCESS);
    TARGET_ASSERT(out_size > OUT_OFFSET);
    for (unsigned i = 0; i < OUT_OFFSET; i++)
        out[i] = in[IN_OFFSET - 1 - i];
    TARGET_ASSERT(HG_Get_input(handle, &number) == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &number) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(handle, &number) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static void
open_own(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    own_ids[OWN_EVERY] =
        MERCURY_REGISTER(hg_class, "every", every_t, every_t, on_every);
    own_ids[OWN_MAKE] =
        MERCURY_REGISTER(hg_class, "make", uint32_t, blob_t, on_make);
    own_ids[OWN_TWICE] =
        MERCURY_REGISTER(hg_class, "twice", blob_t, void, on_twice);
    own_ids[OWN_BARE] = MERCURY_REGISTER(hg_class, "bare", void, void, on_bare);
    own_ids[OWN_NOBODYS] =
        MERCURY_REGISTER(hg_class, "nobodys", void, void, NULL);
    own_ids[OWN_PEEK] =
        MERCURY_REGISTER(hg_class, "peek", uint32_t, uint32_t, on_peek);
    own_ids[OWN_SHORT] =
        MERCURY_REGISTER(hg_class, "short", uint32_t, uint32_t, on_short);
    own_ids[OWN_HEADER] =
        MERCURY_REGISTER(hg_class, "header", uint32_t, uint32_t, on_header);
}

static const struct session_setup setup = {
    .open = open_own, .stopping = rpcs_stopping};

static void
without_overflow(struct hg_init_info *info)
{
    info->no_overflow = true;
}

static const struct session_setup setup_eager = {
    .open = open_own, .init = without_overflow, .stopping = rpcs_stopping};

static void
open_with_offsets(hg_class_t *hg_class)
{
    open_own(hg_class);
    HG_Class_set_input_offset(hg_class, IN_OFFSET);
    HG_Class_set_output_offset(hg_class, OUT_OFFSET);
}

static const struct session_setup setup_offsets = {
    .open = open_with_offsets, .init = without_overflow};

static uint32_t
eager_in(const struct session *session)
{
    return (uint32_t) HG_Class_get_input_eager_size(session->hg_class);
}

static uint32_t
eager_out(const struct session *session)
{
    return (uint32_t) HG_Class_get_output_eager_size(session->hg_class);
}

static void
ck_inner(const inner_t *a, const inner_t *b)
{
    ck_assert_uint_eq(a->number, b->number);
    ck_assert_pstr_eq(a->text, b->text);
}

START_TEST(forward_every_type_is_echoed)
{
    char text[] = "some text";
    every_t in = {-1, 0xfe, -0x1234, 0xfedc, -0x12345678, 0xfedcba98, INT64_MIN,
        UINT64_MAX, HG_TRUE, 1ULL << 40, text, NULL, "", {7, "inside"},
        {8, NULL}, {0, NULL}};
    every_t out;
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    in.blob = blob_make(100, 1);
    handle = session_handle(&s, own_ids[OWN_EVERY]);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(out.i8, in.i8);
    ck_assert_uint_eq(out.u8, in.u8);
    ck_assert_int_eq(out.i16, in.i16);
    ck_assert_uint_eq(out.u16, in.u16);
    ck_assert_int_eq(out.i32, in.i32);
    ck_assert_uint_eq(out.u32, in.u32);
    ck_assert_int_eq(out.i64, in.i64);
    ck_assert_uint_eq(out.u64, in.u64);
    ck_assert_uint_eq(out.flag, in.flag);
    ck_assert_uint_eq(out.size, in.size);
    ck_assert_str_eq(out.text, in.text);
    ck_assert_ptr_null(out.no_text);
    ck_assert_str_eq(out.empty_text, "");
    ck_inner(&out.inner, &in.inner);
    ck_inner(&out.other, &in.other);
    ck_assert(blob_equal(&out.blob, &in.blob));
    ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in.blob);
    session_end(&s);
}
END_TEST

START_TEST(forward_nothing_runs_handler)
{
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_EMPTY], 1);
    ck_assert_uint_eq(HG_Get_input_payload_size(handle), 0);
    ck_assert_uint_eq(HG_Get_output_payload_size(handle), 0);
    ck_assert_int_eq(HG_Get_output(handle, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Free_output(handle, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Free_input(handle, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
echo(struct session *s, hg_handle_t handle, uint32_t size)
{
    blob_t in = blob_make(size, size), out;

    ck_assert_int_eq(session_forward(s, handle, &in), HG_SUCCESS);
    ck_assert_uint_eq(HG_Get_input_payload_size(handle), size);
    ck_assert_uint_eq(HG_Get_output_payload_size(handle), size);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert(blob_equal(&in, &out));
    ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
    blob_free(&in);
}

START_TEST(forward_sizes_up_to_eager_are_echoed)
{
    struct session s;
    hg_handle_t handle;
    uint32_t max;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    max = eager_in(&s) < eager_out(&s) ? eager_in(&s) : eager_out(&s);
    ck_assert_uint_gt(max, 200);
    for (uint32_t size = 4; size < 100; size++)
        echo(&s, handle, size);
    for (uint32_t size = 128; size < max; size *= 2) {
        echo(&s, handle, size - 1);
        echo(&s, handle, size);
        echo(&s, handle, size + 1);
    }
    echo(&s, handle, max - 1);
    echo(&s, handle, max);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(forward_input_beyond_eager_size_overflows)
{
    struct session s;
    hg_handle_t handle;
    blob_t in;

    session_begin(&s, _i, &setup_eager);
    log_expect("bytes of encoded arguments exceed", 1, 1);
    handle = session_handle(&s, own_ids[OWN_TWICE]);
    in = blob_make(eager_in(&s), 5);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    blob_free(&in);
    in = blob_make(eager_in(&s) + 1, 5);
    ck_assert_int_eq(HG_Forward(handle, call_done, NULL, &in), HG_OVERFLOW);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    blob_free(&in);
    in = blob_make(60, 6);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    blob_free(&in);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(forward_output_beyond_eager_size_overflows)
{
    struct session s;
    hg_handle_t handle;
    uint32_t size;
    blob_t out, expected;

    session_begin(&s, _i, &setup_eager);
    log_expect("bytes of encoded arguments exceed", 1, 1);
    handle = session_handle(&s, own_ids[OWN_MAKE]);
    size = eager_out(&s);
    ck_assert_int_eq(session_forward(&s, handle, &size), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
    expected = blob_make(size, size);
    ck_assert(blob_equal(&out, &expected));
    blob_free(&expected);
    ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
    size++;
    ck_assert_int_eq(session_forward(&s, handle, &size), HG_OVERFLOW);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(forward_input_twice_is_the_same)
{
    struct session s;
    hg_handle_t handle;
    blob_t in;

    session_begin(&s, _i, &setup);
    in = blob_make(80, 9);
    handle = session_handle(&s, own_ids[OWN_TWICE]);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(forward_without_proc_sends_no_payload)
{
    struct session s;
    hg_handle_t handle;
    uint32_t value = 0;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, own_ids[OWN_BARE]);
    ck_assert_int_eq(session_forward(&s, handle, &value), HG_SUCCESS);
    ck_assert_uint_eq(HG_Get_input_payload_size(handle), 0);
    ck_assert_uint_eq(HG_Get_output_payload_size(handle), 0);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &value), HG_FAULT);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(forward_null_struct_sends_no_payload)
{
    struct session s;
    hg_handle_t handle;
    uint32_t value;

    session_begin(&s, _i, &setup);
    log_expect("input not decoded: HG_OVERFLOW", 1, 1);
    handle = session_handle(&s, own_ids[OWN_PEEK]);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_ptr_nonnull(strstr(log_line("not decoded"), "RPC peek"));
    ck_assert_uint_eq(HG_Get_output_payload_size(handle), 0);
    ck_assert_int_eq(HG_Get_output(handle, &value), HG_OVERFLOW);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(forward_offsets_carry_user_headers)
{
    struct session s;
    hg_handle_t handle;
    unsigned char *in, *out;
    hg_size_t in_size, out_size;
    uint32_t number = 42;

    session_begin(&s, _i, &setup_offsets);
    handle = session_handle(&s, own_ids[OWN_HEADER]);
    ck_assert_int_eq(
        HG_Get_input_buf(handle, (void **) &in, &in_size), HG_SUCCESS);
    ck_assert_uint_eq(in_size, IN_OFFSET + eager_in(&s));
    for (unsigned i = 0; i < IN_OFFSET; i++)
        in[i] = (unsigned char) (0x30 + i);
    ck_assert_int_eq(session_forward(&s, handle, &number), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Get_output_buf(handle, (void **) &out, &out_size), HG_SUCCESS);
    ck_assert_uint_eq(out_size, OUT_OFFSET + sizeof number);
    for (unsigned i = 0; i < OUT_OFFSET; i++)
        ck_assert_uint_eq(out[i], 0x30 + IN_OFFSET - 1 - i);
    number = 0;
    ck_assert_int_eq(HG_Get_output(handle, &number), HG_SUCCESS);
    ck_assert_uint_eq(number, 42);
    ck_assert_int_eq(HG_Free_output(handle, &number), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Get_input_extra_buf(handle, (void **) &in, &in_size), HG_SUCCESS);
    ck_assert_ptr_null(in);
    ck_assert_uint_eq(in_size, 0);
    ck_assert_int_eq(
        HG_Get_output_extra_buf(handle, (void **) &out, &out_size), HG_SUCCESS);
    ck_assert_ptr_null(out);
    ck_assert_uint_eq(out_size, 0);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* Decoding without a proc is FAULT whatever arrived, here less than the user's
 * headers, since the call failed. */
START_TEST(forward_without_proc_decodes_nothing)
{
    struct session s;
    hg_handle_t handle;
    uint32_t value;

    session_begin(&s, _i, &setup_offsets);
    log_expect("RPC not registered", 1, 1);
    handle = session_handle(&s, own_ids[OWN_NOBODYS]);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_NOENTRY);
    ck_assert_int_eq(HG_Get_output(handle, &value), HG_FAULT);
    ck_assert_int_eq(HG_Free_output(handle, &value), HG_FAULT);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* The decoded payload starts after the headers and ends with the message. */
START_TEST(forward_offsets_are_not_payload)
{
    struct session s;
    hg_handle_t handle;
    uint32_t value;

    session_begin(&s, _i, &setup_offsets);
    /* input and output */
    log_expect("put not decoded: HG_OVERFLOW", 2, 2);
    handle = session_handle(&s, own_ids[OWN_SHORT]);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &value), HG_OVERFLOW);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(forward_offsets_reduce_the_eager_size)
{
    struct session s;
    hg_handle_t handle;
    uint32_t size;
    blob_t in;

    session_begin(&s, _i, &setup_offsets);
    log_expect("bytes of encoded arguments exceed", 2, 2);
    handle = session_handle(&s, own_ids[OWN_TWICE]);
    in = blob_make(eager_in(&s), 5);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    blob_free(&in);
    in = blob_make(eager_in(&s) + 1, 5);
    ck_assert_int_eq(HG_Forward(handle, NULL, NULL, &in), HG_OVERFLOW);
    blob_free(&in);
    ck_assert_int_eq(
        HG_Reset(handle, HG_ADDR_NULL, own_ids[OWN_MAKE]), HG_SUCCESS);
    size = eager_out(&s);
    ck_assert_int_eq(session_forward(&s, handle, &size), HG_SUCCESS);
    size++;
    ck_assert_int_eq(session_forward(&s, handle, &size), HG_OVERFLOW);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, forward_every_type_is_echoed);
    session_add(tcase, forward_nothing_runs_handler);
    session_add(tcase, forward_sizes_up_to_eager_are_echoed);
    session_add(tcase, forward_input_beyond_eager_size_overflows);
    session_add(tcase, forward_output_beyond_eager_size_overflows);
    session_add(tcase, forward_input_twice_is_the_same);
    session_add(tcase, forward_without_proc_sends_no_payload);
    session_add(tcase, forward_null_struct_sends_no_payload);
    session_add(tcase, forward_offsets_carry_user_headers);
    session_add(tcase, forward_without_proc_decodes_nothing);
    session_add(tcase, forward_offsets_are_not_payload);
    session_add(tcase, forward_offsets_reduce_the_eager_size);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "forward", add);
}
