/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations: storage, buffers, submission. */
#include "check/class.h"

#include "check/host.h"
#include "check/shared.h"

#include <stdlib.h>
#include <string.h>

static bool
is_receive(enum kit_kind kind)
{
    return kind == KIT_RECV_UNEXPECTED || kind == KIT_RECV_EXPECTED ||
           kind == KIT_RECV_MULTI;
}

static bool
is_message(enum kit_kind kind)
{
    return kind != KIT_PUT && kind != KIT_GET;
}

static void
buffer_release(struct kit_class *cls, struct kit_op *op)
{
    const char *before;

    if (!op->buffer)
        return;
    if (op->own) {
        kit_guarded_destroy(&op->guarded);
    } else {
        before = kit_call_enter("buf_free");
        cls->ops.buf_free(cls->cls, op->buffer, op->buffer_data);
        kit_call_leave(before);
    }
    op->buffer = NULL;
    op->buffer_data = NULL;
}

static void
source_release(struct kit_class *cls, struct kit_op *op)
{
    const char *before;

    if (!op->source)
        return;
    before = kit_call_enter("addr_free");
    cls->ops.addr_free(cls->cls, op->source);
    kit_call_leave(before);
    op->source = NULL;
}

static uint32_t
buffer_kind(enum kit_kind kind)
{
    if (kind == KIT_RECV_MULTI)
        return NA_PLUGIN_BUF_MULTI_RECV;
    return is_receive(kind) ? NA_PLUGIN_BUF_RECV : NA_PLUGIN_BUF_SEND;
}

static void
buffer_from_plugin(struct kit_class *cls, struct kit_op *op)
{
    const char *before = kit_call_enter("buf_alloc");
    void *memory = NULL, *data = NULL;
    int32_t result = cls->ops.buf_alloc(cls->cls, op->request.length,
        buffer_kind(op->request.kind), &memory, &data);

    kit_call_leave(before);
    kit_expect(result == NA_PLUGIN_OK && memory, 12, "buf_alloc gives a buffer",
        "%llu bytes: %s", (unsigned long long) op->request.length,
        kit_code_text(result));
    kit_expect(((uintptr_t) memory & 63) == 0, 12,
        "buf_alloc's memory is aligned to 64 bytes", "%p", memory);
    op->buffer = memory;
    op->buffer_data = data;
}

/* Prepares a buffer to send or receive. */
static void
buffer_take(struct kit_class *cls, struct kit_op *op)
{
    const struct kit_request *request = &op->request;
    bool expected = request->kind == KIT_SEND_EXPECTED;
    uint64_t header = expected ? cls->opened.expected_header_size
                               : cls->opened.unexpected_header_size;
    const char *before;
    int32_t result;

    op->own = request->own_buffer;
    if (op->own) {
        kit_guarded_create(&op->guarded, request->length, 1);
        op->buffer = op->guarded.memory;
        op->buffer_data = NULL;
    } else {
        buffer_from_plugin(cls, op);
    }
    if (is_receive(request->kind))
        return;
    memset(op->buffer, 0, request->length);
    before = kit_call_enter("buf_init");
    result = cls->ops.buf_init(cls->cls, op->buffer, request->length,
        expected ? NA_PLUGIN_MSG_EXPECTED : NA_PLUGIN_MSG_UNEXPECTED);
    kit_call_leave(before);
    kit_expect(result == NA_PLUGIN_OK, 12, "buf_init writes its header", "%s",
        kit_code_text(result));
    if (request->length > header)
        kit_pattern(
            op->buffer + header, request->length - header, request->seed);
    if (op->own)
        kit_guarded_protect(&op->guarded, KIT_READABLE, 7,
            "sending does not change the buffer");
}

static void
storage_take(struct kit_class *cls, struct kit_op *op)
{
    if (!op->stored) {
        kit_guarded_create(
            &op->storage, cls->opened.op_size, cls->opened.op_align);
        kit_guarded_limit(&op->storage, 6,
            "nothing beyond op_size bytes of an operation is touched");
    } else if (!cls->unlocked) {
        kit_guarded_protect(&op->storage, KIT_OPEN, 0, "");
    }
    /* Pairs with the acquire of a poll that finds its operation. */
    atomic_store_explicit(&op->stored, true, memory_order_release);
}

static int32_t
call_plugin(struct kit_class *cls, const struct kit_op *op)
{
    const struct kit_request *r = &op->request;
    const na_plugin_ops *ops = &cls->ops;
    na_plugin_ctx *ctx = cls->contexts[r->ctx];
    na_plugin_addr *peer = cls->addrs[r->peer];
    void *storage = op->storage.memory;

    switch (r->kind) {
    case KIT_SEND_UNEXPECTED:
        return ops->send_unexpected(ctx, storage, op->buffer, r->length,
            op->buffer_data, peer, r->peer_ctx, r->tag, r->flags);
    case KIT_RECV_UNEXPECTED:
        return ops->recv_unexpected(
            ctx, storage, op->buffer, r->length, op->buffer_data, r->flags);
    case KIT_SEND_EXPECTED:
        return ops->send_expected(ctx, storage, op->buffer, r->length,
            op->buffer_data, peer, r->peer_ctx, r->tag, r->flags);
    case KIT_RECV_EXPECTED:
        return ops->recv_expected(ctx, storage, op->buffer, r->length,
            op->buffer_data, peer, r->peer_ctx, r->tag, r->flags);
    case KIT_PUT:
        return ops->put(ctx, storage, cls->mems[r->local].mem, r->local_offset,
            cls->mems[r->remote].mem, r->remote_offset, r->length, peer,
            r->peer_ctx, r->flags);
    case KIT_GET:
        return ops->get(ctx, storage, cls->mems[r->local].mem, r->local_offset,
            cls->mems[r->remote].mem, r->remote_offset, r->length, peer,
            r->peer_ctx, r->flags);
    case KIT_RECV_MULTI:
        return cls->multi->recv_multi(
            ctx, storage, op->buffer, r->length, op->buffer_data, r->flags);
    default:
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    }
}

/* Ends an operation without an event: DONE, or an error. */
static void
end_at_once(struct kit_class *cls, struct kit_op *op, int32_t result)
{
    uint32_t pending = KIT_PENDING;
    bool alone;

    kit_expect(kit_guarded_intact(&op->storage), 6,
        "nothing beyond op_size bytes is written", "it was, by %s",
        kit_kind_name(op->request.kind));
    if (!cls->unlocked)
        kit_guarded_protect(&op->storage, KIT_CLOSED, 9,
            "an operation that has ended is not touched");
    if (op->own && op->guarded.mapping && !is_receive(op->request.kind))
        kit_guarded_protect(&op->guarded, KIT_CLOSED, 11,
            "the buffer of a send that has ended is not touched");
    op->status = result == NA_PLUGIN_DONE ? NA_PLUGIN_OK : result;
    /* Last, since another thread may use it again. Pairs with the acquire of
     * that thread, or of one that reads the state. */
    alone = atomic_compare_exchange_strong_explicit(&op->state, &pending,
        KIT_ENDED, memory_order_release, memory_order_relaxed);
    kit_expect(alone, 7,
        "DONE and errors of a submission are followed by no event",
        "a submission returned %s, and there was an event",
        kit_code_text(result));
}

static void
check_result(
    struct kit_class *cls, const struct kit_request *request, int32_t result)
{
    const char *name = kit_kind_name(request->kind);

    kit_expect(result == NA_PLUGIN_PENDING || result == NA_PLUGIN_DONE ||
                   (result < 0 && kit_code_known(result)),
        7, "a submission returns PENDING, DONE or an error", "%s: %d", name,
        result);
    kit_expect(result != NA_PLUGIN_DONE || !is_receive(request->kind), 7,
        "a receive never returns DONE", "%s did", name);
    kit_expect(result != NA_PLUGIN_E_AGAIN ||
                   (cls->how.flags & NA_PLUGIN_OPEN_NO_RETRY),
        7, "AGAIN is returned only under NO_RETRY", "%s: AGAIN", name);
    kit_expect(result >= 0 || request->may_fail, kit_running->rule,
        "what is right is submitted", "%s: %s", name, kit_code_text(result));
}

int32_t
kit_class_post(struct kit_class *cls, const struct kit_request *request)
{
    struct kit_op *op = &cls->ops_made[request->op];
    const char *before;
    int32_t result;

    if (atomic_load_explicit(&op->state, memory_order_acquire) == KIT_PENDING)
        kit_not_run("operation %u is used while it is pending", request->op);
    op->last_buffer = op->buffer;
    op->cancelled = false;
    buffer_release(cls, op);
    source_release(cls, op);
    op->number = request->op;
    op->request = *request;
    op->ctx = request->ctx;
    atomic_store_explicit(&op->messages, 0, memory_order_relaxed);
    if (is_receive(request->kind) && !op->received)
        op->received = calloc(KIT_MESSAGES, sizeof *op->received);
    storage_take(cls, op);
    if (is_message(request->kind))
        buffer_take(cls, op);
    /* Pairs with the acquire of the thread that polls the event. */
    atomic_store_explicit(&op->state, KIT_PENDING, memory_order_release);
    before = kit_call_enter(kit_kind_name(request->kind));
    kit_host_path_enter(NULL);
    result = call_plugin(cls, op);
    kit_host_path_leave();
    kit_call_leave(before);
    check_result(cls, request, result);
    op->result = result;
    if (result != NA_PLUGIN_PENDING)
        end_at_once(cls, op, result);
    return result;
}

void
kit_class_cancel(struct kit_class *cls, uint32_t number)
{
    struct kit_op *op = &cls->ops_made[number];
    bool ended;
    const char *before;
    int32_t result;

    /* The plugin must accept operations that ended long ago, or were never
     * submitted. */
    ended =
        atomic_load_explicit(&op->state, memory_order_acquire) != KIT_PENDING;
    op->cancelled = true;
    if (ended)
        storage_take(cls, op);
    before = kit_call_enter("cancel");
    result = cls->ops.cancel(cls->contexts[op->ctx], op->storage.memory);
    kit_call_leave(before);
    if (ended && !cls->unlocked)
        kit_guarded_protect(&op->storage, KIT_CLOSED, 9,
            "an operation that has ended is not touched");
    kit_expect(result == NA_PLUGIN_OK, 10,
        "cancel returns OK, also for what has ended or is unknown", "%s",
        kit_code_text(result));
}

/* Returns the seed of a message: its first eight bytes. */
static uint64_t
seed_of(const struct kit_received *received, uint64_t header)
{
    uint64_t seed = 0;

    if (received->length >= header + sizeof seed)
        memcpy(&seed, received->bytes + header, sizeof seed);
    return seed;
}

void
kit_class_message(struct kit_class *cls, uint32_t number, uint32_t message,
    struct kit_completion *end_p)
{
    const struct kit_op *op = &cls->ops_made[number];
    const struct kit_received *received = &op->received[message];
    uint64_t header = op->request.kind == KIT_RECV_EXPECTED
                          ? cls->opened.expected_header_size
                          : cls->opened.unexpected_header_size;

    end_p->length = received->length;
    end_p->tag = received->tag;
    end_p->source = received->source;
    end_p->status = received->status;
    end_p->seed = seed_of(received, header);
    end_p->hash =
        received->length >= header && received->bytes
            ? kit_hash(received->bytes + header, received->length - header)
            : 0;
}

void
kit_class_end(
    struct kit_class *cls, uint32_t number, struct kit_completion *end_p)
{
    const struct kit_op *op = &cls->ops_made[number];
    /* Pairs with the release of the poll that ended it. */
    uint32_t state = atomic_load_explicit(&op->state, memory_order_acquire);
    uint32_t messages =
        atomic_load_explicit(&op->messages, memory_order_acquire);

    *end_p = (struct kit_completion){.result = op->result,
        .ended = state != KIT_PENDING,
        .source = KIT_NOBODY};
    if (messages > 0)
        kit_class_message(cls, number, messages - 1, end_p);
    end_p->messages = messages;
    end_p->status = end_p->ended ? op->status : NA_PLUGIN_OK;
}

void
kit_ops_finish(struct kit_class *cls)
{
    for (uint32_t i = 0; i < KIT_OPS; i++) {
        struct kit_op *op = &cls->ops_made[i];

        if (op->own && op->guarded.mapping)
            kit_guarded_protect(&op->guarded, KIT_OPEN, 0, "");
        buffer_release(cls, op);
        source_release(cls, op);
        if (op->stored) {
            kit_guarded_protect(&op->storage, KIT_OPEN, 0, "");
            kit_expect(kit_guarded_intact(&op->storage), 6,
                "nothing beyond op_size bytes is written",
                "it was, at the end");
            kit_guarded_destroy(&op->storage);
        }
        free(op->received);
        op->received = NULL;
    }
}
