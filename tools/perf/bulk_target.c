/* SPDX-License-Identifier: BSD-3-Clause */
/* The target of level bulk: pulls or pushes the memory of a request, then
 * responds. Each operation of an origin has a slot of the target's memory. */
#include <stdlib.h>

#include "perf/hg_target.h"
#include "perf/pattern.h"

struct bulk_slot {
    _Atomic bool taken; /* by a request that is not answered yet */
    struct hg_target *target;
    hg_handle_t handle;
    hg_op_id_t transfer;
    perf_bulk_in_t in;
};

/* To wait for canceled transfers. */
#define STOP_TURNS 200
#define STOP_MS 10

/* The memory of all slots, and its descriptor. */
static hg_return_t
create_memory(struct hg_target *target, hg_size_t size)
{
    if (target->base.plan->mem_alloc)
        return perf_hg_bulk_alloc(
            &target->hg, size, &target->local, &target->memory);
    target->memory = perf_memory_create(size);
    return target->memory ? HG_Bulk_create(target->hg.hg_class, 1,
                                (void **) &target->memory, &size,
                                HG_BULK_READWRITE, &target->local)
                          : HG_NOMEM;
}

bool
perf_hg_memory_open(struct hg_target *target)
{
    const struct perf_plan *plan = target->base.plan;
    uint32_t slots = perf_plan_slots(plan);
    hg_return_t ret = HG_NOMEM;

    if (plan->level != PERF_BULK)
        return true;
    target->slots = calloc(slots, sizeof *target->slots);
    if (target->slots)
        ret = create_memory(target, slots * perf_plan_stride(plan->size_max));
    if (ret != HG_SUCCESS)
        perf_failure_set(target->base.failure,
            "out of memory for bulk data: %s", HG_Error_to_string(ret));
    return ret == HG_SUCCESS;
}

static uint32_t
count_taken(const struct hg_target *target)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < perf_plan_slots(target->base.plan); i++)
        count +=
            atomic_load_explicit(&target->slots[i].taken, memory_order_acquire);
    return count;
}

/* Cancels all transfers, since those of a stopped or dead peer may never end,
 * and waits. Returns whether all have ended. */
static bool
stop_transfers(struct hg_target *target)
{
    if (!target->slots)
        return true;
    for (uint32_t i = 0; i < perf_plan_slots(target->base.plan); i++)
        if (target->slots[i].taken)
            HG_Bulk_cancel(target->slots[i].transfer);
    for (int turn = 0; turn < STOP_TURNS; turn++) {
        if (count_taken(target) == 0)
            return true;
        for (uint32_t i = 0; i < target->base.plan->contexts; i++)
            perf_target_poll(&target->base, i, turn == 0 ? 0 : STOP_MS);
    }
    return count_taken(target) == 0;
}

bool
perf_hg_memory_close(struct hg_target *target)
{
    if (!stop_transfers(target)) {
        perf_failure_set(target->base.failure,
            "transfers do not end; their memory is not freed");
        return false;
    }
    HG_Bulk_free(target->local);
    if (!target->base.plan->mem_alloc)
        free(target->memory);
    free(target->slots);
    return true;
}

static void
respond(struct hg_target *target, hg_handle_t handle, perf_bulk_in_t *in,
    hg_return_t result)
{
    perf_bulk_out_t out = {(int32_t) result};
    hg_return_t ret = HG_Respond(handle, NULL, NULL, &out);

    if (ret != HG_SUCCESS && ret != HG_HOSTUNREACH)
        perf_failure_set(target->base.failure, "cannot respond: %s",
            HG_Error_to_string(ret));
    HG_Free_input(handle, in);
    HG_Destroy(handle);
}

static void *
slot_memory(const struct bulk_slot *slot)
{
    return slot->target->memory +
           slot->in.slot * perf_plan_stride(slot->in.size);
}

static hg_return_t
transferred(const struct hg_cb_info *info)
{
    struct bulk_slot *slot = info->arg;
    struct hg_target *target = slot->target;
    perf_bulk_in_t in = slot->in;
    hg_handle_t handle = slot->handle;

    if (info->ret == HG_SUCCESS && info->info.bulk.op == HG_BULK_PULL &&
        target->base.plan->verify)
        perf_target_check(&target->base, slot_memory(slot), in.size, in.key);
    /* Pairs with the acquire in perf_hg_transfer. */
    atomic_store_explicit(&slot->taken, false, memory_order_release);
    respond(target, handle, &in, info->ret);
    return HG_SUCCESS;
}

/* Whether a request is within the limits of the plan. */
static bool
is_allowed(const struct hg_target *target, const perf_bulk_in_t *in)
{
    const struct perf_plan *plan = target->base.plan;

    return target->slots && in->memory != HG_BULK_NULL &&
           in->slot < perf_plan_slots(plan) && in->size <= plan->size_max;
}

static hg_return_t
start(struct bulk_slot *slot, hg_bulk_op_t direction)
{
    const struct hg_info *info = HG_Get_info(slot->handle);

    if (direction == HG_BULK_PUSH && slot->target->base.plan->verify)
        perf_pattern_fill(slot_memory(slot), slot->in.size, ~slot->in.key);
    return HG_Bulk_transfer_id(info->context, transferred, slot, direction,
        info->addr, info->context_id, slot->in.memory, 0, slot->target->local,
        slot->in.slot * perf_plan_stride(slot->in.size), slot->in.size,
        &slot->transfer);
}

hg_return_t
perf_hg_transfer(
    struct hg_target *target, hg_handle_t handle, hg_bulk_op_t direction)
{
    struct bulk_slot *slot;
    perf_bulk_in_t in;
    hg_return_t ret = HG_Get_input(handle, &in);

    if (ret != HG_SUCCESS) {
        HG_Destroy(handle);
        return ret;
    }
    if (!is_allowed(target, &in)) {
        respond(target, handle, &in, HG_INVALID_ARG);
        return HG_SUCCESS;
    }
    slot = &target->slots[in.slot];
    /* Pairs with the releases in transferred and below. */
    if (atomic_exchange_explicit(&slot->taken, true, memory_order_acquire)) {
        respond(target, handle, &in, HG_BUSY);
        return HG_SUCCESS;
    }
    slot->target = target;
    slot->handle = handle;
    slot->in = in;
    ret = start(slot, direction);
    if (ret != HG_SUCCESS) {
        atomic_store_explicit(&slot->taken, false, memory_order_release);
        respond(target, handle, &in, ret);
    }
    return HG_SUCCESS;
}
