/* SPDX-License-Identifier: BSD-3-Clause */
/* The origin's side: sends the request, receives the response, queues the
 * callback. A forward has two operations, the send and the receive; the one
 * that completes last completes the handle (hg/call.h). */
#include "hg/origin.h"

#include "base/log.h"
#include "base/same.h"
#include "base/time.h"
#include "base/watch.h"
#include "hg/cancel_message.h"
#include "hg/checksum.h"
#include "hg/extra.h"
#include "hg/loopback.h"
#include "hg/peer_log.h"
#include "hg/release.h"
#include "hg/stage.h"
#include "na.h"
#include "rt/submit.h"

_Static_assert(HG_HEADER_NO_RESPONSE == true, "no_response is the flag");

/* The target can no longer fetch the arguments. */
static __attribute__((cold, noinline)) void
withdraw(struct hg_handle *handle)
{
    if (handle->in.extra)
        hg_rendezvous_withdraw(hg_rendezvous_of(&handle->in));
}

/* Runs the user's callback; the handle may be forwarded again inside it. */
static void
forward_run(struct base_completion *completion)
{
    struct hg_handle *handle = hg_handle_of(completion);
    struct hg_cb_info info;
    hg_cb_t callback;

    info.info.forward.handle = handle;
    info.arg = handle->arg;
    info.type = HG_CB_FORWARD;
    info.ret = hg_call_ret(&handle->call);
    if (__builtin_expect(
            (hg_call_word(&handle->call) & (HG_CALL_TIMER | HG_CALL_OBSERVED)) |
                (uint32_t) info.ret,
            0))
        hg_forward_noted(handle);
    if (__builtin_expect(handle->special & HG_SPECIAL_EXTRA, 0))
        withdraw(handle);
    callback = handle->callback;
    hg_call_reset(&handle->call);
    if (callback)
        callback(&info);
    if (hg_handle_drop_fast(handle))
        handle->side->released(handle);
}

static __attribute__((noinline)) enum hg_call_result
end_operation(struct hg_handle *handle, enum hg_call_event event)
{
    return hg_call_ended(
        &handle->call, hg_call_operation(event), hg_call_outcome(event));
}

/* Completes an operation of a failed forward. */
static __attribute__((cold, noinline)) enum hg_call_result
failed(struct hg_handle *handle, enum hg_call_event event)
{
    enum hg_call_result result;

    /* First: after the event the handle may be reused. */
    if (event == HG_CALL_ON_SENT || event == HG_CALL_ON_UNANSWERED)
        hg_cancel_message_send(handle, hg_call_operation(event));
    result = end_operation(handle, event);
    if (result == HG_CALL_QUEUE)
        hg_cancel_message_send(
            handle, 0); /* both operations completed at once */
    return result;
}

/* Returns true if the forward is complete. */
static inline __attribute__((always_inline)) bool
is_over(struct hg_handle *handle, enum hg_call_result result)
{
    if (result == HG_CALL_QUEUE)
        return true;
    if (__builtin_expect(result == HG_CALL_RELEASED, 0))
        hg_handle_orphan_ended(handle);
    return false;
}

/* Completes an operation, and queues the handle if the forward is complete. In
 * progress. */
static __attribute__((noinline)) void
ended_in_progress(struct hg_handle *handle, enum hg_call_event event)
{
    bool failing = hg_call_ret(&handle->call) != HG_SUCCESS;

    if (is_over(handle,
            failing ? failed(handle, event) : end_operation(handle, event)))
        base_completion_push(
            &handle->completion, &handle->context->bulk.completions);
}

static inline __attribute__((always_inline)) int32_t
submit_receive(struct hg_handle *handle, const struct na_context *na_context)
{
    struct rt_endpoint at = rt_endpoint(na_context);

    return rt_recv_expected(at, handle->recv, handle->out.buffer,
        handle->port->net.out_size, handle->out.buffer_data, handle->peer.addr,
        handle->target_id, handle->tag);
}

static inline __attribute__((always_inline)) int32_t
submit_request(struct hg_handle *handle)
{
    struct rt_endpoint at = rt_endpoint(handle->port->na_context);

    return rt_send_unexpected(at, handle->send, handle->in.buffer,
        handle->port->net.in_payload + handle->in.size, handle->in.buffer_data,
        handle->peer.addr, handle->target_id, handle->tag);
}

static __attribute__((cold, noinline)) int32_t
post_receive(struct hg_handle *handle)
{
    return submit_receive(handle, handle->port->na_context);
}

/* Handles a response with flags. Returns true if its payload is being fetched.
 */
static __attribute__((cold, noinline)) bool
take_flagged(struct hg_handle *handle)
{
    struct hg_message *message = &handle->out;

    if (message->flags & HG_HEADER_PAYLOAD_SUM)
        hg_checksum_note(message, message->payload - HG_HEADER_RESPONSE_SIZE,
            HG_HEADER_RESPONSE_SIZE);
    /* loopback.c delivers the extra payload with the message. */
    if (!(message->flags & HG_HEADER_MORE) || message->extra)
        return false;
    hg_call_note(&handle->call, HG_CALL_IS_ANSWERED);
    hg_extra_fetch(handle);
    return true;
}

/* The receive completed without a response, or with a malformed one. */
static __attribute__((cold, noinline)) void
not_received(
    struct hg_handle *handle, const na_plugin_event *event, hg_return_t ret)
{
    na_return_t code = na_event_message(
        handle->port->na_context, event, handle->port->net.out_size);

    if (code != NA_SUCCESS) {
        ret = (hg_return_t) code;
    } else {
        hg_count_dropped(handle->hg_class);
        HG_LOG_PEER(handle, ERROR, "malformed response of %llu bytes: %s",
            (unsigned long long) event->length, HG_Error_to_string(ret));
        handle->out.flags = 0;
    }
    hg_call_record(&handle->call, ret);
    ended_in_progress(handle,
        code == NA_SUCCESS ? HG_CALL_ON_RECEIVED : HG_CALL_ON_UNANSWERED);
}

/* The message is not the response to this request: posts the receive again. */
static __attribute__((cold, noinline)) void
late_received(struct hg_handle *handle)
{
    struct hg_class *hg_class = handle->hg_class;
    int32_t code;

    hg_count(hg_class, &hg_class->counters.response_late);
    code = hg_handle_is_ending(handle) ? NA_PLUGIN_E_CANCELED
                                       : post_receive(handle);
    if (code == NA_PLUGIN_PENDING)
        return;
    hg_call_record(
        &handle->call, (hg_return_t) na_submission_failed(
                           handle->port->na_context, "recv_expected", code));
    ended_in_progress(handle, HG_CALL_ON_UNANSWERED);
}

/* Takes any event of the receive. */
static __attribute__((noinline, cold)) void
take(struct hg_handle *handle, const na_plugin_event *event)
{
    size_t at = handle->port->net.out_payload - HG_HEADER_RESPONSE_SIZE;
    size_t length = event->length - at;
    struct hg_header_response header;
    hg_return_t ret = HG_PROTOCOL_ERROR;

    /* Also false for less than the transport's header: length wraps. */
    if (__builtin_expect(na_event_state(event) == NA_EVENT_MESSAGE &&
                             length <= handle->port->net.out_room,
            1))
        ret =
            hg_header_response_decode(handle->out.buffer + at, length, &header);
    if (__builtin_expect(ret != HG_SUCCESS, 0)) {
        not_received(handle, event, ret);
        return;
    }
    if (__builtin_expect(header.cookie != handle->cookie, 0)) {
        late_received(handle);
        return;
    }
    handle->out.size = header.payload_size;
    handle->out.flags = header.flags;
    hg_call_record(&handle->call, header.ret);
    if (__builtin_expect(hg_call_is_observed(&handle->call), 0))
        hg_stage_answer(handle);
    if (__builtin_expect(header.flags != 0, 0) && take_flagged(handle))
        return;
    ended_in_progress(handle, HG_CALL_ON_RECEIVED);
}

/* Takes a successful response without flags to a call without flags, whose
 * request is sent: the callback is to be queued. Returns false, without having
 * changed anything, if it is another event. */
static inline __attribute__((always_inline)) bool
take_plain(struct hg_handle *handle, const na_plugin_event *event)
{
    const struct hg_net *net = &handle->port->net;
    const char *header = handle->out.payload - HG_HEADER_RESPONSE_SIZE;
    struct hg_header_response response;
    /* Less than the header: a large number. */
    size_t length = event->length - net->out_payload;

    if (na_event_state(event) != NA_EVENT_MESSAGE || length > net->out_most ||
        !hg_header_response_decode_plain(header, length, &response) ||
        response.cookie != handle->cookie ||
        !hg_call_answer_sent(&handle->call))
        return false;
    handle->out.size = response.payload_size;
    handle->out.flags = 0;
    return true;
}

static void
answer_received(struct na_op *op, const na_plugin_event *event)
{
    struct hg_handle *handle = op->owner;

    if (__builtin_expect(!take_plain(handle, event), 0)) {
        take(handle, event);
        return;
    }
    base_completion_push(
        &handle->completion, &handle->context->bulk.completions);
}

static void
fetched(struct hg_handle *handle, hg_return_t ret)
{
    hg_call_record(&handle->call, ret);
    if (hg_call_ret(&handle->call) != HG_SUCCESS)
        hg_message_drop_extra(&handle->out);
    ended_in_progress(handle, HG_CALL_ON_UNANSWERED);
}

/* Even a request without a response is acknowledged if the target has to fetch
 * its input. */
static inline bool
awaits_answer(const struct hg_handle *handle)
{
    return !handle->no_response ||
           (__builtin_expect(handle->in.extra != NULL, 0) && !handle->loopback);
}

static void
request_sent(struct na_op *op, const na_plugin_event *event)
{
    struct hg_handle *handle = op->owner;
    na_return_t ret = na_event_code(handle->port->na_context, event);

    if (__builtin_expect(ret != NA_SUCCESS, 0)) {
        hg_call_record(&handle->call, (hg_return_t) ret);
        if (awaits_answer(handle))
            hg_handle_end(handle);
        ended_in_progress(handle, HG_CALL_ON_UNSENT);
        return;
    }
    ended_in_progress(handle, HG_CALL_ON_SENT);
}

static void
prepare(struct hg_handle *handle)
{
    handle->send->complete = request_sent;
    handle->recv->complete = answer_received;
    handle->completion.run = forward_run;
}

static void
released(struct hg_handle *handle)
{
    hg_handle_clear(handle, HG_ROLE_ORIGIN);
    hg_pool_put(handle);
}

const struct hg_side hg_origin_side = {.role = HG_ROLE_ORIGIN,
    .prepare = prepare,
    .released = released,
    .fetched = fetched};

/* Undoes the start of a forward of which nothing was submitted. */
static hg_return_t
revoke(struct hg_handle *handle, hg_return_t ret)
{
    enum hg_call_result result =
        hg_call_event(&handle->call, HG_CALL_ON_REVOKED, 0);

    if (result == HG_CALL_RELEASED)
        hg_handle_orphan_ended(handle);
    /* Otherwise it was cancelled meanwhile, and its callback reports that. */
    if (result != HG_CALL_ENDED)
        return HG_SUCCESS;
    hg_call_record(&handle->call, ret);
    hg_forward_noted(handle);
    /* Its memory may be the program's, which frees it now. */
    hg_message_unspill(&handle->in);
    atomic_fetch_sub_explicit(&handle->refs, 1, memory_order_relaxed);
    return ret;
}

/* The request could not be sent. The posted receive has to be cancelled, so the
 * callback reports the error when the receive has completed. */
static __attribute__((noinline)) void
not_sent(struct hg_handle *handle, hg_return_t ret)
{
    struct na_progress *progress = hg_context_na(handle->context)->progress;

    hg_call_record(&handle->call, ret);
    na_progress_acquire(progress);
    hg_handle_end(handle);
    na_progress_release(progress);
    ended_in_progress(handle, HG_CALL_ON_UNSENT);
    na_progress_notify(progress);
}

/* The transport has refused the request. */
static __attribute__((noinline, cold)) hg_return_t
refused(struct hg_handle *handle, bool awaiting, int32_t code)
{
    hg_return_t ret = (hg_return_t) na_submission_failed(
        handle->port->na_context, "send_unexpected", code);

    if (!awaiting)
        return revoke(handle, ret);
    not_sent(handle, ret);
    return HG_SUCCESS;
}

/* Acts on the result of sending the request, after the receive was posted, if
 * there is one. */
static __attribute__((noinline, cold)) hg_return_t
submitted(struct hg_handle *handle, bool awaiting, int32_t code)
{
    enum hg_call_result result;

    if (code == NA_PLUGIN_PENDING)
        return HG_SUCCESS;
    if (code != NA_PLUGIN_DONE)
        return refused(handle, awaiting, code);
    result = hg_call_ret(&handle->call) != HG_SUCCESS
                 ? failed(handle, HG_CALL_ON_SENT)
                 : end_operation(handle, HG_CALL_ON_SENT);
    if (is_over(handle, result))
        hg_context_complete(handle->context, &handle->completion);
    return HG_SUCCESS;
}

static void
encode_header(struct hg_handle *handle)
{
    struct hg_class *hg_class = handle->hg_class;
    char *bytes = handle->in.payload - HG_HEADER_REQUEST_SIZE;
    struct hg_header_request header = {
        .flags = (uint8_t) (hg_class->checksum_flags | handle->in.flags |
                            handle->no_response),
        .context_id = handle->port->na_context->id,
        .cookie = handle->cookie,
        .payload_size = handle->in.size,
        .id = handle->rpc->id};

    hg_header_request_encode(bytes, &header);
    handle->has_header = header.flags == 0;
    handle->header_id = header.id;
    hg_handle_set_special(handle, HG_SPECIAL_HEADER, !handle->has_header);
    if (header.flags & HG_HEADER_MORE)
        hg_count(hg_class, &hg_class->counters.request_extra);
    if (header.flags & HG_HEADER_SUM)
        hg_checksum_put(bytes, HG_HEADER_REQUEST_SIZE, &handle->in);
}

/* The transport has refused the receive. */
static __attribute__((noinline, cold)) hg_return_t
not_posted(struct hg_handle *handle, int32_t code)
{
    return revoke(handle, (hg_return_t) na_submission_failed(
                              handle->port->na_context, "recv_expected", code));
}

/* Forwards any request, whose arguments are encoded. */
static __attribute__((noinline, cold)) hg_return_t
forward_encoded(struct hg_handle *handle)
{
    bool awaiting = awaits_answer(handle);
    int32_t code;

    handle->out.size = 0;
    encode_header(handle);
    hg_call_begin(&handle->call, handle->cookie,
        awaiting ? HG_CALL_SEND | HG_CALL_RECV : HG_CALL_SEND);
    hg_handle_ref(handle, 1);
    if (base_is_observed())
        hg_stage_forward(handle);
    if (handle->timeout_ms > 0) {
        hg_return_t ret =
            hg_handle_timer_start(handle, hg_call_generation(&handle->call),
                base_time_deadline(handle->timeout_ms));

        if (ret != HG_SUCCESS)
            return revoke(handle, ret);
    }
    if (handle->loopback) {
        hg_loopback_forward(handle);
        return HG_SUCCESS;
    }
    if (awaiting) {
        code = post_receive(handle);
        if (code != NA_PLUGIN_PENDING)
            return not_posted(handle, code);
    }
    code = submit_request(handle);
    return submitted(handle, awaiting, code);
}

/* Returns 0 if an encoded request is plain. special: of the handle. */
static inline __attribute__((always_inline)) unsigned
is_special(const struct hg_handle *handle, unsigned special,
    const struct na_context *na_context)
{
    return special | hg_rpc_has_no_response(handle->rpc) |
           na_progress_wakes_early(na_context) | base_observed();
}

/* Writes the header of a request whose handle has none for its RPC, if nothing else
 * keeps the request from being plain; else false. */
static __attribute__((noinline)) bool
write_header(struct hg_handle *handle)
{
    if (is_special(handle, handle->special ^ HG_SPECIAL_HEADER,
            handle->port->na_context))
        return false;
    encode_header(handle);
    return true;
}

/* Forwards a request that is not plain, or is to wake the leader, or whose
 * arguments, encoded with result ret, did not fit into the message. */
static __attribute__((noinline, cold)) hg_return_t
forward_rare(struct hg_handle *handle, hg_return_t ret)
{
    handle->no_response = hg_rpc_has_no_response(handle->rpc);
    hg_handle_set_special(handle, HG_SPECIAL_NO_RESPONSE, handle->no_response);
    if (handle->in.proc.extra)
        ret = hg_extra_put(handle, &handle->in, 0, 0, ret);
    if (ret != HG_SUCCESS)
        return ret;
    /* Once it is sent, the call may be over, and the context destroyed. */
    if (!handle->loopback && awaits_answer(handle))
        na_progress_caller_runs(handle->port->na_context);
    return forward_encoded(handle);
}

/* The error of HG_Forward for a handle that it refuses. A function of its own: with
 * several constants to return, gcc keeps the result in a saved register. */
static __attribute__((noinline, cold)) hg_return_t
not_forwardable(const struct hg_handle *handle)
{
    return !handle || handle->special & HG_SPECIAL_UNFIT ? HG_INVALID_ARG
                                                         : HG_BUSY;
}

/* HG_Forward of an unfit handle; or of one that may have extra payloads of the
 * previous call, which are freed before the arguments are encoded: both may be
 * large. */
static __attribute__((noinline, cold)) hg_return_t
forward_again(
    struct hg_handle *handle, hg_cb_t callback, void *arg, void *in_struct)
{
    if (handle->special & HG_SPECIAL_UNFIT)
        return not_forwardable(handle);
    hg_message_unspill(&handle->in);
    hg_message_drop_extra(&handle->out);
    hg_handle_set_special(handle, HG_SPECIAL_EXTRA, false);
    return HG_Forward(handle, callback, arg, in_struct);
}

/* Begins a handle's next request. The tag is hg_handle_tag(handle, handle->cookie). */
static inline __attribute__((always_inline)) void
next_request(struct hg_handle *handle, hg_cb_t callback, void *arg)
{
    const struct hg_net *net = &handle->port->net;

    handle->callback = callback;
    handle->arg = arg;
    handle->cookie++;
    handle->tag = (handle->tag + net->tag_step) & net->tag_mask;
}

/* Begins the call of a plain request. With one thread nothing can change it before
 * the send returns: it begins as one whose request is sent, which most often is so
 * then. */
static inline __attribute__((always_inline)) void
begin(struct hg_handle *handle, uint32_t cookie)
{
    if (handle->single) {
        hg_call_begin(&handle->call, cookie, HG_CALL_RECV);
        handle->single_refs++;
    } else {
        hg_call_begin(&handle->call, cookie, HG_CALL_SEND | HG_CALL_RECV);
        hg_handle_ref(handle, 1);
    }
}

/* From top to bottom what a plain request to another class takes: one without
 * flags or a deadline, with a response. All else is at the end, out of line.
 * Only the handle is used after the proc, so that few registers are saved. */
hg_return_t
HG_Forward(hg_handle_t handle, hg_cb_t callback, void *arg, void *in_struct)
{
    const struct na_context *na_context;
    uint32_t cookie;
    hg_return_t ret;
    int32_t code;

    if (!handle || !hg_call_is_idle(&handle->call))
        return not_forwardable(handle);
    if (__builtin_expect(
            handle->special & (HG_SPECIAL_UNFIT | HG_SPECIAL_EXTRA), 0))
        goto again;
    next_request(handle, callback, arg);
    ret = hg_message_encode(&handle->in, handle->hg_class->in_offset,
        handle->in.end, handle->rpc->in_proc, in_struct);
    handle = base_same(handle);
    if (__builtin_expect(!hg_message_encoded(&handle->in, ret), 0))
        goto rare;
    /* If the handle has no header yet, write_header writes all of it. */
    cookie = handle->cookie;
    hg_header_request_renew(handle->in.payload - HG_HEADER_REQUEST_SIZE, cookie,
        (uint32_t) handle->in.size);
    na_context = handle->port->na_context;
    if (__builtin_expect(is_special(handle, handle->special, na_context), 0))
        goto special;
with_header:
    handle->out.size = 0;
    begin(handle, cookie);
    code = submit_receive(handle, na_context);
    if (__builtin_expect(code != NA_PLUGIN_PENDING, 0))
        goto not_posted;
    code = submit_request(handle);
    handle = base_same(handle);
    if (__builtin_expect(code != NA_PLUGIN_DONE, 0))
        goto submitted;
    if (handle->single ||
        __builtin_expect(hg_call_sent_first(&handle->call, handle->cookie), 1))
        return HG_SUCCESS;
    return submitted(handle, true, NA_PLUGIN_DONE);

special:
    if (write_header(handle)) {
        cookie = handle->cookie;
        na_context = handle->port->na_context;
        goto with_header;
    }
rare:
    return forward_rare(handle, ret);
not_posted:
    return not_posted(handle, code);
submitted:
    if (handle->single)
        hg_call_begun_unsent(&handle->call);
    return submitted(handle, true, code);
again:
    return forward_again(handle, callback, arg, in_struct);
}
