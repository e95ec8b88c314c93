/* SPDX-License-Identifier: BSD-3-Clause */
/* Handlers of requests: run, failed, or never run since the context ends. */
#include "hg/target_handler.h"

#include "base/same.h"
#include "hg/checksum.h"
#include "hg/stage.h"
#include "hg/target_respond.h"

/* Prepares a request with flags for its handler: adds the references of handler
 * and user, logs, and checks the payload. CHECKSUM_ERROR: the handler must not
 * run. */
static __attribute__((cold, noinline)) hg_return_t
begin_flagged(struct hg_handle *handle)
{
    /* A fetched request has the user's reference already. */
    hg_handle_ref(handle, handle->in.flags & HG_MESSAGE_FETCHED
                              ? HG_REF_HANDLER
                              : HG_REF_HANDLER + 1);
    if (handle->in.flags & HG_MESSAGE_OBSERVED)
        hg_stage_handler(handle);
    if (!(handle->in.flags & HG_HEADER_PAYLOAD_SUM) ||
        hg_checksum_agrees(&handle->in))
        return HG_SUCCESS;
    hg_count_dropped(handle->hg_class);
    return HG_CHECKSUM_ERROR;
}

/* The handler has returned an error. If the program has not responded, the
 * error is sent, and the handler's reference is dropped unless the handler
 * called HG_Destroy. Another thread that destroys the handle meanwhile drops a
 * reference of its own. */
static __attribute__((cold, noinline)) void
handler_failed(struct hg_handle *handle, hg_return_t ret)
{
    if (hg_target_respond_code(handle, ret) && !handle->given_back &&
        !hg_handle_no_user(handle))
        hg_handle_unref(handle, 1);
}

void
hg_target_handler_run(struct base_completion *completion)
{
    struct hg_handle *handle = hg_handle_of(completion);
    hg_return_t ret = HG_SUCCESS;

    handle->runner = base_thread();
    handle->given_back = false;
    atomic_store_explicit(&handle->dropped, false, memory_order_relaxed);

    if (__builtin_expect(handle->in.flags != 0, 0))
        ret = begin_flagged(handle);
    else
        atomic_store_explicit(
            &handle->refs, 1 + HG_REF_HANDLER, memory_order_relaxed);
    if (__builtin_expect(ret == HG_SUCCESS, 1))
        ret = handle->rpc->handler(handle);
    handle = base_same(handle);
    if (__builtin_expect(ret != HG_SUCCESS, 0))
        handler_failed(handle, ret);
    hg_handle_unref_last(handle, HG_REF_HANDLER);
}

bool
hg_target_is_last(const struct base_completion *completion)
{
    const struct hg_handle *handle = (const struct hg_handle *) completion;

    return (completion->run == hg_target_respond_run ||
               completion->run == hg_target_handler_run) &&
           atomic_load_explicit(&handle->context->ending, memory_order_relaxed);
}

__attribute__((cold)) void
hg_target_run_last(struct base_completion *completion)
{
    struct hg_handle *handle = hg_handle_of(completion);

    if (completion->run == hg_target_respond_run) {
        hg_target_respond_run(completion);
        return;
    }
    /* The count is that of the request before, unless this one was fetched. */
    if (!(handle->in.flags & HG_MESSAGE_FETCHED))
        atomic_store_explicit(&handle->refs, 1, memory_order_relaxed);
    hg_target_respond_code(handle, HG_NODEV);
    hg_handle_unref(handle, 1);
}
