/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of settings as text, and the distance of a misspelled key. */
#include "setting_case.h"

#include "runner.h"
#include "setting/nearest.h"

#include <check.h>
#include <string.h>

static const struct {
    const na_plugin_setting *setting;
    const char *text;
    bool taken;
    uint64_t value;
} values[] = {
    {&number, "1", true, 1},
    {&number, "100", true, 100},
    {&number, "0100", true, 100},
    {&number, "0", false, 0},
    {&number, "101", false, 0},
    {&number, "", false, 0},
    {&number, "-1", false, 0},
    {&number, "+1", false, 0},
    {&number, " 1", false, 0},
    {&number, "1 ", false, 0},
    {&number, "1K", false, 0},
    {&number, "0x10", false, 0},
    {&number, "18446744073709551617", false, 0},
    {&bytes, "0", true, 0},
    {&bytes, "1000", true, 1000},
    {&bytes, "32K", true, 32768},
    {&bytes, "1M", true, 1 << 20},
    {&bytes, "1025K", false, 0},
    {&bytes, "1G", false, 0},
    {&bytes, "17179869184G", false, 0},
    {&bytes, "1k", false, 0},
    {&bytes, "1KB", false, 0},
    {&bytes, "K", false, 0},
    {&duration, "0", true, 0},
    {&duration, "5s", true, 5000 * MS},
    {&duration, "5000ms", true, 5000 * MS},
    {&duration, "7us", true, 7000},
    {&duration, "7ns", true, 7},
    {&duration, "5", false, 0},
    {&duration, "6s", false, 0},
    {&duration, "1min", false, 0},
    {&duration, "1h", false, 0},
    {&duration, "5 s", false, 0},
    {&duration, "1.5s", false, 0},
    {&boolean, "0", true, 0},
    {&boolean, "1", true, 1},
    {&boolean, "no", true, 0},
    {&boolean, "yes", true, 1},
    {&boolean, "off", true, 0},
    {&boolean, "on", true, 1},
    {&boolean, "false", true, 0},
    {&boolean, "true", true, 1},
    {&boolean, "2", false, 0},
    {&boolean, "YES", false, 0},
    {&boolean, "", false, 0},
    {&words, "", true, 0},
    {&words, "a=b c\n!", true, 0},
    {&words, "12345678", true, 0},
    {&words, "123456789", false, 0},
};

START_TEST(value_is_read_by_its_kind)
{
    uint64_t value = 77;
    bool taken = setting_parse(values[_i].setting, values[_i].text, &value);

    ck_assert_msg(taken == values[_i].taken, "%s=%s", values[_i].setting->key,
        values[_i].text);
    if (taken)
        ck_assert_uint_eq(value, values[_i].value);
}
END_TEST

static const struct {
    const char *a;
    const char *b;
    unsigned distance;
} distances[] = {
    {"", "", 0},
    {"sm.ring_size", "SM_RING_SIZE", 0},
    {"my-plugin.a", "MY_PLUGIN_A", 0},
    {"", "abc", 3},
    {"abc", "", 3},
    {"ring_size", "ring_sise", 1},
    {"ring_size", "rnig_size", 1},
    {"ring_size", "ringsize", 1},
    {"ring_size", "rring_size", 1},
    {"kitten", "sitting", 3},
};

START_TEST(distance_counts_edits)
{
    const char *a = distances[_i].a, *b = distances[_i].b;

    ck_assert_uint_eq(
        setting_distance(a, strlen(a), b, strlen(b)), distances[_i].distance);
    ck_assert_uint_eq(
        setting_distance(b, strlen(b), a, strlen(a)), distances[_i].distance);
}
END_TEST

int
main(void)
{
    TCase *tc = tcase_create("setting_value");

    tcase_add_loop_test(tc, value_is_read_by_its_kind, 0, COUNT(values));
    tcase_add_loop_test(tc, distance_counts_edits, 0, COUNT(distances));
    return run_tcase("setting_value", tc);
}
