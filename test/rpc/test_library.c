/* SPDX-License-Identifier: BSD-3-Clause */
/* The library as a whole: versions, error names, options, the log. */
#include "na.h"
#include "session.h"
#include "talaria.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char logged[65536];
static size_t logged_length;
static FILE *logged_to;

static int keep(FILE *stream, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int
keep(FILE *stream, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(
        logged + logged_length, sizeof logged - logged_length, format, args);
    va_end(args);
    logged_to = stream;
    if (length > 0 && logged_length + (size_t) length < sizeof logged)
        logged_length += (size_t) length;
    return length;
}

static void
forget_log(void)
{
    logged_length = 0;
    logged[0] = '\0';
    logged_to = NULL;
}

static void
begin(void)
{
    forget_log();
    HG_Set_log_func(keep);
    HG_Set_log_level("error");
    HG_Set_log_subsys("all");
    if (session_is_loop())
        ck_assert_int_eq(talaria_plugin_register(&loop_plugin), NA_SUCCESS);
}

START_TEST(library_version_matches_the_headers)
{
    unsigned major = 99, minor = 99, patch = 99;

    ck_assert_int_eq(HG_Version_get(&major, &minor, &patch), HG_SUCCESS);
    ck_assert_uint_eq(major, HG_VERSION_MAJOR);
    ck_assert_uint_eq(minor, HG_VERSION_MINOR);
    ck_assert_uint_eq(patch, HG_VERSION_PATCH);
    ck_assert_uint_eq(major, 2);
    ck_assert_uint_eq(minor, 4);
    ck_assert_int_eq(HG_Version_get(NULL, NULL, NULL), HG_SUCCESS);
}
END_TEST

START_TEST(library_every_code_has_a_name)
{
    ck_assert_str_eq(HG_Error_to_string(HG_SUCCESS), "HG_SUCCESS");
    ck_assert_str_eq(HG_Error_to_string(HG_NOMEM), "HG_NOMEM");
    ck_assert_str_eq(HG_Error_to_string(HG_HOSTUNREACH), "HG_HOSTUNREACH");
    ck_assert_str_eq(HG_Error_to_string(HG_OTHER_ERROR), "HG_OTHER_ERROR");
    for (int i = 0; i < HG_RETURN_MAX; i++) {
        const char *name = HG_Error_to_string((hg_return_t) i);

        ck_assert_int_eq(strncmp(name, "HG_", 3), 0);
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(name, HG_Error_to_string((hg_return_t) j));
    }
    ck_assert_ptr_nonnull(HG_Error_to_string(HG_RETURN_MAX));
    ck_assert_ptr_nonnull(HG_Error_to_string((hg_return_t) -1));
}
END_TEST

START_TEST(library_lists_the_devices_of_a_protocol)
{
    struct na_protocol_info *list = NULL, *item;
    bool found = false;
    char info[64];

    begin();
    ck_assert_int_eq(
        HG_Get_na_protocol_info(session_transport(), &list), HG_SUCCESS);
    for (item = list; item; item = item->next) {
        snprintf(
            info, sizeof info, "%s+%s", item->class_name, item->protocol_name);
        ck_assert_str_eq(info, session_protocol());
        ck_assert_ptr_nonnull(item->device_name);
        found = true;
    }
    ck_assert(found);
    HG_Free_na_protocol_info(list);
    HG_Free_na_protocol_info(NULL);
    ck_assert_int_eq(HG_Get_na_protocol_info("loop+mem", NULL), HG_INVALID_ARG);
    list = NULL;
    ck_assert_int_ne(
        HG_Get_na_protocol_info("no_such_plugin+tcp", &list), HG_SUCCESS);
    ck_assert_ptr_null(list);
    ck_assert_uint_gt(logged_length, 0);
    HG_Cleanup();
}
END_TEST

START_TEST(library_init_failure_logs_one_reason)
{
    static const char *const wrong[] = {
        "no_such_plugin+tcp", "loop+no_such_protocol", "", "++", NULL};

    begin();
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *line;

        forget_log();
        ck_assert_ptr_null(HG_Init(wrong[i], true));
        line = strstr(logged, "[error]");
        ck_assert_ptr_nonnull(line);
        ck_assert_ptr_null(strstr(line + 1, "[error]"));
    }
    HG_Cleanup();
}
END_TEST

START_TEST(library_init_with_invalid_options_fails)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;
    struct talaria_open_result *result;

    begin();
    info.na_init_info.progress_mode = 0x80;
    ck_assert_ptr_null(HG_Init_opt(session_transport(), true, &info));
    ck_assert_uint_gt(logged_length, 0);
    ck_assert_int_eq(talaria_open_report(&result), NA_SUCCESS);
    ck_assert_int_eq(result->code, NA_INVALID_ARG);
    ck_assert_ptr_nonnull(result->text);
    talaria_open_report_free(result);
    info = HG_INIT_INFO_INITIALIZER;
    info.na_init_info.thread_mode = 0x10;
    ck_assert_ptr_null(HG_Init_opt(session_transport(), true, &info));
    info = HG_INIT_INFO_INITIALIZER;
    info.na_init_info.addr_format = (enum na_addr_format) 77;
    ck_assert_ptr_null(HG_Init_opt(session_transport(), true, &info));
    info = HG_INIT_INFO_INITIALIZER;
    info.traffic_class = (enum na_traffic_class) 77;
    ck_assert_ptr_null(
        HG_Init_opt2(session_transport(), true, HG_VERSION(2, 4), &info));
    HG_Cleanup();
}
END_TEST

/* Memory beyond the fields of an old program's version is not read. */
START_TEST(library_init_reads_the_fields_of_its_version)
{
    struct hg_init_info info;
    size_t of_2_2 = offsetof(struct hg_init_info, no_multi_recv);
    size_t of_2_3 = offsetof(struct hg_init_info, traffic_class);
    unsigned char *old;
    hg_class_t *hg_class;

    begin();
    info = HG_INIT_INFO_INITIALIZER;
    /* Allocated at its exact size, so that AddressSanitizer detects reads
     * beyond it. */
    old = malloc(of_2_2);
    memcpy(old, &info, of_2_2);
    hg_class =
        HG_Init_opt(session_transport(), false, (struct hg_init_info *) old);
    ck_assert_ptr_nonnull(hg_class);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    hg_class = HG_Init_opt2(session_transport(), false, HG_VERSION(2, 1),
        (struct hg_init_info *) old);
    ck_assert_ptr_nonnull(hg_class);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    free(old);
    old = malloc(of_2_3);
    memcpy(old, &info, of_2_3);
    hg_class = HG_Init_opt2(session_transport(), false, HG_VERSION(2, 3),
        (struct hg_init_info *) old);
    ck_assert_ptr_nonnull(hg_class);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    free(old);
    /* Fields that an old version lacks are not checked. */
    info.traffic_class = (enum na_traffic_class) 77;
    hg_class =
        HG_Init_opt2(session_transport(), false, HG_VERSION(2, 3), &info);
    ck_assert_ptr_nonnull(hg_class);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    hg_class = HG_Init_opt2(session_transport(), false, HG_VERSION(3, 0), NULL);
    ck_assert_ptr_nonnull(hg_class);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    ck_assert_str_eq(logged, "");
    HG_Cleanup();
}
END_TEST

START_TEST(library_init_uses_the_given_na_class)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;
    na_class_t *na_class;
    hg_class_t *hg_class;
    hg_context_t *context;

    begin();
    na_class = NA_Initialize(session_transport(), true);
    ck_assert_ptr_nonnull(na_class);
    info.na_class = na_class;
    for (int i = 0; i < 2; i++) {
        hg_class = HG_Init_opt("ignored", false, &info);
        ck_assert_ptr_nonnull(hg_class);
        ck_assert(HG_Class_is_listening(hg_class));
        context = HG_Context_create(hg_class);
        ck_assert_ptr_nonnull(context);
        ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
        ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    }
    ck_assert_int_eq(NA_Finalize(na_class), NA_SUCCESS);
    ck_assert_str_eq(logged, "");
    HG_Cleanup();
}
END_TEST

START_TEST(library_log_level_filters_messages)
{
    hg_class_t *hg_class;

    begin();
    HG_Set_log_level("none");
    ck_assert_ptr_null(HG_Init("no_such_plugin+tcp", true));
    ck_assert_str_eq(logged, "");
    HG_Set_log_level("loud"); /* no effect */
    ck_assert_ptr_null(HG_Init("no_such_plugin+tcp", true));
    ck_assert_str_eq(logged, "");
    HG_Set_log_level("error");
    ck_assert_ptr_null(HG_Init("no_such_plugin+tcp", true));
    ck_assert_ptr_nonnull(strstr(logged, "[error]"));
    ck_assert_ptr_nonnull(strstr(logged, "no_such_plugin"));
    HG_Set_log_level("debug");
    hg_class = HG_Init(session_transport(), true);
    ck_assert_ptr_nonnull(hg_class);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    /* Messages of a subsystem below level error can be turned off. */
    HG_Set_log_subsys("~plugin,~transport,~na,~hg,~bulk,~proc");
    forget_log();
    hg_class = HG_Init(session_transport(), true);
    ck_assert_ptr_nonnull(hg_class);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    ck_assert_str_eq(logged, "");
    ck_assert_ptr_null(HG_Init("no_such_plugin+tcp", true));
    ck_assert_ptr_nonnull(strstr(logged, "[error]"));
    HG_Cleanup();
}
END_TEST

START_TEST(library_log_uses_set_stream_and_func)
{
    FILE *stream = tmpfile();
    char line[4096] = ""; /* with the paths of the build */

    begin();
    ck_assert_ptr_nonnull(stream);
    ck_assert_ptr_null(HG_Init("no_such_plugin+tcp", true));
    ck_assert_ptr_eq(logged_to, stderr);
    HG_Set_log_stream("error", stream);
    HG_Set_log_stream("no such level", NULL);
    ck_assert_ptr_null(HG_Init("no_such_plugin+tcp", true));
    ck_assert_ptr_eq(logged_to, stream);
    HG_Set_log_func(NULL);
    ck_assert_ptr_null(HG_Init("no_such_plugin+tcp", true));
    rewind(stream);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, stream));
    ck_assert_ptr_nonnull(strstr(line, "[error]"));
    ck_assert_int_eq(line[strlen(line) - 1], '\n');
    ck_assert_ptr_null(fgets(line, sizeof line, stream));
    HG_Set_log_stream("error", NULL);
    HG_Set_log_func(keep);
    ck_assert_ptr_null(HG_Init("no_such_plugin+tcp", true));
    ck_assert_ptr_eq(logged_to, stderr);
    fclose(stream);
    HG_Cleanup();
}
END_TEST

START_TEST(library_cleanup_keeps_open_classes)
{
    hg_class_t *hg_class;
    hg_context_t *context;

    begin();
    hg_class = HG_Init(session_transport(), true);
    ck_assert_ptr_nonnull(hg_class);
    context = HG_Context_create(hg_class);
    ck_assert_ptr_nonnull(context);
    HG_Cleanup();
    HG_Cleanup();
    ck_assert_int_eq(HG_Progress(context, 0), HG_TIMEOUT);
    HG_Diag_dump_counters();
    ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    HG_Cleanup();
    ck_assert_str_eq(logged, "");
}
END_TEST

/* A program that opens and closes classes repeatedly does not grow. */
START_TEST(library_repeated_open_and_close_does_not_leak)
{
    begin();
    for (int i = 0; i < 50; i++) {
        hg_class_t *hg_class = HG_Init(session_transport(), i % 2 == 0);
        hg_context_t *context;

        ck_assert_ptr_nonnull(hg_class);
        context = HG_Context_create(hg_class);
        ck_assert_ptr_nonnull(context);
        ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
        ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    }
    ck_assert_str_eq(logged, "");
    HG_Cleanup();
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, library_version_matches_the_headers);
    tcase_add_test(tcase, library_every_code_has_a_name);
    tcase_add_test(tcase, library_lists_the_devices_of_a_protocol);
    tcase_add_test(tcase, library_init_failure_logs_one_reason);
    tcase_add_test(tcase, library_init_with_invalid_options_fails);
    tcase_add_test(tcase, library_init_reads_the_fields_of_its_version);
    tcase_add_test(tcase, library_init_uses_the_given_na_class);
    tcase_add_test(tcase, library_log_level_filters_messages);
    tcase_add_test(tcase, library_log_uses_set_stream_and_func);
    tcase_add_test(tcase, library_cleanup_keeps_open_classes);
    tcase_add_test(tcase, library_repeated_open_and_close_does_not_leak);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "library", add);
}
