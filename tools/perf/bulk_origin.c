/* SPDX-License-Identifier: BSD-3-Clause */
/* Level bulk, measuring side: requests carry a descriptor of the bytes, which
 * the target pulls or pushes. */
#include <stdlib.h>

#include "perf/hg_side.h"
#include "perf/lane.h"
#include "perf/pattern.h"

struct bulk_op {
    struct perf_op base;
    hg_handle_t handle;
    perf_bulk_in_t in;
    char *bytes;
};

struct bulk_origin {
    struct perf_origin base;
    struct perf_hg hg;
    char *memory; /* of all operations */
    struct bulk_op *ops;
};

static bool
check(struct bulk_op *op)
{
    struct perf_origin *origin = op->base.origin;
    size_t offset = perf_pattern_check(op->bytes, op->in.size, ~op->in.key);

    if (offset == op->in.size)
        return true;
    perf_failure_set(origin->failure,
        "verification: byte %zu of %zu that were pushed here is wrong", offset,
        (size_t) op->in.size);
    return false;
}

static hg_return_t answered(const struct hg_cb_info *info);

static void
start(struct perf_op *base)
{
    struct bulk_op *op = (struct bulk_op *) base;
    hg_return_t ret;

    op->in.key = base->key;
    if (base->origin->plan->verify && base->origin->test != PERF_BW_READ)
        perf_pattern_fill(op->bytes, op->in.size, base->key);
    ret = HG_Forward(op->handle, answered, op, &op->in);
    if (ret == HG_SUCCESS)
        return;
    perf_origin_explain(base->origin, HG_Error_to_string(ret), false, 0);
    perf_lane_fail(base);
}

static hg_return_t
answered(const struct hg_cb_info *info)
{
    struct bulk_op *op = info->arg;
    struct perf_origin *origin = op->base.origin;
    perf_bulk_out_t out;
    hg_return_t ret = info->ret;

    if (ret == HG_SUCCESS)
        ret = HG_Get_output(op->handle, &out);
    if (ret == HG_SUCCESS)
        ret = HG_Free_output(op->handle, &out);
    if (ret == HG_SUCCESS)
        ret = (hg_return_t) out.ret;
    if (ret != HG_SUCCESS) {
        perf_origin_explain(origin, HG_Error_to_string(ret), false, 0);
        perf_lane_fail(&op->base);
    } else if (origin->plan->verify && origin->test == PERF_BW_READ &&
               !check(op)) {
        perf_lane_fail(&op->base);
    } else if (perf_lane_turn(&op->base)) {
        start(&op->base);
    }
    return HG_SUCCESS;
}

static struct perf_op *
get_op(struct perf_origin *base, uint32_t index)
{
    return &((struct bulk_origin *) base)->ops[index].base;
}

static hg_return_t
prepare_op(struct bulk_origin *origin, struct bulk_op *op)
{
    bool read = origin->base.test == PERF_BW_READ;
    hg_size_t size = origin->base.size;
    hg_return_t ret;

    HG_Bulk_free(op->in.memory);
    op->in = (perf_bulk_in_t){.slot = op->base.slot, .size = size};
    ret = HG_Bulk_create(origin->hg.hg_class, 1, (void **) &op->bytes, &size,
        read ? HG_BULK_WRITE_ONLY : HG_BULK_READ_ONLY, &op->in.memory);
    if (ret == HG_SUCCESS)
        ret = HG_Reset(op->handle, origin->hg.addr,
            origin->hg.ids[read ? PERF_RPC_PUSH : PERF_RPC_PULL]);
    if (ret == HG_SUCCESS)
        ret = HG_Set_target_id(op->handle, (uint8_t) op->base.context);
    return ret;
}

static bool
prepare(struct perf_origin *base, enum perf_test test, uint64_t size)
{
    struct bulk_origin *origin = (struct bulk_origin *) base;
    hg_return_t ret = HG_SUCCESS;

    base->test = test;
    base->size = size;
    base->stride = perf_plan_stride(size);
    for (uint32_t i = 0; ret == HG_SUCCESS && i < perf_plan_ops(base->plan);
         i++) {
        origin->ops[i].bytes = origin->memory + i * base->stride;
        ret = prepare_op(origin, &origin->ops[i]);
    }
    if (ret != HG_SUCCESS)
        perf_failure_set(base->failure, "can't describe memory: %s",
            HG_Error_to_string(ret));
    return ret == HG_SUCCESS;
}

static enum perf_poll
poll_context(
    struct perf_origin *base, uint32_t context, unsigned int timeout_ms)
{
    return perf_hg_poll(
        &((struct bulk_origin *) base)->hg, context, timeout_ms);
}

static void
cancel(struct perf_op *op)
{
    HG_Cancel(((struct bulk_op *) op)->handle);
}

static void
close_origin(struct perf_origin *base)
{
    struct bulk_origin *origin = (struct bulk_origin *) base;

    for (uint32_t i = 0; origin->ops && i < perf_plan_ops(base->plan); i++) {
        HG_Destroy(origin->ops[i].handle);
        HG_Bulk_free(origin->ops[i].in.memory);
    }
    perf_hg_close(&origin->hg, base->plan);
    free(origin->ops);
    free(origin->memory);
    free(origin);
}

static bool
create_ops(struct bulk_origin *origin)
{
    const struct perf_plan *plan = origin->base.plan;
    uint32_t count = perf_plan_ops(plan);
    size_t size = count * perf_plan_stride(plan->size_max);
    hg_return_t ret = HG_SUCCESS;

    origin->ops = calloc(count, sizeof *origin->ops);
    origin->memory = perf_memory_create(size);
    if (!origin->ops || !origin->memory)
        ret = HG_NOMEM;
    for (uint32_t i = 0; ret == HG_SUCCESS && i < count; i++) {
        struct bulk_op *op = &origin->ops[i];

        perf_origin_init_op(&origin->base, i, &op->base);
        ret = HG_Create(origin->hg.contexts[op->base.context], origin->hg.addr,
            origin->hg.ids[PERF_RPC_PULL], &op->handle);
    }
    if (ret != HG_SUCCESS)
        perf_failure_set(origin->base.failure, "can't create requests: %s",
            HG_Error_to_string(ret));
    return ret == HG_SUCCESS;
}

static struct perf_origin *
open_origin(const struct perf_origin_setup *setup)
{
    struct bulk_origin *origin = calloc(1, sizeof *origin);

    if (!origin) {
        perf_failure_set(setup->failure, "no memory");
        return NULL;
    }
    perf_origin_init(&origin->base, setup);
    origin->base.ops = &perf_bulk_origin;
    if (!perf_hg_connect(&origin->hg, setup)) {
        free(origin);
        return NULL;
    }
    if (create_ops(origin))
        return &origin->base;
    close_origin(&origin->base);
    return NULL;
}

const struct perf_origin_ops perf_bulk_origin = {
    .open = open_origin,
    .prepare = prepare,
    .op = get_op,
    .start = start,
    .poll = poll_context,
    .cancel = cancel,
    .close = close_origin,
};
