/* SPDX-License-Identifier: BSD-3-Clause */
/* A hostile peer owns the memory of large gets and puts, and is asked to copy a
 * share: it makes no get end with bytes that were not copied, and none that has
 * ended be written. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hostile_range.h"

/* A get with which the peer has been asked to help. */
static void *
begin(struct range_owner *owner)
{
    open_range_owner(owner, HELLO_ASSISTS);
    return submit_range(owner, false, 0, LENGTH);
}

static void
finish(struct range_owner *owner, void *op)
{
    free_range_owner(owner);
    free(op);
}

/* The peer has not taken anything: the class copies alone. */
START_TEST(hostile_assist_owner_that_does_nothing)
{
    struct range_owner owner;

    open_both();
    allocate_range();
    void *op = begin(&owner);
    ck_assert_int_eq(await_op(&hostile_target, 0, op).status, NA_PLUGIN_OK);
    ck_assert_uint_eq(count_pieces(range_destination, 0x77), PIECES);
    finish(&owner, op);
    hostile_close(&owner.hostile);
    close_both();
}
END_TEST

/* A put to a peer that helps with gets alone, or that does not do what it offers:
 * the class copies alone. */
START_TEST(hostile_assist_owner_that_does_nothing_for_a_put)
{
    struct range_owner owner;

    open_both();
    allocate_range();
    open_range_owner(&owner, _i == 0 ? HELLO_ASSISTS : HELLO_ASSISTS_PUTS);
    void *op = submit_range(&owner, true, 0, LENGTH);
    pump();
    ck_assert_uint_eq(*word_at(owner.hostile.theirs, CLAIM) != 0, _i != 0);
    ck_assert_int_eq(await_op(&hostile_target, 0, op).status, NA_PLUGIN_OK);
    ck_assert_uint_eq(count_pieces(range_source, 0x11), PIECES);
    finish(&owner, op);
    hostile_close(&owner.hostile);
    close_both();
}
END_TEST

/* It overwrites the claim word while the class copies. Whatever it writes, a get
 * that succeeds has all bytes, and one that the peer keeps from ending ends with
 * its connection. */
START_TEST(hostile_assist_owner_that_overwrites_the_claim)
{
    struct range_owner owner;

    open_both();
    allocate_range();
    void *op = begin(&owner);
    _Atomic uint64_t *theirs = word_at(owner.hostile.theirs, CLAIM);
    na_plugin_event event = {.op = NULL};
    for (uint32_t i = 0; i < 50 && event.op == NULL; i++) {
        uint64_t now = *theirs;
        uint32_t number = (uint32_t) (now >> 32);
        switch (_i) {
        case 0:
            *theirs = claim(number, 0, 1);
            break;
        case 1:
            *theirs = claim(number, 3, 2);
            break;
        case 2:
            *theirs = claim(number + 1, 0, 4);
            break;
        case 3:
            *theirs = UINT64_MAX;
            break;
        case 4:
            *theirs = 0;
            break;
        default:
            *word_at(owner.hostile.theirs, DECLINED) = number;
            break;
        }
        if (hostile_target.ops->poll(hostile_target.ctx[0], &event, 1) != 1)
            event.op = NULL;
    }
    if (event.op == NULL) {
        hostile_close(&owner.hostile);
        event = await_op(&hostile_target, 0, op);
        ck_assert_int_ne(event.status, NA_PLUGIN_OK);
    } else {
        ck_assert_ptr_eq(event.op, op);
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        hostile_close(&owner.hostile);
    }
    if (event.status == NA_PLUGIN_OK)
        ck_assert_uint_eq(count_pieces(range_destination, 0x77), PIECES);
    check_friend();
    finish(&owner, op);
    close_both();
}
END_TEST

/* It takes a piece and copies nothing: the get or put waits, also when it is
 * cancelled, as the piece may still be copied, until the peer has declined or
 * ended. */
START_TEST(hostile_assist_owner_that_takes_a_piece_and_waits)
{
    struct range_owner owner;
    bool cancelled = _i % 4 >= 2;
    bool put = _i >= 4;

    open_both();
    allocate_range();
    open_range_owner(&owner, put ? HELLO_ASSISTS_PUTS : HELLO_ASSISTS);
    void *op = submit_range(&owner, put, 0, LENGTH);
    _Atomic uint64_t *theirs = word_at(owner.hostile.theirs, CLAIM);
    na_plugin_event event;
    while (*theirs == 0)
        ck_assert_int_eq(
            hostile_target.ops->poll(hostile_target.ctx[0], &event, 1), 0);
    uint64_t now = *theirs;
    *theirs = now - 1;
    if (cancelled)
        hostile_target.ops->cancel(hostile_target.ctx[0], op);
    expect_silence(&hostile_target, 0, 50);
    if (_i % 2 == 0)
        *word_at(owner.hostile.theirs, DECLINED) = now >> 32;
    else
        hostile_close(&owner.hostile);
    event = await_op(&hostile_target, 0, op);
    if (cancelled) {
        ck_assert_int_eq(event.status, NA_PLUGIN_E_CANCELED);
    } else if (_i % 2 == 0) {
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        ck_assert_uint_eq(put ? count_pieces(range_source, 0x11)
                              : count_pieces(range_destination, 0x77),
            PIECES);
    } else {
        ck_assert_int_eq(event.status, NA_PLUGIN_E_HOSTUNREACH);
    }
    if (_i % 2 == 0)
        hostile_close(&owner.hostile);
    finish(&owner, op);
    close_both();
}
END_TEST

/* The next operation to end, after a number of polls, is this one. */
static void
expect_end(const void *op)
{
    na_plugin_event event;

    while (hostile_target.ops->poll(hostile_target.ctx[0], &event, 1) != 1)
        ;
    ck_assert_ptr_eq(event.op, op);
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
}

/* It takes a piece and is slow to copy it: the next get goes on meanwhile, and the
 * one it delays ends before those behind, so that one of them can be helped with. */
START_TEST(hostile_assist_owner_that_is_slow_delays_one_get)
{
    struct range_owner owner;
    na_plugin_event event = {.op = NULL};

    open_both();
    allocate_range();
    void *op = begin(&owner);
    /* of the same bytes */
    void *second = submit_range(&owner, false, 0, LENGTH);
    void *third = submit_range(&owner, false, 0, LENGTH);
    _Atomic uint64_t *theirs = word_at(owner.hostile.theirs, CLAIM);
    while (*theirs == 0)
        ck_assert_int_eq(
            hostile_target.ops->poll(hostile_target.ctx[0], &event, 1), 0);
    uint64_t now = *theirs;
    *theirs = now - 1;
    expect_end(second);
    ck_assert_uint_eq(count_pieces(range_destination, 0x77), PIECES);
    /* the piece taken */
    memset(range_destination + LENGTH - PIECE, 0x11, PIECE);
    *word_at(owner.hostile.theirs, DECLINED) = now >> 32;
    expect_end(op);
    /* by the first get: the third has not come so far */
    ck_assert_uint_eq(count_pieces(range_destination, 0x77), PIECES);
    expect_end(third);
    free(second);
    free(third);
    finish(&owner, op);
    hostile_close(&owner.hostile);
    close_both();
}
END_TEST

/* While a piece may be written its context is not destroyed. Beside it, in a
 * thread, the peer hangs up, as it does after its last access. */
static _Atomic bool hung_up;

static void *
hang_up_later(void *arg)
{
    const struct timespec pause = {.tv_nsec = 200000000};

    nanosleep(&pause, NULL);
    atomic_store(&hung_up, true);
    hostile_close(arg);
    return NULL;
}

START_TEST(hostile_assist_context_is_destroyed_after_the_last_access)
{
    struct range_owner owner;
    pthread_t thread;

    open_both();
    allocate_range();
    void *op = begin(&owner);
    _Atomic uint64_t *theirs = word_at(owner.hostile.theirs, CLAIM);
    na_plugin_event event;
    while (*theirs == 0)
        ck_assert_int_eq(
            hostile_target.ops->poll(hostile_target.ctx[0], &event, 1), 0);
    *theirs = *theirs - 1;
    if (_i == 1) /* the connection ends, and the peer takes no notice yet */
        hostile_target.ops->addr_forget(hostile_target.cls, owner.peer);
    ck_assert_int_eq(
        pthread_create(&thread, NULL, hang_up_later, &owner.hostile), 0);
    hostile_target.ops->ctx_destroy(hostile_target.ctx[0]);
    ck_assert(atomic_load(&hung_up));
    pthread_join(thread, NULL);
    finish(&owner, op);
    ck_assert_int_eq(hostile_target.ops->ctx_create(hostile_target.cls, 0,
                         &hostile_target, &hostile_target.ctx[0]),
        NA_PLUGIN_OK);
    close_both();
}
END_TEST

/* Marks that one peer has left must not pass for another's. */
START_TEST(hostile_assist_ranges_of_two_peers_differ)
{
    uint32_t numbers[2];

    open_both();
    for (uint32_t i = 0; i < 2; i++) {
        struct range_owner owner;
        allocate_range();
        void *op = begin(&owner);
        _Atomic uint64_t *theirs = word_at(owner.hostile.theirs, CLAIM);
        na_plugin_event event;
        while (*theirs == 0)
            ck_assert_int_eq(
                hostile_target.ops->poll(hostile_target.ctx[0], &event, 1), 0);
        numbers[i] = (uint32_t) (*theirs >> 32);
        ck_assert_int_eq(await_op(&hostile_target, 0, op).status, NA_PLUGIN_OK);
        finish(&owner, op);
        hostile_close(&owner.hostile);
        free(range_source);
        free(range_destination);
    }
    ck_assert_uint_ne(numbers[0], numbers[1]);
    close_both();
}
END_TEST

int
main(void)
{
    if (!kernel_copies())
        return 77;
    TCase *cases = tcase_create("owner");
    tcase_add_test(cases, hostile_assist_owner_that_does_nothing);
    tcase_add_loop_test(
        cases, hostile_assist_owner_that_overwrites_the_claim, 0, 6);
    tcase_add_loop_test(
        cases, hostile_assist_owner_that_takes_a_piece_and_waits, 0, 8);
    tcase_add_test(cases, hostile_assist_owner_that_is_slow_delays_one_get);
    tcase_add_loop_test(
        cases, hostile_assist_owner_that_does_nothing_for_a_put, 0, 2);
    tcase_add_loop_test(
        cases, hostile_assist_context_is_destroyed_after_the_last_access, 0, 2);
    tcase_add_test(cases, hostile_assist_ranges_of_two_peers_differ);
    return run_cases("hostile_assist_owner", &cases, 1);
}
