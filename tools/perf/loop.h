/* SPDX-License-Identifier: BSD-3-Clause */
/* A loop is one measuring thread with its operations in flight. Loops that
 * share a context are a group: any of them may run the callbacks of another's
 * operations, and counts them as its own. With a progress thread (caller.h)
 * that thread runs all callbacks. */
#ifndef PERF_LOOP_H
#define PERF_LOOP_H

#include <stdatomic.h>

#include "perf/clock.h"
#include "perf/histogram.h"
#include "perf/origin.h"

struct perf_target;

/* After this time without any event the other side is considered dead. */
#define PERF_SILENCE_NS (30 * PERF_SECOND_NS)

/* The results of a loop in a round. May be in shared memory. */
struct perf_report {
    uint64_t operations;
    uint64_t start_ns;
    uint64_t end_ns; /* of the group; 0: in another loop's report */
    struct perf_histogram histogram;
};

struct perf_group {
    bool shared;     /* by several loops */
    uint64_t budget; /* operations of this round */
    _Atomic uint64_t taken;
    _Atomic uint32_t outstanding; /* not ended, or not started yet */
    _Atomic bool stop;
};

struct perf_loop {
    struct perf_group *group;
    struct perf_origin *origin;
    struct perf_failure *failure;
    struct perf_report *report;
    uint32_t index;             /* thread of its class */
    uint32_t every;             /* each nth operation is a sample */
    uint32_t until;             /* operations until the next sample */
    uint64_t duration_ns;       /* of the round, UINT64_MAX: any */
    uint64_t deadline_ns;       /* start of the round + duration_ns */
    struct perf_target *beside; /* polled alternately by this thread, or NULL */
    struct perf_caller *caller; /* with a progress thread, else NULL */
};

/* The loop of this thread. */
extern _Thread_local struct perf_loop *perf_loop_self;

/* Sets the number of operations of the next round. No loop of the group may
 * run. */
void perf_group_arm(
    struct perf_group *group, uint64_t budget, uint32_t loops, uint32_t ops);

/* Runs one round in the calling thread. Returns when no operation of the group
 * is in flight; false: the failure is set, and some may be. */
bool perf_loop_run(struct perf_loop *loop);

/* The progress thread's part of a round. `loop` has no operations of its own;
 * its index is the context. Returns as perf_loop_run does. */
bool perf_loop_progress(struct perf_loop *loop);

/* Ends an operation that failed or could not start, and the round. The failure
 * must be set. */
void perf_op_fail(struct perf_op *op);

/* Records the end of the group's last operation. */
void perf_loop_finish(struct perf_loop *loop);

/* Counts the end of an operation. */
static inline void
perf_loop_op_ended(struct perf_loop *loop)
{
    struct perf_group *group = loop->group;
    uint32_t before;

    /* Release: pairs with the acquire of a loop that reads 0; the next round
     * may be prepared then. */
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
        perf_loop_finish(loop);
}

/* Whether an operation may start (again). */
static inline bool
perf_loop_claim(struct perf_loop *loop, struct perf_op *op)
{
    struct perf_group *group = loop->group;
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
    if (--loop->until != 0)
        return true;
    loop->until = loop->every;
    op->start_ns = perf_clock_now();
    if (op->start_ns < loop->deadline_ns || taken == 0)
        return true;
    atomic_store_explicit(&group->stop, true, memory_order_relaxed);
    return false;
}

/* Ends the round after an operation of the loop has failed. */
void perf_loop_abort(struct perf_loop *loop);

/* Passes a completed operation to its caller's thread. */
void perf_caller_complete(struct perf_op *op, bool failed);

/* Counts an operation of this thread that succeeded. true: the caller starts it
 * again at once. */
static inline bool
perf_loop_repeat(struct perf_op *op)
{
    struct perf_loop *loop = perf_loop_self;

    loop->report->operations++;
    if (op->start_ns != 0)
        perf_histogram_add(
            &loop->report->histogram, perf_clock_now() - op->start_ns);
    if (perf_loop_claim(loop, op))
        return true;
    perf_loop_op_ended(loop);
    return false;
}

/* As perf_loop_repeat, in the callback of an operation that succeeded. */
static inline bool
perf_op_repeat(struct perf_op *op)
{
    if (!op->caller)
        return perf_loop_repeat(op);
    perf_caller_complete(op, false);
    return false;
}

#endif /* PERF_LOOP_H */
