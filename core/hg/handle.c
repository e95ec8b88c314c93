/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating, pooling and destroying handles. */
#include "hg/handle.h"
#include "na/call.h"

#include "base/log.h"
#include "na.h"

#include <stdlib.h>
#include <string.h>

/* Allocates a buffer for messages of a kind. */
static hg_return_t
buffer_alloc(struct hg_message *message, struct na_class *na_class, size_t size,
    size_t payload, uint32_t kinds)
{
    void *buffer;
    na_return_t ret =
        na_buf_alloc(na_class, size, kinds, &buffer, &message->buffer_data);

    if (ret != NA_SUCCESS)
        return (hg_return_t) ret;
    message->buffer = buffer;
    message->end = message->buffer + size;
    message->payload = message->buffer + payload;
    return HG_SUCCESS;
}

static void
buffer_free(struct hg_message *message, struct na_class *na_class)
{
    if (message->buffer)
        na_buf_free(na_class, message->buffer, message->buffer_data);
    message->buffer = NULL;
}

/* Allocates the buffers of a net for a role. The caller frees them also after
 * an error. */
static hg_return_t
buffers_alloc(const struct hg_net *net, enum hg_role role,
    struct hg_message *in, struct hg_message *out)
{
    struct na_class *na_class = net->na_class;
    bool origin = role == HG_ROLE_ORIGIN;
    hg_return_t ret = buffer_alloc(in, na_class, net->in_size, net->in_payload,
        origin ? NA_PLUGIN_BUF_SEND : NA_PLUGIN_BUF_RECV);

    if (ret == HG_SUCCESS)
        ret = buffer_alloc(out, na_class, net->out_size, net->out_payload,
            origin ? NA_PLUGIN_BUF_RECV : NA_PLUGIN_BUF_SEND);
    if (ret != HG_SUCCESS)
        return ret;
    return (hg_return_t) (origin ? na_buf_init(na_class, in->buffer,
                                       net->in_size, NA_PLUGIN_MSG_UNEXPECTED)
                                 : na_buf_init(na_class, out->buffer,
                                       net->out_size, NA_PLUGIN_MSG_EXPECTED));
}

static void
buffers_free(
    struct hg_message *in, struct hg_message *out, struct na_class *na_class)
{
    buffer_free(in, na_class);
    buffer_free(out, na_class);
}

static void
buffer_take(struct hg_message *message, const struct hg_message *from)
{
    message->buffer = from->buffer;
    message->buffer_data = from->buffer_data;
    message->end = from->end;
    message->payload = from->payload;
    message->size = 0;
}

void
hg_handle_buffers_free(struct hg_handle *handle)
{
    buffers_free(&handle->in, &handle->out, handle->port->net.na_class);
}

hg_return_t
hg_handle_buffers_alloc(struct hg_handle *handle)
{
    hg_return_t ret = buffers_alloc(
        &handle->port->net, handle->role, &handle->in, &handle->out);

    if (ret != HG_SUCCESS)
        hg_handle_buffers_free(handle);
    return ret;
}

/* Returns whether one thread at a time uses a port and the class, which may have been
 * opened by the program in another mode. */
static bool
is_single(const struct hg_class *hg_class, const struct hg_port *port)
{
    const struct na_class *own = hg_class_na(hg_class);
    const struct na_class *other = port->na_context->na_class;

    return own->single_class && own->single_context && other->single_class &&
           other->single_context;
}

/* Checks that the tags of a net can number one more handle. */
static hg_return_t
check_index(const struct hg_net *net, uint32_t index)
{
    if (index >> net->index_bits == 0)
        return HG_SUCCESS;
    LOG_ERROR(
        HG, "handle limit reached: %u per context", 1U << net->index_bits);
    return HG_NOMEM;
}

hg_return_t
hg_handle_change_port(struct hg_handle *handle, struct hg_port *port)
{
    struct hg_message in = {0}, out = {0};
    struct na_op *ops[] = {handle->send, handle->recv};
    hg_return_t ret = check_index(&port->net, handle->index);

    if (ret == HG_SUCCESS)
        ret = buffers_alloc(&port->net, handle->role, &in, &out);
    if (ret != HG_SUCCESS) {
        buffers_free(&in, &out, port->net.na_class);
        return ret;
    }
    buffers_free(&handle->in, &handle->out, handle->port->net.na_class);
    buffer_take(&handle->in, &in);
    buffer_take(&handle->out, &out);
    /* Operations are new to this plugin. */
    for (unsigned i = 0; i < 2; i++)
        memset(ops[i]->part, 0, port->net.na_class->opened.op_size);
    handle->port = port;
    handle->has_header = false;
    hg_handle_set_special(handle, HG_SPECIAL_HEADER, true);
    handle->single = is_single(handle->hg_class, port);
    handle->tag = hg_handle_tag(handle, handle->cookie);
    return HG_SUCCESS;
}

/* Numbers a handle and adds it to the context's list. */
static hg_return_t
enlist(struct hg_handle *handle)
{
    struct hg_context *context = handle->context;
    hg_return_t ret;

    base_lock_acquire(&context->pool_lock);
    ret = check_index(&handle->port->net, context->index_next);
    if (ret == HG_SUCCESS) {
        handle->index = context->index_next++;
        handle->tag = hg_handle_tag(handle, handle->cookie);
        LIST_INSERT_HEAD(&context->handles, handle, all_next);
    }
    base_lock_release(&context->pool_lock);
    return ret;
}

static hg_return_t
created(struct hg_handle *handle)
{
    struct hg_class *hg_class = handle->context->hg_class;

    if (!hg_class->handle_create)
        return HG_SUCCESS;
    return hg_class->handle_create(handle, hg_class->handle_create_arg);
}

hg_return_t
hg_handle_create(struct hg_context *context, struct hg_port *port,
    const struct hg_side *side, struct hg_handle **handle_p)
{
    struct hg_class *hg_class = context->hg_class;
    struct hg_handle *handle = na_op_block_alloc(hg_class->handle_size);
    hg_return_t ret;

    if (!handle)
        return HG_NOMEM;
    handle->context = context;
    handle->hg_class = hg_class;
    handle->port = port;
    handle->single = is_single(hg_class, port);
    handle->side = side;
    handle->role = side->role;
    handle->info.hg_class = hg_class;
    handle->info.context = context;
    atomic_init(&handle->state, HG_HANDLE_USED);
    handle->send = (struct na_op *) ((char *) handle + hg_class->send_at);
    handle->recv = (struct na_op *) ((char *) handle + hg_class->recv_at);
    handle->send->owner = handle->recv->owner = handle;
    side->prepare(handle);
    hg_handle_set_special(handle, HG_SPECIAL_UNFIT, true);
    hg_handle_note_special(handle);
    proc_init(&handle->in.proc, hg_class, handle, HG_NOHASH);
    proc_init(&handle->out.proc, hg_class, handle, HG_NOHASH);
    ret = buffers_alloc(&port->net, side->role, &handle->in, &handle->out);
    if (ret == HG_SUCCESS)
        ret = created(handle);
    if (ret == HG_SUCCESS)
        ret = enlist(handle);
    if (ret != HG_SUCCESS) {
        hg_handle_destroy(handle);
        return ret;
    }
    *handle_p = handle;
    return HG_SUCCESS;
}

static void
free_data(struct hg_handle *handle)
{
    if (handle->data_free && handle->data)
        handle->data_free(handle->data);
    handle->data = NULL;
    handle->data_free = NULL;
}

void
hg_handle_destroy(struct hg_handle *handle)
{
    free_data(handle);
    na_peer_release(&handle->peer);
    proc_finish(&handle->in.proc);
    proc_finish(&handle->out.proc);
    if (handle->multi_buffer)
        handle->in.buffer = handle->own_buffer;
    buffers_free(&handle->in, &handle->out, handle->port->net.na_class);
    free(handle);
}

hg_return_t
hg_pool_get(struct hg_context *context, struct hg_port *port,
    const struct hg_side *side, struct hg_handle **handle_p)
{
    struct hg_handle *handle;
    hg_return_t ret;

    base_lock_acquire(&context->pool_lock);
    handle = SLIST_FIRST(&port->free_handles);
    if (handle) {
        SLIST_REMOVE_HEAD(&port->free_handles, free_next);
        atomic_store_explicit(
            &handle->state, HG_HANDLE_USED, memory_order_relaxed);
    }
    base_lock_release(&context->pool_lock);
    if (!handle)
        return hg_handle_create(context, port, side, handle_p);
    /* The program sees a new handle. */
    ret = created(handle);
    if (ret != HG_SUCCESS) {
        hg_pool_put(handle);
        return ret;
    }
    *handle_p = handle;
    return HG_SUCCESS;
}

void
hg_pool_put(struct hg_handle *handle)
{
    struct hg_context *context = handle->context;

    free_data(handle);
    base_lock_acquire(&context->pool_lock);
    atomic_store_explicit(&handle->state, HG_HANDLE_FREE, memory_order_relaxed);
    SLIST_INSERT_HEAD(&handle->port->free_handles, handle, free_next);
    base_lock_release(&context->pool_lock);
}

struct hg_handle *
hg_pool_first(struct hg_context *context)
{
    struct hg_handle *first;

    base_lock_acquire(&context->pool_lock);
    first = LIST_FIRST(&context->handles);
    base_lock_release(&context->pool_lock);
    return first;
}

uint32_t
hg_pool_used(struct hg_context *context)
{
    struct hg_handle *handle;
    uint32_t used = 0;

    base_lock_acquire(&context->pool_lock);
    LIST_FOREACH (handle, &context->handles, all_next)
        used += atomic_load_explicit(&handle->state, memory_order_relaxed) ==
                    HG_HANDLE_USED &&
                atomic_load_explicit(&handle->refs, memory_order_relaxed) !=
                    HG_REF_TRANSPORT;
    base_lock_release(&context->pool_lock);
    return used;
}
