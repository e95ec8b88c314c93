/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin "script". */
#include "script_plugin.h"

#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct script script;
na_plugin_ops script_ops;
static int the_class; /* its address is the class */

static int32_t
script_info(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    return NA_PLUGIN_OK;
}

static int32_t
script_open(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_opened *opened)
{
    script.open_count++;
    ck_assert_uint_eq(opened->size, sizeof *opened);
    if (script.look)
        script.look(host, info);
    for (size_t i = 0; i < 2 && script.errors[i]; i++)
        host->log(host, NA_PLUGIN_LOG_ERROR, "x.c", 1, script.errors[i]);
    if (script.errors[0])
        host->log(host, NA_PLUGIN_LOG_INFO, "x.c", 2, "logged afterwards");
    *opened = script.opened;
    return script.code;
}

static void
script_close(na_plugin_class *cls)
{
    ck_assert_ptr_eq((void *) cls, &the_class);
    script.close_count++;
}

static const void *
script_extension(na_plugin_class *cls, const char *id)
{
    ck_assert_ptr_eq((void *) cls, &the_class);
    return script.extension ? script.extension(cls, id) : NULL;
}

static const char *const protocols[] = {"x", NULL};

static const na_plugin_setting some_key = {
    .size = sizeof some_key,
    .most = 16,
    .key = "script.some_key",
    .initial = "",
    .text = "a text",
};

static const na_plugin_setting *const settings[] = {&some_key, NULL};

static const na_plugin plugin = {
    .magic = NA_PLUGIN_MAGIC,
    .abi_major = NA_PLUGIN_ABI_MAJOR,
    .abi_minor = NA_PLUGIN_ABI_MINOR,
    .size = sizeof plugin,
    .name = "script",
    .version = "1",
    .protocols = protocols,
    .info = script_info,
    .open = script_open,
    .close = script_close,
    .settings = settings,
};

/* Placeholder for all operations; opening a class calls none. */
static void
never_called(void)
{
    abort();
}

#define OPS_FIRST offsetof(na_plugin_ops, ctx_create)

static void
ops_fill(void)
{
    void (*func)(void) = never_called;

    script_ops.size = sizeof script_ops;
    script_ops.reserved_zero = 0;
    for (size_t at = OPS_FIRST; at < sizeof script_ops; at += sizeof func)
        memcpy((char *) &script_ops + at, &func, sizeof func);
    script_ops.extension = script_extension;
}

void
script_begin(void)
{
    unsetenv("TALARIA_PLUGIN_FILES");
    unsetenv("TALARIA_PLUGIN_PATH");
    log_watch_begin();
    log_watch_install();
    memset(&script, 0, sizeof script);
    ops_fill();
    script.opened = (na_plugin_opened){
        .size = sizeof script.opened,
        .cls = (na_plugin_class *) (void *) &the_class,
        .ops = &script_ops,
        .op_size = 64,
        .op_align = 8,
        .max_unexpected_size = 4096,
        .max_expected_size = 4096,
        .unexpected_header_size = 8,
        .expected_header_size = 8,
        .max_tag = UINT32_MAX,
        .max_segments = 1,
        .max_contexts = 1,
    };
    ck_assert_int_eq(talaria_plugin_register(&plugin), NA_SUCCESS);
}

void
script_end(void)
{
    log_watch_check();
    NA_Cleanup();
}

void
script_assert_opens(void)
{
    na_class_t *na_class = NA_Initialize("script+x", true);

    ck_assert_ptr_nonnull(na_class);
    ck_assert_uint_eq(script.close_count, 0);
    ck_assert_int_eq(NA_Finalize(na_class), NA_SUCCESS);
    ck_assert_uint_eq(script.open_count, 1);
    ck_assert_uint_eq(script.close_count, 1);
}

void
script_assert_report(
    enum talaria_stage stage, na_return_t code, const char *text)
{
    struct talaria_open_result *result;
    const struct talaria_candidate *candidate;

    ck_assert_int_eq(talaria_open_report(&result), NA_SUCCESS);
    ck_assert_str_eq(result->info_string, "script+x");
    ck_assert_int_eq(result->code, code);
    ck_assert_str_eq(result->text, text);
    ck_assert_uint_ge(result->count, 1);
    candidate = result->candidates[result->count - 1];
    ck_assert_str_eq(talaria_stage_to_string(candidate->stage),
        talaria_stage_to_string(stage));
    ck_assert_int_eq(candidate->code, code);
    ck_assert_str_eq(candidate->text, text);
    ck_assert_str_eq(candidate->plugin, "script");
    ck_assert_ptr_null(candidate->path);
    talaria_open_report_free(result);
}
