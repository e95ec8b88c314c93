/* SPDX-License-Identifier: BSD-3-Clause */
/* Invalid options of open: a code and one line with the reason; and valid
 * ones. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

#define TEN(text) text text text text text text text text text text
#define LONG TEN(TEN("absurdly-long."))

/* One invalid option each, the code, and text of the line. */
static const struct {
    const char *what;
    struct node_options options;
    int32_t code;
    const char *word;
} wrong[] = {
    {"an unknown protocol", {.protocol = "carrier-pigeon", .anywhere = true},
        NA_PLUGIN_E_PROTONOSUPPORT, "there are: "},
    {"a provider that is not there",
        {.protocol = "carrier-pigeon", .anywhere = true},
        NA_PLUGIN_E_PROTONOSUPPORT, "was built without, or found no device"},
    {"a provider of no endpoints that would do",
        {.protocol = "ofi_hook_noop", .anywhere = true},
        NA_PLUGIN_E_PROTONOSUPPORT, "provider ofi_hook_noop; libfabric"},
    {"a provider without a device",
        {.protocol = "ofi_hook_noop", .anywhere = true},
        NA_PLUGIN_E_PROTONOSUPPORT, "finds no device, or lacks a setting"},
    {"an interface that is not there", {.host = "eth77"},
        NA_PLUGIN_E_ADDRNOTAVAIL, "\"eth77\" is neither an interface"},
    {"an interface that is not there, over a layer",
        {.protocol = "tcp;ofi_rxm", .host = "eth77"}, NA_PLUGIN_E_ADDRNOTAVAIL,
        "\"eth77\" is neither an interface"},
    {"an interface and the address of another",
        {.device = "lo", .host = "::ffff:203.0.113.7"}, NA_PLUGIN_E_NODEV,
        "there are: "},
    {"a device that is not there, over a layer",
        {.protocol = "tcp;ofi_rxm", .device = "eth77", .anywhere = true},
        NA_PLUGIN_E_NODEV, "eth77"},
    {"a device that is not there, over sockets",
        {.protocol = "sockets", .device = "eth77", .anywhere = true},
        NA_PLUGIN_E_NODEV, "eth77"},
    {"a device that is not there, over udp",
        {.protocol = "udp", .device = "eth77", .anywhere = true},
        NA_PLUGIN_E_NODEV, "eth77"},
    {"a host of formats", {.host = "%s%n%s%n"}, NA_PLUGIN_E_ADDRNOTAVAIL,
        "%s%n%s%n"},
    {"a host of blanks", {.host = " 127.0.0.1 "}, NA_PLUGIN_E_ADDRNOTAVAIL,
        "\" 127.0.0.1 \""},
    {"a host of bytes that are no text", {.host = "\xFF\xFE\x01"},
        NA_PLUGIN_E_ADDRNOTAVAIL, "neither an interface"},
    {"a path for a device", {.device = "../../etc/passwd", .anywhere = true},
        NA_PLUGIN_E_NODEV, "../../etc/passwd"},
    {"an address of five numbers", {.host = "10.0.0.0.1"},
        NA_PLUGIN_E_ADDRNOTAVAIL, "10.0.0.0.1"},
    {"a traffic class of the future", {.traffic_class = 77},
        NA_PLUGIN_E_INVALID_ARG, "traffic class 77"},
    {"an open_info of another age", {.info_size = 8}, NA_PLUGIN_E_INVALID_ARG,
        "open_info of 8 bytes"},
    {"room for half an answer", {.opened_size = 8}, NA_PLUGIN_E_INVALID_ARG,
        "opened of 8 bytes"},
    {"a host that can't be resolved", {.host = "no-such-host.invalid"},
        NA_PLUGIN_E_ADDRNOTAVAIL, "no-such-host.invalid"},
    {"another machine's address", {.host = "203.0.113.77"},
        NA_PLUGIN_E_ADDRNOTAVAIL, "203.0.113.77"},
    {"another machine's IPv6 address", {.host = "2001:db8::77"},
        NA_PLUGIN_E_ADDRNOTAVAIL, "2001:db8::77"},
    {"a device that is not there", {.device = "eth77", .anywhere = true},
        NA_PLUGIN_E_NODEV, "eth77"},
    {"a host that is not the device's", {.device = "lo", .host = "203.0.113.7"},
        NA_PLUGIN_E_NODEV, "lo/203.0.113.7"},
    {"a port above 65535", {.port = 70000}, NA_PLUGIN_E_INVALID_ARG, "70000"},
    {"an invalid subnet", {.subnet = "10.0.0.0/99"}, NA_PLUGIN_E_INVALID_ARG,
        "10.0.0.0/99"},
    {"a subnet of words", {.subnet = "the whole world"},
        NA_PLUGIN_E_INVALID_ARG, "the whole world"},
    {"a host's name of 1400 characters", {.host = LONG},
        NA_PLUGIN_E_ADDRNOTAVAIL, "absurdly-long."},
    {"a host's name of two lines", {.host = "one\ntwo"},
        NA_PLUGIN_E_ADDRNOTAVAIL, "one?two"},
    {"half an IPv6 address", {.host = "fe80:::1"}, NA_PLUGIN_E_ADDRNOTAVAIL,
        "fe80:::1"},
    {"an address that all have", {.host = "255.255.255.255"},
        NA_PLUGIN_E_ADDRNOTAVAIL, "there are: "},
    {"a device that is no device", {.host = "127.0.0.1", .device = "::1"},
        NA_PLUGIN_E_NODEV, "::1"},
    {"a device of 1400 characters", {.device = LONG, .anywhere = true},
        NA_PLUGIN_E_NODEV, "absurdly-long."},
    {"a protocol of 1400 characters", {.protocol = LONG, .anywhere = true},
        NA_PLUGIN_E_PROTONOSUPPORT, "too long"},
    {"no protocol", {.protocol = "", .anywhere = true},
        NA_PLUGIN_E_PROTONOSUPPORT, "no protocol"},
    {"a layer that is not there",
        {.protocol = "tcp;ofi_nothing", .anywhere = true},
        NA_PLUGIN_E_PROTONOSUPPORT, "tcp;ofi_nothing"},
    {"another machine's address over a layer",
        {.protocol = "tcp;ofi_rxm", .host = "203.0.113.77"},
        NA_PLUGIN_E_ADDRNOTAVAIL, "203.0.113.77"},
    {"another machine's address over sockets",
        {.protocol = "sockets", .host = "203.0.113.77"},
        NA_PLUGIN_E_ADDRNOTAVAIL, "203.0.113.77"},
    {"another machine's address over udp",
        {.protocol = "udp", .host = "203.0.113.77"}, NA_PLUGIN_E_ADDRNOTAVAIL,
        "203.0.113.77"},
    {"a subnet of 1400 characters", {.subnet = LONG}, NA_PLUGIN_E_INVALID_ARG,
        "absurdly-long."},
    {"a subnet without an end", {.subnet = "10.0.0.0/"},
        NA_PLUGIN_E_INVALID_ARG, "10.0.0.0/"},
    {"an address format of the future", {.addr_format = 77},
        NA_PLUGIN_E_INVALID_ARG, "77"},
    {"a flag of the future", {.flags = 1U << 30}, NA_PLUGIN_E_INVALID_ARG,
        "0x40000"},
};

START_TEST(open_invalid_option_is_named)
{
    struct node node;
    int32_t ret = node_try(&node, &wrong[_i].options);

    ck_assert_msg(ret == wrong[_i].code, "%s: %d, not %d (%s)", wrong[_i].what,
        ret, wrong[_i].code, node.last_error);
    ck_assert_msg(node.errors == 1, "%s: %u lines at level ERROR",
        wrong[_i].what, node.errors);
    ck_assert_msg(strstr(node.last_error, wrong[_i].word) != NULL,
        "%s: \"%s\" lacks \"%s\"", wrong[_i].what, node.last_error,
        wrong[_i].word);
}
END_TEST

/* Providers that need a device which is missing. The line lists what is
 * available. */
static const struct {
    const char *protocol;
    const char *provider;
} devices[] = {{"verbs", "verbs;ofi_rxm"}, {"verbs;ofi_rxm", "verbs;ofi_rxm"},
    {"cxi", "cxi"}, {"opx", "opx"}, {"gni", "gni"}, {"psm2", "psm2"},
    {"psm3", "psm3"}, {"efa", "efa"}};

START_TEST(open_without_a_device_lists_alternatives)
{
    const struct node_options forms[] = {{.anywhere = true},
        {.host = "127.0.0.1"}, {.host = "hsn0"},
        {.device = "mlx5_0", .anywhere = true}};
    char wanted[160];
    struct node node;

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct node_options options = forms[i];
        options.protocol = devices[_i].protocol;
        int32_t ret = node_try(&node, &options);
        if (ret == NA_PLUGIN_OK) {
            node_close(&node);
            printf("skipped: there is a device for %s\n", options.protocol);
            return;
        }
        if (ret == NA_PLUGIN_E_NODEV || ret == NA_PLUGIN_E_ADDRNOTAVAIL)
            continue; /* another device */
        ck_assert_msg(ret == NA_PLUGIN_E_PROTONOSUPPORT, "%s: %d (%s)",
            options.protocol, ret, node.last_error);
        ck_assert_uint_eq(node.errors, 1);
        snprintf(wanted, sizeof(wanted), "protocol \"%s\" needs provider %s; ",
            devices[_i].protocol, devices[_i].provider);
        ck_assert_msg(strncmp(node.last_error, wanted, strlen(wanted)) == 0,
            "\"%s\" does not begin with \"%s\"", node.last_error, wanted);
        const char *there = strstr(node.last_error, "; there are: ");
        ck_assert_msg(
            there != NULL && strstr(there, "shm") != NULL &&
                (strstr(there, "net") != NULL || strstr(there, "tcp") != NULL),
            "%s", node.last_error);
    }
}
END_TEST

static const char *const over_ports[] = {
    "tcp", "tcp;ofi_rxm", "sockets", "udp"};

/* An address, and what uses it. */
static void
says_in_use(const struct node *node, int port)
{
    char address[32];

    snprintf(address, sizeof(address), "127.0.0.1:%d:", port);
    ck_assert_msg(strstr(node->last_error, address) != NULL &&
                      strstr(node->last_error, "in use") != NULL,
        "\"%s\" lacks \"%s\" or \"in use\"", node->last_error, address);
}

START_TEST(open_at_a_port_in_use_is_addrinuse)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    struct node node;
    bool datagrams = strcmp(over_ports[_i], "udp") == 0;
    int taken = socket(AF_INET, datagrams ? SOCK_DGRAM : SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(taken, (void *) &address, sizeof(address)), 0);
    ck_assert(datagrams || listen(taken, 1) == 0);
    ck_assert_int_eq(getsockname(taken, (void *) &address, &length), 0);
    int32_t ret =
        node_try(&node, &(struct node_options){.protocol = over_ports[_i],
                            .port = ntohs(address.sin_port)});
    ck_assert_msg(ret == NA_PLUGIN_E_ADDRINUSE, "%s: %d (%s)", over_ports[_i],
        ret, node.last_error);
    ck_assert_uint_eq(node.errors, 1);
    says_in_use(&node, ntohs(address.sin_port));
    close(taken);
}
END_TEST

/* In use by a class of this process. */
START_TEST(open_at_the_port_of_a_class_is_addrinuse)
{
    struct node first, second;
    char text[TEXT];
    const char *colon;
    int port = 0;

    node_open(&first, &(struct node_options){.protocol = over_ports[_i]});
    self_string(&first, text);
    colon = strrchr(text, ':');
    ck_assert_ptr_nonnull(colon);
    ck_assert_int_eq(sscanf(colon, ":%d", &port), 1);
    int32_t ret = node_try(&second,
        &(struct node_options){.protocol = over_ports[_i], .port = port});
    ck_assert_msg(ret == NA_PLUGIN_E_ADDRINUSE, "%s: %d (%s)", over_ports[_i],
        ret, second.last_error);
    ck_assert_uint_eq(second.errors, 1);
    says_in_use(&second, port);
    node_close(&first);
}
END_TEST

/* Host parts, and the beginning of the resulting address. */
static const struct {
    struct node_options options;
    const char *begins;
} right[] = {
    {{.host = "127.0.0.1"}, "tcp://127.0.0.1:"},
    {{.host = "localhost", .addr_format = NA_PLUGIN_ADDR_IPV4},
        "tcp://127.0.0.1:"},
    {{.host = "lo"}, "tcp://127.0.0.1:"},
    {{.device = "lo", .anywhere = true}, "tcp://127.0.0.1:"},
    {{.device = "lo", .host = "127.0.0.1"}, "tcp://127.0.0.1:"},
    {{.anywhere = true, .subnet = "127.0.0.0/8"}, "tcp://127.0.0.1:"},
    {{.anywhere = true, .subnet = "127.64.0.0/9"}, "tcp://127.0.0.1:"},
    {{.anywhere = true}, "tcp://"},
    {{.host = "0.0.0.0"}, "tcp://"},
    {{.protocol = "tcp;ofi_rxm"}, "tcp;ofi_rxm://127.0.0.1:"},
    {{.protocol = "sockets"}, "sockets://127.0.0.1:"},
    {{.protocol = "shm", .anywhere = true}, "shm://"},
};

/* A machine may have no /etc/hosts. */
static bool
resolves(const char *host)
{
    struct addrinfo *found;

    if (getaddrinfo(host, NULL, NULL, &found) != 0)
        return false;
    freeaddrinfo(found);
    return true;
}

START_TEST(open_accepts_each_form_of_host)
{
    struct node node;
    char text[TEXT];

    if (is_refused(&right[_i].options))
        return;
    if (strcmp(right[_i].options.host ? right[_i].options.host : "",
            "localhost") == 0 &&
        !resolves("localhost")) {
        puts("skipped: localhost is not resolved here");
        return;
    }
    node_open(&node, &right[_i].options);
    self_string(&node, text);
    ck_assert_msg(
        strncmp(text, right[_i].begins, strlen(right[_i].begins)) == 0,
        "\"%s\" does not begin with \"%s\"", text, right[_i].begins);
    ck_assert_uint_eq(node.errors, 0);
    node_close(&node);
}
END_TEST

START_TEST(open_accepts_ipv6_if_available)
{
    struct node node;
    char text[TEXT];
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 address = {
        .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};

    if (probe < 0 || bind(probe, (void *) &address, sizeof(address)) != 0) {
        puts("skipped: no IPv6 here");
        return;
    }
    close(probe);
    node_open(&node, &(struct node_options){.host = "::1"});
    self_string(&node, text);
    ck_assert_msg(strncmp(text, "tcp://[::1]:", 12) == 0, "%s", text);
    node_close(&node);
    node_open(&node, &(struct node_options){
                         .host = "lo", .addr_format = NA_PLUGIN_ADDR_IPV6});
    self_string(&node, text);
    ck_assert_msg(strncmp(text, "tcp://[::1]:", 12) == 0, "%s", text);
    node_close(&node);
}
END_TEST

/* Files left by a killed process that had the same pid. */
START_TEST(open_over_shared_memory_of_a_dead_process)
{
    enum { LEFT = 8 };
    static const char zeros[16384];
    char paths[LEFT][64];
    struct node node;

    for (int i = 0; i < LEFT; i++) {
        snprintf(paths[i], sizeof(paths[i]), "/dev/shm/%d:%d:%d",
            (int) getpid(), (int) getuid(), i);
        int fd = open(paths[i], O_RDWR | O_CREAT | O_EXCL, 0600);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, zeros, sizeof(zeros)), sizeof(zeros));
        close(fd);
    }
    int32_t ret = node_try(
        &node, &(struct node_options){.protocol = "shm", .anywhere = true});
    for (int i = 0; i < LEFT; i++)
        unlink(paths[i]);
    if (ret == NA_PLUGIN_OK)
        node.plugin->close(node.cls);
    else
        ck_assert_msg(
            is_shm_refusal(&node, ret), "%d: %s", ret, node.last_error);
}
END_TEST
/* Hints beyond the limits are no error: the actual limits are reported. */
static const struct {
    struct node_options options;
    const char *word;
} oversized[] = {
    {{.max_unexpected = UINT64_MAX},
        "unexpected messages of 18446744073709551615 bytes wanted; at most "},
    {{.max_expected = UINT64_MAX},
        "expected messages of 18446744073709551615 bytes wanted; at most "},
    {{.max_unexpected = (1U << 20) + 1},
        "unexpected messages of 1048577 bytes wanted; at most "},
    {{.max_contexts = UINT32_MAX}, "4294967295 contexts expected; at most 256"},
    {{.auth_key = LONG}, "the authorization key is not used"},
};

START_TEST(open_with_oversized_hints_reports_actual_limits)
{
    struct node_options options = oversized[_i].options;
    struct node node;

    options.word = oversized[_i].word;
    node_open(&node, &options);
    ck_assert_msg(node.matched, "nothing logged contains \"%s\"", options.word);
    ck_assert_uint_eq(node.errors, 0);
    ck_assert_uint_ge(node.opened.max_unexpected_size, 4096);
    ck_assert_uint_le(node.opened.max_unexpected_size, 1U << 20);
    ck_assert_uint_le(node.opened.max_expected_size, 1U << 20);
    ck_assert_uint_le(node.opened.max_contexts, 256);
    node_close(&node);
}
END_TEST

START_TEST(open_with_small_hints_gets_them)
{
    struct node node;

    node_open(
        &node, &(struct node_options){.max_unexpected = 77, .max_expected = 1});
    ck_assert_uint_eq(node.opened.max_unexpected_size, 77);
    ck_assert_uint_eq(node.opened.max_expected_size, 1);
    node_close(&node);
}
END_TEST

/* Addresses of other kinds are rejected with a reason, and do not hang. */
START_TEST(lookup_of_another_providers_address_is_named)
{
    static const char *const strange[] = {"tcp;ofi_rxm://127.0.0.1:9",
        "sockets://127.0.0.1:9", "shm://fi_shm://1:0:0", "verbs://10.0.0.1:9"};
    struct node node;

    node_open(&node, NULL);
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
        na_plugin_addr *addr = NULL;
        node.errors = 0;
        ck_assert_int_eq(node.ops->addr_lookup(node.cls, strange[i], &addr),
            NA_PLUGIN_E_PROTONOSUPPORT);
        ck_assert_uint_eq(node.errors, 1);
        ck_assert_msg(strstr(node.last_error, "speaks tcp") != NULL, "%s",
            node.last_error);
    }
    node_close(&node);
}
END_TEST

START_TEST(lookup_of_malformed_strings_fails)
{
    static const char *const absurd[] = {"", "tcp", "tcp:", "tcp://",
        "tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://127.0.0.1:0",
        "tcp://127.0.0.1:99999", "tcp://127.0.0.1:1x", "tcp://:1",
        "tcp://[::1:1", "tcp://::1:1", "tcp://[]:1", "://127.0.0.1:1"};
    struct node node;

    node_open(&node, NULL);
    for (size_t i = 0; i < sizeof(absurd) / sizeof(absurd[0]); i++) {
        na_plugin_addr *addr = NULL;
        node.errors = 0;
        int32_t ret = node.ops->addr_lookup(node.cls, absurd[i], &addr);
        ck_assert_msg(
            ret == NA_PLUGIN_E_INVALID_ARG, "\"%s\": %d", absurd[i], ret);
        ck_assert_uint_eq(node.errors, 1);
        ck_assert_ptr_null(addr);
    }
    node_close(&node);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("open");

    warm_up();
    tcase_add_loop_test(cases, open_invalid_option_is_named, 0,
        sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_loop_test(cases, open_without_a_device_lists_alternatives, 0,
        sizeof(devices) / sizeof(devices[0]));
    tcase_add_loop_test(cases, open_at_a_port_in_use_is_addrinuse, 0, 4);
    tcase_add_loop_test(cases, open_at_the_port_of_a_class_is_addrinuse, 0, 4);
    tcase_add_loop_test(cases, open_accepts_each_form_of_host, 0,
        sizeof(right) / sizeof(right[0]));
    tcase_add_test(cases, open_accepts_ipv6_if_available);
    tcase_add_test(cases, open_over_shared_memory_of_a_dead_process);
    tcase_add_loop_test(cases, open_with_oversized_hints_reports_actual_limits,
        0, sizeof(oversized) / sizeof(oversized[0]));
    tcase_add_test(cases, open_with_small_hints_gets_them);
    tcase_add_test(cases, lookup_of_another_providers_address_is_named);
    tcase_add_test(cases, lookup_of_malformed_strings_fails);
    return run_tcase("ofi open", cases);
}
