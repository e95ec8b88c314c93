/* SPDX-License-Identifier: BSD-3-Clause */
/* Large arguments that are not transferred: data that never arrive, a reference
 * that does not fit into the message, and a buffer that the program keeps. */
#include "counts.h"
#include "large.h"
#include "log_watch.h"

#include <stdlib.h>
#include <string.h>

static _Atomic hg_id_t keep_id; /* each side registers it */

/* Like hg_proc_blob_t, but the program keeps the buffer that a large one was
 * encoded into. */
static void *encoded;

static hg_return_t
proc_and_keep(hg_proc_t proc, void *data)
{
    hg_return_t ret = hg_proc_blob_t(proc, data);

    if (ret == HG_SUCCESS && hg_proc_get_op(proc) == HG_ENCODE &&
        hg_proc_get_extra_buf(proc)) {
        encoded = hg_proc_get_extra_buf(proc);
        ret = hg_proc_set_extra_buf_is_mine(proc, 1);
    }
    return ret;
}

static hg_return_t
on_echo(hg_handle_t handle)
{
    blob_t blob;

    TARGET_ASSERT(HG_Get_input(handle, &blob) == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &blob) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(handle, &blob) == HG_SUCCESS);
    return HG_Destroy(handle);
}

static void
open_all(hg_class_t *hg_class)
{
    large_open(hg_class);
    keep_id = HG_Register_name(
        hg_class, "own buffer", proc_and_keep, hg_proc_blob_t, on_echo);
}

static const struct session_setup setup = {
    .open = open_all, .stopping = rpcs_stopping};

/* The transport reports success but transfers nothing. */
START_TEST(overflow_data_not_transferred_are_detected)
{
    struct session s;
    hg_handle_t handle;
    blob_t in;

    if (!large_fetches(_i))
        return;
    session_begin(&s, _i, &setup);
    log_expect("withdrawn by the sender", 2, 2);
    in = blob_make(LARGE, 1);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_LOSE});
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_CANCELED);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_ECHO], 0);
    ck_assert_int_eq(
        HG_Reset(handle, HG_ADDR_NULL, large_id(LARGE_MAKE)), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_CANCELED);
    session_wait_other(&s, &rpcs_shared()->responded, 1);
    ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_CANCELED);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_NORMAL});
    rpcs_ck_works(&s);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

/* User headers take all but a few bytes of each message. */
static void
open_full(hg_class_t *hg_class)
{
    open_all(hg_class);
    TARGET_ASSERT(
        HG_Class_set_input_offset(hg_class,
            HG_Class_get_input_eager_size(hg_class) - 40) == HG_SUCCESS);
    TARGET_ASSERT(
        HG_Class_set_output_offset(hg_class,
            HG_Class_get_output_eager_size(hg_class) - 40) == HG_SUCCESS);
}

START_TEST(overflow_without_room_for_a_reference_fails)
{
    static const struct session_setup full = {
        .open = open_full, .stopping = rpcs_stopping};
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    blob_t in;

    if (!large_fetches(_i))
        return;
    session_begin(&s, _i, &full);
    log_expect("the reference to", 2, 2);
    in = blob_make(LARGE, 1);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_OVERFLOW);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(
        HG_Reset(handle, HG_ADDR_NULL, large_id(LARGE_MAKE)), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_OVERFLOW);
    ck_assert_uint_eq(call.called, 0);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    rpcs_ck_works(&s);
    blob_free(&in);
    session_end(&s);
}
END_TEST

/* Also for calls to self, where both sides share the encoded bytes. */
START_TEST(overflow_buffer_taken_by_the_program_is_not_freed)
{
    struct session s;
    hg_handle_t handle;
    blob_t in, out;

    session_begin(&s, _i, &setup);
    in = blob_make(LARGE, 1);
    handle = session_handle(&s, keep_id);
    for (unsigned i = 0; i < 3; i++) {
        encoded = NULL;
        ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
        ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
        ck_assert(blob_equal(&in, &out));
        ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
        ck_assert_ptr_nonnull(encoded);
        free(encoded);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

/* A forward that fails at once: the program may reuse the buffer, and the handle does
 * not write to it any more. */
START_TEST(overflow_buffer_is_the_programs_after_a_failed_forward)
{
    const size_t size = LARGE + sizeof(uint64_t); /* and what is behind */
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    unsigned char *bytes;
    blob_t in;

    if (!large_fetches(_i))
        return;
    session_begin(&s, _i, &setup);
    in = blob_make(LARGE, 1);
    handle = session_handle(&s, keep_id);
    encoded = NULL;
    loop_fault_set(LOOP_RECV_EXPECTED,
        (struct loop_fault){
            .act = LOOP_FAIL_NOW, .code = NA_PLUGIN_E_NOMEM, .count = 1});
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_NOMEM);
    ck_assert_ptr_nonnull(encoded);
    bytes = encoded;
    memset(bytes, 0x5a, size);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    for (size_t i = 0; i < size; i++)
        ck_assert_uint_eq(bytes[i], 0x5a);
    free(bytes);
    ck_assert_uint_eq(call.called, 0);
    blob_free(&in);
    rpcs_ck_works(&s);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, overflow_data_not_transferred_are_detected);
    session_add(tcase, overflow_without_room_for_a_reference_fails);
    session_add(tcase, overflow_buffer_taken_by_the_program_is_not_freed);
    session_add(tcase, overflow_buffer_is_the_programs_after_a_failed_forward);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "overflow_wrong", add);
}
