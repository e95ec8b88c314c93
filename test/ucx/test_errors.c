/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of open and of unreachable peers: the code, and one line with the
 * reason. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner.h"
#include "side.h"

#define X16 "xxxxxxxxxxxxxxxx"
#define X64 X16 X16 X16 X16
#define LONG X64 X64 X64 X64 X64 X64 X64 X64

static const struct {
    const char *protocol;
    const char *device;
    const char *host;
    int32_t port;
    int32_t code;
    const char *says;
} table[] = {
    {"nosuch", NULL, NULL, -1, NA_PLUGIN_E_PROTONOSUPPORT, "tcp"},
    {"tcp,nosuch", NULL, NULL, -1, NA_PLUGIN_E_PROTONOSUPPORT, "nosuch"},
    {"rc,", NULL, NULL, -1, NA_PLUGIN_E_PROTONOSUPPORT, "commas"},
    {"TCP", NULL, NULL, -1, NA_PLUGIN_E_PROTONOSUPPORT, "commas"},
    {"tcp;x", NULL, NULL, -1, NA_PLUGIN_E_PROTONOSUPPORT, "tcp;x"},
    {"", NULL, NULL, -1, NA_PLUGIN_E_PROTONOSUPPORT, "protocol"},
    {"posix,,tcp", NULL, NULL, -1, NA_PLUGIN_E_PROTONOSUPPORT, "commas"},
    {LONG, NULL, NULL, -1, NA_PLUGIN_E_PROTONOSUPPORT, "commas"},
    {"tcp", "nodev0", "127.0.0.1", 0, NA_PLUGIN_E_NODEV, "nodev0"},
    {"all", "nodev0", "127.0.0.1", 0, NA_PLUGIN_E_NODEV, "nodev0"},
    {"all", "lo,nodev0", "127.0.0.1", 0, NA_PLUGIN_E_NODEV, "nodev0"},
    {"tcp", LONG, "127.0.0.1", 0, NA_PLUGIN_E_NODEV, "xxxx"},
    {"tcp", NULL, LONG, 0, NA_PLUGIN_E_ADDRNOTAVAIL, "xxxx"},
    {"tcp", NULL, "nosuchif0", 0, NA_PLUGIN_E_ADDRNOTAVAIL, "nosuchif0"},
    {"tcp", NULL, "1.2.3", 0, NA_PLUGIN_E_ADDRNOTAVAIL, "1.2.0.3"},
    {"tcp", NULL, "127.0.0.1 ", 0, NA_PLUGIN_E_ADDRNOTAVAIL, "127.0.0.1"},
    {"tcp", NULL, "%s%n", 0, NA_PLUGIN_E_ADDRNOTAVAIL, "%s%n"},
    {"tcp", NULL, "no-such-host.invalid", 0, NA_PLUGIN_E_ADDRNOTAVAIL,
        "no-such-host"},
    {"tcp", NULL, "198.51.100.77", 0, NA_PLUGIN_E_ADDRNOTAVAIL,
        "198.51.100.77"},
    {"tcp", NULL, "127.0.0.1", 65536, NA_PLUGIN_E_INVALID_ARG, "65535"},
    {"tcp", NULL, "127.0.0.1", INT32_MAX, NA_PLUGIN_E_INVALID_ARG, "65535"},
    {"tcp", NULL, "999.1.1.1", 0, NA_PLUGIN_E_ADDRNOTAVAIL, "999"},
    {"tcp", NULL, "", 0, NA_PLUGIN_E_ADDRNOTAVAIL, "\"\""},
    {"tcp", NULL, "[", 0, NA_PLUGIN_E_ADDRNOTAVAIL, "\"[\""},
    {"tcp", NULL, ":::::", 0, NA_PLUGIN_E_ADDRNOTAVAIL, ":::::"},
    {"tcp", NULL, "\x01\x7f\n", 0, NA_PLUGIN_E_ADDRNOTAVAIL, "no address"},
    {"tcp", NULL, "224.0.0.1", 0, NA_PLUGIN_E_ADDRNOTAVAIL, "many hosts"},
    {"tcp", NULL, "255.255.255.255", 0, NA_PLUGIN_E_ADDRNOTAVAIL, "many hosts"},
    {"tcp", NULL, "ff02::1", 0, NA_PLUGIN_E_ADDRNOTAVAIL, "many hosts"},
    {"tcp", NULL, "2001:db8::77", 0, NA_PLUGIN_E_ADDRNOTAVAIL, "2001:db8::77"},
    {"tcp", "lo", "198.51.100.77", 0, NA_PLUGIN_E_ADDRNOTAVAIL,
        "198.51.100.77"},
    {"tcp", ",", "127.0.0.1", 0, NA_PLUGIN_E_NODEV, "here are: "},
    {"tcp", "a/b/c", "127.0.0.1", 0, NA_PLUGIN_E_NODEV, "a/b/c"},
    {"tcp", "\n", "127.0.0.1", 0, NA_PLUGIN_E_NODEV, "here are: "},
    {"\x01\x02", NULL, NULL, -1, NA_PLUGIN_E_PROTONOSUPPORT, "commas"},
    {"^tcp", NULL, NULL, -1, NA_PLUGIN_E_PROTONOSUPPORT, "^tcp"},
    {"all,tcp", NULL, NULL, -1, NA_PLUGIN_E_PROTONOSUPPORT, "\"all\""},
    {"all", NULL, "nosuchif0", 0, NA_PLUGIN_E_ADDRNOTAVAIL, "nosuchif0"},
    {"all", NULL, "198.51.100.77", 0, NA_PLUGIN_E_ADDRNOTAVAIL,
        "198.51.100.77"},
    {"all", NULL, LONG, 0, NA_PLUGIN_E_ADDRNOTAVAIL, "xxxx"},
    {"all", NULL, "127.0.0.1", 65536, NA_PLUGIN_E_INVALID_ARG, "65535"},
};

START_TEST(open_of_missing_resource_logs_one_line)
{
    struct side side = {.log_level = 0};
    int32_t ret = side_try(&side, table[_i].protocol, table[_i].device,
        table[_i].host, table[_i].port, NA_PLUGIN_OPEN_LISTEN);

    ck_assert_msg(ret == table[_i].code, "%s: %d: %s", table[_i].protocol,
        (int) ret, side.last);
    ck_assert_uint_eq(side.errors, 1);
    ck_assert_msg(strstr(side.last, table[_i].says) != NULL, "%s", side.last);
}
END_TEST

/* Without such hardware, the line lists what is available. */
START_TEST(open_without_the_device_lists_alternatives)
{
    static const char *const protocols[] = {"rc", "ud", "dc", "rc,tcp"};
    struct side side = {.log_level = 0};
    int32_t ret =
        side_try(&side, protocols[_i], NULL, NULL, -1, NA_PLUGIN_OPEN_LISTEN);

    if (ret == NA_PLUGIN_OK) {
        side_close(&side);
        return;
    }
    ck_assert_int_eq(ret, NA_PLUGIN_E_PROTONOSUPPORT);
    ck_assert_uint_eq(side.errors, 1);
    ck_assert_ptr_nonnull(strstr(side.last, "it has:"));
    ck_assert_ptr_nonnull(strstr(side.last, "tcp"));
}
END_TEST

/* If there is an interface that is down. */
START_TEST(open_on_an_interface_that_is_down_lists_alternatives)
{
    struct side side = {.log_level = 0};
    struct ifaddrs *list;
    const struct ifaddrs *down;

    ck_assert_int_eq(getifaddrs(&list), 0);
    down = list;
    while (down != NULL && (down->ifa_flags & IFF_UP) != 0)
        down = down->ifa_next;
    if (down != NULL) {
        ck_assert_int_eq(side_try(&side, "tcp", down->ifa_name, "127.0.0.1", 0,
                             NA_PLUGIN_OPEN_LISTEN),
            NA_PLUGIN_E_NODEV);
        ck_assert_uint_eq(side.errors, 1);
        ck_assert_ptr_nonnull(strstr(side.last, down->ifa_name));
        ck_assert_ptr_nonnull(strstr(side.last, "here are: "));
    }
    freeifaddrs(list);
}
END_TEST

/* An interface as host, and as device; a list of transports. */
START_TEST(open_accepts_each_form_of_host)
{
    static const struct {
        const char *protocol;
        const char *device;
        const char *host;
        const char *begins;
    } forms[] = {
        {"tcp", NULL, "lo", "tcp://127.0.0.1:"},
        {"tcp", "lo", NULL, "tcp://127.0.0.1:"},
        {"tcp", "lo", "127.0.0.1", "tcp://127.0.0.1:"},
        {"tcp", NULL, "localhost", "tcp://"}, /* of either family */
        {"tcp", NULL, NULL, "tcp://"},
        {"tcp,posix", NULL, "127.0.0.1", "tcp,posix://127.0.0.1:"},
        {"all", NULL, "127.0.0.1", "all://127.0.0.1:"},
    };
    struct side side = {.log_level = 0};
    char name[SIDE_TEXT];
    struct addrinfo *found;

    /* a machine may have no /etc/hosts */
    if (forms[_i].host != NULL && strcmp(forms[_i].host, "localhost") == 0) {
        if (getaddrinfo(forms[_i].host, NULL, NULL, &found) != 0) {
            puts("skipped: localhost is not resolved here");
            return;
        }
        freeaddrinfo(found);
    }
    int32_t ret = side_try(&side, forms[_i].protocol, forms[_i].device,
        forms[_i].host, 0, NA_PLUGIN_OPEN_LISTEN);

    ck_assert_msg(ret == NA_PLUGIN_OK, "%d: %s", (int) ret, side.last);
    side_name(&side, name);
    ck_assert_msg(
        strncmp(name, forms[_i].begins, strlen(forms[_i].begins)) == 0, "%s",
        name);
    side_close(&side);
}
END_TEST

/* Among the addresses of the host. */
START_TEST(open_subnet_chooses_the_address)
{
    static const char *const wrong[] = {
        "10.0.0.0/99", "10.0.0.0/", "the whole world", "/8"};
    struct side side = {.subnet = "127.0.0.0/8"};
    char name[SIDE_TEXT];
    int32_t ret = side_try(&side, "tcp", NULL, NULL, 0, NA_PLUGIN_OPEN_LISTEN);

    ck_assert_msg(ret == NA_PLUGIN_OK, "%d: %s", (int) ret, side.last);
    side_name(&side, name);
    ck_assert_msg(strncmp(name, "tcp://127.0.0.1:", 16) == 0, "%s", name);
    side_close(&side);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        side = (struct side){.subnet = wrong[i]};
        ret = side_try(&side, "tcp", NULL, NULL, 0, NA_PLUGIN_OPEN_LISTEN);
        ck_assert_msg(
            ret == NA_PLUGIN_E_INVALID_ARG, "%s: %d", wrong[i], (int) ret);
        ck_assert_uint_eq(side.errors, 1);
    }
}
END_TEST

static const char *const protocols[] = {"tcp", "all"};

/* By another class, and by a program without UCX. */
START_TEST(open_port_in_use_is_addrinuse)
{
    struct side first = {.log_level = 0};
    struct sockaddr_in where = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(where);
    char name[SIDE_TEXT];
    int32_t ports[2];

    side_open(&first, protocols[_i], "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    side_name(&first, name);
    ports[0] = (int32_t) strtol(strrchr(name, ':') + 1, NULL, 10);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *) &where, length), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *) &where, &length), 0);
    ports[1] = ntohs(where.sin_port);
    for (size_t i = 0; i < 2; i++) {
        struct side second = {.log_level = 0};
        ck_assert_int_eq(side_try(&second, protocols[_i], NULL, "127.0.0.1",
                             ports[i], NA_PLUGIN_OPEN_LISTEN),
            NA_PLUGIN_E_ADDRINUSE);
        ck_assert_uint_eq(second.errors, 1);
        snprintf(name, sizeof(name), "127.0.0.1:%d: ", (int) ports[i]);
        ck_assert_msg(strstr(second.last, name) != NULL, "%s", second.last);
        ck_assert_msg(strstr(second.last, "in use") != NULL, "%s", second.last);
    }
    close(fd);
    side_close(&first);
}
END_TEST

START_TEST(lookup_of_malformed_text_is_rejected)
{
    static const struct {
        const char *text;
        int32_t code;
    } wrong[] = {
        {"tcp", NA_PLUGIN_E_INVALID_ARG},
        {"tcp://", NA_PLUGIN_E_INVALID_ARG},
        {"tcp://127.0.0.1", NA_PLUGIN_E_INVALID_ARG},
        {"tcp://127.0.0.1:", NA_PLUGIN_E_INVALID_ARG},
        {"tcp://127.0.0.1:0", NA_PLUGIN_E_INVALID_ARG},
        {"tcp://127.0.0.1:70000", NA_PLUGIN_E_INVALID_ARG},
        {"tcp://127.0.0.1:12x", NA_PLUGIN_E_INVALID_ARG},
        {"tcp://[::1:80", NA_PLUGIN_E_INVALID_ARG},
        {"tcp://[::1]80", NA_PLUGIN_E_INVALID_ARG},
        {"tcp://no-such-host.invalid:80", NA_PLUGIN_E_NOENTRY},
        {"tcp://" LONG ":80", NA_PLUGIN_E_INVALID_ARG},
        {"tcp://127.0.0.1:" LONG, NA_PLUGIN_E_INVALID_ARG},
        {"", NA_PLUGIN_E_INVALID_ARG},
        {"://127.0.0.1:80", NA_PLUGIN_E_PROTONOSUPPORT},
        {"all://127.0.0.1:80", NA_PLUGIN_E_PROTONOSUPPORT},
    };
    struct side side = {.log_level = 0};

    side_open(&side, "tcp", NULL, -1, 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        na_plugin_addr *addr;
        side.errors = 0;
        int32_t ret = side.ops->addr_lookup(side.cls, wrong[i].text, &addr);
        ck_assert_msg(ret == wrong[i].code, "%s: %d", wrong[i].text, (int) ret);
        ck_assert_uint_eq(side.errors, 1);
    }
    side_close(&side);
}
END_TEST

START_TEST(send_to_a_closed_port_fails_at_once)
{
    struct side side = {.log_level = 0};
    char name[SIDE_TEXT];

    side_open(&side, protocols[_i], NULL, -1, 0);
    snprintf(name, sizeof(name), "%s://127.0.0.1:1", protocols[_i]);
    na_plugin_addr *addr = side_lookup(&side, name);
    uint64_t begun = now_ms();
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_int_eq(echo_trip(&side, addr, i), NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_uint_lt(now_ms() - begun, 5000);
    side.ops->addr_free(side.cls, addr);
    side_close(&side);
}
END_TEST

/* The port's owner does not use UCX: it sends nothing, or something else. */
START_TEST(send_to_a_foreign_program_times_out)
{
    struct side side = {.key = "ucx.connect_timeout", .value = "1s"};

    side_open(&side, "tcp", NULL, -1, 0);
    /* a blackhole: nothing answers there */
    na_plugin_addr *addr = side_lookup(&side, "tcp://198.51.100.77:9");
    uint64_t begun = now_ms();
    int32_t ret = echo_trip(&side, addr, 1);
    ck_assert_msg(ret == NA_PLUGIN_E_HOSTUNREACH || ret == NA_PLUGIN_E_IO_ERROR,
        "%d", (int) ret);
    ck_assert_uint_lt(now_ms() - begun, 6000);
    side.ops->addr_free(side.cls, addr);
    side_close(&side);
}
END_TEST

/* Its messages are accepted, but not received. */
START_TEST(send_without_room_times_out)
{
    static const unsigned char bytes[256];
    struct side side = {.key = "ucx.send_timeout", .value = "1s"};
    struct side server = {.log_level = 0};
    char name[SIDE_TEXT];
    int32_t ret = NA_PLUGIN_OK;

    side_open(&side, "tcp", NULL, -1, 0);
    side_open(&server, "tcp", "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    side_name(&server, name);
    na_plugin_addr *to_server = side_lookup(&side, name);
    for (uint32_t i = 0; i < 100000 && ret == NA_PLUGIN_OK; i++) {
        struct act act;
        act_init(&act, &side);
        act_send(&act, true, bytes, sizeof(bytes), to_server, i);
        ret = act_await(&act, &server);
        act_fini(&act);
    }
    ck_assert_int_eq(ret, NA_PLUGIN_E_TIMEOUT);
    ck_assert_uint_eq(side.warnings, 1);
    ck_assert_ptr_nonnull(strstr(side.last, "no room for 1 s"));
    side.ops->addr_free(side.cls, to_server);
    side_close(&side);
    side_close(&server);
}
END_TEST

/* But it can be serialized, for peers that it is connected to. */
START_TEST(address_of_non_listening_class_has_no_string)
{
    struct side side = {.log_level = 0};
    struct side server = {.log_level = 0};
    struct act send, recv;
    na_plugin_addr *self, *back;
    unsigned char bytes[64];
    char name[SIDE_TEXT];
    uint64_t size = 0;

    side_open(&side, "tcp", NULL, -1, 0);
    side_open(&server, "tcp", "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    const na_plugin_ops *ops = side.ops;
    ck_assert_int_eq(ops->addr_self(side.cls, &self), NA_PLUGIN_OK);
    ck_assert_int_eq(ops->addr_to_string(side.cls, self, NULL, &size),
        NA_PLUGIN_E_OPNOTSUPPORTED);
    size = sizeof(bytes);
    ck_assert_int_eq(
        ops->addr_serialize(side.cls, self, bytes, &size), NA_PLUGIN_OK);
    ck_assert_int_eq(
        ops->addr_deserialize(side.cls, bytes, size, &back), NA_PLUGIN_OK);
    ck_assert_ptr_eq(back, self);
    ops->addr_free(side.cls, back);
    ck_assert_int_eq(ops->addr_deserialize(server.cls, bytes, size, &back),
        NA_PLUGIN_E_OPNOTSUPPORTED);
    bytes[1]--; /* the bytes of a number */
    ck_assert_int_eq(ops->addr_deserialize(server.cls, bytes, size, &back),
        NA_PLUGIN_E_INVALID_ARG);
    bytes[1]++;
    ck_assert_int_eq(ops->addr_deserialize(server.cls, bytes, size - 1, &back),
        NA_PLUGIN_E_INVALID_ARG);

    side_name(&server, name);
    na_plugin_addr *to_server = side_lookup(&side, name);
    act_init(&send, &side);
    act_init(&recv, &server);
    act_recv_any(&recv);
    act_send(&send, true, "me", 2, to_server, 1);
    ck_assert_int_eq(act_await(&send, &server), NA_PLUGIN_OK);
    ck_assert_int_eq(act_await(&recv, &side), NA_PLUGIN_OK);
    ck_assert_int_eq(
        ops->addr_deserialize(server.cls, bytes, size, &back), NA_PLUGIN_OK);
    ck_assert_int_eq(ops->addr_equal(server.cls, back, recv.end.source), 1);
    ops->addr_free(server.cls, back);
    ops->addr_free(server.cls, recv.end.source);
    ops->addr_free(side.cls, to_server);
    ops->addr_free(side.cls, self);
    ck_assert_uint_eq(side.warnings, 0);
    act_fini(&send);
    act_fini(&recv);
    side_close(&side);
    side_close(&server);
}
END_TEST

START_TEST(open_oversized_hints_are_clamped)
{
    struct side side = {.log_level = 0};
    na_plugin_open_info info = {.size = sizeof(info),
        .protocol = protocols[_i],
        .port = -1,
        .max_unexpected_size = UINT64_MAX,
        .max_expected_size = UINT64_MAX,
        .max_contexts = UINT32_MAX};

    side_open(&side, protocols[_i], NULL, -1, 0);
    na_plugin_opened opened = {.size = sizeof(opened)};
    ck_assert_int_eq(
        side_plugin()->open(&side.host, &info, &opened), NA_PLUGIN_OK);
    ck_assert_uint_eq(opened.max_unexpected_size, 65536);
    ck_assert_uint_eq(opened.max_expected_size, 65536);
    ck_assert_uint_eq(opened.max_contexts, 256);
    side_plugin()->close(opened.cls);
    side_close(&side);
}
END_TEST

START_TEST(call_of_another_family_is_refused)
{
    struct side side = {.log_level = 0};

    side_open(&side, "tcp", NULL, -1, 0);
    na_plugin_addr *addr = side_lookup(&side, "tcp://[::1]:9");
    ck_assert_int_eq(echo_trip(&side, addr, 1), NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_ptr_nonnull(strstr(side.last, "IPv4"));
    side.ops->addr_free(side.cls, addr);
    side_close(&side);
}
END_TEST

/* An address of this host that is neither on the loopback interface, where UCX
 * 1.13 has no IPv6, nor link-local. */
static bool
find_ipv6(char text[INET6_ADDRSTRLEN])
{
    struct ifaddrs *list;
    bool found = false;

    ck_assert_int_eq(getifaddrs(&list), 0);
    for (struct ifaddrs *i = list; i != NULL && !found; i = i->ifa_next) {
        const struct sockaddr_in6 *address = (const void *) i->ifa_addr;
        found = address != NULL && address->sin6_family == AF_INET6 &&
                !IN6_IS_ADDR_LOOPBACK(&address->sin6_addr) &&
                !IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr) &&
                inet_ntop(AF_INET6, &address->sin6_addr, text,
                    INET6_ADDRSTRLEN) != NULL;
    }
    freeifaddrs(list);
    return found;
}

START_TEST(open_address_format_chooses_the_family)
{
    struct side side = {.addr_format = NA_PLUGIN_ADDR_IPV4};
    char name[SIDE_TEXT];
    char host[INET6_ADDRSTRLEN];

    ck_assert_int_eq(
        side_try(&side, "tcp", NULL, NULL, 0, NA_PLUGIN_OPEN_LISTEN),
        NA_PLUGIN_OK);
    side_name(&side, name);
    ck_assert_msg(name[6] != '[', "%s", name);
    side_close(&side);
    if (!find_ipv6(host)) {
        puts(
            "skipped: no IPv6 address but of the loopback interface and links");
        return;
    }
    side = (struct side){.addr_format = NA_PLUGIN_ADDR_IPV6};
    ck_assert_int_eq(
        side_try(&side, "tcp", NULL, NULL, 0, NA_PLUGIN_OPEN_LISTEN),
        NA_PLUGIN_OK);
    side_name(&side, name);
    ck_assert_msg(name[6] == '[', "%s", name);
    side_close(&side);
}
END_TEST

START_TEST(open_at_an_ipv6_address_works)
{
    struct side a = {.log_level = 0};
    struct side b = {.log_level = 0};
    struct act recv, send;
    char name[SIDE_TEXT];
    char host[INET6_ADDRSTRLEN];

    if (!find_ipv6(host)) {
        printf("skipped: no IPv6 address but of the loopback interface\n");
        return;
    }
    side_open(&a, protocols[_i], host, 0, NA_PLUGIN_OPEN_LISTEN);
    side_open(&b, protocols[_i], host, 0, 0);
    side_name(&a, name);
    ck_assert_int_eq(strncmp(strstr(name, "://"), "://[", 4), 0);
    na_plugin_addr *addr = side_lookup(&b, name);
    act_init(&recv, &a);
    act_init(&send, &b);
    act_recv_any(&recv);
    act_send(&send, true, "six", 3, addr, 6);
    ck_assert_int_eq(act_await(&send, &a), NA_PLUGIN_OK);
    ck_assert_int_eq(act_await(&recv, &b), NA_PLUGIN_OK);
    ck_assert_uint_eq(recv.end.tag, 6);
    a.ops->addr_free(a.cls, recv.end.source);
    b.ops->addr_free(b.cls, addr);
    act_fini(&recv);
    act_fini(&send);
    side_close(&b);
    side_close(&a);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, open_of_missing_resource_logs_one_line, 0,
        (int) (sizeof(table) / sizeof(table[0])));
    tcase_add_loop_test(
        tcase, open_without_the_device_lists_alternatives, 0, 4);
    tcase_add_test(tcase, open_on_an_interface_that_is_down_lists_alternatives);
    tcase_add_loop_test(tcase, open_accepts_each_form_of_host, 0, 7);
    tcase_add_test(tcase, open_subnet_chooses_the_address);
    tcase_add_test(tcase, open_address_format_chooses_the_family);
    tcase_add_loop_test(tcase, open_port_in_use_is_addrinuse, 0, 2);
    tcase_add_test(tcase, lookup_of_malformed_text_is_rejected);
    tcase_add_loop_test(tcase, send_to_a_closed_port_fails_at_once, 0, 2);
    tcase_add_test(tcase, send_to_a_foreign_program_times_out);
    tcase_add_test(tcase, send_without_room_times_out);
    tcase_add_test(tcase, address_of_non_listening_class_has_no_string);
    tcase_add_loop_test(tcase, open_oversized_hints_are_clamped, 0, 2);
    tcase_add_test(tcase, call_of_another_family_is_refused);
    tcase_add_loop_test(tcase, open_at_an_ipv6_address_works, 0, 2);
    return run_tcase("ucx errors", tcase);
}
