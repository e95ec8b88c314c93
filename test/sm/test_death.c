/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that die, close, and restart. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

/* Shared with a child that exposes memory. */
struct window {
    uint64_t size;
    unsigned char bytes[256];
    _Atomic uint64_t rounds;
};

/* Opens a class on command, and follows further commands. */
static int
peer_body(const struct parent *parent)
{
    static struct node node;
    static unsigned char buffer[4096];
    char text[TEXT];
    expect_line(parent->in, "open");
    node_open(&node, &(struct node_options){.name = own_name("phoenix")});
    self_string(&node, text);
    send_line(parent->out, text);

    for (;;) {
        recv_line(parent->in, text);
        if (strcmp(text, "answer") == 0) {
            void *op = post_unexpected(&node, buffer, sizeof(buffer));
            na_plugin_event event = await_op(&node, 0, op);
            ck_assert_int_eq(send_expected(&node, buffer, event.length,
                                 event.source, event.tag),
                0);
            node.ops->addr_free(node.cls, event.source);
            free(op);
            send_line(parent->out, "answered");
        } else if (strcmp(text, "send and die") == 0) {
            void *op = post_unexpected(&node, buffer, sizeof(buffer));
            na_plugin_event event = await_op(&node, 0, op);
            for (uint64_t i = 0; i < 20; i++)
                ck_assert_int_eq(
                    send_unexpected(&node, &i, sizeof(i), event.source, i), 0);
            raise(SIGKILL);
        } else if (strcmp(text, "fork") == 0) {
            /* a child that inherits every descriptor and does nothing */
            pid_t pid = fork();
            if (pid == 0) {
                pause();
                _exit(0);
            }
            snprintf(text, sizeof(text), "%d", (int) pid);
            send_line(parent->out, text);
        } else if (strcmp(text, "poll") == 0) {
            send_line(parent->out, "polling");
            for (;;)
                pump();
        } else if (strcmp(text, "close") == 0) {
            node_close(&node);
            send_line(parent->out, "closed");
        } else {
            return 0;
        }
    }
}

/* Starts a peer and has it open a class. Returns its address. */
static struct child
begin(char text[TEXT])
{
    struct child child = child_start(peer_body, NULL);
    send_line(child.out, "open");
    recv_line(child.in, text);
    return child;
}

/* One round trip. */
static void
exchange(struct node *node, struct child *child, na_plugin_addr *peer)
{
    char buffer[64];
    send_line(child->out, "answer");
    void *op = post_expected(node, buffer, sizeof(buffer), peer, 11);
    ck_assert_int_eq(send_unexpected(node, "hello", 6, peer, 11), 0);
    await_message(node, 0, op, 6, 11, false);
    ck_assert_str_eq(buffer, "hello");
    expect_line(child->in, "answered");
    free(op);
}

/* Three processes with one name in turn: killed, killed, closed. The file that a
 * process using Mercury would have left under this name explains nothing. */
START_TEST(death_ends_pending_receives_and_successor_is_reached)
{
    static struct node node;
    char path[TEXT];
    struct child children[3];
    char text[TEXT];
    char buffer[64];
    void *ops[5];
    load_plugin();
    uint32_t descriptors = 0;

    snprintf(path, sizeof(path), "/dev/shm/na_sm-%s", own_name("phoenix"));
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
    for (int i = 0; i < 3; i++)
        children[i] = child_start(peer_body, NULL);
    node_open(&node, NULL);
    na_plugin_addr *peer = lookup(&node, own_address("phoenix"));
    for (int i = 0; i < 3; i++) {
        send_line(children[i].out, "open");
        recv_line(children[i].in, text);
        exchange(&node, &children[i], peer);
        for (uint64_t j = 0; j < 5; j++)
            ops[j] = post_expected(&node, buffer, sizeof(buffer), peer, j);
        expect_silence(&node, 0, 5);
        if (i < 2)
            child_kill(&children[i]);
        else
            send_line(children[i].out, "close");
        for (int j = 0; j < 5; j++) {
            ck_assert_int_eq(
                await_op(&node, 0, ops[j]).status, NA_PLUGIN_E_HOSTUNREACH);
            free(ops[j]);
        }
        expect_silence(&node, 0, 5);
        ck_assert_uint_eq(count_mappings(), 0);
        if (i == 0)
            descriptors = count_descriptors();
        ck_assert_uint_le(count_descriptors(), descriptors + 2);
        ck_assert_int_eq(
            send_unexpected(&node, "x", 1, peer, 1), NA_PLUGIN_E_HOSTUNREACH);
    }
    unlink(path);
    ck_assert_uint_eq(node_warnings(&node), 0);
    expect_line(children[2].in, "closed");
    send_line(children[2].out, "end");
    child_join(&children[2]);
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
}
END_TEST

START_TEST(death_messages_sent_before_are_delivered)
{
    static struct node node;
    uint64_t values[20];
    void *ops[20];
    char text[TEXT];
    struct child child = begin(text);
    node_open(&node, NULL);
    na_plugin_addr *peer = lookup(&node, text);
    send_line(child.out, "send and die");
    ck_assert_int_eq(send_unexpected(&node, "go", 3, peer, 1), 0);
    /* dead and reaped before this process polls */
    child_reap(&child);

    for (int i = 0; i < 20; i++)
        ops[i] = post_unexpected(&node, &values[i], sizeof(values[i]));
    for (uint64_t i = 0; i < 20; i++) {
        na_plugin_event event = await_message(&node, 0, ops[i], 8, i, true);
        ck_assert_uint_eq(values[i], i);
        node.ops->addr_free(node.cls, event.source);
        free(ops[i]);
    }
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
}
END_TEST

/* A caller that dies before it was accepted. */
static int
send_and_die(const struct parent *parent)
{
    static struct node node;
    char text[TEXT];
    node_open(&node, NULL);
    recv_line(parent->in, text);
    na_plugin_addr *peer = lookup(&node, text);
    ck_assert_int_eq(
        send_unexpected(&node, "final words", sizeof("final words"), peer, 3),
        0);
    send_line(parent->out, "dying");
    raise(SIGKILL);
    return 1;
}

START_TEST(death_of_unaccepted_caller_delivers_its_message)
{
    static struct node node;
    char text[TEXT];
    char buffer[64];
    struct child child = child_start(send_and_die, NULL);
    node_open(&node, NULL);
    self_string(&node, text);
    send_line(child.out, text);
    expect_line(child.in, "dying");
    child_reap(&child);

    void *op = post_unexpected(&node, buffer, sizeof(buffer));
    na_plugin_event event =
        await_message(&node, 0, op, sizeof("final words"), 3, true);
    ck_assert_str_eq(buffer, "final words");
    /* the caller is dead: the answer fails */
    expect_silence(&node, 0, 5);
    ck_assert_int_eq(
        send_expected(&node, "x", 1, event.source, 3), NA_PLUGIN_E_HOSTUNREACH);
    node.ops->addr_free(node.cls, event.source);
    free(op);
    node_close(&node);
}
END_TEST

START_TEST(death_while_sends_are_queued_ends_them)
{
    static struct node node;
    static unsigned char data[4000];
    void *ops[50];
    uint32_t pending = 0;
    char text[TEXT];
    struct child child = begin(text);
    node_open(&node, NULL);
    na_plugin_addr *peer = lookup(&node, text);
    exchange(&node, &child, peer);

    while (pending < 50) {
        ops[pending] = op_new(&node);
        int32_t ret = node.ops->send_unexpected(
            node.ctx[0], ops[pending], data, sizeof(data), NULL, peer, 0, 1, 0);
        if (ret == NA_PLUGIN_DONE)
            free(ops[pending]);
        else
            pending++;
    }
    child_kill(&child);
    for (uint32_t i = 0; i < pending; i++) {
        ck_assert_int_eq(
            await_op(&node, 0, ops[i]).status, NA_PLUGIN_E_HOSTUNREACH);
        free(ops[i]);
    }
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
}
END_TEST

/* Exposes memory, polls, and is killed while it is read. */
static int
exposer_body(const struct parent *parent)
{
    static struct node node;
    struct window *window = *(struct window *const *) parent->arg;
    na_plugin_segment segment = {
        .base = calloc(1, 64 << 20), .length = 64 << 20};
    na_plugin_mem *mem;
    char text[TEXT];
    node_open(&node, NULL);
    ck_assert_int_eq(node.ops->mem_register(node.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, 3, 0, 0},
                         &mem),
        0);
    window->size = sizeof(window->bytes);
    ck_assert_int_eq(
        node.ops->mem_serialize(node.cls, mem, window->bytes, &window->size),
        0);
    self_string(&node, text);
    send_line(parent->out, text);
    for (;;)
        pump();
    return 0;
}

START_TEST(death_while_being_read_ends_the_get)
{
    static struct node node;
    struct window *window = mmap(NULL, sizeof(*window), PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    na_plugin_segment segment = {.base = malloc(64 << 20), .length = 64 << 20};
    na_plugin_mem *local;
    na_plugin_mem *remote;
    na_plugin_event event;
    char text[TEXT];
    struct child child = child_start(exposer_body, &window);
    recv_line(child.in, text);
    node_open(&node, NULL);
    na_plugin_addr *peer = lookup(&node, text);
    ck_assert_int_eq(node.ops->mem_register(node.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, 3, 0, 0},
                         &local),
        0);
    ck_assert_int_eq(node.ops->mem_deserialize(
                         node.cls, window->bytes, window->size, &remote),
        0);

    void *op = op_new(&node);
    ck_assert_int_eq(node.ops->get(node.ctx[0], op, local, 0, remote, 0,
                         64 << 20, peer, 0, 0),
        NA_PLUGIN_PENDING);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(node.ops->poll(node.ctx[0], &event, 1), 0);
    child_kill(&child);
    ck_assert_int_eq(await_op(&node, 0, op).status, NA_PLUGIN_E_HOSTUNREACH);
    /* small ones too, and with the pid of a dead process */
    ck_assert_int_eq(
        node.ops->get(node.ctx[0], op, local, 0, remote, 0, 64, peer, 0, 0),
        NA_PLUGIN_E_HOSTUNREACH);
    free(op);
    free(segment.base);
    node.ops->mem_deregister(node.cls, local);
    node.ops->mem_remote_free(node.cls, remote);
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
    munmap(window, sizeof(*window));
}
END_TEST

START_TEST(death_is_detected_though_a_forked_child_lives)
{
    static struct node node;
    char text[TEXT];
    char number[TEXT];
    char buffer[64];
    /* so that the grandchild's end can be waited for */
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    struct child child = begin(text);
    node_open(&node, NULL);
    na_plugin_addr *peer = lookup(&node, text);
    exchange(&node, &child, peer);
    send_line(child.out, "fork");
    recv_line(child.in, number);
    void *op = post_expected(&node, buffer, sizeof(buffer), peer, 1);
    child_kill(&child);
    ck_assert_int_eq(await_op(&node, 0, op).status, NA_PLUGIN_E_HOSTUNREACH);
    /* the grandchild inherited the listening socket, which nothing accepts
     * from */
    ck_assert_int_eq(
        send_unexpected(&node, "x", 1, peer, 1), NA_PLUGIN_E_HOSTUNREACH);
    pid_t grandchild = (pid_t) atoi(number);
    ck_assert_int_eq(kill(grandchild, SIGKILL), 0);
    ck_assert_int_eq(waitpid(grandchild, NULL, 0), grandchild);
    free(op);
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
}
END_TEST

START_TEST(forget_ends_pending_operations_and_reconnects)
{
    static struct node node;
    static unsigned char data[4000];
    char text[TEXT];
    char buffer[64];
    struct child next = child_start(peer_body, NULL);
    struct child child = begin(text);
    node_open(&node, NULL);
    na_plugin_addr *peer = lookup(&node, own_address("phoenix"));
    exchange(&node, &child, peer);

    void *op = post_expected(&node, buffer, sizeof(buffer), peer, 1);
    void *send = NULL;
    int32_t ret = NA_PLUGIN_DONE;
    while (ret == NA_PLUGIN_DONE) {
        free(send);
        send = op_new(&node);
        ret = node.ops->send_unexpected(
            node.ctx[0], send, data, sizeof(data), NULL, peer, 0, 1, 0);
    }
    ck_assert_int_eq(ret, NA_PLUGIN_PENDING);
    node.ops->addr_forget(node.cls, peer);
    node.ops->addr_forget(node.cls, peer);
    ck_assert_int_eq(await_op(&node, 0, op).status, NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_int_eq(await_op(&node, 0, send).status, NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_uint_eq(count_mappings(), 0);
    child_kill(&child);

    send_line(next.out, "open");
    recv_line(next.in, text);
    exchange(&node, &next, peer);
    child_kill(&next);
    free(op);
    free(send);
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
}
END_TEST

START_TEST(forget_works_on_a_live_peer)
{
    static struct node a, b;
    char text[TEXT];
    char buffer[64];
    node_open(&a, NULL);
    node_open(&b, NULL);
    self_string(&b, text);
    na_plugin_addr *peer = lookup(&a, text);
    for (uint64_t i = 0; i < 5; i++) {
        void *op = post_unexpected(&b, buffer, sizeof(buffer));
        ck_assert_int_eq(send_unexpected(&a, "x", 1, peer, i), 0);
        na_plugin_event event = await_message(&b, 0, op, 1, i, true);
        void *wait = post_expected(&b, buffer, 64, event.source, 1);
        a.ops->addr_forget(a.cls, peer);
        ck_assert_int_eq(await_op(&b, 0, wait).status, NA_PLUGIN_E_HOSTUNREACH);
        b.ops->addr_free(b.cls, event.source);
        free(op);
        free(wait);
    }
    a.ops->addr_free(a.cls, peer);
    node_close(&a);
    node_close(&b);
}
END_TEST

/* A kept expected message is dropped with its sender; the receive gets the next
 * one. */
START_TEST(forget_drops_early_messages)
{
    static struct node a, b;
    char text[TEXT];
    char buffer[64];

    node_open(&a, NULL);
    node_open(&b, NULL);
    self_string(&b, text);
    na_plugin_addr *to_b = lookup(&a, text);
    self_string(&a, text);
    na_plugin_addr *to_a = lookup(&b, text);
    ck_assert_int_eq(send_expected(&a, "old", 4, to_b, 7), NA_PLUGIN_OK);
    uint64_t deadline = now_ns() + UINT64_C(20000000000);
    while (node_counter(&b, "messages_received") == 0) {
        ck_assert_msg(now_ns() < deadline, "the message does not arrive");
        pump();
    }
    b.ops->addr_forget(b.cls, to_a);
    ck_assert_uint_eq(node_counter(&b, "expected_dropped"), 1);
    expect_silence(&a, 0, 5);
    void *wait = post_expected(&b, buffer, sizeof(buffer), to_a, 7);
    expect_silence(&b, 0, 5);
    ck_assert_int_eq(send_expected(&a, "new", 4, to_b, 7), NA_PLUGIN_OK);
    await_message(&b, 0, wait, 4, 7, false);
    ck_assert_str_eq(buffer, "new");
    a.ops->addr_free(a.cls, to_b);
    b.ops->addr_free(b.cls, to_a);
    free(wait);
    node_close(&a);
    node_close(&b);
}
END_TEST

/* Both connection requests are accepted at once, when the first peer has ended
 * already. */
START_TEST(forget_while_connecting_is_answered_on_the_next_connection)
{
    static struct node a, b;
    char text[TEXT];
    char buffers[2][64], answer[64];
    node_open(&a, NULL);
    node_open(&b, NULL);
    self_string(&b, text);
    na_plugin_addr *peer = lookup(&a, text);
    for (uint64_t i = 0; i < 5; i++) {
        void *first = post_unexpected(&b, buffers[0], sizeof(buffers[0]));
        void *second = post_unexpected(&b, buffers[1], sizeof(buffers[1]));
        ck_assert_int_eq(send_unexpected(&a, "w", 1, peer, i + 100), 0);
        a.ops->addr_forget(a.cls, peer);
        void *wait = post_expected(&a, answer, sizeof(answer), peer, i);
        ck_assert_int_eq(send_unexpected(&a, "x", 1, peer, i), 0);
        na_plugin_event event = await_message(&b, 0, first, 1, i + 100, true);
        b.ops->addr_free(b.cls, event.source);
        event = await_message(&b, 0, second, 1, i, true);
        ck_assert_int_eq(send_expected(&b, "yz", 2, event.source, i), 0);
        await_message(&a, 0, wait, 2, i, false);
        b.ops->addr_free(b.cls, event.source);
        a.ops->addr_forget(a.cls, peer);
        free(first);
        free(second);
        free(wait);
    }
    a.ops->addr_free(a.cls, peer);
    node_close(&a);
    node_close(&b);
}
END_TEST

/* Repeated connections leak neither descriptors nor memory. */
START_TEST(death_of_many_connections_leaks_nothing)
{
    static struct node a, b;
    char text[TEXT];
    char buffer[64];
    node_open(&a, NULL);
    self_string(&a, text);
    uint32_t before = 0;
    for (uint64_t i = 0; i < 100; i++) {
        node_open(&b, &(struct node_options){.mute = true});
        na_plugin_addr *peer = lookup(&b, text);
        void *op = post_unexpected(&a, buffer, sizeof(buffer));
        ck_assert_int_eq(send_unexpected(&b, "x", 1, peer, i), 0);
        na_plugin_event event = await_message(&a, 0, op, 1, i, true);
        a.ops->addr_free(a.cls, event.source);
        b.ops->addr_free(b.cls, peer);
        free(op);
        node_close(&b);
        uint64_t deadline = now_ns() + UINT64_C(2000000000);
        while (count_mappings() != 0 && now_ns() < deadline)
            pump();
        ck_assert_uint_eq(count_mappings(), 0);
        if (i == 0)
            before = count_descriptors();
        ck_assert_uint_eq(count_descriptors(), before);
    }
    ck_assert_uint_eq(node_counter(&a, "connections_lost"), 100);
    ck_assert_uint_eq(node_counter(&a, "connections_broken"), 0);
    node_close(&a);
}
END_TEST

int
main(void)
{
    int subreaper;
    TCase *cases = tcase_create("death");
    tcase_add_test(cases, death_ends_pending_receives_and_successor_is_reached);
    tcase_add_test(cases, death_messages_sent_before_are_delivered);
    tcase_add_test(cases, death_of_unaccepted_caller_delivers_its_message);
    tcase_add_test(cases, death_while_sends_are_queued_ends_them);
    tcase_add_test(cases, death_while_being_read_ends_the_get);
    if (prctl(PR_GET_CHILD_SUBREAPER, &subreaper) == 0)
        tcase_add_test(cases, death_is_detected_though_a_forked_child_lives);
    else
        puts("skipped: forked_child needs PR_SET_CHILD_SUBREAPER");
    tcase_add_test(cases, forget_ends_pending_operations_and_reconnects);
    tcase_add_test(cases, forget_works_on_a_live_peer);
    tcase_add_test(cases, forget_drops_early_messages);
    tcase_add_test(
        cases, forget_while_connecting_is_answered_on_the_next_connection);
    tcase_add_test(cases, death_of_many_connections_leaks_nothing);
    return run_cases("death", &cases, 1);
}
