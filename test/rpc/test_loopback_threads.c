/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to self, without a transport, by several threads: contexts with a thread
 * each, answers and cancels from another thread. */
#include "counts.h"
#include "loopback.h"

static bool
is_threaded(int mode)
{
    return loopback_is_self(mode) && session_mode_at(mode)->thread_mode == 0;
}

/* A context with its own thread, which calls the others' and then ends. */
struct caller {
    pthread_t thread;
    hg_context_t *context;
    hg_addr_t target;
    uint8_t to;
    uint32_t count;
};

static void *
call_others(void *arg)
{
    struct caller *caller = arg;
    struct call call = {.called = 0};
    blob_t in = blob_make(77, 1), out;
    hg_handle_t handle;

    ck_assert_int_eq(
        HG_Create(caller->context, caller->target, rpcs_id(RPC_ECHO), &handle),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Set_target_id(handle, caller->to), HG_SUCCESS);
    for (uint32_t i = 1; i <= caller->count; i++) {
        ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
        call_wait(caller->context, &call, i);
        ck_assert_int_eq(call.ret, HG_SUCCESS);
        ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
        ck_assert(blob_equal(&in, &out));
        ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    return NULL;
}

/* Contexts of the session's class, the first one being the session's. */
static void
call_one_another(hg_context_t *const contexts[2], hg_addr_t target)
{
    struct caller callers[2];

    for (unsigned i = 0; i < 2; i++) {
        callers[i] = (struct caller){.context = contexts[i],
            .target = target,
            .to = i == 0,
            /* One finishes long before the other. */
            .count = test_count(TEST_PROGRESS_CALLS) / (i == 0 ? 100 : 10)};
        ck_assert_int_eq(
            pthread_create(&callers[i].thread, NULL, call_others, &callers[i]),
            0);
    }
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(callers[i].thread, NULL), 0);
}

START_TEST(loopback_threads_are_independent)
{
    struct session s;
    hg_context_t *contexts[2];

    if (!is_threaded(_i))
        return;
    session_begin(&s, _i, &loopback_two_contexts);
    contexts[0] = s.context;
    contexts[1] = HG_Context_create_id(s.hg_class, 1);
    ck_assert_ptr_nonnull(contexts[1]);
    call_one_another(contexts, s.target);
    ck_assert_uint_eq(loopback_sent(), 0);
    ck_assert_int_eq(HG_Context_destroy(contexts[1]), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* The same in mode NA_THREAD_MODE_SINGLE_CTX: no transport either. */
START_TEST(loopback_with_single_threaded_contexts)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;
    struct session s;
    hg_class_t *hg_class;
    hg_context_t *contexts[2];
    hg_addr_t self;

    session_begin(&s, 0, &loopback_setup);
    info.na_init_info.thread_mode = NA_THREAD_MODE_SINGLE_CTX;
    info.na_init_info.max_contexts = 2;
    hg_class = HG_Init_opt2(session_transport(), 1, HG_VERSION(2, 4), &info);
    ck_assert_ptr_nonnull(hg_class);
    rpcs_open(hg_class);
    for (uint8_t i = 0; i < 2; i++)
        contexts[i] = HG_Context_create_id(hg_class, i);
    ck_assert_int_eq(HG_Addr_self(hg_class, &self), HG_SUCCESS);
    call_one_another(contexts, self);
    ck_assert_uint_eq(loopback_sent(), 0);
    ck_assert_int_eq(HG_Addr_free(hg_class, self), HG_SUCCESS);
    for (uint8_t i = 0; i < 2; i++)
        ck_assert_int_eq(HG_Context_destroy(contexts[i]), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* Responds to the kept request from another thread. */
static void *
answer_in_thread(void *arg)
{
    rpcs_answer_all();
    return NULL;
}

START_TEST(loopback_answered_from_another_thread)
{
    struct session s;
    hg_handle_t handle;
    blob_t in;

    if (!is_threaded(_i))
        return;
    session_begin(&s, _i, &loopback_setup);
    in = blob_make(50, 9);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    for (uint32_t i = 0; i < 20; i++) {
        struct call call = {.called = 0};
        pthread_t thread;

        ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
        rpcs_wait_handled(&s, RPC_KEEP, i + 1);
        ck_assert_int_eq(
            pthread_create(&thread, NULL, answer_in_thread, NULL), 0);
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_SUCCESS);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
    }
    blob_free(&in);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* The response of another thread races with the cancel, and in every other round
 * with the next HG_Forward. In every fourth round the cancel is first for certain: no
 * thread is left that could answer the request. */
START_TEST(loopback_cancel_races_with_answer)
{
    struct session s;
    hg_handle_t handle;
    pthread_t thread;
    bool running = false;
    blob_t in;

    if (!is_threaded(_i))
        return;
    session_begin(&s, _i, &loopback_setup);
    in = blob_make(50, 9);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    for (uint32_t i = 0; i < test_count(TEST_CANCEL_ROUNDS); i++) {
        struct call call = {.called = 0};
        bool first = i % 4 == 3;

        ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
        if (running)
            ck_assert_int_eq(pthread_join(thread, NULL), 0);
        rpcs_wait_handled(&s, RPC_KEEP, i + 1);
        if (first)
            ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        ck_assert_int_eq(
            pthread_create(&thread, NULL, answer_in_thread, NULL), 0);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert(
            call.ret == HG_CANCELED || (call.ret == HG_SUCCESS && !first));
        ck_assert_int_eq(HG_Ref_get(handle), 1);
        running = i % 2 == 0;
        if (!running)
            ck_assert_int_eq(pthread_join(thread, NULL), 0);
        ck_assert_uint_eq(call.called, 1);
    }
    if (running)
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
    blob_free(&in);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, loopback_threads_are_independent);
    tcase_add_test(tcase, loopback_with_single_threaded_contexts);
    session_add(tcase, loopback_answered_from_another_thread);
    session_add(tcase, loopback_cancel_races_with_answer);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "loopback_threads", add);
}
