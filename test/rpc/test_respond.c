/* SPDX-License-Identifier: BSD-3-Clause */
/* Responses: early, late, twice, never, and errors instead. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <pthread.h>
#include <string.h>

enum own {
    OWN_CALLBACK, /* counts in its respond callback */
    OWN_TWICE,
    OWN_THREAD,
    OWN_BOTH, /* responds, then returns an error */
    OWN_RELEASE,
    OWN_COUNT
};
static hg_id_t own_ids[OWN_COUNT];

struct shared {
    _Atomic uint32_t responded;
    _Atomic uint32_t responding; /* a thread has to be joined */
    _Atomic uint32_t refs_in_callback;
};

static struct shared *
shared(void)
{
    return (struct shared *) ((char *) session_user() + RPCS_USER_OFFSET);
}

static hg_return_t
on_responded(const struct hg_cb_info *info)
{
    TARGET_ASSERT(info->type == HG_CB_RESPOND);
    TARGET_ASSERT(info->ret == HG_SUCCESS);
    TARGET_ASSERT(info->arg == (void *) own_ids);
    atomic_store(&shared()->refs_in_callback,
        (uint32_t) HG_Ref_get(info->info.respond.handle));
    TARGET_ASSERT(HG_Destroy(info->info.respond.handle) == HG_SUCCESS);
    atomic_fetch_add(&shared()->responded, 1);
    return HG_SUCCESS;
}

static hg_return_t
on_callback(hg_handle_t handle)
{
    TARGET_ASSERT(
        HG_Respond(handle, on_responded, own_ids, NULL) == HG_SUCCESS);
    return HG_SUCCESS;
}

static hg_return_t
on_twice(hg_handle_t handle)
{
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_BUSY);
    TARGET_ASSERT(HG_Respond(handle, on_responded, NULL, NULL) == HG_BUSY);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static void *
respond_in_thread(void *arg)
{
    hg_handle_t handle = arg;
    uint32_t number;

    TARGET_ASSERT(HG_Get_input(handle, &number) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(handle, &number) == HG_SUCCESS);
    number++;
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &number) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return NULL;
}

static pthread_t responder;

static void
join_responder(void)
{
    if (atomic_exchange(&shared()->responding, 0) > 0)
        TARGET_ASSERT(pthread_join(responder, NULL) == 0);
}

static void
stopping(void)
{
    rpcs_stopping();
    join_responder();
}

static hg_return_t
on_thread(hg_handle_t handle)
{
    /* The previous thread has responded, else there would be no next
     * request. */
    join_responder();
    atomic_store(&shared()->responding, 1);
    TARGET_ASSERT(
        pthread_create(&responder, NULL, respond_in_thread, handle) == 0);
    return HG_SUCCESS;
}

static hg_return_t
on_both(hg_handle_t handle)
{
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_IO_ERROR;
}

static hg_return_t
on_release(hg_handle_t handle)
{
    int32_t refs = HG_Ref_get(handle);
    blob_t blob;

    TARGET_ASSERT(HG_Get_input(handle, &blob) == HG_SUCCESS);
    TARGET_ASSERT(HG_Release_input_buf(handle) == HG_BUSY);
    TARGET_ASSERT(HG_Free_input(handle, &blob) == HG_SUCCESS);
    TARGET_ASSERT(HG_Release_input_buf(handle) == HG_SUCCESS);
    TARGET_ASSERT(HG_Get_input(handle, &blob) != HG_SUCCESS);
    TARGET_ASSERT(HG_Ref_get(handle) == refs);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static void
open_own(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    own_ids[OWN_CALLBACK] =
        MERCURY_REGISTER(hg_class, "callback", void, void, on_callback);
    own_ids[OWN_TWICE] =
        MERCURY_REGISTER(hg_class, "twice", void, void, on_twice);
    own_ids[OWN_THREAD] =
        MERCURY_REGISTER(hg_class, "thread", uint32_t, uint32_t, on_thread);
    own_ids[OWN_BOTH] = MERCURY_REGISTER(hg_class, "both", void, void, on_both);
    own_ids[OWN_RELEASE] =
        MERCURY_REGISTER(hg_class, "release", blob_t, void, on_release);
}

static const struct session_setup setup = {
    .open = open_own, .stopping = stopping};

static void
call_own(struct session *s, enum own own, hg_return_t expected)
{
    hg_handle_t handle = session_handle(s, own_ids[own]);

    ck_assert_int_eq(session_forward(s, handle, NULL), expected);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
}

START_TEST(respond_callback_runs_after_the_answer_was_sent)
{
    struct session s;

    session_begin(&s, _i, &setup);
    call_own(&s, OWN_CALLBACK, HG_SUCCESS);
    session_wait_other(&s, &shared()->responded, 1);
    /* The handler's and the operation's; without the transport the origin's two
     * as well. */
    ck_assert_uint_eq(shared()->refs_in_callback, s.mode->loopback ? 4 : 2);
    call_own(&s, OWN_CALLBACK, HG_SUCCESS);
    session_wait_other(&s, &shared()->responded, 2);
    session_end(&s);
}
END_TEST

START_TEST(respond_twice_busy)
{
    struct session s;

    session_begin(&s, _i, &setup);
    call_own(&s, OWN_TWICE, HG_SUCCESS);
    call_own(&s, OWN_TWICE, HG_SUCCESS);
    session_quiet(&s);
    ck_assert_uint_eq(shared()->responded, 0);
    session_end(&s);
}
END_TEST

START_TEST(respond_from_another_thread)
{
    struct session s;
    hg_handle_t handle;
    uint32_t number = 0;

    session_begin(&s, _i, &setup);
    if (s.mode->thread_mode == 0) {
        handle = session_handle(&s, own_ids[OWN_THREAD]);
        for (uint32_t i = 0; i < 50; i++) {
            number = i;
            ck_assert_int_eq(session_forward(&s, handle, &number), HG_SUCCESS);
            ck_assert_int_eq(HG_Get_output(handle, &number), HG_SUCCESS);
            ck_assert_uint_eq(number, i + 1);
            ck_assert_int_eq(HG_Free_output(handle, &number), HG_SUCCESS);
        }
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

START_TEST(respond_then_error_keeps_the_answer)
{
    struct session s;

    session_begin(&s, _i, &setup);
    call_own(&s, OWN_BOTH, HG_SUCCESS);
    call_own(&s, OWN_BOTH, HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(respond_handler_error_is_sent)
{
    static const int32_t codes[] = {HG_PERMISSION, HG_NOENTRY, HG_NOMEM,
        HG_OVERFLOW, HG_CANCELED, HG_CHECKSUM_ERROR, HG_OTHER_ERROR};
    struct session s;
    hg_handle_t handle;
    blob_t in = blob_make(10, 1);

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_CODE));
    for (unsigned i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        int32_t code = codes[i];

        ck_assert_int_eq(session_forward(&s, handle, &code), code);
        ck_assert_int_eq(HG_Ref_get(handle), 1);
    }
    /* The handle can be used again. */
    ck_assert_int_eq(HG_Reset(handle, s.target, rpcs_id(RPC_ECHO)), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(respond_unknown_id_noentry_at_once)
{
    struct session s;
    hg_handle_t handle;
    uint64_t begin;

    session_begin(&s, _i, &setup);
    log_expect("RPC not registered", 20, 20);
    handle = session_handle(&s, rpcs_id(RPC_MISSING));
    begin = session_now_ms();
    for (unsigned i = 0; i < 20; i++) {
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_NOENTRY);
        ck_assert_int_eq(HG_Ref_get(handle), 1);
    }
    ck_assert_uint_lt(session_now_ms() - begin, 5000);
    ck_assert_int_eq(
        HG_Reset(handle, s.target, rpcs_id(RPC_EMPTY)), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(respond_later_by_another_request)
{
    struct session s;
    struct call calls[32];
    hg_handle_t handles[32];
    blob_t in;

    memset(calls, 0, sizeof calls);
    session_begin(&s, _i, &setup);
    in = blob_make(30, 3);
    for (unsigned i = 0; i < 32; i++) {
        handles[i] = session_handle(&s, rpcs_id(RPC_KEEP));
        ck_assert_int_eq(
            HG_Forward(handles[i], call_done, &calls[i], &in), HG_SUCCESS);
    }
    rpcs_wait_handled(&s, RPC_KEEP, 32);
    session_quiet(&s);
    for (unsigned i = 0; i < 32; i++)
        ck_assert_uint_eq(calls[i].called, 0);
    ck_assert_uint_eq(rpcs_answer_kept(&s, 1), 32);
    ck_assert_uint_eq(rpcs_answer_kept(&s, 31), 31);
    for (unsigned i = 0; i < 32; i++) {
        session_wait(&s, &calls[i].called, 1);
        ck_assert_int_eq(calls[i].ret, HG_SUCCESS);
        ck_assert_int_eq(HG_Ref_get(handles[i]), 1);
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    }
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(respond_disabled_forward_ends_when_sent)
{
    struct session s;
    hg_handle_t handle;
    uint64_t value;
    uint8_t disabled = 0;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(HG_Registered_disabled_response(
                         s.hg_class, rpcs_id(RPC_NOTIFY), &disabled),
        HG_SUCCESS);
    ck_assert_uint_eq(disabled, 1);
    handle = session_handle(&s, rpcs_id(RPC_NOTIFY));
    for (value = 1; value <= 100; value++) {
        ck_assert_int_eq(session_forward(&s, handle, &value), HG_SUCCESS);
        ck_assert_int_eq(HG_Ref_get(handle), 1);
    }
    rpcs_wait_handled(&s, RPC_NOTIFY, 100);
    ck_assert_uint_eq(rpcs_shared()->notified, 5050);
    session_quiet(&s);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_NOTIFY], 100);
    /* The same handle can be forwarded to an RPC that is answered. */
    ck_assert_int_eq(
        HG_Reset(handle, s.target, rpcs_id(RPC_EMPTY)), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(respond_release_input_waits_for_its_free)
{
    struct session s;
    hg_handle_t handle;
    blob_t in = blob_make(50, 1);

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, own_ids[OWN_RELEASE]);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static void
post_one(struct hg_init_info *info)
{
    info->request_post_init = 1;
    info->request_post_incr = 1;
}

static const struct session_setup setup_one = {
    .open = open_own, .init = post_one, .stopping = stopping};

/* Each kept request takes a receive; the target has to post more. */
START_TEST(respond_receives_are_posted_as_they_are_used_up)
{
    struct session s;
    struct call calls[20];
    hg_handle_t handles[20];
    blob_t in;

    memset(calls, 0, sizeof calls);
    session_begin(&s, _i, &setup_one);
    in = blob_make(30, 3);
    for (unsigned i = 0; i < 20; i++) {
        handles[i] = session_handle(&s, rpcs_id(RPC_KEEP));
        ck_assert_int_eq(
            HG_Forward(handles[i], call_done, &calls[i], &in), HG_SUCCESS);
    }
    rpcs_wait_handled(&s, RPC_KEEP, 20);
    ck_assert_uint_eq(rpcs_answer_kept(&s, 20), 20);
    for (unsigned i = 0; i < 20; i++) {
        session_wait(&s, &calls[i].called, 1);
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    }
    blob_free(&in);
    session_end(&s);
}
END_TEST

static void
post_two_only(struct hg_init_info *info)
{
    info->request_post_init = 2;
    info->request_post_incr = -1;
    info->no_loopback = 1; /* calls to self take no receives */
}

static const struct session_setup setup_two = {
    .open = open_own, .init = post_two_only, .stopping = stopping};

START_TEST(respond_requests_beyond_the_receives_wait)
{
    struct session s;
    struct call calls[6];
    hg_handle_t handles[6];
    hg_handle_t empty;
    blob_t in;

    memset(calls, 0, sizeof calls);
    session_begin(&s, _i, &setup_two);
    in = blob_make(30, 3);
    for (unsigned i = 0; i < 2; i++) {
        handles[i] = session_handle(&s, rpcs_id(RPC_KEEP));
        ck_assert_int_eq(
            HG_Forward(handles[i], call_done, &calls[i], &in), HG_SUCCESS);
    }
    rpcs_wait_handled(&s, RPC_KEEP, 2);
    empty = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(HG_Forward(empty, call_done, &calls[2], NULL), HG_SUCCESS);
    session_quiet(&s);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_EMPTY], 0);
    /* A kept request cannot be released from outside, so the kept calls are
     * cancelled: their handles stay at the target, and the third request keeps
     * waiting. */
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(HG_Cancel(handles[i]), HG_SUCCESS);
        session_wait(&s, &calls[i].called, 1);
        ck_assert_int_eq(calls[i].ret, HG_CANCELED);
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    }
    ck_assert_int_eq(HG_Cancel(empty), HG_SUCCESS);
    session_wait(&s, &calls[2].called, 1);
    ck_assert_int_eq(calls[2].ret, HG_CANCELED);
    ck_assert_int_eq(HG_Destroy(empty), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, respond_callback_runs_after_the_answer_was_sent);
    session_add(tcase, respond_twice_busy);
    session_add(tcase, respond_from_another_thread);
    session_add(tcase, respond_then_error_keeps_the_answer);
    session_add(tcase, respond_handler_error_is_sent);
    session_add(tcase, respond_unknown_id_noentry_at_once);
    session_add(tcase, respond_later_by_another_request);
    session_add(tcase, respond_disabled_forward_ends_when_sent);
    session_add(tcase, respond_release_input_waits_for_its_free);
    session_add(tcase, respond_receives_are_posted_as_they_are_used_up);
    session_add(tcase, respond_requests_beyond_the_receives_wait);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "respond", add);
}
