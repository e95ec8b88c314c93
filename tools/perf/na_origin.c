/* SPDX-License-Identifier: BSD-3-Clause */
/* The origin of level na: messages in both directions, put and get. */
#include <stdlib.h>
#include <string.h>

#include "perf/loop.h"
#include "perf/na_side.h"
#include "perf/pattern.h"
#include "talaria.h"

/* The stage of an operation. Most have one stage; with --verify, put and get
 * exchange a command before or after. */
enum stage { STAGE_MESSAGE, STAGE_FILL, STAGE_MOVE, STAGE_CHECK };

struct na_origin_op {
    struct perf_op base;
    enum stage stage;
    na_tag_t tag;
    uint64_t sent;            /* bytes of data in the message */
    _Atomic uint32_t pending; /* send and receive that have not ended */
    _Atomic na_return_t ret;  /* error of either */
    struct perf_na_buffer out;
    struct perf_na_buffer in;
    na_op_id_t *move; /* for put and get */
};

struct na_origin {
    struct perf_origin base;
    struct perf_na na;
    na_addr_t *addr;
    struct na_origin_op *ops;
    char *memory; /* of all operations, for put and get; or NULL */
    na_mem_handle_t *local;
    na_mem_handle_t *remote;
    bool registered;
};

static void begin(struct na_origin_op *op);

static void
fail(struct na_origin_op *op, na_return_t ret)
{
    perf_origin_explain(op->base.origin, NA_Error_to_string(ret), false, 0);
    perf_op_fail(&op->base);
}

/* Counts an operation that succeeded, and may start it again. */
static void
turn(struct na_origin_op *op)
{
    if (perf_op_repeat(&op->base))
        begin(op);
}

static void
report_mismatch(struct na_origin_op *op, const char *where, uint64_t offset)
{
    perf_failure_set(op->base.origin->failure,
        "verification: byte %zu of %zu is wrong at the %s", (size_t) offset,
        (size_t) op->base.origin->size, where);
    perf_op_fail(&op->base);
}

static uint64_t
offset_of(const struct na_origin_op *op, uint32_t slot)
{
    return slot * op->base.origin->stride;
}

static uint32_t
index_of(const struct na_origin_op *op)
{
    return op->base.slot % perf_plan_ops(op->base.origin->plan);
}

static void moved(const struct na_cb_info *info);

static void
move(struct na_origin_op *op)
{
    struct na_origin *origin = (struct na_origin *) op->base.origin;
    struct perf_na *na = &origin->na;
    uint64_t local = offset_of(op, index_of(op));
    uint64_t remote = offset_of(op, op->base.slot);
    na_return_t ret;

    op->stage = STAGE_MOVE;
    if (origin->base.test == PERF_BW_READ)
        ret = NA_Get(na->na_class, na->contexts[op->base.context], moved, op,
            origin->local, local, origin->remote, remote, origin->base.size,
            origin->addr, (uint8_t) op->base.context, op->move);
    else
        ret = NA_Put(na->na_class, na->contexts[op->base.context], moved, op,
            origin->local, local, origin->remote, remote, origin->base.size,
            origin->addr, (uint8_t) op->base.context, op->move);
    if (ret != NA_SUCCESS)
        fail(op, ret);
}

/* Continues after send and receive of a message have ended. */
static void
go_on(struct na_origin_op *op)
{
    struct perf_origin *origin = op->base.origin;
    na_return_t ret = atomic_load_explicit(&op->ret, memory_order_relaxed);
    struct perf_na_reply reply;
    size_t offset;

    if (ret != NA_SUCCESS) {
        fail(op, ret);
        return;
    }
    if (op->stage == STAGE_MESSAGE) {
        offset = origin->plan->verify
                     ? perf_pattern_check(op->in.data, op->sent, ~op->base.key)
                     : op->sent;
        if (offset != op->sent)
            report_mismatch(op, "origin", offset);
        else
            turn(op);
        return;
    }
    memcpy(&reply, op->in.data, sizeof reply);
    if (reply.refused != 0)
        fail(op, NA_PROTOCOL_ERROR);
    else if (op->stage == STAGE_FILL)
        move(op);
    else if (reply.offset != origin->size)
        report_mismatch(op, "target", reply.offset);
    else
        turn(op);
}

/* The callback of both send and receive. */
static void
ended(const struct na_cb_info *info)
{
    struct na_origin_op *op = info->arg;
    bool shared = perf_loop_self->group->shared;
    uint32_t left;

    if (info->ret != NA_SUCCESS)
        atomic_store_explicit(&op->ret, info->ret, memory_order_relaxed);
    /* Release for this thread's writes, acquire for the other thread's. */
    if (shared) {
        left =
            atomic_fetch_sub_explicit(&op->pending, 1, memory_order_acq_rel) -
            1;
    } else {
        left = atomic_load_explicit(&op->pending, memory_order_relaxed) - 1;
        atomic_store_explicit(&op->pending, left, memory_order_relaxed);
    }
    if (left == 0)
        go_on(op);
}

/* Sends a message and receives the response. */
static void
exchange(struct na_origin_op *op, enum stage stage, uint64_t size,
    uint64_t answer_size)
{
    struct na_origin *origin = (struct na_origin *) op->base.origin;
    struct perf_na *na = &origin->na;
    na_context_t *context = na->contexts[op->base.context];
    uint8_t target_id = (uint8_t) op->base.context;
    na_return_t ret;

    op->stage = stage;
    op->sent = size;
    atomic_store_explicit(&op->ret, NA_SUCCESS, memory_order_relaxed);
    atomic_store_explicit(&op->pending, 2, memory_order_relaxed);
    ret = NA_Msg_recv_expected(na->na_class, context, ended, op, op->in.start,
        na->expected_header + answer_size, op->in.plugin_data, origin->addr,
        target_id, op->tag, op->in.op);
    if (ret != NA_SUCCESS) {
        fail(op, ret);
        return;
    }
    ret = NA_Msg_send_unexpected(na->na_class, context, ended, op,
        op->out.start, na->unexpected_header + size, op->out.plugin_data,
        origin->addr, target_id, op->tag, op->out.op);
    if (ret == NA_SUCCESS)
        return;
    /* The callback of the canceled receive ends the operation. */
    atomic_store_explicit(&op->ret, ret, memory_order_relaxed);
    NA_Cancel(na->na_class, context, op->in.op);
    ended(&(struct na_cb_info){.arg = op, .ret = ret});
}

/* Sends a command to fill or check the operation's slot at the target. */
static void
command(struct na_origin_op *op, enum stage stage)
{
    struct perf_na_command words = {.magic = PERF_NA_MAGIC,
        .fill = stage == STAGE_FILL,
        .slot = op->base.slot,
        .size = op->base.origin->size,
        .key = op->base.key};

    memcpy(op->out.data, &words, sizeof words);
    exchange(op, stage, sizeof words, sizeof(struct perf_na_reply));
}

static void
moved(const struct na_cb_info *info)
{
    struct na_origin_op *op = info->arg;
    struct na_origin *origin = (struct na_origin *) op->base.origin;
    uint64_t size = origin->base.size, offset;

    if (info->ret != NA_SUCCESS) {
        fail(op, info->ret);
    } else if (!origin->base.plan->verify) {
        turn(op);
    } else if (origin->base.test == PERF_BW_WRITE) {
        command(op, STAGE_CHECK);
    } else {
        offset = perf_pattern_check(
            origin->memory + offset_of(op, index_of(op)), size, op->base.key);
        if (offset != size)
            report_mismatch(op, "origin", offset);
        else
            turn(op);
    }
}

static void
begin(struct na_origin_op *op)
{
    struct na_origin *origin = (struct na_origin *) op->base.origin;
    uint64_t size = origin->base.size;
    bool verify = origin->base.plan->verify;

    if (!origin->memory) {
        if (verify)
            perf_pattern_fill(op->out.data, size, op->base.key);
        exchange(op, STAGE_MESSAGE, size, size);
    } else if (verify && origin->base.test == PERF_BW_READ) {
        command(op, STAGE_FILL);
    } else {
        if (verify)
            perf_pattern_fill(origin->memory + offset_of(op, index_of(op)),
                size, op->base.key);
        move(op);
    }
}

static void
start(struct perf_op *op)
{
    begin((struct na_origin_op *) op);
}

static struct perf_op *
get_op(struct perf_origin *base, uint32_t index)
{
    return &((struct na_origin *) base)->ops[index].base;
}

static bool
prepare(struct perf_origin *origin, enum perf_test test, uint64_t size)
{
    origin->test = test;
    origin->size = size;
    origin->stride = perf_plan_stride(size);
    return true;
}

static enum perf_poll
poll_context(
    struct perf_origin *base, uint32_t context, unsigned int timeout_ms)
{
    return perf_na_poll(&((struct na_origin *) base)->na, context, timeout_ms);
}

static void
cancel(struct perf_op *base)
{
    struct na_origin_op *op = (struct na_origin_op *) base;
    struct perf_na *na = &((struct na_origin *) base->origin)->na;
    na_context_t *context = na->contexts[base->context];

    NA_Cancel(na->na_class, context, op->in.op);
    NA_Cancel(na->na_class, context, op->out.op);
    if (op->move)
        NA_Cancel(na->na_class, context, op->move);
}

static void
close_origin(struct perf_origin *base)
{
    struct na_origin *origin = (struct na_origin *) base;
    struct perf_na *na = &origin->na;

    for (uint32_t i = 0; origin->ops && i < perf_plan_ops(base->plan); i++) {
        perf_na_buffer_finish(na, &origin->ops[i].out);
        perf_na_buffer_finish(na, &origin->ops[i].in);
        if (origin->ops[i].move)
            NA_Op_destroy(na->na_class, origin->ops[i].move);
    }
    NA_Mem_handle_free(na->na_class, origin->remote);
    if (origin->registered)
        NA_Mem_deregister(na->na_class, origin->local);
    NA_Mem_handle_free(na->na_class, origin->local);
    NA_Addr_free(na->na_class, origin->addr);
    if (base->plan->mem_alloc)
        talaria_mem_free(na->na_class, origin->memory);
    perf_na_close(na, base->plan);
    if (!base->plan->mem_alloc)
        free(origin->memory);
    free(origin->ops);
    free(origin);
}

static na_return_t
create_ops(struct na_origin *origin)
{
    const struct perf_plan *plan = origin->base.plan;
    uint64_t size = perf_na_message_size(plan);
    struct perf_na *na = &origin->na;
    na_return_t ret;

    origin->ops = calloc(perf_plan_ops(plan), sizeof *origin->ops);
    ret = origin->ops ? NA_SUCCESS : NA_NOMEM;
    for (uint32_t i = 0; ret == NA_SUCCESS && i < perf_plan_ops(plan); i++) {
        struct na_origin_op *op = &origin->ops[i];

        perf_origin_init_op(&origin->base, i, &op->base);
        op->tag = op->base.context << PERF_NA_TAG_BITS | i;
        ret = perf_na_buffer_create(
            na, PERF_NA_UNEXPECTED, NA_SEND, size, &op->out);
        if (ret == NA_SUCCESS)
            ret = perf_na_buffer_create(
                na, PERF_NA_EXPECTED, NA_RECV, size, &op->in);
        if (ret != NA_SUCCESS || !plan->bandwidth)
            continue;
        op->move = NA_Op_create(na->na_class, NA_OP_SINGLE);
        ret = op->move ? NA_SUCCESS : NA_NOMEM;
    }
    return ret;
}

static na_return_t
create_memory(struct na_origin *origin, const struct perf_remote *remote)
{
    const struct perf_plan *plan = origin->base.plan;
    size_t size = perf_plan_ops(plan) * perf_plan_stride(plan->size_max);
    na_class_t *na_class = origin->na.na_class;
    na_return_t ret;

    origin->memory = perf_na_memory_alloc(&origin->na, plan, size);
    if (!origin->memory)
        return NA_NOMEM;
    ret = NA_Mem_handle_create(
        na_class, origin->memory, size, NA_MEM_READWRITE, &origin->local);
    if (ret == NA_SUCCESS)
        ret = NA_Mem_register(na_class, origin->local, NA_MEM_TYPE_HOST, 0);
    origin->registered = ret == NA_SUCCESS;
    if (ret == NA_SUCCESS)
        ret = NA_Mem_handle_deserialize(
            na_class, &origin->remote, remote->key, remote->key_size);
    return ret;
}

static struct perf_origin *
open_origin(const struct perf_origin_setup *setup)
{
    struct na_origin *origin = calloc(1, sizeof *origin);
    na_return_t ret;

    if (!origin) {
        perf_failure_set(setup->failure, "out of memory");
        return NULL;
    }
    perf_origin_init(&origin->base, setup);
    origin->base.ops = &perf_na_origin;
    if (!perf_na_open(
            &origin->na, setup->info, false, setup->plan, setup->failure)) {
        free(origin);
        return NULL;
    }
    ret = NA_Addr_lookup(
        origin->na.na_class, setup->remote->address, &origin->addr);
    if (ret == NA_SUCCESS)
        ret = create_ops(origin);
    if (ret == NA_SUCCESS && setup->plan->bandwidth)
        ret = create_memory(origin, setup->remote);
    if (ret == NA_SUCCESS)
        return &origin->base;
    perf_failure_set(setup->failure, "cannot reach %s: %s",
        setup->remote->address, NA_Error_to_string(ret));
    close_origin(&origin->base);
    return NULL;
}

const struct perf_origin_ops perf_na_origin = {
    .open = open_origin,
    .prepare = prepare,
    .op = get_op,
    .start = start,
    .poll = poll_context,
    .cancel = cancel,
    .close = close_origin,
};
