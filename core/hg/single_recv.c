/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving each request in the buffer of its handle. */
#include "hg/single_recv.h"

#include "base/same.h"
#include "hg/refill.h"
#include "hg/release.h"
#include "na.h"
#include "na/violation.h"
#include "rt/submit.h"

static void
set_state(struct hg_handle *handle, enum hg_handle_state state)
{
    atomic_store_explicit(&handle->state, state, memory_order_relaxed);
}

/* The transport has refused the receive. */
static __attribute__((cold, noinline)) hg_return_t
refused(struct hg_handle *handle, int32_t code)
{
    struct hg_port *port = handle->port;

    set_state(handle, HG_HANDLE_FREE);
    atomic_fetch_sub_explicit(&port->posted, 1, memory_order_relaxed);
    return (hg_return_t) na_submission_failed(
        port->na_context, "recv_unexpected", code);
}

/* Posts the receive of an unused handle. */
static inline __attribute__((always_inline)) hg_return_t
post_inline(struct hg_handle *handle)
{
    struct hg_port *port = handle->port;
    struct rt_endpoint at;
    int32_t code;

    if (__builtin_expect(handle->single, 0))
        port->single_posted++;
    else
        atomic_fetch_add_explicit(&port->posted, 1, memory_order_relaxed);
    hg_call_open(&handle->call);
    set_state(handle, HG_HANDLE_POSTED);
    at = rt_endpoint(port->na_context);
    code = rt_recv_unexpected(at, handle->recv, handle->in.buffer,
        port->net.in_size, handle->in.buffer_data);
    return __builtin_expect(code == NA_PLUGIN_PENDING, 1)
               ? HG_SUCCESS
               : refused(base_same(handle), code);
}

static __attribute__((cold, noinline)) hg_return_t
post(struct hg_handle *handle)
{
    return post_inline(handle);
}

static __attribute__((cold, noinline)) void
not_posted(struct hg_handle *handle, hg_return_t ret)
{
    if (!na_context_is_dead(handle->port->na_context))
        hg_refill_log(ret);
    hg_port_postpone(handle->context, handle->port);
}

static inline __attribute__((always_inline)) void
repost(struct hg_handle *handle)
{
    struct hg_context *context = handle->context;
    hg_return_t ret;

    /* The next hg_ports_unpost cancels a receive posted concurrently. */
    if (!atomic_load_explicit(&context->accepting, memory_order_relaxed)) {
        set_state(handle, HG_HANDLE_FREE);
        return;
    }
    if (__builtin_expect(hg_refill_enough(handle->port), 0)) {
        hg_refill_spare(handle);
        return;
    }
    ret = post_inline(handle);
    if (__builtin_expect(ret != HG_SUCCESS, 0))
        not_posted(handle, ret);
}

void
hg_single_released(struct hg_handle *handle)
{
    hg_handle_clear(handle, HG_ROLE_TARGET);
    repost(handle);
}

/* Returns whether a handle receives requests through a port. */
static bool
receives(const struct hg_handle *handle, const struct hg_port *port)
{
    return handle->role == HG_ROLE_TARGET && !handle->local &&
           handle->port == port;
}

/* Returns a handle whose receive could not be posted, or NULL. */
static struct hg_handle *
take_postponed(struct hg_context *context, const struct hg_port *port)
{
    struct hg_handle *handle;

    base_lock_acquire(&context->pool_lock);
    LIST_FOREACH (handle, &context->handles, all_next)
        if (receives(handle, port) &&
            atomic_load_explicit(&handle->state, memory_order_relaxed) ==
                HG_HANDLE_FREE) {
            set_state(handle, HG_HANDLE_USED);
            break;
        }
    base_lock_release(&context->pool_lock);
    return handle;
}

/* Creates no handles, since it runs in progress: that would run the user's
 * callback. */
static __attribute__((cold)) void
retry(struct hg_context *context, struct hg_port *port)
{
    struct hg_handle *handle;

    while ((handle = take_postponed(context, port)) != NULL) {
        if (post(handle) == HG_SUCCESS)
            continue;
        /* Logged when it failed first. */
        hg_port_postpone(context, port);
        return;
    }
}

static __attribute__((cold)) void
unpost(struct hg_context *context, struct hg_port *port)
{
    struct hg_handle *handle;

    for (handle = hg_pool_first(context); handle;
         handle = LIST_NEXT(handle, all_next))
        if (receives(handle, port))
            rt_cancel(port->na_context, handle->recv);
}

static __attribute__((cold)) uint32_t
posted(struct hg_context *context, struct hg_port *port)
{
    struct hg_handle *handle;
    uint32_t count = 0;

    base_lock_acquire(&context->pool_lock);
    LIST_FOREACH (handle, &context->handles, all_next)
        count += receives(handle, port) &&
                 atomic_load_explicit(&handle->state, memory_order_relaxed) ==
                     HG_HANDLE_POSTED;
    base_lock_release(&context->pool_lock);
    return count;
}

const struct hg_receiver hg_single_receiver = {
    .post = post, .retry = retry, .unpost = unpost, .posted = posted};
