/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers of other libraries and programs, and none at all: what the log says. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scene.h"

/* A socket of this host at which nobody listens, and whose port nobody else gets;
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
    snprintf(name, SIDE_TEXT, "%s://127.0.0.1:%d", scene_protocol(),
        (int) ntohs(where.sin_port));
    return fd;
}

/* One that listens, by no library. */
static int
listen_at(char name[SIDE_TEXT])
{
    int fd = bind_at(name);

    ck_assert_int_eq(listen(fd, 8), 0);
    return fd;
}

/* Sends to a name, while whoever connects to fd is hung up on; how it ends. */
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

START_TEST(foreign_listener_is_said_to_be_one)
{
    struct side side = {.expected = "does not speak Talaria's protocol"};
    char name[SIDE_TEXT];
    int fd = listen_at(name);

    side_open(&side, scene_protocol(), "127.0.0.1", -1, 0);
    ck_assert_int_eq(send_to(&side, name, fd), NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_uint_eq(side.errors, 0);
    ck_assert_uint_eq(side.told, 1);
    side_close(&side);
    close(fd);
}
END_TEST

START_TEST(foreign_nobody_is_said_to_be_nobody)
{
    struct side side = {.expected = "nobody listens there"};
    char name[SIDE_TEXT];

    int fd = bind_at(name);
    side_open(&side, scene_protocol(), "127.0.0.1", -1, 0);
    ck_assert_int_eq(send_to(&side, name, -1), NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_uint_eq(side.errors, 0);
    ck_assert_uint_eq(side.told, 1);
    side_close(&side);
    close(fd);
}
END_TEST

/* Lets both do what there is to do, for a while. */
static void
turn_for(struct scene *scene, uint64_t ms)
{
    for (uint64_t end = now_ms() + ms; now_ms() < end;)
        stranger_turn(&scene->stranger, scene->sides);
}

/* Calls, as any program over UCX may, and hangs up. A call that has not reached
 * the victim by then is made again. */
START_TEST(foreign_caller_is_said_to_be_one)
{
    uint64_t until = now_ms() + SIDE_WAIT_MS;
    struct scene scene;

    scene_open(&scene);
    scene.victim.expected = "did not say who it is";
    while (scene.victim.told < 2) {
        stranger_call(&scene.stranger, scene.port);
        turn_for(&scene, 200);
        stranger_hang_up(&scene.stranger);
        turn_for(&scene, 200);
        ck_assert_msg(now_ms() < until, "nothing is said");
    }
    ck_assert_uint_eq(scene.victim.errors, 0);
    scene_trip(&scene, "calls without a hello");
    scene_close(&scene);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, foreign_listener_is_said_to_be_one);
    tcase_add_test(tcase, foreign_nobody_is_said_to_be_nobody);
    tcase_add_test(tcase, foreign_caller_is_said_to_be_one);
}

int
main(int argc, char **argv)
{
    return scene_main(argc, argv, "ucx foreign", add);
}
