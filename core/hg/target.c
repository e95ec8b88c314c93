/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side: checks and queues a request, runs its handler, and
 * responds. Requests arrive through single_recv.c, multi_recv.c and loopback.c.
 */
#include "hg/target.h"

#include "base/log.h"
#include "base/watch.h"
#include "hg/ack.h"
#include "hg/cancel_message.h"
#include "hg/checksum.h"
#include "hg/extra.h"
#include "hg/loopback.h"
#include "hg/multi_recv.h"
#include "hg/peer_log.h"
#include "hg/single_recv.h"
#include "hg/stage.h"
#include "na.h"
#include "rt/submit.h"
#include "talaria.h"

static void acknowledged(struct hg_handle *handle);
static void request_received(struct na_op *op, const na_plugin_event *event);
static void response_sent(struct na_op *op, const na_plugin_event *event);

static void
prepare(struct hg_handle *handle)
{
    na_peer_set(&handle->peer, handle->port->net.na_class, NULL);
    handle->peer.self = handle->side == &hg_local_side;
    handle->info.addr = &handle->peer;
    handle->recv->complete = request_received;
    handle->send->complete = response_sent;
}

/* Runs the user's callback of a response. */
static void
respond_run(struct base_completion *completion)
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
    handle->completion.run = respond_run;
    base_completion_push(
        &handle->context->bulk.completions, &handle->completion);
}

/* Acts on the completion of a pending response. Returns true if its callback
 * has to be queued. */
static inline bool
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

/* Queues the callback outside of progress, and so wakes a waiting thread. */
static __attribute__((noinline)) void
queue_callback(struct hg_handle *handle)
{
    hg_target_responded(handle);
    na_progress_notify(handle->port->na_context->progress);
}

/* The transport owns the response, which has its reference, and may have
 * completed it already. */
static __attribute__((noinline)) void
become_pending(struct hg_handle *handle)
{
    if (settle(handle, hg_call_event(&handle->call, HG_CALL_ON_PENDING, 0)))
        queue_callback(handle);
}

/* The response, which has its reference, was sent, and never pending. */
static inline void
answered(struct hg_handle *handle)
{
    hg_call_answered(&handle->call);
    if (handle->callback)
        queue_callback(handle);
    else
        hg_handle_unref(handle, HG_REF_ANSWER);
}

static void
response_sent(struct na_op *op, const na_plugin_event *event)
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
    acknowledged(handle);
}

static void
acknowledged(struct hg_handle *handle)
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
        hg_message_drop_extra(&handle->out);
        result = hg_call_event(&handle->call, HG_CALL_ON_REVOKED, 0);
    }
    if (result == HG_CALL_ENDED)
        hg_call_event(&handle->call, HG_CALL_ON_REVOKED, 0);
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

static inline __attribute__((always_inline)) int32_t
send_answer(struct hg_handle *handle)
{
    const struct hg_net *net = &handle->port->net;
    struct rt_endpoint at = rt_endpoint(handle->port->na_context);

    return rt_send_expected(at, handle->send, handle->out.buffer,
        net->out_payload + handle->out.size, handle->out.buffer_data,
        handle->peer.addr, handle->info.context_id, handle->tag);
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
        queue_callback(handle);
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
        .payload_size = (uint32_t) handle->out.size,
        .ret = result};

    hg_header_response_encode(bytes, &header);
    if (header.flags & HG_HEADER_SUM)
        hg_checksum_put(bytes, HG_HEADER_RESPONSE_SIZE, &handle->out);
}

/* Completes the submission of a response that is pending, or failed. */
static __attribute__((noinline)) hg_return_t
submitted(struct hg_handle *handle, int32_t code)
{
    if (code != NA_PLUGIN_PENDING)
        return unsent(
            handle, (hg_return_t) na_submission_failed(
                        handle->port->na_context, "send_expected", code));
    become_pending(handle);
    return HG_SUCCESS;
}

/* Sends any response, which is claimed and encoded and whose ret is set. */
static __attribute__((noinline)) hg_return_t
respond(struct hg_handle *handle, hg_return_t result)
{
    bool extra = handle->out.extra != NULL;
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
    code = send_answer(handle);
    if (extra)
        return submitted_extra(handle, code);
    if (code != NA_PLUGIN_DONE)
        return submitted(handle, code);
    answered(handle);
    return HG_SUCCESS;
}

/* The same, inline, for a response without an extra payload, of most classes
 * and to another one. */
static inline __attribute__((always_inline)) hg_return_t
respond_plain(struct hg_handle *handle)
{
    int32_t code;

    if (__builtin_expect(
            handle->special | hg_call_is_observed(&handle->call), 0))
        return respond(handle, HG_SUCCESS);
    hg_header_response_encode(handle->out.payload - HG_HEADER_RESPONSE_SIZE,
        &(struct hg_header_response){.cookie = handle->cookie,
            .payload_size = (uint32_t) handle->out.size});
    hg_handle_ref(handle, HG_REF_ANSWER);
    code = send_answer(handle);
    if (__builtin_expect(code != NA_PLUGIN_DONE, 0))
        return submitted(handle, code);
    answered(handle);
    return HG_SUCCESS;
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
    return respond(handle, code);
}

/* Responds without a payload, if the request has a response and none was begun.
 * Returns false if the program has responded. */
static bool
respond_with_code(struct hg_handle *handle, hg_return_t code)
{
    if (handle->no_response)
        return true;
    if (!claim_code(handle))
        return atomic_load_explicit(&handle->dropped, memory_order_relaxed);
    send_code(handle, code);
    return true;
}

/* Prepares a request with flags for its handler: adds the references of handler
 * and user, logs, and checks the payload. CHECKSUM_ERROR: the handler must not
 * run. */
static __attribute__((cold, noinline)) hg_return_t
begin_flagged(struct hg_handle *handle)
{
    /* A fetched request has the user's reference already. */
    hg_handle_ref(handle, handle->in.flags & HG_MESSAGE_FETCHED
                              ? HG_REF_HANDLER
                              : HG_REF_HANDLER + 1);
    if (handle->in.flags & HG_MESSAGE_OBSERVED)
        hg_stage_handler(handle);
    if (!(handle->in.flags & HG_HEADER_PAYLOAD_SUM) ||
        hg_checksum_agrees(&handle->in))
        return HG_SUCCESS;
    hg_count_dropped(handle->hg_class);
    return HG_CHECKSUM_ERROR;
}

/* The handler has returned an error. If the program has not responded, the
 * error is sent, and the handler's reference is dropped unless the handler
 * called HG_Destroy. Another thread that destroys the handle meanwhile drops a
 * reference of its own. */
static __attribute__((cold, noinline)) void
handler_failed(struct hg_handle *handle, hg_return_t ret)
{
    if (respond_with_code(handle, ret) && !handle->given_back &&
        !hg_handle_no_user(handle))
        hg_handle_unref(handle, 1);
}

/* Runs the handler, which owns the user's reference. */
static void
handler_run(struct base_completion *completion)
{
    struct hg_handle *handle = hg_handle_of(completion);
    hg_return_t ret = HG_SUCCESS;

    handle->runner = &hg_handle_thread;
    handle->given_back = false;
    atomic_store_explicit(&handle->dropped, false, memory_order_relaxed);

    if (__builtin_expect(handle->in.flags != 0, 0))
        ret = begin_flagged(handle);
    else
        atomic_store_explicit(
            &handle->refs, 1 + HG_REF_HANDLER, memory_order_relaxed);
    if (__builtin_expect(ret == HG_SUCCESS, 1))
        ret = handle->rpc->handler(handle);
    if (__builtin_expect(ret != HG_SUCCESS, 0))
        handler_failed(handle, ret);
    hg_handle_unref(handle, HG_REF_HANDLER);
}

static inline __attribute__((always_inline)) void
queue_handler(struct hg_handle *handle)
{
    handle->completion.run = handler_run;
    base_completion_push(
        &handle->context->bulk.completions, &handle->completion);
}

bool
hg_target_is_last(const struct base_completion *completion)
{
    const struct hg_handle *handle = (const struct hg_handle *) completion;

    return (completion->run == respond_run || completion->run == handler_run) &&
           atomic_load_explicit(&handle->context->ending, memory_order_relaxed);
}

__attribute__((cold)) void
hg_target_run_last(struct base_completion *completion)
{
    struct hg_handle *handle = hg_handle_of(completion);

    if (completion->run == respond_run) {
        respond_run(completion);
        return;
    }
    if (!(handle->in.flags & HG_MESSAGE_FETCHED))
        hg_handle_ref(handle, 1);
    respond_with_code(handle, HG_NODEV);
    hg_handle_unref(handle, 1);
}

/* Responds also to a request without a response, since its origin keeps the
 * input until it was fetched. */
static void
fetched(struct hg_handle *handle, hg_return_t ret)
{
    if (ret != HG_SUCCESS || handle->no_response) {
        hg_return_t sent =
            claim_code(handle) ? send_code(handle, ret) : HG_BUSY;

        if (sent != HG_SUCCESS)
            HG_LOG_PEER(handle, WARNING,
                "cannot acknowledge the fetched arguments: %s",
                HG_Error_to_string(sent));
    }
    if (ret != HG_SUCCESS) {
        hg_handle_unref(handle, 1);
        return;
    }
    handle->in.flags |= HG_MESSAGE_FETCHED;
    queue_handler(handle);
}

/* Handles a cancel message. */
static bool
take_cancel(struct hg_handle *handle, size_t at, size_t length)
{
    struct hg_handle *transferring;

    if (!hg_cancel_message_take(
            handle, handle->in.buffer + at, length, &transferring))
        return false;
    if (transferring)
        hg_extra_cancel(transferring);
    return true;
}

static __attribute__((cold, noinline)) hg_return_t
malformed(struct hg_handle *handle, uint64_t length, hg_return_t ret)
{
    handle->rpc = NULL; /* that of the request before */
    handle->info.id = 0;
    HG_LOG_PEER(handle, WARNING, "malformed request of %llu bytes dropped: %s",
        (unsigned long long) length, HG_Error_to_string(ret));
    hg_count_dropped(handle->hg_class);
    return ret;
}

/* Takes a received message as a request. NOENTRY, OPNOTSUPPORTED (another
 * version), PROTOCOL_ERROR, CANCELED (a cancel message): there is no handler to
 * run. */
static hg_return_t
take_request(struct hg_handle *handle, const na_plugin_event *event)
{
    struct hg_class *hg_class = handle->hg_class;
    size_t at = handle->port->net.in_payload - HG_HEADER_REQUEST_SIZE;
    size_t length = event->length - at;
    struct hg_header_request header = {0};
    hg_return_t ret = HG_PROTOCOL_ERROR;

    /* Also false for less than the transport's header: length wraps. */
    if (__builtin_expect(length <= handle->port->net.in_room, 1))
        ret = hg_header_request_decode(handle->in.buffer + at, length, &header);
    handle->cookie = header.cookie;
    handle->tag = event->tag;
    if (ret != HG_SUCCESS) {
        if (event->length > handle->port->net.in_size)
            return (hg_return_t) na_event_too_long(
                handle->port->na_context, event, handle->port->net.in_size);
        if (event->length >= at && take_cancel(handle, at, length))
            return HG_CANCELED;
        return malformed(handle, event->length, ret);
    }
    handle->no_response = header.flags & HG_HEADER_NO_RESPONSE;
    handle->in.size = header.payload_size;
    handle->in.flags = (header.flags & (uint8_t) ~HG_HEADER_NO_RESPONSE) |
                       hg_class->take_flags;
    handle->info.id = header.id;
    handle->info.context_id = header.context_id;
    handle->rpc = hg_registry_find(&hg_class->registry, header.id);
    if (__builtin_expect(base_is_observed(), 0))
        hg_stage_received(handle);
    if (!handle->rpc || !handle->rpc->handler) {
        HG_LOG_PEER(handle, WARNING, "RPC not registered");
        return HG_NOENTRY;
    }
    return HG_SUCCESS;
}

/* Reports a request that cannot be run to its origin, if possible; then the
 * handle is free again. */
static void
refuse(struct hg_handle *handle, hg_return_t ret)
{
    atomic_store_explicit(&handle->refs, 1, memory_order_relaxed);
    if (ret == HG_NOENTRY && handle->no_response &&
        handle->in.flags & HG_HEADER_MORE && claim_code(handle))
        send_code(handle, ret); /* the origin need not keep its input */
    else if (ret == HG_NOENTRY)
        respond_with_code(handle, ret);
    else if (ret == HG_OPNOTSUPPORTED)
        respond_with_code(handle, HG_PROTOCOL_ERROR);
    hg_handle_unref(handle, 1);
}

/* Handles a request with flags. Returns true if its payload is being fetched.
 */
static __attribute__((cold, noinline)) bool
take_flagged(struct hg_handle *handle)
{
    struct hg_message *message = &handle->in;

    if (message->flags & HG_HEADER_PAYLOAD_SUM)
        hg_checksum_note(message, message->payload - HG_HEADER_REQUEST_SIZE,
            HG_HEADER_REQUEST_SIZE);
    atomic_store_explicit(&handle->refs, 0, memory_order_relaxed);
    /* loopback.c delivers the extra payload with the message. */
    if (!(message->flags & HG_HEADER_MORE) || message->extra)
        return false;
    atomic_store_explicit(&handle->refs, 1, memory_order_relaxed);
    hg_extra_fetch(handle);
    return true;
}

/* A message has arrived that may be a request of any kind, or none. */
static __attribute__((noinline)) void
take(struct hg_handle *handle, const na_plugin_event *event)
{
    hg_return_t ret;

    atomic_store_explicit(&handle->state, HG_HANDLE_USED, memory_order_relaxed);
    handle->peer.addr = event->source;
    handle->no_response = false;
    handle->info.context_id = 0;
    ret = take_request(handle, event);
    if (ret != HG_SUCCESS) {
        refuse(handle, ret);
        return;
    }
    if (__builtin_expect(handle->in.flags != 0, 0) && take_flagged(handle))
        return;
    queue_handler(handle);
}

/* Takes a request without flags, of the same RPC as this handle's last one.
 * Returns false, without having changed anything, if it is another event. */
static inline __attribute__((always_inline)) bool
take_plain(struct hg_handle *handle, const na_plugin_event *event)
{
    const struct hg_class *hg_class = handle->hg_class;
    const struct hg_net *net = &handle->port->net;
    const char *header = handle->in.payload - HG_HEADER_REQUEST_SIZE;
    struct hg_header_request request;
    /* Less than the header: a large number. */
    size_t length = event->length - net->in_payload;

    if (na_event_state(event) != NA_EVENT_MESSAGE || !event->source ||
        length > net->in_most ||
        !hg_header_request_decode_plain(header, length, &request) ||
        !hg_rpc_serves(handle->rpc, request.id) || hg_class->take_flags != 0 ||
        base_is_observed())
        return false;
    atomic_store_explicit(&handle->state, HG_HANDLE_USED, memory_order_relaxed);
    handle->peer.addr = event->source;
    handle->tag = event->tag;
    handle->cookie = request.cookie;
    handle->no_response = false;
    handle->in.size = request.payload_size;
    handle->in.flags = 0;
    handle->info.context_id = request.context_id;
    return true;
}

/* The receive completed without a message, or with an invalid event. */
static __attribute__((cold, noinline)) void
request_not_received(struct hg_handle *handle, const na_plugin_event *event)
{
    struct na_context *na_context = handle->port->na_context;
    na_return_t ret =
        na_event_message(na_context, event, handle->port->net.in_size);

    if (ret == NA_SUCCESS)
        ret = na_event_wrong_origin(na_context, event);
    if (ret != NA_CANCELED && !na_context_is_dead(na_context))
        LOG_WARNING(HG, "request not received: %s", NA_Error_to_string(ret));
    handle->side->released(handle);
}

/* Takes any event of a receive. last: no other receive is posted. */
static __attribute__((noinline)) void
receive(struct hg_handle *handle, const na_plugin_event *event, bool last)
{
    if (last)
        hg_refill_request(handle->context, handle->port);
    if (na_event_state(event) == NA_EVENT_MESSAGE && event->source)
        take(handle, event);
    else
        request_not_received(handle, event);
}

/* Calls nothing on the common path, so that it saves no registers. */
static void
request_received(struct na_op *op, const na_plugin_event *event)
{
    struct hg_handle *handle = op->owner;
    bool last = !handle->local && hg_single_taken(handle->port);

    if (__builtin_expect(!last && take_plain(handle, event), 1))
        queue_handler(handle);
    else
        receive(handle, event, last);
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

/* The slow path of HG_Respond after encoding, with result ret, has failed or
 * did not fit into the message. */
static __attribute__((cold, noinline)) hg_return_t
encoded_flagged(struct hg_handle *handle, hg_return_t ret)
{
    if (handle->out.proc.extra)
        ret = put_extra(handle, ret);
    if (ret == HG_SUCCESS)
        return respond(handle, HG_SUCCESS);
    hg_extra_drop(handle, &handle->out);
    hg_call_event(&handle->call, HG_CALL_ON_REVOKED, 0);
    return ret;
}

/* HG_Respond after the response was claimed. */
static __attribute__((noinline)) hg_return_t
respond_claimed(
    struct hg_handle *handle, hg_cb_t callback, void *arg, void *out_struct)
{
    hg_return_t ret;

    handle->callback = callback;
    handle->arg = arg;
    atomic_store_explicit(&handle->call.ret, HG_SUCCESS, memory_order_relaxed);
    ret = hg_message_encode(&handle->out, handle->hg_class->out_offset,
        handle->out.buffer + handle->port->net.out_size, handle->rpc->out_proc,
        out_struct);
    if (__builtin_expect(ret != HG_SUCCESS || handle->out.proc.extra, 0))
        return encoded_flagged(handle, ret);
    return respond_plain(handle);
}

static __attribute__((noinline, cold)) hg_return_t
respond_unless_claimed(
    struct hg_handle *handle, hg_cb_t callback, void *arg, void *out_struct)
{
    if (hg_call_event_rare(&handle->call,
            callback ? HG_CALL_ON_CLAIM_CALLBACK : HG_CALL_ON_CLAIM,
            0) == HG_CALL_REFUSED)
        return HG_BUSY;
    return respond_claimed(handle, callback, arg, out_struct);
}

/* Calls nothing but what comes next, so that it saves no registers. */
hg_return_t
HG_Respond(hg_handle_t handle, hg_cb_t callback, void *arg, void *out_struct)
{
    if (!handle || handle->role != HG_ROLE_TARGET || !handle->rpc)
        return HG_INVALID_ARG;
    if (handle->no_response ||
        atomic_load_explicit(&handle->rpc->no_response, memory_order_relaxed))
        return HG_OPNOTSUPPORTED;
    if (__builtin_expect(
            !hg_call_claim_open(&handle->call, callback ? HG_CALL_CALLBACK : 0),
            0))
        return respond_unless_claimed(handle, callback, arg, out_struct);
    return respond_claimed(handle, callback, arg, out_struct);
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

const struct hg_side hg_target_side = {.role = HG_ROLE_TARGET,
    .prepare = prepare,
    .take = take,
    .released = hg_single_released,
    .fetched = fetched,
    .acknowledged = acknowledged};

const struct hg_side hg_multi_side = {.role = HG_ROLE_TARGET,
    .prepare = prepare,
    .take = take,
    .released = hg_multi_released,
    .fetched = fetched,
    .acknowledged = acknowledged};

const struct hg_side hg_local_side = {.role = HG_ROLE_TARGET,
    .prepare = prepare,
    .take = take,
    .released = hg_loopback_released,
    .fetched = fetched,
    .acknowledged = acknowledged};
