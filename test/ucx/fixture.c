/* SPDX-License-Identifier: BSD-3-Clause */
/* A class, a friend that it serves throughout, and a raw peer that calls it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "runner.h"

static const char *protocol = "tcp";
unsigned char fixture_bytes[FIXTURE_LONG];

const char *
fixture_protocol(void)
{
    return protocol;
}

void
fixture_open(struct fixture *fixture)
{
    char name[SIDE_TEXT];

    memset(fixture, 0, sizeof(*fixture));
    side_open(
        &fixture->victim, protocol, "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    side_open(&fixture->friend, protocol, "127.0.0.1", 0, 0);
    fixture->sides[0] = &fixture->victim;
    fixture->sides[1] = &fixture->friend;
    side_name(&fixture->victim, name);
    fixture->port = (uint32_t) strtoul(strrchr(name, ':') + 1, NULL, 10);
    fixture->to_victim = side_lookup(&fixture->friend, name);
    act_init(&fixture->recv, &fixture->victim);
    act_recv_any(&fixture->recv);
    raw_peer_open(&fixture->raw, protocol);
}

void
fixture_close(struct fixture *fixture)
{
    raw_peer_close(&fixture->raw);
    fixture->victim.ops->cancel(fixture->victim.ctx, fixture->recv.op);
    act_await(&fixture->recv, &fixture->friend);
    act_fini(&fixture->recv);
    fixture->friend.ops->addr_free(fixture->friend.cls, fixture->to_victim);
    side_close(&fixture->friend);
    side_close(&fixture->victim);
}

/* Checks that the victim's next received message is the friend's. */
void
fixture_trip(struct fixture *fixture, const char *after)
{
    struct act send;
    uint32_t tag = 5000 + fixture->trips++;

    if (!fixture->recv.pending)
        ck_abort_msg("%s: it was received", after);
    act_init(&send, &fixture->friend);
    act_send(&send, true, "friend", 6, fixture->to_victim, tag);
    ck_assert_int_eq(act_await(&send, &fixture->victim), NA_PLUGIN_OK);
    int32_t status = act_await(&fixture->recv, &fixture->friend);
    if (status != NA_PLUGIN_OK || fixture->recv.end.tag != tag)
        ck_abort_msg("%s: %d, tag %lu", after, (int) status,
            (unsigned long) fixture->recv.end.tag);
    fixture->victim.ops->addr_free(
        fixture->victim.cls, fixture->recv.end.source);
    act_recv_any(&fixture->recv);
    act_fini(&send);
}

void
fixture_await_counter(
    struct fixture *fixture, const char *name, uint64_t value, const char *what)
{
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    while (side_counter(&fixture->victim, name) < value) {
        raw_peer_progress(&fixture->raw, fixture->sides);
        if (now_ms() > until)
            ck_abort_msg("%s: %s stays %lu", what, name,
                (unsigned long) side_counter(&fixture->victim, name));
    }
    if (side_counter(&fixture->victim, name) != value)
        ck_abort_msg("%s: counted twice in %s", what, name);
}

void
fixture_await_closed(struct fixture *fixture, const char *what)
{
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    while (!fixture->raw.gone) {
        raw_peer_progress(&fixture->raw, fixture->sides);
        if (now_ms() > until)
            ck_abort_msg("%s: the connection stays", what);
    }
}

void
fixture_await_outcome(struct fixture *fixture, enum outcome outcome,
    uint64_t count, int32_t status, const char *what)
{
    static const char *const names[] = {
        "messages_strayed", "messages_malformed", "connections_broken"};
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    if (outcome != ANSWERED) {
        fixture_await_counter(fixture, names[outcome], count + 1, what);
        if (outcome == BROKEN)
            fixture_await_closed(fixture, what);
        return;
    }
    while (fixture->raw.messages == 0) {
        raw_peer_progress(&fixture->raw, fixture->sides);
        if (now_ms() > until)
            ck_abort_msg("%s: no answer", what);
    }
    ck_assert_int_eq(fixture->raw.got.fragment.status, status);
    ck_assert_uint_eq(fixture->raw.got_length, 0);
}

uint64_t
fixture_count(struct fixture *fixture, enum outcome outcome)
{
    return outcome == STRAYED
               ? side_counter(&fixture->victim, "messages_strayed")
           : outcome == MALFORMED
               ? side_counter(&fixture->victim, "messages_malformed")
           : outcome == BROKEN
               ? side_counter(&fixture->victim, "connections_broken")
               : 0;
}

void
fixture_send(
    struct fixture *fixture, const struct message *message, uint64_t token)
{
    union ucx_header header = {.fragment = {.head = {.token = token,
                                                .tag = message->tag,
                                                .kind = message->kind,
                                                .to = message->to},
                                   .number = 3,
                                   .mem = message->fragment.mem,
                                   .at = message->fragment.at,
                                   .offset = message->fragment.offset,
                                   .length = message->fragment.length}};

    raw_peer_send(&fixture->raw, fixture->sides, &header,
        message->header != 0 ? message->header : sizeof(header.head),
        fixture_bytes, message->data,
        message->flags != 0 ? message->flags : UCP_AM_SEND_FLAG_EAGER);
}

int
fixture_main(int argc, char **argv, const char *name, void (*add)(TCase *tcase))
{
    TCase *tcase = tcase_create("all");

    if (argc > 1)
        protocol = argv[1];
    /* with shared memory, which the plugin leaves out of it otherwise */
    if (strcmp(protocol, "all") == 0)
        setenv("UCX_TLS", "^sysv", 1);
    add(tcase);
    return run_tcase(name, tcase);
}
