/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: peers that are killed, or exit, during operations. */
#include "check/cases.h"
#include "check/class.h"
#include "check/peers.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

/* Kills the peer, or lets it exit without closing anything. */
static void
end_peer(struct kit_side *peer, bool killed)
{
    if (killed)
        kit_signal(peer, SIGKILL);
    else
        kit_exit(peer);
}

struct three {
    struct kit_side *a; /* here */
    struct kit_side *b; /* will die */
    struct kit_side *c; /* stays alive */
    uint64_t length;
};

static struct three
open_three(void)
{
    struct three three = {.a = kit_local(NULL),
        .b = kit_remote(0, NULL),
        .c = kit_remote(1, NULL)};

    three.length = kit_small(three.a);
    kit_lookup_each_other(three.a, three.b);
    kit_lookup_each_other(three.a, three.c);
    return three;
}

/* The living peer is served as before. */
static void
serve_other(const struct three *three)
{
    kit_step("serves another peer");
    for (uint32_t i = 0; i < 3; i++)
        kit_round_trip(three->a, three->c, 12);
    kit_step("waits for the ends");
}

static void
still_pending(struct kit_side *side, uint32_t op)
{
    struct kit_completion end;

    kit_get_completion(side, op, &end);
    kit_expect(!end.ended, 12, "the death of a peer ends nothing of others",
        "%s", kit_completion_text(&end));
}

static void
receives(bool killed)
{
    struct three three = open_three();

    kit_recv_expected(three.a, 0, three.b, three.length, 1);
    kit_recv_expected(three.a, 1, three.b, three.length, 2);
    kit_recv_expected(three.a, 2, three.c, three.length, 1);
    kit_recv_unexpected(three.a, 3, three.length);
    kit_run_for(kit_quiet() / 2);
    end_peer(three.b, killed);
    serve_other(&three);
    kit_await_dead(three.a, 0, false);
    kit_await_dead(three.a, 1, false);
    still_pending(three.a, 2);
    still_pending(three.a, 3);
    kit_send_expected(three.c, 0, three.a, three.length, 1, 5);
    kit_await_message(three.a, 2, 11, three.length, 1, 5, KIT_NOBODY);
    kit_send_unexpected(three.c, 2, three.a, three.length, 1, 6);
    kit_await_message(three.a, 3, 11, three.length, 1, 6, kit_number(three.c));
}

static void
killed_receives(void)
{
    receives(true);
}

static void
exited_receives(void)
{
    receives(false);
}

/* Sends of both kinds, queued ones, and a receive. */
static void
sends(bool killed)
{
    struct three three = open_three();
    uint32_t count;

    kit_polls(three.b, false);
    kit_fill(three.a, three.b, 0, &count);
    for (uint32_t i = 0; i < 8; i++)
        kit_send_expected(three.a, 200 + i, three.b, three.length, i, 200 + i);
    kit_recv_expected(three.a, 300, three.b, three.length, 1);
    kit_run();
    end_peer(three.b, killed);
    serve_other(&three);
    for (uint32_t i = 0; i < count; i++)
        kit_await_dead(three.a, i, true);
    for (uint32_t i = 0; i < 8; i++)
        kit_await_dead(three.a, 200 + i, true);
    kit_await_dead(three.a, 300, false);
}

static void
killed_sends(void)
{
    sends(true);
}

static void
exited_sends(void)
{
    sends(false);
}

/* Gets (even operations) and puts (odd) of a large region. */
#define LARGE (16ULL << 20)
#define TRANSFERS 6U
static void
transfers(struct kit_side *a, struct kit_side *b)
{
    uint64_t most = kit_opened(a)->max_rma_size;
    uint64_t length = most > 0 && most < LARGE ? most : LARGE;

    for (uint32_t i = 0; i < TRANSFERS; i++) {
        struct kit_request request = {.kind = i % 2 == 0 ? KIT_GET : KIT_PUT,
            .op = i,
            .peer = kit_number(b),
            .local = 0,
            .remote = 1,
            .length = length,
            .may_fail = true};

        kit_post(a, &request);
    }
}

static void
killed_transfers(void)
{
    struct three three = open_three();
    struct kit_region region = {.segments = 1,
        .access = NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE,
        .length = LARGE};

    kit_region(three.a, &region);
    kit_region(three.b, &region);
    kit_expose(three.b, 0, three.a, 1);
    kit_polls(three.b, false);
    transfers(three.a, three.b);
    kit_run();
    kit_signal(three.b, SIGKILL);
    serve_other(&three);
    for (uint32_t i = 0; i < TRANSFERS; i++)
        kit_await_dead(three.a, i, true);
    /* Submitted when the peer is dead already. */
    transfers(three.a, three.b);
    for (uint32_t i = 0; i < TRANSFERS; i++)
        kit_await_dead(three.a, i, false);
}

/* Sends until one fails; the first ones may be transmitted before the death is
 * noticed. */
static void
send_until_error(
    const struct three *three, enum kit_kind kind, struct kit_side *peer)
{
    uint64_t limit = kit_now() + kit_patience();
    struct kit_completion end;

    do {
        struct kit_request request = {.kind = kind,
            .op = 10,
            .peer = kit_number(peer),
            .length = three->length,
            .may_fail = true};

        kit_expect(kit_now() < limit, 12,
            "sends to a dead peer end with an error",
            "they end with OK after %llu ms",
            (unsigned long long) (kit_patience() / 1000000U));
        kit_post(three->a, &request);
        kit_await_dead(three->a, 10, true);
        kit_get_completion(three->a, 10, &end);
        kit_run_for(1000000);
    } while (end.status == NA_PLUGIN_OK);
}

static void
between(bool killed)
{
    struct three three = open_three();
    struct kit_request receive = {.kind = KIT_RECV_EXPECTED,
        .op = 12,
        .length = three.length,
        .may_fail = true};

    end_peer(three.b, killed);
    send_until_error(&three, KIT_SEND_UNEXPECTED, three.b);
    send_until_error(&three, KIT_SEND_EXPECTED, three.b);
    receive.peer = kit_number(three.b);
    kit_post(three.a, &receive);
    serve_other(&three);
    kit_await_dead(three.a, 12, false);
}

static void
killed_before_send(void)
{
    between(true);
}

static void
exited_before_send(void)
{
    between(false);
}

/* Leaves a child that keeps all descriptors open for a limited time. */
static void
act_fork(struct kit_class *cls, void *bytes)
{
    struct timespec nap = {.tv_sec = 1};
    pid_t *child = bytes;

    (void) cls;
    *child = fork();
    if (*child < 0)
        kit_not_run("no process");
    if (*child == 0) {
        for (int i = 0; i < 60; i++)
            nanosleep(&nap, NULL);
        _exit(0);
    }
}

static void
killed_with_child(void)
{
    struct three three = open_three();
    pid_t child = 0;
    uint32_t count;

    kit_begin(three.b, act_fork, &child, sizeof child);
    kit_join(three.b, &child, sizeof child);
    kit_recv_expected(three.a, 300, three.b, three.length, 1);
    kit_polls(three.b, false);
    kit_fill(three.a, three.b, 0, &count);
    kit_signal(three.b, SIGKILL);
    serve_other(&three);
    kit_await_dead(three.a, 300, false);
    for (uint32_t i = 0; i < count; i++)
        kit_await_dead(three.a, i, true);
    send_until_error(&three, KIT_SEND_UNEXPECTED, three.b);
    kit_expect(kill(child, 0) == 0, 12, "the child outlives its parent",
        "it has ended");
    kill(child, SIGKILL);
}

/* Sends messages until it is killed. */
struct stream {
    uint32_t peer;
    uint64_t length;
};

static void
act_stream(struct kit_class *cls, void *bytes)
{
    const struct stream *plan = bytes;

    for (uint64_t seed = 0;; seed++) {
        uint32_t op = seed % 8;
        struct kit_request request = {.kind = KIT_SEND_UNEXPECTED,
            .op = op,
            .peer = plan->peer,
            .length = plan->length,
            .seed = seed};
        struct kit_completion end;

        for (kit_class_end(cls, op, &end); !end.ended;
             kit_class_end(cls, op, &end))
            kit_class_poll(cls, 0);
        kit_class_post(cls, &request);
        kit_class_poll(cls, 0);
    }
}

/* Checks the messages that arrive: complete, each once. */
static uint32_t
receive_stream(struct kit_side *a, uint64_t length, bool *seen, uint32_t room)
{
    uint64_t header = kit_opened(a)->unexpected_header_size;
    uint32_t count = 0;

    for (uint32_t op = 0; op < 8; op++) {
        struct kit_completion end;

        kit_get_completion(a, op, &end);
        if (!end.ended)
            continue;
        if (end.messages > 0) {
            kit_expect(
                end.length == length &&
                    end.hash == kit_pattern_hash(length - header, end.seed),
                11, "what arrives from a peer that dies is whole",
                "%s, seed %llu", kit_completion_text(&end),
                (unsigned long long) end.seed);
            kit_expect(end.seed >= room || !seen[end.seed], 11,
                "a message arrives once", "number %llu arrived twice",
                (unsigned long long) end.seed);
            if (end.seed < room)
                seen[end.seed] = true;
            count++;
        }
        kit_recv_unexpected(a, op, length);
    }
    return count;
}

#define STREAMS 4U
#define SEEN 100000U
static void
killed_streaming(void)
{
    static bool seen[STREAMS][SEEN];
    struct kit_side *a = kit_local(NULL), *c = kit_remote(STREAMS, NULL);
    struct kit_side *all[STREAMS];
    uint64_t length = kit_opened(a)->max_unexpected_size;

    if (length > kit_small(a) + 1000)
        length = kit_small(a) + 1000;
    kit_lookup_each_other(a, c);
    for (uint32_t i = 0; i < STREAMS; i++) {
        all[i] = kit_remote(i, NULL);
        kit_lookup_each_other(a, all[i]);
    }
    for (uint32_t i = 0; i < STREAMS; i++) {
        struct kit_side *b = all[i];
        struct stream plan = {kit_number(a), length};
        uint64_t end;

        kit_begin(b, act_stream, &plan, sizeof plan);
        kit_step("receives a stream");
        end = kit_now() + 20000000;
        for (uint32_t got = 0; got < 100 || kit_now() < end; kit_run()) {
            got += receive_stream(a, length, seen[i], SEEN);
            kit_expect(kit_now() < end + kit_patience(), 11,
                "a stream of messages arrives", "%u messages", got);
        }
        kit_signal(b, SIGKILL);
        kit_step("receives the rest of it");
        /* All of it, or the rest would count for the next one. */
        end = kit_now() + kit_quiet();
        while (kit_now() < end) {
            kit_run();
            if (receive_stream(a, length, seen[i], SEEN) > 0)
                end = kit_now() + kit_quiet();
        }
        kit_addr_free(a, kit_number(b));
        kit_round_trip(a, c, 12);
    }
}

static const struct kit_case cases[] = {
    {"killed_receives", 12, 0, 2, 0,
        "receives from a peer that is killed end with an error",
        killed_receives},
    {"killed_sends", 7, 0, 2, 0, "held-back sends to a peer that is killed end",
        killed_sends},
    {"killed_transfers", 7, KIT_NEEDS_RMA, 2, 0,
        "puts and gets at a peer that is killed end", killed_transfers},
    {"killed_before_send", 12, 0, 2, 0,
        "sends to a dead peer end with an error", killed_before_send},
    {"killed_with_child", 12, 0, 2, 0,
        "a forked child that holds its descriptors does not keep a peer alive",
        killed_with_child},
    {"killed_streaming", 11, 0, STREAMS + 1, 0,
        "no partial message arrives from a peer that dies while sending",
        killed_streaming},
    {"exited_receives", 12, 0, 2, 0,
        "receives from a peer that exits end with an error", exited_receives},
    {"exited_sends", 7, 0, 2, 0, "held-back sends to a peer that exits end",
        exited_sends},
    {"exited_before_send", 12, 0, 2, 0,
        "sends to a peer that has exited end with an error",
        exited_before_send},
};

const struct kit_group kit_cases_death = {
    cases, sizeof cases / sizeof cases[0]};
