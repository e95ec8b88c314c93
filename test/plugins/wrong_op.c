/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of the plugin that violates the ABI. */
#include "wrong.h"

#include <stdlib.h>
#include <string.h>

static void
report(na_plugin_ctx *ctx, na_plugin_event event)
{
    if (!tp_events_emit_more(&ctx->events, &event))
        abort();
}

/* Violations in the event of a received message. */
static void
spoil_message(const na_plugin_class *cls, bool expected, na_plugin_event *event)
{
    const char *way = cls->way;

    if (strncmp(way, "expected_", 9) == 0) {
        if (!expected)
            return;
        way += 9;
    } else if (expected) {
        return;
    }
    if (strcmp(way, "op_null") == 0)
        event->op = NULL;
    else if (strcmp(way, "source_null") == 0)
        event->source = NULL;
    else if (strcmp(way, "too_long") == 0)
        event->length = WRONG_SIZE + 1;
    else if (strcmp(way, "endless") == 0)
        event->length = UINT64_MAX;
    else if (strcmp(way, "no_message") == 0)
        event->flags = 0;
    else if (strcmp(way, "unknown_flag") == 0)
        event->flags |= 0x80U;
    else if (strcmp(way, "more") == 0)
        event->flags |= NA_PLUGIN_EVENT_MORE;
    else if (strcmp(way, "status_positive") == 0)
        event->status = 7;
    else if (strcmp(way, "status_unknown") == 0)
        *event = (na_plugin_event){.op = event->op, .status = -99};
    else if (strcmp(way, "error_with_message") == 0)
        event->status = NA_PLUGIN_E_IO_ERROR;
    else if (strcmp(way, "tag_too_large") == 0)
        event->tag = UINT64_MAX;
}

/* Violations in the event of a sent message or a transfer. */
static void
spoil_end(const na_plugin_class *cls, const char *what, na_plugin_event *event)
{
    size_t length = strlen(what);
    const char *way = cls->way + length;

    if (strncmp(cls->way, what, length) != 0)
        return;
    if (strcmp(way, "_message") == 0)
        event->flags = NA_PLUGIN_EVENT_MESSAGE;
    else if (strcmp(way, "_flag") == 0)
        event->flags = 0x80U;
    else if (strcmp(way, "_status") == 0)
        event->status = -99;
    else if (strcmp(way, "_positive") == 0)
        event->status = 7;
}

/* The oldest of a list with this tag, or with any; NULL: none. */
static struct tp_recv *
find(const struct tp_list *list, bool all, uint64_t tag)
{
    struct tp_link *link = list->head;

    while (link && !all && tp_keyed_of(link)->key != tag)
        link = link->next;
    return link ? tp_recv_of(link) : NULL;
}

/* Completes a send and the receive that it matches. */
static void
end_both(na_plugin_ctx *ctx, enum wrong_kind kind, struct tp_recv *from,
    struct tp_recv *to)
{
    na_plugin_event sent = {.op = from}, got;
    na_plugin_addr *source =
        kind == WRONG_UNEXPECTED ? (na_plugin_addr *) ctx->cls : NULL;

    tp_match_fill(to, from->buffer, (uint32_t) from->length,
        (uint32_t) from->keyed.key, to, source, &got);
    ctx->cls->addr_refs += source != NULL;
    spoil_end(ctx->cls, "sent", &sent);
    spoil_message(ctx->cls, kind == WRONG_EXPECTED, &got);
    report(ctx, sent);
    report(ctx, got);
}

/* A submission of such an entry returns an invalid value. */
static bool
submits_wrong(const na_plugin_ctx *ctx, const char *entry, int32_t *code_p)
{
    const char *way = ctx->cls->way;
    size_t length = strlen(entry);

    if (strncmp(way, entry, length) != 0)
        return false;
    if (strcmp(way + length, "_positive") == 0)
        *code_p = 7;
    else if (strcmp(way + length, "_code") == 0)
        *code_p = -99;
    else if (strcmp(way + length, "_done") == 0)
        *code_p = NA_PLUGIN_DONE;
    else
        return false;
    return true;
}

/* Adds an operation to one list unless it matches one in the other. */
static int32_t
submit(na_plugin_ctx *ctx, const char *entry, enum wrong_kind kind, bool sends,
    struct tp_recv *op, struct tp_recv value)
{
    struct tp_list *mine = sends ? &ctx->sends[kind] : &ctx->receives[kind];
    struct tp_list *theirs = sends ? &ctx->receives[kind] : &ctx->sends[kind];
    int32_t code;

    if (submits_wrong(ctx, entry, &code))
        return code;
    struct tp_recv *other =
        find(theirs, kind == WRONG_UNEXPECTED, value.keyed.key);
    *op = value;
    if (!other) {
        tp_list_append(mine, &op->keyed.link);
        return NA_PLUGIN_PENDING;
    }
    tp_list_remove(theirs, &other->keyed.link);
    end_both(ctx, kind, sends ? op : other, sends ? other : op);
    return NA_PLUGIN_PENDING;
}

static struct tp_recv
value_of(const void *buffer, uint64_t length, uint64_t tag)
{
    return (struct tp_recv){.keyed.key = tag,
        .buffer = (void *) (uintptr_t) buffer,
        .length = length};
}

int32_t
wrong_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    return submit(ctx, "send_unexpected", WRONG_UNEXPECTED, true, op,
        value_of(buffer, length, tag));
}

int32_t
wrong_recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags)
{
    return submit(ctx, "recv_unexpected", WRONG_UNEXPECTED, false, op,
        value_of(buffer, length, 0));
}

int32_t
wrong_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    return submit(ctx, "send_expected", WRONG_EXPECTED, true, op,
        value_of(buffer, length, tag));
}

int32_t
wrong_recv_expected(na_plugin_ctx *ctx, void *op, void *buffer, uint64_t length,
    void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t flags)
{
    return submit(ctx, "recv_expected", WRONG_EXPECTED, false, op,
        value_of(buffer, length, tag));
}

/* Moves no data: only the completion matters. */
static int32_t
transfer(na_plugin_ctx *ctx, const char *entry, void *op)
{
    na_plugin_event event = {.op = op};
    int32_t code;

    if (submits_wrong(ctx, entry, &code) && code != NA_PLUGIN_DONE)
        return code;
    if (wrong_is(ctx->cls, "transfer_never")) {
        ctx->dying = 3;
        return NA_PLUGIN_PENDING;
    }
    spoil_end(ctx->cls, entry, &event);
    report(ctx, event);
    return NA_PLUGIN_PENDING;
}

int32_t
wrong_put(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    return transfer(ctx, "put", op);
}

int32_t
wrong_get(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
    uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint32_t flags)
{
    return transfer(ctx, "get", op);
}

int32_t
wrong_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    if (ctx->dying > 0 && --ctx->dying == 0)
        return NA_PLUGIN_E_IO_ERROR;
    /* Only once operations are pending, so that they have to be ended. */
    if (ctx->receives[WRONG_EXPECTED].head || ctx->events.count > 0) {
        if (wrong_is(ctx->cls, "poll_one_more"))
            return (int32_t) max + 1;
        if (wrong_is(ctx->cls, "poll_again_one_more"))
            return ctx->polls++ % 2 == 0 ? 0 : (int32_t) max + 1;
        if (wrong_is(ctx->cls, "poll_most"))
            return INT32_MAX;
        if (wrong_is(ctx->cls, "poll_code"))
            return -99;
        if (wrong_is(ctx->cls, "poll_error"))
            return NA_PLUGIN_E_IO_ERROR;
    }
    return (int32_t) tp_events_take(&ctx->events, events, max);
}

int32_t
wrong_cancel(na_plugin_ctx *ctx, void *op)
{
    if (wrong_is(ctx->cls, "cancel_code"))
        return -99;
    for (int kind = 0; kind < WRONG_KINDS; kind++)
        for (struct tp_link *link = ctx->receives[kind].head; link;
             link = link->next)
            if (tp_recv_of(link) == op) {
                tp_list_remove(&ctx->receives[kind], link);
                report(ctx, (na_plugin_event){
                                .op = op, .status = NA_PLUGIN_E_CANCELED});
                return NA_PLUGIN_OK;
            }
    return NA_PLUGIN_OK;
}
