/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping. All that completes does so under the class's lock: what is not shown
 * by libfabric's descriptors, because another thread met it, sets the wake-up. */
#include <sys/epoll.h>

#include "common/system.h"
#include "cross.h"
#include "endpoints.h"
#include "fabric.h"
#include "ofi.h"
#include "op.h"
#include "progress.h"
#include "queue.h"
#include "wait.h"

/* After which a context that sleeps looks whether the first one is still polled, and after endpoints without a context. */
#define LOOK_NS (250 * TP_MS)

/* Whether the first context was polled since this one looked last. */
static bool
is_attended(na_plugin_ctx *ctx)
{
    uint32_t attended =
        atomic_load_explicit(&ctx->ep->cls->attended, memory_order_relaxed);
    bool polled = attended != ctx->attended;

    ctx->attended = attended;
    return polled;
}

static void
set_guard(na_plugin_ctx *ctx, bool guards)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (ctx->guards != guards &&
        epoll_ctl(ctx->wake.fd, guards ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
            ctx->ep->cls->first->wait_fd, &event) == 0)
        ctx->guards = guards;
}

/* Before a context of another endpoint sleeps: makes it wake for the first endpoint
 * too if nothing else does. Sleeps for at most *sleep_ns_p, which it may shorten.
 * False: it has to poll. [lock] */
static bool
guard(na_plugin_ctx *ctx, uint64_t *sleep_ns_p)
{
    struct ofi_endpoint *first = ctx->ep->cls->first;
    uint64_t sleep_ns = LOOK_NS;
    bool quiet = true;

    if (ofi_endpoints_vacant(first->cls) != 0 && LOOK_NS < *sleep_ns_p)
        *sleep_ns_p = LOOK_NS;
    if (ctx->ep == first)
        return true;
    tp_lock_take(&first->lock);
    set_guard(ctx, !is_attended(ctx));
    if (ctx->guards) {
        ofi_progress_advance(first);
        quiet = first->copying.head == NULL && ofi_waitset_try(first);
        if (quiet)
            sleep_ns = ofi_progress_sleep(first);
        quiet = quiet && sleep_ns != 0;
    }
    tp_lock_drop(&first->lock);
    if (sleep_ns < *sleep_ns_p)
        *sleep_ns_p = sleep_ns;
    return quiet;
}

static int32_t
descriptor(na_plugin_ctx *ctx)
{
    return ctx->wake.fd;
}

static int32_t
arm(na_plugin_ctx *ctx, uint64_t *sleep_ns_p)
{
    struct ofi_endpoint *ep = ctx->ep;
    bool multi = ep->cls->multi_endpoint;
    uint64_t sleep_ns = 0;

    tp_lock_take(&ep->lock);
    ctx->armed = true;
    bool quiet = !multi || ofi_cross_arm(ctx);
    /* what other threads completed within their submissions */
    while (ctx->events.count == 0 && ofi_queue_read(ep) != 0)
        ;
    if (quiet && ctx->events.count == 0 && ep->copying.head == NULL &&
        ofi_waitset_try(ep))
        sleep_ns = ofi_progress_sleep(ep);
    if (sleep_ns != 0 && multi && !guard(ctx, &sleep_ns))
        sleep_ns = 0;
    if (sleep_ns == 0)
        ofi_cross_disarm(ctx);
    tp_lock_drop(&ep->lock);

    if (sleep_ns == 0)
        return NA_PLUGIN_DONE;
    *sleep_ns_p = sleep_ns;
    return NA_PLUGIN_OK;
}

const na_plugin_wait ofi_wait = {
    .size = sizeof(ofi_wait),
    .fd = descriptor,
    .arm = arm,
};
