/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that wait: queued sends, and how anything pending ends early. */
#ifndef SM_QUEUE_H
#define SM_QUEUE_H

#include "context.h"

/* Functions of the ABI. */
int32_t sm_cancel(na_plugin_ctx *ctx, void *op);
void sm_addr_forget(na_plugin_class *cls, na_plugin_addr *addr);

/* Sends what is queued on connections, as far as there is room; ends what has
 * waited too long. [progress] */
void sm_queue_flush(na_plugin_class *cls);

/* Before sleeping: asks the peers that have no room for a wake-up when there is
 * some. How long the queues can be left alone then, in nanoseconds: 0 when a send
 * could go out now, UINT64_MAX when none is queued. [progress] */
uint64_t sm_queue_arm(na_plugin_class *cls);

/* Takes all sends of a context out of all queues, without an event.
 * [progress] */
void sm_queue_abandon(na_plugin_ctx *ctx);

#endif /* SM_QUEUE_H */
