/* SPDX-License-Identifier: BSD-3-Clause */
/* The origin of level rpc: bytes travel in arguments and responses. */
#include "perf/hg_origin.h"
#include "perf/pattern.h"

struct rpc_op {
    struct perf_hg_op base;
    void *arguments; /* &sent or &read */
    struct perf_payload sent;
    perf_read_in_t read;
    struct perf_payload received;
    bool verify;
    bool responds; /* with a payload */
};

static void
fail(struct rpc_op *op, hg_return_t ret)
{
    struct perf_origin *origin = op->base.base.origin;
    hg_class_t *hg_class = ((struct perf_hg_origin *) origin)->hg.hg_class;

    perf_origin_explain(origin, HG_Error_to_string(ret),
        ret == HG_OVERFLOW || ret == HG_MSGSIZE,
        origin->test == PERF_BW_READ ? HG_Class_get_output_eager_size(hg_class)
                                     : HG_Class_get_input_eager_size(hg_class));
    perf_op_fail(&op->base.base);
}

/* Whether the response has the bytes that the request asked for. */
static bool
check(struct rpc_op *op)
{
    struct perf_op *base = &op->base.base;
    size_t offset =
        perf_pattern_check(op->received.bytes, op->received.size, ~base->key);

    if (offset == op->received.size)
        return true;
    perf_failure_set(base->origin->failure,
        "verification: byte %zu of a response of %zu bytes is wrong", offset,
        (size_t) op->received.size);
    perf_op_fail(base);
    return false;
}

static hg_return_t on_response(const struct hg_cb_info *info);

static void
start(struct perf_op *base)
{
    struct rpc_op *op = (struct rpc_op *) base;
    hg_return_t ret;

    if (op->verify) {
        op->read.key = base->key;
        perf_pattern_fill(op->sent.bytes, op->sent.size, base->key);
    }
    ret = HG_Forward(op->base.handle, on_response, op, op->arguments);
    if (ret != HG_SUCCESS)
        fail(op, ret);
}

static hg_return_t
on_response(const struct hg_cb_info *info)
{
    struct rpc_op *op = info->arg;
    hg_return_t ret = info->ret;

    if (ret == HG_SUCCESS && op->responds) {
        ret = HG_Get_output(op->base.handle, &op->received);
        if (ret == HG_SUCCESS)
            ret = HG_Free_output(op->base.handle, &op->received);
    }
    if (ret != HG_SUCCESS)
        fail(op, ret);
    else if ((!op->verify || check(op)) && perf_op_repeat(&op->base.base))
        start(&op->base.base);
    return HG_SUCCESS;
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
    struct perf_hg_origin *origin = (struct perf_hg_origin *) base;
    hg_return_t ret = HG_SUCCESS;

    perf_hg_origin_prepare(base, test, size);
    for (uint32_t i = 0; ret == HG_SUCCESS && i < perf_plan_ops(base->plan);
         i++) {
        struct rpc_op *op = (struct rpc_op *) origin->ops + i;

        op->verify = base->plan->verify;
        op->responds = test != PERF_BW_WRITE;
        op->read.size = size;
        op->arguments = test == PERF_BW_READ ? (void *) &op->read : &op->sent;
        op->sent.bytes = origin->memory + 2 * (size_t) i * base->stride;
        op->sent.size = test == PERF_BW_READ ? 0 : size;
        op->received.bytes = (char *) op->sent.bytes + base->stride;
        op->received.size = test == PERF_BW_WRITE ? 0 : size;
        ret = perf_hg_op_reset(&op->base, rpcs[test]);
    }
    if (ret != HG_SUCCESS)
        perf_failure_set(base->failure, "cannot prepare a request: %s",
            HG_Error_to_string(ret));
    return ret == HG_SUCCESS;
}

static struct perf_origin *
open_origin(const struct perf_origin_setup *setup)
{
    return perf_hg_origin_open(
        setup, &perf_rpc_origin, sizeof(struct rpc_op), 2);
}

const struct perf_origin_ops perf_rpc_origin = {
    .open = open_origin,
    .prepare = prepare,
    .op = perf_hg_origin_op,
    .start = start,
    .poll = perf_hg_origin_poll,
    .cancel = perf_hg_op_cancel,
    .close = perf_hg_origin_close,
};
