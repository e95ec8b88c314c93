/* SPDX-License-Identifier: BSD-3-Clause */
/* Polling the plugins of a context and waiting for them. */
#include "na/progress.h"

#include "base/time.h"
#include "na/context.h"
#include "na/op.h"
#include "na/sleep.h"
#include "na/violation.h"

#include <sched.h>

/* After a wait in which nothing came at all. */
#define SPIN_IDLE_NS 1000U
/* Spinning on makes way for others on the same core after this, and again each
 * time that it has gone on for twice as long, this at most later: who has the
 * core alone pays for a call of the kernel that brings nothing. */
#define SPIN_YIELD_NS 1000U
#define SPIN_YIELD_MAX_NS 50000U

/* Completes what is pending on a context that is dead, each time that it is
 * polled: what was being submitted when it died is met later. */
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

/* Polls one source once; how many events there were, or the plugin's code. */
static inline __attribute__((always_inline)) int32_t
poll_source(struct na_context *context)
{
    na_plugin_event events[NA_POLL_BATCH];
    const na_plugin_event *event = events;
    int32_t count = na_context_ops(context)->poll(
        context->plugin_ctx, events, NA_POLL_BATCH);

    if (__builtin_expect((uint32_t) count > NA_POLL_BATCH, 0))
        return poll_failed(context, count);
    for (int32_t left = count; left > 0; left--, event++) {
        struct na_op *op;

        if (__builtin_expect(!event->op, 0))
            continue; /* reserved for news that is of no operation */
        op = na_op_of(event->op);
        op->complete(op, event);
    }
    return count;
}

/* Polls the sources after the first, in which there were count events; also
 * when that is dead. */
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

/* Polls every source once; how many events there were, or the plugin's code.
 * poll_all: the same, where a call more does not matter. */
static inline __attribute__((always_inline)) int32_t
poll_sources(struct na_progress *progress)
{
    int32_t count = poll_source(progress->sources[0]);

    if (__builtin_expect(progress->source_count > 1, 0))
        return poll_more(progress, count);
    return count;
}

static __attribute__((noinline)) int32_t
poll_all(struct na_progress *progress)
{
    return poll_sources(progress);
}

void
na_progress_notify(struct na_progress *progress)
{
    /* A read-modify-write, so that it stands before or after that of announce:
     * either the sleeper sees (acquire) what was published before this call
     * (release), or this call sees the sleeper. */
    if (atomic_fetch_or_explicit(&progress->sleeping, 0, memory_order_acq_rel) &
        NA_PROGRESS_SLEEPERS)
        na_sleep_wake(progress);
}

/* Lock held. */
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

/* Whether to make way now, spun ns after the last event; *next_p says when to,
 * and moves on. */
static bool
yields(uint64_t spun, uint64_t *next_p)
{
    if (spun <= *next_p)
        return false;
    *next_p = spun + (spun < SPIN_YIELD_MAX_NS ? spun : SPIN_YIELD_MAX_NS);
    return true;
}

/* Whether to poll again now, spun ns after the last event. */
static bool
spins(const struct na_progress *progress, uint64_t spun)
{
    return !progress->spin.sleeps && spun < progress->spin_ns;
}

/* Of a poll with count events, or a code. */
static na_return_t
failure(const struct na_progress *progress, int32_t count)
{
    return count >= 0 || na_progress_is_filled(progress) ? NA_SUCCESS
                                                         : (na_return_t) -count;
}

/* Polls, spins and sleeps until the queue is filled. Lock held. */
static na_return_t
lead(struct na_progress *progress, uint64_t deadline)
{
    uint64_t begin = base_time_now();
    uint64_t now = begin, spin_from = now, next = SPIN_YIELD_NS;

    while (now < deadline) {
        int32_t count = poll_all(progress);

        if (count < 0)
            return failure(progress, count);
        if (count > 0) {
            na_spin_count(&progress->spin, (uint32_t) count);
            progress->spin_ns = NA_SLEEP_SPIN_NS;
            progress->nap_ns = NA_SLEEP_NAP_MIN_NS;
        }
        if (__builtin_expect(now >= na_progress_timer(progress), 0))
            run_timer(progress);
        if (na_progress_is_filled(progress)) {
            na_spin_learn(&progress->spin, now - begin, now);
            return NA_SUCCESS;
        }
        now = base_time_now();
        if (count > 0) {
            spin_from = now;
            next = SPIN_YIELD_NS;
        }
        let_others_in(progress);
        if (progress->no_block || spins(progress, now - spin_from)) {
            if (!progress->spin.trial && yields(now - spin_from, &next)) {
                sched_yield();
                now = base_time_now();
            }
            continue;
        }
        na_sleep_try(progress, deadline);
        now = base_time_now();
        spin_from = now - progress->spin_ns; /* spin after events only */
    }
    progress->spin_ns = SPIN_IDLE_NS;
    return NA_TIMEOUT;
}

/* Waits until the queue is filled, nobody leads any more, or the deadline. */
static void
follow(struct na_progress *progress, uint64_t deadline)
{
    while (progress->leading && !na_progress_is_filled(progress)) {
        /* The poll that came before has disarmed the plugins. */
        if (na_progress_sleepers(progress) & NA_PROGRESS_SLEEPERS)
            na_sleep_arm_again(progress);
        if (!base_signal_wait(&progress->left, &progress->lock, deadline))
            break;
    }
}

/* Waits as the leader, or for the leader. Lock held. Out of line, so that what
 * it needs is not saved and restored by those who find something at once. */
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
    /* Whoever leaves while nobody leads wakes the next: it leads, or finds the
     * queue filled and leaves in its turn. */
    if (!progress->leading)
        base_signal_one(&progress->left);
    return ret;
}

/* What is to be done after a poll if there is a timer, or somebody sleeps. */
static __attribute__((noinline)) void
attend(struct na_progress *progress)
{
    uint32_t state = na_progress_sleepers(progress);

    if (state & NA_PROGRESS_TIMED)
        run_timer(progress);
    if (state & NA_PROGRESS_SLEEPERS)
        na_sleep_arm_again(progress);
}

/* Goes on after a poll with count events, or a plugin's code, if there is more to
 * do than to say that the queue is filled. Gives the lock back. */
static __attribute__((noinline)) na_return_t
wait_on(struct na_progress *progress, unsigned timeout_ms, int32_t count)
{
    na_return_t ret = failure(progress, count);
    bool yield = false;

    if (ret == NA_SUCCESS && !na_progress_is_filled(progress)) {
        ret = timeout_ms > 0 ? wait_filled(progress, timeout_ms) : NA_TIMEOUT;
        yield = timeout_ms == 0 && na_spin_yields(&progress->spin);
    }
    if (na_progress_sleepers(progress) != 0) {
        attend(progress);
        if (ret == NA_TIMEOUT && na_progress_is_filled(progress))
            ret = NA_SUCCESS;
    }
    base_lock_release(&progress->lock);
    if (yield)
        sched_yield();
    return ret;
}

na_return_t
na_progress_wait(struct na_progress *progress, unsigned timeout_ms)
{
    int32_t count;

    na_progress_enter(progress);
    count = poll_sources(progress);
    if (count <= 0)
        return wait_on(progress, timeout_ms, count);
    progress->spin_ns = NA_SLEEP_SPIN_NS;
    na_spin_count(&progress->spin, (uint32_t) count);
    if (!na_progress_is_filled(progress) ||
        __builtin_expect(na_progress_sleepers(progress) != 0, 0))
        return wait_on(progress, timeout_ms, count);
    base_lock_release(&progress->lock);
    return NA_SUCCESS;
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
    /* What was done may have left events in a plugin that is armed. */
    na_progress_notify(progress);
}

__attribute__((cold)) na_return_t
na_progress_cancel(
    struct na_progress *progress, struct na_context *context, struct na_op *op)
{
    int32_t code;

    na_progress_acquire(progress);
    code = na_context_ops(context)->cancel(context->plugin_ctx, na_op_part(op));
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
