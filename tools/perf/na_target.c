/* SPDX-License-Identifier: BSD-3-Clause */
/* The target of level na: answers each unexpected message with an expected one
 * of the same length, and provides memory for put and get. */
#include <stdlib.h>
#include <string.h>

#include "perf/na_side.h"
#include "perf/pattern.h"
#include "perf/target.h"
#include "talaria.h"

/* A receive that is posted again after each response. */
struct responder {
    struct na_target *target;
    uint32_t context;
    bool busy; /* an operation of it is in flight */
    struct perf_na_buffer in;
    struct perf_na_buffer out;
    na_addr_t *source; /* while the response is in flight */
};

struct na_target {
    struct perf_target base;
    struct perf_na na;
    struct responder *responders;
    uint32_t count;
    bool closing;
    char *memory; /* of all slots, for put and get; or NULL */
    na_mem_handle_t *handle;
    bool registered;
};

static void received(const struct na_cb_info *info);

static void
post(struct na_target *target, struct responder *responder)
{
    struct perf_na *na = &target->na;
    na_return_t ret;

    responder->busy = !target->closing;
    if (target->closing)
        return;
    ret = NA_Msg_recv_unexpected(na->na_class, na->contexts[responder->context],
        received, responder, responder->in.start,
        na->unexpected_header + perf_na_message_size(target->base.plan),
        responder->in.plugin_data, responder->in.op);
    if (ret == NA_SUCCESS)
        return;
    responder->busy = false;
    perf_failure_set(target->base.failure, "cannot post a receive: %s",
        NA_Error_to_string(ret));
}

static void
answered(const struct na_cb_info *info)
{
    struct responder *responder = info->arg;

    NA_Addr_free(responder->target->na.na_class, responder->source);
    post(responder->target, responder);
}

/* Executes a command. */
static void
follow(struct na_target *target, const void *bytes, size_t size, void *reply)
{
    const struct perf_plan *plan = target->base.plan;
    struct perf_na_command command;
    struct perf_na_reply out = {.refused = 1};
    char *slot;

    if (size == sizeof command) {
        memcpy(&command, bytes, sizeof command);
        if (command.magic == PERF_NA_MAGIC && command.size <= plan->size_max &&
            command.slot < perf_plan_slots(plan)) {
            slot =
                target->memory + command.slot * perf_plan_stride(command.size);
            out = (struct perf_na_reply){0, command.size};
            if (command.fill != 0)
                perf_pattern_fill(slot, command.size, command.key);
            else
                out.offset =
                    perf_pattern_check(slot, command.size, command.key);
        }
    }
    memcpy(reply, &out, sizeof out);
}

/* Writes the response to a message. Returns its size. */
static size_t
answer(struct responder *responder, size_t size)
{
    struct na_target *target = responder->target;
    const char *in = responder->in.data;
    uint64_t key;

    if (target->memory) {
        follow(target, in, size, responder->out.data);
        return sizeof(struct perf_na_reply);
    }
    if (target->base.plan->verify) {
        key = perf_pattern_key(in, size);
        perf_target_check(&target->base, in, size, key);
        perf_pattern_fill(responder->out.data, size, ~key);
    }
    return size;
}

static void
received(const struct na_cb_info *info)
{
    struct responder *responder = info->arg;
    struct na_target *target = responder->target;
    struct perf_na *na = &target->na;
    na_tag_t tag = info->info.recv_unexpected.tag;
    size_t size = info->info.recv_unexpected.actual_buf_size;
    na_return_t ret = info->ret;

    responder->busy = false;
    if (ret == NA_CANCELED)
        return;
    if (ret != NA_SUCCESS) {
        post(target, responder);
        return;
    }
    responder->source = info->info.recv_unexpected.source;
    if (size < na->unexpected_header) {
        NA_Addr_free(na->na_class, responder->source);
        post(target, responder);
        return;
    }
    responder->busy = true;
    size = answer(responder, size - na->unexpected_header);
    ret = NA_Msg_send_expected(na->na_class, na->contexts[responder->context],
        answered, responder, responder->out.start, na->expected_header + size,
        responder->out.plugin_data, responder->source,
        (uint8_t) (tag >> PERF_NA_TAG_BITS), tag, responder->out.op);
    if (ret == NA_SUCCESS)
        return;
    /* The peer is dead and needs no response. */
    NA_Addr_free(na->na_class, responder->source);
    post(target, responder);
}

static bool
create_responders(struct na_target *target)
{
    const struct perf_plan *plan = target->base.plan;
    uint32_t each = perf_plan_receives(plan);
    uint64_t size = perf_na_message_size(plan);
    na_return_t ret = NA_NOMEM;

    target->responders =
        calloc((size_t) each * plan->contexts, sizeof *target->responders);
    if (target->responders)
        ret = NA_SUCCESS;
    for (uint32_t i = 0; ret == NA_SUCCESS && i < each * plan->contexts; i++) {
        struct responder *responder = &target->responders[target->count++];

        responder->target = target;
        responder->context = i % plan->contexts;
        ret = perf_na_buffer_create(
            &target->na, PERF_NA_UNEXPECTED, NA_RECV, size, &responder->in);
        if (ret == NA_SUCCESS)
            ret = perf_na_buffer_create(
                &target->na, PERF_NA_EXPECTED, NA_SEND, size, &responder->out);
    }
    if (ret != NA_SUCCESS)
        perf_failure_set(target->base.failure, "out of memory for receives: %s",
            NA_Error_to_string(ret));
    for (uint32_t i = 0; ret == NA_SUCCESS && i < target->count; i++)
        post(target, &target->responders[i]);
    return ret == NA_SUCCESS && !perf_failure_is_set(target->base.failure);
}

static bool
create_memory(struct na_target *target)
{
    const struct perf_plan *plan = target->base.plan;
    size_t size = perf_plan_slots(plan) * perf_plan_stride(plan->size_max);
    na_return_t ret = NA_NOMEM;

    if (!plan->bandwidth)
        return true;
    target->memory = perf_na_memory_alloc(&target->na, plan, size);
    if (target->memory)
        ret = NA_Mem_handle_create(target->na.na_class, target->memory, size,
            NA_MEM_READWRITE, &target->handle);
    if (ret == NA_SUCCESS)
        ret = NA_Mem_register(
            target->na.na_class, target->handle, NA_MEM_TYPE_HOST, 0);
    target->registered = ret == NA_SUCCESS;
    if (ret != NA_SUCCESS)
        perf_failure_set(target->base.failure,
            "out of memory for put and get: %s", NA_Error_to_string(ret));
    return ret == NA_SUCCESS;
}

static bool
describe(struct perf_target *base, struct perf_remote *remote)
{
    struct na_target *target = (struct na_target *) base;
    na_class_t *na_class = target->na.na_class;
    size_t size = sizeof remote->address;
    na_addr_t *self;
    na_return_t ret = NA_Addr_self(na_class, &self);

    if (ret == NA_SUCCESS) {
        ret = NA_Addr_to_string(na_class, remote->address, &size, self);
        NA_Addr_free(na_class, self);
    }
    remote->key_size = 0;
    if (ret == NA_SUCCESS && target->handle) {
        size = NA_Mem_handle_get_serialize_size(na_class, target->handle);
        ret = size > sizeof remote->key
                  ? NA_OVERFLOW
                  : NA_Mem_handle_serialize(
                        na_class, remote->key, size, target->handle);
        remote->key_size = (uint32_t) size;
    }
    if (ret != NA_SUCCESS)
        perf_failure_set(base->failure, "cannot describe the target: %s",
            NA_Error_to_string(ret));
    return ret == NA_SUCCESS;
}

static enum perf_poll
poll_context(
    struct perf_target *base, uint32_t context, unsigned int timeout_ms)
{
    return perf_na_poll(&((struct na_target *) base)->na, context, timeout_ms);
}

/* Cancels the receives and waits a limited time for the operations in
 * flight. */
static void
stop_responders(struct na_target *target)
{
    struct perf_na *na = &target->na;
    uint32_t busy = target->count;

    target->closing = true;
    for (uint32_t i = 0; i < target->count; i++)
        if (target->responders[i].busy) {
            NA_Cancel(na->na_class, na->contexts[target->responders[i].context],
                target->responders[i].in.op);
            NA_Cancel(na->na_class, na->contexts[target->responders[i].context],
                target->responders[i].out.op);
        }
    for (int turn = 0; turn < 200 && busy > 0; turn++) {
        for (uint32_t i = 0; i < target->base.plan->contexts; i++)
            perf_na_poll(na, i, turn < 2 ? 0 : 10);
        busy = 0;
        for (uint32_t i = 0; i < target->count; i++)
            busy += target->responders[i].busy ? 1 : 0;
    }
}

static void
close_target(struct perf_target *base)
{
    struct na_target *target = (struct na_target *) base;
    struct perf_na *na = &target->na;

    stop_responders(target);
    for (uint32_t i = 0; i < target->count; i++) {
        perf_na_buffer_finish(na, &target->responders[i].in);
        perf_na_buffer_finish(na, &target->responders[i].out);
    }
    if (target->registered)
        NA_Mem_deregister(na->na_class, target->handle);
    NA_Mem_handle_free(na->na_class, target->handle);
    if (base->plan->mem_alloc)
        talaria_mem_free(na->na_class, target->memory);
    perf_na_close(na, base->plan);
    if (!base->plan->mem_alloc)
        free(target->memory);
    free(target->responders);
    free(target);
}

static struct perf_target *
open_target(const struct perf_target_setup *setup)
{
    struct na_target *target = calloc(1, sizeof *target);

    if (!target) {
        perf_failure_set(setup->failure, "out of memory");
        return NULL;
    }
    target->base = (struct perf_target){
        &perf_na_target, setup->plan, setup->failure, setup->faults};
    if (!perf_na_open(
            &target->na, setup->info, true, setup->plan, setup->failure)) {
        free(target);
        return NULL;
    }
    if (create_memory(target) && create_responders(target))
        return &target->base;
    close_target(&target->base);
    return NULL;
}

const struct perf_target_ops perf_na_target = {
    .open = open_target,
    .describe = describe,
    .poll = poll_context,
    .close = close_target,
};
