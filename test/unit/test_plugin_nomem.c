/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding and loading plugins when memory runs out: each allocation in turn
 * fails, and each step succeeds or returns NOMEM, and leaks nothing. Linked
 * with --wrap, so that only the core's allocations fail; those of jansson do
 * not, since its parser does not survive that.
 */
#include "plugin/resolve.h"

#include "fixture.h"
#include "na_plugin.h"
#include "plugin/info_string.h"
#include "plugin/report.h"
#include "runner.h"
#include "scarce.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const na_plugin na_plugin_v1_probe;

char *__real_strndup(const char *text, size_t length);
char *__wrap_strndup(const char *text, size_t length);
char *__real_realpath(const char *path, char *resolved);
char *__wrap_realpath(const char *path, char *resolved);
int __wrap_asprintf(char **text_p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
typedef int filter_func(const struct dirent *entry);
typedef int compare_func(const struct dirent **a, const struct dirent **b);
int __real_scandir(const char *path, struct dirent ***entries,
    filter_func *filter, compare_func *compare);
int __wrap_scandir(const char *path, struct dirent ***entries,
    filter_func *filter, compare_func *compare);

char *
__wrap_strndup(const char *text, size_t length)
{
    return scarce_fails() ? NULL : __real_strndup(text, length);
}

char *
__wrap_realpath(const char *path, char *resolved)
{
    return scarce_fails() ? NULL : __real_realpath(path, resolved);
}

int
__wrap_asprintf(char **text_p, const char *format, ...)
{
    va_list args;
    int length;

    if (scarce_fails())
        return -1;
    va_start(args, format);
    length = vasprintf(text_p, format, args);
    va_end(args);
    return length;
}

int
__wrap_scandir(const char *path, struct dirent ***entries, filter_func *filter,
    compare_func *compare)
{
    return scarce_fails() ? -1 : __real_scandir(path, entries, filter, compare);
}

static na_return_t
run_info_string(void)
{
    struct plugin_info info;
    na_return_t ret = plugin_info_parse("ofi+tcp://d/h:1", &info);

    if (ret != NA_SUCCESS)
        return ret;
    ret = plugin_info_split(&info);
    plugin_info_finish(&info);
    return ret;
}

static na_return_t
resolve(const char *string)
{
    struct plugin_report *report = plugin_report_create();
    const struct na_plugin *plugin;
    struct plugin_info info;
    na_return_t ret = plugin_info_parse(string, &info);

    if (ret == NA_SUCCESS) {
        ret = plugin_resolve(&info, report, &plugin);
        plugin_info_finish(&info);
    }
    plugin_report_publish(report);
    return ret;
}

static na_return_t
run_resolve_named(void)
{
    return resolve("probe+alpha");
}

static na_return_t
run_resolve_protocol(void)
{
    return resolve("gamma");
}

static na_return_t
resolve_file(const char *string)
{
    na_return_t ret;

    setenv("TALARIA_PLUGIN_FILES", fixture_path("other.so"), 1);
    ret = resolve(string);
    unsetenv("TALARIA_PLUGIN_FILES");
    return ret;
}

static na_return_t
run_resolve_file_named(void)
{
    return resolve_file("other+gamma");
}

static na_return_t
run_resolve_file_protocol(void)
{
    return resolve_file("gamma");
}

static na_return_t
run_report(void)
{
    struct plugin_report *report = plugin_report_create();
    struct talaria_open_result *result;
    na_return_t ret;

    plugin_report_set_string(report, "probe+alpha");
    plugin_report_add(
        report, TALARIA_STAGE_OPEN, "/a", "b", NA_NODEV, "no device");
    plugin_report_log(report);
    plugin_report_publish(report);
    ret = talaria_open_report(&result);
    if (ret != NA_SUCCESS)
        return report ? ret : NA_NOMEM;
    if (result->code != NA_NODEV || result->count + result->dropped != 1)
        ret = NA_FAULT;
    talaria_open_report_free(result);
    return ret;
}

static na_return_t
visit(void *arg, const struct na_plugin *plugin)
{
    return NA_SUCCESS;
}

static na_return_t
run_each(void)
{
    return plugin_each(NULL, "alpha", visit, NULL);
}

static na_return_t
run_list(void)
{
    struct talaria_plugin_list *list;
    na_return_t ret = talaria_plugin_list(&list);

    if (ret == NA_SUCCESS)
        talaria_plugin_list_free(list);
    return ret;
}

static na_return_t
run_describe(void)
{
    char *json;
    na_return_t ret = talaria_plugin_describe(fixture_path("good.so"), &json);

    if (ret == NA_SUCCESS)
        free(json);
    return ret;
}

static na_return_t
run_register(void)
{
    na_return_t ret = talaria_plugin_register(&na_plugin_v1_probe);

    if (ret == NA_SUCCESS)
        ret = talaria_plugin_path_add(".");
    if (ret == NA_SUCCESS)
        ret = run_list();
    return ret;
}

static na_return_t (*const runs[])(void) = {run_info_string, run_resolve_named,
    run_resolve_protocol, run_resolve_file_named, run_resolve_file_protocol,
    run_report, run_each, run_list, run_describe, run_register};

START_TEST(nomem_anywhere_is_reported)
{
    na_return_t ret;
    long n = 0, left;

    fixture_begin();
    fixture_copy("good.so", "good");
    fixture_copy("other.so", "other");
    fixture_manifest("1.json", "good.so", "probe", "[\"alpha\", \"beta\"]", 10);
    fixture_manifest("2.json", "good.so", "probe", "[\"alpha\", \"beta\"]", 10);
    fixture_manifest(
        "3.json", "other.so", "other", "[\"beta\", \"gamma\"]", 20);
    setenv("TALARIA_PLUGIN_PATH", fixture_path("."), 1);

    /* libcheck allocates too: assert only while no allocation fails. */
    do {
        scarce_countdown = n++;
        ret = runs[_i]();
        left = scarce_countdown;
        scarce_countdown = -1;
        ck_assert_msg(ret == NA_SUCCESS || ret == NA_NOMEM,
            "allocation %ld of run %d: %d, %s", n, _i, (int) ret,
            fixture_log());
        /* A report may lack one entry and have the following ones. */
        ck_assert(ret == NA_SUCCESS || left < 0);
        plugin_cleanup();
        fixture_log_clear();
    } while (left < 0);
    ck_assert_int_gt(n, 1);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("plugin_nomem");

    tcase_add_unchecked_fixture(tcase, fixture_setup, fixture_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, nomem_anywhere_is_reported, 0,
        (int) (sizeof runs / sizeof runs[0]));
    return run_tcase("plugin_nomem", tcase);
}
