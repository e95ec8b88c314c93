/* SPDX-License-Identifier: BSD-3-Clause */
/* Address strings with a host id, valid and malformed. */
#include "hg/host_address.h"

#include "log_watch.h"
#include "runner.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define ID "01234567-89ab-cdef-fedc-ba9876543210"
#define WHOLE "ofi+tcp://192.0.2.7:4000#sm=" ID "@1000:na+sm://77-0"

static void
begin(void)
{
    log_watch_begin();
    log_watch_install();
}

START_TEST(host_address_is_parsed_into_parts)
{
    struct hg_host_address parts;

    begin();
    ck_assert_int_eq(hg_host_address_parse(WHOLE, &parts), HG_SUCCESS);
    ck_assert_uint_eq(parts.main_length, strlen("ofi+tcp://192.0.2.7:4000"));
    ck_assert_str_eq(parts.local, "na+sm://77-0");
    ck_assert_str_eq(parts.user, "1000");
    ck_assert_uint_eq(parts.host.high, 0x0123456789abcdef);
    ck_assert_uint_eq(parts.host.low, 0xfedcba9876543210);
    log_watch_check();
}
END_TEST

START_TEST(host_address_plain_string_is_left_alone)
{
    static const char *const plain[] = {"", "na+sm://1-0", "x", "sm=", "#",
        "#sm", "tcp://h:1#smile", "two words", ("ofi+tcp://h#" ID)};

    begin();
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        struct hg_host_address parts = {.local = "x"};

        ck_assert_int_eq(hg_host_address_parse(plain[i], &parts), HG_SUCCESS);
        ck_assert_uint_eq(parts.main_length, strlen(plain[i]));
        ck_assert_ptr_null(parts.local);
    }
    log_watch_check();
}
END_TEST

START_TEST(host_address_malformed_is_invalid)
{
    static const char *const wrong[] = {"#sm=", "a#sm=", "a#sm=:", ("a#sm=" ID),
        ("a#sm=" ID "@1:"), ("#sm=" ID "@1:b"), ("a#sm=" ID "b"),
        ("a#sm=" ID ":b"), ("a#sm=" ID "@:b"), ("a#sm=" ID "@one:b"),
        ("a#sm=" ID "@anybody:b"), ("a#sm=" ID "@12345678901:b"),
        ("a#sm=" ID "@-1:b"), ("a#sm=" ID "@1"), ("a#sm=" ID "@"),
        ("a#sm=" ID "@1::b c"), ("a b#sm=" ID "@1:c"), ("a#sm=" ID "@1:b\n"),
        ("a#sm=" ID "@1:\xc3\xa9"),
        "a#sm=01234567-89ab-cdef-fedc-ba987654321@1:b",
        "a#sm=01234567-89ab-cdef-fedc-ba98765432100@1:b",
        "a#sm=01234567-89AB-cdef-fedc-ba9876543210@1:b",
        "a#sm=0123456789ab-cdef-fedc-ba9876543210--@1:b",
        "a#sm=g1234567-89ab-cdef-fedc-ba9876543210@1:b",
        ("a#sm=" ID "@1:b#sm=" ID "@1:c"), ("a#sm=" ID ";b")};
    size_t count = sizeof wrong / sizeof wrong[0];

    begin();
    log_expect(
        "malformed local part in address", (uint32_t) count, (uint32_t) count);
    for (size_t i = 0; i < count; i++) {
        struct hg_host_address parts = {.main_length = 12345};

        ck_assert_msg(hg_host_address_parse(wrong[i], &parts) == HG_INVALID_ARG,
            "%s", wrong[i]);
        ck_assert_uint_eq(parts.main_length, 12345);
    }
    log_watch_check();
}
END_TEST

/* Every truncation is a plain string or malformed. */
START_TEST(host_address_truncated_is_plain_or_invalid)
{
    char text[sizeof WHOLE];

    begin();
    log_expect("malformed local part in address", 1, 1000);
    for (size_t length = 0; length + 1 < sizeof WHOLE; length++) {
        struct hg_host_address parts;
        hg_return_t ret;

        memcpy(text, WHOLE, length);
        text[length] = '\0';
        ret = hg_host_address_parse(text, &parts);
        ck_assert(ret == HG_SUCCESS || ret == HG_INVALID_ARG);
        if (ret == HG_SUCCESS && parts.local)
            ck_assert_uint_gt(strlen(parts.local), 0);
    }
    log_watch_check();
}
END_TEST

START_TEST(host_address_too_long_is_invalid)
{
    char *text = malloc(HG_HOST_ADDRESS_MAX + 100);
    struct hg_host_address parts;
    size_t length = strlen(WHOLE);

    begin();
    log_expect("malformed local part in address", 1, 1);
    ck_assert_ptr_nonnull(text);
    memcpy(text, WHOLE, length);
    memset(text + length, 'x', HG_HOST_ADDRESS_MAX - length);
    text[HG_HOST_ADDRESS_MAX - 1] = '\0';
    ck_assert_int_eq(hg_host_address_parse(text, &parts), HG_SUCCESS);
    text[HG_HOST_ADDRESS_MAX - 1] = 'x';
    text[HG_HOST_ADDRESS_MAX] = '\0';
    ck_assert_int_eq(hg_host_address_parse(text, &parts), HG_INVALID_ARG);
    free(text);
    log_watch_check();
}
END_TEST

START_TEST(host_address_middle_matches_parse)
{
    na_sm_id_t id = {.high = 0x0123456789abcdef, .low = 0xfedcba9876543210};
    char middle[HG_HOST_ADDRESS_MIDDLE + 1];
    size_t length;

    memset(middle, 'z', sizeof middle);
    length = hg_host_address_middle(id, "any", middle);
    ck_assert_uint_eq(length, strlen("#sm=" ID "@any:"));
    ck_assert_int_eq(middle[length], 'z');
    ck_assert_int_eq(memcmp(middle, "#sm=" ID "@any:", length), 0);
    length = hg_host_address_middle(id, "4294967295", middle);
    ck_assert_uint_eq(length, HG_HOST_ADDRESS_MIDDLE);
    ck_assert_int_eq(middle[length], 'z');
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("host_address");

    tcase_add_test(tcase, host_address_is_parsed_into_parts);
    tcase_add_test(tcase, host_address_plain_string_is_left_alone);
    tcase_add_test(tcase, host_address_malformed_is_invalid);
    tcase_add_test(tcase, host_address_truncated_is_plain_or_invalid);
    tcase_add_test(tcase, host_address_too_long_is_invalid);
    tcase_add_test(tcase, host_address_middle_matches_parse);
    return run_tcase("host_address", tcase);
}
