/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Missing arguments, and arguments that belong to another object: each in turn,
 * for every function that no other case covers. All are rejected without side
 * effects.
 */
#include "log_watch.h"
#include "rpcs.h"
#include "talaria.h"

#include "mercury_bulk.h"
#include "na.h"

#include <stdlib.h>

#define CK_INVALID(call) ck_assert_int_eq(call, HG_INVALID_ARG)

/* The session's class, and a second, unrelated one. */
struct two {
    hg_class_t *own;
    hg_class_t *other;
    hg_context_t *context;
    hg_context_t *other_context;
    hg_addr_t addr;
    hg_addr_t other_addr;
    hg_handle_t handle;
};

static void
two_begin(struct two *t, hg_rpc_cb_t handler)
{
    hg_id_t id;

    session_prepare(session_mode_at(0));
    log_watch_begin();
    log_watch_install();
    t->own = HG_Init(session_transport(), HG_TRUE);
    t->other = HG_Init(session_transport(), HG_TRUE);
    t->context = HG_Context_create(t->own);
    t->other_context = HG_Context_create(t->other);
    ck_assert_ptr_nonnull(t->context);
    ck_assert_ptr_nonnull(t->other_context);
    id = MERCURY_REGISTER(t->own, "call", void, void, handler);
    ck_assert_uint_ne(id, 0);
    ck_assert_int_eq(HG_Addr_self(t->own, &t->addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_self(t->other, &t->other_addr), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Create(t->context, t->addr, id, &t->handle), HG_SUCCESS);
}

static void
two_end(struct two *t)
{
    ck_assert_int_eq(HG_Destroy(t->handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(t->own, t->addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(t->other, t->other_addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(t->context), HG_SUCCESS);
    ck_assert_int_eq(HG_Context_destroy(t->other_context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(t->own), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(t->other), HG_SUCCESS);
    HG_Cleanup();
    log_watch_check();
}

/* A valid call with the same handle still works. */
static void
ck_still_called(struct two *t)
{
    uint64_t deadline = session_now_ms() + 10000;
    struct call call = {.called = 0};

    ck_assert_int_eq(HG_Forward(t->handle, call_done, &call, NULL), HG_SUCCESS);
    while (call.called == 0 && session_now_ms() < deadline) {
        HG_Progress(t->context, 1);
        HG_Trigger(t->context, 0, 1, NULL);
    }
    ck_assert_uint_eq(call.called, 1);
    ck_assert_int_eq(call.ret, HG_SUCCESS);
}

static hg_return_t
on_call(hg_handle_t handle)
{
    ck_assert_int_eq(HG_Respond(handle, NULL, NULL, NULL), HG_SUCCESS);
    return HG_Destroy(handle);
}

static hg_return_t
looked_up(const struct hg_cb_info *info)
{
    ck_abort_msg("a lookup was accepted");
    return HG_SUCCESS;
}

START_TEST(arguments_of_addresses)
{
    struct two t;
    hg_addr_t addr = HG_ADDR_NULL;
    char text[256];
    hg_size_t size = sizeof text;

    two_begin(&t, on_call);
    ck_assert_int_eq(HG_Addr_to_string(t.own, text, &size, t.addr), HG_SUCCESS);
    CK_INVALID(HG_Addr_lookup1(NULL, looked_up, NULL, text, NULL));
    CK_INVALID(HG_Addr_lookup1(t.context, NULL, NULL, text, NULL));
    CK_INVALID(HG_Addr_lookup1(t.context, looked_up, NULL, NULL, NULL));
    CK_INVALID(HG_Addr_lookup2(NULL, text, &addr));
    CK_INVALID(HG_Addr_lookup2(t.own, NULL, &addr));
    CK_INVALID(HG_Addr_lookup2(t.own, text, NULL));
    CK_INVALID(HG_Addr_free(NULL, t.addr));
    /* The address in HG_Get_info belongs to the handle. */
    CK_INVALID(HG_Addr_free(t.own, HG_Get_info(t.handle)->addr));
    CK_INVALID(HG_Addr_set_remove(NULL, t.addr));
    CK_INVALID(HG_Addr_set_remove(t.own, HG_ADDR_NULL));
    CK_INVALID(HG_Addr_self(NULL, &addr));
    CK_INVALID(HG_Addr_self(t.own, NULL));
    CK_INVALID(HG_Addr_dup(NULL, t.addr, &addr));
    CK_INVALID(HG_Addr_dup(t.own, HG_ADDR_NULL, &addr));
    CK_INVALID(HG_Addr_dup(t.own, t.addr, NULL));
    ck_assert(!HG_Addr_cmp(NULL, t.addr, t.addr));
    ck_assert(!HG_Addr_cmp(t.own, HG_ADDR_NULL, t.addr));
    ck_assert(!HG_Addr_cmp(t.own, t.addr, HG_ADDR_NULL));
    CK_INVALID(HG_Addr_to_string(NULL, text, &size, t.addr));
    CK_INVALID(HG_Addr_to_string(t.own, text, NULL, t.addr));
    CK_INVALID(HG_Addr_to_string(t.own, text, &size, HG_ADDR_NULL));
    ck_assert_ptr_null(addr);
    ck_still_called(&t);
    two_end(&t);
}
END_TEST

START_TEST(arguments_of_registration)
{
    struct two t;
    hg_id_t id;
    uint8_t known = 0;

    two_begin(&t, on_call);
    CK_INVALID(HG_Registered_name(NULL, "call", &id, &known));
    CK_INVALID(HG_Registered_name(t.own, NULL, &id, &known));
    CK_INVALID(HG_Registered_name(t.own, "call", &id, NULL));
    ck_assert_int_eq(
        HG_Registered_name(t.own, "call", NULL, &known), HG_SUCCESS);
    ck_assert(known);
    ck_assert_int_eq(
        HG_Registered_name(t.own, "call", &id, &known), HG_SUCCESS);
    CK_INVALID(HG_Registered(NULL, id, &known));
    CK_INVALID(HG_Registered(t.own, id, NULL));
    CK_INVALID(HG_Registered_proc_cb(NULL, id, &known, NULL, NULL));
    CK_INVALID(HG_Registered_proc_cb(t.own, id, NULL, NULL, NULL));
    known = 0;
    ck_assert_int_eq(
        HG_Registered_proc_cb(t.own, id, &known, NULL, NULL), HG_SUCCESS);
    ck_assert(known);
    CK_INVALID(HG_Registered_disabled_response(NULL, id, &known));
    CK_INVALID(HG_Registered_disabled_response(t.own, id, NULL));
    CK_INVALID(HG_Registered_disable_response(NULL, id, 1));
    CK_INVALID(HG_Register_data(NULL, id, &t, NULL));
    CK_INVALID(HG_Deregister(NULL, id));
    ck_assert_ptr_null(HG_Registered_data(NULL, id));
    ck_still_called(&t);
    two_end(&t);
}
END_TEST

/* Functions for origins only, called at the target. */
static hg_return_t
on_call_tries(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);

    CK_INVALID(HG_Reset(handle, info->addr, info->id));
    CK_INVALID(HG_Set_target_id(handle, 0));
    CK_INVALID(talaria_handle_set_deadline(handle, 1));
    CK_INVALID(HG_Forward(handle, NULL, NULL, NULL));
    return on_call(handle);
}

START_TEST(arguments_of_handles)
{
    struct two t;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_id_t id;

    two_begin(&t, on_call_tries);
    id = HG_Get_info(t.handle)->id;
    CK_INVALID(HG_Create(NULL, t.addr, id, &handle));
    CK_INVALID(HG_Create(t.context, t.addr, id, NULL));
    CK_INVALID(HG_Create(t.context, t.other_addr, id, &handle));
    CK_INVALID(HG_Reset(NULL, t.addr, id));
    CK_INVALID(HG_Reset(t.handle, t.other_addr, id));
    CK_INVALID(HG_Set_target_id(NULL, 0));
    CK_INVALID(talaria_handle_set_deadline(NULL, 1));
    CK_INVALID(talaria_handle_drop(NULL));
    CK_INVALID(talaria_handle_drop(t.handle));
    CK_INVALID(HG_Ref_incr(NULL));
    CK_INVALID(HG_Forward(NULL, NULL, NULL, NULL));
    CK_INVALID(HG_Respond(NULL, NULL, NULL, NULL));
    CK_INVALID(HG_Respond(t.handle, NULL, NULL, NULL));
    CK_INVALID(HG_Cancel(NULL));
    ck_assert_int_lt(HG_Ref_get(NULL), 0);
    ck_assert_ptr_null(HG_Get_info(NULL));
    ck_assert_ptr_null(HG_Get_data(NULL));
    ck_assert_ptr_null(handle);
    ck_still_called(&t);
    two_end(&t);
}
END_TEST

START_TEST(arguments_of_descriptors)
{
    struct two t;
    char memory[8];
    unsigned char bytes[512];
    void *base = memory;
    hg_size_t size = sizeof memory;
    hg_bulk_t bulk, other, none = HG_BULK_NULL;

    two_begin(&t, on_call);
    ck_assert_int_eq(
        HG_Bulk_create(t.own, 1, &base, &size, HG_BULK_READWRITE, &bulk),
        HG_SUCCESS);
    ck_assert_int_eq(
        HG_Bulk_create(t.other, 1, &base, &size, HG_BULK_READWRITE, &other),
        HG_SUCCESS);
    CK_INVALID(HG_Bulk_create(t.own, 1, &base, &size, HG_BULK_READWRITE, NULL));
    CK_INVALID(HG_Bulk_ref_incr(HG_BULK_NULL));
    CK_INVALID(HG_Bulk_bind(HG_BULK_NULL, t.context));
    CK_INVALID(HG_Bulk_bind(bulk, NULL));
    CK_INVALID(HG_Bulk_bind(bulk, t.other_context));
    ck_assert_ptr_null(HG_Bulk_get_addr(HG_BULK_NULL));
    ck_assert_uint_eq(HG_Bulk_get_context_id(HG_BULK_NULL), 0);
    ck_assert_uint_eq(HG_Bulk_get_size(HG_BULK_NULL), 0);
    ck_assert_uint_eq(HG_Bulk_get_segment_count(HG_BULK_NULL), 0);
    ck_assert_uint_eq(HG_Bulk_get_flags(HG_BULK_NULL), 0);
    ck_assert_uint_eq(HG_Bulk_get_serialize_size(HG_BULK_NULL, 0), 0);
    CK_INVALID(HG_Bulk_access(
        HG_BULK_NULL, 0, 0, HG_BULK_READ_ONLY, 1, NULL, NULL, NULL));
    CK_INVALID(HG_Bulk_serialize(NULL, sizeof bytes, 0, bulk));
    CK_INVALID(HG_Bulk_serialize(bytes, sizeof bytes, 0, HG_BULK_NULL));
    ck_assert_int_eq(
        HG_Bulk_serialize(bytes, sizeof bytes, 0, bulk), HG_SUCCESS);
    CK_INVALID(HG_Bulk_deserialize(NULL, &none, bytes, sizeof bytes));
    CK_INVALID(HG_Bulk_deserialize(t.own, NULL, bytes, sizeof bytes));
    CK_INVALID(HG_Bulk_deserialize(t.own, &none, NULL, sizeof bytes));
    CK_INVALID(HG_Bulk_transfer(NULL, call_done, NULL, HG_BULK_PULL, t.addr,
        bulk, 0, bulk, 0, 8, HG_OP_ID_IGNORE));
    CK_INVALID(HG_Bulk_transfer(t.context, call_done, NULL, HG_BULK_PULL,
        HG_ADDR_NULL, bulk, 0, bulk, 0, 8, HG_OP_ID_IGNORE));
    CK_INVALID(HG_Bulk_transfer(t.context, call_done, NULL, HG_BULK_PULL,
        t.addr, HG_BULK_NULL, 0, bulk, 0, 8, HG_OP_ID_IGNORE));
    CK_INVALID(HG_Bulk_transfer(t.context, call_done, NULL, HG_BULK_PULL,
        t.addr, bulk, 0, HG_BULK_NULL, 0, 8, HG_OP_ID_IGNORE));
    CK_INVALID(HG_Bulk_transfer(t.context, call_done, NULL, HG_BULK_PULL,
        t.addr, other, 0, bulk, 0, 8, HG_OP_ID_IGNORE));
    CK_INVALID(HG_Bulk_transfer(t.context, call_done, NULL, HG_BULK_PULL,
        t.addr, bulk, 0, other, 0, 8, HG_OP_ID_IGNORE));
    CK_INVALID(HG_Bulk_transfer(t.context, call_done, NULL, HG_BULK_PULL,
        t.other_addr, bulk, 0, bulk, 0, 8, HG_OP_ID_IGNORE));
    CK_INVALID(HG_Bulk_transfer(t.context, call_done, NULL, (hg_bulk_op_t) 7,
        t.addr, bulk, 0, bulk, 0, 8, HG_OP_ID_IGNORE));
    CK_INVALID(HG_Bulk_cancel(HG_OP_ID_NULL));
    ck_assert_ptr_null(none);
    ck_assert_int_eq(HG_Bulk_free(bulk), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_free(other), HG_SUCCESS);
    two_end(&t);
}
END_TEST

/* An NA class, a memory handle as owner and as peer, and operations. */
struct na {
    na_class_t *cls;
    na_context_t *ctx;
    na_addr_t *addr;
    na_mem_handle_t *local;
    na_mem_handle_t *remote;
    na_op_id_t *op;
    na_op_id_t *multi;
    char memory[64];
};

static void
na_begin(struct na *n)
{
    char bytes[512];
    size_t size;

    n->cls = NA_Initialize(session_transport(), true);
    n->ctx = NA_Context_create(n->cls);
    n->op = NA_Op_create(n->cls, NA_OP_SINGLE);
    n->multi = NA_Op_create(n->cls, NA_OP_MULTI);
    ck_assert_ptr_nonnull(n->ctx);
    ck_assert_ptr_nonnull(n->op);
    ck_assert_ptr_nonnull(n->multi);
    ck_assert_int_eq(NA_Addr_self(n->cls, &n->addr), NA_SUCCESS);
    ck_assert_int_eq(NA_Mem_handle_create(n->cls, n->memory, sizeof n->memory,
                         NA_MEM_READWRITE, &n->local),
        NA_SUCCESS);
    ck_assert_int_eq(
        NA_Mem_register(n->cls, n->local, NA_MEM_TYPE_HOST, 0), NA_SUCCESS);
    size = NA_Mem_handle_get_serialize_size(n->cls, n->local);
    ck_assert_uint_le(size, sizeof bytes);
    ck_assert_int_eq(
        NA_Mem_handle_serialize(n->cls, bytes, size, n->local), NA_SUCCESS);
    ck_assert_int_eq(
        NA_Mem_handle_deserialize(n->cls, &n->remote, bytes, size), NA_SUCCESS);
}

static void
na_end(struct na *n)
{
    NA_Mem_handle_free(n->cls, n->remote);
    ck_assert_int_eq(NA_Mem_deregister(n->cls, n->local), NA_SUCCESS);
    NA_Mem_handle_free(n->cls, n->local);
    ck_assert_int_eq(NA_Addr_free(n->cls, n->addr), NA_SUCCESS);
    NA_Op_destroy(n->cls, n->op);
    NA_Op_destroy(n->cls, n->multi);
    ck_assert_int_eq(NA_Context_destroy(n->cls, n->ctx), NA_SUCCESS);
    ck_assert_int_eq(NA_Finalize(n->cls), NA_SUCCESS);
}

/* Put and get check their arguments alike. */
static void
ck_rma_invalid(na_class_t *cls, na_context_t *ctx, na_mem_handle_t *local,
    na_mem_handle_t *remote, na_addr_t *addr, na_op_id_t *op)
{
    CK_INVALID((hg_return_t) NA_Put(
        cls, ctx, NULL, NULL, local, 0, remote, 0, 8, addr, 0, op));
    CK_INVALID((hg_return_t) NA_Get(
        cls, ctx, NULL, NULL, local, 0, remote, 0, 8, addr, 0, op));
}

START_TEST(arguments_of_put_and_get)
{
    struct na a, b;
    na_mem_handle_t *bare;

    session_prepare(session_mode_at(0));
    log_watch_begin();
    log_watch_install();
    na_begin(&a);
    na_begin(&b);
    ck_assert_int_eq(NA_Mem_handle_create(a.cls, a.memory, sizeof a.memory,
                         NA_MEM_READWRITE, &bare),
        NA_SUCCESS);
    ck_rma_invalid(NULL, a.ctx, a.local, a.remote, a.addr, a.op);
    ck_rma_invalid(a.cls, NULL, a.local, a.remote, a.addr, a.op);
    ck_rma_invalid(a.cls, b.ctx, a.local, a.remote, a.addr, a.op);
    ck_rma_invalid(a.cls, a.ctx, NULL, a.remote, a.addr, a.op);
    ck_rma_invalid(a.cls, a.ctx, bare, a.remote, a.addr, a.op);
    ck_rma_invalid(a.cls, a.ctx, a.remote, a.remote, a.addr, a.op);
    ck_rma_invalid(a.cls, a.ctx, a.local, NULL, a.addr, a.op);
    ck_rma_invalid(a.cls, a.ctx, a.local, bare, a.addr, a.op);
    ck_rma_invalid(a.cls, a.ctx, a.local, a.local, a.addr, a.op);
    ck_rma_invalid(a.cls, a.ctx, a.local, a.remote, NULL, a.op);
    ck_rma_invalid(a.cls, a.ctx, a.local, a.remote, a.addr, NULL);
    ck_rma_invalid(a.cls, a.ctx, a.local, a.remote, a.addr, a.multi);
    ck_rma_invalid(a.cls, a.ctx, a.local, a.remote, a.addr, b.op);
    NA_Mem_handle_free(a.cls, bare);
    na_end(&a);
    na_end(&b);
    HG_Cleanup();
    log_watch_check();
}
END_TEST

START_TEST(arguments_of_na_memory_and_addresses)
{
    struct na n;
    na_mem_handle_t *bare, *none = NULL;
    na_addr_t *addr = NULL;
    struct talaria_report *report = NULL;
    char bytes[64];
    void *data;
    size_t size = sizeof bytes;

    session_prepare(session_mode_at(0));
    log_watch_begin();
    log_watch_install();
    na_begin(&n);
    ck_assert_int_eq(NA_Mem_handle_create(n.cls, n.memory, sizeof n.memory,
                         NA_MEM_READWRITE, &bare),
        NA_SUCCESS);
    ck_assert_int_eq(
        NA_Mem_register(NULL, bare, NA_MEM_TYPE_HOST, 0), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_register(n.cls, NULL, NA_MEM_TYPE_HOST, 0), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_register(n.cls, n.remote, NA_MEM_TYPE_HOST, 0), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_register(n.cls, bare, NA_MEM_TYPE_MAX, 0), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Mem_register(n.cls, bare, (enum na_mem_type) - 1, 0),
        NA_INVALID_ARG);
    ck_assert_int_eq(NA_Mem_deregister(NULL, n.local), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Mem_deregister(n.cls, NULL), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Mem_deregister(n.cls, n.remote), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Mem_deregister(n.cls, bare), NA_SUCCESS);
    ck_assert_uint_eq(NA_Mem_handle_get_serialize_size(NULL, n.local), 0);
    ck_assert_uint_eq(NA_Mem_handle_get_serialize_size(n.cls, NULL), 0);
    ck_assert_uint_eq(NA_Mem_handle_get_serialize_size(n.cls, bare), 0);
    ck_assert_int_eq(
        NA_Mem_handle_serialize(NULL, bytes, size, n.local), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_handle_serialize(n.cls, NULL, size, n.local), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_handle_serialize(n.cls, bytes, size, NULL), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_handle_serialize(n.cls, bytes, size, bare), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_handle_deserialize(NULL, &none, bytes, size), NA_INVALID_ARG);
    ck_assert_ptr_null(none);
    /* The memory is still registered; freeing the handle deregisters it. */
    ck_assert_int_eq(
        NA_Mem_register(n.cls, bare, NA_MEM_TYPE_HOST, 0), NA_SUCCESS);
    NA_Mem_handle_free(NULL, bare);
    NA_Mem_handle_free(n.cls, NULL);
    NA_Mem_handle_free(n.cls, bare);

    ck_assert(!NA_Addr_is_self(NULL, n.addr));
    ck_assert_int_eq(NA_Addr_self(NULL, &addr), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Addr_dup(NULL, n.addr, &addr), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Addr_to_string(NULL, bytes, &size, n.addr), NA_INVALID_ARG);
    ck_assert_uint_eq(NA_Addr_get_serialize_size(NULL, n.addr), 0);
    ck_assert_int_eq(
        NA_Addr_serialize(NULL, bytes, size, n.addr), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Addr_serialize(n.cls, bytes, size, NULL), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Addr_deserialize(NULL, &addr, bytes, size, 0), NA_INVALID_ARG);
    ck_assert_ptr_null(addr);

    ck_assert_ptr_null(NA_Msg_buf_alloc(NULL, 8, NA_SEND, &data));
    ck_assert_ptr_null(NA_Msg_buf_alloc(n.cls, 0, NA_SEND, &data));
    ck_assert_ptr_null(NA_Msg_buf_alloc(n.cls, 8, NA_SEND, NULL));
    NA_Msg_buf_free(NULL, bytes, NULL);
    NA_Msg_buf_free(n.cls, NULL, NULL);
    ck_assert_ptr_null(NA_Op_create(NULL, NA_OP_SINGLE));
    NA_Op_destroy(n.cls, NULL);
    ck_assert_int_eq((int) talaria_class_report(NULL, &report), NA_INVALID_ARG);
    ck_assert_int_eq((int) talaria_class_report(n.cls, NULL), NA_INVALID_ARG);
    ck_assert_ptr_null(report);
    na_end(&n);
    HG_Cleanup();
    log_watch_check();
}
END_TEST

/* An invalid variable makes opening fail; no default replaces it. */
START_TEST(arguments_of_environment_variables)
{
    static const char *const wrong[] = {"soon", "-1", "+1", " 1", "1 ", "1s",
        "4294967296", "99999999999999999999"};
    static const char *const right[] = {"", "0", "4294967295"};
    const uint32_t count = sizeof wrong / sizeof wrong[0];
    hg_class_t *hg_class;

    session_prepare(session_mode_at(0));
    log_watch_begin();
    log_watch_install();
    log_expect("by the variable TALARIA_HG_ACK_TIMEOUT_MS", count, count);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert_int_eq(setenv("TALARIA_HG_ACK_TIMEOUT_MS", wrong[i], 1), 0);
        ck_assert_ptr_null(HG_Init(session_transport(), HG_TRUE));
    }
    for (uint32_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        ck_assert_int_eq(setenv("TALARIA_HG_ACK_TIMEOUT_MS", right[i], 1), 0);
        hg_class = HG_Init(session_transport(), HG_TRUE);
        ck_assert_ptr_nonnull(hg_class);
        ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    }
    HG_Cleanup();
    log_watch_check();
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, arguments_of_addresses);
    tcase_add_test(tcase, arguments_of_registration);
    tcase_add_test(tcase, arguments_of_handles);
    tcase_add_test(tcase, arguments_of_descriptors);
    tcase_add_test(tcase, arguments_of_put_and_get);
    tcase_add_test(tcase, arguments_of_na_memory_and_addresses);
    tcase_add_test(tcase, arguments_of_environment_variables);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "arguments", add);
}
