/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lane is one measuring thread with its operations in flight; lanes that
 * share a context are a group. Any of them may run the callbacks of another's
 * operations: what is counted, is counted by the lane that runs them. With a
 * progress thread (caller.h) that one runs them all.
 */
#ifndef PERF_LANE_H
#define PERF_LANE_H

#include <stdatomic.h>

#include "perf/clock.h"
#include "perf/histogram.h"
#include "perf/origin.h"

struct perf_target;

/* Nothing at all happens for so long: the other side is taken for dead. */
#define PERF_SILENCE_NS (30 * PERF_SECOND_NS)

/* What a lane measured in a round. May lie in shared memory. */
struct perf_report {
    uint64_t operations;
    uint64_t start_ns;
    uint64_t end_ns; /* of the group's last operation; 0: another lane's */
    struct perf_histogram histogram;
};

struct perf_group {
    bool shared;     /* by several lanes */
    uint64_t budget; /* operations of this round */
    _Atomic uint64_t taken;
    _Atomic uint32_t outstanding; /* begun, or to be begun, and not ended */
    _Atomic bool stop;
};

struct perf_lane {
    struct perf_group *group;
    struct perf_origin *origin;
    struct perf_failure *failure;
    struct perf_report *report;
    uint32_t index;             /* thread of its class */
    uint32_t every;             /* which operations are samples: each nth */
    uint32_t until;             /* so many operations from now the next */
    uint64_t duration_ns;       /* of the round, UINT64_MAX: any */
    uint64_t deadline_ns;       /* that follows from it */
    struct perf_target *beside; /* polled in turn by this thread, or NULL */
    struct perf_caller *caller; /* waits beside a progress thread, or NULL */
};

/* The lane of this thread. */
extern _Thread_local struct perf_lane *perf_lane_here;

/* Before a round, when no lane of the group runs: so many operations. */
void perf_group_arm(
    struct perf_group *group, uint64_t budget, uint32_t lanes, uint32_t ops);

/* One round, in the lane's own thread. Returns when no operation of the group
 * is under way any more; false: the failure is set, and some may be. */
bool perf_lane_run(struct perf_lane *lane);

/* The progress thread's part of a round; lane has no operations of its own, and
 * its index is the context. Returns as perf_lane_run does. */
bool perf_lane_progress(struct perf_lane *lane);

/* The operation has failed, or could not start: it ends, and with it the round.
 * The failure has been set. */
void perf_lane_fail(struct perf_op *op);

/* Notes that the group's last operation has ended. */
void perf_lane_finish(struct perf_lane *lane);

/* One operation of the group less is under way. */
static inline void
perf_lane_drop(struct perf_lane *lane)
{
    struct perf_group *group = lane->group;
    uint32_t before;

    /* Release: with the acquire of a lane that sees 0 and lets the next round
     * be prepared. */
    if (group->shared) {
        before = atomic_fetch_sub_explicit(
            &group->outstanding, 1, memory_order_acq_rel);
    } else {
        before =
            atomic_load_explicit(&group->outstanding, memory_order_relaxed);
        atomic_store_explicit(
            &group->outstanding, before - 1, memory_order_release);
    }
    if (before == 1)
        perf_lane_finish(lane);
}

/* Whether the operation may begin (again). */
static inline bool
perf_lane_take(struct perf_lane *lane, struct perf_op *op)
{
    struct perf_group *group = lane->group;
    uint64_t taken;

    if (atomic_load_explicit(&group->stop, memory_order_relaxed))
        return false;
    if (group->shared) {
        taken =
            atomic_fetch_add_explicit(&group->taken, 1, memory_order_relaxed);
    } else {
        taken = atomic_load_explicit(&group->taken, memory_order_relaxed);
        atomic_store_explicit(&group->taken, taken + 1, memory_order_relaxed);
    }
    if (taken >= group->budget)
        return false;
    op->key++;
    op->start_ns = 0;
    if (--lane->until != 0)
        return true;
    lane->until = lane->every;
    op->start_ns = perf_clock_now();
    if (op->start_ns < lane->deadline_ns || taken == 0)
        return true;
    atomic_store_explicit(&group->stop, true, memory_order_relaxed);
    return false;
}

/* An operation of the lane has failed, and with it the round. */
void perf_lane_abort(struct perf_lane *lane);

/* The operation goes on, after its end, in its caller's thread. */
void perf_caller_end(struct perf_op *op, bool failed);

/* The operation has ended well, and is this thread's. true: it is to start
 * again, at once. */
static inline bool
perf_lane_again(struct perf_op *op)
{
    struct perf_lane *lane = perf_lane_here;

    lane->report->operations++;
    if (op->start_ns != 0)
        perf_histogram_add(
            &lane->report->histogram, perf_clock_now() - op->start_ns);
    if (perf_lane_take(lane, op))
        return true;
    perf_lane_drop(lane);
    return false;
}

/* In the callback of an operation that has ended well: as perf_lane_again. */
static inline bool
perf_lane_turn(struct perf_op *op)
{
    if (!op->caller)
        return perf_lane_again(op);
    perf_caller_end(op, false);
    return false;
}

#endif /* PERF_LANE_H */
