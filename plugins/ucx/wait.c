/* SPDX-License-Identifier: BSD-3-Clause */
/* Arming: UCX's descriptor first, then a look at everything else; what happens
 * afterwards shows on the descriptor or sets the wake-up. */
#include <errno.h>
#include <string.h>

#include "wait.h"

int32_t
ucx_wait_init(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;

    ctx->wake = TP_WAKE_NONE;
    if (cls->worker_fd < 0 ||
        tp_wake_init(&ctx->wake, &cls->worker_fd, 1) == NA_PLUGIN_OK)
        return NA_PLUGIN_OK;
    TP_LOG(cls->host, ERROR, "context %u: no descriptors: %s", ctx->id,
        strerror(errno));
    return NA_PLUGIN_E_NOMEM;
}

void
ucx_wait_fini(na_plugin_ctx *ctx)
{
    ucx_wait_disarm(ctx);
    tp_wake_fini(&ctx->wake);
}

void
ucx_wait_disarm(na_plugin_ctx *ctx)
{
    if (!ctx->armed)
        return;
    ctx->armed = false;
    ctx->cls->armed--;
    tp_wake_clear(&ctx->wake);
}

void
ucx_wait_wake(na_plugin_class *cls)
{
    cls->wake_due = false;
    for (uint32_t i = 0; i < UCX_CONTEXTS; i++) {
        if (cls->contexts[i] != NULL && cls->contexts[i]->armed) {
            tp_wake_set(&cls->contexts[i]->wake);
            return;
        }
    }
}

static int32_t
arm(na_plugin_ctx *ctx, uint64_t *sleep_ns_p)
{
    na_plugin_class *cls = ctx->cls;
    int32_t ret = NA_PLUGIN_DONE;

    tp_mutex_take(&cls->lock);
    if (ctx->events.count == 0 && cls->failed.head == NULL &&
        cls->touched.head == NULL && ucp_worker_arm(cls->worker) == UCS_OK) {
        if (!ctx->armed)
            cls->armed++;
        ctx->armed = true;
        cls->wake_due = false;
        uint64_t deadline = cls->first_ns;
        uint64_t now = tp_now();
        *sleep_ns_p = deadline == UINT64_MAX ? UINT64_MAX
                      : deadline > now       ? deadline - now
                                             : 1;
        ret = NA_PLUGIN_OK;
    }
    tp_mutex_drop(&cls->lock);
    return ret;
}

static int32_t
descriptor(na_plugin_ctx *ctx)
{
    return ctx->wake.fd;
}

const na_plugin_wait ucx_wait = {
    .size = sizeof(ucx_wait),
    .fd = descriptor,
    .arm = arm,
};
