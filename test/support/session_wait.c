/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress at the origin of a case, until what it waits for; calls. */
#include "counts.h"
#include "session.h"

#include <time.h>

uint64_t
session_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

void
session_step(struct session *session, unsigned timeout_ms)
{
    hg_return_t ret = HG_Progress(session->context, timeout_ms);

    /* Check writes down each assertion that holds: that is much, so often. */
    if (ret != HG_SUCCESS && ret != HG_TIMEOUT)
        ck_abort_msg("HG_Progress: %s", HG_Error_to_string(ret));
    while (HG_Trigger(session->context, 0, 1, NULL) == HG_SUCCESS)
        ;
}

static void
wait_for(struct session *session, const _Atomic uint32_t *counter,
    uint32_t value, unsigned step_ms)
{
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);

    while (atomic_load(counter) < value) {
        uint64_t now = session_now_ms();

        if (now >= deadline)
            ck_abort_msg("waited in vain for %u of %u in \"%s\"",
                atomic_load(counter), value, session->mode->name);
        session_step(session,
            deadline - now < step_ms ? (unsigned) (deadline - now) : step_ms);
    }
}

void
session_wait(
    struct session *session, const _Atomic uint32_t *counter, uint32_t value)
{
    wait_for(session, counter, value, test_count(TEST_WAIT_MS));
}

void
session_wait_other(
    struct session *session, const _Atomic uint32_t *counter, uint32_t value)
{
    wait_for(session, counter, value, 1);
}

void
session_quiet(struct session *session)
{
    uint64_t end = session_now_ms() + test_count(TEST_QUIET_MS);

    while (session_now_ms() < end)
        session_step(session, 5);
}

hg_return_t
call_done(const struct hg_cb_info *info)
{
    struct call *call = info->arg;

    call->ret = info->ret;
    call->type = info->type;
    if (info->type == HG_CB_FORWARD)
        call->handle = info->info.forward.handle;
    if (info->type == HG_CB_RESPOND)
        call->handle = info->info.respond.handle;
    if (info->type == HG_CB_BULK)
        call->size = info->info.bulk.size;
    atomic_fetch_add(&call->called, 1);
    return HG_SUCCESS;
}

hg_handle_t
session_handle(struct session *session, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    ck_assert_int_eq(
        HG_Create(session->context, session->target, id, &handle), HG_SUCCESS);
    return handle;
}

hg_return_t
session_forward(struct session *session, hg_handle_t handle, void *in_struct)
{
    struct call call = {.called = 0};
    hg_return_t ret = HG_Forward(handle, call_done, &call, in_struct);

    if (ret != HG_SUCCESS)
        return ret;
    session_wait(session, &call.called, 1);
    ck_assert_uint_eq(call.called, 1);
    ck_assert_ptr_eq(call.handle, handle);
    return call.ret;
}
