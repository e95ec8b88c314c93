/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of the plugin that does one thing wrong. */
#include "wrong.h"

#include <stdlib.h>
#include <string.h>

static void
list_add(struct wrong_list *list, struct wrong_op *op)
{
    if (list->count == WRONG_MANY)
        abort();
    list->ops[list->count++] = op;
}

static struct wrong_op *
list_take(struct wrong_list *list, uint32_t at)
{
    struct wrong_op *op = list->ops[at];

    list->count--;
    memmove(list->ops + at, list->ops + at + 1,
        (list->count - at) * sizeof list->ops[0]);
    return op;
}

static void
report(na_plugin_ctx *ctx, na_plugin_event event)
{
    if (ctx->event_count == WRONG_MANY)
        abort();
    ctx->events[ctx->event_count++] = event;
}

/* What it does wrong about the event of a received message. */
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

/* And about that of a message that was sent, or of a transfer. */
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

/* Brings the messages that are there to the receives that are. */
static void
match(na_plugin_ctx *ctx, enum wrong_kind kind)
{
    struct wrong_list *sends = &ctx->sends[kind];
    struct wrong_list *receives = &ctx->receives[kind];

    for (uint32_t i = 0; i < sends->count; i++)
        for (uint32_t j = 0; j < receives->count; j++) {
            na_plugin_event sent = {0}, got = {0};
            struct wrong_op *from = sends->ops[i], *to = receives->ops[j];

            if (kind == WRONG_EXPECTED && from->tag != to->tag)
                continue;
            from = list_take(sends, i--);
            to = list_take(receives, j);
            memcpy((void *) (uintptr_t) to->buffer, from->buffer, from->length);
            sent.op = from;
            got = (na_plugin_event){.op = to,
                .buffer = (void *) (uintptr_t) to->buffer,
                .length = from->length,
                .tag = from->tag,
                .flags = NA_PLUGIN_EVENT_MESSAGE};
            if (kind == WRONG_UNEXPECTED) {
                got.source = (na_plugin_addr *) ctx->cls;
                ctx->cls->addr_refs++;
            }
            spoil_end(ctx->cls, "sent", &sent);
            spoil_message(ctx->cls, kind == WRONG_EXPECTED, &got);
            report(ctx, sent);
            report(ctx, got);
            break;
        }
}

/* A submission of such an entry returns what it must not. */
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

static int32_t
submit(na_plugin_ctx *ctx, struct wrong_list *lists, enum wrong_kind kind,
    struct wrong_op *op, struct wrong_op value)
{
    *op = value;
    list_add(&lists[kind], op);
    match(ctx, kind);
    return NA_PLUGIN_PENDING;
}

int32_t
wrong_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    int32_t code;

    if (submits_wrong(ctx, "send_unexpected", &code))
        return code;
    return submit(ctx, ctx->sends, WRONG_UNEXPECTED, op,
        (struct wrong_op){buffer, length, tag});
}

int32_t
wrong_recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags)
{
    int32_t code;

    if (submits_wrong(ctx, "recv_unexpected", &code))
        return code;
    return submit(ctx, ctx->receives, WRONG_UNEXPECTED, op,
        (struct wrong_op){buffer, length, 0});
}

int32_t
wrong_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    int32_t code;

    if (submits_wrong(ctx, "send_expected", &code))
        return code;
    return submit(ctx, ctx->sends, WRONG_EXPECTED, op,
        (struct wrong_op){buffer, length, tag});
}

int32_t
wrong_recv_expected(na_plugin_ctx *ctx, void *op, void *buffer, uint64_t length,
    void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t flags)
{
    int32_t code;

    if (submits_wrong(ctx, "recv_expected", &code))
        return code;
    return submit(ctx, ctx->receives, WRONG_EXPECTED, op,
        (struct wrong_op){buffer, length, tag});
}

/* Moves nothing: what is looked at is how it ends. */
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
    uint32_t count = ctx->event_count < max ? ctx->event_count : max;

    if (ctx->dying > 0 && --ctx->dying == 0)
        return NA_PLUGIN_E_IO_ERROR;
    /* Once something is under way, so that there is what must be ended. */
    if (ctx->receives[WRONG_EXPECTED].count > 0 || count > 0) {
        if (wrong_is(ctx->cls, "poll_one_more"))
            return (int32_t) max + 1;
        if (wrong_is(ctx->cls, "poll_most"))
            return INT32_MAX;
        if (wrong_is(ctx->cls, "poll_code"))
            return -99;
        if (wrong_is(ctx->cls, "poll_error"))
            return NA_PLUGIN_E_IO_ERROR;
    }
    memcpy(events, ctx->events, count * sizeof events[0]);
    ctx->event_count -= count;
    memmove(ctx->events, ctx->events + count,
        ctx->event_count * sizeof ctx->events[0]);
    return (int32_t) count;
}

int32_t
wrong_cancel(na_plugin_ctx *ctx, void *op)
{
    if (wrong_is(ctx->cls, "cancel_code"))
        return -99;
    for (int kind = 0; kind < WRONG_KINDS; kind++)
        for (uint32_t i = 0; i < ctx->receives[kind].count; i++)
            if (ctx->receives[kind].ops[i] == op) {
                list_take(&ctx->receives[kind], i);
                report(ctx, (na_plugin_event){
                                .op = op, .status = NA_PLUGIN_E_CANCELED});
                return NA_PLUGIN_OK;
            }
    return NA_PLUGIN_OK;
}
