/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that is deregistered while a get copies from it. Both sides copy, the owner
 * from the back. process_vm_readv is replaced here, also for the plugin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hostile_peer.h"
#include "registration.h"

#define LENGTH 300000U /* two pieces */
#define POLLS 1000U    /* in which the owner copies one */

static unsigned char *here;
static unsigned char *there;
static na_plugin_mem *local;
static na_plugin_mem *owned;
static na_plugin_mem *remote;
static na_plugin_addr *owner;
static bool helps;       /* the owner, before this side copies */
static bool deregisters; /* after that */

/* This side is about to copy the front of a range. */
static void
before_copy(void)
{
    na_plugin_event event;

    if (!helps)
        return;
    helps = false;
    uint64_t before = node_counter(&hostile_friend, "assisted_bytes");
    for (uint32_t i = 0; i < POLLS; i++)
        ck_assert_int_eq(
            hostile_friend.ops->poll(hostile_friend.ctx[0], &event, 1), 0);
    ck_assert_msg(node_counter(&hostile_friend, "assisted_bytes") > before,
        "the owner was asked, and has not helped");
    if (!deregisters)
        return;
    hostile_friend.ops->mem_deregister(hostile_friend.cls, owned);
    memset(there, 2, LENGTH);
}

ssize_t
process_vm_readv(pid_t pid, const struct iovec *to, unsigned long to_count,
    const struct iovec *from, unsigned long from_count, unsigned long flags)
{
    before_copy();
    return syscall(
        SYS_process_vm_readv, pid, to, to_count, from, from_count, flags);
}

static int32_t
get(uint64_t length)
{
    return transfer(&hostile_target, false, local, remote, length, owner);
}

static void
get_with_help(bool deregister, int32_t expected)
{
    char text[TEXT];

    open_both();
    check_friend();
    here = calloc(1, LENGTH);
    there = malloc(LENGTH);
    memset(there, 1, LENGTH);
    owned = register_region(&hostile_friend, there, LENGTH, NA_PLUGIN_MEM_READ);
    struct form form = form_of(&hostile_friend, owned);
    remote = unpack(&hostile_target, &form);
    local = register_region(&hostile_target, here, LENGTH, NA_PLUGIN_MEM_WRITE);
    self_string(&hostile_friend, text);
    owner = lookup(&hostile_target, text);
    ck_assert_int_eq(get(8), NA_PLUGIN_OK); /* connects */

    uint64_t refused = node_counter(&hostile_target, "registrations_refused");
    helps = true;
    deregisters = deregister;
    ck_assert_int_eq(get(LENGTH), expected);
    ck_assert(!helps);
    ck_assert_uint_eq(node_counter(&hostile_target, "registrations_refused"),
        refused + deregister);
    if (!deregister) {
        ck_assert_mem_eq(here, there, LENGTH);
        hostile_friend.ops->mem_deregister(hostile_friend.cls, owned);
    }

    hostile_target.ops->addr_free(hostile_target.cls, owner);
    hostile_target.ops->mem_deregister(hostile_target.cls, local);
    hostile_target.ops->mem_remote_free(hostile_target.cls, remote);
    free(here);
    free(there);
    close_both();
}

START_TEST(deregister_while_both_sides_copy_fails_the_get)
{
    get_with_help(true, NA_PLUGIN_E_INVALID_ARG);
}
END_TEST

START_TEST(deregister_after_both_sides_copied)
{
    get_with_help(false, NA_PLUGIN_OK);
}
END_TEST

int
main(void)
{
    if (!kernel_copies()) {
        puts("skipped: processes may not access one another's memory");
        return 77;
    }
    TCase *tcase = tcase_create("deregister");

    tcase_add_test(tcase, deregister_while_both_sides_copy_fails_the_get);
    tcase_add_test(tcase, deregister_after_both_sides_copied);
    return run_cases("deregister", &tcase, 1);
}
