/* SPDX-License-Identifier: BSD-3-Clause */
/* Multi-receive: several requests received into one buffer. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <string.h>

enum { HELD_MAX = 128 };

/* Requests that are decoded only when they are released. */
static hg_handle_t held[HELD_MAX];
static _Atomic uint32_t held_count;
static _Atomic bool release_input;
static _Atomic bool pass; /* stop keeping requests */
static _Atomic uint32_t passed;
static hg_id_t hold_id, go_id, counters_id;
static struct hg_diag_counters counters;

static hg_return_t
on_hold(hg_handle_t handle)
{
    if (atomic_load(&pass)) {
        atomic_fetch_add(&passed, 1);
        return HG_Destroy(handle);
    }
    if (atomic_load(&release_input)) {
        TARGET_ASSERT(HG_Release_input_buf(handle) == HG_SUCCESS);
        TARGET_ASSERT(HG_Get_input_payload_size(handle) == 0);
    }
    held[atomic_load(&held_count)] = handle;
    atomic_fetch_add(&held_count, 1);
    return HG_SUCCESS;
}

static void
release_held(void)
{
    while (atomic_load(&held_count) > 0) {
        hg_handle_t handle = held[atomic_fetch_sub(&held_count, 1) - 1];
        blob_t blob = {.size = 0};

        if (atomic_load(&release_input)) {
            TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &blob) == HG_SUCCESS);
        } else {
            TARGET_ASSERT(HG_Get_input(handle, &blob) == HG_SUCCESS);
            TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &blob) == HG_SUCCESS);
            TARGET_ASSERT(HG_Free_input(handle, &blob) == HG_SUCCESS);
        }
        TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    }
}

static hg_return_t
on_go(hg_handle_t handle)
{
    release_held();
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    return HG_Destroy(handle);
}

static hg_return_t
on_counters(hg_handle_t handle)
{
    TARGET_ASSERT(HG_Class_get_counters(
                      HG_Get_info(handle)->hg_class, &counters) == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    return HG_Destroy(handle);
}

static void
open_all(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    hold_id = MERCURY_REGISTER(hg_class, "hold", blob_t, blob_t, on_hold);
    go_id = MERCURY_REGISTER(hg_class, "go", void, void, on_go);
    counters_id =
        MERCURY_REGISTER(hg_class, "counters", void, void, on_counters);
    atomic_store(&held_count, 0);
    atomic_store(&release_input, false);
    atomic_store(&pass, false);
    atomic_store(&passed, 0);
}

static void
init_usual(struct hg_init_info *info)
{
    info->no_multi_recv = 0;
    info->stats = 1;
}

static void
init_two(struct hg_init_info *info)
{
    init_usual(info);
    info->multi_recv_op_max = 2;
}

static void
init_copy(struct hg_init_info *info)
{
    init_two(info);
    info->multi_recv_copy_threshold = 2;
}

static void
init_one_handle(struct hg_init_info *info)
{
    init_usual(info);
    info->request_post_init = 1;
    info->request_post_incr = -1;
}

static void
init_few_handles(struct hg_init_info *info)
{
    init_usual(info);
    info->request_post_init = 1;
    info->request_post_incr = 2;
}

static void
init_one_by_one(struct hg_init_info *info)
{
    init_two(info);
    info->request_post_init = 1;
    info->request_post_incr = 1;
}

static void
init_off(struct hg_init_info *info)
{
    info->no_multi_recv = 1;
}

#define SETUP(which)                                                           \
    static const struct session_setup setup_##which = {                        \
        .open = open_all, .stopping = release_held, .init = init_##which}
SETUP(usual);
SETUP(two);
SETUP(copy);
SETUP(one_handle);
SETUP(few_handles);
SETUP(one_by_one);
SETUP(off);

struct crowd {
    hg_handle_t handles[HELD_MAX];
    struct call calls[HELD_MAX];
    blob_t blobs[HELD_MAX];
};

static struct crowd crowd;

static void
forward_all(struct session *s, hg_id_t id, unsigned count)
{
    memset(&crowd, 0, sizeof crowd);
    for (unsigned i = 0; i < count; i++) {
        crowd.blobs[i] = blob_make(10 + i * 7 % 600, i);
        crowd.handles[i] = session_handle(s, id);
        ck_assert_int_eq(HG_Forward(crowd.handles[i], call_done,
                             &crowd.calls[i], &crowd.blobs[i]),
            HG_SUCCESS);
    }
}

/* Each answered call got back what it sent. */
static void
ck_all_answered(struct session *s, unsigned count, bool empty)
{
    for (unsigned i = 0; i < count; i++) {
        blob_t out;

        session_wait(s, &crowd.calls[i].called, 1);
        ck_assert_int_eq(crowd.calls[i].ret, HG_SUCCESS);
        ck_assert_int_eq(HG_Get_output(crowd.handles[i], &out), HG_SUCCESS);
        ck_assert(empty ? out.size == 0 : blob_equal(&out, &crowd.blobs[i]));
        ck_assert_int_eq(HG_Free_output(crowd.handles[i], &out), HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(crowd.handles[i]), HG_SUCCESS);
        blob_free(&crowd.blobs[i]);
    }
}

static void
call(struct session *s, hg_id_t id)
{
    hg_handle_t handle = session_handle(s, id);

    ck_assert_int_eq(session_forward(s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
}

static void
rounds(struct session *s, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        forward_all(s, rpcs_id(RPC_ECHO), 64);
        ck_all_answered(s, 64, false);
    }
}

START_TEST(multi_recv_posts_few_receives)
{
    struct session s;
    uint32_t posted;

    session_begin(&s, _i, &setup_usual);
    ck_assert_uint_eq(loop_submitted(LOOP_RECV_UNEXPECTED), 4);
    rounds(&s, 10);
    posted = loop_submitted(LOOP_RECV_UNEXPECTED);
    /* Reposted exactly as often as buffers were full. */
    ck_assert_uint_gt(posted, 4);
    ck_assert_uint_lt(posted, 640);
    call(&s, counters_id);
    ck_assert_uint_eq(counters.rpc_multi_recv_copy_count, 0);
    session_end(&s);
}
END_TEST

START_TEST(multi_recv_off_posts_one_receive_per_request)
{
    struct session s;

    session_begin(&s, _i, &setup_off);
    ck_assert_uint_eq(loop_submitted(LOOP_RECV_UNEXPECTED), 64);
    rounds(&s, 2);
    session_quiet(&s);
    ck_assert_uint_ge(loop_submitted(LOOP_RECV_UNEXPECTED), 64 + 128);
    session_end(&s);
}
END_TEST

/* Input that a handle refers to is not overwritten, however many requests
 * follow. */
START_TEST(multi_recv_keeps_referenced_input)
{
    struct session s;

    session_begin(&s, _i, &setup_usual);
    for (unsigned i = 0; i < 3; i++) {
        forward_all(&s, hold_id, 8);
        session_wait_other(&s, &held_count, 8);
        for (unsigned n = 0; n < 200; n++)
            rpcs_ck_works(&s);
        call(&s, go_id);
        ck_all_answered(&s, 8, false);
    }
    session_end(&s);
}
END_TEST

/* Kept requests each hold a different buffer, and others are still received. */
START_TEST(multi_recv_kept_requests_do_not_block_others)
{
    static hg_handle_t kept[HELD_MAX];
    static struct call calls[HELD_MAX];
    static blob_t blobs[HELD_MAX];
    struct session s;
    unsigned count = HELD_MAX < 30 ? HELD_MAX : 30;

    memset(calls, 0, sizeof calls);
    session_begin(&s, _i, &setup_two);
    for (unsigned i = 0; i < count; i++) {
        blobs[i] = blob_make(600, i);
        kept[i] = session_handle(&s, hold_id);
        ck_assert_int_eq(
            HG_Forward(kept[i], call_done, &calls[i], &blobs[i]), HG_SUCCESS);
        for (unsigned n = 0; n < 20; n++)
            rpcs_ck_works(&s);
    }
    call(&s, counters_id);
    ck_assert_uint_eq(counters.rpc_multi_recv_copy_count, 0);
    call(&s, go_id);
    for (unsigned i = 0; i < count; i++) {
        session_wait(&s, &calls[i].called, 1);
        ck_assert_int_eq(calls[i].ret, HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(kept[i]), HG_SUCCESS);
        blob_free(&blobs[i]);
    }
    rounds(&s, 3);
    session_end(&s);
}
END_TEST

/* More is held than two buffers have room for: requests are copied out. */
START_TEST(multi_recv_copies_when_buffers_run_short)
{
    struct session s;

    session_begin(&s, _i, &setup_copy);
    forward_all(&s, hold_id, HELD_MAX);
    session_wait_other(&s, &held_count, HELD_MAX);
    call(&s, counters_id);
    ck_assert_uint_eq(counters.rpc_multi_recv_copy_count, HELD_MAX + 1);
    call(&s, go_id);
    ck_all_answered(&s, HELD_MAX, false);
    session_end(&s);
}
END_TEST

/* The same without copies: the input is released early. */
START_TEST(multi_recv_input_released_early)
{
    struct session s;

    session_begin(&s, _i, &setup_two);
    atomic_store(&release_input, true);
    forward_all(&s, hold_id, HELD_MAX);
    session_wait_other(&s, &held_count, HELD_MAX);
    call(&s, go_id);
    ck_all_answered(&s, HELD_MAX, true);
    call(&s, counters_id);
    ck_assert_uint_eq(counters.rpc_multi_recv_copy_count, 0);
    session_end(&s);
}
END_TEST

START_TEST(multi_recv_more_requests_than_handles)
{
    struct session s;

    session_begin(&s, _i, &setup_one_handle);
    rounds(&s, 5);
    session_end(&s);
}
END_TEST

START_TEST(multi_recv_creates_more_handles)
{
    struct session s;

    session_begin(&s, _i, &setup_few_handles);
    forward_all(&s, hold_id, 20);
    session_wait_other(&s, &held_count, 20);
    call(&s, go_id);
    ck_all_answered(&s, 20, false);
    session_end(&s);
}
END_TEST

/* The last buffer is full, all handles are held, none is left: the core creates
 * more of both. */
START_TEST(multi_recv_last_handle_and_last_buffer_end_together)
{
    struct session s;

    session_begin(&s, _i, &setup_one_by_one);
    forward_all(&s, hold_id, HELD_MAX);
    session_wait_other(&s, &held_count, HELD_MAX);
    call(&s, go_id);
    ck_all_answered(&s, HELD_MAX, false);
    session_end(&s);
}
END_TEST

/* One handle is held, other requests wait for it, and their origin cancels
 * them. */
START_TEST(multi_recv_waiting_requests_are_handled_in_order)
{
    struct session s;

    session_begin(&s, _i, &setup_one_handle);
    forward_all(&s, hold_id, 10);
    session_wait_other(&s, &held_count, 1);
    session_quiet(&s);
    ck_assert_uint_eq(atomic_load(&held_count), 1);
    for (unsigned i = 0; i < 10; i++)
        ck_assert_int_eq(HG_Cancel(crowd.handles[i]), HG_SUCCESS);
    for (unsigned i = 0; i < 10; i++) {
        session_wait(&s, &crowd.calls[i].called, 1);
        ck_assert_int_eq(HG_Destroy(crowd.handles[i]), HG_SUCCESS);
        blob_free(&crowd.blobs[i]);
    }
    atomic_store(&pass, true);
    loop_cancel_set(LOOP_CANCEL_LATE);
    session_end(&s); /* releases the first request */
    /* Its send may not end before the context does. */
    if (!s.mode->late)
        ck_assert_uint_eq(atomic_load(&passed), 9);
}
END_TEST

START_TEST(multi_recv_failure_is_posted_again)
{
    struct session s;

    session_begin(&s, _i, &setup_two);
    log_expect("request not received: NA_IO_ERROR", 2, 2);
    log_expect("cannot post a buffer for requests: NA_NOMEM", 1, 3);
    loop_fault_set(LOOP_RECV_UNEXPECTED,
        (struct loop_fault){
            .act = LOOP_FAIL_LATER, .code = NA_PLUGIN_E_IO_ERROR, .count = 2});
    rounds(&s, 5);
    loop_fault_set(LOOP_RECV_UNEXPECTED,
        (struct loop_fault){
            .act = LOOP_FAIL_NOW, .code = NA_PLUGIN_E_NOMEM, .count = 3});
    rounds(&s, 5);
    session_end(&s);
}
END_TEST

START_TEST(multi_recv_of_malformed_requests)
{
    struct session s;

    session_begin(&s, _i, &setup_usual);
    log_expect("malformed request", 5, 5);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert(loop_inject(
            s.address, s.address, 0, LOOP_SEND_UNEXPECTED, "nonsense", i, 1));
        rpcs_ck_works(&s);
    }
    session_end(&s);
}
END_TEST

START_TEST(multi_recv_without_cancel)
{
    struct session s;

    session_begin(&s, _i, &setup_usual);
    rounds(&s, 1);
    loop_cancel_set(LOOP_CANCEL_REFUSED);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, multi_recv_posts_few_receives);
    session_add(tcase, multi_recv_off_posts_one_receive_per_request);
    session_add(tcase, multi_recv_keeps_referenced_input);
    session_add(tcase, multi_recv_kept_requests_do_not_block_others);
    session_add(tcase, multi_recv_copies_when_buffers_run_short);
    session_add(tcase, multi_recv_input_released_early);
    session_add(tcase, multi_recv_more_requests_than_handles);
    session_add(tcase, multi_recv_creates_more_handles);
    session_add(tcase, multi_recv_last_handle_and_last_buffer_end_together);
    session_add(tcase, multi_recv_waiting_requests_are_handled_in_order);
    session_add(tcase, multi_recv_failure_is_posted_again);
    session_add(tcase, multi_recv_of_malformed_requests);
    session_add(tcase, multi_recv_without_cancel);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "multi_recv", add);
}
