/* SPDX-License-Identifier: BSD-3-Clause */
/* Arming the plugins of a context, and sleeping until one has events. */
#include "na/sleep.h"

#include "base/time.h"
#include "na/context.h"
#include "na/violation.h"

#include <poll.h>
#include <sched.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define NAP_MAX_NS 1000000U

void
na_progress_contend(struct na_progress *progress)
{
    atomic_fetch_add_explicit(&progress->contenders, 1, memory_order_relaxed);
    base_lock_acquire(&progress->lock);
    atomic_fetch_sub_explicit(&progress->contenders, 1, memory_order_relaxed);
}

void
na_sleep_wake(struct na_progress *progress)
{
    uint64_t one = 1;
    ssize_t written = write(progress->wake_fd, &one, sizeof one);

    (void) written; /* full: it is readable already */
}

void
na_sleep_drain(struct na_progress *progress)
{
    uint64_t value;
    ssize_t got = read(progress->wake_fd, &value, sizeof value);

    (void) got; /* empty is fine */
}

/* Returns false if the caller must poll again. */
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

/* Returns false if the caller must poll again. *sleep_ns_p: maximum time to
 * sleep. */
bool
na_sleep_arm(struct na_progress *progress, uint64_t *sleep_ns_p)
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

/* A thread other than the sleeper has polled and so disarmed the plugins. */
void
na_sleep_arm_again(struct na_progress *progress)
{
    uint64_t sleep_ns;

    /* A plugin may need an earlier wake-up than the sleeper has set. */
    if (!na_sleep_arm(progress, &sleep_ns) || sleep_ns != UINT64_MAX ||
        na_progress_is_filled(progress))
        na_sleep_wake(progress);
}

/* ns: UINT64_MAX: never. */
void
na_sleep_set_timer(struct na_progress *progress, uint64_t ns)
{
    struct itimerspec spec = {0};

    if (progress->timer_fd < 0)
        return;
    if (ns != UINT64_MAX)
        spec.it_value = base_time_spec(ns > 0 ? ns : 1);
    timerfd_settime(progress->timer_fd, 0, &spec, NULL);
}

/* The leader consumes a wake-up. If an external loop sleeps too, that wake-up
 * may have been for an earlier time, which the loop's timer now gets. The
 * leader sees all else itself, and passes it on when it leaves. */
static void
drain_as_leader(struct na_progress *progress)
{
    na_sleep_drain(progress);
    if (na_progress_sleepers(progress) & NA_PROGRESS_OUTSIDE)
        na_sleep_set_timer(
            progress, base_time_left(na_progress_timer(progress)));
}

/* Reports a plugin that has closed its descriptor: sleeping on it would never
 * end. */
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

void
na_sleep_wakes_early(struct na_progress *progress, bool wakes_early)
{
    for (unsigned i = 0; i < progress->source_count; i++)
        atomic_store_explicit(&progress->sources[i]->wakes_early, wakes_early,
            memory_order_relaxed);
}

/* From now on a thread that runs on this processor wakes the leader early. */
static void
begin_early(struct na_progress *progress)
{
    atomic_store_explicit(
        &progress->sleeper_cpu, sched_getcpu(), memory_order_relaxed);
    na_sleep_wakes_early(progress, true);
}

/* Ends the time in which a thread wakes the leader early; notes whether one has.
 */
static void
end_early(struct na_progress *progress)
{
    if (!atomic_load_explicit(
            &progress->sources[0]->wakes_early, memory_order_relaxed))
        progress->early_events = progress->spin.events;
    else
        na_sleep_wakes_early(progress, false);
}

/* Sleeps in the kernel until something may have happened, at most ns. Releases
 * the lock meanwhile. */
static void
sleep_in_kernel(struct na_progress *progress, uint64_t ns)
{
    struct pollfd fds[NA_PROGRESS_SOURCES + 1];
    nfds_t count = 0;
    struct timespec timeout = base_time_spec(ns);
    bool early;

    for (unsigned i = 0; i < progress->source_count; i++)
        if (progress->sources[i]->wait_fd >= 0)
            fds[count++] = (struct pollfd){
                .fd = progress->sources[i]->wait_fd, .events = POLLIN};
    /* Not out of a nap, the next of which would be longer. */
    early = count == progress->source_count &&
            na_spin_is_avoided(&progress->spin) &&
            progress->spin.events != progress->early_events;
    fds[count++] = (struct pollfd){.fd = progress->wake_fd, .events = POLLIN};
    if (early)
        begin_early(progress);
    base_lock_release(&progress->lock);
    ppoll(fds, count, &timeout, NULL);
    na_progress_enter(progress);
    if (early)
        end_early(progress);
    check_open(progress, fds, count);
    if (fds[count - 1].revents)
        drain_as_leader(progress);
}

/* Sleeps unless something has happened already. */
void
na_sleep_try(struct na_progress *progress, uint64_t deadline)
{
    uint64_t left = base_time_left(deadline), ns, timer_left;

    na_sleep_announce(progress, NA_PROGRESS_LEADER);
    timer_left = base_time_left(na_progress_timer(progress));
    left = timer_left < left ? timer_left : left;
    if (na_sleep_arm(progress, &ns) && !na_progress_is_filled(progress))
        sleep_in_kernel(progress, ns < left ? ns : left);
    na_sleep_over(progress, NA_PROGRESS_LEADER);
}

/* Called under the lock. */
void
na_sleep_end_outside(struct na_progress *progress)
{
    if (!(na_progress_sleepers(progress) & NA_PROGRESS_OUTSIDE))
        return;
    na_sleep_over(progress, NA_PROGRESS_OUTSIDE);
    na_sleep_drain(progress);
    if (progress->leading)
        na_sleep_wake(progress); /* it may have been for the leader */
}
