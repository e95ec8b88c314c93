/* SPDX-License-Identifier: BSD-3-Clause */
/* Info strings: every valid form, every reason to reject one. */
#include "plugin/info_string.h"

#include "fixture.h"
#include "runner.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* Expected results of plugin_info_parse and, with split, plugin_info_split. */
struct expectation {
    const char *string;
    bool split;
    const char *plugin;
    const char *protocol;
    const char *name;
    const char *device;
    const char *host;
    int32_t port;
};

static const struct expectation understood[] = {
    {"ofi+tcp", true, "ofi", "tcp", NULL, NULL, NULL, -1},
    {"ofi+tcp://", true, "ofi", "tcp", NULL, NULL, NULL, -1},
    {"ofi+tcp://eth0:5000", true, "ofi", "tcp", "eth0:5000", NULL, "eth0",
        5000},
    {"ofi+tcp://eth0", true, "ofi", "tcp", "eth0", NULL, "eth0", -1},
    {"ofi+tcp://:5000", true, "ofi", "tcp", ":5000", NULL, NULL, 5000},
    {"ofi+tcp://node-1.example:0", true, "ofi", "tcp", "node-1.example:0", NULL,
        "node-1.example", 0},
    {"ofi+tcp://10.0.0.1:65535", true, "ofi", "tcp", "10.0.0.1:65535", NULL,
        "10.0.0.1", 65535},
    {"ofi+tcp://h:00080", true, "ofi", "tcp", "h:00080", NULL, "h", 80},
    {"ofi+tcp://[fe80::1]:5000", true, "ofi", "tcp", "[fe80::1]:5000", NULL,
        "fe80::1", 5000},
    {"ofi+tcp://[::1]", true, "ofi", "tcp", "[::1]", NULL, "::1", -1},
    {"ofi+tcp://[fe80::1%eth0]:1", true, "ofi", "tcp", "[fe80::1%eth0]:1", NULL,
        "fe80::1%eth0", 1},
    {"ofi+verbs://mlx5_0/192.168.1.3:0", true, "ofi", "verbs",
        "mlx5_0/192.168.1.3:0", "mlx5_0", "192.168.1.3", 0},
    {"ofi+verbs://mlx5_0/", true, "ofi", "verbs", "mlx5_0/", "mlx5_0", NULL,
        -1},
    {"ofi+verbs://mlx5_0/:7", true, "ofi", "verbs", "mlx5_0/:7", "mlx5_0", NULL,
        7},
    {"ofi+verbs://mlx5_0/[::1]:7", true, "ofi", "verbs", "mlx5_0/[::1]:7",
        "mlx5_0", "::1", 7},
    {"ucx+all://mlx5_0:1/ib0:9", true, "ucx", "all", "mlx5_0:1/ib0:9",
        "mlx5_0:1", "ib0", 9},
    {"ofi+tcp;ofi_rxm://eth0", true, "ofi", "tcp;ofi_rxm", "eth0", NULL, "eth0",
        -1},
    {"ucx+rc,ud://h:1", true, "ucx", "rc,ud", "h:1", NULL, "h", 1},
    {"ucx+ud:aux,^tcp", true, "ucx", "ud:aux,^tcp", NULL, NULL, NULL, -1},
    {"ofi+cxi://cxi0:5", true, "ofi", "cxi", "cxi0:5", NULL, "cxi0", 5},
    {"tcp", true, NULL, "tcp", NULL, NULL, NULL, -1},
    {"tcp://h:1", true, NULL, "tcp", "h:1", NULL, "h", 1},
    {"tcp://a+b", true, NULL, "tcp", "a+b", NULL, "a+b", -1},
    {"a_B-9+x", true, "a_B-9", "x", NULL, NULL, NULL, -1},
    {"na+sm", false, "na", "sm", NULL, NULL, NULL, -1},
    {"na+sm://1234-0", false, "na", "sm", "1234-0", NULL, NULL, -1},
    {"na+sm://any: thing://[/x", false, "na", "sm", "any: thing://[/x", NULL,
        NULL, -1},
};

static void
assert_string(const char *is, const char *wanted)
{
    if (wanted)
        ck_assert_str_eq(is, wanted);
    else
        ck_assert_ptr_null(is);
}

START_TEST(info_string_valid_is_parsed)
{
    const struct expectation *e = &understood[_i];
    struct plugin_info info;

    fixture_begin();
    ck_assert_int_eq(plugin_info_parse(e->string, &info), NA_SUCCESS);
    ck_assert_ptr_null(info.device);
    ck_assert_ptr_null(info.host);
    ck_assert_int_eq(info.port, -1);
    if (e->split)
        ck_assert_int_eq(plugin_info_split(&info), NA_SUCCESS);
    assert_string(info.plugin, e->plugin);
    assert_string(info.protocol, e->protocol);
    assert_string(info.name, e->name);
    assert_string(info.device, e->device);
    assert_string(info.host, e->host);
    ck_assert_int_eq(info.port, e->port);
    ck_assert_ptr_null(plugin_info_fault(e->string, e->split));
    plugin_info_finish(&info);
    ck_assert_ptr_null(info.protocol);
    ck_assert_str_eq(fixture_log(), "");
}
END_TEST

static const char *const not_understood[] = {
    "",
    "+tcp",
    "ofi+",
    "ofi+://eth0",
    "://eth0",
    "://",
    "+",
    "ofi +tcp",
    "of.i+tcp",
    "ofi+tcp+rxm",
    "ofi+tc p",
    " tcp",
    "tcp ",
    "ofi+tcp/eth0:5000",
    "ofi+tcp:/eth0",
    "ofi+tcp:",
    "ofi+tcp\n",
    "ofi+tcp://eth0\n",
    "ofi+tcp://\xc3\xa9",
    "ofi+tcp\x7f",
};

/* Logs one line with the string; the output is untouched. */
static void
assert_refused(const char *string)
{
    struct plugin_info info = {.port = 77};

    ck_assert_int_eq(plugin_info_parse(string, &info), NA_INVALID_ARG);
    ck_assert_int_eq(info.port, 77);
    ck_assert_ptr_null(info.protocol);
    ck_assert_uint_eq(fixture_log_count("error"), 1);
    ck_assert(fixture_logged("is not an info string: "));
    ck_assert_ptr_nonnull(plugin_info_fault(string, false));
    ck_assert(fixture_logged(plugin_info_fault(string, false)));
}

START_TEST(info_string_malformed_is_rejected)
{
    const char *string = not_understood[_i];
    char quoted[64];

    fixture_begin();
    assert_refused(string);
    snprintf(quoted, sizeof quoted, "\"%.7s", string);
    for (char *p = quoted; *p; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
    ck_assert(fixture_logged(quoted));
    ck_assert_ptr_eq(strchr(fixture_log(), '\n'), strrchr(fixture_log(), '\n'));
}
END_TEST

START_TEST(info_string_null_is_rejected)
{
    fixture_begin();
    assert_refused(NULL);
}
END_TEST

START_TEST(info_string_length_limit)
{
    char string[PLUGIN_INFO_MAX + 2];
    struct plugin_info info;

    fixture_begin();
    memset(string, 'x', sizeof string);
    memcpy(string, "na+sm://", 8);
    string[PLUGIN_INFO_MAX] = '\0';
    ck_assert_int_eq(plugin_info_parse(string, &info), NA_SUCCESS);
    ck_assert_uint_eq(strlen(info.name), PLUGIN_INFO_MAX - 8);
    plugin_info_finish(&info);

    string[PLUGIN_INFO_MAX] = 'x';
    string[PLUGIN_INFO_MAX + 1] = '\0';
    assert_refused(string);
    ck_assert(fixture_logged("na+sm://xxx"));
    ck_assert(fixture_logged("xxx...\""));
}
END_TEST

START_TEST(info_string_name_length_limit)
{
    char name[66], protocol[514];

    memset(name, 'a', sizeof name);
    name[63] = '\0';
    ck_assert(plugin_info_is_plugin(name));
    name[63] = 'a';
    name[64] = '\0';
    ck_assert(!plugin_info_is_plugin(name));
    ck_assert(!plugin_info_is_plugin(""));
    ck_assert(!plugin_info_is_plugin("a+b"));

    memset(protocol, 'p', sizeof protocol);
    protocol[511] = '\0';
    ck_assert(plugin_info_is_protocol(protocol));
    protocol[511] = 'p';
    protocol[512] = '\0';
    ck_assert(!plugin_info_is_protocol(protocol));
    ck_assert(!plugin_info_is_protocol(""));
    ck_assert(!plugin_info_is_protocol("tcp:"));
}
END_TEST

static const char *const not_split[] = {
    "ofi+tcp://eth0:",
    "ofi+tcp://eth0:x",
    "ofi+tcp://eth0:5x",
    "ofi+tcp://eth0:+5",
    "ofi+tcp://eth0:-1",
    "ofi+tcp://eth0: 5",
    "ofi+tcp://eth0:65536",
    "ofi+tcp://eth0:4294967297",
    "ofi+tcp://eth0:99999999999999999999999",
    "ofi+tcp://fe80::1",
    "ofi+tcp://a:1:2",
    "ofi+tcp://[::1",
    "ofi+tcp://[::1]5000",
    "ofi+tcp://[::1]:",
    "ofi+tcp://[::1]:x",
    "ofi+tcp://[]:5",
    "ofi+tcp://[10.0.0.1]:5",
    "ofi+tcp://[fe80::1%]:5",
    "ofi+tcp://[1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb]:5",
    "ofi+tcp:///eth0",
    "ofi+tcp://a/b/c",
    "ofi+tcp://a b/c",
    "ofi+tcp://a b",
    "ofi+tcp://a[b",
    "ofi+tcp://\"eth0\"",
};

START_TEST(info_string_malformed_name_is_rejected)
{
    const char *string = not_split[_i];
    struct plugin_info info;

    fixture_begin();
    ck_assert_int_eq(plugin_info_parse(string, &info), NA_SUCCESS);
    ck_assert_int_eq(plugin_info_split(&info), NA_INVALID_ARG);
    ck_assert_ptr_null(info.device);
    ck_assert_ptr_null(info.host);
    ck_assert_int_eq(info.port, -1);
    ck_assert_uint_eq(fixture_log_count("error"), 1);
    ck_assert(fixture_logged(string));
    ck_assert_ptr_null(plugin_info_fault(string, false));
    ck_assert(fixture_logged(plugin_info_fault(string, true)));
    plugin_info_finish(&info);
}
END_TEST

START_TEST(info_string_split_twice_is_the_same)
{
    struct plugin_info info;

    fixture_begin();
    ck_assert_int_eq(plugin_info_parse("tcp://d/h:1", &info), NA_SUCCESS);
    ck_assert_int_eq(plugin_info_split(&info), NA_SUCCESS);
    ck_assert_int_eq(plugin_info_split(&info), NA_SUCCESS);
    ck_assert_str_eq(info.device, "d");
    ck_assert_str_eq(info.host, "h");
    ck_assert_int_eq(info.port, 1);
    plugin_info_finish(&info);
    plugin_info_finish(&info);
    plugin_info_finish(NULL);
}
END_TEST

#define COUNT(array) ((int) (sizeof(array) / sizeof(array)[0]))

int
main(void)
{
    TCase *tcase = tcase_create("info_string");

    tcase_add_unchecked_fixture(tcase, fixture_setup, fixture_teardown);
    tcase_add_loop_test(
        tcase, info_string_valid_is_parsed, 0, COUNT(understood));
    tcase_add_loop_test(
        tcase, info_string_malformed_is_rejected, 0, COUNT(not_understood));
    tcase_add_test(tcase, info_string_null_is_rejected);
    tcase_add_test(tcase, info_string_length_limit);
    tcase_add_test(tcase, info_string_name_length_limit);
    tcase_add_loop_test(
        tcase, info_string_malformed_name_is_rejected, 0, COUNT(not_split));
    tcase_add_test(tcase, info_string_split_twice_is_the_same);
    return run_tcase("info_string", tcase);
}
