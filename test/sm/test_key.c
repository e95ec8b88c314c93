/* SPDX-License-Identifier: BSD-3-Clause */
/* Authorization keys: only peers with the same key are admitted. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "hostile_peer.h"

/* the refusal may arrive before or after what follows the hello */
#define ROUNDS 20

/* Result of a message from one class to the other, and of its answer. */
static int32_t
round_trip(struct node *from, struct node *to)
{
    char text[TEXT], buffer[16], answer[16];

    self_string(to, text);
    na_plugin_addr *peer = lookup(from, text);
    void *op = post_unexpected(to, buffer, sizeof(buffer));
    void *back = post_expected(from, answer, sizeof(answer), peer, 8);
    int32_t ret = send_unexpected(from, "ping", 4, peer, 7);
    if (ret == NA_PLUGIN_OK) {
        uint64_t end = now_ns() + UINT64_C(20000000000);
        while (to->event_count[0] == 0 && from->event_count[0] == 0) {
            ck_assert_msg(now_ns() < end, "neither a message nor an error");
            pump();
        }
        ret = NA_PLUGIN_E_AGAIN; /* the receives show which it is */
    }
    ck_assert_int_eq(to->ops->cancel(to->ctx[0], op), NA_PLUGIN_OK);
    na_plugin_event event = await_op(to, 0, op);
    if (event.status == NA_PLUGIN_OK) {
        ck_assert_int_eq(
            send_expected(to, "pong", 4, event.source, 8), NA_PLUGIN_OK);
        to->ops->addr_free(to->cls, event.source);
    }
    event = await_op(from, 0, back);
    if (event.status != NA_PLUGIN_OK || ret == NA_PLUGIN_E_AGAIN)
        ret = event.status;
    from->ops->addr_free(from->cls, peer);
    free(op);
    free(back);
    return ret;
}

struct pair {
    const char *from;
    const char *to;
    int32_t ret;
};

START_TEST(key_must_be_equal_at_both_ends)
{
    static struct node from, to;
    static const struct pair pairs[] = {
        {"a key", "a key", NA_PLUGIN_OK},
        {"", "", NA_PLUGIN_OK},
        {"a key", "another", NA_PLUGIN_E_PERMISSION},
        {"a key", "a ke", NA_PLUGIN_E_PERMISSION},
        {"a key", NULL, NA_PLUGIN_E_PERMISSION},
        {NULL, "a key", NA_PLUGIN_E_PERMISSION},
        {NULL, "", NA_PLUGIN_E_PERMISSION},
    };
    const struct pair *pair = &pairs[_i];

    for (int i = 0; i < ROUNDS; i++) {
        node_open(&from, &(struct node_options){.auth_key = pair->from});
        node_open(&to, &(struct node_options){.auth_key = pair->to});
        ck_assert_int_eq(round_trip(&from, &to), pair->ret);
        if (pair->ret != NA_PLUGIN_OK) {
            ck_assert_ptr_nonnull(strstr(from.last_line, "key"));
            ck_assert_uint_eq(node_warnings(&from), 1);
            ck_assert_uint_eq(node_counter(&to, "callers_refused"), 1);
        }
        node_close(&from);
        node_close(&to);
    }
}
END_TEST

/* The class's answer to a hello, on a connection to it. */
static int32_t
hello_status(struct node *target, const struct hello *hello)
{
    struct hostile_peer peer = {
        .socket = call(target), .memory = make_ring_memory()};

    send_with(peer.socket, hello, sizeof(*hello), &peer.memory, 1);
    struct hello answer = await_answer(&peer);
    hostile_close(&peer);
    return answer.status;
}

START_TEST(key_proof_is_not_valid_for_others)
{
    static struct node keyed, caller;
    struct trap trap;
    char text[TEXT];

    trap_open(&trap, text);
    node_open(&keyed, &(struct node_options){.auth_key = "a key"});
    node_open(&caller, &(struct node_options){.auth_key = "a key"});

    /* A proof made for one peer … */
    na_plugin_addr *peer = lookup(&caller, text);
    char buffer[16];
    void *op = post_expected(&caller, buffer, sizeof(buffer), peer, 8);
    send_unexpected(&caller, "ping", 4, peer, 7);
    trap_accept(&trap);
    static const uint8_t none[sizeof(trap.received.proof)];
    ck_assert(memcmp(trap.received.proof, none, sizeof(none)) != 0);

    /* … is not valid for another: the name is part of the proof. */
    struct hello hello = good_hello();
    memcpy(hello.proof, trap.received.proof, sizeof(hello.proof));
    ck_assert_int_eq(hello_status(&keyed, &hello), NA_PLUGIN_E_PERMISSION);
    hello = good_hello();
    memset(hello.proof, 0x5a, sizeof(hello.proof));
    ck_assert_int_eq(hello_status(&keyed, &hello), NA_PLUGIN_E_PERMISSION);
    hello = good_hello();
    ck_assert_int_eq(hello_status(&keyed, &hello), NA_PLUGIN_E_PERMISSION);
    ck_assert_uint_eq(node_counter(&keyed, "callers_refused"), 3);

    /* The caller's own proof, reflected as the answer, is not valid either. */
    struct hello answer = good_hello();
    memcpy(answer.proof, trap.received.proof, sizeof(answer.proof));
    int ring = make_ring_memory();
    send_with(trap.socket, &answer, sizeof(answer), &ring, 1);
    ck_assert_int_eq(await_op(&caller, 0, op).status, NA_PLUGIN_E_PERMISSION);
    ck_assert_ptr_nonnull(strstr(caller.last_line, "does not hold the key"));
    ck_assert_uint_eq(node_warnings(&caller), 1);

    ck_assert_int_eq(close(ring), 0);
    trap_close(&trap);
    caller.ops->addr_free(caller.cls, peer);
    free(op);
    node_close(&caller);
    ck_assert_int_eq(round_trip(&keyed, &keyed), NA_PLUGIN_OK);
    node_close(&keyed);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("key");

    tcase_add_loop_test(cases, key_must_be_equal_at_both_ends, 0, 7);
    tcase_add_test(cases, key_proof_is_not_valid_for_others);
    return run_cases("key", &cases, 1);
}
