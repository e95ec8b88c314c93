/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages left for another class of the process. Unexpected ones wait there when
 * they find no receive and no room in the queue; expected ones never do. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "addr.h"
#include "inbox.h"
#include "op.h"

static struct ofi_parcel *
pack(const struct ofi_message *message)
{
    const na_plugin_addr *from = message->from;
    struct ofi_parcel *parcel = malloc(sizeof(*parcel) + message->length);

    if (parcel == NULL)
        return NULL;
    parcel->header = message->header;
    parcel->name.length = parcel->end.length = 0;
    if (!from->self)
        parcel->name = from->name;
    if (!from->self && from->at != 0 && from->end != NULL)
        parcel->end = *from->end;
    parcel->length = message->length;
    if (message->length != 0)
        memcpy(parcel->data, message->data, message->length);
    return parcel;
}

static struct tp_list *
list_for(struct ofi_inbox *inbox, const struct ofi_header *header)
{
    return header->kind == OFI_HEADER_EXPECTED ? &inbox->expected
                                               : &inbox->unexpected;
}

static bool
fits(struct ofi_endpoint *ep, uint64_t bytes)
{
    struct ofi_inbox *inbox = &ep->inbox;

    tp_lock_take(&inbox->lock);
    bool room = inbox->bytes == 0 || inbox->bytes + bytes <= ep->quota.limit;
    tp_lock_drop(&inbox->lock);
    return room;
}

bool
ofi_inbox_leave(struct ofi_endpoint *ep, const struct ofi_message *message)
{
    struct ofi_inbox *inbox = &ep->inbox;
    uint64_t bytes = sizeof(struct ofi_parcel) + message->length;

    if (!fits(ep, bytes))
        return false;
    struct ofi_parcel *parcel = pack(message);
    if (parcel == NULL)
        return false;
    tp_lock_take(&inbox->lock);
    tp_list_append(list_for(inbox, &parcel->header), &parcel->link);
    inbox->bytes += bytes;
    atomic_fetch_add_explicit(&inbox->count, 1, memory_order_relaxed);
    if (inbox->event >= 0 && !inbox->set)
        inbox->set = eventfd_write(inbox->event, 1) == 0;
    tp_lock_drop(&inbox->lock);
    return true;
}

/* Whether a message to this context of the class can be delivered, or dropped. */
static bool
has_room(const struct ofi_endpoint *ep, uint32_t id, uint64_t length)
{
    const na_plugin_ctx *ctx = ep->contexts[id];

    return ctx == NULL || tp_match_has_room(&ctx->match, length);
}

/* The first that can be delivered. [the inbox's lock] */
static struct ofi_parcel *
first_of(struct ofi_endpoint *ep)
{
    struct ofi_inbox *inbox = &ep->inbox;

    if (inbox->expected.head != NULL)
        return TP_OBJECT(inbox->expected.head, struct ofi_parcel, link);
    if (inbox->unexpected.head == NULL)
        return NULL;
    struct ofi_parcel *parcel =
        TP_OBJECT(inbox->unexpected.head, struct ofi_parcel, link);
    return has_room(ep, parcel->header.target_ctx, parcel->length) ? parcel
                                                                   : NULL;
}

static void
remove_parcel(struct ofi_inbox *inbox, struct ofi_parcel *parcel)
{
    tp_list_remove(list_for(inbox, &parcel->header), &parcel->link);
    inbox->bytes -= sizeof(*parcel) + parcel->length;
    atomic_fetch_sub_explicit(&inbox->count, 1, memory_order_relaxed);
}

struct ofi_parcel *
ofi_inbox_take(struct ofi_endpoint *ep)
{
    tp_lock_take(&ep->inbox.lock);
    struct ofi_parcel *parcel = first_of(ep);
    if (parcel != NULL)
        remove_parcel(&ep->inbox, parcel);
    tp_lock_drop(&ep->inbox.lock);
    return parcel;
}

void
ofi_inbox_clear(struct ofi_endpoint *ep)
{
    struct ofi_inbox *inbox = &ep->inbox;

    tp_lock_take(&inbox->lock);
    while (inbox->expected.head != NULL || inbox->unexpected.head != NULL) {
        struct tp_link *link = inbox->expected.head != NULL
                                   ? inbox->expected.head
                                   : inbox->unexpected.head;
        struct ofi_parcel *parcel = TP_OBJECT(link, struct ofi_parcel, link);
        remove_parcel(inbox, parcel);
        free(parcel);
        ep->counters.strayed++;
    }
    tp_lock_drop(&inbox->lock);
}

bool
ofi_inbox_arm(na_plugin_ctx *ctx)
{
    struct ofi_inbox *inbox = &ctx->ep->inbox;

    tp_lock_take(&inbox->lock);
    bool nothing = first_of(ctx->ep) == NULL;
    inbox->event = ctx->wake.event;
    inbox->set = false;
    tp_lock_drop(&inbox->lock);
    return nothing;
}

bool
ofi_inbox_disarm(na_plugin_ctx *ctx)
{
    struct ofi_inbox *inbox = &ctx->ep->inbox;

    tp_lock_take(&inbox->lock);
    bool set = inbox->set;
    inbox->event = -1;
    inbox->set = false;
    tp_lock_drop(&inbox->lock);
    return set;
}
