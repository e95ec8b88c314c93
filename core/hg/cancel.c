/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cancelling calls. The transport is asked to cancel the operations. If it does
 * not complete them soon, the call is completed early; the handle is detached,
 * with operations and buffers, until the transport has released them.
 */
#include "hg/extra.h"
#include "hg/handle.h"
#include "hg/peer_log.h"
#include "hg/ports.h"
#include "hg/stage.h"

#include "base/log.h"
#include "base/time.h"
#include "bulk/op.h"
#include "hg/loopback.h"
#include "rt/submit.h"
#include "talaria.h"

/* Time for a transport to cancel operations, granted twice. */
#define GRACE_NS (5 * BASE_TIME_MS)

/* The transport has released a forward's handle, which can be used again. */
static void
released(struct hg_handle *handle)
{
    handle->side->prepare(handle);
    hg_call_reset(&handle->call);
}

/* Runs in HG_Trigger, since returning a handle to the pool may run functions of
 * the user. */
static void
orphan_run(struct base_completion *completion)
{
    struct hg_handle *handle = hg_handle_of(completion);

    released(handle);
    hg_handle_unref(handle, HG_REF_TRANSPORT);
}

/* Drops the reference of a response without a callback that was completed
 * early. */
static void
early_answer_run(struct base_completion *completion)
{
    hg_handle_unref(hg_handle_of(completion), HG_REF_ANSWER);
}

bool
hg_handle_is_orphan(const struct base_completion *completion)
{
    return completion->run == orphan_run || completion->run == early_answer_run;
}

void
hg_handle_orphan_ended(struct hg_handle *handle)
{
    handle->completion.run = orphan_run;
    hg_context_complete(handle->context, &handle->completion);
}

/* Runs the callback of a forward that was completed early. */
static void
early_run(struct base_completion *completion)
{
    struct hg_handle *handle = hg_handle_of(completion);
    struct hg_cb_info info = {.arg = handle->arg,
        .type = HG_CB_FORWARD,
        .ret = hg_call_ret(&handle->call)};
    hg_cb_t callback = handle->callback;
    int32_t refs = 1;

    info.info.forward.handle = handle;
    hg_forward_noted(handle);
    if (handle->in.extra)
        hg_rendezvous_withdraw(hg_rendezvous_of(&handle->in));
    if (hg_call_event(&handle->call, HG_CALL_ON_CALLED, 0) ==
        HG_CALL_RELEASED) {
        refs += HG_REF_TRANSPORT;
        released(handle);
    }
    if (callback)
        callback(&info);
    hg_handle_unref(handle, refs);
}

/* Completes the receive of a forward that was completed early. */
static void
orphan_received(struct na_op *op, const na_plugin_event *event)
{
    struct hg_handle *handle = op->owner;

    handle->side->fetched(handle, HG_CANCELED);
}

static void
complete_forward_early(
    struct hg_handle *handle, uint32_t generation, hg_return_t ret)
{
    if (hg_call_event(&handle->call, HG_CALL_ON_EARLY, generation) !=
        HG_CALL_QUEUE)
        return;
    hg_call_record(&handle->call, ret);
    if (hg_call_word(&handle->call) & HG_CALL_RECV) {
        /* What arrives later must not change what the callback reads. */
        handle->recv->complete = orphan_received;
        handle->out.size = 0;
        handle->out.flags = HG_MESSAGE_RELEASED;
    }
    hg_handle_ref(handle, HG_REF_TRANSPORT);
    handle->completion.run = early_run;
    base_completion_push(
        &handle->completion, &handle->context->bulk.completions);
}

static void
complete_answer_early(struct hg_handle *handle, hg_return_t ret)
{
    switch (hg_call_event(&handle->call, HG_CALL_ON_EARLY, 0)) {
    case HG_CALL_QUEUE:
        hg_call_record(&handle->call, ret);
        hg_handle_ref(handle, HG_REF_TRANSPORT);
        hg_target_responded(handle);
        return;
    case HG_CALL_ENDED:
        /* First, since the transport may drop its reference at once. The
         * response's reference is dropped in HG_Trigger: the lock of the timers
         * may be held here. */
        hg_handle_ref(handle, HG_REF_TRANSPORT);
        handle->completion.run = early_answer_run;
        base_completion_push(
            &handle->completion, &handle->context->bulk.completions);
        return;
    default:
        return; /* also for unused handles */
    }
}

static void
cancel_operations(struct hg_handle *handle)
{
    const struct na_context *na_context = handle->port->na_context;

    if (handle->loopback) {
        /* If it has no target yet, the timer cancels it again. */
        hg_loopback_cancel(handle);
        return;
    }
    rt_cancel(na_context, handle->send);
    if (handle->role == HG_ROLE_ORIGIN)
        rt_cancel(na_context, handle->recv);
    hg_extra_cancel(handle);
}

void
hg_handle_end(struct hg_handle *handle)
{
    /* Read first: the call may end meanwhile, and another begin. */
    uint32_t generation = hg_call_generation(&handle->call);
    enum hg_call_result result =
        hg_call_event(&handle->call, HG_CALL_ON_CANCEL, generation);

    if (result == HG_CALL_NOTHING)
        return;
    cancel_operations(handle);
    /* Without memory for the timer only the transport can end the call. */
    if (result == HG_CALL_FIRST)
        hg_handle_timer_start(handle, generation, base_time_now() + GRACE_NS);
}

void
hg_answers_end(struct hg_context *context)
{
    struct na_progress *progress = hg_context_na(context)->progress;
    struct hg_handle *handle;

    na_progress_acquire(progress);
    for (handle = hg_pool_first(context); handle;
         handle = LIST_NEXT(handle, all_next))
        if (handle->role == HG_ROLE_TARGET)
            hg_handle_end(handle);
    na_progress_release(progress);
}

uint32_t
hg_fetches(struct hg_context *context)
{
    struct na_progress *progress = hg_context_na(context)->progress;
    struct hg_handle *handle;
    uint32_t count = 0;

    na_progress_acquire(progress);
    for (handle = hg_pool_first(context); handle;
         handle = LIST_NEXT(handle, all_next))
        if (hg_extra_transfer(handle) != HG_OP_ID_NULL)
            /* The transfer, and a target's handle, which has no other
             * reference. */
            count += handle->role == HG_ROLE_TARGET ? 2 : 1;
    na_progress_release(progress);
    return count;
}

void
hg_fetches_discard(struct hg_context *context)
{
    struct hg_handle *handle;

    LIST_FOREACH (handle, &context->handles, all_next)
        if (hg_extra_transfer(handle) != HG_OP_ID_NULL)
            bulk_transfer_discard(hg_extra_transfer(handle));
}

/* The transport never releases the handle, so it stays detached until the
 * context is destroyed. The next poll handles operations being submitted
 * meanwhile. */
static void
fail(struct hg_handle *handle)
{
    if (handle->role == HG_ROLE_ORIGIN)
        complete_forward_early(
            handle, hg_call_generation(&handle->call), HG_IO_ERROR);
    else
        complete_answer_early(handle, HG_IO_ERROR);
}

void
hg_context_fail(void *arg, struct na_context *na_context)
{
    struct hg_context *context = arg;
    struct hg_handle *handle;

    /* First: a failed fetch ends its handle. */
    bulk_context_fail(&context->bulk, na_context);
    for (handle = hg_pool_first(context); handle;
         handle = LIST_NEXT(handle, all_next))
        if (handle->port->na_context == na_context && !handle->loopback &&
            !handle->local)
            fail(handle);
}

hg_return_t
talaria_handle_set_deadline(hg_handle_t handle, unsigned int timeout_ms)
{
    if (!handle || handle->role != HG_ROLE_ORIGIN)
        return HG_INVALID_ARG;
    if (!hg_call_is_idle(&handle->call))
        return HG_BUSY;
    handle->timeout_ms = timeout_ms;
    hg_handle_note_special(handle);
    return HG_SUCCESS;
}

/* Cancels a second time, for an operation that was being submitted at the first
 * time. Returns false when the call is to be completed early. */
static bool
ask_again(struct hg_handle *handle)
{
    bool asked = handle->timer.again;

    handle->timer.again = true;
    if (!asked || handle->loopback)
        cancel_operations(handle);
    return !asked || handle->loopback;
}

static uint64_t
respond_expired(struct hg_handle *handle, uint64_t now)
{
    switch (
        hg_call_event(&handle->call, HG_CALL_ON_CANCEL, handle->timer.use)) {
    case HG_CALL_FIRST:
        HG_LOG_PEER(handle, WARNING, "answer not acknowledged within %llu ms",
            (unsigned long long) handle->context->hg_class->limits.ack_ms);
        hg_call_record(&handle->call, HG_TIMEOUT);
        cancel_operations(handle);
        return now + GRACE_NS;
    case HG_CALL_AGAIN:
        if (ask_again(handle))
            return now + GRACE_NS;
        complete_answer_early(handle, HG_CANCELED);
        return BASE_TIME_NEVER;
    default:
        /* The wait for an acknowledgement begins before the response is sent.
         */
        return hg_handle_is_transferring(handle) ? now + GRACE_NS
                                                 : BASE_TIME_NEVER;
    }
}

static struct hg_handle *
handle_of(struct hg_timer *timer)
{
    return (struct hg_handle *) ((char *) timer -
                                 offsetof(struct hg_handle, timer));
}

/* Called under the progress lock. */
static uint64_t
expired(struct hg_timer *timer, uint64_t now)
{
    struct hg_handle *handle = handle_of(timer);

    if (handle->role == HG_ROLE_TARGET)
        return respond_expired(handle, now);
    switch (hg_call_event(&handle->call, HG_CALL_ON_CANCEL, timer->use)) {
    case HG_CALL_FIRST:
        hg_call_record(&handle->call, HG_TIMEOUT); /* its deadline has passed */
        cancel_operations(handle);
        return now + GRACE_NS;
    case HG_CALL_AGAIN:
        if (ask_again(handle))
            return now + GRACE_NS;
        complete_forward_early(handle, timer->use, HG_CANCELED);
        return BASE_TIME_NEVER;
    default:
        return BASE_TIME_NEVER;
    }
}

static bool
is_current(struct hg_timer *timer, uint32_t use)
{
    return use == hg_call_generation(&handle_of(timer)->call);
}

static void
retry(void *context)
{
    hg_ports_retry(context);
}

const struct hg_timer_calls hg_handle_timer_calls = {
    .expired = expired, .is_current = is_current, .retry = retry};
