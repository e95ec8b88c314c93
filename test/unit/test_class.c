/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening a class: how the core checks what a plugin's open returns, and how an
 * error reaches the program. */
#include "runner.h"
#include "script_plugin.h"

#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define OPS_FIRST offsetof(na_plugin_ops, ctx_create)

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
    script_assert_report(TALARIA_STAGE_OPEN, NA_PROTOCOL_ERROR, text);
}

START_TEST(class_of_valid_plugin_opens)
{
    script_assert_opens();
    script_assert_report(TALARIA_STAGE_OK, NA_SUCCESS, "");
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
        script_assert_opens();
}
END_TEST

START_TEST(class_with_short_operations_table_rejected)
{
    static const uint32_t sizes[] = {
        0, OPS_FIRST, sizeof(na_plugin_ops) - 8, sizeof(na_plugin_ops) - 1};

    static char text[64];

    script_ops.size = sizes[_i];
    snprintf(text, sizeof text, "ops.size is %u, required at least %zu",
        sizes[_i], sizeof script_ops);
    assert_refused(text);
}
END_TEST

START_TEST(class_with_longer_operations_table_opens)
{
    script_ops.size += 64;
    script_assert_opens();
}
END_TEST

START_TEST(class_with_missing_operation_names_it)
{
    script_ops.poll = NULL;
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

/* Other values that a plugin returns with an error are neither read nor closed. */
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
    script_assert_report(wanted == NA_PROTONOSUPPORT ? TALARIA_STAGE_PROTOCOL
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
    script_assert_report(TALARIA_STAGE_OPEN, NA_NODEV, "no device at all");
}
END_TEST

START_TEST(open_error_is_reported_with_log_off)
{
    NA_Set_log_level("none");
    script.code = NA_PLUGIN_E_ADDRINUSE;
    script.errors[0] = "port 7 is taken";
    ck_assert_ptr_null(NA_Initialize("script+x", true));
    script_assert_report(TALARIA_STAGE_OPEN, NA_ADDRINUSE, "port 7 is taken");
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
    script_assert_report(TALARIA_STAGE_OPEN, NA_NODEV, "first");
    script.code = NA_PLUGIN_E_BUSY;
    script.errors[0] = NULL;
    ck_assert_ptr_null(NA_Initialize("script+x", true));
    script_assert_report(TALARIA_STAGE_OPEN, NA_BUSY, "NA_BUSY");
    script.code = NA_PLUGIN_OK;
    script.open_count = 0;
    script_assert_opens();
    script_assert_report(TALARIA_STAGE_OK, NA_SUCCESS, "");
}
END_TEST

START_TEST(class_open_without_info_string_fails)
{
    log_expect("no info string", 1, 1);
    ck_assert_ptr_null(NA_Initialize(NULL, true));
    ck_assert_uint_eq(script.open_count, 0);
}
END_TEST

START_TEST(class_with_reserved_field_of_operations_set_is_rejected)
{
    script_ops.reserved_zero = 1;
    assert_refused("ops.reserved_zero is not 0");
}
END_TEST

#define COUNT(array) (int) (sizeof(array) / sizeof((array)[0]))

int
main(void)
{
    TCase *tcase = tcase_create("class");

    tcase_add_checked_fixture(tcase, script_begin, script_end);
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
    tcase_add_test(
        tcase, class_with_reserved_field_of_operations_set_is_rejected);
    return run_tcase("class", tcase);
}
