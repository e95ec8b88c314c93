/* SPDX-License-Identifier: BSD-3-Clause */
/* A hostile peer uses the records of emulated puts and gets. A malformed record
 * ends its connection. No record reads or writes a byte that was not granted or
 * not requested. */
#include <stdlib.h>
#include <string.h>

#include "hostile_peer.h"

#define REGION 4096U
#define PIECE 64U
#define LONGEST 4096U /* message, with the header of an RMA record */
#define REQUESTS 64U  /* requests that may wait for room for their answers */
#define FOE_OWNER 77U /* see good_hello */
#define SERIALIZED_KEY 16U
#define SERIALIZED_VERSION 3U

static unsigned char memory[REGION];

static na_plugin_mem *
register_segments(struct node *node, const na_plugin_segment *segments,
    uint32_t count, uint32_t access)
{
    const na_plugin_mem_info info = {
        sizeof(na_plugin_mem_info), 0, segments, count, access, 0, 0};
    na_plugin_mem *mem;

    ck_assert_int_eq(
        node->ops->mem_register(node->cls, &info, &mem), NA_PLUGIN_OK);
    return mem;
}

static na_plugin_mem *
register_memory(struct node *node, uint32_t access)
{
    return register_segments(node,
        &(na_plugin_segment){.base = memory, .length = REGION}, 1, access);
}

static uint64_t
key_of(struct node *node, const na_plugin_mem *mem)
{
    unsigned char bytes[256];
    uint64_t size = sizeof(bytes), key;

    ck_assert_int_eq(
        node->ops->mem_serialize(node->cls, mem, bytes, &size), NA_PLUGIN_OK);
    memcpy(&key, bytes + SERIALIZED_KEY, sizeof(key));
    return key;
}

static void
ck_filled(const unsigned char *bytes, size_t length, unsigned char value)
{
    for (size_t i = 0; i < length; i++)
        ck_assert_msg(bytes[i] == value, "byte %zu is %u", i, bytes[i]);
}

/* The class has disconnected this peer, logged that once, and serves others. */
static void
expect_broken(struct hostile_peer *hostile)
{
    expect_hangup(hostile->socket);
    ck_assert_uint_eq(node_warnings(&hostile_target), 1);
    ck_assert_uint_eq(node_counter(&hostile_target, "connections_broken"), 1);
    hostile_close(hostile);
    check_friend();
    close_both();
}

/* Sends one record with length bytes of data, for a registration of the whole
 * memory. The connection ends, and the memory is unchanged. */
static void
malformed(struct rma_record record, uint32_t length)
{
    static unsigned char data[LONGEST];

    open_both();
    memset(memory, 0x11, REGION);
    memset(data, 0xEE, sizeof(data));
    na_plugin_mem *mem = register_memory(&hostile_target, 3);
    struct hostile_peer hostile = hostile_open(&hostile_target);
    hostile_await_answer(&hostile);
    record.mem = key_of(&hostile_target, mem);
    hostile_put_rma(&hostile, &record, data, length);
    expect_hangup(hostile.socket);
    ck_filled(memory, REGION, 0x11);
    hostile_target.ops->mem_deregister(hostile_target.cls, mem);
    expect_broken(&hostile);
}

START_TEST(hostile_rma_put_with_less_data_than_announced_ends_connection)
{
    malformed((struct rma_record){.verb = RMA_PUT, .length = 2 * PIECE}, PIECE);
}
END_TEST

START_TEST(hostile_rma_put_with_more_data_than_announced_ends_connection)
{
    malformed((struct rma_record){.verb = RMA_PUT, .length = PIECE}, 2 * PIECE);
}
END_TEST

START_TEST(hostile_rma_get_of_no_bytes_ends_connection)
{
    malformed((struct rma_record){.verb = RMA_GET}, 0);
}
END_TEST

START_TEST(hostile_rma_get_longer_than_an_answer_ends_connection)
{
    const uint32_t most = LONGEST - (uint32_t) sizeof(struct rma_record);

    malformed((struct rma_record){.verb = RMA_GET, .length = most + 1}, 0);
}
END_TEST

START_TEST(hostile_rma_get_of_four_gib_ends_connection)
{
    malformed((struct rma_record){.verb = RMA_GET, .length = UINT32_MAX}, 0);
}
END_TEST

START_TEST(hostile_rma_record_of_unknown_kind_ends_connection)
{
    malformed((struct rma_record){.verb = RMA_ASSIST_PUT + 1, .length = PIECE},
        PIECE);
}
END_TEST

START_TEST(hostile_rma_data_without_a_get_ends_connection)
{
    malformed((struct rma_record){.verb = RMA_DATA, .length = PIECE}, PIECE);
}
END_TEST

START_TEST(hostile_rma_record_too_short_ends_connection)
{
    const struct rma_record put = {.verb = RMA_PUT, .length = UINT32_MAX};

    open_both();
    struct hostile_peer hostile = hostile_open(&hostile_target);
    hostile_await_answer(&hostile);
    memcpy(hostile.ring + PAGE + 16, &put, sizeof(put));
    put_word(hostile.ring, 0, RMA, 0, sizeof(put) - 1, 0);
    expect_broken(&hostile);
}
END_TEST

/* The end of a put that the class did not send is ignored. */
START_TEST(hostile_rma_end_of_no_put_is_ignored)
{
    const struct rma_record done = {.verb = RMA_DONE, .number = 1};
    const unsigned char *data;

    open_both();
    na_plugin_mem *mem = register_memory(&hostile_target, NA_PLUGIN_MEM_READ);
    const struct rma_record get = {.verb = RMA_GET,
        .number = 2,
        .mem = key_of(&hostile_target, mem),
        .length = PIECE};
    struct hostile_peer hostile = hostile_open(&hostile_target);
    hostile_await_answer(&hostile);
    hostile_put_rma(&hostile, &done, NULL, 0);
    hostile_put_rma(&hostile, &get, NULL, 0);
    struct rma_record answer = hostile_await_rma(&hostile, &data);
    ck_assert_uint_eq(answer.number, 2);
    ck_assert_int_eq(answer.status, NA_PLUGIN_OK);
    hostile_target.ops->mem_deregister(hostile_target.cls, mem);
    hostile_close(&hostile);
    close_both();
}
END_TEST

START_TEST(hostile_rma_too_many_pending_requests_end_connection)
{
    const uint32_t room = CAPACITY / (REGION / 2);

    open_both();
    na_plugin_mem *mem = register_memory(&hostile_target, NA_PLUGIN_MEM_READ);
    struct hostile_peer hostile = hostile_open(&hostile_target);
    hostile_await_answer(&hostile);
    const struct rma_record get = {.verb = RMA_GET,
        .mem = key_of(&hostile_target, mem),
        .length = REGION / 2};
    /* the peer leaves the answers in the ring */
    for (uint32_t i = 0; i < REQUESTS; i++)
        hostile_put_rma(&hostile, &get, NULL, 0);
    for (uint32_t i = 0; i < 1000; i++)
        pump();
    ck_assert_uint_eq(node_counter(&hostile_target, "connections_broken"), 0);
    for (uint32_t i = 0; i < room + 1; i++)
        hostile_put_rma(&hostile, &get, NULL, 0);
    expect_hangup(hostile.socket);
    hostile_target.ops->mem_deregister(hostile_target.cls, mem);
    expect_broken(&hostile);
}
END_TEST

/* The answer to one request. */
static struct rma_record
ask(struct hostile_peer *hostile, const struct rma_record *record,
    const void *data, uint32_t length)
{
    const unsigned char *bytes;

    hostile_put_rma(hostile, record, data, length);
    return hostile_await_rma(hostile, &bytes);
}

START_TEST(hostile_rma_with_registration_of_another_class_is_refused)
{
    static const unsigned char data[PIECE] = {0xEE};

    open_both();
    memset(memory, 0x11, REGION);
    na_plugin_mem *mem = register_memory(&hostile_friend, 3);
    struct rma_record record = {
        .verb = RMA_GET, .mem = key_of(&hostile_friend, mem), .length = PIECE};
    struct hostile_peer hostile = hostile_open(&hostile_target);
    hostile_await_answer(&hostile);
    struct rma_record answer = ask(&hostile, &record, NULL, 0);
    ck_assert_int_eq(answer.status, NA_PLUGIN_E_INVALID_ARG);
    ck_assert_uint_eq(answer.length, 0);
    record.verb = RMA_PUT;
    record.last = 1;
    answer = ask(&hostile, &record, data, PIECE);
    ck_assert_int_eq(answer.status, NA_PLUGIN_E_INVALID_ARG);
    ck_filled(memory, REGION, 0x11);
    hostile_close(&hostile);
    hostile_friend.ops->mem_deregister(hostile_friend.cls, mem);
    close_both();
}
END_TEST

/* It need not be the last fragment of its put. */
START_TEST(hostile_rma_put_out_of_range_is_answered_at_once)
{
    static const unsigned char data[PIECE] = {0xEE};

    open_both();
    memset(memory, 0x11, REGION);
    na_plugin_mem *mem = register_segments(&hostile_target,
        &(na_plugin_segment){.base = memory, .length = REGION - PIECE}, 1, 3);
    struct rma_record record = {.verb = RMA_PUT,
        .number = 1,
        .mem = key_of(&hostile_target, mem),
        .offset = REGION - 2 * PIECE + 1,
        .length = PIECE};
    struct hostile_peer hostile = hostile_open(&hostile_target);
    hostile_await_answer(&hostile);
    struct rma_record answer = ask(&hostile, &record, data, PIECE);
    ck_assert_uint_eq(answer.verb, RMA_DONE);
    ck_assert_uint_eq(answer.number, 1);
    ck_assert_int_eq(answer.status, NA_PLUGIN_E_INVALID_ARG);
    record.verb = RMA_GET;
    record.number = 2;
    answer = ask(&hostile, &record, NULL, 0);
    ck_assert_uint_eq(answer.number, 2);
    ck_assert_int_eq(answer.status, NA_PLUGIN_E_INVALID_ARG);
    ck_filled(memory, REGION, 0x11);
    hostile_close(&hostile);
    hostile_target.ops->mem_deregister(hostile_target.cls, mem);
    close_both();
}
END_TEST

/* Odd offsets and lengths, across the boundary of two segments. */
START_TEST(hostile_rma_unaligned_fragments_write_only_their_bytes)
{
    static const unsigned char bytes[13] = "unaligned...";
    const unsigned char *data;
    na_plugin_segment segments[] = {{.base = memory + 1, .length = 7},
        {.base = memory + 1001, .length = 1001}};

    open_both();
    memset(memory, 0x11, REGION);
    na_plugin_mem *mem = register_segments(&hostile_target, segments, 2, 3);
    struct rma_record record = {.verb = RMA_PUT,
        .last = 1,
        .mem = key_of(&hostile_target, mem),
        .offset = 3,
        .length = sizeof(bytes)};
    struct hostile_peer hostile = hostile_open(&hostile_target);
    hostile_await_answer(&hostile);
    ck_assert_int_eq(
        ask(&hostile, &record, bytes, sizeof(bytes)).status, NA_PLUGIN_OK);
    record.verb = RMA_GET;
    hostile_put_rma(&hostile, &record, NULL, 0);
    ck_assert_uint_eq(hostile_await_rma(&hostile, &data).length, sizeof(bytes));
    ck_assert_mem_eq(data, bytes, sizeof(bytes));
    ck_assert_mem_eq(memory + 4, bytes, 4);
    ck_assert_mem_eq(memory + 1001, bytes + 4, sizeof(bytes) - 4);
    ck_filled(memory, 4, 0x11);
    ck_filled(memory + 8, 1001 - 8, 0x11);
    ck_filled(memory + 1010, REGION - 1010, 0x11);
    hostile_close(&hostile);
    hostile_target.ops->mem_deregister(hostile_target.cls, mem);
    close_both();
}
END_TEST

/* A registration of the hostile peer, which it serves on request. */
static na_plugin_mem *
peer_registration(void)
{
    unsigned char bytes[42] = {SERIALIZED_VERSION, 3, 1, 0, 2};
    const uint64_t rest[4] = {FOE_OWNER, 7, 0x10000, 1 << 20};
    na_plugin_mem *mem;

    memcpy(bytes + 8, rest, sizeof(rest));
    ck_assert_int_eq(hostile_target.ops->mem_deserialize(
                         hostile_target.cls, bytes, sizeof(bytes), &mem),
        NA_PLUGIN_OK);
    return mem;
}

/* A transfer that the class has requested from the hostile peer. */
struct asked {
    struct hostile_peer hostile;
    na_plugin_addr *peer;
    na_plugin_mem *local;
    na_plugin_mem *remote;
    void *op;
    struct rma_record record;
};

/* The hostile peer sends a message, so that the class knows its address. */
static void
introduce(struct asked *asked)
{
    char buffer[64];
    struct hello hello = good_hello();
    void *recv;

    hello.flags |= HELLO_EMULATES;
    asked->hostile = hostile_open_as(&hostile_target, &hello);
    hostile_await_answer(&asked->hostile);
    recv = post_unexpected(&hostile_target, buffer, sizeof(buffer));
    put_word(asked->hostile.ring, 0, UNEXPECTED, 0, 6, 9);
    asked->hostile.position = PIECE;
    asked->peer = await_message(&hostile_target, 0, recv, 6, 9, true).source;
    free(recv);
}

/* Puts or gets length bytes, from offset PIECE at either side. */
static struct asked
transfer(bool put, uint64_t length)
{
    static unsigned char large[1 << 20];
    struct asked asked = {0};
    const unsigned char *data;

    open_both();
    memset(memory, 0x11, REGION);
    introduce(&asked);
    asked.local =
        put ? register_segments(&hostile_target,
                  &(na_plugin_segment){.base = large, .length = sizeof(large)},
                  1, 3)
            : register_memory(&hostile_target, 3);
    asked.remote = peer_registration();
    asked.op = op_new(&hostile_target);
    ck_assert_int_eq((put ? hostile_target.ops->put : hostile_target.ops->get)(
                         hostile_target.ctx[0], asked.op, asked.local, PIECE,
                         asked.remote, PIECE, length, asked.peer, 0, 0),
        NA_PLUGIN_PENDING);
    asked.record = hostile_await_rma(&asked.hostile, &data);
    ck_assert_int_eq(asked.record.verb, put ? RMA_PUT : RMA_GET);
    return asked;
}

/* Frees what transfer created, except the peer and the classes. */
static void
finish(struct asked *asked)
{
    hostile_target.ops->mem_remote_free(hostile_target.cls, asked->remote);
    hostile_target.ops->mem_deregister(hostile_target.cls, asked->local);
    hostile_target.ops->addr_free(hostile_target.cls, asked->peer);
    free(asked->op);
}

static void
answer_get(
    struct asked *asked, uint64_t offset, uint32_t length, int32_t status)
{
    unsigned char data[2 * PIECE];
    struct rma_record answer = {.verb = RMA_DATA,
        .status = status,
        .number = asked->record.number,
        .offset = offset,
        .length = length};

    memset(data, 0xEE, sizeof(data));
    hostile_put_rma(&asked->hostile, &answer, data, length);
}

START_TEST(hostile_rma_valid_answer_is_accepted)
{
    struct asked asked = transfer(false, PIECE);

    ck_assert_uint_eq(asked.record.length, PIECE);
    answer_get(&asked, PIECE, PIECE, NA_PLUGIN_OK);
    ck_assert_int_eq(
        await_op(&hostile_target, 0, asked.op).status, NA_PLUGIN_OK);
    ck_filled(memory, PIECE, 0x11);
    ck_filled(memory + PIECE, PIECE, 0xEE);
    ck_filled(memory + 2 * PIECE, REGION - 2 * PIECE, 0x11);
    finish(&asked);
    hostile_close(&asked.hostile);
    close_both();
}
END_TEST

/* An answer with other bytes than requested; none of them is written. */
static void
wrong_answer(uint64_t offset, uint32_t length)
{
    struct asked asked = transfer(false, PIECE);

    answer_get(&asked, offset, length, NA_PLUGIN_OK);
    ck_assert_int_eq(await_op(&hostile_target, 0, asked.op).status,
        NA_PLUGIN_E_PROTOCOL_ERROR);
    ck_filled(memory, REGION, 0x11);
    finish(&asked);
    expect_broken(&asked.hostile);
}

START_TEST(hostile_rma_answer_too_long_ends_connection)
{
    wrong_answer(PIECE, PIECE + 1);
}
END_TEST

START_TEST(hostile_rma_answer_after_requested_range_ends_connection)
{
    wrong_answer(2 * PIECE, PIECE);
}
END_TEST

START_TEST(hostile_rma_answer_before_requested_range_ends_connection)
{
    wrong_answer(0, PIECE);
}
END_TEST

START_TEST(hostile_rma_answer_at_an_offset_that_wraps_ends_connection)
{
    wrong_answer(UINT64_MAX - PIECE, PIECE);
}
END_TEST

/* A status that peers may send is passed on; any other number is a protocol
 * error. */
START_TEST(hostile_rma_unknown_status_of_a_get_is_a_protocol_error)
{
    static const int32_t given[] = {NA_PLUGIN_E_PERMISSION,
        NA_PLUGIN_E_INVALID_ARG, NA_PLUGIN_DONE, 12345, INT32_MIN};
    static const int32_t wanted[] = {NA_PLUGIN_E_PERMISSION,
        NA_PLUGIN_E_INVALID_ARG, NA_PLUGIN_E_PROTOCOL_ERROR,
        NA_PLUGIN_E_PROTOCOL_ERROR, NA_PLUGIN_E_PROTOCOL_ERROR};

    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        struct asked asked = transfer(false, PIECE);

        answer_get(&asked, PIECE, 0, given[i]);
        ck_assert_int_eq(
            await_op(&hostile_target, 0, asked.op).status, wanted[i]);
        ck_filled(memory, REGION, 0x11);
        finish(&asked);
        hostile_close(&asked.hostile);
        close_both();
    }
}
END_TEST

/* A put that was not sent completely has not ended, whatever the peer sends. */
START_TEST(hostile_rma_early_end_of_a_put_is_ignored)
{
    struct asked asked = transfer(true, UINT64_C(1) << 19);
    const struct rma_record done = {
        .verb = RMA_DONE, .number = asked.record.number};

    hostile_put_rma(&asked.hostile, &done, NULL, 0);
    expect_silence(&hostile_target, 0, 20);
    hostile_close(&asked.hostile);
    ck_assert_int_lt(
        await_op(&hostile_target, 0, asked.op).status, NA_PLUGIN_OK);
    finish(&asked);
    close_both();
}
END_TEST

int
main(void)
{
    TCase *requests = tcase_create("requests");
    TCase *answers = tcase_create("answers");

    tcase_add_test(requests,
        hostile_rma_put_with_less_data_than_announced_ends_connection);
    tcase_add_test(requests,
        hostile_rma_put_with_more_data_than_announced_ends_connection);
    tcase_add_test(requests, hostile_rma_get_of_no_bytes_ends_connection);
    tcase_add_test(
        requests, hostile_rma_get_longer_than_an_answer_ends_connection);
    tcase_add_test(requests, hostile_rma_get_of_four_gib_ends_connection);
    tcase_add_test(
        requests, hostile_rma_record_of_unknown_kind_ends_connection);
    tcase_add_test(requests, hostile_rma_record_too_short_ends_connection);
    tcase_add_test(
        requests, hostile_rma_too_many_pending_requests_end_connection);
    tcase_add_test(
        requests, hostile_rma_with_registration_of_another_class_is_refused);
    tcase_add_test(requests, hostile_rma_put_out_of_range_is_answered_at_once);
    tcase_add_test(
        requests, hostile_rma_unaligned_fragments_write_only_their_bytes);
    tcase_add_test(answers, hostile_rma_data_without_a_get_ends_connection);
    tcase_add_test(answers, hostile_rma_end_of_no_put_is_ignored);
    tcase_add_test(answers, hostile_rma_valid_answer_is_accepted);
    tcase_add_test(answers, hostile_rma_answer_too_long_ends_connection);
    tcase_add_test(
        answers, hostile_rma_answer_after_requested_range_ends_connection);
    tcase_add_test(
        answers, hostile_rma_answer_before_requested_range_ends_connection);
    tcase_add_test(
        answers, hostile_rma_answer_at_an_offset_that_wraps_ends_connection);
    tcase_add_test(
        answers, hostile_rma_unknown_status_of_a_get_is_a_protocol_error);
    tcase_add_test(answers, hostile_rma_early_end_of_a_put_is_ignored);
    return run_cases("hostile_rma", (TCase *const[]){requests, answers}, 2);
}
