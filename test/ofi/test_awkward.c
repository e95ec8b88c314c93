/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin over a provider with unusual properties, set by the environment:
 * registration modes, refusals, wait objects, multi-receive buffers. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

#define MESSAGES 40U
#define FLOOD 2000U /* messages */

/* Variables of the provider; each row ends with two NULLs. */
struct row {
    const char *settings[4][2];
    const char *modes; /* as reported */
    bool waits;
    bool refuses;
    bool reads_back;
};

static const struct row rows[] = {
    {{{0}}, "none", true, false, false},
    {{{"MR", "local"}}, "local", true, false, false},
    {{{"MR", "local"}, {"INJECT", "0"}}, "local", true, false, false},
    {{{"MR", "virtual"}}, "virtual", true, false, false},
    {{{"MR", "provider_key"}}, "provider_key", true, false, false},
    {{{"MR", "endpoint"}}, "endpoint", true, false, false},
    {{{"MR", "allocated"}}, "allocated", true, false, false},
    {{{"MR", "virtual,allocated,provider_key"}},
        "virtual,allocated,provider_key", true, false, false},
    {{{"MR", "local,virtual,allocated,provider_key,endpoint"}, {"EAGAIN", "1"},
         {"INJECT", "0"}},
        "local,virtual,allocated,provider_key,endpoint", true, true, false},
    {{{"KEY_BYTES", "2"}}, "none", true, false, false},
    {{{"EAGAIN", "1"}}, "none", true, true, false},
    {{{"EAGAIN", "5"}, {"NO_WAIT", "1"}}, "none", false, true, false},
    {{{"NO_DELIVERY", "1"}}, "none", true, false, true},
    {{{"NO_DELIVERY", "1"}, {"EAGAIN", "2"}, {"MR", "local,endpoint"}},
        "local,endpoint", true, true, true},
    {{{"NO_WAIT", "1"}}, "none", false, false, false},
    {{{"STUCK_WAIT", "1"}}, "none", false, false, false},
    {{{"LATE_WAIT", "1"}}, "none", true, false, false},
    {{{"MULTI", "1"}}, "none", true, false, false},
    {{{"MULTI", "2"}, {"MR", "local"}, {"INJECT", "0"}}, "local", true, false,
        false},
    {{{"MULTI", "2"}, {"EAGAIN", "3"}}, "none", true, true, false},
};

static void
set_all(const struct row *row)
{
    for (size_t i = 0; i < 4 && row->settings[i][0] != NULL; i++)
        awkward_set(row->settings[i][0], row->settings[i][1]);
}

/* MESSAGES */

/* All are sent, in many sizes, before the first receive is posted. */
static void
send_many(struct pair *pair)
{
    static unsigned char bytes[4096];
    const na_plugin_ops *ops = pair->a.ops;
    void *sends[MESSAGES];
    bool pending[MESSAGES];

    for (uint32_t i = 0; i < MESSAGES; i++) {
        sends[i] = op_new(&pair->a);
        fill(bytes, i * 105, i);
        int32_t ret = ops->send_unexpected(
            pair->a.ctx, sends[i], bytes, i * 105, NULL, pair->to_b, 0, i, 0);
        ck_assert_int_ge(ret, 0);
        pending[i] = ret == NA_PLUGIN_PENDING;
    }
    for (uint32_t n = 0; n < MESSAGES; n++) {
        ck_assert_int_eq(ops->recv_unexpected(pair->b.ctx, pair->b_op, bytes,
                             sizeof(bytes), NULL, 0),
            NA_PLUGIN_PENDING);
        na_plugin_event event;
        uint64_t end = now_ns() + DEADLINE_NS;
        while (!poll_one(&pair->b, &event)) {
            na_plugin_event sent;
            if (poll_one(&pair->a, &sent)) {
                ck_assert_int_eq(sent.status, NA_PLUGIN_OK);
                for (uint32_t i = 0; i < MESSAGES; i++)
                    pending[i] = pending[i] && sends[i] != sent.op;
            }
            ck_assert_msg(now_ns() < end, "%u of %u arrived", n, MESSAGES);
        }
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        ck_assert_uint_eq(event.length, event.tag * 105);
        ck_assert(is_filled(bytes, event.length, (uint32_t) event.tag));
        pair->b.ops->addr_free(pair->b.cls, event.source);
    }
    for (uint32_t i = 0; i < MESSAGES; i++) {
        if (pending[i])
            ck_assert_int_eq(
                pair_await(pair, &pair->a, sends[i]).status, NA_PLUGIN_OK);
        free(sends[i]);
    }
}

/* PUTS AND GETS */

static void
transfer_all(struct pair *pair)
{
    static struct memory here, there;
    uint64_t middle = FIRST - 100;

    fill(here.bytes, sizeof(here.bytes), 1);
    memset(there.bytes, 0, sizeof(there.bytes));
    memory_register(&pair->a, &here);
    memory_register(&pair->b, &there);
    na_plugin_mem *remote = pair_describe(pair, there.mem);
    ck_assert_int_eq(
        pair_transfer(pair, here.mem, remote, 0, TOTAL, true), NA_PLUGIN_OK);
    /* bytes between the segments are unchanged */
    ck_assert_uint_eq(there.bytes[LAST + FIRST], 0);
    there.bytes[LAST + FIRST] = here.bytes[LAST + FIRST];
    there.bytes[TOTAL + 1] = here.bytes[TOTAL + 1];
    ck_assert(is_filled(there.bytes, sizeof(there.bytes), 1));
    fill(there.bytes, sizeof(there.bytes), 2);
    ck_assert_int_eq(
        pair_transfer(pair, here.mem, remote, middle, 50000, false),
        NA_PLUGIN_OK);
    ck_assert_mem_eq(here.bytes + LAST + middle, there.bytes + LAST + middle,
        FIRST - middle);
    ck_assert_mem_eq(here.bytes, there.bytes, 50000 - (FIRST - middle) - 1);
    /* deregistered memory */
    pair->b.ops->mem_deregister(pair->b.cls, there.mem);
    ck_assert_int_eq(pair_transfer(pair, here.mem, remote, 0, 10, false),
        NA_PLUGIN_E_PERMISSION);
    pair->a.ops->mem_remote_free(pair->a.cls, remote);
    pair->a.ops->mem_deregister(pair->a.cls, here.mem);
}

/* WAITING */

static void
sleep_and_wake(struct pair *pair)
{
    const na_plugin_wait *wait =
        pair->b.ops->extension(pair->b.cls, NA_PLUGIN_WAIT_ID);
    struct pollfd one = {.fd = wait->fd(pair->b.ctx), .events = POLLIN};
    uint64_t sleep_ns = 0, end = now_ns() + DEADLINE_NS;
    unsigned char byte = 1, got = 0;
    na_plugin_event event;

    ck_assert_int_eq(
        pair->b.ops->recv_unexpected(pair->b.ctx, pair->b_op, &got, 1, NULL, 0),
        NA_PLUGIN_PENDING);
    while (wait->arm(pair->b.ctx, &sleep_ns) != NA_PLUGIN_OK) {
        ck_assert(!poll_one(&pair->b, &event));
        ck_assert_msg(now_ns() < end, "it can't be armed");
    }
    ck_assert_int_eq(poll(&one, 1, 20), 0);
    int32_t sent = pair->a.ops->send_unexpected(
        pair->a.ctx, pair->a_op, &byte, 1, NULL, pair->to_b, 0, 0, 0);
    while (sent == NA_PLUGIN_PENDING)
        sent = poll_one(&pair->a, &event) ? NA_PLUGIN_DONE : sent;
    ck_assert_int_eq(poll(&one, 1, 10000), 1);
    while (!poll_one(&pair->b, &event))
        ck_assert_msg(now_ns() < end, "woken in vain");
    ck_assert_uint_eq(got, 1);
    pair->b.ops->addr_free(pair->b.cls, event.source);
}

START_TEST(awkward_provider_requirements_are_met)
{
    const struct row *row = &rows[_i];
    struct pair pair;

    set_all(row);
    pair_open(&pair);
    ck_assert_str_eq(node_text(&pair.a, "registration_modes"), row->modes);
    ck_assert_str_eq(node_text(&pair.a, "receives"),
        getenv("FI_AWKWARD_MULTI") != NULL ? "many a buffer" : "one a buffer");
    ck_assert_str_eq(node_text(&pair.a, "put_completion"),
        row->reads_back ? "read back" : "delivery");
    ck_assert_int_eq(
        pair.a.ops->extension(pair.a.cls, NA_PLUGIN_WAIT_ID) != NULL,
        row->waits);
    send_many(&pair);
    for (uint32_t length = 0; length <= 4000; length += 1000)
        ck_assert_int_eq(pair_answer(&pair, length, true), NA_PLUGIN_OK);
    transfer_all(&pair);
    if (row->waits)
        sleep_and_wake(&pair);
    if (row->refuses)
        ck_assert_uint_ge(node_counter(&pair.a, "eagain_retries"), MESSAGES);
    ck_assert_uint_ge(node_counter(&pair.a, "fragments"), 6);
    pair_close(&pair);
}
END_TEST

/* MESSAGES LEFT IN THEIR BUFFERS */

/* Receives one on b, which must be this one. Returns how many a has sent
 * meanwhile. */
static uint32_t
take_in_order(struct pair *pair, uint32_t number)
{
    static unsigned char bytes[4096];
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_event event, sent;
    uint32_t ended = 0;

    ck_assert_int_eq(pair->b.ops->recv_unexpected(pair->b.ctx, pair->b_op,
                         bytes, sizeof(bytes), NULL, 0),
        NA_PLUGIN_PENDING);
    while (!poll_one(&pair->b, &event)) {
        ended += poll_one(&pair->a, &sent) ? 1 : 0;
        ck_assert_msg(now_ns() < end, "%u came", number);
    }
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    ck_assert_uint_eq(event.tag, number);
    ck_assert_uint_eq(event.length, number % 4000);
    ck_assert(is_filled(bytes, event.length, number));
    pair->b.ops->addr_free(pair->b.cls, event.source);
    return ended;
}

/* Sends one from a, which b has no receive for. Returns how many a has sent. */
static uint32_t
send_into_nothing(struct pair *pair, void *op, uint32_t number)
{
    static unsigned char bytes[4096];
    na_plugin_event event;

    fill(bytes, number % 4000, number);
    ck_assert_int_eq(pair->a.ops->send_unexpected(pair->a.ctx, op, bytes,
                         number % 4000, NULL, pair->to_b, 0, number, 0),
        NA_PLUGIN_PENDING);
    ck_assert(!poll_one(&pair->b, &event));
    return poll_one(&pair->a, &event) ? 1 : 0;
}

/* The queue has room for few; the others stay in libfabric's buffers. They are
 * delivered in order, also from buffers that are reused. */
START_TEST(awkward_messages_stay_in_their_buffers_when_queue_is_full)
{
    static const char *const multi[] = {"0", "1", "2"};
    uint32_t sent = 0, taken = 0, ended = 0;
    static void *sends[FLOOD];
    struct pair pair;

    awkward_set("MULTI", multi[_i]);
    awkward_set("INJECT", "0");
    pair_open_with(&pair, "ofi.queue_size", "10000");
    while (taken < FLOOD) {
        for (uint32_t i = 0; i < 60 && sent < FLOOD; i++, sent++) {
            sends[sent] = op_new(&pair.a);
            ended += send_into_nothing(&pair, sends[sent], sent);
        }
        for (uint32_t i = 0; i < 50 && taken < sent; i++)
            ended += take_in_order(&pair, taken++);
    }
    for (na_plugin_event event; ended < FLOOD;)
        ended += poll_one(&pair.a, &event) ? 1 : 0;
    for (uint32_t i = 0; i < FLOOD; i++)
        free(sends[i]);
    ck_assert_uint_eq(node_counter(&pair.b, "messages_received"), FLOOD);
    ck_assert_uint_eq(node_counter(&pair.b, "malformed"), 0);
    pair_close(&pair);
}
END_TEST

/* A provider that is not thread-safe is accepted for single-threaded classes
 * only. */
START_TEST(awkward_provider_without_locks_needs_single_thread_mode)
{
    struct node_options options = {.protocol = "awkward", .anywhere = true};
    struct node node;

    awkward_set("ONE_THREAD", "1");
    ck_assert_int_eq(node_try(&node, &options), NA_PLUGIN_E_PROTONOSUPPORT);
    options.thread_mode = NA_PLUGIN_THREAD_SINGLE_CONTEXT;
    ck_assert_int_eq(node_try(&node, &options), NA_PLUGIN_E_PROTONOSUPPORT);
    options.thread_mode = NA_PLUGIN_THREAD_SINGLE_CLASS;
    struct pair pair;
    pair_open_as(&pair, &options);
    ck_assert_int_eq(pair_answer(&pair, 300, true), NA_PLUGIN_OK);
    pair_close(&pair);
}
END_TEST

/* libfabric accepts nothing for the peer, and there is no way to find out
 * whether it is alive. */
START_TEST(awkward_peer_accepting_nothing_is_lost_after_retry_timeout)
{
    static const char byte = 1;
    struct pair pair;

    awkward_set("EAGAIN", "1000000000");
    pair_open_with(&pair, "ofi.retry_timeout", "100ms");
    uint64_t begin = now_ns();
    ck_assert_int_eq(pair.a.ops->send_unexpected(pair.a.ctx, pair.a_op, &byte,
                         1, NULL, pair.to_b, 0, 0, 0),
        NA_PLUGIN_PENDING);
    ck_assert_int_eq(
        pair_await(&pair, &pair.a, pair.a_op).status, NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_uint_ge(now_ns() - begin, UINT64_C(100000000));
    ck_assert_uint_eq(node_counter(&pair.a, "peers_lost"), 1);
    pair_close(&pair);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("awkward");

    warm_up();
    tcase_add_loop_test(cases, awkward_provider_requirements_are_met, 0,
        (int) (sizeof(rows) / sizeof(rows[0])));
    tcase_add_loop_test(
        cases, awkward_messages_stay_in_their_buffers_when_queue_is_full, 0, 3);
    tcase_add_test(
        cases, awkward_provider_without_locks_needs_single_thread_mode);
    tcase_add_test(
        cases, awkward_peer_accepting_nothing_is_lost_after_retry_timeout);
    return run_tcase("ofi awkward", cases);
}
