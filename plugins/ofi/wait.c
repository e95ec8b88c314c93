/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping. All that completes does so under the class's lock: what is not shown
 * by libfabric's descriptors, because another thread met it, rings the bell. */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "inbox.h"
#include "lane.h"
#include "peer.h"
#include "progress.h"
#include "wait.h"
#include "waitset.h"

int32_t
ofi_wait_init(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    struct epoll_event event = {.events = EPOLLIN};

    if (!cls->can_wait)
        return NA_PLUGIN_OK;
    ctx->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ctx->wait_fd = epoll_create1(EPOLL_CLOEXEC);
    if (ctx->bell >= 0 && ctx->wait_fd >= 0 &&
        epoll_ctl(ctx->wait_fd, EPOLL_CTL_ADD, ctx->bell, &event) == 0 &&
        epoll_ctl(ctx->wait_fd, EPOLL_CTL_ADD, cls->wait_fd, &event) == 0)
        return NA_PLUGIN_OK;
    ofi_wait_fini(ctx);
    return NA_PLUGIN_E_NOMEM;
}

void
ofi_wait_fini(na_plugin_ctx *ctx)
{
    if (ctx->wait_fd >= 0)
        close(ctx->wait_fd);
    if (ctx->bell >= 0)
        close(ctx->bell);
    ctx->wait_fd = ctx->bell = -1;
}

void
ofi_wait_rouse(na_plugin_ctx *ctx)
{
    if (!ctx->rung)
        ctx->rung = eventfd_write(ctx->bell, 1) == 0;
}

void
ofi_wait_disarm(na_plugin_ctx *ctx)
{
    eventfd_t rings;

    ctx->armed = false;
    if (ctx->cls->main->apart && ofi_inbox_disarm(ctx))
        ctx->rung = true;
    if (ctx->rung)
        eventfd_read(ctx->bell, &rings);
    ctx->rung = false;
}

static int32_t
descriptor(na_plugin_ctx *ctx)
{
    return ctx->wait_fd;
}

static int32_t
arm(na_plugin_ctx *ctx, uint64_t *sleep_ns_p)
{
    na_plugin_class *cls = ctx->cls;
    bool apart = cls->main->apart;
    uint64_t sleep_ns = 0;

    ofi_lock_take(&cls->lock);
    ctx->armed = true;
    bool quiet = !apart || ofi_inbox_arm(ctx);
    /* what other threads completed within their submissions */
    while (ctx->ready_count == 0 && ofi_progress_read(cls) != 0)
        ;
    if (quiet && ctx->ready_count == 0 && cls->copying.head == NULL &&
        ofi_waitset_try(cls))
        sleep_ns = ofi_progress_sleep(cls);
    if (sleep_ns != 0 && apart && !ofi_lane_guard(ctx, &sleep_ns))
        sleep_ns = 0;
    if (sleep_ns == 0)
        ofi_wait_disarm(ctx);
    ofi_lock_drop(&cls->lock);

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
