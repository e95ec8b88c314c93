/* SPDX-License-Identifier: BSD-3-Clause */
/* Arming: UCX's descriptor first, then a look at everything else; what happens
 * afterwards shows on the descriptor or rings the bell. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "conn.h"
#include "wait.h"

int32_t
ucx_wait_init(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    struct epoll_event event = {.events = EPOLLIN};

    ctx->wait_fd = ctx->bell = -1;
    if (cls->worker_fd < 0)
        return NA_PLUGIN_OK;
    ctx->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ctx->bell < 0)
        goto refuse;
    ctx->wait_fd = epoll_create1(EPOLL_CLOEXEC);
    if (ctx->wait_fd < 0)
        goto close_bell;
    if (epoll_ctl(ctx->wait_fd, EPOLL_CTL_ADD, ctx->bell, &event) != 0 ||
        epoll_ctl(ctx->wait_fd, EPOLL_CTL_ADD, cls->worker_fd, &event) != 0)
        goto close_wait;
    return NA_PLUGIN_OK;

close_wait:
    close(ctx->wait_fd);
close_bell:
    close(ctx->bell);
refuse:
    ctx->wait_fd = ctx->bell = -1;
    UCX_LOG(cls->host, ERROR, "no descriptors for context %u: %s", ctx->id,
        strerror(errno));
    return NA_PLUGIN_E_NOMEM;
}

void
ucx_wait_fini(na_plugin_ctx *ctx)
{
    ucx_wait_disarm(ctx);
    if (ctx->wait_fd >= 0)
        close(ctx->wait_fd);
    if (ctx->bell >= 0)
        close(ctx->bell);
    ctx->wait_fd = ctx->bell = -1;
}

void
ucx_wait_rouse(na_plugin_ctx *ctx)
{
    if (!ctx->bell_rung)
        ctx->bell_rung = eventfd_write(ctx->bell, 1) == 0;
}

void
ucx_wait_disarm(na_plugin_ctx *ctx)
{
    eventfd_t rings;

    if (!ctx->armed)
        return;
    ctx->armed = false;
    ctx->cls->armed--;
    if (ctx->bell_rung)
        eventfd_read(ctx->bell, &rings);
    ctx->bell_rung = false;
}

void
ucx_wait_stir(na_plugin_class *cls)
{
    cls->stirred = false;
    for (uint32_t i = 0; i < UCX_CONTEXTS; i++) {
        if (cls->contexts[i] != NULL && cls->contexts[i]->armed) {
            ucx_wait_rouse(cls->contexts[i]);
            return;
        }
    }
}

static int32_t
arm(na_plugin_ctx *ctx, uint64_t *sleep_ns_p)
{
    na_plugin_class *cls = ctx->cls;
    int32_t ret = NA_PLUGIN_DONE;

    ucx_lock_take(&cls->lock);
    if (ctx->ready.head == NULL && cls->failed == NULL && cls->dirty == NULL &&
        ucp_worker_arm(cls->worker) == UCS_OK) {
        if (!ctx->armed)
            cls->armed++;
        ctx->armed = true;
        cls->stirred = false;
        uint64_t deadline = cls->first_ns;
        uint64_t now = ucx_now();
        *sleep_ns_p = deadline == UINT64_MAX ? UINT64_MAX
                      : deadline > now       ? deadline - now
                                             : 1;
        ret = NA_PLUGIN_OK;
    }
    ucx_lock_drop(&cls->lock);
    return ret;
}

static int32_t
descriptor(na_plugin_ctx *ctx)
{
    return ctx->wait_fd;
}

const na_plugin_wait ucx_wait = {
    .size = sizeof(ucx_wait),
    .fd = descriptor,
    .arm = arm,
};
