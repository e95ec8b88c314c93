/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages to oneself. They obey the same bounds as all others: a send that the
 * target's queue has no room for waits in a list of that context. */
#include "self.h"
#include "address.h"
#include "match.h"
#include "ready.h"
#include "wake.h"

/* Delivers to a context of this class. [target->lock] */
static enum sm_fate
deliver(na_plugin_ctx *target, const void *buffer, uint64_t word, uint32_t tag)
{
    na_plugin_event event;
    struct sm_message message = {
        .from = target->cls->self,
        .data = buffer,
        .word = word,
        .tag = tag,
    };

    enum sm_fate fate = sm_match_message(target, &message, &event);
    if (fate == SM_FATE_MATCHED) {
        struct sm_op *op = event.op;
        op->result = event;
        sm_ctx_ready(target, op);
    }
    if (fate != SM_FATE_BLOCKED)
        sm_count_shared(&target->cls->counters.self, 1);
    return fate;
}

int32_t
sm_self_send(na_plugin_ctx *ctx, struct sm_op *op, const void *buffer,
    uint64_t word, uint32_t tag)
{
    na_plugin_class *cls = ctx->cls;
    na_plugin_ctx *target = sm_class_context(cls, sm_ring_target(word));
    if (target == NULL)
        return NA_PLUGIN_E_HOSTUNREACH;

    int32_t ret = NA_PLUGIN_DONE;
    enum sm_fate fate = SM_FATE_BLOCKED;
    tp_lock_take(&target->lock);
    if (!target->alive) {
        ret = NA_PLUGIN_E_HOSTUNREACH;
        goto drop_lock;
    }
    if (sm_ring_kind(word) == SM_RING_EXPECTED || target->held.head == NULL)
        fate = deliver(target, buffer, word, tag);
    if (fate != SM_FATE_BLOCKED)
        goto drop_lock;
    if (cls->no_retry) {
        ret = NA_PLUGIN_E_AGAIN;
        goto drop_lock;
    }
    op->ctx = ctx;
    op->kind = SM_OP_SEND_SELF;
    op->buffer = (void *) (uintptr_t) buffer;
    op->length = sm_ring_length(word);
    op->to.target = target;
    op->send.word = word;
    op->send.tag = tag;
    sm_op_set(op, SM_OP_POSTED);
    sm_list_append(&target->held, &op->link);
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
        sm_chore_add(ctx->cls);
    sm_wake_ctx(ctx);
}

/* Moves the sends that wait for a context into its queue, in order, as far as
 * there is room; into done. [target->lock] */
static void
refill(na_plugin_ctx *target, struct sm_list *done)
{
    struct sm_op *op;

    while ((op = (struct sm_op *) target->held.head) != NULL) {
        if (deliver(target, op->buffer, op->send.word, op->send.tag) ==
            SM_FATE_BLOCKED)
            return;
        sm_list_remove(&target->held, &op->link);
        sm_op_set(op, SM_OP_READY);
        sm_list_append(done, &op->link);
    }
}

void
sm_self_refill(na_plugin_class *cls)
{
    if (!atomic_exchange_explicit(&cls->refill, false, memory_order_relaxed))
        return;
    sm_chore_drop(cls);
    for (uint32_t i = 0; i < SM_CONTEXTS; i++) {
        na_plugin_ctx *target = sm_class_context(cls, i);
        struct sm_list done = {NULL, NULL};
        if (target == NULL)
            continue;
        tp_lock_take(&target->lock);
        refill(target, &done);
        tp_lock_drop(&target->lock);
        sm_ctx_finish_all(&done, NA_PLUGIN_OK);
    }
}
