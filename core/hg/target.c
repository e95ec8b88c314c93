/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side: the usual path of a request and its response. What is not
 * plain about them is in target_take.c and target_respond.c; target_handler.c
 * runs the handler. Requests arrive through single_recv.c, multi_recv.c and
 * loopback.c. */
#include "hg/target.h"

#include "base/same.h"
#include "base/watch.h"
#include "hg/loopback.h"
#include "hg/multi_recv.h"
#include "hg/single_recv.h"
#include "hg/target_handler.h"
#include "hg/target_respond.h"
#include "hg/target_take.h"
#include "rt/submit.h"

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
        !handle->rpc || handle->rpc->id != request.id ||
        (hg_rpc_gone(handle->rpc) | hg_class->take_flags | base_observed()))
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

/* Calls nothing on the common path, so that it saves no registers. */
static void
request_received(struct na_op *op, const na_plugin_event *event)
{
    struct hg_handle *handle = op->owner;
    bool last =
        __builtin_expect(!handle->local, 1) && hg_single_taken(handle->port);

    if (__builtin_expect(!last && take_plain(handle, event), 1))
        hg_target_queue_handler(handle);
    else
        hg_target_receive(handle, event, last);
}

static inline __attribute__((always_inline)) int32_t
send_response(struct hg_handle *handle)
{
    struct rt_endpoint at = rt_endpoint(handle->port->na_context);

    return rt_send_expected(at, handle->send, handle->out.buffer,
        handle->port->net.out_payload + handle->out.size,
        handle->out.buffer_data, handle->peer.addr, handle->info.context_id,
        handle->tag);
}

/* Sends a plain response outside of the handler of its request: with a reference
 * also during submission, since the peer may get the response and make the program
 * drop the last other one. */
static __attribute__((noinline)) hg_return_t
respond_outside(struct hg_handle *handle)
{
    hg_handle_ref(handle, HG_REF_ANSWER);
    return hg_target_submitted(handle, send_response(handle));
}

/* From top to bottom what a plain response to another class takes: one without
 * flags, an extra payload or an error. All else is at the end, out of line. Only
 * the handle is used after the proc, so that few registers are saved. */
hg_return_t
HG_Respond(hg_handle_t handle, hg_cb_t callback, void *arg, void *out_struct)
{
    uint32_t claimed;
    hg_return_t ret;
    int32_t code;

    if (!handle || handle->role != HG_ROLE_TARGET || !handle->rpc)
        return HG_INVALID_ARG;
    if ((uint8_t) (handle->no_response + hg_rpc_has_no_response(handle->rpc)))
        return HG_OPNOTSUPPORTED;
    claimed = HG_CALL_CLAIMED;
    if (callback)
        claimed |= HG_CALL_CALLBACK;
    if (__builtin_expect(
            !hg_call_claim_open(&handle->call, claimed, handle->single), 0))
        goto flagged;
    handle->callback = callback;
    handle->arg = arg;
    ret = hg_message_encode(&handle->out, handle->hg_class->out_offset,
        handle->out.end, handle->rpc->out_proc, out_struct);
    handle = base_same(handle);
    if (__builtin_expect(!hg_message_encoded(&handle->out, ret), 0))
        goto spilled;
    if (__builtin_expect(
            handle->special & (HG_SPECIAL_CALLS | HG_SPECIAL_EXTRA), 0))
        goto special;
    hg_header_response_encode(handle->out.payload - HG_HEADER_RESPONSE_SIZE,
        &(struct hg_header_response){
            .cookie = handle->cookie, .payload_size = handle->out.size});
    if (__builtin_expect(!hg_handle_runs_here(handle), 0))
        goto outside;
    /* No reference is needed before the response is pending, or its callback is
     * queued. */
    code = send_response(handle);
    handle = base_same(handle);
    if (__builtin_expect(code != NA_PLUGIN_DONE || handle->callback != NULL, 0))
        goto submitted;
    hg_call_answered(&handle->call);
    return HG_SUCCESS;

spilled:
    return hg_target_respond_spilled(handle, ret);
special:
    return hg_target_respond(handle, HG_SUCCESS);
outside:
    return respond_outside(handle);
submitted:
    /* For a response that is pending, or was not sent, or has a callback. */
    hg_handle_ref(handle, HG_REF_ANSWER);
    return hg_target_submitted(handle, code);
flagged:
    return hg_target_respond_flagged(handle, callback, arg, out_struct);
}

static void
prepare(struct hg_handle *handle)
{
    na_peer_set(&handle->peer, handle->port->net.na_class, NULL);
    handle->peer.self = handle->side == &hg_local_side;
    handle->info.addr = &handle->peer;
    handle->recv->complete = request_received;
    handle->send->complete = hg_target_sent;
}

const struct hg_side hg_target_side = {.role = HG_ROLE_TARGET,
    .prepare = prepare,
    .take = hg_target_take,
    .released = hg_single_released,
    .fetched = hg_target_fetched,
    .acknowledged = hg_target_acknowledged};

const struct hg_side hg_multi_side = {.role = HG_ROLE_TARGET,
    .prepare = prepare,
    .take = hg_target_take,
    .released = hg_multi_released,
    .fetched = hg_target_fetched,
    .acknowledged = hg_target_acknowledged};

const struct hg_side hg_local_side = {.role = HG_ROLE_TARGET,
    .prepare = prepare,
    .take = hg_target_take,
    .released = hg_loopback_released,
    .fetched = hg_target_fetched,
    .acknowledged = hg_target_acknowledged};
