/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers of other libraries and programs, and missing peers: the log
 * lines. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fixture.h"

/* Binds a socket without listening, so that no program gets its port. Returns
 * its name. */
static int
bind_at(char name[SIDE_TEXT])
{
    struct sockaddr_in where = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(where);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *) &where, length), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *) &where, &length), 0);
    snprintf(name, SIDE_TEXT, "%s://127.0.0.1:%d", fixture_protocol(),
        (int) ntohs(where.sin_port));
    return fd;
}

/* Listens, without any library. */
static int
listen_at(char name[SIDE_TEXT])
{
    int fd = bind_at(name);

    ck_assert_int_eq(listen(fd, 8), 0);
    return fd;
}

/* Sends to a name, while connections to fd are accepted and closed. Returns the
 * result. */
static int32_t
send_to(struct side *side, const char *name, int fd)
{
    na_plugin_addr *peer = side_lookup(side, name);
    uint64_t until = now_ms() + SIDE_WAIT_MS;
    struct act send;

    act_init(&send, side);
    act_send(&send, true, "hello", 5, peer, 1);
    while (send.pending) {
        int caller = fd >= 0 ? accept(fd, NULL, NULL) : -1;
        if (caller >= 0)
            close(caller);
        side_poll(side);
        ck_assert_msg(now_ms() < until, "it does not end");
    }
    int32_t status = send.end.status;
    act_fini(&send);
    side->ops->addr_free(side->cls, peer);
    return status;
}

START_TEST(foreign_listener_is_logged_as_such)
{
    struct side side = {.expected = "does not speak Talaria's protocol"};
    char name[SIDE_TEXT];
    int fd = listen_at(name);

    side_open(&side, fixture_protocol(), "127.0.0.1", -1, 0);
    ck_assert_int_eq(send_to(&side, name, fd), NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_uint_eq(side.errors, 0);
    ck_assert_uint_eq(side.matched, 1);
    side_close(&side);
    close(fd);
}
END_TEST

START_TEST(missing_listener_is_logged_as_such)
{
    struct side side = {.expected = "connection refused: no process listens"};
    char name[SIDE_TEXT];

    int fd = bind_at(name);
    side_open(&side, fixture_protocol(), "127.0.0.1", -1, 0);
    ck_assert_int_eq(send_to(&side, name, -1), NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_uint_eq(side.errors, 1);
    ck_assert_uint_eq(side.matched, 1);
    side_close(&side);
    close(fd);
}
END_TEST

/* Progresses both for a while. */
static void
turn_for(struct fixture *fixture, uint64_t ms)
{
    for (uint64_t end = now_ms() + ms; now_ms() < end;)
        raw_peer_progress(&fixture->raw, fixture->sides);
}

/* Connects like any program over UCX, and disconnects; repeats a call that has
 * not reached the victim by then. */
START_TEST(foreign_caller_is_logged_as_such)
{
    uint64_t until = now_ms() + SIDE_WAIT_MS;
    struct fixture fixture;

    fixture_open(&fixture);
    fixture.victim.expected = "connected without a hello";
    while (fixture.victim.matched < 2) {
        raw_peer_call(&fixture.raw, fixture.port);
        turn_for(&fixture, 200);
        raw_peer_disconnect(&fixture.raw);
        turn_for(&fixture, 200);
        ck_assert_msg(now_ms() < until, "nothing is logged");
    }
    ck_assert_uint_eq(fixture.victim.errors, 0);
    fixture_trip(&fixture, "calls without a hello");
    fixture_close(&fixture);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, foreign_listener_is_logged_as_such);
    tcase_add_test(tcase, missing_listener_is_logged_as_such);
    tcase_add_test(tcase, foreign_caller_is_logged_as_such);
}

int
main(int argc, char **argv)
{
    return fixture_main(argc, argv, "ucx foreign", add);
}
