/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers of the core itself: they complete in progress, without trigger, or
 * in the call that starts them. */
#include "counts.h"
#include "log_watch.h"
#include "remote.h"

#include "bulk/op.h"

#include <stdlib.h>
#include <string.h>

static const struct session_setup setup = {.origin_listens = true};

struct end {
    uint32_t count;
    hg_return_t ret;
};

static void
ended(void *arg, hg_return_t ret)
{
    struct end *end = arg;

    end->count++;
    end->ret = ret;
}

static struct bulk_request
request_of(const struct remote *remote, hg_bulk_op_t op)
{
    return (struct bulk_request){.op = op,
        .addr = remote->owner,
        .origin = remote->origin,
        .local = remote->local,
        .size = REMOTE_SIZE};
}

/* Progresses without triggering. */
static void
wait_end(struct remote *remote, const struct end *end)
{
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);

    while (end->count == 0) {
        hg_return_t ret = HG_Progress(remote->s.context, 10);

        ck_assert(ret == HG_SUCCESS || ret == HG_TIMEOUT);
        ck_assert_uint_lt(session_now_ms(), deadline);
    }
    ck_assert_uint_eq(end->count, 1);
    ck_assert_int_eq(
        /* nothing to trigger */
        HG_Trigger(remote->s.context, 0, 1, NULL), HG_TIMEOUT);
}

START_TEST(internal_transfer_may_complete_at_once)
{
    struct remote remote;
    struct end end = {0};
    bool pending = true;

    remote_begin(&remote, _i, &setup);
    for (hg_bulk_op_t op = HG_BULK_PUSH; op <= HG_BULK_PULL; op++) {
        struct bulk_request request = request_of(&remote, op);
        hg_op_id_t id = HG_OP_ID_NULL;

        remote.local_memory[0] = (unsigned char) op;
        ck_assert_int_eq(
            bulk_transfer_internal(bulk_context_of(remote.s.context), &request,
                ended, &end, &id, &pending),
            HG_SUCCESS);
        ck_assert(!pending);
        ck_assert_ptr_nonnull(id);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS); /* too late */
        ck_assert_mem_eq(
            remote.local_memory, remote.origin_memory, REMOTE_SIZE);
    }
    ck_assert_uint_eq(end.count, 0);
    remote_end(&remote);
}
END_TEST

START_TEST(internal_transfer_completes_in_progress)
{
    struct remote remote;

    remote_begin(&remote, _i, &setup);
    for (uint32_t delay = 0; delay < 4; delay++) {
        struct bulk_request request = request_of(&remote, HG_BULK_PULL);
        struct end end = {0};
        bool pending = false;

        loop_fault_set(
            LOOP_GET, (struct loop_fault){.act = LOOP_LATER, .delay = delay});
        memset(remote.local_memory, 0, REMOTE_SIZE);
        ck_assert_int_eq(
            bulk_transfer_internal(bulk_context_of(remote.s.context), &request,
                ended, &end, NULL, &pending),
            HG_SUCCESS);
        ck_assert(pending);
        ck_assert_uint_eq(end.count, 0);
        wait_end(&remote, &end);
        ck_assert_int_eq(end.ret, HG_SUCCESS);
        ck_assert_mem_eq(
            remote.local_memory, remote.origin_memory, REMOTE_SIZE);
    }
    loop_faults_clear();
    remote_end(&remote);
}
END_TEST

START_TEST(internal_transfer_fails_once)
{
    struct remote remote;
    struct bulk_request request;
    struct end end = {0};
    bool pending = true;

    remote_begin(&remote, _i, &setup);
    log_expect("exceeds a descriptor", 1, 1);
    request = request_of(&remote, HG_BULK_PULL);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_FAIL_NOW,
                                 .code = NA_PLUGIN_E_IO_ERROR});
    ck_assert_int_eq(bulk_transfer_internal(bulk_context_of(remote.s.context),
                         &request, ended, &end, NULL, &pending),
        HG_IO_ERROR);
    ck_assert(!pending);
    loop_fault_set(LOOP_GET, (struct loop_fault){.act = LOOP_FAIL_LATER,
                                 .code = NA_PLUGIN_E_HOSTUNREACH,
                                 .delay = 2});
    ck_assert_int_eq(bulk_transfer_internal(bulk_context_of(remote.s.context),
                         &request, ended, &end, NULL, &pending),
        HG_SUCCESS);
    ck_assert(pending);
    ck_assert_uint_eq(end.count, 0);
    wait_end(&remote, &end);
    ck_assert_int_eq(end.ret, HG_HOSTUNREACH);
    request.origin_offset = 1;
    ck_assert_int_eq(bulk_transfer_internal(bulk_context_of(remote.s.context),
                         &request, ended, &end, NULL, &pending),
        HG_INVALID_ARG);
    ck_assert(!pending);
    loop_faults_clear();
    remote_end(&remote);
}
END_TEST

START_TEST(internal_transfer_cancelled_ends_once)
{
    struct remote remote;

    remote_begin(&remote, _i, &setup);
    for (int i = 0; i < 4; i++) {
        struct bulk_request request = request_of(&remote, HG_BULK_PUSH);
        struct end end = {0};
        hg_op_id_t id = HG_OP_ID_NULL;
        bool pending = false;

        loop_fault_set(LOOP_PUT, (struct loop_fault){.act = LOOP_HOLD});
        loop_cancel_set(i % 2 == 0 ? LOOP_CANCEL_PROMPT : LOOP_CANCEL_LATE);
        ck_assert_int_eq(
            bulk_transfer_internal(bulk_context_of(remote.s.context), &request,
                ended, &end, &id, &pending),
            HG_SUCCESS);
        ck_assert(pending);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
        ck_assert_uint_eq(end.count, 0);
        wait_end(&remote, &end);
        ck_assert_int_eq(end.ret, HG_CANCELED);
        ck_assert_int_eq(HG_Bulk_cancel(id), HG_SUCCESS);
    }
    loop_faults_clear();
    remote_end(&remote);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, internal_transfer_may_complete_at_once);
    session_add(tcase, internal_transfer_completes_in_progress);
    session_add(tcase, internal_transfer_fails_once);
    session_add(tcase, internal_transfer_cancelled_ends_once);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "internal", add);
}
