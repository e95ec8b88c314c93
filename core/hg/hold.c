/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting what a context holds for its peers. */
#include "hg/hold.h"

#include "base/log.h"
#include "hg/handle.h"
#include "na.h"
#include "na/call.h"

#include <stdlib.h>

/* What one peer has added since half of the total was taken. */
struct hg_share {
    LIST_ENTRY(hg_share) next;
    struct hg_addr peer;
    uint64_t bytes;
};

static const struct hg_limits *
limits_of(const struct hg_context *context)
{
    return &context->hg_class->limits;
}

/* Peers can cause it at will: the first one is logged, and then at each power of
 * two. */
hg_return_t
hg_hold_refuse(
    struct hg_context *context, hg_return_t ret, uint64_t size, uint64_t limit)
{
    uint64_t count = 1 + atomic_fetch_add_explicit(
                             &context->hg_class->counters.payload_refused, 1,
                             memory_order_relaxed);
    uint64_t beside =
        ret == HG_AGAIN
            ? atomic_load_explicit(&context->holds.bytes, memory_order_relaxed)
            : 0;

    if ((count & (count - 1)) == 0)
        LOG_WARNING(HG,
            "context %u: a payload of %llu bytes is not taken beside %llu; at "
            "most %llu are: %s (%llu so far)",
            hg_context_na(context)->id, (unsigned long long) size,
            (unsigned long long) beside, (unsigned long long) limit,
            HG_Error_to_string(ret), (unsigned long long) count);
    return ret;
}

/* That of a handle's peer, made if there is none. NULL: no memory. Pool lock
 * held. */
static struct hg_share *
share_find(struct hg_context *context, const struct hg_addr *peer)
{
    struct na_class *na_class = peer->na_class;
    struct hg_share *share;

    LIST_FOREACH (share, &context->holds.shares, next)
        if (share->peer.na_class == na_class &&
            na_addr_same(na_class, share->peer.addr, peer->addr))
            return share;
    share = calloc(1, sizeof *share);
    if (!share)
        return NULL;
    na_peer_copy(&share->peer, peer);
    LIST_INSERT_HEAD(&context->holds.shares, share, next);
    return share;
}

/* Pool lock held. */
static hg_return_t
share_take(struct hg_hold *hold, struct hg_context *context,
    const struct hg_addr *peer, uint64_t most)
{
    struct hg_share *share = share_find(context, peer);

    if (!share)
        return HG_NOMEM;
    if (share->bytes > 0 && share->bytes + hold->bytes > most)
        return HG_AGAIN;
    share->bytes += hold->bytes;
    hold->share = share;
    return HG_SUCCESS;
}

void
hg_hold_release(struct hg_hold *hold, struct hg_context *context)
{
    struct hg_share *share = hold->share;

    if (share) {
        base_lock_acquire(&context->pool_lock);
        share->bytes -= hold->bytes;
        if (share->bytes == 0) {
            LIST_REMOVE(share, next);
            na_peer_release(&share->peer);
            free(share);
        }
        base_lock_release(&context->pool_lock);
    }
    atomic_fetch_sub_explicit(
        &context->holds.bytes, hold->bytes, memory_order_relaxed);
    *hold = (struct hg_hold){0};
}

hg_return_t
hg_hold_take(struct hg_hold *hold, struct hg_handle *handle, size_t size)
{
    struct hg_context *context = handle->context;
    const struct hg_net *net = &handle->port->net;
    uint64_t total = limits_of(context)->overflow_total, before;
    uint64_t bytes =
        size + context->hg_class->handle_size + net->in_size + net->out_size;
    hg_return_t ret = HG_SUCCESS;

    if (bytes > total)
        return hg_hold_refuse(context, HG_MSGSIZE, size, total);
    before = atomic_fetch_add_explicit(
        &context->holds.bytes, bytes, memory_order_relaxed);
    *hold = (struct hg_hold){.bytes = bytes};
    if (before > total - bytes) {
        hg_hold_release(hold, context);
        return hg_hold_refuse(context, HG_AGAIN, size, total);
    }
    /* An origin has asked for what it gets. */
    if (handle->role == HG_ROLE_TARGET && before > total / 2) {
        base_lock_acquire(&context->pool_lock);
        ret = share_take(hold, context, &handle->peer, total / 8);
        base_lock_release(&context->pool_lock);
    }
    if (ret != HG_SUCCESS)
        hg_hold_release(hold, context);
    if (ret == HG_AGAIN)
        return hg_hold_refuse(context, ret, size, total / 8);
    return ret;
}
