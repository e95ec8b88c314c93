/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts: their life, and the list of operations that have ended and wait to
 * be reported by the context's poll. */
#ifndef SM_CONTEXT_H
#define SM_CONTEXT_H

#include "sm.h"

/* Functions of the ABI. */
int32_t sm_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p);
void sm_ctx_destroy(na_plugin_ctx *ctx);

/* Rouses a context that sleeps, if it does. [lock] */
void sm_ctx_rouse(na_plugin_ctx *ctx);

/* The same, taking the lock. */
void sm_ctx_rouse_unlocked(na_plugin_ctx *ctx);

/* Puts an operation with its result into the ready list, and rouses the
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

#endif /* SM_CONTEXT_H */
