/* SPDX-License-Identifier: BSD-3-Clause */
/* Polling the plugins of a context and waiting for them. */
#include "na/progress.h"

#include "base/relax.h"
#include "base/same.h"
#include "base/time.h"
#include "na/context.h"
#include "na/op.h"
#include "na/sleep.h"
#include "na/violation.h"

#include <sched.h>

/* Time to spin after a wait without any event. */
#define SPIN_IDLE_NS 1000U
/* A spinning thread yields the processor after this time, and again each time
 * it has spun twice as long, at most after SPIN_YIELD_MAX_NS: on an idle
 * processor each yield is a useless system call. */
#define SPIN_YIELD_NS 1000U
/* The same if the last wait has not yielded: where many processes share a
 * processor and their peer has another, a yield loses a time slice of each. */
#define SPIN_YIELD_LATE_NS 4000U
#define SPIN_YIELD_MAX_NS 50000U

/* Completes the pending operations of a dead context at each poll, since
 * operations that were being submitted when it died appear later. */
static __attribute__((noinline, cold)) int32_t
poll_failed(struct na_context *context, int32_t count)
{
    const struct na_progress *progress = context->progress;
    int32_t code = na_poll_failed(context, count, NA_POLL_BATCH);

    context->fail(context);
    if (progress->fail)
        progress->fail(progress->fail_arg, context);
    return code;
}

/* Polls a source. Returns the number of events, or the plugin's code. */
static inline __attribute__((always_inline)) int32_t
poll_events(struct na_context *context, na_plugin_event *events)
{
    return na_context_ops(context)->poll(
        context->plugin_ctx, events, NA_POLL_BATCH);
}

/* Completes the operation of an event; one without an operation is reserved. */
static inline __attribute__((always_inline)) void
complete(const na_plugin_event *event)
{
    if (__builtin_expect(event->op != NULL, 1)) {
        struct na_op *op = na_op_of(event->op);

        op->complete(op, event);
    }
}

static void
complete_all(const na_plugin_event *events, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        complete(&events[i]);
}

/* Polls one source once. Returns the number of events, or the plugin's code. */
static int32_t
poll_source(struct na_context *context)
{
    na_plugin_event events[NA_POLL_BATCH];
    int32_t count = poll_events(context, events);

    if (__builtin_expect((uint32_t) count > NA_POLL_BATCH, 0))
        return poll_failed(context, count);
    if (count > 0)
        complete_all(events, (uint32_t) count);
    return count;
}

/* Polls the sources after the first, which had count events or is dead. */
static __attribute__((noinline)) int32_t
poll_more(struct na_progress *progress, int32_t count)
{
    for (unsigned i = 1; i < progress->source_count; i++) {
        int32_t more = poll_source(progress->sources[i]);

        if (count >= 0)
            count = more < 0 ? more : count + more;
    }
    return count;
}

/* Polls every source once. Returns the number of events, or the plugin's code.
 */
static __attribute__((noinline)) int32_t
poll_all(struct na_progress *progress)
{
    return poll_more(progress, poll_source(progress->sources[0]));
}

void
na_progress_notify(struct na_progress *progress)
{
    /* A read-modify-write, ordered before or after that of na_sleep_announce:
     * either the sleeper sees (acquire) what was published before this call
     * (release), or this call sees the sleeper. */
    if (atomic_fetch_or_explicit(&progress->sleeping, 0, memory_order_acq_rel) &
        NA_PROGRESS_SLEEPERS)
        na_sleep_wake(progress);
}

void
na_progress_wake_early(struct na_context *context)
{
    struct na_progress *progress = context->progress;

    if (!atomic_exchange_explicit(
            &context->wakes_early, false, memory_order_relaxed))
        return;
    na_sleep_wakes_early(progress, false);
    if (sched_getcpu() ==
        atomic_load_explicit(&progress->sleeper_cpu, memory_order_relaxed))
        na_sleep_wake(progress);
}

/* Called under the lock. */
static __attribute__((noinline)) void
run_timer(struct na_progress *progress)
{
    uint64_t now = base_time_now();

    if (now >= na_progress_timer(progress))
        progress->expire(progress->expire_arg, now);
}

static void
let_others_in(struct na_progress *progress)
{
    if (atomic_load_explicit(&progress->contenders, memory_order_relaxed) == 0)
        return;
    base_lock_release(&progress->lock);
    sched_yield();
    na_progress_enter(progress);
}

/* Returns whether to yield after spinning spun ns; then sets *next_p to the
 * next time. */
static bool
yields(uint64_t spun, uint64_t *next_p)
{
    if (spun <= *next_p)
        return false;
    *next_p = spun + (spun < SPIN_YIELD_MAX_NS ? spun : SPIN_YIELD_MAX_NS);
    return true;
}

/* Returns the time to spin before the next sleep. */
static uint64_t
spin_ns(const struct na_progress *progress)
{
    return progress->spin.events != progress->quiet_events ? NA_SLEEP_SPIN_NS
                                                           : SPIN_IDLE_NS;
}

/* Returns whether to poll again after spinning spun ns. */
static bool
spins(struct na_progress *progress, uint64_t spun)
{
    return !progress->spin.sleeps && spun < spin_ns(progress) &&
           na_spin_goes_on(&progress->spin, spun);
}

/* Returns the result of a poll with count events, or a code. */
static na_return_t
failure(const struct na_progress *progress, int32_t count)
{
    return count >= 0 || na_progress_is_filled(progress) ? NA_SUCCESS
                                                         : (na_return_t) -count;
}

/* Polls, spins and sleeps until the queue has an entry. Called under the lock.
 */
static na_return_t
lead(struct na_progress *progress, uint64_t deadline)
{
    uint64_t begin = base_time_now();
    uint64_t now = begin, spin_from = now, next = progress->yield_ns;

    while (now < deadline) {
        /* Each look at shared memory takes the line from a producer that may be
         * writing to it at this moment: fewer looks, shorter round trips. */
        base_relax();
        int32_t count = poll_all(progress);

        if (count < 0)
            return failure(progress, count);
        if (count > 0) {
            na_spin_count(&progress->spin, (uint32_t) count);
            progress->nap_ns = NA_SLEEP_NAP_MIN_NS;
        }
        if (__builtin_expect(now >= na_progress_timer(progress), 0))
            run_timer(progress);
        if (na_progress_is_filled(progress)) {
            progress->yield_ns =
                next == progress->yield_ns ? SPIN_YIELD_LATE_NS : SPIN_YIELD_NS;
            na_spin_learn(&progress->spin, now - begin, now);
            return NA_SUCCESS;
        }
        now = base_time_now();
        if (count > 0) {
            spin_from = now;
            next = progress->yield_ns;
        }
        let_others_in(progress);
        if (progress->no_block || spins(progress, now - spin_from)) {
            if (!progress->spin.trial && yields(now - spin_from, &next) &&
                na_yield_may(&progress->yield, progress->spin.events, now)) {
                now = na_yield_now(&progress->yield);
            }
            continue;
        }
        na_sleep_try(progress, deadline);
        now = base_time_now();
        spin_from = now - spin_ns(progress); /* spin only after events */
    }
    progress->quiet_events = progress->spin.events;
    return NA_TIMEOUT;
}

/* Waits until the queue has an entry, no thread leads, or the deadline. */
static void
follow(struct na_progress *progress, uint64_t deadline)
{
    while (progress->leading && !na_progress_is_filled(progress)) {
        /* This thread's poll has disarmed the plugins. */
        if (na_progress_sleepers(progress) & NA_PROGRESS_SLEEPERS)
            na_sleep_arm_again(progress);
        if (!base_signal_wait(&progress->left, &progress->lock, deadline))
            break;
    }
}

/* Waits as the leader, or for the leader. Called under the lock. Not inline, so
 * that a poll that finds something saves fewer registers. */
static __attribute__((noinline)) na_return_t
wait_filled(struct na_progress *progress, unsigned timeout_ms)
{
    uint64_t deadline = base_time_deadline(timeout_ms);
    na_return_t ret = NA_SUCCESS;

    follow(progress, deadline);
    if (!na_progress_is_filled(progress)) {
        if (progress->leading)
            return NA_TIMEOUT;
        progress->leading = true;
        ret = lead(progress, deadline);
        progress->leading = false;
    }
    /* A thread that leaves while no thread leads wakes the next one, which
     * leads, or finds the queue filled and leaves in turn. */
    if (!progress->leading)
        base_signal_one(&progress->left);
    return ret;
}

/* After a poll: runs the timer, and arms the plugins for a sleeper. */
static __attribute__((noinline, cold)) void
attend(struct na_progress *progress)
{
    uint32_t state = na_progress_sleepers(progress);

    if (state & NA_PROGRESS_TIMED)
        run_timer(progress);
    if (state & NA_PROGRESS_SLEEPERS)
        na_sleep_arm_again(progress);
}

/* After a poll without waiting that found nothing. Returns the time if the thread
 * may yield, or 0. */
static uint64_t
may_yield(struct na_progress *progress)
{
    uint64_t now;

    if (!na_spin_yields(&progress->spin))
        return 0;
    now = base_time_now();
    na_spin_pace(&progress->spin, now);
    if (na_pause_lasts(&progress->pause, progress->spin.events,
            na_yield_is_shared(&progress->yield), now))
        return 0;
    return na_yield_may(&progress->yield, progress->spin.events, now) ? now : 0;
}

/* Completes na_progress_wait after a poll that returned count, when more is to
 * do than to return. Releases the lock. */
static __attribute__((noinline)) na_return_t
wait_on(struct na_progress *progress, unsigned timeout_ms, int32_t count)
{
    na_return_t ret = failure(progress, count);
    uint64_t yield_ns = 0;

    if (ret == NA_SUCCESS && !na_progress_is_filled(progress)) {
        ret = timeout_ms > 0 ? wait_filled(progress, timeout_ms) : NA_TIMEOUT;
        yield_ns = timeout_ms == 0 ? may_yield(progress) : 0;
    }
    if (na_progress_sleepers(progress) != 0) {
        attend(progress);
        if (ret == NA_TIMEOUT && na_progress_is_filled(progress))
            ret = NA_SUCCESS;
    }
    base_lock_exit(&progress->lock);
    if (yield_ns > 0)
        na_spin_yielded(
            &progress->spin, yield_ns, na_yield_now(&progress->yield));
    return ret;
}

/* The same after the first source's poll had no event, or failed, or there are
 * more sources, or the queue is not filled, or somebody sleeps. */
static __attribute__((noinline)) na_return_t
wait_more(struct na_progress *progress, unsigned timeout_ms, int32_t count)
{
    if (__builtin_expect((uint32_t) count > NA_POLL_BATCH, 0))
        count = poll_failed(progress->sources[0], count);
    if (__builtin_expect(progress->source_count > 1, 0)) {
        count = poll_more(progress, count);
        if (count > 0)
            na_spin_count(&progress->spin, (uint32_t) count);
    }
    return wait_on(progress, timeout_ms, count);
}

/* Completes na_progress_wait after the first source's poll had events. */
static inline __attribute__((always_inline)) na_return_t
end_wait(struct na_progress *progress, const bool single)
{
    if (!na_progress_is_filled(progress) ||
        __builtin_expect(na_progress_sleepers(progress) != 0, 0))
        return wait_more(progress, progress->timeout_ms, 0);
    if (!single && __builtin_expect(!base_lock_leave_used(&progress->lock), 0))
        base_lock_wake(&progress->lock);
    return NA_SUCCESS;
}

/* Completes na_progress_wait after the first source's poll had several events, or
 * failed. */
static __attribute__((noinline)) na_return_t
complete_several(struct na_progress *progress, int32_t count)
{
    if (count < 1 || count > (int32_t) NA_POLL_BATCH)
        return wait_more(progress, progress->timeout_ms, count);
    na_spin_count(&progress->spin, (uint32_t) count);
    complete_all(progress->events, (uint32_t) count);
    return end_wait(progress, progress->lock.single);
}

/* Another thread has the lock. */
static __attribute__((noinline, cold)) na_return_t
wait_contended(struct na_progress *progress, unsigned timeout_ms)
{
    int32_t count;

    na_progress_contend(progress);
    count = poll_all(progress);
    if (count > 0)
        na_spin_count(&progress->spin, (uint32_t) count);
    return wait_on(progress, timeout_ms, count);
}

/* Polls and waits under the lock, which it releases. One event is frequent enough to
 * have a path of its own, without a loop. */
static inline __attribute__((always_inline)) na_return_t
poll_and_wait(
    struct na_progress *progress, unsigned timeout_ms, const bool single)
{
    int32_t count;

    /* Not in a register, which would have to be saved: most often it isn't needed. */
    progress->timeout_ms = timeout_ms;
    count = poll_events(progress->sources[0], progress->events);
    progress = base_same(progress);
    if (count != 1)
        return count == 0 ? wait_more(progress, progress->timeout_ms, 0)
                          : complete_several(progress, count);
    na_spin_count(&progress->spin, 1);
    complete(&progress->events[0]);
    return end_wait(progress, single);
}

na_return_t
na_progress_wait(struct na_progress *progress, unsigned timeout_ms)
{
    if (progress->lock.single)
        return poll_and_wait(progress, timeout_ms, true);
    if (__builtin_expect(!base_lock_try_used(&progress->lock), 0))
        return wait_contended(progress, timeout_ms);
    return poll_and_wait(progress, timeout_ms, false);
}

void
na_progress_acquire(struct na_progress *progress)
{
    na_progress_enter(progress);
}

void
na_progress_release(struct na_progress *progress)
{
    base_lock_release(&progress->lock);
    /* What was done under the lock may have left events in an armed plugin. */
    na_progress_notify(progress);
}

__attribute__((cold)) na_return_t
na_progress_cancel(
    struct na_progress *progress, struct na_context *context, struct na_op *op)
{
    int32_t code;

    na_progress_acquire(progress);
    code = na_context_ops(context)->cancel(context->plugin_ctx, op->part);
    na_progress_release(progress);
    return na_result(context->na_class, "cancel", code);
}

na_return_t
na_progress_poll(struct na_progress *progress)
{
    na_return_t ret;

    na_progress_enter(progress);
    na_sleep_end_outside(progress);
    ret = failure(progress, poll_all(progress));
    if (na_progress_sleepers(progress) != 0)
        attend(progress);
    base_lock_release(&progress->lock);
    return ret;
}
