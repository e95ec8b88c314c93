/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts with their own endpoints: when they get one, how messages reach
 * them, and what happens when a peer restarts. The conformance kit covers
 * several contexts in general. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

#define SECOND UINT64_C(1000000000)
#define WAIT_NS (20 * SECOND)
#define BYTES 300U /* too long to be injected */
#define MANY 300U

/* A class with two contexts; node.ctx is the first. */
struct twin {
    struct node node;
    na_plugin_ctx *second;
    na_plugin_addr *self; /* of a class that sends to itself */
};

static const char *const protocols[] = {"tcp", "tcp;ofi_rxm", "sockets"};
#define PROTOCOLS ((int) (sizeof(protocols) / sizeof(protocols[0])))

static uint64_t
value_of(const struct node *node, const char *name)
{
    const na_plugin_report *report =
        node->ops->extension(node->cls, NA_PLUGIN_REPORT_ID);
    na_plugin_report_entry entry;

    for (uint32_t i = 0; report->entries(node->cls, i, &entry, 1) == 1; i++)
        if (strcmp(entry.name, name) == 0)
            return entry.value;
    ck_abort_msg("the report has no %s", name);
    return 0;
}

static void
create_second(struct twin *twin)
{
    ck_assert_int_eq(
        twin->node.ops->ctx_create(twin->node.cls, 1, NULL, &twin->second),
        NA_PLUGIN_OK);
}

static void
contexts_open(struct twin *twin, const struct node_options *options)
{
    node_open(&twin->node, options);
    create_second(twin);
}

static void
contexts_close(struct twin *twin)
{
    twin->node.ops->ctx_destroy(twin->second);
    node_close(&twin->node);
}

/* Whether there was an event in a context. */
static bool
poll_of(struct twin *twin, na_plugin_ctx *ctx, na_plugin_event *event)
{
    int32_t count = twin->node.ops->poll(ctx, event, 1);

    ck_assert_int_ge(count, 0);
    return count == 1;
}

static const struct {
    struct node_options options;
    bool multi;
} openings[] = {
    {{.max_contexts = 2}, true},
    {{.max_contexts = 2, .protocol = "tcp;ofi_rxm"}, true},
    {{.max_contexts = 2, .protocol = "sockets"}, true},
    {{.max_contexts = 1}, false},
    {{.max_contexts = 2, .thread_mode = NA_PLUGIN_THREAD_SINGLE_CLASS}, false},
    {{.max_contexts = 2, .protocol = "shm", .anywhere = true}, false},
};

START_TEST(endpoints_exist_for_parallel_contexts)
{
    bool multi = openings[_i].multi;
    struct twin twin;

    if (openings[_i].options.anywhere && is_refused(&openings[_i].options))
        return;
    contexts_open(&twin, &openings[_i].options);
    ck_assert_int_eq(
        (twin.node.opened.features & NA_PLUGIN_FEATURE_CTX_PARALLEL) != 0,
        multi);
    ck_assert_uint_eq(value_of(&twin.node, "context_endpoints"), multi ? 1 : 0);
    na_plugin_ctx *again = NULL;
    ck_assert_int_eq(twin.node.ops->ctx_create(twin.node.cls, 1, NULL, &again),
        NA_PLUGIN_E_EXIST);
    /* it is kept for the next context with that number */
    twin.node.ops->ctx_destroy(twin.second);
    ck_assert_uint_eq(value_of(&twin.node, "context_endpoints"), multi ? 1 : 0);
    create_second(&twin);
    ck_assert_uint_eq(value_of(&twin.node, "context_endpoints"), multi ? 1 : 0);
    contexts_close(&twin);
}
END_TEST

/* Sends a message from a's second context to b's, which has no receive
 * posted. */
static void
send_second(struct twin *a, struct twin *b, na_plugin_addr *to_b, uint64_t tag)
{
    static const unsigned char bytes[BYTES];
    uint64_t end = now_ns() + WAIT_NS;
    void *op = op_new(&a->node);
    na_plugin_event event, other;

    int32_t ret = a->node.ops->send_unexpected(
        a->second, op, bytes, BYTES, NULL, to_b, 1, tag, 0);
    ck_assert_int_ge(ret, 0);
    while (ret == NA_PLUGIN_PENDING && !poll_of(a, a->second, &event)) {
        ck_assert(!poll_one(&b->node, &other));
        ck_assert(!poll_of(b, b->second, &other));
        ck_assert_msg(now_ns() < end, "message %u is not sent", (unsigned) tag);
    }
    if (ret == NA_PLUGIN_PENDING)
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    free(op);
}

/* Receives a message at b's second context, while all are polled. */
static void
receive_second(struct twin *b, struct twin *a, uint64_t tag)
{
    static unsigned char bytes[4096];
    uint64_t end = now_ns() + WAIT_NS;
    void *op = op_new(&b->node);
    na_plugin_event event, other;

    ck_assert_int_eq(b->node.ops->recv_unexpected(
                         b->second, op, bytes, sizeof(bytes), NULL, 0),
        NA_PLUGIN_PENDING);
    while (!poll_of(b, b->second, &event)) {
        ck_assert(!poll_one(&b->node, &other));
        ck_assert(!poll_of(a, a->second, &other));
        ck_assert_msg(now_ns() < end, "message %u is not here", (unsigned) tag);
    }
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    ck_assert_uint_eq(event.tag, tag);
    ck_assert_uint_eq(event.length, BYTES);
    b->node.ops->addr_free(b->node.cls, event.source);
    free(op);
}

/* Sends messages until one is not forwarded, which has to happen eventually;
 * from then on none may be. */
static void
send_until_direct(
    struct twin *a, struct twin *b, na_plugin_addr *to_b, uint32_t more)
{
    uint64_t end = now_ns() + WAIT_NS, before = 0, forwarded = 0, tag = 0;

    do {
        ck_assert_msg(now_ns() < end, "each is forwarded");
        before = value_of(&b->node, "forwarded");
        send_second(a, b, to_b, tag);
        receive_second(b, a, tag++);
        forwarded = value_of(&b->node, "forwarded");
    } while (forwarded != before);
    for (uint32_t i = 0; i < more; i++) {
        send_second(a, b, to_b, tag);
        receive_second(b, a, tag++);
    }
    ck_assert_uint_eq(value_of(&b->node, "forwarded"), forwarded);
}

/* The first messages are forwarded, until their sender has learned the
 * endpoint's address. How many depends on the system's timing. */
START_TEST(messages_are_sent_directly_to_a_known_endpoint)
{
    const struct node_options options = {
        .protocol = protocols[_i], .max_contexts = 2};
    struct twin a, b;
    char text[TEXT];

    contexts_open(&a, &options);
    contexts_open(&b, &options);
    self_string(&b.node, text);
    na_plugin_addr *to_b = lookup(&a.node, text);
    send_second(&a, &b, to_b, MANY);
    receive_second(&b, &a, MANY);
    ck_assert_uint_eq(value_of(&b.node, "forwarded"), 1);
    send_until_direct(&a, &b, to_b, MANY);
    ck_assert_uint_eq(value_of(&b.node, "strayed"), 0);
    a.node.ops->addr_free(a.node.cls, to_b);
    contexts_close(&b);
    contexts_close(&a);
}
END_TEST

/* Before that, more are sent than b's second context has room for. They wait in
 * the endpoint that received them, and at a. */
START_TEST(messages_wait_for_room_at_an_endpoint)
{
    const struct node_options options = {.protocol = protocols[_i],
        .max_contexts = 2,
        .setting_key = "ofi.queue_size",
        .setting_value = "0"};
    static const unsigned char bytes[BYTES];
    na_plugin_event event;
    struct twin a, b;
    char text[TEXT];
    void *ops[MANY];
    bool pending[MANY];

    contexts_open(&a, &options);
    contexts_open(&b, &options);
    self_string(&b.node, text);
    na_plugin_addr *to_b = lookup(&a.node, text);
    for (uint32_t i = 0; i < MANY; i++) {
        ops[i] = op_new(&a.node);
        int32_t ret = a.node.ops->send_unexpected(
            a.second, ops[i], bytes, BYTES, NULL, to_b, 1, i, 0);
        ck_assert_int_ge(ret, 0);
        pending[i] = ret == NA_PLUGIN_PENDING;
    }
    /* no receive is posted, and nothing is lost */
    for (uint64_t end = now_ns() + SECOND / 2; now_ns() < end;) {
        ck_assert(!poll_of(&b, b.second, &event));
        ck_assert(!poll_one(&b.node, &event));
    }
    bool came[MANY] = {false};
    uint32_t left = MANY, sent = 0;
    static unsigned char buffer[4096];
    void *op = op_new(&b.node);
    bool posted = false;
    for (uint64_t end = now_ns() + WAIT_NS; left != 0 || sent != MANY;) {
        ck_assert_msg(now_ns() < end, "%u messages did not arrive", left);
        if (poll_of(&a, a.second, &event)) {
            ck_assert_int_eq(event.status, NA_PLUGIN_OK);
            for (uint32_t i = 0; i < MANY; i++)
                if (event.op == ops[i])
                    pending[i] = false;
        }
        sent = 0;
        for (uint32_t i = 0; i < MANY; i++)
            sent += !pending[i];
        if (!posted && left != 0) {
            ck_assert_int_eq(b.node.ops->recv_unexpected(
                                 b.second, op, buffer, sizeof(buffer), NULL, 0),
                NA_PLUGIN_PENDING);
            posted = true;
        }
        ck_assert(!poll_one(&b.node, &event));
        if (!poll_of(&b, b.second, &event))
            continue;
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        ck_assert(event.tag < MANY && !came[event.tag]);
        came[event.tag] = true;
        posted = false;
        left--;
        b.node.ops->addr_free(b.node.cls, event.source);
    }
    for (uint32_t i = 0; i < MANY; i++)
        free(ops[i]);
    free(op);
    a.node.ops->addr_free(a.node.cls, to_b);
    contexts_close(&b);
    contexts_close(&a);
}
END_TEST

/* b restarts at its port; its second endpoint has another address. a's messages
 * reach it through the first endpoint, without a forget. Not over sockets,
 * which reports the loss too late for the first message. */
START_TEST(endpoint_of_a_restarted_peer_is_found)
{
    struct node_options options = {
        .protocol = protocols[_i], .max_contexts = 2};
    na_plugin_event event;
    struct twin a, b;
    char text[TEXT];

    contexts_open(&a, &options);
    contexts_open(&b, &options);
    self_string(&b.node, text);
    options.port = atoi(strrchr(text, ':') + 1);
    na_plugin_addr *to_b = lookup(&a.node, text);
    send_until_direct(&a, &b, to_b, 0);
    contexts_close(&b);
    for (uint64_t end = now_ns() + SECOND / 5; now_ns() < end;) {
        ck_assert(!poll_of(&a, a.second, &event));
        ck_assert(!poll_one(&a.node, &event));
    }
    contexts_open(&b, &options);
    send_second(&a, &b, to_b, 99);
    receive_second(&b, &a, 99);
    ck_assert_uint_ge(value_of(&b.node, "forwarded"), 1);
    send_until_direct(&a, &b, to_b, 10);
    a.node.ops->addr_free(a.node.cls, to_b);
    contexts_close(&b);
    contexts_close(&a);
}
END_TEST

/* Messages that wait for room in an endpoint are dropped when its class is
 * closed. */
START_TEST(class_close_drops_messages_waiting_for_an_endpoint)
{
    const struct node_options options = {.max_contexts = 2,
        .setting_key = "ofi.queue_size",
        .setting_value = "0"};
    static const unsigned char bytes[BYTES];
    na_plugin_event event;
    struct twin a, b;
    char text[TEXT];
    void *ops[10];

    contexts_open(&a, &options);
    contexts_open(&b, &options);
    self_string(&b.node, text);
    na_plugin_addr *to_b = lookup(&a.node, text);
    for (uint32_t i = 0; i < 10; i++) {
        ops[i] = op_new(&a.node);
        ck_assert_int_ge(a.node.ops->send_unexpected(a.second, ops[i], bytes,
                             BYTES, NULL, to_b, 1, i, 0),
            0);
    }
    uint64_t end = now_ns() + WAIT_NS;
    while (value_of(&b.node, "messages_received") < 10) {
        poll_of(&a, a.second, &event);
        ck_assert(!poll_one(&b.node, &event));
        ck_assert_msg(now_ns() < end, "they do not arrive");
    }
    /* they are retried at each poll, and counted once */
    for (uint32_t i = 0; i < 100; i++)
        ck_assert(!poll_one(&b.node, &event));
    ck_assert_uint_eq(value_of(&b.node, "messages_received"), 10);
    ck_assert_uint_eq(value_of(&b.node, "forwarded"), 1);
    contexts_close(&b);
    a.node.ops->addr_free(a.node.cls, to_b);
    contexts_close(&a);
    for (uint32_t i = 0; i < 10; i++)
        free(ops[i]);
}
END_TEST

static const na_plugin_wait *
wait_of(const struct twin *twin)
{
    const na_plugin_wait *wait =
        twin->node.ops->extension(twin->node.cls, NA_PLUGIN_WAIT_ID);

    ck_assert_ptr_nonnull(wait);
    return wait;
}

/* Arms an idle context. Returns how long it may sleep. */
static uint64_t
arm_idle(struct twin *twin, na_plugin_ctx *ctx)
{
    const na_plugin_wait *wait = wait_of(twin);
    uint64_t end = now_ns() + WAIT_NS, sleep_ns = 0;
    na_plugin_event event;

    while (wait->arm(ctx, &sleep_ns) != NA_PLUGIN_OK) {
        ck_assert(!poll_of(twin, ctx, &event));
        ck_assert_msg(now_ns() < end, "it never sleeps");
    }
    return sleep_ns;
}

/* A message from the first context to the second, within the process. */
static void
send_here(struct twin *twin, void *op)
{
    static const unsigned char bytes[BYTES];

    ck_assert_int_eq(twin->node.ops->send_unexpected(twin->node.ctx, op, bytes,
                         BYTES, NULL, twin->self, 1, 5, 0),
        NA_PLUGIN_DONE);
}

/* A context may be destroyed while it sleeps: its wake-up descriptor is not
 * written to any more, since its number may be reused; the next context's
 * is. */
START_TEST(context_destroyed_asleep_is_not_woken)
{
    struct pollfd wanted = {.events = POLLIN};
    struct stat status;
    struct twin twin;
    int files[16];

    contexts_open(&twin, &(struct node_options){.max_contexts = 2});
    void *op = op_new(&twin.node);
    ck_assert_int_eq(
        twin.node.ops->addr_self(twin.node.cls, &twin.self), NA_PLUGIN_OK);
    arm_idle(&twin, twin.second);
    twin.node.ops->ctx_destroy(twin.second);
    files[0] = memfd_create("endpoints", MFD_CLOEXEC);
    ck_assert_int_ge(files[0], 0);
    for (uint32_t i = 1; i < 16; i++)
        files[i] = dup(files[0]);
    send_here(&twin, op);
    ck_assert_int_eq(fstat(files[0], &status), 0);
    ck_assert_int_eq((int) status.st_size, 0);
    for (uint32_t i = 0; i < 16; i++)
        close(files[i]);

    create_second(&twin);
    for (uint32_t i = 0; i < 1000; i++) {
        na_plugin_event event;
        ck_assert(!poll_of(&twin, twin.second, &event));
    }
    arm_idle(&twin, twin.second);
    wanted.fd = wait_of(&twin)->fd(twin.second);
    send_here(&twin, op);
    ck_assert_int_eq(poll(&wanted, 1, 1000), 1);
    twin.node.ops->addr_free(twin.node.cls, twin.self);
    contexts_close(&twin);
    free(op);
}
END_TEST

/* A message that waits for room does not keep its context awake; posting a
 * receive, which makes room, wakes it. */
START_TEST(context_sleeps_while_a_message_waits_for_room)
{
    static unsigned char buffer[4096];
    struct pollfd wanted = {.events = POLLIN};
    na_plugin_event event;
    struct twin twin;

    contexts_open(&twin, &(struct node_options){.max_contexts = 2,
                             .setting_key = "ofi.queue_size",
                             .setting_value = "0"});
    void *send = op_new(&twin.node), *receive = op_new(&twin.node);
    ck_assert_int_eq(
        twin.node.ops->addr_self(twin.node.cls, &twin.self), NA_PLUGIN_OK);
    send_here(&twin, send);
    arm_idle(&twin, twin.second);
    ck_assert_int_eq(twin.node.ops->recv_unexpected(
                         twin.second, receive, buffer, sizeof(buffer), NULL, 0),
        NA_PLUGIN_PENDING);
    wanted.fd = wait_of(&twin)->fd(twin.second);
    ck_assert_int_eq(poll(&wanted, 1, 1000), 1);
    uint64_t end = now_ns() + WAIT_NS;
    while (!poll_of(&twin, twin.second, &event))
        ck_assert(now_ns() < end);
    ck_assert_ptr_eq(event.op, receive);
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    twin.node.ops->addr_free(twin.node.cls, event.source);
    twin.node.ops->addr_free(twin.node.cls, twin.self);
    contexts_close(&twin);
    free(send);
    free(receive);
}
END_TEST

/* The first context slept once and is not polled since. The other one wakes for
 * a message that arrives through it: when it sees the event, not because of the
 * timeouts while connecting. */
START_TEST(endpoint_serves_a_first_context_that_is_not_polled)
{
    static const unsigned char bytes[BYTES];
    static unsigned char buffer[4096];
    struct pollfd wanted = {.events = POLLIN};
    na_plugin_event event;
    struct twin a, b;
    char text[TEXT];

    contexts_open(&a, &(struct node_options){.max_contexts = 2});
    contexts_open(&b, &(struct node_options){.max_contexts = 2});
    self_string(&b.node, text);
    na_plugin_addr *to_b = lookup(&a.node, text);
    void *send = op_new(&a.node), *receive = op_new(&b.node);
    arm_idle(&b, b.node.ctx);
    ck_assert_int_eq(b.node.ops->recv_unexpected(
                         b.second, receive, buffer, sizeof(buffer), NULL, 0),
        NA_PLUGIN_PENDING);
    uint64_t begin = now_ns();
    uint32_t slept = 0;
    ck_assert_int_ge(a.node.ops->send_unexpected(
                         a.second, send, bytes, BYTES, NULL, to_b, 1, 1, 0),
        0);
    wanted.fd = wait_of(&b)->fd(b.second);
    while (!poll_of(&b, b.second, &event)) {
        uint64_t sleep_ns = 0;
        ck_assert_msg(now_ns() - begin < WAIT_NS, "it does not arrive");
        poll_of(&a, a.second, &event);
        if (wait_of(&b)->arm(b.second, &sleep_ns) != NA_PLUGIN_OK)
            continue;
        /* without a timeout of its own; but a has to be polled, too */
        bool ends = sleep_ns < SECOND;
        if (poll(&wanted, 1, ends ? (int) (sleep_ns / 1000000) : 1) == 0)
            slept += ends;
    }
    ck_assert_ptr_eq(event.op, receive);
    ck_assert_msg(slept <= 1, "it slept to the end %u times", slept);
    b.node.ops->addr_free(b.node.cls, event.source);
    a.node.ops->addr_free(a.node.cls, to_b);
    contexts_close(&b);
    contexts_close(&a);
    free(send);
    free(receive);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("endpoints");

    warm_up();
    tcase_add_loop_test(cases, endpoints_exist_for_parallel_contexts, 0,
        (int) (sizeof(openings) / sizeof(openings[0])));
    tcase_add_loop_test(
        cases, messages_are_sent_directly_to_a_known_endpoint, 0, PROTOCOLS);
    tcase_add_loop_test(
        cases, messages_wait_for_room_at_an_endpoint, 0, PROTOCOLS);
    tcase_add_loop_test(
        cases, endpoint_of_a_restarted_peer_is_found, 0, PROTOCOLS - 1);
    tcase_add_test(cases, class_close_drops_messages_waiting_for_an_endpoint);
    tcase_add_test(cases, context_destroyed_asleep_is_not_woken);
    tcase_add_test(cases, context_sleeps_while_a_message_waits_for_room);
    tcase_add_test(cases, endpoint_serves_a_first_context_that_is_not_polled);
    return run_tcase("ofi endpoints", cases);
}
