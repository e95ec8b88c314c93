/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers of other libraries and programs: the log names what they are. */
#include <arpa/inet.h>
#include <rdma/fi_cm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "raw_peer.h"

#define WAIT_NS UINT64_C(20000000000)

/* Polls until this many messages have been dropped. */
static void
await_dropped(struct node *node, uint64_t count)
{
    uint64_t end = now_ns() + WAIT_NS;
    na_plugin_event event;

    while (node_counter(node, "malformed") < count) {
        ck_assert(!poll_one(node, &event));
        ck_assert_msg(now_ns() < end, "not dropped");
    }
}

/* Offsets of the two bytes that a request of Mercury begins with: 0, after an
 * IPv4 or IPv6 address, or after 64 bytes of a provider's header and those.
 * named: the log can name the sender. */
static const struct {
    uint32_t place;
    bool named;
} requests[] = {{16, true}, {0, false}, {28, false}, {32, false}, {64, false},
    {80, true}, {92, false}, {96, false}};

START_TEST(foreign_request_of_mercury_is_named)
{
    unsigned char bytes[128] = {0};
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(4660)};
    struct raw_peer raw;
    struct node node;

    inet_pton(AF_INET, "192.0.2.7", &address.sin_addr);
    if (requests[_i].named)
        memcpy(bytes + requests[_i].place - sizeof(address), &address,
            sizeof(address));
    bytes[requests[_i].place] = 0xd7;
    bytes[requests[_i].place + 1] = 5;
    node_open(&node, NULL);
    raw_peer_open(&raw, &node);
    for (uint32_t sent = 1; sent <= 5; sent++) {
        raw_peer_send(&raw, &node, bytes, sizeof(bytes));
        await_dropped(&node, sent);
    }
    /* The first, second and fourth. */
    ck_assert_uint_eq(node.errors, 3);
    ck_assert_ptr_nonnull(strstr(node.last_error, "uses Mercury"));
    ck_assert_ptr_nonnull(strstr(node.last_error, "number 4 "));
    ck_assert(
        requests[_i].named ==
        (strstr(node.last_error, "claims to be 192.0.2.7:4660,") != NULL));
    raw_peer_close(&raw);
    node_close(&node);
}
END_TEST

START_TEST(foreign_bytes_are_dropped_with_a_reason)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct raw_peer raw;
    struct node node;

    node_open(&node, &(struct node_options){.word = "of another library"});
    raw_peer_open(&raw, &node);
    raw_peer_send(&raw, &node, (const unsigned char *) text, sizeof(text));
    await_dropped(&node, 1);
    ck_assert(node.matched);
    ck_assert_uint_eq(node.errors, 0);
    raw_peer_close(&raw);
    node_close(&node);
}
END_TEST

/* Sends to the address, and waits for an answer until the suspicion is logged;
 * then a little longer, in which nothing more may be logged. */
static void
await_suspicion(struct node *node, const char *text, struct fid_cq *polled)
{
    static unsigned char buffer[64];
    void *send = op_new(node), *receive = op_new(node);
    na_plugin_addr *peer = lookup(node, text);
    uint64_t end = now_ns() + WAIT_NS;
    struct fi_cq_entry entry;
    na_plugin_event event;

    ck_assert_int_eq(node->ops->recv_expected(node->ctx, receive, buffer,
                         sizeof(buffer), NULL, peer, 0, 1, 0),
        NA_PLUGIN_PENDING);
    ck_assert_int_ge(node->ops->send_unexpected(
                         node->ctx, send, buffer, 5, NULL, peer, 0, 3, 0),
        0);
    while (node->errors == 0) {
        if (polled != NULL)
            (void) fi_cq_read(polled, &entry, 1);
        (void) poll_one(node, &event);
        ck_assert_msg(now_ns() < end, "nothing is logged");
    }
    ck_assert_ptr_nonnull(strstr(node->last_error, text));
    ck_assert_ptr_nonnull(strstr(node->last_error, "never before"));
    for (end = now_ns() + WAIT_NS / 20; now_ns() < end;) {
        if (polled != NULL)
            (void) fi_cq_read(polled, &entry, 1);
        (void) poll_one(node, &event);
    }
    ck_assert_uint_eq(node->errors, 1);
    node->ops->addr_forget(node->cls, peer);
    node->ops->addr_free(node->cls, peer);
    node->ops->ctx_destroy(node->ctx);
    node->ctx = NULL;
    free(send);
    free(receive);
}

START_TEST(foreign_silent_port_is_suspected_once)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char text[TEXT];
    struct node node;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (const void *) &address, length), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    ck_assert_int_eq(getsockname(fd, (void *) &address, &length), 0);
    snprintf(text, sizeof(text), "tcp://127.0.0.1:%d",
        (int) ntohs(address.sin_port));
    node_open(&node, NULL);
    await_suspicion(&node, text, NULL);
    node_close(&node);
    close(fd);
}
END_TEST

START_TEST(foreign_endpoint_that_never_answers_is_suspected_once)
{
    struct node_options quick = {
        .setting_key = "ofi.probe_interval", .setting_value = "100ms"};
    struct sockaddr_in address;
    size_t length = sizeof(address);
    struct raw_peer raw;
    char text[TEXT];
    struct node node;

    node_open(&node, &quick);
    raw_peer_open(&raw, &node);
    ck_assert_int_eq(fi_getname(&raw.ep->fid, &address, &length), FI_SUCCESS);
    snprintf(text, sizeof(text), "tcp://127.0.0.1:%d",
        (int) ntohs(address.sin_port));
    await_suspicion(&node, text, raw.cq);
    raw_peer_close(&raw);
    node_close(&node);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("foreign");

    tcase_add_loop_test(cases, foreign_request_of_mercury_is_named, 0,
        (int) (sizeof(requests) / sizeof(requests[0])));
    tcase_add_test(cases, foreign_bytes_are_dropped_with_a_reason);
    tcase_add_test(cases, foreign_silent_port_is_suspected_once);
    tcase_add_test(
        cases, foreign_endpoint_that_never_answers_is_suspected_once);
    return run_tcase("ofi foreign", cases);
}
