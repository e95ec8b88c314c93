/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting and logging the stages of a call. */
#include "hg/stage.h"

#include "base/time.h"
#include "hg/handle.h"
#include "hg/peer_log.h"

static bool
counts(const struct hg_handle *handle)
{
    return handle->context->hg_class->bulk.stats;
}

static struct hg_counters *
counters_of(const struct hg_handle *handle)
{
    return &handle->context->hg_class->counters;
}

static hg_size_t
in_size(const struct hg_handle *handle)
{
    return hg_payload_size(&handle->in, handle->context->hg_class->in_offset);
}

static hg_size_t
out_size(const struct hg_handle *handle)
{
    return hg_payload_size(&handle->out, handle->context->hg_class->out_offset);
}

/* Starts to observe a call. */
static void
watch(struct hg_handle *handle)
{
    handle->began = base_time_now();
    hg_call_note(&handle->call, HG_CALL_OBSERVED);
}

void
hg_stage_forward(struct hg_handle *handle)
{
    hg_stage_log(handle, "forward", HG_SUCCESS);
    watch(handle);
    if (!counts(handle))
        return;
    hg_stats_add(&counters_of(handle)->request_sent, 1);
    hg_stats_add_request(hg_rpc_stats_of(handle->rpc)->origin, in_size(handle));
}

void
hg_stage_answer(struct hg_handle *handle)
{
    hg_stage_log(handle, "answer arrived", hg_call_ret(&handle->call));
    if (counts(handle))
        hg_stats_add(&counters_of(handle)->response_received, 1);
}

void
hg_stage_forwarded(struct hg_handle *handle)
{
    hg_return_t ret = hg_call_ret(&handle->call);
    _Atomic uint64_t *fields;

    hg_call_forget(&handle->call, HG_CALL_OBSERVED);
    hg_stage_log(handle, "forward's callback", ret);
    if (!counts(handle))
        return;
    fields = hg_rpc_stats_of(handle->rpc)->origin;
    if (ret != HG_SUCCESS) {
        hg_stats_add_failure(fields, 1, ret);
        return;
    }
    hg_stats_add_answer(
        fields, 1, out_size(handle), base_time_now() - handle->began);
}

void
hg_stage_received(struct hg_handle *handle)
{
    _Atomic uint64_t *fields;

    hg_stage_log(handle, "request arrived", HG_SUCCESS);
    handle->in.flags |= HG_MESSAGE_OBSERVED;
    watch(handle);
    if (!counts(handle))
        return;
    hg_stats_add(&counters_of(handle)->request_received, 1);
    hg_stats_add(&counters_of(handle)->active, 1);
    if (!handle->rpc) {
        hg_stats_add(&counters_of(handle)->request_unknown, 1);
        return;
    }
    fields = hg_rpc_stats_of(handle->rpc)->target;
    hg_stats_add_request(fields, handle->in.size);
}

void
hg_stage_handler(const struct hg_handle *handle)
{
    hg_stage_log(handle, "handler", HG_SUCCESS);
}

/* Counts the handle's response; once: see hg_stats_add_answer. */
static void
add_response(struct hg_handle *handle, uint64_t once)
{
    _Atomic uint64_t *fields;

    hg_stats_add(&counters_of(handle)->response_sent, once);
    if (handle->out.extra)
        hg_stats_add(&counters_of(handle)->response_extra, once);
    if (!handle->rpc)
        return;
    fields = hg_rpc_stats_of(handle->rpc)->target;
    if (handle->result != HG_SUCCESS)
        hg_stats_add_failure(fields, once, handle->result);
    hg_stats_add_answer(fields, once, out_size(handle), handle->took);
}

/* Before it is sent, since the origin may read the counts as soon as it has the
 * response. */
void
hg_stage_respond(struct hg_handle *handle, hg_return_t result)
{
    hg_stage_log(handle, "respond", result);
    if (!counts(handle))
        return;
    handle->took = base_time_now() - handle->began;
    handle->result = result;
    add_response(handle, 1);
}

void
hg_stage_not_responded(struct hg_handle *handle, hg_return_t ret)
{
    hg_stage_log(handle, "answer not sent", ret);
    if (!counts(handle))
        return;
    add_response(handle, UINT64_MAX);
    if (handle->rpc)
        hg_stats_add_failure(hg_rpc_stats_of(handle->rpc)->target, 1, ret);
}

void
hg_stage_dropped(struct hg_handle *handle)
{
    hg_stage_log(handle, "dropped without an answer", HG_SUCCESS);
    if (counts(handle))
        hg_stats_add(
            &hg_rpc_stats_of(handle->rpc)->target[HG_STATS_FIELD(dropped)], 1);
}

void
hg_stage_released(struct hg_handle *handle)
{
    uint32_t word = hg_call_word(&handle->call);

    if (word & HG_CALL_TIMER)
        hg_handle_timer_stop(handle);
    if (!(word & HG_CALL_OBSERVED))
        return;
    hg_call_forget(&handle->call, HG_CALL_OBSERVED);
    hg_stage_log(handle, "released", HG_SUCCESS);
    if (counts(handle))
        hg_stats_add(&counters_of(handle)->active, UINT64_MAX);
}

void
hg_forward_noted(struct hg_handle *handle)
{
    uint32_t word = hg_call_word(&handle->call);

    if (word & HG_CALL_TIMER)
        hg_handle_timer_stop(handle);
    if (word & HG_CALL_OBSERVED)
        hg_stage_forwarded(handle);
}
