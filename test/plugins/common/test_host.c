/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts, interfaces, subnets and ports. */
#include "common/host.h"
#include "runner.h"

#include <check.h>
#include <netinet/in.h>
#include <string.h>

static int32_t level = NA_PLUGIN_LOG_DEBUG;
static uint32_t logged;

static void
note(const na_plugin_host *host, int32_t at, const char *file, uint32_t line,
    const char *text)
{
    logged++;
}

static const na_plugin_host host = {
    .size = sizeof(host), .log_level = &level, .log = note};

static int32_t
parse(const char *text, struct tp_place *place)
{
    return tp_host_parse(&host, text, strlen(text), AF_UNSPEC, false, place);
}

START_TEST(addresses_round_trip_as_text)
{
    static const char *const texts[] = {
        "127.0.0.1:1", "192.0.2.7:65535", "[::1]:80", "[2001:db8::7]:4000"};
    struct tp_place place;
    char text[64], least[11];

    for (uint32_t i = 0; i < 4; i++) {
        ck_assert_int_eq(parse(texts[i], &place), NA_PLUGIN_OK);
        ck_assert_int_eq(place.address.ss_family, i < 2 ? AF_INET : AF_INET6);
        ck_assert(tp_host_text(&place.address, text, sizeof(text)));
        ck_assert_str_eq(text, texts[i]);
    }
    ck_assert_uint_eq(tp_host_port(&place.address), 4000);
    tp_host_set_port(&place.address, 7);
    ck_assert_uint_eq(tp_host_port(&place.address), 7);
    ck_assert_int_eq(parse(texts[0], &place), NA_PLUGIN_OK);
    ck_assert(!tp_host_text(&place.address, least, sizeof(least)));
    ck_assert_uint_eq(logged, 0);
}
END_TEST

START_TEST(malformed_host_parts_are_rejected)
{
    static const char *const texts[] = {"", ":", ":1", "127.0.0.1",
        "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:1x",
        "127.0.0.1:-1", "127.0.0.1:000001", "::1:80", "[::1]",
        "[::1]:", "[::1:80", "[]:80", "name.invalid:80", "127.0.0.1.9:80"};
    uint32_t count = sizeof(texts) / sizeof(texts[0]);
    struct tp_place place;
    char name[300];

    for (uint32_t i = 0; i < count; i++)
        ck_assert_msg(parse(texts[i], &place) == NA_PLUGIN_E_INVALID_ARG,
            "\"%s\" is taken", texts[i]);
    memset(name, 'a', sizeof(name));
    memcpy(name + 256, ":80", 4);
    ck_assert_int_eq(parse(name, &place), NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(
        tp_host_parse(&host, "name.invalid:80", 15, AF_INET, true, &place),
        NA_PLUGIN_E_NOENTRY);
    ck_assert_uint_eq(logged, count + 2);
}
END_TEST

START_TEST(subnets_contain_their_addresses)
{
    static const struct {
        const char *subnet;
        const char *place;
        bool has;
    } cases[] = {{"10.1.0.0/16", "10.1.255.255:1", true},
        {"10.1.0.0/16", "10.2.0.0:1", false},
        {"10.1.0.0/15", "10.0.0.1:1", true},
        {"10.1.0.0/0", "192.0.2.7:1", true}, {"10.1.0.0", "10.1.0.0:1", true},
        {"10.1.0.0", "10.1.0.1:1", false}, {"10.1.0.0/0", "[::1]:1", false},
        {"fd00::/8", "[fdff::1]:1", true}, {"fd00::/8", "[fe00::1]:1", false},
        {"::1", "[::1]:1", true}};
    static const char *const malformed[] = {"", "10.1.0.0/", "10.1.0.0/33",
        "10.1.0.0/+1", "10.1.0.0/8x", "10.1/8", "fd00::/129", "host/8",
        "1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111/8"};
    const struct tp_subnet none = {.family = 0};
    struct tp_subnet subnet;
    struct tp_place place;

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert(tp_subnet_parse(cases[i].subnet, &subnet));
        ck_assert_int_eq(parse(cases[i].place, &place), NA_PLUGIN_OK);
        ck_assert_msg(tp_subnet_has(&subnet, &place.address) == cases[i].has,
            "%s, %s", cases[i].subnet, cases[i].place);
        ck_assert(!tp_subnet_has(&none, &place.address));
    }
    for (uint32_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        ck_assert_msg(!tp_subnet_parse(malformed[i], &subnet), "%s is taken",
            malformed[i]);
}
END_TEST

START_TEST(kinds_of_addresses_are_distinguished)
{
    static const struct {
        const char *place;
        bool any, loopback, link_local;
    } cases[] = {{"0.0.0.0:1", true, false, false},
        {"[::]:1", true, false, false}, {"127.8.0.1:1", false, true, false},
        {"[::1]:1", false, true, false}, {"[fe80::1]:1", false, false, true},
        {"[febf::1]:1", false, false, true},
        {"[fec0::1]:1", false, false, false},
        {"169.254.0.1:1", false, false, false}};
    struct tp_place place, other;

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(parse(cases[i].place, &place), NA_PLUGIN_OK);
        ck_assert(tp_host_is_any(&place.address) == cases[i].any);
        ck_assert(tp_host_is_loopback(&place.address) == cases[i].loopback);
        ck_assert(tp_host_is_link_local(&place.address) == cases[i].link_local);
    }
    ck_assert_int_eq(parse("127.0.0.1:1", &place), NA_PLUGIN_OK);
    ck_assert_int_eq(parse("127.0.0.1:2", &other), NA_PLUGIN_OK);
    ck_assert(tp_host_equal(&place.address, &other.address));
    ck_assert_int_eq(parse("127.0.0.2:1", &other), NA_PLUGIN_OK);
    ck_assert(!tp_host_equal(&place.address, &other.address));
    ck_assert(tp_host_same(&place.address, &other.address));
    ck_assert_int_eq(parse("192.0.2.7:1", &other), NA_PLUGIN_OK);
    ck_assert(!tp_host_same(&place.address, &other.address));
}
END_TEST

static void
count_loopback(void *arg, const char *name, const char *address)
{
    uint32_t *count = arg;

    *count += strcmp(address, "127.0.0.1") == 0;
}

START_TEST(own_host_parts_are_addresses_interfaces_and_hosts)
{
    struct tp_place place;
    uint32_t count = 0;
    char name[32];

    ck_assert_int_eq(
        tp_host_own(&host, "127.0.0.1", 7, AF_UNSPEC, NULL, &place),
        NA_PLUGIN_OK);
    ck_assert_uint_eq(tp_host_port(&place.address), 7);
    tp_host_reach(&place, NULL);
    ck_assert(tp_host_is_loopback(&place.address));
    ck_assert(tp_host_loopback_interface(NULL, name, sizeof(name)));
    ck_assert(tp_host_interface(name));
    ck_assert(!tp_host_interface("none such"));
    ck_assert(!tp_host_loopback_interface("none such", name, sizeof(name)));
    ck_assert_int_eq(
        tp_host_own(&host, name, 0, AF_INET, "127.0.0.0/8", &place),
        NA_PLUGIN_OK);
    ck_assert(tp_host_is_loopback(&place.address));
    ck_assert_int_eq(tp_host_own(&host, "0.0.0.0", 9, AF_UNSPEC, NULL, &place),
        NA_PLUGIN_OK);
    ck_assert(tp_host_is_any(&place.address));
    tp_host_reach(&place, NULL);
    ck_assert(!tp_host_is_any(&place.address));
    ck_assert_uint_eq(tp_host_port(&place.address), 9);
    tp_host_list(&count, count_loopback);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(logged, 0);
}
END_TEST

START_TEST(own_host_parts_that_peers_cannot_reach_are_rejected)
{
    struct tp_place place;

    ck_assert_int_eq(
        tp_host_own(&host, "224.0.0.1", 0, AF_UNSPEC, NULL, &place),
        NA_PLUGIN_E_ADDRNOTAVAIL);
    ck_assert_int_eq(tp_host_own(&host, "ff02::1", 0, AF_UNSPEC, NULL, &place),
        NA_PLUGIN_E_ADDRNOTAVAIL);
    ck_assert_int_eq(
        tp_host_own(&host, "name.invalid", 0, AF_UNSPEC, NULL, &place),
        NA_PLUGIN_E_ADDRNOTAVAIL);
    ck_assert_int_eq(
        tp_host_own(&host, NULL, 0, AF_UNSPEC, "10.1.0.0/x", &place),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_int_eq(tp_host_own(&host, NULL, 65536, AF_UNSPEC, NULL, &place),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_uint_eq(logged, 5);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("host");
    tcase_add_test(cases, addresses_round_trip_as_text);
    tcase_add_test(cases, malformed_host_parts_are_rejected);
    tcase_add_test(cases, subnets_contain_their_addresses);
    tcase_add_test(cases, kinds_of_addresses_are_distinguished);
    tcase_add_test(cases, own_host_parts_are_addresses_interfaces_and_hosts);
    tcase_add_test(cases, own_host_parts_that_peers_cannot_reach_are_rejected);
    return run_tcase("host", cases);
}
