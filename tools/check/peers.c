/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by cases about peers that end. */
#include "check/peers.h"

#include "check/shared.h"

#define RECEIVE KIT_PEERS_OPS
#define SEND (KIT_PEERS_OPS + 1)
#define ANSWER (KIT_PEERS_OPS + 2)
#define ANSWERED (KIT_PEERS_OPS + 3)
#define TAG 9U

uint64_t
kit_small(struct kit_side *side)
{
    const na_plugin_opened *opened = kit_opened(side);

    return opened->unexpected_header_size + opened->expected_header_size + 64;
}

void
kit_lookup_each_other(struct kit_side *a, struct kit_side *b)
{
    kit_lookup_both(a, b);
    kit_round_trip(a, b, 11);
    kit_round_trip(b, a, 11);
}

void
kit_round_trip(struct kit_side *a, struct kit_side *b, uint32_t rule)
{
    kit_round_trip_between(a, 0, b, 0, rule);
}

void
kit_round_trip_between(struct kit_side *a, uint32_t a_ctx, struct kit_side *b,
    uint32_t b_ctx, uint32_t rule)
{
    uint64_t length = kit_small(a);
    struct kit_request here = {.kind = KIT_RECV_EXPECTED,
        .op = ANSWERED,
        .ctx = a_ctx,
        .peer = kit_number(b),
        .peer_ctx = b_ctx,
        .tag = TAG,
        .length = length,
        .own_buffer = true};
    struct kit_request there = {.kind = KIT_RECV_UNEXPECTED,
        .op = RECEIVE,
        .ctx = b_ctx,
        .length = length};

    kit_post(b, &there);
    kit_post(a, &here);
    here.kind = KIT_SEND_UNEXPECTED;
    here.op = SEND;
    here.tag = 1;
    here.seed = 77;
    kit_post(a, &here);
    kit_await_message(b, RECEIVE, rule, length, 1, 77, kit_number(a));
    there.kind = KIT_SEND_EXPECTED;
    there.op = ANSWER;
    there.peer = kit_number(a);
    there.peer_ctx = a_ctx;
    there.tag = TAG;
    there.seed = 78;
    kit_post(b, &there);
    kit_await_message(a, ANSWERED, rule, length, TAG, 78, KIT_NOBODY);
    kit_await_ok(a, SEND, rule);
    kit_await_ok(b, ANSWER, rule);
}

uint32_t
kit_fill(struct kit_side *from, struct kit_side *to, uint32_t first,
    uint32_t *count_p)
{
    uint64_t length = kit_opened(from)->max_unexpected_size;
    uint32_t waiting = 0;
    struct kit_completion end;

    for (*count_p = 0; *count_p < KIT_FILL && waiting < 8; ++*count_p) {
        uint32_t op = first + *count_p;

        kit_send_unexpected(from, op, to, length, 1, op);
        kit_run();
        kit_run();
        kit_get_completion(from, op, &end);
        waiting += !end.ended;
    }
    /* Some may only have been slow. */
    kit_run_for(20000000);
    for (uint32_t op = first; op < first + *count_p; op++) {
        kit_get_completion(from, op, &end);
        if (!end.ended)
            return op;
    }
    return KIT_NOBODY;
}

void
kit_await_dead(struct kit_side *side, uint32_t op, bool in_time)
{
    struct kit_completion end;

    kit_await(side, op, kit_running->rule, &end);
    kit_expect(end.status == NA_PLUGIN_E_HOSTUNREACH ||
                   end.status == NA_PLUGIN_E_IO_ERROR ||
                   (in_time && end.status == NA_PLUGIN_OK),
        12,
        in_time ? "what is pending ends with HOSTUNREACH or IO_ERROR if the "
                  "peer dies, or with OK"
                : "what needs a peer that is dead ends with HOSTUNREACH or "
                  "IO_ERROR",
        "%s", kit_completion_text(&end));
}

void
kit_share(
    struct kit_side *a, struct kit_side *b, uint64_t length, uint64_t seed)
{
    for (uint32_t i = 0; i < 3; i++) {
        struct kit_region region = {.number = i,
            .segments = 1,
            .access = i == 0   ? NA_PLUGIN_MEM_READ
                      : i == 1 ? NA_PLUGIN_MEM_WRITE
                               : NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE,
            .length = length,
            .seed = seed};

        kit_region(a, &region);
        kit_region(b, &region);
    }
    for (uint32_t i = 0; i < 2; i++) {
        kit_expose(a, i, b, 4 + i);
        kit_expose(b, i, a, 4 + i);
    }
}
