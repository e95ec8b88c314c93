/* SPDX-License-Identifier: BSD-3-Clause */
/* A class, and memory of another class of the same process. */
#include "remote.h"

#include <stdlib.h>
#include <string.h>

hg_bulk_t
remote_describe(hg_class_t *hg_class, unsigned char *memory, uint32_t count)
{
    hg_size_t sizes[REMOTE_PIECES], size = REMOTE_SIZE / count;
    void *bases[REMOTE_PIECES];
    hg_bulk_t bulk = HG_BULK_NULL;

    for (uint32_t i = 0; i < count; i++) {
        bases[i] = memory + i * size;
        sizes[i] = i + 1 < count ? size : REMOTE_SIZE - i * size;
    }
    ck_assert_int_eq(
        HG_Bulk_create(hg_class, count, bases, sizes, HG_BULK_READWRITE, &bulk),
        HG_SUCCESS);
    return bulk;
}

hg_bulk_t
remote_send(hg_bulk_t bulk, unsigned long flags, hg_class_t *to)
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
    struct remote *remote = arg;

    while (!atomic_load(&remote->stop)) {
        HG_Progress(remote->owner_context, 2);
        HG_Trigger(remote->owner_context, 0, 16, NULL);
    }
    return NULL;
}

static void
open_owner(struct remote *remote, const struct session_setup *setup)
{
    struct session_mode mode = *remote->s.mode;
    char address[256];
    hg_size_t size = sizeof address;
    hg_addr_t self;

    if (session_is_hosts())
        mode.thread_mode = 0; /* the owner has a thread of its own */
    remote->owner_class = session_open_class(&mode, setup, true);
    ck_assert_ptr_nonnull(remote->owner_class);
    if (!session_is_loop()) {
        remote->owner_context = HG_Context_create(remote->owner_class);
        ck_assert_ptr_nonnull(remote->owner_context);
    }
    if (session_is_hosts())
        ck_assert_int_eq(
            pthread_create(&remote->owner_thread, NULL, progress_owner, remote),
            0);
    ck_assert_int_eq(HG_Addr_self(remote->owner_class, &self), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_to_string(remote->owner_class, address, &size, self),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(remote->owner_class, self), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_lookup2(remote->s.hg_class, address, &remote->owner),
        HG_SUCCESS);
}

/* Over na+sm, the first transfer waits until the owner has proven its
 * identity. */
static void
connect_both(struct remote *remote)
{
    struct call call = {.called = 0};
    uint64_t deadline = session_now_ms() + 10000;

    ck_assert_int_eq(HG_Bulk_transfer(remote->s.context, call_done, &call,
                         HG_BULK_PULL, remote->owner, remote->origin, 0,
                         remote->local, 0, 1, HG_OP_ID_IGNORE),
        HG_SUCCESS);
    while (call.called == 0) {
        ck_assert_msg(
            session_now_ms() < deadline, "cannot connect to the owner");
        if (!session_is_hosts())
            HG_Progress(remote->owner_context, 0);
        HG_Progress(remote->s.context, 0);
        HG_Trigger(remote->s.context, 0, 1, NULL);
    }
    ck_assert_int_eq(call.ret, HG_SUCCESS);
    remote->local_memory[0] = 0;
}

void
remote_begin(struct remote *remote, int mode, const struct session_setup *setup)
{
    memset(remote, 0, sizeof *remote);
    session_begin(&remote->s, mode, setup);
    loop_faults_clear();
    open_owner(remote, setup);
    remote->origin_memory = malloc(REMOTE_SIZE);
    remote->local_memory = calloc(1, REMOTE_SIZE);
    ck_assert(remote->origin_memory && remote->local_memory);
    for (uint32_t i = 0; i < REMOTE_SIZE; i++)
        remote->origin_memory[i] = (unsigned char) (i * 251 >> 4);
    remote->owned = remote_describe(
        remote->owner_class, remote->origin_memory, REMOTE_PIECES);
    remote->local = remote_describe(
        remote->s.hg_class, remote->local_memory, REMOTE_PIECES - 2);
    remote->origin = remote_send(remote->owned, 0, remote->s.hg_class);
    if (!session_is_loop())
        connect_both(remote);
}

void
remote_end(struct remote *remote)
{
    ck_assert_int_eq(HG_Bulk_free(remote->origin), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_free(remote->owned), HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_free(remote->local), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_free(remote->s.hg_class, remote->owner), HG_SUCCESS);
    if (session_is_hosts()) {
        atomic_store(&remote->stop, true);
        ck_assert_int_eq(pthread_join(remote->owner_thread, NULL), 0);
    }
    if (remote->owner_context)
        ck_assert_int_eq(HG_Context_destroy(remote->owner_context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(remote->owner_class), HG_SUCCESS);
    session_end(&remote->s);
    free(remote->origin_memory);
    free(remote->local_memory);
}
