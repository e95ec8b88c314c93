/* SPDX-License-Identifier: BSD-3-Clause */
/* A class, and memory of another class of the same process. */
#include "far.h"

#include <stdlib.h>
#include <string.h>

hg_bulk_t
far_describe(hg_class_t *hg_class, unsigned char *memory, uint32_t count)
{
    hg_size_t sizes[FAR_PIECES], size = FAR_SIZE / count;
    void *bases[FAR_PIECES];
    hg_bulk_t bulk = HG_BULK_NULL;

    for (uint32_t i = 0; i < count; i++) {
        bases[i] = memory + i * size;
        sizes[i] = i + 1 < count ? size : FAR_SIZE - i * size;
    }
    ck_assert_int_eq(
        HG_Bulk_create(hg_class, count, bases, sizes, HG_BULK_READWRITE, &bulk),
        HG_SUCCESS);
    return bulk;
}

hg_bulk_t
far_send(hg_bulk_t bulk, unsigned long flags, hg_class_t *to)
{
    hg_size_t size = HG_Bulk_get_serialize_size(bulk, flags);
    void *bytes = malloc(size);
    hg_bulk_t got = HG_BULK_NULL;

    ck_assert_uint_gt(size, 0);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(HG_Bulk_serialize(bytes, size, flags, bulk), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_deserialize(to, &got, bytes, size), HG_SUCCESS);
    free(bytes);
    return got;
}

static void *
progress_owner(void *arg)
{
    struct far *far = arg;

    while (!atomic_load(&far->stop)) {
        HG_Progress(far->owner_context, 2);
        HG_Trigger(far->owner_context, 0, 16, NULL);
    }
    return NULL;
}

static void
open_owner(struct far *far, const struct session_setup *setup)
{
    struct session_mode mode = *far->s.mode;
    char address[256];
    hg_size_t size = sizeof address;
    hg_addr_t self;

    if (session_is_hosts())
        mode.thread_mode = 0; /* it has two */
    far->owner_class = session_open_class(&mode, setup, true);
    ck_assert_ptr_nonnull(far->owner_class);
    if (!session_is_loop()) {
        far->owner_context = HG_Context_create(far->owner_class);
        ck_assert_ptr_nonnull(far->owner_context);
    }
    if (session_is_hosts())
        ck_assert_int_eq(
            pthread_create(&far->owner_thread, NULL, progress_owner, far), 0);
    ck_assert_int_eq(HG_Addr_self(far->owner_class, &self), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_to_string(far->owner_class, address, &size, self), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(far->owner_class, self), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_lookup2(far->s.hg_class, address, &far->owner), HG_SUCCESS);
}

/* The first transfer over na+sm waits until the owner has said who it is. */
static void
meet(struct far *far)
{
    struct call call = {.called = 0};
    uint64_t deadline = session_now_ms() + 10000;

    ck_assert_int_eq(
        HG_Bulk_transfer(far->s.context, call_done, &call, HG_BULK_PULL,
            far->owner, far->origin, 0, far->local, 0, 1, HG_OP_ID_IGNORE),
        HG_SUCCESS);
    while (call.called == 0) {
        ck_assert_msg(session_now_ms() < deadline, "the owner is not reached");
        if (!session_is_hosts())
            HG_Progress(far->owner_context, 0);
        HG_Progress(far->s.context, 0);
        HG_Trigger(far->s.context, 0, 1, NULL);
    }
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    far->local_memory[0] = 0;
}

void
far_begin(struct far *far, int mode, const struct session_setup *setup)
{
    memset(far, 0, sizeof *far);
    session_begin(&far->s, mode, setup);
    loop_faults_clear();
    open_owner(far, setup);
    far->origin_memory = malloc(FAR_SIZE);
    far->local_memory = calloc(1, FAR_SIZE);
    ck_assert(far->origin_memory && far->local_memory);
    for (uint32_t i = 0; i < FAR_SIZE; i++)
        far->origin_memory[i] = (unsigned char) (i * 251 >> 4);
    far->owned = far_describe(far->owner_class, far->origin_memory, FAR_PIECES);
    far->local =
        far_describe(far->s.hg_class, far->local_memory, FAR_PIECES - 2);
    far->origin = far_send(far->owned, 0, far->s.hg_class);
    if (!session_is_loop())
        meet(far);
}

void
far_end(struct far *far)
{
    ck_assert_int_eq(HG_Bulk_free(far->origin), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_free(far->owned), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_free(far->local), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(far->s.hg_class, far->owner), HG_SUCCESS);
    if (session_is_hosts()) {
        atomic_store(&far->stop, true);
        ck_assert_int_eq(pthread_join(far->owner_thread, NULL), 0);
    }
    if (far->owner_context)
        ck_assert_int_eq(HG_Context_destroy(far->owner_context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(far->owner_class), HG_SUCCESS);
    session_end(&far->s);
    free(far->origin_memory);
    free(far->local_memory);
}
