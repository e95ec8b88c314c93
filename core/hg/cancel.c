/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ending what is under way before its time. The transport is asked to end its
 * operations; if it has not soon, the handle is finished without it, and kept
 * aside, with operations and buffers, until the transport is done with them.
 */
#include "hg/call_stats.h"
#include "hg/handle.h"
#include "hg/overflow.h"

#include "base/log.h"
#include "base/time.h"
#include "bulk/op.h"
#include "hg/loopback.h"
#include "rt/submit.h"
#include "talaria.h"

/* How long a transport may take to end what it was asked to, twice. */
#define GRACE_NS (5 * BASE_TIME_MS)

/* The transport is through with a forward that did not wait for it. */
static void
through(struct hg_handle *handle)
{
    handle->side->prepare(handle);
    /* Release pairs with the acquire in HG_Forward and HG_Reset. */
    atomic_store_explicit(&handle->in_flight, false, memory_order_release);
}

/* A handle is done with: nobody waits for it, and the transport is through. In
 * HG_Trigger, since the pool may run the user's functions. */
static void
aside_run(struct base_completion *completion)
{
    struct hg_handle *handle = hg_handle_of(completion);

    through(handle);
    hg_handle_unref(handle, HG_HANDLE_ASIDE);
}

bool
hg_handle_is_aside(const struct base_completion *completion)
{
    return completion->run == aside_run;
}

/* The callback of a forward that was finished without the transport. */
static void
detached_run(struct base_completion *completion)
{
    struct hg_handle *handle = hg_handle_of(completion);
    struct hg_cb_info info = {.arg = handle->arg,
        .type = HG_CB_FORWARD,
        .ret = (hg_return_t) atomic_load_explicit(
            &handle->ret, memory_order_relaxed)};
    hg_cb_t callback = handle->callback;
    int32_t refs = 1;

    info.info.forward.handle = handle;
    hg_forward_watched(handle);
    if (handle->in.overflow)
        hg_overflow_withdraw(handle->in.overflow);
    /* As in part_ended: what is left comes before the next use. */
    if ((atomic_fetch_sub_explicit(
             &handle->parts, HG_PART_CALLBACK, memory_order_acq_rel) &
            HG_PART_MASK) == (HG_PART_CALLBACK | HG_PART_DETACHED)) {
        refs += HG_HANDLE_ASIDE;
        through(handle);
    }
    if (callback)
        callback(&info);
    hg_handle_unref(handle, refs);
}

void
hg_handle_aside_ended(struct hg_handle *handle)
{
    handle->completion.run = aside_run;
    hg_context_complete(handle->context, &handle->completion);
}

/* true: that use of the handle is still under way. */
static bool
forward_pending(uint32_t parts, uint32_t use)
{
    return parts >> HG_PART_SHIFT == use && (parts & HG_PART_DETACHED) == 0 &&
           (parts & HG_PART_MASK) != 0;
}

/* Ends the receive of a forward that is over for its caller. */
static void
stray_received(struct na_op *op, const na_plugin_event *event)
{
    struct hg_handle *handle = op->owner;

    handle->side->fetched(handle, HG_CANCELED);
}

static void
detach_forward(
    struct hg_handle *handle, uint32_t parts, uint32_t use, hg_return_t ret)
{
    do {
        if (!forward_pending(parts, use))
            return;
        /* Acquire and release: as the end of a part. */
    } while (!atomic_compare_exchange_weak_explicit(&handle->parts, &parts,
        parts + HG_PART_DETACHED + HG_PART_CALLBACK, memory_order_acq_rel,
        memory_order_relaxed));
    hg_handle_record(handle, ret);
    if (parts & HG_PART_RECV) {
        /* What still comes changes nothing that the callback may look at. */
        handle->recv->complete = stray_received;
        handle->out.size = 0;
        handle->out.flags = HG_MESSAGE_RELEASED;
    }
    atomic_fetch_add_explicit(
        &handle->refs, HG_HANDLE_ASIDE, memory_order_relaxed);
    handle->completion.run = detached_run;
    base_completion_push(
        &handle->context->bulk.completions, &handle->completion);
}

static void
detach_respond(struct hg_handle *handle, hg_return_t ret)
{
    /* Acquire pairs with the release in respond. */
    int32_t refs = atomic_load_explicit(&handle->refs, memory_order_acquire);
    int32_t keep = handle->callback != NULL;

    do {
        if ((refs & HG_HANDLE_RESPONDING) == 0)
            return;
        /* Acquire and release: as the end of the answer. */
    } while (!atomic_compare_exchange_weak_explicit(&handle->refs, &refs,
        refs - HG_HANDLE_RESPONDING + HG_HANDLE_ASIDE + keep,
        memory_order_acq_rel, memory_order_relaxed));
    if (keep) {
        hg_handle_record(handle, ret);
        hg_target_responded(handle);
    }
}

static void
cancel_operations(struct hg_handle *handle)
{
    const struct na_context *na_context = hg_handle_na(handle);

    if (handle->loopback) {
        /* Not yet handed over, it is looked at again when the timer is due. */
        hg_loopback_cancel(handle);
        return;
    }
    rt_cancel(na_context, handle->send);
    if (handle->role == HG_ROLE_ORIGIN)
        rt_cancel(na_context, handle->recv);
    hg_overflow_cancel(handle);
}

static bool
under_way(const struct hg_handle *handle)
{
    if (handle->role == HG_ROLE_ORIGIN)
        return atomic_load_explicit(&handle->in_flight, memory_order_relaxed);
    return atomic_load_explicit(&handle->refs, memory_order_relaxed) &
           HG_HANDLE_RESPONDING;
}

/* Looked at by late_received (origin.c), under the same lock. true: the end of
 * this use was asked for before. */
static bool
ask(struct hg_handle *handle, uint32_t use)
{
    uint32_t asked = hg_handle_asked(use);

    return atomic_exchange_explicit(
               &handle->canceled, asked, memory_order_relaxed) == asked;
}

void
hg_handle_end(struct hg_handle *handle)
{
    /* First: this use may end meanwhile, and another begin. Acquire pairs with
     * the release in HG_Forward. */
    uint32_t use = atomic_load_explicit(&handle->parts, memory_order_acquire) >>
                   HG_PART_SHIFT;
    bool again;

    if (!under_way(handle))
        return;
    again = ask(handle, use);
    cancel_operations(handle);
    /* Without the memory for it the transport alone ends what it can. */
    if (!again)
        hg_handle_timer_start(handle, use, base_time_now() + GRACE_NS);
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

/* Of a handle; HG_OP_ID_NULL: none is under way. The lock of progress is held. */
static hg_op_id_t
fetch_of(const struct hg_handle *handle)
{
    const struct hg_overflow *overflow =
        atomic_load_explicit(&handle->moving, memory_order_relaxed);

    return overflow ? overflow->fetch : HG_OP_ID_NULL;
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
        if (fetch_of(handle) != HG_OP_ID_NULL)
            /* The transfer; a target's handle, which nobody else has. */
            count += handle->role == HG_ROLE_TARGET ? 2 : 1;
    na_progress_release(progress);
    return count;
}

void
hg_fetches_discard(struct hg_context *context)
{
    struct hg_handle *handle;

    LIST_FOREACH (handle, &context->handles, all_next)
        if (fetch_of(handle) != HG_OP_ID_NULL)
            bulk_transfer_discard(fetch_of(handle));
}

/* The transport knows the handle for good: it stays aside until the context ends.
 * What was being submitted meanwhile is met by the next poll. */
static void
fail(struct hg_handle *handle)
{
    /* Acquire pairs with the release in HG_Forward. */
    uint32_t parts = atomic_load_explicit(&handle->parts, memory_order_acquire);

    if (handle->role == HG_ROLE_ORIGIN)
        detach_forward(handle, parts, parts >> HG_PART_SHIFT, HG_IO_ERROR);
    else
        detach_respond(handle, HG_IO_ERROR);
}

void
hg_context_fail(void *arg, struct na_context *na_context)
{
    struct hg_context *context = arg;
    struct hg_handle *handle;

    /* First: what fetches arguments ends by way of its handle. */
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
    /* Acquire pairs with the release in forward_run. */
    if (atomic_load_explicit(&handle->in_flight, memory_order_acquire))
        return HG_BUSY;
    handle->timeout_ms = timeout_ms;
    return HG_SUCCESS;
}

/* Once more, for what was being submitted when the end was asked for; then it
 * ends without the transport. */
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
    if (!under_way(handle))
        /* An acknowledgement is awaited before the answer is sent. */
        return atomic_load_explicit(&handle->moving, memory_order_relaxed)
                   ? now + GRACE_NS
                   : BASE_TIME_NEVER;
    if (!ask(handle, handle->timer.use)) {
        LOG_WARNING(HG, "an answer was not acknowledged within %llu ms",
            (unsigned long long) handle->context->hg_class->limits.ack_ms);
        hg_handle_record(handle, HG_TIMEOUT);
        cancel_operations(handle);
        return now + GRACE_NS;
    }
    if (ask_again(handle))
        return now + GRACE_NS;
    detach_respond(handle, HG_CANCELED);
    return BASE_TIME_NEVER;
}

static struct hg_handle *
handle_of(struct hg_timer *timer)
{
    return (struct hg_handle *) ((char *) timer -
                                 offsetof(struct hg_handle, timer));
}

/* Under the lock of progress. */
static uint64_t
expired(struct hg_timer *timer, uint64_t now)
{
    struct hg_handle *handle = handle_of(timer);
    uint32_t parts;

    if (handle->role == HG_ROLE_TARGET)
        return respond_expired(handle, now);
    /* Acquire pairs with the release in HG_Forward. */
    parts = atomic_load_explicit(&handle->parts, memory_order_acquire);
    if (!forward_pending(parts, handle->timer.use))
        return BASE_TIME_NEVER;
    if (!ask(handle, handle->timer.use)) {
        hg_handle_record(handle, HG_TIMEOUT); /* the deadline, then */
        cancel_operations(handle);
    } else if (!ask_again(handle)) {
        detach_forward(handle, parts, handle->timer.use, HG_CANCELED);
        return BASE_TIME_NEVER;
    }
    return now + GRACE_NS;
}

static bool
is_current(struct hg_timer *timer, uint32_t use)
{
    return use == hg_handle_use(handle_of(timer));
}

static void
retry(void *context)
{
    hg_target_retry(context);
}

const struct hg_timer_calls hg_handle_timer_calls = {
    .expired = expired, .is_current = is_current, .retry = retry};
