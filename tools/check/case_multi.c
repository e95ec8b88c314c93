/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: na.multi_recv/1, messages packed into one buffer. */
#include "check/cases.h"
#include "check/flow.h"

static void
packed(bool own)
{
    struct kit_flow flow = kit_flow_open(1, kit_times(300));
    uint64_t length = kit_flow_room(&flow, 4);

    kit_flow_post(&flow, 0, length, own);
    for (uint32_t i = 0; i < flow.count; i++) {
        kit_flow_send(&flow, 0, i);
        while (flow.received <= i) {
            kit_run();
            if (!kit_flow_take(&flow, 0, true))
                kit_flow_post(&flow, 0, length, own);
            kit_flow_in_time(&flow);
        }
        kit_await_ok(flow.from[0], i % KIT_OPS, 7);
    }
    if (kit_flow_take(&flow, 0, true))
        kit_flow_cancel(&flow, 0);
}

static void
packed_local(void)
{
    packed(false);
}

static void
packed_unaligned_interprocess(void)
{
    packed(true);
}

/* The shortest messages, up to the end of the buffer. */
static void
packed_short(void)
{
    struct kit_flow flow = kit_flow_open(1, 200);
    uint64_t length = kit_flow_largest(&flow) + 100 * (flow.least + 3);

    flow.range = 5;
    if (length < kit_flow_minimum(&flow))
        length = kit_flow_minimum(&flow);
    kit_flow_post(&flow, 0, length, true);
    for (uint32_t i = 0; i < flow.count; i++)
        kit_flow_send(&flow, 0, i);
    kit_flow_receive(&flow, 1, 1, length);
    for (uint32_t i = 0; i < flow.count; i++)
        kit_await_ok(flow.from[0], i, 7);
}

/* A buffer of the smallest size takes messages; a smaller one is refused. */
static void
min_length_enough(void)
{
    struct kit_flow flow = kit_flow_open(1, 12);
    struct kit_request request = {.kind = KIT_RECV_MULTI,
        .own_buffer = true,
        .may_fail = true,
        .length = kit_flow_minimum(&flow) - 1};
    int32_t result;

    kit_expect(kit_flow_minimum(&flow) >= kit_flow_largest(&flow), 12,
        "the smallest buffer of a multi-receive holds a largest message",
        "min_length is %llu, the largest message %llu bytes",
        (unsigned long long) kit_flow_minimum(&flow),
        (unsigned long long) kit_flow_largest(&flow));
    result = kit_post(flow.to, &request);
    kit_expect(result < 0, 12,
        "a buffer below min_length is refused at submission", "%s",
        result == NA_PLUGIN_PENDING ? "PENDING" : kit_code_text(result));
    request.length = 1;
    result = kit_post(flow.to, &request);
    kit_expect(result < 0, 12,
        "a buffer below min_length is refused at submission", "%s",
        result == NA_PLUGIN_PENDING ? "PENDING" : kit_code_text(result));
    /* The largest messages only. */
    flow.least = kit_flow_largest(&flow);
    flow.range = 1;
    kit_flow_post(&flow, 0, kit_flow_minimum(&flow), false);
    for (uint32_t i = 0; i < flow.count; i++)
        kit_flow_send(&flow, 0, i);
    kit_flow_receive(&flow, 1, 1, kit_flow_minimum(&flow));
}

/* Each buffer is longer than the one before by a message, and usually ends at
 * the same address, so that it includes the one before. */
static void
grown(void)
{
    struct kit_flow flow = kit_flow_open(1, 60);
    uint64_t length = kit_flow_room(&flow, 2);

    flow.range = 1;
    for (uint32_t i = 0; i < flow.count; i++) {
        if (i % 3 == 0)
            kit_flow_post(&flow, 0, length + i / 3 * flow.least, true);
        kit_flow_send(&flow, 0, i);
        while (flow.received <= i) {
            kit_run();
            kit_flow_take(&flow, 0, true);
            kit_flow_in_time(&flow);
        }
        if (i % 3 == 2)
            kit_flow_cancel(&flow, 0);
    }
}

/* The last event is returned as soon as no largest message fits, without
 * another message. */
static void
ends_when_full(void)
{
    struct kit_flow flow = kit_flow_open(1, 400);
    uint64_t length = kit_flow_room(&flow, 2);
    uint32_t ends = 0;

    kit_flow_post(&flow, 0, length, true);
    for (uint32_t i = 0; i < flow.count; i++) {
        uint64_t limit = kit_now() + kit_patience();

        kit_flow_send(&flow, 0, i);
        while (flow.received <= i) {
            kit_run();
            kit_flow_take(&flow, 0, true);
            kit_flow_in_time(&flow);
        }
        while (kit_flow_free(&flow, 0) < kit_flow_largest(&flow) &&
               kit_flow_take(&flow, 0, true)) {
            kit_run();
            kit_expect(kit_now() < limit, 12,
                "a multi-receive ends when no largest message fits",
                "%llu bytes are free, and it is pending",
                (unsigned long long) kit_flow_free(&flow, 0));
        }
        if (!kit_flow_take(&flow, 0, true)) {
            kit_flow_post(&flow, 0, length, ends % 2 == 1);
            ends++;
        }
    }
    kit_expect(ends > 0, 12,
        "a multi-receive ends when no largest message fits",
        "%u messages arrived in one buffer of %llu bytes", flow.count,
        (unsigned long long) length);
}

/* Messages that arrived before the multi-receive are received by it. */
static void
queued_before(void)
{
    struct kit_flow flow = kit_flow_open(1, 60);

    for (uint32_t i = 0; i < flow.count; i++)
        kit_flow_send(&flow, 0, i);
    kit_run_for(kit_quiet());
    kit_flow_post(&flow, 0, kit_flow_room(&flow, 3), true);
    kit_flow_receive(&flow, 1, 1, kit_flow_room(&flow, 3));
    for (uint32_t i = 0; i < flow.count; i++)
        kit_await_ok(flow.from[0], i, 7);
}

/* Three senders at full speed, two buffers. */
static void
senders(uint64_t range)
{
    struct kit_flow flow = kit_flow_open(KIT_SENDERS, kit_times(1200));
    uint64_t length = kit_flow_room(&flow, 4);

    if (range > 0) {
        flow.range = range;
        length = (kit_flow_minimum(&flow) + 100 * flow.least) | 1;
    }
    kit_flow_post(&flow, 0, length, true);
    kit_flow_post(&flow, 1, length, false);
    kit_flow_begin(&flow);
    kit_flow_receive(&flow, 2, 2, length);
    kit_flow_join(&flow);
    kit_run_for(kit_quiet() / 4);
    for (uint32_t op = 0; op < 2; op++)
        if (kit_flow_take(&flow, op, true))
            kit_flow_cancel(&flow, op);
}

static void
senders_all(void)
{
    senders(0);
}

static void
senders_short(void)
{
    senders(40);
}

/* Plain receives of unexpected messages together with two multi-receives. */
static void
mixed(void)
{
    struct kit_flow flow = kit_flow_open(KIT_SENDERS, kit_times(1000));
    uint64_t length = kit_flow_room(&flow, 3);

    for (uint32_t op = 0; op < 6; op++) {
        if (op < 2)
            kit_flow_post(&flow, op, length, op == 0);
        else
            kit_flow_post_plain(&flow, op);
    }
    kit_flow_begin(&flow);
    kit_flow_receive(&flow, 6, 2, length);
    kit_flow_join(&flow);
}

/* Canceled between messages: ends once, and no message is lost. */
static void
canceled_receiving(void)
{
    struct kit_flow flow = kit_flow_open(KIT_SENDERS, kit_times(600));
    uint64_t length = kit_flow_room(&flow, 6);
    uint32_t turn = 0;

    kit_flow_post(&flow, 0, length, true);
    kit_flow_begin(&flow);
    while (!kit_flow_all_arrived(&flow)) {
        struct kit_completion end;

        for (uint32_t i = 0; i < turn % 7; i++)
            kit_poll(flow.to, 0);
        kit_cancel(flow.to, 0);
        kit_await(flow.to, 0, 10, &end);
        kit_expect(
            end.status == NA_PLUGIN_E_CANCELED || end.status == NA_PLUGIN_OK,
            10, "a canceled operation ends with CANCELED, or as it would have",
            "%s", kit_completion_text(&end));
        kit_flow_take_messages(&flow, 0);
        kit_flow_post(&flow, 0, length, turn++ % 2 == 0);
        kit_flow_in_time(&flow);
    }
    kit_flow_join(&flow);
    kit_flow_cancel(&flow, 0);
}

/* Canceled while idle: later messages wait for the next receive of either
 * kind. */
static void
canceled_idle(void)
{
    struct kit_flow flow = kit_flow_open(1, 20);

    for (uint32_t i = 0; i < flow.count; i++) {
        kit_flow_post(&flow, 0, kit_flow_room(&flow, 2), i % 2 == 0);
        kit_run();
        kit_flow_cancel(&flow, 0);
        kit_flow_send(&flow, 0, i);
        if (i % 3 == 0)
            kit_run_for(kit_quiet() / 20);
        if (i % 2) {
            kit_recv_unexpected(flow.to, 1, kit_flow_largest(&flow));
            kit_await_ok(flow.to, 1, 11);
            flow.taken[1] = 0;
            kit_flow_take(&flow, 1, false);
        } else {
            kit_flow_post(&flow, 1, kit_flow_room(&flow, 2), false);
            while (flow.received <= i) {
                kit_run();
                kit_flow_take(&flow, 1, true);
                kit_flow_in_time(&flow);
            }
            kit_flow_cancel(&flow, 1);
        }
    }
}

/* A context is destroyed with a multi-receive that has messages and waits for
 * more: the kit protects the buffer. The other context works. */
static void
context_destroyed(void)
{
    const struct kit_open_options how = {.contexts = 2};
    struct kit_flow flow = {.to = kit_local(&how), .senders = 1, .count = 8};
    uint64_t length = kit_opened(flow.to)->unexpected_header_size + 100;
    struct kit_request request = {.kind = KIT_RECV_MULTI,
        .ctx = 1,
        .own_buffer = true,
        .length = kit_flow_room(&flow, 4)};

    flow.from[0] = kit_remote(0, NULL);
    kit_lookup_both(flow.to, flow.from[0]);
    kit_post(flow.to, &request);
    for (uint32_t i = 0; i < 12; i++) {
        struct kit_completion end;
        uint64_t limit = kit_now() + kit_patience();

        kit_post(
            flow.from[0], &(struct kit_request){.kind = KIT_SEND_UNEXPECTED,
                              .op = i,
                              .peer = kit_number(flow.to),
                              .peer_ctx = 1,
                              .length = length,
                              .tag = i});
        kit_get_completion(flow.to, 0, &end);
        while (i < 6 && end.messages <= i) {
            kit_run();
            kit_get_completion(flow.to, 0, &end);
            kit_expect(kit_now() < limit, 11,
                "a message arrives at the context that it was sent to",
                "number %u did not", i);
        }
    }
    kit_ctx_destroy(flow.to, 1);
    kit_run_for(kit_quiet() / 4);
    kit_recv_unexpected(flow.to, 1, length);
    kit_send_unexpected(flow.from[0], 20, flow.to, length, 5, 5);
    kit_await_message(flow.to, 1, 10, length, 5, 5, kit_number(flow.from[0]));
}

/* Two contexts with a buffer each: messages reach the context they are sent
 * to. */
static void
contexts(void)
{
    const struct kit_open_options how = {.contexts = 2};
    struct kit_side *to = kit_local(&how), *from = kit_remote(0, NULL);
    struct kit_flow flow = {.to = to};
    uint64_t length = kit_opened(to)->unexpected_header_size + 64;
    const uint32_t count = 60;
    uint64_t limit = kit_now() + kit_patience();
    struct kit_completion ends[2] = {{.messages = 0}, {.messages = 0}};

    kit_lookup_both(to, from);
    for (uint32_t ctx = 0; ctx < 2; ctx++)
        kit_post(to, &(struct kit_request){.kind = KIT_RECV_MULTI,
                         .op = ctx,
                         .ctx = ctx,
                         .length = kit_flow_room(&flow, 2) + count * length});
    for (uint32_t i = 0; i < count; i++)
        kit_post(from, &(struct kit_request){.kind = KIT_SEND_UNEXPECTED,
                           .op = i,
                           .peer = kit_number(to),
                           .peer_ctx = i % 2,
                           .tag = i,
                           .length = length});
    while (ends[0].messages + ends[1].messages < count) {
        kit_run();
        for (uint32_t ctx = 0; ctx < 2; ctx++)
            kit_get_completion(to, ctx, &ends[ctx]);
        kit_expect(kit_now() < limit, 11, "all messages arrive", "%u of %u did",
            ends[0].messages + ends[1].messages, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct kit_completion end;

        kit_message(to, i % 2, i / 2, &end);
        kit_expect(end.tag % 2 == i % 2, 11,
            "a message arrives at the context that it was sent to",
            "one to context %u arrived at %u", (uint32_t) end.tag % 2, i % 2);
    }
}

static const struct kit_case cases[] = {
    {"multi_packed", 12, KIT_NEEDS_MULTI_RECV, 0, 0,
        "messages of all sizes share one buffer without overlap", packed_local},
    {"multi_packed_unaligned_interprocess", 12, KIT_NEEDS_MULTI_RECV, 1, 0,
        "likewise between processes, into buffers at any alignment",
        packed_unaligned_interprocess},
    {"multi_packed_short", 12, KIT_NEEDS_MULTI_RECV, 0, 0,
        "a hundred short messages share one buffer", packed_short},
    {"multi_min_length", 12, KIT_NEEDS_MULTI_RECV, 1, 0,
        "a buffer of min_length bytes is accepted, a smaller one is refused",
        min_length_enough},
    {"multi_grown", 12, KIT_NEEDS_MULTI_RECV, 1, 0,
        "a buffer that includes the one before receives messages like any",
        grown},
    {"multi_ends_when_full", 12, KIT_NEEDS_MULTI_RECV, 0, 0,
        "a multi-receive ends when no largest message fits, and not before",
        ends_when_full},
    {"multi_queued_before", 11, KIT_NEEDS_MULTI_RECV, 0, 0,
        "messages sent before the multi-receive are received by it",
        queued_before},
    {"multi_queued_before_interprocess", 11, KIT_NEEDS_MULTI_RECV, 1, 0,
        "likewise between processes", queued_before},
    {"multi_senders", 11, KIT_NEEDS_MULTI_RECV, KIT_SENDERS, 0,
        "thousands of messages of several senders all arrive once",
        senders_all},
    {"multi_senders_short", 11, KIT_NEEDS_MULTI_RECV, KIT_SENDERS, 0,
        "likewise short ones", senders_short},
    {"multi_mixed", 11, KIT_NEEDS_MULTI_RECV, KIT_SENDERS, 0,
        "multi-receives and plain ones share the messages", mixed},
    {"multi_canceled_receiving", 10, KIT_NEEDS_MULTI_RECV, KIT_SENDERS, 0,
        "canceling a multi-receive loses no message", canceled_receiving},
    {"multi_canceled_idle", 10, KIT_NEEDS_MULTI_RECV, 1, 0,
        "a multi-receive that is canceled ends once, with CANCELED",
        canceled_idle},
    {"multi_context_destroyed", 10, KIT_NEEDS_MULTI_RECV | KIT_NEEDS_CONTEXTS,
        1, 0, "ctx_destroy releases the buffer of a multi-receive",
        context_destroyed},
    {"multi_contexts", 11, KIT_NEEDS_MULTI_RECV | KIT_NEEDS_CONTEXTS, 1, 0,
        "each context has its own multi-receives", contexts},
};

const struct kit_group kit_cases_multi = {
    cases, sizeof cases / sizeof cases[0]};
