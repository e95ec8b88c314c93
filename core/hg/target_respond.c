/* SPDX-License-Identifier: BSD-3-Clause */
/* Responses of any kind. */
#include "hg/target_respond.h"

#include "hg/ack.h"
#include "hg/checksum.h"
#include "hg/extra.h"
#include "hg/loopback.h"
#include "hg/stage.h"
#include "na.h"
#include "rt/submit.h"
#include "talaria.h"

void
hg_target_respond_run(struct base_completion *completion)
{
    struct hg_handle *handle = hg_handle_of(completion);
    struct hg_cb_info info = {.arg = handle->arg,
        .type = HG_CB_RESPOND,
        .ret = hg_call_ret(&handle->call)};
    int32_t refs = HG_REF_ANSWER;

    info.info.respond.handle = handle;
    if (hg_call_event(&handle->call, HG_CALL_ON_CALLED, 0) == HG_CALL_RELEASED)
        refs += HG_REF_TRANSPORT;
    handle->callback(&info);
    hg_handle_unref(handle, refs);
}

void
hg_target_responded(struct hg_handle *handle)
{
    handle->completion.run = hg_target_respond_run;
    base_completion_push(
        &handle->completion, &handle->context->bulk.completions);
}

/* Acts on the completion of a pending response. Returns true if its callback
 * has to be queued. */
static bool
settle(struct hg_handle *handle, enum hg_call_result result)
{
    if (result == HG_CALL_ENDED)
        hg_handle_unref(handle, HG_REF_ANSWER);
    else if (result == HG_CALL_RELEASED)
        hg_handle_unref(handle, HG_REF_TRANSPORT);
    return result == HG_CALL_QUEUE;
}

/* A pending response was sent, failed, or was acknowledged. Returns true if its
 * callback has to be queued. */
static bool
pending_ended(struct hg_handle *handle)
{
    return hg_ack_op_ended(handle) &&
           settle(handle, hg_call_event(&handle->call, HG_CALL_ON_ANSWERED, 0));
}

void
hg_target_queue_callback(struct hg_handle *handle)
{
    hg_target_responded(handle);
    na_progress_notify(handle->port->na_context->progress);
}

/* The response, which has its reference, was sent, and never pending. */
static inline void
answered(struct hg_handle *handle)
{
    hg_call_answered(&handle->call);
    if (handle->callback)
        hg_target_queue_callback(handle);
    else
        hg_handle_unref(handle, HG_REF_ANSWER);
}

/* The transport owns the response, which has its reference, and may have
 * completed it already. */
static __attribute__((noinline)) void
become_pending(struct hg_handle *handle)
{
    if (settle(handle, hg_call_event(&handle->call, HG_CALL_ON_PENDING, 0)))
        hg_target_queue_callback(handle);
}

void
hg_target_sent(struct na_op *op, const na_plugin_event *event)
{
    struct hg_handle *handle = op->owner;
    hg_return_t ret =
        (hg_return_t) na_event_code(handle->port->na_context, event);

    if (__builtin_expect(ret != HG_SUCCESS, 0)) {
        hg_call_record(&handle->call, ret);
        if (hg_call_is_observed(&handle->call))
            hg_stage_not_responded(handle, ret);
        hg_extra_cancel(handle); /* no acknowledgement will arrive */
    }
    hg_target_acknowledged(handle);
}

void
hg_target_acknowledged(struct hg_handle *handle)
{
    if (pending_ended(handle))
        hg_target_responded(handle);
}

/* The response could not be submitted, and another one may be sent. If it was
 * completed early, its callback reports that instead. */
static __attribute__((noinline, cold)) hg_return_t
unsent(struct hg_handle *handle, hg_return_t ret)
{
    enum hg_call_result result = HG_CALL_ENDED;

    if (hg_call_is_observed(&handle->call))
        hg_stage_not_responded(handle, ret);
    if (handle->out.extra) {
        hg_ack_unsent(handle);
        hg_message_unspill(&handle->out);
        result = hg_call_event(&handle->call, HG_CALL_ON_REVOKED, 0);
    }
    if (result == HG_CALL_ENDED) {
        /* For the next one, which HG_Respond claims. */
        atomic_store_explicit(
            &handle->call.ret, HG_SUCCESS, memory_order_relaxed);
        hg_call_event(&handle->call, HG_CALL_ON_REVOKED, 0);
    }
    settle(handle, result);
    return result == HG_CALL_ENDED ? ret : HG_SUCCESS;
}

/* As in Mercury, the callback of the response runs before that of the forward.
 */
static __attribute__((noinline)) void
respond_locally(struct hg_handle *handle)
{
    size_t size = handle->out.size;
    struct hg_handle *origin = hg_loopback_answer(handle);

    hg_handle_ref(handle, HG_REF_ANSWER);
    answered(handle);
    if (origin)
        hg_loopback_answered(origin, size);
}

/* Completes the submission of a response with an extra payload. It is pending
 * from before its submission until the transport has sent it and the origin has
 * acknowledged it. */
static __attribute__((cold, noinline)) hg_return_t
submitted_extra(struct hg_handle *handle, int32_t code)
{
    if (code == NA_PLUGIN_PENDING)
        return HG_SUCCESS;
    if (code != NA_PLUGIN_DONE)
        return unsent(
            handle, (hg_return_t) na_submission_failed(
                        handle->port->na_context, "send_expected", code));
    if (pending_ended(handle))
        hg_target_queue_callback(handle);
    return HG_SUCCESS;
}

static void
encode_header(struct hg_handle *handle, hg_return_t result)
{
    char *bytes = handle->out.payload - HG_HEADER_RESPONSE_SIZE;
    struct hg_header_response header = {
        .flags =
            (uint8_t) (handle->hg_class->checksum_flags | handle->out.flags),
        .cookie = handle->cookie,
        .payload_size = handle->out.size,
        .ret = result};

    hg_header_response_encode(bytes, &header);
    if (header.flags & HG_HEADER_SUM)
        hg_checksum_put(bytes, HG_HEADER_RESPONSE_SIZE, &handle->out);
}

hg_return_t
hg_target_submitted(struct hg_handle *handle, int32_t code)
{
    if (code == NA_PLUGIN_DONE) {
        answered(handle);
        return HG_SUCCESS;
    }
    if (code != NA_PLUGIN_PENDING)
        return unsent(
            handle, (hg_return_t) na_submission_failed(
                        handle->port->na_context, "send_expected", code));
    become_pending(handle);
    return HG_SUCCESS;
}

hg_return_t
hg_target_respond(struct hg_handle *handle, hg_return_t result)
{
    bool extra = handle->out.extra != NULL;
    struct rt_endpoint at;
    int32_t code;

    encode_header(handle, result);
    if (hg_call_is_observed(&handle->call) || result != HG_SUCCESS)
        hg_stage_respond(handle, result);
    if (handle->local) {
        respond_locally(handle);
        return HG_SUCCESS;
    }
    /* Also during submission: the peer may get the response and make the
     * program drop the last other reference. */
    hg_handle_ref(handle, HG_REF_ANSWER);
    if (extra)
        become_pending(handle);
    at = rt_endpoint(handle->port->na_context);
    code = rt_send_expected(at, handle->send, handle->out.buffer,
        handle->port->net.out_payload + handle->out.size,
        handle->out.buffer_data, handle->peer.addr, handle->info.context_id,
        handle->tag);
    if (extra)
        return submitted_extra(handle, code);
    return hg_target_submitted(handle, code);
}

/* Completes an encoding, with result ret, that spilled. If the origin has to
 * fetch the payload, it acknowledges that with a tag of this handle. */
static __attribute__((cold, noinline)) hg_return_t
put_extra(struct hg_handle *handle, hg_return_t ret)
{
    uint32_t cookie = ++handle->ack_count;
    uint32_t tag = (uint32_t) hg_handle_tag(handle, cookie);

    ret = hg_extra_put(handle, &handle->out, tag, cookie, ret);
    if (ret == HG_SUCCESS && handle->out.extra && !handle->local)
        ret = hg_ack_await(handle, tag, cookie);
    return ret;
}

__attribute__((cold)) hg_return_t
hg_target_respond_spilled(struct hg_handle *handle, hg_return_t ret)
{
    if (handle->out.proc.extra)
        ret = put_extra(handle, ret);
    if (ret == HG_SUCCESS)
        return hg_target_respond(handle, HG_SUCCESS);
    hg_extra_drop(handle, &handle->out);
    hg_call_event(&handle->call, HG_CALL_ON_REVOKED, 0);
    return ret;
}

__attribute__((cold)) hg_return_t
hg_target_respond_flagged(
    struct hg_handle *handle, hg_cb_t callback, void *arg, void *out_struct)
{
    hg_return_t ret;

    if (hg_call_event_rare(&handle->call,
            callback ? HG_CALL_ON_CLAIM_CALLBACK : HG_CALL_ON_CLAIM,
            0) == HG_CALL_REFUSED)
        return HG_BUSY;
    handle->callback = callback;
    handle->arg = arg;
    atomic_store_explicit(&handle->call.ret, HG_SUCCESS, memory_order_relaxed);
    ret = hg_message_encode(&handle->out, handle->hg_class->out_offset,
        handle->out.end, handle->rpc->out_proc, out_struct);
    if (!hg_message_encoded(&handle->out, ret))
        return hg_target_respond_spilled(handle, ret);
    return hg_target_respond(handle, HG_SUCCESS);
}

/* Only one thread may respond. */
static __attribute__((cold, noinline)) bool
claim_code(struct hg_handle *handle)
{
    return hg_call_event(&handle->call, HG_CALL_ON_CLAIM, 0) != HG_CALL_REFUSED;
}

/* Sends a claimed response without a payload. */
static __attribute__((cold, noinline)) hg_return_t
send_code(struct hg_handle *handle, hg_return_t code)
{
    handle->callback = NULL;
    handle->out.size = handle->hg_class->out_offset;
    handle->out.flags = 0;
    atomic_store_explicit(&handle->call.ret, HG_SUCCESS, memory_order_relaxed);
    return hg_target_respond(handle, code);
}

__attribute__((cold)) hg_return_t
hg_target_send_code(struct hg_handle *handle, hg_return_t code)
{
    return claim_code(handle) ? send_code(handle, code) : HG_BUSY;
}

__attribute__((cold)) bool
hg_target_respond_code(struct hg_handle *handle, hg_return_t code)
{
    if (handle->no_response)
        return true;
    if (!claim_code(handle))
        return atomic_load_explicit(&handle->dropped, memory_order_relaxed);
    send_code(handle, code);
    return true;
}

__attribute__((cold)) hg_return_t
talaria_handle_drop(hg_handle_t handle)
{
    if (!handle || handle->role != HG_ROLE_TARGET || !handle->rpc)
        return HG_INVALID_ARG;
    if (!handle->no_response && !claim_code(handle))
        return HG_BUSY;
    if (atomic_exchange_explicit(&handle->dropped, true, memory_order_relaxed))
        return HG_BUSY;
    if (hg_call_is_observed(&handle->call))
        hg_stage_dropped(handle);
    if (!handle->no_response)
        hg_call_answered(&handle->call);
    return HG_SUCCESS;
}
