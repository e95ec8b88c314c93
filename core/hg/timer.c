/* SPDX-License-Identifier: BSD-3-Clause */
/* A binary heap of timers. */
#include "hg/timer.h"

#include "base/time.h"
#include "na/progress.h"

#include <stdlib.h>

#define CAPACITY_MIN 64U

/* See hg_timers_retry. */
#define RETRY_NS (10 * BASE_TIME_MS)

/* Overwrites an entry of the heap, whose timer has moved. */
static void
put_at(struct hg_timers *timers, uint32_t at, struct hg_timer *timer)
{
    timers->heap[at] = timer;
    timer->index_plus_one = at + 1;
}

/* Places a timer in the heap: at the index, or above or below it. */
static void
settle(struct hg_timers *timers, uint32_t at, struct hg_timer *timer)
{
    struct hg_timer **heap = timers->heap;
    uint64_t due = timer->due;

    while (at > 0 && heap[(at - 1) / 2]->due > due) {
        put_at(timers, at, heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        uint32_t child = 2 * at + 1;

        if (child + 1 < timers->count &&
            heap[child + 1]->due < heap[child]->due)
            child++;
        if (child >= timers->count || heap[child]->due >= due)
            break;
        put_at(timers, at, heap[child]);
        at = child;
    }
    put_at(timers, at, timer);
}

static void
take_out(struct hg_timers *timers, struct hg_timer *timer)
{
    uint32_t at = timer->index_plus_one - 1;
    struct hg_timer *last = timers->heap[--timers->count];

    timer->index_plus_one = 0;
    if (last != timer)
        settle(timers, at, last);
}

/* Sets progress to the earliest timer. */
static void
update_progress(const struct hg_timers *timers)
{
    uint64_t due = timers->count > 0 ? timers->heap[0]->due : BASE_TIME_NEVER;

    na_progress_timer_set(
        timers->progress, due < timers->retry_due ? due : timers->retry_due);
}

static bool
grow(struct hg_timers *timers)
{
    uint32_t capacity =
        timers->capacity > 0 ? timers->capacity * 2 : CAPACITY_MIN;
    struct hg_timer **heap =
        realloc(timers->heap, capacity * sizeof(struct hg_timer *));

    if (!heap)
        return false;
    timers->heap = heap;
    timers->capacity = capacity;
    return true;
}

hg_return_t
hg_timer_start(struct hg_timers *timers, struct hg_timer *timer, uint32_t use,
    uint64_t due)
{
    hg_return_t ret = HG_NOMEM;
    uint32_t at;

    base_lock_acquire(&timers->lock);
    /* A later use sets its own timer, or finds none set. */
    if (!timers->calls->is_current(timer, use)) {
        ret = HG_SUCCESS;
    } else if (timer->index_plus_one > 0 || timers->count < timers->capacity ||
               grow(timers)) {
        at = timer->index_plus_one > 0 ? timer->index_plus_one - 1
                                       : timers->count++;
        timer->due = due;
        timer->use = use;
        timer->again = false;
        settle(timers, at, timer);
        update_progress(timers);
        ret = HG_SUCCESS;
    }
    base_lock_release(&timers->lock);
    return ret;
}

void
hg_timer_stop(struct hg_timers *timers, struct hg_timer *timer)
{
    base_lock_acquire(&timers->lock);
    if (timer->index_plus_one > 0) {
        take_out(timers, timer);
        update_progress(timers);
    }
    base_lock_release(&timers->lock);
}

/* Called by progress, under its lock. */
static void
expire(void *arg, uint64_t now)
{
    struct hg_timers *timers = arg;
    bool retry;

    base_lock_acquire(&timers->lock);
    while (timers->count > 0 && timers->heap[0]->due <= now) {
        struct hg_timer *timer = timers->heap[0];
        uint64_t next = timers->calls->expired(timer, now);

        take_out(timers, timer);
        if (next == BASE_TIME_NEVER)
            continue;
        timer->due = next;
        timers->count++; /* it had room before */
        settle(timers, timers->count - 1, timer);
    }
    retry = timers->retry_due <= now;
    if (retry)
        timers->retry_due = BASE_TIME_NEVER;
    update_progress(timers);
    base_lock_release(&timers->lock);
    if (retry)
        timers->calls->retry(timers->arg);
}

void
hg_timers_retry(struct hg_timers *timers)
{
    base_lock_acquire(&timers->lock);
    timers->retry_due = base_time_now() + RETRY_NS;
    update_progress(timers);
    base_lock_release(&timers->lock);
}

void
hg_timers_init(struct hg_timers *timers, struct na_progress *progress,
    bool single, const struct hg_timer_calls *calls, void *arg)
{
    timers->retry_due = BASE_TIME_NEVER;
    timers->progress = progress;
    timers->calls = calls;
    timers->arg = arg;
    base_lock_init(&timers->lock, single);
    na_progress_timer_init(progress, expire, timers);
}

void
hg_timers_finish(struct hg_timers *timers)
{
    free(timers->heap);
}
