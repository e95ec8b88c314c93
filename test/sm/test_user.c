/* SPDX-License-Identifier: BSD-3-Clause */
/* Admission: processes of the same user, unless a side was opened for any. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

/* What the process of the other user sees. */
enum sight {
    SIGHT_NOTHING, /* not connected */
    SIGHT_CALLER,  /* which it refuses */
    SIGHT_MESSAGE  /* which it answers */
};

/* How that process opens its class. */
struct other {
    const char *name;    /* "any/": for any user */
    const char *setting; /* the same through sm.any_user */
    enum sight sight;
};

#define OTHER_USER 65533
#define THIS_USER 65534

static void
answer(struct node *node)
{
    unsigned char buffer[16];
    void *op = post_unexpected(node, buffer, sizeof(buffer));
    na_plugin_event event = await_message(node, 0, op, 4, 7, true);

    ck_assert_int_eq(send_expected(node, buffer, 4, event.source, 8), 0);
    node->ops->addr_free(node->cls, event.source);
    free(op);
}

static int
serve(const struct parent *parent)
{
    static struct node node;
    const struct other *other = parent->arg;
    char text[TEXT];

    if (setgid(OTHER_USER) != 0 || setuid(OTHER_USER) != 0)
        return 1;
    node_open(&node, &(struct node_options){.name = other->name,
                         .setting_key = other->setting,
                         .setting_value = "1"});
    self_string(&node, text);
    send_line(parent->out, text);
    if (other->sight == SIGHT_MESSAGE)
        answer(&node);
    for (uint64_t end = now_ns() + UINT64_C(20000000000);
         other->sight == SIGHT_CALLER && now_ns() < end;) {
        pump();
        if (node_counter(&node, "callers_refused") > 0)
            break;
    }
    expect_line(parent->in, "end");
    ck_assert_uint_eq(
        node_counter(&node, "callers_refused"), other->sight == SIGHT_CALLER);
    node_close(&node);
    return 0;
}

/* Sends to that process as another user and waits for its answer. Returns the
 * result, and the last line in the log. */
static int32_t
call(const struct other *other, const char *name, char line[512])
{
    static struct node node;
    struct child child = child_start(serve, other);
    unsigned char buffer[16];
    char text[TEXT];

    recv_line(child.in, text);
    ck_assert(setgid(THIS_USER) == 0 && setuid(THIS_USER) == 0);
    node_open(&node, &(struct node_options){.name = name});
    na_plugin_addr *peer = lookup(&node, text);
    int32_t ret = send_unexpected(&node, "ping", 4, peer, 7);
    void *op = NULL;
    if (ret == NA_PLUGIN_OK) {
        op = post_expected(&node, buffer, sizeof(buffer), peer, 8);
        ret = await_op(&node, 0, op).status;
    }
    snprintf(line, 512, "%s", node.last_line);
    node_warnings(&node);
    send_line(child.out, "end");
    node.ops->addr_free(node.cls, peer);
    node_close(&node);
    child_join(&child);
    free(op);
    return ret;
}

START_TEST(user_other_is_not_connected_to)
{
    static const struct other other = {.name = "any/"};
    char line[512];

    ck_assert_int_eq(call(&other, NULL, line), NA_PLUGIN_E_PERMISSION);
    ck_assert_ptr_nonnull(strstr(line, "belongs to user 65533"));
}
END_TEST

START_TEST(user_other_is_refused)
{
    static const struct other other = {.sight = SIGHT_CALLER};
    char line[512];

    ck_assert_int_eq(call(&other, "any/", line), NA_PLUGIN_E_PERMISSION);
    ck_assert_ptr_nonnull(strstr(line, "its own user only"));
}
END_TEST

START_TEST(user_any_in_name_admits_others)
{
    static const struct other other = {
        .name = "any/server", .sight = SIGHT_MESSAGE};
    char line[512];

    ck_assert_int_eq(call(&other, "any/client", line), NA_PLUGIN_OK);
}
END_TEST

START_TEST(user_any_setting_admits_others)
{
    static const struct other other = {
        .setting = "sm.any_user", .sight = SIGHT_MESSAGE};
    char line[512];

    ck_assert_int_eq(call(&other, "any/", line), NA_PLUGIN_OK);
}
END_TEST

START_TEST(user_malformed_any_name_is_rejected)
{
    static struct node node;
    static const char *const names[] = {"any", "any/a/b", "all/x", "any//"};

    for (size_t i = 1; i < 4; i++)
        ck_assert_int_eq(
            node_try(&node, &(struct node_options){.name = names[i]}),
            NA_PLUGIN_E_INVALID_ARG);
    /* an ordinary name */
    node_open(&node, &(struct node_options){.name = names[0]});
    node_close(&node);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("user");

    tcase_add_test(cases, user_malformed_any_name_is_rejected);
    if (geteuid() != 0) {
        puts("skipped: two users need root, to become them");
    } else {
        tcase_add_test(cases, user_other_is_not_connected_to);
        tcase_add_test(cases, user_other_is_refused);
        tcase_add_test(cases, user_any_in_name_admits_others);
        tcase_add_test(cases, user_any_setting_admits_others);
    }
    return run_cases("user", &cases, 1);
}
