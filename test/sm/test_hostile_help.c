/* SPDX-License-Identifier: BSD-3-Clause */
/* A neighbour that asks for copies, or answers when it is asked for them, as
 * nobody does: it loses its connection, and writes nothing but what was asked
 * for. */
#include <stdlib.h>
#include <string.h>

#include "foe.h"

#define REGION 4096U
#define WANTED 64U
#define MOST 64U /* answers that may wait for room */

static na_plugin_mem *
register_region(void *base, uint64_t length, uint32_t access)
{
    na_plugin_segment segment = {.base = base, .length = length};
    na_plugin_mem *mem;

    ck_assert_int_eq(foe_target.ops->mem_register(foe_target.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, access, 0, 0},
                         &mem),
        NA_PLUGIN_OK);
    return mem;
}

static uint64_t
key_of(const na_plugin_mem *mem)
{
    unsigned char bytes[256];
    uint64_t size = sizeof(bytes), key;

    ck_assert_int_eq(
        foe_target.ops->mem_serialize(foe_target.cls, mem, bytes, &size),
        NA_PLUGIN_OK);
    memcpy(&key, bytes + 16, sizeof(key));
    return key;
}

static void
expect_broken(struct foe *foe)
{
    expect_hangup(foe->socket);
    ck_assert_uint_eq(node_warnings(&foe_target), 1);
    ck_assert_uint_eq(node_counter(&foe_target, "connections_broken"), 1);
    foe_close(foe);
    check_friend();
    close_both();
}

START_TEST(hostile_put_of_another_length_ends_connection)
{
    static unsigned char memory[REGION];
    static const unsigned char data[WANTED] = {0xEE};

    open_both();
    na_plugin_mem *mem = register_region(memory, REGION, NA_PLUGIN_MEM_WRITE);
    struct foe foe = foe_open(&foe_target);
    foe_meet(&foe);
    const struct help help = {
        .verb = HELP_PUT, .mem = key_of(mem), .length = 2 * WANTED};
    foe_ask(&foe, &help, data, WANTED);
    expect_hangup(foe.socket);
    for (uint32_t i = 0; i < REGION; i++)
        ck_assert_uint_eq(memory[i], 0);
    foe_target.ops->mem_deregister(foe_target.cls, mem);
    expect_broken(&foe);
}
END_TEST

START_TEST(hostile_requests_beyond_what_may_wait_end_connection)
{
    static unsigned char memory[REGION];

    open_both();
    na_plugin_mem *mem = register_region(memory, REGION, NA_PLUGIN_MEM_READ);
    struct foe foe = foe_open(&foe_target);
    foe_meet(&foe);
    const struct help help = {
        .verb = HELP_GET, .mem = key_of(mem), .length = REGION / 2};
    /* what has room in its ring, and as many as may wait, are answered later */
    uint32_t room = CAPACITY / (REGION / 2);
    for (uint32_t i = 0; i < room + MOST + 2; i++)
        foe_ask(&foe, &help, NULL, 0);
    expect_hangup(foe.socket);
    foe_target.ops->mem_deregister(foe_target.cls, mem);
    expect_broken(&foe);
}
END_TEST

START_TEST(hostile_answer_that_nobody_asked_for_ends_connection)
{
    static const unsigned char data[WANTED] = {0xEE};
    const struct help help = {.verb = HELP_DATA, .length = WANTED};

    open_both();
    struct foe foe = foe_open(&foe_target);
    foe_meet(&foe);
    foe_ask(&foe, &help, data, WANTED);
    expect_broken(&foe);
}
END_TEST

/* A registration of who said this hello: readable, without a place in a
 * registry. */
static na_plugin_mem *
described(const struct hello *hello)
{
    unsigned char bytes[40] = {2, NA_PLUGIN_MEM_READ, 1};
    const uint64_t rest[4] = {hello->owner, 7, 0x10000, REGION};
    na_plugin_mem *mem;

    memcpy(bytes + 8, rest, sizeof(rest));
    ck_assert_int_eq(foe_target.ops->mem_deserialize(
                         foe_target.cls, bytes, sizeof(bytes), &mem),
        NA_PLUGIN_OK);
    return mem;
}

/* The answer to a get of WANTED bytes; what the get ends with. */
static void
answer_get(uint64_t offset, uint32_t length, int32_t status)
{
    unsigned char data[2 * WANTED];
    unsigned char memory[4 * WANTED] = {0};
    const unsigned char *asked;
    char buffer[64];

    memset(data, 0xEE, sizeof(data));
    open_both();
    struct hello hello = good_hello();
    hello.flags |= HELLO_HELPS;
    struct foe foe = foe_open_as(&foe_target, &hello);
    foe_meet(&foe);
    void *recv = post_unexpected(&foe_target, buffer, sizeof(buffer));
    put_word(foe.ring, 0, UNEXPECTED, 0, 6, 9);
    foe.position = 64;
    na_plugin_event event = await_message(&foe_target, 0, recv, 6, 9, true);
    na_plugin_mem *local =
        register_region(memory, sizeof(memory), NA_PLUGIN_MEM_WRITE);
    na_plugin_mem *remote = described(&hello);
    void *op = op_new(&foe_target);
    ck_assert_int_eq(foe_target.ops->get(foe_target.ctx[0], op, local, WANTED,
                         remote, 0, WANTED, event.source, 0, 0),
        NA_PLUGIN_PENDING);

    struct help help = foe_hear(&foe, &asked);
    ck_assert_int_eq(help.verb, HELP_GET);
    ck_assert_uint_eq(help.length, WANTED);
    help.verb = HELP_DATA;
    help.offset = offset;
    help.length = length;
    foe_ask(&foe, &help, data, length);
    ck_assert_int_eq(await_op(&foe_target, 0, op).status, status);
    for (uint32_t i = 0; i < sizeof(memory); i++)
        ck_assert_uint_eq(
            memory[i], status == NA_PLUGIN_OK && i / WANTED == 1 ? 0xEE : 0);
    foe_target.ops->mem_remote_free(foe_target.cls, remote);
    foe_target.ops->mem_deregister(foe_target.cls, local);
    foe_target.ops->addr_free(foe_target.cls, event.source);
    free(op);
    free(recv);
    if (status == NA_PLUGIN_OK) {
        foe_close(&foe);
        close_both();
    } else {
        expect_broken(&foe);
    }
}

START_TEST(good_answer_to_a_get_is_taken)
{
    answer_get(0, WANTED, NA_PLUGIN_OK);
}
END_TEST

START_TEST(hostile_answer_that_is_too_long_ends_connection)
{
    answer_get(0, 2 * WANTED, NA_PLUGIN_E_PROTOCOL_ERROR);
}
END_TEST

START_TEST(hostile_answer_behind_what_was_asked_ends_connection)
{
    answer_get(WANTED, WANTED, NA_PLUGIN_E_PROTOCOL_ERROR);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("hostile_help");
    tcase_add_test(cases, hostile_put_of_another_length_ends_connection);
    tcase_add_test(cases, hostile_requests_beyond_what_may_wait_end_connection);
    tcase_add_test(cases, hostile_answer_that_nobody_asked_for_ends_connection);
    tcase_add_test(cases, good_answer_to_a_get_is_taken);
    tcase_add_test(cases, hostile_answer_that_is_too_long_ends_connection);
    tcase_add_test(cases, hostile_answer_behind_what_was_asked_ends_connection);
    return run_cases("hostile_help", &cases, 1);
}
