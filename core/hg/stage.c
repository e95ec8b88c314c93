/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting, logging and reporting the stages of a call. */
#include "hg/stage.h"

#include "base/time.h"
#include "base/watch.h"
#include "hg/handle.h"
#include "hg/peer_log.h"
#include "hg/probe.h"

static const char *const names[HG_STAGE_MAX] = {[HG_STAGE_FORWARD] = "forward",
    [HG_STAGE_ANSWER] = "answer arrived",
    [HG_STAGE_FORWARDED] = "forward's callback",
    [HG_STAGE_RECEIVED] = "request arrived",
    [HG_STAGE_HANDLER] = "handler",
    [HG_STAGE_RESPOND] = "respond",
    [HG_STAGE_NOT_RESPONDED] = "answer not sent",
    [HG_STAGE_DROPPED] = "dropped without an answer",
    [HG_STAGE_RELEASED] = "released"};

/* Logs and reports a stage. Returns whether the class counts it. */
static bool
note(struct hg_handle *handle, enum hg_stage stage, hg_return_t ret)
{
    const struct base_watch *watch = base_watch_get();

    if (watch)
        watch->stage(handle, (int) stage, (int) ret);
    hg_stage_log(handle, names[stage], ret);
    return handle->hg_class->bulk.stats;
}

static struct hg_counters *
counters_of(const struct hg_handle *handle)
{
    return &handle->hg_class->counters;
}

static hg_size_t
in_size(const struct hg_handle *handle)
{
    return hg_payload_size(&handle->in, handle->hg_class->in_offset);
}

static hg_size_t
out_size(const struct hg_handle *handle)
{
    return hg_payload_size(&handle->out, handle->hg_class->out_offset);
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
    HG_PROBE(handle, forward, HG_SUCCESS);
    watch(handle);
    if (!note(handle, HG_STAGE_FORWARD, HG_SUCCESS))
        return;
    hg_stats_add(&counters_of(handle)->request_sent, 1);
    hg_stats_add_request(hg_rpc_stats_of(handle->rpc)->origin, in_size(handle));
}

void
hg_stage_answer(struct hg_handle *handle)
{
    hg_return_t ret = hg_call_ret(&handle->call);

    HG_PROBE(handle, answer, ret);
    if (note(handle, HG_STAGE_ANSWER, ret))
        hg_stats_add(&counters_of(handle)->response_received, 1);
}

void
hg_stage_forwarded(struct hg_handle *handle)
{
    hg_return_t ret = hg_call_ret(&handle->call);
    _Atomic uint64_t *fields;

    HG_PROBE(handle, forwarded, ret);
    if (!note(handle, HG_STAGE_FORWARDED, ret))
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

    HG_PROBE(handle, received, HG_SUCCESS);
    handle->in.flags |= HG_MESSAGE_OBSERVED;
    watch(handle);
    if (!note(handle, HG_STAGE_RECEIVED, HG_SUCCESS))
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
hg_stage_handler(struct hg_handle *handle)
{
    HG_PROBE(handle, handler, HG_SUCCESS);
    note(handle, HG_STAGE_HANDLER, HG_SUCCESS);
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
    HG_PROBE(handle, respond, result);
    if (!note(handle, HG_STAGE_RESPOND, result))
        return;
    handle->took = base_time_now() - handle->began;
    handle->result = result;
    add_response(handle, 1);
}

void
hg_stage_not_responded(struct hg_handle *handle, hg_return_t ret)
{
    HG_PROBE(handle, not_responded, ret);
    if (!note(handle, HG_STAGE_NOT_RESPONDED, ret))
        return;
    add_response(handle, UINT64_MAX);
    if (handle->rpc)
        hg_stats_add_failure(hg_rpc_stats_of(handle->rpc)->target, 1, ret);
}

void
hg_stage_dropped(struct hg_handle *handle)
{
    HG_PROBE(handle, dropped, HG_SUCCESS);
    if (note(handle, HG_STAGE_DROPPED, HG_SUCCESS))
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
    HG_PROBE(handle, released, HG_SUCCESS);
    if (note(handle, HG_STAGE_RELEASED, HG_SUCCESS))
        hg_stats_add(&counters_of(handle)->active, UINT64_MAX);
    hg_call_forget(&handle->call, HG_CALL_OBSERVED);
}

void
hg_forward_noted(struct hg_handle *handle)
{
    uint32_t word = hg_call_word(&handle->call);

    if (word & HG_CALL_TIMER)
        hg_handle_timer_stop(handle);
    if (word & HG_CALL_OBSERVED || hg_call_ret(&handle->call) != HG_SUCCESS)
        hg_stage_forwarded(handle);
    hg_call_forget(&handle->call, HG_CALL_OBSERVED);
}
