/* SPDX-License-Identifier: BSD-3-Clause */
/* Closing a class: its sends arrive, it does not wait for a busy receiver, and
 * leaks no descriptor. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "entries.h"
#include "harness.h"

#define LIVES 10U
#define BYTES 100U
#define SECOND UINT64_C(1000000000)

static const char *const protocols[] = {"tcp", "tcp;ofi_rxm", "sockets"};

/* Receives the next message with this tag at a node, while others are
 * polled. */
static void
receive(struct node *node, void *op, struct node *other, uint64_t tag)
{
    static unsigned char bytes[4096];
    uint64_t end = now_ns() + 20 * SECOND;
    na_plugin_event event, sent;

    ck_assert_int_eq(node->ops->recv_unexpected(
                         node->ctx, op, bytes, sizeof(bytes), NULL, 0),
        NA_PLUGIN_PENDING);
    while (!poll_one(node, &event)) {
        if (other != NULL)
            poll_one(other, &sent);
        if (now_ns() > end)
            ck_abort_msg("message %u did not arrive", (unsigned) tag);
    }
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    ck_assert_uint_eq(event.tag, tag);
    ck_assert_uint_eq(event.length, BYTES);
    node->ops->addr_free(node->cls, event.source);
}

/* Ten senders in turn: the receiver polls for the first of two messages, and
 * for the second one after the sender was closed. */
START_TEST(close_does_not_wait_for_receivers)
{
    const struct node_options options = {.protocol = protocols[_i]};
    static const unsigned char bytes[BYTES];
    struct node a, b;
    uint64_t spent = 0;
    char text[TEXT];

    node_open(&b, &options);
    self_string(&b, text);
    void *receiving = op_new(&b);
    for (uint32_t i = 0; i < LIVES; i++) {
        node_open(&a, &options);
        void *sends[] = {op_new(&a), op_new(&a)};
        na_plugin_addr *to_b = lookup(&a, text);
        for (uint32_t n = 0; n < 2; n++) {
            ck_assert_int_ge(a.ops->send_unexpected(a.ctx, sends[n], bytes,
                                 BYTES, NULL, to_b, 0, 2 * i + n, 0),
                0);
            if (n == 0)
                receive(&b, receiving, &a, UINT64_C(2) * i);
        }
        a.ops->addr_free(a.cls, to_b);
        uint64_t begin = now_ns();
        node_close(&a);
        spent += now_ns() - begin;
        receive(&b, receiving, NULL, UINT64_C(2) * i + 1);
        free(sends[0]);
        free(sends[1]);
    }
    ck_assert_msg(spent < LIVES * SECOND / 2, "%u closed in %u ms", LIVES,
        (unsigned) (spent / 1000000));
    free(receiving);
    node_close(&b);
}
END_TEST

/* A connection without any data. */
START_TEST(close_releases_all_connections)
{
    const struct node_options options = {.protocol = protocols[_i]};
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct node node;
    na_plugin_event event;
    char text[TEXT], byte = 0;

    node_open(&node, &options);
    node_close(&node);
    uint32_t before = count_descriptors();
    node_open(&node, &options);
    self_string(&node, text);
    uint32_t open = count_descriptors();
    address.sin_port =
        htons((uint16_t) strtol(strrchr(text, ':') + 1, NULL, 10));
    int raw = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(raw, (void *) &address, sizeof(address)), 0);
    for (uint64_t end = now_ns() + 20 * SECOND;
         count_descriptors() < open + 2;) {
        poll_one(&node, &event);
        if (now_ns() > end)
            ck_abort_msg("it is not accepted");
    }
    node_close(&node);
    ck_assert_uint_eq(count_descriptors(), before + 1);
    ck_assert_int_le(recv(raw, &byte, 1, 0), 0);
    close(raw);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("close");

    warm_up();
    tcase_add_loop_test(cases, close_does_not_wait_for_receivers, 0,
        (int) (sizeof(protocols) / sizeof(protocols[0])));
    tcase_add_loop_test(cases, close_releases_all_connections, 0,
        (int) (sizeof(protocols) / sizeof(protocols[0])));
    return run_tcase("ofi close", cases);
}
