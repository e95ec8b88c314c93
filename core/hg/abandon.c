/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that their origin gives up. */
#include "hg/abandon.h"

#include "hg/handle.h"
#include "na/call.h"
#include "rt/submit.h"

#include <stdlib.h>

/* How many a context remembers, for requests that are yet to be answered. */
#define REMEMBERED 64U

struct hg_abandoned {
    struct hg_addr peer;
    uint64_t tag;
    uint32_t cookie;
};

/* The request has left, and nothing came. */
static bool
wanted(const struct hg_handle *handle)
{
    return !(hg_call_word(&handle->call) &
               (HG_CALL_IS_UNSENT | HG_CALL_IS_ANSWERED | HG_CALL_NOTIFIED)) &&
           !handle->loopback && hg_call_ret(&handle->call) != HG_HOSTUNREACH &&
           (!handle->no_response || handle->in.overflow);
}

/* On its way to a target. */
struct hg_notice {
    struct hg_context *context;
    struct hg_addr peer;
    LIST_ENTRY(hg_notice) next; /* under pool_lock */
};

static void
notice_free(struct hg_notice *notice)
{
    base_lock_acquire(&notice->context->pool_lock);
    LIST_REMOVE(notice, next);
    base_lock_release(&notice->context->pool_lock);
    na_peer_release(&notice->peer);
    free(notice);
}

static void
notice_sent(struct na_op *op, const na_plugin_event *event)
{
    notice_free(op->owner);
}

/* Apart from the handle, which is to be free at once. Without the memory for
 * it the target is not told. */
static void
tell(struct hg_handle *handle)
{
    const struct hg_net *net = &handle->port->net;
    const struct na_class *na_class = net->na_class;
    size_t end = sizeof(struct hg_notice);
    size_t op_at = na_op_layout(na_class, &end);
    size_t header = na_class->opened.unexpected_header_size;
    const struct hg_header_front front =
        hg_header_front_make(HG_HEADER_MAGIC_ABANDON, 0, handle->cookie);
    struct hg_notice *notice = na_op_block_alloc(end + header + sizeof front);
    struct na_op *op;
    char *buffer;

    if (!notice)
        return;
    op = (struct na_op *) ((char *) notice + op_at);
    buffer = (char *) notice + end;
    op->owner = notice;
    op->complete = notice_sent;
    notice->context = handle->context;
    na_peer_copy(&notice->peer, &handle->peer);
    base_lock_acquire(&handle->context->pool_lock);
    LIST_INSERT_HEAD(&handle->context->notices, notice, next);
    base_lock_release(&handle->context->pool_lock);
    memcpy(buffer + header, &front, sizeof front);
    if (na_buf_init(net->na_class, buffer, header + sizeof front,
            NA_PLUGIN_MSG_UNEXPECTED) != NA_SUCCESS ||
        rt_send_unexpected(rt_endpoint(hg_handle_na(handle)), op, buffer,
            header + sizeof front, NULL, notice->peer.addr, handle->target_id,
            handle->tag) != NA_PLUGIN_PENDING)
        notice_free(notice);
}

void
hg_abandon(struct hg_handle *handle, uint32_t operation)
{
    /* Acquire: what the other operation left comes before. */
    uint32_t word =
        atomic_load_explicit(&handle->call.word, memory_order_acquire);

    if ((word & (HG_CALL_SEND | HG_CALL_RECV)) != operation || !wanted(handle))
        return;
    hg_call_note(&handle->call, HG_CALL_NOTIFIED);
    tell(handle);
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
remember(struct hg_context *context, const struct hg_handle *notice)
{
    struct hg_abandoned *entry;

    if (!context->abandoned)
        context->abandoned = calloc(REMEMBERED, sizeof *context->abandoned);
    if (!context->abandoned)
        return;
    entry = &context->abandoned[context->abandoned_next++ % REMEMBERED];
    na_peer_release(&entry->peer);
    na_peer_copy(&entry->peer, &notice->peer);
    entry->tag = notice->tag;
    entry->cookie = notice->cookie;
}

bool
hg_abandon_take(struct hg_handle *handle, const void *bytes, size_t size,
    struct hg_handle **moving_p)
{
    struct hg_context *context = handle->context;
    struct hg_handle *other, *moving = NULL;
    struct hg_header_front front;
    bool running = false;

    *moving_p = NULL;
    if (size < sizeof front)
        return false;
    memcpy(&front, bytes, sizeof front);
    if (hg_header_front_check(&front, HG_HEADER_MAGIC_ABANDON) != HG_SUCCESS)
        return false;
    base_lock_acquire(&context->pool_lock);
    LIST_FOREACH (other, &context->handles, all_next) {
        if (other == handle || other->role != HG_ROLE_TARGET ||
            other->tag != handle->tag || other->cookie != handle->cookie)
            continue;
        /* What moves holds its handle's peer. */
        if (!atomic_load_explicit(&other->moving, memory_order_relaxed))
            running = true;
        else if (is_of(other, handle->port, &handle->peer, handle->tag,
                     handle->cookie))
            moving = other;
    }
    base_lock_release(&context->pool_lock);
    if (!moving && running)
        remember(context, handle);
    *moving_p = moving;
    return true;
}

bool
hg_abandon_known(const struct hg_handle *handle)
{
    struct hg_context *context = handle->context;

    for (unsigned i = 0; context->abandoned && i < REMEMBERED; i++) {
        struct hg_abandoned *entry = &context->abandoned[i];

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
hg_abandon_finish(struct hg_context *context)
{
    struct hg_notice *notice;

    while ((notice = LIST_FIRST(&context->notices)) != NULL)
        notice_free(notice);
    free(context->abandoned);
}

void
hg_abandon_forget(struct hg_context *context)
{
    for (unsigned i = 0; context->abandoned && i < REMEMBERED; i++)
        na_peer_release(&context->abandoned[i].peer);
}
