/* SPDX-License-Identifier: BSD-3-Clause */
/* The target of the levels rpc and bulk: its class, and the handlers of RPCs
 * that carry their bytes themselves. */
#include "perf/hg_target.h"

#include <stdlib.h>

#include "common/listen.h"
#include "perf/pattern.h"

/* The target whose handlers this thread runs, in poll_context and
 * close_target. */
static _Thread_local struct hg_target *polled;

/* Returns the target of a request. NULL: it is closing, the request was
 * destroyed; the handler returns HG_CANCELED. */
static struct hg_target *
target_of(hg_handle_t handle)
{
    if (!polled->closing)
        return polled;
    HG_Destroy(handle);
    return NULL;
}

/* Decodes a request into the memory of this thread. */
static hg_return_t
receive(
    hg_handle_t handle, struct hg_target *target, struct perf_payload *payload)
{
    hg_return_t ret;

    payload->bytes = perf_target_scratch;
    payload->size = HG_Get_input_payload_size(handle);
    if (payload->size > target->base.plan->size_max)
        return HG_OVERFLOW;
    ret = HG_Get_input(handle, payload);
    if (ret == HG_SUCCESS)
        ret = HG_Free_input(handle, payload);
    return ret;
}

static hg_return_t
answer_echo(struct hg_target *target, hg_handle_t handle)
{
    struct perf_payload payload;
    uint64_t key;
    hg_return_t ret = receive(handle, target, &payload);

    if (ret == HG_SUCCESS && target->base.plan->verify) {
        key = perf_pattern_key(payload.bytes, payload.size);
        perf_target_check(&target->base, payload.bytes, payload.size, key);
        perf_pattern_fill(payload.bytes, payload.size, ~key);
    }
    if (ret == HG_SUCCESS)
        ret = HG_Respond(handle, NULL, NULL, &payload);
    HG_Destroy(handle);
    return ret;
}

/* Queues a request for the threads that respond. */
static hg_return_t
pass_on(struct hg_target *target, hg_handle_t handle)
{
    hg_return_t ret =
        HG_Get_input_payload_size(handle) > target->base.plan->size_max
            ? HG_OVERFLOW
            : HG_SUCCESS;

    if (ret == HG_SUCCESS && !perf_hg_queue_put(&target->queue, handle))
        ret = HG_AGAIN;
    if (ret != HG_SUCCESS)
        HG_Destroy(handle);
    return ret;
}

/* The handlers. A handler that returns an error without having responded sends
 * that error. */
static hg_return_t
echo(hg_handle_t handle)
{
    struct hg_target *target = target_of(handle);

    if (!target)
        return HG_CANCELED;
    return target->queue.handles ? pass_on(target, handle)
                                 : answer_echo(target, handle);
}

static hg_return_t
take(hg_handle_t handle)
{
    struct hg_target *target = target_of(handle);
    struct perf_payload payload;
    hg_return_t ret;

    if (!target)
        return HG_CANCELED;
    ret = receive(handle, target, &payload);
    if (ret == HG_SUCCESS && target->base.plan->verify)
        perf_target_check(&target->base, payload.bytes, payload.size,
            perf_pattern_key(payload.bytes, payload.size));
    if (ret == HG_SUCCESS)
        ret = HG_Respond(handle, NULL, NULL, NULL);
    HG_Destroy(handle);
    return ret;
}

static hg_return_t
give(hg_handle_t handle)
{
    struct hg_target *target = target_of(handle);
    struct perf_payload payload = {.bytes = perf_target_scratch};
    perf_read_in_t in;
    hg_return_t ret;

    if (!target)
        return HG_CANCELED;
    ret = HG_Get_input(handle, &in);
    if (ret == HG_SUCCESS)
        ret = HG_Free_input(handle, &in);
    if (ret == HG_SUCCESS && in.size > target->base.plan->size_max)
        ret = HG_OVERFLOW;
    if (ret == HG_SUCCESS) {
        payload.size = in.size;
        if (target->base.plan->verify)
            perf_pattern_fill(payload.bytes, payload.size, ~in.key);
        ret = HG_Respond(handle, NULL, NULL, &payload);
    }
    HG_Destroy(handle);
    return ret;
}

static hg_return_t
pull(hg_handle_t handle)
{
    struct hg_target *target = target_of(handle);

    return target ? perf_hg_transfer(target, handle, HG_BULK_PULL)
                  : HG_CANCELED;
}

static hg_return_t
push(hg_handle_t handle)
{
    struct hg_target *target = target_of(handle);

    return target ? perf_hg_transfer(target, handle, HG_BULK_PUSH)
                  : HG_CANCELED;
}

static enum perf_poll
poll_context(
    struct perf_target *base, uint32_t context, unsigned int timeout_ms)
{
    polled = (struct hg_target *) base;
    return perf_hg_poll(&polled->hg, context, timeout_ms);
}

static enum perf_poll
work(struct perf_target *base, unsigned int timeout_ms)
{
    struct hg_target *target = (struct hg_target *) base;
    hg_handle_t handle = perf_hg_queue_take(&target->queue, timeout_ms);
    hg_return_t ret;

    if (handle == HG_HANDLE_NULL)
        return PERF_POLL_IDLE;
    ret = answer_echo(target, handle);
    if (ret != HG_SUCCESS)
        perf_failure_set(base->failure, "a request cannot be answered: %s",
            HG_Error_to_string(ret));
    return PERF_POLL_WORK;
}

static bool
describe(struct perf_target *base, struct perf_remote *remote)
{
    struct hg_target *target = (struct hg_target *) base;
    hg_return_t ret = listen_address(
        target->hg.hg_class, remote->address, sizeof remote->address);

    remote->key_size = 0;
    if (ret != HG_SUCCESS)
        perf_failure_set(base->failure, "the transport has no address: %s",
            HG_Error_to_string(ret));
    return ret == HG_SUCCESS;
}

static void
close_target(struct perf_target *base)
{
    struct hg_target *target = (struct hg_target *) base;

    target->closing = true;
    polled = target;
    perf_hg_queue_finish(&target->queue);
    if (perf_hg_memory_close(target)) {
        perf_hg_close(&target->hg, base->plan);
        free(target);
    }
    polled = NULL;
}

static struct perf_target *
open_target(const struct perf_target_setup *setup)
{
    static const hg_rpc_cb_t handlers[PERF_RPCS] = {
        [PERF_RPC_ECHO] = echo,
        [PERF_RPC_WRITE] = take,
        [PERF_RPC_READ] = give,
        [PERF_RPC_PULL] = pull,
        [PERF_RPC_PUSH] = push,
    };
    struct hg_target *target = calloc(1, sizeof *target);

    if (!target) {
        perf_failure_set(setup->failure, "out of memory");
        return NULL;
    }
    target->base = (struct perf_target){
        &perf_hg_target, setup->plan, setup->failure, setup->faults};
    if (!perf_hg_open(
            &target->hg, setup->info, setup->plan, handlers, setup->failure)) {
        free(target);
        return NULL;
    }
    if (setup->plan->progress_thread &&
        !perf_hg_queue_init(&target->queue, perf_plan_slots(setup->plan)))
        perf_failure_set(setup->failure, "out of memory");
    else if (perf_hg_memory_open(target))
        return &target->base;
    close_target(&target->base);
    return NULL;
}

const struct perf_target_ops perf_hg_target = {
    .open = open_target,
    .describe = describe,
    .poll = poll_context,
    .work = work,
    .close = close_target,
};
