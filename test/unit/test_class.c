/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening a class: how the core checks what a plugin's open returns, and how an
 * error reaches the program. */
#include "na/class.h"

#include "log_watch.h"
#include "na.h"
#include "talaria.h"

#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A plugin whose open behaves as the case sets. */
static struct {
    na_plugin_opened opened;
    int32_t code;
    const char *errors[2]; /* line that open logs */
    void (*look)(const na_plugin_host *host, const na_plugin_open_info *info);
    const void *(*extension)(na_plugin_class *cls, const char *id);
    unsigned open_count;
    unsigned close_count;
} script;

static na_plugin_ops ops;
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
        host->log(host, NA_PLUGIN_LOG_INFO, "x.c", 2, "said afterwards");
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

    ops.size = sizeof ops;
    ops.reserved_zero = 0;
    for (size_t at = OPS_FIRST; at < sizeof ops; at += sizeof func)
        memcpy((char *) &ops + at, &func, sizeof func);
    ops.extension = script_extension;
}

static void
begin(void)
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
        .ops = &ops,
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

static void
end(void)
{
    log_watch_check();
    NA_Cleanup();
}

static void
assert_opens(void)
{
    na_class_t *na_class = NA_Initialize("script+x", true);

    ck_assert_ptr_nonnull(na_class);
    ck_assert_uint_eq(script.close_count, 0);
    ck_assert_int_eq(NA_Finalize(na_class), NA_SUCCESS);
    ck_assert_uint_eq(script.open_count, 1);
    ck_assert_uint_eq(script.close_count, 1);
}

/* The report of the last open, which has one candidate. */
static void
assert_report(enum talaria_stage stage, na_return_t code, const char *text)
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

/* Open succeeds, and the core rejects what it returned, with one line in the
 * log. */
static void
assert_refused(const char *text)
{
    static char line[256]; /* kept until the log is checked */

    snprintf(line, sizeof line, "cannot open \"script+x\": open: %s (", text);
    log_expect(line, 1, 1);
    ck_assert_ptr_null(NA_Initialize("script+x", true));
    ck_assert_uint_eq(script.open_count, 1);
    ck_assert_uint_eq(script.close_count, script.opened.cls ? 1 : 0);
    assert_report(TALARIA_STAGE_OPEN, NA_PROTOCOL_ERROR, text);
}

START_TEST(class_of_valid_plugin_opens)
{
    assert_opens();
    assert_report(TALARIA_STAGE_OK, NA_SUCCESS, "");
}
END_TEST

/* One field that open returns, changed. */
struct change {
    const char *text; /* reason of the rejection; NULL: accepted */
    size_t offset;
    size_t size;
    uint64_t value;
};

#define CHANGE(text, member, value)                                            \
    {                                                                          \
        text, offsetof(na_plugin_opened, member),                              \
            sizeof(((na_plugin_opened *) 0)->member), value                    \
    }

static const struct change changes[] = {
    CHANGE("opened.cls is NULL", cls, 0), CHANGE("opened.ops is NULL", ops, 0),
    CHANGE("opened.op_align is 0, required at least 1", op_align, 0),
    CHANGE("opened.op_align is 3, required a power of two", op_align, 3),
    CHANGE("opened.op_align is 48, required a power of two", op_align, 48),
    CHANGE("opened.op_align is 65, required at most 64", op_align, 65),
    CHANGE("opened.op_align is 128, required at most 64", op_align, 128),
    CHANGE("opened.op_align is 2147483648, required at most 64", op_align,
        1U << 31),
    CHANGE("opened.op_size is 65537, required at most 65536", op_size,
        (1U << 16) + 1),
    CHANGE("opened.op_size is 4294967295, required at most 65536", op_size,
        UINT32_MAX),
    CHANGE("opened.max_unexpected_size is 0, required at least 256",
        max_unexpected_size, 0),
    CHANGE("opened.max_unexpected_size is 255, required at least 256",
        max_unexpected_size, 255),
    CHANGE(
        "opened.max_unexpected_size is 1073741825, required at most 1073741824",
        max_unexpected_size, (1U << 30) + 1),
    CHANGE(
        "opened.max_unexpected_size is 18446744073709551615, required at most "
        "1073741824",
        max_unexpected_size, UINT64_MAX),
    CHANGE("opened.max_expected_size is 0, required at least 256",
        max_expected_size, 0),
    CHANGE("opened.max_expected_size is 255, required at least 256",
        max_expected_size, 255),
    CHANGE(
        "opened.max_expected_size is 1073741825, required at most 1073741824",
        max_expected_size, (1U << 30) + 1),
    CHANGE("opened.max_expected_size is 18446744073709551615, required at most "
           "1073741824",
        max_expected_size, UINT64_MAX),
    CHANGE("opened.unexpected_header_size is 2049, required at most 2048",
        unexpected_header_size, 2049),
    CHANGE("opened.unexpected_header_size is 4294967295, required at most 2048",
        unexpected_header_size, UINT32_MAX),
    CHANGE("opened.expected_header_size is 2049, required at most 2048",
        expected_header_size, 2049),
    CHANGE("opened.expected_header_size is 4294967295, required at most 2048",
        expected_header_size, UINT32_MAX),
    CHANGE("opened.max_tag is 0, required at least 32767", max_tag, 0),
    CHANGE("opened.max_tag is 32766, required at least 32767", max_tag, 0x7ffe),
    CHANGE("opened.max_segments is 0, required at least 1", max_segments, 0),
    CHANGE("opened.max_contexts is 0, required at least 1", max_contexts, 0),
    CHANGE(
        "opened.max_contexts is 257, required at most 256", max_contexts, 257),
    CHANGE("opened.max_contexts is 4294967295, required at most 256",
        max_contexts, UINT32_MAX),
    CHANGE("opened.reserved_zero is not 0", reserved_zero, 1),
    /* The extreme values that are valid. */
    CHANGE(NULL, op_align, 1), CHANGE(NULL, op_align, 64),
    CHANGE(NULL, op_size, 0), CHANGE(NULL, op_size, 1U << 16),
    CHANGE(NULL, max_unexpected_size, 256),
    CHANGE(NULL, max_unexpected_size, 1U << 30),
    CHANGE(NULL, max_expected_size, 256),
    CHANGE(NULL, max_expected_size, 1U << 30),
    CHANGE(NULL, unexpected_header_size, 0),
    CHANGE(NULL, unexpected_header_size, 2048),
    CHANGE(NULL, expected_header_size, 2048), CHANGE(NULL, max_tag, 0x7fff),
    CHANGE(NULL, max_tag, UINT64_MAX), CHANGE(NULL, max_segments, UINT64_MAX),
    CHANGE(NULL, max_contexts, 256),
    CHANGE(NULL, features, UINT32_MAX), /* of a newer minor version */
};

START_TEST(class_of_opened_value_is_checked)
{
    const struct change *change = &changes[_i];
    char *to = (char *) &script.opened + change->offset;
    uint32_t half = (uint32_t) change->value;

    if (change->size == sizeof half)
        memcpy(to, &half, sizeof half);
    else
        memcpy(to, &change->value, sizeof change->value);
    if (change->text)
        assert_refused(change->text);
    else
        assert_opens();
}
END_TEST

START_TEST(class_with_short_operations_table_rejected)
{
    static const uint32_t sizes[] = {
        0, OPS_FIRST, sizeof(na_plugin_ops) - 8, sizeof(na_plugin_ops) - 1};

    static char text[64];

    ops.size = sizes[_i];
    snprintf(text, sizeof text, "ops.size is %u, required at least %zu",
        sizes[_i], sizeof ops);
    assert_refused(text);
}
END_TEST

START_TEST(class_with_longer_operations_table_opens)
{
    ops.size += 64;
    assert_opens();
}
END_TEST

START_TEST(class_with_missing_operation_names_it)
{
    ops.poll = NULL;
    assert_refused("ops.poll is NULL");
}
END_TEST

static int32_t
no_recv_multi(na_plugin_ctx *ctx, void *op, void *buffer, uint64_t length,
    void *buffer_data, uint32_t flags)
{
    return NA_PLUGIN_E_OPNOTSUPPORTED;
}

static na_plugin_multi_recv multi_recv = {.recv_multi = no_recv_multi};

static const void *
extend(na_plugin_class *cls, const char *id)
{
    return strcmp(id, NA_PLUGIN_MULTI_RECV_ID) == 0 ? &multi_recv : NULL;
}

START_TEST(class_extension_too_short_is_not_used)
{
    na_class_t *na_class;

    log_expect("script: table of na.multi_recv/1 is 8 bytes", 1, 1);
    script.extension = extend;
    multi_recv.size = 8;
    na_class = NA_Initialize("script+x", true);
    ck_assert_ptr_nonnull(na_class);
    ck_assert(!NA_Has_opt_feature(na_class, NA_OPT_MULTI_RECV));
    NA_Finalize(na_class);
    multi_recv.size = sizeof multi_recv;
    na_class = NA_Initialize("script+x", true);
    ck_assert_ptr_nonnull(na_class);
    ck_assert(NA_Has_opt_feature(na_class, NA_OPT_MULTI_RECV));
    NA_Finalize(na_class);
}
END_TEST

/* What a plugin returns beside an error is neither read nor closed. */
static void
assert_open_fails(int32_t code, na_return_t wanted, const char *text)
{
    static char line[128];

    script.code = code;
    snprintf(line, sizeof line,
        "cannot open \"script+x\": %s: %s (1 candidate)",
        wanted == NA_PROTONOSUPPORT ? "protocol" : "open", text);
    log_expect(line, 1, 1);
    ck_assert_ptr_null(NA_Initialize("script+x", false));
    ck_assert_uint_eq(script.open_count, 1);
    ck_assert_uint_eq(script.close_count, 0);
    assert_report(wanted == NA_PROTONOSUPPORT ? TALARIA_STAGE_PROTOCOL
                                              : TALARIA_STAGE_OPEN,
        wanted, text);
}

START_TEST(open_error_of_plugin_reaches_program)
{
    assert_open_fails(
        -_i, (na_return_t) _i, NA_Error_to_string((na_return_t) _i));
}
END_TEST

static const struct {
    int32_t code;
    na_return_t wanted;
} odd_codes[] = {
    {-NA_RETURN_MAX, NA_IO_ERROR},
    {-1000, NA_IO_ERROR},
    {INT32_MIN, NA_IO_ERROR},
    {NA_PLUGIN_DONE, NA_PROTOCOL_ERROR},
    {INT32_MAX, NA_PROTOCOL_ERROR},
};

START_TEST(open_error_unknown_is_logged_with_its_number)
{
    char text[64];

    snprintf(text, sizeof text,
        "open returned %d, which is not a code of the ABI", odd_codes[_i].code);
    assert_open_fails(odd_codes[_i].code, odd_codes[_i].wanted, text);
}
END_TEST

START_TEST(open_error_logged_last_is_reason)
{
    script.code = NA_PLUGIN_E_NODEV;
    script.errors[0] = "no device of that kind";
    script.errors[1] = "no device at all";
    log_expect("[error] transport: x.c:1: no device of that kind", 1, 1);
    log_expect("[error] transport: x.c:1: no device at all", 1, 1);
    ck_assert_ptr_null(NA_Initialize("script+x", true));
    assert_report(TALARIA_STAGE_OPEN, NA_NODEV, "no device at all");
}
END_TEST

START_TEST(open_error_is_reported_with_log_off)
{
    NA_Set_log_level("none");
    script.code = NA_PLUGIN_E_ADDRINUSE;
    script.errors[0] = "port 7 is taken";
    ck_assert_ptr_null(NA_Initialize("script+x", true));
    assert_report(TALARIA_STAGE_OPEN, NA_ADDRINUSE, "port 7 is taken");
}
END_TEST

/* The core's own reason wins over an earlier line of the plugin. */
START_TEST(open_error_logged_by_rejected_plugin_is_not_reason)
{
    script.errors[0] = "a complaint";
    script.opened.max_tag = 0;
    log_expect("[error] transport: x.c:1: a complaint", 1, 1);
    assert_refused("opened.max_tag is 0, required at least 32767");
}
END_TEST

START_TEST(open_error_of_earlier_open_is_cleared)
{
    script.code = NA_PLUGIN_E_NODEV;
    script.errors[0] = "first";
    log_expect("x.c:1: first", 1, 1);
    log_expect("cannot open \"script+x\": open: NA_BUSY", 1, 1);
    ck_assert_ptr_null(NA_Initialize("script+x", true));
    assert_report(TALARIA_STAGE_OPEN, NA_NODEV, "first");
    script.code = NA_PLUGIN_E_BUSY;
    script.errors[0] = NULL;
    ck_assert_ptr_null(NA_Initialize("script+x", true));
    assert_report(TALARIA_STAGE_OPEN, NA_BUSY, "NA_BUSY");
    script.code = NA_PLUGIN_OK;
    script.open_count = 0;
    assert_opens();
    assert_report(TALARIA_STAGE_OK, NA_SUCCESS, "");
}
END_TEST

START_TEST(class_open_without_info_string_fails)
{
    log_expect("no info string", 1, 1);
    ck_assert_ptr_null(NA_Initialize(NULL, true));
    ck_assert_uint_eq(script.open_count, 0);
}
END_TEST

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
    assert_report(TALARIA_STAGE_OPEN, NA_INVALID_ARG,
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

START_TEST(class_with_reserved_field_of_operations_set_is_rejected)
{
    ops.reserved_zero = 1;
    assert_refused("ops.reserved_zero is not 0");
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
    assert_opens();
}
END_TEST

#define COUNT(array) (int) (sizeof(array) / sizeof((array)[0]))

int
main(void)
{
    Suite *suite = suite_create("class");
    TCase *tcase = tcase_create("class");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, class_of_valid_plugin_opens);
    tcase_add_loop_test(
        tcase, class_of_opened_value_is_checked, 0, COUNT(changes));
    tcase_add_loop_test(
        tcase, class_with_short_operations_table_rejected, 0, 4);
    tcase_add_test(tcase, class_with_longer_operations_table_opens);
    tcase_add_test(tcase, class_with_missing_operation_names_it);
    tcase_add_test(tcase, class_extension_too_short_is_not_used);
    tcase_add_loop_test(
        tcase, open_error_of_plugin_reaches_program, 1, NA_RETURN_MAX);
    tcase_add_loop_test(tcase, open_error_unknown_is_logged_with_its_number, 0,
        COUNT(odd_codes));
    tcase_add_test(tcase, open_error_logged_last_is_reason);
    tcase_add_test(tcase, open_error_is_reported_with_log_off);
    tcase_add_test(tcase, open_error_logged_by_rejected_plugin_is_not_reason);
    tcase_add_test(tcase, open_error_of_earlier_open_is_cleared);
    tcase_add_test(tcase, class_open_without_info_string_fails);
    tcase_add_loop_test(
        tcase, option_out_of_range_is_rejected, 0, COUNT(bad_options));
    tcase_add_test(tcase, option_set_reaches_plugin);
    tcase_add_test(tcase, option_unset_is_left_to_the_plugin);
    tcase_add_loop_test(tcase, option_size_is_clamped_to_limits, 0,
        sizeof sizes_wanted / sizeof sizes_wanted[0]);
    tcase_add_test(
        tcase, class_with_reserved_field_of_operations_set_is_rejected);
    tcase_add_test(tcase, option_beyond_version_is_not_read);
    tcase_add_test(tcase, host_table_functions_work);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
