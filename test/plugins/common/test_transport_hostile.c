/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport over frames, against peers that break the protocol, or send
 * nothing. */
#include <stdlib.h>
#include <string.h>

#include "common/match.h"
#include "pipe.h"
#include "runner.h"

#define SIZE 5000U

static na_plugin_class *cls;
static unsigned char bytes[SIZE];
static na_plugin_mem *mem;
static uint64_t key;

static void
begin(void)
{
    na_plugin_segment segment = {bytes, SIZE};
    const na_plugin_mem_info info = {.size = sizeof(info),
        .segments = &segment,
        .count = 1,
        .access = NA_PLUGIN_MEM_READ};
    unsigned char serialized[100];
    uint64_t size = sizeof(serialized);

    cls = pipe_open(1, 0);
    memset(bytes, 0x77, SIZE);
    ck_assert_int_eq(pipe_ops->mem_register(cls, &info, &mem), NA_PLUGIN_OK);
    ck_assert_int_eq(
        pipe_ops->mem_serialize(cls, mem, serialized, &size), NA_PLUGIN_OK);
    key = tp_unpack(serialized + 16, 8);
    pipe_warnings = 0;
}

static void
end(void)
{
    for (uint32_t i = 0; i < SIZE; i++)
        ck_assert_uint_eq(bytes[i], 0x77);
    pipe_ops->mem_deregister(cls, mem);
    pipe_close(cls);
}

/* Frames that a peer must not send after its hello. */
static const struct tp_frame malformed[] = {
    {.kind = 0},
    {.kind = TP_FRAME_HELLO},
    {.kind = TP_FRAME_ANSWER + 1},
    {.kind = 255},
    {.kind = TP_FRAME_UNEXPECTED, .length = PIPE_MESSAGE + 1},
    {.kind = TP_FRAME_EXPECTED, .length = PIPE_MESSAGE + 1},
    {.kind = TP_FRAME_UNEXPECTED, .length = UINT32_MAX},
    {.kind = TP_FRAME_CREDIT, .length = 1},
    {.kind = TP_FRAME_PUT, .length = PIPE_FRAGMENT + 1},
    {.kind = TP_FRAME_GET, .tag = PIPE_FRAGMENT + 1},
    {.kind = TP_FRAME_GET, .tag = UINT32_MAX},
    {.kind = TP_FRAME_GET, .tag = 1, .length = 1},
    {.kind = TP_FRAME_ANSWER},
    {.kind = TP_FRAME_ANSWER, .request = TP_REQUESTS},
    {.kind = TP_FRAME_ANSWER, .request = 255, .status = 1},
};

START_TEST(malformed_frames_end_the_connection)
{
    static const unsigned char data[PIPE_FRAGMENT + 1];
    struct pipe *pipe = pipe_attacker(cls, 3);
    uint64_t number = pipe->base.keyed.key;

    ck_assert(pipe_is_there(cls, number));
    pipe_say(pipe, malformed[_i],
        malformed[_i].length <= sizeof(data) ? data : NULL);
    ck_assert(!pipe_is_there(cls, number));
    ck_assert_uint_eq(pipe_warnings, 1);
    ck_assert_str_eq(pipe_log, "malformed data from 3, connection closed");
}
END_TEST

START_TEST(nothing_is_taken_before_the_hello)
{
    static const unsigned char data[TP_HELLO + 1];
    static const struct tp_frame frames[] = {
        {.kind = TP_FRAME_UNEXPECTED, .length = 1},
        {.kind = TP_FRAME_GET, .tag = 1},
        {.kind = TP_FRAME_HELLO, .length = TP_HELLO},
        {.kind = TP_FRAME_HELLO, .length = TP_HELLO + 1}, /* no magic */
    };
    struct pipe *pipe = pipe_attacker(cls, 0);
    uint64_t number = pipe->base.keyed.key;

    pipe_say(pipe, frames[_i], data);
    ck_assert(!pipe_is_there(cls, number));
    ck_assert_str_eq(
        pipe_log, "malformed data from attacker, connection closed");
}
END_TEST

START_TEST(a_hello_that_names_nobody_is_refused)
{
    pipe_attacker(cls, 77);
    ck_assert_ptr_null(cls->base.channels.head);
    ck_assert_uint_eq(pipe_warnings, 1);
}
END_TEST

START_TEST(many_malformed_peers_are_few_log_lines)
{
    for (uint32_t i = 0; i < 100; i++)
        pipe_say(pipe_attacker(cls, 3), malformed[i % 4], NULL);
    ck_assert_uint_eq(pipe_warnings, 7); /* the 1st, 2nd, 4th … 64th */
    ck_assert_uint_eq(cls->base.malformed, 100);
}
END_TEST

/* The owner checks each fragment, whether or not the initiator has. */
START_TEST(accesses_are_checked_by_the_owner)
{
    const struct {
        struct tp_frame frame;
        int32_t status;
    } asked[] = {
        {{.kind = TP_FRAME_GET, .tag = 8, .key = key, .offset = SIZE - 8},
            NA_PLUGIN_OK},
        {{.kind = TP_FRAME_GET, .tag = 9, .key = key, .offset = SIZE - 8},
            NA_PLUGIN_E_INVALID_ARG},
        {{.kind = TP_FRAME_GET, .tag = 8, .key = key, .offset = UINT64_MAX - 3},
            NA_PLUGIN_E_INVALID_ARG},
        {{.kind = TP_FRAME_GET, .tag = 8, .key = key + 1},
            NA_PLUGIN_E_INVALID_ARG},
        {{.kind = TP_FRAME_PUT, .length = 8, .key = key},
            NA_PLUGIN_E_PERMISSION},
        {{.kind = TP_FRAME_PUT, .length = 8, .key = 0},
            NA_PLUGIN_E_INVALID_ARG},
    };
    struct pipe *pipe = pipe_attacker(cls, 3);
    struct tp_frame answer;

    for (uint32_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        struct tp_frame frame = asked[i].frame;
        frame.request = (uint8_t) (200 + i);
        pipe_say(pipe, frame, frame.length != 0 ? "abcdefgh" : NULL);
        ck_assert(pipe_hear(pipe, TP_FRAME_ANSWER, &answer));
        ck_assert_int_eq(answer.status, asked[i].status);
        ck_assert_uint_eq(answer.request, 200 + i);
        ck_assert_uint_eq(answer.length, i == 0 ? 8 : 0);
    }
    ck_assert_uint_eq(cls->base.refused, 5);
    ck_assert(pipe_is_there(cls, pipe->base.keyed.key));
}
END_TEST

/* Who asks and does not read must not fill the memory of the owner. */
START_TEST(unread_answers_are_limited)
{
    struct pipe *pipe = pipe_attacker(cls, 3);
    uint64_t number = pipe->base.keyed.key;
    const struct tp_frame ask = {
        .kind = TP_FRAME_GET, .tag = 8, .key = key, .request = 1};

    pipe_most = 0;
    for (uint32_t i = 0; i < TP_REQUESTS; i++)
        pipe_say(pipe, ask, NULL);
    ck_assert(pipe_is_there(cls, number));
    pipe_say(pipe, ask, NULL);
    ck_assert(!pipe_is_there(cls, number));
}
END_TEST

START_TEST(messages_beyond_the_credit_end_the_connection)
{
    static const char text[PIPE_MESSAGE];
    struct pipe *pipe = pipe_attacker(cls, 3);
    uint64_t number = pipe->base.keyed.key;
    const struct tp_frame message = {
        .kind = TP_FRAME_UNEXPECTED, .length = PIPE_MESSAGE};
    uint32_t sent = 0;

    while (pipe_is_there(cls, number) && sent < 100) {
        pipe_say(pipe, message, text);
        sent++;
    }
    ck_assert_uint_eq(sent, 5);
    ck_assert_uint_eq(cls->base.window, 4 * tp_match_cost(PIPE_MESSAGE));
}
END_TEST

/* Credit that was never used is not returned; contexts that do not exist get
 * nothing. */
START_TEST(odd_frames_do_no_harm)
{
    struct pipe *pipe = pipe_attacker(cls, 3);
    struct tp_frame credit;

    pipe_say(pipe,
        (struct tp_frame){.kind = TP_FRAME_CREDIT, .tag = UINT32_MAX}, NULL);
    ck_assert_uint_eq(pipe->base.used, 0);
    for (uint32_t i = 0; i < 100; i++)
        pipe_say(pipe,
            (struct tp_frame){
                .kind = TP_FRAME_UNEXPECTED, .to = 9, .length = 4},
            "text");
    ck_assert(pipe_is_there(cls, pipe->base.keyed.key));
    ck_assert(pipe_hear(pipe, TP_FRAME_CREDIT, &credit));
    ck_assert_uint_eq(cls->base.strayed, 100);
}
END_TEST

/* A get whose owner answers more, less, twice, or with an invalid status. */
START_TEST(wrong_answers_end_the_transfer)
{
    static const struct tp_frame answers[] = {
        {.kind = TP_FRAME_ANSWER, .length = 0},
        {.kind = TP_FRAME_ANSWER, .length = 101},
        {.kind = TP_FRAME_ANSWER, .length = 99},
        {.kind = TP_FRAME_ANSWER, .status = 1},
        {.kind = TP_FRAME_ANSWER, .status = -1000},
        {.kind = TP_FRAME_ANSWER, .status = NA_PLUGIN_E_FAULT, .length = 100},
        {.kind = TP_FRAME_ANSWER, .request = 1, .length = 100},
        {.kind = TP_FRAME_ANSWER, .status = NA_PLUGIN_E_PERMISSION},
    };
    static unsigned char here[100];
    na_plugin_segment segment = {here, sizeof(here)};
    const na_plugin_mem_info info = {.size = sizeof(info),
        .segments = &segment,
        .count = 1,
        .access = NA_PLUGIN_MEM_WRITE};
    unsigned char serialized[100];
    uint64_t size = sizeof(serialized);
    na_plugin_mem *local, *remote;
    void *op = pipe_op();
    struct pipe *pipe = pipe_attacker(cls, 3);
    na_plugin_addr *addr = pipe_addr(cls, 3);
    struct tp_frame asked;
    int32_t status = 0;

    memset(here, 0x44, sizeof(here));
    pipe_ops->mem_register(cls, &info, &local);
    pipe_ops->mem_serialize(cls, mem, serialized, &size);
    pipe_ops->mem_deserialize(cls, serialized, size, &remote);
    ck_assert_int_eq(
        pipe_ops->get(pipe_ctx(cls), op, local, 0, remote, 0, 100, addr, 0, 0),
        NA_PLUGIN_PENDING);
    ck_assert(pipe_hear(pipe, TP_FRAME_GET, &asked));
    ck_assert_uint_eq(asked.tag, 100);
    ck_assert_uint_eq(asked.request, 0);
    pipe_say(pipe, answers[_i], bytes);
    ck_assert(pipe_ended(op, &status));
    ck_assert_int_eq(
        status, _i == 7 ? NA_PLUGIN_E_PERMISSION : NA_PLUGIN_E_PROTOCOL_ERROR);
    for (uint32_t i = 0; i < sizeof(here); i++)
        ck_assert_uint_eq(here[i], 0x44);
    pipe_ops->addr_free(cls, addr);
    pipe_ops->mem_remote_free(cls, remote);
    pipe_ops->mem_deregister(cls, local);
}
END_TEST

START_TEST(who_says_no_hello_is_disconnected_in_time)
{
    cls->base.connect_timeout = 0;
    struct pipe *pipe = pipe_attacker(cls, 0);
    uint64_t number = pipe->base.keyed.key;

    pipe_run();
    ck_assert(!pipe_is_there(cls, number));
    ck_assert_str_eq(pipe_log, "attacker does not answer");
    ck_assert_uint_eq(cls->base.silent, 1);
}
END_TEST

/* Random bytes, many times: whatever they are, nothing is touched that is not
 * the peer's to touch. */
START_TEST(random_frames_are_survived)
{
    static unsigned char noise[PIPE_FRAGMENT];

    srand(_i);
    for (uint32_t i = 0; i < 300; i++) {
        struct pipe *pipe = pipe_attacker(cls, 3);
        uint64_t number = pipe->base.keyed.key;
        for (int j = 0; j < 8 && pipe_is_there(cls, number); j++) {
            struct tp_frame frame = {.kind = (uint8_t) (rand() % 9),
                .length = (uint32_t) rand() % 1100,
                .to = (uint8_t) (rand() % 3),
                .request = (uint8_t) (rand() % 20),
                .tag = (uint32_t) rand() % 1100,
                .status = rand() % 40 - 35,
                .key = rand() % 2 != 0 ? key : (uint64_t) rand(),
                .offset = (uint64_t) rand() % (2 * SIZE)};
            frame.length = rand() % 3 != 0 ? 0 : frame.length;
            pipe_say(pipe, frame, frame.length <= sizeof(noise) ? noise : NULL);
        }
        if (pipe_is_there(cls, number))
            tp_channel_end(&pipe->base, NA_PLUGIN_E_HOSTUNREACH);
    }
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("hostile");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_loop_test(cases, malformed_frames_end_the_connection, 0,
        sizeof(malformed) / sizeof(malformed[0]));
    tcase_add_loop_test(cases, nothing_is_taken_before_the_hello, 0, 4);
    tcase_add_test(cases, a_hello_that_names_nobody_is_refused);
    tcase_add_test(cases, many_malformed_peers_are_few_log_lines);
    tcase_add_test(cases, accesses_are_checked_by_the_owner);
    tcase_add_test(cases, unread_answers_are_limited);
    tcase_add_test(cases, messages_beyond_the_credit_end_the_connection);
    tcase_add_test(cases, odd_frames_do_no_harm);
    tcase_add_loop_test(cases, wrong_answers_end_the_transfer, 0, 8);
    tcase_add_test(cases, who_says_no_hello_is_disconnected_in_time);
    tcase_add_loop_test(cases, random_frames_are_survived, 0, 5);
    return run_tcase("hostile", cases);
}
