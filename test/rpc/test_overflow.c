/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments and results larger than a message: all sizes arrive, both sides
 * learn when the other is done, and every failure is reported. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <string.h>
#include <unistd.h>

#define LARGE 300000U

enum own {
    /* uint32_t in: output size in bytes; counts its respond callback */
    OWN_MAKE,
    OWN_LOOK,    /* blob_t in, decoded twice, and read as bytes */
    OWN_ONE_WAY, /* blob_t in, no response */
    OWN_NOBODYS, /* blob_t in, no handler */
    OWN_NOBODYS_ONE_WAY,
    OWN_COUNT
};
static hg_id_t own_ids[OWN_COUNT];

struct shared {
    _Atomic uint32_t one_way;
};

static struct shared *
shared(void)
{
    return (struct shared *) ((char *) session_user() + RPCS_USER_OFFSET);
}

static hg_return_t
on_make(hg_handle_t handle)
{
    uint32_t size;
    blob_t out;
    hg_return_t ret;

    TARGET_ASSERT(HG_Get_input(handle, &size) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(handle, &size) == HG_SUCCESS);
    out = blob_make(size, size);
    ret = HG_Respond(handle, rpcs_on_responded, NULL, &out);
    blob_free(&out);
    if (ret != HG_SUCCESS)
        TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return ret;
}

static hg_return_t
on_look(hg_handle_t handle)
{
    int32_t refs = HG_Ref_get(handle);
    blob_t first, second;
    void *extra;
    hg_size_t size;

    TARGET_ASSERT(HG_Get_input(handle, &first) == HG_SUCCESS);
    TARGET_ASSERT(HG_Get_input(handle, &second) == HG_SUCCESS);
    TARGET_ASSERT(blob_equal(&first, &second));
    TARGET_ASSERT(HG_Ref_get(handle) == refs + 2);
    TARGET_ASSERT(HG_Get_input_payload_size(handle) == 4 + first.size);
    TARGET_ASSERT(HG_Get_input_buf(handle, &extra, &size) == HG_SUCCESS);
    TARGET_ASSERT(size == 0);
    TARGET_ASSERT(HG_Get_input_extra_buf(handle, &extra, &size) == HG_SUCCESS);
    TARGET_ASSERT(size == 4 + first.size);
    TARGET_ASSERT(memcmp((char *) extra + 4, first.data, first.size) == 0);
    TARGET_ASSERT(HG_Release_input_buf(handle) == HG_BUSY);
    TARGET_ASSERT(HG_Free_input(handle, &first) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(handle, &second) == HG_SUCCESS);
    TARGET_ASSERT(HG_Release_input_buf(handle) == HG_SUCCESS);
    TARGET_ASSERT(HG_Get_input(handle, &first) == HG_FAULT);
    TARGET_ASSERT(HG_Get_input_extra_buf(handle, &extra, &size) == HG_SUCCESS);
    TARGET_ASSERT(!extra && size == 0);
    TARGET_ASSERT(HG_Ref_get(handle) == refs);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static hg_return_t
on_one_way(hg_handle_t handle)
{
    blob_t in, expected;

    TARGET_ASSERT(HG_Get_input(handle, &in) == HG_SUCCESS);
    expected = blob_make(in.size + 4, in.size);
    TARGET_ASSERT(blob_equal(&in, &expected));
    blob_free(&expected);
    TARGET_ASSERT(HG_Free_input(handle, &in) == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_OPNOTSUPPORTED);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    atomic_fetch_add(&shared()->one_way, 1);
    return HG_SUCCESS;
}

static void
open_own(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    own_ids[OWN_MAKE] =
        MERCURY_REGISTER(hg_class, "make", uint32_t, blob_t, on_make);
    own_ids[OWN_LOOK] =
        MERCURY_REGISTER(hg_class, "look", blob_t, void, on_look);
    own_ids[OWN_ONE_WAY] =
        MERCURY_REGISTER(hg_class, "one_way", blob_t, void, on_one_way);
    own_ids[OWN_NOBODYS] =
        MERCURY_REGISTER(hg_class, "nobodys", blob_t, void, NULL);
    own_ids[OWN_NOBODYS_ONE_WAY] =
        MERCURY_REGISTER(hg_class, "nobodys_one_way", blob_t, void, NULL);
    HG_Registered_disable_response(hg_class, own_ids[OWN_ONE_WAY], 1);
    HG_Registered_disable_response(hg_class, own_ids[OWN_NOBODYS_ONE_WAY], 1);
}

static const struct session_setup setup = {
    .open = open_own, .stopping = rpcs_stopping};

static void
echo(struct session *s, hg_handle_t handle, uint32_t size)
{
    blob_t in = blob_make(size, size), out;

    ck_assert_int_eq(session_forward(s, handle, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert_uint_eq(HG_Get_output_payload_size(handle), size);
    ck_assert(blob_equal(&in, &out));
    ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    blob_free(&in);
}

START_TEST(overflow_sizes_around_the_eager_size_are_echoed)
{
    struct session s;
    uint32_t in, out;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    in = (uint32_t) HG_Class_get_input_eager_size(s.hg_class);
    out = (uint32_t) HG_Class_get_output_eager_size(s.hg_class);
    for (uint32_t more = 0; more < 20; more++) {
        echo(&s, handle, in - 10 + more);
        echo(&s, handle, out - 10 + more);
    }
    echo(&s, handle, 65536);
    echo(&s, handle, 1 << 20);
    echo(&s, handle, 30); /* small calls still work */
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    rpcs_ck_works(&s);
    session_end(&s);
}
END_TEST

START_TEST(overflow_many_mib_are_echoed)
{
    uint32_t size = test_count(TEST_OVERFLOW_MIB) << 20;
    struct session s;
    hg_handle_t handle;

    /* Runs in the first mode of each shape without odd limits. */
    if (_i != 0 && strcmp(session_mode_at(_i)->name, "threads") != 0 &&
        strcmp(session_mode_at(_i)->name, "processes") != 0)
        return;
    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    echo(&s, handle, size);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(overflow_many_in_flight_do_not_mix)
{
    enum { MANY = 24 };
    struct session s;
    struct call calls[MANY];
    hg_handle_t handles[MANY];
    blob_t in[MANY], out;

    memset(calls, 0, sizeof calls);
    session_begin(&s, _i, &setup);
    for (uint32_t i = 0; i < MANY; i++) {
        in[i] = blob_make(i % 4 == 0 ? 50 : 1000 + i * 9000, i);
        handles[i] = session_handle(&s, rpcs_id(RPC_ECHO));
        ck_assert_int_eq(
            HG_Forward(handles[i], call_done, &calls[i], &in[i]), HG_SUCCESS);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        session_wait(&s, &calls[i].called, 1);
        ck_assert_int_eq(calls[i].ret, HG_SUCCESS);
        ck_assert_int_eq(HG_Get_output(handles[i], &out), HG_SUCCESS);
        ck_assert(blob_equal(&in[i], &out));
        ck_assert_int_eq(HG_Free_output(handles[i], &out), HG_SUCCESS);
        ck_assert_int_eq(HG_Ref_get(handles[i]), 1);
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
        blob_free(&in[i]);
    }
    session_end(&s);
}
END_TEST

START_TEST(overflow_handle_is_reused)
{
    struct session s;
    hg_handle_t handle;
    blob_t in, out;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    for (uint32_t i = 0; i < 20; i++)
        echo(&s, handle, i % 3 == 0 ? 40 + i : LARGE + i);
    /* A small call after a large one has no trace of it, nor after a reset. */
    in = blob_make(LARGE, 1);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    ck_assert_uint_eq(HG_Get_input_payload_size(handle), LARGE);
    ck_assert_int_eq(HG_Reset(handle, s.target, 0), HG_SUCCESS);
    ck_assert_uint_eq(HG_Get_input_payload_size(handle), 0);
    ck_assert_uint_eq(HG_Get_output_payload_size(handle), 0);
    ck_assert_int_ne(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(overflow_input_as_bytes_and_released)
{
    struct session s;
    hg_handle_t handle;
    blob_t in = blob_make(LARGE, 1);
    void *extra;
    hg_size_t size;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, own_ids[OWN_LOOK]);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
        ck_assert_int_eq(
            HG_Get_input_extra_buf(handle, &extra, &size), HG_SUCCESS);
        ck_assert_uint_eq(size, LARGE);
        ck_assert_mem_eq((char *) extra + 4, in.data, in.size);
        ck_assert_int_eq(
            HG_Get_output_extra_buf(handle, &extra, &size), HG_SUCCESS);
        ck_assert_ptr_null(extra);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(overflow_respond_callback_waits_for_the_origin)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    uint32_t size = LARGE;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, own_ids[OWN_MAKE]);
    if (s.mode->shape != SESSION_SELF) {
        ck_assert_int_eq(
            HG_Forward(handle, call_done, &call, &size), HG_SUCCESS);
        usleep(test_count(TEST_QUIET_MS) * 1000);
        ck_assert_uint_eq(rpcs_shared()->responded, 0);
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_SUCCESS);
        session_wait_other(&s, &rpcs_shared()->responded, 1);
        ck_assert_uint_eq(rpcs_shared()->responded_ret, HG_SUCCESS);
        ck_assert_int_eq(HG_Ref_get(handle), 1);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(overflow_one_way_ends_after_the_target_fetched)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    blob_t in = blob_make(LARGE, LARGE - 4);

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, own_ids[OWN_ONE_WAY]);
    for (uint32_t i = 1; i <= 5; i++) {
        call.called = 0;
        ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_SUCCESS);
        ck_assert_int_eq(HG_Ref_get(handle), 1);
        session_wait_other(&s, &shared()->one_way, i);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(overflow_to_an_unknown_rpc_noentry)
{
    struct session s;
    hg_handle_t handle;
    blob_t in = blob_make(LARGE, 1);

    session_begin(&s, _i, &setup);
    log_expect("RPC not registered", 2, 2);
    handle = session_handle(&s, own_ids[OWN_NOBODYS]);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_NOENTRY);
    ck_assert_int_eq(
        HG_Reset(handle, s.target, own_ids[OWN_NOBODYS_ONE_WAY]), HG_SUCCESS);
    /* A call to self is sent as soon as it is queued. */
    ck_assert_int_eq(session_forward(&s, handle, &in),
        s.mode->loopback ? HG_SUCCESS : HG_NOENTRY);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static void
count(struct hg_init_info *info)
{
    info->stats = 1;
}

START_TEST(overflow_is_counted)
{
    static const struct session_setup setup_stats = {
        .open = open_own, .init = count, .stopping = rpcs_stopping};
    struct session s;
    struct hg_diag_counters counters;
    hg_handle_t handle;
    uint32_t size = LARGE;
    blob_t in = blob_make(LARGE, LARGE - 4);

    session_begin(&s, _i, &setup_stats);
    handle = session_handle(&s, own_ids[OWN_ONE_WAY]);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    session_wait_other(&s, &shared()->one_way, 1);
    ck_assert_int_eq(HG_Reset(handle, s.target, own_ids[OWN_MAKE]), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, &size), HG_SUCCESS);
    session_wait_other(&s, &rpcs_shared()->responded, 1);
    ck_assert_int_eq(HG_Class_get_counters(s.hg_class, &counters), HG_SUCCESS);
    ck_assert_uint_eq(counters.rpc_req_sent_count, 2);
    ck_assert_uint_eq(counters.rpc_req_extra_count, 1);
    ck_assert_uint_eq(
        counters.rpc_resp_extra_count, s.mode->shape == SESSION_SELF);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static void
early(struct hg_init_info *info)
{
    info->release_input_early = 1;
}

static hg_id_t once_id;

static hg_return_t
on_once(hg_handle_t handle)
{
    int32_t refs = HG_Ref_get(handle);
    blob_t in, again;
    void *extra;

    TARGET_ASSERT(HG_Get_input(handle, &in) == HG_SUCCESS);
    TARGET_ASSERT(HG_Get_input(handle, &again) == HG_FAULT);
    TARGET_ASSERT(HG_Get_input_extra_buf(handle, &extra, NULL) == HG_SUCCESS);
    TARGET_ASSERT(!extra);
    TARGET_ASSERT(HG_Ref_get(handle) == refs + 1);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &in) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(handle, &in) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static void
open_once(hg_class_t *hg_class)
{
    open_own(hg_class);
    once_id = MERCURY_REGISTER(hg_class, "once", blob_t, blob_t, on_once);
}

START_TEST(overflow_input_released_early_is_decoded_once)
{
    static const struct session_setup setup_early = {
        .open = open_once, .init = early, .stopping = rpcs_stopping};
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup_early);
    handle = session_handle(&s, once_id);
    echo(&s, handle, LARGE);
    echo(&s, handle, 100);
    echo(&s, handle, LARGE);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* Forwards a handle that was cancelled. Between hosts the transport may still
 * own its operations: HG_BUSY. */
static void
forward_again(
    struct session *s, hg_handle_t handle, struct call *call, blob_t *in)
{
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);
    hg_return_t ret = HG_Forward(handle, call_done, call, in);

    while (ret == HG_BUSY && session_is_hosts()) {
        ck_assert_uint_lt(session_now_ms(), deadline);
        session_step(s, 1);
        ret = HG_Forward(handle, call_done, call, in);
    }
    ck_assert_int_eq(ret, HG_SUCCESS);
}

/* Cancelled at an arbitrary moment: it ends once, and transfers under way
 * corrupt nothing. */
START_TEST(overflow_cancelled_at_any_time_ends_once)
{
    struct session s;
    struct call last;
    hg_handle_t handle;
    blob_t in = blob_make(LARGE, 2);

    session_begin(&s, _i, &setup);
    log_expect("withdrawn", 0, 10000);
    log_expect("cannot access its memory", 0, 10000);
    handle = session_handle(&s, own_ids[OWN_LOOK]);
    for (uint32_t i = 0; i < test_count(TEST_CANCEL_ROUNDS); i++) {
        struct call call = {.called = 0};

        forward_again(&s, handle, &call, &in);
        for (uint32_t step = 0; step < i % 7; step++)
            session_step(&s, 0);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert(call.ret == HG_CANCELED || call.ret == HG_SUCCESS);
        ck_assert_int_eq(HG_Ref_get(handle), 1);
        ck_assert_uint_eq(call.called, 1);
    }
    session_quiet(&s);
    atomic_store(&last.called, 0);
    forward_again(&s, handle, &last, &in);
    session_wait(&s, &last.called, 1);
    if (session_is_hosts() && last.ret == HG_HOSTUNREACH) {
        /* A get that was refused closed the connection. */
        atomic_store(&last.called, 0);
        forward_again(&s, handle, &last, &in);
        session_wait(&s, &last.called, 1);
    }
    ck_assert_int_eq(last.ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, overflow_sizes_around_the_eager_size_are_echoed);
    session_add(tcase, overflow_many_mib_are_echoed);
    session_add(tcase, overflow_many_in_flight_do_not_mix);
    session_add(tcase, overflow_handle_is_reused);
    session_add(tcase, overflow_input_as_bytes_and_released);
    session_add(tcase, overflow_respond_callback_waits_for_the_origin);
    session_add(tcase, overflow_one_way_ends_after_the_target_fetched);
    session_add(tcase, overflow_to_an_unknown_rpc_noentry);
    session_add(tcase, overflow_is_counted);
    session_add(tcase, overflow_input_released_early_is_decoded_once);
    session_add(tcase, overflow_cancelled_at_any_time_ends_once);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "overflow", add);
}
