/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs some cases of a program only: those whose names match TALARIA_TEST_CASE,
 * a pattern of the shell. A case that runs in several modes runs in mode N only
 * when ":N" follows. libcheck itself selects whole groups of cases. Every test
 * program is linked so that these two calls come by here (test/meson.build).
 */
#include <check.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void __wrap__tcase_add_test(TCase *tcase, const TTest *test, int signal,
    int exit_value, int start, int end);
void __real__tcase_add_test(TCase *tcase, const TTest *test, int signal,
    int exit_value, int start, int end);
void __wrap_srunner_run_all(SRunner *runner, enum print_output print);
void __real_srunner_run_all(SRunner *runner, enum print_output print);

static unsigned added;

/* Whether a case is wanted; *mode_p: -1 in all modes. */
static bool
is_wanted(const char *name, int *mode_p)
{
    const char *wanted = getenv("TALARIA_TEST_CASE");
    char pattern[256];
    char *colon;

    *mode_p = -1;
    if (!wanted || !*wanted)
        return true;
    snprintf(pattern, sizeof pattern, "%s", wanted);
    colon = strchr(pattern, ':');
    if (colon) {
        *colon = '\0';
        *mode_p = atoi(colon + 1);
    }
    return fnmatch(pattern, name, 0) == 0;
}

void
__wrap__tcase_add_test(TCase *tcase, const TTest *test, int signal,
    int exit_value, int start, int end)
{
    int mode;

    if (!is_wanted(test->name, &mode))
        return;
    if (mode >= 0 && (mode < start || mode >= end))
        return;
    if (mode >= 0) {
        start = mode;
        end = mode + 1;
    }
    added++;
    __real__tcase_add_test(tcase, test, signal, exit_value, start, end);
}

/* A run of nothing would pass. */
void
__wrap_srunner_run_all(SRunner *runner, enum print_output print)
{
    const char *wanted = getenv("TALARIA_TEST_CASE");

    if (wanted && added == 0) {
        fprintf(stderr, "no case matches TALARIA_TEST_CASE=%s\n", wanted);
        exit(EXIT_FAILURE);
    }
    __real_srunner_run_all(runner, print);
}
