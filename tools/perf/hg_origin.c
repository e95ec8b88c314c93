/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes the origins of the levels rpc and bulk. */
#include "perf/hg_origin.h"

#include <stdlib.h>

static bool
create_ops(struct perf_hg_origin *origin, uint32_t buffers)
{
    const struct perf_plan *plan = origin->base.plan;
    uint32_t count = perf_plan_ops(plan);
    hg_return_t ret = HG_SUCCESS;

    origin->ops = calloc(count, origin->op_size);
    if (!plan->mem_alloc)
        origin->memory = perf_memory_create(
            (uint64_t) buffers * count * perf_plan_stride(plan->size_max));
    if (!origin->ops || (!plan->mem_alloc && !origin->memory))
        ret = HG_NOMEM;
    for (uint32_t i = 0; ret == HG_SUCCESS && i < count; i++) {
        struct perf_op *op = perf_hg_origin_op(&origin->base, i);

        perf_origin_init_op(&origin->base, i, op);
        ret = HG_Create(origin->hg.contexts[op->context], origin->hg.addr,
            origin->hg.ids[PERF_RPC_ECHO], &((struct perf_hg_op *) op)->handle);
    }
    if (ret != HG_SUCCESS)
        perf_failure_set(origin->base.failure, "cannot create requests: %s",
            HG_Error_to_string(ret));
    return ret == HG_SUCCESS;
}

struct perf_origin *
perf_hg_origin_open(const struct perf_origin_setup *setup,
    const struct perf_origin_ops *ops, size_t op_size, uint32_t buffers)
{
    struct perf_hg_origin *origin = calloc(1, sizeof *origin);

    if (!origin) {
        perf_failure_set(setup->failure, "out of memory");
        return NULL;
    }
    perf_origin_init(&origin->base, setup);
    origin->base.ops = ops;
    origin->op_size = op_size;
    if (!perf_hg_connect(&origin->hg, setup)) {
        free(origin);
        return NULL;
    }
    if (create_ops(origin, buffers))
        return &origin->base;
    ops->close(&origin->base);
    return NULL;
}

void
perf_hg_origin_prepare(
    struct perf_origin *base, enum perf_test test, uint64_t size)
{
    base->test = test;
    base->size = size;
    base->stride = perf_plan_stride(size);
}

hg_return_t
perf_hg_op_reset(struct perf_hg_op *op, enum perf_rpc rpc)
{
    struct perf_hg *hg = &((struct perf_hg_origin *) op->base.origin)->hg;
    hg_return_t ret = HG_Reset(op->handle, hg->addr, hg->ids[rpc]);

    if (ret == HG_SUCCESS)
        ret = HG_Set_target_id(op->handle, (uint8_t) op->base.context);
    return ret;
}

struct perf_op *
perf_hg_origin_op(struct perf_origin *base, uint32_t index)
{
    struct perf_hg_origin *origin = (struct perf_hg_origin *) base;

    return (void *) ((char *) origin->ops + index * origin->op_size);
}

enum perf_poll
perf_hg_origin_poll(
    struct perf_origin *base, uint32_t context, unsigned int timeout_ms)
{
    return perf_hg_poll(
        &((struct perf_hg_origin *) base)->hg, context, timeout_ms);
}

void
perf_hg_op_cancel(struct perf_op *base)
{
    HG_Cancel(((struct perf_hg_op *) base)->handle);
}

void
perf_hg_origin_close(struct perf_origin *base)
{
    struct perf_hg_origin *origin = (struct perf_hg_origin *) base;

    for (uint32_t i = 0; origin->ops && i < perf_plan_ops(base->plan); i++)
        HG_Destroy(((struct perf_hg_op *) perf_hg_origin_op(base, i))->handle);
    perf_hg_close(&origin->hg, base->plan);
    free(origin->ops);
    free(origin->memory);
    free(origin);
}
