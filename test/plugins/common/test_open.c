/* SPDX-License-Identifier: BSD-3-Clause */
/* Open options, settings, the log, reports, and the system. */
#include "common/open.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/match.h"
#include "common/report.h"
#include "common/setting.h"
#include "common/system.h"
#include "runner.h"

static int32_t level = NA_PLUGIN_LOG_DEBUG;
static char last[1024];
static uint32_t lines;
static int32_t worst;

static void
note(const na_plugin_host *host, int32_t at, const char *file, uint32_t line,
    const char *text)
{
    ck_assert_ptr_nonnull(strstr(file, ".c"));
    ck_assert_uint_ne(line, 0);
    snprintf(last, sizeof(last), "%s", text);
    lines++;
    worst = worst == 0 || at < worst ? at : worst;
}

static const na_plugin_host host = {
    .size = sizeof(host), .log_level = &level, .log = note};

static void
reset(void)
{
    level = NA_PLUGIN_LOG_DEBUG;
    last[0] = '\0';
    lines = 0;
    worst = 0;
}

START_TEST(log_formats_one_line_at_its_level)
{
    level = NA_PLUGIN_LOG_WARNING;
    TP_LOG(&host, INFO, "not %s", "wanted");
    ck_assert_uint_eq(lines, 0);
    TP_LOG(&host, WARNING, "peer \"%s\" of %d", "a\nb\x1b", 7);
    ck_assert_str_eq(last, "peer \"a?b?\" of 7");
    ck_assert_int_eq(worst, NA_PLUGIN_LOG_WARNING);
    char *text = malloc(5000);
    memset(text, 'x', 4999);
    text[4999] = '\0';
    TP_LOG(&host, ERROR, "%s", text);
    ck_assert(strlen(last) > 500 && strlen(last) < sizeof(last) - 1);
    free(text);
}
END_TEST

static const na_plugin_open_info sound = {
    .size = sizeof(sound), .protocol = "demo", .port = -1, .max_contexts = 1};
static const na_plugin_opened room = {.size = sizeof(room)};

START_TEST(thinned_log_has_powers_of_two)
{
    level = NA_PLUGIN_LOG_INFO;
    for (uint64_t before = 0; before < 1000; before++)
        TP_LOG_THINNED(&host, WARNING, before, "number %d", (int) before + 1);
    ck_assert_uint_eq(lines, 10);
    ck_assert_str_eq(last, "number 512");
    level = NA_PLUGIN_LOG_DEBUG;
    TP_LOG_THINNED(&host, WARNING, 1000, "number %d", 1001);
    ck_assert_str_eq(last, "number 1001");
}
END_TEST

/* Also a message that cannot be submitted: the log has the reason. */
START_TEST(refused_messages_are_logged)
{
    ck_assert_int_eq(
        tp_match_refuse(&host, 11, 10, 0, 256, 0), NA_PLUGIN_E_MSGSIZE);
    ck_assert_str_eq(last, "message of 11 bytes; the longest is 10");
    ck_assert_int_eq(tp_match_refuse(&host, 0, 10, 256, 256, UINT64_MAX),
        NA_PLUGIN_E_INVALID_ARG);
    ck_assert_ptr_nonnull(strstr(last, "255"));
    ck_assert_uint_eq(lines, 2);
}
END_TEST

START_TEST(errno_values_have_codes)
{
    ck_assert_int_eq(tp_error_code(0), NA_PLUGIN_OK);
    ck_assert_int_eq(tp_error_code(EAGAIN), NA_PLUGIN_E_AGAIN);
    ck_assert_int_eq(tp_error_code(EPERM), NA_PLUGIN_E_PERMISSION);
    ck_assert_int_eq(tp_error_code(EMFILE), NA_PLUGIN_E_NOMEM);
    ck_assert_int_eq(tp_error_code(EADDRINUSE), NA_PLUGIN_E_ADDRINUSE);
    ck_assert_int_eq(tp_error_code(ECONNREFUSED), NA_PLUGIN_E_HOSTUNREACH);
    ck_assert_int_eq(tp_error_code(EIO), NA_PLUGIN_E_IO_ERROR);
    ck_assert_int_eq(tp_error_code(-1), NA_PLUGIN_E_IO_ERROR);
}
END_TEST

START_TEST(open_info_of_this_version_passes)
{
    na_plugin_open_info info = sound;

    ck_assert_int_eq(tp_open_check(&host, &info, &room), NA_PLUGIN_OK);
    info.flags = NA_PLUGIN_OPEN_LISTEN | NA_PLUGIN_OPEN_NO_BLOCK |
                 NA_PLUGIN_OPEN_NO_RETRY | NA_PLUGIN_OPEN_MEM_DEVICE;
    info.addr_format = NA_PLUGIN_ADDR_NATIVE;
    info.traffic_class = NA_PLUGIN_TC_NETWORK_CTRL;
    info.port = UINT16_MAX;
    info.hints = UINT32_MAX;
    info.thread_mode = UINT32_MAX;
    ck_assert_int_eq(tp_open_check(&host, &info, &room), NA_PLUGIN_OK);
    ck_assert_uint_eq(lines, 0);
}
END_TEST

START_TEST(open_info_beyond_this_version_is_refused_and_logged)
{
    const na_plugin_opened no_room = {.size = NA_PLUGIN_OPENED_SIZE_1_0 - 1};
    na_plugin_open_info wrong[5];

    for (uint32_t i = 0; i < 5; i++)
        wrong[i] = sound;
    wrong[0].size = NA_PLUGIN_OPEN_INFO_SIZE_1_0 - 1;
    wrong[1].flags = 0x10U;
    wrong[2].addr_format = NA_PLUGIN_ADDR_NATIVE + 1;
    wrong[3].traffic_class = NA_PLUGIN_TC_NETWORK_CTRL + 1;
    wrong[4].port = UINT16_MAX + 1;
    for (uint32_t i = 0; i < 5; i++) {
        reset();
        ck_assert_int_eq(
            tp_open_check(&host, &wrong[i], &room), NA_PLUGIN_E_INVALID_ARG);
        ck_assert_uint_eq(lines, 1);
        ck_assert_int_eq(worst, NA_PLUGIN_LOG_ERROR);
    }
    ck_assert_int_eq(
        tp_open_check(&host, &sound, &no_room), NA_PLUGIN_E_INVALID_ARG);
}
END_TEST

START_TEST(ignored_options_are_logged_once_each)
{
    const struct tp_offer nothing = {.max_contexts = 1};
    const struct tp_offer all = {.max_contexts = 256,
        .device_memory = true,
        .auth_key = true,
        .subnet = true,
        .ip = true,
        .native = true,
        .traffic_classes = true};
    na_plugin_open_info info = sound;

    tp_open_ignored(&host, &info, &nothing);
    ck_assert_uint_eq(lines, 0);
    info.flags = NA_PLUGIN_OPEN_MEM_DEVICE;
    info.auth_key = "key";
    info.ip_subnet = "10.0.0.0/8";
    info.addr_format = NA_PLUGIN_ADDR_IPV6;
    info.traffic_class = NA_PLUGIN_TC_BULK_DATA;
    info.max_contexts = 2;
    tp_open_ignored(&host, &info, &all);
    ck_assert_uint_eq(lines, 0);
    tp_open_ignored(&host, &info, &nothing);
    ck_assert_uint_eq(lines, 6);
    ck_assert_int_eq(worst, NA_PLUGIN_LOG_WARNING); /* the key */
}
END_TEST

START_TEST(message_size_is_default_requested_or_maximum)
{
    ck_assert_uint_eq(tp_open_message_size(&host, 0, 4096, 65536, "x"), 4096);
    ck_assert_uint_eq(
        tp_open_message_size(&host, 65536, 4096, 65536, "x"), 65536);
    ck_assert_uint_eq(lines, 0);
    ck_assert_uint_eq(
        tp_open_message_size(&host, UINT64_C(1) << 32, 4096, 65536, "expected"),
        65536);
    ck_assert_uint_eq(lines, 1);
    ck_assert_ptr_nonnull(strstr(last, "expected"));
}
END_TEST

START_TEST(plain_buffers_are_aligned)
{
    static const uint64_t lengths[] = {0, 1, 63, 64, 65, 100000};
    void *buffer, *data;

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        ck_assert_int_eq(
            tp_buf_alloc(NULL, lengths[i], 0, &buffer, &data), NA_PLUGIN_OK);
        ck_assert_uint_eq((uintptr_t) buffer % 64, 0);
        memset(buffer, 1, lengths[i]);
        ck_assert_ptr_null(data);
        tp_buf_free(NULL, buffer, data);
    }
    ck_assert_int_eq(
        tp_buf_alloc(NULL, UINT64_MAX, 0, &buffer, &data), NA_PLUGIN_E_NOMEM);
}
END_TEST

static const na_plugin_setting *const settings[] = {
    TP_SETTING(BYTES, 1, 1U << 20, "demo.size", "64K", "bytes"),
    TP_SETTING(BOOLEAN, 0, 1, "demo.on", "no", "whether"), NULL};

START_TEST(settings_are_constant_tables)
{
    ck_assert_uint_eq(settings[0]->size, sizeof(na_plugin_setting));
    ck_assert_uint_eq(settings[0]->kind, NA_PLUGIN_SETTING_BYTES);
    ck_assert_uint_eq(settings[0]->least, 1);
    ck_assert_uint_eq(settings[0]->most, 1U << 20);
    ck_assert_str_eq(settings[0]->initial, "64K");
    ck_assert_str_eq(settings[1]->key, "demo.on");
    ck_assert_str_eq(settings[1]->text, "whether");
}
END_TEST

struct reported {
    const char *text;
    char chars[8];
    uint32_t number;
    _Atomic uint64_t counter;
    bool flag;
};

START_TEST(report_reads_each_kind_in_pages)
{
    static const struct tp_report_line table[] = {
        {"text", TP_REPORT_TEXT, offsetof(struct reported, text), "none"},
        {"chars", TP_REPORT_CHARS, offsetof(struct reported, chars), "all"},
        {"number", TP_REPORT_NUMBER, offsetof(struct reported, number), NULL},
        {"counter", TP_REPORT_COUNTER, offsetof(struct reported, counter),
            NULL},
        {"flag", TP_REPORT_FLAG, offsetof(struct reported, flag), "yes\0no"},
    };
    struct reported reported = {
        .text = "a", .chars = "b", .number = 5, .flag = true};
    na_plugin_report_entry entries[5];

    tp_count(&reported.counter, UINT64_C(1) << 40);
    tp_count_shared(&reported.counter, 1);
    ck_assert_uint_eq(tp_report_entries(table, 5, &reported, 0, entries, 3), 3);
    ck_assert_str_eq(entries[0].text, "a");
    ck_assert_str_eq(entries[1].text, "b");
    ck_assert_ptr_null(entries[2].text);
    ck_assert_uint_eq(entries[2].value, 5);
    ck_assert_uint_eq(tp_report_entries(table, 5, &reported, 3, entries, 5), 2);
    ck_assert_uint_eq(entries[0].value, (UINT64_C(1) << 40) + 1);
    ck_assert_str_eq(entries[1].text, "yes");
    ck_assert_uint_eq(tp_report_entries(table, 5, &reported, 5, entries, 5), 0);

    reported = (struct reported){0};
    ck_assert_uint_eq(tp_report_entries(table, 5, &reported, 0, entries, 5), 5);
    ck_assert_str_eq(entries[0].text, "none");
    ck_assert_str_eq(entries[1].text, "all");
    ck_assert_str_eq(entries[4].text, "no");
}
END_TEST

START_TEST(random_numbers_are_not_0_and_not_repeated)
{
    struct tp_random random = {.left = 0};
    uint64_t drawn[3 * TP_RANDOM_NUMBERS];

    for (uint32_t i = 0; i < 3 * TP_RANDOM_NUMBERS; i++) {
        ck_assert(tp_random_draw(&random, &drawn[i]));
        ck_assert_uint_ne(drawn[i], 0);
        for (uint32_t j = 0; j < i; j++)
            ck_assert_uint_ne(drawn[i], drawn[j]);
        for (uint32_t j = 0; j < TP_RANDOM_NUMBERS; j++)
            ck_assert_uint_ne(random.numbers[j], drawn[i]);
    }
}
END_TEST

START_TEST(system_clock_descriptors_and_memory)
{
    uint64_t before = tp_now();
    int fd = open("/dev/null", O_RDONLY);
    unsigned char *lines_of = tp_alloc_lines(100);

    ck_assert(tp_now() >= before);
    ck_assert(tp_close_on_exec(fd));
    ck_assert(tp_close_on_exec(fd));
    ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    close(fd);
    ck_assert(!tp_close_on_exec(fd));
    ck_assert_uint_eq((uintptr_t) lines_of % 64, 0);
    for (int i = 0; i < 100; i++)
        ck_assert_uint_eq(lines_of[i], 0);
    free(lines_of);
    ck_assert_ptr_null(tp_alloc_lines(SIZE_MAX));
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("open");
    tcase_add_checked_fixture(cases, reset, NULL);
    tcase_add_test(cases, log_formats_one_line_at_its_level);
    tcase_add_test(cases, thinned_log_has_powers_of_two);
    tcase_add_test(cases, refused_messages_are_logged);
    tcase_add_test(cases, errno_values_have_codes);
    tcase_add_test(cases, open_info_of_this_version_passes);
    tcase_add_test(cases, open_info_beyond_this_version_is_refused_and_logged);
    tcase_add_test(cases, ignored_options_are_logged_once_each);
    tcase_add_test(cases, message_size_is_default_requested_or_maximum);
    tcase_add_test(cases, plain_buffers_are_aligned);
    tcase_add_test(cases, settings_are_constant_tables);
    tcase_add_test(cases, report_reads_each_kind_in_pages);
    tcase_add_test(cases, random_numbers_are_not_0_and_not_repeated);
    tcase_add_test(cases, system_clock_descriptors_and_memory);
    return run_tcase("open", cases);
}
