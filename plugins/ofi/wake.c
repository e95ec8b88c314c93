/* SPDX-License-Identifier: BSD-3-Clause */
/* What wakes a context that sleeps: a descriptor, and whether it is armed. */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ctx.h"
#include "inbox.h"
#include "ofi.h"
#include "wake.h"

int32_t
ofi_wake_init(na_plugin_ctx *ctx)
{
    struct ofi_endpoint *ep = ctx->ep;
    struct epoll_event event = {.events = EPOLLIN};

    if (!ep->can_wait)
        return NA_PLUGIN_OK;
    ctx->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ctx->wait_fd = epoll_create1(EPOLL_CLOEXEC);
    if (ctx->bell >= 0 && ctx->wait_fd >= 0 &&
        epoll_ctl(ctx->wait_fd, EPOLL_CTL_ADD, ctx->bell, &event) == 0 &&
        epoll_ctl(ctx->wait_fd, EPOLL_CTL_ADD, ep->wait_fd, &event) == 0)
        return NA_PLUGIN_OK;
    ofi_wake_fini(ctx);
    return NA_PLUGIN_E_NOMEM;
}

void
ofi_wake_fini(na_plugin_ctx *ctx)
{
    if (ctx->wait_fd >= 0)
        close(ctx->wait_fd);
    if (ctx->bell >= 0)
        close(ctx->bell);
    ctx->wait_fd = ctx->bell = -1;
}

void
ofi_wake_rouse(na_plugin_ctx *ctx)
{
    if (!ctx->rung)
        ctx->rung = eventfd_write(ctx->bell, 1) == 0;
}

void
ofi_wake_disarm(na_plugin_ctx *ctx)
{
    eventfd_t rings;

    ctx->armed = false;
    if (ctx->ep->cls->first->cls->apart && ofi_inbox_disarm(ctx))
        ctx->rung = true;
    if (ctx->rung)
        eventfd_read(ctx->bell, &rings);
    ctx->rung = false;
}
