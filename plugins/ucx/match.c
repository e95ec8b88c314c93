/* SPDX-License-Identifier: BSD-3-Clause */
/* Matching: a queue for unexpected messages, hash tables by sender, context and
 * tag for expected ones. */
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "conn.h"
#include "context.h"
#include "match.h"
#include "self.h"

#define EARLY_MESSAGES 256U
#define EARLY_BYTES (256U << 10)

int32_t
ucx_match_init(na_plugin_ctx *ctx)
{
    if (ucx_table_init(&ctx->posted) != NA_PLUGIN_OK)
        return NA_PLUGIN_E_NOMEM;
    if (ucx_table_init(&ctx->early) != NA_PLUGIN_OK) {
        ucx_table_fini(&ctx->posted);
        return NA_PLUGIN_E_NOMEM;
    }
    return NA_PLUGIN_OK;
}

static void
kept_free(na_plugin_class *cls, struct ucx_kept *kept)
{
    ucx_addr_release(cls, kept->from);
    free(kept);
}

static struct ucx_kept *
kept_make(const struct ucx_arrival *arrival)
{
    struct ucx_kept *kept = malloc(sizeof(*kept) + arrival->length);
    if (kept == NULL)
        return NULL;

    ucx_addr_hold(arrival->from);
    kept->from = arrival->from;
    kept->token = arrival->conn != NULL ? arrival->conn->token : 0;
    kept->length = arrival->length;
    kept->tag = arrival->tag;
    kept->link.whose = arrival->whose;
    kept->link.key = ucx_match_key(arrival->context, arrival->tag);
    if (arrival->length != 0)
        memcpy(kept->data, arrival->data, arrival->length);
    return kept;
}

/* Takes a kept expected message out of its table, and the order of age. */
static void
early_remove(na_plugin_ctx *ctx, struct ucx_kept *kept)
{
    ucx_table_remove(&ctx->early, &kept->link);
    if (kept->older != NULL)
        kept->older->newer = kept->newer;
    else
        ctx->oldest = kept->newer;
    if (kept->newer != NULL)
        kept->newer->older = kept->older;
    else
        ctx->newest = kept->older;
    ctx->early_bytes -= kept->length;
}

static void
early_drop(na_plugin_ctx *ctx, struct ucx_kept *kept)
{
    early_remove(ctx, kept);
    kept_free(ctx->cls, kept);
    ucx_count(&ctx->cls->counters.dropped, 1);
}

/* Keeps an expected message that has no receive yet; the oldest give way. */
static void
early_keep(na_plugin_ctx *ctx, const struct ucx_arrival *arrival)
{
    while (ctx->oldest != NULL &&
           (ctx->early.count >= EARLY_MESSAGES ||
               ctx->early_bytes + arrival->length > EARLY_BYTES))
        early_drop(ctx, ctx->oldest);

    struct ucx_kept *kept = kept_make(arrival);
    if (kept == NULL) {
        ucx_count(&ctx->cls->counters.dropped, 1);
        return;
    }
    ucx_table_insert(&ctx->early, &kept->link);
    kept->newer = NULL;
    kept->older = ctx->newest;
    if (ctx->newest != NULL)
        ctx->newest->newer = kept;
    else
        ctx->oldest = kept;
    ctx->newest = kept;
    ctx->early_bytes += kept->length;
}

/* Ends a receive with a message, or with an error if that is too long. */
static void
fill(struct ucx_op *op, const void *data, uint32_t length, uint32_t tag,
    na_plugin_addr *source)
{
    na_plugin_ctx *ctx = op->ctx;

    if (length > op->length) {
        UCX_LOG(ctx->cls->host, INFO, "message of %u bytes for a receive of %u",
            (unsigned) length, (unsigned) op->length);
        ucx_ctx_finish(op, NA_PLUGIN_E_MSGSIZE);
        return;
    }
    if (length != 0)
        memcpy(op->buffer, data, length);
    if (source != NULL)
        ucx_addr_hold(source);
    op->result = (na_plugin_event){.op = ucx_op_name(ctx->cls, op),
        .buffer = op->buffer,
        .length = length,
        .source = source,
        .tag = tag,
        .status = NA_PLUGIN_OK,
        .flags = NA_PLUGIN_EVENT_MESSAGE};
    ucx_ctx_ready(op);
}

static void
fill_unexpected(struct ucx_op *op, const struct ucx_arrival *arrival)
{
    fill(op, arrival->data, arrival->length, arrival->tag, arrival->from);
}

/* Queues an unexpected message: its sender keeps within the room it has. */
static bool
queue_keep(na_plugin_ctx *ctx, const struct ucx_arrival *arrival)
{
    struct ucx_kept *kept = kept_make(arrival);
    if (kept == NULL)
        return false;
    ucx_list_append(&ctx->queue, &kept->link);
    if (arrival->conn != NULL)
        arrival->conn->kept += ucx_cost(kept->length);
    else
        ctx->queue_self += ucx_cost(kept->length);
    ucx_count(&ctx->cls->counters.queued, 1);
    return true;
}

bool
ucx_match_unexpected(na_plugin_ctx *ctx, const struct ucx_arrival *arrival)
{
    struct ucx_op *op = (struct ucx_op *) ucx_list_pop(&ctx->recvs);

    if (op == NULL)
        return queue_keep(ctx, arrival);
    fill_unexpected(op, arrival);
    if (arrival->conn != NULL)
        ucx_conn_owe(arrival->conn, ucx_cost(arrival->length));
    return true;
}

void
ucx_match_expected(na_plugin_ctx *ctx, const struct ucx_arrival *arrival)
{
    struct ucx_op *op = (struct ucx_op *) ucx_table_take(&ctx->posted,
        arrival->whose, ucx_match_key(arrival->context, arrival->tag));

    if (op == NULL)
        early_keep(ctx, arrival);
    else
        fill(op, arrival->data, arrival->length, arrival->tag, NULL);
}

/* A queued message has been received: its sender has room again. */
static void
give_back(na_plugin_ctx *ctx, struct ucx_kept *kept)
{
    if (kept->token == 0) {
        ctx->queue_self -= ucx_cost(kept->length);
        ucx_self_refill(ctx->cls);
    } else {
        struct ucx_conn *conn = ucx_conn_find(ctx->cls, kept->token);
        if (conn != NULL) {
            conn->kept -= ucx_cost(kept->length);
            ucx_conn_owe(conn, ucx_cost(kept->length));
        }
    }
    kept_free(ctx->cls, kept);
}

static bool
take_queued(na_plugin_ctx *ctx, struct ucx_op *op)
{
    struct ucx_kept *kept = (struct ucx_kept *) ucx_list_pop(&ctx->queue);
    if (kept == NULL)
        return false;
    fill(op, kept->data, kept->length, kept->tag, kept->from);
    give_back(ctx, kept);
    return true;
}

static bool
take_early(na_plugin_ctx *ctx, struct ucx_op *op)
{
    struct ucx_kept *kept = (struct ucx_kept *) ucx_table_find(
        &ctx->early, op->link.whose, op->link.key);
    if (kept == NULL)
        return false;
    early_remove(ctx, kept);
    fill(op, kept->data, kept->length, kept->tag, NULL);
    kept_free(ctx->cls, kept);
    return true;
}

void
ucx_match_post(na_plugin_ctx *ctx, struct ucx_op *op)
{
    ucx_op_set(op, UCX_OP_POSTED);
    if (op->kind == UCX_OP_RECV_EXPECTED) {
        if (!take_early(ctx, op))
            ucx_table_insert(&ctx->posted, &op->link);
    } else if (!take_queued(ctx, op)) {
        ucx_list_append(&ctx->recvs, &op->link);
    }
}

void
ucx_match_unpost(na_plugin_ctx *ctx, struct ucx_op *op)
{
    if (op->kind == UCX_OP_RECV_EXPECTED)
        ucx_table_remove(&ctx->posted, &op->link);
    else
        ucx_list_remove(&ctx->recvs, &op->link);
}

void
ucx_match_drop(na_plugin_ctx *ctx, const void *whose, int32_t status)
{
    struct ucx_list list = {NULL, NULL};
    struct ucx_kept *newer;
    struct ucx_link *link;

    ucx_table_take_all(&ctx->posted, whose, &list);
    while ((link = ucx_list_pop(&list)) != NULL)
        ucx_ctx_finish((struct ucx_op *) link, status);
    for (struct ucx_kept *kept = ctx->oldest; kept != NULL; kept = newer) {
        newer = kept->newer;
        if (kept->link.whose == whose)
            early_drop(ctx, kept);
    }
}

void
ucx_match_rename(na_plugin_ctx *ctx, const void *from, const void *to)
{
    struct ucx_list list = {NULL, NULL};
    struct ucx_link *link;

    ucx_table_take_all(&ctx->posted, from, &list);
    while ((link = ucx_list_pop(&list)) != NULL) {
        link->whose = to;
        ucx_match_post(ctx, (struct ucx_op *) link);
    }
}

void
ucx_match_fini(na_plugin_ctx *ctx)
{
    struct ucx_kept *kept;

    while ((kept = (struct ucx_kept *) ucx_list_pop(&ctx->queue)) != NULL)
        give_back(ctx, kept);
    while (ctx->oldest != NULL) {
        kept = ctx->oldest;
        early_remove(ctx, kept);
        kept_free(ctx->cls, kept);
    }
    ucx_table_fini(&ctx->early);
    ucx_table_fini(&ctx->posted);
    ctx->recvs = (struct ucx_list){NULL, NULL};
}
