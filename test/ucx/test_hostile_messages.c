/* SPDX-License-Identifier: BSD-3-Clause */
/* The raw peer's malformed messages: counted and dropped, or the connection is
 * closed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static const struct message early[] = {
    {"an unexpected message without a token", STRAYED, UCX_UNEXPECTED,
        .data = 9},
    {"an expected message", STRAYED, UCX_EXPECTED, .data = 9},
    {"room given back", STRAYED, UCX_CREDIT, .tag = 100},
    {"a bye", STRAYED, UCX_CLOSE, .tag = 1},
    {"a get", STRAYED, UCX_GET, .header = 56, .fragment = {.length = 10}},
    {"a put", STRAYED, UCX_PUT, .header = 56, .fragment = {.length = 9},
        .data = 9},
    {"data", STRAYED, UCX_DATA, .header = 56, .fragment = {.length = 9},
        .data = 9},
    {"no known kind", STRAYED, 200, .tag = 1},
    {"a header of 1 byte", MALFORMED, UCX_HELLO, .header = 1},
    {"a header of 15 bytes", MALFORMED, UCX_UNEXPECTED, .header = 15},
    {"a hello without a way back", STRAYED, UCX_HELLO, .data = 176},
    {"by rendezvous", MALFORMED, UCX_UNEXPECTED, .data = FIXTURE_LONG,
        .flags = UCP_AM_SEND_FLAG_RNDV},
};

/* All of these on one connection: without a hello, a message is dropped without
 * closing it. */
START_TEST(hostile_messages_before_a_hello_are_counted)
{
    struct fixture fixture;

    fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(early) / sizeof(early[0]); i++) {
        const struct message *message = &early[i];
        uint64_t count = fixture_count(&fixture, message->outcome);
        raw_peer_call(&fixture.raw, fixture.port);
        fixture_send(&fixture, message, i % 2 == 0 ? 0 : UINT64_MAX);
        fixture_await_outcome(
            &fixture, message->outcome, count, 0, message->what);
        fixture_trip(&fixture, message->what);
        raw_peer_disconnect(&fixture.raw);
    }
    ck_assert_uint_eq(side_counter(&fixture.victim, "connections_broken"), 0);
    ck_assert_uint_eq(side_counter(&fixture.victim, "peers_connected"), 1);
    fixture_close(&fixture);
}
END_TEST

static const struct message late[] = {
    {"kind 0", BROKEN, 0, .tag = 1},
    {"kind 10", BROKEN, 10, .tag = 1},
    {"a second hello", BROKEN, UCX_HELLO, .data = 176},
    {"room that was not taken", BROKEN, UCX_CREDIT, .tag = 1},
    {"all room there is", BROKEN, UCX_CREDIT, .tag = UINT32_MAX},
    {"a get in a short header", BROKEN, UCX_GET, .tag = 1},
    {"a put in a header of 55 bytes", BROKEN, UCX_PUT, .header = 55,
        .fragment = {.length = 9}, .data = 9},
    {"data without a request", BROKEN, UCX_DATA, .header = 56,
        .fragment = {.length = 9}, .data = 9},
    {"done of nothing", BROKEN, UCX_DONE, .header = 56,
        .fragment = {.length = 9}},
    {"a get of nothing", BROKEN, UCX_GET, .header = 56},
    {"a get of too much", BROKEN, UCX_GET, .header = 56,
        .fragment = {.length = 16 * FIXTURE_FRAGMENT + 1}},
    {"a put of too much", BROKEN, UCX_PUT, .header = 56,
        .fragment = {.length = FIXTURE_FRAGMENT + 1},
        .data = FIXTURE_FRAGMENT + 1},
    {"a get of 4 GiB", BROKEN, UCX_GET, .header = 56,
        .fragment = {.length = UINT32_MAX}},
    {"a get with data", BROKEN, UCX_GET, .header = 56,
        .fragment = {.length = 9}, .data = 9},
    {"a put with less than announced", BROKEN, UCX_PUT, .header = 56,
        .fragment = {.length = 10}, .data = 9},
    {"a put with more", BROKEN, UCX_PUT, .header = 56,
        .fragment = {.length = 8}, .data = 9},
    {"a message of 65,537 bytes", BROKEN, UCX_UNEXPECTED,
        .data = FIXTURE_MESSAGE + 1},
    {"for a context that is not there", STRAYED, UCX_UNEXPECTED, .to = 200,
        .data = 9},
    {"an expected one for none", STRAYED, UCX_EXPECTED, .to = 1, .data = 9},
    {"a header of 40 fixture_bytes, short", BROKEN, UCX_DONE, .header = 40},
    {"by rendezvous", MALFORMED, UCX_UNEXPECTED, .data = FIXTURE_LONG,
        .flags = UCP_AM_SEND_FLAG_RNDV},
    {"a get of no registration", ANSWERED, UCX_GET, .header = 56,
        .fragment = {.mem = 12345, .length = 9},
        .status = NA_PLUGIN_E_INVALID_ARG},
    {"a put into no registration", ANSWERED, UCX_PUT, .header = 56,
        .fragment = {.mem = UINT64_MAX, .length = 9}, .data = 9,
        .status = NA_PLUGIN_E_INVALID_ARG},
};

START_TEST(hostile_messages_with_a_good_token_are_counted)
{
    struct fixture fixture;

    fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
        const struct message *message = &late[i];
        uint64_t count = fixture_count(&fixture, message->outcome);
        raw_peer_join(&fixture.raw, fixture.sides, fixture.port);
        fixture_send(&fixture, message, fixture.raw.hello.token);
        fixture_await_outcome(
            &fixture, message->outcome, count, message->status, message->what);
        fixture_trip(&fixture, message->what);
        raw_peer_disconnect(&fixture.raw);
    }
    fixture_close(&fixture);
}
END_TEST

/* What is listed for `all` uses shared memory. */
START_TEST(raw_peer_following_the_protocol_is_served)
{
    struct fixture fixture;
    char *lanes = NULL;
    size_t size;
    FILE *file = open_memstream(&lanes, &size);

    fixture_open(&fixture);
    raw_peer_join(&fixture.raw, fixture.sides, fixture.port);
    ucp_ep_print_info(fixture.raw.ep, file);
    fclose(file);
    bool shared =
        strstr(lanes, "posix/") != NULL || strstr(lanes, "sysv/") != NULL;
    ck_assert_msg(
        shared == (strcmp(fixture_protocol(), "all") == 0), "%s", lanes);
    free(lanes);
    fixture_close(&fixture);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, hostile_messages_before_a_hello_are_counted);
    tcase_add_test(tcase, hostile_messages_with_a_good_token_are_counted);
    tcase_add_test(tcase, raw_peer_following_the_protocol_is_served);
}

int
main(int argc, char **argv)
{
    return fixture_main(argc, argv, "ucx hostile messages", add);
}
