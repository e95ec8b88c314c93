/* SPDX-License-Identifier: BSD-3-Clause */
/* The receives of a context's ports. */
#include "hg/ports.h"

#include "hg/extra.h"
#include "hg/handle.h"

void
hg_ports_retry(struct hg_context *context)
{
    for (unsigned i = 0; i < context->port_count; i++) {
        struct hg_port *port = &context->ports[i];

        if (atomic_exchange_explicit(
                &port->postponed, false, memory_order_relaxed) &&
            atomic_load_explicit(&context->accepting, memory_order_relaxed))
            port->receiver->retry(context, port);
    }
}

void
hg_ports_unpost(struct hg_context *context)
{
    struct na_progress *progress = hg_context_na(context)->progress;
    struct hg_handle *handle;

    atomic_store_explicit(&context->accepting, false, memory_order_relaxed);
    na_progress_acquire(progress);
    for (unsigned i = 0; i < context->port_count; i++)
        if (context->ports[i].receiver)
            context->ports[i].receiver->unpost(context, &context->ports[i]);
    for (handle = hg_pool_first(context); handle;
         handle = LIST_NEXT(handle, all_next))
        if (handle->role == HG_ROLE_TARGET)
            hg_extra_cancel_fetch(handle);
    na_progress_release(progress);
}

uint32_t
hg_ports_posted(struct hg_context *context)
{
    uint32_t count = 0;

    for (unsigned i = 0; i < context->port_count; i++) {
        struct hg_port *port = &context->ports[i];

        if (port->receiver && !na_context_is_dead(port->na_context))
            count += port->receiver->posted(context, port);
    }
    return count;
}
