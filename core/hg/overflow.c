/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments that are too large for a message: keeping them, fetching them,
 * acknowledging that. */
#include "hg/overflow.h"

#include "base/log.h"
#include "base/time.h"
#include "bulk/op.h"
#include "hg/abandon.h"
#include "hg/handle.h"
#include "hg/peer_log.h"
#include "na.h"
#include "na/call.h"
#include "rt/submit.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* Whoever withdraws the memory changes its end first. Who has fetched it, the
 * end last, and finds that as announced, has got all of it in time, also where
 * the transport goes on reading what is not registered any more. */
#define SEAL_SIZE sizeof(uint64_t)

#define ACK_TRIES 3U

/* With room for an acknowledgement and its operation. */
static struct hg_overflow *
create(struct hg_handle *handle)
{
    const struct na_class *na_class = handle->port->net.na_class;
    size_t end = sizeof(struct hg_overflow);
    size_t ack_at = na_op_layout(na_class, &end);
    struct hg_overflow *overflow = na_op_block_alloc(
        end + na_class->opened.expected_header_size + HG_HEADER_ACK_SIZE);

    if (!overflow) {
        LOG_ERROR(HG, "no memory for arguments beyond their message");
        return NULL;
    }
    overflow->handle = handle;
    atomic_init(&overflow->refs, 1);
    overflow->ack = (struct na_op *) ((char *) overflow + ack_at);
    overflow->ack->owner = overflow;
    overflow->ack_buffer = (char *) overflow + end;
    return overflow;
}

static void
destroy(struct hg_overflow *overflow)
{
    /* Release and acquire: what was done through the other messages comes
     * before the end. */
    if (atomic_fetch_sub_explicit(&overflow->refs, 1, memory_order_acq_rel) !=
        1)
        return;
    hg_overflow_withdraw(overflow);
    if (overflow->hold.bytes > 0)
        hg_hold_release(&overflow->hold, &overflow->handle->context->holds);
    if (!overflow->callers)
        free(overflow->data);
    free(overflow);
}

void
hg_overflow_drop(struct hg_message *message)
{
    struct hg_overflow *overflow = message->overflow;

    message->overflow = NULL;
    if (overflow)
        destroy(overflow);
}

void
hg_overflow_clear(struct hg_handle *handle)
{
    hg_overflow_drop(&handle->in);
    hg_overflow_drop(&handle->out);
}

void
hg_overflow_share(const struct hg_message *message, struct hg_message *other)
{
    atomic_fetch_add_explicit(
        &message->overflow->refs, 1, memory_order_relaxed);
    other->overflow = message->overflow;
}

void
hg_overflow_withdraw(struct hg_overflow *overflow)
{
    if (!overflow->bulk)
        return;
    memset(overflow->data + overflow->size, 0, SEAL_SIZE);
    HG_Bulk_free(overflow->bulk);
    overflow->bulk = NULL;
}

/* Not 0, and not that of what was at the same place before. */
static uint64_t
make_seal(const struct hg_overflow *overflow)
{
    uint64_t mix = base_time_now() ^ (uint64_t) (uintptr_t) overflow << 20;

    return (mix * 0x9e3779b97f4a7c15U) | 1; /* 2^64 / the golden ratio */
}

/* *held_p: all of the bytes that stay allocated. */
static hg_return_t
take_over(struct hg_overflow *overflow, struct hg_proc *proc, hg_size_t *held_p)
{
    uint64_t wire;
    char *end = hg_proc_save_ptr(proc, SEAL_SIZE);

    if (!end)
        return HG_NOMEM;
    overflow->seal = make_seal(overflow);
    wire = htole64(overflow->seal);
    memcpy(end, &wire, SEAL_SIZE);
    overflow->size = proc_used(proc) - SEAL_SIZE;
    *held_p = hg_proc_get_extra_size(proc);
    overflow->data = proc_take_extra(proc, &overflow->callers);
    return HG_SUCCESS;
}

/* An acknowledgement has a tag of the answering side's own handles. */
static void
choose_tag(struct hg_overflow *overflow)
{
    struct hg_handle *handle = overflow->handle;

    overflow->cookie = ++handle->ack_count;
    overflow->tag = (uint32_t) hg_handle_tag(handle, overflow->cookie);
}

/* Registers the memory and writes the reference to it. */
static hg_return_t
refer(struct hg_overflow *overflow, struct hg_message *message, size_t offset,
    size_t capacity)
{
    struct hg_header_more more = {.seal = overflow->seal};
    hg_size_t size = overflow->size + SEAL_SIZE, length;
    void *data = overflow->data;
    hg_return_t ret = HG_Bulk_create(overflow->handle->info.hg_class, 1, &data,
        &size, HG_BULK_READ_ONLY, &overflow->bulk);

    if (ret != HG_SUCCESS)
        return ret;
    length = HG_Bulk_get_serialize_size(overflow->bulk, 0);
    if (length + HG_HEADER_MORE_SIZE > capacity - offset) {
        LOG_ERROR(HG,
            "%zu bytes beside the user's %zu do not even hold a reference to "
            "encoded arguments of %zu bytes",
            capacity - offset, offset, overflow->size);
        return HG_OVERFLOW;
    }
    if (overflow->handle->role == HG_ROLE_TARGET)
        choose_tag(overflow);
    more.tag = overflow->tag;
    more.cookie = overflow->cookie;
    hg_header_more_encode(message->payload + offset, &more);
    message->size = offset + HG_HEADER_MORE_SIZE + length;
    return HG_Bulk_serialize(message->payload + offset + HG_HEADER_MORE_SIZE,
        length, 0, overflow->bulk);
}

/* The other side of a message to oneself shares the memory, perhaps for
 * longer than its caller keeps it. */
static hg_return_t
own(struct hg_overflow *overflow)
{
    char *data;

    atomic_store_explicit(&overflow->parts, 1, memory_order_relaxed);
    if (!overflow->callers)
        return HG_SUCCESS;
    data = malloc(overflow->size);
    if (!data)
        return HG_NOMEM;
    memcpy(data, overflow->data, overflow->size);
    overflow->data = data;
    overflow->callers = false;
    return HG_SUCCESS;
}

/* Counts size bytes and the handle's buffers. An origin has asked for what it
 * gets. */
static hg_return_t
hold(struct hg_overflow *overflow, size_t size)
{
    const struct hg_handle *handle = overflow->handle;
    const struct hg_net *net = &handle->port->net;

    return hg_hold_take(&overflow->hold, &handle->context->holds,
        handle->role == HG_ROLE_TARGET ? &handle->peer : NULL, size,
        handle->context->hg_class->handle_size + net->in_size + net->out_size);
}

hg_return_t
hg_overflow_keep(struct hg_message *message, size_t offset, size_t capacity)
{
    struct hg_handle *handle = message->proc.handle;
    hg_size_t held = 0;
    hg_return_t ret = HG_NOMEM;

    if (handle->context->hg_class->no_overflow) {
        LOG_ERROR(HG,
            "encoded arguments take %zu bytes, at most %zu fit and no_overflow "
            "is set",
            proc_used(&message->proc), capacity - offset);
        return HG_OVERFLOW;
    }
    message->flags = HG_HEADER_MORE;
    message->overflow = create(handle);
    if (message->overflow)
        ret = take_over(message->overflow, &message->proc, &held);
    /* Its origin may never acknowledge it. */
    if (ret == HG_SUCCESS && handle->role == HG_ROLE_TARGET && !handle->local)
        ret = hold(message->overflow, held);
    if (ret == HG_SUCCESS && (handle->loopback || handle->local))
        ret = own(message->overflow);
    else if (ret == HG_SUCCESS)
        ret = refer(message->overflow, message, offset, capacity);
    if (ret != HG_SUCCESS)
        hg_overflow_drop(message);
    return ret;
}

/* Ends the fetching of a handle's arguments, at either side. */
static void
tell_fetched(struct hg_handle *handle, hg_return_t ret)
{
    handle->side->fetched(handle, ret);
}

static int32_t
send_ack(struct hg_overflow *overflow)
{
    struct hg_handle *handle = overflow->handle;
    struct na_class *na_class = handle->port->net.na_class;

    return rt_send_expected(rt_endpoint(hg_handle_na(handle)), overflow->ack,
        overflow->ack_buffer,
        na_class->opened.expected_header_size + HG_HEADER_ACK_SIZE, NULL,
        handle->peer.addr, handle->target_id, overflow->tag);
}

/* Nobody acknowledges the answer: an origin whose forward fails gives its
 * request up instead, as if nothing had come. */
static void
tell_in_vain(struct hg_handle *handle, hg_return_t ret)
{
    if (handle->role == HG_ROLE_ORIGIN)
        hg_call_forget(&handle->call, HG_CALL_IS_ANSWERED);
    tell_fetched(handle, ret);
}

/* Sends the acknowledgement, again if it failed, since the target waits for
 * nothing else; then the origin's side is done with the answer. */
static void
send_acks(struct hg_overflow *overflow, int32_t code)
{
    while (code < 0 && overflow->ack_tries++ < ACK_TRIES)
        code = send_ack(overflow);
    if (code == NA_PLUGIN_PENDING)
        return;
    if (code == NA_PLUGIN_DONE) {
        tell_fetched(overflow->handle, HG_SUCCESS);
        return;
    }
    HG_LOG_PEER(overflow->handle, WARNING, "cannot acknowledge the answer: %s",
        NA_Error_to_string(na_submission_failed(
            overflow->handle->port->na_context, "send_expected", code)));
    tell_in_vain(overflow->handle, HG_SUCCESS);
}

static void
ack_sent(struct na_op *op, const na_plugin_event *event)
{
    struct hg_overflow *overflow = op->owner;
    na_return_t ret = na_event_code(overflow->handle->port->na_context, event);

    send_acks(overflow, ret == NA_SUCCESS ? NA_PLUGIN_DONE : -(int32_t) ret);
}

/* Tells the target how fetching its answer went. */
static void
acknowledge(struct hg_overflow *overflow, hg_return_t ret)
{
    const struct hg_header_ack ack = {
        .flags =
            overflow->handle->context->hg_class->checksum_flags & HG_HEADER_SUM,
        .cookie = overflow->cookie,
        .ret = ret};
    struct na_class *na_class = overflow->handle->port->net.na_class;
    uint64_t header = na_class->opened.expected_header_size;

    hg_header_ack_encode(overflow->ack_buffer + header, &ack);
    overflow->ack->complete = ack_sent;
    send_acks(overflow,
        na_buf_init(na_class, overflow->ack_buffer, header + HG_HEADER_ACK_SIZE,
            NA_PLUGIN_MSG_EXPECTED) == NA_SUCCESS
            ? send_ack(overflow)
            : NA_PLUGIN_E_MSGSIZE);
}

static bool
sealed(const struct hg_overflow *overflow)
{
    uint64_t wire;

    memcpy(&wire, overflow->data + overflow->size, SEAL_SIZE);
    return le64toh(wire) == overflow->seal;
}

/* The transfer has ended, or there was none. */
static void
fetched(void *arg, hg_return_t ret)
{
    struct hg_overflow *overflow = arg;
    struct hg_handle *handle = overflow->handle;

    atomic_store_explicit(&handle->moving, NULL, memory_order_relaxed);
    if (ret == HG_SUCCESS && !sealed(overflow)) {
        HG_LOG_PEER(handle, WARNING,
            "%zu bytes of arguments were withdrawn by their sender",
            overflow->size);
        hg_count_dropped(handle->context->hg_class);
        ret = HG_CANCELED;
    }
    HG_Bulk_free(overflow->bulk);
    overflow->bulk = NULL;
    if (handle->role == HG_ROLE_TARGET) {
        tell_fetched(handle, ret);
        return;
    }
    hg_call_record(&handle->call, ret);
    acknowledge(overflow, ret);
}

/* Memory for what a peer has announced. */
static hg_return_t
make_room(struct hg_overflow *overflow, const struct hg_bulk *remote)
{
    struct hg_context *context = overflow->handle->context;
    uint64_t most = context->hg_class->limits.overflow_max;
    hg_size_t size = remote->size;
    hg_return_t ret;
    void *data;

    if (size <= SEAL_SIZE) {
        HG_LOG_PEER(overflow->handle, WARNING,
            "malformed reference to %llu bytes of arguments",
            (unsigned long long) size);
        return HG_PROTOCOL_ERROR;
    }
    if (size > most)
        return hg_hold_refuse(&context->holds, HG_MSGSIZE, size, most);
    ret = hold(overflow, size);
    if (ret != HG_SUCCESS)
        return ret;
    data = malloc(size);
    if (!data) {
        LOG_ERROR(HG, "no memory for %llu bytes of arguments",
            (unsigned long long) size);
        return HG_NOMEM;
    }
    overflow->data = data;
    overflow->size = size - SEAL_SIZE;
    return HG_Bulk_create(overflow->handle->info.hg_class, 1, &data, &size,
        HG_BULK_WRITE_ONLY, &overflow->bulk);
}

/* Starts the transfer that a reference of that length, from bytes on, asks
 * for. As bulk_transfer_internal. */
static hg_return_t
start_fetch(struct hg_overflow *overflow, const void *bytes, size_t length,
    bool *pending_p)
{
    struct hg_handle *handle = overflow->handle;
    struct bulk_request request = {.op = HG_BULK_PULL,
        .origin_id = handle->info.context_id,
        .addr = &handle->peer};
    hg_return_t ret;

    *pending_p = false;
    ret = HG_Bulk_deserialize(
        handle->info.hg_class, &request.origin, bytes, length);
    /* Its sender writes nothing behind it. */
    if (ret == HG_SUCCESS && length != request.origin->wire_size) {
        HG_LOG_PEER(handle, WARNING,
            "a reference to arguments has %zu bytes too many",
            length - request.origin->wire_size);
        ret = HG_PROTOCOL_ERROR;
    }
    if (ret == HG_SUCCESS)
        ret = make_room(overflow, request.origin);
    if (ret == HG_PROTOCOL_ERROR)
        hg_count_dropped(handle->context->hg_class);
    if (ret == HG_SUCCESS) {
        request.local = overflow->bulk;
        request.size = request.local->size;
        ret = bulk_transfer_internal(&handle->context->bulk, &request, fetched,
            overflow, &overflow->fetch, pending_p);
    }
    HG_Bulk_free(request.origin);
    return ret;
}

void
hg_overflow_fetch(struct hg_handle *handle)
{
    const struct hg_class *hg_class = handle->context->hg_class;
    bool target = handle->role == HG_ROLE_TARGET, pending = false;
    struct hg_message *message = target ? &handle->in : &handle->out;
    size_t offset = target ? hg_class->in_offset : hg_class->out_offset;
    size_t size = message->size;
    struct hg_header_more more;
    hg_return_t ret = HG_CANCELED;

    if (size < offset + HG_HEADER_MORE_SIZE) {
        HG_LOG_PEER(handle, WARNING,
            "malformed reference to arguments: %zu bytes", size);
        hg_count_dropped(handle->context->hg_class);
        tell_in_vain(handle, HG_PROTOCOL_ERROR);
        return;
    }
    message->size = offset; /* what is left is the user's */
    message->overflow = create(handle);
    if (!message->overflow) {
        tell_in_vain(handle, HG_NOMEM);
        return;
    }
    hg_header_more_decode(message->payload + offset, &more);
    message->overflow->seal = more.seal;
    message->overflow->tag = more.tag & (uint32_t) handle->port->net.tag_mask;
    message->overflow->cookie = more.cookie;
    /* Under the lock of progress, as who reads it. */
    atomic_store_explicit(
        &handle->moving, message->overflow, memory_order_relaxed);
    /* Nobody wants an answer whose forward is about to end. */
    if (target || !hg_handle_is_ending(handle))
        ret = start_fetch(message->overflow,
            message->payload + offset + HG_HEADER_MORE_SIZE,
            size - offset - HG_HEADER_MORE_SIZE, &pending);
    if (!pending)
        fetched(message->overflow, ret);
}

bool
hg_overflow_part_ended(struct hg_overflow *overflow)
{
    /* Release and acquire: what either part did comes before the end. */
    if (atomic_fetch_sub_explicit(&overflow->parts, 1, memory_order_acq_rel) !=
        1)
        return false;
    hg_overflow_withdraw(overflow);
    return true;
}

static na_return_t
post_ack(struct hg_overflow *overflow)
{
    const struct hg_handle *handle = overflow->handle;
    const struct na_class *na_class = handle->port->net.na_class;
    int32_t code;

    code = rt_recv_expected(rt_endpoint(hg_handle_na(handle)), overflow->ack,
        overflow->ack_buffer,
        na_class->opened.expected_header_size + HG_HEADER_ACK_SIZE, NULL,
        handle->peer.addr, handle->info.context_id, overflow->tag);
    return code == NA_PLUGIN_PENDING
               ? NA_SUCCESS
               : na_submission_failed(
                     handle->port->na_context, "recv_expected", code);
}

/* false: not the acknowledgement of this answer. */
static bool
take_ack(struct hg_overflow *overflow, const na_plugin_event *event)
{
    struct hg_handle *handle = overflow->handle;
    size_t at = handle->port->net.na_class->opened.expected_header_size;
    struct hg_header_ack ack = {0};
    hg_return_t ret = HG_PROTOCOL_ERROR;

    if (event->length >= at)
        ret = hg_header_ack_decode(
            overflow->ack_buffer + at, event->length - at, &ack);
    if (ret != HG_SUCCESS)
        HG_LOG_PEER(handle, WARNING,
            "malformed acknowledgement of %llu bytes: %s",
            (unsigned long long) event->length, HG_Error_to_string(ret));
    if (ret != HG_SUCCESS || ack.cookie != overflow->cookie)
        hg_count_dropped(handle->context->hg_class);
    if (ret == HG_SUCCESS && ack.cookie != overflow->cookie)
        return false;
    hg_call_record(&handle->call, ret == HG_SUCCESS ? ack.ret : ret);
    return true;
}

static void
ack_received(struct na_op *op, const na_plugin_event *event)
{
    struct hg_overflow *overflow = op->owner;
    struct hg_handle *handle = overflow->handle;

    na_return_t ret = na_event_message(handle->port->na_context, event,
        handle->port->net.na_class->opened.expected_header_size +
            HG_HEADER_ACK_SIZE);

    if (ret != NA_SUCCESS) {
        hg_call_record(&handle->call, (hg_return_t) ret);
    } else if (!take_ack(overflow, event)) {
        ret = overflow->ending ? NA_CANCELED : post_ack(overflow);
        if (ret == NA_SUCCESS)
            return;
        hg_call_record(&handle->call, (hg_return_t) ret);
    }
    atomic_store_explicit(&handle->moving, NULL, memory_order_relaxed);
    handle->side->acknowledged(handle);
}

hg_return_t
hg_overflow_await(struct hg_handle *handle)
{
    struct na_progress *progress = hg_context_na(handle->context)->progress;
    uint64_t limit = handle->context->hg_class->limits.ack_ms;
    struct hg_overflow *overflow = handle->out.overflow;
    na_return_t ret;

    if (handle->local)
        return HG_SUCCESS; /* nobody fetches it */
    atomic_store_explicit(&overflow->parts, 2, memory_order_relaxed);
    overflow->ack->complete = ack_received;
    /* Under the lock, so that who cancels finds it whole, or gone. */
    na_progress_acquire(progress);
    ret = hg_abandon_known(handle) ? NA_CANCELED : post_ack(overflow);
    if (ret == NA_SUCCESS)
        atomic_store_explicit(&handle->moving, overflow, memory_order_relaxed);
    /* Without the memory for it the answer has no limit. */
    if (ret == NA_SUCCESS && limit > 0)
        hg_handle_timer_start(handle, hg_call_generation(&handle->call),
            base_time_now() + limit * BASE_TIME_MS);
    na_progress_release(progress);
    return (hg_return_t) ret;
}

static void
end_ack(struct hg_overflow *overflow)
{
    struct hg_handle *handle = overflow->handle;

    overflow->ending = true;
    rt_cancel(hg_handle_na(handle), overflow->ack);
}

static void
unsent_ended(struct na_op *op, const na_plugin_event *event)
{
    struct hg_overflow *overflow = op->owner;
    struct hg_handle *handle = overflow->handle;

    destroy(overflow);
    hg_handle_unref(handle, 1);
}

void
hg_overflow_unsent(struct hg_handle *handle)
{
    struct na_progress *progress = hg_context_na(handle->context)->progress;
    struct hg_overflow *overflow = handle->out.overflow;

    na_progress_acquire(progress);
    /* Not before: the end of the receive looks at it, in progress. */
    handle->out.overflow = NULL;
    hg_overflow_withdraw(overflow);
    /* Unless the receive has ended already. */
    if (atomic_load_explicit(&handle->moving, memory_order_relaxed)) {
        atomic_store_explicit(&handle->moving, NULL, memory_order_relaxed);
        hg_handle_ref(handle, 1);
        overflow->ack->complete = unsent_ended;
        end_ack(overflow);
        overflow = NULL;
    }
    na_progress_release(progress);
    if (overflow)
        destroy(overflow);
}

void
hg_overflow_cancel(struct hg_handle *handle)
{
    struct hg_overflow *overflow =
        atomic_load_explicit(&handle->moving, memory_order_relaxed);

    if (!overflow)
        return;
    if (overflow->fetch != HG_OP_ID_NULL)
        bulk_transfer_cancel(overflow->fetch);
    else
        end_ack(overflow);
}

void
hg_overflow_cancel_fetch(struct hg_handle *handle)
{
    const struct hg_overflow *overflow =
        atomic_load_explicit(&handle->moving, memory_order_relaxed);

    if (overflow && overflow->fetch != HG_OP_ID_NULL)
        bulk_transfer_cancel(overflow->fetch);
}
