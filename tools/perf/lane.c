/* SPDX-License-Identifier: BSD-3-Clause */
/* One round of a lane: starts its operations, then progresses until all of its
 * group have ended, or until nothing comes any more. */
#include "perf/lane.h"

#include "perf/caller.h"
#include "perf/target.h"

/* For operations to end that were cancelled. */
#define DRAIN_NS (2 * PERF_SECOND_NS)

_Thread_local struct perf_lane *perf_lane_here;

void
perf_group_arm(
    struct perf_group *group, uint64_t budget, uint32_t lanes, uint32_t ops)
{
    group->shared = lanes > 1;
    group->budget = budget;
    atomic_store_explicit(&group->taken, 0, memory_order_relaxed);
    atomic_store_explicit(&group->stop, false, memory_order_relaxed);
    /* With the acquire at the start of perf_lane_run. */
    atomic_store_explicit(&group->outstanding, ops, memory_order_release);
}

void
perf_lane_finish(struct perf_lane *lane)
{
    lane->report->end_ns = perf_clock_now();
}

void
perf_lane_abort(struct perf_lane *lane)
{
    atomic_store_explicit(&lane->group->stop, true, memory_order_relaxed);
    perf_lane_drop(lane);
}

void
perf_lane_fail(struct perf_op *op)
{
    if (op->caller)
        perf_caller_end(op, true);
    else
        perf_lane_abort(perf_lane_here);
}

static uint32_t
outstanding(const struct perf_group *group)
{
    /* With the releases in perf_lane_drop and perf_group_arm. */
    return atomic_load_explicit(&group->outstanding, memory_order_acquire);
}

static enum perf_poll
poll_sides(struct perf_lane *lane, uint32_t context, unsigned int timeout)
{
    struct perf_origin *origin = lane->origin;

    if (!lane->beside)
        return origin->ops->poll(origin, context, timeout);
    if (perf_target_poll(lane->beside, context, 0) == PERF_POLL_FAILED)
        return PERF_POLL_FAILED;
    return origin->ops->poll(origin, context, 0);
}

/* What a lane has seen when it last looked at the clock in vain. */
struct silence {
    uint64_t since; /* 0: there is none */
    uint64_t taken;
    uint32_t outstanding;
};

/* Nothing came. Whether that has lasted too long. */
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

/* Of the lane; of all callers, where a thread progresses for them. */
static void
cancel_all(struct perf_lane *lane)
{
    struct perf_origin *origin = lane->origin;
    uint32_t inflight = origin->plan->inflight;

    if (origin->plan->progress_thread) {
        for (uint32_t i = 0; i < perf_plan_ops(origin->plan); i++)
            if (origin->ops->op(origin, i)->context == lane->index)
                origin->ops->cancel(origin->ops->op(origin, i));
        return;
    }
    for (uint32_t i = 0; i < inflight; i++)
        origin->ops->cancel(
            origin->ops->op(origin, lane->index * inflight + i));
}

/* After a failure: what is under way is cancelled and, as far as it does so
 * soon, ends. */
static void
drain(struct perf_lane *lane, uint32_t context)
{
    uint64_t deadline = perf_clock_now() + DRAIN_NS;

    cancel_all(lane);
    while (outstanding(lane->group) > 0 && perf_clock_now() < deadline)
        if (poll_sides(lane, context, 1) == PERF_POLL_FAILED)
            break;
}

/* Returns how many operations are under way. */
static uint32_t
start_all(struct perf_lane *lane)
{
    struct perf_origin *origin = lane->origin;
    uint32_t inflight = origin->plan->inflight, started = 0;

    for (uint32_t i = 0; i < inflight; i++) {
        struct perf_op *op =
            origin->ops->op(origin, lane->index * inflight + i);

        op->caller = lane->caller;
        if (perf_lane_take(lane, op)) {
            started++;
            origin->ops->start(op);
        } else {
            perf_lane_drop(lane);
        }
    }
    return started;
}

/* Until no operation of the group is under way, or something has failed. */
static void
progress(struct perf_lane *lane)
{
    const struct perf_plan *plan = lane->origin->plan;
    uint32_t context = lane->index % plan->contexts;
    unsigned int timeout = perf_plan_timeout(plan);
    struct silence silence = {0};
    enum perf_poll polled;

    while (outstanding(lane->group) > 0) {
        polled = poll_sides(lane, context, timeout);
        if (polled == PERF_POLL_WORK) {
            silence.since = 0;
            continue;
        }
        if (polled == PERF_POLL_IDLE && is_silent(&silence, lane->group))
            perf_failure_set(
                lane->failure, "nothing has come from the server for 30 s");
        if (perf_failure_is_set(lane->failure)) {
            atomic_store_explicit(
                &lane->group->stop, true, memory_order_relaxed);
            drain(lane, context);
            break;
        }
    }
}

bool
perf_lane_run(struct perf_lane *lane)
{
    uint32_t started;

    perf_lane_here = lane;
    /* From here on all that was armed is seen. */
    (void) outstanding(lane->group);
    lane->until = 1;
    lane->report->start_ns = perf_clock_now();
    lane->deadline_ns = lane->duration_ns == UINT64_MAX
                            ? UINT64_MAX
                            : lane->report->start_ns + lane->duration_ns;
    started = start_all(lane);
    if (lane->caller)
        perf_caller_run(lane, started);
    else
        progress(lane);
    return !perf_failure_is_set(lane->failure);
}

bool
perf_lane_progress(struct perf_lane *lane)
{
    struct perf_origin *origin = lane->origin;

    perf_lane_here = lane;
    progress(lane);
    /* Those whose operations do not end wait no longer. */
    for (uint32_t i = 0;
         perf_failure_is_set(lane->failure) && i < perf_plan_ops(origin->plan);
         i++) {
        struct perf_op *op = origin->ops->op(origin, i);

        if (op->context == lane->index && op->caller)
            perf_caller_give_up(op->caller);
    }
    return !perf_failure_is_set(lane->failure);
}
