/* SPDX-License-Identifier: BSD-3-Clause */
/* Names, strings, serialized addresses, and equality. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

START_TEST(address_self_string_carries_prefix_and_process)
{
    static struct node plain, named;
    char text[TEXT];
    char begin[TEXT];
    node_open(&plain, NULL);
    node_open(&named, &(struct node_options){.name = "rack.7"});

    self_string(&plain, text);
    snprintf(begin, sizeof(begin), "sm://%d-", (int) getpid());
    ck_assert_int_eq(strncmp(text, begin, strlen(begin)), 0);
    self_string(&named, text);
    snprintf(begin, sizeof(begin), "sm://rack.7-%d-", (int) getpid());
    ck_assert_int_eq(strncmp(text, begin, strlen(begin)), 0);
    node_close(&named);
    node_close(&plain);
}
END_TEST

START_TEST(address_strings_are_unique)
{
    static struct node nodes[4];
    char texts[4][TEXT];
    for (int i = 0; i < 4; i++) {
        node_open(&nodes[i], &(struct node_options){.mute = i % 2 != 0,
                                 .name = i < 2 ? own_name("twin") : NULL});
        self_string(&nodes[i], texts[i]);
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(texts[i], texts[j]);
    }
    for (int i = 0; i < 4; i++)
        node_close(&nodes[i]);
}
END_TEST

START_TEST(address_to_string_returns_the_size)
{
    struct node node;
    char text[TEXT];
    char small[8];
    uint64_t size = 0;
    node_open(&node, NULL);
    self_string(&node, text);
    na_plugin_addr *self = lookup(&node, text);

    ck_assert_int_eq(
        node.ops->addr_to_string(node.cls, self, NULL, &size), NA_PLUGIN_OK);
    ck_assert_uint_eq(size, strlen(text) + 1);
    size = sizeof(small);
    ck_assert_int_eq(node.ops->addr_to_string(node.cls, self, small, &size),
        NA_PLUGIN_E_OVERFLOW);
    ck_assert_uint_eq(size, strlen(text) + 1);
    ck_assert_int_eq(node.ops->addr_to_string(node.cls, self, text, &size), 0);
    node.ops->addr_free(node.cls, self);
    node_close(&node);
}
END_TEST

START_TEST(address_lookup_rejects_malformed_strings)
{
    static const char *const bad[] = {"", "sm", "sm:/x", "sm://", "sm://a/b",
        "sm://a b", "sm://\xC3\xA4", NULL};
    struct node node;
    na_plugin_addr *addr = NULL;
    node_open(&node, NULL);

    for (size_t i = 0; bad[i] != NULL; i++)
        ck_assert_int_eq(node.ops->addr_lookup(node.cls, bad[i], &addr),
            NA_PLUGIN_E_INVALID_ARG);
    char text[TEXT] = "sm://";
    memset(text + 5, 'x', 88);
    ck_assert_int_eq(
        node.ops->addr_lookup(node.cls, text, &addr), NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(node.ops->addr_lookup(node.cls, "tcp://host:1", &addr),
        NA_PLUGIN_E_PROTONOSUPPORT);
    ck_assert_int_eq(node.ops->addr_lookup(node.cls, "smx://a", &addr),
        NA_PLUGIN_E_PROTONOSUPPORT);
    ck_assert_ptr_null(addr);
    ck_assert_uint_ge(node_warnings(&node), 10);
    node_close(&node);
}
END_TEST

START_TEST(address_equal_by_name)
{
    struct node node;
    char text[TEXT];
    na_plugin_addr *self;
    node_open(&node, &(struct node_options){.name = own_name("alias")});
    self_string(&node, text);
    ck_assert_int_eq(node.ops->addr_self(node.cls, &self), NA_PLUGIN_OK);
    na_plugin_addr *full = lookup(&node, text);
    na_plugin_addr *brief = lookup(&node, own_address("alias"));
    na_plugin_addr *other = lookup(&node, "sm://other");
    na_plugin_addr *again = lookup(&node, "sm://other");

    ck_assert_int_eq(node.ops->addr_equal(node.cls, self, full), 1);
    ck_assert_int_eq(node.ops->addr_equal(node.cls, self, brief), 1);
    ck_assert_int_eq(node.ops->addr_equal(node.cls, self, other), 0);
    ck_assert_int_eq(node.ops->addr_equal(node.cls, again, other), 1);
    node.ops->addr_dup(node.cls, other);
    node.ops->addr_free(node.cls, other);
    na_plugin_addr *all[] = {self, full, brief, other, again};
    for (int i = 0; i < 5; i++)
        node.ops->addr_free(node.cls, all[i]);
    node_close(&node);
}
END_TEST

START_TEST(address_deserialized_equals_the_original)
{
    static struct node a, b;
    unsigned char bytes[TEXT];
    char text[TEXT];
    uint64_t size = 0;
    node_open(&a, NULL);
    node_open(&b, NULL);
    self_string(&a, text);
    na_plugin_addr *self = lookup(&a, text);

    ck_assert_int_eq(a.ops->addr_serialize(a.cls, self, NULL, &size), 0);
    uint64_t need = size;
    size = need - 1;
    ck_assert_int_eq(
        a.ops->addr_serialize(a.cls, self, bytes, &size), NA_PLUGIN_E_OVERFLOW);
    size = sizeof(bytes);
    ck_assert_int_eq(a.ops->addr_serialize(a.cls, self, bytes, &size), 0);
    ck_assert_uint_eq(size, need);

    na_plugin_addr *copy;
    na_plugin_addr *known = lookup(&b, text);
    ck_assert_int_eq(b.ops->addr_deserialize(b.cls, bytes, size, &copy), 0);
    ck_assert_int_eq(b.ops->addr_equal(b.cls, copy, known), 1);
    a.ops->addr_free(a.cls, self);
    b.ops->addr_free(b.cls, copy);
    b.ops->addr_free(b.cls, known);

    na_plugin_addr *none = NULL;
    for (uint64_t cut = 0; cut < size; cut++)
        ck_assert_int_lt(b.ops->addr_deserialize(b.cls, bytes, cut, &none), 0);
    bytes[2] = '/';
    ck_assert_int_eq(b.ops->addr_deserialize(b.cls, bytes, size, &none),
        NA_PLUGIN_E_INVALID_ARG);
    bytes[0] = 9;
    ck_assert_int_eq(b.ops->addr_deserialize(b.cls, bytes, size, &none),
        NA_PLUGIN_E_PROTOCOL_ERROR);
    ck_assert_ptr_null(none);
    node_warnings(&b);
    node_close(&b);
    node_close(&a);
}
END_TEST

/* Lookup by short name, lookup by full name, and the source of a message give
 * equal addresses. */
START_TEST(address_source_equals_lookup)
{
    static struct node a, b;
    char full_text[TEXT];
    char buffer[64];
    node_open(&a, &(struct node_options){.name = own_name("server")});
    node_open(&b, NULL);
    self_string(&a, full_text);
    na_plugin_addr *brief = lookup(&b, own_address("server"));
    na_plugin_addr *full = lookup(&b, full_text);

    void *op = post_unexpected(&a, buffer, sizeof(buffer));
    ck_assert_int_eq(send_unexpected(&b, "1", 1, brief, 1), 0);
    na_plugin_event event = await_message(&a, 0, op, 1, 1, true);
    /* an expected answer, matched by the short name's address */
    void *answer = post_expected(&b, buffer, sizeof(buffer), brief, 2);
    ck_assert_int_eq(send_expected(&a, "2", 1, event.source, 2), 0);
    await_message(&b, 0, answer, 1, 2, false);
    ck_assert_int_eq(b.ops->addr_equal(b.cls, brief, full), 1);
    /* a message that the server initiates */
    void *third = post_unexpected(&b, buffer, sizeof(buffer));
    ck_assert_int_eq(send_unexpected(&a, "3", 1, event.source, 3), 0);
    na_plugin_event back = await_message(&b, 0, third, 1, 3, true);
    ck_assert_int_eq(b.ops->addr_equal(b.cls, brief, back.source), 1);
    ck_assert_int_eq(b.ops->addr_equal(b.cls, full, back.source), 1);

    /* its printed string can be looked up */
    char text[TEXT];
    uint64_t size = sizeof(text);
    ck_assert_int_eq(b.ops->addr_to_string(b.cls, back.source, text, &size), 0);
    ck_assert_str_eq(text, full_text);

    a.ops->addr_free(a.cls, event.source);
    b.ops->addr_free(b.cls, back.source);
    b.ops->addr_free(b.cls, brief);
    b.ops->addr_free(b.cls, full);
    free(op);
    free(answer);
    free(third);
    node_close(&b);
    node_close(&a);
}
END_TEST

START_TEST(address_short_name_reaches_the_first)
{
    static struct node a, b, c;
    char buffer[64];
    char text[TEXT];
    node_open(&a, &(struct node_options){.name = own_name("taken")});
    node_open(&b, &(struct node_options){.name = own_name("taken")});
    node_open(&c, NULL);
    ck_assert_ptr_nonnull(strstr(b.last_line, own_address("taken")));

    na_plugin_addr *brief = lookup(&c, own_address("taken"));
    void *op = post_unexpected(&a, buffer, sizeof(buffer));
    ck_assert_int_eq(send_unexpected(&c, "x", 1, brief, 5), 0);
    na_plugin_event event = await_message(&a, 0, op, 1, 5, true);
    a.ops->addr_free(a.cls, event.source);

    self_string(&b, text);
    na_plugin_addr *second = lookup(&c, text);
    void *other = post_unexpected(&b, buffer, sizeof(buffer));
    ck_assert_int_eq(send_unexpected(&c, "y", 1, second, 6), 0);
    event = await_message(&b, 0, other, 1, 6, true);
    ck_assert_int_eq(c.ops->addr_equal(c.cls, brief, second), 0);
    b.ops->addr_free(b.cls, event.source);
    c.ops->addr_free(c.cls, brief);
    c.ops->addr_free(c.cls, second);
    free(op);
    free(other);
    node_close(&c);
    node_close(&b);
    node_close(&a);
}
END_TEST

START_TEST(address_of_no_process_fails_on_first_use)
{
    static struct node a, mute;
    char text[TEXT];
    node_open(&a, NULL);
    node_open(&mute, &(struct node_options){.mute = true});
    self_string(&mute, text);
    na_plugin_addr *nobody = lookup(&a, "sm://nobody-at-all");
    na_plugin_addr *deaf = lookup(&a, text);
    char buffer[8];
    void *op = op_new(&a);

    ck_assert_int_eq(
        send_unexpected(&a, "x", 1, nobody, 1), NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_int_eq(
        send_unexpected(&a, "x", 1, deaf, 1), NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_int_eq(
        send_expected(&a, "x", 1, nobody, 1), NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_int_eq(a.ops->recv_expected(a.ctx[0], op, buffer, sizeof(buffer),
                         NULL, nobody, 0, 1, 0),
        NA_PLUGIN_E_HOSTUNREACH);
    expect_silence(&a, 0, 10);
    /* one for each peer */
    ck_assert_uint_eq(node_warnings(&a), 2);
    a.ops->addr_free(a.cls, nobody);
    a.ops->addr_free(a.cls, deaf);
    free(op);
    node_close(&mute);
    node_close(&a);
}
END_TEST

/* Recognized by the name of its shared memory file, which this test creates. */
START_TEST(address_of_mercury_fails_with_reason)
{
    char name[32], path[64], text[TEXT];
    struct node node;

    snprintf(name, sizeof(name), "%d-77", (int) getpid());
    snprintf(path, sizeof(path), "/dev/shm/na_sm-%s", name);
    snprintf(text, sizeof(text), "sm://%s", name);
    node_open(&node, NULL);
    na_plugin_addr *peer = lookup(&node, text);
    ck_assert_int_eq(
        send_unexpected(&node, "x", 1, peer, 1), NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_uint_eq(node_warnings(&node), 1);

    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(
        send_unexpected(&node, "x", 1, peer, 1), NA_PLUGIN_E_HOSTUNREACH);
    unlink(path);
    ck_assert_uint_eq(node_warnings(&node), 1);
    ck_assert_ptr_nonnull(strstr(node.last_line, "uses Mercury"));
    ck_assert_ptr_nonnull(strstr(node.last_line, path));
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
}
END_TEST

/* Processor time of this process. */
static uint64_t
worked_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

START_TEST(address_many_lookups_are_quick)
{
    struct node node;
    enum { COUNT = 100000 };
    static na_plugin_addr *all[COUNT];
    char text[TEXT];
    node_open(&node, NULL);

    uint64_t begin = worked_ns();
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof(text), "sm://peer-%d-0", i + 1);
        all[i] = lookup(&node, text);
    }
    for (int i = 0; i < COUNT; i++)
        node.ops->addr_free(node.cls, all[i]);
    /* quadratic time would take minutes */
    ck_assert_uint_lt(worked_ns() - begin, UINT64_C(10000000000));
    node_close(&node);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("address");
    tcase_add_test(cases, address_self_string_carries_prefix_and_process);
    tcase_add_test(cases, address_strings_are_unique);
    tcase_add_test(cases, address_to_string_returns_the_size);
    tcase_add_test(cases, address_lookup_rejects_malformed_strings);
    tcase_add_test(cases, address_equal_by_name);
    tcase_add_test(cases, address_deserialized_equals_the_original);
    tcase_add_test(cases, address_source_equals_lookup);
    tcase_add_test(cases, address_short_name_reaches_the_first);
    tcase_add_test(cases, address_of_no_process_fails_on_first_use);
    tcase_add_test(cases, address_of_mercury_fails_with_reason);
    tcase_add_test(cases, address_many_lookups_are_quick);
    return run_cases("address", &cases, 1);
}
