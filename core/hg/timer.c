/* SPDX-License-Identifier: BSD-3-Clause */
/* The timers of a context: a binary heap of handles. */
#include "hg/timer.h"

#include "base/time.h"
#include "hg/handle.h"

#include <stdlib.h>

#define CAPACITY_MIN 64U

/* Between attempts to post receives that the transport did not take. */
#define RETRY_NS (10 * BASE_TIME_MS)

static void
put_at(struct hg_timers *timers, uint32_t at, struct hg_handle *handle)
{
    timers->heap[at] = handle;
    handle->timer.at = at + 1;
}

/* Moves the handle that belongs at a place, or above or below it, to where it
 * is in order. */
static void
settle(struct hg_timers *timers, uint32_t at, struct hg_handle *handle)
{
    struct hg_handle **heap = timers->heap;
    uint64_t due = handle->timer.due;

    while (at > 0 && heap[(at - 1) / 2]->timer.due > due) {
        put_at(timers, at, heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        uint32_t child = 2 * at + 1;

        if (child + 1 < timers->count &&
            heap[child + 1]->timer.due < heap[child]->timer.due)
            child++;
        if (child >= timers->count || heap[child]->timer.due >= due)
            break;
        put_at(timers, at, heap[child]);
        at = child;
    }
    put_at(timers, at, handle);
}

static void
take_out(struct hg_timers *timers, struct hg_handle *handle)
{
    uint32_t at = handle->timer.at - 1;
    struct hg_handle *last = timers->heap[--timers->count];

    handle->timer.at = 0;
    if (last != handle)
        settle(timers, at, last);
}

/* Tells progress when the first one is due. */
static void
tell(struct hg_context *context)
{
    const struct hg_timers *timers = &context->timers;
    uint64_t due =
        timers->count > 0 ? timers->heap[0]->timer.due : BASE_TIME_NEVER;

    na_progress_timer_set(hg_context_na(context)->progress,
        due < timers->retry_due ? due : timers->retry_due);
}

static bool
grow(struct hg_timers *timers)
{
    uint32_t capacity =
        timers->capacity > 0 ? timers->capacity * 2 : CAPACITY_MIN;
    struct hg_handle **heap =
        realloc(timers->heap, capacity * sizeof(struct hg_handle *));

    if (!heap)
        return false;
    timers->heap = heap;
    timers->capacity = capacity;
    return true;
}

hg_return_t
hg_timer_start(struct hg_handle *handle, uint32_t use, uint64_t due)
{
    struct hg_timers *timers = &handle->context->timers;
    hg_return_t ret = HG_NOMEM;
    uint32_t at;

    base_lock_acquire(&timers->lock);
    /* One that begins after this sets its own, or finds that this is not. */
    if (use != hg_handle_use(handle)) {
        ret = HG_SUCCESS;
    } else if (handle->timer.at > 0 || timers->count < timers->capacity ||
               grow(timers)) {
        at = handle->timer.at > 0 ? handle->timer.at - 1 : timers->count++;
        handle->timer.due = due;
        handle->timer.use = use;
        handle->timer.asked = false;
        settle(timers, at, handle);
        atomic_fetch_or_explicit(
            &handle->watch, HG_WATCH_TIMER, memory_order_relaxed);
        tell(handle->context);
        ret = HG_SUCCESS;
    }
    base_lock_release(&timers->lock);
    return ret;
}

void
hg_timer_stop(struct hg_handle *handle)
{
    struct hg_timers *timers = &handle->context->timers;

    base_lock_acquire(&timers->lock);
    if (handle->timer.at > 0) {
        take_out(timers, handle);
        tell(handle->context);
    }
    atomic_fetch_and_explicit(
        &handle->watch, (uint8_t) ~HG_WATCH_TIMER, memory_order_relaxed);
    base_lock_release(&timers->lock);
}

/* Called by progress, under its lock. */
static void
expire(void *arg, uint64_t now)
{
    struct hg_context *context = arg;
    struct hg_timers *timers = &context->timers;
    bool retry;

    base_lock_acquire(&timers->lock);
    while (timers->count > 0 && timers->heap[0]->timer.due <= now) {
        struct hg_handle *handle = timers->heap[0];
        uint64_t next = hg_handle_expired(handle, now);

        take_out(timers, handle);
        if (next == BASE_TIME_NEVER)
            continue;
        handle->timer.due = next;
        timers->count++; /* there was room for it before */
        settle(timers, timers->count - 1, handle);
    }
    retry = timers->retry_due <= now;
    if (retry)
        timers->retry_due = BASE_TIME_NEVER;
    tell(context);
    base_lock_release(&timers->lock);
    if (retry)
        hg_target_retry(context);
}

void
hg_timers_retry(struct hg_context *context)
{
    struct hg_timers *timers = &context->timers;

    base_lock_acquire(&timers->lock);
    timers->retry_due = base_time_now() + RETRY_NS;
    tell(context);
    base_lock_release(&timers->lock);
}

void
hg_timers_init(struct hg_context *context)
{
    context->timers.retry_due = BASE_TIME_NEVER;
    base_lock_init(
        &context->timers.lock, hg_class_na(context->hg_class)->single_context);
    na_progress_timer_init(hg_context_na(context)->progress, expire, context);
}

void
hg_timers_finish(struct hg_context *context)
{
    free(context->timers.heap);
}
