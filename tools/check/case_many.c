/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: thousands of messages without a receive; tags that use all bits. */
#include "check/cases.h"
#include "check/class.h"
#include "check/peers.h"
#include "check/shared.h"

#include <string.h>

#define MANY 4000U
#define SENDS 200U /* operations, from 0 on */
#define FIRST_RECV 300U

struct flood {
    struct kit_side *from;
    struct kit_side *to;
    uint64_t length;
    uint32_t sent; /* their tags */
    uint32_t got;
    bool seen[MANY];
};

static bool
ended(struct kit_side *side, uint32_t op)
{
    struct kit_completion end;

    kit_get_completion(side, op, &end);
    return end.ended;
}

/* Sends messages without a receive until enough are sent or one is held
 * back. */
static void
send_many(struct flood *flood)
{
    while (flood->sent < MANY) {
        uint32_t op = flood->sent % SENDS;

        if (flood->sent >= SENDS && !ended(flood->from, op)) {
            kit_run_for(kit_quiet() / 100);
            if (!ended(flood->from, op))
                return;
        }
        kit_send_unexpected(flood->from, op, flood->to, flood->length,
            flood->sent, flood->sent);
        flood->sent++;
        kit_run();
    }
}

/* Receives all messages in any order; one at a time, so that held-back ones
 * arrive while no receive is posted. */
static void
receive_many(struct flood *flood)
{
    for (; flood->got < flood->sent; flood->got++) {
        uint32_t op = FIRST_RECV + flood->got % 2;
        struct kit_completion end;

        kit_recv_unexpected(flood->to, op, flood->length);
        kit_await(flood->to, op, 11, &end);
        kit_expect(end.status == NA_PLUGIN_OK && end.tag < flood->sent &&
                       !flood->seen[end.tag] && end.seed == end.tag,
            11, "each message that found no receive arrives once",
            "%s, tag %llu, of %u that were sent", kit_completion_text(&end),
            (unsigned long long) end.tag, flood->sent);
        flood->seen[end.tag] = true;
        kit_run();
    }
}

/* Sends as many at once as are not held back, until all are sent. */
static void
unreceived(void)
{
    static struct flood flood;

    memset(&flood, 0, sizeof flood);
    flood.from = kit_local(NULL);
    flood.to = kit_local(NULL);
    flood.length = kit_small(flood.from);
    kit_lookup_each_other(flood.from, flood.to);
    while (flood.got < MANY) {
        kit_step("sends what finds no receive");
        send_many(&flood);
        kit_step("receives it");
        receive_many(&flood);
    }
}

/* Tags that differ in the highest bit only. */
static void
wide_tags(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_local(NULL);
    uint64_t length = kit_small(a), most = kit_opened(a)->max_tag, high = 1;

    while (high <= most / 2)
        high *= 2;
    kit_lookup_each_other(a, b);
    for (uint64_t bit = high; bit > 0 && bit >= high >> 40; bit >>= 4) {
        kit_recv_expected(b, 0, a, length, 5 ^ bit);
        kit_recv_expected(b, 2, a, length, 5);
        kit_send_expected(a, 0, b, length, 5, 50);
        kit_await_message(b, 2, 11, length, 5, 50, KIT_NOBODY);
        kit_send_expected(a, 2, b, length, 5 ^ bit, 51);
        kit_await_message(b, 0, 11, length, 5 ^ bit, 51, KIT_NOBODY);
        kit_await_ok(a, 0, 7);
        kit_await_ok(a, 2, 7);
    }
    kit_recv_unexpected(b, 0, length);
    kit_send_unexpected(a, 0, b, length, most, 52);
    kit_await_message(b, 0, 11, length, most, 52, kit_number(a));
    kit_await_ok(a, 0, 7);
}

static const struct kit_case cases[] = {
    {"many_unreceived", 11, 0, 0, 0,
        "thousands of messages without a receive are all delivered",
        unreceived},
    {"tags_of_all_bits", 11, 0, 0, 0,
        "expected receives match all bits of a tag that max_tag offers",
        wide_tags},
};

const struct kit_group kit_cases_many = {cases, sizeof cases / sizeof cases[0]};
