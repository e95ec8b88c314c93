/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending cancel messages, and remembering received ones. */
#include "hg/cancel_message.h"

#include "hg/handle.h"
#include "na/call.h"
#include "rt/submit.h"

#include <stdlib.h>

/* Messages that a context remembers, for requests without a response yet. */
#define REMEMBERED 64U

struct hg_canceled {
    struct hg_addr peer;
    uint64_t tag;
    uint32_t cookie;
};

/* Returns whether the request was sent and no response has arrived. */
static bool
wanted(const struct hg_handle *handle)
{
    return !(hg_call_word(&handle->call) &
               (HG_CALL_IS_UNSENT | HG_CALL_IS_ANSWERED | HG_CALL_NOTIFIED)) &&
           !handle->loopback && hg_call_ret(&handle->call) != HG_HOSTUNREACH &&
           (!handle->no_response || handle->in.extra);
}

/* A message being sent to a target. */
struct hg_cancel_message {
    struct hg_context *context;
    struct hg_addr peer;
    LIST_ENTRY(hg_cancel_message) next; /* under pool_lock */
};

static void
message_free(struct hg_cancel_message *message)
{
    base_lock_acquire(&message->context->pool_lock);
    LIST_REMOVE(message, next);
    base_lock_release(&message->context->pool_lock);
    na_peer_release(&message->peer);
    free(message);
}

static void
message_sent(struct na_op *op, const na_plugin_event *event)
{
    message_free(op->owner);
}

/* Sends a message of its own, since the handle must be free at once. If memory
 * is short, the target is not notified. */
static void
send_message(struct hg_handle *handle)
{
    const struct hg_net *net = &handle->port->net;
    const struct na_class *na_class = net->na_class;
    size_t end = sizeof(struct hg_cancel_message);
    size_t op_at = na_op_layout(na_class, &end);
    size_t header = na_class->opened.unexpected_header_size;
    const struct hg_header_front front =
        hg_header_front_make(HG_HEADER_MAGIC_CANCEL, 0, handle->cookie);
    struct hg_cancel_message *message =
        na_op_block_alloc(end + header + sizeof front);
    struct na_op *op;
    char *buffer;

    if (!message)
        return;
    op = (struct na_op *) ((char *) message + op_at);
    buffer = (char *) message + end;
    op->owner = message;
    op->complete = message_sent;
    message->context = handle->context;
    na_peer_copy(&message->peer, &handle->peer);
    base_lock_acquire(&handle->context->pool_lock);
    LIST_INSERT_HEAD(&handle->context->cancel_messages, message, next);
    base_lock_release(&handle->context->pool_lock);
    memcpy(buffer + header, &front, sizeof front);
    if (na_buf_init(net->na_class, buffer, header + sizeof front,
            NA_PLUGIN_MSG_UNEXPECTED) != NA_SUCCESS ||
        rt_send_unexpected(rt_endpoint(handle->port->na_context), op, buffer,
            header + sizeof front, NULL, message->peer.addr, handle->target_id,
            handle->tag) != NA_PLUGIN_PENDING)
        message_free(message);
}

void
hg_cancel_message_send(struct hg_handle *handle, uint32_t operation)
{
    /* Acquire: what the other operation did comes before. */
    uint32_t word =
        atomic_load_explicit(&handle->call.word, memory_order_acquire);

    if ((word & (HG_CALL_SEND | HG_CALL_RECV)) != operation || !wanted(handle))
        return;
    hg_call_note(&handle->call, HG_CALL_NOTIFIED);
    send_message(handle);
}

static bool
is_of(const struct hg_handle *handle, const struct hg_port *port,
    const struct hg_addr *peer, uint64_t tag, uint32_t cookie)
{
    return handle->port == port && handle->tag == tag &&
           handle->cookie == cookie && handle->peer.addr &&
           na_addr_same(port->net.na_class, handle->peer.addr, peer->addr);
}

static void
remember(struct hg_context *context, const struct hg_handle *message)
{
    struct hg_canceled *entry;

    if (!context->canceled)
        context->canceled = calloc(REMEMBERED, sizeof *context->canceled);
    if (!context->canceled)
        return;
    entry = &context->canceled[context->canceled_next++ % REMEMBERED];
    na_peer_release(&entry->peer);
    na_peer_copy(&entry->peer, &message->peer);
    entry->tag = message->tag;
    entry->cookie = message->cookie;
}

bool
hg_cancel_message_take(struct hg_handle *handle, const void *bytes, size_t size,
    struct hg_handle **transferring_p)
{
    struct hg_context *context = handle->context;
    struct hg_handle *other, *transferring = NULL;
    struct hg_header_front front;
    bool running = false;

    *transferring_p = NULL;
    if (size < sizeof front)
        return false;
    memcpy(&front, bytes, sizeof front);
    if (hg_header_front_check(&front, HG_HEADER_MAGIC_CANCEL) != HG_SUCCESS)
        return false;
    base_lock_acquire(&context->pool_lock);
    LIST_FOREACH (other, &context->handles, all_next) {
        if (other == handle || other->role != HG_ROLE_TARGET ||
            other->tag != handle->tag || other->cookie != handle->cookie)
            continue;
        /* A transferring handle keeps its peer. */
        if (!hg_handle_is_transferring(other))
            running = true;
        else if (is_of(other, handle->port, &handle->peer, handle->tag,
                     handle->cookie))
            transferring = other;
    }
    base_lock_release(&context->pool_lock);
    if (!transferring && running)
        remember(context, handle);
    *transferring_p = transferring;
    return true;
}

bool
hg_cancel_message_received(const struct hg_handle *handle)
{
    struct hg_context *context = handle->context;

    for (unsigned i = 0; context->canceled && i < REMEMBERED; i++) {
        struct hg_canceled *entry = &context->canceled[i];

        if (!entry->peer.addr ||
            entry->peer.na_class != handle->peer.na_class ||
            !is_of(
                handle, handle->port, &entry->peer, entry->tag, entry->cookie))
            continue;
        na_peer_release(&entry->peer);
        return true;
    }
    return false;
}

void
hg_cancel_messages_finish(struct hg_context *context)
{
    struct hg_cancel_message *message;

    while ((message = LIST_FIRST(&context->cancel_messages)) != NULL)
        message_free(message);
    free(context->canceled);
}

void
hg_cancel_messages_forget(struct hg_context *context)
{
    for (unsigned i = 0; context->canceled && i < REMEMBERED; i++)
        na_peer_release(&context->canceled[i].peer);
}
