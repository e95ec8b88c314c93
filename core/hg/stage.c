/* SPDX-License-Identifier: BSD-3-Clause */
/* What each stage of a call counts and logs. */
#include "hg/stage.h"

#include "base/log.h"
#include "base/time.h"
#include "hg/handle.h"
#include "hg/payload.h"
#include "na/addr.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of a peer's address, its RPC and its context; what is longer is cut. */
#define PREFIX_MAX 256U
#define TEXT_MAX 256U

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

static void
describe_peer(const struct hg_handle *handle, char prefix[PREFIX_MAX])
{
    char peer[PREFIX_MAX / 2] = "?";
    size_t size = sizeof peer;

    if (handle->peer.addr && na_addr_to_string(handle->peer.na_class,
                                 handle->peer.addr, peer, &size) != NA_SUCCESS)
        strcpy(peer, "?");
    snprintf(prefix, PREFIX_MAX, "%s %s, RPC %s (%" PRIu64 "), context %u",
        handle->role == HG_ROLE_ORIGIN ? "to" : "from", peer,
        handle->rpc && handle->rpc->name ? handle->rpc->name : "?",
        handle->info.id, hg_context_na(handle->context)->id);
}

/* Both sides know the numbers of a call's id: the origin's context, the tag of the
 * answer and the cookie. The address of the origin makes it unique. */
void
hg_stage_log(const struct hg_handle *handle, const char *stage, hg_return_t ret)
{
    char prefix[PREFIX_MAX];

    if (!base_log_wanted(BASE_LOG_DEBUG))
        return;
    describe_peer(handle, prefix);
    base_log_write(BASE_LOG_HG, BASE_LOG_DEBUG, __FILE__, __LINE__,
        "%s: call %u.%" PRIx64 ".%u: %s: %s", prefix,
        handle->role == HG_ROLE_ORIGIN ? hg_context_na(handle->context)->id
                                       : handle->info.context_id,
        handle->tag, handle->cookie, stage, HG_Error_to_string(ret));
}

void
hg_log_peer(const struct hg_handle *handle, int32_t level,
    _Atomic uint64_t *count, const char *file, unsigned line,
    const char *format, ...)
{
    char prefix[PREFIX_MAX], text[TEXT_MAX], so_far[BASE_LOG_SO_FAR_MAX];
    va_list args;

    if (!base_log_is_due(count, so_far))
        return;
    describe_peer(handle, prefix);
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    base_log_write(
        BASE_LOG_HG, level, file, line, "%s: %s%s", prefix, text, so_far);
}

/* The handle's end is to be observed. */
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

/* The answer that the handle has; as in hg_stats_add_answer. */
static void
add_response(struct hg_handle *handle, uint64_t once)
{
    _Atomic uint64_t *fields;

    hg_stats_add(&counters_of(handle)->response_sent, once);
    if (handle->out.overflow)
        hg_stats_add(&counters_of(handle)->response_extra, once);
    if (!handle->rpc)
        return;
    fields = hg_rpc_stats_of(handle->rpc)->target;
    if (handle->result != HG_SUCCESS)
        hg_stats_add_failure(fields, once, handle->result);
    hg_stats_add_answer(fields, once, out_size(handle), handle->took);
}

/* Before it is sent, since its origin may ask for the counts as soon as it has
 * it. */
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
