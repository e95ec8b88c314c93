/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer that writes invalid data into shared memory: it loses its connection,
 * and no other peer is affected. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "hostile_peer.h"

START_TEST(hostile_peer_following_the_protocol_is_served)
{
    char buffer[64];
    open_both();
    struct hostile_peer peer = hostile_open(&hostile_target);
    struct hello hello = await_answer(&peer);
    ck_assert_uint_eq(hello.magic, HELLO_MAGIC);
    ck_assert_int_eq(hello.status, 0);
    void *op = post_unexpected(&hostile_target, buffer, sizeof(buffer));
    memcpy(peer.ring + PAGE + 16, "hello", 6);
    put_word(peer.ring, 0, UNEXPECTED, 0, 6, 9);
    na_plugin_event event = await_message(&hostile_target, 0, op, 6, 9, true);
    ck_assert_str_eq(buffer, "hello");
    hostile_target.ops->addr_free(hostile_target.cls, event.source);
    free(op);
    hostile_close(&peer);
    close_both();
}
END_TEST

/* An invalid record: the connection ends, with all operations that wait for
 * it. */
static void
bad_record(uint32_t kind, uint32_t target, uint32_t length)
{
    char buffer[64];
    open_both();
    check_friend();
    struct hostile_peer peer = hostile_open(&hostile_target);
    await_answer(&peer);
    void *op = post_unexpected(&hostile_target, buffer, sizeof(buffer));
    put_word(peer.ring, 0, UNEXPECTED, 0, 6, 9);
    na_plugin_event event = await_message(&hostile_target, 0, op, 6, 9, true);
    void *wait =
        post_expected(&hostile_target, buffer, sizeof(buffer), event.source, 1);

    put_word(peer.ring, 64, kind, target, length, 9);
    ck_assert_int_eq(
        await_op(&hostile_target, 0, wait).status, NA_PLUGIN_E_PROTOCOL_ERROR);
    ck_assert_uint_eq(node_warnings(&hostile_target), 1);
    ck_assert_uint_eq(node_counter(&hostile_target, "connections_broken"), 1);
    expect_hangup(peer.socket);
    hostile_target.ops->addr_free(hostile_target.cls, event.source);
    free(op);
    free(wait);
    hostile_close(&peer);
    check_friend();
    close_both();
}

START_TEST(hostile_record_of_unknown_kind_ends_connection)
{
    bad_record(3, 0, 8);
}
END_TEST

START_TEST(hostile_record_with_unknown_bits_ends_connection)
{
    bad_record(0x8001, 0, 8);
}
END_TEST

START_TEST(hostile_record_too_long_ends_connection)
{
    bad_record(UNEXPECTED, 0, 4097);
}
END_TEST

START_TEST(hostile_record_of_four_gib_ends_connection)
{
    bad_record(EXPECTED, 0, UINT32_MAX);
}
END_TEST

START_TEST(hostile_record_too_long_for_missing_context_ends_connection)
{
    bad_record(UNEXPECTED, 99, 65536);
}
END_TEST

static _Atomic bool stop;

/* Endlessly publishes a message in every line of a ring. */
static void *
announce(void *ring)
{
    while (!stop)
        for (uint32_t i = 0; i < CAPACITY; i += 64)
            put_word(ring, i, UNEXPECTED, 0, 8, i);
    return NULL;
}

START_TEST(hostile_endless_ring_is_bounded_per_poll)
{
    pthread_t writer;
    char buffer[64];
    open_both();
    struct hostile_peer peer = hostile_open(&hostile_target);
    await_answer(&peer);
    ck_assert_int_eq(pthread_create(&writer, NULL, announce, peer.ring), 0);
    uint64_t deadline = now_ns() + UINT64_C(50000000000);
    while (node_counter(&hostile_target, "unexpected_queued") < 1000) {
        ck_assert_uint_lt(now_ns(), deadline);
        pump();
    }
    for (int i = 0; i < 1000; i++)
        pump();
    ck_assert_uint_le(
        node_counter(&hostile_target, "unexpected_queued"), (1 << 20) / 32);
    /* it keeps writing while its messages are delivered */
    close(peer.socket);
    while (node_counter(&hostile_target, "connections_lost") == 0) {
        ck_assert_uint_lt(now_ns(), deadline);
        pump();
    }
    stop = true;
    pthread_join(writer, NULL);
    close(peer.memory);
    munmap(peer.ring, PAGE + CAPACITY);
    for (uint32_t i = 0; i < 100; i++) {
        void *op = post_unexpected(&hostile_target, buffer, sizeof(buffer));
        na_plugin_event event = await_op(&hostile_target, 0, op);
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        hostile_target.ops->addr_free(hostile_target.cls, event.source);
        free(op);
    }
    close_both();
}
END_TEST

START_TEST(hostile_wakeups_are_harmless)
{
    static const char noise[1];
    open_both();
    struct hostile_peer peer = hostile_open(&hostile_target);
    await_answer(&peer);
    for (int i = 0; i < 2000; i++) {
        ssize_t sent = send(peer.socket, noise, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void) sent;
        pump();
    }
    /* descriptors received with it are closed */
    uint32_t descriptors = count_descriptors();
    for (int i = 0; i < 50; i++) {
        send_with(peer.socket, "x", 1, &peer.memory, 1);
        for (int j = 0; j < 100; j++)
            pump();
    }
    for (int i = 0; i < 5000; i++)
        pump();
    ck_assert_uint_eq(count_descriptors(), descriptors);
    check_friend();
    ck_assert_uint_eq(node_counter(&hostile_target, "connections_broken"), 0);
    hostile_close(&peer);
    close_both();
}
END_TEST

/* Packets that are neither wake-ups nor requested memory. */
static void
bad_packet(const void *packet, size_t length, bool with_memory)
{
    open_both();
    struct hostile_peer peer = hostile_open(&hostile_target);
    await_answer(&peer);
    uint32_t descriptors = count_descriptors();
    send_with(peer.socket, packet, length, &peer.memory, with_memory);
    for (int i = 0;
         i < 20000 && node_counter(&hostile_target, "connections_broken") == 0;
         i++)
        pump();
    ck_assert_uint_eq(node_counter(&hostile_target, "connections_broken"), 1);
    /* of the connection itself: socket, process */
    ck_assert_uint_le(count_descriptors(), descriptors);
    node_warnings(&hostile_target);
    check_friend();
    hostile_close(&peer);
    close_both();
}

START_TEST(hostile_packet_of_unknown_kind_ends_connection)
{
    static const char noise[64] = {1};

    for (size_t length = 2; length <= sizeof(noise); length += 11)
        bad_packet(noise, length, length % 2 == 0);
}
END_TEST

START_TEST(hostile_unrequested_memory_ends_connection)
{
    struct {
        uint32_t magic;
        uint32_t zero;
        uint64_t id;
        uint64_t length;
    } packet = {0x31417253, 0, 1, 28672 + 4096};

    bad_packet(&packet, sizeof(packet), true);
}
END_TEST

/* Sends until one send is pending, at most 30. Returns the last result, and its
 * operation. */
static int32_t
send_until_pending(na_plugin_addr *peer, void **op_p)
{
    static unsigned char data[4000];
    int32_t ret = NA_PLUGIN_DONE;
    for (int i = 0; i < 30 && ret == NA_PLUGIN_DONE; i++) {
        *op_p = op_new(&hostile_target);
        ret = hostile_target.ops->send_unexpected(hostile_target.ctx[0], *op_p,
            data, sizeof(data), NULL, peer, 0, 1, 0);
        if (ret == NA_PLUGIN_DONE)
            free(*op_p);
    }
    return ret;
}

/* A consumer index that takes these two values; the second is invalid. */
static void
lie(int64_t first, int64_t second)
{
    char buffer[8];
    char text[TEXT];
    struct trap trap;
    void *op = NULL;
    open_both();
    trap_open(&trap, text);
    na_plugin_addr *peer = lookup(&hostile_target, text);
    void *wait =
        post_expected(&hostile_target, buffer, sizeof(buffer), peer, 1);
    trap_accept(&trap);
    _Atomic int64_t *consumed = (void *) (trap.ring + 64);

    ck_assert_int_eq(send_until_pending(peer, &op), NA_PLUGIN_PENDING);
    atomic_store(consumed, first);
    ck_assert_int_eq(await_op(&hostile_target, 0, op).status, NA_PLUGIN_OK);
    free(op);
    atomic_store(consumed, second);
    ck_assert_int_eq(send_until_pending(peer, &op), NA_PLUGIN_PENDING);
    ck_assert_int_eq(
        await_op(&hostile_target, 0, op).status, NA_PLUGIN_E_PROTOCOL_ERROR);
    ck_assert_int_eq(
        await_op(&hostile_target, 0, wait).status, NA_PLUGIN_E_PROTOCOL_ERROR);
    check_friend();
    hostile_target.ops->addr_free(hostile_target.cls, peer);
    free(op);
    free(wait);
    trap_close(&trap);
    close_both();
}

START_TEST(hostile_consumer_ahead_of_producer_ends_connection)
{
    lie(8192, 1 << 20);
}
END_TEST

START_TEST(hostile_consumer_moving_backwards_ends_connection)
{
    lie(8192, 4096);
}
END_TEST

START_TEST(hostile_consumer_below_zero_ends_connection)
{
    lie(8192, -64);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("hostile_ring");
    tcase_add_test(cases, hostile_peer_following_the_protocol_is_served);
    tcase_add_test(cases, hostile_record_of_unknown_kind_ends_connection);
    tcase_add_test(cases, hostile_record_with_unknown_bits_ends_connection);
    tcase_add_test(cases, hostile_record_too_long_ends_connection);
    tcase_add_test(cases, hostile_record_of_four_gib_ends_connection);
    tcase_add_test(
        cases, hostile_record_too_long_for_missing_context_ends_connection);
    tcase_add_test(cases, hostile_endless_ring_is_bounded_per_poll);
    tcase_add_test(cases, hostile_wakeups_are_harmless);
    tcase_add_test(cases, hostile_packet_of_unknown_kind_ends_connection);
    tcase_add_test(cases, hostile_unrequested_memory_ends_connection);
    tcase_add_test(cases, hostile_consumer_ahead_of_producer_ends_connection);
    tcase_add_test(cases, hostile_consumer_moving_backwards_ends_connection);
    tcase_add_test(cases, hostile_consumer_below_zero_ends_connection);
    return run_cases("hostile_ring", &cases, 1);
}
