/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plugin search: places and their order, shadowing, and what is rejected
 * without loading. Through talaria_plugin_list, without the machine's own
 * places.
 */
#include "search_case.h"

#include "fixture.h"
#include "na_plugin.h"
#include "plugin/resolve.h"
#include "runner.h"

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

extern const na_plugin na_plugin_v1_probe; /* named built_in */

START_TEST(search_order_of_places)
{
    fixture_begin();
    fixture_mkdir("api1");
    fixture_mkdir("api2");
    fixture_mkdir("env1");
    fixture_mkdir("env2");
    for (int i = 1; i <= 2; i++) {
        char path[32];

        snprintf(path, sizeof path, "api%d/m.json", i);
        fixture_manifest(path, "m.so", i == 1 ? "a1" : "a2", "[\"p\"]", 0);
        snprintf(path, sizeof path, "env%d/m.json", i);
        fixture_manifest(path, "m.so", i == 1 ? "e1" : "e2", "[\"p\"]", 0);
    }
    search_set_path(
        "TALARIA_PLUGIN_PATH", fixture_path("env1"), fixture_path("env2"));
    ck_assert_int_eq(talaria_plugin_path_add(fixture_path("api1")), NA_SUCCESS);
    ck_assert_int_eq(talaria_plugin_path_add(fixture_path("api2")), NA_SUCCESS);
    ck_assert_int_eq(talaria_plugin_register(&na_plugin_v1_probe), NA_SUCCESS);
    ck_assert_uint_eq(search_list_make(), 5);
    search_ck_entry(0, TALARIA_SOURCE_REGISTERED, "built_in", NULL);
    search_ck_usable(0);
    search_ck_entry(
        1, TALARIA_SOURCE_API_PATH, "a1", fixture_path("api1/m.json"));
    search_ck_entry(
        2, TALARIA_SOURCE_API_PATH, "a2", fixture_path("api2/m.json"));
    search_ck_entry(
        3, TALARIA_SOURCE_ENV_PATH, "e1", fixture_path("env1/m.json"));
    search_ck_entry(
        4, TALARIA_SOURCE_ENV_PATH, "e2", fixture_path("env2/m.json"));

    /* Files given explicitly replace the search. */
    search_set_path("TALARIA_PLUGIN_FILES", fixture_copy("f.so", "other"), "");
    ck_assert_uint_eq(search_list_make(), 4);
    ck_assert_uint_eq(search_listed->count, 4);
    search_ck_entry(0, TALARIA_SOURCE_REGISTERED, "built_in", NULL);
    search_ck_entry(
        2, TALARIA_SOURCE_API_PATH, "a2", fixture_path("api2/m.json"));
    search_ck_entry(3, TALARIA_SOURCE_ENV_FILES, NULL, NULL);
    ck_assert_str_eq(
        search_listed->entries[3]->library_path, fixture_path("f.so"));
    search_list_free();

    plugin_cleanup();
    ck_assert_uint_eq(search_list_make(), 1);
    search_list_free();
    ck_assert_uint_eq(fixture_log_count("error"), 0);
}
END_TEST

START_TEST(search_manifest_is_listed_without_loading)
{
    const struct talaria_plugin_entry *entry;

    fixture_begin();
    fixture_write("p.so", "this cannot be loaded");
    fixture_write("p.json",
        "{\"format\": \"1.0\", \"plugin\": {\"name\": \"p\", \"version\": "
        "\"0.9\", \"library_path\": \"p.so\", \"abi\": {\"major\": 1, "
        "\"minor\": 3, \"min_host_minor\": 0}, \"protocols\": [\"x\", \"y\"], "
        "\"priority\": 33, \"other_protocols\": true}}");
    setenv("TALARIA_PLUGIN_PATH", fixture_path("."), 1);
    ck_assert_uint_eq(search_list_make(), 1);
    search_ck_usable(0);
    entry = search_listed->entries[0];
    ck_assert_str_eq(entry->name, "p");
    ck_assert_str_eq(entry->version, "0.9");
    ck_assert_str_eq(entry->library_path, fixture_path("p.so"));
    ck_assert_str_eq(entry->protocols[0], "x");
    ck_assert_str_eq(entry->protocols[1], "y");
    ck_assert_ptr_null(entry->protocols[2]);
    ck_assert_int_eq(entry->priority, 33);
    ck_assert(entry->other_protocols);
    ck_assert(!entry->shadowed);
    ck_assert_uint_eq(entry->abi_major, 1);
    ck_assert_uint_eq(entry->abi_minor, 3);
    ck_assert_uint_eq(entry->min_host_minor, 0);
    search_list_free();
}
END_TEST

START_TEST(search_folder_is_sorted_by_name)
{
    fixture_begin();
    fixture_write("m.so", "");
    fixture_manifest("b.json", "m.so", "b", "[\"p\"]", 0);
    fixture_manifest("a.json", "m.so", "a", "[\"p\"]", 0);
    fixture_manifest("C.json", "m.so", "c", "[\"p\"]", 0);
    fixture_manifest(".hidden.json", "m.so", "h", "[\"p\"]", 0);
    fixture_manifest("a.json~", "m.so", "backup", "[\"p\"]", 0);
    fixture_manifest("json", "m.so", "j", "[\"p\"]", 0);
    /* A folder given twice is searched once. */
    search_set_path(
        "TALARIA_PLUGIN_PATH", fixture_path("."), fixture_path("./."));
    ck_assert_uint_eq(search_list_make(), 3);
    search_ck_entry(0, TALARIA_SOURCE_ENV_PATH, "c", fixture_path("C.json"));
    search_ck_entry(1, TALARIA_SOURCE_ENV_PATH, "a", fixture_path("a.json"));
    search_ck_entry(2, TALARIA_SOURCE_ENV_PATH, "b", fixture_path("b.json"));
    search_list_free();
}
END_TEST

START_TEST(search_second_of_a_name_is_shadowed)
{
    fixture_begin();
    fixture_write("m.so", "");
    fixture_manifest("1.json", "none.so", "p", "[\"x\"]", 0);
    fixture_manifest("2.json", "m.so", "p", "[\"x\"]", 99);
    fixture_manifest("3.json", "m.so", "q", "[\"x\"]", 0);
    setenv("TALARIA_PLUGIN_PATH", fixture_path("."), 1);
    ck_assert_uint_eq(search_list_make(), 3);
    /* A rejected candidate still shadows others of its name. */
    ck_assert(!search_listed->entries[0]->shadowed);
    search_ck_refused(0, TALARIA_STAGE_NOT_FOUND, NA_NOENTRY, "none.so");
    ck_assert(search_listed->entries[1]->shadowed);
    ck_assert(!search_listed->entries[2]->shadowed);
    search_list_free();
}
END_TEST

START_TEST(search_library_is_relative_to_real_manifest)
{
    char absolute[PATH_MAX + 64];

    fixture_begin();
    fixture_mkdir("real");
    fixture_mkdir("real/sub");
    fixture_mkdir("links");
    fixture_write("m.so", "");
    fixture_write("real/m.so", "");
    fixture_write("real/sub/m.so", "");
    fixture_manifest("real/beside.json", "m.so", "beside", "[\"x\"]", 0);
    fixture_manifest("real/below.json", "sub/m.so", "below", "[\"x\"]", 0);
    fixture_manifest("real/above.json", "../m.so", "above", "[\"x\"]", 0);
    snprintf(absolute, sizeof absolute, "%s", fixture_path("m.so"));
    fixture_manifest("real/absolute.json", absolute, "absolute", "[\"x\"]", 0);
    ck_assert_int_eq(
        symlink(fixture_path("real/beside.json"), fixture_path("links/1.json")),
        0);
    ck_assert_int_eq(symlink("nowhere", fixture_path("links/2.json")), 0);
    search_set_path(
        "TALARIA_PLUGIN_PATH", fixture_path("links"), fixture_path("real"));
    ck_assert_uint_eq(search_list_make(), 6);
    search_ck_entry(
        0, TALARIA_SOURCE_ENV_PATH, "beside", fixture_path("real/beside.json"));
    ck_assert_str_eq(
        search_listed->entries[0]->library_path, fixture_path("real/m.so"));
    search_ck_refused(1, TALARIA_STAGE_NOT_FOUND, NA_NOENTRY, "links/2.json");
    ck_assert_str_eq(search_listed->entries[2]->name, "above");
    ck_assert_str_eq(
        search_listed->entries[2]->library_path, fixture_path("m.so"));
    ck_assert_str_eq(search_listed->entries[3]->name, "absolute");
    ck_assert_str_eq(
        search_listed->entries[3]->library_path, fixture_path("m.so"));
    ck_assert_str_eq(search_listed->entries[4]->name, "below");
    ck_assert_str_eq(
        search_listed->entries[4]->library_path, fixture_path("real/sub/m.so"));
    ck_assert_str_eq(search_listed->entries[5]->name, "beside");
    ck_assert(search_listed->entries[5]->shadowed);
    search_list_free();
}
END_TEST

START_TEST(search_malformed_candidates_are_rejected)
{
    fixture_begin();
    fixture_mkdir("m.d");
    fixture_write("1.json", "{");
    fixture_manifest("2.json", "m.d", "folder", "[\"x\"]", 0);
    fixture_write("3.json",
        "{\"format\": \"1.0\", \"plugin\": {\"name\": \"p\", \"version\": "
        "\"1\", \"library_path\": \"m.so\", \"abi\": {\"major\": 2, \"minor\": "
        "1, \"min_host_minor\": 0}, \"protocols\": [\"x\"]}}");
    fixture_write("4.json",
        "{\"format\": \"1.0\", \"plugin\": {\"name\": \"q\", \"version\": "
        "\"1\", \"library_path\": \"m.so\", \"abi\": {\"major\": 1, \"minor\": "
        "8, \"min_host_minor\": 5}, \"protocols\": [\"x\"]}}");
    setenv("TALARIA_PLUGIN_PATH", fixture_path("."), 1);
    ck_assert_uint_eq(search_list_make(), 4);
    search_ck_refused(0, TALARIA_STAGE_MANIFEST, NA_PROTOCOL_ERROR, "line 1");
    search_ck_refused(1, TALARIA_STAGE_NOT_FOUND, NA_NOENTRY, "is not a file");
    search_ck_refused(2, TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR,
        "built on transport ABI 2.1 and needs a core with 2.0, this one has "
        "1.0");
    search_ck_refused(
        3, TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR, "needs a core with 1.5");
    search_list_free();
}
END_TEST

START_TEST(search_missing_folder_is_named)
{
    char value[2 * PATH_MAX + 16];

    fixture_begin();
    fixture_write("file", "");
    fixture_manifest("m.json", "m.so", "p", "[\"x\"]", 0);
    fixture_write("m.so", "");
    snprintf(value, sizeof value, ":%s::%s:%s:", fixture_path("none"),
        fixture_path("file"), fixture_path("."));
    setenv("TALARIA_PLUGIN_PATH", value, 1);
    ck_assert_int_eq(
        talaria_plugin_path_add(fixture_path("later")), NA_SUCCESS);
    ck_assert_uint_eq(search_list_make(), 4);
    search_ck_refused(0, TALARIA_STAGE_NOT_FOUND, NA_NOENTRY, "later");
    search_ck_refused(1, TALARIA_STAGE_NOT_FOUND, NA_NOENTRY, "none");
    search_ck_refused(
        2, TALARIA_STAGE_NOT_FOUND, NA_IO_ERROR, "Not a directory");
    search_ck_usable(3);

    fixture_mkdir("later");
    ck_assert_uint_eq(search_list_make(), 3);
    search_list_free();
    plugin_cleanup();
}
END_TEST

/* From here on this process can open no more descriptors. */
static struct rlimit
allow_descriptors(bool allowed, struct rlimit usual)
{
    struct rlimit limit = usual;
    int next;

    if (!allowed) {
        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
        next = dup(STDIN_FILENO);
        ck_assert_int_ge(next, 0);
        close(next);
        limit = usual;
        limit.rlim_cur = (rlim_t) next;
    }
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return usual;
}

/* Not reported as out of memory, which would end the search without a
 * reason. */
START_TEST(search_without_descriptors_is_reported)
{
    struct rlimit usual = {.rlim_cur = 0};
    size_t folders, files;

    fixture_begin();
    fixture_mkdir("folder");
    fixture_write("with.so", "");
    fixture_manifest("with.json", "with.so", "with", "[\"x\"]", 0);
    setenv("TALARIA_PLUGIN_PATH", fixture_path("folder"), 1);
    usual = allow_descriptors(false, usual);
    folders = search_list_make();
    allow_descriptors(true, usual);
    ck_assert_uint_eq(folders, 1);
    search_ck_refused(
        0, TALARIA_STAGE_NOT_FOUND, NA_IO_ERROR, "folder: Too many open files");

    setenv("TALARIA_PLUGIN_FILES", fixture_path("with.so"), 1);
    allow_descriptors(false, usual);
    files = search_list_make();
    allow_descriptors(true, usual);
    ck_assert_uint_eq(files, 1);
    search_ck_refused(0, TALARIA_STAGE_MANIFEST, NA_IO_ERROR,
        "with.json: Too many open files");
    search_list_free();
}
END_TEST

START_TEST(search_path_may_contain_spaces)
{
    fixture_begin();
    fixture_mkdir("my plugins");
    fixture_write("my plugins/a module.so", "");
    fixture_write("my plugins/b module.so", "");
    fixture_manifest(
        "my plugins/a module.json", "a module.so", "a", "[\"x\"]", 0);
    search_set_path("TALARIA_PLUGIN_PATH", fixture_path("my plugins"), "");
    ck_assert_uint_eq(search_list_make(), 1);
    search_ck_entry(0, TALARIA_SOURCE_ENV_PATH, "a",
        fixture_path("my plugins/a module.json"));
    search_ck_usable(0);
    ck_assert_str_eq(search_listed->entries[0]->library_path,
        fixture_path("my plugins/a module.so"));
    unsetenv("TALARIA_PLUGIN_PATH");
    ck_assert_int_eq(
        talaria_plugin_path_add(fixture_path("my plugins")), NA_SUCCESS);
    ck_assert_uint_eq(search_list_make(), 1);
    search_ck_entry(0, TALARIA_SOURCE_API_PATH, "a",
        fixture_path("my plugins/a module.json"));
    search_ck_usable(0);
    plugin_cleanup();
    search_set_path("TALARIA_PLUGIN_FILES",
        fixture_path("my plugins/a module.so"),
        fixture_path("my plugins/b module.so"));
    ck_assert_uint_eq(search_list_make(), 2);
    search_ck_entry(0, TALARIA_SOURCE_ENV_FILES, "a",
        fixture_path("my plugins/a module.json"));
    search_ck_usable(0);
    search_ck_usable(1);
    ck_assert_str_eq(search_listed->entries[1]->library_path,
        fixture_path("my plugins/b module.so"));
    search_list_free();
}
END_TEST

START_TEST(search_path_add_checks_and_makes_absolute)
{
    char longest[PATH_MAX + 1];

    fixture_begin();
    fixture_mkdir("d");
    fixture_write("d/m.so", "");
    fixture_manifest("d/m.json", "m.so", "p", "[\"x\"]", 0);
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    ck_assert_int_eq(talaria_plugin_path_add(NULL), NA_INVALID_ARG);
    ck_assert_int_eq(talaria_plugin_path_add(""), NA_INVALID_ARG);
    ck_assert_int_eq(talaria_plugin_path_add(longest), NA_INVALID_ARG);
    ck_assert_int_eq(chdir(fixture_path(".")), 0);
    ck_assert_int_eq(talaria_plugin_path_add("d"), NA_SUCCESS);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_uint_eq(search_list_make(), 1);
    search_ck_entry(0, TALARIA_SOURCE_API_PATH, "p", fixture_path("d/m.json"));
    search_list_free();
    plugin_cleanup();
}
END_TEST

START_TEST(search_file_uses_the_manifest_beside_it)
{
    fixture_begin();
    fixture_write("with.so", "");
    fixture_manifest("with.json", "with.so", "with", "[\"x\"]", 0);
    fixture_write("without.so", "");
    fixture_write("foreign.so", "");
    fixture_manifest("foreign.json", "with.so", "foreign", "[\"x\"]", 0);
    fixture_write("module", "");
    fixture_manifest("module.json", "module", "module", "[\"x\"]", 0);
    search_set_path("TALARIA_PLUGIN_FILES", fixture_path("with.so"),
        fixture_path("without.so"));
    ck_assert_uint_eq(search_list_make(), 2);
    search_ck_entry(
        0, TALARIA_SOURCE_ENV_FILES, "with", fixture_path("with.json"));
    search_ck_usable(0);
    search_ck_entry(1, TALARIA_SOURCE_ENV_FILES, NULL, NULL);
    search_ck_usable(1);
    search_set_path("TALARIA_PLUGIN_FILES", fixture_path("foreign.so"),
        fixture_path("none.so"));
    ck_assert_uint_eq(search_list_make(), 2);
    search_ck_refused(
        0, TALARIA_STAGE_MANIFEST, NA_PROTOCOL_ERROR, "is the manifest of");
    search_ck_refused(1, TALARIA_STAGE_NOT_FOUND, NA_NOENTRY, "none.so");
    search_set_path("TALARIA_PLUGIN_FILES", fixture_path("module"), "");
    ck_assert_uint_eq(search_list_make(), 1);
    search_ck_entry(
        0, TALARIA_SOURCE_ENV_FILES, "module", fixture_path("module.json"));
    search_list_free();
}
END_TEST

START_TEST(stage_and_source_have_names)
{
    for (int i = 0; i < TALARIA_STAGE_MAX; i++)
        ck_assert_ptr_nonnull(talaria_stage_to_string((enum talaria_stage) i));
    ck_assert_ptr_null(talaria_stage_to_string(TALARIA_STAGE_MAX));
    for (int i = 0; i < TALARIA_SOURCE_MAX; i++)
        ck_assert_ptr_nonnull(
            talaria_source_to_string((enum talaria_source) i));
    ck_assert_ptr_null(talaria_source_to_string(TALARIA_SOURCE_MAX));
    ck_assert_str_eq(
        talaria_stage_to_string(TALARIA_STAGE_NAME_MISMATCH), "name_mismatch");
    ck_assert_str_eq(
        talaria_source_to_string(TALARIA_SOURCE_BESIDE_CORE), "beside_core");
    talaria_plugin_list_free(NULL);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("plugin_search");

    tcase_add_unchecked_fixture(tcase, fixture_setup, fixture_teardown);
    tcase_add_test(tcase, search_order_of_places);
    tcase_add_test(tcase, search_manifest_is_listed_without_loading);
    tcase_add_test(tcase, search_folder_is_sorted_by_name);
    tcase_add_test(tcase, search_second_of_a_name_is_shadowed);
    tcase_add_test(tcase, search_library_is_relative_to_real_manifest);
    tcase_add_test(tcase, search_malformed_candidates_are_rejected);
    tcase_add_test(tcase, search_missing_folder_is_named);
    tcase_add_test(tcase, search_without_descriptors_is_reported);
    tcase_add_test(tcase, search_path_may_contain_spaces);
    tcase_add_test(tcase, search_path_add_checks_and_makes_absolute);
    tcase_add_test(tcase, search_file_uses_the_manifest_beside_it);
    tcase_add_test(tcase, stage_and_source_have_names);
    return run_tcase("plugin_search", tcase);
}
