/* SPDX-License-Identifier: BSD-3-Clause */
/* Several contexts at either side: a transfer uses the context that its
 * descriptor is bound to, and threads with their own contexts transfer
 * concurrently. */
#include "counts.h"
#include "log_watch.h"
#include "remote.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXTS 4U

static void
more_contexts(struct hg_init_info *info)
{
    info->na_init_info.max_contexts = CONTEXTS;
}

static const struct session_setup setup = {
    .init = more_contexts, .origin_listens = true};

/* Memory that all threads pull from and push to, each its own part. */
struct worker {
    pthread_t thread;
    hg_context_t *context;
    struct remote *remote;
    uint32_t index;
    uint32_t rounds;
    uint32_t wrong;
    _Atomic bool *go;
    _Atomic uint32_t *ended;
};

static hg_return_t
transfer(struct worker *worker, hg_bulk_op_t op, hg_size_t offset,
    hg_bulk_t local, hg_size_t size)
{
    struct call call = {.called = 0};
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);
    hg_return_t ret = HG_Bulk_transfer_id(worker->context, call_done, &call, op,
        worker->remote->owner, (uint8_t) worker->index, worker->remote->origin,
        offset, local, 0, size, HG_OP_ID_IGNORE);

    if (ret != HG_SUCCESS)
        return ret;
    while (call.called == 0 && session_now_ms() < deadline) {
        ret = HG_Progress(worker->context, 100);
        if (ret != HG_SUCCESS && ret != HG_TIMEOUT)
            return ret;
        while (HG_Trigger(worker->context, 0, 4, NULL) == HG_SUCCESS)
            ;
    }
    return call.called == 1 ? call.ret : HG_TIMEOUT;
}

static void *
work(void *arg)
{
    struct worker *worker = arg;
    hg_size_t part = REMOTE_SIZE / CONTEXTS, offset = worker->index * part;
    unsigned char *memory = calloc(1, part), *expected = malloc(part);
    void *base = memory;
    hg_bulk_t local;

    while (!atomic_load(worker->go))
        ;
    memcpy(expected, worker->remote->origin_memory + offset, part);
    if (HG_Bulk_create(worker->remote->s.hg_class, 1, &base, &part,
            HG_BULK_READWRITE, &local) != HG_SUCCESS)
        abort();
    for (uint32_t round = 0; round < worker->rounds; round++) {
        hg_size_t size = 1 + (round * 7919U) % part;

        memset(memory, 0, part);
        if (transfer(worker, HG_BULK_PULL, offset, local, size) != HG_SUCCESS ||
            memcmp(memory, expected, size) != 0)
            worker->wrong++;
        for (hg_size_t i = 0; i < size; i++)
            expected[i] = memory[i] = (unsigned char) (memory[i] * 5 + round);
        if (transfer(worker, HG_BULK_PUSH, offset, local, size) != HG_SUCCESS)
            worker->wrong++;
    }
    if (memcmp(worker->remote->origin_memory + offset, expected, part) != 0)
        worker->wrong++;
    HG_Bulk_free(local);
    free(memory);
    free(expected);
    atomic_fetch_add(worker->ended, 1);
    return NULL;
}

START_TEST(contexts_in_threads_transfer_concurrently)
{
    struct remote remote;
    struct worker workers[CONTEXTS] = {0};
    hg_context_t *owners[CONTEXTS];
    _Atomic bool go = false;
    _Atomic uint32_t ended = 0;

    if (session_mode_at(_i)->thread_mode != 0)
        return;
    remote_begin(&remote, _i, &setup);
    for (uint32_t i = 0; i < CONTEXTS; i++) {
        owners[i] = i == 0 && remote.owner_context
                        ? remote.owner_context
                        : HG_Context_create_id(remote.owner_class, (uint8_t) i);
        ck_assert_ptr_nonnull(owners[i]);
        workers[i] = (struct worker){.remote = &remote,
            .index = i,
            .rounds = test_count(TEST_TRANSFER_ROUNDS),
            .go = &go,
            .ended = &ended};
        workers[i].context =
            i == 0 ? remote.s.context
                   : HG_Context_create_id(remote.s.hg_class, (uint8_t) i);
        ck_assert_ptr_nonnull(workers[i].context);
        ck_assert_int_eq(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    atomic_store(&go, true);
    /* The owner may have to progress for emulated RMA. */
    while (atomic_load(&ended) < CONTEXTS)
        for (uint32_t i = 0; i < CONTEXTS; i++)
            HG_Progress(owners[i], 1);
    for (uint32_t i = 0; i < CONTEXTS; i++) {
        ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
        ck_assert_uint_eq(workers[i].wrong, 0);
        if (i > 0)
            ck_assert_int_eq(
                HG_Context_destroy(workers[i].context), HG_SUCCESS);
        if (owners[i] != remote.owner_context)
            ck_assert_int_eq(HG_Context_destroy(owners[i]), HG_SUCCESS);
    }
    remote_end(&remote);
}
END_TEST

/* All operations of a transfer are sent to the bound context. */
START_TEST(contexts_transfer_uses_the_bound_context)
{
    struct remote remote;

    remote_begin(&remote, _i, &setup);
    if (session_is_loop())
        for (unsigned i = 0; i < 2 * CONTEXTS; i++) {
            struct call call = {.called = 0};
            uint8_t id = (uint8_t) (i / 2);

            loop_faults_clear();
            ck_assert_int_eq(HG_Bulk_transfer_id(remote.s.context, call_done,
                                 &call, i % 2 ? HG_BULK_PUSH : HG_BULK_PULL,
                                 remote.owner, id, remote.origin, 0,
                                 remote.local, 0, REMOTE_SIZE, HG_OP_ID_IGNORE),
                HG_SUCCESS);
            session_wait(&remote.s, &call.called, 1);
            ck_assert_int_eq(call.ret, HG_SUCCESS);
            ck_assert_uint_gt(loop_rma_submitted_to(id), 0);
            ck_assert_uint_eq(loop_rma_submitted_to(id),
                loop_submitted(LOOP_GET) + loop_submitted(LOOP_PUT));
        }
    remote_end(&remote);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, contexts_in_threads_transfer_concurrently);
    session_add(tcase, contexts_transfer_uses_the_bound_context);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "contexts", add);
}
