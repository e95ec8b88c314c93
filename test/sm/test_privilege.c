/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets of a process with CAP_SYS_PTRACE, which the kernel would let copy
 * from and to any process: polls copy without the capability, several operations
 * at a time, and have it again when they return. */
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "registration.h"

#define LENGTH ((uint64_t) 64 << 10)
#define COUNT 12U /* operations, of less than a slice in all */

static struct node node;
static unsigned char memory[COUNT * LENGTH];

static unsigned char
byte_at(uint64_t i)
{
    return (unsigned char) (i * 2654435761U >> 24);
}

static bool
privileged(void)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    return syscall(SYS_capget, &header, data) == 0 &&
           (data[0].effective & (UINT32_C(1) << CAP_SYS_PTRACE)) != 0;
}

/* Polls until it is told to end, and becomes undumpable if told so: then only a
 * process with the capability may still copy. */
static int
owner(const struct parent *parent)
{
    struct form form;
    char text[TEXT];

    for (uint64_t i = 0; i < sizeof(memory); i++)
        memory[i] = byte_at(i);
    node_open(&node, NULL);
    na_plugin_mem *mem = register_region(&node, memory, sizeof(memory), 3);
    form = form_of(&node, mem);
    self_string(&node, text);
    send_line(parent->out, text);
    ck_assert_int_eq(write(parent->out, &form, sizeof(form)), sizeof(form));
    while (node_counter(&node, "peers_connected") == 0)
        pump();
    recv_line(parent->in, text);
    if (strcmp(text, "hide") == 0) {
        ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 0), 0);
        send_line(parent->out, "hidden");
        for (uint64_t limit = now_ns() + UINT64_C(5000000000);
             node_counter(&node, "emulated_bytes") < sizeof(memory) &&
             now_ns() < limit;)
            pump();
        snprintf(text, sizeof(text), "%d of %d copied here",
            (int) node_counter(&node, "emulated_bytes"), (int) sizeof(memory));
        send_line(parent->out, text);
        expect_line(parent->in, "end");
    }
    node.ops->mem_deregister(node.cls, mem);
    node_close(&node);
    return 0;
}

struct pair {
    struct child child;
    na_plugin_addr *peer;
    na_plugin_mem *local, *remote;
};

static struct pair
begin(void)
{
    struct pair pair = {.child = child_start(owner, NULL)};
    struct form form;
    char text[TEXT];

    recv_line(pair.child.in, text);
    ck_assert_int_eq(read(pair.child.in, &form, sizeof(form)), sizeof(form));
    node_open(&node, NULL);
    pair.peer = lookup(&node, text);
    pair.remote = unpack(&node, &form);
    pair.local = register_region(&node, memory, sizeof(memory), 3);
    /* connects */
    ck_assert_int_eq(
        transfer(&node, false, pair.local, pair.remote, 1, pair.peer), 0);
    return pair;
}

static void
end(struct pair *pair)
{
    send_line(pair->child.out, "end");
    node.ops->mem_deregister(node.cls, pair->local);
    node.ops->mem_remote_free(node.cls, pair->remote);
    node.ops->addr_free(node.cls, pair->peer);
    child_join(&pair->child);
    node_close(&node);
}

/* Submits so many gets that fill the memory. None ends at once. */
static void
submit(const struct pair *pair, void **ops, uint32_t count)
{
    const uint64_t length = sizeof(memory) / count;

    memset(memory, 0, sizeof(memory));
    for (uint32_t i = 0; i < count; i++) {
        ops[i] = op_new(&node);
        ck_assert_int_eq(
            node.ops->get(node.ctx[0], ops[i], pair->local, i * length,
                pair->remote, i * length, length, pair->peer, 0, 0),
            NA_PLUGIN_PENDING);
        ck_assert(privileged());
    }
}

static void
finish(void **ops, uint32_t count)
{
    uint64_t wrong = 0;

    for (uint32_t i = 0; i < count; i++) {
        ck_assert_int_eq(await_op(&node, 0, ops[i]).status, NA_PLUGIN_OK);
        ck_assert(privileged());
        free(ops[i]);
    }
    for (uint64_t i = 0; i < sizeof(memory); i++)
        wrong += memory[i] != byte_at(i);
    ck_assert_uint_eq(wrong, 0);
}

/* Short ones, which take one system call, and longer ones. */
START_TEST(privilege_one_poll_copies_several_operations)
{
    const uint32_t count = _i == 0 ? COUNT : 2;
    struct pair pair = begin();
    void *ops[COUNT];

    for (uint32_t round = 0; round < 8; round++) {
        submit(&pair, ops, count);
        pump();
        ck_assert(privileged());
        ck_assert_uint_eq(node.event_count[0], count);
        finish(ops, count);
    }
    end(&pair);
}
END_TEST

/* A program that a process without the capability may not look into, as a
 * set-user-ID one: it copies itself, what it has registered. */
START_TEST(privilege_is_not_used_for_copies)
{
    struct pair pair = begin();
    void *ops[COUNT];

    send_line(pair.child.out, "hide");
    expect_line(pair.child.in, "hidden");
    submit(&pair, ops, COUNT);
    finish(ops, COUNT);
    expect_line(pair.child.in, "786432 of 786432 copied here");
    end(&pair);
}
END_TEST

int
main(void)
{
    if (!privileged()) {
        puts("skipped: this process has no CAP_SYS_PTRACE to give up");
        return 77;
    }
    if (!kernel_copies()) {
        puts("skipped: processes may not access one another's memory");
        return 77;
    }
    TCase *cases = tcase_create("privilege");
    tcase_add_loop_test(
        cases, privilege_one_poll_copies_several_operations, 0, 2);
    tcase_add_test(cases, privilege_is_not_used_for_copies);
    return run_cases("privilege", &cases, 1);
}
