/* SPDX-License-Identifier: BSD-3-Clause */
/* Message checksums: peers with different levels interoperate, and the receiver
 * detects altered messages. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <string.h>

#define LARGE 300000U
#define LEVELS 3

static hg_checksum_level_t level;

static void
set_level(struct hg_init_info *info)
{
    info->checksum_level = level;
}

/* Two numbers, of which only the first is decoded. */
static hg_return_t
proc_half(hg_proc_t proc, void *data)
{
    uint32_t *numbers = data;
    hg_return_t ret = hg_proc_uint32_t(proc, &numbers[0]);

    if (ret == HG_SUCCESS && hg_proc_get_op(proc) == HG_ENCODE)
        ret = hg_proc_uint32_t(proc, &numbers[1]);
    return ret;
}

/* The same; the decoded struct is allocated and has to be freed. */
static _Atomic int32_t held;

static hg_return_t
proc_held(hg_proc_t proc, void *data)
{
    hg_return_t ret = proc_half(proc, data);

    if (ret == HG_SUCCESS && hg_proc_get_op(proc) == HG_DECODE)
        held++;
    else if (hg_proc_get_op(proc) == HG_FREE)
        held--;
    return ret;
}

static hg_id_t half_id, held_id, spoil_id;

static hg_return_t
on_half(hg_handle_t handle)
{
    uint32_t numbers[2] = {0, 0};
    bool summed = level == HG_CHECKSUM_RPC_PAYLOAD;
    int32_t refs = HG_Ref_get(handle);

    TARGET_ASSERT(HG_Get_input(handle, numbers) ==
                  (summed ? HG_CHECKSUM_ERROR : HG_SUCCESS));
    TARGET_ASSERT(numbers[0] == 77);
    TARGET_ASSERT(HG_Ref_get(handle) == refs + !summed);
    TARGET_ASSERT(HG_Free_input(handle, numbers) == HG_SUCCESS);
    TARGET_ASSERT(HG_Ref_get(handle) == refs);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, numbers) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static hg_return_t
on_held(hg_handle_t handle)
{
    uint32_t numbers[2] = {0, 0};
    int32_t refs = HG_Ref_get(handle);

    TARGET_ASSERT(HG_Get_input(handle, numbers) == HG_CHECKSUM_ERROR);
    TARGET_ASSERT(held == 0);
    TARGET_ASSERT(HG_Ref_get(handle) == refs);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, numbers) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

/* Alters the response after HG_Respond. */
static hg_return_t
on_spoil(hg_handle_t handle)
{
    blob_t out = blob_make(LARGE, 1);
    void *extra;
    hg_size_t size;

    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &out) == HG_SUCCESS);
    TARGET_ASSERT(HG_Get_output_extra_buf(handle, &extra, &size) == HG_SUCCESS);
    TARGET_ASSERT(size == LARGE);
    ((unsigned char *) extra)[LARGE / 2] ^= 1;
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    atomic_fetch_add(&rpcs_shared()->handled[RPC_KEEP], 1);
    blob_free(&out);
    return HG_SUCCESS;
}

static void
open_own(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    half_id = HG_Register_name(hg_class, "half", proc_half, proc_half, on_half);
    held_id = HG_Register_name(hg_class, "held", proc_held, proc_held, on_held);
    spoil_id = MERCURY_REGISTER(hg_class, "spoil", void, blob_t, on_spoil);
}

static const struct session_setup setup = {
    .init = set_level, .open = open_own, .stopping = rpcs_stopping};

/* Echoes through another class of this process than the session's. */
static void
echo_from(
    struct session *s, hg_context_t *context, hg_addr_t target, uint32_t size)
{
    struct call call = {.called = 0};
    blob_t in = blob_make(size, size), out;
    hg_handle_t handle;
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);

    ck_assert_int_eq(
        HG_Create(context, target, rpcs_id(RPC_ECHO), &handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    while (call.called == 0 && session_now_ms() < deadline) {
        session_step(s, 0);
        HG_Progress(context, 1);
        HG_Trigger(context, 0, 1, NULL);
    }
    ck_assert_uint_eq(call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert(blob_equal(&in, &out));
    ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
}

START_TEST(checksum_levels_interoperate)
{
    int mode = _i / LEVELS;
    struct session s;

    level = (hg_checksum_level_t) (_i % LEVELS);
    session_begin(&s, mode, &setup);
    for (int other = 0; other < LEVELS; other++) {
        hg_class_t *hg_class;
        hg_context_t *context;
        hg_addr_t target;

        level = (hg_checksum_level_t) other;
        hg_class = session_open_class(session_mode_at(mode), &setup, false);
        ck_assert_ptr_nonnull(hg_class);
        rpcs_open(hg_class);
        context = HG_Context_create(hg_class);
        ck_assert_ptr_nonnull(context);
        ck_assert_int_eq(
            HG_Addr_lookup2(hg_class, s.address, &target), HG_SUCCESS);
        echo_from(&s, context, target, 50);
        echo_from(&s, context, target, LARGE);
        echo_from(&s, context, target, 60);
        HG_Addr_free(hg_class, target);
        /* Let the last acknowledgement arrive. */
        session_quiet(&s);
        ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
        ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    }
    rpcs_ck_works(&s);
    session_end(&s);
}
END_TEST

START_TEST(checksum_partial_decode_fails)
{
    struct session s;
    uint32_t numbers[2] = {77, 78};
    hg_handle_t handle;
    bool summed;

    level = (hg_checksum_level_t) (_i % LEVELS);
    summed = level == HG_CHECKSUM_RPC_PAYLOAD;
    session_begin(&s, _i / LEVELS, &setup);
    log_expect("were not decoded", 0, summed ? 2 : 0);
    handle = session_handle(&s, half_id);
    ck_assert_int_eq(session_forward(&s, handle, numbers), HG_SUCCESS);
    numbers[0] = 0;
    ck_assert_int_eq(HG_Get_output(handle, numbers),
        summed ? HG_CHECKSUM_ERROR : HG_SUCCESS);
    ck_assert_uint_eq(numbers[0], 77);
    ck_assert_int_eq(HG_Free_output(handle, numbers), HG_SUCCESS);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* A sender may append bytes. Decoding that failed leaves nothing to free. */
START_TEST(checksum_partial_decode_frees_its_struct)
{
    struct session s;
    uint32_t numbers[2] = {77, 78};
    hg_handle_t handle;

    level = HG_CHECKSUM_RPC_PAYLOAD;
    session_begin(&s, _i, &setup);
    log_expect("were not decoded", 2, 2);
    handle = session_handle(&s, held_id);
    ck_assert_int_eq(session_forward(&s, handle, numbers), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, numbers), HG_CHECKSUM_ERROR);
    ck_assert_int_eq(held, 0);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(checksum_level_out_of_range_is_rejected)
{
    struct session s;

    level = HG_CHECKSUM_NONE;
    session_begin(&s, _i, &setup);
    log_expect("checksum_level is 3", 1, 1);
    log_expect("checksum_level is -1", 1, 1);
    level = (hg_checksum_level_t) 3;
    ck_assert_ptr_null(session_open_class(s.mode, &setup, false));
    level = (hg_checksum_level_t) -1;
    ck_assert_ptr_null(session_open_class(s.mode, &setup, false));
    session_end(&s);
}
END_TEST

/* Kind of message to alter, and which byte of it, counted from its magic. */
static enum loop_kind spoilt_kind;
static unsigned spoilt_at;

static void
spoil(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    char magic = kind == LOOP_SEND_UNEXPECTED ? 'Q' : 'S';

    if (kind != spoilt_kind)
        return;
    for (uint64_t i = 0; i + spoilt_at < *length; i++)
        if (message[i] == 'R' && message[i + 1] == (unsigned char) magic) {
            message[i + spoilt_at] ^= 0x10;
            return;
        }
}

static void
set_spoilt(enum loop_kind kind, unsigned at)
{
    spoilt_kind = kind;
    spoilt_at = at;
    loop_tamper_set(spoil);
}

START_TEST(checksum_altered_request_header_is_dropped)
{
    struct session s;
    hg_handle_t handle;
    blob_t in;

    if (!session_is_loop())
        return;
    level = (hg_checksum_level_t) (1 + _i % 2);
    session_begin(&s, _i / 2, &setup);
    in = blob_make(50, 1);
    log_expect("dropped: HG_CHECKSUM_ERROR", 28, 28);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    /* All bytes except magic, version and flags, which are checked first. */
    for (unsigned at = 4; at < 32; at++) {
        struct call call = {.called = 0};
        uint32_t before = log_count("malformed request");
        uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);

        set_spoilt(LOOP_SEND_UNEXPECTED, at);
        ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
        while (log_count("malformed request") == before &&
               session_now_ms() < deadline)
            session_step(&s, 1);
        loop_tamper_set(NULL);
        ck_assert_uint_eq(call.called, 0);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_CANCELED);
    }
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_ECHO], 0);
    rpcs_ck_works(&s);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(checksum_altered_answer_header_fails_the_call)
{
    struct session s;
    hg_handle_t handle;
    blob_t in;

    if (!session_is_loop())
        return;
    level = (hg_checksum_level_t) (1 + _i % 2);
    session_begin(&s, _i / 2, &setup);
    in = blob_make(50, 1);
    log_expect("bytes: HG_CHECKSUM_ERROR", 20, 20);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    for (unsigned at = 4; at < 24; at++) {
        set_spoilt(LOOP_SEND_EXPECTED, at);
        ck_assert_int_eq(session_forward(&s, handle, &in), HG_CHECKSUM_ERROR);
        ck_assert_int_eq(HG_Ref_get(handle), 1);
    }
    loop_tamper_set(NULL);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(checksum_altered_arguments_fail_the_call)
{
    struct session s;
    hg_handle_t handle;
    blob_t in, out;

    if (!session_is_loop())
        return;
    level = HG_CHECKSUM_RPC_PAYLOAD;
    session_begin(&s, _i, &setup);
    in = blob_make(50, 1);
    log_expect("wrong checksum of arguments", 3, 3);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    set_spoilt(LOOP_SEND_UNEXPECTED, 32 + 40);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_CHECKSUM_ERROR);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_ECHO], 0);
    set_spoilt(LOOP_SEND_EXPECTED, 24 + 40);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_CHECKSUM_ERROR);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_CHECKSUM_ERROR);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    loop_tamper_set(NULL);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

/* Undetected unless payloads have checksums. */
START_TEST(checksum_of_headers_ignores_arguments)
{
    struct session s;
    hg_handle_t handle;
    blob_t in, out;

    if (!session_is_loop())
        return;
    level = HG_CHECKSUM_RPC_HEADERS;
    session_begin(&s, _i, &setup);
    in = blob_make(50, 1);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    set_spoilt(LOOP_SEND_EXPECTED, 24 + 40);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert(!blob_equal(&in, &out));
    ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
    loop_tamper_set(NULL);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(checksum_covers_fetched_arguments)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    blob_t in, out;
    void *extra;
    hg_size_t size;

    if (!session_is_loop())
        return;
    level = HG_CHECKSUM_RPC_PAYLOAD;
    session_begin(&s, _i, &setup);
    in = blob_make(LARGE, 1);
    log_expect("wrong checksum of arguments", 2, 2);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_input_extra_buf(handle, &extra, &size), HG_SUCCESS);
    ck_assert_uint_eq(size, LARGE);
    ((unsigned char *) extra)[LARGE - 1] ^= 1;
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
    loop_release();
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_CHECKSUM_ERROR);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_ECHO], 0);

    call.called = 0;
    ck_assert_int_eq(HG_Reset(handle, HG_ADDR_NULL, spoil_id), HG_SUCCESS);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_HOLD});
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_KEEP, 1);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
    loop_release();
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_CHECKSUM_ERROR);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_loop_test(
        tcase, checksum_levels_interoperate, 0, LEVELS * session_modes());
    tcase_add_loop_test(
        tcase, checksum_partial_decode_fails, 0, LEVELS * session_modes());
    session_add(tcase, checksum_partial_decode_frees_its_struct);
    session_add(tcase, checksum_level_out_of_range_is_rejected);
    tcase_add_loop_test(tcase, checksum_altered_request_header_is_dropped, 0,
        2 * session_modes());
    tcase_add_loop_test(tcase, checksum_altered_answer_header_fails_the_call, 0,
        2 * session_modes());
    session_add(tcase, checksum_altered_arguments_fail_the_call);
    session_add(tcase, checksum_of_headers_ignores_arguments);
    session_add(tcase, checksum_covers_fetched_arguments);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "checksum", add);
}
