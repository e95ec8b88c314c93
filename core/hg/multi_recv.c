/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving many requests in one buffer. */
#include "hg/multi_recv.h"

#include "base/log.h"
#include "hg/handle.h"
#include "hg/refill.h"
#include "hg/release.h"
#include "na.h"
#include "na/call.h"
#include "rt/submit.h"

#include <stdlib.h>
#include <string.h>

/* Maximum messages that a buffer can hold. */
#define MESSAGES_PER_BUFFER 16U

/* A buffer, followed by its operation. */
struct hg_multi_buffer {
    struct hg_multi_buffer *next;
    struct hg_multi *multi;
    char *bytes;
    void *bytes_data;
    size_t size;
    _Atomic uint32_t refs; /* of handles, messages and the transport */
    _Atomic bool postponed;
    _Atomic bool spare; /* enough others are posted */
    struct na_op *op;
};

struct hg_multi_message {
    STAILQ_ENTRY(hg_multi_message) next;
    struct hg_multi_buffer *buffer;
    na_plugin_event event;
};

static void
post(struct hg_multi_buffer *buffer)
{
    struct hg_multi *multi = buffer->multi;
    int32_t code;

    if (!atomic_load_explicit(
            &multi->context->accepting, memory_order_relaxed) ||
        na_context_is_dead(multi->port->na_context))
        return;
    atomic_store_explicit(&buffer->refs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&multi->posted, 1, memory_order_relaxed);
    code = rt_recv_multi(multi->port->na_context, buffer->op, buffer->bytes,
        buffer->size, buffer->bytes_data);
    if (code == NA_PLUGIN_PENDING)
        return;
    LOG_ERROR(HG, "cannot post a buffer for requests: %s",
        NA_Error_to_string(
            na_submission_failed(multi->port->na_context, "recv_multi", code)));
    atomic_store_explicit(&buffer->refs, 0, memory_order_relaxed);
    atomic_fetch_sub_explicit(&multi->posted, 1, memory_order_relaxed);
    /* Release pairs with the acquire in retry. */
    atomic_store_explicit(&buffer->postponed, true, memory_order_release);
    hg_port_postpone(multi->context, multi->port);
}

static struct hg_multi_buffer *
first_buffer(struct hg_multi *multi)
{
    /* Acquire pairs with the release in add_buffer. */
    return atomic_load_explicit(&multi->buffers, memory_order_acquire);
}

static void
hold(struct hg_multi_buffer *buffer)
{
    atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
}

/* Drops a reference. After the last one the buffer is posted again, if needed.
 */
static void
release(struct hg_multi_buffer *buffer)
{
    const struct hg_multi *multi = buffer->multi;

    /* Release and acquire: reads of the bytes come before they change. */
    if (atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (atomic_load_explicit(&multi->posted, memory_order_relaxed) <
        multi->wanted)
        post(buffer);
    else
        /* Release pairs with the acquire in replenish. */
        atomic_store_explicit(&buffer->spare, true, memory_order_release);
}

static struct hg_multi_buffer *buffer_create(struct hg_multi *multi);

static void
add_buffer(struct hg_multi *multi, struct hg_multi_buffer *buffer)
{
    buffer->next = atomic_load_explicit(&multi->buffers, memory_order_relaxed);
    /* Release pairs with the acquire in first_buffer. */
    atomic_store_explicit(&multi->buffers, buffer, memory_order_release);
}

/* Creates more handles when HG_Trigger runs next. */
static void
want_handles(struct hg_multi *multi)
{
    struct hg_context *context = multi->context;

    hg_refill_request(context, multi->port);
    /* Queued so that progress returns, since nothing else may be queued. */
    if (context->hg_class->post_incr > 0 &&
        !atomic_exchange_explicit(
            &multi->refilling, true, memory_order_relaxed))
        base_completion_push(&multi->refill, &context->bulk.completions);
}

/* Posts a buffer if the transport has none and a request can be handled. Called
 * under the progress lock. */
static __attribute__((noinline)) void
replenish(struct hg_multi *multi)
{
    struct hg_context *context = multi->context;
    struct hg_multi_buffer *buffer = first_buffer(multi);
    bool waits, handles;

    base_lock_acquire(&context->pool_lock);
    waits = !STAILQ_EMPTY(&multi->waiting);
    handles = !SLIST_EMPTY(&multi->free_handles);
    base_lock_release(&context->pool_lock);
    if (waits ||
        !atomic_load_explicit(&context->accepting, memory_order_relaxed))
        return;
    if (!handles) {
        /* The last message used the last handle. Without a buffer no message
         * arrives to wait for more handles. */
        want_handles(multi);
        return;
    }
    /* Acquire pairs with the release in release. */
    while (buffer && !atomic_exchange_explicit(
                         &buffer->spare, false, memory_order_acquire))
        buffer = buffer->next;
    if (!buffer) {
        buffer = buffer_create(multi);
        if (buffer)
            add_buffer(multi, buffer);
    }
    if (buffer)
        post(buffer);
    else
        hg_port_postpone(context, multi->port);
}

static inline bool
exhausted(const struct hg_multi *multi)
{
    return atomic_load_explicit(&multi->posted, memory_order_relaxed) == 0;
}

void
hg_multi_release(struct hg_handle *handle)
{
    struct hg_multi_buffer *buffer = handle->multi_buffer;

    handle->multi_buffer = NULL;
    handle->in.buffer = handle->own_buffer;
    handle->in.payload = handle->own_buffer + handle->port->net.in_payload;
    release(buffer);
}

/* Delivers a message to a free handle, in its buffer or copied out of it. */
static void
deliver(struct hg_multi *multi, struct hg_handle *handle,
    struct hg_multi_buffer *buffer, const na_plugin_event *event)
{
    if (event->length <= multi->port->net.in_size &&
        atomic_load_explicit(&multi->posted, memory_order_relaxed) <=
            multi->copy_threshold &&
        multi->copy_threshold > 0) {
        memcpy(handle->in.buffer, event->buffer, event->length);
        hg_count(multi->context->hg_class,
            &multi->context->hg_class->counters.multi_recv_copy);
    } else {
        hold(buffer);
        handle->multi_buffer = buffer;
        handle->own_buffer = handle->in.buffer;
        handle->in.buffer = event->buffer;
        handle->in.payload = handle->in.buffer + multi->port->net.in_payload;
    }
    handle->side->take(handle, event);
}

/* Keeps a message in its buffer until a handle is free. Called under the pool
 * lock. */
static bool
keep_waiting(struct hg_multi *multi, struct hg_multi_buffer *buffer,
    const na_plugin_event *event)
{
    struct hg_multi_message *message = malloc(sizeof *message);

    if (!message)
        return false;
    message->buffer = buffer;
    message->event = *event;
    hold(buffer);
    STAILQ_INSERT_TAIL(&multi->waiting, message, next);
    return true;
}

static const struct hg_multi_message *
first_waiting(struct hg_multi *multi)
{
    const struct hg_multi_message *first;

    base_lock_acquire(&multi->context->pool_lock);
    first = STAILQ_FIRST(&multi->waiting);
    base_lock_release(&multi->context->pool_lock);
    return first;
}

/* Creates handles for the messages that wait, as long as that takes the first
 * one off the list. */
static void
refill_run(struct base_completion *completion)
{
    struct hg_multi *multi = (struct hg_multi *) completion;
    const struct hg_multi_message *first = first_waiting(multi), *before;

    atomic_store_explicit(&multi->refilling, false, memory_order_relaxed);
    if (!atomic_load_explicit(&multi->context->accepting, memory_order_relaxed))
        return;
    do {
        before = first;
        hg_refill_request(multi->context, multi->port);
        hg_refill_run(multi->context);
        first = first_waiting(multi);
    } while (first && first != before);
}

bool
hg_multi_is_refill(const struct base_completion *completion)
{
    return completion->run == refill_run;
}

static struct hg_handle *
take_free(struct hg_multi *multi)
{
    struct hg_handle *handle = SLIST_FIRST(&multi->free_handles);

    if (handle) {
        SLIST_REMOVE_HEAD(&multi->free_handles, free_next);
        multi->free_count--;
        atomic_store_explicit(
            &handle->state, HG_HANDLE_USED, memory_order_relaxed);
    }
    return handle;
}

static void
message_received(struct hg_multi *multi, struct hg_multi_buffer *buffer,
    const na_plugin_event *event)
{
    struct hg_context *context = multi->context;
    const struct na_class *na_class = multi->port->net.na_class;
    struct hg_handle *handle;
    bool kept = true;

    base_lock_acquire(&context->pool_lock);
    handle = take_free(multi);
    if (!handle)
        kept = keep_waiting(multi, buffer, event);
    base_lock_release(&context->pool_lock);
    if (handle) {
        deliver(multi, handle, buffer, event);
        return;
    }
    want_handles(multi);
    if (kept)
        return;
    LOG_ERROR(HG, "no memory: request of %llu bytes dropped",
        (unsigned long long) event->length);
    hg_count_dropped(context->hg_class);
    na_addr_free(na_class, event->source);
}

static void
received(struct na_op *op, const na_plugin_event *event)
{
    struct hg_multi_buffer *buffer = op->owner;
    struct hg_multi *multi = buffer->multi;
    struct na_context *na_context = multi->port->na_context;
    bool last = !(event->flags & NA_PLUGIN_EVENT_MORE);
    na_return_t ret =
        na_event_multi(na_context, event, buffer->bytes, buffer->size);

    if (last)
        atomic_fetch_sub_explicit(&multi->posted, 1, memory_order_relaxed);
    if (ret != NA_SUCCESS) {
        if (ret != NA_CANCELED && !na_context_is_dead(na_context))
            LOG_WARNING(
                HG, "request not received: %s", NA_Error_to_string(ret));
    } else if (event->flags & NA_PLUGIN_EVENT_MESSAGE) {
        message_received(multi, buffer, event);
    }
    if (last)
        release(buffer);
    if (last && exhausted(multi))
        replenish(multi);
}

/* A waiting message got a handle. In HG_Trigger. */
static void
waited_run(struct base_completion *completion)
{
    struct hg_handle *handle = hg_handle_of(completion);
    struct hg_multi_message *message = handle->multi_message;
    struct hg_multi *multi = message->buffer->multi;
    struct na_progress *progress = hg_context_na(handle->context)->progress;

    handle->multi_message = NULL;
    na_progress_acquire(progress);
    deliver(multi, handle, message->buffer, &message->event);
    release(message->buffer);
    if (exhausted(multi))
        replenish(multi);
    na_progress_release(progress);
    free(message);
}

/* Takes a free handle: gives it a waiting message, or lists it. */
static void
put(struct hg_multi *multi, struct hg_handle *handle)
{
    struct hg_context *context = multi->context;
    struct hg_multi_message *message;
    bool enough = false;

    if (handle->multi_buffer)
        hg_multi_release(handle);
    hg_call_open(&handle->call);
    base_lock_acquire(&context->pool_lock);
    message = atomic_load_explicit(&context->ending, memory_order_relaxed)
                  ? NULL
                  : STAILQ_FIRST(&multi->waiting);
    if (message) {
        STAILQ_REMOVE_HEAD(&multi->waiting, next);
    } else if (multi->free_count >= HG_REFILL_KEEP) {
        enough = true;
    } else {
        atomic_store_explicit(
            &handle->state, HG_HANDLE_FREE, memory_order_relaxed);
        SLIST_INSERT_HEAD(&multi->free_handles, handle, free_next);
        multi->free_count++;
    }
    base_lock_release(&context->pool_lock);
    if (enough)
        hg_refill_spare(handle);
    if (!message) {
        /* Handles in use may still keep every buffer, while this one can take a
         * request. */
        if (__builtin_expect(exhausted(multi), 0) &&
            atomic_load_explicit(&context->accepting, memory_order_relaxed))
            hg_port_postpone(context, multi->port);
        return;
    }
    handle->multi_message = message;
    handle->completion.run = waited_run;
    hg_context_complete(context, &handle->completion);
}

void
hg_multi_released(struct hg_handle *handle)
{
    hg_handle_clear(handle, HG_ROLE_TARGET);
    put(handle->port->multi, handle);
}

static void
retry(struct hg_context *context, struct hg_port *port)
{
    struct hg_multi *multi = port->multi;

    for (struct hg_multi_buffer *buffer = first_buffer(multi); buffer;
         buffer = buffer->next)
        /* Acquire pairs with the release in post. */
        if (atomic_exchange_explicit(
                &buffer->postponed, false, memory_order_acquire))
            post(buffer);
    if (exhausted(multi))
        replenish(multi);
}

static void
unpost(struct hg_context *context, struct hg_port *port)
{
    for (struct hg_multi_buffer *buffer = first_buffer(port->multi); buffer;
         buffer = buffer->next)
        rt_cancel(port->na_context, buffer->op);
}

static uint32_t
posted(struct hg_context *context, struct hg_port *port)
{
    return atomic_load_explicit(&port->multi->posted, memory_order_relaxed);
}

static struct hg_multi_buffer *
buffer_create(struct hg_multi *multi)
{
    struct na_class *na_class = multi->port->net.na_class;
    size_t end = sizeof(struct hg_multi_buffer);
    size_t op_at = na_op_layout(na_class, &end);
    struct hg_multi_buffer *buffer = na_op_block_alloc(end);
    void *bytes;

    if (!buffer)
        return NULL;
    buffer->multi = multi;
    buffer->size = multi->port->net.in_size * MESSAGES_PER_BUFFER;
    if (buffer->size < na_class->multi_recv->min_length)
        buffer->size = na_class->multi_recv->min_length;
    if (na_buf_alloc(na_class, buffer->size, NA_PLUGIN_BUF_MULTI_RECV, &bytes,
            &buffer->bytes_data) != NA_SUCCESS) {
        free(buffer);
        return NULL;
    }
    buffer->bytes = bytes;
    buffer->op = (struct na_op *) ((char *) buffer + op_at);
    buffer->op->owner = buffer;
    buffer->op->complete = received;
    return buffer;
}

static void
buffer_destroy(struct hg_multi_buffer *buffer)
{
    const struct na_class *na_class = buffer->multi->port->net.na_class;

    na_buf_free(na_class, buffer->bytes, buffer->bytes_data);
    free(buffer);
}

static hg_return_t
post_handle(struct hg_handle *handle)
{
    put(handle->port->multi, handle);
    return HG_SUCCESS;
}

static const struct hg_receiver receiver = {
    .post = post_handle, .retry = retry, .unpost = unpost, .posted = posted};

hg_return_t
hg_multi_open(struct hg_context *context, struct hg_port *port)
{
    const struct hg_class *hg_class = context->hg_class;
    struct hg_multi *multi = calloc(1, sizeof *multi);
    struct hg_multi_buffer *buffer;

    if (!multi)
        return HG_NOMEM;
    multi->context = context;
    multi->port = port;
    multi->refill.run = refill_run;
    multi->copy_threshold = hg_class->multi_recv_copy_threshold;
    SLIST_INIT(&multi->free_handles);
    STAILQ_INIT(&multi->waiting);
    while (multi->wanted < hg_class->multi_recv_op_max) {
        buffer = buffer_create(multi);
        if (!buffer)
            break;
        add_buffer(multi, buffer);
        multi->wanted++;
    }
    if (multi->wanted == 0) {
        hg_multi_close(multi);
        return HG_NOMEM;
    }
    port->multi = multi;
    port->receiver = &receiver;
    for (buffer = first_buffer(multi); buffer; buffer = buffer->next)
        post(buffer);
    return HG_SUCCESS;
}

void
hg_multi_close(struct hg_multi *multi)
{
    struct hg_multi_buffer *buffer, *next;
    struct hg_multi_message *message;

    if (!multi)
        return;
    while ((message = STAILQ_FIRST(&multi->waiting)) != NULL) {
        const struct na_class *na_class = multi->port->net.na_class;

        STAILQ_REMOVE_HEAD(&multi->waiting, next);
        na_addr_free(na_class, message->event.source);
        free(message);
    }
    for (buffer = first_buffer(multi); buffer; buffer = next) {
        next = buffer->next;
        buffer_destroy(buffer);
    }
    free(multi);
}
