/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings and addresses of peers that there are two ways to. With "hosts" as the
 * second argument: peers on two hosts, which namespaces make of one. */
#include "log_watch.h"
#include "two_ways.h"

#include "na_sm.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void
ck_string(struct session *s, hg_addr_t addr, const char *expected)
{
    char text[512];
    hg_size_t size = 0;

    ck_assert_int_eq(
        HG_Addr_to_string(s->hg_class, NULL, &size, addr), HG_SUCCESS);
    ck_assert_uint_eq(size, strlen(expected) + 1);
    size--;
    ck_assert_int_eq(
        HG_Addr_to_string(s->hg_class, text, &size, addr), HG_OVERFLOW);
    ck_assert_uint_eq(size, strlen(expected) + 1);
    memset(text, 'z', sizeof text);
    ck_assert_int_eq(
        HG_Addr_to_string(s->hg_class, text, &size, addr), HG_SUCCESS);
    ck_assert_str_eq(text, expected);
    ck_assert_int_eq(text[size], 'z');
}

START_TEST(auto_sm_string_carries_both_ways_and_the_host)
{
    struct session s;
    na_sm_id_t host;
    char id[NA_SM_HOST_ID_LEN + 1], middle[80];
    hg_addr_t addr, copy;

    ways_begin(&s, _i, &ways_setup);
    ck_assert_int_eq(NA_SM_Host_id_get(&host), NA_SUCCESS);
    NA_SM_Host_id_to_string(host, id);
    snprintf(
        middle, sizeof middle, "#sm=%s@%u:na+sm://", id, (unsigned) geteuid());
    ck_assert_ptr_nonnull(strstr(s.address, middle));
    ck_assert_int_eq(
        strncmp(s.address, session_transport(), strlen(session_transport())),
        0);
    /* What was looked up is said again, by a copy too. */
    addr = ways_look_up(&s, s.address);
    ck_string(&s, addr, s.address);
    ck_assert(HG_Addr_cmp(s.hg_class, addr, s.target) == HG_TRUE);
    ck_assert_int_eq(HG_Addr_dup(s.hg_class, addr, &copy), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, addr), HG_SUCCESS);
    ck_string(&s, copy, s.address);
    ck_assert_int_eq(HG_Addr_set_remove(s.hg_class, copy), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, copy), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(auto_sm_handle_says_its_address_as_given)
{
    struct session s;
    hg_handle_t handle;
    hg_addr_t copy;

    ways_begin(&s, _i, &ways_setup);
    handle = session_handle(&s, ways_who());
    ck_string(&s, HG_Get_info(handle)->addr, s.address);
    ck_assert_int_eq(
        HG_Addr_dup(s.hg_class, HG_Get_info(handle)->addr, &copy), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_string(&s, copy, s.address);
    ck_assert(HG_Addr_cmp(s.hg_class, copy, s.target) == HG_TRUE);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, copy), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(auto_sm_own_string_is_oneself)
{
    struct session s;
    hg_addr_t addr, near;

    if (!ways_self(_i))
        return;
    ways_begin(&s, _i, &ways_setup);
    addr = ways_look_up(&s, s.address);
    near = ways_look_up(&s, strstr(s.address, "na+sm://"));
    ck_string(&s, addr, s.address);
    ck_string(&s, near, s.address);
    ck_assert(HG_Addr_cmp(s.hg_class, addr, s.target) == HG_TRUE);
    ck_assert(HG_Addr_cmp(s.hg_class, near, s.target) == HG_TRUE);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, near), HG_SUCCESS);
    rpcs_ck_works(&s);
    ck_assert_uint_eq(ways_sent_far(), 0);
    session_end(&s);
}
END_TEST

/* A class of na+sm alone knows the part that is its own. */
START_TEST(auto_sm_peer_is_reached_by_a_class_of_shared_memory_alone)
{
    struct session s;
    hg_class_t *hg_class, *own_class;
    hg_context_t *context, *own_context;
    hg_addr_t own_target;

    if (ways_self(_i))
        return;
    ways_begin(&s, _i, &ways_setup);
    hg_class = HG_Init("na+sm", HG_FALSE);
    ck_assert_ptr_nonnull(hg_class);
    ways_open(hg_class);
    context = HG_Context_create(hg_class);
    ck_assert_ptr_nonnull(context);
    own_class = s.hg_class;
    own_context = s.context;
    own_target = s.target;
    s.hg_class = hg_class;
    s.context = context;
    s.target = ways_look_up(&s, s.address);
    ways_ck(&s, 10, 0);
    ck_assert_int_eq(HG_Addr_free(hg_class, s.target), HG_SUCCESS);
    /* On another host it would be of no transport that this class knows. */
    ways_move(s.address);
    log_expect("is no address of plugin na", 1, 1);
    ck_assert_int_eq(
        HG_Addr_lookup2(hg_class, s.address, &s.target), HG_PROTONOSUPPORT);
    ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    s.hg_class = own_class;
    s.context = own_context;
    s.target = own_target;
    session_end(&s);
}
END_TEST

/* Shared memory admits processes of one user, the network any. */
START_TEST(auto_sm_peer_of_another_user_is_reached_by_the_network)
{
    struct session s;
    char *user;

    if (ways_self(_i))
        return;
    ways_begin(&s, _i, &ways_setup);
    user = strchr(strstr(s.address, "#sm="), '@') + 1;
    *user = *user == '9' ? '8' : '9';
    ck_assert_int_eq(HG_Addr_free(s.hg_class, s.target), HG_SUCCESS);
    s.target = ways_look_up(&s, s.address);
    ways_ck(&s, 0, 5);
    session_end(&s);
}
END_TEST

START_TEST(auto_sm_malformed_string_is_refused)
{
    struct session s;
    char text[300];
    hg_addr_t addr = HG_ADDR_NULL;
    size_t length;

    ways_begin(&s, _i, &ways_setup);
    log_expect("", 1, 10000);
    length = strlen(s.address);
    /* Cut anywhere in the id, or behind it. */
    for (size_t cut = (size_t) (strstr(s.address, "#sm=") - s.address) + 4;
         cut < (size_t) (strstr(s.address, ":na+sm") - s.address) + 2; cut++) {
        snprintf(text, sizeof text, "%.*s", (int) cut, s.address);
        if (cut > length - strlen(strstr(s.address, ":na+sm")) + 1)
            continue; /* an address without scheme is the plugin's affair */
        ck_assert_int_eq(
            HG_Addr_lookup2(s.hg_class, text, &addr), HG_INVALID_ARG);
        ck_assert_ptr_null(addr);
    }
    snprintf(text, sizeof text, "%s", strstr(s.address, "#sm="));
    ck_assert_int_eq(HG_Addr_lookup2(s.hg_class, text, &addr), HG_INVALID_ARG);
    snprintf(text, sizeof text, "%s#sm=", s.address);
    ck_assert_int_eq(HG_Addr_lookup2(s.hg_class, text, &addr), HG_INVALID_ARG);
    snprintf(text, sizeof text, "%s x", s.address);
    ck_assert_int_eq(HG_Addr_lookup2(s.hg_class, text, &addr), HG_INVALID_ARG);
    /* The part for the way that would be taken. */
    snprintf(text, sizeof text, "%s/*", s.address);
    ck_assert_int_eq(HG_Addr_lookup2(s.hg_class, text, &addr), HG_INVALID_ARG);
    snprintf(text, sizeof text, "other+thing%s", strstr(s.address, "://"));
    ways_move(text);
    ck_assert_int_eq(
        HG_Addr_lookup2(s.hg_class, text, &addr), HG_PROTONOSUPPORT);
    ck_assert_ptr_null(addr);
    session_end(&s);
}
END_TEST

static void
with_missing(struct hg_init_info *info)
{
    info->auto_sm = 1;
    info->sm_info_string = "missing+sm";
}

START_TEST(auto_sm_that_cannot_be_opened_warns_once_and_goes_on)
{
    static const struct session_setup missing = {
        .open = ways_open, .stopping = rpcs_stopping, .init = with_missing};
    struct session s;
    uint32_t sides = ways_self(_i) ? 1 : 2;

    ways_begin(&s, _i, &missing);
    log_expect("auto_sm without effect", sides, sides);
    ck_assert_ptr_null(strstr(s.address, "#sm="));
    if (!ways_self(_i))
        ways_ck(&s, 0, 5);
    session_end(&s);
}
END_TEST

static void
with_name(struct hg_init_info *info)
{
    static char name[64];

    info->auto_sm = 1;
    snprintf(name, sizeof name, "talaria-test-%d%s", (int) getpid(),
        ways_at_origin() ? "-origin" : "");
    info->sm_info_string = name;
}

START_TEST(auto_sm_takes_the_name_that_it_is_given)
{
    static const struct session_setup named = {
        .open = ways_open, .stopping = rpcs_stopping, .init = with_name};
    struct session s;

    if (ways_self(_i))
        return;
    ways_begin(&s, _i, &named);
    ck_assert_ptr_nonnull(strstr(s.address, ":na+sm://talaria-test-"));
    ways_ck(&s, 5, 0);
    session_end(&s);
}
END_TEST

/* Namespaces make another host of one. */
START_TEST(auto_sm_process_of_another_namespace_is_another_host)
{
    struct session s;
    na_sm_id_t host;
    char id[NA_SM_HOST_ID_LEN + 1];

    if (session_mode_at(_i)->shape != SESSION_PROCESSES)
        return;
    /* Of the processes that are forked from here on. */
    ck_assert_int_eq(unshare(CLONE_NEWPID), 0);
    ways_begin(&s, _i, &ways_setup);
    ck_assert_int_eq(NA_SM_Host_id_get(&host), NA_SUCCESS);
    NA_SM_Host_id_to_string(host, id);
    ck_assert_ptr_nonnull(strstr(s.address, "#sm="));
    ck_assert_ptr_null(strstr(s.address, id));
    ways_ck(&s, 0, 20);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, auto_sm_string_carries_both_ways_and_the_host);
    session_add(tcase, auto_sm_handle_says_its_address_as_given);
    session_add(tcase, auto_sm_own_string_is_oneself);
    session_add(
        tcase, auto_sm_peer_is_reached_by_a_class_of_shared_memory_alone);
    session_add(tcase, auto_sm_peer_of_another_user_is_reached_by_the_network);
    session_add(tcase, auto_sm_malformed_string_is_refused);
    session_add(tcase, auto_sm_that_cannot_be_opened_warns_once_and_goes_on);
    session_add(tcase, auto_sm_takes_the_name_that_it_is_given);
}

static void
add_hosts(TCase *tcase)
{
    session_add(tcase, auto_sm_process_of_another_namespace_is_another_host);
}

/* There when leaks are looked for, which works within one namespace only. */
void __lsan_do_leak_check(void) __attribute__((weak));

/* Whether this user may make one. */
static bool
namespaces_allowed(void)
{
    pid_t child = fork();
    int status = 1;

    if (child == 0)
        _exit(unshare(CLONE_NEWPID) == 0 ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int
main(int argc, char **argv)
{
    if (argc < 3)
        return session_main(argc, argv, "auto_sm_address", add);
    if (__lsan_do_leak_check) {
        printf("skipped: leaks are looked for\n");
        return 77;
    }
    if (!namespaces_allowed()) {
        printf("skipped: no process namespace may be made here\n");
        return 77;
    }
    return session_main(argc, argv, "auto_sm_hosts", add_hosts);
}
