/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one round: starts the loop's operations, then progresses until all
 * operations of its group have ended, or until the server is silent too
 * long. */
#include "perf/loop.h"

#include "perf/caller.h"
#include "perf/target.h"

/* For canceled operations to end. */
#define DRAIN_NS (2 * PERF_SECOND_NS)

_Thread_local struct perf_loop *perf_loop_self;

void
perf_group_arm(
    struct perf_group *group, uint64_t budget, uint32_t loops, uint32_t ops)
{
    group->shared = loops > 1;
    group->budget = budget;
    atomic_store_explicit(&group->taken, 0, memory_order_relaxed);
    atomic_store_explicit(&group->stop, false, memory_order_relaxed);
    /* Pairs with the acquire at the start of perf_loop_run. */
    atomic_store_explicit(&group->outstanding, ops, memory_order_release);
}

void
perf_loop_finish(struct perf_loop *loop)
{
    loop->report->end_ns = perf_clock_now();
}

void
perf_loop_abort(struct perf_loop *loop)
{
    atomic_store_explicit(&loop->group->stop, true, memory_order_relaxed);
    perf_loop_op_ended(loop);
}

void
perf_op_fail(struct perf_op *op)
{
    if (op->caller)
        perf_caller_complete(op, true);
    else
        perf_loop_abort(perf_loop_self);
}

static uint32_t
outstanding(const struct perf_group *group)
{
    /* Pairs with the releases in perf_loop_op_ended and perf_group_arm. */
    return atomic_load_explicit(&group->outstanding, memory_order_acquire);
}

static enum perf_poll
poll_sides(struct perf_loop *loop, uint32_t context, unsigned int timeout)
{
    struct perf_origin *origin = loop->origin;

    if (!loop->beside)
        return origin->ops->poll(origin, context, timeout);
    if (perf_target_poll(loop->beside, context, 0) == PERF_POLL_FAILED)
        return PERF_POLL_FAILED;
    return origin->ops->poll(origin, context, 0);
}

/* The state of the group when polls began to find nothing. */
struct silence {
    uint64_t since; /* 0: the last poll found something */
    uint64_t taken;
    uint32_t outstanding;
};

/* Returns whether nothing has happened for too long. */
static bool
is_silent(struct silence *silence, const struct perf_group *group)
{
    uint64_t now = perf_clock_now();
    uint64_t taken = atomic_load_explicit(&group->taken, memory_order_relaxed);
    uint32_t left = outstanding(group);

    if (silence->since == 0 || silence->taken != taken ||
        silence->outstanding != left) {
        *silence = (struct silence){now, taken, left};
        return false;
    }
    return now - silence->since > PERF_SILENCE_NS;
}

/* Cancels the operations of the loop, or, for a progress thread, of all its
 * callers. */
static void
cancel_all(struct perf_loop *loop)
{
    struct perf_origin *origin = loop->origin;
    uint32_t inflight = origin->plan->inflight;

    if (origin->plan->progress_thread) {
        for (uint32_t i = 0; i < perf_plan_ops(origin->plan); i++)
            if (origin->ops->op(origin, i)->context == loop->index)
                origin->ops->cancel(origin->ops->op(origin, i));
        return;
    }
    for (uint32_t i = 0; i < inflight; i++)
        origin->ops->cancel(
            origin->ops->op(origin, loop->index * inflight + i));
}

/* After a failure: cancels the operations and waits a limited time. */
static void
drain(struct perf_loop *loop, uint32_t context)
{
    uint64_t deadline = perf_clock_now() + DRAIN_NS;

    cancel_all(loop);
    while (outstanding(loop->group) > 0 && perf_clock_now() < deadline)
        if (poll_sides(loop, context, 1) == PERF_POLL_FAILED)
            break;
}

/* Returns the number of operations in flight. */
static uint32_t
start_ops(struct perf_loop *loop)
{
    struct perf_origin *origin = loop->origin;
    uint32_t inflight = origin->plan->inflight, started = 0;

    for (uint32_t i = 0; i < inflight; i++) {
        struct perf_op *op =
            origin->ops->op(origin, loop->index * inflight + i);

        op->caller = loop->caller;
        if (perf_loop_claim(loop, op)) {
            started++;
            origin->ops->start(op);
        } else {
            perf_loop_op_ended(loop);
        }
    }
    return started;
}

/* Progresses until no operation of the group is in flight, or after a
 * failure. */
static void
progress(struct perf_loop *loop)
{
    const struct perf_plan *plan = loop->origin->plan;
    uint32_t context = loop->index % plan->contexts;
    unsigned int timeout = perf_plan_timeout(plan);
    struct silence silence = {0};
    enum perf_poll polled;

    while (outstanding(loop->group) > 0) {
        polled = poll_sides(loop, context, timeout);
        if (polled == PERF_POLL_WORK) {
            silence.since = 0;
            continue;
        }
        if (polled == PERF_POLL_IDLE && is_silent(&silence, loop->group))
            perf_failure_set(
                loop->failure, "nothing received from the server for 30 s");
        if (perf_failure_is_set(loop->failure)) {
            atomic_store_explicit(
                &loop->group->stop, true, memory_order_relaxed);
            drain(loop, context);
            break;
        }
    }
}

bool
perf_loop_run(struct perf_loop *loop)
{
    uint32_t started;

    perf_loop_self = loop;
    /* Acquires what perf_group_arm has set. */
    (void) outstanding(loop->group);
    loop->until = 1;
    loop->report->start_ns = perf_clock_now();
    loop->deadline_ns = loop->duration_ns == UINT64_MAX
                            ? UINT64_MAX
                            : loop->report->start_ns + loop->duration_ns;
    started = start_ops(loop);
    if (loop->caller)
        perf_caller_run(loop, started);
    else
        progress(loop);
    return !perf_failure_is_set(loop->failure);
}

bool
perf_loop_progress(struct perf_loop *loop)
{
    struct perf_origin *origin = loop->origin;

    perf_loop_self = loop;
    progress(loop);
    /* Wakes the callers whose operations do not end. */
    for (uint32_t i = 0;
         perf_failure_is_set(loop->failure) && i < perf_plan_ops(origin->plan);
         i++) {
        struct perf_op *op = origin->ops->op(origin, i);

        if (op->context == loop->index && op->caller)
            perf_caller_abort(op->caller);
    }
    return !perf_failure_is_set(loop->failure);
}
