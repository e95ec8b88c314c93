/* SPDX-License-Identifier: BSD-3-Clause */
/* The default search folders. The machine's are redirected into the test's
 * folder. */
#include "talaria.h"

#include "fixture.h"
#include "plugin/info_string.h"
#include "plugin/resolve.h"
#include "runner.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *__real_realpath(const char *path, char *real);
char *__wrap_realpath(const char *path, char *real);

char *
__wrap_realpath(const char *path, char *real)
{
    static const char etc[] = TALARIA_SYSCONF_DIR;

    if (strncmp(path, etc, sizeof etc - 1) == 0)
        return __real_realpath(
            fixture_path("etc%s", path + sizeof etc - 1), real);
    if (strcmp(path, TALARIA_PLUGIN_DIR) == 0)
        return __real_realpath(fixture_path("lib"), real);
    return __real_realpath(path, real);
}

static void
begin(void)
{
    fixture_begin();
    fixture_mkdir("etc");
    fixture_mkdir("etc/talaria");
    fixture_mkdir("etc/talaria/plugins.d");
    fixture_mkdir("lib");
    ck_assert_int_eq(chmod(fixture_path("."), 0755), 0);
    ck_assert_int_eq(chmod(fixture_path(".."), 0755), 0);
}

/* Runs as a user restricted by permissions. */
static struct talaria_plugin_list *
list_unprivileged(void)
{
    struct talaria_plugin_list *list;

    if (getuid() == 0)
        ck_assert_int_eq(seteuid(4321), 0);
    ck_assert_int_eq(talaria_plugin_list(&list), NA_SUCCESS);
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
    return list;
}

START_TEST(default_folders_are_searched_in_order)
{
    struct talaria_plugin_list *list;

    begin();
    fixture_write("lib/m.so", "");
    fixture_write("etc/talaria/plugins.d/m.so", "");
    fixture_manifest("lib/m.json", "m.so", "in_lib", "[\"p\"]", 0);
    fixture_manifest(
        "etc/talaria/plugins.d/m.json", "m.so", "in_etc", "[\"p\"]", 0);
    ck_assert_int_eq(talaria_plugin_list(&list), NA_SUCCESS);
    ck_assert_uint_eq(list->count, 2);
    ck_assert_str_eq(list->entries[0]->name, "in_etc");
    ck_assert_int_eq(list->entries[0]->source, TALARIA_SOURCE_SYSCONF);
    ck_assert_int_eq(list->entries[0]->stage, TALARIA_STAGE_OK);
    ck_assert_str_eq(list->entries[1]->name, "in_lib");
    ck_assert_int_eq(list->entries[1]->source, TALARIA_SOURCE_LIBDIR);
    talaria_plugin_list_free(list);
}
END_TEST

START_TEST(default_folder_missing_is_not_an_error)
{
    struct talaria_plugin_list *list;

    begin();
    ck_assert_int_eq(rmdir(fixture_path("etc/talaria/plugins.d")), 0);
    ck_assert_int_eq(rmdir(fixture_path("lib")), 0);
    ck_assert_int_eq(talaria_plugin_list(&list), NA_SUCCESS);
    ck_assert_uint_eq(list->count, 0);
    talaria_plugin_list_free(list);
}
END_TEST

/* The folder itself, and one above it. */
static const char *const closed[] = {"etc/talaria/plugins.d", "etc/talaria"};

START_TEST(default_folder_unreadable_is_rejected)
{
    struct talaria_plugin_list *list;
    const struct talaria_plugin_entry *entry;
    struct plugin_info info;
    const struct na_plugin *plugin;

    begin();
    ck_assert_int_eq(chmod(fixture_path("%s", closed[_i]), 0), 0);
    list = list_unprivileged();
    ck_assert_msg(list->count == 1,
        "%zu entries; wanted one for the folder that cannot be read",
        list->count);
    entry = list->entries[0];
    ck_assert_int_eq(entry->source, TALARIA_SOURCE_SYSCONF);
    ck_assert_str_eq(talaria_stage_to_string(entry->stage), "permission");
    ck_assert_int_eq(entry->code, NA_ACCESS);
    ck_assert_ptr_nonnull(strstr(entry->text, "denied"));
    talaria_plugin_list_free(list);

    /* A program that asks for a plugin in it gets the reason. */
    ck_assert_int_eq(plugin_info_parse("none+p", &info), NA_SUCCESS);
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(4321), 0);
    ck_assert_int_eq(plugin_resolve(&info, NULL, &plugin), NA_NOENTRY);
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
    ck_assert_uint_eq(fixture_log_count("warning"), 1);
    ck_assert(fixture_logged("plugins.d is passed over: permission: "));
    ck_assert_int_eq(chmod(fixture_path("%s", closed[_i]), 0755), 0);
    plugin_info_finish(&info);
    plugin_cleanup();
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("plugin_default");

    tcase_add_unchecked_fixture(tcase, fixture_setup, fixture_teardown);
    tcase_add_test(tcase, default_folders_are_searched_in_order);
    tcase_add_test(tcase, default_folder_missing_is_not_an_error);
    tcase_add_loop_test(tcase, default_folder_unreadable_is_rejected, 0, 2);
    return run_tcase("plugin_default", tcase);
}
