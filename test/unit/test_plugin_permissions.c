/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plugin search and permissions: files that others may write, a folder that
 * this process may not read, a privileged process. Through talaria_plugin_list,
 * without the machine's own places.
 */
#include "search_case.h"

#include "fixture.h"
#include "na.h"
#include "runner.h"

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(search_files_writable_by_others_are_rejected)
{
    fixture_begin();
    fixture_mkdir("folder");
    fixture_mkdir("libs");
    fixture_mkdir("open_libs");
    fixture_manifest("folder/m.json", "m.so", "unseen", "[\"x\"]", 0);
    ck_assert_int_eq(chmod(fixture_path("folder"), 0775), 0);
    fixture_write("libs/m.so", "");
    fixture_write("libs/n.so", "");
    fixture_write("open_libs/m.so", "");
    ck_assert_int_eq(chmod(fixture_path("libs/m.so"), 0775), 0);
    ck_assert_int_eq(chmod(fixture_path("open_libs"), 01777), 0);
    fixture_manifest("1.json", "libs/m.so", "p", "[\"x\"]", 0);
    fixture_manifest("2.json", "libs/n.so", "q", "[\"x\"]", 0);
    fixture_manifest("3.json", "open_libs/m.so", "r", "[\"x\"]", 0);
    search_set_path(
        "TALARIA_PLUGIN_PATH", fixture_path("folder"), fixture_path("."));
    ck_assert_uint_eq(search_list_make(), 4);
    search_ck_entry(0, TALARIA_SOURCE_ENV_PATH, NULL, fixture_path("folder"));
    search_ck_refused(0, TALARIA_STAGE_PERMISSION, NA_PERMISSION, "its group");
    search_ck_refused(
        1, TALARIA_STAGE_PERMISSION, NA_PERMISSION, "libs/m.so may");
    search_ck_usable(2);
    search_ck_refused(
        3, TALARIA_STAGE_PERMISSION, NA_PERMISSION, "open_libs may");

    search_set_path("TALARIA_PLUGIN_FILES", fixture_path("libs/m.so"),
        fixture_path("open_libs/m.so"));
    ck_assert_uint_eq(search_list_make(), 2);
    search_ck_refused(
        0, TALARIA_STAGE_PERMISSION, NA_PERMISSION, "libs/m.so may");
    search_ck_refused(
        1, TALARIA_STAGE_PERMISSION, NA_PERMISSION, "open_libs may");
    search_list_free();
}
END_TEST

START_TEST(search_unreadable_folder_is_rejected)
{
    fixture_begin();
    fixture_mkdir("closed");
    ck_assert_int_eq(chmod(fixture_path("closed"), 0), 0);
    ck_assert_int_eq(chmod(fixture_path("."), 0755), 0);
    ck_assert_int_eq(chmod(fixture_path(".."), 0755), 0);
    setenv("TALARIA_PLUGIN_PATH", fixture_path("closed"), 1);
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(4321), 0);
    ck_assert_uint_eq(search_list_make(), 1);
    search_ck_refused(0, TALARIA_STAGE_PERMISSION, NA_ACCESS, "denied");
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
    search_list_free();
}
END_TEST

/* Executed by search_privileged_process_ignores_environment as another user. */
static int
privileged_child(void)
{
    struct talaria_open_result *result;
    bool explained;

    if (!getauxval(AT_SECURE))
        return 77;
    if (talaria_plugin_list(&search_listed) != NA_SUCCESS)
        return 1;
    for (size_t i = 0; i < search_listed->count; i++)
        if (search_listed->entries[i]->source == TALARIA_SOURCE_ENV_PATH)
            return 2;
    search_list_free();
    /* A request for the plugin fails with that reason. */
    if (NA_Initialize("p+x", false))
        return 3;
    if (talaria_open_report(&result) != NA_SUCCESS)
        return 4;
    explained = strstr(result->text,
                    "TALARIA_PLUGIN_PATH is ignored in a privileged process") &&
                strstr(result->text,
                    "TALARIA_PLUGIN_FILES is ignored in a privileged process");
    talaria_open_report_free(result);
    return explained ? 0 : 5;
}

START_TEST(search_privileged_process_ignores_environment)
{
    const char *program, *log;
    char text[4096] = "", command[3 * PATH_MAX];
    FILE *file;
    int status;

    fixture_begin();
    program = fixture_path("child");
    log = fixture_path("log");
    fixture_manifest("m.json", "m.so", "p", "[\"x\"]", 0);
    setenv("TALARIA_PLUGIN_PATH", fixture_path("."), 1);
    setenv("TALARIA_PLUGIN_FILES", fixture_path("m.so"), 1);
    setenv("HG_LOG_LEVEL", "warning", 1);
    snprintf(command, sizeof command,
        "cp /proc/%d/exe %s && chown 4321 %s && chmod 4755 %s && "
        "%s --privileged-child 2>%s",
        (int) getpid(), program, program, program, program, log);
    status = system(command);
    ck_assert(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        puts("skipped: this file system does not let a program be privileged");
        return;
    }
    file = fopen(log, "re");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
    fclose(file);
    ck_assert_msg(WEXITSTATUS(status) == 0, "%d: %s", status, text);
    ck_assert_ptr_nonnull(
        strstr(text, "TALARIA_PLUGIN_PATH is ignored in a privileged process"));
}
END_TEST

/* Whether the kernel executes this program directly, without an emulator. */
static bool
runs_by_itself(const char *program)
{
    char command[PATH_MAX + 64];

    snprintf(command, sizeof command, "cmp -s /proc/%d/exe '%s'",
        (int) getpid(), program);
    return system(command) == 0;
}

int
main(int argc, char **argv)
{
    TCase *tcase = tcase_create("plugin_permissions");

    /* Not exit: a leak checker cannot inspect a privileged process. */
    if (argc > 1 && strcmp(argv[1], "--privileged-child") == 0)
        _exit(privileged_child());
    tcase_add_unchecked_fixture(tcase, fixture_setup, fixture_teardown);
    tcase_add_test(tcase, search_files_writable_by_others_are_rejected);
    tcase_add_test(tcase, search_unreadable_folder_is_rejected);
    if (geteuid() != 0)
        puts("skipped: only root can make a program privileged");
    else if (!runs_by_itself(argv[0]))
        puts("skipped: an interpreted program cannot be made privileged");
    else
        tcase_add_test(tcase, search_privileged_process_ignores_environment);
    return run_tcase("plugin_permissions", tcase);
}
