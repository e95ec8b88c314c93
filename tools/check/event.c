/* SPDX-License-Identifier: BSD-3-Clause */
/* Polls, and checks each event. */
#include "check/class.h"

#include "check/host.h"
#include "check/shared.h"

#include <string.h>

#define CANARY 0xC3

static bool
is_receive(const struct kit_op *op)
{
    enum kit_kind kind = op->request.kind;

    return kind == KIT_RECV_UNEXPECTED || kind == KIT_RECV_EXPECTED ||
           kind == KIT_RECV_MULTI;
}

/* Returns the operation of an event. */
static struct kit_op *
find_op(struct kit_class *cls, const na_plugin_event *event)
{
    for (uint32_t i = 0; i < KIT_OPS; i++)
        /* Pairs with the release of storage_take. */
        if (atomic_load_explicit(
                &cls->ops_made[i].stored, memory_order_acquire) &&
            cls->ops_made[i].storage.memory == event->op)
            return &cls->ops_made[i];
    kit_fail(6, "an event names an operation by the pointer it was given", "%p",
        event->op);
}

static uint32_t
number_of(struct kit_class *cls, const na_plugin_addr *source)
{
    const char *before = kit_call_enter("addr_equal");
    uint32_t found = KIT_NOBODY;

    for (uint32_t i = 0; i < KIT_ADDRS && found == KIT_NOBODY; i++)
        if (cls->addrs[i]) {
            int32_t equal =
                cls->ops.addr_equal(cls->cls, cls->addrs[i], source);

            kit_expect(equal == 0 || equal == 1, 12,
                "addr_equal returns 0 or 1", "%d", equal);
            if (equal) {
                found = i;
                kit_expect(cls->ops.addr_hash(cls->cls, cls->addrs[i]) ==
                               cls->ops.addr_hash(cls->cls, source),
                    12, "addr_hash is the same for equal addresses",
                    "address %u and the source of a message", i);
            }
        }
    kit_call_leave(before);
    return found;
}

/* Checks that the event of a send, put or get has no message. */
static void
check_bare(const struct kit_op *op, const na_plugin_event *event)
{
    const char *name = kit_kind_name(op->request.kind);

    kit_expect(event->flags == 0, 8,
        "the event of a send, put or get has no flags", "%s: %#x", name,
        event->flags);
    kit_expect(!event->buffer && event->length == 0 && !event->source, 12,
        "the event of a send, put or get carries no message",
        "%s: buffer %p, %llu bytes, source %p", name, event->buffer,
        (unsigned long long) event->length, (void *) event->source);
}

static void
check_message(struct kit_class *cls, const struct kit_op *op,
    const na_plugin_event *event)
{
    const struct kit_request *request = &op->request;
    const char *name = kit_kind_name(request->kind);
    unsigned char *at = event->buffer;
    bool expected = request->kind == KIT_RECV_EXPECTED;
    uint64_t header = expected ? cls->opened.expected_header_size
                               : cls->opened.unexpected_header_size;
    bool within;

    kit_expect(event->status == NA_PLUGIN_OK, 12,
        "an event has an error or a message", "%s: a message, and %s", name,
        kit_code_text(event->status));
    kit_expect(event->length >= header, 12,
        "a message is not shorter than its header", "%s: %llu bytes", name,
        (unsigned long long) event->length);
    within = at >= op->buffer && event->length <= request->length &&
             at + event->length <= op->buffer + request->length;
    /* The buffer may include the place of the one before. */
    kit_expect(within || !op->last_buffer || at != op->last_buffer, 6,
        "an operation's storage may hold anything from its use before",
        "%s: a message in the buffer of the use before", name);
    if (request->kind == KIT_RECV_MULTI)
        kit_expect(within, 12, "a message is within the buffer of its receive",
            "%lld bytes from its beginning, %llu long",
            (long long) (at - op->buffer), (unsigned long long) event->length);
    else
        kit_expect(at == op->buffer && event->length <= request->length, 12,
            "a message is at the beginning of its receive's buffer",
            "%s: %p, not %p, %llu bytes", name, (void *) at,
            (void *) op->buffer, (unsigned long long) event->length);
    kit_expect(expected ? !event->source : event->source != NULL, 12,
        expected ? "an expected message has no source"
                 : "an unexpected message has a source",
        "%s: %p", name, (void *) event->source);
    if (expected)
        kit_expect(event->tag == request->tag, 11,
            "an expected receive gets a message of its tag",
            "tag %llu, not %llu", (unsigned long long) event->tag,
            (unsigned long long) request->tag);
}

/* Checks that earlier messages are unchanged. */
static void
check_former(const struct kit_op *op)
{
    uint32_t count = atomic_load_explicit(&op->messages, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const struct kit_received *received = &op->received[i];

        if (received->bytes)
            kit_expect(
                kit_hash(received->bytes, received->length) == received->hash,
                12,
                "a part of the buffer that carried a message is never "
                "written again",
                "message %u of the multi-receive changed", i);
    }
}

/* Checks that they do not overlap. */
static void
check_interprocess(const struct kit_op *op, const na_plugin_event *event)
{
    uint32_t count = atomic_load_explicit(&op->messages, memory_order_relaxed);
    const unsigned char *at = event->buffer;

    for (uint32_t i = 0; at && i < count; i++) {
        const struct kit_received *received = &op->received[i];

        if (received->bytes)
            kit_expect(at >= received->bytes + received->length ||
                           at + event->length <= received->bytes,
                12, "messages of a multi-receive do not overlap",
                "%lld bytes behind the beginning of message %u, which has "
                "%llu",
                (long long) (at - received->bytes), i,
                (unsigned long long) received->length);
    }
}

static void
note_message(
    struct kit_class *cls, struct kit_op *op, const na_plugin_event *event)
{
    uint32_t count = atomic_load_explicit(&op->messages, memory_order_relaxed);
    struct kit_received *received = &op->received[count];
    const char *before;

    if (!(event->flags & NA_PLUGIN_EVENT_MESSAGE) &&
        event->status == NA_PLUGIN_OK)
        return;
    if (count == KIT_MESSAGES)
        kit_not_run("more than %u messages in one receive", KIT_MESSAGES);
    *received =
        (struct kit_received){.source = KIT_NOBODY, .status = event->status};
    if (event->flags & NA_PLUGIN_EVENT_MESSAGE) {
        received->bytes = event->buffer;
        received->length = event->length;
        received->tag = event->tag;
        received->hash = kit_hash(event->buffer, event->length);
        if (event->source)
            received->source = number_of(cls, event->source);
        if (op->source) {
            before = kit_call_enter("addr_free");
            cls->ops.addr_free(cls->cls, op->source);
            kit_call_leave(before);
        }
        op->source = event->source;
    } else if (!(event->flags & NA_PLUGIN_EVENT_MORE)) {
        return;
    }
    /* Pairs with the acquire of kit_class_end. */
    atomic_store_explicit(&op->messages, count + 1, memory_order_release);
}

static void
check_event(struct kit_class *cls, struct kit_op *op, uint32_t ctx,
    const na_plugin_event *event)
{
    const char *name = kit_kind_name(op->request.kind);
    bool message = event->flags & NA_PLUGIN_EVENT_MESSAGE;
    bool more = event->flags & NA_PLUGIN_EVENT_MORE;

    kit_expect(op->ctx == ctx, 8, "poll reports events of its context",
        "%s of context %u, by poll of context %u", name, op->ctx, ctx);
    kit_expect(event->status <= 0 && kit_code_known(event->status), 12,
        "the status of an event is OK or an error", "%s: %d", name,
        event->status);
    kit_expect(
        (event->flags & ~(NA_PLUGIN_EVENT_MESSAGE | NA_PLUGIN_EVENT_MORE)) == 0,
        8, "an event has flags of the header's", "%s: %#x", name, event->flags);
    kit_expect(!more || op->request.kind == KIT_RECV_MULTI, 8,
        "only a multi-receive continues after an event", "%s has MORE", name);
    if (!is_receive(op)) {
        check_bare(op, event);
        return;
    }
    if (message)
        check_message(cls, op, event);
    else
        kit_expect(!event->buffer && event->length == 0 && !event->source, 12,
            "an event without MESSAGE carries none",
            "%s: buffer %p, %llu bytes, source %p", name, event->buffer,
            (unsigned long long) event->length, (void *) event->source);
    kit_expect(message || event->status != NA_PLUGIN_OK ||
                   op->request.kind == KIT_RECV_MULTI,
        8, "a receive that ends with OK has a message", "%s has none", name);
}

/* Handles the final event. */
static void
end_op(struct kit_class *cls, struct kit_op *op, const na_plugin_event *event)
{
    kit_expect(kit_guarded_intact(&op->storage), 6,
        "nothing beyond op_size bytes is written", "it was, by %s",
        kit_kind_name(op->request.kind));
    if (op->own && op->guarded.mapping) {
        if (is_receive(op)) {
            kit_expect(kit_guarded_intact(&op->guarded), 11,
                "nothing before or behind a receive's buffer is written",
                "it was");
            kit_guarded_protect(&op->guarded, KIT_READABLE, 9,
                "the buffer of a receive that has ended is not written");
        } else {
            kit_guarded_protect(&op->guarded, KIT_CLOSED, 11,
                "the buffer of a send that has ended is not touched");
        }
    }
    if (!cls->unlocked)
        kit_guarded_protect(&op->storage, KIT_CLOSED, 9,
            "an operation that has ended is not touched");
    op->status = event->status;
    /* Pairs with the acquire of a thread that reads the state or uses it
     * again. */
    atomic_store_explicit(&op->state, KIT_ENDED, memory_order_release);
}

static void
take_event(struct kit_class *cls, uint32_t ctx, const na_plugin_event *event)
{
    struct kit_op *op = find_op(cls, event);

    /* Pairs with the release of the submission. */
    kit_expect(
        atomic_load_explicit(&op->state, memory_order_acquire) == KIT_PENDING,
        op->cancelled ? 10 : 7,
        op->cancelled ? "what is cancelled has exactly one final event"
                      : "an operation has exactly one final event",
        "%s that had ended before: %s", kit_kind_name(op->request.kind),
        kit_code_text(event->status));
    check_event(cls, op, ctx, event);
    if (is_receive(op)) {
        if (op->request.kind == KIT_RECV_MULTI) {
            check_interprocess(op, event);
            check_former(op);
        }
        note_message(cls, op, event);
    }
    if (!(event->flags & NA_PLUGIN_EVENT_MORE))
        end_op(cls, op, event);
}

uint32_t
kit_class_poll(struct kit_class *cls, uint32_t ctx)
{
    static const uint32_t turns[] = {1, 16, 2, 64, 3, 7};
    na_plugin_event events[KIT_POLL_MAX + 2];
    uint32_t turn =
        atomic_fetch_add_explicit(&cls->poll_turn, 1, memory_order_relaxed);
    uint32_t max = cls->poll_max ? cls->poll_max : turns[turn % 6];
    const unsigned char *tail = (const unsigned char *) &events[max];
    const char *before;
    int32_t count;

    memset(events, CANARY, sizeof events);
    before = kit_call_enter("poll");
    kit_host_path_enter(&cls->wakes[ctx]);
    count = cls->ops.poll(cls->contexts[ctx], events, max);
    kit_host_path_leave();
    kit_call_leave(before);
    for (size_t i = 0; i < 2 * sizeof events[0]; i++)
        kit_expect(tail[i] == CANARY, 8, "poll fills in max events at most",
            "it wrote behind %u of them", max);
    kit_expect(count >= 0, 8,
        "poll is negative only when the context itself is dead", "%s",
        kit_code_text(count));
    kit_expect((uint32_t) count <= max, 8, "poll returns at most max",
        "%d of %u", count, max);
    for (int32_t i = 0; i < count; i++)
        take_event(cls, ctx, &events[i]);
    return (uint32_t) count;
}

uint32_t
kit_class_progress(struct kit_class *cls)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < KIT_CONTEXTS; i++)
        if (cls->contexts[i])
            count += kit_class_poll(cls, i);
    return count;
}
