/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The compiled part of the high-level layer: requests, which are waited for by
 * progress and trigger, and blocking calls. It uses the public interface only.
 *
 * Of the threads that wait on one class, one makes progress, and the others
 * wait for it; all of them trigger. A thread that does not wait may complete a
 * request while ours sleeps in progress: that is noticed at the end of a step.
 */
#include "mercury_hl.h"

#include "base/lock.h"
#include "base/time.h"
#include "talaria.h"

#include <stdlib.h>

#define STEP_MS 20U     /* maximum time in progress */
#define STEP_BUSY_MS 1U /* while other threads of the class run callbacks */

struct talaria_request_class {
    talaria_request_progress_t progress;
    talaria_request_trigger_t trigger;
    void *arg;
    struct base_lock lock;   /* taken first: not held during calls */
    struct base_signal came; /* progress returned, or a request completed */
    bool progressing;
    unsigned int triggering; /* threads in trigger */
};

struct talaria_request {
    struct talaria_request_class *owner;
    void *data;
    _Atomic bool completed;
};

static int
context_progress(unsigned int timeout, void *arg)
{
    return HG_Progress(arg, timeout) == HG_SUCCESS ? 0 : -1;
}

static int
context_trigger(unsigned int timeout, unsigned int *flag, void *arg)
{
    unsigned int count = 0;
    hg_return_t ret = HG_Trigger(arg, timeout, 1, &count);

    *flag = count > 0;
    return ret == HG_SUCCESS ? 0 : -1;
}

talaria_request_class_t *
talaria_request_init(talaria_request_progress_t progress,
    talaria_request_trigger_t trigger, void *arg)
{
    struct talaria_request_class *class;

    if (!progress != !trigger || (!progress && !arg))
        return NULL;
    class = calloc(1, sizeof *class);
    if (!class)
        return NULL;
    class->progress = progress ? progress : context_progress;
    class->trigger = trigger ? trigger : context_trigger;
    class->arg = arg;
    base_lock_init(&class->lock, false);
    base_signal_init(&class->came);
    return class;
}

void
talaria_request_finalize(talaria_request_class_t *request_class, void **arg_p)
{
    if (arg_p)
        *arg_p = request_class ? request_class->arg : NULL;
    free(request_class);
}

talaria_request_t *
talaria_request_create(talaria_request_class_t *request_class)
{
    struct talaria_request *request;

    if (!request_class)
        return NULL;
    request = calloc(1, sizeof *request);
    if (request)
        request->owner = request_class;
    return request;
}

void
talaria_request_destroy(talaria_request_t *request)
{
    free(request);
}

void
talaria_request_reset(talaria_request_t *request)
{
    atomic_store_explicit(&request->completed, false, memory_order_relaxed);
}

void
talaria_request_complete(talaria_request_t *request)
{
    struct talaria_request_class *class = request->owner;

    base_lock_acquire(&class->lock);
    /* The last access: the waiting thread may destroy the request. Release
     * pairs with the acquire in completed. */
    atomic_store_explicit(&request->completed, true, memory_order_release);
    base_signal_all(&class->came);
    base_lock_release(&class->lock);
}

static bool
completed(const struct talaria_request *request)
{
    /* Acquire pairs with the release in talaria_request_complete. */
    return atomic_load_explicit(&request->completed, memory_order_acquire);
}

/* Runs queued callbacks until the request is completed or none is left. Called
 * under the lock, which is released during the calls. */
static void
trigger_all(struct talaria_request_class *class, talaria_request_t *request)
{
    unsigned int ran;

    do {
        ran = 0;
        class->triggering++;
        base_lock_release(&class->lock);
        if (class->trigger(0, &ran, class->arg) != 0)
            ran = 0;
        base_lock_acquire(&class->lock);
        class->triggering--;
    } while (ran && !completed(request));
}

/* Makes progress until something can be triggered, or a step is over. Called
 * under the lock, which is released during the call. */
static void
progress_step(struct talaria_request_class *class, uint64_t left)
{
    unsigned int step = class->triggering > 0 ? STEP_BUSY_MS : STEP_MS;
    uint64_t left_ms = (left + BASE_TIME_MS - 1) / BASE_TIME_MS;

    if (left_ms < step)
        step = (unsigned int) left_ms;
    class->progressing = true;
    base_lock_release(&class->lock);
    (void) class->progress(step, class->arg);
    base_lock_acquire(&class->lock);
    class->progressing = false;
    base_signal_all(&class->came);
}

static bool
wait_until(struct talaria_request *request, uint64_t deadline)
{
    struct talaria_request_class *class = request->owner;
    bool last = false;

    base_lock_acquire(&class->lock);
    for (;;) {
        uint64_t left;

        if (!completed(request))
            trigger_all(class, request);
        if (completed(request) || last)
            break;
        left = base_time_left(deadline);
        last = left == 0;
        if (!class->progressing)
            progress_step(class, left);
        else if (!last)
            (void) base_signal_wait(&class->came, &class->lock, deadline);
    }
    base_lock_release(&class->lock);
    return completed(request);
}

int
talaria_request_wait(
    talaria_request_t *request, unsigned int timeout, unsigned int *flag)
{
    return talaria_request_waitall(1, &request, timeout, flag);
}

int
talaria_request_waitall(int count, talaria_request_t *request[],
    unsigned int timeout, unsigned int *flag)
{
    uint64_t deadline = base_time_deadline(timeout);
    bool all = true;

    if (count < 0 || !request)
        return -1;
    for (int i = 0; i < count; i++)
        if (!request[i])
            return -1;
    for (int i = 0; i < count; i++)
        all = wait_until(request[i], deadline) && all;
    if (flag)
        *flag = all;
    return 0;
}

void
talaria_request_set_data(talaria_request_t *request, void *data)
{
    request->data = data;
}

void *
talaria_request_get_data(talaria_request_t *request)
{
    return request ? request->data : NULL;
}

/* A blocking call, completed by its callback. */
struct call {
    talaria_request_t *request;
    hg_return_t ret;
};

static hg_return_t
call_ended(const struct hg_cb_info *info)
{
    struct call *call = info->arg;

    call->ret = info->ret;
    talaria_request_complete(call->request);
    return HG_SUCCESS;
}

/* Forwards and waits. An accepted forward always calls back: the handle's
 * deadline ends it. */
static hg_return_t
forward_wait(hg_handle_t handle, talaria_request_t *request,
    unsigned int timeout_ms, void *in_struct)
{
    struct call call = {.request = request};
    unsigned int done = 0;
    hg_return_t ret = talaria_handle_set_deadline(handle, timeout_ms);

    if (ret == HG_SUCCESS)
        ret = HG_Forward(handle, call_ended, &call, in_struct);
    if (ret != HG_SUCCESS)
        return ret;
    do {
        (void) talaria_request_wait(request, HG_MAX_IDLE_TIME, &done);
    } while (!done);
    return call.ret;
}

hg_return_t
talaria_call(talaria_request_class_t *request_class, hg_addr_t addr,
    const char *func_name, unsigned int timeout_ms, void *in_struct,
    void *out_struct)
{
    hg_context_t *context;
    talaria_request_t *request;
    hg_handle_t handle;
    hg_id_t id = 0;
    uint8_t known = 0;
    hg_return_t ret;

    if (!request_class || request_class->progress != context_progress ||
        !addr || !func_name)
        return HG_INVALID_ARG;
    context = request_class->arg;
    ret = HG_Registered_name(
        HG_Context_get_class(context), func_name, &id, &known);
    if (ret != HG_SUCCESS || !known)
        return ret != HG_SUCCESS ? ret : HG_NOENTRY;
    request = talaria_request_create(request_class);
    if (!request)
        return HG_NOMEM;
    ret = HG_Create(context, addr, id, &handle);
    if (ret == HG_SUCCESS) {
        ret = forward_wait(handle, request, timeout_ms, in_struct);
        if (ret == HG_SUCCESS && out_struct) {
            ret = HG_Get_output(handle, out_struct);
            if (ret == HG_SUCCESS)
                ret = HG_Free_output(handle, out_struct);
        }
        (void) HG_Destroy(handle);
    }
    talaria_request_destroy(request);
    return ret;
}
