/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating and destroying contexts. */
#include "hg/context.h"
#include "hg/refill.h"

#include "base/log.h"
#include "base/time.h"
#include "hg/cancel_message.h"
#include "hg/handle.h"
#include "hg/loopback.h"
#include "hg/multi_recv.h"
#include "hg/ports.h"
#include "hg/release.h"
#include "hg/single_recv.h"
#include "hg/target.h"
#include "na.h"

#include <stdlib.h>

/* Time that destroying a context waits for handles in use. */
#define DESTROY_TIMEOUT_MS 5000U
/* Part of that time left when it cancels responses that were not acknowledged.
 */
#define DESTROY_ENDING_MS 2500U
#define DESTROY_STEP_MS 10U
/* Time to wait for receives; the transport releases the rest when its context
 * is destroyed. */
#define UNPOST_TIMEOUT_MS 200U
/* Time to wait for input being fetched; the transport releases the rest when
 * its context is destroyed. */
#define FETCH_TIMEOUT_MS 1000U

hg_context_t *
HG_Context_create(hg_class_t *hg_class)
{
    return HG_Context_create_id(hg_class, 0);
}

/* Closes the ports. The first one is last, since its progress serves all. */
static void
close_ports(struct hg_context *context)
{
    while (context->port_count > 0) {
        struct hg_port *port = &context->ports[--context->port_count];

        NA_Context_destroy(port->net.na_class, port->na_context);
    }
}

static hg_return_t
open_ports(struct hg_context *context, uint8_t id)
{
    const struct hg_class *hg_class = context->hg_class;
    unsigned i = 0;

    do { /* there is at least one */
        const struct hg_net *net = &hg_class->nets[i];
        struct na_context *na_context = NA_Context_create_id(net->na_class, id);
        na_return_t ret = NA_SUCCESS;

        if (na_context && i > 0)
            ret = na_progress_add(
                context->ports[RT_MAIN].na_context->progress, na_context);
        if (!na_context || ret != NA_SUCCESS) {
            NA_Context_destroy(net->na_class, na_context);
            close_ports(context);
            return HG_OTHER_ERROR;
        }
        hg_port_init(&context->ports[i], net, na_context);
        context->port_count = i + 1;
    } while (++i < hg_class->net_count);
    return HG_SUCCESS;
}

static hg_return_t
open_multi(struct hg_context *context, struct hg_port *port)
{
    port->side = &hg_multi_side;
    return hg_multi_open(context, port);
}

static hg_return_t
post_all(struct hg_context *context)
{
    hg_return_t ret = HG_SUCCESS;

    for (unsigned i = 0; ret == HG_SUCCESS && i < context->port_count; i++) {
        struct hg_port *port = &context->ports[i];

        port->side = &hg_target_side;
        port->receiver = &hg_single_receiver;
        if (port->net.na_class->multi_recv && !context->hg_class->no_multi_recv)
            ret = open_multi(context, port);
        if (ret == HG_SUCCESS)
            ret = hg_refill_post(port, context, context->hg_class->post_init);
    }
    return ret;
}

hg_context_t *
HG_Context_create_id(hg_class_t *hg_class, uint8_t id)
{
    struct hg_context *context;
    struct na_context *na_context;

    if (!hg_class)
        return NULL;
    context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    context->hg_class = hg_class;
    context->local_side = &hg_local_side;
    if (open_ports(context, id) != HG_SUCCESS)
        goto free_context;
    na_context = context->ports[RT_MAIN].na_context;
    bulk_context_init(&context->bulk, &hg_class->bulk, na_context);
    if (context->port_count > RT_LOCAL)
        context->bulk.sm_context = context->ports[RT_LOCAL].na_context;
    context->progress = na_context->progress;
    context->progress->queue = &context->bulk.completions;
    na_progress_fail_init(na_context->progress, hg_context_fail, context);
    base_lock_init(&context->pool_lock, hg_class_na(hg_class)->single_context);
    base_lock_init(
        &context->loopback_lock, hg_class_na(hg_class)->single_context);
    hg_timers_init(&context->timers, hg_context_na(context)->progress,
        hg_class_na(hg_class)->single_context, &hg_handle_timer_calls, context);
    LIST_INIT(&context->handles);
    SLIST_INIT(&context->free_local);
    hg_holds_init(&context->holds, hg_class->limits.overflow_total,
        &context->pool_lock, &hg_class->counters.payload_refused,
        na_context->id);
    atomic_fetch_add_explicit(
        &hg_class->context_count, 1, memory_order_relaxed);
    if (!HG_Class_is_listening(hg_class))
        return context;
    atomic_store_explicit(&context->accepting, true, memory_order_relaxed);
    if (post_all(context) != HG_SUCCESS) {
        HG_Context_destroy(context);
        return NULL;
    }
    return context;

free_context:
    free(context);
    return NULL;
}

/* Returns whether an entry runs no callback of the program; or, in a context
 * being destroyed, one caused by a peer, since the program can't trigger it any
 * more. */
static bool
is_internal(const struct base_completion *completion)
{
    return hg_handle_is_orphan(completion) || hg_multi_is_refill(completion) ||
           hg_target_is_last(completion);
}

/* Runs entries that the program may not trigger any more. */
static void
run_internal(struct hg_context *context)
{
    struct base_completion *completion;

    while ((completion = base_completion_take(
                &context->bulk.completions, is_internal)) != NULL)
        if (hg_target_is_last(completion))
            hg_target_run_last(completion);
        else
            completion->run(completion);
}

/* Waits until `count` returns 0. Returns what is left. */
static uint32_t
wait_for_none(struct hg_context *context,
    uint32_t (*count)(struct hg_context *context), unsigned timeout_ms)
{
    uint64_t deadline = base_time_deadline(timeout_ms);
    uint32_t left;

    while ((left = count(context)) > 0 && base_time_left(deadline) > 0) {
        hg_ports_unpost(context);
        na_progress_poll(hg_context_na(context)->progress);
        run_internal(context);
        /* A poll completes one batch: wait only if it didn't help. */
        if (count(context) == left)
            na_progress_wait(hg_context_na(context)->progress, DESTROY_STEP_MS);
    }
    return left;
}

hg_return_t
HG_Context_unpost(hg_context_t *context)
{
    if (!context)
        return HG_INVALID_ARG;
    hg_ports_unpost(context);
    return wait_for_none(context, hg_ports_posted, DESTROY_TIMEOUT_MS) == 0
               ? HG_SUCCESS
               : HG_TIMEOUT;
}

/* Counts handles, transfers and lookups in use, and threads that use the context
 * for a call that may be over. */
static uint32_t
in_use(struct hg_context *context)
{
    /* Acquire pairs with the release in hg_context_leave, and at the end of a
     * transfer's callback. */
    uint32_t count =
        hg_pool_used(context) +
        atomic_load_explicit(&context->inside, memory_order_acquire) +
        atomic_load_explicit(&context->bulk.op_count, memory_order_acquire);

    /* Lookups are counted nowhere else. */
    return count > 0 ? count
                     : base_completion_count(&context->bulk.completions);
}

/* in_use without input being fetched, which the transport releases when its
 * context is destroyed. */
static uint32_t
in_use_otherwise(struct hg_context *context)
{
    uint32_t fetches = hg_fetches(context);
    uint32_t count = in_use(context);

    return count > fetches ? count - fetches
                           : base_completion_count(&context->bulk.completions);
}

hg_return_t
HG_Context_destroy(hg_context_t *context)
{
    struct hg_class *hg_class;
    uint32_t left;

    if (!context)
        return HG_SUCCESS;
    hg_class = context->hg_class;
    atomic_store_explicit(&context->ending, true, memory_order_relaxed);
    hg_ports_unpost(context);
    wait_for_none(context, hg_ports_posted, UNPOST_TIMEOUT_MS);
    left = wait_for_none(context, in_use, FETCH_TIMEOUT_MS);
    if (left > 0)
        left = wait_for_none(context, in_use_otherwise,
            DESTROY_TIMEOUT_MS - FETCH_TIMEOUT_MS - DESTROY_ENDING_MS);
    if (left > 0) {
        hg_answers_end(context);
        left = wait_for_none(context, in_use_otherwise, DESTROY_ENDING_MS);
    }
    if (left > 0) {
        /* The program triggers their callbacks. */
        hg_loopback_cancel_all(context);
        LOG_ERROR(HG,
            "context %u still has %u handles, transfers or lookups in use",
            hg_context_na(context)->id, left);
        return HG_BUSY;
    }
    hg_cancel_messages_forget(context);
    /* The transport releases the rest of the handles now. */
    close_ports(context);
    hg_fetches_discard(context);
    hg_pool_finish(context);
    for (unsigned i = 0; i < RT_TRANSPORTS; i++)
        hg_multi_close(context->ports[i].multi);
    if (context->data && context->data_free)
        context->data_free(context->data);
    hg_cancel_messages_finish(context);
    hg_timers_finish(&context->timers);
    bulk_context_finish(&context->bulk);
    free(context);
    atomic_fetch_sub_explicit(
        &hg_class->context_count, 1, memory_order_relaxed);
    return HG_SUCCESS;
}

hg_class_t *
HG_Context_get_class(const hg_context_t *context)
{
    return context ? context->hg_class : NULL;
}

uint8_t
HG_Context_get_id(const hg_context_t *context)
{
    return context ? hg_context_na(context)->id : 0;
}

hg_return_t
HG_Context_set_data(
    hg_context_t *context, void *data, void (*free_callback)(void *))
{
    if (!context)
        return HG_INVALID_ARG;
    context->data = data;
    context->data_free = free_callback;
    return HG_SUCCESS;
}

void *
HG_Context_get_data(const hg_context_t *context)
{
    return context ? context->data : NULL;
}
