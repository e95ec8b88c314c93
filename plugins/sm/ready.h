/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of a context that have ended and wait to be reported by its
 * poll. */
#ifndef SM_READY_H
#define SM_READY_H

#include "sm.h"

/* Puts an operation with its result into the ready list, and wakes the
 * context. [lock] */
void sm_ctx_ready(na_plugin_ctx *ctx, struct sm_op *op);

/* Ends an operation, which stands in no list any more, with this status and
 * without a message. Takes the lock of its context. */
void sm_ctx_finish(struct sm_op *op, int32_t status);

/* Ends all operations of a list so. */
void sm_ctx_finish_all(struct sm_list *list, int32_t status);

/* Moves up to max results of the ready list to events; how many. Takes the
 * lock. */
uint32_t sm_ctx_take_ready(
    na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);

#endif /* SM_READY_H */
