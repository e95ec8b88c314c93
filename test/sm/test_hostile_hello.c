/* SPDX-License-Identifier: BSD-3-Clause */
/* Callers and listeners that introduce themselves wrongly: they are refused,
 * and nobody else notices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foe.h"

/* One hello that must be refused. */
static void
refuse(struct hello hello, size_t length, const int *fds, size_t count)
{
    int fd = call(&foe_target);
    send_with(fd, &hello, length, fds, count);
    expect_hangup(fd);
    close(fd);
    check_friend();
}

START_TEST(hostile_hello_is_refused)
{
    open_both();
    check_friend();
    uint32_t mappings = count_mappings();
    uint32_t descriptors = count_descriptors();
    int memory = make_ring_memory();
    size_t all = sizeof(struct hello);

    struct hello hello = good_hello();
    refuse(hello, 1, &memory, 1);
    refuse(hello, all - 1, &memory, 1);
    refuse(hello, all, NULL, 0);
    hello.magic++;
    refuse(hello, all, &memory, 1);
    hello = good_hello();
    hello.major = 2;
    refuse(hello, all, &memory, 1);
    hello = good_hello();
    hello.size = 12;
    refuse(hello, all, &memory, 1);
    hello = good_hello();
    hello.owner = 0;
    refuse(hello, all, &memory, 1);
    static const uint32_t lengths[] = {0, 88, 89, 4096, UINT32_MAX};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        hello = good_hello();
        hello.name_length = lengths[i];
        refuse(hello, all, &memory, 1);
    }
    static const char *const names[] = {"1-0", "foe", "-1-1", "foe-0-1",
        "foe-99999999999-1", "../../x-1-1", "foe- -1"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        hello = good_hello();
        snprintf(hello.name, sizeof(hello.name), "%s", names[i]);
        hello.name_length = (uint32_t) strlen(hello.name);
        refuse(hello, all, &memory, 1);
    }
    const uint32_t capacities[] = {0, 64, PAGE, CAPACITY + 64, CAPACITY - PAGE,
        CAPACITY + PAGE, 1U << 30, UINT32_MAX - 4095, UINT32_MAX};
    for (size_t i = 0; i < sizeof(capacities) / sizeof(capacities[0]); i++) {
        hello = good_hello();
        hello.capacity = capacities[i];
        refuse(hello, all, &memory, 1);
    }
    static const uint32_t longest[] = {20000, 65537, UINT32_MAX};
    for (size_t i = 0; i < sizeof(longest) / sizeof(longest[0]); i++) {
        hello = good_hello();
        hello.longest = longest[i];
        refuse(hello, all, &memory, 1);
    }
    close(memory);
    ck_assert_uint_eq(count_mappings(), mappings);
    ck_assert_uint_eq(count_descriptors(), descriptors);
    close_both();
}
END_TEST

START_TEST(hostile_name_of_the_class_itself_is_refused)
{
    char text[TEXT];
    open_both();
    int memory = make_ring_memory();
    struct hello hello = good_hello();
    self_string(&foe_target, text);
    hello.name_length = (uint32_t) snprintf(
        hello.name, sizeof(hello.name), "%s", text + strlen("sm://"));
    refuse(hello, sizeof(hello), &memory, 1);
    close(memory);
    close_both();
}
END_TEST

START_TEST(hostile_memory_is_refused)
{
    int pipes[2];
    int many[40];
    size_t all = sizeof(struct hello);
    open_both();
    check_friend();
    uint32_t descriptors = count_descriptors();
    ck_assert_int_eq(pipe(pipes), 0);
    int bad[] = {
        make_memory(PAGE + CAPACITY, 0),
        make_memory(PAGE + CAPACITY, F_SEAL_SHRINK | F_SEAL_SEAL),
        make_memory(PAGE + CAPACITY, SEALS | F_SEAL_WRITE),
        make_memory(CAPACITY, SEALS),
        make_memory(2 * PAGE + CAPACITY, SEALS),
        make_memory(0, SEALS),
        make_memory(PAGE + CAPACITY, SEALS), /* no ring: all zero */
        open("/dev/zero", O_RDWR | O_CLOEXEC),
        open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
        pipes[0],
        pipes[1],
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refuse(good_hello(), all, &bad[i], 1);
    for (size_t i = 0; i < 40; i++)
        many[i] = bad[0];
    refuse(good_hello(), all, many, 2);
    refuse(good_hello(), all, many, 40);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        close(bad[i]);
    ck_assert_uint_eq(count_descriptors(), descriptors);
    close_both();
}
END_TEST

/* Callers that say nothing go when there are too many, or it has been long. */
START_TEST(hostile_silent_callers_are_bounded)
{
    int fds[400];
    open_both();
    check_friend();
    uint32_t descriptors = count_descriptors();
    for (int i = 0; i < 400; i++) {
        fds[i] = call(&foe_target);
        pump();
    }
    check_friend();
    /* ours; theirs: socket and process */
    ck_assert_uint_le(count_descriptors(), descriptors + 400 + 2 * 257);
    expect_hangup(fds[0]);
    check_friend();
    for (int i = 0; i < 400; i++)
        close(fds[i]);
    for (int i = 0; i < 20000; i++)
        pump();
    ck_assert_uint_eq(count_descriptors(), descriptors);
    close_both();
}
END_TEST

/* Answers that are none, or say no. */
START_TEST(hostile_answer_ends_the_call)
{
    char buffer[8];
    char text[TEXT];
    for (int i = 0; i < 6; i++) {
        struct trap trap;
        open_both();
        trap_open(&trap, text);
        na_plugin_addr *peer = lookup(&foe_target, text);
        void *wait =
            post_expected(&foe_target, buffer, sizeof(buffer), peer, 1);
        trap_accept(&trap);
        struct hello hello = good_hello();
        size_t length = sizeof(hello);
        int32_t code = NA_PLUGIN_E_PROTOCOL_ERROR;
        if (i == 0)
            hello.major = 9;
        else if (i == 1)
            hello.status = NA_PLUGIN_E_PROTOCOL_ERROR;
        else if (i == 2)
            hello.name[0] = '/';
        else if (i == 3)
            code = NA_PLUGIN_E_HOSTUNREACH, length = 5;
        else if (i == 4)
            code = NA_PLUGIN_E_HOSTUNREACH, hello.magic = 0;
        send_with(trap.socket, &hello, length, NULL, 0);
        ck_assert_int_eq(await_op(&foe_target, 0, wait).status, code);
        expect_hangup(trap.socket);
        check_friend();
        foe_target.ops->addr_free(foe_target.cls, peer);
        free(wait);
        trap_close(&trap);
        close_both();
    }
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("hostile_hello");
    tcase_add_test(cases, hostile_hello_is_refused);
    tcase_add_test(cases, hostile_name_of_the_class_itself_is_refused);
    tcase_add_test(cases, hostile_memory_is_refused);
    tcase_add_test(cases, hostile_silent_callers_are_bounded);
    tcase_add_test(cases, hostile_answer_ends_the_call);
    return run_cases("hostile_hello", &cases, 1);
}
