/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin over a provider that is as awkward as the environment says:
 * registration modes, refusals, errors, wait objects. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

#define DEADLINE_NS UINT64_C(20000000000)
#define MESSAGES 40U
#define FLOOD 2000U  /* messages */
#define FIRST 20000U /* bytes of segments */
#define MIDDLE 1U
#define LAST 90001U
#define TOTAL (FIRST + MIDDLE + LAST)

/* Of the provider's settings; two ends of a row are NULL. */
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
set(const char *name, const char *value)
{
    char variable[64];

    snprintf(variable, sizeof(variable), "FI_AWKWARD_%s", name);
    setenv(variable, value, 1);
}

static void
set_all(const struct row *row)
{
    for (size_t i = 0; i < 4 && row->settings[i][0] != NULL; i++)
        set(row->settings[i][0], row->settings[i][1]);
}

/* Two classes that know each other. */
struct pair {
    struct node a;
    struct node b;
    na_plugin_addr *to_a;
    na_plugin_addr *to_b;
    void *a_op;
    void *b_op;
};

static void
pair_open_with(struct pair *pair, const char *key, const char *value)
{
    const struct node_options options = {.protocol = "awkward",
        .anywhere = true,
        .setting_key = key,
        .setting_value = value};
    char text[TEXT];

    node_open(&pair->a, &options);
    node_open(&pair->b, &options);
    self_string(&pair->a, text);
    pair->to_a = lookup(&pair->b, text);
    self_string(&pair->b, text);
    pair->to_b = lookup(&pair->a, text);
    pair->a_op = op_new(&pair->a);
    pair->b_op = op_new(&pair->b);
}

static void
pair_open(struct pair *pair)
{
    pair_open_with(pair, NULL, NULL);
}

static void
pair_close(struct pair *pair)
{
    pair->a.ops->addr_free(pair->a.cls, pair->to_b);
    pair->b.ops->addr_free(pair->b.cls, pair->to_a);
    ck_assert_uint_eq(pair->a.errors + pair->b.errors, 0);
    node_close(&pair->a);
    node_close(&pair->b);
    free(pair->a_op);
    free(pair->b_op);
}

/* Polls both until this operation of one of them has ended: its event. */
static na_plugin_event
await(struct pair *pair, struct node *whose, const void *op)
{
    struct node *other = whose == &pair->a ? &pair->b : &pair->a;
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_event event, stray;

    for (;;) {
        if (poll_one(whose, &event) && event.op == op)
            return event;
        ck_assert_msg(!poll_one(other, &stray), "an event of nobody's");
        ck_assert_msg(now_ns() < end, "no end");
    }
}

static void
fill(unsigned char *bytes, size_t length, uint32_t seed)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char) (seed + i * 7 + (i >> 8));
}

static bool
is_filled(const unsigned char *bytes, size_t length, uint32_t seed)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != (unsigned char) (seed + i * 7 + (i >> 8)))
            return false;
    return true;
}

/* MESSAGES */

/* All are sent, of many sizes, before the first receive. */
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
            pair->a.ctx, sends[i], bytes, i * 105, NULL, pair->to_b, 0, i);
        ck_assert_int_ge(ret, 0);
        pending[i] = ret == NA_PLUGIN_PENDING;
    }
    for (uint32_t n = 0; n < MESSAGES; n++) {
        ck_assert_int_eq(ops->recv_unexpected(pair->b.ctx, pair->b_op, bytes,
                             sizeof(bytes), NULL),
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
            ck_assert_msg(now_ns() < end, "%u of %u came", n, MESSAGES);
        }
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        ck_assert_uint_eq(event.length, event.tag * 105);
        ck_assert(is_filled(bytes, event.length, (uint32_t) event.tag));
        pair->b.ops->addr_free(pair->b.cls, event.source);
    }
    for (uint32_t i = 0; i < MESSAGES; i++) {
        if (pending[i])
            ck_assert_int_eq(
                await(pair, &pair->a, sends[i]).status, NA_PLUGIN_OK);
        free(sends[i]);
    }
}

/* One expected message from b to a: how it ended for the sender. One that does
 * not come is canceled at its receiver. */
static int32_t
answer(struct pair *pair, uint32_t length, bool comes)
{
    static unsigned char there[4096], here[4096];
    const na_plugin_ops *ops = pair->a.ops;
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_event sent, received;

    fill(there, length, length);
    ck_assert_int_eq(ops->recv_expected(pair->a.ctx, pair->a_op, here,
                         sizeof(here), NULL, pair->to_b, 0, length),
        NA_PLUGIN_PENDING);
    sent.status = ops->send_expected(
        pair->b.ctx, pair->b_op, there, length, NULL, pair->to_a, 0, length);
    ck_assert_int_ge(sent.status, 0);
    bool is_sent = sent.status == NA_PLUGIN_DONE, is_received = false;
    while (!is_sent || !is_received) {
        is_sent = is_sent || poll_one(&pair->b, &sent);
        if (is_sent && !comes)
            ops->cancel(pair->a.ctx, pair->a_op);
        is_received = is_received || poll_one(&pair->a, &received);
        ck_assert_msg(now_ns() < end, "no answer");
    }
    if (comes) {
        ck_assert_int_eq(received.status, NA_PLUGIN_OK);
        ck_assert_uint_eq(received.length, length);
        ck_assert(is_filled(here, length, length));
    } else
        ck_assert_int_lt(received.status, 0);
    return sent.status == NA_PLUGIN_DONE ? NA_PLUGIN_OK : sent.status;
}

/* PUTS AND GETS */

struct memory {
    unsigned char bytes[TOTAL + 2];
    na_plugin_mem *mem;
};

static void
memory_register(struct node *node, struct memory *memory)
{
    const na_plugin_segment segments[] = {{memory->bytes + LAST, FIRST},
        {memory->bytes + LAST + FIRST + 1, MIDDLE}, {memory->bytes, LAST}};

    ck_assert_int_eq(node->ops->mem_register(node->cls, segments, 3,
                         NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE,
                         NA_PLUGIN_MEM_HOST, 0, &memory->mem),
        NA_PLUGIN_OK);
}

static na_plugin_mem *
describe(struct pair *pair, const na_plugin_mem *mem)
{
    unsigned char bytes[256];
    uint64_t size = sizeof(bytes);
    na_plugin_mem *description = NULL;

    ck_assert_int_eq(pair->b.ops->mem_serialize(pair->b.cls, mem, bytes, &size),
        NA_PLUGIN_OK);
    ck_assert_int_eq(
        pair->a.ops->mem_deserialize(pair->a.cls, bytes, size, &description),
        NA_PLUGIN_OK);
    return description;
}

static int32_t
transfer(struct pair *pair, na_plugin_mem *local, na_plugin_mem *remote,
    uint64_t offset, uint64_t length, bool put)
{
    const na_plugin_ops *ops = pair->a.ops;
    int32_t ret = (put ? ops->put : ops->get)(pair->a.ctx, pair->a_op, local,
        offset, remote, offset, length, pair->to_b, 0);

    if (ret != NA_PLUGIN_PENDING)
        return ret;
    return await(pair, &pair->a, pair->a_op).status;
}

static void
transfer_all(struct pair *pair)
{
    static struct memory here, there;
    uint64_t middle = FIRST - 100;

    fill(here.bytes, sizeof(here.bytes), 1);
    memset(there.bytes, 0, sizeof(there.bytes));
    memory_register(&pair->a, &here);
    memory_register(&pair->b, &there);
    na_plugin_mem *remote = describe(pair, there.mem);
    ck_assert_int_eq(
        transfer(pair, here.mem, remote, 0, TOTAL, true), NA_PLUGIN_OK);
    /* what lies between the segments was not touched */
    ck_assert_uint_eq(there.bytes[LAST + FIRST], 0);
    there.bytes[LAST + FIRST] = here.bytes[LAST + FIRST];
    there.bytes[TOTAL + 1] = here.bytes[TOTAL + 1];
    ck_assert(is_filled(there.bytes, sizeof(there.bytes), 1));
    fill(there.bytes, sizeof(there.bytes), 2);
    ck_assert_int_eq(
        transfer(pair, here.mem, remote, middle, 50000, false), NA_PLUGIN_OK);
    ck_assert_mem_eq(here.bytes + LAST + middle, there.bytes + LAST + middle,
        FIRST - middle);
    ck_assert_mem_eq(here.bytes, there.bytes, 50000 - (FIRST - middle) - 1);
    /* memory that is gone */
    pair->b.ops->mem_deregister(pair->b.cls, there.mem);
    ck_assert_int_eq(
        transfer(pair, here.mem, remote, 0, 10, false), NA_PLUGIN_E_PERMISSION);
    pair->a.ops->mem_free(pair->a.cls, remote);
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
        pair->b.ops->recv_unexpected(pair->b.ctx, pair->b_op, &got, 1, NULL),
        NA_PLUGIN_PENDING);
    while (wait->arm(pair->b.ctx, &sleep_ns) != NA_PLUGIN_OK) {
        ck_assert(!poll_one(&pair->b, &event));
        ck_assert_msg(now_ns() < end, "it can't be armed");
    }
    ck_assert_int_eq(poll(&one, 1, 20), 0);
    int32_t sent = pair->a.ops->send_unexpected(
        pair->a.ctx, pair->a_op, &byte, 1, NULL, pair->to_b, 0, 0);
    while (sent == NA_PLUGIN_PENDING)
        sent = poll_one(&pair->a, &event) ? NA_PLUGIN_DONE : sent;
    ck_assert_int_eq(poll(&one, 1, 10000), 1);
    while (!poll_one(&pair->b, &event))
        ck_assert_msg(now_ns() < end, "woken in vain");
    ck_assert_uint_eq(got, 1);
    pair->b.ops->addr_free(pair->b.cls, event.source);
}

static const char *
report_text(const struct node *node, const char *name)
{
    const na_plugin_report *report =
        node->ops->extension(node->cls, NA_PLUGIN_REPORT_ID);
    na_plugin_report_entry entry;

    for (uint32_t i = 0; report->entries(node->cls, i, &entry, 1) == 1; i++)
        if (strcmp(entry.name, name) == 0)
            return entry.text;
    return "";
}

START_TEST(awkward_provider_gets_what_it_asks_for)
{
    const struct row *row = &rows[_i];
    struct pair pair;

    set_all(row);
    pair_open(&pair);
    ck_assert_str_eq(report_text(&pair.a, "registration_modes"), row->modes);
    ck_assert_str_eq(report_text(&pair.a, "receives"),
        getenv("FI_AWKWARD_MULTI") != NULL ? "many a buffer" : "one a buffer");
    ck_assert_str_eq(report_text(&pair.a, "put_completion"),
        row->reads_back ? "read back" : "delivery");
    ck_assert_int_eq(
        pair.a.ops->extension(pair.a.cls, NA_PLUGIN_WAIT_ID) != NULL,
        row->waits);
    send_many(&pair);
    for (uint32_t length = 0; length <= 4000; length += 1000)
        ck_assert_int_eq(answer(&pair, length, true), NA_PLUGIN_OK);
    transfer_all(&pair);
    if (row->waits)
        sleep_and_wake(&pair);
    if (row->refuses)
        ck_assert_uint_ge(node_counter(&pair.a, "eagain_retries"), MESSAGES);
    ck_assert_uint_ge(node_counter(&pair.a, "fragments"), 6);
    pair_close(&pair);
}
END_TEST

/* LEFT WHERE THEY CAME */

/* Takes one on b, which must be this one; what a has sent meanwhile. */
static uint32_t
take_in_order(struct pair *pair, uint32_t number)
{
    static unsigned char bytes[4096];
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_event event, sent;
    uint32_t ended = 0;

    ck_assert_int_eq(pair->b.ops->recv_unexpected(
                         pair->b.ctx, pair->b_op, bytes, sizeof(bytes), NULL),
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

/* Sends one from a, and lets b have it without a receive; what a has sent. */
static uint32_t
send_into_nothing(struct pair *pair, void *op, uint32_t number)
{
    static unsigned char bytes[4096];
    na_plugin_event event;

    fill(bytes, number % 4000, number);
    ck_assert_int_eq(pair->a.ops->send_unexpected(pair->a.ctx, op, bytes,
                         number % 4000, NULL, pair->to_b, 0, number),
        NA_PLUGIN_PENDING);
    ck_assert(!poll_one(&pair->b, &event));
    return poll_one(&pair->a, &event) ? 1 : 0;
}

/* The queue has room for few: the others are left in libfabric's buffers. They
 * come in order, also through buffers that are used several times. */
START_TEST(awkward_messages_are_left_in_their_buffers)
{
    static const char *const multi[] = {"0", "1", "2"};
    uint32_t sent = 0, taken = 0, ended = 0;
    static void *sends[FLOOD];
    struct pair pair;

    set("MULTI", multi[_i]);
    set("INJECT", "0");
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

/* ERRORS */

static const struct {
    int error;
    int32_t code;
} codes[] = {{EIO, NA_PLUGIN_E_HOSTUNREACH},
    {ECONNRESET, NA_PLUGIN_E_HOSTUNREACH}, {ENOMEM, NA_PLUGIN_E_NOMEM},
    {EACCES, NA_PLUGIN_E_PERMISSION}, {EMSGSIZE, NA_PLUGIN_E_MSGSIZE},
    {EPROTO, NA_PLUGIN_E_IO_ERROR}};

static void
set_error(int error)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", error);
    set("ERROR", text);
}

START_TEST(awkward_send_that_fails_ends_with_its_code)
{
    struct pair pair;

    set("INJECT", "0");
    set("FAIL_SEND", "1");
    set_error(codes[_i].error);
    pair_open(&pair);
    ck_assert_int_eq(answer(&pair, 100, false), codes[_i].code);
    ck_assert_uint_ge(node_counter(&pair.b, "completion_errors"), 1);
    ck_assert_int_eq(answer(&pair, 200, true), NA_PLUGIN_OK);
    pair_close(&pair);
}
END_TEST

/* That message alone is lost, whatever else its buffer has. */
START_TEST(awkward_message_that_fails_to_come_is_counted)
{
    static const char *const multi[] = {"0", "1", "2"};
    struct pair pair;

    set("MULTI", multi[_i]);
    set("FAIL_RECV", "2");
    set_error(EIO);
    pair_open(&pair);
    ck_assert_int_eq(answer(&pair, 100, true), NA_PLUGIN_OK);
    ck_assert_int_eq(answer(&pair, 200, false), NA_PLUGIN_OK);
    for (uint32_t i = 0; i < 4 * MESSAGES; i++)
        ck_assert_int_eq(answer(&pair, 300, true), NA_PLUGIN_OK);
    ck_assert_uint_eq(node_counter(&pair.a, "malformed"), 1);
    pair_close(&pair);
}
END_TEST

/* What looks like a lost connection is done once more, all else ends. */
START_TEST(awkward_transfer_that_fails_is_redone_or_ends_with_its_code)
{
    static struct memory here, there;
    int32_t wanted = codes[_i].code == NA_PLUGIN_E_HOSTUNREACH ? NA_PLUGIN_OK
                                                               : codes[_i].code;
    struct pair pair;

    set("FAIL_RMA", "2");
    set_error(codes[_i].error);
    pair_open(&pair);
    memory_register(&pair.a, &here);
    memory_register(&pair.b, &there);
    na_plugin_mem *remote = describe(&pair, there.mem);
    fill(here.bytes, sizeof(here.bytes), 3);
    ck_assert_int_eq(transfer(&pair, here.mem, remote, 0, TOTAL, true), wanted);
    if (wanted == NA_PLUGIN_OK)
        ck_assert(is_filled(there.bytes, LAST, 3));
    ck_assert_int_eq(
        transfer(&pair, here.mem, remote, 0, TOTAL, false), NA_PLUGIN_OK);
    pair.a.ops->mem_free(pair.a.cls, remote);
    pair.a.ops->mem_deregister(pair.a.cls, here.mem);
    pair.b.ops->mem_deregister(pair.b.cls, there.mem);
    pair_close(&pair);
}
END_TEST

START_TEST(awkward_peer_that_is_gone_is_unreachable)
{
    struct pair pair;
    na_plugin_event event;
    unsigned char byte = 0;
    uint64_t end = now_ns() + DEADLINE_NS;

    pair_open(&pair);
    ck_assert_int_eq(pair.a.ops->recv_expected(pair.a.ctx, pair.a_op, &byte, 1,
                         NULL, pair.to_b, 0, 1),
        NA_PLUGIN_PENDING);
    pair.b.ops->addr_free(pair.b.cls, pair.to_a);
    node_close(&pair.b);
    while (!poll_one(&pair.a, &event))
        ck_assert_msg(now_ns() < end, "a receive outlives its sender");
    ck_assert_int_eq(event.status, NA_PLUGIN_E_HOSTUNREACH);
    pair.a.ops->addr_free(pair.a.cls, pair.to_b);
    node_close(&pair.a);
    free(pair.a_op);
    free(pair.b_op);
}
END_TEST

START_TEST(awkward_memory_that_is_not_there_is_refused)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    struct node node;

    set("MR", "allocated");
    node_open(
        &node, &(struct node_options){.protocol = "awkward", .anywhere = true});
    void *nothing =
        mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(nothing, page);
    na_plugin_mem *mem = NULL;
    ck_assert_int_lt(
        node.ops->mem_register(node.cls, &(na_plugin_segment){nothing, page}, 1,
            NA_PLUGIN_MEM_READ, NA_PLUGIN_MEM_HOST, 0, &mem),
        0);
    ck_assert_uint_eq(node.errors, 1);
    ck_assert_ptr_null(mem);
    node_close(&node);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("awkward");
    int count = (int) (sizeof(codes) / sizeof(codes[0]));

    warm_up();
    tcase_add_loop_test(cases, awkward_provider_gets_what_it_asks_for, 0,
        (int) (sizeof(rows) / sizeof(rows[0])));
    tcase_add_loop_test(
        cases, awkward_messages_are_left_in_their_buffers, 0, 3);
    tcase_add_loop_test(
        cases, awkward_message_that_fails_to_come_is_counted, 0, 3);
    tcase_add_loop_test(
        cases, awkward_send_that_fails_ends_with_its_code, 0, count);
    tcase_add_loop_test(cases,
        awkward_transfer_that_fails_is_redone_or_ends_with_its_code, 0, count);
    tcase_add_test(cases, awkward_peer_that_is_gone_is_unreachable);
    tcase_add_test(cases, awkward_memory_that_is_not_there_is_refused);
    return run_case("ofi awkward", cases);
}
