/* SPDX-License-Identifier: BSD-3-Clause */
/* The raw peer's malformed and false hellos, and its answers to a call. */
#include <stdio.h>
#include <string.h>

#include "fixture.h"

/* Hellos with one invalid field. */
struct wrong_hello {
    const char *what;
    size_t offset; /* offset in the hello */
    uint64_t value;
    size_t size;   /* bytes of it */
    size_t length; /* length of the hello; 0: all */
};

#define IN_HELLO(field) offsetof(struct ucx_hello, field)
#define WIDTH(field) sizeof(((struct ucx_hello *) 0)->field)

static const struct wrong_hello wrong_hellos[] = {
    {"empty", 0, 0, 0, 1},
    {"a byte too short", 0, 0, 0, sizeof(struct ucx_hello) - 1},
    {"no magic", IN_HELLO(magic), 1, WIDTH(magic), 0},
    {"a short length field", IN_HELLO(bytes), 175, WIDTH(bytes), 0},
    {"no number", IN_HELLO(number), 0, WIDTH(number), 0},
    {"no token", IN_HELLO(token), 0, WIDTH(token), 0},
    {"no window", IN_HELLO(window), 0, WIDTH(window), 0},
    {"a window of 255", IN_HELLO(window), 255, WIDTH(window), 0},
    {"a space in its name", IN_HELLO(name), 0x20707574, 4, 0},
    {"half a line in its name", IN_HELLO(name), 0x0a707574, 4, 0},
    {"no ASCII in its name", IN_HELLO(name), 0xff707574, 4, 0},
};

START_TEST(hostile_hellos_are_counted_and_end_the_connection)
{
    struct fixture fixture;

    fixture_open(&fixture);
    for (size_t i = 0; i <= sizeof(wrong_hellos) / sizeof(wrong_hellos[0]);
         i++) {
        struct ucx_hello hello = raw_peer_hello();
        const struct wrong_hello *wrong = &wrong_hellos[i];
        const char *what = "a name without an end";
        size_t length = sizeof(hello);
        if (i == sizeof(wrong_hellos) / sizeof(wrong_hellos[0])) {
            memset(hello.name, 'x', sizeof(hello.name));
            /* and not for the bytes after it */
            fixture.victim.expected = "its hello is malformed";
        } else {
            what = wrong->what;
            memcpy((char *) &hello + wrong->offset, &wrong->value, wrong->size);
            length = wrong->length != 0 ? wrong->length : length;
        }
        uint64_t broken = fixture_count(&fixture, BROKEN);
        uint64_t malformed = fixture_count(&fixture, MALFORMED);
        raw_peer_call(&fixture.raw, fixture.port);
        raw_peer_send_hello(&fixture.raw, fixture.sides, 0, &hello, length);
        fixture_await_outcome(&fixture, BROKEN, broken, 0, what);
        fixture_await_counter(
            &fixture, "messages_malformed", malformed + 1, what);
        ck_assert(!fixture.raw.hello_received);
        fixture_trip(&fixture, what);
        raw_peer_disconnect(&fixture.raw);
    }
    ck_assert_uint_eq(fixture.victim.matched, 1);
    fixture_close(&fixture);
}
END_TEST

/* Messages to another host's name are not sent to a peer that claims it. */
static void
check_not_its_own(struct fixture *fixture, const char *name)
{
    struct side *victim = &fixture->victim;
    char text[SIDE_TEXT];
    struct act act;

    snprintf(text, sizeof(text), "%s%s", fixture_protocol(), strchr(name, ':'));
    na_plugin_addr *addr = side_lookup(victim, text);
    act_init(&act, victim);
    act_send(&act, true, "secret", 6, addr, 1);
    ck_assert_int_eq(
        act_await(&act, &fixture->friend), NA_PLUGIN_E_HOSTUNREACH);
    act_fini(&act);
    victim->ops->addr_free(victim->cls, addr);
}

/* Names that are malformed, or another peer's, are not trusted. */
START_TEST(hostile_names_are_not_trusted)
{
    static const char *const names[] = {"x", "://", "tcp://", "tcp://127.0.0.1",
        "tcp://[::1]:80", "tcp://198.51.100.77:80", "tcp://255.255.255.255:0",
        "%s%s%s%n"};
    struct fixture fixture;

    fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct ucx_hello hello = raw_peer_hello();
        struct message message = {"named", STRAYED, UCX_UNEXPECTED, .tag = 8};
        char text[SIDE_TEXT];
        uint64_t size = sizeof(text);
        snprintf(hello.name, sizeof(hello.name), "%s", names[i]);
        raw_peer_call(&fixture.raw, fixture.port);
        raw_peer_send_hello(
            &fixture.raw, fixture.sides, 0, &hello, sizeof(hello));
        while (!fixture.raw.hello_received)
            raw_peer_progress(&fixture.raw, fixture.sides);
        fixture_send(&fixture, &message, fixture.raw.hello.token);
        while (fixture.recv.pending)
            raw_peer_progress(&fixture.raw, fixture.sides);
        ck_assert_int_eq(fixture.recv.end.status, NA_PLUGIN_OK);
        ck_assert_uint_eq(fixture.recv.end.tag, 8);
        const na_plugin_ops *ops = fixture.victim.ops;
        na_plugin_addr *source = fixture.recv.end.source;
        int32_t ret =
            ops->addr_to_string(fixture.victim.cls, source, text, &size);
        ck_assert_msg(ret == NA_PLUGIN_OK || ret == NA_PLUGIN_E_OPNOTSUPPORTED,
            "%s: %d", names[i], (int) ret);
        if (strcmp(names[i], "tcp://198.51.100.77:80") == 0)
            check_not_its_own(&fixture, names[i]);
        ops->addr_free(fixture.victim.cls, source);
        act_recv_any(&fixture.recv);
        fixture_trip(&fixture, names[i]);
        raw_peer_disconnect(&fixture.raw);
    }
    fixture_close(&fixture);
}
END_TEST

/* A peer of another version gets an error once, and is not answered again and
 * again. */
START_TEST(hostile_version_is_refused_once)
{
    struct fixture fixture;
    struct ucx_hello hello = raw_peer_hello();
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    hello.version = 99;
    fixture_open(&fixture);
    raw_peer_call(&fixture.raw, fixture.port);
    raw_peer_send_hello(&fixture.raw, fixture.sides, 0, &hello, sizeof(hello));
    while (!fixture.raw.hello_received) {
        raw_peer_progress(&fixture.raw, fixture.sides);
        ck_assert_uint_lt(now_ms(), until);
    }
    ck_assert_int_ne(fixture.raw.hello.status, 0);
    ck_assert_uint_eq(fixture_count(&fixture, MALFORMED), 1);
    ck_assert_uint_eq(fixture.victim.warnings, 1);
    raw_peer_send_hello(&fixture.raw, fixture.sides, 0, &hello, sizeof(hello));
    fixture_await_closed(&fixture, "a second hello of another version");
    ck_assert_uint_eq(side_counter(&fixture.victim, "connections_broken"), 1);
    fixture_trip(&fixture, "another version");
    fixture_close(&fixture);
}
END_TEST

/* The class calls, and the peer sends a malformed answer. */
START_TEST(hostile_answers_fail_the_call)
{
    static const struct {
        const char *what;
        int32_t code;
        uint32_t kind; /* 0: no answer */
        size_t offset;
        uint64_t value;
        size_t size;
    } answers[] = {
        {"a message first", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_UNEXPECTED, 0, 0,
            0},
        {"no magic", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_HELLO, IN_HELLO(magic), 0,
            WIDTH(magic)},
        {"another version", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_HELLO,
            IN_HELLO(version), 2, WIDTH(version)},
        {"a refusal", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_HELLO, IN_HELLO(status),
            (uint64_t) -1, WIDTH(status)},
        {"no number", NA_PLUGIN_E_PROTOCOL_ERROR, UCX_HELLO, IN_HELLO(number),
            0, WIDTH(number)},
        {"nothing", NA_PLUGIN_E_HOSTUNREACH, 0, 0, 0, 0},
    };
    struct raw_peer raw;
    struct side side = {.key = "ucx.connect_timeout", .value = "1s"};
    struct side *sides[] = {&side, NULL};
    struct act act;
    char name[SIDE_TEXT];

    raw_peer_open(&raw, fixture_protocol());
    snprintf(name, sizeof(name), "%s://127.0.0.1:%u", fixture_protocol(),
        (unsigned) raw_peer_listen(&raw));
    side_open(&side, fixture_protocol(), NULL, -1, 0);
    na_plugin_addr *addr = side_lookup(&side, name);
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        struct ucx_hello hello = raw_peer_hello();
        uint64_t until = now_ms() + SIDE_WAIT_MS;
        raw.gone = raw.hello_received = false;
        act_init(&act, &side);
        act_send(&act, true, "hi", 2, addr, 1);
        while (!raw.hello_received) {
            raw_peer_progress(&raw, sides);
            if (!act.pending || now_ms() > until)
                ck_abort_msg(
                    "%s: no call, %d", answers[i].what, (int) act.end.status);
        }
        memcpy((char *) &hello + answers[i].offset, &answers[i].value,
            answers[i].size);
        struct ucx_head head = {
            .token = raw.hello.token, .kind = (uint8_t) answers[i].kind};
        if (head.kind != 0)
            raw_peer_send(&raw, sides, &head, sizeof(head), &hello,
                sizeof(hello), UCP_AM_SEND_FLAG_EAGER);
        while (act.pending) {
            raw_peer_progress(&raw, sides);
            ck_assert_uint_lt(now_ms(), until);
        }
        if (act.end.status != answers[i].code)
            ck_abort_msg("%s: %d", answers[i].what, (int) act.end.status);
        act_fini(&act);
        raw_peer_disconnect(&raw);
    }
    side.ops->addr_free(side.cls, addr);
    side_close(&side);
    raw_peer_close(&raw);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, hostile_hellos_are_counted_and_end_the_connection);
    tcase_add_test(tcase, hostile_names_are_not_trusted);
    tcase_add_test(tcase, hostile_version_is_refused_once);
    tcase_add_test(tcase, hostile_answers_fail_the_call);
}

int
main(int argc, char **argv)
{
    return fixture_main(argc, argv, "ucx hostile hellos", add);
}
