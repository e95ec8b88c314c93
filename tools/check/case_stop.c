/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: peers that are stopped, or forgotten; contexts and classes closed with
 * pending work. */
#include "check/cases.h"
#include "check/class.h"
#include "check/peers.h"

#include <signal.h>

/* Longer than any call that does not wait may take. */
#define CALL_NS 1000000000U
#define LARGE (8ULL << 20)

/* Operations with a peer that does not react. */
#define EXPECTED 200U /* 4 */
#define RECEIVE 210U
#define GET 212U
#define PUT 213U
#define LAST 214U

/* The submission returned in time. */
static void
in_time(uint64_t began, const char *call)
{
    uint64_t took = kit_now() - began;

    kit_expect(took < CALL_NS, 12, "no call waits for a peer",
        "%s took %llu ms", call, (unsigned long long) (took / 1000000U));
}

static void
open_memory(struct kit_side *a, struct kit_side *b)
{
    struct kit_region region = {.segments = 1,
        .access = NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE,
        .length = LARGE,
        .seed = 3};

    kit_region(b, &region);
    region.seed = 4;
    kit_region(a, &region);
    region.number = 1;
    kit_region(a, &region);
    kit_expose(b, 0, a, 2);
}

/* A get into region 0 and a put from region 1, in those contexts. */
static void
post_transfers(struct kit_side *a, struct kit_side *b, uint32_t ctx)
{
    uint64_t most = kit_opened(a)->max_rma_size;
    uint64_t began = kit_now();
    struct kit_request request = {.kind = KIT_GET,
        .op = GET,
        .ctx = ctx,
        .peer = kit_number(b),
        .local = 0,
        .remote = 2,
        .length = most > 0 && most < LARGE / 2 ? most : LARGE / 2};

    kit_post(a, &request);
    in_time(began, "get");
    began = kit_now();
    request.kind = KIT_PUT;
    request.op = PUT;
    request.local = 1;
    request.remote_offset = LARGE / 2;
    kit_post(a, &request);
    in_time(began, "put");
}

static bool
has_rma(struct kit_side *side)
{
    return kit_class_offers(kit_class_of(side), KIT_NEEDS_RMA);
}

/* Submits all kinds of operations with a stopped peer. Returns the number of
 * unexpected sends, from operation 0 on. */
static uint32_t
post_all(struct kit_side *a, struct kit_side *b)
{
    uint64_t length = kit_small(a), began = kit_now();
    uint32_t count;

    kit_recv_expected(a, RECEIVE, b, length, 1);
    for (uint32_t i = 0; i < 4; i++)
        kit_send_expected(a, EXPECTED + i, b, length, 2 + i, i);
    in_time(began, "send_expected");
    began = kit_now();
    kit_fill(a, b, 0, &count);
    in_time(began, "send_unexpected");
    if (has_rma(a))
        post_transfers(a, b, 0);
    return count;
}

/* After b has continued, all of it ends. */
static void
await_all(struct kit_side *a, struct kit_side *b, uint32_t count)
{
    uint64_t length = kit_small(a);

    kit_send_expected(b, LAST, a, length, 1, 8);
    kit_await_message(a, RECEIVE, 11, length, 1, 8, KIT_NOBODY);
    for (uint32_t i = 0; i < 4; i++) {
        kit_await_message(b, EXPECTED + i, 11, length, 2 + i, i, KIT_NOBODY);
        kit_await_ok(a, EXPECTED + i, 7);
    }
    /* Any receive may get any message. */
    for (uint32_t i = 0; i < count; i++)
        kit_await_ok(b, i, 11);
    for (uint32_t i = 0; i < count; i++)
        kit_await_ok(a, i, 7);
    if (has_rma(a)) {
        kit_await_ok(a, GET, 7);
        kit_await_ok(a, PUT, 7);
    }
}

static void
post_receives(struct kit_side *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        kit_recv_unexpected(b, i, kit_opened(b)->max_unexpected_size);
}

static void
stopped(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_remote(0, NULL);
    struct kit_side *c = kit_remote(1, NULL), *d;
    uint64_t length = kit_small(a), began;
    uint32_t count;

    kit_lookup_each_other(a, b);
    kit_lookup_each_other(a, c);
    if (has_rma(a))
        open_memory(a, b);
    for (uint32_t i = 0; i < 4; i++)
        kit_recv_expected(b, EXPECTED + i, a, length, 2 + i);
    /* An address that never reached b. */
    d = kit_local(NULL);
    kit_lookup_both(d, b);
    kit_lookup_both(d, c);
    kit_signal(b, SIGSTOP);
    kit_step("submits to a stopped peer");
    count = post_all(a, b);
    began = kit_now();
    kit_send_unexpected(d, 0, b, length, 1, 200);
    in_time(began, "the first send_unexpected");
    kit_step("others are served");
    /* The same after the sends were held back for some time. */
    for (uint32_t i = 0; i < 10; i++) {
        kit_run_for(50000000);
        kit_round_trip(a, c, 12);
        kit_round_trip(d, c, 12);
    }
    began = kit_now();
    for (uint32_t i = 0; i < 100; i++) {
        kit_round_trip(a, c, 12);
        kit_round_trip(d, c, 12);
    }
    kit_expect(kit_now() - began < kit_patience() / 2, 12,
        "a stopped peer delays no other", "200 round trips took %llu ms",
        (unsigned long long) ((kit_now() - began) / 1000000U));
    kit_step("the peer continues");
    kit_signal(b, SIGCONT);
    post_receives(b, count + 1);
    await_all(a, b, count);
    kit_await_ok(d, 0, 7);
    kit_await_ok(b, count, 11);
}

static void
killed_while_stopped(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_remote(0, NULL);
    struct kit_side *c = kit_remote(1, NULL);
    uint32_t count;

    kit_lookup_each_other(a, b);
    kit_lookup_each_other(a, c);
    if (has_rma(a))
        open_memory(a, b);
    kit_signal(b, SIGSTOP);
    count = post_all(a, b);
    kit_signal(b, SIGKILL);
    kit_round_trip(a, c, 12);
    for (uint32_t i = 0; i < count; i++)
        kit_await_dead(a, i, true);
    for (uint32_t i = 0; i < 4; i++)
        kit_await_dead(a, EXPECTED + i, true);
    kit_await_dead(a, RECEIVE, false);
    for (uint32_t op = GET; has_rma(a) && op <= PUT; op++)
        kit_await_dead(a, op, true);
}

/* Whether canceling ends a receive, if it can be canceled at all. */
static bool
cancel_ends(struct kit_side *a, struct kit_side *b, uint32_t op)
{
    uint64_t limit = kit_now() + 10 * kit_quiet();
    struct kit_completion end;

    kit_recv_expected(a, op, b, kit_small(a), 50);
    kit_run();
    kit_cancel(a, op);
    do {
        kit_run();
        kit_get_completion(a, op, &end);
    } while (!end.ended && kit_now() < limit);
    return end.ended;
}

/* Ended by addr_forget: with an error. */
static void
await_forgotten(struct kit_side *a, uint32_t op, bool may_be_ok)
{
    struct kit_completion end;

    kit_await(a, op, 12, &end);
    kit_expect(end.status < 0 || may_be_ok, 12,
        "what is pending with a peer ends with an error when it is forgotten",
        "%s", kit_completion_text(&end));
}

static void
forget_dead_peer(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_remote(0, NULL);
    struct kit_side *c = kit_remote(1, NULL);
    uint32_t count;

    kit_lookup_each_other(a, b);
    kit_lookup_each_other(a, c);
    kit_recv_expected(a, RECEIVE, b, kit_small(a), 1);
    kit_polls(b, false);
    kit_fill(a, b, 0, &count);
    kit_signal(b, SIGKILL);
    kit_forget(a, kit_number(b));
    await_forgotten(a, RECEIVE, false);
    for (uint32_t i = 0; i < count; i++)
        await_forgotten(a, i, true);
    kit_round_trip(a, c, 12);
    /* Again, of a forgotten address, and without pending work. */
    kit_forget(a, kit_number(b));
    kit_round_trip(a, c, 12);
}

/* The forgotten peer may notice it by a failing send; it has kit_patience to
 * reach a again. */
static void
reaches_again(struct kit_side *b, struct kit_side *a)
{
    uint64_t limit = kit_now() + kit_patience(), length = kit_small(a);
    struct kit_completion end = {.ended = false};

    kit_recv_unexpected(a, 240, length);
    do {
        struct kit_request request = {.kind = KIT_SEND_UNEXPECTED,
            .op = 240,
            .peer = kit_number(a),
            .length = length,
            .tag = 1,
            .seed = 9,
            .may_fail = true};

        kit_expect(kit_now() < limit, 12, "a forgotten peer connects again",
            "%s", kit_completion_text(&end));
        kit_post(b, &request);
        kit_await(b, 240, 7, &end);
    } while (end.status != NA_PLUGIN_OK);
    kit_await_message(a, 240, 12, length, 1, 9, kit_number(b));
}

static void
forget_live_peer(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_remote(0, NULL);
    uint64_t length = kit_small(a);
    bool ends;

    kit_lookup_each_other(a, b);
    ends = cancel_ends(a, b, 230);
    for (uint32_t i = 0; i < 3; i++) {
        if (ends)
            kit_recv_expected(a, i, b, length, i);
        kit_forget(a, kit_number(b));
        if (ends)
            await_forgotten(a, i, false);
        kit_step("the next use begins anew");
        kit_recv_unexpected(b, 232, length);
        kit_send_unexpected(a, 232, b, length, 1, i);
        kit_await_message(b, 232, 12, length, 1, i, kit_number(a));
        kit_await_ok(a, 232, 7);
        reaches_again(b, a);
    }
}

/* Destroys the context with everything pending; its operations and buffers are
 * then protected, and its memory must not change. */
static void
destroy_pending(bool stops)
{
    struct kit_side *a = kit_local(NULL), *b = kit_remote(0, NULL);
    bool rma = has_rma(a);
    uint64_t hash = 0, began;
    uint32_t count;

    kit_lookup_each_other(a, b);
    if (rma)
        open_memory(a, b);
    kit_polls(b, false);
    if (stops)
        kit_signal(b, SIGSTOP);
    count = post_all(a, b);
    for (uint32_t i = 0; i < 4; i++)
        kit_recv_unexpected(a, 220 + i, kit_small(a));
    began = kit_now();
    kit_step("destroys the context");
    kit_ctx_destroy(a, 0);
    began = kit_now() - began;
    kit_expect(began < 3 * (uint64_t) CALL_NS, 12,
        "ctx_destroy lets messages out for at most a second", "it took %llu ms",
        (unsigned long long) (began / 1000000U));
    if (rma)
        hash = kit_region_hash(a, 0, 0, LARGE);
    kit_step("the peer and the class continue");
    if (stops)
        kit_signal(b, SIGCONT);
    kit_polls(b, true);
    post_receives(b, count);
    kit_ctx_create(a, 0);
    kit_run_for(2 * kit_quiet());
    if (rma)
        kit_expect(kit_region_hash(a, 0, 0, LARGE) == hash, 10,
            "memory is not touched after ctx_destroy", "a get wrote to it");
}

static void
destroyed_peer_stopped(void)
{
    destroy_pending(true);
}

static void
destroyed_pending(void)
{
    destroy_pending(false);
}

/* One of two contexts is destroyed; the other continues with the same peer. */
static void
destroyed_others_continue(void)
{
    struct kit_open_options how = {.contexts = 2};
    struct kit_side *a = kit_local(&how), *b = kit_remote(0, NULL);
    bool rma = has_rma(a);
    uint64_t length = kit_small(a), hash = 0;

    kit_lookup_each_other(a, b);
    if (rma)
        open_memory(a, b);
    for (uint32_t i = 0; i < kit_times(20); i++) {
        struct kit_request request = {.kind = KIT_RECV_EXPECTED,
            .op = 100,
            .ctx = 1,
            .peer = kit_number(b),
            .tag = 1,
            .length = length,
            .own_buffer = true};

        kit_post(a, &request);
        request.kind = KIT_RECV_UNEXPECTED;
        request.op = 101;
        kit_post(a, &request);
        if (rma)
            post_transfers(a, b, 1);
        kit_ctx_destroy(a, 1);
        if (rma)
            hash = kit_region_hash(a, 0, 0, LARGE / 2);
        kit_round_trip(a, b, 10);
        kit_round_trip(b, a, 10);
        if (rma)
            kit_expect(kit_region_hash(a, 0, 0, LARGE / 2) == hash, 10,
                "memory is not touched after ctx_destroy", "a get wrote to it");
        kit_ctx_create(a, 1);
    }
}

/* Peers send to a class that is closed. */
static void
closed_during_sends(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_remote(0, NULL);
    struct kit_side *c = kit_local(NULL);
    uint64_t length = kit_small(a), limit;
    struct kit_completion end;
    uint32_t count;

    kit_lookup_each_other(a, b);
    kit_lookup_each_other(a, c);
    kit_lookup_each_other(b, c);
    kit_polls(a, false);
    kit_fill(c, a, 0, &count);
    for (uint32_t i = 0; i < 32; i++)
        kit_send_unexpected(b, i, a, length, 1, i);
    kit_recv_expected(b, RECEIVE, a, length, 1);
    kit_recv_expected(c, RECEIVE, a, length, 1);
    kit_step("closes the class");
    kit_close(a);
    kit_step("waits for the ends");
    kit_round_trip(b, c, 12);
    for (uint32_t i = 0; i < count; i++)
        kit_await_dead(c, i, true);
    for (uint32_t i = 0; i < 32; i++)
        kit_await_dead(b, i, true);
    kit_await_dead(b, RECEIVE, false);
    kit_await_dead(c, RECEIVE, false);
    limit = kit_now() + kit_patience();
    do {
        struct kit_request request = {.kind = KIT_SEND_UNEXPECTED,
            .op = LAST,
            .peer = kit_number(a),
            .length = length,
            .may_fail = true};

        kit_expect(kit_now() < limit, 12,
            "sends to a class that is closed end with an error",
            "they end with OK after %llu ms",
            (unsigned long long) (kit_patience() / 1000000U));
        kit_post(c, &request);
        kit_await_dead(c, LAST, true);
        kit_get_completion(c, LAST, &end);
    } while (end.status == NA_PLUGIN_OK);
}

static const struct kit_case cases[] = {
    {"stopped", 12, 0, 2, 40, "a stopped peer does not block others", stopped},
    {"stopped_killed", 7, 0, 2, 40,
        "operations with a stopped peer end when it is killed",
        killed_while_stopped},
    {"forget_dead_peer", 12, KIT_NEEDS_FORGET, 2, 0,
        "forgetting a dead peer ends pending operations", forget_dead_peer},
    {"forget_live_peer", 12, KIT_NEEDS_FORGET, 1, 0,
        "a forgotten peer can be reached again", forget_live_peer},
    {"destroyed_peer_stopped", 10, 0, 1, 40,
        "a context is destroyed with operations pending at a stopped peer",
        destroyed_peer_stopped},
    {"destroyed_pending", 10, 0, 1, 40,
        "a context is destroyed with operations pending", destroyed_pending},
    {"destroyed_others_continue", 10, KIT_NEEDS_CONTEXTS, 1, 40,
        "a context is destroyed, others continue to work",
        destroyed_others_continue},
    {"closed_during_sends", 12, 0, 1, 0,
        "sends to a class that is closed end with an error",
        closed_during_sends},
};

const struct kit_group kit_cases_stop = {cases, sizeof cases / sizeof cases[0]};
