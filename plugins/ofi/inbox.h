/* SPDX-License-Identifier: BSD-3-Clause */
/* What the endpoints of a class leave for one another: messages
 * that came to the one and are for a context of the other. */
#ifndef OFI_INBOX_H
#define OFI_INBOX_H

#include "common/list.h"
#include "message.h"
#include "rx.h"

/* Leaves a copy of a message for a class. False: there is no room, or no memory.
 * [lock of the class whose message.from is] */
bool ofi_inbox_leave(
    struct ofi_endpoint *ep, const struct ofi_message *message);

struct ofi_parcel {
    struct tp_link link;
    struct ofi_header header;
    struct ofi_name name; /* of the sender's class, length 0: this one */
    struct ofi_name end;  /* of its endpoint, length 0: the first */
    uint32_t length;
    unsigned char data[];
};

/* Takes the first that there is room for, which the caller frees; NULL: none.
 * [lock] */
struct ofi_parcel *ofi_inbox_take(struct ofi_endpoint *ep);

/* Drops what is for a context that goes, and counts it. [lock] */
void ofi_inbox_clear(struct ofi_endpoint *ep);

/* What others leave wakes a context from now on; false: there is something to
 * deliver already. No longer; true: its wake-up was set. [lock] */
bool ofi_inbox_arm(na_plugin_ctx *ctx);
bool ofi_inbox_disarm(na_plugin_ctx *ctx);

static inline bool
ofi_inbox_is_empty(const struct ofi_endpoint *ep)
{
    /* relaxed: what is missed now is seen by the next poll, or sets the wake-up */
    return atomic_load_explicit(&ep->inbox.count, memory_order_relaxed) == 0;
}

#endif /* OFI_INBOX_H */
