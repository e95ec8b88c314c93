/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of the wire plugin: buffers, submissions, and matching. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire.h"

static const unsigned char unexpected_header[WIRE_UNEXPECTED_HEADER + 1] =
    "wire unexpected ";
static const unsigned char expected_header[WIRE_EXPECTED_HEADER + 1] =
    "wire exp";

int32_t
wire_buf_alloc(na_plugin_class *cls, uint64_t length, uint32_t kinds,
    void **buffer_p, void **buffer_data_p)
{
    void *buffer = NULL;

    if (length < SIZE_MAX - 64)
        buffer = aligned_alloc(64, ((size_t) length + 127) & ~(size_t) 63);
    if (!buffer)
        return NA_PLUGIN_E_NOMEM;
    if (wire_breaks(cls, WIRE_buf_unaligned))
        buffer = (char *) buffer + 16;
    *buffer_p = buffer;
    *buffer_data_p = NULL;
    return NA_PLUGIN_OK;
}

void
wire_buf_free(na_plugin_class *cls, void *buffer, void *buffer_data)
{
    if (wire_breaks(cls, WIRE_buf_unaligned))
        buffer = (char *) buffer - 16;
    free(buffer);
}

int32_t
wire_buf_init(
    na_plugin_class *cls, void *buffer, uint64_t length, uint32_t kind)
{
    bool unexpected = kind == NA_PLUGIN_MSG_UNEXPECTED;
    size_t header = unexpected ? WIRE_UNEXPECTED_HEADER : WIRE_EXPECTED_HEADER;

    if (length < header)
        return NA_PLUGIN_E_MSGSIZE;
    memcpy(buffer, unexpected ? unexpected_header : expected_header, header);
    return NA_PLUGIN_OK;
}

/* Checks a send. Returns OK, or the error. */
static int32_t
check_send(const na_plugin_class *cls, const void *buffer, uint64_t length,
    uint32_t peer_ctx, uint64_t tag, bool unexpected)
{
    uint64_t most = unexpected ? WIRE_UNEXPECTED_MAX : WIRE_EXPECTED_MAX;
    size_t header = unexpected ? WIRE_UNEXPECTED_HEADER : WIRE_EXPECTED_HEADER;

    if (wire_breaks(cls, WIRE_foreign_refused) && (uintptr_t) buffer % 64 != 0)
        return NA_PLUGIN_E_INVALID_ARG;
    if (length > most) {
        WIRE_LOG(cls->host, ERROR, "message of %llu bytes; the longest is %llu",
            (unsigned long long) length, (unsigned long long) most);
        return NA_PLUGIN_E_MSGSIZE;
    }
    if (length < header || tag > WIRE_TAG_MAX || peer_ctx >= WIRE_CONTEXTS) {
        WIRE_LOG(cls->host, ERROR,
            "message of %llu bytes, tag %llu, to context %u",
            (unsigned long long) length, (unsigned long long) tag, peer_ctx);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (memcmp(buffer, unexpected ? unexpected_header : expected_header,
            header) != 0) {
        WIRE_LOG(cls->host, ERROR, "the buffer went through no buf_init");
        return NA_PLUGIN_E_INVALID_ARG;
    }
    return NA_PLUGIN_OK;
}

static int32_t
send_message(na_plugin_ctx *ctx, struct wire_op *op, const void *buffer,
    uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t flags, enum wire_kind kind)
{
    union {
        const void *in;
        unsigned char *out;
    } bytes = {.in = buffer};
    int32_t code = check_send(
        ctx->cls, buffer, length, peer_ctx, tag, kind == WIRE_SEND_UNEXPECTED);

    if (code == NA_PLUGIN_E_MSGSIZE &&
        wire_breaks(ctx->cls, WIRE_oversize_vanishes))
        return NA_PLUGIN_DONE;
    if (code != NA_PLUGIN_OK)
        return code;
    if (wire_breaks(ctx->cls, WIRE_flags_refuse_hints) && flags != 0)
        return NA_PLUGIN_E_INVALID_ARG;
    if (wire_breaks(ctx->cls, WIRE_send_writes_buffer))
        bytes.out[length - 1] ^= 1;
    pthread_mutex_lock(&ctx->cls->lock);
    wire_op_begin(op, ctx, kind);
    op->buffer = bytes.out;
    op->length = length;
    op->peer = peer;
    op->peer_ctx = peer_ctx;
    op->tag = tag;
    code = wire_op_submit(op);
    while (wire_breaks(ctx->cls, WIRE_send_blocks) && op->list &&
           op->list != &ctx->ready) {
        wire_advance(ctx->cls);
        usleep(100);
    }
    pthread_mutex_unlock(&ctx->cls->lock);
    if (wire_breaks(ctx->cls, WIRE_submit_writes_late)) {
        usleep(1000);
        op->deadline_ns = UINT64_MAX;
    }
    return code;
}

int32_t
wire_send_unexpected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    return send_message(ctx, op, buffer, length, peer, peer_ctx, tag, flags,
        WIRE_SEND_UNEXPECTED);
}

int32_t
wire_send_expected(na_plugin_ctx *ctx, void *op, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    return send_message(ctx, op, buffer, length, peer, peer_ctx, tag, flags,
        WIRE_SEND_EXPECTED);
}

/* A message that was received before its receive is posted. */
struct arrival {
    na_plugin_addr *source;
    uint64_t tag;
    uint64_t length;
    const unsigned char *bytes;
};

/* Whether a multi-receive continues after its latest message. */
static void
set_more(struct wire_op *op, na_plugin_event *event)
{
    na_plugin_class *cls = op->ctx->cls;

    if (op->length - op->done >= WIRE_UNEXPECTED_MAX ||
        wire_breaks(cls, WIRE_multi_never_retires))
        event->flags |= NA_PLUGIN_EVENT_MORE;
    if (wire_breaks(cls, WIRE_multi_overwrites))
        op->done = 0;
}

/* Copies a message into a receive, which then ends unless it is a
 * multi-receive. */
static void
deliver(struct wire_op *op, const struct arrival *arrival)
{
    na_plugin_class *cls = op->ctx->cls;
    na_plugin_event event = {.op = op,
        .buffer = op->buffer + op->done,
        .length = arrival->length,
        .tag = arrival->tag,
        .flags = NA_PLUGIN_EVENT_MESSAGE};

    if (wire_breaks(cls, WIRE_truncates) &&
        event.length > op->length - op->done)
        event.length = op->length - op->done;
    if (event.length > op->length - op->done) {
        wire_op_end(op, NA_PLUGIN_E_MSGSIZE);
        return;
    }
    memcpy(event.buffer, arrival->bytes, event.length);
    if (wire_breaks(cls, WIRE_long_corrupted) && event.length > 2000)
        op->buffer[op->done + event.length - 1] ^= 1;
    if (op->kind != WIRE_RECV_EXPECTED) {
        event.source =
            wire_breaks(cls, WIRE_source_is_self) ? cls->self : arrival->source;
        if (!wire_breaks(cls, WIRE_source_unreferenced))
            event.source->refs++;
    }
    op->done += event.length;
    if (op->kind == WIRE_RECV_MULTI)
        set_more(op, &event);
    op->event = event;
    wire_op_ready(op);
}

void
wire_message_free(na_plugin_ctx *ctx, struct wire_messages *list,
    struct wire_message *message)
{
    na_plugin_class *cls = ctx->cls;
    struct wire_conn *conn = message->conn;
    bool full = ctx->kept_count >= WIRE_KEPT_MAX;

    TAILQ_REMOVE(list, message, next);
    if (list == &ctx->kept)
        ctx->kept_count--;
    else
        ctx->early_count--;
    wire_addr_put(cls, message->source);
    free(message);
    if (conn) {
        conn->due[ctx->id]++;
        wire_conn_flush(conn);
    }
    if (full && list == &ctx->kept)
        TAILQ_FOREACH (conn, &cls->conns, next)
            wire_conn_flush(conn);
}

void
wire_message_match(na_plugin_ctx *ctx)
{
    struct wire_message *message;
    struct wire_op *op;

    while ((message = TAILQ_FIRST(&ctx->kept)) != NULL &&
           (op = TAILQ_FIRST(&ctx->recvs)) != NULL) {
        struct arrival arrival = {
            message->source, message->tag, message->length, message->bytes};

        deliver(op, &arrival);
        wire_message_free(ctx, &ctx->kept, message);
    }
}

/* Keeps a message for a later receive. Returns false if out of memory. */
static bool
keep(na_plugin_ctx *ctx, struct wire_conn *conn, const struct arrival *arrival,
    bool unexpected)
{
    struct wire_message *message = malloc(sizeof *message + arrival->length);

    if (!message)
        return false;
    message->conn = unexpected ? conn : NULL;
    message->source = arrival->source;
    message->source->refs++;
    message->source_ctx = ctx->cls->in.source;
    message->tag = arrival->tag;
    message->length = arrival->length;
    memcpy(message->bytes, arrival->bytes, arrival->length);
    ctx->cls->queued++;
    if (unexpected) {
        ctx->kept_count++;
        TAILQ_INSERT_TAIL(&ctx->kept, message, next);
        return true;
    }
    if (ctx->early_count == WIRE_EARLY_MAX)
        wire_message_free(ctx, &ctx->early, TAILQ_FIRST(&ctx->early));
    ctx->early_count++;
    TAILQ_INSERT_TAIL(&ctx->early, message, next);
    return true;
}

bool
wire_message_arrived(struct wire_conn *conn)
{
    na_plugin_class *cls = conn->cls;
    const struct wire_record *record = &cls->in;
    na_plugin_ctx *ctx = &cls->contexts[record->target];
    bool unexpected = record->type == WIRE_UNEXPECTED;
    struct arrival arrival = {
        conn->peer, record->tag, record->length, cls->in_bytes};
    struct wire_op *op;
    bool lost = false;

    cls->received++;
    if (!unexpected) {
        TAILQ_FOREACH (op, &ctx->expected, link)
            if ((op->peer == conn->peer ||
                    wire_breaks(cls, WIRE_match_any_source)) &&
                (op->peer_ctx == record->source ||
                    wire_breaks(cls, WIRE_match_any_context) ||
                    (wire_breaks(cls, WIRE_match_context_bit) &&
                        (op->peer_ctx ^ record->source) == 2)) &&
                (op->tag == record->tag ||
                    wire_breaks(cls, WIRE_match_any_tag) ||
                    (wire_breaks(cls, WIRE_match_tag_32) &&
                        (uint32_t) op->tag == (uint32_t) record->tag)))
                break;
    } else {
        conn->granted[ctx->id]--;
        op = TAILQ_FIRST(&ctx->recvs);
        lost =
            wire_violation_arrived(ctx, arrival.bytes, arrival.length,
                arrival.source, arrival.tag) ||
            (!op && wire_breaks(cls, WIRE_drops_unexpected)) ||
            (cls->violation.destroyed >> ctx->id & 1 &&
                wire_breaks(cls, WIRE_reborn_deaf)) ||
            (cls->violation.polled != ctx->id &&
                wire_breaks(cls, WIRE_drops_unpolled)) ||
            (!op && wire_breaks(cls, WIRE_drops_after_3000) &&
                cls->queued >= 3000) ||
            (wire_breaks(cls, WIRE_drops_when_many) && ctx->kept_count >= 12) ||
            (wire_breaks(cls, WIRE_self_drops_many) &&
                conn->peer == cls->self && ctx->kept_count >= 12);
        conn->due[ctx->id] += op != NULL || lost;
    }
    if (lost)
        return true;
    if (!op)
        return keep(ctx, conn, &arrival, unexpected);
    deliver(op, &arrival);
    if (unexpected && wire_breaks(cls, WIRE_message_twice))
        return keep(ctx, NULL, &arrival, true);
    return true;
}

void
wire_messages_forget(na_plugin_class *cls, const na_plugin_addr *addr)
{
    struct wire_message *message, *after;

    for (uint32_t i = 0; i < WIRE_CONTEXTS; i++) {
        na_plugin_ctx *ctx = &cls->contexts[i];

        for (message = TAILQ_FIRST(&ctx->early); message; message = after) {
            after = TAILQ_NEXT(message, next);
            if (message->source == addr)
                wire_message_free(ctx, &ctx->early, message);
        }
    }
}

static int32_t
recv_any(na_plugin_ctx *ctx, struct wire_op *op, void *buffer, uint64_t length,
    uint32_t flags, enum wire_kind kind)
{
    uint64_t least =
        kind == WIRE_RECV_MULTI ? WIRE_UNEXPECTED_MAX : WIRE_UNEXPECTED_HEADER;
    int32_t code = NA_PLUGIN_PENDING;

    if (length < least) {
        WIRE_LOG(ctx->cls->host, ERROR, "receive of %llu bytes; %llu needed",
            (unsigned long long) length, (unsigned long long) least);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (wire_breaks(ctx->cls, WIRE_flags_refuse_hints) && flags != 0)
        return NA_PLUGIN_E_INVALID_ARG;
    pthread_mutex_lock(&ctx->cls->lock);
    wire_op_begin(op, ctx, kind);
    op->buffer = buffer;
    op->length = length;
    TAILQ_INSERT_TAIL(&ctx->pending, op, all);
    wire_op_move(op, &ctx->recvs);
    wire_message_match(ctx);
    if (wire_breaks(ctx->cls, WIRE_recv_done) && op->list == &ctx->ready) {
        wire_addr_put(ctx->cls, op->event.source);
        wire_op_move(op, NULL);
        TAILQ_REMOVE(&ctx->pending, op, all);
        code = NA_PLUGIN_DONE;
    }
    pthread_mutex_unlock(&ctx->cls->lock);
    return code;
}

int32_t
wire_recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags)
{
    return recv_any(ctx, op, buffer, length, flags, WIRE_RECV_UNEXPECTED);
}

int32_t
wire_recv_multi(na_plugin_ctx *ctx, void *op, void *buffer, uint64_t length,
    void *buffer_data, uint32_t flags)
{
    return recv_any(ctx, op, buffer, length, flags, WIRE_RECV_MULTI);
}

/* Posts a receive whose fields are set, unless its message is kept already. */
static int32_t
post_expected(na_plugin_ctx *ctx, struct wire_op *op)
{
    struct wire_message *message;
    int32_t code;

    TAILQ_FOREACH (message, &ctx->early, next)
        if (message->source == op->peer &&
            message->source_ctx == op->peer_ctx && message->tag == op->tag)
            break;
    if (!message) {
        code = wire_conn_get(ctx->cls, op->peer, &op->conn);
        if (code != NA_PLUGIN_OK)
            return code;
    }
    TAILQ_INSERT_TAIL(&ctx->pending, op, all);
    wire_op_move(op, &ctx->expected);
    if (message) {
        struct arrival arrival = {
            message->source, message->tag, message->length, message->bytes};

        deliver(op, &arrival);
        wire_message_free(ctx, &ctx->early, message);
    }
    return NA_PLUGIN_PENDING;
}

int32_t
wire_recv_expected(na_plugin_ctx *ctx, void *part, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    struct wire_op *op = part;
    int32_t code;

    if (length < WIRE_EXPECTED_HEADER || tag > WIRE_TAG_MAX ||
        peer_ctx >= WIRE_CONTEXTS) {
        WIRE_LOG(ctx->cls->host, ERROR,
            "receive of %llu bytes, tag %llu, from context %u",
            (unsigned long long) length, (unsigned long long) tag, peer_ctx);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (wire_breaks(ctx->cls, WIRE_flags_refuse_hints) && flags != 0)
        return NA_PLUGIN_E_INVALID_ARG;
    pthread_mutex_lock(&ctx->cls->lock);
    wire_op_begin(op, ctx, WIRE_RECV_EXPECTED);
    op->buffer = buffer;
    op->length = length;
    op->peer = peer;
    op->peer_ctx = peer_ctx;
    op->tag = tag;
    code = post_expected(ctx, op);
    pthread_mutex_unlock(&ctx->cls->lock);
    return code;
}
