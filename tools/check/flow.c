/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends many messages to one receiver and records which have arrived. */
#include "check/flow.h"

#include <string.h>

#define WINDOW 32U  /* sends in flight of one sender */
#define PADDING 64U /* bytes that a plugin may leave after a message */
#define MESSAGES 4096U

/* The messages that have arrived. Each case is a process with one flow. */
static bool seen[MESSAGES];

/* A sequence of different lengths. */
static uint64_t
length_of(uint64_t least, uint64_t range, uint32_t number)
{
    return least + (uint64_t) number * 7919 % range;
}

static uint64_t
header_of(const struct kit_flow *flow)
{
    return flow->to ? kit_opened(flow->to)->unexpected_header_size : 0;
}

uint64_t
kit_flow_largest(const struct kit_flow *flow)
{
    return kit_opened(flow->to)->max_unexpected_size;
}

struct kit_flow
kit_flow_open(uint32_t senders, uint32_t count)
{
    struct kit_flow flow = {
        .to = kit_local(NULL), .senders = senders, .count = count};

    for (uint32_t i = 0; i < senders; i++) {
        flow.from[i] = kit_other(i, NULL);
        kit_lookup_both(flow.to, flow.from[i]);
    }
    if (senders * count > MESSAGES)
        kit_not_run("a case of more than %u messages", MESSAGES);
    flow.least = header_of(&flow) + 8;
    flow.range = kit_flow_largest(&flow) - flow.least + 1;
    return flow;
}

uint64_t
kit_flow_minimum(const struct kit_flow *flow)
{
    return kit_class_of(flow->to)->multi->min_length;
}

uint64_t
kit_flow_room(const struct kit_flow *flow, uint32_t messages)
{
    uint64_t length = messages * kit_flow_largest(flow) + 13;

    return (length < kit_flow_minimum(flow) ? kit_flow_minimum(flow) : length) |
           1;
}

void
kit_flow_post(struct kit_flow *flow, uint32_t op, uint64_t length, bool own)
{
    kit_post(flow->to, &(struct kit_request){.kind = KIT_RECV_MULTI,
                           .op = op,
                           .length = length,
                           .own_buffer = own});
    flow->taken[op] = 0;
}

void
kit_flow_post_plain(struct kit_flow *flow, uint32_t op)
{
    kit_recv_unexpected(flow->to, op, kit_flow_largest(flow));
    flow->taken[op] = 0;
}

void
kit_flow_send(const struct kit_flow *flow, uint32_t sender, uint32_t number)
{
    kit_send_unexpected(flow->from[sender], number % KIT_OPS, flow->to,
        length_of(flow->least, flow->range, number), number, number);
}

/* Records a message, which must have been sent and not received before. */
static void
take_one(struct kit_flow *flow, const struct kit_completion *end)
{
    uint32_t sender = 0;
    uint64_t length;

    kit_expect(end->status == NA_PLUGIN_OK, 12, "no message is lost", "%s",
        kit_code_text(end->status));
    while (
        sender < flow->senders && kit_number(flow->from[sender]) != end->source)
        sender++;
    kit_expect(sender < flow->senders && end->tag < flow->count, 12,
        "each message of a multi-receive has its source and tag",
        "source %d, tag %llu", (int) end->source,
        (unsigned long long) end->tag);
    length = length_of(flow->least, flow->range, (uint32_t) end->tag);
    kit_expect(
        end->length == length &&
            end->hash == kit_pattern_hash(length - header_of(flow), end->tag),
        12, "each message of a multi-receive arrives whole",
        "number %llu: %llu bytes, not %llu, or other ones",
        (unsigned long long) end->tag, (unsigned long long) end->length,
        (unsigned long long) length);
    kit_expect(!seen[(size_t) sender * flow->count + end->tag], 11,
        "each message arrives once", "number %llu of sender %u arrived twice",
        (unsigned long long) end->tag, sender);
    seen[(size_t) sender * flow->count + end->tag] = true;
    flow->received++;
}

uint64_t
kit_flow_free(const struct kit_flow *flow, uint32_t number)
{
    const struct kit_op *op = &kit_class_of(flow->to)->ops_made[number];
    uint32_t count = atomic_load_explicit(&op->messages, memory_order_relaxed);
    uint64_t used = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct kit_received *received = &op->received[i];
        uint64_t end =
            received->bytes
                ? (uint64_t) (received->bytes - op->buffer) + received->length
                : 0;

        used = end > used ? end : used;
    }
    return op->request.length - used;
}

void
kit_flow_take_messages(struct kit_flow *flow, uint32_t op)
{
    struct kit_completion end, message;

    kit_get_completion(flow->to, op, &end);
    while (flow->taken[op] < end.messages) {
        kit_message(flow->to, op, flow->taken[op]++, &message);
        take_one(flow, &message);
    }
}

bool
kit_flow_take(struct kit_flow *flow, uint32_t op, bool multi)
{
    struct kit_completion end;

    kit_flow_take_messages(flow, op);
    kit_get_completion(flow->to, op, &end);
    if (!end.ended)
        return true;
    kit_expect(end.status == NA_PLUGIN_OK, 12, "the receive ends with OK", "%s",
        kit_completion_text(&end));
    if (multi)
        kit_expect(kit_flow_free(flow, op) < kit_flow_largest(flow) + PADDING,
            12, "a multi-receive continues while a largest message fits",
            "it ended with OK, and %llu bytes are free",
            (unsigned long long) kit_flow_free(flow, op));
    return false;
}

bool
kit_flow_all_arrived(const struct kit_flow *flow)
{
    return flow->received == flow->senders * flow->count;
}

void
kit_flow_in_time(struct kit_flow *flow)
{
    if (flow->received != flow->received_before || flow->limit == 0)
        flow->limit = kit_now() + kit_patience();
    flow->received_before = flow->received;
    kit_expect(kit_now() < flow->limit, 11,
        "unexpected messages reach a receive, and none is lost",
        "%u of %u arrived", flow->received, flow->senders * flow->count);
}

void
kit_flow_receive(
    struct kit_flow *flow, uint32_t count, uint32_t multis, uint64_t length)
{
    flow->limit = 0;
    while (!kit_flow_all_arrived(flow)) {
        kit_run();
        for (uint32_t op = 0; op < count; op++) {
            bool multi = op < multis;

            if (kit_flow_take(flow, op, multi))
                continue;
            if (multi)
                kit_flow_post(flow, op, length, op % 2 == 0);
            else
                kit_flow_post_plain(flow, op);
        }
        kit_flow_in_time(flow);
    }
}

void
kit_flow_cancel(struct kit_flow *flow, uint32_t op)
{
    struct kit_completion end;

    kit_cancel(flow->to, op);
    kit_await(flow->to, op, 10, &end);
    kit_expect(end.status == NA_PLUGIN_E_CANCELED, 10,
        "a multi-receive that is canceled ends with CANCELED", "%s",
        kit_completion_text(&end));
    kit_expect(end.messages == flow->taken[op], 11, "each message arrives once",
        "one more arrived with the cancel");
}

/* The parameters of a sender. */
struct burst {
    uint32_t to; /* number of the address */
    uint32_t ctx;
    uint32_t count;
    uint64_t least, range;
};

static void
await_send(struct kit_class *cls, uint32_t op)
{
    uint64_t limit = kit_now() + kit_patience();
    struct kit_completion end = {.ended = false};

    while (kit_class_end(cls, op, &end), !end.ended) {
        kit_class_progress(cls);
        kit_expect(kit_now() < limit, 7, "a send ends", "it is pending");
    }
    kit_expect(end.status == NA_PLUGIN_OK, 11, "a send ends with OK", "%s",
        kit_completion_text(&end));
}

/* The sender: sends as fast as possible. */
static void
send_burst(struct kit_class *cls, void *bytes)
{
    struct burst burst;

    memcpy(&burst, bytes, sizeof burst);
    cls->unlocked = true;
    for (uint32_t i = 0; i < burst.count; i++) {
        if (i >= WINDOW)
            await_send(cls, i % WINDOW);
        kit_class_post(
            cls, &(struct kit_request){.kind = KIT_SEND_UNEXPECTED,
                     .op = i % WINDOW,
                     .peer = burst.to,
                     .peer_ctx = burst.ctx,
                     .tag = i,
                     .length = length_of(burst.least, burst.range, i),
                     .seed = i});
    }
    for (uint32_t i = 0; i < WINDOW && i < burst.count; i++)
        await_send(cls, i);
}

void
kit_flow_begin(const struct kit_flow *flow)
{
    const struct burst burst = {.to = kit_number(flow->to),
        .count = flow->count,
        .least = flow->least,
        .range = flow->range};

    for (uint32_t i = 0; i < flow->senders; i++)
        kit_begin(flow->from[i], send_burst, &burst, sizeof burst);
}

void
kit_flow_join(const struct kit_flow *flow)
{
    struct burst burst;

    for (uint32_t i = 0; i < flow->senders; i++)
        kit_join(flow->from[i], &burst, sizeof burst);
}
