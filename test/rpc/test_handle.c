/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles: references, reset, user data, and invalid arguments. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <pthread.h>
#include <string.h>

static const struct session_setup setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};

static hg_return_t
ck_refs_in_callback(const struct hg_cb_info *info)
{
    struct call *call = info->arg;

    ck_assert_int_eq(HG_Ref_get(info->info.forward.handle), 2);
    call_done(info);
    ck_assert_uint_eq(call->called, 1);
    return HG_SUCCESS;
}

START_TEST(handle_references_are_back_at_one_after_success)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    blob_t in, out, again;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    in = blob_make(20, 1);
    ck_assert_int_eq(
        HG_Forward(handle, ck_refs_in_callback, &call, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Ref_get(handle), 2);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(HG_Ref_get(handle), 2);
    ck_assert_int_eq(HG_Get_output(handle, &again), HG_SUCCESS);
    ck_assert_int_eq(HG_Ref_get(handle), 3);
    ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(HG_Free_output(handle, &again), HG_SUCCESS);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Ref_incr(handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Ref_get(handle), 2);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static hg_return_t
proc_refused(hg_proc_t proc, void *data)
{
    (void) proc;
    (void) data;
    return HG_NOMEM;
}

START_TEST(handle_references_are_back_at_one_after_failure)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    int32_t code = HG_NOENTRY;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_CODE));
    ck_assert_int_eq(
        HG_Forward(handle, ck_refs_in_callback, &call, &code), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_NOENTRY);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    /* Calls that could not start have not changed it either. */
    ck_assert_int_eq(HG_Reset(handle, HG_ADDR_NULL,
                         HG_Register_name(HG_Get_info(handle)->hg_class,
                             "refused", proc_refused, NULL, NULL)),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &code), HG_NOMEM);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_uint_eq(call.called, 1);
    ck_assert_int_eq(
        HG_Reset(handle, HG_ADDR_NULL, rpcs_id(RPC_EMPTY)), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

#define DROPPERS 4
#define DROPS 50000

static void *
drop_references(void *arg)
{
    for (int i = 0; i < DROPS; i++)
        ck_assert_int_eq(HG_Destroy(arg), HG_SUCCESS);
    return NULL;
}

/* Unless the program has promised to use one thread at a time. */
START_TEST(handle_references_are_dropped_by_several_threads)
{
    struct session s;
    pthread_t threads[DROPPERS];
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    for (int i = 0; i < DROPPERS * DROPS; i++)
        ck_assert_int_eq(HG_Ref_incr(handle), HG_SUCCESS);
    for (int i = 0; i < DROPPERS; i++) {
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, drop_references, handle), 0);
        if (s.mode->thread_mode != 0)
            pthread_join(threads[i], NULL);
    }
    for (int i = 0; s.mode->thread_mode == 0 && i < DROPPERS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(handle_reset_sets_null_address_and_id)
{
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(
        HG_Create(s.context, HG_ADDR_NULL, 0, &handle), HG_SUCCESS);
    ck_assert_ptr_null(HG_Get_info(handle)->addr);
    ck_assert_uint_eq(HG_Get_info(handle)->id, 0);
    ck_assert_int_eq(HG_Forward(handle, NULL, NULL, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Reset(handle, s.target, 0), HG_SUCCESS);
    ck_assert_int_eq(HG_Forward(handle, NULL, NULL, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Reset(handle, HG_ADDR_NULL, rpcs_id(RPC_EMPTY)), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Create(s.context, HG_ADDR_NULL, rpcs_id(RPC_EMPTY), &handle),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Forward(handle, NULL, NULL, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(handle_reset_with_null_keeps_the_old)
{
    struct session s;
    hg_handle_t handle;
    const struct hg_info *info;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(HG_Reset(handle, HG_ADDR_NULL, 0), HG_SUCCESS);
    info = HG_Get_info(handle);
    ck_assert_uint_eq(info->id, rpcs_id(RPC_EMPTY));
    ck_assert_uint_eq(HG_Addr_cmp(s.hg_class, info->addr, s.target), 1);
    ck_assert_ptr_eq(info->hg_class, s.hg_class);
    ck_assert_ptr_eq(info->context, s.context);
    ck_assert_uint_eq(info->context_id, 0);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    /* HG_Reset accepts the handle's own borrowed address. */
    ck_assert_int_eq(
        HG_Reset(handle, HG_Get_info(handle)->addr, 0), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(handle_reset_to_other_target_and_rpc_reaches_it)
{
    struct session s;
    hg_handle_t handle;
    hg_addr_t other;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(
        HG_Addr_lookup2(s.hg_class, s.address, &other), HG_SUCCESS);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Reset(handle, other, rpcs_id(RPC_ANSWER_KEPT)), HG_SUCCESS);
    /* The handle holds a reference to the address. */
    ck_assert_int_eq(HG_Addr_free(s.hg_class, other), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, &(uint32_t){0}), HG_SUCCESS);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_EMPTY], 1);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_ANSWER_KEPT], 1);
    ck_assert_int_eq(HG_Reset(handle, s.target, 12345), HG_NOENTRY);
    ck_assert_uint_eq(HG_Get_info(handle)->id, rpcs_id(RPC_ANSWER_KEPT));
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(handle_in_flight_busy)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    blob_t in;

    session_begin(&s, _i, &setup);
    in = blob_make(10, 1);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_BUSY);
    ck_assert_int_eq(HG_Reset(handle, s.target, 0), HG_BUSY);
    rpcs_wait_handled(&s, RPC_KEEP, 1);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_BUSY);
    ck_assert_int_eq(
        HG_Reset(handle, HG_ADDR_NULL, rpcs_id(RPC_EMPTY)), HG_BUSY);
    ck_assert_int_eq(HG_Ref_get(handle), 2);
    ck_assert_uint_eq(rpcs_answer_kept(&s, 1), 1);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    session_quiet(&s);
    ck_assert_uint_eq(call.called, 1);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_KEEP], 1);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(
        HG_Reset(handle, HG_ADDR_NULL, rpcs_id(RPC_EMPTY)), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static hg_return_t
note_and_destroy(const struct hg_cb_info *info)
{
    hg_handle_t handle = info->info.forward.handle;

    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Get_info(handle)->id, rpcs_id(RPC_ECHO));
    return call_done(info);
}

START_TEST(handle_destroyed_before_its_callback_lives_until_then)
{
    struct session s;
    struct call calls[8];
    blob_t in;

    memset(calls, 0, sizeof calls);
    session_begin(&s, _i, &setup);
    in = blob_make(10, 1);
    for (unsigned i = 0; i < 8; i++) {
        hg_handle_t handle = session_handle(&s, rpcs_id(RPC_ECHO));

        ck_assert_int_eq(
            HG_Forward(handle, note_and_destroy, &calls[i], &in), HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    for (unsigned i = 0; i < 8; i++) {
        session_wait(&s, &calls[i].called, 1);
        ck_assert_int_eq(calls[i].ret, HG_SUCCESS);
    }
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(handle_destroyed_inside_its_callback_is_freed_after)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(HG_Destroy(call.handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(HG_HANDLE_NULL), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static _Atomic uint32_t freed;

static void
count_freed(void *data)
{
    atomic_fetch_add(&freed, 1);
    *(uint32_t *) data += 1;
}

START_TEST(handle_data_survives_reset_and_is_freed_with_handle)
{
    struct session s;
    uint32_t first = 0, second = 0;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    freed = 0;
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_ptr_null(HG_Get_data(handle));
    ck_assert_int_eq(HG_Set_data(handle, &first, count_freed), HG_SUCCESS);
    ck_assert_ptr_eq(HG_Get_data(handle), &first);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_ptr_eq(HG_Get_data(handle), &first);
    ck_assert_int_eq(HG_Reset(handle, s.target, rpcs_id(RPC_ECHO)), HG_SUCCESS);
    ck_assert_ptr_eq(HG_Get_data(handle), &first);
    ck_assert_int_eq(HG_Set_data(handle, &second, count_freed), HG_SUCCESS);
    ck_assert_uint_eq(freed, 0);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_ptr_null(HG_Get_data(handle));
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
    ck_assert_uint_eq(first, 0);
    ck_assert_uint_eq(second, 1);
    ck_assert_uint_eq(freed, 1);
}
END_TEST

/* Data shared by the create callback and the handlers of a process: each new
 * handle gets a mark. */
struct marks {
    _Atomic uint32_t made;
    _Atomic uint32_t freed;
    _Atomic uint32_t marked; /* requests whose handle had its mark */
};

static int the_mark, the_arg;

static struct marks *
marks(void)
{
    return (struct marks *) ((char *) session_user() + RPCS_USER_OFFSET);
}

static void
count_mark_freed(void *data)
{
    TARGET_ASSERT(data == &the_mark);
    atomic_fetch_add(&marks()->freed, 1);
}

static hg_return_t
mark(hg_handle_t handle, void *arg)
{
    TARGET_ASSERT(arg == &the_arg);
    TARGET_ASSERT(HG_Get_info(handle)->context != NULL);
    TARGET_ASSERT(HG_Get_data(handle) == NULL);
    atomic_fetch_add(&marks()->made, 1);
    return HG_Set_data(handle, &the_mark, count_mark_freed);
}

static hg_id_t marked_id;

static hg_return_t
on_marked(hg_handle_t handle)
{
    if (HG_Get_data(handle) == &the_mark)
        atomic_fetch_add(&marks()->marked, 1);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static void
open_marking(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    marked_id = MERCURY_REGISTER(hg_class, "marked", void, void, on_marked);
    TARGET_ASSERT(HG_Class_set_handle_create_callback(
                      hg_class, mark, &the_arg) == HG_SUCCESS);
}

static void
post_few(struct hg_init_info *info)
{
    info->request_post_init = 4;
    info->request_post_incr = 3;
}

static const struct session_setup setup_marking = {
    .open = open_marking, .init = post_few};

START_TEST(handle_create_callback_sees_every_new_handle)
{
    struct session s;
    hg_handle_t handle;
    uint32_t made, freed_before;

    session_begin(&s, _i, &setup_marking);
    ck_assert_uint_eq(marks()->made, 4); /* receives posted by the target */
    handle = session_handle(&s, marked_id);
    ck_assert_uint_eq(marks()->made, 5);
    ck_assert_ptr_eq(HG_Get_data(handle), &the_mark);
    for (unsigned i = 0; i < 50; i++)
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    /* Reused handles of the target keep their data. */
    ck_assert_uint_eq(marks()->marked, 50);
    made = marks()->made;
    freed_before = marks()->freed;
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_uint_eq(marks()->freed, freed_before + 1);
    handle = session_handle(&s, marked_id);
    ck_assert_uint_eq(marks()->made, made + 1);
    ck_assert_ptr_eq(HG_Get_data(handle), &the_mark);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static hg_return_t
refuse(hg_handle_t handle, void *arg)
{
    return HG_ACCESS;
}

START_TEST(handle_create_callback_failure_fails_create)
{
    struct session s;
    hg_handle_t handle = HG_HANDLE_NULL, kept;

    session_begin(&s, _i, &setup);
    kept = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(
        HG_Class_set_handle_create_callback(s.hg_class, refuse, NULL),
        HG_SUCCESS);
    ck_assert_int_eq(
        HG_Create(s.context, s.target, rpcs_id(RPC_EMPTY), &handle), HG_ACCESS);
    /* Called for reused handles too. */
    ck_assert_int_eq(HG_Destroy(kept), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Create(s.context, s.target, rpcs_id(RPC_EMPTY), &handle), HG_ACCESS);
    ck_assert_ptr_null(handle);
    ck_assert_int_eq(
        HG_Class_set_handle_create_callback(s.hg_class, NULL, NULL),
        HG_SUCCESS);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(handle_info_address_is_borrowed)
{
    struct session s;
    hg_handle_t handle;
    hg_addr_t borrowed, kept;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    borrowed = HG_Get_info(handle)->addr;
    ck_assert_int_eq(HG_Addr_free(s.hg_class, borrowed), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Addr_dup(s.hg_class, borrowed, &kept), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Create(s.context, kept, rpcs_id(RPC_EMPTY), &handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, kept), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(handle_of_unregistered_rpc_noentry)
{
    struct session s;
    hg_handle_t handle = HG_HANDLE_NULL;

    session_begin(&s, _i, &setup);
    log_expect("RPC id 4711 is not registered", 1, 1);
    ck_assert_int_eq(HG_Create(s.context, s.target, 4711, &handle), HG_NOENTRY);
    ck_assert_ptr_null(handle);
    session_end(&s);
}
END_TEST

START_TEST(handle_set_target_id_0_works)
{
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(HG_Set_target_id(handle, 0), HG_SUCCESS);
    ck_assert_uint_eq(HG_Get_info(handle)->context_id, 0);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(handle_null_or_wrong_role_invalid)
{
    struct session s;
    hg_handle_t handle;
    void *buf;
    hg_size_t size;
    uint32_t value;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(HG_Create(NULL, s.target, 0, &handle), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Create(s.context, s.target, 0, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Reset(NULL, s.target, 0), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Forward(NULL, NULL, NULL, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Respond(NULL, NULL, NULL, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Respond(handle, NULL, NULL, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Get_input(handle, &value), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Free_input(NULL, &value), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Release_input_buf(handle), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Get_input(NULL, &value), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Get_output(NULL, &value), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Free_output(NULL, &value), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Get_input_buf(NULL, &buf, &size), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Get_output_buf(NULL, &buf, &size), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Get_input_extra_buf(NULL, &buf, &size), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Get_output_extra_buf(NULL, &buf, &size), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Cancel(NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Ref_incr(NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Ref_get(NULL), -1);
    ck_assert_int_eq(HG_Set_data(NULL, NULL, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Set_target_id(NULL, 0), HG_INVALID_ARG);
    ck_assert_ptr_null(HG_Get_data(NULL));
    ck_assert_ptr_null(HG_Get_info(NULL));
    ck_assert_uint_eq(HG_Get_input_payload_size(NULL), 0);
    ck_assert_uint_eq(HG_Get_output_payload_size(NULL), 0);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, handle_references_are_back_at_one_after_success);
    session_add(tcase, handle_references_are_back_at_one_after_failure);
    session_add(tcase, handle_references_are_dropped_by_several_threads);
    session_add(tcase, handle_reset_sets_null_address_and_id);
    session_add(tcase, handle_reset_with_null_keeps_the_old);
    session_add(tcase, handle_reset_to_other_target_and_rpc_reaches_it);
    session_add(tcase, handle_in_flight_busy);
    session_add(tcase, handle_destroyed_before_its_callback_lives_until_then);
    session_add(tcase, handle_destroyed_inside_its_callback_is_freed_after);
    session_add(tcase, handle_data_survives_reset_and_is_freed_with_handle);
    session_add(tcase, handle_create_callback_sees_every_new_handle);
    session_add(tcase, handle_create_callback_failure_fails_create);
    session_add(tcase, handle_info_address_is_borrowed);
    session_add(tcase, handle_of_unregistered_rpc_noentry);
    session_add(tcase, handle_set_target_id_0_works);
    session_add(tcase, handle_null_or_wrong_role_invalid);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "handle", add);
}
