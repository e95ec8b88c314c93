/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeping handles without buffers, reusing them, and counting those with
 * buffers. */
#include "hg/refill.h"

#include "base/log.h"
#include "hg/context.h"
#include "na.h"

static void
spare_push(struct hg_handle *handle)
{
    base_lock_acquire(&handle->context->pool_lock);
    atomic_store_explicit(
        &handle->state, HG_HANDLE_SPARE, memory_order_relaxed);
    SLIST_INSERT_HEAD(&handle->port->spare_handles, handle, free_next);
    base_lock_release(&handle->context->pool_lock);
}

void
hg_refill_spare(struct hg_handle *handle)
{
    hg_handle_buffers_free(handle);
    atomic_fetch_sub_explicit(&handle->port->loaded, 1, memory_order_relaxed);
    spare_push(handle);
}

static struct hg_handle *
spare_pop(struct hg_context *context, struct hg_port *port)
{
    struct hg_handle *handle;

    base_lock_acquire(&context->pool_lock);
    handle = SLIST_FIRST(&port->spare_handles);
    if (handle) {
        SLIST_REMOVE_HEAD(&port->spare_handles, free_next);
        atomic_store_explicit(
            &handle->state, HG_HANDLE_USED, memory_order_relaxed);
    }
    base_lock_release(&context->pool_lock);
    return handle;
}

/* Gets a handle for one more receive: a spare one or a new one. Not in
 * progress. */
static hg_return_t
take(struct hg_context *context, struct hg_port *port,
    struct hg_handle **handle_p)
{
    struct hg_handle *handle = spare_pop(context, port);
    hg_return_t ret;

    if (!handle) {
        ret = hg_handle_create(context, port, port->side, handle_p);
    } else {
        ret = hg_handle_buffers_alloc(handle);
        if (ret == HG_SUCCESS)
            *handle_p = handle;
        else
            spare_push(handle);
    }
    if (ret == HG_SUCCESS)
        atomic_fetch_add_explicit(&port->loaded, 1, memory_order_relaxed);
    return ret;
}

/* Returns whether `count` more handles are allowed. A refusal is logged,
 * thinned. */
static bool
granted(struct hg_context *context, struct hg_port *port, uint32_t count)
{
    uint64_t each =
        context->hg_class->handle_size + port->net.in_size + port->net.out_size;
    uint64_t limit = context->hg_class->limits.overflow_total;
    uint64_t loaded = atomic_load_explicit(&port->loaded, memory_order_relaxed);

    if (loaded + count <= limit / each)
        return true;
    port->refusals++;
    if ((port->refusals & (port->refusals - 1)) == 0)
        LOG_WARNING(HG,
            "context %u: %llu requests of %llu bytes each in use, others "
            "wait "
            "(%llu times so far)",
            hg_context_na(context)->id, (unsigned long long) loaded,
            (unsigned long long) each, (unsigned long long) port->refusals);
    return false;
}

void
hg_refill_log(hg_return_t ret)
{
    LOG_ERROR(
        HG, "cannot post a receive for requests: %s", HG_Error_to_string(ret));
}

void
hg_refill_run(struct hg_context *context)
{
    for (unsigned i = 0; i < context->port_count; i++) {
        struct hg_port *port = &context->ports[i];

        if (atomic_exchange_explicit(
                &port->out_of_receives, false, memory_order_relaxed) &&
            context->hg_class->post_incr > 0 &&
            granted(context, port, context->hg_class->post_incr))
            hg_refill_post(port, context, context->hg_class->post_incr);
    }
}

void
hg_refill_request(struct hg_context *context, struct hg_port *port)
{
    atomic_store_explicit(&port->out_of_receives, true, memory_order_relaxed);
    atomic_store_explicit(
        &context->out_of_receives, true, memory_order_relaxed);
}

hg_return_t
hg_refill_post(struct hg_port *port, struct hg_context *context, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct hg_handle *handle;
        hg_return_t ret = take(context, port, &handle);

        if (ret != HG_SUCCESS) {
            hg_refill_request(context, port);
            return ret;
        }
        ret = port->receiver->post(handle);
        if (ret != HG_SUCCESS) {
            hg_refill_log(ret);
            hg_port_postpone(context, handle->port);
            return ret;
        }
    }
    return HG_SUCCESS;
}
