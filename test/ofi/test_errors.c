/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of the provider, and how they are reported. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/fi_errno.h>

#include "pair.h"

#define MESSAGES 160U
#define FLOOD 1000U     /* messages */
#define LONG (2U << 20) /* bytes: more fragments than are submitted at once */

static const struct {
    int error;
    int32_t code;
} codes[] = {{EIO, NA_PLUGIN_E_HOSTUNREACH},
    {ECONNRESET, NA_PLUGIN_E_HOSTUNREACH}, {ENOMEM, NA_PLUGIN_E_NOMEM},
    {EACCES, NA_PLUGIN_E_PERMISSION}, {FI_EKEYREJECTED, NA_PLUGIN_E_PERMISSION},
    {EMSGSIZE, NA_PLUGIN_E_MSGSIZE}, {EPROTO, NA_PLUGIN_E_IO_ERROR}};

static void
set_error(int error)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", error);
    awkward_set("ERROR", text);
}

START_TEST(error_of_a_send_ends_it_with_its_code)
{
    struct pair pair;

    awkward_set("INJECT", "0");
    awkward_set("FAIL_SEND", "1");
    set_error(codes[_i].error);
    pair_open(&pair);
    ck_assert_int_eq(pair_answer(&pair, 100, false), codes[_i].code);
    ck_assert_uint_ge(node_counter(&pair.b, "completion_errors"), 1);
    ck_assert_int_eq(pair_answer(&pair, 200, true), NA_PLUGIN_OK);
    pair_close(&pair);
}
END_TEST

/* Only that message is lost, whatever else is in its buffer. */
START_TEST(error_of_a_message_is_counted)
{
    static const char *const multi[] = {"0", "1", "2"};
    struct pair pair;

    awkward_set("MULTI", multi[_i]);
    awkward_set("FAIL_RECV", "2");
    set_error(EIO);
    pair_open(&pair);
    ck_assert_int_eq(pair_answer(&pair, 100, true), NA_PLUGIN_OK);
    ck_assert_int_eq(pair_answer(&pair, 200, false), NA_PLUGIN_OK);
    for (uint32_t i = 0; i < MESSAGES; i++)
        ck_assert_int_eq(pair_answer(&pair, 300, true), NA_PLUGIN_OK);
    ck_assert_uint_eq(node_counter(&pair.a, "malformed"), 1);
    pair_close(&pair);
}
END_TEST

static uint32_t
flood_length(uint64_t number)
{
    return (uint32_t) (number * 37 % 4000);
}

static void
flood_send(struct pair *pair, void *sends[FLOOD])
{
    static unsigned char bytes[4000];

    for (uint32_t i = 0; i < FLOOD; i++) {
        sends[i] = op_new(&pair->a);
        fill(bytes, flood_length(i), i);
        ck_assert_int_eq(pair->a.ops->send_unexpected(pair->a.ctx, sends[i],
                             bytes, flood_length(i), NULL, pair->to_b, 0, i, 0),
            NA_PLUGIN_PENDING);
    }
}

/* Receives the next message at b with this number or a later one. Returns its
 * number, or FLOOD when all have arrived or failed. */
static uint32_t
flood_take(struct pair *pair, uint32_t taken, uint32_t least, uint32_t *sent_p)
{
    static unsigned char bytes[4096];
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_event event, sent;

    /* more arrive than are received */
    *sent_p += poll_one(&pair->a, &sent) ? 1 : 0;
    ck_assert(!poll_one(&pair->b, &event));
    ck_assert_int_eq(pair->b.ops->recv_unexpected(pair->b.ctx, pair->b_op,
                         bytes, sizeof(bytes), NULL, 0),
        NA_PLUGIN_PENDING);
    while (!poll_one(&pair->b, &event)) {
        uint64_t arrived = node_counter(&pair->b, "messages_received");
        uint64_t failed = node_counter(&pair->b, "malformed");
        if (arrived == taken && arrived + failed >= FLOOD)
            pair->b.ops->cancel(pair->b.ctx, pair->b_op);
        *sent_p += poll_one(&pair->a, &sent) ? 1 : 0;
        if (now_ns() > end)
            ck_abort_msg(
                "%u arrived, %u failed", (uint32_t) arrived, (uint32_t) failed);
    }
    if (event.status == NA_PLUGIN_E_CANCELED)
        return FLOOD;
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    ck_assert(event.tag >= least);
    ck_assert_uint_eq(event.length, flood_length(event.tag));
    ck_assert(is_filled(bytes, event.length, (uint32_t) event.tag));
    pair->b.ops->addr_free(pair->b.cls, event.source);
    return (uint32_t) event.tag;
}

/* Only the failure of its last message shows that a multi-receive buffer is
 * released. It is reused when no message is left in it, and not before: with a
 * small queue messages are left. */
START_TEST(error_of_a_last_message_releases_its_buffer)
{
    static const char *const room[] = {"10000000", "10000"};
    static void *sends[FLOOD];
    uint32_t taken = 0, sent = 0;
    struct pair pair;

    awkward_set("MULTI", "1");
    awkward_set("INJECT", "0");
    awkward_set("FAIL_RECV", "-1");
    set_error(EIO);
    pair_open_with(&pair, "ofi.queue_size", room[_i]);
    flood_send(&pair, sends);
    for (uint32_t next = 0;; taken++) {
        uint32_t number = flood_take(&pair, taken, next, &sent);
        if (number == FLOOD)
            break;
        next = number + 1;
    }
    for (na_plugin_event event; sent < FLOOD;)
        sent += poll_one(&pair.a, &event) ? 1 : 0;
    for (uint32_t i = 0; i < FLOOD; i++)
        free(sends[i]);
    ck_assert_uint_ge(node_counter(&pair.b, "malformed"), 20);
    pair_close(&pair);
}
END_TEST

/* An error that looks like a lost connection is retried once, all others end
 * the operation. */
START_TEST(error_of_a_transfer_retries_or_ends_it)
{
    static struct memory here, there;
    int32_t wanted = codes[_i].code == NA_PLUGIN_E_HOSTUNREACH ? NA_PLUGIN_OK
                                                               : codes[_i].code;
    struct pair pair;

    awkward_set("FAIL_RMA", "2");
    set_error(codes[_i].error);
    pair_open(&pair);
    memory_register(&pair.a, &here);
    memory_register(&pair.b, &there);
    na_plugin_mem *remote = pair_describe(&pair, there.mem);
    fill(here.bytes, sizeof(here.bytes), 3);
    ck_assert_int_eq(
        pair_transfer(&pair, here.mem, remote, 0, TOTAL, true), wanted);
    if (wanted == NA_PLUGIN_OK)
        ck_assert(is_filled(there.bytes, LAST, 3));
    ck_assert_int_eq(
        pair_transfer(&pair, here.mem, remote, 0, TOTAL, false), NA_PLUGIN_OK);
    pair.a.ops->mem_remote_free(pair.a.cls, remote);
    pair.a.ops->mem_deregister(pair.a.cls, here.mem);
    pair.b.ops->mem_deregister(pair.b.cls, there.mem);
    pair_close(&pair);
}
END_TEST

/* The connection breaks before most fragments were submitted: the whole
 * transfer is repeated. */
START_TEST(error_of_a_long_transfer_retries_the_whole)
{
    static unsigned char here[LONG], there[LONG];
    const na_plugin_segment segments[] = {{here, LONG}, {there, LONG}};
    na_plugin_mem *local = NULL, *owned = NULL;
    struct pair pair;

    awkward_set("FAIL_RMA", _i < 2 ? "3" : "60");
    set_error(ECONNRESET);
    pair_open(&pair);
    ck_assert_int_eq(
        pair.a.ops->mem_register(pair.a.cls,
            &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0, &segments[0],
                1, NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, 0, 0},
            &local),
        NA_PLUGIN_OK);
    ck_assert_int_eq(
        pair.b.ops->mem_register(pair.b.cls,
            &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0, &segments[1],
                1, NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, 0, 0},
            &owned),
        NA_PLUGIN_OK);
    na_plugin_mem *remote = pair_describe(&pair, owned);
    bool put = _i % 2 == 0;
    fill(put ? here : there, LONG, 5);
    ck_assert_int_eq(
        pair_transfer(&pair, local, remote, 0, LONG, put), NA_PLUGIN_OK);
    ck_assert(is_filled(put ? there : here, LONG, 5));
    ck_assert_uint_ge(node_counter(&pair.a, "completion_errors"), 1);
    pair.a.ops->mem_remote_free(pair.a.cls, remote);
    pair.a.ops->mem_deregister(pair.a.cls, local);
    pair.b.ops->mem_deregister(pair.b.cls, owned);
    pair_close(&pair);
}
END_TEST

START_TEST(error_of_a_dead_peer_is_hostunreach)
{
    struct pair pair;
    na_plugin_event event;
    unsigned char byte = 0;
    uint64_t end = now_ns() + DEADLINE_NS;

    pair_open(&pair);
    ck_assert_int_eq(pair.a.ops->recv_expected(pair.a.ctx, pair.a_op, &byte, 1,
                         NULL, pair.to_b, 0, 1, 0),
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

/* There is no route to another host from a loopback address; the kernel returns
 * EINVAL. */
START_TEST(error_of_a_host_without_route_is_hostunreach)
{
    static const struct node_options options = {.protocol = "tcp"};
    unsigned char message[64] = {0};
    na_plugin_event event = {0};
    struct node node;

    unsetenv("FI_PROVIDER");
    node_open(&node, &options);
    na_plugin_addr *peer = lookup(&node, "tcp://198.51.100.77:9");
    void *op = op_new(&node);
    int32_t ret = node.ops->send_unexpected(
        node.ctx, op, message, sizeof(message), NULL, peer, 0, 1, 0);
    ck_assert_msg(
        ret >= 0 || ret == NA_PLUGIN_E_HOSTUNREACH, "send returned %d", ret);
    if (ret == NA_PLUGIN_PENDING) {
        uint64_t end = now_ns() + 10000000000;
        while (!poll_one(&node, &event))
            ck_assert_msg(now_ns() < end, "the send does not end");
        ck_assert_int_eq(event.status, NA_PLUGIN_E_HOSTUNREACH);
    } else {
        ck_assert_int_eq(ret, NA_PLUGIN_E_HOSTUNREACH);
    }
    free(op);
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
}
END_TEST

START_TEST(registering_unmapped_memory_fails)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    struct node node;

    awkward_set("MR", "allocated");
    node_open(
        &node, &(struct node_options){.protocol = "awkward", .anywhere = true});
    void *nothing =
        mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(nothing, page);
    na_plugin_mem *mem = NULL;
    ck_assert_int_lt(node.ops->mem_register(node.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &(na_plugin_segment){nothing, page}, 1,
                             NA_PLUGIN_MEM_READ, 0, 0},
                         &mem),
        0);
    ck_assert_uint_eq(node.errors, 1);
    ck_assert_ptr_null(mem);
    node_close(&node);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("errors");
    int count = (int) (sizeof(codes) / sizeof(codes[0]));

    warm_up();
    tcase_add_loop_test(cases, error_of_a_send_ends_it_with_its_code, 0, count);
    tcase_add_loop_test(cases, error_of_a_message_is_counted, 0, 3);
    tcase_add_loop_test(
        cases, error_of_a_last_message_releases_its_buffer, 0, 2);
    tcase_add_loop_test(
        cases, error_of_a_transfer_retries_or_ends_it, 0, count);
    tcase_add_loop_test(
        cases, error_of_a_long_transfer_retries_the_whole, 0, 4);
    tcase_add_test(cases, error_of_a_dead_peer_is_hostunreach);
    tcase_add_test(cases, error_of_a_host_without_route_is_hostunreach);
    tcase_add_test(cases, registering_unmapped_memory_fails);
    return run_tcase("ofi errors", cases);
}
