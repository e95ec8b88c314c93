/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of the loop plugin: buffers, send, receive, matching. */
#include "loop_internal.h"

#include <stdlib.h>
#include <string.h>

/* Expected messages kept without a receive; the oldest give way, as in
 * plugins/common/match.c: they answer calls that have been cancelled. */
#define EXPECTED_KEPT 256U

/* Plugin data of a buffer. */
struct buffer_data {
    void *buffer;
    uint64_t length;
};

int32_t
loop_buf_alloc(na_plugin_class *cls, uint64_t length, uint32_t kinds,
    void **buffer_p, void **buffer_data_p)
{
    struct buffer_data *data = malloc(sizeof *data);

    if (!data)
        return NA_PLUGIN_E_NOMEM;
    data->length = length;
    data->buffer = aligned_alloc(64, (length + 63) / 64 * 64);
    if (!data->buffer) {
        free(data);
        return NA_PLUGIN_E_NOMEM;
    }
    /* Makes reads of uninitialized bytes visible. */
    memset(data->buffer, 0xdd, length);
    pthread_mutex_lock(&loop_lock);
    cls->buffer_count++;
    pthread_mutex_unlock(&loop_lock);
    *buffer_p = data->buffer;
    *buffer_data_p = data;
    return NA_PLUGIN_OK;
}

void
loop_buf_free(na_plugin_class *cls, void *buffer, void *buffer_data)
{
    struct buffer_data *data = buffer_data;

    if (!data || data->buffer != buffer)
        loop_violated("buffer freed with the plugin data of another");
    pthread_mutex_lock(&loop_lock);
    cls->buffer_count--;
    pthread_mutex_unlock(&loop_lock);
    free(data->buffer);
    free(data);
}

static uint32_t
header_size(const na_plugin_class *cls, enum loop_kind kind)
{
    return kind == LOOP_SEND_UNEXPECTED || kind == LOOP_RECV_UNEXPECTED
               ? cls->limits.unexpected_header_size
               : cls->limits.expected_header_size;
}

int32_t
loop_buf_init(
    na_plugin_class *cls, void *buffer, uint64_t length, uint32_t kind)
{
    uint32_t header =
        header_size(cls, kind == NA_PLUGIN_MSG_UNEXPECTED ? LOOP_SEND_UNEXPECTED
                                                          : LOOP_SEND_EXPECTED);

    if (length < header)
        return NA_PLUGIN_E_MSGSIZE;
    memset(buffer, LOOP_HEADER_BYTE, header);
    return NA_PLUGIN_OK;
}

static void
check_buffer(const void *buffer, uint64_t length, const void *buffer_data)
{
    const struct buffer_data *data = buffer_data;

    if (!buffer)
        loop_violated("no buffer");
    if (data && (data->buffer != buffer || data->length < length))
        loop_violated("buffer with the plugin data of another, or too short");
}

static void
check_header(
    const na_plugin_class *cls, enum loop_kind kind, const void *buffer)
{
    const unsigned char *bytes = buffer;

    for (uint32_t i = 0; i < header_size(cls, kind); i++)
        if (bytes[i] != LOOP_HEADER_BYTE)
            loop_violated("the header of a message was overwritten");
}

struct loop_message *
loop_message_create(uint32_t source, uint32_t source_ctx, uint64_t tag,
    const void *bytes, uint64_t length, uint32_t header)
{
    struct loop_message *message = malloc(sizeof *message + header + length);

    if (!message)
        return NULL;
    message->source = source;
    message->source_ctx = source_ctx;
    message->tag = tag;
    message->length = header + length;
    memset(message->bytes, LOOP_HEADER_BYTE, header);
    memcpy(message->bytes + header, bytes, length);
    return message;
}

/* Adds a message to the buffer of a multi-receive. */
static void
receive_multi(struct loop_op *op, const struct loop_message *message,
    na_plugin_event event)
{
    na_plugin_ctx *ctx = op->ctx;

    memcpy(op->buffer + op->used, message->bytes, message->length);
    event.op = op;
    event.buffer = op->buffer + op->used;
    op->used += message->length;
    if (op->length - op->used >= ctx->cls->limits.max_unexpected_size) {
        event.flags |= NA_PLUGIN_EVENT_MORE;
        loop_event_push(ctx, event, op->delay);
        return;
    }
    TAILQ_REMOVE(&ctx->unexpected, op, next);
    loop_op_end(op, event, op->delay);
}

/* Completes a posted receive with a message. */
static void
receive(struct loop_op *op, struct loop_message *message)
{
    na_plugin_ctx *ctx = op->ctx;
    na_plugin_event event = {.length = message->length,
        .buffer = op->buffer,
        .tag = message->tag,
        .flags = NA_PLUGIN_EVENT_MESSAGE};
    bool unexpected = op->kind == LOOP_RECV_UNEXPECTED;

    if (unexpected)
        event.source = loop_addr_get(ctx->cls, message->source);
    if (op->multi) {
        receive_multi(op, message, event);
        return;
    }
    TAILQ_REMOVE(unexpected ? &ctx->unexpected : &ctx->expected, op, next);
    if (message->length <= op->length) {
        memcpy(op->buffer, message->bytes, message->length);
        loop_op_end(op, event, op->delay);
        return;
    }
    if (event.source)
        event.source->refs--;
    loop_op_fail(op, NA_PLUGIN_E_MSGSIZE, op->delay);
}

static bool
matches(const struct loop_op *op, const struct loop_message *message)
{
    return op->peer == message->source && op->peer_ctx == message->source_ctx &&
           op->tag == message->tag;
}

static void
keep_expected(na_plugin_ctx *ctx, struct loop_message *message)
{
    struct loop_message *oldest = TAILQ_FIRST(&ctx->expected_arrived);

    if (ctx->expected_kept == EXPECTED_KEPT) {
        TAILQ_REMOVE(&ctx->expected_arrived, oldest, next);
        free(oldest);
    } else {
        ctx->expected_kept++;
    }
    TAILQ_INSERT_TAIL(&ctx->expected_arrived, message, next);
}

void
loop_deliver(na_plugin_class *target, uint32_t id, enum loop_kind kind,
    struct loop_message *message)
{
    na_plugin_ctx *ctx = target->contexts[id];
    bool unexpected = kind == LOOP_SEND_UNEXPECTED;
    struct loop_op *op =
        TAILQ_FIRST(unexpected ? &ctx->unexpected : &ctx->expected);

    while (!unexpected && op && !matches(op, message))
        op = TAILQ_NEXT(op, next);
    if (op) {
        receive(op, message);
        free(message);
    } else if (unexpected) {
        TAILQ_INSERT_TAIL(&ctx->unexpected_arrived, message, next);
    } else {
        keep_expected(ctx, message);
    }
}

int32_t
loop_message_perform(struct loop_op *op)
{
    na_plugin_class *cls = op->ctx->cls;
    na_plugin_class *target = loop_class_find(op->peer);
    struct loop_message *message;

    if (cls->dead || !target || op->peer_ctx >= LOOP_CONTEXTS_MAX ||
        !target->contexts[op->peer_ctx])
        return NA_PLUGIN_E_HOSTUNREACH;
    message = loop_message_create(
        cls->number, op->ctx->id, op->tag, op->buffer, op->length, 0);
    if (!message)
        return NA_PLUGIN_E_NOMEM;
    loop_tamper(op->kind, message->bytes, &message->length);
    loop_deliver(target, op->peer_ctx, op->kind, message);
    return NA_PLUGIN_OK;
}

static int32_t
submit_send(struct loop_op *op, const void *buffer, uint64_t length,
    const void *buffer_data, const na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag)
{
    const struct loop_limits *limits = &op->ctx->cls->limits;
    union {
        const void *in;
        unsigned char *out;
    } bytes = {.in = buffer}; /* sends only read the buffer */

    check_buffer(buffer, length, buffer_data);
    if (tag > limits->max_tag)
        loop_violated("tag %llu out of range", (unsigned long long) tag);
    if (length > (op->kind == LOOP_SEND_UNEXPECTED ? limits->max_unexpected_size
                                                   : limits->max_expected_size))
        return NA_PLUGIN_E_MSGSIZE;
    if (length < header_size(op->ctx->cls, op->kind))
        return NA_PLUGIN_E_INVALID_ARG;
    check_header(op->ctx->cls, op->kind, buffer);
    op->buffer = bytes.out;
    op->length = length;
    op->peer = peer->number;
    op->peer_ctx = peer_ctx;
    op->tag = tag;
    return loop_op_submit(op);
}

int32_t
loop_send_unexpected(na_plugin_ctx *ctx, void *part, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    int32_t code;

    loop_check_flags(flags);
    pthread_mutex_lock(&loop_lock);
    loop_op_begin(part, ctx, LOOP_SEND_UNEXPECTED);
    code = submit_send(part, buffer, length, buffer_data, peer, peer_ctx, tag);
    pthread_mutex_unlock(&loop_lock);
    return code;
}

int32_t
loop_send_expected(na_plugin_ctx *ctx, void *part, const void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    int32_t code;

    loop_check_flags(flags);
    pthread_mutex_lock(&loop_lock);
    loop_op_begin(part, ctx, LOOP_SEND_EXPECTED);
    code = submit_send(part, buffer, length, buffer_data, peer, peer_ctx, tag);
    pthread_mutex_unlock(&loop_lock);
    return code;
}

/* Removes and returns the oldest message that matches a receive; NULL if there
 * is none. */
static struct loop_message *
take_arrived(const struct loop_op *op)
{
    na_plugin_ctx *ctx = op->ctx;
    bool unexpected = op->kind == LOOP_RECV_UNEXPECTED;
    struct loop_messages *list =
        unexpected ? &ctx->unexpected_arrived : &ctx->expected_arrived;
    struct loop_message *message = TAILQ_FIRST(list);

    while (!unexpected && message && !matches(op, message))
        message = TAILQ_NEXT(message, next);
    if (!message)
        return NULL;
    TAILQ_REMOVE(list, message, next);
    if (!unexpected)
        ctx->expected_kept--;
    return message;
}

/* Posts a receive whose fields are set. */
static int32_t
submit_receive(struct loop_op *op)
{
    na_plugin_ctx *ctx = op->ctx;
    struct loop_fault fault = loop_fault_take(op->kind);
    struct loop_message *message;

    if (fault.act == LOOP_FAIL_NOW)
        return fault.code;
    ctx->pending++;
    if (fault.act == LOOP_FAIL_LATER) {
        loop_op_fail(op, fault.code, fault.delay);
        return NA_PLUGIN_PENDING;
    }
    if (fault.act == LOOP_LATER)
        op->delay = fault.delay;
    op->state = LOOP_POSTED;
    TAILQ_INSERT_TAIL(
        op->kind == LOOP_RECV_UNEXPECTED ? &ctx->unexpected : &ctx->expected,
        op, next);
    if (fault.act == LOOP_LATER && fault.stray) {
        message = loop_message_create(op->peer, op->peer_ctx, op->tag,
            fault.stray, fault.stray_length, header_size(ctx->cls, op->kind));
        receive(op, message);
        free(message);
    }
    while (op->state == LOOP_POSTED && (message = take_arrived(op)) != NULL) {
        receive(op, message);
        free(message);
    }
    return NA_PLUGIN_PENDING;
}

static int32_t
recv_any(na_plugin_ctx *ctx, struct loop_op *op, void *buffer, uint64_t length,
    const void *buffer_data, bool multi)
{
    int32_t code;

    pthread_mutex_lock(&loop_lock);
    loop_op_begin(op, ctx, LOOP_RECV_UNEXPECTED);
    check_buffer(buffer, length, buffer_data);
    op->multi = multi;
    op->buffer = buffer;
    op->length = length;
    op->used = 0;
    code = submit_receive(op);
    pthread_mutex_unlock(&loop_lock);
    return code;
}

int32_t
loop_recv_unexpected(na_plugin_ctx *ctx, void *part, void *buffer,
    uint64_t length, void *buffer_data, uint32_t flags)
{
    loop_check_flags(flags);
    return recv_any(ctx, part, buffer, length, buffer_data, false);
}

int32_t
loop_recv_multi(na_plugin_ctx *ctx, void *part, void *buffer, uint64_t length,
    void *buffer_data, uint32_t flags)
{
    if (length < ctx->cls->limits.max_unexpected_size)
        return NA_PLUGIN_E_INVALID_ARG;
    loop_check_flags(flags);
    return recv_any(ctx, part, buffer, length, buffer_data, true);
}

int32_t
loop_recv_expected(na_plugin_ctx *ctx, void *part, void *buffer,
    uint64_t length, void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx,
    uint64_t tag, uint32_t flags)
{
    struct loop_op *op = part;
    int32_t code = NA_PLUGIN_E_HOSTUNREACH;

    loop_check_flags(flags);
    pthread_mutex_lock(&loop_lock);
    loop_op_begin(op, ctx, LOOP_RECV_EXPECTED);
    check_buffer(buffer, length, buffer_data);
    if (tag > ctx->cls->limits.max_tag)
        loop_violated("tag %llu out of range", (unsigned long long) tag);
    op->buffer = buffer;
    op->length = length;
    op->peer = peer->number;
    op->peer_ctx = peer_ctx;
    op->tag = tag;
    if (loop_class_find(peer->number))
        code = submit_receive(op);
    pthread_mutex_unlock(&loop_lock);
    return code;
}
