/* SPDX-License-Identifier: BSD-3-Clause */
/* A class that closes: what it has sent arrives, and it does not wait for a
 * receiver that is busy elsewhere. */
#include <stdlib.h>

#include "harness.h"

#define LIVES 10U
#define BYTES 100U
#define SECOND UINT64_C(1000000000)

static const char *const protocols[] = {"tcp", "tcp;ofi_rxm", "sockets"};

/* The next message at a node, of this tag, while others poll. */
static void
receive(struct node *node, void *op, struct node *other, uint64_t tag)
{
    static unsigned char bytes[4096];
    uint64_t end = now_ns() + 20 * SECOND;
    na_plugin_event event, sent;

    ck_assert_int_eq(
        node->ops->recv_unexpected(node->ctx, op, bytes, sizeof(bytes), NULL),
        NA_PLUGIN_PENDING);
    while (!poll_one(node, &event)) {
        if (other != NULL)
            poll_one(other, &sent);
        if (now_ns() > end)
            ck_abort_msg("message %u did not come", (unsigned) tag);
    }
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    ck_assert_uint_eq(event.tag, tag);
    ck_assert_uint_eq(event.length, BYTES);
    node->ops->addr_free(node->cls, event.source);
}

/* Ten lives: the receiver polls for the first of two messages, and for the second
 * one when its sender is closed. */
START_TEST(close_waits_for_no_receiver)
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
                                 BYTES, NULL, to_b, 0, 2 * i + n),
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

int
main(void)
{
    TCase *cases = tcase_create("close");

    warm_up();
    tcase_add_loop_test(cases, close_waits_for_no_receiver, 0,
        (int) (sizeof(protocols) / sizeof(protocols[0])));
    return run_case("ofi close", cases);
}
