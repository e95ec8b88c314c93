/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages to oneself. They obey the same bounds as all others: a send that the
 * target's queue has no room for is held by that context. */
#include "self.h"
#include "match.h"
#include "ring.h"

/* Delivers to a context of this class. [target->lock] */
static enum tp_outcome
deliver(na_plugin_ctx *target, const void *buffer, uint64_t word, uint32_t tag)
{
    bool unexpected = sm_ring_kind(word) == SM_RING_UNEXPECTED;
    struct tp_message message = {
        .owner = target->cls->self,
        .key = tp_match_key(sm_ring_source(word), tag),
        .from = target->cls->self,
        .data = buffer,
        .length = sm_ring_length(word),
        .tag = tag,
    };

    enum tp_outcome outcome =
        sm_match_message(target, &message, unexpected, NULL);
    if (outcome != TP_FULL)
        tp_count_shared(&target->cls->counters.self, 1);
    return outcome;
}

int32_t
sm_self_send(na_plugin_ctx *ctx, struct sm_op *op, const void *buffer,
    uint64_t word, uint32_t tag)
{
    na_plugin_ctx *target = sm_class_context(ctx->cls, sm_ring_target(word));
    enum tp_outcome outcome = TP_FULL;
    int32_t ret = NA_PLUGIN_DONE;

    if (target == NULL)
        return NA_PLUGIN_E_HOSTUNREACH;
    tp_lock_take(&target->lock);
    if (!target->alive) {
        ret = NA_PLUGIN_E_HOSTUNREACH;
        goto drop_lock;
    }
    if (sm_ring_kind(word) == SM_RING_EXPECTED ||
        target->match.held.head == NULL)
        outcome = deliver(target, buffer, word, tag);
    if (outcome != TP_FULL)
        goto drop_lock;
    if (ctx->cls->no_retry) {
        ret = NA_PLUGIN_E_AGAIN;
        goto drop_lock;
    }
    op->ctx = ctx;
    op->kind = SM_OP_SEND_SELF;
    op->recv.buffer = (void *) (uintptr_t) buffer;
    op->recv.length = sm_ring_length(word);
    op->to.target = target;
    op->send.word = word;
    op->send.tag = tag;
    sm_op_set(op, SM_OP_POSTED);
    tp_list_append(&target->match.held, &op->recv.keyed.link);
    ret = NA_PLUGIN_PENDING;

drop_lock:
    tp_lock_drop(&target->lock);
    return ret;
}

void
sm_self_ask(na_plugin_ctx *ctx)
{
    if (!atomic_exchange_explicit(
            &ctx->cls->refill, true, memory_order_relaxed))
        sm_pending_add(ctx->cls);
    sm_ctx_wake(ctx);
}

/* Delivers the sends that a context holds, in order, as far as there is room;
 * they go into done. [target->lock] */
static void
refill(na_plugin_ctx *target, struct tp_list *done)
{
    struct sm_op *op;

    while ((op = sm_op_of(target->match.held.head)) != NULL &&
           deliver(target, op->recv.buffer, op->send.word, op->send.tag) !=
               TP_FULL) {
        tp_list_drop_head(&target->match.held);
        sm_op_set(op, SM_OP_READY);
        tp_list_append(done, &op->recv.keyed.link);
    }
}

void
sm_self_refill(na_plugin_class *cls)
{
    na_plugin_ctx *target;

    if (!atomic_exchange_explicit(&cls->refill, false, memory_order_relaxed))
        return;
    sm_pending_drop(cls);
    for (uint32_t i = 0; (target = sm_class_next(cls, &i)) != NULL;) {
        struct tp_list done = {NULL, NULL};
        tp_lock_take(&target->lock);
        refill(target, &done);
        tp_lock_drop(&target->lock);
        sm_ctx_finish_all(&done, NA_PLUGIN_OK);
    }
}
