/* SPDX-License-Identifier: BSD-3-Clause */
/* Unexpected messages wait here when they find no receive and no room in the
 * queue of their context; expected ones never do. */
#include <stdlib.h>
#include <sys/eventfd.h>

#include "cross.h"
#include "op.h"
#include "peer.h"

static struct ofi_cross_message *
copy(const struct ofi_message *message)
{
    const struct ofi_peer *from = message->from;
    struct ofi_cross_message *copied =
        malloc(sizeof(*copied) + message->length);

    if (copied == NULL)
        return NULL;
    copied->header = message->header;
    copied->from = from->addr;
    ofi_addr_hold(copied->from);
    copied->name.length = 0;
    if (from->context != 0 && from->name != NULL)
        copied->name = *from->name;
    copied->length = message->length;
    if (message->length != 0)
        memcpy(copied->data, message->data, message->length);
    return copied;
}

void
ofi_cross_free(struct ofi_endpoint *ep, struct ofi_cross_message *message)
{
    ofi_addr_release(ep->cls, message->from);
    free(message);
}

static struct tp_list *
list_for(struct ofi_cross *cross, const struct ofi_header *header)
{
    return header->kind == OFI_HEADER_EXPECTED ? &cross->expected
                                               : &cross->unexpected;
}

static bool
fits(struct ofi_endpoint *ep, uint64_t bytes)
{
    struct ofi_cross *cross = &ep->cross;

    tp_lock_take(&cross->lock);
    bool room = cross->bytes == 0 || cross->bytes + bytes <= ep->quota.limit;
    tp_lock_drop(&cross->lock);
    return room;
}

bool
ofi_cross_append(struct ofi_endpoint *ep, const struct ofi_message *message)
{
    struct ofi_cross *cross = &ep->cross;
    uint64_t bytes = sizeof(struct ofi_cross_message) + message->length;
    struct ofi_cross_message *copied = fits(ep, bytes) ? copy(message) : NULL;

    if (copied == NULL)
        return false;
    tp_lock_take(&cross->lock);
    tp_list_append(list_for(cross, &copied->header), &copied->link);
    cross->bytes += bytes;
    atomic_fetch_add_explicit(&cross->count, 1, memory_order_relaxed);
    if (cross->event >= 0 && !cross->set)
        cross->set = eventfd_write(cross->event, 1) == 0;
    tp_lock_drop(&cross->lock);
    return true;
}

/* Whether a message to this context can be delivered, or dropped. */
static bool
has_room(const struct ofi_endpoint *ep, uint32_t id, uint64_t length)
{
    const na_plugin_ctx *ctx = ep->contexts[id];

    return ctx == NULL || tp_match_has_room(&ctx->match, length);
}

/* The first that can be delivered. [the queue's lock] */
static struct ofi_cross_message *
first_of(struct ofi_endpoint *ep)
{
    struct ofi_cross *cross = &ep->cross;

    if (cross->expected.head != NULL)
        return TP_OBJECT(cross->expected.head, struct ofi_cross_message, link);
    if (cross->unexpected.head == NULL)
        return NULL;
    struct ofi_cross_message *first =
        TP_OBJECT(cross->unexpected.head, struct ofi_cross_message, link);
    return has_room(ep, first->header.target_ctx, first->length) ? first : NULL;
}

static void
remove_one(struct ofi_cross *cross, struct ofi_cross_message *message)
{
    tp_list_remove(list_for(cross, &message->header), &message->link);
    cross->bytes -= sizeof(*message) + message->length;
    atomic_fetch_sub_explicit(&cross->count, 1, memory_order_relaxed);
}

struct ofi_cross_message *
ofi_cross_take(struct ofi_endpoint *ep)
{
    tp_lock_take(&ep->cross.lock);
    struct ofi_cross_message *message = first_of(ep);
    if (message != NULL)
        remove_one(&ep->cross, message);
    tp_lock_drop(&ep->cross.lock);
    return message;
}

void
ofi_cross_clear(struct ofi_endpoint *ep)
{
    struct ofi_cross *cross = &ep->cross;
    struct tp_link *link;

    tp_lock_take(&cross->lock);
    while ((link = cross->expected.head) != NULL ||
           (link = cross->unexpected.head) != NULL) {
        struct ofi_cross_message *message =
            TP_OBJECT(link, struct ofi_cross_message, link);
        remove_one(cross, message);
        ofi_cross_free(ep, message);
        ep->counters.strayed++;
    }
    tp_lock_drop(&cross->lock);
}

bool
ofi_cross_arm(na_plugin_ctx *ctx)
{
    struct ofi_cross *cross = &ctx->ep->cross;

    tp_lock_take(&cross->lock);
    bool nothing = first_of(ctx->ep) == NULL;
    cross->event = ctx->wake.event;
    cross->set = false;
    tp_lock_drop(&cross->lock);
    return nothing;
}

void
ofi_cross_disarm(na_plugin_ctx *ctx)
{
    struct ofi_cross *cross = &ctx->ep->cross;

    ctx->armed = false;
    if (ctx->ep->cls->multi_endpoint) {
        tp_lock_take(&cross->lock);
        ctx->wake.set = ctx->wake.set || cross->set;
        cross->event = -1;
        cross->set = false;
        tp_lock_drop(&cross->lock);
    }
    tp_wake_clear(&ctx->wake);
}
