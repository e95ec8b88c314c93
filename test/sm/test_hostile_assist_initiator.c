/* SPDX-License-Identifier: BSD-3-Clause */
/* A hostile peer is the initiator of large gets and puts, and asks the class, which
 * owns the memory, to copy a share: it reads and writes nothing that was not
 * granted. */
#include <string.h>

#include "hostile_range.h"
#include "registration.h"

#define MOST (64U * PIECE)
#define POLLS 1000U

struct place {
    uint64_t to;
    uint64_t marks;
};

static uint64_t marks[64];

static uint64_t
key_of(const na_plugin_mem *mem)
{
    const struct form form = form_of(&hostile_target, mem);
    uint64_t key;

    memcpy(&key, form.bytes + 16, sizeof(key));
    return key;
}

/* Asks the class to help with a get, or a put from the same place; polls. */
static void
ask(struct hostile_peer *hostile, uint8_t verb, uint32_t number, uint64_t key,
    uint64_t offset, uint32_t length, uint64_t claimed)
{
    const struct place place = {
        (uintptr_t) range_destination, (uintptr_t) marks};
    const struct rma_record record = {.verb = verb,
        .number = number,
        .mem = key,
        .offset = offset,
        .length = length};
    na_plugin_event event;

    *word_at(hostile->ring, CLAIM) = claimed;
    hostile_put_rma(hostile, &record, &place, sizeof(place));
    /* pump would yield to other programs each time */
    for (uint32_t i = 0; i < POLLS; i++)
        if (hostile_target.ops->poll(hostile_target.ctx[0], &event, 1) != 0)
            ck_abort_msg("an event without an operation");
}

/* The class's registration of its memory, and a peer that is the initiator. */
struct granted {
    na_plugin_mem *mem;
    struct hostile_peer hostile;
};

static struct granted
grant(uint32_t access)
{
    struct granted granted;

    open_both();
    allocate_range();
    memset(marks, 0, sizeof(marks));
    granted.mem =
        register_region(&hostile_target, range_source, LENGTH, access);
    granted.hostile = hostile_open(&hostile_target);
    hostile_await_answer(&granted.hostile);
    return granted;
}

static void
end_grant(struct granted *granted)
{
    hostile_target.ops->mem_deregister(hostile_target.cls, granted->mem);
    hostile_close(&granted->hostile);
    close_both();
}

START_TEST(hostile_assist_initiator_gets_what_is_granted)
{
    struct granted granted = grant(NA_PLUGIN_MEM_READ);
    /* the initiator has taken one piece, and the last */
    ask(&granted.hostile, RMA_ASSIST, 5, key_of(granted.mem), 0, LENGTH,
        claim(5, 1, 3));
    ck_assert_uint_eq(count_pieces(range_destination, 0x77), 2);
    ck_assert_uint_eq(range_destination[0], 0x11);
    ck_assert_uint_eq(range_destination[LENGTH - 1], 0x11);
    ck_assert_uint_eq(*word_at(granted.hostile.ring, CLAIM), claim(5, 1, 1));
    ck_assert_uint_eq(*word_at(granted.hostile.ring, DECLINED), 0);
    ck_assert_uint_eq(marks[1], UINT64_C(5) << 32 | 2);
    ck_assert_uint_eq(marks[2], UINT64_C(5) << 32 | 3);
    ck_assert_uint_eq(marks[0] | marks[3], 0);
    end_grant(&granted);
}
END_TEST

START_TEST(hostile_assist_initiator_puts_what_is_granted)
{
    struct granted granted = grant(NA_PLUGIN_MEM_WRITE);
    ask(&granted.hostile, RMA_ASSIST_PUT, 5, key_of(granted.mem), 0, LENGTH,
        claim(5, 1, 3));
    ck_assert_uint_eq(count_pieces(range_source, 0x11), 2);
    ck_assert_uint_eq(range_source[PIECE], 0x11);
    ck_assert_uint_eq(range_source[2 * PIECE], 0x11);
    ck_assert_uint_eq(count_pieces(range_destination, 0x11), PIECES);
    ck_assert_uint_eq(*word_at(granted.hostile.ring, CLAIM), claim(5, 1, 1));
    ck_assert_uint_eq(*word_at(granted.hostile.ring, DECLINED), 0);
    ck_assert_uint_eq(*word_at(granted.hostile.ring, COPIED), 6);
    end_grant(&granted);
}
END_TEST

/* Into a registration without the right, into none, beyond its end, or from where
 * nothing is mapped. */
START_TEST(hostile_assist_initiator_puts_nothing_else)
{
    struct granted granted =
        grant(_i == 0 ? NA_PLUGIN_MEM_READ : NA_PLUGIN_MEM_WRITE);
    uint64_t offset = _i == 2 ? 1 : _i == 3 ? UINT64_MAX - PIECE : 0;
    unsigned char *kept = range_destination;
    if (_i == 4)
        range_destination = (unsigned char *) (uintptr_t) 4096;
    ask(&granted.hostile, RMA_ASSIST_PUT, 5, key_of(granted.mem) ^ (_i == 1),
        offset, LENGTH, claim(5, 0, PIECES));
    range_destination = kept;
    ck_assert_uint_eq(count_pieces(range_source, 0x77), PIECES);
    ck_assert_uint_eq(*word_at(granted.hostile.ring, DECLINED), 5);
    ck_assert_uint_eq(*word_at(granted.hostile.ring, COPIED), 0);
    check_friend();
    end_grant(&granted);
}
END_TEST

/* Of a registration without the right, of none, or beyond its end. */
START_TEST(hostile_assist_initiator_gets_nothing_else)
{
    struct granted granted =
        grant(_i == 0 ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ);
    uint64_t offset = _i == 2 ? 1 : _i == 3 ? UINT64_MAX - PIECE : 0;
    ask(&granted.hostile, RMA_ASSIST, 5, key_of(granted.mem) ^ (_i == 1),
        offset, LENGTH, claim(5, 0, PIECES));
    ck_assert_uint_eq(count_pieces(range_destination, 0x77), 0);
    ck_assert_uint_eq(*word_at(granted.hostile.ring, DECLINED), 5);
    check_friend();
    end_grant(&granted);
}
END_TEST

START_TEST(hostile_assist_initiator_with_an_invalid_claim_gets_nothing)
{
    static const uint64_t claims[] = {0, (uint64_t) 6 << 32 | 4,
        (uint64_t) 5 << 32 | (PIECES + 1), (uint64_t) 5 << 32 | 0xFFFF,
        (uint64_t) 5 << 32 | 4 << 16 | 4, (uint64_t) 5 << 32 | 5 << 16 | 4};

    struct granted granted = grant(NA_PLUGIN_MEM_READ);
    ask(&granted.hostile, RMA_ASSIST, 5, key_of(granted.mem), 0, LENGTH,
        claims[_i]);
    ck_assert_uint_eq(count_pieces(range_destination, 0x77), 0);
    ck_assert_uint_eq(*word_at(granted.hostile.ring, CLAIM), claims[_i]);
    end_grant(&granted);
}
END_TEST

/* Nothing is mapped there. */
START_TEST(hostile_assist_initiator_with_an_invalid_address_is_declined)
{
    struct granted granted = grant(NA_PLUGIN_MEM_READ);
    unsigned char *kept = range_destination;
    range_destination = (unsigned char *) (uintptr_t) 4096;
    ask(&granted.hostile, RMA_ASSIST, 5, key_of(granted.mem), 0, LENGTH,
        claim(5, 0, PIECES));
    range_destination = kept;
    ck_assert_uint_eq(*word_at(granted.hostile.ring, DECLINED), 5);
    end_grant(&granted);
}
END_TEST

START_TEST(hostile_assist_of_invalid_length_ends_connection)
{
    static const uint32_t lengths[] = {0, MOST + 1, UINT32_MAX};
    static const unsigned char data[16];
    struct rma_record record = {
        .verb = RMA_ASSIST, .number = 1, .length = LENGTH};

    open_both();
    struct hostile_peer hostile = hostile_open(&hostile_target);
    hostile_await_answer(&hostile);
    if (_i < 3)
        record.length = lengths[_i];
    hostile_put_rma(&hostile, &record, data, _i == 3 ? 15 : 16);
    expect_hangup(hostile.socket);
    ck_assert_uint_eq(node_warnings(&hostile_target), 1);
    hostile_close(&hostile);
    check_friend();
    close_both();
}
END_TEST

int
main(void)
{
    if (!kernel_copies())
        return 77;
    TCase *cases = tcase_create("initiator");
    tcase_add_test(cases, hostile_assist_initiator_gets_what_is_granted);
    tcase_add_test(cases, hostile_assist_initiator_puts_what_is_granted);
    tcase_add_loop_test(
        cases, hostile_assist_initiator_gets_nothing_else, 0, 4);
    tcase_add_loop_test(
        cases, hostile_assist_initiator_puts_nothing_else, 0, 5);
    tcase_add_loop_test(cases,
        hostile_assist_initiator_with_an_invalid_claim_gets_nothing, 0, 6);
    tcase_add_test(
        cases, hostile_assist_initiator_with_an_invalid_address_is_declined);
    tcase_add_loop_test(
        cases, hostile_assist_of_invalid_length_ends_connection, 0, 4);
    return run_cases("hostile_assist_initiator", &cases, 1);
}
