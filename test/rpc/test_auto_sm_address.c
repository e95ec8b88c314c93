/* SPDX-License-Identifier: BSD-3-Clause */
/* Address strings with auto_sm. With "hosts" as the second argument: peers on
 * two hosts, simulated by namespaces. */
#include "log_watch.h"
#include "two_routes.h"

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

START_TEST(auto_sm_string_has_both_addresses_and_host_id)
{
    struct session s;
    na_sm_id_t host;
    char id[NA_SM_HOST_ID_LEN + 1], middle[80];
    hg_addr_t addr, copy;

    routes_begin(&s, _i, &routes_setup);
    ck_assert_int_eq(NA_SM_Host_id_get(&host), NA_SUCCESS);
    NA_SM_Host_id_to_string(host, id);
    snprintf(
        middle, sizeof middle, "#sm=%s@%u:na+sm://", id, (unsigned) geteuid());
    ck_assert_ptr_nonnull(strstr(s.address, middle));
    ck_assert_int_eq(
        strncmp(s.address, session_transport(), strlen(session_transport())),
        0);
    /* An address that was looked up prints as the same string, and so does its
     * copy. */
    addr = routes_look_up(&s, s.address);
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

START_TEST(auto_sm_address_prints_as_looked_up)
{
    struct session s;
    hg_handle_t handle;
    hg_addr_t copy;

    routes_begin(&s, _i, &routes_setup);
    handle = session_handle(&s, routes_count_id());
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

START_TEST(auto_sm_own_string_is_self)
{
    struct session s;
    hg_addr_t addr, local;

    if (!routes_is_self(_i))
        return;
    routes_begin(&s, _i, &routes_setup);
    addr = routes_look_up(&s, s.address);
    local = routes_look_up(&s, strstr(s.address, "na+sm://"));
    ck_string(&s, addr, s.address);
    ck_string(&s, local, s.address);
    ck_assert(HG_Addr_cmp(s.hg_class, addr, s.target) == HG_TRUE);
    ck_assert(HG_Addr_cmp(s.hg_class, local, s.target) == HG_TRUE);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, local), HG_SUCCESS);
    rpcs_ck_works(&s);
    ck_assert_uint_eq(routes_sent_network(), 0);
    session_end(&s);
}
END_TEST

/* A class of na+sm alone uses the na+sm part of the string. */
START_TEST(auto_sm_peer_is_reached_by_sm_only_class)
{
    struct session s;
    hg_class_t *hg_class, *own_class;
    hg_context_t *context, *own_context;
    hg_addr_t own_target;

    if (routes_is_self(_i))
        return;
    routes_begin(&s, _i, &routes_setup);
    hg_class = HG_Init("na+sm", HG_FALSE);
    ck_assert_ptr_nonnull(hg_class);
    routes_open(hg_class);
    context = HG_Context_create(hg_class);
    ck_assert_ptr_nonnull(context);
    own_class = s.hg_class;
    own_context = s.context;
    own_target = s.target;
    s.hg_class = hg_class;
    s.context = context;
    s.target = routes_look_up(&s, s.address);
    routes_ck(&s, 10, 0);
    ck_assert_int_eq(HG_Addr_free(hg_class, s.target), HG_SUCCESS);
    /* For another host the string has no part that this class can use. */
    routes_change_host(s.address);
    log_expect("is not an address of na+sm", 1, 1);
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

/* Shared memory admits processes of the same user only, the network any. */
START_TEST(auto_sm_peer_of_another_user_uses_the_network)
{
    struct session s;
    char *user;

    if (routes_is_self(_i))
        return;
    routes_begin(&s, _i, &routes_setup);
    user = strchr(strstr(s.address, "#sm="), '@') + 1;
    *user = *user == '9' ? '8' : '9';
    ck_assert_int_eq(HG_Addr_free(s.hg_class, s.target), HG_SUCCESS);
    s.target = routes_look_up(&s, s.address);
    routes_ck(&s, 0, 5);
    session_end(&s);
}
END_TEST

START_TEST(auto_sm_malformed_string_is_rejected)
{
    struct session s;
    char text[300];
    hg_addr_t addr = HG_ADDR_NULL;
    size_t length;

    routes_begin(&s, _i, &routes_setup);
    log_expect("", 1, 10000);
    length = strlen(s.address);
    /* Truncated inside the host id or after it. */
    for (size_t cut = (size_t) (strstr(s.address, "#sm=") - s.address) + 4;
         cut < (size_t) (strstr(s.address, ":na+sm") - s.address) + 2; cut++) {
        snprintf(text, sizeof text, "%.*s", (int) cut, s.address);
        if (cut > length - strlen(strstr(s.address, ":na+sm")) + 1)
            continue; /* an address without scheme is left to the plugin */
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
    /* The part of the string for the route that would be used. */
    snprintf(text, sizeof text, "%s/*", s.address);
    ck_assert_int_eq(HG_Addr_lookup2(s.hg_class, text, &addr), HG_INVALID_ARG);
    snprintf(text, sizeof text, "other+thing%s", strstr(s.address, "://"));
    routes_change_host(text);
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

START_TEST(auto_sm_open_failure_warns_once_and_uses_network)
{
    static const struct session_setup missing = {
        .open = routes_open, .stopping = rpcs_stopping, .init = with_missing};
    struct session s;
    uint32_t sides = routes_is_self(_i) ? 1 : 2;

    routes_begin(&s, _i, &missing);
    log_expect("auto_sm has no effect", sides, sides);
    ck_assert_ptr_null(strstr(s.address, "#sm="));
    if (!routes_is_self(_i))
        routes_ck(&s, 0, 5);
    session_end(&s);
}
END_TEST

static void
with_name(struct hg_init_info *info)
{
    static char name[64];

    info->auto_sm = 1;
    snprintf(name, sizeof name, "talaria-test-%d%s", (int) getpid(),
        routes_at_origin() ? "-origin" : "");
    info->sm_info_string = name;
}

START_TEST(auto_sm_uses_sm_info_string)
{
    static const struct session_setup named = {
        .open = routes_open, .stopping = rpcs_stopping, .init = with_name};
    struct session s;

    if (routes_is_self(_i))
        return;
    routes_begin(&s, _i, &named);
    ck_assert_ptr_nonnull(strstr(s.address, ":na+sm://talaria-test-"));
    routes_ck(&s, 5, 0);
    session_end(&s);
}
END_TEST

/* Namespaces turn one host into two. */
START_TEST(auto_sm_other_namespace_is_another_host)
{
    struct session s;
    na_sm_id_t host;
    char id[NA_SM_HOST_ID_LEN + 1];

    if (session_mode_at(_i)->shape != SESSION_PROCESSES)
        return;
    /* Affects the processes forked from here on. */
    ck_assert_int_eq(unshare(CLONE_NEWPID), 0);
    routes_begin(&s, _i, &routes_setup);
    ck_assert_int_eq(NA_SM_Host_id_get(&host), NA_SUCCESS);
    NA_SM_Host_id_to_string(host, id);
    ck_assert_ptr_nonnull(strstr(s.address, "#sm="));
    ck_assert_ptr_null(strstr(s.address, id));
    routes_ck(&s, 0, 20);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, auto_sm_string_has_both_addresses_and_host_id);
    session_add(tcase, auto_sm_address_prints_as_looked_up);
    session_add(tcase, auto_sm_own_string_is_self);
    session_add(tcase, auto_sm_peer_is_reached_by_sm_only_class);
    session_add(tcase, auto_sm_peer_of_another_user_uses_the_network);
    session_add(tcase, auto_sm_malformed_string_is_rejected);
    session_add(tcase, auto_sm_open_failure_warns_once_and_uses_network);
    session_add(tcase, auto_sm_uses_sm_info_string);
}

static void
add_hosts(TCase *tcase)
{
    session_add(tcase, auto_sm_other_namespace_is_another_host);
}

/* Set under a leak checker, which works within one namespace only. */
void __lsan_do_leak_check(void) __attribute__((weak));

/* Whether this user may create namespaces. */
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
        printf("skipped: LeakSanitizer is on\n");
        return 77;
    }
    if (!namespaces_allowed()) {
        printf("skipped: this user may not create namespaces\n");
        return 77;
    }
    return session_main(argc, argv, "auto_sm_hosts", add_hosts);
}
