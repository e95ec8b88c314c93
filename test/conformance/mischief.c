/* SPDX-License-Identifier: BSD-3-Clause */
/* What variants of the wire plugin do that takes more than a line. */
#include "mischief.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "wire.h"

#define UNSENT_POLLS 8
#define LATE_NS UINT64_C(50000000)

void
wire_mischief_opened(na_plugin_class *cls, na_plugin_opened *opened)
{
    static na_plugin_ops lacking;

    switch (cls->broken) {
    case WIRE_op_too_small:
        opened->op_size -= 16;
        break;
    case WIRE_op_align_128:
        opened->op_align = 128;
        break;
    case WIRE_op_align_3:
        opened->op_align = 3;
        break;
    case WIRE_tag_too_small:
        opened->max_tag = 0x3fff;
        break;
    case WIRE_ops_lack_one:
        lacking = *opened->ops;
        lacking.addr_equal = NULL;
        opened->ops = &lacking;
        break;
    default:
        break;
    }
}

/* Puts the piece that was kept where it belongs, if that is still there. */
static void
unstash(na_plugin_class *cls)
{
    struct wire_mischief *mischief = &cls->mischief;
    na_plugin_mem *mem;

    mischief->stash_due_ns = 0;
    TAILQ_FOREACH (mem, &cls->mems, next)
        if (mem->id == mischief->stash_mem)
            wire_mem_write(mem, mischief->stash_offset, mischief->stash,
                mischief->stash_length);
}

bool
wire_mischief_stash(na_plugin_class *cls, const na_plugin_mem *mem,
    uint64_t offset, const unsigned char *bytes, uint32_t length)
{
    struct wire_mischief *mischief = &cls->mischief;

    if (mischief->stash_due_ns != 0)
        unstash(cls);
    if (!mischief->stash)
        mischief->stash = malloc(WIRE_CHUNK);
    if (!mischief->stash || length == 0)
        return false;
    mischief->stash_due_ns = wire_now() + LATE_NS;
    mischief->stash_mem = mem->id;
    mischief->stash_offset = offset;
    mischief->stash_length = length;
    memcpy(mischief->stash, bytes, length);
    return true;
}

/* Sends the message whose send has ended. */
static void
send_unsent(na_plugin_class *cls)
{
    struct wire_mischief *mischief = &cls->mischief;
    union {
        const unsigned char *in;
        void *out;
    } bytes = {.in = mischief->unsent};
    struct iovec vector = {bytes.out, mischief->unsent_length};
    struct wire_record record = {.type = mischief->unsent_type,
        .target = mischief->unsent_target,
        .source = mischief->unsent_source,
        .length = mischief->unsent_length,
        .tag = mischief->unsent_tag};
    struct wire_conn *conn = mischief->unsent_peer->conn;

    mischief->unsent = NULL;
    if (conn)
        wire_conn_send(conn, &record, &vector, 1);
}

void
wire_mischief_unsent(struct wire_op *op)
{
    na_plugin_class *cls = op->ctx->cls;
    struct wire_mischief *mischief = &cls->mischief;

    if (mischief->unsent)
        send_unsent(cls);
    mischief->unsent = op->buffer;
    if (wire_breaks(cls, WIRE_last_words_lost)) {
        free(mischief->unsent_copy);
        mischief->unsent_copy = malloc(op->length);
        if (mischief->unsent_copy)
            memcpy(mischief->unsent_copy, op->buffer, op->length);
        mischief->unsent = mischief->unsent_copy;
        mischief->unsent_polls = UNSENT_POLLS;
    }
    mischief->unsent_peer = op->peer;
    mischief->unsent_length = (uint32_t) op->length;
    mischief->unsent_type =
        op->kind == WIRE_SEND_UNEXPECTED ? WIRE_UNEXPECTED : WIRE_EXPECTED;
    mischief->unsent_target = (uint8_t) op->peer_ctx;
    mischief->unsent_source = (uint8_t) op->ctx->id;
    mischief->unsent_tag = op->tag;
}

void
wire_mischief_again(struct wire_op *op, int32_t status)
{
    struct wire_mischief *mischief = &op->ctx->cls->mischief;

    mischief->again = (na_plugin_event){.op = op, .status = status};
    mischief->again_ctx = op->ctx;
}

/* Touches what the core has back. */
static void
touch_late(na_plugin_class *cls)
{
    struct wire_mischief *mischief = &cls->mischief;
    volatile unsigned char *buffer = mischief->late_buffer;
    volatile struct wire_op *op = mischief->late_op;

    if (op && wire_breaks(cls, WIRE_op_written_late))
        op->deadline_ns = ~op->deadline_ns;
    else if (op)
        mischief->count += op->deadline_ns == 0;
    if (buffer)
        buffer[0] = (unsigned char) ~buffer[0];
    mischief->late_op = NULL;
    mischief->late_buffer = NULL;
}

void
wire_mischief_before_poll(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    struct wire_mischief *mischief = &cls->mischief;

    touch_late(cls);
    if (mischief->unsent_polls > 0)
        mischief->unsent_polls--;
    else if (mischief->unsent)
        send_unsent(cls);
    if (mischief->stash_due_ns != 0 && wire_now() >= mischief->stash_due_ns)
        unstash(cls);
    if (wire_breaks(cls, WIRE_poll_calls_number))
        cls->host->number(cls->host, wire_send_timeout_key);
    if (wire_breaks(cls, WIRE_poll_wakes_itself))
        cls->host->wake(cls->host, ctx->core_ctx);
}

uint32_t
wire_mischief_after_poll(
    na_plugin_ctx *ctx, na_plugin_event *events, uint32_t count, uint32_t max)
{
    na_plugin_class *cls = ctx->cls;
    struct wire_mischief *mischief = &cls->mischief;
    struct wire_op *op;

    if (mischief->again.op && mischief->again_ctx == ctx && count < max) {
        events[count++] = mischief->again;
        mischief->again.op = NULL;
    }
    if (wire_breaks(cls, WIRE_poll_scribbles) && count > 0)
        memset(&events[max], 0xaa, sizeof *events);
    if (wire_breaks(cls, WIRE_poll_drops_rest))
        while ((op = TAILQ_FIRST(&ctx->ready)) != NULL) {
            if (op->event.source)
                wire_addr_put(cls, op->event.source);
            wire_op_move(op, NULL);
            TAILQ_REMOVE(&ctx->pending, op, all);
        }
    return count;
}

void
wire_mischief_event(
    na_plugin_ctx *ctx, struct wire_op *op, na_plugin_event *event)
{
    na_plugin_class *cls = ctx->cls;
    struct wire_mischief *mischief = &cls->mischief;

    switch (cls->broken) {
    case WIRE_op_other_name:
        event->op = (char *) event->op + 8;
        break;
    case WIRE_event_twice:
        if (op->kind == WIRE_SEND_UNEXPECTED) {
            mischief->again = *event;
            mischief->again_ctx = ctx;
        }
        break;
    case WIRE_op_written_late:
    case WIRE_op_read_late:
        mischief->late_op = op;
        break;
    case WIRE_buffer_written_late:
        if (event->flags & NA_PLUGIN_EVENT_MESSAGE && event->length > 16)
            mischief->late_buffer =
                (unsigned char *) event->buffer + event->length - 1;
        break;
    default:
        break;
    }
}

bool
wire_mischief_cancel(na_plugin_ctx *ctx, struct wire_op *op)
{
    struct wire_mischief *mischief = &ctx->cls->mischief;

    switch (ctx->cls->broken) {
    case WIRE_cancel_and_result:
    case WIRE_cancel_swallows:
        if (op->kind == WIRE_RECV_UNEXPECTED) {
            mischief->ghost = op;
            mischief->ghost_buffer = op->buffer;
            mischief->ghost_length = op->length;
        }
        return false;
    case WIRE_cancel_without_event:
        wire_op_withdraw(op);
        TAILQ_REMOVE(&ctx->pending, op, all);
        return true;
    case WIRE_cancel_as_success:
        wire_op_end(op, NA_PLUGIN_OK);
        return true;
    case WIRE_cancel_takes_other:
        op = TAILQ_FIRST(&ctx->pending);
        if (op->list != &ctx->ready)
            wire_op_end(op, NA_PLUGIN_E_CANCELED);
        return true;
    default:
        return false;
    }
}

void
wire_mischief_destroy(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    struct wire_mischief *mischief = &cls->mischief;
    struct wire_op *op;

    TAILQ_FOREACH (op, &ctx->pending, all)
        if (wire_breaks(cls, WIRE_destroy_leaves_buffer) &&
            op->kind >= WIRE_RECV_UNEXPECTED && op->kind <= WIRE_RECV_EXPECTED)
            mischief->late_buffer = op->buffer;
    if (wire_breaks(cls, WIRE_destroy_then_wake))
        mischief->gone_core_ctx = ctx->core_ctx;
    mischief->destroyed |= 1U << ctx->id;
    if (wire_breaks(cls, WIRE_last_words_lost) &&
        mischief->unsent_source == ctx->id)
        mischief->unsent = NULL;
    for (uint32_t i = 0; i < WIRE_CONTEXTS; i++)
        while (wire_breaks(cls, WIRE_destroy_ends_beside) && i != ctx->id &&
               (op = TAILQ_FIRST(&cls->contexts[i].expected)) != NULL)
            wire_op_end(op, NA_PLUGIN_E_CANCELED);
    while (wire_breaks(cls, WIRE_destroy_waits) && !TAILQ_EMPTY(&ctx->pending))
        usleep(1000);
}

bool
wire_mischief_arrived(na_plugin_ctx *ctx, const unsigned char *bytes,
    uint64_t length, na_plugin_addr *source, uint64_t tag)
{
    struct wire_mischief *mischief = &ctx->cls->mischief;

    if (!mischief->ghost || length > mischief->ghost_length)
        return false;
    memcpy(mischief->ghost_buffer, bytes, length);
    if (wire_breaks(ctx->cls, WIRE_cancel_and_result)) {
        mischief->again = (na_plugin_event){.op = mischief->ghost,
            .buffer = mischief->ghost_buffer,
            .length = length,
            .source = source,
            .tag = tag,
            .flags = NA_PLUGIN_EVENT_MESSAGE};
        mischief->again_ctx = ctx;
        source->refs++;
    }
    mischief->ghost = NULL;
    return true;
}

void
wire_mischief_finish(na_plugin_class *cls)
{
    if (cls->mischief.gone_core_ctx)
        cls->host->wake(cls->host, cls->mischief.gone_core_ctx);
    free(cls->mischief.stash);
    free(cls->mischief.unsent_copy);
}
