/* SPDX-License-Identifier: BSD-3-Clause */
/* Credits for unexpected messages: all are returned to the sender, so that it
 * can send many times the window. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define WINDOW (128U << 10)
#define LENGTH 200U
#define COST (LENGTH + 64)
#define ROUNDS (4 * WINDOW / COST) /* messages: four windows */

static unsigned char bytes[LENGTH];

/* Sends a message from a side to a context of a peer. */
static void
send_one(struct side *from, struct side *other, na_plugin_addr *to,
    uint32_t context, uint32_t tag)
{
    struct act act;
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    act_init(&act, from);
    act.pending = true;
    int32_t ret = from->ops->send_unexpected(
        from->ctx, act.op, bytes, sizeof(bytes), NULL, to, context, tag, 0);
    act.pending = ret == NA_PLUGIN_PENDING;
    ck_assert(act.pending || ret == NA_PLUGIN_DONE);
    while (act.pending) {
        side_poll(from);
        side_poll(other);
        if (now_ms() > until)
            ck_abort_msg("message %u waits for room", tag);
    }
    act_fini(&act);
}

static void
receive_one(struct side *at, struct side *other, uint32_t tag)
{
    struct act act;

    act_init(&act, at);
    act_recv_any(&act);
    ck_assert_int_eq(act_await(&act, other), NA_PLUGIN_OK);
    ck_assert_uint_eq(act.end.tag, tag);
    at->ops->addr_free(at->cls, act.end.source);
    act_fini(&act);
}

/* Cancels the receive that a fixture starts with. */
static void
fixture_without_receive(struct fixture *fixture)
{
    fixture_open(fixture);
    fixture->victim.ops->cancel(fixture->victim.ctx, fixture->recv.op);
    act_await(&fixture->recv, NULL);
}

START_TEST(credits_are_returned_for_kept_messages)
{
    struct fixture fixture;

    fixture_without_receive(&fixture);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint64_t until = now_ms() + SIDE_WAIT_MS;
        send_one(&fixture.friend, &fixture.victim, fixture.to_victim, 0, i);
        while (side_counter(&fixture.victim, "unexpected_queued") <= i) {
            side_poll(&fixture.friend);
            side_poll(&fixture.victim);
            ck_assert_uint_lt(now_ms(), until);
        }
        receive_one(&fixture.victim, &fixture.friend, i);
    }
    fixture_close(&fixture);
}
END_TEST

START_TEST(credits_are_returned_for_awaited_messages)
{
    struct fixture fixture;
    struct act act;

    fixture_without_receive(&fixture);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        act_init(&act, &fixture.victim);
        act_recv_any(&act);
        send_one(&fixture.friend, &fixture.victim, fixture.to_victim, 0, i);
        ck_assert_int_eq(act_await(&act, &fixture.friend), NA_PLUGIN_OK);
        fixture.victim.ops->addr_free(fixture.victim.cls, act.end.source);
        act_fini(&act);
    }
    fixture_close(&fixture);
}
END_TEST

/* Less than half of the window was received, and slightly more than half is
 * kept then. */
START_TEST(credits_are_returned_beside_kept_messages)
{
    const uint32_t received = WINDOW / COST / 2, kept = received + received / 4;
    struct fixture fixture;
    struct act act;

    fixture_without_receive(&fixture);
    for (uint32_t i = 0; i < received; i++) {
        act_init(&act, &fixture.victim);
        act_recv_any(&act);
        send_one(&fixture.friend, &fixture.victim, fixture.to_victim, 0, i);
        ck_assert_int_eq(act_await(&act, &fixture.friend), NA_PLUGIN_OK);
        fixture.victim.ops->addr_free(fixture.victim.cls, act.end.source);
        act_fini(&act);
    }
    for (uint32_t i = 0; i < kept; i++)
        send_one(&fixture.friend, &fixture.victim, fixture.to_victim, 0, i);
    for (uint32_t i = 0; i < kept; i++)
        receive_one(&fixture.victim, &fixture.friend, i);
    fixture_close(&fixture);
}
END_TEST

START_TEST(credits_are_returned_for_messages_without_a_context)
{
    struct fixture fixture;

    fixture_open(&fixture);
    for (uint32_t i = 0; i < ROUNDS; i++)
        send_one(&fixture.friend, &fixture.victim, fixture.to_victim, 7, i);
    fixture_trip(&fixture, "messages without a context");
    fixture_close(&fixture);
}
END_TEST

START_TEST(credits_are_returned_to_self)
{
    struct fixture fixture;
    na_plugin_addr *self;

    fixture_without_receive(&fixture);
    ck_assert_int_eq(
        fixture.victim.ops->addr_self(fixture.victim.cls, &self), NA_PLUGIN_OK);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        send_one(&fixture.victim, &fixture.friend, self, 0, i);
        receive_one(&fixture.victim, &fixture.friend, i);
    }
    fixture.victim.ops->addr_free(fixture.victim.cls, self);
    fixture_close(&fixture);
}
END_TEST

/* Receives of one context that match kept messages free credits. If the other
 * context sleeps, only polling that one can return them: it has to wake up. */
START_TEST(credits_to_return_wake_a_sleeping_context)
{
    const uint32_t kept = WINDOW / COST - 1;
    struct act acts[40];
    struct fixture fixture;
    uint64_t sleep_ns;
    uint64_t until = now_ms() + SIDE_WAIT_MS;
    uint32_t taken = 0;

    fixture_without_receive(&fixture);
    struct side *victim = &fixture.victim;
    na_plugin_ctx *sleeper = victim->ctx;
    struct pollfd watch = {.fd = victim->wait->fd(sleeper), .events = POLLIN};
    ck_assert_int_eq(
        victim->ops->ctx_create(victim->cls, 1, victim, &victim->ctx),
        NA_PLUGIN_OK);
    for (uint32_t i = 0; i < kept; i++)
        send_one(&fixture.friend, victim, fixture.to_victim, 1, i);
    while (side_counter(victim, "unexpected_queued") < kept) {
        side_poll(&fixture.friend);
        side_poll(victim);
        ck_assert_uint_lt(now_ms(), until);
    }
    for (bool woken = false; !woken && taken < kept;) {
        uint32_t count = 0;
        while (victim->wait->arm(sleeper, &sleep_ns) != NA_PLUGIN_OK) {
            side_poll(victim);
            ck_assert_uint_lt(now_ms(), until);
        }
        ck_assert_int_eq(poll(&watch, 1, 0), 0);
        /* one of these receives frees half a window */
        for (; count < 40 && taken < kept; count++, taken++) {
            act_init(&acts[count], victim);
            act_recv_any(&acts[count]);
        }
        woken = poll(&watch, 1, 0) == 1;
        ck_assert_msg(woken || taken < kept, "no context wakes up");
        for (uint32_t i = 0; i < count; i++) {
            ck_assert_int_eq(act_await(&acts[i], NULL), NA_PLUGIN_OK);
            victim->ops->addr_free(victim->cls, acts[i].end.source);
            act_fini(&acts[i]);
        }
    }
    victim->ops->ctx_destroy(victim->ctx);
    victim->ctx = sleeper;
    fixture_close(&fixture);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, credits_are_returned_for_kept_messages);
    tcase_add_test(tcase, credits_are_returned_for_awaited_messages);
    tcase_add_test(tcase, credits_are_returned_beside_kept_messages);
    tcase_add_test(tcase, credits_are_returned_for_messages_without_a_context);
    tcase_add_test(tcase, credits_are_returned_to_self);
    tcase_add_test(tcase, credits_to_return_wake_a_sleeping_context);
}

int
main(int argc, char **argv)
{
    return fixture_main(argc, argv, "ucx room", add);
}
