/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of every length between two processes, in each way of sending. */
#include <stdlib.h>

#include "harness.h"
#include "pattern.h"

#define ROOM 65536
#define SINGLE (NA_PLUGIN_THREAD_SINGLE_CLASS | NA_PLUGIN_THREAD_SINGLE_CONTEXT)

/* Answers each unexpected message with an expected one of the same bytes and
 * tag, until a message of length 3 with tag 0 arrives. */
static int
echo(const struct parent *parent)
{
    static struct node node;
    static unsigned char buffer[ROOM];
    char text[TEXT];
    const struct node_options *options = parent->arg;
    node_open(&node, options);
    self_string(&node, text);
    send_line(parent->out, text);

    for (bool more = true; more;) {
        void *op = post_unexpected(&node, buffer, sizeof(buffer));
        na_plugin_event event = await_op(&node, 0, op);
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        ck_assert_ptr_eq(event.buffer, buffer);
        more = event.length != 3 || event.tag != 0;
        ck_assert_int_eq(
            send_expected(&node, buffer, event.length, event.source, event.tag),
            NA_PLUGIN_OK);
        node.ops->addr_free(node.cls, event.source);
        free(op);
    }
    expect_line(parent->in, "end");
    node_close(&node);
    return 0;
}

static void
round_trip(
    struct node *node, na_plugin_addr *peer, uint64_t length, uint64_t tag)
{
    static unsigned char out[ROOM];
    static unsigned char in[ROOM];
    fill(out, length, tag);
    void *op = post_expected(node, in, sizeof(in), peer, tag);
    ck_assert_int_eq(
        send_unexpected(node, out, length, peer, tag), NA_PLUGIN_OK);
    await_message(node, 0, op, length, tag, false);
    check_bytes(in, length, tag);
    free(op);
}

static void
talk(const struct node_options *server, const struct node_options *client)
{
    static struct node node;
    char text[TEXT];
    struct child child = child_start(echo, server);
    recv_line(child.in, text);
    node_open(&node, client);
    na_plugin_addr *peer = lookup(&node, text);
    uint64_t longest = node.opened.max_unexpected_size;

    for (uint64_t length = 0; length <= 300 && length <= longest; length++)
        round_trip(&node, peer, length, length + 1);
    for (uint64_t length = longest - 65; length <= longest; length++)
        round_trip(&node, peer, length, length);
    for (uint64_t i = 1; i < 3000; i++)
        round_trip(&node, peer, i * 37 % longest, i);
    round_trip(&node, peer, 8, UINT32_MAX);
    round_trip(&node, peer, 3, 0);
    send_line(child.out, "end");
    child_join(&child);
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
}

START_TEST(lengths_arrive_between_processes)
{
    talk(NULL, NULL);
}
END_TEST

START_TEST(lengths_of_non_listening_client_arrive)
{
    talk(NULL, &(struct node_options){.mute = true});
}
END_TEST

START_TEST(lengths_arrive_in_single_thread_mode)
{
    struct node_options options = {
        .threads = SINGLE, .flags = NA_PLUGIN_OPEN_NO_BLOCK};
    talk(&options, &options);
}
END_TEST

/* Whatever this processor can do. */
START_TEST(lengths_arrive_demoted_and_not)
{
    static const char *const settings[] = {"0", "2"};
    for (int i = 0; i < 4; i++) {
        struct node_options options = {.threads = i % 2 != 0 ? SINGLE : 0,
            .flags = i % 2 != 0 ? NA_PLUGIN_OPEN_NO_BLOCK : 0,
            .setting_key = "sm.demote",
            .setting_value = settings[i / 2]};
        talk(&options, &options);
    }
}
END_TEST

START_TEST(lengths_up_to_the_largest_arrive)
{
    struct node_options options = {
        .max_unexpected = ROOM, .max_expected = ROOM};
    talk(&options, &options);
}
END_TEST

START_TEST(lengths_arrive_between_different_maximums)
{
    talk(&(struct node_options){.max_expected = ROOM},
        &(struct node_options){.max_unexpected = 100});
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("lengths");

    tcase_add_test(cases, lengths_arrive_between_processes);
    tcase_add_test(cases, lengths_of_non_listening_client_arrive);
    tcase_add_test(cases, lengths_arrive_in_single_thread_mode);
    tcase_add_test(cases, lengths_arrive_demoted_and_not);
    tcase_add_test(cases, lengths_up_to_the_largest_arrive);
    tcase_add_test(cases, lengths_arrive_between_different_maximums);
    return run_cases("lengths", &cases, 1);
}
