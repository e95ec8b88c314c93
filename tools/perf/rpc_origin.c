/* SPDX-License-Identifier: BSD-3-Clause */
/* Level rpc, measuring side: the bytes travel in arguments and responses. */
#include <stdlib.h>

#include "perf/hg_side.h"
#include "perf/lane.h"
#include "perf/pattern.h"

struct rpc_op {
    struct perf_op base;
    hg_handle_t handle;
    void *arguments; /* one of: */
    struct perf_payload sent;
    perf_read_in_t read;
    struct perf_payload received;
    bool verify;
    bool responds; /* with a payload */
};

struct rpc_origin {
    struct perf_origin base;
    struct perf_hg hg;
    char *memory; /* of all operations, a sent and a received payload each */
    struct rpc_op *ops;
};

static void
explain(struct perf_op *op, hg_return_t ret)
{
    struct rpc_origin *origin = (struct rpc_origin *) op->origin;
    hg_class_t *hg_class = origin->hg.hg_class;

    perf_origin_explain(op->origin, HG_Error_to_string(ret),
        ret == HG_OVERFLOW || ret == HG_MSGSIZE,
        op->origin->test == PERF_BW_READ
            ? HG_Class_get_output_eager_size(hg_class)
            : HG_Class_get_input_eager_size(hg_class));
    perf_lane_fail(op);
}

/* Whether the response is what the request asked for. */
static bool
check(struct rpc_op *op)
{
    struct perf_origin *origin = op->base.origin;
    size_t offset = perf_pattern_check(
        op->received.bytes, op->received.size, ~op->base.key);

    if (offset == op->received.size)
        return true;
    perf_failure_set(origin->failure,
        "verification: byte %zu of a response of %zu bytes is wrong", offset,
        (size_t) op->received.size);
    perf_lane_fail(&op->base);
    return false;
}

static hg_return_t answered(const struct hg_cb_info *info);

static void
start(struct perf_op *base)
{
    struct rpc_op *op = (struct rpc_op *) base;
    hg_return_t ret;

    if (op->verify) {
        op->read.key = base->key;
        perf_pattern_fill(op->sent.bytes, op->sent.size, base->key);
    }
    ret = HG_Forward(op->handle, answered, op, op->arguments);
    if (ret != HG_SUCCESS)
        explain(base, ret);
}

static hg_return_t
answered(const struct hg_cb_info *info)
{
    struct rpc_op *op = info->arg;
    hg_return_t ret = info->ret;

    if (ret == HG_SUCCESS && op->responds) {
        ret = HG_Get_output(op->handle, &op->received);
        if (ret == HG_SUCCESS)
            ret = HG_Free_output(op->handle, &op->received);
    }
    if (ret != HG_SUCCESS)
        explain(&op->base, ret);
    else if ((!op->verify || check(op)) && perf_lane_turn(&op->base))
        start(&op->base);
    return HG_SUCCESS;
}

static struct perf_op *
get_op(struct perf_origin *base, uint32_t index)
{
    return &((struct rpc_origin *) base)->ops[index].base;
}

static bool
prepare(struct perf_origin *base, enum perf_test test, uint64_t size)
{
    static const enum perf_rpc rpcs[PERF_TESTS] = {
        [PERF_LAT] = PERF_RPC_ECHO,
        [PERF_RATE] = PERF_RPC_ECHO,
        [PERF_BW_READ] = PERF_RPC_READ,
        [PERF_BW_WRITE] = PERF_RPC_WRITE,
    };
    struct rpc_origin *origin = (struct rpc_origin *) base;
    hg_return_t ret = HG_SUCCESS;

    base->test = test;
    base->size = size;
    base->stride = perf_plan_stride(size);
    for (uint32_t i = 0; i < perf_plan_ops(base->plan); i++) {
        struct rpc_op *op = &origin->ops[i];

        op->verify = base->plan->verify;
        op->responds = test != PERF_BW_WRITE;
        op->read.size = size;
        op->arguments = test == PERF_BW_READ ? (void *) &op->read : &op->sent;
        op->sent.bytes = origin->memory + 2 * (size_t) i * base->stride;
        op->sent.size = test == PERF_BW_READ ? 0 : size;
        op->received.bytes = (char *) op->sent.bytes + base->stride;
        op->received.size = test == PERF_BW_WRITE ? 0 : size;
        ret = HG_Reset(op->handle, origin->hg.addr, origin->hg.ids[rpcs[test]]);
        if (ret == HG_SUCCESS)
            ret = HG_Set_target_id(op->handle, (uint8_t) op->base.context);
        if (ret != HG_SUCCESS) {
            perf_failure_set(base->failure, "can't prepare a request: %s",
                HG_Error_to_string(ret));
            return false;
        }
    }
    return true;
}

static enum perf_poll
poll_context(
    struct perf_origin *base, uint32_t context, unsigned int timeout_ms)
{
    return perf_hg_poll(&((struct rpc_origin *) base)->hg, context, timeout_ms);
}

static void
cancel(struct perf_op *op)
{
    HG_Cancel(((struct rpc_op *) op)->handle);
}

static void
close_origin(struct perf_origin *base)
{
    struct rpc_origin *origin = (struct rpc_origin *) base;

    for (uint32_t i = 0; origin->ops && i < perf_plan_ops(base->plan); i++)
        HG_Destroy(origin->ops[i].handle);
    perf_hg_close(&origin->hg, base->plan);
    free(origin->ops);
    free(origin->memory);
    free(origin);
}

static bool
create_ops(struct rpc_origin *origin)
{
    const struct perf_plan *plan = origin->base.plan;
    uint32_t count = perf_plan_ops(plan);
    hg_return_t ret = HG_SUCCESS;

    origin->ops = calloc(count, sizeof *origin->ops);
    origin->memory = perf_memory_create(
        (uint64_t) 2 * count * perf_plan_stride(plan->size_max));
    if (!origin->ops || !origin->memory)
        ret = HG_NOMEM;
    for (uint32_t i = 0; ret == HG_SUCCESS && i < count; i++) {
        struct rpc_op *op = &origin->ops[i];

        perf_origin_init_op(&origin->base, i, &op->base);
        ret = HG_Create(origin->hg.contexts[op->base.context], origin->hg.addr,
            origin->hg.ids[PERF_RPC_ECHO], &op->handle);
    }
    if (ret != HG_SUCCESS)
        perf_failure_set(origin->base.failure, "can't create requests: %s",
            HG_Error_to_string(ret));
    return ret == HG_SUCCESS;
}

static struct perf_origin *
open_origin(const struct perf_origin_setup *setup)
{
    struct rpc_origin *origin = calloc(1, sizeof *origin);

    if (!origin) {
        perf_failure_set(setup->failure, "no memory");
        return NULL;
    }
    perf_origin_init(&origin->base, setup);
    origin->base.ops = &perf_rpc_origin;
    if (!perf_hg_connect(&origin->hg, setup)) {
        free(origin);
        return NULL;
    }
    if (create_ops(origin))
        return &origin->base;
    close_origin(&origin->base);
    return NULL;
}

const struct perf_origin_ops perf_rpc_origin = {
    .open = open_origin,
    .prepare = prepare,
    .op = get_op,
    .start = start,
    .poll = poll_context,
    .cancel = cancel,
    .close = close_origin,
};
