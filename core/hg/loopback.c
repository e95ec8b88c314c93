/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RPCs to oneself, without the transport: the encoded request is copied into a
 * target handle of the addressed context, the encoded answer back, and each
 * handle is told by the event that a transport would have brought. A request
 * and who waits for its answer name each other, under a lock of the class;
 * whoever parts them ends the origin's forward.
 */
#include "hg/loopback.h"

#include "base/log.h"
#include "hg/handle.h"
#include "na.h"

#include <string.h>

static struct hg_loopback *
loopback_of(const struct hg_handle *handle)
{
    return &handle->context->hg_class->loopback;
}

void
hg_loopback_init(struct hg_class *hg_class, bool off)
{
    const struct na_class *na_class = hg_class_na(hg_class);
    struct hg_loopback *loopback = &hg_class->loopback;

    loopback->off = off;
    loopback->narrow = na_class->single_context && !na_class->single_class;
    base_lock_init(&loopback->lock, na_class->single_class);
    LIST_INIT(&loopback->contexts);
}

void
hg_loopback_enter(struct hg_context *context)
{
    struct hg_loopback *loopback = &context->hg_class->loopback;

    base_lock_acquire(&loopback->lock);
    LIST_INSERT_HEAD(&loopback->contexts, context, loopback_next);
    context->listed = true;
    base_lock_release(&loopback->lock);
}

void
hg_loopback_leave(struct hg_context *context)
{
    struct hg_loopback *loopback = &context->hg_class->loopback;

    base_lock_acquire(&loopback->lock);
    if (context->listed)
        LIST_REMOVE(context, loopback_next);
    context->listed = false;
    base_lock_release(&loopback->lock);
}

/* The context of an id, which stays until it is left; NULL: there is none that
 * takes requests. */
static struct hg_context *
visit(struct hg_loopback *loopback, uint8_t id)
{
    struct hg_context *context;

    base_lock_acquire(&loopback->lock);
    LIST_FOREACH (context, &loopback->contexts, loopback_next)
        if (hg_context_na(context)->id == id)
            break;
    if (context)
        atomic_fetch_add_explicit(&context->visitors, 1, memory_order_relaxed);
    base_lock_release(&loopback->lock);
    return context;
}

static void
leave(struct hg_context *context)
{
    /* Release pairs with the acquire in in_use (context.c). */
    atomic_fetch_sub_explicit(&context->visitors, 1, memory_order_release);
}

/* A target handle that no receive was posted for. */
static hg_return_t
take_target(struct hg_context *context, struct hg_handle **target_p)
{
    struct hg_handle *target;
    hg_return_t ret;

    base_lock_acquire(&context->pool_lock);
    target = SLIST_FIRST(&context->free_local);
    if (target) {
        SLIST_REMOVE_HEAD(&context->free_local, free_next);
        atomic_store_explicit(
            &target->place, HG_PLACE_USED, memory_order_relaxed);
    }
    base_lock_release(&context->pool_lock);
    if (!target) {
        ret = hg_handle_create(
            context, &context->ports[HG_NET_MAIN], HG_ROLE_TARGET, &target);
        if (ret != HG_SUCCESS)
            return ret;
        /* Listed already, it may be looked at. */
        base_lock_acquire(&context->pool_lock);
        target->local = true;
        base_lock_release(&context->pool_lock);
    }
    atomic_store_explicit(
        &target->responded, HG_RESPONDED_NOT, memory_order_relaxed);
    *target_p = target;
    return HG_SUCCESS;
}

/* Parts a handle from its other side; the other side, or NULL. Lock held. */
static struct hg_handle *
part(struct hg_handle *handle)
{
    struct hg_handle *other =
        atomic_load_explicit(&handle->partner, memory_order_relaxed);

    if (other)
        atomic_store_explicit(&other->partner, NULL, memory_order_relaxed);
    atomic_store_explicit(&handle->partner, NULL, memory_order_relaxed);
    return other;
}

static void
join(struct hg_handle *origin, struct hg_handle *target)
{
    struct hg_loopback *loopback = loopback_of(origin);

    base_lock_acquire(&loopback->lock);
    origin->awaiting = true;
    atomic_store_explicit(&origin->partner, target, memory_order_relaxed);
    atomic_store_explicit(&target->partner, origin, memory_order_relaxed);
    base_lock_release(&loopback->lock);
}

/* Hands the request over. The origin may be done with before this returns. */
static void
hand_over(struct hg_handle *origin, struct hg_handle *target)
{
    struct hg_context *context = target->context;
    na_plugin_event event = {.tag = origin->tag,
        .length = origin->port->net.in_payload + origin->in.size,
        .source = origin->peer.addr,
        .flags = NA_PLUGIN_EVENT_MESSAGE};

    memcpy(target->in.payload - HG_HEADER_REQUEST_SIZE,
        origin->in.payload - HG_HEADER_REQUEST_SIZE,
        HG_HEADER_REQUEST_SIZE + origin->in.size);
    origin->peer.na_class->ops.addr_dup(
        origin->peer.na_class->plugin_class, event.source);
    if (__builtin_expect(origin->in.overflow != NULL, 0))
        hg_overflow_share(&origin->in, &target->in);
    if (!origin->no_response)
        join(origin, target);
    target->recv->complete(target->recv, &event);
    na_progress_notify(hg_context_na(context)->progress);
}

/* The forward has this part alone that can end. */
static void
complete(struct hg_handle *origin, struct na_op *op, na_plugin_event event)
{
    struct hg_context *context = origin->context;

    op->complete(op, &event);
    na_progress_notify(hg_context_na(context)->progress);
}

static void
fail(struct hg_handle *origin, hg_return_t ret)
{
    complete(origin, origin->no_response ? origin->send : origin->recv,
        (na_plugin_event){.status = -(int32_t) ret});
}

void
hg_loopback_forward(struct hg_handle *origin)
{
    struct hg_context *context = visit(loopback_of(origin), origin->target_id);
    bool no_response = origin->no_response;
    struct hg_handle *target;
    hg_return_t ret = HG_NODEV;

    if (!no_response)
        /* The request does not stay underway. */
        atomic_fetch_sub_explicit(
            &origin->parts, HG_PART_SEND, memory_order_relaxed);
    if (context)
        ret = take_target(context, &target);
    else
        LOG_ERROR(HG, "no context %u of this class takes requests",
            origin->target_id);
    if (ret != HG_SUCCESS) {
        fail(origin, ret);
    } else {
        hand_over(origin, target);
        if (no_response)
            complete(origin, origin->send,
                (na_plugin_event){.status = NA_PLUGIN_OK});
    }
    if (context)
        leave(context);
}

int32_t
hg_loopback_answer(struct hg_handle *target)
{
    struct hg_loopback *loopback = loopback_of(target);
    na_plugin_event event = {
        .length = target->port->net.out_payload + target->out.size,
        .flags = NA_PLUGIN_EVENT_MESSAGE};
    struct hg_context *context;
    struct hg_handle *origin;

    base_lock_acquire(&loopback->lock);
    origin = part(target);
    if (!origin) {
        base_lock_release(&loopback->lock);
        return NA_PLUGIN_DONE; /* nobody waits any more */
    }
    origin->awaiting = false;
    context = origin->context;
    atomic_fetch_add_explicit(&context->visitors, 1, memory_order_relaxed);
    base_lock_release(&loopback->lock);
    memcpy(origin->out.payload - HG_HEADER_RESPONSE_SIZE,
        target->out.payload - HG_HEADER_RESPONSE_SIZE,
        HG_HEADER_RESPONSE_SIZE + target->out.size);
    if (__builtin_expect(target->out.overflow != NULL, 0))
        hg_overflow_share(&target->out, &origin->out);
    complete(origin, origin->recv, event);
    leave(context);
    return NA_PLUGIN_DONE;
}

void
hg_loopback_cancel(struct hg_handle *origin)
{
    struct hg_loopback *loopback = loopback_of(origin);
    bool awaiting;

    base_lock_acquire(&loopback->lock);
    awaiting = origin->awaiting;
    origin->awaiting = false;
    if (awaiting)
        part(origin);
    base_lock_release(&loopback->lock);
    if (awaiting)
        fail(origin, HG_CANCELED);
}

void
hg_loopback_cancel_all(struct hg_context *context)
{
    struct hg_handle *handle;

    /* What is on the list stays there, and is a handle's while it awaits. */
    base_lock_acquire(&context->pool_lock);
    LIST_FOREACH (handle, &context->handles, all_next)
        hg_loopback_cancel(handle);
    base_lock_release(&context->pool_lock);
}

void
hg_loopback_put(struct hg_handle *target)
{
    struct hg_context *context = target->context;
    struct hg_loopback *loopback = loopback_of(target);

    /* It was never answered: its origin waits on, until it is cancelled. Set
     * by this handle's own request only, so that a look suffices. */
    if (atomic_load_explicit(&target->partner, memory_order_relaxed)) {
        base_lock_acquire(&loopback->lock);
        part(target);
        base_lock_release(&loopback->lock);
    }
    base_lock_acquire(&context->pool_lock);
    atomic_store_explicit(&target->place, HG_PLACE_FREE, memory_order_relaxed);
    SLIST_INSERT_HEAD(&context->free_local, target, free_next);
    base_lock_release(&context->pool_lock);
}
