/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libuv calls prepare handles right before it sleeps. There HG_Event_ready
 * decides: if the context has work, the loop must not sleep; if not, the
 * descriptor is readable as soon as there is some. An active idle handle
 * keeps a libuv loop from sleeping; its other handles also get their turn between
 * two batches of the context's work.
 */
#include "talaria_uv.h"

#define TRIGGER_MAX 64U /* callbacks and handlers in one iteration */

static void
idle_run(uv_idle_t *idle)
{
    (void) idle; /* that it is active suffices */
}

static void
work(struct talaria_uv *uv)
{
    unsigned int count = 0;
    hg_return_t ret = HG_Event_progress(uv->context, &count);

    if (ret == HG_SUCCESS && count > 0)
        ret = HG_Event_trigger(uv->context, TRIGGER_MAX, NULL);
    if (ret == HG_SUCCESS)
        return;
    uv_prepare_stop(&uv->prepare);
    uv_idle_stop(&uv->idle);
    uv_poll_stop(&uv->poll);
    uv->failed(uv, ret);
}

/* uv may have been stopped by a callback that this runs. */
static void
before_sleep(uv_prepare_t *prepare)
{
    struct talaria_uv *uv = prepare->data;

    if (!HG_Event_ready(uv->context)) {
        uv_idle_stop(&uv->idle);
        return;
    }
    uv_idle_start(&uv->idle, idle_run);
    work(uv);
}

/* The context needs progress, whether or not HG_Event_ready is true. */
static void
readable(uv_poll_t *poll, int status, int events)
{
    (void) status;
    (void) events;
    work(poll->data);
}

static void
closed(uv_handle_t *handle)
{
    struct talaria_uv *uv = handle->data;

    if (--uv->open == 0)
        uv->stopped(uv);
}

int
talaria_uv_start(struct talaria_uv *uv, uv_loop_t *loop, hg_context_t *context,
    void (*failed)(struct talaria_uv *uv, hg_return_t ret))
{
    int fd = HG_Event_get_wait_fd(context);
    int ret;

    if (fd < 0)
        return UV_ENOTSUP;
    ret = uv_poll_init(loop, &uv->poll, fd);
    if (ret != 0)
        return ret;
    uv->context = context;
    uv->failed = failed;
    uv->open = 3;
    uv->poll.data = uv->prepare.data = uv->idle.data = uv;
    uv_prepare_init(loop, &uv->prepare);
    uv_idle_init(loop, &uv->idle);
    uv_poll_start(&uv->poll, UV_READABLE, readable);
    uv_prepare_start(&uv->prepare, before_sleep);
    return 0;
}

void
talaria_uv_stop(struct talaria_uv *uv, void (*stopped)(struct talaria_uv *uv))
{
    uv->stopped = stopped;
    uv_close((uv_handle_t *) &uv->prepare, closed);
    uv_close((uv_handle_t *) &uv->idle, closed);
    uv_close((uv_handle_t *) &uv->poll, closed);
}
