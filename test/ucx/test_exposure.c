/* SPDX-License-Identifier: BSD-3-Clause */
/* What UCX opens for a class, and who can reach it: TCP ports, and shared
 * memory. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner.h"
#include "side.h"

#define DESCRIPTORS 1024

static const char *const protocols[] = {"tcp", "all"};

/* Listening sockets of this process: all, and those that are not at a loopback
 * address. */
struct ports {
    uint32_t all;
    uint32_t open;
};

static struct ports
count_ports(void)
{
    struct ports ports = {0, 0};

    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        struct sockaddr_storage where = {.ss_family = AF_UNSPEC};
        socklen_t length = sizeof(where);
        int listens = 0;
        socklen_t size = sizeof(listens);
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
            listens == 0 ||
            getsockname(fd, (struct sockaddr *) &where, &length) != 0 ||
            where.ss_family != AF_INET)
            continue;
        const struct sockaddr_in *in = (const struct sockaddr_in *) &where;
        ports.all++;
        if (ntohl(in->sin_addr.s_addr) >> 24 != 127)
            ports.open++;
    }
    return ports;
}

/* An IPv4 address of this host that other hosts can reach. */
static bool
find_outer(char text[INET_ADDRSTRLEN])
{
    struct ifaddrs *list;
    bool found = false;

    ck_assert_int_eq(getifaddrs(&list), 0);
    for (struct ifaddrs *i = list; i != NULL && !found; i = i->ifa_next)
        found = i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET &&
                (i->ifa_flags & IFF_UP) != 0 &&
                (i->ifa_flags & IFF_LOOPBACK) == 0 &&
                inet_ntop(AF_INET,
                    &((const struct sockaddr_in *) i->ifa_addr)->sin_addr, text,
                    INET_ADDRSTRLEN) != NULL;
    freeifaddrs(list);
    if (!found)
        printf("skipped: no interface but the loopback one\n");
    return found;
}

/* UCX opens ports on all interfaces that it may use, whatever address it
 * listens at. */
START_TEST(exposure_of_a_loopback_class_ends_at_the_host)
{
    struct side side = {.log_level = 0};

    side_open(&side, protocols[_i], "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    struct ports ports = count_ports();
    ck_assert_uint_ge(ports.all, 2); /* the listener's, and the transport's */
    ck_assert_uint_eq(ports.open, 0);
    side_close(&side);
    side_open(&side, protocols[_i], "127.0.0.1", 0, 0);
    ports = count_ports();
    ck_assert_uint_ge(ports.all, 1);
    ck_assert_uint_eq(ports.open, 0);
    ck_assert_uint_eq(side.warnings, 0);
    side_close(&side);
}
END_TEST

/* Devices named explicitly are used. */
START_TEST(exposure_follows_the_environment)
{
    struct side side = {
        .log_level = 0, .key = "ucx.trusted_network", .value = "1"};
    char outer[INET_ADDRSTRLEN];

    if (!find_outer(outer))
        return;
    setenv("UCX_NET_DEVICES", "all", 1);
    side_open(&side, protocols[_i], "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    unsetenv("UCX_NET_DEVICES");
    ck_assert_uint_ge(count_ports().open, 1);
    side_close(&side);
}
END_TEST

/* Any class of this host reaches it by loopback addresses. It refuses to call
 * other addresses, and logs why. */
START_TEST(exposure_of_a_loopback_class_spans_the_host)
{
    struct side side = {
        .log_level = 0, .key = "ucx.trusted_network", .value = "1"};
    struct side local = {.expected = "opened at a loopback address"};
    char outer[INET_ADDRSTRLEN];
    char name[SIDE_TEXT];

    if (!find_outer(outer))
        return;
    pid_t pid = echo_start(protocols[_i], "127.0.0.1", 0, name);
    for (uint32_t i = 0; i < 3; i++) {
        static const char *const hosts[] = {"127.0.0.1", NULL, NULL};
        side_open(&side, protocols[_i], i == 2 ? outer : hosts[i], 0,
            i == 1 ? 0 : NA_PLUGIN_OPEN_LISTEN);
        na_plugin_addr *addr = side_lookup(&side, name);
        ck_assert_int_eq(echo_trip(&side, addr, i), NA_PLUGIN_OK);
        side.ops->addr_free(side.cls, addr);
        side_close(&side);
    }
    echo_stop(pid, SIGKILL);

    side_open(&local, protocols[_i], "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    snprintf(name, sizeof(name), "%s://%s:1", protocols[_i], outer);
    na_plugin_addr *addr = side_lookup(&local, name);
    ck_assert_int_eq(echo_trip(&local, addr, 1), NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_uint_ge(local.matched, 1);
    local.ops->addr_free(local.cls, addr);
    side_close(&local);
}
END_TEST

static uint32_t
warnings_of(const char *host, uint32_t flags, const char *value)
{
    struct side side = {
        .key = "ucx.trusted_network", .value = value, .expected = "firewall"};

    side_open(&side, protocols[0], host, 0, flags);
    ck_assert_uint_eq(side.warnings, side.matched);
    side_close(&side);
    return side.matched;
}

START_TEST(exposure_to_other_hosts_is_warned_about_once)
{
    char outer[INET_ADDRSTRLEN];

    if (!find_outer(outer))
        return;
    ck_assert_uint_eq(warnings_of("127.0.0.1", NA_PLUGIN_OPEN_LISTEN, NULL), 0);
    ck_assert_uint_eq(warnings_of("lo", NA_PLUGIN_OPEN_LISTEN, NULL), 0);
    ck_assert_uint_eq(warnings_of(outer, 0, NULL), 0);
    ck_assert_uint_eq(warnings_of(outer, NA_PLUGIN_OPEN_LISTEN, "1"), 0);
    ck_assert_uint_eq(warnings_of(outer, NA_PLUGIN_OPEN_LISTEN, "0"), 1);
    ck_assert_uint_eq(warnings_of(outer, NA_PLUGIN_OPEN_LISTEN, NULL), 0);
}
END_TEST

/* An empty variable is one that is not set. */
START_TEST(exposure_is_warned_about_with_an_empty_variable)
{
    char outer[INET_ADDRSTRLEN];

    if (!find_outer(outer))
        return;
    setenv("UCX_TLS", "", 1);
    ck_assert_uint_eq(warnings_of(outer, NA_PLUGIN_OPEN_LISTEN, NULL), 1);
}
END_TEST

/* SysV segments of this process, and how many of them other users may
 * attach. */
static void
count_segments(uint32_t *all_p, uint32_t *open_p)
{
    FILE *file = fopen("/proc/sysvipc/shm", "r");
    char line[512];

    *all_p = *open_p = 0;
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        unsigned mode;
        int maker;
        if (sscanf(line, "%*d %*d %o %*u %d", &mode, &maker) != 2 ||
            maker != (int) getpid())
            continue;
        ++*all_p;
        if ((mode & 077) != 0)
            ++*open_p;
    }
    fclose(file);
}

/* UCX's SysV segments are accessible to the group; they would contain queues
 * and allocated memory. */
START_TEST(exposure_in_shared_memory_is_limited_to_the_user)
{
    struct side side = {.log_level = 0};
    uint32_t all, open;
    void *memory;

    side_open(&side, "all", "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    const na_plugin_mem_alloc *alloc =
        side.ops->extension(side.cls, NA_PLUGIN_MEM_ALLOC_ID);
    ck_assert_ptr_nonnull(alloc);
    ck_assert_int_eq(alloc->alloc(side.cls, 1 << 20, &memory), NA_PLUGIN_OK);
    count_segments(&all, &open);
    ck_assert_uint_eq(open, 0);
    alloc->free(side.cls, memory);
    side_close(&side);

    /* the transport was excluded, not the memory */
    setenv("UCX_TLS", "all", 1);
    side_open(&side, "all", "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    unsetenv("UCX_TLS");
    count_segments(&all, &open);
    ck_assert_uint_ge(all, 1);
    side_close(&side);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(
        tcase, exposure_of_a_loopback_class_ends_at_the_host, 0, 2);
    tcase_add_loop_test(tcase, exposure_follows_the_environment, 0, 2);
    tcase_add_loop_test(
        tcase, exposure_of_a_loopback_class_spans_the_host, 0, 2);
    tcase_add_test(tcase, exposure_to_other_hosts_is_warned_about_once);
    tcase_add_test(tcase, exposure_is_warned_about_with_an_empty_variable);
    tcase_add_test(tcase, exposure_in_shared_memory_is_limited_to_the_user);
    return run_tcase("ucx exposure", tcase);
}
