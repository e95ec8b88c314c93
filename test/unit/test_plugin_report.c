/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of candidates: their entries, and one report per thread. */
#include "plugin/report.h"

#include "fixture.h"
#include "plugin/resolve.h"
#include "runner.h"

#include <check.h>
#include <pthread.h>
#include <string.h>

START_TEST(report_of_failed_open_replaces_accepted)
{
    struct plugin_report *report = plugin_report_create();

    fixture_begin();
    plugin_report_set_string(report, "probe+alpha");
    plugin_report_add(report, TALARIA_STAGE_NOT_FOUND, "/a.json", "other",
        NA_NOENTRY, "it is other");
    plugin_report_add(
        report, TALARIA_STAGE_OK, "/b.json", "probe", NA_SUCCESS, "%s", "");
    plugin_report_add(report, TALARIA_STAGE_OPEN, "/b.so", "probe", NA_NODEV,
        "no device %d", 7);
    plugin_report_log(report);
    ck_assert(fixture_logged("cannot open \"probe+alpha\": /b.so: open: no "
                             "device 7 (2 candidates)"));
    plugin_report_publish(report);
    fixture_ck_candidate(
        0, "/a.json", "other", TALARIA_STAGE_NOT_FOUND, NA_NOENTRY);
    fixture_ck_candidate(1, "/b.so", "probe", TALARIA_STAGE_OPEN, NA_NODEV);
    plugin_cleanup();
}
END_TEST

static void *
publish(void *arg)
{
    const char *string = arg;
    struct plugin_report *report = plugin_report_create();
    struct talaria_open_result *result;

    if (talaria_open_report(&result) != NA_NOENTRY)
        return arg;
    plugin_report_set_string(report, string);
    plugin_report_publish(report);
    if (talaria_open_report(&result) != NA_SUCCESS ||
        strcmp(result->info_string, string) != 0)
        return arg;
    talaria_open_report_free(result);
    return NULL;
}

static void
publish_in_thread(char *string)
{
    pthread_t thread;
    void *failed;

    ck_assert_int_eq(pthread_create(&thread, NULL, publish, string), 0);
    pthread_join(thread, &failed);
    ck_assert_ptr_null(failed);
}

START_TEST(report_is_per_thread)
{
    struct talaria_open_result *result;
    char mine[] = "mine", other[] = "other";

    fixture_begin();
    ck_assert_ptr_null(publish(mine));
    for (int i = 0; i < 255; i++)
        publish_in_thread(other);
    ck_assert_int_eq(talaria_open_report(&result), NA_SUCCESS);
    ck_assert_str_eq(result->info_string, "mine");
    talaria_open_report_free(result);
    /* One thread more than reports are kept for. */
    publish_in_thread(other);
    ck_assert_int_eq(talaria_open_report(&result), NA_NOENTRY);
    plugin_cleanup();
}
END_TEST

START_TEST(report_null_is_nothing)
{
    struct talaria_open_result *result;

    fixture_begin();
    plugin_report_set_string(NULL, "x");
    plugin_report_add(NULL, TALARIA_STAGE_OK, NULL, NULL, NA_SUCCESS, "x");
    plugin_report_log(NULL);
    plugin_report_publish(NULL);
    plugin_report_destroy(NULL);
    ck_assert_int_eq(talaria_open_report(&result), NA_NOENTRY);
    talaria_open_report_free(NULL);
    ck_assert_str_eq(fixture_log(), "");
}
END_TEST

START_TEST(report_without_entries_is_copied)
{
    struct plugin_report *report = plugin_report_create();
    struct talaria_open_result *result;

    fixture_begin();
    plugin_report_log(report);
    ck_assert(fixture_logged("cannot open \"?\": out of memory"));
    plugin_report_publish(report);
    ck_assert_int_eq(talaria_open_report(&result), NA_SUCCESS);
    ck_assert_ptr_null(result->info_string);
    ck_assert_str_eq(result->text, "");
    ck_assert_uint_eq(result->count, 0);
    talaria_open_report_free(result);
    plugin_cleanup();
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("plugin_report");

    tcase_add_unchecked_fixture(tcase, fixture_setup, fixture_teardown);
    tcase_add_test(tcase, report_of_failed_open_replaces_accepted);
    tcase_add_test(tcase, report_is_per_thread);
    tcase_add_test(tcase, report_null_is_nothing);
    tcase_add_test(tcase, report_without_entries_is_copied);
    return run_tcase("plugin_report", tcase);
}
