/* SPDX-License-Identifier: BSD-3-Clause */
/* Extra payloads of a handle's messages. */
#include "hg/extra.h"

#include "base/log.h"
#include "bulk/op.h"
#include "hg/ack.h"
#include "hg/handle.h"
#include "hg/peer_log.h"

#include <stdlib.h>

static struct hg_rendezvous_use
use_of(struct hg_handle *handle)
{
    const struct hg_net *net = &handle->port->net;

    return (struct hg_rendezvous_use){.context = handle->context,
        .peer = &handle->peer,
        .peer_context = handle->info.context_id,
        .remote = !handle->loopback && !handle->local,
        .counted = handle->role == HG_ROLE_TARGET,
        .buffers = handle->context->hg_class->handle_size + net->in_size +
                   net->out_size};
}

/* Without the eager data of descriptors the rest may fit into the message. */
static hg_return_t
encode_again(
    struct hg_message *message, hg_proc_cb_t proc_cb, char *start, size_t room)
{
    struct hg_proc *proc = &message->proc;

    proc_finish(proc);
    proc_begin(proc, start, start + room, HG_ENCODE);
    proc->notes |= PROC_EAGER_NEVER;
    return proc_cb(proc, message->source);
}

hg_return_t
hg_extra_put(struct hg_handle *handle, struct hg_message *message, uint32_t tag,
    uint32_t cookie, hg_return_t ret)
{
    struct hg_proc *proc = &message->proc;
    const struct hg_class *hg_class = handle->hg_class;
    const struct hg_net *net = &handle->port->net;
    const struct hg_rendezvous_use use = use_of(handle);
    bool request = message == &handle->in;
    size_t offset = request ? hg_class->in_offset : hg_class->out_offset;
    size_t room = (request ? net->in_most : net->out_most) - offset;
    char *start = message->payload + offset;
    struct hg_rendezvous_buffer buffer;
    struct hg_rendezvous *rendezvous;
    hg_size_t size;

    message->size = offset;
    if (proc->notes & PROC_EAGER_THERE)
        ret = encode_again(message,
            request ? handle->rpc->in_proc : handle->rpc->out_proc, start,
            room);
    if (ret != HG_SUCCESS)
        goto finish;
    size = proc_used(proc);
    if (!proc->extra) {
        message->size = offset + size;
        return HG_SUCCESS;
    }
    if (hg_class->no_overflow) {
        LOG_ERROR(HG,
            "%zu bytes of encoded arguments exceed %zu, and no_overflow is set",
            (size_t) size, room);
        ret = HG_OVERFLOW;
        goto finish;
    }
    buffer = (struct hg_rendezvous_buffer){.data = proc->start,
        .size = size,
        .allocated = size + proc_left(proc) + PROC_EXTRA_TAIL,
        .borrowed = proc->extra_is_callers};
    proc_begin(proc, NULL, NULL, HG_DECODE); /* without the buffer */
    ret = hg_rendezvous_keep(&use, &buffer, &rendezvous);
    if (ret != HG_SUCCESS)
        return ret;
    message->flags = HG_HEADER_MORE;
    message->extra = &rendezvous->extra;
    hg_handle_set_special(handle, HG_SPECIAL_EXTRA, true);
    if (!use.remote)
        return HG_SUCCESS;
    ret = hg_rendezvous_expose(rendezvous, tag, cookie, start, room, &size);
    if (ret != HG_SUCCESS)
        hg_extra_drop(handle, message);
    else
        message->size = offset + size;
    return ret;

finish:
    proc_finish(proc);
    return ret;
}

void
hg_extra_drop(struct hg_handle *handle, struct hg_message *message)
{
    hg_message_unspill(message);
    free(handle->ack);
    handle->ack = NULL;
}

void
hg_extra_clear(struct hg_handle *handle)
{
    hg_message_unspill(&handle->in);
    hg_extra_drop(handle, &handle->out);
    hg_handle_set_special(handle, HG_SPECIAL_EXTRA, false);
}

/* Continues on the handle's side. An origin that cannot acknowledge the
 * response sends a cancel message instead, as if no response had arrived. */
static void
conclude(struct hg_handle *handle, hg_return_t ret)
{
    if (handle->role == HG_ROLE_ORIGIN)
        hg_call_forget(&handle->call, HG_CALL_IS_ANSWERED);
    handle->side->fetched(handle, ret);
}

static void
fetched(void *arg, hg_return_t ret)
{
    struct hg_handle *handle = arg;
    struct hg_rendezvous *rendezvous =
        atomic_load_explicit(&handle->fetching, memory_order_relaxed);

    atomic_store_explicit(&handle->fetching, NULL, memory_order_relaxed);
    if (rendezvous->withdrawn || ret == HG_PROTOCOL_ERROR || ret == HG_NOMEM)
        HG_LOG_PEER(handle, WARNING, "cannot fetch arguments: %s",
            rendezvous->withdrawn ? "withdrawn by the sender"
                                  : HG_Error_to_string(ret));
    if (rendezvous->withdrawn || ret == HG_PROTOCOL_ERROR)
        hg_count_dropped(handle->context->hg_class);
    if (!handle->ack) {
        conclude(handle, ret);
        return;
    }
    hg_call_record(&handle->call, ret);
    hg_ack_send(handle, ret);
}

/* A reference that is too short is detected by the fetch. */
static hg_return_t
make_ack(struct hg_handle *handle, const char *bytes, size_t length)
{
    struct hg_header_more more;

    if (handle->role == HG_ROLE_TARGET || length < HG_HEADER_MORE_SIZE)
        return HG_SUCCESS;
    hg_header_more_decode(bytes, &more);
    return hg_ack_announced(handle, more.tag, more.cookie);
}

void
hg_extra_fetch(struct hg_handle *handle)
{
    const struct hg_class *hg_class = handle->context->hg_class;
    bool target = handle->role == HG_ROLE_TARGET;
    struct hg_message *message = target ? &handle->in : &handle->out;
    size_t offset = target ? hg_class->in_offset : hg_class->out_offset;
    size_t length = message->size < offset ? 0 : message->size - offset;
    const char *bytes = message->payload + offset;
    const struct hg_rendezvous_use use = use_of(handle);
    struct hg_rendezvous *rendezvous = hg_rendezvous_create(handle->context);

    message->size -= length; /* the user's space remains */
    if (rendezvous)
        message->extra = &rendezvous->extra;
    hg_handle_set_special(handle, HG_SPECIAL_EXTRA, true);
    if (!rendezvous || make_ack(handle, bytes, length) != HG_SUCCESS) {
        conclude(handle, HG_NOMEM);
        return;
    }
    /* Under the progress lock, as its readers. */
    atomic_store_explicit(&handle->fetching, rendezvous, memory_order_relaxed);
    /* A forward that is being cancelled needs no response. */
    if (!target && hg_handle_is_ending(handle))
        fetched(handle, HG_CANCELED);
    else
        hg_rendezvous_fetch(rendezvous, &use, bytes, length, fetched, handle);
}

hg_op_id_t
hg_extra_transfer(const struct hg_handle *handle)
{
    const struct hg_rendezvous *rendezvous =
        atomic_load_explicit(&handle->fetching, memory_order_relaxed);

    return rendezvous ? rendezvous->transfer : HG_OP_ID_NULL;
}

void
hg_extra_cancel(struct hg_handle *handle)
{
    hg_extra_cancel_fetch(handle);
    hg_ack_cancel(handle);
}

void
hg_extra_cancel_fetch(struct hg_handle *handle)
{
    hg_op_id_t transfer = hg_extra_transfer(handle);

    if (transfer != HG_OP_ID_NULL)
        bulk_transfer_cancel(transfer);
}
