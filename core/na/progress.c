/* SPDX-License-Identifier: BSD-3-Clause */
/* Polling the plugins of a context and waiting for them. */
#include "na/progress.h"

#include "base/error.h"
#include "base/log.h"
#include "base/time.h"
#include "na/context.h"
#include "na/op.h"
#include "na/violation.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Longer than waking a sleeping process takes: a shorter spin lets one hiccup
 * put both sides of a conversation to sleep, again and again. */
#define SPIN_NS 50000U
/* After a wait in which nothing came at all. */
#define SPIN_IDLE_NS 1000U
/* Spinning on makes way for others on the same core after this, and again each
 * time that it has gone on for twice as long, this at most later: who has the
 * core alone pays for a call of the kernel that brings nothing. */
#define SPIN_YIELD_NS 1000U
#define SPIN_YIELD_MAX_NS 50000U

#define NAP_MIN_NS 10000U
#define NAP_MAX_NS 1000000U

__attribute__((cold)) na_return_t
na_progress_init(struct na_progress *progress, struct na_context *context,
    struct base_completion_queue *queue)
{
    progress->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (progress->wake_fd < 0) {
        LOG_ERROR(NA, "eventfd: errno %d", errno);
        return (na_return_t) base_error_from_errno(errno);
    }
    base_lock_init(&progress->lock, context->na_class->single_context);
    base_signal_init(&progress->left);
    progress->sources[0] = context;
    progress->source_count = 1;
    progress->queue = queue;
    atomic_init(&progress->contenders, 0);
    atomic_init(&progress->sleeping, 0);
    atomic_init(&progress->timer, BASE_TIME_NEVER);
    progress->leading = false;
    progress->no_block = context->na_class->no_block;
    progress->spin_ns = SPIN_NS;
    na_spin_init(&progress->spin);
    progress->nap_ns = NAP_MIN_NS;
    progress->epoll_fd = -1;
    progress->timer_fd = -1;
    return NA_SUCCESS;
}

__attribute__((cold)) void
na_progress_finish(struct na_progress *progress)
{
    if (progress->epoll_fd >= 0)
        close(progress->epoll_fd);
    if (progress->timer_fd >= 0)
        close(progress->timer_fd);
    close(progress->wake_fd);
}

__attribute__((cold)) na_return_t
na_progress_add(struct na_progress *progress, struct na_context *context)
{
    if (progress->source_count == NA_PROGRESS_SOURCES ||
        progress->epoll_fd >= 0)
        return NA_BUSY;
    progress->sources[progress->source_count++] = context;
    progress->no_block = progress->no_block && context->na_class->no_block;
    context->progress = progress;
    return NA_SUCCESS;
}

/* Gets the lock, letting a leader that spins know that somebody wants it. */
static void
enter(struct na_progress *progress)
{
    if (__builtin_expect(base_lock_try(&progress->lock), 1))
        return;
    atomic_fetch_add_explicit(&progress->contenders, 1, memory_order_relaxed);
    base_lock_acquire(&progress->lock);
    atomic_fetch_sub_explicit(&progress->contenders, 1, memory_order_relaxed);
}

static bool
filled(const struct na_progress *progress)
{
    return base_completion_count(progress->queue) > 0;
}

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

static void
rouse(struct na_progress *progress)
{
    uint64_t one = 1;
    ssize_t written = write(progress->wake_fd, &one, sizeof one);

    (void) written; /* full means that it is readable already */
}

static void
drain(struct na_progress *progress)
{
    uint64_t value;
    ssize_t got = read(progress->wake_fd, &value, sizeof value);

    (void) got; /* empty is as good */
}

void
na_progress_notify(struct na_progress *progress)
{
    /* A read-modify-write, so that it stands before or after that of announce:
     * either the sleeper sees (acquire) what was published before this call
     * (release), or this call sees the sleeper. */
    if (atomic_fetch_or_explicit(&progress->sleeping, 0, memory_order_acq_rel) &
        NA_PROGRESS_SLEEPERS)
        rouse(progress);
}

void
na_progress_timer_init(struct na_progress *progress,
    void (*expire)(void *arg, uint64_t now), void *arg)
{
    progress->expire = expire;
    progress->expire_arg = arg;
}

__attribute__((cold)) void
na_progress_timer_set(struct na_progress *progress, uint64_t when)
{
    uint64_t before =
        atomic_exchange_explicit(&progress->timer, when, memory_order_relaxed);

    if (when == BASE_TIME_NEVER) {
        atomic_fetch_and_explicit(
            &progress->sleeping, ~NA_PROGRESS_TIMED, memory_order_relaxed);
        return;
    }
    /* As in na_progress_notify. */
    if (atomic_fetch_or_explicit(
            &progress->sleeping, NA_PROGRESS_TIMED, memory_order_acq_rel) &
            NA_PROGRESS_SLEEPERS &&
        when < before)
        rouse(progress);
}

void
na_progress_fail_init(struct na_progress *progress,
    void (*fail)(void *arg, struct na_context *context), void *arg)
{
    progress->fail = fail;
    progress->fail_arg = arg;
}

static uint64_t
timer(const struct na_progress *progress)
{
    return atomic_load_explicit(&progress->timer, memory_order_relaxed);
}

/* Lock held. */
static __attribute__((noinline)) void
run_timer(struct na_progress *progress)
{
    uint64_t now = base_time_now();

    if (now >= timer(progress))
        progress->expire(progress->expire_arg, now);
}

static void
announce(struct na_progress *progress, uint32_t who)
{
    /* Pairs with na_progress_notify. */
    atomic_fetch_or_explicit(&progress->sleeping, who, memory_order_acq_rel);
}

static void
awake(struct na_progress *progress, uint32_t who)
{
    atomic_fetch_and_explicit(&progress->sleeping, ~who, memory_order_relaxed);
}

/* false: poll again. */
static bool
arm(struct na_context *context, uint64_t *sleep_ns_p)
{
    int32_t code;

    if (na_context_is_dead(context))
        return false;
    code = context->na_class->wait->arm(context->plugin_ctx, sleep_ns_p);
    if (__builtin_expect(code != NA_PLUGIN_OK && code != NA_PLUGIN_DONE, 0))
        na_violation_of_context(context,
            "arm of " NA_PLUGIN_WAIT_ID " returned %d, which it must not",
            code);
    return code == NA_PLUGIN_OK;
}

/* Arms every source. false: poll again. *sleep_ns_p: how long to sleep at the
 * most. */
static bool
arm_sources(struct na_progress *progress, uint64_t *sleep_ns_p)
{
    uint64_t sleep_ns = UINT64_MAX;

    for (unsigned i = 0; i < progress->source_count; i++) {
        struct na_context *context = progress->sources[i];
        uint64_t ns = UINT64_MAX;

        if (context->wait_fd < 0) {
            ns = progress->nap_ns;
            progress->nap_ns = progress->nap_ns * 2 < NAP_MAX_NS
                                   ? progress->nap_ns * 2
                                   : NAP_MAX_NS;
        } else if (!arm(context, &ns)) {
            return false;
        }
        sleep_ns = ns < sleep_ns ? ns : sleep_ns;
    }
    *sleep_ns_p = sleep_ns;
    return true;
}

/* After a poll by somebody else than who sleeps: the plugins are disarmed. */
static __attribute__((noinline)) void
arm_for_sleeper(struct na_progress *progress)
{
    uint64_t sleep_ns;

    /* A shorter time than the sleeper's may have come up: it counts again. */
    if (!arm_sources(progress, &sleep_ns) || sleep_ns != UINT64_MAX ||
        filled(progress))
        rouse(progress);
}

/* Makes the outside descriptor readable after ns, never for UINT64_MAX. */
static void
set_timer(struct na_progress *progress, uint64_t ns)
{
    struct itimerspec spec = {0};

    if (progress->timer_fd < 0)
        return;
    if (ns != UINT64_MAX)
        spec.it_value = base_time_spec(ns > 0 ? ns : 1);
    timerfd_settime(progress->timer_fd, 0, &spec, NULL);
}

/* The leader takes a wake-up. It may have told an outside loop, which sleeps as
 * well, of an earlier time than it knows: its own timer tells it now. All else
 * that it has to know, the leader sees too and passes on when it leaves. */
static void
drain_as_leader(struct na_progress *progress)
{
    drain(progress);
    if (atomic_load_explicit(&progress->sleeping, memory_order_relaxed) &
        NA_PROGRESS_OUTSIDE)
        set_timer(progress, base_time_left(timer(progress)));
}

/* A plugin's descriptor that it has closed would be slept on in vain. */
static void
check_open(struct na_progress *progress, const struct pollfd *fds, nfds_t count)
{
    for (nfds_t i = 0; i < count; i++)
        for (unsigned j = 0; j < progress->source_count; j++)
            if (fds[i].revents & POLLNVAL &&
                fds[i].fd == progress->sources[j]->wait_fd)
                na_violation_of_context(progress->sources[j],
                    "its descriptor %d is not open any more", fds[i].fd);
}

/* Sleeps in the kernel until there may be something, at most ns. Called and
 * returns with the lock held. */
static void
sleep_in_kernel(struct na_progress *progress, uint64_t ns)
{
    struct pollfd fds[NA_PROGRESS_SOURCES + 1];
    nfds_t count = 0;
    struct timespec timeout = base_time_spec(ns);

    for (unsigned i = 0; i < progress->source_count; i++)
        if (progress->sources[i]->wait_fd >= 0)
            fds[count++] = (struct pollfd){
                .fd = progress->sources[i]->wait_fd, .events = POLLIN};
    fds[count++] = (struct pollfd){.fd = progress->wake_fd, .events = POLLIN};
    base_lock_release(&progress->lock);
    ppoll(fds, count, &timeout, NULL);
    enter(progress);
    check_open(progress, fds, count);
    if (fds[count - 1].revents)
        drain_as_leader(progress);
}

/* Sleeps unless there is something already. */
static void
try_sleep(struct na_progress *progress, uint64_t deadline)
{
    uint64_t left = base_time_left(deadline), ns, timer_left;

    announce(progress, NA_PROGRESS_LEADER);
    timer_left = base_time_left(timer(progress));
    left = timer_left < left ? timer_left : left;
    if (arm_sources(progress, &ns) && !filled(progress))
        sleep_in_kernel(progress, ns < left ? ns : left);
    awake(progress, NA_PROGRESS_LEADER);
}

static void
let_others_in(struct na_progress *progress)
{
    if (atomic_load_explicit(&progress->contenders, memory_order_relaxed) == 0)
        return;
    base_lock_release(&progress->lock);
    sched_yield();
    enter(progress);
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
    return count >= 0 || filled(progress) ? NA_SUCCESS : (na_return_t) -count;
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
            progress->spin_ns = SPIN_NS;
            progress->nap_ns = NAP_MIN_NS;
        }
        if (__builtin_expect(now >= timer(progress), 0))
            run_timer(progress);
        if (filled(progress)) {
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
        try_sleep(progress, deadline);
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
    while (progress->leading && !filled(progress)) {
        /* The poll that came before has disarmed the plugins. */
        if (atomic_load_explicit(&progress->sleeping, memory_order_relaxed) &
            NA_PROGRESS_SLEEPERS)
            arm_for_sleeper(progress);
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
    if (!filled(progress)) {
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
    uint32_t state =
        atomic_load_explicit(&progress->sleeping, memory_order_relaxed);

    if (state & NA_PROGRESS_TIMED)
        run_timer(progress);
    if (state & NA_PROGRESS_SLEEPERS)
        arm_for_sleeper(progress);
}

/* Goes on after a poll with count events, or a plugin's code, if there is more to
 * do than to say that the queue is filled. Gives the lock back. */
static __attribute__((noinline)) na_return_t
wait_on(struct na_progress *progress, unsigned timeout_ms, int32_t count)
{
    na_return_t ret = failure(progress, count);
    bool yield = false;

    if (ret == NA_SUCCESS && !filled(progress)) {
        ret = timeout_ms > 0 ? wait_filled(progress, timeout_ms) : NA_TIMEOUT;
        yield = timeout_ms == 0 && na_spin_yields(&progress->spin);
    }
    if (atomic_load_explicit(&progress->sleeping, memory_order_relaxed) != 0) {
        attend(progress);
        if (ret == NA_TIMEOUT && filled(progress))
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

    enter(progress);
    count = poll_sources(progress);
    if (count <= 0)
        return wait_on(progress, timeout_ms, count);
    progress->spin_ns = SPIN_NS;
    na_spin_count(&progress->spin, (uint32_t) count);
    if (!filled(progress) ||
        __builtin_expect(atomic_load_explicit(
                             &progress->sleeping, memory_order_relaxed) != 0,
            0))
        return wait_on(progress, timeout_ms, count);
    base_lock_release(&progress->lock);
    return NA_SUCCESS;
}

void
na_progress_acquire(struct na_progress *progress)
{
    enter(progress);
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

/* Ends what na_progress_try_wait began. Lock held. */
static void
end_outside(struct na_progress *progress)
{
    if (!(atomic_load_explicit(&progress->sleeping, memory_order_relaxed) &
            NA_PROGRESS_OUTSIDE))
        return;
    awake(progress, NA_PROGRESS_OUTSIDE);
    drain(progress);
    if (progress->leading)
        rouse(progress); /* it may have been meant for the leader */
}

na_return_t
na_progress_poll(struct na_progress *progress)
{
    na_return_t ret;

    enter(progress);
    end_outside(progress);
    ret = failure(progress, poll_all(progress));
    if (atomic_load_explicit(&progress->sleeping, memory_order_relaxed) != 0)
        attend(progress);
    base_lock_release(&progress->lock);
    return ret;
}

static bool
epoll_add(int epoll_fd, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Lock held. */
static __attribute__((cold)) int
open_outside(struct na_progress *progress)
{
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    bool added = epoll_fd >= 0 && timer_fd >= 0 &&
                 epoll_add(epoll_fd, timer_fd) &&
                 epoll_add(epoll_fd, progress->wake_fd);

    for (unsigned i = 0; added && i < progress->source_count; i++)
        if (progress->sources[i]->wait_fd >= 0)
            added = epoll_add(epoll_fd, progress->sources[i]->wait_fd);
    if (!added) {
        LOG_ERROR(NA, "no descriptor to wait on: errno %d", errno);
        if (epoll_fd >= 0)
            close(epoll_fd);
        if (timer_fd >= 0)
            close(timer_fd);
        return -1;
    }
    progress->epoll_fd = epoll_fd;
    progress->timer_fd = timer_fd;
    return epoll_fd;
}

__attribute__((cold)) int
na_progress_fd(struct na_progress *progress)
{
    int fd = -1;

    if (progress->no_block)
        return -1;
    enter(progress);
    fd = progress->epoll_fd >= 0 ? progress->epoll_fd : open_outside(progress);
    base_lock_release(&progress->lock);
    return fd;
}

__attribute__((cold)) bool
na_progress_try_wait(struct na_progress *progress)
{
    uint64_t ns, left;
    bool may_sleep;

    enter(progress);
    /* A loop that asks again before it polls was woken for what it is told now,
     * or for nothing. */
    end_outside(progress);
    announce(progress, NA_PROGRESS_OUTSIDE);
    left = base_time_left(timer(progress));
    may_sleep = !progress->no_block && left > 0 && arm_sources(progress, &ns) &&
                !filled(progress);
    if (may_sleep)
        set_timer(progress, ns < left ? ns : left);
    else
        awake(progress, NA_PROGRESS_OUTSIDE);
    base_lock_release(&progress->lock);
    return may_sleep;
}
