/* SPDX-License-Identifier: BSD-3-Clause */
/* RPC registration: register, look up, user data, deregister. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <string.h>

static const struct session_setup setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};

static hg_return_t
handler(hg_handle_t handle)
{
    return HG_SUCCESS;
}

static uint32_t freed;

static void
count_freed(void *data)
{
    freed += *(uint32_t *) data;
}

START_TEST(register_name_gives_the_same_id_everywhere)
{
    struct session s;
    hg_id_t id, again = 0;
    uint8_t flag = 7;

    session_begin(&s, _i, &setup);
    id =
        HG_Register_name(s.hg_class, "a name", hg_proc_uint32_t, NULL, handler);
    ck_assert_uint_ne(id, 0);
    ck_assert_uint_le(id, UINT32_MAX);
    ck_assert_int_eq(
        HG_Registered_name(s.hg_class, "a name", &again, &flag), HG_SUCCESS);
    ck_assert_uint_eq(again, id);
    ck_assert_uint_eq(flag, 1);
    ck_assert_int_eq(
        HG_Registered_name(s.hg_class, "another", &again, &flag), HG_SUCCESS);
    ck_assert_uint_eq(again, 0);
    ck_assert_uint_eq(flag, 0);
    ck_assert_int_eq(
        HG_Registered_name(s.hg_class, "a name", NULL, &flag), HG_SUCCESS);
    ck_assert_uint_eq(flag, 1);
    ck_assert_uint_eq(
        HG_Register_name(s.hg_class, "a name", NULL, NULL, NULL), id);
    session_end(&s);
}
END_TEST

START_TEST(register_again_replaces_procs_and_keeps_data)
{
    struct session s;
    hg_proc_cb_t in = NULL, out = NULL;
    uint32_t data = 1;
    uint8_t flag = 0, disabled = 0;

    session_begin(&s, _i, &setup);
    freed = 0;
    ck_assert_int_eq(HG_Register(s.hg_class, 1ULL << 40, hg_proc_uint32_t,
                         hg_proc_uint64_t, handler),
        HG_SUCCESS);
    ck_assert_int_eq(
        HG_Register_data(s.hg_class, 1ULL << 40, &data, count_freed),
        HG_SUCCESS);
    ck_assert_int_eq(
        HG_Registered_disable_response(s.hg_class, 1ULL << 40, 1), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Registered_proc_cb(s.hg_class, 1ULL << 40, &flag, &in, &out),
        HG_SUCCESS);
    ck_assert_uint_eq(flag, 1);
    ck_assert(in == hg_proc_uint32_t && out == hg_proc_uint64_t);
    ck_assert_int_eq(
        HG_Register(s.hg_class, 1ULL << 40, hg_proc_int8_t, NULL, NULL),
        HG_SUCCESS);
    ck_assert_int_eq(
        HG_Registered_proc_cb(s.hg_class, 1ULL << 40, &flag, &in, &out),
        HG_SUCCESS);
    ck_assert(in == hg_proc_int8_t && out == NULL);
    ck_assert_ptr_eq(HG_Registered_data(s.hg_class, 1ULL << 40), &data);
    ck_assert_int_eq(
        HG_Registered_disabled_response(s.hg_class, 1ULL << 40, &disabled),
        HG_SUCCESS);
    ck_assert_uint_eq(disabled, 1);
    ck_assert_uint_eq(freed, 0);
    session_end(&s);
    ck_assert_uint_eq(freed, 1);
}
END_TEST

START_TEST(register_data_is_freed_once_by_deregister_or_finalize)
{
    struct session s;
    uint32_t ones[3] = {1, 10, 100};

    session_begin(&s, _i, &setup);
    freed = 0;
    for (hg_id_t id = 1; id <= 2; id++)
        ck_assert_int_eq(
            HG_Register(s.hg_class, id, NULL, NULL, NULL), HG_SUCCESS);
    ck_assert_ptr_null(HG_Registered_data(s.hg_class, 1));
    ck_assert_int_eq(
        HG_Register_data(s.hg_class, 1, &ones[0], count_freed), HG_SUCCESS);
    /* Replaces earlier data, which is not freed. */
    ck_assert_int_eq(
        HG_Register_data(s.hg_class, 1, &ones[1], count_freed), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Register_data(s.hg_class, 2, &ones[2], count_freed), HG_SUCCESS);
    ck_assert_int_eq(HG_Deregister(s.hg_class, 1), HG_SUCCESS);
    ck_assert_uint_eq(freed, 10);
    ck_assert_ptr_null(HG_Registered_data(s.hg_class, 1));
    ck_assert_int_eq(HG_Deregister(s.hg_class, 1), HG_NOENTRY);
    session_end(&s);
    ck_assert_uint_eq(freed, 110);
}
END_TEST

START_TEST(register_unknown_id_noentry)
{
    struct session s;
    uint8_t flag = 1;
    hg_proc_cb_t in = hg_proc_int8_t;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(HG_Registered(s.hg_class, 99, &flag), HG_SUCCESS);
    ck_assert_uint_eq(flag, 0);
    ck_assert_int_eq(
        HG_Registered_proc_cb(s.hg_class, 99, &flag, &in, NULL), HG_SUCCESS);
    ck_assert_uint_eq(flag, 0);
    ck_assert(in == hg_proc_int8_t);
    ck_assert_int_eq(HG_Deregister(s.hg_class, 99), HG_NOENTRY);
    ck_assert_int_eq(HG_Register_data(s.hg_class, 99, &flag, NULL), HG_NOENTRY);
    ck_assert_int_eq(
        HG_Registered_disable_response(s.hg_class, 99, 1), HG_NOENTRY);
    ck_assert_int_eq(
        HG_Registered_disabled_response(s.hg_class, 99, &flag), HG_NOENTRY);
    ck_assert_ptr_null(HG_Registered_data(s.hg_class, 99));
    session_end(&s);
}
END_TEST

START_TEST(register_null_or_zero_invalid)
{
    struct session s;
    uint8_t flag;

    session_begin(&s, _i, &setup);
    ck_assert_uint_eq(HG_Register_name(NULL, "x", NULL, NULL, NULL), 0);
    ck_assert_uint_eq(HG_Register_name(s.hg_class, NULL, NULL, NULL, NULL), 0);
    ck_assert_int_eq(
        HG_Register(s.hg_class, 0, NULL, NULL, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Register(NULL, 1, NULL, NULL, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Registered_name(s.hg_class, NULL, NULL, &flag), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Registered_name(s.hg_class, "x", NULL, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Registered(s.hg_class, 1, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Registered(NULL, 1, &flag), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Registered_proc_cb(s.hg_class, 1, NULL, NULL, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Deregister(NULL, 1), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Register_data(NULL, 1, NULL, NULL), HG_INVALID_ARG);
    ck_assert_ptr_null(HG_Registered_data(NULL, 1));
    ck_assert_int_eq(
        HG_Registered_disable_response(NULL, 1, 1), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Registered_disabled_response(NULL, 1, &flag), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Registered_disabled_response(s.hg_class, 1, NULL), HG_INVALID_ARG);
    session_end(&s);
}
END_TEST

/* An RPC that the target calls itself but has no handler for. */
START_TEST(register_without_a_handler_is_answered_noentry)
{
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    if (s.mode->shape == SESSION_SELF) {
        log_expect("RPC not registered", 1, 1);
        ck_assert_int_eq(
            HG_Deregister(s.hg_class, rpcs_id(RPC_EMPTY)), HG_SUCCESS);
        ck_assert_int_eq(
            HG_Register(s.hg_class, rpcs_id(RPC_EMPTY), NULL, NULL, NULL),
            HG_SUCCESS);
        handle = session_handle(&s, rpcs_id(RPC_EMPTY));
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_NOENTRY);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

/* A deregistered RPC is answered like one that was never registered. */
START_TEST(register_deregistered_rpc_is_noentry_until_registered_again)
{
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    if (s.mode->shape == SESSION_SELF) {
        log_expect("RPC not registered", 1, 1);
        handle = session_handle(&s, rpcs_id(RPC_EMPTY));
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
        ck_assert_int_eq(
            HG_Deregister(s.hg_class, rpcs_id(RPC_EMPTY)), HG_SUCCESS);
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_NOENTRY);
        ck_assert_int_eq(
            HG_Reset(handle, s.target, rpcs_id(RPC_EMPTY)), HG_NOENTRY);
        rpcs_open(s.hg_class);
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

/* Requests are looked up while others are registered. */
static void *
register_many(void *arg)
{
    hg_class_t *hg_class = arg;

    for (hg_id_t id = 1; id <= test_count(TEST_REGISTRY_IDS); id++) {
        if (HG_Register(hg_class, id << 33, NULL, NULL, NULL) != HG_SUCCESS)
            return arg;
        if (id % 3 == 0 && HG_Deregister(hg_class, id << 33) != HG_SUCCESS)
            return arg;
    }
    return NULL;
}

START_TEST(register_while_requests_arrive)
{
    struct session s;
    hg_handle_t handle;
    pthread_t thread;
    void *failed;

    session_begin(&s, _i, &setup);
    if (s.mode->thread_mode == 0) {
        ck_assert_int_eq(
            pthread_create(&thread, NULL, register_many, s.hg_class), 0);
        handle = session_handle(&s, rpcs_id(RPC_EMPTY));
        for (unsigned i = 0; i < 500; i++)
            ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
        ck_assert_int_eq(pthread_join(thread, &failed), 0);
        ck_assert_ptr_null(failed);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, register_name_gives_the_same_id_everywhere);
    session_add(tcase, register_again_replaces_procs_and_keeps_data);
    session_add(tcase, register_data_is_freed_once_by_deregister_or_finalize);
    session_add(tcase, register_unknown_id_noentry);
    session_add(tcase, register_null_or_zero_invalid);
    session_add(tcase, register_without_a_handler_is_answered_noentry);
    session_add(
        tcase, register_deregistered_rpc_is_noentry_until_registered_again);
    session_add(tcase, register_while_requests_arrive);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "register", add);
}
