/* SPDX-License-Identifier: BSD-3-Clause */
/* Acknowledgements of responses whose payload is fetched. */
#include "hg/ack.h"

#include "base/time.h"
#include "hg/cancel_message.h"
#include "hg/peer_log.h"
#include "hg/rendezvous.h"
#include "na.h"
#include "na/call.h"
#include "rt/submit.h"

#include <stdlib.h>

#define SEND_TRIES 3U

static size_t
header_size(const struct hg_handle *handle)
{
    return handle->port->net.na_class->opened.expected_header_size;
}

/* One block: the struct, its operation, its buffer. */
static hg_return_t
create(struct hg_handle *handle, uint32_t tag, uint32_t cookie)
{
    size_t end = sizeof(struct hg_ack);
    size_t op_at = na_op_layout(handle->port->net.na_class, &end);
    struct hg_ack *ack =
        na_op_block_alloc(end + header_size(handle) + HG_HEADER_ACK_SIZE);

    if (!ack)
        return HG_NOMEM;
    ack->handle = handle;
    ack->op = (struct na_op *) ((char *) ack + op_at);
    ack->op->owner = ack;
    ack->buffer = (char *) ack + end;
    ack->tag = tag;
    ack->cookie = cookie;
    handle->ack = ack;
    return HG_SUCCESS;
}

static void
drop(struct hg_handle *handle)
{
    free(handle->ack);
    handle->ack = NULL;
}

static na_return_t
post(struct hg_ack *ack)
{
    const struct hg_handle *handle = ack->handle;
    int32_t code = rt_recv_expected(rt_endpoint(handle->port->na_context),
        ack->op, ack->buffer, header_size(handle) + HG_HEADER_ACK_SIZE, NULL,
        handle->peer.addr, handle->info.context_id, ack->tag);

    return code == NA_PLUGIN_PENDING
               ? NA_SUCCESS
               : na_submission_failed(
                     handle->port->na_context, "recv_expected", code);
}

/* Returns false if the message is not the acknowledgement of this response. */
static bool
take(const struct hg_ack *ack, uint64_t length)
{
    struct hg_handle *handle = ack->handle;
    size_t at = header_size(handle);
    struct hg_header_ack header = {0};
    hg_return_t ret = HG_PROTOCOL_ERROR;

    if (length >= at)
        ret = hg_header_ack_decode(ack->buffer + at, length - at, &header);
    if (ret != HG_SUCCESS)
        HG_LOG_PEER(handle, WARNING,
            "malformed acknowledgement of %llu bytes: %s",
            (unsigned long long) length, HG_Error_to_string(ret));
    if (ret != HG_SUCCESS || header.cookie != ack->cookie)
        hg_count_dropped(handle->context->hg_class);
    if (ret == HG_SUCCESS && header.cookie != ack->cookie)
        return false;
    hg_call_record(&handle->call, ret == HG_SUCCESS ? header.ret : ret);
    return true;
}

static void
received(struct na_op *op, const na_plugin_event *event)
{
    struct hg_ack *ack = op->owner;
    struct hg_handle *handle = ack->handle;
    na_return_t ret = na_event_message(handle->port->na_context, event,
        header_size(handle) + HG_HEADER_ACK_SIZE);

    if (ret != NA_SUCCESS) {
        hg_call_record(&handle->call, (hg_return_t) ret);
    } else if (!take(ack, event->length)) {
        ret = ack->ending ? NA_CANCELED : post(ack);
        if (ret == NA_SUCCESS)
            return;
        hg_call_record(&handle->call, (hg_return_t) ret);
    }
    atomic_store_explicit(&handle->awaiting_ack, false, memory_order_relaxed);
    handle->side->acknowledged(handle);
}

hg_return_t
hg_ack_await(struct hg_handle *handle, uint32_t tag, uint32_t cookie)
{
    struct na_progress *progress = hg_context_na(handle->context)->progress;
    uint64_t limit = handle->context->hg_class->limits.ack_ms;
    struct hg_ack *ack;
    na_return_t ret;

    if (create(handle, tag, cookie) != HG_SUCCESS)
        return HG_NOMEM;
    ack = handle->ack;
    atomic_store_explicit(&ack->pending, 2, memory_order_relaxed);
    ack->op->complete = received;
    /* Under the lock, so that a cancel sees the receive and the flag together.
     */
    na_progress_acquire(progress);
    ret = hg_cancel_message_received(handle) ? NA_CANCELED : post(ack);
    if (ret == NA_SUCCESS)
        atomic_store_explicit(
            &handle->awaiting_ack, true, memory_order_relaxed);
    /* If the timer cannot be allocated, the wait has no timeout. */
    if (ret == NA_SUCCESS && limit > 0)
        hg_handle_timer_start(handle, hg_call_generation(&handle->call),
            base_time_now() + limit * BASE_TIME_MS);
    na_progress_release(progress);
    return (hg_return_t) ret;
}

static void
end_receive(struct hg_ack *ack)
{
    ack->ending = true;
    rt_cancel(ack->handle->port->na_context, ack->op);
}

/* The receive of hg_ack_unsent has completed: drops the reference taken there. */
static void
unsent_ended(struct na_op *op, const na_plugin_event *event)
{
    struct hg_ack *ack = op->owner;
    struct hg_handle *handle = ack->handle;

    free(ack);
    hg_handle_unref(handle, 1);
}

void
hg_ack_unsent(struct hg_handle *handle)
{
    struct na_progress *progress = hg_context_na(handle->context)->progress;
    struct hg_ack *ack = handle->ack;

    na_progress_acquire(progress);
    /* The receive may have completed already. */
    if (atomic_load_explicit(&handle->awaiting_ack, memory_order_relaxed)) {
        atomic_store_explicit(
            &handle->awaiting_ack, false, memory_order_relaxed);
        hg_handle_ref(handle, 1);
        ack->op->complete = unsent_ended;
        end_receive(ack);
        handle->ack = NULL;
    }
    na_progress_release(progress);
    drop(handle);
}

bool
hg_ack_op_ended(struct hg_handle *handle)
{
    struct hg_ack *ack = handle->ack;

    if (!ack)
        return true;
    /* Release and acquire: what both operations did comes before the end. */
    if (atomic_fetch_sub_explicit(&ack->pending, 1, memory_order_acq_rel) != 1)
        return false;
    drop(handle);
    hg_rendezvous_withdraw(hg_rendezvous_of(&handle->out));
    return true;
}

void
hg_ack_cancel(struct hg_handle *handle)
{
    if (atomic_load_explicit(&handle->awaiting_ack, memory_order_relaxed))
        end_receive(handle->ack);
}

hg_return_t
hg_ack_announced(struct hg_handle *handle, uint32_t tag, uint32_t cookie)
{
    return create(handle, tag & (uint32_t) handle->port->net.tag_mask, cookie);
}

static int32_t
submit(struct hg_ack *ack)
{
    struct hg_handle *handle = ack->handle;

    return rt_send_expected(rt_endpoint(handle->port->na_context), ack->op,
        ack->buffer, header_size(handle) + HG_HEADER_ACK_SIZE, NULL,
        handle->peer.addr, handle->target_id, ack->tag);
}

/* Completes a send. A failed one is repeated, since the target waits for
 * nothing else. If it cannot be sent at all, the origin sends a cancel message
 * instead, as if no response had arrived. */
static void
finish(struct hg_handle *handle, int32_t code)
{
    struct hg_ack *ack = handle->ack;

    while (code < 0 && ack->tries++ < SEND_TRIES)
        code = submit(ack);
    if (code == NA_PLUGIN_PENDING)
        return;
    if (code != NA_PLUGIN_DONE) {
        HG_LOG_PEER(handle, WARNING, "cannot acknowledge the answer: %s",
            NA_Error_to_string(na_submission_failed(
                handle->port->na_context, "send_expected", code)));
        hg_call_forget(&handle->call, HG_CALL_IS_ANSWERED);
    }
    drop(handle);
    handle->side->fetched(handle, HG_SUCCESS);
}

static void
sent(struct na_op *op, const na_plugin_event *event)
{
    struct hg_handle *handle = ((struct hg_ack *) op->owner)->handle;
    na_return_t ret = na_event_code(handle->port->na_context, event);

    finish(handle, ret == NA_SUCCESS ? NA_PLUGIN_DONE : -(int32_t) ret);
}

void
hg_ack_send(struct hg_handle *handle, hg_return_t ret)
{
    const struct hg_header_ack header = {
        .flags = handle->context->hg_class->checksum_flags & HG_HEADER_SUM,
        .cookie = handle->ack->cookie,
        .ret = ret};
    size_t at = header_size(handle);
    struct hg_ack *ack = handle->ack;

    hg_header_ack_encode(ack->buffer + at, &header);
    ack->op->complete = sent;
    finish(handle,
        na_buf_init(handle->port->net.na_class, ack->buffer,
            at + HG_HEADER_ACK_SIZE, NA_PLUGIN_MSG_EXPECTED) == NA_SUCCESS
            ? submit(ack)
            : NA_PLUGIN_E_MSGSIZE);
}
