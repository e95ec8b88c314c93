/* SPDX-License-Identifier: BSD-3-Clause */
/* Rule violations of wire plugin variants that take more than a line. */
#include "violation.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "wire.h"

#define UNSENT_POLLS 8
#define LATE_NS UINT64_C(50000000)

void
wire_violation_opened(na_plugin_class *cls, na_plugin_opened *opened)
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

/* Writes the kept fragment to its place, if that still exists. */
static void
unstash(na_plugin_class *cls)
{
    struct wire_violation *violation = &cls->violation;
    na_plugin_mem *mem;

    violation->stash_due_ns = 0;
    TAILQ_FOREACH (mem, &cls->mems, next)
        if (mem->id == violation->stash_mem)
            wire_mem_write(mem, violation->stash_offset, violation->stash,
                violation->stash_length);
}

bool
wire_violation_stash(na_plugin_class *cls, const na_plugin_mem *mem,
    uint64_t offset, const unsigned char *bytes, uint32_t length)
{
    struct wire_violation *violation = &cls->violation;

    if (violation->stash_due_ns != 0)
        unstash(cls);
    if (!violation->stash)
        violation->stash = malloc(WIRE_CHUNK);
    if (!violation->stash || length == 0)
        return false;
    violation->stash_due_ns = wire_now() + LATE_NS;
    violation->stash_mem = mem->id;
    violation->stash_offset = offset;
    violation->stash_length = length;
    memcpy(violation->stash, bytes, length);
    return true;
}

/* Sends the message whose send was reported early. */
static void
send_unsent(na_plugin_class *cls)
{
    struct wire_violation *violation = &cls->violation;
    union {
        const unsigned char *in;
        void *out;
    } bytes = {.in = violation->unsent};
    struct iovec vector = {bytes.out, violation->unsent_length};
    struct wire_record record = {.type = violation->unsent_type,
        .target = violation->unsent_target,
        .source = violation->unsent_source,
        .length = violation->unsent_length,
        .tag = violation->unsent_tag};
    struct wire_conn *conn = violation->unsent_peer->conn;

    violation->unsent = NULL;
    if (conn)
        wire_conn_send(conn, &record, &vector, 1);
}

void
wire_violation_unsent(struct wire_op *op)
{
    na_plugin_class *cls = op->ctx->cls;
    struct wire_violation *violation = &cls->violation;

    if (violation->unsent)
        send_unsent(cls);
    violation->unsent = op->buffer;
    if (wire_breaks(cls, WIRE_last_words_lost)) {
        free(violation->unsent_copy);
        violation->unsent_copy = malloc(op->length);
        if (violation->unsent_copy)
            memcpy(violation->unsent_copy, op->buffer, op->length);
        violation->unsent = violation->unsent_copy;
        violation->unsent_polls = UNSENT_POLLS;
    }
    violation->unsent_peer = op->peer;
    violation->unsent_length = (uint32_t) op->length;
    violation->unsent_type =
        op->kind == WIRE_SEND_UNEXPECTED ? WIRE_UNEXPECTED : WIRE_EXPECTED;
    violation->unsent_target = (uint8_t) op->peer_ctx;
    violation->unsent_source = (uint8_t) op->ctx->id;
    violation->unsent_tag = op->tag;
}

void
wire_violation_again(struct wire_op *op, int32_t status)
{
    struct wire_violation *violation = &op->ctx->cls->violation;

    violation->again = (na_plugin_event){.op = op, .status = status};
    violation->again_ctx = op->ctx;
}

/* Accesses memory that the core owns again. */
static void
touch_late(na_plugin_class *cls)
{
    struct wire_violation *violation = &cls->violation;
    volatile unsigned char *buffer = violation->late_buffer;
    volatile struct wire_op *op = violation->late_op;

    if (op && wire_breaks(cls, WIRE_op_written_late))
        op->deadline_ns = ~op->deadline_ns;
    else if (op)
        violation->count += op->deadline_ns == 0;
    if (buffer)
        buffer[0] = (unsigned char) ~buffer[0];
    violation->late_op = NULL;
    violation->late_buffer = NULL;
}

void
wire_violation_before_poll(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    struct wire_violation *violation = &cls->violation;

    touch_late(cls);
    if (violation->unsent_polls > 0)
        violation->unsent_polls--;
    else if (violation->unsent)
        send_unsent(cls);
    if (violation->stash_due_ns != 0 && wire_now() >= violation->stash_due_ns)
        unstash(cls);
    if (wire_breaks(cls, WIRE_poll_calls_number))
        cls->host->number(cls->host, wire_send_timeout_key);
    if (wire_breaks(cls, WIRE_poll_wakes_itself))
        cls->host->wake(cls->host, ctx->core_ctx);
}

uint32_t
wire_violation_after_poll(
    na_plugin_ctx *ctx, na_plugin_event *events, uint32_t count, uint32_t max)
{
    na_plugin_class *cls = ctx->cls;
    struct wire_violation *violation = &cls->violation;
    struct wire_op *op;

    if (violation->again.op && violation->again_ctx == ctx && count < max) {
        events[count++] = violation->again;
        violation->again.op = NULL;
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
wire_violation_event(
    na_plugin_ctx *ctx, struct wire_op *op, na_plugin_event *event)
{
    na_plugin_class *cls = ctx->cls;
    struct wire_violation *violation = &cls->violation;

    switch (cls->broken) {
    case WIRE_op_other_name:
        event->op = (char *) event->op + 8;
        break;
    case WIRE_event_twice:
        if (op->kind == WIRE_SEND_UNEXPECTED) {
            violation->again = *event;
            violation->again_ctx = ctx;
        }
        break;
    case WIRE_op_written_late:
    case WIRE_op_read_late:
        violation->late_op = op;
        break;
    case WIRE_buffer_written_late:
        if (event->flags & NA_PLUGIN_EVENT_MESSAGE && event->length > 16)
            violation->late_buffer =
                (unsigned char *) event->buffer + event->length - 1;
        break;
    default:
        break;
    }
}

bool
wire_violation_cancel(na_plugin_ctx *ctx, struct wire_op *op)
{
    struct wire_violation *violation = &ctx->cls->violation;

    switch (ctx->cls->broken) {
    case WIRE_cancel_and_result:
    case WIRE_cancel_swallows:
        if (op->kind == WIRE_RECV_UNEXPECTED) {
            violation->ghost = op;
            violation->ghost_buffer = op->buffer;
            violation->ghost_length = op->length;
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
wire_violation_destroy(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    struct wire_violation *violation = &cls->violation;
    struct wire_op *op;

    TAILQ_FOREACH (op, &ctx->pending, all)
        if (wire_breaks(cls, WIRE_destroy_leaves_buffer) &&
            op->kind >= WIRE_RECV_UNEXPECTED && op->kind <= WIRE_RECV_EXPECTED)
            violation->late_buffer = op->buffer;
    if (wire_breaks(cls, WIRE_destroy_then_wake))
        violation->gone_core_ctx = ctx->core_ctx;
    violation->destroyed |= 1U << ctx->id;
    if (wire_breaks(cls, WIRE_last_words_lost) &&
        violation->unsent_source == ctx->id)
        violation->unsent = NULL;
    for (uint32_t i = 0; i < WIRE_CONTEXTS; i++)
        while (wire_breaks(cls, WIRE_destroy_ends_beside) && i != ctx->id &&
               (op = TAILQ_FIRST(&cls->contexts[i].expected)) != NULL)
            wire_op_end(op, NA_PLUGIN_E_CANCELED);
    while (wire_breaks(cls, WIRE_destroy_waits) && !TAILQ_EMPTY(&ctx->pending))
        usleep(1000);
}

bool
wire_violation_arrived(na_plugin_ctx *ctx, const unsigned char *bytes,
    uint64_t length, na_plugin_addr *source, uint64_t tag)
{
    struct wire_violation *violation = &ctx->cls->violation;

    if (!violation->ghost || length > violation->ghost_length)
        return false;
    memcpy(violation->ghost_buffer, bytes, length);
    if (wire_breaks(ctx->cls, WIRE_cancel_and_result)) {
        violation->again = (na_plugin_event){.op = violation->ghost,
            .buffer = violation->ghost_buffer,
            .length = length,
            .source = source,
            .tag = tag,
            .flags = NA_PLUGIN_EVENT_MESSAGE};
        violation->again_ctx = ctx;
        source->refs++;
    }
    violation->ghost = NULL;
    return true;
}

void
wire_violation_finish(na_plugin_class *cls)
{
    if (cls->violation.gone_core_ctx)
        cls->host->wake(cls->host, cls->violation.gone_core_ctx);
    free(cls->violation.stash);
    free(cls->violation.unsent_copy);
}
