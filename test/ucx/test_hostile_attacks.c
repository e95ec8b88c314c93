/* SPDX-License-Identifier: BSD-3-Clause */
/* Attacks that are no malformed messages: replays, floods, direct use of UCX,
 * and raw TCP connections. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "counts.h"
#include "entries.h"
#include "fixture.h"

/* Messages recorded on one connection are not valid on another, or after it has
 * ended. */
START_TEST(hostile_replays_are_counted)
{
    const struct message message = {
        "recorded", STRAYED, UCX_UNEXPECTED, .tag = 8, .data = 9};
    struct fixture fixture;

    fixture_open(&fixture);
    raw_peer_join(&fixture.raw, fixture.sides, fixture.port);
    uint64_t token = fixture.raw.hello.token;
    for (uint32_t i = 0; i < 64; i++) {
        uint64_t count = fixture_count(&fixture, STRAYED);
        fixture_send(&fixture, &message, token ^ (UINT64_C(1) << i));
        fixture_await_counter(
            &fixture, "messages_strayed", count + 1, "another token");
    }
    /* its hello again, to the same class: the caller it names is not there */
    struct ucx_hello hello = raw_peer_hello();
    uint64_t count = fixture_count(&fixture, STRAYED);
    raw_peer_send_hello(&fixture.raw, fixture.sides, 0, &hello, sizeof(hello));
    fixture_await_counter(
        &fixture, "messages_strayed", count + 1, "a hello again");
    fixture_trip(&fixture, "a hello again");
    ck_assert_uint_eq(side_counter(&fixture.victim, "peers_connected"), 2);
    raw_peer_disconnect(&fixture.raw);
    fixture_await_counter(&fixture, "connections_lost", 1, "hanging up");

    raw_peer_join(&fixture.raw, fixture.sides, fixture.port);
    ck_assert_uint_ne(fixture.raw.hello.token, token);
    count = fixture_count(&fixture, STRAYED);
    fixture_send(&fixture, &message, token);
    fixture_await_counter(
        &fixture, "messages_strayed", count + 1, "a token of before");
    fixture_trip(&fixture, "replays");
    fixture_close(&fixture);
}
END_TEST

/* Only a token distinguishes peers' messages: no bit of it may be predictable. */
START_TEST(tokens_are_random_in_every_bit)
{
    struct fixture fixture;
    uint64_t ones = 0;
    uint64_t zeros = 0;

    fixture_open(&fixture);
    for (uint32_t i = 0; i < 40; i++) {
        raw_peer_join(&fixture.raw, fixture.sides, fixture.port);
        ones |= fixture.raw.hello.token;
        zeros |= ~fixture.raw.hello.token;
        raw_peer_disconnect(&fixture.raw);
    }
    ck_assert_uint_eq(ones, UINT64_MAX);
    ck_assert_uint_eq(zeros, UINT64_MAX);
    fixture_trip(&fixture, "many tokens");
    fixture_close(&fixture);
}
END_TEST

/* A peer that sends more than its credits is disconnected, and what is kept of
 * it is bounded. */
START_TEST(hostile_floods_end_the_connection)
{
    const struct message message = {
        "a flood", STRAYED, UCX_UNEXPECTED, .tag = 8, .data = 200};
    const struct message lone = {
        "for no receive", STRAYED, UCX_EXPECTED, .tag = 8, .data = 1024};
    struct fixture fixture;
    uint32_t got = 0;

    fixture_open(&fixture);
    fixture.victim.ops->cancel(fixture.victim.ctx, fixture.recv.op);
    act_await(&fixture.recv, NULL);
    raw_peer_join(&fixture.raw, fixture.sides, fixture.port);
    for (uint32_t i = 0; i < 1000 && !fixture.raw.gone; i++) {
        fixture_send(&fixture, &message, fixture.raw.hello.token);
        raw_peer_progress(&fixture.raw, fixture.sides);
    }
    fixture_await_closed(&fixture, "a flood");
    ck_assert_uint_eq(side_counter(&fixture.victim, "connections_broken"), 1);
    uint64_t kept = side_counter(&fixture.victim, "unexpected_queued");
    ck_assert_uint_le(kept * 264, (128U << 10) + FIXTURE_MESSAGE + 400);
    /* messages within the credits are delivered */
    for (;;) {
        act_recv_any(&fixture.recv);
        side_poll(&fixture.victim);
        if (fixture.recv.pending)
            break;
        ck_assert_int_eq(fixture.recv.end.status, NA_PLUGIN_OK);
        fixture.victim.ops->addr_free(
            fixture.victim.cls, fixture.recv.end.source);
        got++;
    }
    ck_assert_uint_eq(got, kept);
    fixture_trip(&fixture, "a flood");
    raw_peer_disconnect(&fixture.raw);

    raw_peer_join(&fixture.raw, fixture.sides, fixture.port);
    for (uint32_t i = 0; i < 1000; i++)
        fixture_send(&fixture, &lone, fixture.raw.hello.token);
    fixture_await_counter(
        &fixture, "expected_dropped", 1000 - 256, "for no receive");
    fixture_trip(&fixture, "for no receive");
    fixture_close(&fixture);
}
END_TEST

static void
turn_for(struct fixture *fixture, uint64_t ms)
{
    uint64_t until = now_ms() + ms;

    while (now_ms() < until)
        raw_peer_progress(&fixture->raw, fixture->sides);
}

START_TEST(hostile_tagged_messages_are_ignored)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    struct fixture fixture;

    fixture_open(&fixture);
    raw_peer_join(&fixture.raw, fixture.sides, fixture.port);
    for (uint32_t i = 0; i < 3; i++) {
        void *request = ucp_tag_send_nbx(
            fixture.raw.ep, fixture_bytes, (size_t) i * 5000, 1, &param);
        turn_for(&fixture, 50);
        fixture_trip(&fixture, "a tagged message");
        if (UCS_PTR_IS_PTR(request))
            ucp_request_free(request);
    }
    fixture_close(&fixture);
}
END_TEST

/* A put by UCX itself, with an invented key. */
enum deed { PUT, GET, ADD, DEEDS };

static void *
begin_deed(
    struct raw_peer *raw, enum deed deed, uint64_t *target, ucp_rkey_h key)
{
    static uint64_t own[8];
    ucp_request_param_t put_get = {.op_attr_mask = 0};
    ucp_request_param_t add = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE,
        .datatype = ucp_dt_make_contig(sizeof(own[0]))};
    uint64_t there = (uintptr_t) target;

    memset(own, 0xee, sizeof(own));
    if (deed == PUT)
        return ucp_put_nbx(raw->ep, own, sizeof(own), there, key, &put_get);
    if (deed == GET)
        return ucp_get_nbx(
            raw->ep, fixture_bytes, sizeof(own), there, key, &put_get);
    return ucp_atomic_op_nbx(
        raw->ep, UCP_ATOMIC_OP_ADD, own, 1, there, key, &add);
}

/* Whether UCX uses its newer protocol selection, with which a put over TCP is
 * done by the transport without a check: README.md, "Untrusted peers". */
static bool
puts_go_by_the_transport(void)
{
    unsigned major, minor, release;

    ucp_get_version(&major, &minor, &release);
    return major > 1 || minor >= 16;
}

/* A class for messages only: UCX must not access its memory on behalf of a
 * peer. */
START_TEST(hostile_direct_rma_is_refused)
{
    static uint64_t target[8];
    ucp_mem_map_params_t map = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                                              UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address = target,
        .length = sizeof(target)};
    enum deed deed = (enum deed) _i;
    struct fixture fixture;
    ucp_mem_h mem;
    ucp_rkey_h key;
    void *packed;
    size_t size;

    if (deed == PUT && puts_go_by_the_transport()) {
        printf("skipped: UCX %s writes by itself what a raw puts\n",
            ucp_get_version_string());
        return;
    }
    fixture_open(&fixture);
    raw_peer_join(&fixture.raw, fixture.sides, fixture.port);
    ck_assert_int_eq(ucp_mem_map(fixture.raw.context, &map, &mem), UCS_OK);
    ck_assert_int_eq(
        ucp_rkey_pack(fixture.raw.context, mem, &packed, &size), UCS_OK);
    ck_assert_int_eq(ucp_ep_rkey_unpack(fixture.raw.ep, packed, &key), UCS_OK);
    ucp_rkey_buffer_release(packed);
    memset(target, 0x5a, sizeof(target));
    memset(fixture_bytes, 0, sizeof(target));
    void *request = begin_deed(&fixture.raw, deed, target, key);
    turn_for(&fixture, 100);
    for (size_t i = 0; i < sizeof(target); i++) {
        ck_assert_uint_eq(((unsigned char *) target)[i], 0x5a);
        ck_assert_uint_eq(fixture_bytes[i], 0);
    }
    fixture_trip(&fixture, "a deed of UCX");
    raw_peer_disconnect(&fixture.raw);
    turn_for(&fixture, 20);
    if (UCS_PTR_IS_PTR(request))
        ucp_request_free(request);
    ucp_rkey_destroy(key);
    ucp_mem_unmap(fixture.raw.context, mem);
    fixture_close(&fixture);
}
END_TEST

/* Without UCX: connects, and writes arbitrary bytes. */
START_TEST(hostile_bytes_at_the_port_are_harmless)
{
    struct fixture fixture;

    fixture_open(&fixture);
    srand(7);
    for (uint32_t i = 0; i < 20; i++) {
        struct sockaddr_in where = {.sin_family = AF_INET,
            .sin_port = htons((uint16_t) fixture.port),
            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(
            connect(fd, (struct sockaddr *) &where, sizeof(where)), 0);
        size_t length = i == 0 ? 0 : (size_t) rand() % 3000;
        for (size_t j = 0; j < length; j++)
            fixture_bytes[j] = (unsigned char) rand();
        ck_assert_int_eq(
            send(fd, fixture_bytes, length, MSG_NOSIGNAL), (ssize_t) length);
        for (uint32_t j = 0; j < 50; j++)
            raw_peer_progress(&fixture.raw, fixture.sides);
        if (i % 2 == 0)
            close(fd);
        fixture_trip(&fixture, "bytes");
    }
    fixture_close(&fixture);
}
END_TEST

#define SLACK (UINT64_C(64) << 10)

/* The IPv4 ports of this process: UCX's listener, and its transport. */
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

/* Many silent connections to each port: others are served meanwhile, and the
 * descriptors are freed when they are closed. */
START_TEST(hostile_silent_connections_do_not_block_others)
{
    static struct sockaddr_in ports[8];
    /* Two descriptors each, as both ends are in this process. From about 1,000
     * on UCX closes the descriptors of refused connections twice, in its own
     * thread: the second time they may belong to this test. */
    uint32_t silent = test_count_open(TEST_SILENT_UCX, 2);
    int *fds = calloc(silent, sizeof(*fds));
    struct fixture fixture;

    fixture_open(&fixture);
    raw_peer_join(&fixture.raw, fixture.sides, fixture.port);
    raw_peer_disconnect(&fixture.raw);
    fixture_trip(&fixture, "nothing");
    size_t count = find_ports(ports, 8);
    ck_assert_uint_ge(count, 2);
    uint32_t before = count_descriptors();
    for (size_t i = 0; i < count; i++) {
        uint64_t heap = test_heap();
        for (uint32_t j = 0; j < silent; j++) {
            fds[j] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            ck_assert_int_ge(fds[j], 0);
            ck_assert_int_eq(connect(fds[j], (struct sockaddr *) &ports[i],
                                 sizeof(ports[i])),
                0);
            raw_peer_progress(&fixture.raw, fixture.sides);
        }
        fixture_trip(&fixture, "silence");
        uint32_t amid = count_descriptors();
        raw_peer_join(&fixture.raw, fixture.sides, fixture.port);
        raw_peer_disconnect(&fixture.raw);
        for (uint32_t j = 0; j < silent; j++)
            close(fds[j]);
        uint64_t until = now_ms() + SIDE_WAIT_MS;
        while (count_descriptors() > before) {
            raw_peer_progress(&fixture.raw, fixture.sides);
            if (now_ms() > until)
                ck_abort_msg(
                    "%u descriptors stay", count_descriptors() - before);
        }
        fixture_trip(&fixture, "silence that is over");
        printf("%u silent at port %u: descriptors %u, %u, then %u; heap %llu, "
               "then %llu\n",
            silent, ntohs(ports[i].sin_port), before, amid, count_descriptors(),
            (unsigned long long) heap, (unsigned long long) test_heap());
        fflush(stdout);
        ck_assert_uint_le(test_heap(), heap + SLACK);
    }
    fixture_close(&fixture);
    free(fds);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, hostile_replays_are_counted);
    tcase_add_test(tcase, tokens_are_random_in_every_bit);
    tcase_add_test(tcase, hostile_floods_end_the_connection);
    tcase_add_test(tcase, hostile_tagged_messages_are_ignored);
    tcase_add_test(tcase, hostile_bytes_at_the_port_are_harmless);
    tcase_add_test(tcase, hostile_silent_connections_do_not_block_others);
    tcase_set_timeout(tcase, 30);
    /* opened with more features, UCX trusts its peers */
    if (strcmp(fixture_protocol(), "tcp") == 0)
        tcase_add_loop_test(tcase, hostile_direct_rma_is_refused, PUT, DEEDS);
}

int
main(int argc, char **argv)
{
    return fixture_main(argc, argv, "ucx hostile attacks", add);
}
