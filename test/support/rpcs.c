/* SPDX-License-Identifier: BSD-3-Clause */
/* Handlers of the common RPCs. */
#include "rpcs.h"

#include "counts.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 1024U

static hg_id_t ids[RPC_COUNT];

/* Unanswered handles of RPC_KEEP, in the target's process. */
static hg_handle_t kept[KEPT_MAX];
static uint32_t kept_count;
static bool stopping; /* new requests are answered at once from now on */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

hg_return_t
hg_proc_blob_t(hg_proc_t proc, void *data)
{
    blob_t *blob = data;
    hg_return_t ret = hg_proc_uint32_t(proc, &blob->size);

    if (ret != HG_SUCCESS)
        return ret;
    if (hg_proc_get_op(proc) == HG_FREE) {
        free(blob->data);
        blob->data = NULL;
        return HG_SUCCESS;
    }
    if (hg_proc_get_op(proc) == HG_DECODE) {
        if (blob->size > hg_proc_get_size_left(proc))
            return HG_OVERFLOW;
        blob->data = malloc(blob->size + 1UL);
        if (!blob->data)
            return HG_NOMEM;
    }
    return hg_proc_bytes(proc, blob->data, blob->size);
}

struct rpcs_shared *
rpcs_shared(void)
{
    return session_user();
}

hg_id_t
rpcs_id(enum rpc rpc)
{
    return ids[rpc];
}

hg_return_t
rpcs_on_responded(const struct hg_cb_info *info)
{
    atomic_store(&rpcs_shared()->responded_ret, (uint32_t) info->ret);
    TARGET_ASSERT(HG_Destroy(info->info.respond.handle) == HG_SUCCESS);
    atomic_fetch_add(&rpcs_shared()->responded, 1);
    return HG_SUCCESS;
}

static void
count(enum rpc rpc)
{
    atomic_fetch_add(&rpcs_shared()->handled[rpc], 1);
}

static hg_return_t
on_empty(hg_handle_t handle)
{
    count(RPC_EMPTY);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static hg_return_t
on_echo(hg_handle_t handle)
{
    blob_t blob;
    hg_return_t ret = HG_Get_input(handle, &blob);

    count(RPC_ECHO);
    TARGET_ASSERT(ret == HG_SUCCESS);
    if (ret == HG_SUCCESS) {
        ret = HG_Respond(handle, NULL, NULL, &blob);
        TARGET_ASSERT(HG_Free_input(handle, &blob) == HG_SUCCESS);
    }
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return ret;
}

static hg_return_t
on_code(hg_handle_t handle)
{
    int32_t code;

    count(RPC_CODE);
    TARGET_ASSERT(HG_Get_input(handle, &code) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(handle, &code) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return (hg_return_t) code;
}

/* HG_Respond fails if the origin has ended. */
static void
answer(hg_handle_t handle)
{
    HG_Respond(handle, NULL, NULL, NULL);
    HG_Destroy(handle);
}

static hg_return_t
on_keep(hg_handle_t handle)
{
    bool late;

    pthread_mutex_lock(&kept_lock);
    late = stopping;
    if (!late) {
        TARGET_ASSERT(kept_count < KEPT_MAX);
        kept[kept_count++] = handle;
    }
    pthread_mutex_unlock(&kept_lock);
    count(RPC_KEEP);
    if (late)
        answer(handle);
    return HG_SUCCESS;
}

/* Answers up to `wanted` kept requests. */
static void
answer_kept(uint32_t wanted)
{
    for (; wanted > 0; wanted--) {
        hg_handle_t handle = HG_HANDLE_NULL;

        pthread_mutex_lock(&kept_lock);
        if (kept_count > 0)
            handle = kept[--kept_count];
        pthread_mutex_unlock(&kept_lock);
        if (!handle)
            return;
        answer(handle);
    }
}

void
rpcs_answer_all(void)
{
    answer_kept(UINT32_MAX);
}

void
rpcs_stopping(void)
{
    pthread_mutex_lock(&kept_lock);
    stopping = true;
    pthread_mutex_unlock(&kept_lock);
    answer_kept(UINT32_MAX);
}

static hg_return_t
on_answer_kept(hg_handle_t handle)
{
    uint32_t wanted, there;

    count(RPC_ANSWER_KEPT);
    pthread_mutex_lock(&kept_lock);
    there = kept_count;
    pthread_mutex_unlock(&kept_lock);
    TARGET_ASSERT(HG_Get_input(handle, &wanted) == HG_SUCCESS);
    answer_kept(wanted);
    TARGET_ASSERT(HG_Free_input(handle, &wanted) == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &there) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static hg_return_t
on_notify(hg_handle_t handle)
{
    uint64_t value;

    TARGET_ASSERT(HG_Get_input(handle, &value) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(handle, &value) == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_OPNOTSUPPORTED);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    atomic_fetch_add(&rpcs_shared()->notified, value);
    count(RPC_NOTIFY);
    return HG_SUCCESS;
}

void
rpcs_open(hg_class_t *hg_class)
{
    pthread_mutex_lock(&kept_lock);
    stopping = false;
    pthread_mutex_unlock(&kept_lock);
    ids[RPC_EMPTY] = MERCURY_REGISTER(hg_class, "empty", void, void, on_empty);
    ids[RPC_ECHO] = MERCURY_REGISTER(hg_class, "echo", blob_t, blob_t, on_echo);
    ids[RPC_CODE] = MERCURY_REGISTER(hg_class, "code", int32_t, void, on_code);
    ids[RPC_KEEP] = MERCURY_REGISTER(hg_class, "keep", blob_t, void, on_keep);
    ids[RPC_ANSWER_KEPT] = MERCURY_REGISTER(
        hg_class, "answer_kept", uint32_t, uint32_t, on_answer_kept);
    ids[RPC_NOTIFY] =
        MERCURY_REGISTER(hg_class, "notify", uint64_t, void, on_notify);
    HG_Registered_disable_response(hg_class, ids[RPC_NOTIFY], 1);
    ids[RPC_MISSING] = MERCURY_REGISTER(hg_class, "missing", void, void, NULL);
}

static const char *const rpc_names[RPC_COUNT] = {
    [RPC_EMPTY] = "requests \"empty\" at the target",
    [RPC_ECHO] = "requests \"echo\" at the target",
    [RPC_CODE] = "requests \"code\" at the target",
    [RPC_KEEP] = "requests \"keep\" at the target",
    [RPC_ANSWER_KEPT] = "requests \"answer_kept\" at the target",
    [RPC_NOTIFY] = "requests \"notify\" at the target",
    [RPC_MISSING] = "requests \"missing\" at the target",
};

void
rpcs_wait_handled_at(struct session *session, enum rpc rpc, uint32_t handled,
    const char *file, int line)
{
    session_wait_at(session, &rpcs_shared()->handled[rpc], handled, true,
        rpc_names[rpc], file, line);
}

#define CHUNK 4096U

/* Not instrumented: sanitizers would slow down tests of large blobs. */
__attribute__((no_sanitize("thread", "address"))) static uint32_t
random_chunk(unsigned char chunk[CHUNK], uint32_t size, uint32_t seed)
{
    for (uint32_t i = 0; i < size; i++) {
        /* constants from Numerical Recipes */
        seed = seed * 1664525 + 1013904223;
        chunk[i] = (unsigned char) (seed >> 24);
    }
    return seed;
}

blob_t
blob_make(uint32_t encoded_size, uint32_t seed)
{
    blob_t blob = {.size = encoded_size - 4};
    unsigned char chunk[CHUNK];
    uint32_t part;

    ck_assert_uint_ge(encoded_size, 4);
    blob.data = malloc(blob.size + 1UL);
    ck_assert_ptr_nonnull(blob.data);
    for (uint32_t i = 0; i < blob.size; i += part) {
        part = blob.size - i < CHUNK ? blob.size - i : CHUNK;
        seed = random_chunk(chunk, part, seed);
        memcpy(blob.data + i, chunk, part);
    }
    return blob;
}

void
blob_free(blob_t *blob)
{
    free(blob->data);
    blob->data = NULL;
}

bool
blob_equal(const blob_t *a, const blob_t *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

uint32_t
rpcs_answer_kept(struct session *session, uint32_t wanted)
{
    hg_handle_t handle = session_handle(session, rpcs_id(RPC_ANSWER_KEPT));
    uint32_t there = 0;

    ck_assert_int_eq(session_forward(session, handle, &wanted), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &there), HG_SUCCESS);
    ck_assert_int_eq(HG_Free_output(handle, &there), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    return there;
}

void
rpcs_ck_works(struct session *s)
{
    hg_handle_t handle = session_handle(s, rpcs_id(RPC_ECHO));
    blob_t in = blob_make(33, 3), out;

    ck_assert_int_eq(session_forward(s, handle, &in), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
    ck_assert(blob_equal(&in, &out));
    ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    blob_free(&in);
}

hg_return_t
rpcs_try_at(
    struct session *s, enum rpc rpc, void *in, const char *file, int line)
{
    struct call call = {.called = 0};
    hg_handle_t handle = session_handle(s, rpcs_id(rpc));
    hg_return_t ret = HG_Forward(handle, call_done, &call, in);
    bool accepted = ret == HG_SUCCESS;

    if (accepted) {
        session_wait_at(s, &call.called, 1, false, "the callback of HG_Forward",
            file, line);
        ret = call.ret;
    }
    for (unsigned i = 0; i < 30; i++)
        session_step(s, 0);
    ck_assert_uint_eq(call.called, accepted);
    ck_assert_int_eq(HG_Ref_get(handle), 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    return ret;
}

void
rpcs_stop(struct session *session)
{
    hg_handle_t handle = session_handle(session, rpcs_id(RPC_EMPTY));
    hg_return_t ret;

    /* UCX 1.13 crashes when a peer closes while it is still connecting: make
     * sure that there is a connection before stopping. */
    ck_assert_int_eq(session_forward(session, handle, NULL), HG_SUCCESS);
    session_stop(session);
    ret = session_forward(session, handle, NULL);
    /* NODEV: the request arrived while the target destroyed its context. */
    ck_assert_msg(ret == HG_SUCCESS || ret == HG_NODEV || ret == HG_HOSTUNREACH,
        "HG_Forward: %s", HG_Error_to_string(ret));
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
}
