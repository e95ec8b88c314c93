/* SPDX-License-Identifier: BSD-3-Clause */
/* Manifests: parsing, every reason to reject one, and comparison with the
 * plugin. */
#include "plugin/manifest.h"

#include "fixture.h"
#include "na_plugin.h"
#include "runner.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) ((int) (sizeof(array) / sizeof(array)[0]))

/* The parts of a manifest, to be replaced one at a time. */
#define ABI "\"abi\": {\"major\": 1, \"minor\": 2, \"min_host_minor\": 0}"
#define LIBRARY "\"library_path\": \"probe.so\""
#define PROTOCOLS "\"protocols\": [\"alpha\", \"be;ta\"]"
#define NAME_VERSION "\"name\": \"probe\", \"version\": \"1.2\""
#define PLUGIN(parts) "{\"format\": \"1.0\", \"plugin\": {" parts "}}"

static const char complete[] =
    PLUGIN(NAME_VERSION ", " LIBRARY ", " ABI ", " PROTOCOLS
                        ", \"priority\": -7, \"other_protocols\": true");

START_TEST(manifest_complete_is_read)
{
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};
    struct plugin_manifest *manifest;

    fixture_begin();
    ck_assert_int_eq(plugin_manifest_read(
                         fixture_write("m.json", complete), &manifest, &fault),
        NA_SUCCESS);
    ck_assert_str_eq(manifest->name, "probe");
    ck_assert_str_eq(manifest->version, "1.2");
    ck_assert_str_eq(manifest->library_path, "probe.so");
    ck_assert_str_eq(manifest->protocols[0], "alpha");
    ck_assert_str_eq(manifest->protocols[1], "be;ta");
    ck_assert_ptr_null(manifest->protocols[2]);
    ck_assert_int_eq(manifest->priority, -7);
    ck_assert_uint_eq(manifest->abi_major, 1);
    ck_assert_uint_eq(manifest->abi_minor, 2);
    ck_assert_uint_eq(manifest->min_host_minor, 0);
    ck_assert(manifest->other_protocols);
    plugin_manifest_destroy(manifest);
    plugin_manifest_destroy(NULL);
}
END_TEST

static const char *const sufficient[] = {
    PLUGIN(NAME_VERSION ", " LIBRARY ", " ABI ", " PROTOCOLS),
    /* A later minor version of the format, with new keys. */
    "{\"format\": \"1.12\", \"later\": [1], \"plugin\": {" NAME_VERSION
    ", " LIBRARY ", " ABI ", " PROTOCOLS ", \"later\": {\"x\": null}}}",
    /* Errors that content alone does not cause. */
    PLUGIN(NAME_VERSION ", " LIBRARY ", " ABI
                        ", \"protocols\": [], \"other_protocols\": true"),
};

START_TEST(manifest_sufficient_is_read)
{
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};
    struct plugin_manifest *manifest;

    fixture_begin();
    ck_assert_int_eq(
        plugin_manifest_read(
            fixture_write("m.json", sufficient[_i]), &manifest, &fault),
        NA_SUCCESS);
    ck_assert_int_eq(manifest->priority, 0);
    ck_assert_str_eq(manifest->name, "probe");
    plugin_manifest_destroy(manifest);
}
END_TEST

/* A file, and part of the error text. */
static const struct {
    const char *text;
    const char *reason;
} broken[] = {
    {"", "line 1"},
    {"{", "line 1"},
    {"[]", "format"},
    {"{\"format\": \"1.0\", \"format\": \"1.0\"}", "duplicate"},
    {"\xff\xfe{}", "line"},
    {"{\"plugin\": {}}", "format"},
    {"{\"format\": 1.0, \"plugin\": {}}", "format"},
    {"{\"format\": \"2.0\", \"plugin\": {}}", "\"2.0\", wanted \"1.x\""},
    {"{\"format\": \"0.9\"}", "wanted \"1.x\""},
    {"{\"format\": \"1\"}", "wanted \"1.x\""},
    {"{\"format\": \"1.\"}", "wanted \"1.x\""},
    {"{\"format\": \"1.0-rc\"}", "wanted \"1.x\""},
    {"{\"format\": \"10.0\"}", "wanted \"1.x\""},
    {"{\"format\": \"1.0\"}", "plugin"},
    {"{\"format\": \"1.0\", \"plugin\": \"ofi\"}", "plugin"},
    {PLUGIN("\"name\": \"p\", " LIBRARY ", " ABI ", " PROTOCOLS), "version"},
    {PLUGIN("\"version\": \"1\", " LIBRARY ", " ABI ", " PROTOCOLS), "name"},
    {PLUGIN(NAME_VERSION ", " ABI ", " PROTOCOLS), "library_path"},
    {PLUGIN(NAME_VERSION ", " LIBRARY ", " PROTOCOLS), "abi"},
    {PLUGIN(NAME_VERSION ", " LIBRARY ", " ABI), "protocols"},
    {PLUGIN("\"name\": \"a+b\", \"version\": \"1\", " LIBRARY ", " ABI
            ", " PROTOCOLS),
        "plugin.name"},
    {PLUGIN("\"name\": \"\", \"version\": \"1\", " LIBRARY ", " ABI
            ", " PROTOCOLS),
        "plugin.name"},
    {PLUGIN("\"name\": \"p\\u0000q\", \"version\": \"1\", " LIBRARY ", " ABI
            ", " PROTOCOLS),
        "line 1"},
    {PLUGIN("\"name\": \"p\", \"version\": \"\", " LIBRARY ", " ABI
            ", " PROTOCOLS),
        "plugin.version"},
    {PLUGIN("\"name\": \"p\", \"version\": \"1 2\", " LIBRARY ", " ABI
            ", " PROTOCOLS),
        "plugin.version"},
    {PLUGIN(NAME_VERSION ", \"library_path\": \"\", " ABI ", " PROTOCOLS),
        "plugin.library_path"},
    {PLUGIN(NAME_VERSION ", \"library_path\": \"a\\nb\", " ABI ", " PROTOCOLS),
        "plugin.library_path"},
    {PLUGIN(NAME_VERSION ", " LIBRARY
                         ", \"abi\": {\"major\": 65536, \"minor\": 0, "
                         "\"min_host_minor\": 0}, " PROTOCOLS),
        "abi.major is out of range: 65536"},
    {PLUGIN(
         NAME_VERSION ", " LIBRARY ", \"abi\": {\"major\": 1, \"minor\": -1, "
                      "\"min_host_minor\": 0}, " PROTOCOLS),
        "abi.minor is out of range: -1"},
    {PLUGIN(NAME_VERSION ", " LIBRARY
                         ", \"abi\": {\"major\": 1, \"minor\": 65536, "
                         "\"min_host_minor\": 0}, " PROTOCOLS),
        "abi.minor is out of range: 65536"},
    {PLUGIN(NAME_VERSION ", " LIBRARY
                         ", \"abi\": {\"major\": 65537, \"minor\": 0, "
                         "\"min_host_minor\": 0}, " PROTOCOLS),
        "abi.major is out of range: 65537"},
    {PLUGIN(
         NAME_VERSION ", " LIBRARY ", \"abi\": {\"major\": -1, \"minor\": 0, "
                      "\"min_host_minor\": 0}, " PROTOCOLS),
        "abi.major is out of range: -1"},
    {PLUGIN(NAME_VERSION ", " LIBRARY ", \"abi\": {\"major\": 1, \"minor\": 0, "
                         "\"min_host_minor\": 65536}, " PROTOCOLS),
        "abi.min_host_minor is out of range: 65536"},
    {PLUGIN(NAME_VERSION ", " LIBRARY ", \"abi\": {\"major\": 1, \"minor\": 0, "
                         "\"min_host_minor\": -1}, " PROTOCOLS),
        "abi.min_host_minor is out of range: -1"},
    {PLUGIN(NAME_VERSION ", " LIBRARY ", " ABI ", " PROTOCOLS
                         ", \"priority\": -2147483649"),
        "priority is out of range: -2147483649"},
    {PLUGIN(NAME_VERSION ", " LIBRARY ", \"abi\": {\"major\": 1, \"minor\": 0, "
                         "\"min_host_minor\": 70000}, " PROTOCOLS),
        "abi.min_host_minor is out of range: 70000"},
    {PLUGIN(
         NAME_VERSION ", " LIBRARY ", \"abi\": {\"major\": 1.5, \"minor\": 0, "
                      "\"min_host_minor\": 0}, " PROTOCOLS),
        "plugin"},
    {PLUGIN(NAME_VERSION ", " LIBRARY ", " ABI ", " PROTOCOLS
                         ", \"priority\": 2147483648"),
        "priority is out of range: 2147483648"},
    {PLUGIN(NAME_VERSION ", " LIBRARY ", " ABI ", " PROTOCOLS
                         ", \"priority\": \"high\""),
        "plugin"},
    {PLUGIN(NAME_VERSION ", " LIBRARY ", " ABI ", \"protocols\": []"),
        "plugin.protocols"},
    {PLUGIN(NAME_VERSION ", " LIBRARY ", " ABI ", \"protocols\": \"tcp\""),
        "plugin.protocols"},
    {PLUGIN(NAME_VERSION ", " LIBRARY ", " ABI ", \"protocols\": [\"a\", 1]"),
        "protocols[1]"},
    {PLUGIN(NAME_VERSION ", " LIBRARY ", " ABI ", \"protocols\": [\"a/b\"]"),
        "protocols[0]"},
};

static void
assert_refused(const char *path, enum talaria_stage stage, na_return_t code,
    const char *reason)
{
    struct plugin_manifest *manifest = NULL;
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};

    ck_assert_int_eq(plugin_manifest_read(path, &manifest, &fault), code);
    ck_assert_ptr_null(manifest);
    ck_assert_int_eq(fault.code, code);
    ck_assert_str_eq(
        talaria_stage_to_string(fault.stage), talaria_stage_to_string(stage));
    ck_assert_msg(
        strstr(fault.text, reason), "\"%s\" lacks \"%s\"", fault.text, reason);
}

START_TEST(manifest_malformed_is_rejected)
{
    fixture_begin();
    assert_refused(fixture_write("m.json", broken[_i].text),
        TALARIA_STAGE_MANIFEST, NA_PROTOCOL_ERROR, broken[_i].reason);
}
END_TEST

START_TEST(manifest_largest_numbers_are_read)
{
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};
    struct plugin_manifest *manifest;

    fixture_begin();
    ck_assert_int_eq(plugin_manifest_read(
                         fixture_write("m.json",
                             PLUGIN(NAME_VERSION
                                 ", " LIBRARY ", \"abi\": {\"major\": 65535, "
                                 "\"minor\": 65535, "
                                 "\"min_host_minor\": 65535}, "
                                 "\"priority\": 2147483647, " PROTOCOLS)),
                         &manifest, &fault),
        NA_SUCCESS);
    ck_assert_uint_eq(manifest->abi_major, 65535);
    ck_assert_uint_eq(manifest->abi_minor, 65535);
    ck_assert_uint_eq(manifest->min_host_minor, 65535);
    ck_assert_int_eq(manifest->priority, INT32_MAX);
    plugin_manifest_destroy(manifest);
}
END_TEST

START_TEST(manifest_with_too_many_protocols_is_rejected)
{
    char text[8192];
    int length;

    fixture_begin();
    length = snprintf(text, sizeof text,
        "{\"format\": \"1.0\", \"plugin\": {" NAME_VERSION ", " LIBRARY ", " ABI
        ", \"protocols\": [\"a\"");
    for (int i = 0; i < PLUGIN_PROTOCOLS_MAX; i++)
        length += snprintf(
            text + length, sizeof text - (size_t) length, ", \"p%d\"", i);
    snprintf(text + length, sizeof text - (size_t) length, "]}}");
    assert_refused(fixture_write("m.json", text), TALARIA_STAGE_MANIFEST,
        NA_PROTOCOL_ERROR, "plugin.protocols");
}
END_TEST

START_TEST(manifest_size_limit)
{
    static char text[PLUGIN_MANIFEST_MAX + 2];
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};
    struct plugin_manifest *manifest;

    fixture_begin();
    memset(text, ' ', PLUGIN_MANIFEST_MAX + 1);
    memcpy(text, complete, sizeof complete - 1);
    assert_refused(fixture_write("larger.json", text), TALARIA_STAGE_MANIFEST,
        NA_PROTOCOL_ERROR, "longer than 65536 bytes");
    text[PLUGIN_MANIFEST_MAX] = '\0';
    ck_assert_int_eq(plugin_manifest_read(fixture_write("largest.json", text),
                         &manifest, &fault),
        NA_SUCCESS);
    plugin_manifest_destroy(manifest);
}
END_TEST

START_TEST(manifest_not_a_file_is_rejected)
{
    const char *fifo;

    fixture_begin();
    assert_refused(fixture_mkdir("dir.json"), TALARIA_STAGE_MANIFEST,
        NA_PROTOCOL_ERROR, "is not a file");
    fifo = fixture_path("fifo.json");
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    assert_refused(
        fifo, TALARIA_STAGE_MANIFEST, NA_PROTOCOL_ERROR, "is not a file");
    assert_refused(fixture_path("none.json"), TALARIA_STAGE_MANIFEST,
        NA_NOENTRY, "No such file");
}
END_TEST

START_TEST(manifest_unreadable_is_rejected)
{
    const char *path;

    fixture_begin();
    path = fixture_write("m.json", complete);
    ck_assert_int_eq(chmod(path, 0), 0);
    /* Root becomes another user, since permissions do not restrict it. */
    ck_assert_int_eq(chmod(fixture_path("."), 0755), 0);
    ck_assert_int_eq(chmod(fixture_path(".."), 0755), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(seteuid(65534), 0);
    assert_refused(
        path, TALARIA_STAGE_PERMISSION, NA_ACCESS, "Permission denied");
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

START_TEST(manifest_writable_by_others_is_rejected)
{
    const char *folder, *path;

    fixture_begin();
    folder = fixture_mkdir("d");
    path = fixture_write("d/m.json", complete);
    ck_assert_int_eq(chmod(path, 0664), 0);
    assert_refused(path, TALARIA_STAGE_PERMISSION, NA_PERMISSION,
        "may be written by its group (mode 0664)");
    ck_assert_int_eq(chmod(path, 0646), 0);
    assert_refused(path, TALARIA_STAGE_PERMISSION, NA_PERMISSION,
        "may be written by everyone (mode 0646)");
    ck_assert_int_eq(chmod(path, 0644), 0);
    ck_assert_int_eq(chmod(folder, 01777), 0);
    assert_refused(path, TALARIA_STAGE_PERMISSION, NA_PERMISSION,
        "may be written by everyone (mode 1777)");
}
END_TEST

START_TEST(manifest_of_another_user_is_rejected)
{
    const char *folder, *path;

    fixture_begin();
    folder = fixture_mkdir("d");
    path = fixture_write("d/m.json", complete);
    ck_assert_int_eq(chown(path, 4321, (gid_t) -1), 0);
    assert_refused(path, TALARIA_STAGE_PERMISSION, NA_PERMISSION,
        "is owned by user 4321, wanted root or 0");
    ck_assert_int_eq(chown(path, 0, (gid_t) -1), 0);
    ck_assert_int_eq(chown(folder, 4321, (gid_t) -1), 0);
    assert_refused(path, TALARIA_STAGE_PERMISSION, NA_PERMISSION,
        "is owned by user 4321, wanted root or 0");
}
END_TEST

START_TEST(manifest_of_root_is_read_by_another)
{
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};
    struct plugin_manifest *manifest;
    const char *path;

    fixture_begin();
    path = fixture_write("m.json", complete);
    ck_assert_int_eq(chmod(fixture_path("."), 0755), 0);
    ck_assert_int_eq(chmod(fixture_path(".."), 0755), 0);
    ck_assert_int_eq(seteuid(4321), 0);
    ck_assert_int_eq(plugin_manifest_read(path, &manifest, &fault), NA_SUCCESS);
    ck_assert_int_eq(seteuid(0), 0);
    plugin_manifest_destroy(manifest);
}
END_TEST

static int32_t
no_info(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    abort();
}

static const char *const the_protocols[] = {"alpha", "be;ta", NULL};
static const char *const fewer_protocols[] = {"alpha", NULL};
static const char *const other_protocols[] = {"alpha", "beta", NULL};

static const na_plugin the_plugin = {
    .abi_major = 1,
    .abi_minor = 2,
    .name = "probe",
    .version = "1.2",
    .protocols = the_protocols,
    .flags = NA_PLUGIN_OTHER_PROTOCOLS,
    .priority = -7,
    .info = no_info,
};

START_TEST(manifest_written_is_read_again)
{
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};
    struct plugin_manifest *manifest;
    char *json;

    fixture_begin();
    ck_assert_int_eq(
        plugin_manifest_copy(&the_plugin, "probe.so", &manifest, &fault),
        NA_SUCCESS);
    json = plugin_manifest_format(manifest);
    plugin_manifest_destroy(manifest);
    ck_assert_str_eq(json + strlen(json) - 2, "}\n");
    ck_assert_int_eq(
        plugin_manifest_read(fixture_write("m.json", json), &manifest, &fault),
        NA_SUCCESS);
    free(json);
    ck_assert_str_eq(manifest->library_path, "probe.so");
    ck_assert_int_eq(
        plugin_manifest_compare(manifest, &the_plugin, &fault), NA_SUCCESS);
    ck_assert_int_eq(fault.stage, TALARIA_STAGE_OK);
    plugin_manifest_destroy(manifest);
}
END_TEST

START_TEST(manifest_of_path_not_utf8_is_not_written)
{
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};
    struct plugin_manifest *manifest;

    fixture_begin();
    ck_assert_int_eq(
        plugin_manifest_copy(&the_plugin, "\xff.so", &manifest, &fault),
        NA_SUCCESS);
    ck_assert_ptr_null(plugin_manifest_format(manifest));
    plugin_manifest_destroy(manifest);
}
END_TEST

/* The plugin with one property changed, and the expected error. */
static void
assert_differs(const struct plugin_manifest *manifest, const na_plugin *plugin,
    enum talaria_stage stage, const char *reason)
{
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};

    ck_assert_int_eq(
        plugin_manifest_compare(manifest, plugin, &fault), NA_PROTOCOL_ERROR);
    ck_assert_int_eq(fault.stage, stage);
    ck_assert_msg(
        strstr(fault.text, reason), "\"%s\" lacks \"%s\"", fault.text, reason);
}

START_TEST(manifest_of_another_plugin_differs)
{
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};
    struct plugin_manifest *manifest;
    na_plugin plugin;

    fixture_begin();
    ck_assert_int_eq(
        plugin_manifest_copy(&the_plugin, "probe.so", &manifest, &fault),
        NA_SUCCESS);
    plugin = the_plugin;
    plugin.name = "other";
    assert_differs(manifest, &plugin, TALARIA_STAGE_NAME_MISMATCH,
        "says plugin \"probe\", the shared object is \"other\"");
    plugin = the_plugin;
    plugin.version = "1.3";
    assert_differs(manifest, &plugin, TALARIA_STAGE_MANIFEST,
        "says version 1.2, the shared object is 1.3");
    plugin = the_plugin;
    plugin.abi_major = 2;
    assert_differs(manifest, &plugin, TALARIA_STAGE_MANIFEST, "ABI");
    plugin = the_plugin;
    plugin.abi_minor = 3;
    assert_differs(manifest, &plugin, TALARIA_STAGE_MANIFEST, "ABI");
    plugin = the_plugin;
    plugin.min_host_minor = 1;
    assert_differs(manifest, &plugin, TALARIA_STAGE_MANIFEST, "ABI");
    plugin = the_plugin;
    plugin.protocols = fewer_protocols;
    assert_differs(manifest, &plugin, TALARIA_STAGE_MANIFEST, "protocols");
    plugin.protocols = other_protocols;
    assert_differs(manifest, &plugin, TALARIA_STAGE_MANIFEST, "protocols");
    plugin = the_plugin;
    plugin.flags = 0;
    assert_differs(manifest, &plugin, TALARIA_STAGE_MANIFEST, "protocols");
    plugin = the_plugin;
    plugin.priority = 7;
    assert_differs(manifest, &plugin, TALARIA_STAGE_MANIFEST, "priority");
    plugin.priority = -8; /* less than the manifest promises */
    assert_differs(manifest, &plugin, TALARIA_STAGE_MANIFEST, "priority");
    plugin_manifest_destroy(manifest);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("manifest");

    tcase_add_unchecked_fixture(tcase, fixture_setup, fixture_teardown);
    tcase_add_test(tcase, manifest_complete_is_read);
    tcase_add_loop_test(
        tcase, manifest_sufficient_is_read, 0, COUNT(sufficient));
    tcase_add_loop_test(
        tcase, manifest_malformed_is_rejected, 0, COUNT(broken));
    tcase_add_test(tcase, manifest_largest_numbers_are_read);
    tcase_add_test(tcase, manifest_with_too_many_protocols_is_rejected);
    tcase_add_test(tcase, manifest_size_limit);
    tcase_add_test(tcase, manifest_not_a_file_is_rejected);
    tcase_add_test(tcase, manifest_unreadable_is_rejected);
    tcase_add_test(tcase, manifest_writable_by_others_is_rejected);
    if (geteuid() == 0) {
        tcase_add_test(tcase, manifest_of_another_user_is_rejected);
        tcase_add_test(tcase, manifest_of_root_is_read_by_another);
    } else {
        puts("skipped: files of other users need root to make them");
    }
    tcase_add_test(tcase, manifest_written_is_read_again);
    tcase_add_test(tcase, manifest_of_path_not_utf8_is_not_written);
    tcase_add_test(tcase, manifest_of_another_plugin_differs);
    return run_tcase("manifest", tcase);
}
