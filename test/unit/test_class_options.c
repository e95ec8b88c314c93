/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening a class: how init options and the host table reach the plugin. */
#include "runner.h"
#include "script_plugin.h"

#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Init options out of range. */
static const struct na_init_info bad_options[] = {
    {.progress_mode = 0x04},
    {.progress_mode = 0x80 | NA_NO_BLOCK},
    {.thread_mode = 0x04},
    {.thread_mode = 0xff},
    {.addr_format = NA_ADDR_NATIVE + 1},
    {.traffic_class = NA_TC_NETWORK_CTRL + 1},
};

START_TEST(option_out_of_range_is_rejected)
{
    log_expect("an init option is out of range", 1, 1);
    ck_assert_ptr_null(NA_Initialize_opt2(
        "script+x", true, NA_VERSION(6, 0), &bad_options[_i]));
    ck_assert_uint_eq(script.open_count, 0);
    script_assert_report(TALARIA_STAGE_OPEN, NA_INVALID_ARG,
        "an init option or the name is out of range");
}
END_TEST

static void
look_at_options(const na_plugin_host *host, const na_plugin_open_info *info)
{
    ck_assert_uint_eq(info->size, sizeof *info);
    ck_assert_uint_eq(
        info->flags, NA_PLUGIN_OPEN_LISTEN | NA_PLUGIN_OPEN_NO_BLOCK |
                         NA_PLUGIN_OPEN_NO_RETRY | NA_PLUGIN_OPEN_MEM_DEVICE);
    ck_assert_str_eq(info->protocol, "x");
    ck_assert_str_eq(info->name, "d/h:5");
    ck_assert_str_eq(info->device, "d");
    ck_assert_str_eq(info->host, "h");
    ck_assert_int_eq(info->port, 5);
    ck_assert_uint_eq(info->thread_mode,
        NA_PLUGIN_THREAD_SINGLE_CLASS | NA_PLUGIN_THREAD_SINGLE_CONTEXT);
    ck_assert_str_eq(info->ip_subnet, "10.1.0.0/16");
    ck_assert_str_eq(info->auth_key, "key");
    ck_assert_uint_eq(info->max_unexpected_size, 1111);
    ck_assert_uint_eq(info->max_expected_size, 2222);
    ck_assert_uint_eq(info->addr_format, NA_PLUGIN_ADDR_NATIVE);
    ck_assert_uint_eq(info->traffic_class, NA_PLUGIN_TC_NETWORK_CTRL);
    ck_assert_uint_eq(info->max_contexts, 255);
    ck_assert_uint_eq(info->hints, 0);
}

static const struct na_init_info every_option = {
    .ip_subnet = "10.1.0.0/16",
    .auth_key = "key",
    .max_unexpected_size = 1111,
    .max_expected_size = 2222,
    .progress_mode = NA_NO_BLOCK | NA_NO_RETRY,
    .addr_format = NA_ADDR_NATIVE,
    .max_contexts = 255,
    .thread_mode = NA_THREAD_MODE_SINGLE,
    .request_mem_device = true,
    .traffic_class = NA_TC_NETWORK_CTRL,
};

START_TEST(option_set_reaches_plugin)
{
    na_class_t *na_class;

    script.look = look_at_options;
    na_class = NA_Initialize_opt2(
        "script+x://d/h:5", true, NA_VERSION(5, 0), &every_option);
    ck_assert_ptr_nonnull(na_class);
    NA_Finalize(na_class);
}
END_TEST

static void
look_at_defaults(const na_plugin_host *host, const na_plugin_open_info *info)
{
    ck_assert_uint_eq(info->flags, 0);
    ck_assert_ptr_null(info->name);
    ck_assert_ptr_null(info->device);
    ck_assert_ptr_null(info->host);
    ck_assert_int_eq(info->port, -1);
    ck_assert_uint_eq(info->thread_mode, 0);
    ck_assert(!info->ip_subnet && !info->auth_key);
    ck_assert_uint_eq(info->traffic_class, NA_PLUGIN_TC_UNSPEC);
    ck_assert_uint_eq(info->max_contexts, 1);
}

/* Requested sizes, and the limits that they are brought within. */
static const struct {
    size_t wanted;
    uint64_t asked;
} sizes_wanted[] = {{1, 256}, {100, 256}, {255, 256}, {256, 256}, {257, 257},
    {1UL << 30, 1UL << 30}, {(1UL << 30) + 1, 1UL << 30},
    {SIZE_MAX, 1UL << 30}};
static uint64_t asked;

static void
look_at_sizes(const na_plugin_host *host, const na_plugin_open_info *info)
{
    ck_assert_uint_eq(info->max_unexpected_size, asked);
    ck_assert_uint_eq(info->max_expected_size, asked);
}

START_TEST(option_size_is_clamped_to_limits)
{
    const struct na_init_info init = {
        .max_unexpected_size = sizes_wanted[_i].wanted,
        .max_expected_size = sizes_wanted[_i].wanted};
    na_class_t *na_class;

    asked = sizes_wanted[_i].asked;
    script.look = look_at_sizes;
    na_class = NA_Initialize_opt2("script+x", true, NA_VERSION(6, 0), &init);
    ck_assert_ptr_nonnull(na_class);
    ck_assert_int_eq(NA_Finalize(na_class), NA_SUCCESS);
}
END_TEST

START_TEST(option_unset_is_left_to_the_plugin)
{
    struct na_init_info none = {.max_contexts = 0};
    na_class_t *na_class;

    script.look = look_at_defaults;
    na_class = NA_Initialize("script+x", false);
    ck_assert_ptr_nonnull(na_class);
    NA_Finalize(na_class);
    na_class = NA_Initialize_opt2("script+x", false, NA_VERSION(6, 0), &none);
    ck_assert_ptr_nonnull(na_class);
    NA_Finalize(na_class);
    na_class = NA_Initialize_opt2("script+x", false, NA_VERSION(6, 0), NULL);
    ck_assert_ptr_nonnull(na_class);
    NA_Finalize(na_class);
}
END_TEST

/* A program of version 4.0 has allocated these fields only. */
START_TEST(option_beyond_version_is_not_read)
{
    const size_t size = offsetof(struct na_init_info, traffic_class);
    void *init = malloc(size);
    na_class_t *na_class;

    ck_assert_ptr_nonnull(init);
    memset(init, 0, size);
    script.look = look_at_defaults;
    na_class = NA_Initialize_opt2("script+x", false, NA_VERSION(4, 0), init);
    ck_assert_ptr_nonnull(na_class);
    NA_Finalize(na_class);
    na_class = NA_Initialize_opt("script+x", false, init);
    ck_assert_ptr_nonnull(na_class);
    NA_Finalize(na_class);
    free(init);
}
END_TEST

static void
look_at_host(const na_plugin_host *host, const na_plugin_open_info *info)
{
    ck_assert_uint_eq(host->size, sizeof *host);
    ck_assert_uint_eq(host->abi_major, NA_PLUGIN_ABI_MAJOR);
    ck_assert_uint_eq(host->abi_minor, NA_PLUGIN_ABI_MINOR);
    ck_assert_int_eq(*host->log_level, NA_PLUGIN_LOG_WARNING);
    ck_assert_str_eq(host->text(host, "script.some_key"), "value");
    ck_assert_uint_eq(host->number(host, "script.some_key"), 0);
    ck_assert_str_eq(host->text(host, "script.other"), "");
    ck_assert_ptr_null(host->extension(host, "na.nothing/1"));
    host->log(host, NA_PLUGIN_LOG_WARNING, "dir/x.c", 9, "beware");
    host->log(host, NA_PLUGIN_LOG_INFO, "dir/x.c", 9, "not wanted");
    host->log(host, -5, "dir/x.c", 9, "no level");
}

START_TEST(host_table_functions_work)
{
    setenv("TALARIA_SCRIPT_SOME_KEY", "value", 1);
    log_expect("[warning] transport: x.c:9: beware", 1, 1);
    log_expect("ABI: log is called with level -5", 1, 1);
    log_expect("text is called with key script.other", 1, 1);
    script.look = look_at_host;
    script_assert_opens();
}
END_TEST

#define COUNT(array) (int) (sizeof(array) / sizeof((array)[0]))

int
main(void)
{
    TCase *tcase = tcase_create("class_options");

    tcase_add_checked_fixture(tcase, script_begin, script_end);
    tcase_add_loop_test(
        tcase, option_out_of_range_is_rejected, 0, COUNT(bad_options));
    tcase_add_test(tcase, option_set_reaches_plugin);
    tcase_add_test(tcase, option_unset_is_left_to_the_plugin);
    tcase_add_loop_test(tcase, option_size_is_clamped_to_limits, 0,
        sizeof sizes_wanted / sizeof sizes_wanted[0]);
    tcase_add_test(tcase, option_beyond_version_is_not_read);
    tcase_add_test(tcase, host_table_functions_work);
    return run_tcase("class_options", tcase);
}
