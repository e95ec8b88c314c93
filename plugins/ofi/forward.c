/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages for a context of another endpoint of the class. */
#include "forward.h"
#include "address.h"
#include "endpoints.h"
#include "inbox.h"
#include "receive.h"
#include "rx.h"
#include "send.h"

/* A message for another endpoint. False: there is no room for it. */
static bool
give(struct ofi_endpoint *first, struct ofi_endpoint *other,
    const struct ofi_message *message)
{
    if (!ofi_inbox_leave(other, message))
        return false;
    first->counters.forwarded++;
    ofi_send_endpoint(first, message->from, other);
    return true;
}

bool
ofi_forward(struct ofi_endpoint *first, const struct ofi_message *message)
{
    if (give(first, ofi_endpoint_of(first->cls, message->header.target_ctx),
            message))
        return false;
    struct tp_kept *kept = ofi_rx_keep(first, message->rx);
    kept->from = message->from;
    ofi_addr_hold(kept->from);
    kept->data = message->data - message->before;
    kept->length = message->before + message->length;
    tp_list_append(&first->detained, &kept->by_age);
    return true;
}

/* True: a message that was detained need not be any longer. */
static bool
release(struct ofi_endpoint *first, const struct tp_kept *kept)
{
    struct ofi_message message = {.from = kept->from};

    if (!ofi_header_read(
            kept->data, kept->length, &message.header, &message.before))
        return true; /* it was read before */
    struct ofi_endpoint *other =
        ofi_endpoint_of(first->cls, message.header.target_ctx);
    message.data = (const unsigned char *) kept->data + message.before;
    message.length = kept->length - message.before;
    if (other == NULL)
        first->counters.strayed++;
    return other == NULL || give(first, other, &message);
}

void
ofi_forward_retry(struct ofi_endpoint *first)
{
    struct tp_link *next = NULL;

    for (struct tp_link *link = first->detained.head; link != NULL;
         link = next) {
        struct tp_kept *kept = TP_OBJECT(link, struct tp_kept, by_age);
        next = link->next;
        if (!release(first, kept))
            continue;
        tp_list_remove(&first->detained, link);
        ofi_addr_drop(first, kept->from);
        ofi_rx_forget(first, kept);
    }
}

bool
ofi_forward_own(struct ofi_endpoint *ep, const struct ofi_message *message)
{
    uint32_t id = message->header.target_ctx;
    struct ofi_endpoint *target = ofi_endpoint_of(ep->cls, id);

    if (target == NULL) {
        ep->counters.strayed++;
        return true;
    }
    return ofi_inbox_leave(target, message);
}
