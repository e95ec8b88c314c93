/* SPDX-License-Identifier: BSD-3-Clause */
/* What a stranger does beside the language: says what it has heard, says too
 * much, uses UCX for something else, or is no UCX at all. */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "counts.h"
#include "scene.h"

/* What somebody has recorded of a connection is worth nothing by another one,
 * or once it has ended. */
START_TEST(hostile_replays_are_counted)
{
    const struct message message = {
        "recorded", STRAYED, UCX_UNEXPECTED, .tag = 8, .data = 9};
    struct scene scene;

    scene_open(&scene);
    stranger_join(&scene.stranger, scene.sides, scene.port);
    uint64_t token = scene.stranger.hello.token;
    for (uint32_t i = 0; i < 64; i++) {
        uint64_t count = scene_count(&scene, STRAYED);
        scene_say(&scene, &message, token ^ (UINT64_C(1) << i));
        scene_await_counter(
            &scene, "messages_strayed", count + 1, "another token");
    }
    /* its hello again, to whom it was said first: there is no such caller */
    struct ucx_hello hello = stranger_hello();
    uint64_t count = scene_count(&scene, STRAYED);
    stranger_greet(&scene.stranger, scene.sides, 0, &hello, sizeof(hello));
    scene_await_counter(&scene, "messages_strayed", count + 1, "a hello again");
    scene_trip(&scene, "a hello again");
    ck_assert_uint_eq(side_counter(&scene.victim, "peers_connected"), 2);
    stranger_hang_up(&scene.stranger);
    scene_await_counter(&scene, "connections_lost", 1, "hanging up");

    stranger_join(&scene.stranger, scene.sides, scene.port);
    ck_assert_uint_ne(scene.stranger.hello.token, token);
    count = scene_count(&scene, STRAYED);
    scene_say(&scene, &message, token);
    scene_await_counter(
        &scene, "messages_strayed", count + 1, "a token of before");
    scene_trip(&scene, "replays");
    scene_close(&scene);
}
END_TEST

/* A token is all that tells one peer's messages from another's: no bit of it can
 * be known. */
START_TEST(hostile_tokens_are_random_in_every_bit)
{
    struct scene scene;
    uint64_t ones = 0;
    uint64_t zeros = 0;

    scene_open(&scene);
    for (uint32_t i = 0; i < 40; i++) {
        stranger_join(&scene.stranger, scene.sides, scene.port);
        ones |= scene.stranger.hello.token;
        zeros |= ~scene.stranger.hello.token;
        stranger_hang_up(&scene.stranger);
    }
    ck_assert_uint_eq(ones, UINT64_MAX);
    ck_assert_uint_eq(zeros, UINT64_MAX);
    scene_trip(&scene, "many tokens");
    scene_close(&scene);
}
END_TEST

/* Who sends more than it was given room for is let go, and what is kept of it
 * has a bound. */
START_TEST(hostile_floods_end)
{
    const struct message message = {
        "a flood", STRAYED, UCX_UNEXPECTED, .tag = 8, .data = 200};
    const struct message lone = {
        "for nobody", STRAYED, UCX_EXPECTED, .tag = 8, .data = 1024};
    struct scene scene;
    uint32_t got = 0;

    scene_open(&scene);
    scene.victim.ops->cancel(scene.victim.ctx, scene.recv.op);
    act_await(&scene.recv, NULL);
    stranger_join(&scene.stranger, scene.sides, scene.port);
    for (uint32_t i = 0; i < 1000 && !scene.stranger.gone; i++) {
        scene_say(&scene, &message, scene.stranger.hello.token);
        stranger_turn(&scene.stranger, scene.sides);
    }
    scene_await_gone(&scene, "a flood");
    ck_assert_uint_eq(side_counter(&scene.victim, "connections_broken"), 1);
    uint64_t kept = side_counter(&scene.victim, "unexpected_queued");
    ck_assert_uint_le(kept * 264, (128U << 10) + SCENE_MESSAGE + 400);
    /* what had room is there */
    for (;;) {
        act_recv_any(&scene.recv);
        side_poll(&scene.victim);
        if (scene.recv.pending)
            break;
        ck_assert_int_eq(scene.recv.end.status, NA_PLUGIN_OK);
        scene.victim.ops->addr_free(scene.victim.cls, scene.recv.end.source);
        got++;
    }
    ck_assert_uint_eq(got, kept);
    scene_trip(&scene, "a flood");
    stranger_hang_up(&scene.stranger);

    stranger_join(&scene.stranger, scene.sides, scene.port);
    for (uint32_t i = 0; i < 1000; i++)
        scene_say(&scene, &lone, scene.stranger.hello.token);
    scene_await_counter(&scene, "expected_dropped", 1000 - 256, "for nobody");
    scene_trip(&scene, "for nobody");
    scene_close(&scene);
}
END_TEST

static void
turn_for(struct scene *scene, uint64_t ms)
{
    uint64_t until = now_ms() + ms;

    while (now_ms() < until)
        stranger_turn(&scene->stranger, scene->sides);
}

START_TEST(hostile_tags_are_nothing)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    struct scene scene;

    scene_open(&scene);
    stranger_join(&scene.stranger, scene.sides, scene.port);
    for (uint32_t i = 0; i < 3; i++) {
        void *request = ucp_tag_send_nbx(
            scene.stranger.ep, scene_bytes, (size_t) i * 5000, 1, &param);
        turn_for(&scene, 50);
        scene_trip(&scene, "a tagged message");
        if (UCS_PTR_IS_PTR(request))
            ucp_request_free(request);
    }
    scene_close(&scene);
}
END_TEST

/* What a stranger does by UCX itself, with a key that it made up. */
enum deed { PUT, GET, ADD, DEEDS };

static void *
begin_deed(
    struct stranger *stranger, enum deed deed, uint64_t *target, ucp_rkey_h key)
{
    static uint64_t own[8];
    ucp_request_param_t put_get = {.op_attr_mask = 0};
    ucp_request_param_t add = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE,
        .datatype = ucp_dt_make_contig(sizeof(own[0]))};
    uint64_t there = (uintptr_t) target;

    memset(own, 0xee, sizeof(own));
    if (deed == PUT)
        return ucp_put_nbx(
            stranger->ep, own, sizeof(own), there, key, &put_get);
    if (deed == GET)
        return ucp_get_nbx(
            stranger->ep, scene_bytes, sizeof(own), there, key, &put_get);
    return ucp_atomic_op_nbx(
        stranger->ep, UCP_ATOMIC_OP_ADD, own, 1, there, key, &add);
}

/* Whether UCX chooses protocols in the newer way. There a put over TCP is the
 * transport's own, and that looks at nothing: README.md, "Strangers". */
static bool
puts_go_by_the_transport(void)
{
    unsigned major, minor, release;

    ucp_get_version(&major, &minor, &release);
    return major > 1 || minor >= 16;
}

/* A class for messages only: UCX isn't to read or write its memory for a peer. */
START_TEST(hostile_deeds_by_ucx_reach_nothing)
{
    static uint64_t target[8];
    ucp_mem_map_params_t map = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                                              UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address = target,
        .length = sizeof(target)};
    enum deed deed = (enum deed) _i;
    struct scene scene;
    ucp_mem_h mem;
    ucp_rkey_h key;
    void *packed;
    size_t size;

    if (deed == PUT && puts_go_by_the_transport()) {
        printf("skipped: UCX %s writes by itself what a stranger puts\n",
            ucp_get_version_string());
        return;
    }
    scene_open(&scene);
    stranger_join(&scene.stranger, scene.sides, scene.port);
    ck_assert_int_eq(ucp_mem_map(scene.stranger.context, &map, &mem), UCS_OK);
    ck_assert_int_eq(
        ucp_rkey_pack(scene.stranger.context, mem, &packed, &size), UCS_OK);
    ck_assert_int_eq(
        ucp_ep_rkey_unpack(scene.stranger.ep, packed, &key), UCS_OK);
    ucp_rkey_buffer_release(packed);
    memset(target, 0x5a, sizeof(target));
    memset(scene_bytes, 0, sizeof(target));
    void *request = begin_deed(&scene.stranger, deed, target, key);
    turn_for(&scene, 100);
    for (size_t i = 0; i < sizeof(target); i++) {
        ck_assert_uint_eq(((unsigned char *) target)[i], 0x5a);
        ck_assert_uint_eq(scene_bytes[i], 0);
    }
    scene_trip(&scene, "a deed of UCX");
    stranger_hang_up(&scene.stranger);
    turn_for(&scene, 20);
    if (UCS_PTR_IS_PTR(request))
        ucp_request_free(request);
    ucp_rkey_destroy(key);
    ucp_mem_unmap(scene.stranger.context, mem);
    scene_close(&scene);
}
END_TEST

/* No UCX at all: connects, and writes what it likes. */
START_TEST(hostile_bytes_at_the_port_harm_nobody)
{
    struct scene scene;

    scene_open(&scene);
    srand(7);
    for (uint32_t i = 0; i < 20; i++) {
        struct sockaddr_in where = {.sin_family = AF_INET,
            .sin_port = htons((uint16_t) scene.port),
            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(
            connect(fd, (struct sockaddr *) &where, sizeof(where)), 0);
        size_t length = i == 0 ? 0 : (size_t) rand() % 3000;
        for (size_t j = 0; j < length; j++)
            scene_bytes[j] = (unsigned char) rand();
        ck_assert_int_eq(
            send(fd, scene_bytes, length, MSG_NOSIGNAL), (ssize_t) length);
        for (uint32_t j = 0; j < 50; j++)
            stranger_turn(&scene.stranger, scene.sides);
        if (i % 2 == 0)
            close(fd);
        scene_trip(&scene, "bytes");
    }
    scene_close(&scene);
}
END_TEST

#define SLACK (UINT64_C(64) << 10)

/* The ports of IPv4 that this process listens at: of UCX's listener, and of its
 * transport. */
static size_t
find_ports(struct sockaddr_in *ports, size_t most)
{
    size_t count = 0;

    for (int fd = 0; fd < 1024 && count < most; fd++) {
        socklen_t length = sizeof(ports[0]);
        int listens = 0;
        socklen_t size = sizeof(listens);
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
            listens != 0 &&
            getsockname(fd, (struct sockaddr *) &ports[count], &length) == 0 &&
            ports[count].sin_family == AF_INET &&
            ntohl(ports[count].sin_addr.s_addr) >> 24 == 127)
            count++;
    }
    return count;
}

static uint32_t
count_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint32_t count = 0;

    ck_assert_ptr_nonnull(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* Many connect, to each port, and say nothing: others are served meanwhile, and
 * descriptors come back when they hang up. */
START_TEST(hostile_silence_holds_up_nobody)
{
    static struct sockaddr_in ports[8];
    /* Two descriptors each, as both ends are here. From about 1,000 on UCX
     * closes those of the connections that its listener refuses twice, by its
     * own thread: the second time they may be ours. */
    uint32_t silent = test_count_open(TEST_SILENT_UCX, 2);
    int *fds = calloc(silent, sizeof(*fds));
    struct scene scene;

    scene_open(&scene);
    stranger_join(&scene.stranger, scene.sides, scene.port);
    stranger_hang_up(&scene.stranger);
    scene_trip(&scene, "nothing");
    size_t count = find_ports(ports, 8);
    ck_assert_uint_ge(count, 2);
    uint32_t before = count_fds();
    for (size_t i = 0; i < count; i++) {
        uint64_t heap = test_heap();
        for (uint32_t j = 0; j < silent; j++) {
            fds[j] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            ck_assert_int_ge(fds[j], 0);
            ck_assert_int_eq(connect(fds[j], (struct sockaddr *) &ports[i],
                                 sizeof(ports[i])),
                0);
            stranger_turn(&scene.stranger, scene.sides);
        }
        scene_trip(&scene, "silence");
        uint32_t amid = count_fds();
        stranger_join(&scene.stranger, scene.sides, scene.port);
        stranger_hang_up(&scene.stranger);
        for (uint32_t j = 0; j < silent; j++)
            close(fds[j]);
        uint64_t until = now_ms() + SIDE_WAIT_MS;
        while (count_fds() > before) {
            stranger_turn(&scene.stranger, scene.sides);
            if (now_ms() > until)
                ck_abort_msg("%u descriptors stay", count_fds() - before);
        }
        scene_trip(&scene, "silence that is over");
        printf("%u silent at port %u: descriptors %u, %u, then %u; heap %llu, "
               "then %llu\n",
            silent, ntohs(ports[i].sin_port), before, amid, count_fds(),
            (unsigned long long) heap, (unsigned long long) test_heap());
        fflush(stdout);
        ck_assert_uint_le(test_heap(), heap + SLACK);
    }
    scene_close(&scene);
    free(fds);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, hostile_replays_are_counted);
    tcase_add_test(tcase, hostile_tokens_are_random_in_every_bit);
    tcase_add_test(tcase, hostile_floods_end);
    tcase_add_test(tcase, hostile_tags_are_nothing);
    tcase_add_test(tcase, hostile_bytes_at_the_port_harm_nobody);
    tcase_add_test(tcase, hostile_silence_holds_up_nobody);
    tcase_set_timeout(tcase, 30);
    /* opened with more, UCX trusts its peers */
    if (strcmp(scene_protocol(), "tcp") == 0)
        tcase_add_loop_test(
            tcase, hostile_deeds_by_ucx_reach_nothing, PUT, DEEDS);
}

int
main(int argc, char **argv)
{
    return scene_main(argc, argv, "ucx hostile deeds", add);
}
