/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages left for another class of the process. Unexpected ones wait there when
 * they find no receive and no room in the queue; expected ones never do. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "address.h"
#include "inbox.h"
#include "peer.h"
#include "route.h"

struct parcel {
    struct ofi_link link;
    struct ofi_header header;
    struct ofi_name name; /* of the sender's class, length 0: this one */
    struct ofi_name end;  /* of its endpoint, length 0: the first */
    uint32_t length;
    unsigned char data[];
};

static struct parcel *
pack(const struct ofi_message *message)
{
    const na_plugin_addr *from = message->from;
    struct parcel *parcel = malloc(sizeof(*parcel) + message->length);

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

static struct ofi_list *
list_for(struct ofi_inbox *inbox, const struct ofi_header *header)
{
    return header->kind == OFI_HEADER_EXPECTED ? &inbox->expected
                                               : &inbox->unexpected;
}

static bool
fits(na_plugin_class *cls, uint64_t bytes)
{
    struct ofi_inbox *inbox = &cls->inbox;

    ofi_lock_take(&inbox->lock);
    bool room = inbox->bytes == 0 || inbox->bytes + bytes <= cls->queue_limit;
    ofi_lock_drop(&inbox->lock);
    return room;
}

bool
ofi_inbox_leave(na_plugin_class *cls, const struct ofi_message *message)
{
    struct ofi_inbox *inbox = &cls->inbox;
    uint64_t bytes = sizeof(struct parcel) + message->length;

    if (!fits(cls, bytes))
        return false;
    struct parcel *parcel = pack(message);
    if (parcel == NULL)
        return false;
    ofi_lock_take(&inbox->lock);
    ofi_list_append(list_for(inbox, &parcel->header), &parcel->link);
    inbox->bytes += bytes;
    atomic_fetch_add_explicit(&inbox->count, 1, memory_order_relaxed);
    if (inbox->bell >= 0 && !inbox->rung)
        inbox->rung = eventfd_write(inbox->bell, 1) == 0;
    ofi_lock_drop(&inbox->lock);
    return true;
}

/* The first that can be delivered. [the inbox's lock] */
static struct parcel *
first_of(na_plugin_class *cls)
{
    struct ofi_inbox *inbox = &cls->inbox;

    if (inbox->expected.head != NULL)
        return OFI_OBJECT(inbox->expected.head, struct parcel, link);
    if (inbox->unexpected.head == NULL)
        return NULL;
    struct parcel *parcel =
        OFI_OBJECT(inbox->unexpected.head, struct parcel, link);
    return ofi_match_has_room(cls, parcel->header.target_ctx, parcel->length)
               ? parcel
               : NULL;
}

static void
remove_parcel(struct ofi_inbox *inbox, struct parcel *parcel)
{
    ofi_list_remove(list_for(inbox, &parcel->header), &parcel->link);
    inbox->bytes -= sizeof(*parcel) + parcel->length;
    atomic_fetch_sub_explicit(&inbox->count, 1, memory_order_relaxed);
}

static struct parcel *
next_parcel(na_plugin_class *cls)
{
    ofi_lock_take(&cls->inbox.lock);
    struct parcel *parcel = first_of(cls);
    if (parcel != NULL)
        remove_parcel(&cls->inbox, parcel);
    ofi_lock_drop(&cls->inbox.lock);
    return parcel;
}

static na_plugin_addr *
sender_of(na_plugin_class *cls, const struct parcel *parcel)
{
    if (parcel->name.length != 0)
        return ofi_route_sender(cls, &parcel->name, &parcel->header,
            parcel->end.length != 0 ? &parcel->end : NULL);
    ofi_addr_hold(cls->self);
    return cls->self;
}

static void
deliver(na_plugin_class *cls, const struct parcel *parcel)
{
    struct ofi_message message = {.header = parcel->header,
        .from = sender_of(cls, parcel),
        .data = parcel->data,
        .length = parcel->length};

    if (message.from == NULL) {
        cls->counters.strayed++;
        return;
    }
    if (message.from->self ||
        ofi_peer_heard(cls, message.from, parcel->header.source))
        ofi_match_deliver(cls, &message);
    else
        cls->counters.strayed++;
    ofi_addr_drop(cls, message.from);
}

void
ofi_inbox_unpack(na_plugin_class *cls)
{
    struct parcel *parcel = NULL;

    while ((parcel = next_parcel(cls)) != NULL) {
        deliver(cls, parcel);
        free(parcel);
    }
}

void
ofi_inbox_clear(na_plugin_class *cls)
{
    struct ofi_inbox *inbox = &cls->inbox;

    ofi_lock_take(&inbox->lock);
    while (inbox->expected.head != NULL || inbox->unexpected.head != NULL) {
        struct ofi_link *link = inbox->expected.head != NULL
                                    ? inbox->expected.head
                                    : inbox->unexpected.head;
        struct parcel *parcel = OFI_OBJECT(link, struct parcel, link);
        remove_parcel(inbox, parcel);
        free(parcel);
        cls->counters.strayed++;
    }
    ofi_lock_drop(&inbox->lock);
}

bool
ofi_inbox_arm(na_plugin_ctx *ctx)
{
    struct ofi_inbox *inbox = &ctx->cls->inbox;

    ofi_lock_take(&inbox->lock);
    bool nothing = first_of(ctx->cls) == NULL;
    inbox->bell = ctx->bell;
    inbox->rung = false;
    ofi_lock_drop(&inbox->lock);
    return nothing;
}

bool
ofi_inbox_disarm(na_plugin_ctx *ctx)
{
    struct ofi_inbox *inbox = &ctx->cls->inbox;

    ofi_lock_take(&inbox->lock);
    bool rung = inbox->rung;
    inbox->bell = -1;
    inbox->rung = false;
    ofi_lock_drop(&inbox->lock);
    return rung;
}
