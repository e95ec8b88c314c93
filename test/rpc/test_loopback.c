/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to self, without a transport: within one context and across contexts,
 * with a class that does not listen. */
#include "counts.h"
#include "log_watch.h"
#include "loopback.h"

#include <string.h>

static hg_return_t
forward_to(struct session *s, hg_addr_t addr, enum rpc rpc, void *in)
{
    hg_handle_t handle;
    hg_return_t ret;

    ck_assert_int_eq(
        HG_Create(s->context, addr, rpcs_id(rpc), &handle), HG_SUCCESS);
    ret = session_forward(s, handle, in);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    return ret;
}

START_TEST(loopback_of_every_self_address_bypasses_the_transport)
{
    struct session s;
    hg_addr_t copy, found, again;

    if (!loopback_is_self(_i))
        return;
    session_begin(&s, _i, &loopback_setup);
    ck_assert_int_eq(HG_Addr_dup(s.hg_class, s.target, &copy), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_lookup2(s.hg_class, s.address, &found), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_self(s.hg_class, &again), HG_SUCCESS);
    for (unsigned i = 0; i < 3; i++) {
        rpcs_ck_works(&s);
        ck_assert_int_eq(forward_to(&s, copy, RPC_EMPTY, NULL), HG_SUCCESS);
        ck_assert_int_eq(forward_to(&s, found, RPC_EMPTY, NULL), HG_SUCCESS);
        ck_assert_int_eq(forward_to(&s, again, RPC_EMPTY, NULL), HG_SUCCESS);
    }
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_EMPTY], 9);
    ck_assert_uint_eq(loopback_sent(), 0);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, copy), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, found), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, again), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
without_loopback(struct hg_init_info *info)
{
    info->no_loopback = 1;
}

START_TEST(loopback_off_uses_the_transport)
{
    static const struct session_setup setup_off = {
        .open = rpcs_open, .stopping = rpcs_stopping, .init = without_loopback};
    struct session s;

    if (!loopback_is_self(_i))
        return;
    session_begin(&s, _i, &setup_off);
    rpcs_ck_works(&s);
    ck_assert_uint_eq(loopback_sent(), session_is_loop() ? 1 : 0);
    session_end(&s);
}
END_TEST

START_TEST(loopback_codes_match_those_of_a_call)
{
    struct session s;
    int32_t code = HG_PERMISSION;
    uint64_t value = 5;

    if (!loopback_is_self(_i))
        return;
    session_begin(&s, _i, &loopback_setup);
    ck_assert_int_eq(forward_to(&s, s.target, RPC_CODE, &code), HG_PERMISSION);
    ck_assert_int_eq(forward_to(&s, s.target, RPC_NOTIFY, &value), HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_NOTIFY, 1);
    ck_assert_uint_eq(rpcs_shared()->notified, 5);
    log_expect("not registered", 1, 1);
    ck_assert_int_eq(forward_to(&s, s.target, RPC_MISSING, NULL), HG_NOENTRY);
    ck_assert_uint_eq(loopback_sent(), 0);
    session_end(&s);
}
END_TEST

static hg_context_t *ran_on;

static hg_return_t
on_where(hg_handle_t handle)
{
    ran_on = HG_Get_info(handle)->context;
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

/* As with Mercury: nothing progresses the other context. */
START_TEST(loopback_runs_on_the_callers_context)
{
    static const uint8_t ids[] = {0, 1, 255};
    struct session s;
    hg_context_t *contexts[2];
    hg_handle_t handle;
    hg_id_t id;

    if (!loopback_is_self(_i))
        return;
    session_begin(&s, _i, &loopback_two_contexts);
    id = MERCURY_REGISTER(s.hg_class, "where", void, void, on_where);
    contexts[0] = s.context;
    contexts[1] = HG_Context_create_id(s.hg_class, 1);
    ck_assert_ptr_nonnull(contexts[1]);
    for (unsigned from = 0; from < 2; from++) {
        ck_assert_int_eq(
            HG_Create(contexts[from], s.target, id, &handle), HG_SUCCESS);
        for (unsigned i = 0; i < sizeof ids; i++) {
            struct call call = {.called = 0};

            ck_assert_int_eq(HG_Set_target_id(handle, ids[i]), HG_SUCCESS);
            ck_assert_int_eq(
                HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
            ck_assert_uint_eq(call.called, 0);
            call_wait(contexts[from], &call, 1);
            ck_assert_int_eq(call.ret, HG_SUCCESS);
            ck_assert_ptr_eq(ran_on, contexts[from]);
        }
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    ck_assert_uint_eq(loopback_sent(), 0);
    ck_assert_int_eq(HG_Context_destroy(contexts[1]), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static char order[8];

static hg_return_t
note_respond(const struct hg_cb_info *info)
{
    TARGET_ASSERT(info->ret == HG_SUCCESS);
    strcat(order, "r");
    return HG_SUCCESS;
}

static hg_return_t
note_forward(const struct hg_cb_info *info)
{
    strcat(order, "f");
    return call_done(info);
}

static hg_return_t
on_order(hg_handle_t handle)
{
    uint32_t size = 0;
    blob_t out;

    TARGET_ASSERT(HG_Get_input(handle, &size) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(handle, &size) == HG_SUCCESS);
    out = blob_make(size, 3);
    TARGET_ASSERT(HG_Respond(handle, note_respond, NULL, &out) == HG_SUCCESS);
    blob_free(&out);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    strcat(order, "h");
    return HG_SUCCESS;
}

/* As with Mercury. */
START_TEST(loopback_respond_calls_back_before_forward)
{
    static const uint32_t sizes[] = {4, 100000};
    struct session s;
    hg_handle_t handle;

    if (!loopback_is_self(_i))
        return;
    session_begin(&s, _i, &loopback_setup);
    handle = session_handle(
        &s, MERCURY_REGISTER(s.hg_class, "order", uint32_t, blob_t, on_order));
    for (unsigned i = 0; i < 2; i++) {
        struct call call = {.called = 0};
        uint32_t size = sizes[i];
        blob_t out;

        order[0] = '\0';
        ck_assert_int_eq(
            HG_Forward(handle, note_forward, &call, &size), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert_str_eq(order, "hrf");
        ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
        ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* In the other modes the origin does not listen. */
START_TEST(loopback_works_without_listening)
{
    struct session s;
    hg_addr_t self;
    uint32_t before;

    if (loopback_is_self(_i))
        return;
    session_begin(&s, _i, &loopback_setup);
    ck_assert(!HG_Class_is_listening(s.hg_class));
    ck_assert_int_eq(HG_Addr_self(s.hg_class, &self), HG_SUCCESS);
    rpcs_ck_works(&s);
    before = loopback_sent();
    for (unsigned i = 0; i < 10; i++)
        ck_assert_int_eq(forward_to(&s, self, RPC_EMPTY, NULL), HG_SUCCESS);
    ck_assert_uint_eq(loopback_sent(), before);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, self), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static hg_id_t relay_id;

static hg_return_t
relayed(const struct hg_cb_info *info)
{
    hg_handle_t asked = info->arg;

    TARGET_ASSERT(info->ret == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(asked, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(asked) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(info->info.forward.handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

/* Looks up the caller's address, and responds afterwards. */
static hg_return_t
on_relay(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    hg_addr_t self;
    hg_handle_t further;

    TARGET_ASSERT(HG_Addr_self(info->hg_class, &self) == HG_SUCCESS);
    TARGET_ASSERT(HG_Addr_cmp(info->hg_class, info->addr, self) == HG_TRUE);
    TARGET_ASSERT(HG_Addr_free(info->hg_class, self) == HG_SUCCESS);
    TARGET_ASSERT(info->context_id == 0);
    TARGET_ASSERT(HG_Create(info->context, info->addr, rpcs_id(RPC_EMPTY),
                      &further) == HG_SUCCESS);
    TARGET_ASSERT(HG_Forward(further, relayed, handle, NULL) == HG_SUCCESS);
    return HG_SUCCESS;
}

static void
open_relay(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    relay_id = MERCURY_REGISTER(hg_class, "relay", void, void, on_relay);
}

START_TEST(loopback_origin_address_can_be_called_back)
{
    static const struct session_setup setup_relay = {
        .open = open_relay, .init = loopback_on};
    struct session s;
    hg_handle_t handle;

    if (!loopback_is_self(_i))
        return;
    session_begin(&s, _i, &setup_relay);
    handle = session_handle(&s, relay_id);
    for (unsigned i = 0; i < 20; i++)
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_EMPTY], 20);
    ck_assert_uint_eq(loopback_sent(), 0);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static _Atomic uint32_t created;

static hg_return_t
count_created(hg_handle_t handle, void *arg)
{
    atomic_fetch_add(&created, 1);
    return HG_SUCCESS;
}

START_TEST(loopback_reuses_handles)
{
    struct session s;
    hg_handle_t handle;
    blob_t in, out;

    if (!loopback_is_self(_i))
        return;
    atomic_store(&created, 0);
    session_begin(&s, _i, &loopback_setup);
    ck_assert_int_eq(
        HG_Class_set_handle_create_callback(s.hg_class, count_created, NULL),
        HG_SUCCESS);
    handle = session_handle(&s, rpcs_id(RPC_ECHO));
    for (uint32_t i = 0; i < test_count(TEST_FORWARD_REPEATS); i++) {
        in = blob_make(4 + i % 300, i);
        ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
        ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
        ck_assert(blob_equal(&in, &out));
        ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
        blob_free(&in);
    }
    /* One handle at each side. */
    ck_assert_uint_eq(created, 2);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static hg_return_t
on_drop(hg_handle_t handle)
{
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static hg_id_t drop_id;

static void
open_drop(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    drop_id = MERCURY_REGISTER(hg_class, "drop", void, void, on_drop);
}

START_TEST(loopback_never_answered_waits_until_cancelled)
{
    static const struct session_setup setup_drop = {
        .open = open_drop, .init = loopback_on};
    struct session s;
    hg_handle_t handle;

    if (!loopback_is_self(_i))
        return;
    session_begin(&s, _i, &setup_drop);
    handle = session_handle(&s, drop_id);
    for (unsigned i = 0; i < 3; i++) {
        struct call call = {.called = 0};

        ck_assert_int_eq(
            HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
        session_quiet(&s);
        ck_assert_uint_eq(call.called, 0);
        /* The handle of the dropped request serves other calls meanwhile. */
        rpcs_ck_works(&s);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_CANCELED);
        session_quiet(&s);
        ck_assert_uint_eq(call.called, 1);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* Waits for seconds, so it runs in one mode. */
START_TEST(loopback_pending_ends_with_its_context)
{
    static const struct session_setup setup_drop = {
        .open = open_drop, .init = loopback_on};
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;

    session_begin(&s, 0, &setup_drop);
    log_expect("still has 1 handles", 1, 1);
    handle = session_handle(&s, drop_id);
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
    session_quiet(&s);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(s.context), HG_BUSY);
    ck_assert_uint_eq(call.called, 0);
    session_drain(s.context);
    ck_assert_uint_eq(call.called, 1);
    ck_assert_int_eq(call.ret, HG_CANCELED);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, loopback_of_every_self_address_bypasses_the_transport);
    session_add(tcase, loopback_off_uses_the_transport);
    session_add(tcase, loopback_codes_match_those_of_a_call);
    session_add(tcase, loopback_runs_on_the_callers_context);
    session_add(tcase, loopback_respond_calls_back_before_forward);
    session_add(tcase, loopback_works_without_listening);
    session_add(tcase, loopback_origin_address_can_be_called_back);
    session_add(tcase, loopback_reuses_handles);
    session_add(tcase, loopback_never_answered_waits_until_cancelled);
    tcase_add_test(tcase, loopback_pending_ends_with_its_context);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "loopback", add);
}
