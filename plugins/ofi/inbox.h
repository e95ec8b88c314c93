/* SPDX-License-Identifier: BSD-3-Clause */
/* What the main class and its lanes (see lane.h) leave for one another: messages
 * that came to the one and are for a context of the other. */
#ifndef OFI_INBOX_H
#define OFI_INBOX_H

#include "match.h"
#include "ofi.h"

/* Leaves a copy of a message for a class. False: there is no room, or no memory.
 * [lock of the class whose message.from is] */
bool ofi_inbox_leave(na_plugin_class *cls, const struct ofi_message *message);

/* Delivers to the class's context what there is room for. [lock] */
void ofi_inbox_unpack(na_plugin_class *cls);

/* Drops what is for a context that goes, and counts it. [lock] */
void ofi_inbox_clear(na_plugin_class *cls);

/* What others leave rings the bell of a context from now on; false: there is
 * something to deliver already. No longer; true: it was rung. [lock] */
bool ofi_inbox_arm(na_plugin_ctx *ctx);
bool ofi_inbox_disarm(na_plugin_ctx *ctx);

static inline bool
ofi_inbox_is_empty(const na_plugin_class *cls)
{
    /* relaxed: what is missed now is seen by the next poll, or rings */
    return atomic_load_explicit(&cls->inbox.count, memory_order_relaxed) == 0;
}

#endif /* OFI_INBOX_H */
