/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls to oneself, without the transport. The encoded request is copied into a
 * target handle of the caller's context, the encoded response back, and each
 * handle gets the completion event of a transport. A request and the origin
 * that waits for its response refer to each other, under a lock of the context;
 * the thread that separates them completes the origin's forward.
 */
#include "hg/loopback.h"

#include "hg/handle.h"
#include "hg/release.h"
#include "hg/rendezvous.h"
#include "na.h"

#include <string.h>

static __attribute__((cold, noinline)) hg_return_t
make_target(struct hg_context *context, struct hg_handle **target_p)
{
    hg_return_t ret = hg_handle_create(
        context, &context->ports[RT_MAIN], context->local_side, target_p);

    if (ret != HG_SUCCESS)
        return ret;
    /* The handle is on the list already, where others may read it. */
    base_lock_enter(&context->pool_lock);
    (*target_p)->local = true;
    hg_handle_note_special(*target_p);
    base_lock_exit(&context->pool_lock);
    return HG_SUCCESS;
}

/* Takes a target handle without a posted receive. */
static hg_return_t
take_target(struct hg_context *context, struct hg_handle **target_p)
{
    struct hg_handle *target;

    base_lock_acquire(&context->pool_lock);
    target = SLIST_FIRST(&context->free_local);
    if (target) {
        SLIST_REMOVE_HEAD(&context->free_local, free_next);
        atomic_store_explicit(
            &target->state, HG_HANDLE_USED, memory_order_relaxed);
    }
    base_lock_release(&context->pool_lock);
    if (!target)
        return make_target(context, target_p);
    hg_call_open(&target->call);
    *target_p = target;
    return HG_SUCCESS;
}

/* Separates a handle from its partner. Returns the partner, or NULL. Called
 * under the lock. */
static struct hg_handle *
separate(struct hg_handle *handle)
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
    struct base_lock *lock = &origin->context->loopback_lock;

    base_lock_enter(lock);
    origin->awaiting = true;
    atomic_store_explicit(&origin->partner, target, memory_order_relaxed);
    atomic_store_explicit(&target->partner, origin, memory_order_relaxed);
    base_lock_exit(lock);
}

/* Shares the extra payload of a message, if it has one, with the other handle's
 * message. */
static inline void
share_extra(const struct hg_message *from, struct hg_handle *handle,
    struct hg_message *message)
{
    if (__builtin_expect(from->extra == NULL, 1))
        return;
    hg_rendezvous_share(from, message);
    hg_handle_set_special(handle, HG_SPECIAL_EXTRA, true);
}

/* Delivers the request. The origin's forward may complete before this returns.
 */
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
    na_addr_dup(origin->peer.na_class, event.source);
    share_extra(&origin->in, target, &target->in);
    if (!origin->no_response)
        join(origin, target);
    target->recv->complete(target->recv, &event);
    na_progress_notify(hg_context_na(context)->progress);
}

/* Completes the only pending operation of the forward. */
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
    bool no_response = origin->no_response;
    struct hg_handle *target;
    hg_return_t ret;

    /* One operation is left pending: the receive, or without a response the
     * send. */
    if (!no_response)
        hg_call_begin_sent(&origin->call);
    ret = take_target(origin->context, &target);
    if (ret != HG_SUCCESS) {
        fail(origin, ret);
        return;
    }
    hand_over(origin, target);
    if (no_response)
        complete(
            origin, origin->send, (na_plugin_event){.status = NA_PLUGIN_OK});
}

struct hg_handle *
hg_loopback_answer(struct hg_handle *target)
{
    struct hg_context *context = target->context;
    struct hg_handle *origin;

    base_lock_enter(&context->loopback_lock);
    origin = separate(target);
    if (origin) {
        origin->awaiting = false;
        hg_context_enter(context);
    }
    base_lock_exit(&context->loopback_lock);
    if (!origin)
        return NULL;
    memcpy(origin->out.payload - HG_HEADER_RESPONSE_SIZE,
        target->out.payload - HG_HEADER_RESPONSE_SIZE,
        HG_HEADER_RESPONSE_SIZE + target->out.size);
    share_extra(&target->out, origin, &origin->out);
    return origin;
}

void
hg_loopback_answered(struct hg_handle *origin, size_t size)
{
    struct hg_context *context = origin->context;

    complete(origin, origin->recv,
        (na_plugin_event){.length = origin->port->net.out_payload + size,
            .flags = NA_PLUGIN_EVENT_MESSAGE});
    hg_context_leave(context);
}

__attribute__((cold)) void
hg_loopback_cancel(struct hg_handle *origin)
{
    struct base_lock *lock = &origin->context->loopback_lock;
    bool awaiting;

    base_lock_enter(lock);
    awaiting = origin->awaiting;
    origin->awaiting = false;
    if (awaiting)
        separate(origin);
    base_lock_exit(lock);
    if (awaiting)
        fail(origin, HG_CANCELED);
}

__attribute__((cold)) void
hg_loopback_cancel_all(struct hg_context *context)
{
    struct hg_handle *handle;

    /* Handles remain on the list, and belong to a call while they wait. */
    base_lock_acquire(&context->pool_lock);
    LIST_FOREACH (handle, &context->handles, all_next)
        hg_loopback_cancel(handle);
    base_lock_release(&context->pool_lock);
}

__attribute__((cold)) void
hg_loopback_released(struct hg_handle *target)
{
    struct hg_context *context = target->context;

    hg_handle_clear(target, HG_ROLE_TARGET);
    /* If it was not answered, its origin waits until it is cancelled. Only a
     * request to this handle sets partner, so a relaxed load is enough. */
    if (atomic_load_explicit(&target->partner, memory_order_relaxed)) {
        base_lock_acquire(&context->loopback_lock);
        separate(target);
        base_lock_release(&context->loopback_lock);
    }
    base_lock_enter(&context->pool_lock);
    atomic_store_explicit(&target->state, HG_HANDLE_FREE, memory_order_relaxed);
    SLIST_INSERT_HEAD(&context->free_local, target, free_next);
    base_lock_exit(&context->pool_lock);
}
