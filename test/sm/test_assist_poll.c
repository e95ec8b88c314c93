/* SPDX-License-Identifier: BSD-3-Clause */
/* What one poll does for large puts and gets that the owner of the memory helps
 * with: it copies no more than its budget, whatever the owner has copied, and only
 * the first poll waits for the owner's last piece. The owner is a part of this
 * program, and does its share between polls. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hostile_range.h"

#define BUDGET ((uint64_t) 1 << 20) /* bytes that a poll copies */
#define STEP ((uint64_t) 4096) /* from one look at the memory to the next */
#define WAIT_NS 50000U         /* for the owner's last piece */
#define READING_NS 1000U
#define COUNT 3U      /* operations */
#define MOST_POLLS 64 /* more than the operations take */
#define VAIN 4U    /* ranges without help, until it is asked for less often: */
#define LESS 4U    /* once in so many slices of long operations, then twice, */
#define SELDOM 16U /* later in so many, as in so many short operations */

/* What the owner does once a poll has begun the first operation. */
enum help {
    NOTHING,
    SHARE,    /* copies pieces */
    LATE,     /* takes one, and copies it when all others are copied */
    DECLINES, /* takes one, and copies nothing */
    HELPS,
};

static struct range_owner owner;
static bool putting; /* else getting */
static unsigned char *from;
static unsigned char *to;

/* The clock of this program goes on when it is read, so that how long a poll waits
 * does not depend on the machine. */
static _Atomic uint64_t now_of_clock = UINT64_C(1000000000);

int
clock_gettime(clockid_t id, struct timespec *now)
{
    uint64_t ns = atomic_fetch_add(&now_of_clock, READING_NS);

    now->tv_sec = (time_t) (ns / 1000000000);
    now->tv_nsec = (long) (ns % 1000000000);
    return 0;
}

static void
begin(bool put)
{
    open_both();
    allocate_range();
    putting = put;
    from = put ? range_destination : range_source;
    to = put ? range_source : range_destination;
    open_range_owner(&owner, put ? HELLO_ASSISTS_PUTS : HELLO_ASSISTS);
}

static void
end(void)
{
    free_range_owner(&owner);
    hostile_close(&owner.hostile);
    close_both();
}

/* Pieces that the owner has taken, of a range at offset 0. */
struct share {
    uint32_t number; /* of the range */
    uint32_t first;
    uint32_t count;
    _Atomic uint64_t *marks; /* of a get: set for each piece that is copied */
};

/* The owner reads what it is asked, and takes the last pieces of the range. */
static struct share
take(uint32_t count)
{
    _Atomic uint64_t *word = word_at(owner.hostile.theirs, CLAIM);
    const unsigned char *data;
    uint64_t marks;

    ck_assert_uint_ne(*word, 0); /* else it would be polled for */
    struct rma_record record = hostile_await_rma(&owner.hostile, &data);
    ck_assert_uint_eq(record.verb, putting ? RMA_ASSIST_PUT : RMA_ASSIST);
    ck_assert_uint_eq(record.number, *word >> 32);
    memcpy(&marks, data + sizeof(marks), sizeof(marks));
    *word -= count;
    return (struct share){.number = (uint32_t) record.number,
        .first = *word & 0xFFFF,
        .count = count,
        .marks = (_Atomic uint64_t *) (uintptr_t) marks};
}

/* The owner copies them, and says so for each. */
static void
copy(const struct share *share)
{
    for (uint32_t i = share->first; i < share->first + share->count; i++) {
        memcpy(to + i * PIECE, from + i * PIECE, PIECE);
        if (putting)
            *word_at(owner.hostile.theirs, COPIED) |= UINT64_C(1) << i;
        else
            share->marks[i] = (uint64_t) share->number << 32 | (i + 1);
    }
}

static uint64_t
count_copied(void)
{
    uint64_t copied = 0;

    for (uint64_t at = 0; at < LENGTH; at += STEP)
        copied += to[at] == from[at] ? STEP : 0;
    return copied;
}

/* A poll that a message of the owner's arrives in; how many bytes it copies. */
static uint64_t
poll_with_message(void)
{
    uint64_t before = count_copied();

    put_word(owner.hostile.ring, owner.hostile.position, UNEXPECTED, 0, 6, 9);
    owner.hostile.position += 64;
    pump();
    return count_copied() - before;
}

/* Polls until so many operations have ended. No poll copies more than most bytes. */
static void
poll_until(uint32_t ended, uint64_t most)
{
    for (int i = 0; hostile_target.event_count[0] < ended; i++) {
        ck_assert_int_lt(i, MOST_POLLS);
        ck_assert_uint_le(poll_with_message(), most);
    }
}

/* Puts or gets, of which the owner helps with the first. If one of them is no
 * multiple of a piece, a poll may exceed the budget by a part of a piece. */
START_TEST(assist_poll_copies_no_more_than_its_budget)
{
    enum help help = (enum help)(_i % HELPS);
    bool odd = _i / HELPS % 2 != 0;
    uint64_t most = odd ? BUDGET + PIECE - 1 : BUDGET;
    const uint64_t at[COUNT] = {0, 10 * PIECE, 13 * PIECE};
    const uint64_t lengths[COUNT] = {
        10 * PIECE - (odd ? PIECE / 2 : 0), 3 * PIECE, 3 * PIECE};
    struct share share = {0};
    void *ops[COUNT];

    begin(_i / HELPS / 2 != 0);
    for (uint32_t i = 0; i < COUNT; i++)
        ops[i] = submit_range(&owner, putting, at[i], lengths[i]);
    ck_assert_uint_eq(poll_with_message(), BUDGET);
    if (help != NOTHING)
        share = take(help == SHARE ? 5 : 1);
    if (help == LATE) {
        poll_until(COUNT - 1, most);
        pump();
        ck_assert_uint_eq(hostile_target.event_count[0], COUNT - 1);
    }
    if (help == DECLINES)
        *word_at(owner.hostile.theirs, DECLINED) = share.number;
    else
        copy(&share);
    poll_until(COUNT, most);
    for (uint32_t i = 0; i < COUNT; i++) {
        ck_assert_int_eq(
            await_op(&hostile_target, 0, ops[i]).status, NA_PLUGIN_OK);
        ck_assert_mem_eq(to + at[i], from + at[i], lengths[i]);
        free(ops[i]);
    }
    end();
}
END_TEST

/* Of an operation whose last piece the owner is slow to copy: the context has
 * other things to do. */
START_TEST(assist_one_poll_waits_for_the_owner)
{
    na_plugin_event event;

    begin(_i != 0);
    for (uint32_t round = 0; round < 2; round++) {
        void *op = submit_range(&owner, putting, 0, LENGTH);
        uint32_t waited = 0;
        pump();
        struct share share = take(1);
        for (int i = 0; i < MOST_POLLS; i++) {
            uint64_t before = now_of_clock;
            ck_assert_int_eq(
                hostile_target.ops->poll(hostile_target.ctx[0], &event, 1), 0);
            waited += now_of_clock - before >= WAIT_NS;
        }
        ck_assert_uint_eq(waited, 1);
        copy(&share);
        ck_assert_int_eq(await_op(&hostile_target, 0, op).status, NA_PLUGIN_OK);
        free(op);
    }
    ck_assert_uint_eq(count_copied(), LENGTH);
    end();
}
END_TEST

/* A put or get that no poll of the owner's meets, to its end. */
static void
copy_alone(uint64_t length)
{
    void *op = submit_range(&owner, putting, 0, length);

    ck_assert_int_eq(await_op(&hostile_target, 0, op).status, NA_PLUGIN_OK);
    ck_assert_mem_eq(to, from, length);
    free(op);
}

/* An owner that does not help is asked less and less often. Once it has helped, it is
 * asked each time again. */
START_TEST(assist_is_seldom_asked_for_in_vain)
{
    const bool is_long = _i / 2 != 0;
    const uint64_t length = is_long ? 2 * PIECE : 2 * PIECE - 1;
    const uint32_t twice = is_long ? 3 * LESS : 2 * SELDOM;
    const uint32_t asked = VAIN + 2;

    begin(_i % 2 != 0);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < VAIN + twice; i++)
            copy_alone(length);
        for (uint32_t i = 0; i < SELDOM - 1; i++)
            copy_alone(2 * PIECE);
        void *op = submit_range(&owner, putting, 0, LENGTH);
        pump();
        uint32_t number =
            (uint32_t) (*word_at(owner.hostile.theirs, CLAIM) >> 32);
        ck_assert_uint_eq(number, (round + 1) * (asked + 1));
        for (uint32_t i = 1; i < number - round * (asked + 1); i++) {
            const unsigned char *data;
            hostile_await_rma(&owner.hostile, &data);
        }
        struct share share = take(1);
        copy(&share);
        ck_assert_int_eq(await_op(&hostile_target, 0, op).status, NA_PLUGIN_OK);
        free(op);
    }
    end();
}
END_TEST

int
main(void)
{
    if (!kernel_copies())
        return 77;
    TCase *cases = tcase_create("poll");
    tcase_add_loop_test(
        cases, assist_poll_copies_no_more_than_its_budget, 0, HELPS * 4);
    tcase_add_loop_test(cases, assist_one_poll_waits_for_the_owner, 0, 2);
    tcase_add_loop_test(cases, assist_is_seldom_asked_for_in_vain, 0, 4);
    return run_cases("assist_poll", &cases, 1);
}
