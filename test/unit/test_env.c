/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment: which variable belongs to a plugin's setting, and what
 * counts as unset. */
#include "base/env.h"

#include "log_watch.h"
#include "runner.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void
begin(void)
{
    log_watch_begin();
    log_watch_install();
}

START_TEST(env_variable_set_is_returned)
{
    setenv("TALARIA_X_Y", "value with spaces", 1);
    ck_assert_str_eq(base_env_get("TALARIA_X_Y"), "value with spaces");
    setenv("HG_LOG_LEVEL", "info", 1);
    ck_assert_str_eq(base_env_get("HG_LOG_LEVEL"), "info");
}
END_TEST

START_TEST(env_variable_empty_counts_as_unset)
{
    unsetenv("TALARIA_X_Y");
    ck_assert_ptr_null(base_env_get("TALARIA_X_Y"));
    setenv("TALARIA_X_Y", "", 1);
    ck_assert_ptr_null(base_env_get("TALARIA_X_Y"));
    ck_assert_ptr_null(base_env_plugin_setting("x.y"));
    setenv("HG_LOG_LEVEL", "", 1);
    ck_assert_ptr_null(base_env_get("HG_LOG_LEVEL"));
    setenv("TALARIA_X_Y", " ", 1);
    ck_assert_str_eq(base_env_get("TALARIA_X_Y"), " ");
}
END_TEST

static const struct {
    const char *key;
    const char *variable;
} mapped[] = {
    {"sm.ring_size", "TALARIA_SM_RING_SIZE"},
    {"my-plugin.max-2", "TALARIA_MY_PLUGIN_MAX_2"},
    {"A.b_C-9", "TALARIA_A_B_C_9"},
    {"x", "TALARIA_X"},
    {"abcdefghijklmnopqrstuvwxyz", "TALARIA_ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
    {"0123456789", "TALARIA_0123456789"},
    {"a..b", "TALARIA_A__B"},
};

START_TEST(env_setting_is_its_variable)
{
    ck_assert_ptr_null(base_env_plugin_setting(mapped[_i].key));
    setenv(mapped[_i].variable, "here", 1);
    ck_assert_str_eq(base_env_plugin_setting(mapped[_i].key), "here");
}
END_TEST

static const char *const refused[] = {"a b", "a=b", "a/b", "a:b", "a.b\n",
    "a$b", "a*", "\xc3\xa4", "a\x80", "~", "a,b"};

START_TEST(env_setting_name_with_other_characters_rejected)
{
    char variable[64] = "TALARIA_";
    char *to = variable + strlen(variable);

    /* Also when a variable exists that the name would map to with the character
     * left out or replaced. */
    for (const char *from = refused[_i]; *from; from++)
        *to++ = *from >= 'a' && *from <= 'z' ? (char) (*from - 32) : '_';
    setenv(variable, "here", 1);
    setenv("TALARIA_A", "here", 1);
    setenv("TALARIA_AB", "here", 1);
    ck_assert_ptr_null(base_env_plugin_setting(refused[_i]));
}
END_TEST

/* A name that is too long maps to no variable, not to a truncated one. */
START_TEST(env_setting_name_too_long_rejected)
{
    char variable[256] = "TALARIA_", key[256];
    size_t prefix = strlen(variable), longest = 0;

    for (size_t length = 1; length < 200; length++) {
        memset(key, 'k', length);
        key[length] = '\0';
        memset(variable + prefix, 'K', length);
        variable[prefix + length] = '\0';
        setenv(variable, "here", 1);
        if (base_env_plugin_setting(key))
            longest = length;
        ck_assert(base_env_plugin_setting(key) || length > longest);
    }
    /* 127 characters and the terminating zero are the maximum. */
    ck_assert_uint_eq(prefix + longest, 127);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("env");

    tcase_add_checked_fixture(tcase, begin, log_watch_check);
    tcase_add_test(tcase, env_variable_set_is_returned);
    tcase_add_test(tcase, env_variable_empty_counts_as_unset);
    tcase_add_loop_test(tcase, env_setting_is_its_variable, 0,
        sizeof mapped / sizeof mapped[0]);
    tcase_add_loop_test(tcase, env_setting_name_with_other_characters_rejected,
        0, sizeof refused / sizeof refused[0]);
    tcase_add_test(tcase, env_setting_name_too_long_rejected);
    return run_tcase("env", tcase);
}
