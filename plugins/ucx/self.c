/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages to oneself. What finds no room in the target's queue is held. */
#include "self.h"
#include "context.h"
#include "match.h"

static bool
has_room(const na_plugin_ctx *target, uint32_t length)
{
    return target->recvs.head != NULL || target->queue_self == 0 ||
           target->queue_self + ucx_cost(length) <= target->cls->window;
}

static bool
deliver(na_plugin_ctx *target, uint8_t from, const void *buffer,
    uint32_t length, uint32_t tag, bool unexpected)
{
    na_plugin_class *cls = target->cls;
    struct ucx_arrival arrival = {.from = cls->self,
        .whose = cls->self,
        .data = buffer,
        .length = length,
        .tag = tag,
        .context = from};

    if (unexpected)
        return ucx_match_unexpected(target, &arrival);
    ucx_match_expected(target, &arrival);
    return true;
}

int32_t
ucx_self_send(na_plugin_ctx *ctx, struct ucx_op *op, const void *buffer,
    uint32_t length, uint32_t to, uint32_t tag, bool unexpected)
{
    na_plugin_class *cls = ctx->cls;
    na_plugin_ctx *target = cls->contexts[to];

    ucx_count(&cls->counters.self, 1);
    if (target == NULL) {
        ucx_count(&cls->counters.strayed, 1);
        return NA_PLUGIN_DONE;
    }
    if (!unexpected || has_room(target, length))
        return deliver(
                   target, (uint8_t) ctx->id, buffer, length, tag, unexpected)
                   ? NA_PLUGIN_DONE
                   : NA_PLUGIN_E_NOMEM;
    op->ctx = ctx;
    op->kind = UCX_OP_SEND_SELF;
    op->buffer = (void *) (uintptr_t) buffer;
    op->length = length;
    op->peer_ctx = (uint8_t) to;
    op->tag = tag;
    ucx_op_set(op, UCX_OP_POSTED);
    ucx_list_append(&cls->held, &op->link);
    return NA_PLUGIN_PENDING;
}

void
ucx_self_refill(na_plugin_class *cls)
{
    struct ucx_link *next;

    for (struct ucx_link *link = cls->held.head; link != NULL; link = next) {
        struct ucx_op *op = (struct ucx_op *) link;
        na_plugin_ctx *target = cls->contexts[op->peer_ctx];
        next = link->next;
        if (target != NULL && !has_room(target, (uint32_t) op->length))
            continue;
        ucx_list_remove(&cls->held, link);
        bool done =
            target == NULL || deliver(target, (uint8_t) op->ctx->id, op->buffer,
                                  (uint32_t) op->length, op->tag, true);
        ucx_ctx_finish(op, done ? NA_PLUGIN_OK : NA_PLUGIN_E_NOMEM);
    }
}
