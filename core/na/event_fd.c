/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of progress that are not on the path of a message: its creation and
 * destruction, its timer, and the descriptor for an external event loop. */
#include "base/error.h"
#include "base/log.h"
#include "base/time.h"
#include "na/context.h"
#include "na/progress.h"
#include "na/sleep.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

na_return_t
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
    na_spin_init(&progress->spin);
    progress->quiet_events = progress->spin.events - 1; /* none yet */
    progress->early_events = progress->spin.events - 1;
    na_yield_init(&progress->yield);
    na_pause_init(&progress->pause);
    progress->nap_ns = NA_SLEEP_NAP_MIN_NS;
    progress->epoll_fd = -1;
    progress->timer_fd = -1;
    return NA_SUCCESS;
}

void
na_progress_finish(struct na_progress *progress)
{
    if (progress->epoll_fd >= 0)
        close(progress->epoll_fd);
    if (progress->timer_fd >= 0)
        close(progress->timer_fd);
    close(progress->wake_fd);
}

na_return_t
na_progress_add(struct na_progress *progress, struct na_context *context)
{
    if (progress->source_count == NA_PROGRESS_SOURCES ||
        progress->epoll_fd >= 0)
        return NA_BUSY;
    progress->sources[progress->source_count++] = context;
    atomic_fetch_or_explicit(
        &progress->sleeping, NA_PROGRESS_SEVERAL, memory_order_relaxed);
    progress->no_block = progress->no_block && context->na_class->no_block;
    context->progress = progress;
    return NA_SUCCESS;
}

void
na_progress_timer_init(struct na_progress *progress,
    void (*expire)(void *arg, uint64_t now), void *arg)
{
    progress->expire = expire;
    progress->expire_arg = arg;
}

void
na_progress_timer_set(struct na_progress *progress, uint64_t when)
{
    uint64_t before =
        atomic_exchange_explicit(&progress->timer, when, memory_order_relaxed);

    if (when == BASE_TIME_NEVER) {
        atomic_fetch_and_explicit(
            &progress->sleeping, ~NA_PROGRESS_TIMED, memory_order_relaxed);
        return;
    }
    /* Pairs as in na_progress_notify. */
    if (atomic_fetch_or_explicit(
            &progress->sleeping, NA_PROGRESS_TIMED, memory_order_acq_rel) &
            NA_PROGRESS_SLEEPERS &&
        when < before)
        na_sleep_wake(progress);
}

void
na_progress_fail_init(struct na_progress *progress,
    void (*fail)(void *arg, struct na_context *context), void *arg)
{
    progress->fail = fail;
    progress->fail_arg = arg;
}

static bool
epoll_add(int epoll_fd, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Called under the lock. */
static int
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

int
na_progress_fd(struct na_progress *progress)
{
    int fd = -1;

    if (progress->no_block)
        return -1;
    na_progress_enter(progress);
    fd = progress->epoll_fd >= 0 ? progress->epoll_fd : open_outside(progress);
    base_lock_release(&progress->lock);
    return fd;
}

bool
na_progress_try_wait(struct na_progress *progress)
{
    uint64_t ns, left;
    bool may_sleep;

    na_progress_enter(progress);
    /* A loop that asks again before it polls has used up the wake-up of the
     * last time. */
    na_sleep_end_outside(progress);
    na_sleep_announce(progress, NA_PROGRESS_OUTSIDE);
    left = base_time_left(na_progress_timer(progress));
    may_sleep = !progress->no_block && left > 0 &&
                na_sleep_arm(progress, &ns) && !na_progress_is_filled(progress);
    if (may_sleep)
        na_sleep_set_timer(progress, ns < left ? ns : left);
    else
        na_sleep_over(progress, NA_PROGRESS_OUTSIDE);
    base_lock_release(&progress->lock);
    return may_sleep;
}
