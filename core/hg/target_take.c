/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of any kind, and what arrives instead. */
#include "hg/target_take.h"

#include "base/log.h"
#include "base/watch.h"
#include "hg/cancel_message.h"
#include "hg/checksum.h"
#include "hg/extra.h"
#include "hg/peer_log.h"
#include "hg/refill.h"
#include "hg/stage.h"
#include "hg/target_handler.h"
#include "hg/target_respond.h"
#include "na.h"

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
        handle->in.flags & HG_HEADER_MORE)
        /* The origin need not keep its input. */
        hg_target_send_code(handle, ret);
    else if (ret == HG_NOENTRY)
        hg_target_respond_code(handle, ret);
    else if (ret == HG_OPNOTSUPPORTED)
        hg_target_respond_code(handle, HG_PROTOCOL_ERROR);
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

void
hg_target_take(struct hg_handle *handle, const na_plugin_event *event)
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
    hg_target_queue_handler(handle);
}

/* The receive completed without a message, or with an invalid event. */
static __attribute__((cold, noinline)) void
not_received(struct hg_handle *handle, const na_plugin_event *event)
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

void
hg_target_receive(
    struct hg_handle *handle, const na_plugin_event *event, bool last)
{
    if (last)
        hg_refill_request(handle->context, handle->port);
    if (na_event_state(event) == NA_EVENT_MESSAGE && event->source)
        hg_target_take(handle, event);
    else
        not_received(handle, event);
}

/* Responds also to a request without a response, since its origin keeps the
 * input until it was fetched. */
void
hg_target_fetched(struct hg_handle *handle, hg_return_t ret)
{
    if (ret != HG_SUCCESS || handle->no_response) {
        hg_return_t sent = hg_target_send_code(handle, ret);

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
    hg_target_queue_handler(handle);
}
