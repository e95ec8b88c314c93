/* SPDX-License-Identifier: BSD-3-Clause */
/* Matching. Unexpected messages of peers are queued as they come, since their
 * senders have credits for that; those of oneself as far as the window goes. */
#include <stdlib.h>

#include "address.h"
#include "recv.h"

/* A kept message has been received, or never will be: its sender gets room. */
static void
forget(void *arg, struct tp_kept *kept, bool dropped)
{
    na_plugin_class *cls = ((na_plugin_ctx *) arg)->cls;
    struct ucx_conn *conn =
        kept->place != 0 ? ucx_conn_find(cls, kept->place) : NULL;

    if (conn != NULL) {
        conn->kept -= ucx_cost(kept->length);
        ucx_conn_credit(conn, ucx_cost(kept->length));
    }
    if (dropped)
        tp_count(&cls->counters.dropped, 1);
    ucx_addr_release(cls, kept->from);
    free(kept);
}

int32_t
ucx_recv_init(na_plugin_ctx *ctx)
{
    ctx->quota.limit = ctx->cls->window;
    ctx->match.quota = &ctx->quota;
    ctx->match.forget = forget;
    ctx->match.arg = ctx;
    return tp_match_init(&ctx->match);
}

void
ucx_recv_fini(na_plugin_ctx *ctx)
{
    ucx_op_finish_all(&ctx->match.held, NA_PLUGIN_OK);
    tp_match_fini(&ctx->match);
}

static __attribute__((noinline)) void
log_too_long(const struct ucx_op *op, uint32_t length)
{
    na_plugin_class *cls = op->ctx->cls;

    TP_LOG_THINNED(cls->host, INFO, cls->too_long++,
        "context %u: message of %u bytes too long for a receive of %u",
        (unsigned) op->ctx->id, (unsigned) length, (unsigned) op->recv.length);
}

static inline void
fill(struct ucx_op *op, const void *data, uint32_t length, uint32_t tag,
    na_plugin_addr *source)
{
    na_plugin_class *cls = op->ctx->cls;
    na_plugin_event event;

    if (!tp_match_fill(
            &op->recv, data, length, tag, ucx_op_name(cls, op), source, &event))
        log_too_long(op, length);
    else if (source != NULL)
        ucx_addr_hold(source);
    ucx_op_end(op, &event);
}

bool
ucx_recv_deliver(na_plugin_ctx *ctx, struct tp_message *message,
    bool unexpected, struct ucx_conn *conn)
{
    na_plugin_class *cls = ctx->cls;
    struct tp_recv *recv;

    bool charged = unexpected && conn != NULL;
    message->place = charged ? conn->token.key : 0;
    enum tp_outcome outcome =
        tp_match_deliver(&ctx->match, message, unexpected, &recv);
    if (recv != NULL) {
        fill(TP_OBJECT(recv, struct ucx_op, recv), message->data,
            message->length, message->tag, unexpected ? message->from : NULL);
        if (charged)
            ucx_conn_credit(conn, ucx_cost(message->length));
        return true;
    }
    if (outcome == TP_KEPT) {
        ucx_addr_hold(message->from);
        if (charged)
            ucx_conn_keep(conn, ucx_cost(message->length));
        if (unexpected)
            tp_count(&cls->counters.queued, 1);
        return true;
    }
    if (!unexpected)
        tp_count(&cls->counters.dropped, 1);
    return !unexpected;
}

static bool
deliver_self(na_plugin_ctx *target, uint32_t from, const void *buffer,
    uint32_t length, uint32_t tag, bool unexpected)
{
    struct tp_message message = {.owner = target->cls->self,
        .key = tp_match_key(from, tag),
        .from = target->cls->self,
        .data = buffer,
        .length = length,
        .tag = tag};

    return ucx_recv_deliver(target, &message, unexpected, NULL);
}

/* The queue of a context has room: sends that wait for it. */
static void
refill(na_plugin_ctx *target)
{
    struct tp_recv *held;

    while ((held = tp_match_next_held(&target->match)) != NULL) {
        struct ucx_op *op = TP_OBJECT(held, struct ucx_op, recv);
        bool done = deliver_self(target, op->ctx->id, held->buffer,
            (uint32_t) held->length, op->tag, true);
        ucx_op_finish(op, done ? NA_PLUGIN_OK : NA_PLUGIN_E_NOMEM);
    }
}

void
ucx_recv_post(struct ucx_op *op)
{
    na_plugin_ctx *ctx = op->ctx;
    bool unexpected = op->kind == UCX_OP_RECV_UNEXPECTED;
    struct tp_kept *kept =
        unexpected ? tp_match_post_unexpected(&ctx->match, &op->recv)
                   : tp_match_post_expected(&ctx->match, &op->recv);

    if (kept != NULL) {
        fill(op, kept->data, kept->length, kept->tag,
            unexpected ? kept->from : NULL);
        forget(ctx, kept, false);
    }
    if (unexpected)
        refill(ctx);
}

void
ucx_recv_withdraw(struct ucx_op *op)
{
    if (op->kind == UCX_OP_SEND_SELF)
        tp_list_remove(&op->ctx->cls->contexts[op->peer_ctx]->match.held,
            &op->recv.keyed.link);
    else
        tp_match_unpost(
            &op->ctx->match, &op->recv, op->kind == UCX_OP_RECV_UNEXPECTED);
}

void
ucx_recv_drop(na_plugin_class *cls, const void *owner, int32_t status)
{
    for (uint32_t i = 0; i < UCX_CONTEXTS; i++) {
        struct tp_list list = {NULL, NULL};
        if (cls->contexts[i] == NULL)
            continue;
        tp_match_take_all(&cls->contexts[i]->match, owner, &list);
        ucx_op_finish_all(&list, status);
        tp_match_drop_owner(&cls->contexts[i]->match, owner);
    }
}

void
ucx_recv_rename(na_plugin_class *cls, const void *from, const void *to)
{
    for (uint32_t i = 0; i < UCX_CONTEXTS; i++) {
        struct tp_list list = {NULL, NULL};
        struct tp_link *link;
        if (cls->contexts[i] == NULL)
            continue;
        tp_match_take_all(&cls->contexts[i]->match, from, &list);
        while ((link = tp_list_pop(&list)) != NULL) {
            tp_keyed_of(link)->owner = to;
            ucx_recv_post(ucx_op_of_link(link));
        }
    }
}

int32_t
ucx_recv_self(na_plugin_ctx *ctx, struct ucx_op *op, const void *buffer,
    uint32_t length, uint32_t to, uint32_t tag, bool unexpected)
{
    na_plugin_class *cls = ctx->cls;
    na_plugin_ctx *target = cls->contexts[to];

    tp_count(&cls->counters.self, 1);
    if (target == NULL) {
        tp_count(&cls->counters.strayed, 1);
        return NA_PLUGIN_DONE;
    }
    if (!unexpected || !tp_match_must_hold(&target->match, length))
        return deliver_self(target, ctx->id, buffer, length, tag, unexpected)
                   ? NA_PLUGIN_DONE
                   : NA_PLUGIN_E_NOMEM;
    if (!ucx_op_post(ctx, op, UCX_OP_SEND_SELF))
        return NA_PLUGIN_E_NOMEM;
    op->recv.buffer = (void *) (uintptr_t) buffer;
    op->recv.length = length;
    op->peer_ctx = (uint8_t) to;
    op->tag = tag;
    tp_list_append(&target->match.held, &op->recv.keyed.link);
    return NA_PLUGIN_PENDING;
}
