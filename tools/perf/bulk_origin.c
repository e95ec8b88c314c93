/* SPDX-License-Identifier: BSD-3-Clause */
/* The origin of level bulk: requests carry a descriptor of memory that the
 * target pulls from or pushes to. */
#include "perf/hg_origin.h"
#include "perf/pattern.h"

#define MAPPED (1U << 20) /* bytes of the least that is mapped */

struct bulk_op {
    struct perf_hg_op base;
    perf_bulk_in_t in;
    char *bytes;
};

static bool
check(struct bulk_op *op)
{
    struct perf_origin *origin = op->base.base.origin;
    size_t offset = perf_pattern_check(op->bytes, op->in.size, ~op->in.key);

    if (offset == op->in.size)
        return true;
    perf_failure_set(origin->failure,
        "verification: byte %zu of %zu bytes pushed to the origin is wrong",
        offset, (size_t) op->in.size);
    return false;
}

static hg_return_t on_response(const struct hg_cb_info *info);

static void
start(struct perf_op *base)
{
    struct bulk_op *op = (struct bulk_op *) base;
    hg_return_t ret;

    op->in.key = base->key;
    if (base->origin->plan->verify && base->origin->test != PERF_BW_READ)
        perf_pattern_fill(op->bytes, op->in.size, base->key);
    ret = HG_Forward(op->base.handle, on_response, op, &op->in);
    if (ret == HG_SUCCESS)
        return;
    perf_origin_explain(base->origin, HG_Error_to_string(ret), false, 0);
    perf_op_fail(base);
}

static hg_return_t
on_response(const struct hg_cb_info *info)
{
    struct bulk_op *op = info->arg;
    struct perf_op *base = &op->base.base;
    struct perf_origin *origin = base->origin;
    perf_bulk_out_t out;
    hg_return_t ret = info->ret;

    if (ret == HG_SUCCESS)
        ret = HG_Get_output(op->base.handle, &out);
    if (ret == HG_SUCCESS)
        ret = HG_Free_output(op->base.handle, &out);
    if (ret == HG_SUCCESS)
        ret = (hg_return_t) out.ret;
    if (ret != HG_SUCCESS) {
        perf_origin_explain(origin, HG_Error_to_string(ret), false, 0);
        perf_op_fail(base);
    } else if (origin->plan->verify && origin->test == PERF_BW_READ &&
               !check(op)) {
        perf_op_fail(base);
    } else if (perf_op_repeat(base)) {
        start(base);
    }
    return HG_SUCCESS;
}

/* Describes an operation's memory, in as many segments as are asked for. */
static hg_return_t
describe(struct perf_hg_origin *origin, struct bulk_op *op, bool read)
{
    uint32_t count = origin->base.plan->segments;
    void *bases[PERF_SEGMENTS_MAX];
    hg_size_t sizes[PERF_SEGMENTS_MAX];
    hg_size_t each = op->in.size / count;

    for (uint32_t i = 0; i < count; i++) {
        bases[i] = op->bytes + i * each;
        sizes[i] = each;
    }
    sizes[count - 1] = op->in.size - (count - 1) * each;
    return HG_Bulk_create(origin->hg.hg_class, count, bases, sizes,
        read ? HG_BULK_WRITE_ONLY : HG_BULK_READ_ONLY, &op->in.memory);
}

/* Lets Talaria allocate an operation's memory, once for all sizes: over na+sm a peer
 * maps an allocation from 1 MiB on, as a whole, if it may be read, and for as long as
 * they are connected. */
static hg_return_t
allocate(struct perf_hg_origin *origin, struct bulk_op *op)
{
    hg_size_t size = origin->base.plan->size_max;

    return perf_hg_bulk_alloc(
        &origin->hg, size > MAPPED ? size : MAPPED, &op->in.memory, &op->bytes);
}

static hg_return_t
prepare_op(struct perf_hg_origin *origin, struct bulk_op *op)
{
    bool read = origin->base.test == PERF_BW_READ;
    hg_return_t ret;

    op->in.slot = op->base.base.slot;
    op->in.size = origin->base.size;
    if (origin->base.plan->mem_alloc) {
        ret = op->in.memory == HG_BULK_NULL ? allocate(origin, op) : HG_SUCCESS;
    } else {
        HG_Bulk_free(op->in.memory);
        op->in.memory = HG_BULK_NULL;
        ret = describe(origin, op, read);
    }
    if (ret == HG_SUCCESS)
        ret = perf_hg_op_reset(&op->base, read ? PERF_RPC_PUSH : PERF_RPC_PULL);
    return ret;
}

static bool
prepare(struct perf_origin *base, enum perf_test test, uint64_t size)
{
    struct perf_hg_origin *origin = (struct perf_hg_origin *) base;
    struct bulk_op *ops = origin->ops;
    hg_return_t ret = HG_SUCCESS;

    perf_hg_origin_prepare(base, test, size);
    for (uint32_t i = 0; ret == HG_SUCCESS && i < perf_plan_ops(base->plan);
         i++) {
        if (origin->memory)
            ops[i].bytes = origin->memory + i * base->stride;
        ret = prepare_op(origin, &ops[i]);
    }
    if (ret != HG_SUCCESS)
        perf_failure_set(base->failure, "cannot create a bulk descriptor: %s",
            HG_Error_to_string(ret));
    return ret == HG_SUCCESS;
}

static void
close_origin(struct perf_origin *base)
{
    struct bulk_op *ops = ((struct perf_hg_origin *) base)->ops;

    for (uint32_t i = 0; ops && i < perf_plan_ops(base->plan); i++)
        HG_Bulk_free(ops[i].in.memory);
    perf_hg_origin_close(base);
}

static struct perf_origin *
open_origin(const struct perf_origin_setup *setup)
{
    return perf_hg_origin_open(
        setup, &perf_bulk_origin, sizeof(struct bulk_op), 1);
}

const struct perf_origin_ops perf_bulk_origin = {
    .open = open_origin,
    .prepare = prepare,
    .op = perf_hg_origin_op,
    .start = start,
    .poll = perf_hg_origin_poll,
    .cancel = perf_hg_op_cancel,
    .close = close_origin,
};
