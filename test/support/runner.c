/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the cases of a program, or only those whose names match the shell
 * pattern in TALARIA_TEST_CASE. With ":N" after the pattern, a case with
 * several modes runs in mode N only. libcheck itself selects whole suites or
 * tcases only, hence every test program wraps _tcase_add_test
 * (test/meson.build).
 */
#include "runner.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void __wrap__tcase_add_test(TCase *tcase, const TTest *test, int signal,
    int exit_value, int start, int end);
void __real__tcase_add_test(TCase *tcase, const TTest *test, int signal,
    int exit_value, int start, int end);

static unsigned added;

/* Whether a case is selected. *mode_p: its mode, or -1 for all modes. */
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

int
run_suite(Suite *suite)
{
    const char *wanted = getenv("TALARIA_TEST_CASE");
    SRunner *runner = srunner_create(suite);
    bool passed = false;

    /* Without any matching case, libcheck would report success. */
    if (wanted && added == 0) {
        fprintf(stderr, "no case matches TALARIA_TEST_CASE=%s\n", wanted);
    } else {
        srunner_run_all(runner, CK_ENV);
        passed = srunner_ntests_failed(runner) == 0;
    }
    srunner_free(runner);
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}

int
run_tcase(const char *name, TCase *tcase)
{
    Suite *suite = suite_create(name);

    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
